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
struct Value;
struct Pair;
namespace detail {
#ifdef GPUTEXEL_LOCATIONS
using Site = std::source_location;
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
#endif

template <class T>
constexpr bool is_number = std::is_arithmetic<T>::value || (std::is_enum<T>::value && std::is_convertible<T, int>::value);
template <class T> using IfNumber = std::enable_if_t<is_number<T>, int>;
template <class T> using IfNoNumber = std::enable_if_t<!is_number<T>, int>;
template <class T> using IfAny = std::enable_if_t<!std::is_void<T>::value, int>;
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
    std::fprintf(stderr, "%s:%u: gputexel: %s\n", place.file, static_cast<unsigned>(place.line_or_node), why.c_str());
    std::exit(1);
}
[[noreturn]] inline void refuse(Site at, const std::string &why) { refuse(Handle{at.file_name(), at.line(), 0}, why); }
} // namespace detail

namespace detail {
// Right-hand sides: the conversion to them knows the line of the operator.
struct ValueArg;
struct PairArg;
struct Number;
Pair linear(const Pair &a, double ka, const PairArg &b, double kb);
Value linear(const Value &a, double ka, const ValueArg &b, double kb);
Pair times(const Pair &a, const ValueArg &b);
Pair times(const Value &a, const PairArg &b);
Value times(const Value &a, const ValueArg &b);
Pair negative(const Pair &a);
Value negative(const Value &a);
Pair divided(const Pair &a, const Number &b);
Value divided(const Value &a, const Number &b);
bool above(const Pair &a, const Number &b, bool or_equal);
bool above(const Value &a, const Number &b, bool or_equal);
bool below(const PairArg &a, double b, bool or_equal);
bool below(const ValueArg &a, double b, bool or_equal);
} // namespace detail

// What cannot be recorded does not compile; the compiler names the line.
#define GPUTEXEL_REFUSE(Condition, T, op, why)                                                                         \
    template <class U, detail::Condition<U> = 0> friend bool operator op(const T &, const U &) {                       \
        static_assert(detail::never<U>, "gputexel: " why);                                                             \
        return false;                                                                                                  \
    }
// Friends defined here are found for scores only, so that they never compete for an engine's enums.
#define GPUTEXEL_OPERATORS(T, Arg)                                                                                     \
    template <class U, detail::IfNumber<U> = 0> explicit operator U() const {                                          \
        static_assert(detail::never<U>, "gputexel: a score cannot become a number while it is recorded: use mg(), "    \
                                        "eg(), /, a comparison with 0, or a verb such as max or table");               \
        return U();                                                                                                    \
    }                                                                                                                  \
    friend T operator+(const T &a, const detail::Arg &b) { return detail::linear(a, 1, b, 1); }                        \
    friend T operator-(const T &a, const detail::Arg &b) { return detail::linear(a, 1, b, -1); }                       \
    friend T operator*(const T &a, const detail::ValueArg &b) { return detail::times(a, b); }                          \
    friend T operator/(const T &a, const detail::Number &b) { return detail::divided(a, b); }                          \
    friend T operator-(const T &a) { return detail::negative(a); }                                                     \
    friend T operator+(const T &a) { return a; }                                                                       \
    T &operator+=(const detail::Arg &b) { return *this = detail::linear(*this, 1, b, 1); }                             \
    T &operator-=(const detail::Arg &b) { return *this = detail::linear(*this, 1, b, -1); }                            \
    T &operator*=(const detail::ValueArg &b) { return *this = detail::times(*this, b); }                               \
    T &operator/=(const detail::Number &b) { return *this = detail::divided(*this, b); }                               \
    template <class N, detail::IfNumber<N> = 0> friend T operator*(N a, const detail::Arg &b) {                        \
        return detail::times(Value(a), b);                                                                             \
    }                                                                                                                  \
    friend bool operator>(const T &a, const detail::Number &b) { return detail::above(a, b, false); }                  \
    friend bool operator>=(const T &a, const detail::Number &b) { return detail::above(a, b, true); }                  \
    friend bool operator<(const T &a, const detail::Number &b) { return !detail::above(a, b, true); }                  \
    friend bool operator<=(const T &a, const detail::Number &b) { return !detail::above(a, b, false); }                \
    template <class N, detail::IfNumber<N> = 0> friend bool operator>(N a, const detail::Arg &b) {                     \
        return detail::below(b, double(a), false);                                                                     \
    }                                                                                                                  \
    template <class N, detail::IfNumber<N> = 0> friend bool operator>=(N a, const detail::Arg &b) {                    \
        return detail::below(b, double(a), true);                                                                      \
    }                                                                                                                  \
    template <class N, detail::IfNumber<N> = 0> friend bool operator<(N a, const detail::Arg &b) {                     \
        return !detail::below(b, double(a), true);                                                                     \
    }                                                                                                                  \
    template <class N, detail::IfNumber<N> = 0> friend bool operator<=(N a, const detail::Arg &b) {                    \
        return !detail::below(b, double(a), false);                                                                    \
    }                                                                                                                  \
    GPUTEXEL_REFUSE(IfNoNumber, T, >, "scores are compared only with 0: use max, min or clamp")                        \
    GPUTEXEL_REFUSE(IfNoNumber, T, <, "scores are compared only with 0: use max, min or clamp")                        \
    GPUTEXEL_REFUSE(IfNoNumber, T, >=, "scores are compared only with 0: use max, min or clamp")                       \
    GPUTEXEL_REFUSE(IfNoNumber, T, <=, "scores are compared only with 0: use max, min or clamp")                       \
    GPUTEXEL_REFUSE(IfAny, T, ==, "scores are not compared by ==; a branch on > 0 or < 0 can be recorded")             \
    GPUTEXEL_REFUSE(IfAny, T, !=, "scores are not compared by !=; a branch on > 0 or < 0 can be recorded")             \
    GPUTEXEL_REFUSE(IfAny, T, >>, "a score is not shifted: use / or mg() and eg()")                                    \
    GPUTEXEL_REFUSE(IfAny, T, <<, "a score is not shifted: use * or pair(mg, eg)")                                     \
    GPUTEXEL_REFUSE(IfAny, T, %, "a score has no remainder: use / or a verb")                                          \
    GPUTEXEL_REFUSE(IfAny, T, &, "a score has no bits: use mg(), eg() or a verb")                                      \
    GPUTEXEL_REFUSE(IfAny, T, |, "a score has no bits: use mg(), eg() or a verb")                                      \
    GPUTEXEL_REFUSE(IfAny, T, ^, "a score has no bits: use mg(), eg() or a verb")

struct Value {
    double v = 0;
    detail::Handle handle{};
    constexpr Value() = default;
    template <class T, detail::IfNumber<T> = 0> constexpr Value(T x) : v(static_cast<double>(x)) {}
    constexpr Value(double x, detail::Handle h) : v(x), handle(h) {}
    GPUTEXEL_OPERATORS(Value, ValueArg)
    template <class N, detail::IfNumber<N> = 0> friend Value operator+(N a, const detail::ValueArg &b) {
        return detail::linear(Value(a), 1, b, 1);
    }
    template <class N, detail::IfNumber<N> = 0> friend Value operator-(N a, const detail::ValueArg &b) {
        return detail::linear(Value(a), 1, b, -1);
    }
};

struct Pair {
    double mg = 0, eg = 0;
    detail::Handle handle{};
    constexpr Pair() = default;
    constexpr Pair(std::nullptr_t) {} // the literal 0, and no other number
    constexpr Pair(double m, double e, detail::Handle h) : mg(m), eg(e), handle(h) {}
    GPUTEXEL_OPERATORS(Pair, PairArg)
    GPUTEXEL_REFUSE(IfNumber, Pair, +, "a number is added to a pair: write S(mg, eg), or pair(mg, eg) if it is not tuned")
    GPUTEXEL_REFUSE(IfNumber, Pair, -, "a number is taken from a pair: write S(mg, eg), or pair(mg, eg) if it is not tuned")
    friend Pair operator*(const Value &a, const detail::PairArg &b) { return detail::times(a, b); }
};

enum class View { white, side_to_move };

#ifdef GPUTEXEL_LOCATIONS
constexpr Pair S(double mg, double eg, detail::Site at = detail::Site::current()) {
    return {mg, eg, {at.file_name(), at.line(), at.column()}};
}
constexpr Value V(double x, detail::Site at = detail::Site::current()) {
    return {x, {at.file_name(), at.line(), at.column()}};
}
#else
constexpr Pair S(double mg, double eg, detail::Site at) { return {mg, eg, {at.name, at.row, at.place}}; }
constexpr Value V(double x, detail::Site at) { return {x, {at.name, at.row, at.place}}; }
#define S(mg, eg) S(mg, eg, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
#define V(x) V(x, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
#endif

namespace detail {
struct ValueArg {
    Value v;
    Site at;
    constexpr ValueArg(const Value &x, Site s = Site::current()) : v(x), at(s) {}
    template <class T, IfNumber<T> = 0> constexpr ValueArg(T x, Site s = Site::current()) : v(x), at(s) {}
};
struct PairArg {
    const Pair &p;
    Site at;
    constexpr PairArg(const Pair &x, Site s = Site::current()) : p(x), at(s) {}
};
struct Number {
    double x;
    Site at;
    template <class T, IfNumber<T> = 0>
    constexpr Number(T n, Site s = Site::current()) : x(static_cast<double>(n)), at(s) {}
};

enum class Op : std::uint8_t { linear, make, mg, eg, relu, relu2, square, sigmoid, table, product, product_pair,
                               bounded_mg, bounded_eg, scale_eg, scale, taper };
using Knots = std::vector<std::array<double, 2>>;
using Ref = std::uint32_t; // a node, or with this bit a parameter
constexpr Ref PARAMETER = 0x80000000u;
// Indices of the trace: constants from 12, parameters from 16; each sum has a range of as many.
constexpr std::uint32_t FIRST = 12, STRIDE = 20000, OWN = 4;
enum Constant : std::uint32_t { ONE, MINUS_ONE, ONE_MG, ONE_EG };
constexpr double CONSTANTS[OWN][2] = {{1, 1}, {-1, -1}, {1, 0}, {0, 1}};
constexpr const char *CONSTANT_NAMES[OWN] = {"one", "minus_one", "one_mg", "one_eg"};
using Entries = std::vector<std::pair<std::uint32_t, double>>;

struct Node {
    Op op = Op::linear;
    bool is_pair = false;
    Ref a = 0, b = 0;
    std::uint32_t site = 0;
    double ka = 0, kb = 0, c = 0, d = 0; // of linear: a·ka + b·kb + (c, d); else constants of the verb
    double x = 0, y = 0;                 // the value, or the middlegame and the endgame value
    const Knots *knots = nullptr;
};
struct Operand {
    Ref ref;
    double x, y;
};
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
    char takes = 'u'; // the middlegame or endgame value of its sum, or 'u': that has but one
    int times = 0;    // multiplied by 1: a value, 2: a pair
    double over = 0, divide = 1, one = 1, scale[2] = {0, 0};
    const Knots *knots = nullptr;
    std::uint32_t site = 0;
    bool operator==(const Term &t) const {
        return op == t.op && takes == t.takes && times == t.times && over == t.over && divide == t.divide &&
               one == t.one && scale[0] == t.scale[0] && scale[1] == t.scale[1] && knots == t.knots && site == t.site;
    }
};
struct Slot { // an accumulator of the schema; a second one if its terms are products
    Op kind;  // linear: of terms
    std::uint32_t site, occurrence, range[2], second[2];
    char type = 'u', second_type = 'u';
    bool sides[2] = {false, false};
    double constants[4] = {0, 0, 0, 0};
    std::vector<Term> terms{};
    std::vector<bool> members{}, second_members{};
};
struct Row {
    double offset = 0, phase = 0;
    Entries entries{}, factor[2]{};
    std::size_t factor_slot = 0; // and one
    bool reversed = false;       // the factor's score is from Black's view
    Ref factor_of = 0;
};
struct Branch {
    Ref on;
    bool positive;
    Site at;
};
struct Share { // of a node or parameter in the middlegame and in the endgame value
    Ref ref;
    double m, e;
};

class Recorder {
  public:
    enum class Mode { setup, recording, playing } mode = Mode::setup;
    bool addresses = false;

    static Recorder &get() {
        static Recorder one;
        return one;
    }

    // ---- handles and the tape
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
        return operand(static_cast<Ref>(nodes.size() - 1));
    }
    Value value(Node n, const Operand &a, const Operand &b) {
        if (!push(n, a, b)) return Value(n.x);
        return {n.x, {nullptr, static_cast<Ref>(nodes.size() - 1), current}};
    }
    Pair pair(Node n, const Operand &a, const Operand &b) {
        n.is_pair = true;
        if (!push(n, a, b)) return {n.x, n.y, {}};
        return {n.x, n.y, {nullptr, static_cast<Ref>(nodes.size() - 1), current}};
    }
    Pair linear(const Pair &a, double ka, const Pair &b, double kb, Site at) {
        Node n;
        n.ka = ka, n.kb = kb;
        const Operand x = operand(a, at); // in this order: operands may register parameters
        return pair(n, x, operand(b, at));
    }
    Value linear(const Value &a, double ka, const Value &b, double kb, Site at) {
        const bool ca = a.handle.is_constant(), cb = b.handle.is_constant();
        if (ca && cb) return Value(a.v * ka + b.v * kb);
        Node n;
        n.ka = ca ? 0 : ka, n.kb = cb ? 0 : kb;
        n.c = (ca ? a.v * ka : 0) + (cb ? b.v * kb : 0);
        const Operand x = ca ? Operand{} : operand(a, at);
        return value(n, x, cb ? Operand{} : operand(b, at));
    }
    Value function(Op op, const Value &x, Site at, double over = 0, double divide = 1, double one = 1,
                   const Knots *knots = nullptr) {
        Node n;
        n.op = op, n.c = over, n.ka = divide, n.kb = one, n.knots = knots, n.site = site(at);
        if (x.handle.is_constant()) return Value(compute(op, over, divide, one, knots, x.v));
        return value(n, operand(x, at), {});
    }
    // One list for each verb: its address says that a table is the same.
    template <class T> const Knots *table(const T (*points)[2], std::size_t count, Site at) {
        Knots *&known = tables[site(at)];
        if (!known) {
            known = new Knots; // lives as long as the process
            for (std::size_t i = 0; i < count; i++) known->push_back({double(points[i][0]), double(points[i][1])});
        }
        for (std::size_t i = 0; i < count; i++)
            if (known->size() != count || (*known)[i][0] != points[i][0] || (*known)[i][1] != points[i][1])
                refuse(at, "the limits or knots of this verb change: they must be constants");
        return known;
    }
    Site last_site() const { return last; }
    std::uint32_t site(Site at) {
        for (std::uint32_t i = 0; i < sites.size(); i++)
            if (same(sites[i], at)) return i;
        sites.push_back(at);
        return static_cast<std::uint32_t>(sites.size() - 1);
    }
    // A branch on a sign: a position with one is evaluated twice, the second time with every branch turned.
    bool sign(const Operand &x, double number, bool zero_counts, Site at) {
        if (number != 0 && mode != Mode::playing)
            refuse(at, "a score is compared with a number other than 0: use max, min, clamp, relu or table, and leave "
                       "lazy exits out of this build");
        const double difference = (x.y != 0 ? x.y : x.x) - number; // of a pair: the sign of both packed
        bool yes = zero_counts ? difference >= 0 : difference > 0;
        if (mode != Mode::recording) return yes;
        yes = yes != turned;
        branches.push_back({x.ref, yes, at});
        return yes;
    }

    // ---- positions
    // Returns false if the evaluation of the position does not depend on any number.
    template <class F> bool record(const F &evaluate, const std::string &fen, double view, std::string &out) {
        Row row;
        double eval = 0;
        run(evaluate, fen, false);
        if (root == 0) return false;
        eval = now(root, 0) * view;
        analyze(row, view);
        if (!branches.empty()) {
            const std::vector<Branch> taken = branches;
            std::vector<bool> own;
            for (const Branch &b : taken) own.push_back(is_strength(b.on, row));
            run(evaluate, fen, true);
            Row other;
            if (root != 0) analyze(other, view);
            if (root == 0 || other.entries != row.entries || other.phase != row.phase ||
                std::fabs(other.offset - row.offset) > 1e-9 || other.factor_slot != row.factor_slot)
                refuse(taken[0].at, "a branch on the sign of a score changes more than a scale factor, which the "
                                    "schema cannot say: use max, min, relu or bounded");
            if (other.factor[0] != row.factor[0]) {
                for (std::size_t i = 0; i < own.size(); i++)
                    if (!own[i])
                        refuse(taken[i].at, "a scale factor depends on the sign of another score than the one that it "
                                            "multiplies");
                const bool black = taken[0].positive == row.reversed;
                row.factor[1] = row.factor[0];
                row.factor[black ? 0 : 1] = other.factor[0];
            }
        }
        if (row.factor[1].empty()) row.factor[1] = row.factor[0];
        for (int side = 0; side < 2 && row.factor_slot; side++)
            for (const auto &e : row.factor[side])
                row.entries.emplace_back(slots[row.factor_slot - 1].range[side] * STRIDE + FIRST + e.first, e.second);
        std::sort(row.entries.begin(), row.entries.end());
        const double again = evaluate_row(row);
        if (!(std::fabs(again - eval) <= 1e-6 * std::max(1.0, std::fabs(eval)))) {
            std::ostringstream text;
            text << "the record gives " << again << ", the evaluation gave " << eval << ": " << fen;
            refuse(last, text.str());
        }
        write_row(row, eval, out);
        return true;
    }

    void use_values(const char *path) {
        std::ifstream file(path);
        double mg = 0, eg = 0;
        std::string name;
        while (file >> mg >> eg && std::getline(file >> std::ws, name)) values[name] = {{mg, eg}};
        if (values.empty() || !file.eof()) {
            std::fprintf(stderr, "gputexel: %s: no lines 'MG EG NAME', or one of them is none\n", path);
            std::exit(1);
        }
        for (Parameter &p : parameters) set_value(p);
        for (Node &n : nodes) compute(n, operand(n.a), operand(n.b)); // tables that sums at the start have made
    }

  private:
    std::vector<Node> nodes = std::vector<Node>(1); // node 0 is the constant 0
    std::vector<Site> sites;
    std::vector<Parameter> parameters;
    std::vector<std::pair<Handle, std::uint32_t>> places; // hash table of literals
    std::size_t filled = 0;
    std::unordered_map<std::string, std::array<double, 2>> values;
    std::unordered_map<std::uint32_t, Knots *> tables;
    std::vector<Slot> slots;
    std::vector<Branch> branches;
    std::uint32_t current = 0, ranges = 0; // generation (0: before all positions), ranges of indices given away
    std::size_t permanent = 1;
    Site last = Site::current();
    bool turned = false, constants_used[OWN] = {}, has_offset = false;
    Ref root = 0;
    double whole = 0; // phase of the middlegame, 0 before the first taper
    // One walk backwards: the share of each node in the two values.
    std::vector<std::array<double, 2>> shares, own;
    std::vector<char> pending;
    std::vector<std::uint64_t> touched;
    std::size_t waiting = 0;
    double constant[2] = {0, 0};
    std::vector<Share> functions, stages;
    double phase = 0;
    bool tapered = false;

    static bool same(const Site &a, const Site &b) {
        return a.line() == b.line() && a.column() == b.column() && !std::strcmp(a.file_name(), b.file_name());
    }
    double now(Ref r, int which) const {
        if (r & PARAMETER) return parameters[r & ~PARAMETER].value[which];
        return which ? nodes[r].y : nodes[r].x;
    }
    Operand operand(Ref r) const { return {r, now(r, 0), now(r, 1)}; }
    Ref ref(const Handle &h, double mg, double eg, bool is_pair, Site at) {
        if (h.file) return PARAMETER | parameter(h, mg, eg, is_pair);
        if (h.column_or_generation != 0 && h.column_or_generation != current)
            refuse(at, "a score of an earlier position is used here (a cache?): leave caches out of this build");
        return h.line_or_node;
    }
    std::uint32_t parameter(const Handle &h, double mg, double eg, bool is_pair) {
        if (2 * filled >= places.size()) {
            std::vector<std::pair<Handle, std::uint32_t>> before(places.empty() ? 1024 : 2 * places.size());
            before.swap(places);
            for (const auto &p : before)
                if (p.first.file) places[find(p.first)] = p;
        }
        auto &place = places[find(h)];
        if (!place.first.file) place = {h, enter(h, mg, eg, is_pair)}, filled++;
        const Parameter &p = parameters[place.second];
        if (p.source[0] != mg || p.source[1] != eg || p.is_pair != is_pair)
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
    std::uint32_t enter(const Handle &h, double mg, double eg, bool is_pair) {
        const char *base = h.file;
        for (const char *c = h.file; *c; c++)
            if (*c == '/' || *c == '\\') base = c + 1;
        Parameter p{h, is_pair, {mg, eg}, {mg, eg}, base};
        for (char &c : p.name)
            if (c == ',' || c == '"' || c == ' ') c = '_';
        p.name += "_" + std::to_string(h.line_or_node) + "_" + std::to_string(h.column_or_generation);
        for (std::uint32_t i = 0; i < parameters.size(); i++)
            if (parameters[i].name == p.name) {
                if (!std::strcmp(parameters[i].place.file, h.file)) return i; // a header in another translation unit
                p.name += "b";                                                // of another folder
            }
        if (parameters.size() >= STRIDE - FIRST - OWN) refuse(h, "more than 19,984 numbers");
        set_value(p);
        parameters.push_back(p);
        own.push_back({{0, 0}});
        touched.resize(parameters.size() / 64 + 1);
        return static_cast<std::uint32_t>(parameters.size() - 1);
    }
    void set_value(Parameter &p) const {
        const auto found = values.find(p.name);
        for (int i = 0; i < 2 && found != values.end(); i++) p.value[i] = found->second[i];
    }

    bool push(Node &n, const Operand &a, const Operand &b) { // false if nothing records
        n.a = a.ref, n.b = b.ref;
        compute(n, a, b);
        if (mode == Mode::playing) return false;
        if (mode == Mode::setup && nodes.size() > 1000000)
            refuse(last, "a million sums outside of recorded positions: begin main with gputexel::play(argc, argv)");
        nodes.push_back(n);
        return true;
    }
    static double compute(Op op, double over, double divide, double one, const Knots *knots, double x) {
        switch (op) {
        case Op::relu: return x > over && x > 0 ? x : 0;
        case Op::relu2: return x > over && x > 0 ? x * x : 0;
        case Op::square: return x * std::fabs(x);
        case Op::sigmoid: return one / (1 + std::exp(-x / divide));
        case Op::table: {
            const Knots &k = *knots;
            if (x <= k[0][0]) return k[0][1];
            for (std::size_t i = 1; i < k.size(); i++)
                if (x < k[i][0])
                    return k[i - 1][1] + (k[i][1] - k[i - 1][1]) * (x - k[i - 1][0]) / (k[i][0] - k[i - 1][0]);
            return k.back()[1];
        }
        default: return x;
        }
    }
    static double toward_zero(double e, double c) { return e > 0 ? e + std::max(c, -e) : e < 0 ? e - std::max(c, e) : 0; }
    static void compute(Node &n, const Operand &a, const Operand &b) {
        const double limit = n.ka != 0 ? std::min(b.x + n.c, 0.0) : b.x;
        n.x = a.x, n.y = a.y;
        switch (n.op) {
        case Op::linear:
            n.x = n.ka * a.x + n.kb * b.x + n.c;
            n.y = n.is_pair ? n.ka * a.y + n.kb * b.y + n.d : n.x;
            break;
        case Op::make: n.y = b.x; break;
        case Op::mg: n.y = a.x; break;
        case Op::eg: n.x = a.y; break;
        case Op::product: n.x = n.y = a.x * b.x; break;
        case Op::product_pair: n.x = a.x * b.x, n.y = a.x * b.y; break;
        case Op::bounded_mg: n.x = toward_zero(a.x, limit); break;
        case Op::bounded_eg: n.y = toward_zero(a.y, limit); break;
        case Op::scale_eg: n.y *= std::min(std::max(b.x, n.c), n.d) / n.ka; break;
        case Op::scale: n.x = n.y = a.x * std::min(std::max(b.x, n.c), n.d) / n.ka; break;
        case Op::taper: n.x = n.y = (a.x * n.c + a.y * (n.d - n.c)) / n.d; break;
        default: n.x = n.y = compute(n.op, n.c, n.ka, n.kb, n.knots, a.x);
        }
    }

    template <class F> void run(const F &evaluate, const std::string &fen, bool turn) {
        if (permanent == 1) permanent = nodes.size();
        nodes.resize(permanent);
        branches.clear();
        current++;
        mode = Mode::recording, turned = turn;
        const Value result = evaluate(fen);
        root = result.handle.is_constant() ? 0 : operand(result, last).ref;
        mode = Mode::setup;
    }
    bool is_strength(Ref r, const Row &row) const {
        if (row.factor_slot == 0) return false;
        if (r == row.factor_of) return true;
        return !(r & PARAMETER) && nodes[r].op == Op::eg && nodes[r].a == row.factor_of;
    }

    // ---- from the tape to the schema's form
    void add(Ref r, double m, double e) {
        if ((m == 0 && e == 0) || r == 0) return;
        if (r & PARAMETER) {
            r &= ~PARAMETER;
            touched[r / 64] |= std::uint64_t(1) << r % 64;
            own[r][0] += m, own[r][1] += e;
            return;
        }
        if (!pending[r]) pending[r] = 1, waiting++, shares[r] = {{0, 0}};
        shares[r][0] += m, shares[r][1] += e;
    }
    // Walks from a node to the parameters. In a `sum`, m and e count the two values of a pair toward one number;
    // otherwise they are shares in the middlegame and in the endgame value of the score.
    void walk(Ref from, double m, double e, bool sum) {
        if (pending.size() < nodes.size()) pending.resize(nodes.size()), shares.resize(nodes.size());
        constant[0] = constant[1] = 0;
        functions.clear(), stages.clear();
        add(from, m, e);
        for (Ref i = from; waiting != 0; i--)
            if (pending[i]) pending[i] = 0, waiting--, visit(i, shares[i][0], shares[i][1], sum);
    }
    void visit(Ref i, double m, double e, bool sum) {
        const Node &n = nodes[i];
        switch (n.op) {
        case Op::linear:
            if (sum) constant[0] += m * n.c + e * n.d;
            else constant[0] += m * n.c, constant[1] += e * (n.is_pair ? n.d : n.c);
            add(n.a, n.ka * m, n.ka * e), add(n.b, n.kb * m, n.kb * e);
            return;
        case Op::make: add(n.a, m, 0), sum ? add(n.b, e, 0) : add(n.b, 0, e); return;
        case Op::mg:
        case Op::eg:
            if (!sum && (n.op == Op::mg ? e : m) != 0)
                refuse(sites[n.site], "the value of one phase is used in the other, which the schema cannot say");
            n.op == Op::mg ? add(n.a, m, 0) : add(n.a, 0, sum ? m : e);
            return;
        case Op::taper:
            if (sum || m != e || (whole != 0 && whole != n.d) || (tapered && phase != n.c))
                refuse(sites[n.site], "a second taper with another phase, or in a verb: the schema has one");
            tapered = true, phase = n.c, whole = n.d;
            add(n.a, m, e);
            return;
        default:
            if (sum) refuse(sites[n.site], "a function of a function, which the schema cannot say");
            (n.op < Op::bounded_mg ? functions : stages).push_back({i, m, e});
        }
    }
    std::vector<Share> collect() {
        std::vector<Share> list;
        for (std::uint32_t w = 0; w < touched.size(); w++)
            for (std::uint64_t bits = touched[w]; bits != 0; bits &= bits - 1) {
                std::uint32_t p = w * 64;
                for (std::uint64_t low = bits & (~bits + 1); low >>= 1;) p++;
                if (own[p][0] != 0 || own[p][1] != 0) list.push_back({p, own[p][0], own[p][1]});
                own[p] = {{0, 0}};
            }
        std::fill(touched.begin(), touched.end(), 0);
        return list;
    }
    void put_constant(Entries &to, std::uint32_t base, std::uint32_t which, double c) {
        if (c == 0) return;
        constants_used[which] = true;
        to.emplace_back(base + which, c);
    }

    // The sum that a verb takes, at `base`. With `present`, it has entries even if it is 0.
    void put_sum(Entries &to, Ref r, bool whole_pair, bool present, std::uint32_t base, char &type,
                 std::vector<bool> &members, std::uint32_t verb) {
        walk(r, 1, whole_pair ? 1 : 0, !whole_pair);
        if (!functions.empty() || !stages.empty()) refuse(sites[verb], "a function of a function, which the schema cannot say");
        double m = constant[0], e = whole_pair ? constant[1] : m;
        for (const Share &s : collect()) {
            Parameter &p = parameters[s.ref];
            double c = s.m;
            if (whole_pair) {
                if (s.m != s.e) refuse(sites[verb], "a number counts differently in the two values of a pair, which the schema cannot say");
                p.used[0] = p.used[1] = true;
            } else if (p.is_pair) {
                const char own_type = s.e == 0 ? 'm' : 'e';
                if ((s.m != 0 && s.e != 0) || (type != 'u' && type != own_type))
                    refuse(sites[verb], "middlegame and endgame values are added up here, which the schema cannot say");
                type = own_type, p.used[type == 'e'] = true;
                if (s.m == 0) c = s.e;
            } else {
                p.used[0] = p.used[1] = true;
            }
            if (members.size() <= s.ref + OWN) members.resize(s.ref + OWN + 1);
            members[s.ref + OWN] = true;
            to.emplace_back(base + OWN + s.ref, c);
        }
        if (members.size() < OWN) members.resize(OWN);
        const auto put = [&](std::uint32_t which, double c) {
            put_constant(to, base, which, c);
            if (c != 0) members[which] = true;
        };
        if (present) m += 1, e += 1, put(MINUS_ONE, 1); // an absent sum would leave the verb out
        if (m == e) put(ONE, m);
        else put(ONE_MG, m), put(ONE_EG, e);
    }
    Slot &slot(Op kind, std::uint32_t site, std::uint32_t occurrence, const std::vector<Term> &terms, double a = 0,
               double b = 0, double c = 0, double d = 0) {
        const double numbers[4] = {a, b, c, d};
        for (Slot &s : slots)
            if (s.kind == kind && s.site == site && s.occurrence == occurrence) {
                if (!(s.terms == terms) || !std::equal(numbers, numbers + 4, s.constants))
                    refuse(sites[site], "counts otherwise than in a position before (another factor, sign or phase), "
                                        "which the schema cannot say");
                return s;
            }
        for (const Slot &s : slots)
            if (kind != Op::linear && (s.kind == kind || (kind >= Op::scale_eg && s.kind >= Op::scale_eg)))
                refuse(sites[site], "is a second one of its kind: the schema has one factor, and one bound of each phase");
        if (ranges + 4 >= 48) refuse(sites[site], "there are more verbs than the schema has room for");
        slots.push_back({kind, site, occurrence, {ranges + 1, ranges + 2}, {ranges + 3, ranges + 4}});
        std::copy(numbers, numbers + 4, slots.back().constants);
        slots.back().terms = terms;
        const bool product = !terms.empty() && terms[0].times != 0;
        ranges += product ? 4 : 2;
        return slots.back();
    }

    void analyze(Row &row, double view) {
        tapered = false;
        double sign = view;
        bool staged = false;
        for (Ref from = root;; staged = true) {
            walk(from, sign, sign, false);
            if (stages.empty()) break;
            const Share s = stages[0];
            const Node n = nodes[s.ref];
            if (stages.size() > 1 || !functions.empty() || !collect().empty() || s.m != s.e || std::fabs(s.m) != 1)
                refuse(sites[n.site], "tuned numbers are added after this, or it is multiplied: the schema applies it "
                                      "last. A plain int may be added");
            if (tapered) row.offset += (constant[0] * phase + constant[1] * (whole - phase)) / whole;
            else row.offset += constant[0];
            from = n.a, sign = s.m;
            if (n.op >= Op::scale_eg) {
                if (row.factor_slot != 0) refuse(sites[n.site], "a second scale factor: the schema has one");
                Slot &f = slot(n.op, n.site, 0, {}, n.ka, n.c, n.d);
                row.factor_slot = static_cast<std::size_t>(&f - slots.data()) + 1;
                row.reversed = sign < 0, row.factor_of = n.a;
                put_sum(row.factor[0], n.b, false, true, 0, f.type, f.members, n.site);
            } else {
                Slot &f = slot(n.op, n.site, 0, {}, n.ka, n.c);
                put_sum(row.entries, n.b, false, true, f.range[0] * STRIDE + FIRST, f.type, f.members, n.site);
                f.sides[0] = true;
            }
        }
        if (tapered) row.phase = phase;
        if (!staged) {
            row.offset = tapered ? (constant[0] * phase + constant[1] * (whole - phase)) / whole : constant[0];
        } else if (constant[0] == constant[1]) {
            put_constant(row.entries, FIRST, ONE, constant[0]);
        } else {
            put_constant(row.entries, FIRST, ONE_MG, constant[0]), put_constant(row.entries, FIRST, ONE_EG, constant[1]);
        }
        const std::vector<Share> list(functions.rbegin(), functions.rend()); // in the order of evaluation
        for (const Share &s : collect()) {
            Parameter &p = parameters[s.ref];
            const bool both = std::fabs(s.m - s.e) <= 1e-12 * std::fabs(s.m);
            if (!both && s.m != 0 && s.e != 0)
                refuse(p.place, "this number counts differently in middlegame and endgame, which the schema cannot say");
            const char kind = both ? 'b' : s.e == 0 ? 'm' : 'e';
            if (p.linear != 0 && p.linear != kind)
                refuse(p.place, "this number counts in both phases here and in one phase there, which the schema cannot say");
            p.linear = kind;
            row.entries.emplace_back(FIRST + OWN + s.ref, both || s.e == 0 ? s.m : s.e);
        }
        if (!list.empty()) put_terms(row, list);
    }

    struct Instance { // the terms of one sum and side
        Ref base, times;
        int side;
        std::vector<Term> terms;
        bool pair;
    };
    void put_terms(Row &row, const std::vector<Share> &list) {
        std::vector<Instance> instances;
        for (const Share &s : list) {
            const Node &n = nodes[s.ref];
            Instance own{n.a, 0, (s.m != 0 ? s.m : s.e) < 0, {}, false};
            Term t;
            t.site = n.site;
            t.scale[0] = own.side ? -s.m : s.m, t.scale[1] = own.side ? -s.e : s.e;
            const Node *f = &n;
            const auto is_function = [&](Ref r) { return !(r & PARAMETER) && nodes[r].op >= Op::relu && nodes[r].op <= Op::table; };
            if (n.op == Op::product || n.op == Op::product_pair) {
                Ref a = n.a, b = n.b;
                if (n.op == Op::product && is_function(b)) std::swap(a, b);
                t.times = n.op == Op::product ? 1 : 2;
                own.base = a, own.times = b;
                f = is_function(a) ? &nodes[a] : nullptr;
                if (f) own.base = f->a;
            }
            if (f) t.op = f->op, t.over = f->c, t.divide = f->ka, t.one = f->kb, t.knots = f->knots;
            if (!(own.base & PARAMETER) && (nodes[own.base].op == Op::mg || nodes[own.base].op == Op::eg))
                t.takes = nodes[own.base].op == Op::mg ? 'm' : 'e';
            Instance *with = nullptr;
            for (Instance &other : instances) {
                if (other.times != 0 || own.times != 0 || other.side != own.side) continue;
                const bool same_pair = t.takes != 'u' && other.terms[0].takes != 'u' && nodes[other.base].a == nodes[own.base].a;
                if (other.base == own.base || same_pair) with = &other, other.pair |= other.base != own.base;
            }
            if (with) {
                with->terms.push_back(t);
            } else {
                own.terms.push_back(t);
                instances.push_back(own);
            }
        }
        for (std::size_t i = 0; i < instances.size(); i++) {
            const Instance &own = instances[i];
            std::uint32_t occurrence = 0;
            for (std::size_t j = 0; j < i; j++)
                occurrence += instances[j].terms[0].site == own.terms[0].site && instances[j].side == own.side;
            Slot &s = slot(Op::linear, own.terms[0].site, occurrence, own.terms);
            s.sides[own.side] = true;
            bool present = false;
            for (const Term &t : own.terms) present |= t.op == Op::sigmoid || t.op == Op::table;
            const std::uint32_t base = s.range[own.side] * STRIDE + FIRST, second = s.second[own.side] * STRIDE + FIRST;
            put_sum(row.entries, own.pair ? nodes[own.base].a : own.base, own.pair, present, base, s.type, s.members, s.site);
            if (own.times != 0)
                put_sum(row.entries, own.times, own.terms[0].times == 2, false, second, s.second_type, s.second_members, s.site);
        }
    }

    // The schema's own arithmetic, from the record alone.
    double evaluate_row(const Row &row) const {
        std::vector<std::array<double, 3>> sums(ranges + 1, {{0, 0, 0}});
        for (const auto &e : row.entries) {
            auto &sum = sums[e.first / STRIDE];
            const std::uint32_t k = e.first % STRIDE - FIRST;
            const double *v = k < OWN ? CONSTANTS[k] : parameters[k - OWN].value;
            const char only = k < OWN || e.first >= STRIDE ? 'b' : parameters[k - OWN].linear;
            sum[0] += only == 'e' ? 0 : e.second * v[0], sum[1] += only == 'm' ? 0 : e.second * v[1], sum[2] = 1;
        }
        double score[2] = {sums[0][0], sums[0][1]};
        for (const Slot &s : slots)
            for (int side = 0; side < 2 && s.kind == Op::linear; side++)
                for (const Term &t : s.terms) {
                    const auto &x = sums[s.range[side]];
                    if (x[2] == 0 || (t.times != 0 && sums[s.second[side]][2] == 0)) continue;
                    const double f = compute(t.op, t.over, t.divide, t.one, t.knots, x[taken(s, t) == 'e']);
                    for (int phase = 0; phase < 2; phase++)
                        score[phase] += (side ? -f : f) * t.scale[phase] * (t.times ? sums[s.second[side]][times(s, t, phase) == 'e'] : 1);
                }
        for (const Slot &s : slots)
            if ((s.kind == Op::bounded_mg || s.kind == Op::bounded_eg) && sums[s.range[0]][2] != 0) {
                const double c = sums[s.range[0]][s.type == 'e'];
                double &e = score[s.kind == Op::bounded_eg];
                e = toward_zero(e, s.constants[0] != 0 ? std::min(c + s.constants[1], 0.0) : c);
            }
        const double share = tapered ? row.phase / whole : 1;
        const auto factor = [&](double strength) {
            const Slot &s = slots[row.factor_slot - 1];
            const double k = sums[s.range[strength < 0]][s.type == 'e'];
            return std::min(std::max(k, s.constants[1]), s.constants[2]) / s.constants[0];
        };
        const bool whole_score = row.factor_slot != 0 && slots[row.factor_slot - 1].kind == Op::scale;
        if (row.factor_slot != 0 && !whole_score) score[1] *= factor(score[1]);
        double total = share * score[0] + (1 - share) * score[1];
        if (whole_score) total *= factor(total);
        return total + row.offset;
    }
    static char taken(const Slot &s, const Term &t) { return t.takes != 'u' ? t.takes : s.type == 'u' ? 'm' : s.type; }
    static char times(const Slot &s, const Term &t, int phase) {
        return t.times == 2 ? "me"[phase] : s.second_type == 'u' ? 'm' : s.second_type;
    }

    static void put_number(std::string &out, double x) {
        char text[32];
        if (x == std::floor(x) && std::fabs(x) < 1e9) {
            char *end = text + sizeof text, *at = end;
            auto n = static_cast<std::uint32_t>(std::fabs(x));
            do *--at = static_cast<char>('0' + n % 10);
            while ((n /= 10) != 0);
            if (x < 0) *--at = '-';
            out.append(at, end);
            return;
        }
        std::snprintf(text, sizeof text, "%.10g", x);
        for (char &c : text)
            if (c == ',') c = '.'; // of a locale
        out += text;
    }
    void write_row(const Row &row, double eval, std::string &out) {
        const auto put = [&out](std::uint32_t index, double x) { out += ' ', put_number(out, index), out += ':', put_number(out, x); };
        if (row.phase != 0) put(1, row.phase);
        put(2, eval);
        if (row.offset != 0) put(3, row.offset), has_offset = true;
        for (const auto &e : row.entries) put(e.first, e.second);
    }

  public:
    // Returns why there is none, or nothing.
    std::string write_schema(const char *path) const {
        std::size_t sums = 1;
        std::string out = "{\n  \"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \"comment\": \"fen\",\n";
        const auto number = [](double x) { std::string s; put_number(s, x); return s; };
        const auto text = [](const std::string &s) {
            std::string quoted = "\"";
            for (char c : s) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
            return quoted + '"';
        };
        if (whole != 0) out += "  \"phase\": {\"middlegame\": " + number(whole) + ", \"endgame\": 0},\n";
        out += std::string("  \"columns\": {") + (whole != 0 ? "\"phase\": 1, " : "") + "\"eval\": 2, " + (has_offset ? "\"offset\": 3, " : "") + "\"game\": \"qid\"},\n  \"parameters\": [";
        std::string between = "\n";
        for (std::uint32_t i = 0; i < OWN + parameters.size(); i++) {
            const bool fixed = i < OWN;
            if (fixed && !constants_used[i]) continue;
            const Parameter *p = fixed ? nullptr : &parameters[i - OWN];
            const double *v = fixed ? CONSTANTS[i] : p->value;
            std::string phases = "both";
            double shown[2] = {v[0], v[1]};
            if (p) {
                const bool used[2] = {p->used[0] || p->linear == 'b' || p->linear == 'm', p->used[1] || p->linear == 'b' || p->linear == 'e'};
                if ((p->linear == 'm' || p->linear == 'e') && p->used[p->linear == 'm'])
                    refuse(p->place, "this number counts in one phase of the linear part and otherwise elsewhere, which the schema cannot say");
                if (p->linear == 'm' || p->linear == 'e') shown[p->linear == 'm'] = 0;
                phases = !used[0] ? (used[1] ? "eg" : "both") : !used[1] ? "mg" : p->is_pair ? "both" : "untapered";
            }
            out += between + "    {\"name\": " + text(fixed ? CONSTANT_NAMES[i] : p->name) + ", \"index\": " + number(FIRST + i);
            if (fixed) out += ", \"frozen\": true";
            if (whole == 0) out += ", \"prior\": " + number(shown[0]);
            else out += ", \"phases\": \"" + phases + "\", \"prior\": " + (phases == "untapered" ? number(v[0]) : "[" + number(shown[0]) + ", " + number(shown[1]) + "]");
            if (p && addresses) out += ", \"at\": " + text(std::string(p->place.file) + ":" + std::to_string(p->place.line_or_node) + ":" + std::to_string(p->place.column_or_generation));
            out += "}", between = ",\n";
        }
        out += "\n  ]";
        std::string accumulators, adjust, factor;
        for (const Slot &s : slots) {
            const std::string name = name_of(s);
            const char *value = s.type == 'e' ? ".eg" : ".mg";
            const auto open = [&](const std::string &own, const std::uint32_t *range, bool signs) {
                const bool two = s.sides[0] && s.sides[1];
                sums += two ? 2 : 1;
                const auto first = [range](int side) { return std::to_string(range[side] * STRIDE + FIRST); };
                accumulators += (accumulators.empty() ? "\n" : ",\n") + std::string("    {\"name\": ") + text(own);
                if (two) accumulators += ", \"sides\": {\"white\": " + first(0) + ", \"black\": " + first(1) + "}";
                else accumulators += ", \"index\": " + first(s.sides[1]) + (s.sides[1] && signs ? ", \"sign\": -1" : "");
            };
            const auto close = [&](const std::vector<bool> &members) {
                accumulators += ", \"parameters\": [";
                bool comma = false;
                for (std::uint32_t i = 0; i < members.size(); i++)
                    if (members[i]) {
                        accumulators += (comma ? ", " : "") + ("{\"use\": " + text(i < OWN ? CONSTANT_NAMES[i] : parameters[i - OWN].name)) + ", \"at\": " + number(i) + "}";
                        comma = true;
                    }
                accumulators += "]}";
            };
            open(name, s.range, s.kind == Op::linear);
            for (int phase = 0; phase < 2; phase++) {
                std::string list;
                for (const Term &t : s.terms) {
                    if (t.scale[phase] == 0) continue;
                    static const char *const names[] = {"relu", "relu2", "square", "sigmoid", "table"};
                    list += (list.empty() ? "" : ", ") + std::string("{\"op\": \"") + (t.op == Op::linear ? "identity" : names[int(t.op) - int(Op::relu)]) + "\"";
                    if (t.op == Op::sigmoid) list += ", \"divide\": " + number(t.divide);
                    if (t.over != 0) list += ", \"over\": " + number(t.over);
                    char scale[32]; // to the last bit
                    std::snprintf(scale, sizeof scale, "%.17g", t.scale[phase] * (t.op == Op::sigmoid ? t.one : 1));
                    list += std::string(", \"scale\": ") + scale + ", \"value\": \"" + taken(s, t) + "g\"";
                    if (t.op == Op::table) {
                        list += ", \"knots\": [";
                        for (const auto &k : *t.knots) list += (&k == t.knots->data() ? "[" : ", [") + number(k[0]) + ", " + number(k[1]) + "]";
                        list += "]";
                    }
                    if (t.times != 0) list += ", \"times\": " + text(name + "_times." + times(s, t, phase) + "g");
                    list += "}";
                }
                if (!list.empty()) accumulators += std::string(", \"") + "me"[phase] + "g\": [" + list + "]";
            }
            close(s.members);
            if (!s.terms.empty() && s.terms[0].times != 0) open(name + "_times", s.second, false), close(s.second_members);
            if (s.kind == Op::bounded_mg || s.kind == Op::bounded_eg)
                adjust += (adjust.empty() ? "" : ", ") + std::string("{\"target\": \"") + (s.kind == Op::bounded_mg ? "mg" : "eg") + "\", \"op\": \"bounded\", \"by\": " + text(name + value) + (s.constants[0] != 0 ? ", \"at_most\": " + number(s.constants[1]) : "") + "}";
            if (s.kind >= Op::scale_eg)
                factor = std::string("{\"target\": \"") + (s.kind == Op::scale ? "score" : "eg") + "\", \"by\": " + text(name + value) + ", \"min\": " + number(s.constants[1]) + (s.constants[2] < 1e9 ? ", \"max\": " + number(s.constants[2]) : "") + ", \"one\": " + number(s.constants[0]) + "}";
        }
        if (!accumulators.empty()) out += ",\n  \"accumulators\": [" + accumulators + "\n  ]";
        if (!adjust.empty()) out += ",\n  \"adjust\": [" + adjust + "]";
        if (!factor.empty()) out += ",\n  \"factor\": " + factor;
        if (sums > 24) return "the verbs need " + std::to_string(sums) + " sums, of which a schema has 24";
        std::ofstream file(path);
        file << out << "\n}\n";
        file.close();
        return file ? "" : std::string(path) + ": not written";
    }

  private:
    std::string name_of(const Slot &s) const {
        static const char *const kinds[] = {"bounded_mg", "bounded_eg", "scale_eg", "scale"};
        static const char *const names[] = {"relu", "relu2", "square", "sigmoid", "table"};
        const char *verb = s.kind != Op::linear ? kinds[int(s.kind) - int(Op::bounded_mg)] : s.terms[0].op == Op::linear ? "product" : names[int(s.terms[0].op) - int(Op::relu)];
        std::string base = sites[s.site].file_name();
        base = base.substr(base.find_last_of("/\\") + 1);
        return std::string(verb) + "_" + base + "_" + std::to_string(sites[s.site].line()) + "_" + std::to_string(sites[s.site].column()) + (s.occurrence ? "_" + std::to_string(s.occurrence + 1) : "");
    }
};

inline Recorder &recorder() { return Recorder::get(); }
inline Node node(Op op, Site at, double c = 0, double d = 0, double ka = 0) {
    Node n;
    n.op = op, n.c = c, n.d = d, n.ka = ka, n.site = recorder().site(at);
    return n;
}
inline Pair linear(const Pair &a, double ka, const PairArg &b, double kb) { return recorder().linear(a, ka, b.p, kb, b.at); }
inline Value linear(const Value &a, double ka, const ValueArg &b, double kb) { return recorder().linear(a, ka, b.v, kb, b.at); }
inline Pair negative(const Pair &a) { return recorder().linear(a, -1, Pair(), 0, recorder().last_site()); }
inline Value negative(const Value &a) { return recorder().linear(a, -1, Value(), 0, recorder().last_site()); }
inline Pair divided(const Pair &a, const Number &b) { return recorder().linear(a, 1 / b.x, Pair(), 0, b.at); }
inline Value divided(const Value &a, const Number &b) { return recorder().linear(a, 1 / b.x, Value(), 0, b.at); }
inline Value times(const Value &a, const ValueArg &b) {
    if (b.v.handle.is_constant()) return recorder().linear(a, b.v.v, Value(), 0, b.at);
    if (a.handle.is_constant()) return recorder().linear(b.v, a.v, Value(), 0, b.at);
    const Operand x = recorder().operand(a, b.at);
    return recorder().value(node(Op::product, b.at), x, recorder().operand(b.v, b.at));
}
inline Pair times(const Value &a, const PairArg &b) {
    if (a.handle.is_constant()) return recorder().linear(b.p, a.v, Pair(), 0, b.at);
    const Operand x = recorder().operand(a, b.at);
    return recorder().pair(node(Op::product_pair, b.at), x, recorder().operand(b.p, b.at));
}
inline Pair times(const Pair &a, const ValueArg &b) { return times(b.v, PairArg(a, b.at)); }
inline bool sign(const Pair &a, double b, bool zero_counts, Site at) {
    return recorder().sign(recorder().operand(a, at), b, zero_counts, at);
}
inline bool sign(const Value &a, double b, bool zero_counts, Site at) {
    if (a.handle.is_constant()) return zero_counts ? a.v >= b : a.v > b;
    return recorder().sign(recorder().operand(a, at), b, zero_counts, at);
}
inline bool above(const Pair &a, const Number &b, bool or_equal) { return sign(a, b.x, or_equal, b.at); }
inline bool above(const Value &a, const Number &b, bool or_equal) { return sign(a, b.x, or_equal, b.at); }
inline bool below(const PairArg &a, double b, bool or_equal) { return !sign(a.p, b, !or_equal, a.at); }
inline bool below(const ValueArg &a, double b, bool or_equal) { return !sign(a.v, b, !or_equal, a.at); }
} // namespace detail

// ---- verbs
inline Value mg(const Pair &p, detail::Site at = detail::Site::current()) {
    return detail::recorder().value(detail::node(detail::Op::mg, at), detail::recorder().operand(p, at), {});
}
inline Value eg(const Pair &p, detail::Site at = detail::Site::current()) {
    return detail::recorder().value(detail::node(detail::Op::eg, at), detail::recorder().operand(p, at), {});
}
inline Pair pair(const Value &mg, const Value &eg, detail::Site at = detail::Site::current()) {
    const detail::Operand m = detail::recorder().operand(mg, at);
    return detail::recorder().pair(detail::node(detail::Op::make, at), m, detail::recorder().operand(eg, at));
}
inline Value relu(const Value &x, int over = 0, detail::Site at = detail::Site::current()) {
    return detail::recorder().function(detail::Op::relu, x, at, over);
}
inline Value relu2(const Value &x, int over = 0, detail::Site at = detail::Site::current()) {
    return detail::recorder().function(detail::Op::relu2, x, at, over);
}
inline Value square(const Value &x, detail::Site at = detail::Site::current()) {
    return detail::recorder().function(detail::Op::square, x, at);
}
inline Value sigmoid(const Value &x, int divide, int one, detail::Site at = detail::Site::current()) {
    return detail::recorder().function(detail::Op::sigmoid, x, at, 0, divide, one);
}
template <std::size_t N> Value table(const Value &x, const int (&knots)[N][2], detail::Site at = detail::Site::current()) {
    return detail::recorder().function(detail::Op::table, x, at, 0, 1, 1, detail::recorder().table(knots, N, at));
}
inline Value clamp(const Value &x, int low, int high, detail::Site at = detail::Site::current()) {
    const int ends[2][2] = {{low, low}, {high, high}};
    return table(x, ends, at);
}
inline Value max(const Value &a, const Value &b, detail::Site at = detail::Site::current()) {
    return a + detail::ValueArg(relu(b - detail::ValueArg(a, at), 0, at), at);
}
inline Value min(const Value &a, const Value &b, detail::Site at = detail::Site::current()) {
    return a - detail::ValueArg(relu(a - detail::ValueArg(b, at), 0, at), at);
}
namespace detail {
inline Pair of_pair(Node n, const Pair &p, const Value &by, Site at) {
    const Operand x = recorder().operand(p, at);
    return recorder().pair(n, x, recorder().operand(by, at));
}
} // namespace detail
inline Pair bounded_mg(const Pair &p, const Value &c, detail::Site at = detail::Site::current()) {
    return detail::of_pair(detail::node(detail::Op::bounded_mg, at), p, c, at);
}
inline Pair bounded_mg(const Pair &p, const Value &c, int at_most, detail::Site at = detail::Site::current()) {
    return detail::of_pair(detail::node(detail::Op::bounded_mg, at, at_most, 0, 1), p, c, at);
}
inline Pair bounded_eg(const Pair &p, const Value &c, detail::Site at = detail::Site::current()) {
    return detail::of_pair(detail::node(detail::Op::bounded_eg, at), p, c, at);
}
inline Pair bounded_eg(const Pair &p, const Value &c, int at_most, detail::Site at = detail::Site::current()) {
    return detail::of_pair(detail::node(detail::Op::bounded_eg, at, at_most, 0, 1), p, c, at);
}
inline Pair bounded(const Pair &p, const Pair &c, detail::Site at = detail::Site::current()) {
    return bounded_mg(bounded_eg(p, eg(c, at), at), mg(c, at), at);
}
inline Pair scale_eg(const Pair &p, const Value &k, int one, int low = 0, int high = 1 << 30, detail::Site at = detail::Site::current()) {
    return detail::of_pair(detail::node(detail::Op::scale_eg, at, low, high, one), p, k, at);
}
inline Value scale(const Value &x, const Value &k, int one, int low = 0, int high = 1 << 30, detail::Site at = detail::Site::current()) {
    const detail::Operand a = detail::recorder().operand(x, at);
    return detail::recorder().value(detail::node(detail::Op::scale, at, low, high, one), a, detail::recorder().operand(k, at));
}
inline Value taper(const Pair &p, int phase, int whole, detail::Site at = detail::Site::current()) {
    return detail::recorder().value(detail::node(detail::Op::taper, at, phase, whole), detail::recorder().operand(p, at), {});
}
inline Value taper(const Pair &p, int phase, int whole, const Value &k, int one, detail::Site at = detail::Site::current()) {
    return taper(scale_eg(p, k, one, 0, 1 << 30, at), phase, whole, at);
}
// The number itself, to search with; refused in a position that is recorded.
inline int result(const Value &x, detail::Site at = detail::Site::current()) {
    if (detail::recorder().mode == detail::Recorder::Mode::recording)
        detail::refuse(at, "result() ends a recording: let the evaluation that is traced return gputexel::Value");
    return static_cast<int>(detail::recorder().operand(x, at).x);
}

// ---- leaves, values, traces
// In a process that plays: nothing is recorded, and S and V have the values of a file, if there is one.
inline void play(int argc, char **argv) {
    detail::recorder().mode = detail::Recorder::Mode::playing;
    const char *path = std::getenv("GPUTEXEL_VALUES");
    for (int i = 1; i + 1 < argc; i++)
        if (!std::strcmp(argv[i], "--values")) path = argv[i + 1];
    if (path) detail::recorder().use_values(path);
}
inline unsigned one_leaf_in() {
    static const char *const text = std::getenv("GPUTEXEL_LEAVES");
    static const unsigned n = text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0;
    return detail::recorder().mode == detail::Recorder::Mode::playing ? n : 0;
}
inline void leaf(const std::string &fen) {
    std::uint64_t key = 14695981039346656037u; // FNV-1a of the first four fields
    int spaces = 0;
    for (char c : fen) {
        if (c == ' ' && ++spaces == 4) break;
        key = (key ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    if ((key ^ key >> 32) % one_leaf_in() != 0) return;
    static const char *const path = std::getenv("GPUTEXEL_LEAF_FILE");
    static std::FILE *const file = path ? std::fopen(path, "a") : stdout;
    if (file) std::fprintf(file, "info string leaf %s\n", fen.c_str()), std::fflush(file);
}

// Traces the positions on standard input: lines GAME RESULT FEN [SCORE] [WEIGHT]. `evaluate` takes a FEN and returns a
// Value, from White's view unless `view` says otherwise.
template <class F> int trace(int argc, char **argv, const F &evaluate, View view = View::white) {
    static_assert(std::is_same<decltype(evaluate(std::string())), Value>::value, "gputexel: the evaluation returns gputexel::Value, the result of taper()");
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
    std::string line, row, words[10];
    while (std::getline(std::cin, line)) {
        std::size_t count = 0;
        for (std::size_t at = 0; count < 10 && (at = line.find_first_not_of(" \t\r", at)) != std::string::npos; count++) {
            const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
            words[count].assign(line, at, end - at);
            at = end;
        }
        row.clear();
        try {
            if (count >= 8) {
                const std::string fen = words[2] + ' ' + words[3] + ' ' + words[4] + ' ' + words[5] + ' ' + words[6] + ' ' + words[7];
                row = words[1] + " qid:" + words[0];
                const double sign = view == View::side_to_move && words[3] == "b" ? -1 : 1;
                if (r.record(evaluate, fen, sign, row)) row += " # " + fen;
                else row = "# skipped: no number counts here";
            } else row = "# skipped: not GAME RESULT FEN, with a FEN of six fields";
        } catch (const std::exception &e) { // thrown by the engine
            row = std::string("# skipped: ") + e.what();
        }
        row += '\n';
        std::fwrite(row.data(), 1, row.size(), stdout);
    }
    std::fflush(stdout);
    const std::string why = schema ? r.write_schema(schema) : "";
    if (!why.empty()) return std::fprintf(stderr, "gputexel: %s\n", why.c_str()), 1;
    return std::ferror(stdout) ? 1 : 0;
}
} // namespace gputexel

#endif // GPUTEXEL
#endif // GPUTEXEL_HPP
