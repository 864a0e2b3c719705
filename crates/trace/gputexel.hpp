// gputexel.hpp: an evaluation that traces itself, for C++17 and later. See docs/selftrace.md.
//
// Copyright the gputexel developers. Permission is granted, free of charge, to use, copy, modify, publish,
// distribute, sublicense and sell this file, in whole or in part, for any purpose and without any condition.
// It is provided "as is", without warranty of any kind; its authors are not liable for any claim or damage.
//
// Without GPUTEXEL defined, all of it is plain integers. With it, the evaluation records what it does, and
// gputexel::trace() prints a tape of each position for gputexel, and a table of all numbers.
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
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gputexel {
enum class View { white, side_to_move };
constexpr int UNLIMITED = 1 << 30;
namespace arithmetic { // of integers in the build that plays, of doubles in the one that records
template <class T> T relu(T x, T over) { return x > over && x > 0 ? x : 0; }
template <class T> T relu2(T x, T over) { return x > over && x > 0 ? x * x : 0; }
template <class T> T square(T x) { return x < 0 ? -x * x : x * x; }
template <class T> T sigmoid(T x, T divide, T one) { return T(one / (1 + std::exp(-double(x) / divide))); }
template <class T> T scaled(T x, T by, T one, T low, T high) { return x * std::clamp(by, low, high) / one; }
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
        } catch (...) {
            row = "# skipped: an exception";
        }
        row += '\n';
        std::fwrite(row.data(), 1, row.size(), stdout);
    }
    return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

inline const char *const leaves = std::getenv("GPUTEXEL_LEAVES");
inline const unsigned one_leaf_in = leaves ? unsigned(std::atoi(leaves)) : 0;
inline void leaf(const std::string &fen) {
    std::uint64_t key = 14695981039346656037u; // FNV-1a of the first four fields
    int spaces = 0;
    for (std::size_t i = 0; i < fen.size() && (spaces += fen[i] == ' ') < 4; i++)
        key = (key ^ static_cast<unsigned char>(fen[i])) * 1099511628211u;
    if ((key ^ key >> 32) % one_leaf_in != 0) return;
    std::printf("info string leaf %s\n", fen.c_str()), std::fflush(stdout);
}
} // namespace detail
} // namespace gputexel

#define GPUTEXEL_LEAF(fen) (::gputexel::detail::one_leaf_in != 0 ? ::gputexel::detail::leaf(fen) : void())
#define GPUTEXEL_LIST(...) __VA_ARGS__
#ifndef GPUTEXEL // ------------------------------------------------------------------------ the playing build
// How pairs are packed. An engine that packs in another way defines all four before it includes this file.
#ifndef GPUTEXEL_PAIR
#define GPUTEXEL_PAIR std::int32_t
#define GPUTEXEL_PACK(mg, eg) std::int32_t((std::uint32_t(eg) << 16) + std::uint32_t(mg))
#define GPUTEXEL_MG(pair) std::int16_t(std::uint16_t(std::uint32_t(pair)))
#define GPUTEXEL_EG(pair) std::int16_t(std::uint16_t((std::uint32_t(pair) + 0x8000u) >> 16))
#endif

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

// Prints what the engine plays, for gputexel verify --played.
template <class F> int trace(int, char **, const F &evaluate, View view = View::white) {
    return !detail::each_line(view, [&](const std::string &fen, int sign, std::string &row) {
        row += " eval:" + std::to_string(sign * result(evaluate(fen)));
    });
}
} // namespace gputexel
#else // --------------------------------------------------------------------------------- the recording build

#include <cstring>
#include <fstream>
#include <locale>
#include <map>
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
#error "gputexel: a macro S or V is defined. Leave it out where GPUTEXEL is defined: they are functions there"
#endif

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
template <class T> constexpr bool is_plain = std::is_enum<T>::value && std::is_convertible<T, int>::value;
template <class T> constexpr bool is_number = std::is_arithmetic<T>::value || is_plain<T>;
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
    bool operator==(const Handle &h) const { return line == h.line && column == h.column && file == h.file; }
    std::string text() const { // as the table has it
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
template <bool is_pair> struct Traced {
    using T = Traced;
    using Value = Traced<false>;
    Two v{};
    Handle handle{};
    constexpr Traced() = default;
    constexpr Traced(double m, double e, const Handle &h = {}) : v{{m, e}}, handle(h) {}
    constexpr Traced(std::nullptr_t) {} // a Pair may be the literal 0, but no other number
    template <class N, std::enable_if_t<!is_pair && is_number<N>, int> = 0>
    constexpr Traced(N n) : v{{static_cast<double>(n), static_cast<double>(n)}} {}
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
using Pair = Traced<true>;
using Value = Traced<false>;

enum class Op : std::uint8_t { constant, parameter, linear, make, mg, eg, taper, sign,
                               relu, relu2, square, sigmoid, table, product, product_pair,
                               bounded_mg, bounded_eg, scale_eg, scale };
inline constexpr const char *NAMES[] = { // from taper on, which has a place
    "taper", "sign", "relu", "relu2", "square", "sigmoid", "table", "product", "product_pair", "bounded_mg",
    "bounded_eg", "scale_eg", "scale"};
constexpr u32 FIRST = u32(Op::taper);
constexpr bool gives_pair(Op op) { return op >= Op::product_pair && op < Op::scale; }
using Constants = std::array<int, 3>; // of a verb: over; at_most; divide and one; or low, high and one
using Knots = std::vector<int>;
using Ref = u32;
using Shares = std::array<double, 4>; // of a node's two values in the first value of a sum, and in the second
constexpr Shares ONE{{1, 0, 0, 0}}, BOTH{{1, 0, 0, 1}};

struct Verb { // a place in the source, with what does not change there
    Op op;
    Handle at{};
    Constants k{};
    Knots knots{};
    Two operator()(const Two &a, const Two &b, const Two &by = {}) const {
        const double x = a[0], y = a[1];
        const auto bounded = [&](double e) { return arithmetic::bounded<double>(e, b[0], k[0]); };
        const auto scaled = [&](double s) { return arithmetic::scaled<double>(s, b[0], k[2], k[0], k[1]); };
        const auto both = [](double value) { return Two{{value, value}}; };
        switch (op) {
        case Op::linear: return {{by[0] * x + by[1] * b[0], by[0] * y + by[1] * b[1]}};
        case Op::make: return {{x, b[0]}};
        case Op::eg: return both(y);
        case Op::taper: return both((x * by[0] + y * (by[1] - by[0])) / by[1]);
        case Op::relu: return both(arithmetic::relu<double>(x, k[0]));
        case Op::relu2: return both(arithmetic::relu2<double>(x, k[0]));
        case Op::square: return both(arithmetic::square(x));
        case Op::sigmoid: return both(arithmetic::sigmoid<double>(x, k[0], k[1]));
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
    Ref a = 0, b = 0;    // nodes; of a parameter: its number
    Two by{}, v{};       // by: the factors of a and b; of a taper: phase and whole
    Shares share{};      // of a walk
    bool waiting = false;
};
struct Parameter { // in the order of how often it is read
    Handle place;
    Two source, value;
    bool is_pair;
    u32 node = 0, generation = 0; // of its latest node
};
inline void append(std::string &to, double x) {
    char text[32];
    char *end = text + sizeof text, *from = end;
    if (const double billions = x * 1e9; std::fabs(x) < 1e9 && billions == std::floor(billions)) {
        int decimals = x == std::floor(x) ? 0 : 9;
        auto n = static_cast<unsigned long long>(std::fabs(decimals == 0 ? x : billions));
        for (; decimals > 0 && n % 10 == 0; n /= 10) decimals--;
        for (; n != 0 || decimals >= 0; n /= 10) {
            *--from = char('0' + n % 10);
            if (--decimals == 0) *--from = '.';
        }
        if (x < 0) *--from = '-';
    } else {
        end = text + std::snprintf(text, sizeof text, "%.12g", x), from = text;
        std::replace(from, end, ',', '.'); // of a locale
    }
    to.append(from, end);
}
inline std::string shown(double x) {
    std::string out;
    return append(out, x), out;
}
class Recorder {
  public:
    enum class Mode { setup, recording, playing } mode = Mode::setup;
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
    u32 verb_at(Op op, const Handle &at, const Constants &k = {}, const Knots &knots = {}) {
        if (op < Op::taper) return u32(op);
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
    template <bool p> bool above(const Traced<p> &a, double number, bool or_equal, Handle at) {
        const Operand x = operand(a, at);
        const double difference = x.v[x.v[1] != 0] - number; // of a pair: the sign of both packed
        const bool yes = or_equal ? difference >= 0 : difference > 0;
        if (x.ref == 0 || mode == Mode::playing) return yes;
        if (number != 0)
            refuse(at, "a score is compared with a number other than 0: use a verb, or leave lazy exits out");
        if (mode == Mode::recording) branches.push_back({x.ref, yes != turned, at});
        return yes != turned;
    }
    // Appends the tape of a position, and one with every branch on a sign turned.
    template <class F> void record(const F &evaluate, const std::string &fen, double view, std::string &out) {
        const Operand root = run(evaluate, fen, false);
        const double eval = root.v[0] * view;
        if (root.ref == 0) throw std::runtime_error("no tuned number counts here");
        if (!std::isfinite(eval)) refuse(last, "the evaluation is " + shown(eval) + ": " + fen);
        out += " eval:" + shown(eval);
        const std::vector<Branch> taken = branches;
        put_tape(root.ref, view, true, taken, out);
        if (taken.empty()) return;
        const Ref turned_root = run(evaluate, fen, true).ref;
        if (branches.empty())
            refuse(last, "the evaluation of a position is not the same when it is repeated (a cache?)");
        out += " ||";
        put_tape(turned_root, view, false, {}, out);
    }
    void tell_unused_values() const { // a misspelled name, or a number that no position has
        const auto is_unused = [](const auto &own) { return !own.second.second; };
        const auto name = std::find_if(values.begin(), values.end(), is_unused);
        if (name != values.end())
            std::fprintf(stderr, "gputexel: %d values are of no number that counts here, such as %s\n",
                         int(std::count_if(name, values.end(), is_unused)), name->first.c_str());
    }
    void use_values(const std::string &path) { // lines NAME VALUE
        std::ifstream file(path);
        if (!file) stop(path, "cannot be read");
        std::string line;
        for (int count = 1; std::getline(file, line); count++) {
            line.erase(line.find_last_not_of(" \t\r") + 1);
            if (line.empty()) continue;
            const std::size_t from = line.find_last_of(" \t"), end = line.find_last_not_of(" \t", from);
            std::istringstream word(line.substr(from + 1)); // of the whole line if from is npos
            word.imbue(std::locale::classic());
            double value = 0;
            if (end >= line.size() || !(word >> value) || word.peek() != EOF)
                stop(path + ':' + std::to_string(count), "is not NAME VALUE");
            values[line.substr(0, end + 1)] = {value, false};
        }
        for (Parameter &p : parameters) set_value(p);
        for (Node &n : nodes) { // sums that were made at the start
            const Verb &v = verbs[n.verb];
            if (v.op == Op::parameter) n.v = parameters[n.a].value;
            else if (v.op != Op::constant) n.v = v(nodes[n.a].v, nodes[n.b].v, n.by);
        }
    }

  private:
    std::vector<Node> nodes = std::vector<Node>(1); // node 0 is the constant 0
    std::vector<Verb> verbs = {{Op::constant}, {Op::parameter}, {Op::linear}, {Op::make}, {Op::mg}, {Op::eg}};
    std::vector<Parameter> parameters;
    std::vector<std::pair<Handle, u32>> cache = std::vector<std::pair<Handle, u32>>(65536); // of literals
    std::map<std::string, u32> by_place;
    std::map<std::string, std::pair<double, bool>> values; // of a file, and if they are used
    std::vector<Branch> branches;
    std::vector<Ref> blocks;         // nodes of verbs, in the order in which the tape has them
    std::vector<std::string> sums;   // of the first tape of a position,
    std::vector<Ref> summed;         // and the nodes that they are of
    u32 current = 0; // the generation of new nodes; 0: before all positions
    u32 last_verb = 0, waiting = 0;
    bool turned = false;
    Ref permanent = 0;

    Ref push(const Node &n) { return nodes.push_back(n), Ref(nodes.size() - 1); }
    template <bool is_pair> Operand operand(const Traced<is_pair> &s, Handle at) {
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
            known = {h, own->second};
        }
        Parameter &p = parameters[known.second];
        if (p.source != v || p.is_pair != is_pair)
            refuse(p.place, "this S or V stands for several numbers (in a macro, template or loop)");
        return p;
    }
    void set_value(Parameter &p) {
        for (u32 k = 0; k < 2 && !values.empty(); k++)
            for (const char *end : {"", ".mg", ".eg"}) { // one number of a pair; of a Value, the only one
                const auto own = values.find(p.place.text() + end);
                if (own == values.end() || (p.is_pair && *end && end[1] != "me"[k])) continue;
                p.value[k] = own->second.first, own->second.second = true;
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

    // ---- the tape: an evaluation as sums of numbers and verbs, and the sums that each verb takes
    void add(Ref r, const Shares &s) {
        if (r == 0 || s == Shares()) return;
        Node &n = nodes[r];
        waiting += !n.waiting, n.waiting = true;
        for (u32 i = 0; i < 4; i++) n.share[i] += s[i];
    }
    u32 block(Ref r) {
        const auto own = std::find(blocks.begin(), blocks.end(), r);
        if (own == blocks.end()) return blocks.push_back(r), u32(blocks.size() - 1);
        return u32(own - blocks.begin());
    }
    // NUMBER:COUNT, vVERB:COUNT and c:CONSTANT; NUMBERm and NUMBERe are one value of a pair. In a sum that is
    // a pair there are two counts where they differ.
    std::string sum(Ref from, const Shares &shares) {
        std::string out;
        out.reserve(256);
        const bool is_pair = shares[3] != 0;
        const auto put = [&](const std::string &leaf, const char *part, double x, double y) {
            if (x == 0 && (y == 0 || !is_pair)) return;
            out += ' ', out += leaf, out += part, out += ':', append(out, x);
            if (is_pair && x != y) out += ',', append(out, y);
        };
        Two constant{};
        add(from, shares);
        for (Ref i = from; waiting != 0; i--) {
            if (!nodes[i].waiting) continue;
            const Node n = nodes[i];
            const Shares &s = n.share;
            const auto times = [&](double k) { return Shares{{k * s[0], k * s[1], k * s[2], k * s[3]}}; };
            nodes[i].share = {}, nodes[i].waiting = false, waiting--;
            const Op op = verbs[n.verb].op;
            if (op == Op::constant) {
                for (u32 k = 0; k < 4; k++) constant[k / 2] += s[k] * n.v[k % 2];
            } else if (op == Op::linear) {
                add(n.a, times(n.by[0])), add(n.b, times(n.by[1]));
            } else if (op == Op::make) {
                add(n.a, {{s[0], 0, s[2], 0}}), add(n.b, {{s[1], 0, s[3], 0}});
            } else if (op == Op::mg) {
                add(n.a, s);
            } else if (op == Op::eg) {
                add(n.a, {{0, s[0], 0, s[2]}});
            } else {
                const bool is_number = op == Op::parameter;
                const std::string leaf = is_number ? shown(n.a) : 'v' + shown(block(i));
                const bool of_pair = is_number ? parameters[n.a].is_pair : gives_pair(op);
                if (of_pair) put(leaf, "m", is_pair ? 0 : s[0], s[2]), put(leaf, "e", s[1], 0);
                if (is_pair || !of_pair) put(leaf, "", s[0], of_pair ? s[3] : s[2]);
            }
        }
        put("c", "", constant[0], constant[1]);
        return out;
    }
    // The sum of the root, then |VERB with what it takes, and behind / what it takes besides; ?VERB+,4 or
    // ?VERB-,4 is a branch on the sign of sum 4, or of its endgame value. A second tape of a position says =
    // where a sum is that of the first in the same place.
    void put_tape(Ref root, double view, bool first, const std::vector<Branch> &taken, std::string &out) {
        std::size_t count = 0;
        const auto put = [&](Ref r, const Shares &shares) {
            std::string text = sum(r, shares);
            const bool same = !first && count < sums.size() && sums[count] == text;
            out += same ? " =" : text;
            if (first) sums.push_back(std::move(text)), summed.push_back(r);
            count++;
        };
        blocks.clear();
        if (first) sums.clear(), summed.clear();
        put(root, {{view, 0, 0, 0}});
        for (std::size_t i = 0; i < blocks.size(); i++) {
            const Node n = nodes[blocks[i]];
            const Op op = verbs[n.verb].op;
            out += " |", append(out, n.verb - FIRST);
            if (op == Op::taper) out += ':', append(out, n.by[0]), out += ',', append(out, n.by[1]);
            put(n.a, op == Op::taper || (gives_pair(op) && op != Op::product_pair) ? BOTH : ONE);
            if (op >= Op::product) out += " /", put(n.b, op == Op::product_pair ? BOTH : ONE);
        }
        for (const Branch &b : taken) {
            const Ref on = verbs[nodes[b.on].verb].op == Op::eg ? nodes[b.on].a : b.on;
            out += " ?", append(out, verb_at(Op::sign, b.at) - FIRST), out += b.positive ? '+' : '-';
            for (std::size_t i = 0; i < summed.size(); i++)
                if (summed[i] == on || summed[i] == b.on) out += ',', append(out, double(i));
        }
    }

    static std::string quoted(const std::string &s) {
        std::string out = "\"";
        for (const char c : s) (c == '"' || c == '\\' ? out += '\\' : out) += c;
        return out + '"';
    }
    template <class Ks> static std::string listed(const Ks &ks) {
        std::string out;
        for (const auto k : ks) out += out.empty() ? "" : ", ", append(out, k);
        return '[' + out + ']';
    }

  public:
    // What the tapes count: numbers with their places, and verbs with theirs and what does not change there.
    bool write_table(const char *path) const {
        std::string numbers, used;
        for (const Parameter &p : parameters)
            numbers += (numbers.empty() ? "\n{\"at\": " : ",\n{\"at\": ") + quoted(p.place.text()) +
                       ", \"prior\": " + (p.is_pair ? listed(p.value) : shown(p.value[0])) + '}';
        for (auto v = verbs.begin() + FIRST; v != verbs.end(); v++)
            used += (used.empty() ? "\n{\"op\": " : ",\n{\"op\": ") + quoted(NAMES[u32(v->op) - FIRST]) +
                    ", \"at\": " +  quoted(v->at.text()) + ", \"constants\": " + listed(v->k) +
                    ", \"knots\": " + listed(v->knots) + '}';
        std::ofstream file(path);
        file << "{\"format\": \"gputexel-tape\", \"version\": 1, \"numbers\": [" << numbers
             << "],\n\"verbs\": [" << used << "]}\n";
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
    return r.template put<T>(r.verb_at(op, at, {{k...}}), at, x, y);
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
// Traces the positions on standard input. `evaluate` takes a FEN and returns a Value.
template <class F> int trace(int argc, char **argv, const F &evaluate, View view = View::white) {
    static_assert(std::is_same<decltype(evaluate(std::string())), Value>::value,
                  "gputexel: the evaluation returns gputexel::Value, as taper() does");
    const char *schema = nullptr;
    detail::Recorder &r = detail::recorder();
    for (int i = 1; i < argc; i += 2) {
        const std::string word = argv[i];
        if (word == "--schema" && i + 1 < argc) schema = argv[i + 1];
        else if (word == "--values" && i + 1 < argc) r.use_values(argv[i + 1]);
        else detail::stop(argv[0], "options are --schema FILE and --values FILE");
    }
    const bool printed = detail::each_line(view, [&](const std::string &fen, int sign, std::string &row) {
        r.record(evaluate, fen, sign, row);
    });
    r.tell_unused_values();
    return !(printed && (!schema || r.write_table(schema)));
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
              verb<Value>(Op::sigmoid, at, x, Value(), divide, one))
template <std::size_t N>
GPUTEXEL_VERB(Value, table, (Value x, const int (&knots)[N][2]), arithmetic::table(x, knots[0], N),
              through(x, at, Knots(knots[0], knots[0] + 2 * N)))
GPUTEXEL_VERB(Value, clamp, (Value x, int low, int high), std::clamp(x, low, high),
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
              arithmetic::scaled(x, by, one, low, high), verb<Value>(Op::scale, at, x, by, low, high, one))
GPUTEXEL_VERB(Pair, scale_eg, (Pair p, Value by, int one, int low = 0, int high = UNLIMITED),
              pair(mg(p), scale(eg(p), by, one, low, high)),
              verb<Pair>(Op::scale_eg, at, p, by, low, high, one))
GPUTEXEL_VERB(Value, taper, (Pair p, int phase, int whole), (mg(p) * phase + eg(p) * (whole - phase)) / whole,
              tapered(p, phase, whole, at))
// Multiplies before it divides, as engines do that scale and taper in one expression.
GPUTEXEL_VERB(Value, taper, (Pair p, int phase, int whole, Value by, int one),
              (mg(p) * phase + eg(p) * (whole - phase) * by / one) / whole,
              taper(scale_eg(p, by, one, 0, UNLIMITED, at), phase, whole, at))
} // namespace gputexel
#endif // GPUTEXEL_HPP
