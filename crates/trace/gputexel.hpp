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
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
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
    std::string line, row, fen;
    while (std::getline(std::cin, line)) {
        std::size_t from[8], size[8], count = 0, end = 0;
        for (; count < 8 && (from[count] = line.find_first_not_of(" \t\r", end)) < line.size(); count++) {
            end = std::min(line.find_first_of(" \t\r", from[count]), line.size());
            size[count] = end - from[count];
        }
        try {
            if (count < 8) throw std::runtime_error("not GAME RESULT FEN, with six fields in the FEN");
            const bool reversed = view == View::side_to_move && line[from[3]] == 'b';
            fen.assign(line, from[2], end - from[2]);
            row.assign(line, from[1], size[1]).append(" qid:").append(line, from[0], size[0]);
            print(fen, reversed ? -1 : 1, row);
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
constexpr Value V(int x) { return x; }
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

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <locale>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L || (defined(_MSVC_LANG) && _MSVC_LANG >= 202002L)
#include <source_location>
#define GPUTEXEL_LOCATIONS
#define GPUTEXEL_COLUMN ":"
#else
#define GPUTEXEL_COLUMN ":#" // a counter
#endif
#ifdef S
#error "gputexel: a macro S is defined. Leave it out where GPUTEXEL is defined: S(mg, eg) is a function there"
#endif

#define GPUTEXEL_LEAF(fen) (::gputexel::one_leaf_in() != 0 ? ::gputexel::leaf(fen) : static_cast<void>(0))
#define GPUTEXEL_AT detail::Site at = detail::Site::current()
#define GPUTEXEL_VERB(type, name, arguments, played, recorded)                                               \
    inline type name(GPUTEXEL_LIST arguments, GPUTEXEL_AT) {                                                 \
        using namespace detail;                                                                              \
        return recorded;                                                                                     \
    }

namespace gputexel {
namespace detail {
#ifdef GPUTEXEL_LOCATIONS
using Site = std::source_location;
#else
struct Site { // C++17 knows no columns: a counter tells the S(…) of a line apart, see the macros below
    const char *name = "";
    unsigned row = 0, place = 0;
    static constexpr Site current(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        return {file, line, 0};
    }
    constexpr const char *file_name() const { return name; }
    constexpr unsigned line() const { return row; }
    constexpr unsigned column() const { return place; }
};
#endif

using u32 = std::uint32_t;
template <class T>
constexpr bool is_number = std::is_arithmetic<T>::value ||
                           (std::is_enum<T>::value && std::is_convertible<T, int>::value);
template <class T> using IfNumber = std::enable_if_t<is_number<T>, int>;
template <class T> using IfNoNumber = std::enable_if_t<!is_number<T>, int>;
template <class T> constexpr bool never = false;

// A literal of the source (file, line, column), or a node of the tape and its generation; without either, a
// constant. Plain data, so that tables of literals may be constexpr, copied and mirrored.
struct Handle {
    const char *file = nullptr;
    u32 line = 0, column = 0; // or node and generation
    constexpr Handle() = default;
    constexpr Handle(const char *f, u32 l, u32 c) : file(f), line(l), column(c) {}
    constexpr Handle(Site s) : Handle(s.file_name(), s.line(), s.column()) {}
    bool is_constant() const { return !file && line == 0; }
    auto all() const { return std::tie(line, column, file); }
    bool operator==(const Handle &h) const { return all() == h.all(); }
    std::string text() const {
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

template <class T> struct At { // a right-hand side: the conversion to it knows the line of the operator
    T v;
    Site at;
    template <class U, std::enable_if_t<std::is_convertible<U, T>::value, int> = 0>
    constexpr At(const U &x, Site s = Site::current()) : v(static_cast<T>(x)), at(s) {}
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

template <bool is_pair> struct Score {
    using T = Score;
    using Value = Score<false>;
    double x = 0, y = 0; // the middlegame and the endgame value; of a Value, the same number twice
    Handle handle{};
    constexpr Score() = default;
    constexpr Score(double m, double e, const Handle &h = {}) : x(m), y(e), handle(h) {}
    constexpr Score(std::nullptr_t) {} // a Pair may be the literal 0, but no other number
    template <class N, std::enable_if_t<!is_pair && is_number<N>, int> = 0>
    constexpr Score(N n) : x(static_cast<double>(n)), y(static_cast<double>(n)) {}
    template <class U, IfNumber<U> = 0> explicit operator U() const {
        static_assert(never<U>, "gputexel: a score cannot become a number while it is recorded: use a verb");
        return U();
    }
    // Friends are found for scores only, so that they never compete for an engine's enums.
    friend T operator+(const T &a, const At<T> &b) { return linear(a, 1, b.v, 1, b.at); }
    friend T operator-(const T &a, const At<T> &b) { return linear(a, 1, b.v, -1, b.at); }
    friend T operator*(const T &a, const At<Value> &b) { return product(a, b.v, b.at); }
    friend T operator/(const T &a, const At<double> &b) { return linear(a, 1 / b.v, T(), 0, b.at); }
    friend T &operator+=(T &a, const At<T> &b) { return a = linear(a, 1, b.v, 1, b.at); }
    friend T &operator-=(T &a, const At<T> &b) { return a = linear(a, 1, b.v, -1, b.at); }
    friend T &operator*=(T &a, const At<Value> &b) { return a = product(a, b.v, b.at); }
    friend T &operator/=(T &a, const At<double> &b) { return a = linear(a, 1 / b.v, T(), 0, b.at); }
    friend T operator-(const T &a) { return negative(a); }
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


enum class Op : std::uint8_t { linear, make, mg, eg, taper, relu, relu2, square, sigmoid, table, product,
                               product_pair, bounded_mg, bounded_eg, scale_eg, scale };
inline constexpr const char *NAMES[] = {"", "", "", "", "", "relu", "relu2", "square", "sigmoid", "table",
                                        "identity", "identity", // a product without a function
                                        "bounded_mg", "bounded_eg", "scale_eg", "scale"};
inline constexpr const char *PHASES[] = {"mg", "eg"};
using Ref = u32; // a node, or with this bit a parameter
constexpr Ref PARAMETER = 0x80000000u;
// Indices of the trace: constants from 12, parameters from 16; each further sum has a range of its own.
constexpr u32 FIRST = 12, OWN = 4, STRIDE = 20000;
enum Constant : u32 { ONE, MINUS_ONE, ONE_MG, ONE_EG };
using Two = std::array<double, 2>;
using Constants = std::array<double, 4>; // of a verb
using Knots = std::vector<int>;
inline constexpr double CONSTANTS[OWN][2] = {{1, 1}, {-1, -1}, {1, 0}, {0, 1}};
inline constexpr const char *CONSTANT_NAMES[OWN] = {"one", "minus_one", "one_mg", "one_eg"};
using Entries = std::vector<std::pair<u32, double>>;

struct Verb { // a place in the source, with what does not change there
    Op op;
    Handle at;
    Constants k; // over, low or at_most; high; divide; one
    Knots knots;
};
struct Operand { Ref ref; double x, y; };
struct Branch { Ref on, next; bool positive; Site at; };   // the score, and the next node of the tape
struct Share { double m = 0, e = 0; Ref ref = 0; };        // what counts in the middlegame and in the endgame
struct Node {
    u32 verb = 0; // 0: linear
    Ref a = 0, b = 0;
    double ka = 0, kb = 0, c = 0, d = 0; // a·ka + b·kb + (c, d); of a taper: phase and whole
    double x = 0, y = 0;                 // the value, or the middlegame and the endgame value
    Share share{};
};
struct Parameter { // in the order of how often it is read
    Two source, value;
    bool is_pair;
    char linear = 0;               // counts in 'b'oth phases of the linear part, in 'm' or in 'e'
    bool used[2] = {false, false}; // which of its values other sums use
    Share share{};
    Handle place{};
    std::string name{};
};
struct Term {
    u32 verb;
    char takes;  // the 'm'iddlegame or 'e'ndgame value of its sum, or 'u': that has but one
    int times;   // multiplied by 1: a value, 2: a pair
    Two factors; // in the middlegame and in the endgame
    auto all() const { return std::tie(verb, takes, times, factors); }
    bool operator==(const Term &t) const { return all() == t.all(); }
};
struct Sum {
    u32 range;       // White's; Black's is the next
    char type = 'u'; // adds up 'm'iddlegame or 'e'ndgame values, or numbers without phases
    std::vector<bool> members{};
    u32 base(bool black) const { return (range + black) * STRIDE + FIRST; }
    bool is_eg() const { return type == 'e'; }
};
struct Slot { // an accumulator of the schema, and the one that its terms are multiplied by
    u32 verb, occurrence;
    std::vector<Term> terms; // none: a bound or factor
    Sum sum, factor;
    bool sides[2] = {false, false};
    bool is_product() const { return !terms.empty() && terms[0].times != 0; }
    bool takes_eg(const Term &t) const { return t.takes != 'u' ? t.takes == 'e' : sum.is_eg(); }
    bool times_eg(const Term &t, bool target) const { return t.times == 2 ? target : factor.is_eg(); }
};
struct Row {
    double offset = 0, phase = 0;
    Entries entries{}, factor{};    // of the factor, without the base of a side
    u32 factor_slot = 0;            // and one
    Ref factor_of = 0;              // what it multiplies,
    bool reversed = false;          // which is from Black's view
    double added_after = 0;         // part of the offset
    auto all() const { return std::tie(entries, phase, offset, factor_slot); }
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
    Site last = Site::current();

    template <class T> T linear(const T &a, double ka, const T &b, double kb, Site at) {
        if (is_again(a, b)) return again<T>(Op::linear, at);
        const Operand x = operand(a, at), y = operand(b, at); // the order of first use is that of the indices
        const double m = ka * x.x + kb * y.x, e = ka * x.y + kb * y.y;
        if ((x.ref | y.ref) == 0 || mode == Mode::playing) return {m, e};
        Node &n = grow();
        n.a = x.ref, n.b = y.ref, n.ka = ka, n.kb = kb, n.x = m, n.y = e;
        if (x.ref == 0) n.c = ka * x.x, n.d = ka * x.y;
        if (y.ref == 0) n.c = kb * y.x, n.d = kb * y.y;
        return {m, e, top()};
    }
    template <class T, class A, class B>
    T verb(Op op, Site at, const A &x, const B &y, const Constants &given, const Knots &knots = {}) {
        if (is_again(x, y)) return again<T>(op, at);
        Node n;
        if (op == Op::taper) n.c = given[0], n.d = given[1]; // the phase is no constant
        n.verb = verb_at(op, at, op == Op::taper ? Constants() : given, knots);
        const Operand a = operand(x, at), b = operand(y, at);
        compute(n, a, b);
        if ((a.ref | b.ref) == 0 || mode == Mode::playing) return {n.x, n.y};
        n.a = with_node(a), n.b = with_node(b);
        grow() = n;
        return {n.x, n.y, top()};
    }
    template <bool p> bool above(const Score<p> &a, double number, bool or_equal, Site at) {
        const Operand x = operand(a, at);
        const double difference = (x.y != 0 ? x.y : x.x) - number; // of a pair: the sign of both packed
        const bool yes = or_equal ? difference >= 0 : difference > 0;
        if (x.ref == 0 || mode == Mode::playing) return yes;
        if (number != 0)
            refuse(at, "a score is compared with a number other than 0: use max, min, clamp, relu or table");
        if (turned && branches.empty() && (next != until || nodes.size() != until)) refuse_change(at);
        if (mode == Mode::recording) branches.push_back({x.ref, Ref(nodes.size()), yes != turned, at});
        return yes != turned;
    }
    // Appends the coefficients of a position.
    template <class F> void record(const F &evaluate, const std::string &fen, double view, std::string &out) {
        eval = run(evaluate, fen, false) * view;
        if (root == 0) throw std::runtime_error("no tuned number counts here");
        analyze(row, view);
        bool one_side = true, black = false;
        if (!branches.empty()) one_side = false, black = record_turned(evaluate, fen, view);
        for (u32 side = 0; side < 2 && row.factor_slot != 0; side++)
            for (const auto &e : (one_side || side == black ? row : turned_row).factor)
                row.entries.emplace_back(slots[row.factor_slot - 1].sum.base(side) + e.first, e.second);
        std::sort(row.entries.begin(), row.entries.end());
        const double again = evaluate_row();
        if (!(std::fabs(again - eval) <= 1e-6 * std::max(1.0, std::fabs(eval))))
            refuse(last, "the record gives " + shown(again) + " in place of " + shown(eval) + ": " + fen);
        const auto put = [&](u32 i, double x) { out += ' ', out += shown(i), out += ':', out += shown(x); };
        if (row.phase != 0) put(1, row.phase);
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
        if (!played || at == line.npos)
            stop("--played", "has no evaluation of " + fen);
        const double difference = std::fabs(std::strtod(&line[at + 3], nullptr) - eval);
        compared++;
        for (int i = 0; i < 64; i++) differ[i] += difference > i;
        if (difference > largest) largest = difference, largest_fen = fen;
    }
    bool agrees() const { // but for rounding: by the taper, and by each verb
        const int limit = slots.empty() ? 1 : std::max(3, 1 + int(slots.size())), n = differ[limit];
        if (played.is_open())
            std::fprintf(stderr, "gputexel: %d of %d evaluations differ by more than %d from those played, "
                                 "at most by %.2f: %s\n", n, compared, limit, largest, largest_fen.c_str());
        return n == 0;
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
        for (Node &n : nodes) compute(n, operand(n.a), operand(n.b)); // sums that were made at the start
    }

  private:
    std::ifstream played;
    int compared = 0, differ[64] = {}; // by more than 0, 1, …
    double largest = -1;
    std::string largest_fen;
    std::vector<Node> nodes = std::vector<Node>(1);              // node 0 is the constant 0
    std::vector<Verb> verbs = {{Op::linear, Handle(), {{}}, {}}}; // verb 0 are all sums
    std::vector<Parameter> parameters;
    std::vector<std::pair<Handle, u32>> cache = std::vector<std::pair<Handle, u32>>(65536); // of literals
    std::unordered_map<std::string, u32> by_name;
    std::unordered_map<std::string, double> values;
    std::vector<Slot> slots;
    std::vector<Branch> branches, taken;
    u32 current = 0; // the generation of new nodes; 0: before all positions
    u32 ranges = 1, last_verb = 0;
    Ref next = 0, until = 0; // of the tape of the first evaluation, what the second one has still to pass
    bool turned = false, constants_used[OWN] = {}, has_offset = false, tapered = false;
    Ref root = 0, permanent = 0;
    Row row, turned_row;
    double whole = 0, phase = 0; // whole: the phase of the middlegame, 0 before the first taper
    std::size_t waiting = 0;     // nodes that a walk has yet to visit
    std::vector<Ref> touched;    // parameters that it has met
    Two constant{};
    std::vector<Share> functions, stages, found;
    mutable std::vector<std::array<double, 3>> sums;

    Handle top() const { return {nullptr, Ref(nodes.size() - 1), current}; }
    const Verb &verb_of(const Node &n) const { return verbs[n.verb]; }
    bool is_op(const Verb &v, Op from, Op to) const { return v.op >= from && v.op <= to; }
    bool is(Ref r, Op from, Op to) const { return !(r & PARAMETER) && is_op(verb_of(nodes[r]), from, to); }
    u32 verb_at(Op op, const Handle &at, const Constants &k, const Knots &knots) {
        for (std::size_t tried = 1; tried < verbs.size(); tried++) { // begins where it was called last time
            last_verb = last_verb + 1 < verbs.size() ? last_verb + 1 : 1;
            const Verb &v = verbs[last_verb];
            if (v.op != op || !(v.at == at)) continue;
            if (v.k != k || v.knots != knots)
                refuse(at, "the limits, divisors or knots of this verb change: they must be constants");
            return last_verb;
        }
        verbs.push_back({op, at, k, knots});
        return last_verb = u32(verbs.size() - 1);
    }
    [[noreturn]] static void refuse_by_schema(const Handle &place, const char *what) {
        refuse(place, std::string(what) + ", which the schema cannot say");
    }
    Operand operand(Ref r) const {
        if (!(r & PARAMETER)) return {r, nodes[r].x, nodes[r].y};
        const Two &v = parameters[r & ~PARAMETER].value;
        return {r, v[0], v[1]};
    }
    template <bool p> Operand operand(const Score<p> &s, Site at) {
        const Handle &h = s.handle;
        last = at;
        if (h.file) return operand(PARAMETER | parameter(h, {{s.x, s.y}}, p));
        if (h.line == 0) return {0, s.x, s.y};
        if (h.column != 0 && h.column != current)
            refuse(at, "a score of an earlier position is used here (a cache?)");
        return operand(h.line);
    }
    Ref with_node(const Operand &o) { // a constant gets a node where a verb refers to it
        if (o.ref != 0 || (o.x == 0 && o.y == 0)) return o.ref;
        Node &n = grow();
        n.x = n.c = o.x, n.y = n.d = o.y;
        return top().line;
    }
    Node &grow() {
        if (mode == Mode::setup && nodes.size() > 1000000)
            refuse(last, "a million sums outside of a recording: begin main with gputexel::play(argc, argv)");
        return nodes.emplace_back();
    }
    u32 parameter(const Handle &h, const Two &v, bool is_pair) {
        auto &known = cache[(h.line * 2654435761u + h.column * 2246822519u) >> 16];
        if (!(known.first == h)) known = {h, enter(h, v, is_pair)};
        const Parameter &p = parameters[known.second];
        if (p.source != v || p.is_pair != is_pair)
            refuse(p.place, "this S or V stands for several numbers (in a macro, template or loop)");
        return known.second;
    }
    u32 enter(const Handle &h, const Two &v, bool is_pair) {
        const std::string name = h.text(); // other files may have the same text at another address
        const auto known = by_name.find(name);
        if (known != by_name.end()) return known->second;
        if (parameters.size() >= STRIDE - FIRST - OWN) refuse(h, "there are more than 19,984 numbers");
        by_name[name] = u32(parameters.size());
        parameters.push_back({v, v, is_pair, 0, {false, false}, {}, h, name});
        set_value(parameters.back());
        return u32(parameters.size() - 1);
    }
    void set_value(Parameter &p) const {
        const char *const ends[] = {".mg", ".eg"};
        for (int phase = 0; phase < 2 && !values.empty(); phase++)
            for (const std::string &name : {p.name, p.name + (p.is_pair ? ends[phase] : "")}) {
                const auto own = values.find(name);
                if (own != values.end()) p.value[phase] = own->second;
            }
    }
    static std::string base_name(const std::string &f) { return f.substr(f.find_last_of("/\\") + 1); }

    static double apply(const Verb &v, double x) {
        switch (v.op) {
        case Op::relu: return arithmetic::relu(x, v.k[0]);
        case Op::relu2: return arithmetic::relu2(x, v.k[0]);
        case Op::square: return arithmetic::square(x);
        case Op::sigmoid: return arithmetic::sigmoid(x, v.k[2], v.k[3]);
        case Op::table: return arithmetic::table(x, v.knots.data(), v.knots.size() / 2);
        default: return x;
        }
    }
    static double changed(const Verb &v, double x, double by) { // by a bound or factor
        return v.op < Op::scale_eg ? arithmetic::bounded(x, by, v.k[0])
                                   : arithmetic::scaled(x, by, v.k[3], v.k[0], v.k[1]);
    }
    void compute(Node &n, const Operand &a, const Operand &b) const {
        const Verb &v = verb_of(n);
        n.x = a.x, n.y = a.y;
        switch (v.op) {
        case Op::linear: n.x = n.ka * a.x + n.kb * b.x + n.c, n.y = n.ka * a.y + n.kb * b.y + n.d; break;
        case Op::make: n.y = b.x; break;
        case Op::mg: n.y = a.x; break;
        case Op::eg: n.x = a.y; break;
        case Op::taper: n.x = n.y = (a.x * n.c + a.y * (n.d - n.c)) / n.d; break;
        case Op::product: n.x = n.y = a.x * b.x; break;
        case Op::product_pair: n.x = a.x * b.x, n.y = a.x * b.y; break;
        case Op::bounded_mg: n.x = changed(v, a.x, b.x); break;
        case Op::bounded_eg: n.y = changed(v, a.y, b.x); break;
        case Op::scale_eg: n.y = changed(v, a.y, b.x); break;
        case Op::scale: n.x = n.y = changed(v, a.x, b.x); break;
        default: n.x = n.y = apply(v, a.x);
        }
    }
    // In the second evaluation, up to the first branch: the result is known from the first one.
    template <class A, class B> bool is_again(const A &a, const B &b) const {
        return next != until && !(a.handle.is_constant() && b.handle.is_constant());
    }
    template <class T> T again(Op op, Site at) {
        while (op != Op::linear && next + 1 < until && nodes[next].verb == 0) next++; // constants
        const Node &n = nodes[next];
        last = at;
        if (verb_of(n).op != op) refuse_change(at);
        return {n.x, n.y, {nullptr, next++, current}};
    }
    [[noreturn]] static void refuse_change(Site at) {
        refuse(at, "the evaluation of a position is not the same when it is repeated (a cache?)");
    }
    template <class F> double run(const F &evaluate, const std::string &fen, bool turn) {
        if (permanent == 0) permanent = Ref(nodes.size());
        next = until = permanent;
        if (turn) until = taken[0].next;
        else current++;
        nodes.resize(until), branches.clear();
        mode = Mode::recording, turned = turn;
        const Value result = linear(evaluate(fen), 1, Value(), 0, last); // a node, even of a single number
        if (turn && branches.empty()) refuse_change(last);
        mode = Mode::setup, turned = false, root = result.handle.line;
        return result.x;
    }
    // A position with branches on a sign is evaluated once more, with every branch turned; only the factor
    // may differ then. Up to the first branch both tapes are the same. Returns whether Black is stronger.
    template <class F> bool record_turned(const F &evaluate, const std::string &fen, double view) {
        taken.swap(branches);
        const Branch &first = taken[0], *other = nullptr;
        for (const Branch &b : taken) {
            const Ref score = is(b.on, Op::eg, Op::eg) ? nodes[b.on].a : b.on;
            if (score != row.factor_of && b.on != row.factor_of && !other) other = &b;
        }
        run(evaluate, fen, true);
        analyze(turned_row, view);
        if (turned_row.all() != row.all())
            refuse_by_schema(first.at, "a branch on the sign of a score changes more than a scale factor");
        if (other && turned_row.factor != row.factor)
            refuse(other->at, "a scale factor depends on the sign of another score than it multiplies");
        return first.positive == row.reversed;
    }

    // ---- from the tape to the schema's form
    void add(Ref r, double m, double e) {
        if ((m == 0 && e == 0) || r == 0) return;
        const bool is_parameter = r & PARAMETER;
        Share &share = is_parameter ? parameters[r & ~PARAMETER].share : nodes[r].share;
        if (share.ref == 0 && is_parameter) touched.push_back(r & ~PARAMETER);
        if (share.ref == 0 && !is_parameter) waiting++;
        share = {share.m + m, share.e + e, r};
    }
    // Walks from a node to the parameters, which are then in `found`, with what they count in the middlegame
    // and in the endgame value. In a sum of single values that is both, until mg() or eg() says which.
    void walk(Ref from, double m, double e, const Handle *of_sum) {
        constant = {};
        functions.clear(), stages.clear(), found.clear();
        add(from, m, e);
        for (Ref i = from; waiting != 0; i--) {
            if (nodes[i].share.ref == 0) continue;
            const Share s = nodes[i].share;
            nodes[i].share = {}, waiting--;
            visit(nodes[i], s, of_sum);
        }
        std::sort(touched.begin(), touched.end());
        for (const u32 p : touched) {
            Share &s = parameters[p].share;
            if (s.m != 0 || s.e != 0) found.push_back({s.m, s.e, p});
            s = {};
        }
        touched.clear();
    }
    void visit(const Node &n, const Share &s, const Handle *of_sum) {
        const Verb &v = verb_of(n);
        const bool is_mg = v.op == Op::mg;
        if (v.op == Op::linear) {
            constant[0] += s.m * n.c, constant[1] += s.e * n.d;
            add(n.a, n.ka * s.m, n.ka * s.e), add(n.b, n.kb * s.m, n.kb * s.e);
        } else if (v.op == Op::make) {
            add(n.a, s.m, 0), add(n.b, 0, s.e);
        } else if (is_mg || v.op == Op::eg) {
            if ((is_mg ? s.e : s.m) != 0 && (!of_sum || s.m != s.e))
                refuse_by_schema(v.at, "the value of one phase is used in the other");
            add(n.a, is_mg ? s.m : 0, is_mg ? 0 : s.e);
        } else if (of_sum) {
            refuse_by_schema(*of_sum, "a function of a function");
        } else if (v.op != Op::taper) {
            (v.op < Op::bounded_mg ? functions : stages).push_back(s);
        } else {
            if (s.m != s.e || (whole != 0 && whole != n.d) || (tapered && phase != n.c))
                refuse_by_schema(v.at, "a second taper with another phase");
            if (!(n.c >= 0 && n.c <= n.d)) refuse(v.at, "the phase is " + shown(n.c) + ", of " + shown(n.d));
            tapered = true, phase = n.c, whole = n.d;
            add(n.a, s.m, s.e);
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
    void put_sum(Entries &to, Ref r, bool is_pair, bool present, u32 base, Sum &sum, const Handle &of) {
        walk(r, 1, 1, &of);
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            const bool both = is_pair || !p.is_pair;
            const bool mixed = is_pair ? s.m != s.e : p.is_pair && s.m != 0 && s.e != 0;
            const char type = both ? sum.type : s.m != 0 ? 'm' : 'e';
            if (mixed || (sum.type != 'u' && sum.type != type))
                refuse_by_schema(of, "middlegame and endgame values are mixed in its sum");
            sum.type = type;
            p.used[0] |= both || type == 'm', p.used[1] |= both || type == 'e';
            if (sum.members.size() <= s.ref + OWN) sum.members.resize(s.ref + OWN + 1);
            sum.members[s.ref + OWN] = true;
            to.emplace_back(base + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        const double m = constant[!is_pair && sum.is_eg()], e = constant[is_pair || sum.is_eg()];
        put_constants(to, base, sum, m, e, present);
    }
    Op kind(const Slot &s) const { return s.terms.empty() ? verbs[s.verb].op : Op::linear; }
    Slot &slot(u32 verb, u32 occurrence, const std::vector<Term> &terms) {
        const auto kind_of = [](const Verb &v) { return std::min(v.op, Op::scale_eg); };
        for (Slot &s : slots) {
            if (s.verb == verb && s.occurrence == occurrence) {
                if (s.terms == terms) return s;
                refuse_by_schema(verbs[verb].at, "this counts otherwise than in positions before");
            }
            if (terms.empty() && kind_of(verbs[s.verb]) == kind_of(verbs[verb]))
                refuse(verbs[verb].at, "another one of its kind: there may be one factor, one bound a phase");
        }
        if (ranges + 4 > 49) refuse(verbs[verb].at, "there are more verbs than a schema has room for");
        slots.push_back({verb, occurrence, terms, {ranges}, {ranges + 2}});
        ranges += slots.back().is_product() ? 4 : 2;
        return slots.back();
    }
    double in_score(const Two &v) const {
        return tapered ? (v[0] * phase + v[1] * (whole - phase)) / whole : v[0];
    }

    // Splits the tape into stages (a factor, bounds), verbs that add, and the linear part. If the
    // factor multiplies what was known before the first branch, nothing else is new in the second evaluation.
    void analyze(Row &to, double view) {
        to.offset = to.phase = 0, to.factor_slot = 0, to.entries.clear(), to.factor.clear(), to.factor_of = 0;
        tapered = false;
        bool staged = false;
        for (Ref from = root; from != 0; staged = true) { // what comes last is found first
            walk(from, view, view, nullptr);
            if (stages.empty()) break;
            const Share s = stages[0];
            const Node n = nodes[s.ref];
            const Verb v = verb_of(n);
            const bool is_last = stages.size() == 1 && functions.empty() && found.empty();
            if (!is_last || s.m != s.e || std::fabs(s.m) != 1)
                refuse(v.at, "tuned numbers are added after this, or it is multiplied: it comes last");
            to.offset += in_score(constant);
            from = n.a, view = s.m;
            const bool is_factor = v.op >= Op::scale_eg;
            Slot &f = slot(n.verb, 0, {});
            f.sides[0] = true, f.sides[1] = is_factor;
            if (!is_factor) {
                put_sum(to.entries, n.b, false, true, f.sum.base(0), f.sum, v.at);
                continue;
            }
            put_sum(to.factor, n.b, false, true, 0, f.sum, v.at);
            to.factor_slot = u32(&f - slots.data()) + 1, to.factor_of = n.a, to.reversed = view < 0;
            to.added_after = to.offset;
            const bool as_before = n.a < until && n.a == row.factor_of && to.reversed == row.reversed;
            if (&to == &turned_row && !staged && as_before && to.offset == row.added_after &&
                (!tapered || phase == row.phase)) {
                to.entries = row.entries, to.offset = row.offset, to.phase = row.phase, tapered = whole != 0;
                return;
            }
        }
        if (tapered) to.phase = phase;
        Sum linear{0};
        if (!staged) to.offset = in_score(constant);
        else put_constants(to.entries, FIRST, linear, constant[0], constant[1], false);
        for (const Share &s : found) {
            Parameter &p = parameters[s.ref];
            const char kind = std::fabs(s.m - s.e) <= 1e-12 * std::fabs(s.m) ? 'b' : s.e == 0 ? 'm' : 'e';
            if ((kind == 'e' && s.m != 0) || (p.linear != 0 && p.linear != kind))
                refuse_by_schema(p.place, "this number counts differently in middlegame and endgame");
            p.linear = kind;
            to.entries.emplace_back(FIRST + OWN + s.ref, s.m != 0 ? s.m : s.e);
        }
        put_terms(to, std::vector<Share>(functions.rbegin(), functions.rend()));
    }
    struct Instance { // the terms of one sum and side
        Ref base, times;
        bool black, is_pair;
        std::vector<Term> terms;
    };
    void put_terms(Row &to, const std::vector<Share> &list) { // in the order of evaluation
        std::vector<Instance> instances;
        for (const Share &s : list) {
            const Node *f = &nodes[s.ref];
            const double side = (s.m != 0 ? s.m : s.e) < 0 ? -1 : 1;
            Instance own{f->a, 0, side < 0, false, {}};
            Term t{f->verb, 'u', 0, {{side * s.m, side * s.e}}};
            if (is(s.ref, Op::product, Op::product_pair)) { // of a function or a sum, by a sum
                t.times = verb_of(*f).op == Op::product ? 1 : 2;
                own.base = f->a, own.times = f->b;
                if (t.times == 1 && is(f->b, Op::relu, Op::table)) std::swap(own.base, own.times);
                const Node &g = nodes[is(own.base, Op::relu, Op::table) ? own.base : 0];
                if (g.verb != 0) t.verb = g.verb, own.base = g.a;
            }
            if (is(own.base, Op::mg, Op::eg)) t.takes = is(own.base, Op::mg, Op::mg) ? 'm' : 'e';
            Instance *with = nullptr; // functions of one sum, or of both values of a pair, share one
            for (Instance &other : instances) {
                if (other.times != 0 || own.times != 0 || other.black != own.black) continue;
                const bool pair = t.takes != 'u' && other.terms[0].takes != 'u' &&
                                  nodes[other.base].a == nodes[own.base].a;
                if (other.base == own.base || pair) with = &other, other.is_pair |= other.base != own.base;
            }
            (with ? *with : (instances.push_back(own), instances.back())).terms.push_back(t);
        }
        for (std::size_t i = 0; i < instances.size(); i++) {
            const Instance &own = instances[i];
            const u32 verb = own.terms[0].verb;
            const Handle at = verbs[verb].at;
            u32 occurrence = 0;
            bool present = false; // needed where the function of 0 is not 0
            for (std::size_t j = 0; j < i; j++)
                occurrence += instances[j].terms[0].verb == verb && instances[j].black == own.black;
            for (const Term &t : own.terms) present |= is_op(verbs[t.verb], Op::sigmoid, Op::table);
            Slot &s = slot(verb, occurrence, own.terms);
            s.sides[own.black] = true;
            const Ref base = own.is_pair ? nodes[own.base].a : own.base;
            put_sum(to.entries, base, own.is_pair, present, s.sum.base(own.black), s.sum, at);
            if (own.times == 0) continue;
            const bool times_pair = own.terms[0].times == 2;
            put_sum(to.entries, own.times, times_pair, false, s.factor.base(own.black), s.factor, at);
        }
    }
    // The schema's own arithmetic, from the record alone.
    double evaluate_row() const {
        sums.assign(ranges, {}); // the middlegame and endgame value, and whether there is an entry
        for (const auto &e : row.entries) {
            auto &sum = sums[e.first / STRIDE];
            const u32 k = e.first % STRIDE - FIRST;
            const double *v = k < OWN ? CONSTANTS[k] : parameters[k - OWN].value.data();
            const char phases = k < OWN || e.first >= STRIDE ? 'b' : parameters[k - OWN].linear;
            sum[0] += phases == 'e' ? 0 : e.second * v[0], sum[1] += phases == 'm' ? 0 : e.second * v[1];
            sum[2] = 1;
        }
        const auto by = [&](const Slot &s, bool black) { return sums[s.sum.range + black][s.sum.is_eg()]; };
        Two score{{sums[0][0], sums[0][1]}};
        for (const Slot &s : slots)
            for (const Term &t : s.terms)
                for (u32 side = 0; side < 2; side++) {
                    const auto &x = sums[s.sum.range + side], &y = sums[t.times ? s.factor.range + side : 0];
                    if (x[2] == 0 || (t.times != 0 && y[2] == 0)) continue;
                    const double f = apply(verbs[t.verb], x[s.takes_eg(t)]) * (side ? -1 : 1);
                    for (u32 to = 0; to < 2; to++)
                        score[to] += f * t.factors[to] * (t.times != 0 ? y[s.times_eg(t, to)] : 1);
                }
        for (const Slot &s : slots) {
            double &e = score[kind(s) == Op::bounded_eg];
            if (kind(s) != Op::linear && kind(s) < Op::scale_eg && sums[s.sum.range][2] != 0)
                e = changed(verbs[s.verb], e, by(s, false));
        }
        const Slot *s = row.factor_slot != 0 ? &slots[row.factor_slot - 1] : nullptr;
        if (s && kind(*s) == Op::scale_eg) score[1] = changed(verbs[s->verb], score[1], by(*s, score[1] < 0));
        const double total = in_score(score);
        if (!s || kind(*s) != Op::scale) return row.offset + total;
        return row.offset + changed(verbs[s->verb], total, by(*s, total < 0));
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
    std::string name(u32 i) const { return quoted(i < OWN ? CONSTANT_NAMES[i] : parameters[i - OWN].name); }
    std::string parameter_json(u32 i) const {
        std::string phases = "both", more = i < OWN ? R"(, "frozen": true)" : "";
        Two prior{{CONSTANTS[i % OWN][0], CONSTANTS[i % OWN][1]}};
        if (i >= OWN) {
            const Parameter &p = parameters[i - OWN];
            const bool not_mg = p.linear == 'e', not_eg = p.linear == 'm'; // counts only in the other phase
            if ((not_mg && p.used[0]) || (not_eg && p.used[1]))
                refuse_by_schema(p.place, "this number counts in one phase here and elsewhere in the other");
            prior = {{not_mg ? 0 : p.value[0], not_eg ? 0 : p.value[1]}};
            const bool mg = p.used[0] || (p.linear && !not_mg), eg = p.used[1] || (p.linear && !not_eg);
            phases = mg != eg ? PHASES[eg] : p.is_pair ? "both" : "untapered";
        }
        if (whole != 0) more += fill(R"(, "phases": "$")", {phases});
        return fill(whole == 0 || phases == "untapered" ? R"(    {"$": $, "index": $$, "prior": $})"
                                                        : R"(    {"$": $, "index": $$, "prior": [$, $]})",
                    {i < OWN ? "name" : "at", name(i), shown(FIRST + i), more, shown(prior[0]), shown(prior[1])});
    }
    std::string term_json(const Slot &s, const Term &t, int target, const std::string &factor) const {
        const Verb &v = verbs[t.verb];
        const bool is_sigmoid = v.op == Op::sigmoid;
        char scale[32]; // to the last bit
        std::snprintf(scale, sizeof scale, "%.17g", t.factors[target] * (is_sigmoid ? v.k[3] : 1));
        std::string more, points;
        for (std::size_t i = 0; i < v.knots.size(); i += 2)
            list(points, fill("[$, $]", {shown(v.knots[i]), shown(v.knots[i + 1])}));
        if (is_sigmoid) more += fill(R"(, "divide": $)", {shown(v.k[2])});
        if (!points.empty()) more += fill(R"(, "knots": [$])", {points});
        if (v.k[0] != 0) more += fill(R"(, "over": $)", {shown(v.k[0])});
        if (t.times != 0) more += fill(R"(, "times": "$.$")", {factor, PHASES[s.times_eg(t, target)]});
        return fill(R"({"op": "$", "scale": $$, "value": "$"})",
                    {NAMES[int(v.op)], scale, more, PHASES[s.takes_eg(t)]});
    }
    std::string accumulator_json(const Slot &s, const Sum &sum, std::string own, std::string factor) const {
        const bool both = s.sides[0] && s.sides[1], has_terms = !factor.empty();
        std::string more, members;
        for (int to = 0; to < (whole != 0 ? 2 : 1) && has_terms; to++) {
            std::string terms;
            for (const Term &t : s.terms)
                if (t.factors[to] != 0) list(terms, term_json(s, t, to, factor));
            if (!terms.empty()) more += fill(R"(, "$": [$])", {PHASES[to], terms});
        }
        if (!both && s.sides[1] && has_terms) more += R"(, "sign": -1)";
        for (u32 i = 0; i < sum.members.size(); i++)
            if (sum.members[i]) list(members, fill(R"({"use": $, "at": $})", {name(i), shown(i)}));
        const std::string at = fill(both ? R"("sides": {"white": $, "black": $})" : R"("index": $)",
                                    {shown(sum.base(!both && s.sides[1])), shown(sum.base(true))});
        return fill(R"(    {"name": "$", $$, "parameters": [$]})", {own, at, more, members});
    }

  public:
    bool write_schema(const char *path) const {
        std::string numbers, accumulators, adjust, factor;
        std::size_t count = 1;
        for (u32 i = 0; i < OWN + parameters.size(); i++)
            if (i >= OWN || constants_used[i]) list(numbers, parameter_json(i), ",\n");
        for (const Slot &s : slots) {
            const Verb &v = verbs[s.verb];
            const std::string place = base_name(v.at.file) + '_' + shown(v.at.line) + '_' + shown(v.at.column);
            const std::string own = fill("$_$_$", {NAMES[int(v.op)], place, shown(s.occurrence + 1)});
            list(accumulators, accumulator_json(s, s.sum, own, own + "_factor"), ",\n");
            if (s.is_product()) list(accumulators, accumulator_json(s, s.factor, own + "_factor", ""), ",\n");
            count += (s.sides[0] && s.sides[1] ? 2 : 1) * (s.is_product() ? 2 : 1);
            if (kind(s) == Op::linear) continue;
            const std::string by = own + "." + PHASES[s.sum.is_eg()];
            const std::string max = v.k[1] < UNLIMITED ? fill(R"(, "max": $)", {shown(v.k[1])}) : "";
            const std::string at_most = v.k[0] < UNLIMITED ? fill(R"(, "at_most": $)", {shown(v.k[0])}) : "";
            if (v.op >= Op::scale_eg)
                factor = fill(R"(,
  "factor": {"target": "$", "by": "$", "min": $$, "one": $})",
                              {v.op == Op::scale ? "score" : "eg", by, shown(v.k[0]), max, shown(v.k[3])});
            else
                list(adjust, fill(R"({"target": "$", "op": "bounded", "by": "$"$})",
                                  {PHASES[v.op == Op::bounded_eg], by, at_most}));
        }
        if (count > 24)
            refuse(verbs.back().at, "the verbs need " + shown(double(count)) + " sums: a schema has 24");
        if (!accumulators.empty()) accumulators = ",\n  \"accumulators\": [\n" + accumulators + "\n  ]";
        if (!adjust.empty()) adjust = ",\n  \"adjust\": [" + adjust + "]";
        const char *const with_phase = R"(
  "phase": {"middlegame": $, "endgame": 0},
  "columns": {"phase": 1, )";
        std::ofstream file(path);
        file << fill(R"({
  "format": "gputexel-schema", "version": 1, "index_base": 1, "comment": "fen",$$"eval": 2, "game": "qid"},
  "parameters": [
$
  ]$$$
}
)", {whole != 0 ? fill(with_phase, {shown(whole)}) : "\n  \"columns\": {",
     has_offset ? "\"offset\": 3, " : "", numbers, accumulators, adjust, factor});
        file.close();
        if (!file) std::fprintf(stderr, "gputexel: %s: not written\n", path);
        return bool(file);
    }
};

inline Recorder &recorder() { static Recorder one; return one; }
template <class T> T linear(const T &a, double ka, const T &b, double kb, Site at) {
    return recorder().linear(a, ka, b, kb, at);
}
template <class T> T negative(const T &a) { return linear(a, -1, T(), 0, recorder().last); }
template <class T> bool above(const T &a, double number, bool or_equal, Site at) {
    return recorder().above(a, number, or_equal, at);
}
template <class T, class A, class B = Value, class... K>
T verb(Op op, Site at, const A &x, const B &y = {}, K... k) {
    return recorder().template verb<T>(op, at, x, y, {{double(k)...}});
}
template <class T> T product(const T &a, const Value &b, Site at) {
    if (b.handle.is_constant()) return linear(a, b.x, T(), 0, at);
    if constexpr (std::is_same<T, Pair>::value) return verb<T>(Op::product_pair, at, b, a);
    else return a.handle.is_constant() ? linear(b, a.x, b, 0, at) : verb<T>(Op::product, at, a, b);
}
inline Pair operator*(const Value &a, const At<Pair> &b) { return product(b.v, a, b.at); }
inline Value through(const Value &x, Site at, const Knots &knots) {
    return recorder().verb<Value>(Op::table, at, x, Value(), {{}}, knots);
}

} // namespace detail

using detail::Pair, detail::Value;
constexpr Pair S(double mg, double eg, GPUTEXEL_AT) { return {mg, eg, at}; }
constexpr Value V(double x, GPUTEXEL_AT) { return {x, x, at}; }
inline int result(const Value &x, GPUTEXEL_AT) { // a number to search with; refused in a recording
    if (detail::recorder().mode == detail::Recorder::Mode::recording)
        detail::refuse(at, "result() ends a recording: the evaluation returns gputexel::Value");
    return static_cast<int>(detail::linear(x, 1, x, 0, at).x);
}
#ifndef GPUTEXEL_LOCATIONS
#define S(mg, eg) S(mg, eg, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
#define V(x) V(x, ::gputexel::detail::Site{__FILE__, __LINE__, __COUNTER__ + 1})
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
              verb<Value>(Op::taper, at, p, Value(), phase, whole))
// Multiplies before it divides, as engines do that scale and taper in one expression.
GPUTEXEL_VERB(Value, taper, (Pair p, int phase, int whole, Value by, int one),
              (mg(p) * phase + eg(p) * (whole - phase) * by / one) / whole,
              taper(scale_eg(p, by, one, 0, UNLIMITED, at), phase, whole, at))
} // namespace gputexel
#endif // GPUTEXEL_HPP
