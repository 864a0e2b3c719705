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
inline constexpr const char *NAMES[] = {"identity", "", "", "", "relu", "relu2", "square", "sigmoid", "table", "product",
                                 "product", "bounded_mg", "bounded_eg", "scale_eg", "scale"};
inline constexpr const char *PHASES[] = {"mg", "eg"};
using u32 = std::uint32_t;
using Ref = u32; // a node, or with this bit a parameter
constexpr Ref PARAMETER = 0x80000000u;
// Indices of the trace: constants from 12, parameters from 16; each further sum has a range of its own.
constexpr u32 FIRST = 12, OWN = 4, STRIDE = 20000;
enum Constant : u32 { ONE, MINUS_ONE, ONE_MG, ONE_EG };
inline constexpr double CONSTANTS[OWN][2] = {{1, 1}, {-1, -1}, {1, 0}, {0, 1}};
inline constexpr const char *CONSTANT_NAMES[OWN] = {"one", "minus_one", "one_mg", "one_eg"};
using Two = std::array<double, 2>;
using Knots = std::vector<Two>;
using Entries = std::vector<std::pair<u32, double>>;

struct Node {
    Op op = Op::linear;
    bool is_pair = false;
    Ref a = 0, b = 0;
    u32 site = 0;
    double ka = 0, kb = 0, c = 0, d = 0; // of linear: a·ka + b·kb + (c, d); else constants of the verb
    double x = 0, y = 0;                 // the value, or the middlegame and the endgame value
};
struct Operand { Ref ref; double x, y; };
struct Parameter {
    Handle place;
    bool is_pair;
    Two source, value;
    std::string name;
    char linear = 0;               // counts in 'b'oth phases of the linear part, in 'm' or in 'e'
    bool used[2] = {false, false}; // which of its values other sums use
};
struct Term {
    Op op = Op::linear;
    char takes = 'u'; // the 'm'iddlegame or 'e'ndgame value of its sum, or 'u': that has but one
    int times = 0;    // multiplied by 1: a value, 2: a pair
    u32 site = 0;
    std::array<double, 5> k{{0, 1, 1, 0, 0}}; // over, divide, one; factors in the middlegame and in the endgame
    bool operator==(const Term &t) const {
        return op == t.op && takes == t.takes && times == t.times && site == t.site && k == t.k;
    }
};
struct Sum {
    u32 range[2];    // White's and Black's
    char type = 'u'; // adds up 'm'iddlegame or 'e'ndgame values, or numbers without phases
    std::vector<bool> members{};
};
struct Slot { // an accumulator of the schema, and the one that its terms are multiplied by
    Op kind;  // linear: of terms
    u32 site, occurrence;
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

    Operand operand(const Pair &p, Site at) {
        last = at;
        if (p.handle.is_constant()) return {0, p.mg, p.eg};
        return operand(ref(p.handle, {{p.mg, p.eg}}, true, at));
    }
    Operand operand(const Value &v, Site at) {
        last = at;
        if (!v.handle.is_constant()) return operand(ref(v.handle, {{v.v, v.v}}, false, at));
        if (mode == Mode::playing || v.v == 0) return {0, v.v, v.v};
        Node n; // a constant where a node is needed
        n.c = v.v;
        push(n, {}, {});
        return {top(), v.v, v.v};
    }
    template <class T> T make(Node n, const Operand &a, const Operand &b) {
        n.is_pair = std::is_same<T, Pair>::value;
        const Handle h = push(n, a, b) ? Handle{nullptr, top(), current} : Handle{};
        if constexpr (std::is_same<T, Pair>::value) return {n.x, n.y, h};
        else return {n.x, h};
    }
    Pair linear(const Pair &a, double ka, const Pair &b, double kb, Site at) {
        const Operand x = operand(a, at), y = operand(b, at); // the order of first use is that of the indices
        const double m = ka * x.x + kb * y.x, e = ka * x.y + kb * y.y;
        if (mode == Mode::playing) return {m, e, {}};
        Node &n = grow(); // in place, because most of a tape is this
        n.is_pair = true, n.a = x.ref, n.b = y.ref, n.ka = ka, n.kb = kb, n.x = m, n.y = e;
        return {m, e, {nullptr, top(), current}};
    }
    Value linear(const Value &a, double ka, const Value &b, double kb, Site at) {
        const bool ca = a.handle.is_constant(), cb = b.handle.is_constant();
        Node n;
        n.ka = ca ? 0 : ka, n.kb = cb ? 0 : kb, n.c = (ca ? a.v * ka : 0) + (cb ? b.v * kb : 0);
        if (ca && cb) return Value(n.c);
        const Operand x = ca ? Operand{} : operand(a, at);
        return make<Value>(n, x, cb ? Operand{} : operand(b, at));
    }
    template <class T, class A, class B>
    T verb(Op op, Site at, const A &x, const B &y, double c = 0, double d = 0, double ka = 0, double kb = 0) {
        Node n;
        n.op = op, n.site = site(at), n.c = c, n.d = d, n.ka = ka, n.kb = kb;
        if constexpr (std::is_same<A, Value>::value && std::is_same<B, std::nullptr_t>::value)
            if (x.handle.is_constant()) return compute(n, {0, x.v, x.v}, {}), Value(n.x);
        const Operand a = operand(x, at);
        if constexpr (std::is_same<B, std::nullptr_t>::value) return make<T>(n, a, {});
        else return make<T>(n, a, operand(y, at));
    }
    void set_table(Site at, const int (*points)[2], std::size_t count) {
        Knots now;
        for (std::size_t i = 0; i < count; i++) now.push_back({{double(points[i][0]), double(points[i][1])}});
        Knots &known = knots[site(at)];
        if (known.empty()) known = now;
        if (known != now) refuse(at, "the limits or knots of this verb change: they must be constants");
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
        if (branches.empty()) row.factor[1] = row.factor[0];
        else record_turned(run_turned(evaluate, fen), view);
        for (int side = 0; side < 2 && row.factor_slot; side++)
            for (const auto &e : row.factor[side])
                row.entries.emplace_back(slots[row.factor_slot - 1].sum.range[side] * STRIDE + FIRST + e.first, e.second);
        std::sort(row.entries.begin(), row.entries.end());
        const double again = evaluate_row();
        if (!(std::fabs(again - eval) <= 1e-6 * std::max(1.0, std::fabs(eval))))
            refuse(last, "the record gives " + shown(again) + ", the evaluation gave " + shown(eval) + ": " + fen);
        const auto put = [&out](u32 i, double x) { out += ' ', out += shown(i), out += ':', out += shown(x); };
        if (row.phase != 0) put(1, row.phase);
        put(2, eval);
        if (row.offset != 0) put(3, row.offset), has_offset = true;
        for (const auto &e : row.entries) put(e.first, e.second);
        return true;
    }
    void use_values(const char *path) {
        std::ifstream file(path);
        Two v{};
        for (std::string name; file >> v[0] >> v[1] && std::getline(file >> std::ws, name);) values[name] = v;
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
    std::vector<std::pair<Handle, u32>> cache = std::vector<std::pair<Handle, u32>>(65536); // of literals
    std::unordered_map<std::string, u32> by_name;
    std::unordered_map<std::string, Two> values;
    std::vector<Slot> slots;
    std::vector<Branch> branches, taken;
    u32 current = 0, ranges = 1, verb_site = 0; // generation (0: before all positions); ranges; whose sum is walked
    bool turned = false, constants_used[OWN] = {}, has_offset = false, tapered = false;
    Ref root = 0;
    Row row, turned_row;
    double whole = 0, phase = 0; // whole: the phase of the middlegame, 0 before the first taper
    // A walk backwards: the share of each node and parameter in the two values.
    std::vector<Two> node_shares, shares;
    std::vector<char> pending, touched;
    std::vector<Ref> touched_list;
    std::vector<Share> functions, stages, found;
    std::size_t waiting = 0, permanent = 0;
    Two constant{};
    mutable std::vector<std::array<double, 3>> sums;

    Ref top() const { return Ref(nodes.size() - 1); }
    u32 site(const Site &at) {
        for (u32 i = 0; i < sites.size(); i++)
            if (sites[i].line() == at.line() && sites[i].column() == at.column() &&
                (sites[i].file_name() == at.file_name() || !std::strcmp(sites[i].file_name(), at.file_name())))
                return i;
        sites.push_back(at), knots.emplace_back();
        return u32(sites.size() - 1);
    }
    [[noreturn]] void refuse_by_schema(u32 site, const char *what) const {
        refuse(sites[site], std::string(what) + ", which the schema cannot say");
    }
    Operand operand(Ref r) const {
        if (!(r & PARAMETER)) return {r, nodes[r].x, nodes[r].y};
        const Two &v = parameters[r & ~PARAMETER].value;
        return {r, v[0], v[1]};
    }
    Ref ref(const Handle &h, const Two &v, bool is_pair, Site at) {
        if (h.file) return PARAMETER | parameter(h, v, is_pair);
        if (h.column_or_generation != 0 && h.column_or_generation != current)
            refuse(at, "a score of an earlier position is used here (a cache?): leave caches out of this build");
        return h.line_or_node;
    }
    u32 parameter(const Handle &h, const Two &v, bool is_pair) {
        auto &known = cache[(h.line_or_node * 2654435761u + h.column_or_generation * 2246822519u) >> 16];
        if (known.first.file != h.file || known.first.line_or_node != h.line_or_node ||
            known.first.column_or_generation != h.column_or_generation)
            known = {h, enter(h, v, is_pair)};
        const Parameter &p = parameters[known.second];
        if (p.source != v || p.is_pair != is_pair)
            refuse(p.place, "this S or V stands for several numbers (in a macro, template or loop): write S where the "
                            "number stands");
        return known.second;
    }
    u32 enter(const Handle &h, const Two &v, bool is_pair) {
        std::string name = base_name(h.file);
        for (char &c : name) c = c == ',' || c == '"' || c == ' ' ? '_' : c;
        name += "_" + std::to_string(h.line_or_node) + "_" + std::to_string(h.column_or_generation);
        auto known = by_name.find(name);
        for (; known != by_name.end(); known = by_name.find(name += "b")) // a file of this name in another folder
            if (!std::strcmp(parameters[known->second].place.file, h.file)) return known->second;
        if (parameters.size() >= STRIDE - FIRST - OWN) refuse(h, "there are more than 19,984 numbers");
        by_name[name] = u32(parameters.size());
        parameters.push_back({h, is_pair, v, v, name}), shares.push_back({}), touched.push_back(0);
        set_value(parameters.back());
        return u32(parameters.size() - 1);
    }
    void set_value(Parameter &p) const {
        const auto own = values.find(p.name);
        if (own != values.end()) p.value = own->second;
    }
    static std::string base_name(const std::string &file) { return file.substr(file.find_last_of("/\\") + 1); }

    bool push(Node &n, const Operand &a, const Operand &b) { // false if nothing is recorded
        n.a = a.ref, n.b = b.ref;
        compute(n, a, b);
        if (mode == Mode::playing) return false;
        grow() = n;
        return true;
    }
    Node &grow() {
        if (mode == Mode::setup && nodes.size() > 1000000)
            refuse(last, "a million sums outside of recorded positions: begin main with gputexel::play(argc, argv)");
        return nodes.emplace_back();
    }
    double apply(Op op, double over, double divide, double one, u32 of, double x) const {
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
        const double bound = n.ka != 0 ? std::min(b.x + n.c, 0.0) : b.x;
        n.x = a.x, n.y = a.y;
        switch (n.op) {
        case Op::linear:
            n.x = n.ka * a.x + n.kb * b.x + n.c, n.y = n.is_pair ? n.ka * a.y + n.kb * b.y + n.d : n.x;
            break;
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
        root = result.handle.is_constant() ? 0 : operand(linear(result, 1, Value(), 0, last), last).ref;
        mode = Mode::setup;
        return root != 0;
    }
    bool is_strength(Ref r) const {
        if (row.factor_slot == 0 || r == row.factor_of) return row.factor_slot != 0;
        return !(r & PARAMETER) && nodes[r].op == Op::eg && nodes[r].a == row.factor_of;
    }
    // The second evaluation. Returns the branch that is not on the sign of what the factor multiplies, and one.
    template <class F> std::size_t run_turned(const F &evaluate, const std::string &fen) {
        std::size_t other = 0;
        for (std::size_t i = branches.size(); i > 0; i--) other = is_strength(branches[i - 1].on) ? other : i;
        first.assign(nodes.begin() + std::ptrdiff_t(permanent), nodes.end()), taken = branches;
        run(evaluate, fen, true);
        return other;
    }
    void record_turned(std::size_t other_sign, double view) {
        turned_row.clear();
        if (root != 0 && !only_factor_differs()) analyze(turned_row, view);
        if (turned_row.entries != row.entries || turned_row.phase != row.phase || turned_row.offset != row.offset ||
            turned_row.factor_slot != row.factor_slot)
            refuse(taken[0].at, "a branch on the sign of a score changes more than a scale factor, which the schema cannot "
                                "say: use max, min, relu or bounded");
        if (other_sign && turned_row.factor[0] != row.factor[0])
            refuse(taken[other_sign - 1].at, "a scale factor depends on the sign of another score than the one that it "
                                             "multiplies");
        row.factor[1] = turned_row.factor[0];
        if (taken[0].positive == row.reversed) row.factor[0].swap(row.factor[1]);
    }
    // The usual case, without another walk: the tape is the same, but for a constant factor.
    bool only_factor_differs() {
        if (nodes.size() - permanent != first.size()) return false;
        for (std::size_t i = 0; i < first.size(); i++) {
            const Node &n = nodes[permanent + i], &f = first[i];
            if (n.op != f.op || n.a != f.a || n.b != f.b || n.site != f.site || n.ka != f.ka || n.kb != f.kb ||
                n.d != f.d || (n.c != f.c && permanent + i != row.factor_by))
                return false;
        }
        const Node &k = nodes[row.factor_by & PARAMETER ? 0 : row.factor_by];
        if (k.op != Op::linear || k.a != 0 || k.b != 0 || row.factor_by < permanent) return false;
        turned_row = row, turned_row.factor[0].clear();
        put_constants(turned_row.factor[0], 0, slots[row.factor_slot - 1].sum, k.c, k.c, true);
        return true;
    }

    // ---- from the tape to the schema's form
    void add(Ref r, double m, double e) {
        if ((m == 0 && e == 0) || r == 0) return;
        const bool is_node = !(r & PARAMETER);
        r &= ~PARAMETER;
        Two &share = is_node ? node_shares[r] : shares[r];
        if (is_node && !pending[r]) pending[r] = 1, waiting++, share = {};
        if (!is_node && !touched[r]) touched[r] = 1, touched_list.push_back(r);
        share[0] += m, share[1] += e;
    }
    // Walks from a node to the parameters, which are then in `found`. In a `sum`, m and e count the two values of a
    // pair toward one number; otherwise they are shares in the middlegame and in the endgame value of the score.
    void walk(Ref from, double m, double e, bool sum) {
        if (pending.size() < nodes.size()) pending.resize(nodes.size()), node_shares.resize(nodes.size());
        constant = {};
        functions.clear(), stages.clear(), found.clear();
        add(from, m, e);
        for (Ref i = from; waiting != 0; i--)
            if (pending[i]) pending[i] = 0, waiting--, visit(i, node_shares[i][0], node_shares[i][1], sum);
        std::sort(touched_list.begin(), touched_list.end());
        for (const Ref p : touched_list) {
            if (shares[p][0] != 0 || shares[p][1] != 0) found.push_back({p, shares[p][0], shares[p][1]});
            shares[p] = {}, touched[p] = 0;
        }
        touched_list.clear();
    }
    void visit(Ref i, double m, double e, bool sum) {
        const Node &n = nodes[i];
        if (n.op == Op::linear) {
            constant[0] += m * n.c + (sum ? e * n.d : 0), constant[1] += sum ? 0 : e * (n.is_pair ? n.d : n.c);
            add(n.a, n.ka * m, n.ka * e), add(n.b, n.kb * m, n.kb * e);
        } else if (n.op == Op::make) {
            add(n.a, m, 0), add(n.b, sum ? e : 0, sum ? 0 : e);
        } else if (n.op == Op::mg || n.op == Op::eg) {
            const bool mg = n.op == Op::mg;
            if (!sum && (mg ? e : m) != 0) refuse_by_schema(n.site, "the value of one phase is used in the other");
            add(n.a, mg ? m : 0, mg ? 0 : sum ? m : e);
        } else if (n.op == Op::taper) {
            if (sum || m != e || (whole != 0 && whole != n.d) || (tapered && phase != n.c))
                refuse_by_schema(n.site, "a second taper with another phase, or one within a verb");
            if (!(n.c >= 0 && n.c <= n.d)) refuse(sites[n.site], "the phase is " + shown(n.c) + ", of " + shown(n.d));
            tapered = true, phase = n.c, whole = n.d;
            add(n.a, m, e);
        } else {
            if (sum) refuse_by_schema(verb_site, "a function of a function");
            (n.op < Op::bounded_mg ? functions : stages).push_back({i, m, e});
        }
    }
    void put_constants(Entries &to, u32 base, Sum &sum, double m, double e, bool present) {
        const auto put = [&](u32 which, double c) {
            if (c == 0) return;
            if (sum.members.size() < OWN) sum.members.resize(OWN);
            sum.members[which] = constants_used[which] = true, to.emplace_back(base + which, c);
        };
        if (present) m++, e++, put(MINUS_ONE, 1); // a sum without entries would leave the verb out
        if (m == e) put(ONE, m);
        else put(ONE_MG, m), put(ONE_EG, e);
    }
    // The sum that a verb takes. With `present`, it has entries even if it is 0.
    void put_sum(Entries &to, Ref r, bool pair, bool present, u32 base, Sum &sum, u32 of) {
        verb_site = of;
        walk(r, 1, pair ? 1 : 0, !pair);
        if (!functions.empty() || !stages.empty()) refuse_by_schema(of, "a function of a function");
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            const char type = pair || !p.is_pair ? sum.type : s.m != 0 ? 'm' : 'e';
            if ((pair && s.m != s.e) || (!pair && p.is_pair && s.m != 0 && s.e != 0) || (sum.type != 'u' && sum.type != type))
                refuse_by_schema(of, "middlegame and endgame values are mixed in its sum");
            sum.type = type;
            p.used[0] |= pair || !p.is_pair || type == 'm', p.used[1] |= pair || !p.is_pair || type == 'e';
            if (sum.members.size() <= s.ref + OWN) sum.members.resize(s.ref + OWN + 1);
            sum.members[s.ref + OWN] = true;
            to.emplace_back(base + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        put_constants(to, base, sum, constant[0], pair ? constant[1] : constant[0], present);
    }
    Slot &slot(Op kind, u32 site, u32 occurrence, const std::vector<Term> &terms, const std::array<double, 3> &limits) {
        for (Slot &s : slots)
            if (s.kind == kind && s.site == site && s.occurrence == occurrence) {
                if (s.terms == terms && s.limits == limits) return s;
                refuse_by_schema(site, "this counts otherwise than in positions before (factor, sign, phase or limit)");
            }
        for (const Slot &s : slots)
            if (kind != Op::linear && (s.kind == kind || (kind >= Op::scale_eg && s.kind >= Op::scale_eg)))
                refuse(sites[site], "another one of its kind: the schema has one factor, and one bound for each phase");
        if (ranges + 4 > 49) refuse(sites[site], "there are more verbs than a schema has room for");
        slots.push_back({kind, site, occurrence, {{ranges, ranges + 1}}, {{ranges + 2, ranges + 3}}, limits, terms});
        ranges += !terms.empty() && terms[0].times != 0 ? 4 : 2;
        return slots.back();
    }
    double in_score(const Two &v) const { return tapered ? (v[0] * phase + v[1] * (whole - phase)) / whole : v[0]; }

    void analyze(Row &to, double view) {
        to.clear();
        tapered = false;
        bool staged = false;
        for (Ref from = root;; staged = true) { // what comes last is found first
            walk(from, view, view, false);
            if (stages.empty()) break;
            const Share s = stages[0];
            const Node n = nodes[s.ref];
            if (stages.size() > 1 || !functions.empty() || !found.empty() || s.m != s.e || std::fabs(s.m) != 1)
                refuse(sites[n.site], "tuned numbers are added after this, or it is multiplied; the schema applies it "
                                      "last, and only plain numbers may be added then");
            const bool is_factor = n.op >= Op::scale_eg;
            to.offset += in_score(constant);
            from = n.a, view = s.m;
            Slot &f = slot(n.op, n.site, 0, {}, {{n.ka, n.c, n.d}});
            if (is_factor) to.factor_slot = std::size_t(&f - slots.data()) + 1, to.reversed = view < 0;
            if (is_factor) to.factor_of = n.a, to.factor_by = n.b;
            f.sides[0] = true, f.sides[1] = is_factor;
            put_sum(is_factor ? to.factor[0] : to.entries, n.b, false, true,
                    is_factor ? 0 : f.sum.range[0] * STRIDE + FIRST, f.sum, n.site);
        }
        if (tapered) to.phase = phase;
        Sum linear{{0, 0}};
        if (!staged) to.offset = in_score(constant);
        else put_constants(to.entries, FIRST, linear, constant[0], constant[1], false);
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            const char kind = std::fabs(s.m - s.e) <= 1e-12 * std::fabs(s.m) ? 'b' : s.e == 0 ? 'm' : 'e';
            if ((kind == 'e' && s.m != 0) || (p.linear != 0 && p.linear != kind))
                refuse(p.place, "this number counts differently in middlegame and endgame, or in both phases here and in "
                                "one phase there, which the schema cannot say");
            p.linear = kind;
            to.entries.emplace_back(FIRST + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        if (!functions.empty()) put_terms(to, std::vector<Share>(functions.rbegin(), functions.rend()));
    }
    bool is(Ref r, Op from, Op until) const { return !(r & PARAMETER) && nodes[r].op >= from && nodes[r].op <= until; }
    struct Instance { Ref base, times; bool black, pair; std::vector<Term> terms; }; // the terms of one sum and side
    void put_terms(Row &to, const std::vector<Share> &list) {                        // in the order of evaluation
        std::vector<Instance> instances;
        for (const Share &s : list) {
            const Node &n = nodes[s.ref];
            const double side = (s.m != 0 ? s.m : s.e) < 0 ? -1 : 1;
            Instance own{n.a, 0, side < 0, false, {}};
            const Node *f = &n;
            Term t;
            t.site = n.site;
            if (n.op >= Op::product) { // of a function or a sum, by a sum
                Ref a = n.a, b = n.b;
                if (n.op == Op::product && is(b, Op::relu, Op::table)) std::swap(a, b);
                f = is(a, Op::relu, Op::table) ? &nodes[a] : nullptr;
                t.times = n.op == Op::product ? 1 : 2, own.times = b, own.base = f ? f->a : a;
            }
            if (f) t.op = f->op, t.site = f->site, t.k = {{f->c, f->ka, f->kb, 0, 0}};
            t.k[3] = side * s.m, t.k[4] = side * s.e;
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
            u32 occurrence = 0;
            bool present = false; // needed where the function of 0 is not 0
            for (std::size_t j = 0; j < i; j++)
                occurrence += instances[j].terms[0].site == own.terms[0].site && instances[j].black == own.black;
            for (const Term &t : own.terms) present |= t.op == Op::sigmoid || t.op == Op::table;
            Slot &s = slot(Op::linear, own.terms[0].site, occurrence, own.terms, {});
            s.sides[own.black] = true;
            put_sum(to.entries, own.pair ? nodes[own.base].a : own.base, own.pair, present,
                    s.sum.range[own.black] * STRIDE + FIRST, s.sum, s.site);
            if (own.times != 0)
                put_sum(to.entries, own.times, own.terms[0].times == 2, false,
                        s.factor.range[own.black] * STRIDE + FIRST, s.factor, s.site);
        }
    }
    // Which of the two values of a sum is used; of a sum that has but one, either.
    static int value_of(const Sum &s) { return s.type == 'e'; }
    static int taken_by(const Slot &s, const Term &t) { return t.takes != 'u' ? t.takes == 'e' : value_of(s.sum); }
    static int multiplied_by(const Slot &s, const Term &t, int target) { return t.times == 2 ? target : value_of(s.factor); }
    // The schema's own arithmetic, from the record alone.
    double evaluate_row() const {
        sums.assign(ranges, {});
        for (const auto &e : row.entries) {
            auto &sum = sums[e.first / STRIDE];
            const u32 k = e.first % STRIDE - FIRST;
            const double *v = k < OWN ? CONSTANTS[k] : parameters[k - OWN].value.data();
            const char phases = k < OWN || e.first >= STRIDE ? 'b' : parameters[k - OWN].linear;
            sum[0] += phases == 'e' ? 0 : e.second * v[0], sum[1] += phases == 'm' ? 0 : e.second * v[1], sum[2] = 1;
        }
        Two score{{sums[0][0], sums[0][1]}};
        for (const Slot &s : slots)
            for (const Term &t : s.terms)
                for (int side = 0; side < 2; side++) {
                    const auto &x = sums[s.sum.range[side]];
                    if (x[2] == 0 || (t.times != 0 && sums[s.factor.range[side]][2] == 0)) continue;
                    const double f = apply(t.op, t.k[0], t.k[1], t.k[2], t.site, x[taken_by(s, t)]) * (side ? -1 : 1);
                    for (int to = 0; to < 2; to++)
                        score[to] += f * t.k[3 + to] * (t.times ? sums[s.factor.range[side]][multiplied_by(s, t, to)] : 1);
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
        const double total = in_score(score);
        return row.offset + total * (s && s->kind == Op::scale ? factor(total) : 1);
    }

    // ---- text
    static std::string shown(double x) {
        char text[32], *const end = text + sizeof text, *at = end;
        if (x == std::floor(x) && std::fabs(x) < 1e9) {
            auto n = u32(std::fabs(x));
            do *--at = char('0' + n % 10);
            while ((n /= 10) != 0);
            if (x < 0) *--at = '-';
            return std::string(at, end);
        }
        std::snprintf(text, sizeof text, "%.12g", x);
        for (char &c : text) c = c == ',' ? '.' : c; // of a locale
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
    std::string name(u32 i) const { return quoted(i < OWN ? CONSTANT_NAMES[i] : parameters[i - OWN].name); }
    std::string parameter_json(u32 i) const {
        std::string out = "    {\"name\": " + name(i) + ", \"index\": " + shown(FIRST + i), phases = "both";
        Two prior{{CONSTANTS[i % OWN][0], CONSTANTS[i % OWN][1]}};
        if (i < OWN) out += ", \"frozen\": true";
        if (i >= OWN) {
            const Parameter &p = parameters[i - OWN];
            bool has[2];
            for (int k = 0; k < 2; k++) {
                const bool not_here = p.linear == "em"[k]; // counts only in the other phase of the linear part
                if (not_here && p.used[k])
                    refuse(p.place, "this number counts in one phase here and elsewhere in the other, which the schema "
                                    "cannot say");
                prior[k] = not_here ? 0 : p.value[k], has[k] = p.used[k] || (p.linear != 0 && !not_here);
            }
            phases = has[0] != has[1] ? PHASES[has[1]] : p.is_pair ? "both" : "untapered";
            if (addresses)
                out += ", \"at\": " + quoted(std::string(p.place.file) + ":" + std::to_string(p.place.line_or_node) + ":" +
                                             std::to_string(p.place.column_or_generation));
        }
        if (whole != 0) out += ", \"phases\": \"" + phases + "\"";
        if (whole == 0 || phases == "untapered") return out + ", \"prior\": " + shown(prior[0]) + "}";
        return out + ", \"prior\": [" + shown(prior[0]) + ", " + shown(prior[1]) + "]}";
    }
    std::string term_json(const Slot &s, const Term &t, int target, const std::string &factor) const {
        char scale[32]; // to the last bit
        std::snprintf(scale, sizeof scale, "%.17g", t.k[3 + target] * (t.op == Op::sigmoid ? t.k[2] : 1));
        std::string points, out = "{\"op\": " + quoted(NAMES[int(t.op)]) + ", \"scale\": " + scale;
        if (t.op == Op::sigmoid) out += ", \"divide\": " + shown(t.k[1]);
        if (t.op == Op::table) {
            for (const Two &k : knots[t.site]) list(points, "[" + shown(k[0]) + ", " + shown(k[1]) + "]");
            out += ", \"knots\": [" + points + "]";
        } else if (t.k[0] != 0) {
            out += ", \"over\": " + shown(t.k[0]);
        }
        if (t.times != 0) out += ", \"times\": " + quoted(factor + "." + PHASES[multiplied_by(s, t, target)]);
        return out + ", \"value\": \"" + PHASES[taken_by(s, t)] + "\"}";
    }
    std::string accumulator_json(const Slot &s, const Sum &sum, const std::string &own, const std::string &factor) const {
        const auto index = [&sum](int side) { return std::to_string(sum.range[side] * STRIDE + FIRST); };
        std::string out = "    {\"name\": " + quoted(own), members;
        if (s.sides[0] && s.sides[1]) out += ", \"sides\": {\"white\": " + index(0) + ", \"black\": " + index(1) + "}";
        else out += ", \"index\": " + index(s.sides[1]) + (s.sides[1] && !factor.empty() ? ", \"sign\": -1" : "");
        for (int to = 0; to < (whole != 0 ? 2 : 1) && !factor.empty(); to++) {
            std::string terms;
            for (const Term &t : s.terms)
                if (t.k[3 + to] != 0) list(terms, term_json(s, t, to, factor));
            if (!terms.empty()) out += std::string(", \"") + PHASES[to] + "\": [" + terms + "]";
        }
        for (u32 i = 0; i < sum.members.size(); i++)
            if (sum.members[i]) list(members, "{\"use\": " + name(i) + ", \"at\": " + shown(i) + "}");
        return out + ", \"parameters\": [" + members + "]}";
    }

  public:
    bool write_schema(const char *path) const {
        std::string numbers, accumulators, adjust, factor;
        std::size_t count = 1;
        for (u32 i = 0; i < OWN + parameters.size(); i++)
            if (i >= OWN || constants_used[i]) list(numbers, parameter_json(i), ",\n");
        for (const Slot &s : slots) {
            const bool product = !s.terms.empty() && s.terms[0].times != 0;
            std::string own = NAMES[int(s.terms.empty() ? s.kind : s.terms[0].op)];
            own += "_" + base_name(sites[s.site].file_name()) + "_" + std::to_string(sites[s.site].line()) + "_" +
                   std::to_string(sites[s.site].column()) + "_" + std::to_string(s.occurrence + 1);
            const std::string by = "\"by\": " + quoted(own + "." + PHASES[value_of(s.sum)]);
            list(accumulators, accumulator_json(s, s.sum, own, own + "_factor"), ",\n");
            if (product) list(accumulators, accumulator_json(s, s.factor, own + "_factor", ""), ",\n");
            count += (s.sides[0] && s.sides[1] ? 2 : 1) * (product ? 2 : 1);
            if (s.kind >= Op::scale_eg)
                factor = std::string("{\"target\": ") + (s.kind == Op::scale ? "\"score\"" : "\"eg\"") + ", " + by +
                         ", \"min\": " + shown(s.limits[1]) + (s.limits[2] < 1e9 ? ", \"max\": " + shown(s.limits[2]) : "") +
                         ", \"one\": " + shown(s.limits[0]) + "}";
            else if (s.kind >= Op::bounded_mg)
                list(adjust, std::string("{\"target\": \"") + PHASES[s.kind == Op::bounded_eg] + "\", \"op\": \"bounded\", " +
                                 by + (s.limits[0] != 0 ? ", \"at_most\": " + shown(s.limits[1]) : "") + "}");
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

inline Recorder &recorder() { static Recorder one; return one; }
template <class T, class Arg> T linear(const T &a, double ka, const Arg &b, double kb) {
    return recorder().linear(a, ka, b.v, kb, b.at);
}
template <class N> Value number_first(N a, double kb, const ValueArg &b) { return linear(Value(a), 1, b, kb); }
template <class N> Pair number_first(N, double, const PairArg &b) { return added<N>() ? b.v : b.v; }
template <class T> T multiple(const T &a, double k, Site at) { return recorder().linear(a, k, T(), 0, at); }
template <class T> T negative(const T &a) { return multiple(a, -1, recorder().last); }
template <class T> T divided(const T &a, const Number &b) { return multiple(a, 1 / b.x, b.at); }
inline Pair times(const Pair &a, const ValueArg &b) {
    if (b.v.handle.is_constant()) return multiple(a, b.v.v, b.at);
    return recorder().verb<Pair>(Op::product_pair, b.at, b.v, a);
}
inline Value times(const Value &a, const ValueArg &b) {
    if (b.v.handle.is_constant()) return multiple(a, b.v.v, b.at);
    if (a.handle.is_constant()) return multiple(b.v, a.v, b.at);
    return recorder().verb<Value>(Op::product, b.at, a, b.v);
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
template <class T, class... A> T verb(const A &...a) { return recorder().template verb<T>(a...); }
inline Value mg(const Pair &p, GPUTEXEL_AT) { return verb<Value>(Op::mg, at, p, nullptr); }
inline Value eg(const Pair &p, GPUTEXEL_AT) { return verb<Value>(Op::eg, at, p, nullptr); }
inline Pair pair(const Value &m, const Value &e, GPUTEXEL_AT) { return verb<Pair>(Op::make, at, m, e); }
inline Value relu(const Value &x, int over = 0, GPUTEXEL_AT) { return verb<Value>(Op::relu, at, x, nullptr, over); }
inline Value relu2(const Value &x, int over = 0, GPUTEXEL_AT) { return verb<Value>(Op::relu2, at, x, nullptr, over); }
inline Value square(const Value &x, GPUTEXEL_AT) { return verb<Value>(Op::square, at, x, nullptr); }
inline Value sigmoid(const Value &x, int divide, int one, GPUTEXEL_AT) {
    return verb<Value>(Op::sigmoid, at, x, nullptr, 0, 0, divide, one);
}
template <std::size_t N> Value table(const Value &x, const int (&knots)[N][2], GPUTEXEL_AT) {
    recorder().set_table(at, knots, N);
    return verb<Value>(Op::table, at, x, nullptr);
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
inline Pair bounded_mg(const Pair &p, const Value &c, GPUTEXEL_AT) { return verb<Pair>(Op::bounded_mg, at, p, c); }
inline Pair bounded_eg(const Pair &p, const Value &c, GPUTEXEL_AT) { return verb<Pair>(Op::bounded_eg, at, p, c); }
inline Pair bounded_mg(const Pair &p, const Value &c, int at_most, GPUTEXEL_AT) {
    return verb<Pair>(Op::bounded_mg, at, p, c, at_most, 0, 1);
}
inline Pair bounded_eg(const Pair &p, const Value &c, int at_most, GPUTEXEL_AT) {
    return verb<Pair>(Op::bounded_eg, at, p, c, at_most, 0, 1);
}
inline Pair bounded(const Pair &p, const Pair &c, GPUTEXEL_AT) {
    return bounded_mg(bounded_eg(p, eg(c, at), at), mg(c, at), at);
}
inline Pair scale_eg(const Pair &p, const Value &k, int one, int low = 0, int high = 1 << 30, GPUTEXEL_AT) {
    return verb<Pair>(Op::scale_eg, at, p, k, low, high, one);
}
inline Value scale(const Value &x, const Value &k, int one, int low = 0, int high = 1 << 30, GPUTEXEL_AT) {
    return verb<Value>(Op::scale, at, x, k, low, high, one);
}
inline Value taper(const Pair &p, int phase, int whole, GPUTEXEL_AT) {
    return verb<Value>(Op::taper, at, p, nullptr, phase, whole);
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
