// gputexel.hpp: an evaluation that traces itself, for C++17 and later. See docs/selftrace.md.
//
// Copyright the gputexel developers. Permission is granted, free of charge, to use, copy, modify, publish,
// distribute, sublicense and sell this file, in whole or in part, for any purpose and without any condition.
// It is provided "as is", without warranty of any kind; its authors are not liable for any claim or damage.
//
// Without GPUTEXEL defined, all of it is plain integers. With it, the evaluation records what it does, and
// gputexel::trace() prints one row of coefficients for each position, and a schema of all numbers.
#ifndef GPUTEXEL_HPP
#define GPUTEXEL_HPP

#ifndef __cplusplus
#error "gputexel: compile the evaluation as C++, or let gputexel probe ask the engine"
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gputexel {
enum class View { white, side_to_move };

constexpr int UNLIMITED = 1 << 30;
namespace arithmetic { // of integers in the build that plays, of doubles in the one that records
template <class T> T limited(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
template <class T> T relu(T x, T over) { return x > over && x > 0 ? x : 0; }
template <class T> T relu2(T x, T over) { return x > over && x > 0 ? x * x : 0; }
template <class T> T square(T x) { return x < 0 ? -x * x : x * x; }
template <class T> T sigmoid(T x, T divide, T one) { return T(one / (1 + std::exp(-double(x) / divide))); }
template <class T> T scaled(T x, T by, T one, T low, T high) { return x * limited(by, low, high) / one; }
template <class T> T bounded(T e, T by, T at_most) { // e + sgn(e) · max(c, −|e|)
    const T c = at_most < UNLIMITED ? std::min<T>(by + at_most, 0) : by;
    return e > 0 ? e + std::max(c, -e) : e < 0 ? e - std::max(c, e) : 0;
}
template <class T> T table(T x, const int *knots, std::size_t count) { // x and y of each knot
    if (x <= knots[0]) return knots[1];
    for (const int *k = knots; k < knots + 2 * count - 2; k += 2)
        if (x < k[2]) return k[1] + (k[3] - k[1]) * (x - k[0]) / (k[2] - k[0]);
    return knots[2 * count - 1];
}
} // namespace arithmetic

namespace detail {
// Calls print(fen, sign, row) for each line GAME RESULT FEN [SCORE] [WEIGHT] of standard input, and prints
// the row, or why there is none. The sign is -1 where the evaluation is from Black's view.
template <class F> bool each_line(View view, const F &print) {
    std::ios::sync_with_stdio(false);
    for (std::string line, row; std::getline(std::cin, line);) {
        std::istringstream in(line);
        std::array<std::string, 8> words;
        for (std::string &word : words) in >> word;
        try {
            if (!in) throw std::runtime_error("not GAME RESULT FEN, with six fields in the FEN");
            std::string fen = words[2];
            for (std::size_t i = 3; i < 8; i++) fen += ' ' + words[i];
            row = words[1] + " qid:" + words[0];
            print(fen, view == View::side_to_move && words[3] == "b" ? -1 : 1, row);
            row += " # " + fen;
        } catch (const std::exception &e) { // also thrown by the engine
            row = std::string("# skipped: ") + e.what();
        }
        row += '\n';
        std::fwrite(row.data(), 1, row.size(), stdout);
    }
    return std::fflush(stdout) == 0 && !std::ferror(stdout);
}
} // namespace detail
} // namespace gputexel

#define GPUTEXEL_LIST(...) __VA_ARGS__
#ifndef GPUTEXEL // ------------------------------------------------------------------------ the playing build

// How pairs are packed. An engine that packs in another way defines all four before it includes this file.
#ifndef GPUTEXEL_PAIR
#define GPUTEXEL_PAIR std::int32_t
#define GPUTEXEL_PACK(mg, eg) std::int32_t((std::uint32_t(eg) << 16) + std::uint32_t(mg))
#define GPUTEXEL_MG(pair) std::int16_t(std::uint16_t(std::uint32_t(pair)))
#define GPUTEXEL_EG(pair) std::int16_t(std::uint16_t((std::uint32_t(pair) + 0x8000u) >> 16))
#endif

#define GPUTEXEL_LEAF(fen) static_cast<void>(0)
#define GPUTEXEL_VERB(type, name, arguments, played, recorded)                                               \
    inline type name(GPUTEXEL_LIST arguments) { return played; }

namespace gputexel {
using Pair = GPUTEXEL_PAIR;
using Value = int;
#ifndef S // an engine may keep a macro of its own
constexpr Pair S(int mg, int eg) { return GPUTEXEL_PACK(mg, eg); }
#endif
#ifndef V
constexpr Value V(int x) { return x; }
#endif
inline int result(Value x) { return x; }
inline void play(int, char **) {}

// Prints what the engine plays, for --played of the recording build.
template <class F> int trace(int, char **, const F &evaluate, View view = View::white) {
    return !detail::each_line(view, [&](const std::string &fen, int sign, std::string &row) {
        row += " 2:" + std::to_string(sign * result(evaluate(fen)));
    });
}
} // namespace gputexel

#else // --------------------------------------------------------------------------------- the recording build

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <locale>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <source_location>
#define GPUTEXEL_LOCATIONS
#define GPUTEXEL_COLUMN ':'
#else
#define GPUTEXEL_COLUMN ":#"
#endif
#if defined(S) || defined(V)
#error "gputexel: a macro S or V is defined. Leave it out where GPUTEXEL is defined: these are functions there"
#endif

#define GPUTEXEL_LEAF(fen) (::gputexel::one_leaf_in() != 0 ? ::gputexel::leaf(fen) : static_cast<void>(0))
#define GPUTEXEL_AT detail::Handle at = detail::Handle::current()
#define GPUTEXEL_VERB(type, name, arguments, played, recorded)                                               \
    inline type name(GPUTEXEL_LIST arguments, GPUTEXEL_AT) {                                                 \
        using namespace detail;                                                                              \
        return recorded;                                                                                     \
    }

namespace gputexel {
namespace detail {
using u32 = std::uint32_t;
using Two = std::array<double, 2>; // a middlegame and an endgame value; of a Value, the same number twice
template <class T>
constexpr bool is_number = std::is_arithmetic<T>::value ||
                           (std::is_enum<T>::value && std::is_convertible<T, int>::value);
template <class T> using IfNumber = std::enable_if_t<is_number<T>, int>;
template <class T> using IfNoNumber = std::enable_if_t<!is_number<T>, int>;
template <class T> constexpr bool never = false;

// A place in the source, of a literal or verb, or a node of the tape and its generation; without either, a
// constant. Plain data, so that tables of literals may be constexpr, copied and mirrored.
struct Handle {
    const char *file = nullptr;
    u32 line = 0, column = 0; // or node and generation
#ifdef GPUTEXEL_LOCATIONS
    static constexpr Handle current(std::source_location at = std::source_location::current()) {
        return {at.file_name(), at.line(), at.column()};
    }
#else // C++17 knows no columns: a counter tells the S(…) of a line apart, see the macros below
    static constexpr Handle current(const char *file = __builtin_FILE(), u32 line = __builtin_LINE()) {
        return {file, line, 0};
    }
#endif
    bool is_constant() const { return !file && line == 0; }
    auto all() const { return std::tie(line, column, file); }
    bool operator==(const Handle &h) const { return all() == h.all(); }
    std::string text() const { // as the schema says it
        return std::string(file) + ':' + std::to_string(line) + GPUTEXEL_COLUMN + std::to_string(column);
    }
};
[[noreturn]] inline void stop(const std::string &where, const std::string &why) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: gputexel: %s\n", where.c_str(), why.c_str());
    std::exit(1);
}
[[noreturn]] inline void refuse(const Handle &at, const std::string &why) {
    stop(std::string(at.file) + ":" + std::to_string(at.line), why);
}
[[noreturn]] inline void refuse_by_schema(const Handle &at, const std::string &what) {
    refuse(at, what + ", which the schema cannot say");
}

template <class T> struct At { // a right-hand side: the conversion to it knows the line of the operator
    T v;
    Handle at;
    template <class U, std::enable_if_t<std::is_convertible<U, T>::value, int> = 0>
    constexpr At(const U &x, Handle h = Handle::current()) : v(static_cast<T>(x)), at(h) {}
};

// What cannot be recorded does not compile; the compiler names the line. There are no operators <<, %, |.
#define GPUTEXEL_REFUSED(condition, op, why)                                                              \
    template <class A, class U, condition = 0, std::enable_if_t<std::is_same<A, T>::value, int> = 0>         \
    friend bool operator op(const A &, const U &) {                                                          \
        static_assert(never<U>, "gputexel: " why);                                                           \
        return false;                                                                                        \
    }
#define GPUTEXEL_COMPARISON(op, mirrored, or_equal, yes)                                                     \
    friend bool operator op(const T &a, At<double> b) { return above(a, b.v, or_equal, b.at) == yes; }       \
    template <class N, IfNumber<N> = 0> friend bool operator mirrored(N b, At<T> a) {                        \
        return a.v op At<double>(b, a.at);                                                                   \
    }                                                                                                        \
    GPUTEXEL_REFUSED(IfNoNumber<U>, op, "scores are compared only with 0: use max, min or clamp")
#define GPUTEXEL_OPERATOR(op, type, by)                                                                      \
    friend T operator op(const T &a, const At<type> &b) { return by; }                                       \
    friend T &operator op##=(T &a, const At<type> &b) { return a = by; }

template <bool is_pair> struct Score {
    using T = Score;
    using Value = Score<false>;
    Two v{};
    Handle handle{};
    constexpr Score() = default;
    constexpr Score(double m, double e, const Handle &h = {}) : v{{m, e}}, handle(h) {}
    constexpr Score(std::nullptr_t) {} // a Pair may be the literal 0, but no other number
    template <class N, std::enable_if_t<!is_pair && is_number<N>, int> = 0>
    constexpr Score(N n) : v{{static_cast<double>(n), static_cast<double>(n)}} {}
    template <class U, IfNumber<U> = 0> explicit operator U() const {
        static_assert(never<U>, "gputexel: a score cannot become a number while it is recorded: use a verb");
        return U();
    }
    // Friends are found for scores only, so that they never compete for an engine's enums.
    GPUTEXEL_OPERATOR(+, T, linear(a, 1, b.v, 1, b.at))
    GPUTEXEL_OPERATOR(-, T, linear(a, 1, b.v, -1, b.at))
    GPUTEXEL_OPERATOR(*, Value, product(a, b.v, b.at))
    GPUTEXEL_OPERATOR(/, double, linear(a, 1 / b.v, T(), 0, b.at))
    friend T operator-(const At<T> &a) { return linear(a.v, -1, T(), 0, a.at); }
    friend T operator+(const T &a) { return a; }
    template <class N, IfNumber<N> = 0>
    friend T operator*(N n, const At<T> &b) { return linear(b.v, n, T(), 0, b.at); }
    template <class N, IfNumber<N> = 0>
    friend T operator+(N n, const At<T> &b) { return linear(T(n), 1, b.v, 1, b.at); }
    template <class N, IfNumber<N> = 0>
    friend T operator-(N n, const At<T> &b) { return linear(T(n), 1, b.v, -1, b.at); }
    GPUTEXEL_COMPARISON(>, <, false, true)
    GPUTEXEL_COMPARISON(>=, <=, true, true)
    GPUTEXEL_COMPARISON(<, >, true, false)
    GPUTEXEL_COMPARISON(<=, >=, false, false)
    GPUTEXEL_REFUSED(int, ==, "scores are not compared by == or !=; a branch on > 0 or < 0 can be recorded")
    GPUTEXEL_REFUSED(int, >>, "a score is not shifted: use * or /, or mg(), eg() and pair()")
    GPUTEXEL_REFUSED(int, &, "a score has no bits and no remainder: use mg(), eg() or a verb")
#define GPUTEXEL_IF_ADDED std::enable_if_t<is_pair && is_number<U>, int>
    GPUTEXEL_REFUSED(GPUTEXEL_IF_ADDED, +, "a number is added to a pair: write S(mg, eg) or pair(mg, eg)")
};
using Pair = Score<true>;
using Value = Score<false>;

enum class Op : std::uint8_t { constant, parameter, linear, make, mg, eg, taper,
                               relu, relu2, square, sigmoid, table, product, product_pair,
                               bounded_mg, bounded_eg, scale_eg, scale };
inline constexpr const char *NAMES[] = {"", "", "", "", "", "", "",
                                        "relu", "relu2", "square", "sigmoid", "table", "identity", "identity",
                                        "bounded_mg", "bounded_eg", "scale_eg", "scale"};
inline constexpr const char *PHASES[] = {"mg", "eg"};
using Constants = std::array<double, 4>; // of a verb: over, low or at_most; high; divide; one
using Knots = std::vector<int>;
using Ref = u32;
// Indices of the trace: constants from 12, parameters from 16; each further sum has a range of its own.
constexpr u32 FIRST = 12, OWN = 4, STRIDE = 20000;
enum Constant : u32 { ONE, MINUS_ONE, ONE_MG, ONE_EG };
constexpr Two CONSTANTS[OWN] = {{{1, 1}}, {{-1, -1}}, {{1, 0}}, {{0, 1}}};
inline constexpr const char *CONSTANT_NAMES[OWN] = {"one", "minus_one", "one_mg", "one_eg"};
using Entries = std::vector<std::pair<u32, double>>;

struct Verb { // a place in the source, with what does not change there
    Op op;
    Handle at{};
    Constants k{};
    Knots knots{};
    bool is(Op from, Op to) const { return op >= from && op <= to; }
    Two operator()(const Two &a, const Two &b, const Two &by = {}) const {
        const double x = a[0], y = a[1];
        const auto bounded = [&](double e) { return arithmetic::bounded(e, b[0], k[0]); };
        const auto scaled = [&](double s) { return arithmetic::scaled(s, b[0], k[3], k[0], k[1]); };
        const auto both = [](double value) { return Two{{value, value}}; };
        switch (op) {
        case Op::linear: return {{by[0] * x + by[1] * b[0], by[0] * y + by[1] * b[1]}};
        case Op::make: return {{x, b[0]}};
        case Op::eg: return both(y);
        case Op::taper: return both((x * by[0] + y * (by[1] - by[0])) / by[1]);
        case Op::relu: return both(arithmetic::relu(x, k[0]));
        case Op::relu2: return both(arithmetic::relu2(x, k[0]));
        case Op::square: return both(arithmetic::square(x));
        case Op::sigmoid: return both(arithmetic::sigmoid(x, k[2], k[3]));
        case Op::table: return both(arithmetic::table(x, knots.data(), knots.size() / 2));
        case Op::product: case Op::product_pair: return {{x * b[0], x * b[1]}};
        case Op::bounded_mg: return {{bounded(x), y}};
        case Op::bounded_eg: return {{x, bounded(y)}};
        case Op::scale_eg: return {{x, scaled(y)}};
        case Op::scale: return both(scaled(x));
        default: return both(x);
        }
    }
};
struct Operand { Ref ref; Two v; };
struct Branch { Ref on; bool positive; Handle at; };
struct Node {
    u32 verb = 0;
    Ref a = 0, b = 0;                  // nodes; of a parameter: its number
    Two by{}, v{}, share{};            // by: the factors of a and b; of a taper: phase and whole
    bool waiting = false;              // for a walk
};
struct Parameter { // in the order of how often it is read
    Handle place;
    Two source, value;
    bool is_pair;
    Ref node = 0;                  // its latest one,
    u32 generation = 0;            // and that of the node
    int linear = 0, used = 0;      // bits of the phases in which the linear part and other sums count it
};
struct Sum { // an accumulator of the schema: what a verb takes, or a function is multiplied by
    u32 verb, occurrence;
    int times;       // the function is multiplied by 1: a value, 2: a pair, -1: this is that sum
    Two factors;     // of the function in the middlegame and in the endgame
    char type = 'u'; // adds up 'm'iddlegame or 'e'ndgame values, or numbers without phases
    bool sides[2] = {false, false};
    std::set<u32> members{};
    bool is_eg() const { return type == 'e'; }
    bool is_factor() const { return times < 0; }
};
struct Row {
    double offset = 0, phase = -1; // no taper
    Entries entries{}, factor{};   // of the factor, with the base of White's side
    int stage = -1;                // the sum of that
    Ref of = 0;                    // what it multiplies,
    bool reversed = false;         // which is from Black's view
    auto all() const { return std::tie(entries, phase, offset, stage); }
};
struct Walk { // what a walk backwards finds, with what it counts in the middlegame and in the endgame value
    Two constant{};
    std::vector<std::pair<u32, Two>> parameters{}, functions{}, stages{};
};
inline std::string shown(double x) {
    if (x == std::floor(x) && std::fabs(x) < 1e9) return std::to_string(static_cast<long>(x));
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", x);
    std::replace(text, text + sizeof text, ',', '.'); // of a locale
    return text;
}

class Recorder {
  public:
    enum class Mode { setup, recording, playing } mode = Mode::setup;
    double eval = 0; // of the last position, White's view
    Handle last = Handle::current();

    template <class T, class A, class B>
    T put(u32 verb, Handle at, const A &x, const B &y, const Two &by = {}) {
        const Operand a = operand(x, at), b = operand(y, at); // the order of first use is that of the indices
        const Two v = verbs[verb](a.v, b.v, by);
        if ((a.ref | b.ref) == 0 || mode == Mode::playing) return {v[0], v[1]};
        if (mode == Mode::setup && nodes.size() > 1000000)
            refuse(at, "a million sums outside of a recording: begin main with gputexel::play(argc, argv)");
        const auto with_node = [&](const Operand &o) { // a constant gets one here
            return o.ref != 0 || o.v == Two() ? o.ref : push({u32(Op::constant), 0, 0, {}, o.v});
        };
        const Ref first = with_node(a), second = with_node(b);
        return {v[0], v[1], {nullptr, push({verb, first, second, by, v}), current}};
    }
    u32 verb_at(Op op, const Handle &at, const Constants &k, const Knots &knots = {}) {
        for (std::size_t tried = 0; tried < verbs.size(); tried++) { // begins where it was called last time
            last_verb = last_verb + 1 < verbs.size() ? last_verb + 1 : 0;
            const Verb &v = verbs[last_verb];
            if (v.op != op || !(v.at == at)) continue;
            if (v.k != k || v.knots != knots)
                refuse(at, "the limits, divisors or knots of this verb change: they must be constants");
            return last_verb;
        }
        verbs.push_back({op, at, k, knots});
        return last_verb = u32(verbs.size() - 1);
    }
    template <bool p> bool above(const Score<p> &a, double number, bool or_equal, Handle at) {
        const Operand x = operand(a, at);
        const double difference = x.v[x.v[1] != 0] - number; // of a pair: the sign of both packed
        const bool yes = or_equal ? difference >= 0 : difference > 0;
        if (x.ref == 0 || mode == Mode::playing) return yes;
        if (number != 0)
            refuse(at, "a score is compared with a number other than 0: use max, min, clamp, relu or table");
        if (mode == Mode::recording) branches.push_back({x.ref, yes != turned, at});
        return yes != turned;
    }
    // Appends the coefficients of a position. One with branches on a sign is evaluated once more, with every
    // branch turned; only the factor may differ then.
    template <class F> void record(const F &evaluate, const std::string &fen, double view, std::string &out) {
        const Operand root = run(evaluate, fen, false);
        eval = root.v[0] * view;
        if (root.ref == 0) throw std::runtime_error("no tuned number counts here");
        Row row = analyze(root.ref, view);
        Entries factors[2] = {row.factor, row.factor}; // if White, or Black, is stronger
        if (!branches.empty()) {
            const std::vector<Branch> taken = branches;
            const auto of_factor = [&](const Branch &b, bool before_bounds) { // which keep the sign
                const Ref on = verb_of(b.on).op == Op::eg ? nodes[b.on].a : b.on;
                Ref of = row.of;
                while (before_bounds && of != on && verb_of(of).is(Op::bounded_mg, Op::bounded_eg))
                    of = nodes[of].a;
                return of == on || of == b.on;
            };
            const auto other = std::find_if(taken.begin(), taken.end(),
                                            [&](const Branch &b) { return !of_factor(b, true); });
            bool positive = taken[0].positive; // after the bounds, which may have made it 0
            for (const Branch &b : taken) positive = of_factor(b, false) ? b.positive : positive;
            const Row turned_row = analyze(run(evaluate, fen, true).ref, view);
            if (branches.empty())
                refuse(last, "the evaluation of a position is not the same when it is repeated (a cache?)");
            if (turned_row.all() != row.all())
                refuse_by_schema(taken[0].at,
                                 "a branch on the sign of a score changes more than a scale factor");
            if (other != taken.end() && turned_row.factor != row.factor)
                refuse(other->at, "a scale factor depends on the sign of another score than it multiplies");
            factors[positive != row.reversed] = turned_row.factor;
        }
        for (u32 black = 0; black < 2; black++)
            for (const auto &e : factors[black]) row.entries.emplace_back(black * STRIDE + e.first, e.second);
        std::sort(row.entries.begin(), row.entries.end());
        const double again = evaluate_row(row);
        if (!(std::fabs(again - eval) <= 1e-6 * std::max(1.0, std::fabs(eval))))
            refuse(last, "the record gives " + shown(again) + " in place of " + shown(eval) + ": " + fen);
        const auto put = [&](u32 i, double x) { out += ' ', out += shown(i), out += ':', out += shown(x); };
        if (row.phase > 0) put(1, row.phase);
        put(2, eval);
        if (row.offset != 0) put(3, row.offset), has_offset = true;
        for (const auto &e : row.entries) put(e.first, e.second);
    }
    // The evaluations that the playing build has printed.
    void open_played(const char *path) {
        played.open(path);
        if (!played) stop(path, "cannot be read");
    }
    void compare_with_played(const std::string &fen) {
        if (!played.is_open()) return;
        std::string line;
        const std::string end = " # " + fen;
        while (std::getline(played, line)) // others had nothing to record
            if (line.size() > end.size() && line.substr(line.size() - end.size()) == end) break;
        const std::size_t at = line.find(" 2:");
        if (!played || at == line.npos) stop("--played", "has no evaluation of " + fen);
        const double difference = std::fabs(std::strtod(&line[at + 3], nullptr) - eval);
        compared++;
        for (int i = 0; i < 64; i++) differ[i] += difference > i;
        if (difference > largest) largest = difference, largest_fen = fen;
    }
    bool agrees() const { // but for rounding: by the taper, and by each verb
        int verbs_used = 0;
        for (const Sum &s : sums) verbs_used += !s.is_factor();
        const int limit = sums.empty() ? 1 : std::max(3, 1 + verbs_used), n = differ[limit];
        if (played.is_open())
            std::fprintf(stderr, "gputexel: %d of %d evaluations differ by more than %d from those played, "
                                 "at most by %.2f: %s\n", n, compared, limit, largest, largest_fen.c_str());
        return n == 0;
    }
    void tell_unused_values() const { // a misspelled name, or a number that no position has
        std::size_t unused = values.size();
        const std::string *name = nullptr;
        for (const auto &own : values) {
            const bool used = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter &p) {
                const std::string place = p.place.text();
                return own.first == place || own.first == place + ".mg" || own.first == place + ".eg";
            });
            unused -= used;
            if (!used) name = &own.first;
        }
        if (name) std::fprintf(stderr, "gputexel: %zu values are of no number that counts here, such as %s\n",
                               unused, name->c_str());
    }
    void use_values(const std::string &path) { // lines NAME VALUE
        std::ifstream file(path);
        if (!file) stop(path, "cannot be read");
        std::string line;
        for (int count = 1; std::getline(file, line); count++) {
            line.erase(line.find_last_not_of(" \t\r") + 1);
            if (line.empty()) continue;
            const std::size_t from = line.find_last_of(" \t"), end = line.find_last_not_of(" \t", from);
            std::istringstream word(from < line.size() ? line.substr(from + 1) : "");
            word.imbue(std::locale::classic());
            double value = 0;
            if (end >= line.size() || !(word >> value) || word.peek() != EOF)
                stop(path + ':' + std::to_string(count), "is not NAME VALUE");
            values[line.substr(0, end + 1)] = value;
        }
        for (Parameter &p : parameters) set_value(p);
        for (Node &n : nodes) { // sums that were made at the start
            const Verb &v = verbs[n.verb];
            if (v.op == Op::parameter) n.v = parameters[n.a].value;
            else if (v.op != Op::constant) n.v = v(nodes[n.a].v, nodes[n.b].v, n.by);
        }
    }

  private:
    std::ifstream played;
    int compared = 0, differ[64] = {}; // by more than 0, 1, …
    double largest = -1;
    std::string largest_fen;
    std::vector<Node> nodes = std::vector<Node>(1); // node 0 is the constant 0
    std::vector<Verb> verbs = {{Op::constant}, {Op::parameter}, {Op::linear}};
    std::vector<Parameter> parameters;
    std::vector<std::pair<Handle, u32>> cache = std::vector<std::pair<Handle, u32>>(65536); // of literals
    std::map<std::string, u32> by_place;
    std::map<std::string, double> values;
    std::vector<Sum> sums; // in the record, ranges of indices from STRIDE, for White and Black
    std::vector<Branch> branches;
    u32 current = 0; // the generation of new nodes; 0: before all positions
    u32 last_verb = 0, waiting = 0;
    bool turned = false, constants_used[OWN] = {}, has_offset = false;
    Ref permanent = 0;
    double whole = 0, phase = -1; // whole: the phase of the middlegame, 0 before the first taper

    const Verb &verb_of(Ref r) const { return verbs[nodes[r].verb]; }
    Ref push(const Node &n) {
        nodes.push_back(n);
        return Ref(nodes.size() - 1);
    }
    template <bool is_pair> Operand operand(const Score<is_pair> &s, Handle at) {
        const Handle &h = s.handle;
        last = at;
        if (h.is_constant()) return {0, s.v};
        if (!h.file && h.column != 0 && h.column != current)
            refuse(at, "a score of an earlier position is used here (a cache?)");
        if (!h.file) return {h.line, nodes[h.line].v};
        Parameter &p = parameter(h, s.v, is_pair);
        const bool has_node = p.node != 0 && (p.generation == 0 || p.generation == current);
        const u32 number = u32(&p - parameters.data());
        if (!has_node && mode != Mode::playing)
            p.node = push({u32(Op::parameter), number, 0, {}, p.value}), p.generation = current;
        return {p.node, p.value};
    }
    Parameter &parameter(const Handle &h, const Two &v, bool is_pair) {
        auto &known = cache[(h.line * 2654435761u + h.column * 2246822519u) >> 16];
        if (!(known.first == h)) { // other files may have the same text elsewhere
            const auto [own, is_new] = by_place.emplace(h.text(), u32(parameters.size()));
            if (is_new) parameters.push_back({h, v, v, is_pair}), set_value(parameters.back());
            if (parameters.size() > STRIDE - FIRST - OWN) refuse(h, "there are more than 19,984 numbers");
            known = {h, own->second};
        }
        Parameter &p = parameters[known.second];
        if (p.source != v || p.is_pair != is_pair)
            refuse(p.place, "this S or V stands for several numbers (in a macro, template or loop)");
        return p;
    }
    void set_value(Parameter &p) const {
        for (u32 k = 0; k < 2 && !values.empty(); k++)
            for (const char *end : {"", ".mg", ".eg"}) { // one number of a pair; of a Value, the only one
                const auto own = values.find(p.place.text() + end);
                if (own != values.end() && (!p.is_pair || !*end || end[1] == *PHASES[k])) p.value[k] = own->second;
            }
    }
    template <class F> Operand run(const F &evaluate, const std::string &fen, bool turn) {
        if (permanent == 0) permanent = Ref(nodes.size());
        nodes.resize(permanent), branches.clear();
        mode = Mode::recording, turned = turn, current++;
        const Operand result = operand(evaluate(fen), last);
        mode = Mode::setup, turned = false;
        return result;
    }

    // ---- from the tape to the schema's form
    void add(Ref r, double m, double e) {
        if ((m == 0 && e == 0) || r == 0) return;
        Node &n = nodes[r];
        waiting += !n.waiting, n.waiting = true;
        n.share = {{n.share[0] + m, n.share[1] + e}};
    }
    // Walks from a node to the parameters. In a sum of single values, what counts counts in both phases until
    // mg() or eg() says which.
    Walk walk(Ref from, double view, const Handle *of_sum) {
        Walk found;
        add(from, view, view);
        for (Ref i = from; waiting != 0; i--) {
            if (!nodes[i].waiting) continue;
            const Node n = nodes[i];
            const Two s = n.share;
            nodes[i].share = {}, nodes[i].waiting = false, waiting--;
            const Verb &v = verbs[n.verb];
            const bool is_eg = v.op == Op::eg;
            if (v.op == Op::constant) {
                found.constant = {{found.constant[0] + s[0] * n.v[0], found.constant[1] + s[1] * n.v[1]}};
            } else if (v.op == Op::parameter) {
                if (s != Two()) found.parameters.emplace_back(n.a, s);
            } else if (v.op == Op::linear) {
                add(n.a, n.by[0] * s[0], n.by[0] * s[1]), add(n.b, n.by[1] * s[0], n.by[1] * s[1]);
            } else if (v.op == Op::make) {
                add(n.a, s[0], 0), add(n.b, 0, s[1]);
            } else if (v.op == Op::mg || is_eg) {
                if (s[!is_eg] != 0 && (!of_sum || s[0] != s[1]))
                    refuse_by_schema(v.at, "the value of one phase is used in the other");
                add(n.a, is_eg ? 0 : s[0], is_eg ? s[1] : 0);
            } else if (of_sum) {
                refuse_by_schema(*of_sum, "a function of a function");
            } else if (v.op != Op::taper) {
                (v.op < Op::bounded_mg ? found.functions : found.stages).emplace_back(i, s);
            } else {
                if (s[0] != s[1] || (whole != 0 && whole != n.by[1]) || (phase >= 0 && phase != n.by[0]))
                    refuse_by_schema(v.at, "a second taper with another phase");
                phase = n.by[0], whole = n.by[1];
                if (!(phase >= 0 && phase <= whole))
                    refuse(v.at, "the phase is " + shown(phase) + ", of " + shown(whole));
                add(n.a, s[0], s[1]);
            }
        }
        std::sort(found.parameters.begin(), found.parameters.end());
        return found;
    }
    static u32 range(u32 sum, bool black) { return 1 + 2 * sum + black; }
    static u32 base(u32 sum, bool black) { return range(sum, black) * STRIDE + FIRST; }
    void put_constants(Entries &to, u32 base, Two c, bool present) {
        const auto put = [&](u32 which, double x) {
            if (x != 0) constants_used[which] = true, to.emplace_back(base + which, x);
        };
        if (present) c[0]++, c[1]++, put(MINUS_ONE, 1); // a sum without entries would leave the verb out
        if (c[0] == c[1]) put(ONE, c[0]);
        else put(ONE_MG, c[0]), put(ONE_EG, c[1]);
    }
    // What a verb takes, or its terms are multiplied by. With `present`, it has entries even if it is 0.
    void put_sum(Entries &to, Ref r, bool is_pair, bool present, u32 number, bool black) {
        Sum &sum = sums[number];
        const Handle of = verbs[sum.verb].at;
        const Walk found = walk(r, 1, &of);
        const std::size_t begin = to.size();
        for (const auto &[i, s] : found.parameters) {
            Parameter &p = parameters[i];
            const bool both = is_pair || !p.is_pair;
            const bool mixed = is_pair ? s[0] != s[1] : p.is_pair && s[0] != 0 && s[1] != 0;
            const char type = both ? sum.type : s[0] != 0 ? 'm' : 'e';
            if (mixed || (sum.type != 'u' && sum.type != type))
                refuse_by_schema(of, "middlegame and endgame values are mixed in its sum");
            sum.type = type;
            p.used |= both ? 3 : type == 'm' ? 1 : 2;
            to.emplace_back(base(number, black) + OWN + i, s[0] != 0 ? s[0] : s[1]);
        }
        const double mg = found.constant[!is_pair && sum.is_eg()], eg = found.constant[is_pair || sum.is_eg()];
        put_constants(to, base(number, black), {{mg, eg}}, present);
        for (std::size_t i = begin; i < to.size(); i++) sum.members.insert(to[i].first - base(number, black));
    }
    // The number of a sum, which is a new one when it is met first.
    u32 sum(u32 verb, u32 occurrence, int times, const Two &factors) {
        const auto kind = [&](u32 v) { return std::min(verbs[v].op, Op::scale_eg); };
        for (u32 i = 0; i < sums.size(); i++) {
            const Sum &s = sums[i];
            if (s.verb == verb && s.occurrence == occurrence && !s.is_factor()) {
                if (s.times == times && s.factors == factors) return i;
                refuse_by_schema(verbs[verb].at, "this counts otherwise than in positions before");
            }
            if (kind(verb) >= Op::bounded_mg && kind(s.verb) == kind(verb))
                refuse(verbs[verb].at, "another one of its kind: there may be one factor, one bound a phase");
        }
        if (sums.size() > 22) refuse(verbs[verb].at, "there are more verbs than a schema has room for");
        const u32 own = u32(sums.size());
        sums.push_back({verb, occurrence, times, factors});
        if (times != 0) sums.push_back({verb, occurrence, -1, {}});
        return own;
    }
    bool is_stage(u32 i) const { return verbs[sums[i].verb].op >= Op::bounded_mg; }
    double in_score(const Two &v) const {
        return phase >= 0 ? (v[0] * phase + v[1] * (whole - phase)) / whole : v[0];
    }

    // Splits the tape into stages (a factor, bounds), verbs that add, and the linear part.
    Row analyze(Ref root, double view) {
        Row row;
        bool staged = false;
        phase = -1;
        Walk found = walk(root, view, nullptr);
        for (; !found.stages.empty(); staged = true) { // what comes last is found first
            const auto [stage, s] = found.stages[0];
            const Node n = nodes[stage];
            const Handle at = verbs[n.verb].at;
            const auto others = found.stages.size() + found.functions.size() + found.parameters.size() - 1;
            if (others != 0 || s[0] != s[1] || std::fabs(s[0]) != 1)
                refuse(at, "tuned numbers are added after this, or it is multiplied: it comes last");
            row.offset += in_score(found.constant);
            const bool is_factor = verbs[n.verb].op >= Op::scale_eg;
            const u32 i = sum(n.verb, 0, 0, {});
            sums[i].sides[0] = true, sums[i].sides[1] = is_factor;
            put_sum(is_factor ? row.factor : row.entries, n.b, false, true, i, false);
            if (is_factor) row.stage = int(i), row.of = n.a, row.reversed = s[0] < 0;
            found = walk(n.a, s[0], nullptr);
        }
        row.phase = phase;
        if (!staged) row.offset = in_score(found.constant);
        else put_constants(row.entries, FIRST, found.constant, false);
        for (const auto &[i, s] : found.parameters) {
            Parameter &p = parameters[i];
            const int phases = (s[0] != 0 ? 1 : 0) | (s[1] != 0 ? 2 : 0);
            const bool differs = phases == 3 && std::fabs(s[0] - s[1]) > 1e-12 * std::fabs(s[0]);
            if (differs || (p.linear != 0 && p.linear != phases))
                refuse_by_schema(p.place, "this number counts differently in middlegame and endgame");
            p.linear = phases;
            row.entries.emplace_back(FIRST + OWN + i, s[0] != 0 ? s[0] : s[1]);
        }
        std::map<std::pair<u32, bool>, u32> occurrences;
        for (std::size_t i = found.functions.size(); i-- > 0;) { // in the order of evaluation
            const auto &[function, s] = found.functions[i];
            const bool black = (s[0] != 0 ? s[0] : s[1]) < 0;
            put_function(row.entries, function, black ? Two{{-s[0], -s[1]}} : s, black, occurrences);
        }
        return row;
    }
    template <class Counts>
    void put_function(Entries &to, Ref r, const Two &factors, bool black, Counts &seen) {
        const auto is_function = [&](Ref f) { return verb_of(f).is(Op::relu, Op::table); };
        u32 verb = nodes[r].verb;
        Ref of = nodes[r].a, by = nodes[r].b;
        const int times = is_function(r) ? 0 : verbs[verb].op == Op::product ? 1 : 2;
        if (times == 1 && is_function(by)) std::swap(of, by);
        if (times != 0 && is_function(of)) verb = nodes[of].verb, of = nodes[of].a;
        const u32 i = sum(verb, seen[{verb, black}]++, times, factors);
        sums[i].sides[black] = true;
        put_sum(to, of, false, verbs[verb].is(Op::sigmoid, Op::table), i, black); // of 0 not 0
        if (times == 0) return;
        sums[i + 1].sides[black] = true;
        put_sum(to, by, times == 2, false, i + 1, black);
    }
    bool times_eg(u32 i, bool target) const { return sums[i].times == 2 ? target : sums[i + 1].is_eg(); }
    // The schema's own arithmetic, from the record alone.
    double evaluate_row(const Row &row) const {
        std::vector<std::pair<Two, bool>> added(range(u32(sums.size()), false)); // and if there is an entry
        for (const auto &[index, x] : row.entries) {
            const u32 k = index % STRIDE - FIRST;
            const int phases = k >= OWN && index < STRIDE ? parameters[k - OWN].linear : 3;
            const Two &v = k < OWN ? CONSTANTS[k] : parameters[k - OWN].value;
            auto &[sum, present] = added[index / STRIDE];
            sum[0] += phases & 1 ? x * v[0] : 0, sum[1] += phases & 2 ? x * v[1] : 0;
            present = true;
        }
        const auto staged = [&](u32 i, const Two &score, bool black) {
            const double by = added[range(i, black)].first[sums[i].is_eg()];
            return verbs[sums[i].verb](score, {{by, by}});
        };
        Two score = added[0].first;
        for (u32 i = 0; i < 2 * sums.size(); i++) { // for White and for Black
            const Sum &s = sums[i / 2];
            const auto &[x, has_x] = added[range(i / 2, i % 2)];
            const auto &[y, has_y] = added[s.times > 0 ? range(i / 2 + 1, i % 2) : 0];
            if (!has_x || (s.times > 0 && !has_y) || s.is_factor() || is_stage(i / 2)) continue;
            const double f = verbs[s.verb]({{x[s.is_eg()], 0}}, {{1, 1}})[0] * (i % 2 ? -1 : 1);
            for (u32 to = 0; to < 2; to++)
                score[to] += f * s.factors[to] * (s.times > 0 ? y[times_eg(i / 2, to)] : 1);
        }
        for (u32 i = 0; i < sums.size(); i++)
            if (is_stage(i) && verbs[sums[i].verb].op < Op::scale_eg && added[range(i, false)].second)
                score = staged(i, score, false);
        if (row.stage < 0) return row.offset + in_score(score);
        const u32 stage = u32(row.stage);
        if (verbs[sums[stage].verb].op == Op::scale) score.fill(in_score(score));
        return row.offset + in_score(staged(stage, score, score[1] < 0));
    }

    // ---- the schema
    static std::string quoted(const std::string &s) {
        std::string out = "\"";
        for (const char c : s) (c == '"' || c == '\\' ? out += '\\' : out) += c;
        return out + '"';
    }
    // Puts the texts in the places of $.
    static std::string fill(const char *pattern, std::initializer_list<std::string> texts) {
        std::string out;
        for (auto text = texts.begin(); *pattern; pattern++)
            *pattern == '$' ? out += *text++ : out += *pattern;
        return out;
    }
    static void list(std::string &to, const std::string &item, const char *between = ", ") {
        to += (to.empty() ? "" : between) + item;
    }
    static std::string unless(double x, double without, const char *key) {
        return x == without ? "" : fill(R"(, "$": $)", {key, shown(x)});
    }
    std::string name(u32 i) const {
        return quoted(i < OWN ? CONSTANT_NAMES[i] : parameters[i - OWN].place.text());
    }
    std::string parameter_json(u32 i) const {
        std::string phases = "both", more = i < OWN ? R"(, "frozen": true)" : "";
        Two prior = CONSTANTS[i % OWN];
        if (i >= OWN) {
            const Parameter &p = parameters[i - OWN];
            const int all = p.linear | p.used;
            if (p.linear != 0 && p.linear != all)
                refuse_by_schema(p.place, "this number counts in one phase here and elsewhere in the other");
            prior = {{p.linear == 2 ? 0 : p.value[0], p.linear == 1 ? 0 : p.value[1]}};
            phases = all == 1 || all == 2 ? PHASES[all - 1] : p.is_pair ? "both" : "untapered";
        }
        const bool single = whole == 0 || phases == "untapered";
        if (whole != 0) more += fill(R"(, "phases": "$")", {phases});
        return fill(R"(    {"$": $, "index": $$, "prior": $})",
                    {i < OWN ? "name" : "at", name(i), shown(FIRST + i), more,
                     single ? shown(prior[0]) : fill("[$, $]", {shown(prior[0]), shown(prior[1])})});
    }
    std::string sum_name(u32 i) const {
        std::string place = verbs[sums[i].verb].at.text();
        place.erase(0, place.find_last_of("/\\") + 1);
        std::replace(place.begin(), place.end(), ':', '_');
        return fill("$_$_$$", {NAMES[int(verbs[sums[i].verb].op)], place, shown(sums[i].occurrence + 1),
                               sums[i].is_factor() ? "_factor" : ""});
    }
    std::string term_json(u32 i, u32 target) const {
        const Sum &s = sums[i];
        const Verb &v = verbs[s.verb];
        char scale[32]; // to the last bit
        std::snprintf(scale, sizeof scale, "%.17g", s.factors[target] * (v.op == Op::sigmoid ? v.k[3] : 1));
        std::string points, more = unless(v.k[2], 0, "divide");
        for (std::size_t k = 0; k < v.knots.size(); k += 2)
            list(points, fill("[$, $]", {shown(v.knots[k]), shown(v.knots[k + 1])}));
        if (!points.empty()) more += fill(R"(, "knots": [$])", {points});
        more += unless(v.k[0], 0, "over");
        if (s.times > 0) more += fill(R"(, "times": "$.$")", {sum_name(i + 1), PHASES[times_eg(i, target)]});
        return fill(R"(, "$": {"op": "$", "scale": $$, "value": "$"})",
                    {PHASES[target], NAMES[int(v.op)], scale, more, PHASES[s.is_eg()]});
    }
    std::string sum_json(u32 i) const {
        const Sum &s = sums[i];
        std::string more, members;
        for (u32 to = 0; to < (whole != 0 ? 2 : 1); to++)
            if (s.factors[to] != 0) more += term_json(i, to);
        if (!s.sides[0] && !s.is_factor()) more += R"(, "sign": -1)";
        for (const u32 member : s.members)
            list(members, fill(R"({"use": $, "at": $})", {name(member), shown(member)}));
        const bool both = s.sides[0] && s.sides[1];
        const std::string at = fill(both ? R"("sides": {"white": $, "black": $})" : R"("index": $)",
                                    {shown(base(i, !s.sides[0])), shown(base(i, true))});
        return fill(R"(    {"name": "$", $$, "parameters": [$]})", {sum_name(i), at, more, members});
    }

  public:
    bool write_schema(const char *path) const {
        std::string numbers, accumulators, adjust, factor;
        int count = 1;
        for (u32 i = 0; i < OWN + parameters.size(); i++)
            if (i >= OWN || constants_used[i]) list(numbers, parameter_json(i), ",\n");
        for (u32 i = 0; i < sums.size(); i++) {
            const Sum &s = sums[i];
            const Verb &v = verbs[s.verb];
            const std::string by = sum_name(i) + "." + PHASES[s.is_eg()];
            list(accumulators, sum_json(i), ",\n");
            count += s.sides[0] + s.sides[1];
            if (v.op >= Op::scale_eg)
                factor = fill(R"(,
  "factor": {"target": "$", "by": "$", "min": $$, "one": $})",
                              {v.op == Op::scale ? "score" : "eg", by, shown(v.k[0]),
                               unless(v.k[1], UNLIMITED, "max"), shown(v.k[3])});
            else if (is_stage(i))
                list(adjust, fill(R"({"target": "$", "op": "bounded", "by": "$"$})",
                                  {PHASES[v.op == Op::bounded_eg], by, unless(v.k[0], UNLIMITED, "at_most")}));
        }
        if (count > 24)
            refuse(verbs.back().at, "the verbs need " + shown(double(count)) + " sums: a schema has 24");
        if (!accumulators.empty()) accumulators = ",\n  \"accumulators\": [\n" + accumulators + "\n  ]";
        if (!adjust.empty()) adjust = ",\n  \"adjust\": [" + adjust + "]";
        const std::string head = whole == 0 ? "\n  \"columns\": {" : fill(R"(
  "phase": {"middlegame": $, "endgame": 0},
  "columns": {"phase": 1, )", {shown(whole)});
        std::ofstream file(path);
        file << fill(R"({
  "format": "gputexel-schema", "version": 1, "index_base": 1, "comment": "fen",$$"eval": 2, "game": "qid"},
  "parameters": [
$
  ]$$$
}
)", {head, has_offset ? "\"offset\": 3, " : "", numbers, accumulators, adjust, factor});
        file.close();
        if (!file) std::fprintf(stderr, "gputexel: %s: not written\n", path);
        return bool(file);
    }
};

inline Recorder &recorder() { static Recorder one; return one; }
template <class T> T linear(const T &a, double ka, const T &b, double kb, Handle at) {
    return recorder().template put<T>(u32(Op::linear), at, a, b, {{ka, kb}});
}
template <class T> bool above(const T &a, double number, bool or_equal, Handle at) {
    return recorder().above(a, number, or_equal, at);
}
template <class T, class A, class B = Value, class... K>
T verb(Op op, Handle at, const A &x, const B &y = {}, K... k) {
    Recorder &r = recorder();
    return r.template put<T>(r.verb_at(op, at, {{double(k)...}}), at, x, y);
}
template <class T> T product(const T &a, const Value &b, Handle at) {
    if (b.handle.is_constant()) return linear(a, b.v[0], T(), 0, at);
    if constexpr (std::is_same<T, Pair>::value) return verb<T>(Op::product_pair, at, b, a);
    else return a.handle.is_constant() ? linear(b, a.v[0], b, 0, at) : verb<T>(Op::product, at, a, b);
}
inline Pair operator*(const Value &a, const At<Pair> &b) { return product(b.v, a, b.at); }
inline Value through(const Value &x, Handle at, const Knots &knots) {
    return recorder().put<Value>(recorder().verb_at(Op::table, at, {}, knots), at, x, Value());
}
inline Value tapered(const Pair &p, double phase, double whole, Handle at) { // the phase is no constant
    return recorder().put<Value>(recorder().verb_at(Op::taper, at, {}), at, p, Value(), {{phase, whole}});
}
} // namespace detail

using detail::Pair, detail::Value;
constexpr Pair S(double mg, double eg, GPUTEXEL_AT) { return {mg, eg, at}; }
constexpr Value V(double x, GPUTEXEL_AT) { return {x, x, at}; }
inline int result(const Value &x, GPUTEXEL_AT) { // a number to search with; refused in a recording
    if (detail::recorder().mode == detail::Recorder::Mode::recording)
        detail::refuse(at, "result() ends a recording: the evaluation returns gputexel::Value");
    return static_cast<int>(detail::linear(x, 1, x, 0, at).v[0]);
}
#ifndef GPUTEXEL_LOCATIONS
#define S(mg, eg) S(mg, eg, ::gputexel::detail::Handle{__FILE__, __LINE__, __COUNTER__ + 1})
#define V(x) V(x, ::gputexel::detail::Handle{__FILE__, __LINE__, __COUNTER__ + 1})
#endif

// At the start of a process that plays: nothing is recorded, and S and V may take their values from a file.
inline void play(int argc, char **argv) {
    detail::recorder().mode = detail::Recorder::Mode::playing;
    const char *path = std::getenv("GPUTEXEL_VALUES");
    for (int i = 1; i + 1 < argc; i++)
        if (!std::strcmp(argv[i], "--values")) path = argv[i + 1];
    if (path) detail::recorder().use_values(path);
}
inline unsigned one_leaf_in() {
    static const char *const n = std::getenv("GPUTEXEL_LEAVES");
    return n && detail::recorder().mode == detail::Recorder::Mode::playing ? unsigned(std::atoi(n)) : 0;
}
inline void leaf(const std::string &fen) {
    std::uint64_t key = 14695981039346656037u; // FNV-1a of the first four fields
    int spaces = 0;
    for (std::size_t i = 0; i < fen.size() && (spaces += fen[i] == ' ') < 4; i++)
        key = (key ^ static_cast<unsigned char>(fen[i])) * 1099511628211u;
    static const char *const path = std::getenv("GPUTEXEL_LEAF_FILE");
    static std::FILE *const file = path ? std::fopen(path, "a") : stdout;
    if ((key ^ key >> 32) % one_leaf_in() != 0 || !file) return;
    std::fprintf(file, "info string leaf %s\n", fen.c_str()), std::fflush(file);
}

// Traces the positions on standard input. `evaluate` takes a FEN and returns a Value: White's view, unless
// `view` says otherwise.
template <class F> int trace(int argc, char **argv, const F &evaluate, View view = View::white) {
    static_assert(std::is_same<decltype(evaluate(std::string())), Value>::value,
                  "gputexel: the evaluation returns gputexel::Value, the result of taper()");
    const char *schema = nullptr;
    detail::Recorder &r = detail::recorder();
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word == "--schema" && more) schema = argv[++i];
        else if (word == "--values" && more) r.use_values(argv[++i]);
        else if (word == "--played" && more) r.open_played(argv[++i]);
        else detail::stop(argv[0], "options are --schema FILE, --values FILE, --played FILE");
    }
    const bool printed = detail::each_line(view, [&](const std::string &fen, int sign, std::string &row) {
        r.record(evaluate, fen, sign, row);
        r.compare_with_played(fen);
    });
    r.tell_unused_values();
    const bool written = !schema || r.write_schema(schema);
    return !(r.agrees() && printed && written);
}
} // namespace gputexel

#endif // GPUTEXEL

// ---- the verbs: what the playing build computes, and what the recording build records
namespace gputexel {
GPUTEXEL_VERB(Value, mg, (Pair p), GPUTEXEL_MG(p), verb<Value>(Op::mg, at, p))
GPUTEXEL_VERB(Value, eg, (Pair p), GPUTEXEL_EG(p), verb<Value>(Op::eg, at, p))
GPUTEXEL_VERB(Pair, pair, (Value m, Value e), GPUTEXEL_PACK(m, e), verb<Pair>(Op::make, at, m, e))
GPUTEXEL_VERB(Value, relu, (Value x, int over = 0), arithmetic::relu(x, over),
              verb<Value>(Op::relu, at, x, Value(), over))
GPUTEXEL_VERB(Value, relu2, (Value x, int over = 0), arithmetic::relu2(x, over),
              verb<Value>(Op::relu2, at, x, Value(), over))
GPUTEXEL_VERB(Value, square, (Value x), arithmetic::square(x), verb<Value>(Op::square, at, x))
GPUTEXEL_VERB(Value, sigmoid, (Value x, int divide, int one), arithmetic::sigmoid(x, divide, one),
              verb<Value>(Op::sigmoid, at, x, Value(), 0, 0, divide, one))
template <std::size_t N>
GPUTEXEL_VERB(Value, table, (Value x, const int (&knots)[N][2]), arithmetic::table(x, knots[0], N),
              through(x, at, Knots(knots[0], knots[0] + 2 * N)))
GPUTEXEL_VERB(Value, clamp, (Value x, int low, int high), arithmetic::limited(x, low, high),
              through(x, at, {low, low, high, high}))
GPUTEXEL_VERB(Value, max, (Value a, Value b), a < b ? b : a,
              linear(a, 1, relu(linear(b, 1, a, -1, at), 0, at), 1, at))
GPUTEXEL_VERB(Value, min, (Value a, Value b), a < b ? a : b,
              linear(a, 1, relu(linear(a, 1, b, -1, at), 0, at), -1, at))
GPUTEXEL_VERB(Pair, share, (Pair p, Value k, int one), pair(mg(p) * k / one, eg(p) * k / one),
              linear(product(p, k, at), 1.0 / one, p, 0, at))
GPUTEXEL_VERB(Pair, bounded_mg, (Pair p, Value by, int at_most = UNLIMITED),
              pair(arithmetic::bounded(mg(p), by, at_most), eg(p)),
              verb<Pair>(Op::bounded_mg, at, p, by, at_most))
GPUTEXEL_VERB(Pair, bounded_eg, (Pair p, Value by, int at_most = UNLIMITED),
              pair(mg(p), arithmetic::bounded(eg(p), by, at_most)),
              verb<Pair>(Op::bounded_eg, at, p, by, at_most))
GPUTEXEL_VERB(Value, scale, (Value x, Value by, int one, int low = 0, int high = UNLIMITED),
              arithmetic::scaled(x, by, one, low, high), verb<Value>(Op::scale, at, x, by, low, high, 0, one))
GPUTEXEL_VERB(Pair, scale_eg, (Pair p, Value by, int one, int low = 0, int high = UNLIMITED),
              pair(mg(p), scale(eg(p), by, one, low, high)),
              verb<Pair>(Op::scale_eg, at, p, by, low, high, 0, one))
GPUTEXEL_VERB(Value, taper, (Pair p, int phase, int whole), (mg(p) * phase + eg(p) * (whole - phase)) / whole,
              tapered(p, phase, whole, at))
// Multiplies before it divides, as engines do that scale and taper in one expression.
GPUTEXEL_VERB(Value, taper, (Pair p, int phase, int whole, Value by, int one),
              (mg(p) * phase + eg(p) * (whole - phase) * by / one) / whole,
              taper(scale_eg(p, by, one, 0, UNLIMITED, at), phase, whole, at))
} // namespace gputexel
#endif // GPUTEXEL_HPP
