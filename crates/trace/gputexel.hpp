// gputexel.hpp: an evaluation that traces itself, for C++17 and later. See docs/selftrace.md.
//
// Copyright the gputexel developers. Permission is granted, free of charge, to use, copy, modify, publish,
// distribute, sublicense and sell this file, in whole or in part, for any purpose and without any condition.
// It is provided "as is", without warranty of any kind; its authors are not liable for any claim or damage.
//
// Without GPUTEXEL defined, all of it is plain integers. With it, the same evaluation records what it computes:
// gputexel::trace() prints one row of coefficients for each position, and a schema of all numbers.
#ifndef GPUTEXEL_HPP
#define GPUTEXEL_HPP

#ifndef __cplusplus
#error "gputexel: compile the evaluation as C++, or let gputexel probe ask the engine"
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifndef GPUTEXEL // ---------------------------------------------------------------- the playing build

// How pairs are packed. An engine that packs in another way defines all four before it includes this file.
#ifndef GPUTEXEL_PAIR
#define GPUTEXEL_PAIR std::int32_t
#define GPUTEXEL_PACK(mg, eg)                                                                                          \
    static_cast<std::int32_t>((static_cast<std::uint32_t>(eg) << 16) + static_cast<std::uint32_t>(mg))
#define GPUTEXEL_MG(pair) static_cast<std::int16_t>(static_cast<std::uint16_t>(static_cast<std::uint32_t>(pair)))
#define GPUTEXEL_EG(pair)                                                                                              \
    static_cast<std::int16_t>(static_cast<std::uint16_t>((static_cast<std::uint32_t>(pair) + 0x8000u) >> 16))
#endif

#define GPUTEXEL_LEAF(fen) static_cast<void>(0)

namespace gputexel {
using Pair = GPUTEXEL_PAIR;
using Value = int;
#ifndef S // an engine may keep a macro of its own
constexpr Pair S(int mg, int eg) { return GPUTEXEL_PACK(mg, eg); }
#endif
constexpr Value V(int x) { return x; }
constexpr Pair pair(int mg, int eg) { return GPUTEXEL_PACK(mg, eg); }
constexpr Value mg(Pair p) { return GPUTEXEL_MG(p); }
constexpr Value eg(Pair p) { return GPUTEXEL_EG(p); }
constexpr Value max(Value a, Value b) { return a < b ? b : a; }
constexpr Value min(Value a, Value b) { return b < a ? b : a; }
constexpr Value clamp(Value x, int low, int high) { return x < low ? low : x > high ? high : x; }
constexpr Value relu(Value x, int over = 0) { return x > over && x > 0 ? x : 0; }
constexpr Value relu2(Value x, int over = 0) { return x > over && x > 0 ? x * x : 0; }
constexpr Value square(Value x) { return x < 0 ? -x * x : x * x; }
inline Value sigmoid(Value x, int divide, int one) {
    return static_cast<Value>(one / (1 + std::exp(-static_cast<double>(x) / divide)));
}
template <std::size_t N> constexpr Value table(Value x, const int (&knots)[N][2]) {
    if (x <= knots[0][0]) return knots[0][1];
    for (std::size_t i = 1; i < N; i++)
        if (x < knots[i][0])
            return knots[i - 1][1] + (knots[i][1] - knots[i - 1][1]) * (x - knots[i - 1][0]) /
                                         (knots[i][0] - knots[i - 1][0]);
    return knots[N - 1][1];
}
constexpr Pair share(Pair p, Value k, int one) { return pair(mg(p) * k / one, eg(p) * k / one); }
constexpr Value toward_zero(Value e, Value c) { // e + sgn(e) · max(c, −|e|)
    return e > 0 ? e + max(c, -e) : e < 0 ? e - max(c, e) : 0;
}
constexpr Pair bounded_mg(Pair p, Value c) { return pair(toward_zero(mg(p), c), eg(p)); }
constexpr Pair bounded_mg(Pair p, Value c, int at_most) { return bounded_mg(p, min(c + at_most, 0)); }
constexpr Pair bounded_eg(Pair p, Value c) { return pair(mg(p), toward_zero(eg(p), c)); }
constexpr Pair bounded_eg(Pair p, Value c, int at_most) { return bounded_eg(p, min(c + at_most, 0)); }
constexpr Pair bounded(Pair p, Pair c) { return bounded_mg(bounded_eg(p, eg(c)), mg(c)); }
constexpr Value scale(Value x, Value k, int one, int low = 0, int high = 1 << 30) {
    return x * clamp(k, low, high) / one;
}
constexpr Pair scale_eg(Pair p, Value k, int one, int low = 0, int high = 1 << 30) {
    return pair(mg(p), scale(eg(p), k, one, low, high));
}
constexpr Value taper(Pair p, int phase, int whole) { return (mg(p) * phase + eg(p) * (whole - phase)) / whole; }
// Multiplies before it divides, as engines do that scale and taper in one expression.
constexpr Value taper(Pair p, int phase, int whole, Value k, int one) {
    return (mg(p) * phase + eg(p) * (whole - phase) * k / one) / whole;
}
constexpr int result(Value x) { return x; }
inline void play(int, char **) {}
} // namespace gputexel

#else // --------------------------------------------------------------------------- the recording build

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <source_location>
#define GPUTEXEL_LOCATIONS
#endif
#ifdef S
#error "gputexel: a macro S is defined. Leave it out where GPUTEXEL is defined: S(mg, eg) is a function there"
#endif

#define GPUTEXEL_LEAF(fen)                                                                                             \
    do {                                                                                                               \
        if (::gputexel::one_leaf_in() != 0) ::gputexel::leaf(fen);                                                     \
    } while (false)

namespace gputexel {
enum class View { white, side_to_move };

namespace detail {
#ifdef GPUTEXEL_LOCATIONS
using Site = std::source_location;
#define GPUTEXEL_LITERAL_AT Site at = Site::current()
#else
struct Site { // C++17 knows no columns: a counter tells the S(…) of a line apart, see the macros below
    static constexpr Site current(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        return {file, line, 0};
    }
    constexpr const char *file_name() const { return name; }
    constexpr unsigned line() const { return row; }
    constexpr unsigned column() const { return place; }
    const char *name = "";
    unsigned row = 0, place = 0;
};
#define GPUTEXEL_LITERAL_AT Site at
#endif
#define GPUTEXEL_AT Site at = Site::current()

template <class T>
constexpr bool is_number = std::is_arithmetic<T>::value || (std::is_enum<T>::value && std::is_convertible<T, int>::value);
template <class T> using IfNumber = std::enable_if_t<is_number<T>, int>;
template <class T> using IfNoNumber = std::enable_if_t<!is_number<T>, int>;
template <class T> constexpr bool never = false;
constexpr const char *SCHEMA = ", which the schema cannot say";

// A literal of the source (file, line, column), or a node of the tape and its generation; without either, a constant.
// Plain data, so that tables of literals may be constexpr, copied and mirrored.
struct Handle {
    const char *file = nullptr;
    std::uint32_t line_or_node = 0, column_or_generation = 0;
    constexpr bool is_constant() const { return !file && line_or_node == 0; }
};
[[noreturn]] inline void refuse(const Handle &place, const std::string &why) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%u: gputexel: %s\n", place.file, unsigned(place.line_or_node), why.c_str());
    std::exit(1);
}
[[noreturn]] inline void refuse(Site at, const std::string &why) { refuse(Handle{at.file_name(), at.line(), 0}, why); }

// What cannot be recorded does not compile; the compiler names the line.
#define GPUTEXEL_REFUSE(name, why)                                                                                     \
    template <class U> bool name() {                                                                                   \
        static_assert(never<U>, "gputexel: " why);                                                                     \
        return false;                                                                                                  \
    }
GPUTEXEL_REFUSE(converted, "a score cannot become a number while it is recorded: use mg(), eg(), /, a comparison with 0, "
                           "or a verb such as max or table")
GPUTEXEL_REFUSE(compared, "scores are compared only with 0: use max, min or clamp")
GPUTEXEL_REFUSE(equated, "scores are not compared by == or !=; a branch on > 0 or < 0 can be recorded")
GPUTEXEL_REFUSE(shifted, "a score is not shifted: use * or /, or mg(), eg() and pair()")
GPUTEXEL_REFUSE(treated_as_bits, "a score has no bits and no remainder: use mg(), eg() or a verb")
GPUTEXEL_REFUSE(added, "a number is added to a pair: write S(mg, eg), or pair(mg, eg) if it is not tuned")

struct ValueArg; // right-hand sides: the conversion to them knows the line of the operator
struct Number;
// Friends are found for scores only, so that they never compete for an engine's enums.
template <class T, class Arg> struct Operators {
    template <class U, IfNumber<U> = 0> explicit operator U() const { return U(converted<U>()); }
    friend T operator+(const T &a, const Arg &b) { return linear(a, 1, b, 1); }
    friend T operator-(const T &a, const Arg &b) { return linear(a, 1, b, -1); }
    friend T operator*(const T &a, const ValueArg &b) { return times(a, b); }
    friend T operator/(const T &a, const Number &b) { return divided(a, b); }
    friend T operator+(const T &a) { return a; }
    friend T operator-(const T &a) { return negative(a); }
    friend T &operator+=(T &a, const Arg &b) { return a = linear(a, 1, b, 1); }
    friend T &operator-=(T &a, const Arg &b) { return a = linear(a, 1, b, -1); }
    friend T &operator*=(T &a, const ValueArg &b) { return a = times(a, b); }
    friend T &operator/=(T &a, const Number &b) { return a = divided(a, b); }
    template <class N, IfNumber<N> = 0> friend T operator*(N a, const Arg &b) { return times(b, a); }
    template <class N, IfNumber<N> = 0> friend T operator+(N a, const Arg &b) { return number_first(a, 1, b); }
    template <class N, IfNumber<N> = 0> friend T operator-(N a, const Arg &b) { return number_first(a, -1, b); }
    friend bool operator>(const T &a, const Number &b) { return above(a, b, false); }
    friend bool operator>=(const T &a, const Number &b) { return above(a, b, true); }
    friend bool operator<(const T &a, const Number &b) { return !above(a, b, true); }
    friend bool operator<=(const T &a, const Number &b) { return !above(a, b, false); }
    template <class N, IfNumber<N> = 0> friend bool operator<(N a, const Arg &b) { return above(b, a, false); }
    template <class N, IfNumber<N> = 0> friend bool operator<=(N a, const Arg &b) { return above(b, a, true); }
    template <class N, IfNumber<N> = 0> friend bool operator>(N a, const Arg &b) { return !above(b, a, true); }
    template <class N, IfNumber<N> = 0> friend bool operator>=(N a, const Arg &b) { return !above(b, a, false); }
    template <class U, IfNoNumber<U> = 0> friend bool operator>(const T &, const U &) { return compared<U>(); }
    template <class U, IfNoNumber<U> = 0> friend bool operator<(const T &, const U &) { return compared<U>(); }
    template <class U, IfNoNumber<U> = 0> friend bool operator>=(const T &, const U &) { return compared<U>(); }
    template <class U, IfNoNumber<U> = 0> friend bool operator<=(const T &, const U &) { return compared<U>(); }
    template <class U> friend bool operator==(const T &, const U &) { return equated<U>(); }
    template <class U> friend bool operator!=(const T &, const U &) { return equated<U>(); }
    template <class U> friend bool operator>>(const T &, const U &) { return shifted<U>(); }
    template <class U> friend bool operator<<(const T &, const U &) { return shifted<U>(); }
    template <class U> friend bool operator%(const T &, const U &) { return treated_as_bits<U>(); }
    template <class U> friend bool operator&(const T &, const U &) { return treated_as_bits<U>(); }
    template <class U> friend bool operator|(const T &, const U &) { return treated_as_bits<U>(); }
    template <class U> friend bool operator^(const T &, const U &) { return treated_as_bits<U>(); }
};
struct Value : Operators<Value, ValueArg> {
    double v = 0;
    Handle handle{};
    constexpr Value() = default;
    template <class T, IfNumber<T> = 0> constexpr Value(T x) : v(double(x)) {}
    constexpr Value(double x, Handle h) : v(x), handle(h) {}
};
struct PairArg;
struct Pair;
Pair times(const PairArg &a, const Value &k);
struct Pair : Operators<Pair, PairArg> {
    double mg = 0, eg = 0;
    Handle handle{};
    constexpr Pair() = default;
    constexpr Pair(std::nullptr_t) {} // the literal 0, and no other number
    constexpr Pair(double m, double e, Handle h) : mg(m), eg(e), handle(h) {}
    friend Pair operator*(const Value &a, const PairArg &b) { return times(b, a); }
    template <class N, IfNumber<N> = 0> friend bool operator+(const Pair &, N) { return added<N>(); }
    template <class N, IfNumber<N> = 0> friend bool operator-(const Pair &, N) { return added<N>(); }
};
constexpr Pair S(double mg, double eg, GPUTEXEL_LITERAL_AT) { return {mg, eg, {at.file_name(), at.line(), at.column()}}; }
constexpr Value V(double x, GPUTEXEL_LITERAL_AT) { return {x, {at.file_name(), at.line(), at.column()}}; }

struct ValueArg {
    Value v;
    Site at;
    constexpr ValueArg(const Value &x, Site s = Site::current()) : v(x), at(s) {}
    template <class T, IfNumber<T> = 0> constexpr ValueArg(T x, Site s = Site::current()) : v(x), at(s) {}
};
struct PairArg {
    const Pair &v;
    Site at;
    constexpr PairArg(const Pair &x, Site s = Site::current()) : v(x), at(s) {}
};
struct Number {
    double x;
    Site at;
    template <class T, IfNumber<T> = 0> constexpr Number(T n, Site s = Site::current()) : x(double(n)), at(s) {}
};

enum class Op : std::uint8_t { linear, make, mg, eg, relu, relu2, square, sigmoid, table, product, product_pair,
                               bounded_mg, bounded_eg, scale_eg, scale, taper };
constexpr const char *NAMES[] = {"identity", "", "", "", "relu", "relu2", "square", "sigmoid", "table", "product",
                                 "product", "bounded_mg", "bounded_eg", "scale_eg", "scale"};
using Ref = std::uint32_t; // a node, or with this bit a parameter
constexpr Ref PARAMETER = 0x80000000u;
// Indices of the trace: constants from 12, parameters from 16; each further sum has a range of its own.
constexpr std::uint32_t FIRST = 12, OWN = 4, STRIDE = 20000;
enum Constant : std::uint32_t { ONE, MINUS_ONE, ONE_MG, ONE_EG };
constexpr double CONSTANTS[OWN][2] = {{1, 1}, {-1, -1}, {1, 0}, {0, 1}};
constexpr const char *CONSTANT_NAMES[OWN] = {"one", "minus_one", "one_mg", "one_eg"};
using Knots = std::vector<std::array<double, 2>>;
using Entries = std::vector<std::pair<std::uint32_t, double>>;

struct Node {
    Op op = Op::linear;
    bool is_pair = false;
    Ref a = 0, b = 0;
    std::uint32_t site = 0;
    double ka = 0, kb = 0, c = 0, d = 0; // of linear: a·ka + b·kb + (c, d); else constants of the verb
    double x = 0, y = 0;                 // the value, or the middlegame and the endgame value
    bool same(const Node &n) const {
        return op == n.op && a == n.a && b == n.b && site == n.site && ka == n.ka && kb == n.kb && d == n.d;
    }
};
struct Operand { Ref ref; double x, y; };
struct Parameter {
    Handle place;
    bool is_pair;
    double source[2], value[2];
    std::string name;
    char linear = 0;               // counts in 'b'oth phases of the linear part, in 'm' or in 'e'
    bool used[2] = {false, false}; // which of its values other sums use
};
struct Term {
    Op op = Op::linear;
    char takes = 'u'; // the 'm'iddlegame or 'e'ndgame value of its sum, or 'u': that has but one
    int times = 0;    // multiplied by 1: a value, 2: a pair
    std::uint32_t site = 0;
    double over = 0, divide = 1, one = 1, scale[2] = {0, 0};
    bool operator==(const Term &t) const {
        return op == t.op && takes == t.takes && times == t.times && site == t.site && over == t.over &&
               divide == t.divide && one == t.one && scale[0] == t.scale[0] && scale[1] == t.scale[1];
    }
};
struct Sum {
    std::uint32_t range[2]; // White's and Black's
    char type = 'u';        // adds up 'm'iddlegame or 'e'ndgame values, or numbers without phases
    std::vector<bool> members{};
};
struct Slot { // an accumulator of the schema, and the one that its terms are multiplied by
    Op kind;  // linear: of terms
    std::uint32_t site, occurrence;
    Sum sum, factor;
    std::array<double, 3> limits; // of a bound or scale factor
    std::vector<Term> terms;
    bool sides[2] = {false, false};
};
struct Row {
    double offset = 0, phase = 0;
    Entries entries{}, factor[2]{}; // the factor if White, or Black, is stronger
    std::size_t factor_slot = 0;    // and one
    bool reversed = false;          // what the factor multiplies is from Black's view
    Ref factor_of = 0, factor_by = 0;
    void clear() { offset = phase = 0, factor_slot = 0, entries.clear(), factor[0].clear(), factor[1].clear(); }
};
struct Branch { Ref on; bool positive; Site at; };
struct Share { Ref ref; double m, e; }; // of a node or parameter in the middlegame and in the endgame value

class Recorder {
  public:
    enum class Mode { setup, recording, playing } mode = Mode::setup;
    bool addresses = false;
    Site last = Site::current();

    static Recorder &get() { static Recorder one; return one; }
    Operand operand(const Pair &p, Site at) {
        last = at;
        if (p.handle.is_constant()) return {0, p.mg, p.eg};
        return operand(ref(p.handle, p.mg, p.eg, true, at));
    }
    Operand operand(const Value &v, Site at) {
        last = at;
        if (!v.handle.is_constant()) return operand(ref(v.handle, v.v, v.v, false, at));
        if (mode == Mode::playing || v.v == 0) return {0, v.v, v.v};
        Node n;
        n.c = v.v;
        push(n, {}, {});
        return {top(), v.v, v.v};
    }
    Value value(Node n, const Operand &a, const Operand &b) {
        if (!push(n, a, b)) return Value(n.x);
        return {n.x, {nullptr, top(), current}};
    }
    Pair pair(Node n, const Operand &a, const Operand &b) {
        n.is_pair = true;
        if (!push(n, a, b)) return {n.x, n.y, {}};
        return {n.x, n.y, {nullptr, top(), current}};
    }
    Pair linear(const Pair &a, double ka, const Pair &b, double kb, Site at) {
        Node n;
        n.ka = ka, n.kb = kb;
        const Operand x = operand(a, at); // before b: the order of first use is that of the indices
        return pair(n, x, operand(b, at));
    }
    Value linear(const Value &a, double ka, const Value &b, double kb, Site at) {
        const bool ca = a.handle.is_constant(), cb = b.handle.is_constant();
        Node n;
        n.ka = ca ? 0 : ka, n.kb = cb ? 0 : kb, n.c = (ca ? a.v * ka : 0) + (cb ? b.v * kb : 0);
        if (ca && cb) return Value(n.c);
        const Operand x = ca ? Operand{} : operand(a, at);
        return value(n, x, cb ? Operand{} : operand(b, at));
    }
    Value function(Node n, const Value &x, Site at) {
        if (x.handle.is_constant()) return Value(apply(n.op, n.c, n.ka, n.kb, n.site, x.v));
        return value(n, operand(x, at), {});
    }
    void set_table(std::uint32_t of, const int (*points)[2], std::size_t count) {
        Knots &known = knots[of];
        bool same = known.empty() || known.size() == count;
        for (std::size_t i = 0; i < count && same; i++) {
            if (known.size() <= i) known.push_back({{double(points[i][0]), double(points[i][1])}});
            same = known[i][0] == points[i][0] && known[i][1] == points[i][1];
        }
        if (!same) refuse(sites[of], "the limits or knots of this verb change: they must be constants");
    }
    std::uint32_t site(const Site &at) {
        for (std::uint32_t i = 0; i < sites.size(); i++)
            if (sites[i].line() == at.line() && sites[i].column() == at.column() &&
                (sites[i].file_name() == at.file_name() || !std::strcmp(sites[i].file_name(), at.file_name())))
                return i;
        sites.push_back(at), knots.emplace_back();
        return std::uint32_t(sites.size() - 1);
    }
    // A branch on a sign: a position with one is evaluated twice, the second time with every branch turned.
    bool sign(const Operand &x, double number, bool or_zero, Site at) {
        if (number != 0 && mode != Mode::playing)
            refuse(at, "a score is compared with a number other than 0: use max, min, clamp, relu or table, and leave "
                       "lazy exits out of this build");
        const double difference = (x.y != 0 ? x.y : x.x) - number; // of a pair: the sign of both packed
        const bool yes = or_zero ? difference >= 0 : difference > 0;
        if (mode != Mode::recording) return yes;
        branches.push_back({x.ref, yes != turned, at});
        return yes != turned;
    }

    // Returns false if the evaluation of the position does not depend on any number.
    template <class F> bool record(const F &evaluate, const std::string &fen, double view, std::string &out) {
        if (!run(evaluate, fen, false)) return false;
        const double eval = nodes[root].x * view;
        analyze(row, view);
        if (!branches.empty()) {
            first.assign(nodes.begin() + permanent, nodes.end()), taken = branches;
            std::size_t other_sign = 0; // of a score that is not the one that the factor multiplies; and one
            for (std::size_t i = 0; i < taken.size(); i++)
                if (!other_sign && !is_strength(taken[i].on)) other_sign = i + 1;
            turned_row.clear();
            if (run(evaluate, fen, true) && !only_factor_differs()) analyze(turned_row, view);
            if (turned_row.entries != row.entries || turned_row.phase != row.phase ||
                turned_row.offset != row.offset || turned_row.factor_slot != row.factor_slot)
                refuse(taken[0].at, "a branch on the sign of a score changes more than a scale factor, which the schema "
                                    "cannot say: use max, min, relu or bounded");
            if (other_sign && turned_row.factor[0] != row.factor[0])
                refuse(taken[other_sign - 1].at, "a scale factor depends on the sign of another score than the one that "
                                                 "it multiplies");
            row.factor[1] = turned_row.factor[0];
            if (taken[0].positive == row.reversed) row.factor[0].swap(row.factor[1]);
        } else {
            row.factor[1] = row.factor[0];
        }
        for (int side = 0; side < 2 && row.factor_slot; side++)
            for (const auto &e : row.factor[side])
                row.entries.emplace_back(slots[row.factor_slot - 1].sum.range[side] * STRIDE + FIRST + e.first, e.second);
        std::sort(row.entries.begin(), row.entries.end());
        const double again = evaluate_row();
        if (!(std::fabs(again - eval) <= 1e-6 * std::max(1.0, std::fabs(eval))))
            refuse(last, "the record gives " + std::to_string(again) + ", the evaluation gave " + std::to_string(eval) +
                             ": " + fen);
        const auto put = [&out](std::uint32_t i, double x) { out += ' ', out += shown(i), out += ':', out += shown(x); };
        if (row.phase != 0) put(1, row.phase);
        put(2, eval);
        if (row.offset != 0) put(3, row.offset), has_offset = true;
        for (const auto &e : row.entries) put(e.first, e.second);
        return true;
    }
    void use_values(const char *path) {
        std::ifstream file(path);
        double m = 0, e = 0;
        for (std::string name; file >> m >> e && std::getline(file >> std::ws, name);) values[name] = {{m, e}};
        if (values.empty() || !file.eof()) {
            std::fprintf(stderr, "gputexel: %s: must have lines 'MG EG NAME'\n", path);
            std::exit(1);
        }
        for (Parameter &p : parameters) set_value(p);
        for (Node &n : nodes) compute(n, operand(n.a), operand(n.b)); // sums that were made at the start
    }

  private:
    std::vector<Node> nodes = std::vector<Node>(1), first; // node 0 is the constant 0
    std::vector<Site> sites;
    std::vector<Knots> knots; // by site
    std::vector<Parameter> parameters;
    std::vector<std::pair<Handle, std::uint32_t>> places; // hash table of literals
    std::size_t filled = 0, permanent = 0;
    std::unordered_map<std::string, std::array<double, 2>> values;
    std::vector<Slot> slots;
    std::vector<Branch> branches, taken;
    std::uint32_t current = 0, ranges = 1; // generation (0: before all positions); ranges of indices
    bool turned = false, constants_used[OWN] = {}, has_offset = false, tapered = false;
    Ref root = 0;
    std::uint32_t verb = 0; // whose sum is walked
    Row row, turned_row;
    double whole = 0, phase = 0; // whole: the phase of the middlegame, 0 before the first taper
    // A walk backwards: the share of each node and parameter in the two values.
    std::vector<std::array<double, 2>> node_shares, shares;
    std::vector<char> pending, touched;
    std::vector<Ref> touched_list;
    std::vector<Share> functions, stages, found;
    std::size_t waiting = 0;
    double constant[2] = {0, 0};
    mutable std::vector<std::array<double, 3>> sums;

    Ref top() const { return Ref(nodes.size() - 1); }
    Operand operand(Ref r) const {
        if (r & PARAMETER) return {r, parameters[r & ~PARAMETER].value[0], parameters[r & ~PARAMETER].value[1]};
        return {r, nodes[r].x, nodes[r].y};
    }
    Ref ref(const Handle &h, double m, double e, bool is_pair, Site at) {
        if (h.file) return PARAMETER | parameter(h, m, e, is_pair);
        if (h.column_or_generation != 0 && h.column_or_generation != current)
            refuse(at, "a score of an earlier position is used here (a cache?): leave caches out of this build");
        return h.line_or_node;
    }
    std::uint32_t parameter(const Handle &h, double m, double e, bool is_pair) {
        if (2 * filled >= places.size()) {
            std::vector<std::pair<Handle, std::uint32_t>> old(places.empty() ? 1024 : 2 * places.size());
            old.swap(places);
            for (const auto &p : old)
                if (p.first.file) places[find(p.first)] = p;
        }
        auto &place = places[find(h)];
        if (!place.first.file) place = {h, enter(h, m, e, is_pair)}, filled++;
        const Parameter &p = parameters[place.second];
        if (p.source[0] != m || p.source[1] != e || p.is_pair != is_pair)
            refuse(p.place, "this S or V stands for several numbers (in a macro, template or loop): write S where the "
                            "number stands");
        return place.second;
    }
    std::size_t find(const Handle &h) const {
        const std::size_t mask = places.size() - 1;
        std::size_t i = (reinterpret_cast<std::uintptr_t>(h.file) >> 3) * 31 + h.line_or_node * 2654435761u +
                        h.column_or_generation * 40503u;
        for (i ^= i >> 15;; i++) {
            const Handle &p = places[i & mask].first;
            if (!p.file || (p.file == h.file && p.line_or_node == h.line_or_node &&
                            p.column_or_generation == h.column_or_generation))
                return i & mask;
        }
    }
    std::uint32_t enter(const Handle &h, double m, double e, bool is_pair) {
        Parameter p{h, is_pair, {m, e}, {m, e}, base_name(h.file)};
        for (char &c : p.name)
            if (c == ',' || c == '"' || c == ' ') c = '_';
        p.name += "_" + std::to_string(h.line_or_node) + "_" + std::to_string(h.column_or_generation);
        for (std::uint32_t i = 0; i < parameters.size(); i++)
            if (parameters[i].name == p.name) {
                if (!std::strcmp(parameters[i].place.file, h.file)) return i; // a header in another translation unit
                p.name += "b";                                                // a file of this name in another folder
            }
        if (parameters.size() >= STRIDE - FIRST - OWN) refuse(h, "there are more than 19,984 numbers");
        set_value(p);
        parameters.push_back(p), shares.push_back({{0, 0}}), touched.push_back(0);
        return std::uint32_t(parameters.size() - 1);
    }
    void set_value(Parameter &p) const {
        const auto own = values.find(p.name);
        if (own != values.end()) p.value[0] = own->second[0], p.value[1] = own->second[1];
    }
    static std::string base_name(const std::string &file) { return file.substr(file.find_last_of("/\\") + 1); }

    bool push(Node &n, const Operand &a, const Operand &b) { // false if nothing is recorded
        n.a = a.ref, n.b = b.ref;
        compute(n, a, b);
        if (mode == Mode::playing) return false;
        if (mode == Mode::setup && nodes.size() > 1000000)
            refuse(last, "a million sums outside of recorded positions: begin main with gputexel::play(argc, argv)");
        nodes.push_back(n);
        return true;
    }
    double apply(Op op, double over, double divide, double one, std::uint32_t of, double x) const {
        if (op == Op::relu) return x > over && x > 0 ? x : 0;
        if (op == Op::relu2) return x > over && x > 0 ? x * x : 0;
        if (op == Op::square) return x * std::fabs(x);
        if (op == Op::sigmoid) return one / (1 + std::exp(-x / divide));
        if (op != Op::table) return x;
        const Knots &k = knots[of];
        if (x <= k[0][0]) return k[0][1];
        for (std::size_t i = 1; i < k.size(); i++)
            if (x < k[i][0]) return k[i - 1][1] + (k[i][1] - k[i - 1][1]) * (x - k[i - 1][0]) / (k[i][0] - k[i - 1][0]);
        return k.back()[1];
    }
    static double toward_zero(double e, double c) { return e > 0 ? e + std::max(c, -e) : e < 0 ? e - std::max(c, e) : 0; }
    static double limited(double x, double low, double high) { return std::min(std::max(x, low), high); }
    void compute(Node &n, const Operand &a, const Operand &b) const {
        if (n.op == Op::linear) {
            n.x = n.ka * a.x + n.kb * b.x + n.c;
            n.y = n.is_pair ? n.ka * a.y + n.kb * b.y + n.d : n.x;
            return;
        }
        n.x = a.x, n.y = a.y;
        const double bound = n.ka != 0 ? std::min(b.x + n.c, 0.0) : b.x;
        switch (n.op) {
        case Op::make: n.y = b.x; break;
        case Op::mg: n.y = a.x; break;
        case Op::eg: n.x = a.y; break;
        case Op::product: n.x = n.y = a.x * b.x; break;
        case Op::product_pair: n.x = a.x * b.x, n.y = a.x * b.y; break;
        case Op::bounded_mg: n.x = toward_zero(a.x, bound); break;
        case Op::bounded_eg: n.y = toward_zero(a.y, bound); break;
        case Op::scale_eg: n.y = a.y * limited(b.x, n.c, n.d) / n.ka; break;
        case Op::scale: n.x = n.y = a.x * limited(b.x, n.c, n.d) / n.ka; break;
        case Op::taper: n.x = n.y = (a.x * n.c + a.y * (n.d - n.c)) / n.d; break;
        default: n.x = n.y = apply(n.op, n.c, n.ka, n.kb, n.site, a.x);
        }
    }
    template <class F> bool run(const F &evaluate, const std::string &fen, bool turn) {
        if (permanent == 0) permanent = nodes.size();
        nodes.resize(permanent), branches.clear();
        current++, mode = Mode::recording, turned = turn;
        const Value result = evaluate(fen);
        root = 0;
        if (!result.handle.is_constant()) root = operand(linear(result, 1, Value(), 0, last), last).ref;
        mode = Mode::setup;
        return root != 0;
    }
    bool is_strength(Ref r) const {
        if (row.factor_slot == 0 || r == row.factor_of) return row.factor_slot != 0;
        return !(r & PARAMETER) && nodes[r].op == Op::eg && nodes[r].a == row.factor_of;
    }
    // The usual case, without another walk: the tape is the same, but for a constant factor.
    bool only_factor_differs() {
        if (nodes.size() - permanent != first.size()) return false;
        for (std::size_t i = 0; i < first.size(); i++) {
            const Node &n = nodes[permanent + i];
            if (!n.same(first[i]) || (n.c != first[i].c && permanent + i != row.factor_by)) return false;
        }
        const Node &k = nodes[row.factor_by];
        if (k.op != Op::linear || k.a != 0 || k.b != 0 || row.factor_by < permanent) return false;
        turned_row = row, turned_row.factor[0].clear();
        put_constants(turned_row.factor[0], 0, slots[row.factor_slot - 1].sum, k.c, k.c, true);
        return true;
    }

    // ---- from the tape to the schema's form
    void add(Ref r, double m, double e) {
        if ((m == 0 && e == 0) || r == 0) return;
        if (r & PARAMETER) {
            r &= ~PARAMETER;
            if (!touched[r]) touched[r] = 1, touched_list.push_back(r);
            shares[r][0] += m, shares[r][1] += e;
        } else {
            if (!pending[r]) pending[r] = 1, waiting++, node_shares[r] = {{0, 0}};
            node_shares[r][0] += m, node_shares[r][1] += e;
        }
    }
    // Walks from a node to the parameters, which are then in `found`. In a `sum`, m and e count the two values of a
    // pair toward one number; otherwise they are shares in the middlegame and in the endgame value of the score.
    void walk(Ref from, double m, double e, bool sum) {
        if (pending.size() < nodes.size()) pending.resize(nodes.size()), node_shares.resize(nodes.size());
        constant[0] = constant[1] = 0;
        functions.clear(), stages.clear(), found.clear();
        add(from, m, e);
        for (Ref i = from; waiting != 0; i--)
            if (pending[i]) pending[i] = 0, waiting--, visit(i, node_shares[i][0], node_shares[i][1], sum);
        std::sort(touched_list.begin(), touched_list.end());
        for (const Ref p : touched_list) {
            if (shares[p][0] != 0 || shares[p][1] != 0) found.push_back({p, shares[p][0], shares[p][1]});
            shares[p] = {{0, 0}}, touched[p] = 0;
        }
        touched_list.clear();
    }
    void visit(Ref i, double m, double e, bool sum) {
        const Node &n = nodes[i];
        if (n.op == Op::linear) {
            if (sum) constant[0] += m * n.c + e * n.d;
            else constant[0] += m * n.c, constant[1] += e * (n.is_pair ? n.d : n.c);
            add(n.a, n.ka * m, n.ka * e), add(n.b, n.kb * m, n.kb * e);
        } else if (n.op == Op::make) {
            add(n.a, m, 0), add(n.b, sum ? e : 0, sum ? 0 : e);
        } else if (n.op == Op::mg || n.op == Op::eg) {
            if (!sum && (n.op == Op::mg ? e : m) != 0)
                refuse(sites[n.site], "the value of one phase is used in the other" + std::string(SCHEMA));
            add(n.a, n.op == Op::mg ? m : 0, n.op == Op::mg ? 0 : sum ? m : e);
        } else if (n.op == Op::taper) {
            if (sum || m != e || (whole != 0 && whole != n.d) || (tapered && phase != n.c))
                refuse(sites[n.site], "a second taper with another phase, or one within a verb" + std::string(SCHEMA));
            if (!(n.c >= 0 && n.c <= n.d)) refuse(sites[n.site], "the phase is " + shown(n.c) + ", of " + shown(n.d));
            tapered = true, phase = n.c, whole = n.d;
            add(n.a, m, e);
        } else {
            if (sum) refuse(sites[verb], "a function of a function" + std::string(SCHEMA));
            (n.op < Op::bounded_mg ? functions : stages).push_back({i, m, e});
        }
    }
    void put_constants(Entries &to, std::uint32_t base, Sum &sum, double m, double e, bool present) {
        const auto put = [&](std::uint32_t which, double c) {
            if (c == 0) return;
            if (sum.members.size() < OWN) sum.members.resize(OWN);
            sum.members[which] = constants_used[which] = true, to.emplace_back(base + which, c);
        };
        if (present) m++, e++, put(MINUS_ONE, 1); // a sum without entries would leave the verb out
        if (m == e) put(ONE, m);
        else put(ONE_MG, m), put(ONE_EG, e);
    }
    // The sum that a verb takes. With `present`, it has entries even if it is 0.
    void put_sum(Entries &to, Ref r, bool pair, bool present, std::uint32_t base, Sum &sum, std::uint32_t of) {
        verb = of;
        walk(r, 1, pair ? 1 : 0, !pair);
        if (!functions.empty() || !stages.empty()) refuse(sites[verb], "a function of a function" + std::string(SCHEMA));
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            if (pair ? s.m != s.e : p.is_pair && s.m != 0 && s.e != 0)
                refuse(sites[verb], "middlegame and endgame values are mixed in its sum" + std::string(SCHEMA));
            if (!pair && p.is_pair) {
                const char type = s.m != 0 ? 'm' : 'e';
                if (sum.type != 'u' && sum.type != type)
                    refuse(sites[verb], "middlegame and endgame values are mixed in its sum" + std::string(SCHEMA));
                sum.type = type, p.used[type == 'e'] = true;
            } else {
                p.used[0] = p.used[1] = true;
            }
            if (sum.members.size() <= s.ref + OWN) sum.members.resize(s.ref + OWN + 1);
            sum.members[s.ref + OWN] = true;
            to.emplace_back(base + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        put_constants(to, base, sum, constant[0], pair ? constant[1] : constant[0], present);
    }
    Slot &slot(Op kind, std::uint32_t site, std::uint32_t occurrence, const std::vector<Term> &terms,
               const std::array<double, 3> &limits) {
        for (Slot &s : slots)
            if (s.kind == kind && s.site == site && s.occurrence == occurrence) {
                if (s.terms == terms && s.limits == limits) return s;
                refuse(sites[site], "this counts otherwise than in positions before (factor, sign, phase or limit)" +
                                        std::string(SCHEMA));
            }
        for (const Slot &s : slots)
            if (kind != Op::linear && (s.kind == kind || (kind >= Op::scale_eg && s.kind >= Op::scale_eg)))
                refuse(sites[site], "another one of its kind: the schema has one factor, and one bound for each phase");
        if (ranges + 4 > 49) refuse(sites[site], "there are more verbs than a schema has room for");
        slots.push_back({kind, site, occurrence, {{ranges, ranges + 1}}, {{ranges + 2, ranges + 3}}, limits, terms});
        ranges += !terms.empty() && terms[0].times != 0 ? 4 : 2;
        return slots.back();
    }
    double in_score(const double (&c)[2]) const {
        return tapered ? (c[0] * phase + c[1] * (whole - phase)) / whole : c[0];
    }

    void analyze(Row &to, double view) {
        to.clear();
        tapered = false;
        bool staged = false;
        for (Ref from = root;; staged = true) {
            walk(from, view, view, false);
            if (stages.empty()) break;
            const Share s = stages[0];
            const Node n = nodes[s.ref];
            if (stages.size() > 1 || !functions.empty() || !found.empty() || s.m != s.e || std::fabs(s.m) != 1)
                refuse(sites[n.site], "tuned numbers are added after this, or it is multiplied; the schema applies it "
                                      "last, and only plain numbers may be added then");
            to.offset += in_score(constant);
            from = n.a, view = s.m;
            Slot &f = slot(n.op, n.site, 0, {}, {{n.ka, n.c, n.d}});
            if (n.op >= Op::scale_eg) {
                to.factor_slot = std::size_t(&f - slots.data()) + 1;
                to.reversed = view < 0, to.factor_of = n.a, to.factor_by = n.b, f.sides[1] = true;
                put_sum(to.factor[0], n.b, false, true, 0, f.sum, n.site);
            } else {
                put_sum(to.entries, n.b, false, true, f.sum.range[0] * STRIDE + FIRST, f.sum, n.site);
            }
            f.sides[0] = true;
        }
        if (tapered) to.phase = phase;
        Sum linear{{0, 0}};
        if (!staged) to.offset = in_score(constant);
        else put_constants(to.entries, FIRST, linear, constant[0], constant[1], false);
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            const bool both = std::fabs(s.m - s.e) <= 1e-12 * std::fabs(s.m);
            const char kind = both ? 'b' : s.e == 0 ? 'm' : 'e';
            if ((kind == 'e' && s.m != 0) || (p.linear != 0 && p.linear != kind))
                refuse(p.place, "this number counts differently in middlegame and endgame, or in both phases here and in "
                                "one phase there" + std::string(SCHEMA));
            p.linear = kind;
            to.entries.emplace_back(FIRST + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        if (!functions.empty()) put_terms(to, std::vector<Share>(functions.rbegin(), functions.rend()));
    }
    struct Instance { // the terms of one sum and side
        Ref base, times;
        bool black, pair;
        std::vector<Term> terms;
    };
    void put_terms(Row &to, const std::vector<Share> &list) { // in the order of evaluation
        std::vector<Instance> instances;
        const auto is = [this](Ref r, Op from, Op until) {
            return !(r & PARAMETER) && nodes[r].op >= from && nodes[r].op <= until;
        };
        for (const Share &s : list) {
            const Node &n = nodes[s.ref];
            Instance own{n.a, 0, (s.m != 0 ? s.m : s.e) < 0, false, {}};
            Term t;
            t.site = n.site, t.scale[0] = own.black ? -s.m : s.m, t.scale[1] = own.black ? -s.e : s.e;
            const Node *f = &n;
            if (n.op >= Op::product) {
                Ref a = n.a, b = n.b;
                if (n.op == Op::product && is(b, Op::relu, Op::table)) std::swap(a, b);
                f = is(a, Op::relu, Op::table) ? &nodes[a] : nullptr;
                t.times = n.op == Op::product ? 1 : 2, own.times = b, own.base = f ? f->a : a;
            }
            if (f) t.op = f->op, t.over = f->c, t.divide = f->ka, t.one = f->kb, t.site = f->site;
            if (is(own.base, Op::mg, Op::eg)) t.takes = nodes[own.base].op == Op::mg ? 'm' : 'e';
            Instance *with = nullptr; // functions of one sum, or of the two values of one pair, share an accumulator
            for (Instance &other : instances) {
                if (other.times != 0 || own.times != 0 || other.black != own.black) continue;
                const bool pair = t.takes != 'u' && other.terms[0].takes != 'u' && nodes[other.base].a == nodes[own.base].a;
                if (other.base == own.base || pair) with = &other, other.pair |= other.base != own.base;
            }
            (with ? *with : (instances.push_back(own), instances.back())).terms.push_back(t);
        }
        for (std::size_t i = 0; i < instances.size(); i++) {
            const Instance &own = instances[i];
            std::uint32_t occurrence = 0;
            bool present = false;
            for (std::size_t j = 0; j < i; j++)
                occurrence += instances[j].terms[0].site == own.terms[0].site && instances[j].black == own.black;
            for (const Term &t : own.terms) present |= t.op == Op::sigmoid || t.op == Op::table;
            Slot &s = slot(Op::linear, own.terms[0].site, occurrence, own.terms, {{0, 0, 0}});
            s.sides[own.black] = true;
            put_sum(to.entries, own.pair ? nodes[own.base].a : own.base, own.pair, present,
                    s.sum.range[own.black] * STRIDE + FIRST, s.sum, s.site);
            if (own.times != 0)
                put_sum(to.entries, own.times, own.terms[0].times == 2, false,
                        s.factor.range[own.black] * STRIDE + FIRST, s.factor, s.site);
        }
    }

    static int value_of(const Sum &s) { return s.type == 'e'; } // which of its two values; either, if it has but one
    static int taken_by(const Slot &s, const Term &t) { return t.takes != 'u' ? t.takes == 'e' : value_of(s.sum); }
    static int multiplied_by(const Slot &s, const Term &t, int target) { return t.times == 2 ? target : value_of(s.factor); }
    // The schema's own arithmetic, from the record alone.
    double evaluate_row() const {
        sums.assign(ranges, {{0, 0, 0}});
        for (const auto &e : row.entries) {
            auto &sum = sums[e.first / STRIDE];
            const std::uint32_t k = e.first % STRIDE - FIRST;
            const double *v = k < OWN ? CONSTANTS[k] : parameters[k - OWN].value;
            const char phases = k < OWN || e.first >= STRIDE ? 'b' : parameters[k - OWN].linear;
            if (phases != 'e') sum[0] += e.second * v[0];
            if (phases != 'm') sum[1] += e.second * v[1];
            sum[2] = 1;
        }
        double score[2] = {sums[0][0], sums[0][1]};
        for (const Slot &s : slots)
            for (const Term &t : s.terms)
                for (int side = 0; side < 2; side++) {
                    const auto &x = sums[s.sum.range[side]];
                    if (x[2] == 0 || (t.times != 0 && sums[s.factor.range[side]][2] == 0)) continue;
                    const double f = apply(t.op, t.over, t.divide, t.one, t.site, x[taken_by(s, t)]);
                    for (int to = 0; to < 2; to++)
                        score[to] += (side ? -f : f) * t.scale[to] *
                                     (t.times ? sums[s.factor.range[side]][multiplied_by(s, t, to)] : 1);
                }
        for (const Slot &s : slots)
            if ((s.kind == Op::bounded_mg || s.kind == Op::bounded_eg) && sums[s.sum.range[0]][2] != 0) {
                const double c = sums[s.sum.range[0]][value_of(s.sum)];
                double &e = score[s.kind == Op::bounded_eg];
                e = toward_zero(e, s.limits[0] != 0 ? std::min(c + s.limits[1], 0.0) : c);
            }
        const Slot *s = row.factor_slot != 0 ? &slots[row.factor_slot - 1] : nullptr;
        const auto factor = [&](double strength) {
            return limited(sums[s->sum.range[strength < 0]][value_of(s->sum)], s->limits[1], s->limits[2]) / s->limits[0];
        };
        if (s && s->kind == Op::scale_eg) score[1] *= factor(score[1]);
        const double total = tapered ? (score[0] * phase + score[1] * (whole - phase)) / whole : score[0];
        return row.offset + total * (s && s->kind == Op::scale ? factor(total) : 1);
    }
    static std::string shown(double x) {
        char text[32];
        if (x == std::floor(x) && std::fabs(x) < 1e9) {
            char *const end = text + sizeof text, *at = end;
            auto n = std::uint32_t(std::fabs(x));
            do *--at = char('0' + n % 10);
            while ((n /= 10) != 0);
            if (x < 0) *--at = '-';
            return std::string(at, end);
        }
        std::snprintf(text, sizeof text, "%.12g", x);
        for (char &c : text)
            if (c == ',') c = '.'; // of a locale
        return text;
    }
    static std::string quoted(const std::string &s) {
        std::string out = "\"";
        for (const char c : s) (c == '"' || c == '\\' ? out += '\\' : out) += c;
        return out + '"';
    }
    static void list(std::string &to, const std::string &item, const char *between = ", ") {
        to += (to.empty() ? "" : between) + item;
    }
    const char *name(std::uint32_t i) const { return i < OWN ? CONSTANT_NAMES[i] : parameters[i - OWN].name.c_str(); }
    std::string parameter_json(std::uint32_t i) const {
        std::string out = "    {\"name\": " + quoted(name(i)) + ", \"index\": " + shown(FIRST + i);
        const double *v = CONSTANTS[i < OWN ? i : 0];
        double prior[2] = {v[0], v[1]};
        std::string phases = "both";
        if (i < OWN) {
            out += ", \"frozen\": true";
        } else {
            const Parameter &p = parameters[i - OWN];
            bool has[2] = {p.used[0], p.used[1]};
            for (int k = 0; k < 2; k++) {
                const bool not_here = p.linear == "em"[k]; // counts only in the other phase of the linear part
                if (not_here && has[k])
                    refuse(p.place, "this number counts in one phase here and elsewhere in the other" + std::string(SCHEMA));
                prior[k] = not_here ? 0 : p.value[k], has[k] |= p.linear != 0 && !not_here;
            }
            phases = has[0] != has[1] ? (has[0] ? "mg" : "eg") : p.is_pair ? "both" : "untapered";
            if (addresses) // the type of place.file is a path as the compiler got it
                out += ", \"at\": " + quoted(std::string(p.place.file) + ":" + std::to_string(p.place.line_or_node) + ":" +
                                             std::to_string(p.place.column_or_generation));
        }
        if (whole != 0) out += ", \"phases\": \"" + phases + "\"";
        if (whole == 0 || phases == "untapered") return out + ", \"prior\": " + shown(prior[0]) + "}";
        return out + ", \"prior\": [" + shown(prior[0]) + ", " + shown(prior[1]) + "]}";
    }
    std::string term_json(const Slot &s, const Term &t, int target, const std::string &factor) const {
        char scale[32]; // to the last bit
        std::snprintf(scale, sizeof scale, "%.17g", t.scale[target] * (t.op == Op::sigmoid ? t.one : 1));
        std::string out = "{\"op\": " + quoted(NAMES[int(t.op)]) + ", \"scale\": " + scale;
        if (t.op == Op::sigmoid) out += ", \"divide\": " + shown(t.divide);
        if (t.over != 0) out += ", \"over\": " + shown(t.over);
        if (t.op == Op::table) {
            std::string points;
            for (const auto &k : knots[t.site]) list(points, "[" + shown(k[0]) + ", " + shown(k[1]) + "]");
            out += ", \"knots\": [" + points + "]";
        }
        if (t.times != 0) out += ", \"times\": " + quoted(factor + "." + "me"[multiplied_by(s, t, target)] + "g");
        return out + ", \"value\": \"" + "me"[taken_by(s, t)] + "g\"}";
    }
    std::string accumulator_json(const Slot &s, const Sum &sum, const std::string &own, const std::string &factor) const {
        const auto index = [&sum](int side) { return std::to_string(sum.range[side] * STRIDE + FIRST); };
        std::string out = "    {\"name\": " + quoted(own) + ", ", terms[2], members;
        for (int to = 0; to < 2 && !factor.empty(); to++)
            for (const Term &t : s.terms)
                if (t.scale[to] != 0 && (to == 0 || whole != 0)) list(terms[to], term_json(s, t, to, factor));
        if (s.sides[0] && s.sides[1]) out += "\"sides\": {\"white\": " + index(0) + ", \"black\": " + index(1) + "}";
        else out += "\"index\": " + index(s.sides[1]) + (s.sides[1] && !factor.empty() ? ", \"sign\": -1" : "");
        for (int to = 0; to < 2; to++)
            if (!terms[to].empty()) out += std::string(", \"") + "me"[to] + "g\": [" + terms[to] + "]";
        for (std::uint32_t i = 0; i < sum.members.size(); i++)
            if (sum.members[i]) list(members, "{\"use\": " + quoted(name(i)) + ", \"at\": " + shown(i) + "}");
        return out + ", \"parameters\": [" + members + "]}";
    }

  public:
    bool write_schema(const char *path) const {
        std::string numbers, accumulators, adjust, factor;
        std::size_t count = 1;
        for (std::uint32_t i = 0; i < OWN + parameters.size(); i++)
            if (i >= OWN || constants_used[i]) list(numbers, parameter_json(i), ",\n");
        for (const Slot &s : slots) {
            const std::string own = std::string(s.terms.empty() ? NAMES[int(s.kind)] : NAMES[int(s.terms[0].op)]) + "_" +
                                    base_name(sites[s.site].file_name()) + "_" + std::to_string(sites[s.site].line()) + "_" +
                                    std::to_string(sites[s.site].column()) + "_" + std::to_string(s.occurrence + 1);
            const std::string by = quoted(own + "." + "me"[value_of(s.sum)] + "g");
            const bool product = !s.terms.empty() && s.terms[0].times != 0;
            list(accumulators, accumulator_json(s, s.sum, own, own + "_factor"), ",\n");
            if (product) list(accumulators, accumulator_json(s, s.factor, own + "_factor", ""), ",\n");
            count += (s.sides[0] && s.sides[1] ? 2 : 1) * (product ? 2 : 1);
            if (s.kind >= Op::scale_eg)
                factor = std::string("{\"target\": ") + (s.kind == Op::scale ? "\"score\"" : "\"eg\"") + ", \"by\": " + by +
                         ", \"min\": " + shown(s.limits[1]) + (s.limits[2] < 1e9 ? ", \"max\": " + shown(s.limits[2]) : "") +
                         ", \"one\": " + shown(s.limits[0]) + "}";
            else if (s.kind >= Op::bounded_mg)
                list(adjust, std::string("{\"target\": ") + (s.kind == Op::bounded_mg ? "\"mg\"" : "\"eg\"") +
                                 ", \"op\": \"bounded\", \"by\": " + by +
                                 (s.limits[0] != 0 ? ", \"at_most\": " + shown(s.limits[1]) : "") + "}");
        }
        if (count > 24) refuse(sites[slots.back().site], "the verbs need " + shown(double(count)) + " sums: a schema has 24");
        std::ofstream file(path);
        file << "{\n  \"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \"comment\": \"fen\",\n";
        if (whole != 0) file << "  \"phase\": {\"middlegame\": " << shown(whole) << ", \"endgame\": 0},\n";
        file << "  \"columns\": {" << (whole != 0 ? "\"phase\": 1, " : "") << (has_offset ? "\"offset\": 3, " : "")
             << "\"eval\": 2, \"game\": \"qid\"},\n  \"parameters\": [\n" << numbers << "\n  ]";
        if (!accumulators.empty()) file << ",\n  \"accumulators\": [\n" << accumulators << "\n  ]";
        if (!adjust.empty()) file << ",\n  \"adjust\": [" << adjust << "]";
        if (!factor.empty()) file << ",\n  \"factor\": " << factor;
        file << "\n}\n";
        file.close();
        if (!file) std::fprintf(stderr, "gputexel: %s: not written\n", path);
        return bool(file);
    }
};

inline Recorder &recorder() { return Recorder::get(); }
inline Node node(Op op, Site at, double c = 0, double d = 0, double ka = 0, double kb = 0) {
    Node n;
    n.op = op, n.c = c, n.d = d, n.ka = ka, n.kb = kb, n.site = recorder().site(at);
    return n;
}
template <class T, class Arg> T linear(const T &a, double ka, const Arg &b, double kb) {
    return recorder().linear(a, ka, b.v, kb, b.at);
}
template <class N> Value number_first(N a, double kb, const ValueArg &b) { return recorder().linear(Value(a), 1, b.v, kb, b.at); }
template <class N> Pair number_first(N, double, const PairArg &b) { return added<N>() ? b.v : b.v; }
template <class T> T multiple(const T &a, double k, Site at) { return recorder().linear(a, k, T(), 0, at); }
template <class T> T negative(const T &a) { return multiple(a, -1, recorder().last); }
template <class T> T divided(const T &a, const Number &b) { return multiple(a, 1 / b.x, b.at); }
inline Pair times(const Pair &a, const ValueArg &b) {
    if (b.v.handle.is_constant()) return multiple(a, b.v.v, b.at);
    const Operand x = recorder().operand(b.v, b.at);
    return recorder().pair(node(Op::product_pair, b.at), x, recorder().operand(a, b.at));
}
inline Value times(const Value &a, const ValueArg &b) {
    if (b.v.handle.is_constant()) return multiple(a, b.v.v, b.at);
    if (a.handle.is_constant()) return multiple(b.v, a.v, b.at);
    const Operand x = recorder().operand(a, b.at);
    return recorder().value(node(Op::product, b.at), x, recorder().operand(b.v, b.at));
}
inline Pair times(const PairArg &a, const Value &k) { return times(a.v, ValueArg(k, a.at)); }
inline Value times(const ValueArg &a, double k) { return multiple(a.v, k, a.at); }
inline bool above(const Pair &a, const Number &b, bool or_equal) {
    return recorder().sign(recorder().operand(a, b.at), b.x, or_equal, b.at);
}
inline bool above(const Value &a, const Number &b, bool or_equal) {
    if (a.handle.is_constant()) return or_equal ? a.v >= b.x : a.v > b.x;
    return recorder().sign(recorder().operand(a, b.at), b.x, or_equal, b.at);
}
template <class Arg> bool above(const Arg &a, double b, bool or_equal) { return above(a.v, Number(b, a.at), or_equal); }

// ---- verbs
inline Value function(Op op, const Value &x, Site at, double over = 0, double divide = 1, double one = 1) {
    return recorder().function(node(op, at, over, 0, divide, one), x, at);
}
inline Value of_pair(const Node &n, const Pair &p, Site at) { return recorder().value(n, recorder().operand(p, at), {}); }
inline Pair with(const Node &n, const Pair &p, const Value &by, Site at) {
    const Operand x = recorder().operand(p, at);
    return recorder().pair(n, x, recorder().operand(by, at));
}
inline Value mg(const Pair &p, GPUTEXEL_AT) { return of_pair(node(Op::mg, at), p, at); }
inline Value eg(const Pair &p, GPUTEXEL_AT) { return of_pair(node(Op::eg, at), p, at); }
inline Pair pair(const Value &m, const Value &e, GPUTEXEL_AT) {
    const Operand x = recorder().operand(m, at);
    return recorder().pair(node(Op::make, at), x, recorder().operand(e, at));
}
inline Value relu(const Value &x, int over = 0, GPUTEXEL_AT) { return function(Op::relu, x, at, over); }
inline Value relu2(const Value &x, int over = 0, GPUTEXEL_AT) { return function(Op::relu2, x, at, over); }
inline Value square(const Value &x, GPUTEXEL_AT) { return function(Op::square, x, at); }
inline Value sigmoid(const Value &x, int divide, int one, GPUTEXEL_AT) { return function(Op::sigmoid, x, at, 0, divide, one); }
template <std::size_t N> Value table(const Value &x, const int (&knots)[N][2], GPUTEXEL_AT) {
    recorder().set_table(recorder().site(at), knots, N);
    return function(Op::table, x, at);
}
inline Value clamp(const Value &x, int low, int high, GPUTEXEL_AT) {
    const int ends[2][2] = {{low, low}, {high, high}};
    return table(x, ends, at);
}
inline Value max(const Value &a, const Value &b, GPUTEXEL_AT) { // a + relu(b − a)
    return recorder().linear(a, 1, relu(recorder().linear(b, 1, a, -1, at), 0, at), 1, at);
}
inline Value min(const Value &a, const Value &b, GPUTEXEL_AT) {
    return recorder().linear(a, 1, relu(recorder().linear(a, 1, b, -1, at), 0, at), -1, at);
}
inline Pair share(const Pair &p, const Value &k, int one, GPUTEXEL_AT) {
    return multiple(times(p, ValueArg(k, at)), 1.0 / one, at);
}
inline Pair bounded_mg(const Pair &p, const Value &c, GPUTEXEL_AT) { return with(node(Op::bounded_mg, at), p, c, at); }
inline Pair bounded_eg(const Pair &p, const Value &c, GPUTEXEL_AT) { return with(node(Op::bounded_eg, at), p, c, at); }
inline Pair bounded_mg(const Pair &p, const Value &c, int at_most, GPUTEXEL_AT) {
    return with(node(Op::bounded_mg, at, at_most, 0, 1), p, c, at);
}
inline Pair bounded_eg(const Pair &p, const Value &c, int at_most, GPUTEXEL_AT) {
    return with(node(Op::bounded_eg, at, at_most, 0, 1), p, c, at);
}
inline Pair bounded(const Pair &p, const Pair &c, GPUTEXEL_AT) {
    return bounded_mg(bounded_eg(p, eg(c, at), at), mg(c, at), at);
}
inline Pair scale_eg(const Pair &p, const Value &k, int one, int low = 0, int high = 1 << 30, GPUTEXEL_AT) {
    return with(node(Op::scale_eg, at, low, high, one), p, k, at);
}
inline Value scale(const Value &x, const Value &k, int one, int low = 0, int high = 1 << 30, GPUTEXEL_AT) {
    const Operand a = recorder().operand(x, at);
    return recorder().value(node(Op::scale, at, low, high, one), a, recorder().operand(k, at));
}
inline Value taper(const Pair &p, int phase, int whole, GPUTEXEL_AT) {
    return of_pair(node(Op::taper, at, phase, whole), p, at);
}
inline Value taper(const Pair &p, int phase, int whole, const Value &k, int one, GPUTEXEL_AT) {
    return taper(scale_eg(p, k, one, 0, 1 << 30, at), phase, whole, at);
}
inline int result(const Value &x, GPUTEXEL_AT) { // a number to search with; refused in a position that is recorded
    if (recorder().mode == Recorder::Mode::recording)
        refuse(at, "result() ends a recording: the evaluation that is traced returns gputexel::Value");
    return int(recorder().operand(x, at).x);
}
} // namespace detail

using detail::Pair, detail::Value, detail::S, detail::V, detail::mg, detail::eg, detail::pair, detail::taper, detail::result;
using detail::relu, detail::relu2, detail::square, detail::sigmoid, detail::table, detail::clamp, detail::max, detail::min;
using detail::share, detail::bounded_mg, detail::bounded_eg, detail::bounded, detail::scale_eg, detail::scale;
#ifndef GPUTEXEL_LOCATIONS
#define S(mg, eg) S(mg, eg, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
#define V(x) V(x, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
#endif

// ---- values, leaves, traces
// At the start of a process that plays: nothing is recorded, and S and V take their values from a file, if there is one.
inline void play(int argc, char **argv) {
    detail::recorder().mode = detail::Recorder::Mode::playing;
    const char *path = std::getenv("GPUTEXEL_VALUES");
    for (int i = 1; i + 1 < argc; i++)
        if (!std::strcmp(argv[i], "--values")) path = argv[i + 1];
    if (path) detail::recorder().use_values(path);
}
inline unsigned one_leaf_in() {
    static const char *const text = std::getenv("GPUTEXEL_LEAVES");
    static const unsigned n = text ? unsigned(std::strtoul(text, nullptr, 10)) : 0;
    return detail::recorder().mode == detail::Recorder::Mode::playing ? n : 0;
}
inline void leaf(const std::string &fen) {
    std::uint64_t key = 14695981039346656037u; // FNV-1a of the first four fields
    int spaces = 0;
    for (const char c : fen) {
        if (c == ' ' && ++spaces == 4) break;
        key = (key ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    if ((key ^ key >> 32) % one_leaf_in() != 0) return;
    static const char *const path = std::getenv("GPUTEXEL_LEAF_FILE");
    static std::FILE *const file = path ? std::fopen(path, "a") : stdout;
    if (file) std::fprintf(file, "info string leaf %s\n", fen.c_str()), std::fflush(file);
}

// Traces the positions on standard input, lines GAME RESULT FEN [SCORE] [WEIGHT]. `evaluate` takes a FEN and returns a
// Value: White's view, unless `view` says otherwise.
template <class F> int trace(int argc, char **argv, const F &evaluate, View view = View::white) {
    static_assert(std::is_same<decltype(evaluate(std::string())), Value>::value,
                  "gputexel: the evaluation returns gputexel::Value, the result of taper()");
    const char *schema = nullptr;
    detail::Recorder &r = detail::recorder();
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        if (word == "--addresses") r.addresses = true;
        else if (word == "--schema" && i + 1 < argc) schema = argv[++i];
        else if (word == "--values" && i + 1 < argc) r.use_values(argv[++i]);
        else return std::fprintf(stderr, "usage: %s [--schema FILE] [--values FILE] [--addresses] < POSITIONS\n", argv[0]), 2;
    }
    std::ios::sync_with_stdio(false);
    std::string line, row, word[8];
    while (std::getline(std::cin, line)) {
        std::size_t count = 0;
        for (std::size_t at = 0; count < 8 && (at = line.find_first_not_of(" \t\r", at)) != std::string::npos; count++) {
            const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
            word[count].assign(line, at, end - at);
            at = end;
        }
        const std::string fen = word[2] + ' ' + word[3] + ' ' + word[4] + ' ' + word[5] + ' ' + word[6] + ' ' + word[7];
        row = word[1] + " qid:" + word[0];
        try {
            const double sign = view == View::side_to_move && word[3] == "b" ? -1 : 1;
            if (count < 8) row = "# skipped: not GAME RESULT FEN, with six fields in the FEN";
            else if (r.record(evaluate, fen, sign, row)) row += " # " + fen;
            else row = "# skipped: no tuned number counts here";
        } catch (const std::exception &e) { // thrown by the engine
            row = std::string("# skipped: ") + e.what();
        }
        row += '\n';
        std::fwrite(row.data(), 1, row.size(), stdout);
    }
    const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
    return schema && !r.write_schema(schema) ? 1 : !written;
}
} // namespace gputexel

#endif // GPUTEXEL
#endif // GPUTEXEL_HPP
