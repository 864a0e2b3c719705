// What comes last: a bounded complexity of the endgame value, and a scale factor that depends on the stronger side.
#include "../gputexel.hpp"

#include "board.hpp"

using namespace gputexel;
#include "tables.hpp"

[[maybe_unused]] constexpr Value COMPLEXITY_PAWNS = V(8), COMPLEXITY_QUEENS = V(30), COMPLEXITY_BASE = V(-90);
[[maybe_unused]] constexpr Pair INITIATIVE = S(-5, -7);
[[maybe_unused]] constexpr Value SCALE_BASE = V(90), SCALE_PAWN = V(6);

#ifndef VARIANT
#define VARIANT 0
#endif

static Value evaluate(const std::string &fen) {
    const Board b(fen);
    Pair score = 0;
    int pawns[2] = {0, 0}, queens = 0;
    for (int square = 0; square < 64; square++) {
        const int p = b.piece[square];
        if (p < 0) continue;
        const int side = b.black[square];
        score += (side ? -1 : 1) * PSQT[p][side ? square ^ 56 : square];
        pawns[side] += p == PAWN, queens += p == QUEEN;
        if (p == PAWN || p == KING) continue;
        int count = 0;
        b.attacks(square, [&](int) { count++; });
        score += (side ? -1 : 1) * MOBILITY[p - 1][count];
    }
#if VARIANT < 2
    const Value complexity = COMPLEXITY_BASE + (pawns[0] + pawns[1]) * COMPLEXITY_PAWNS + queens * COMPLEXITY_QUEENS;
#endif
#if VARIANT == 0 // a plain factor, chosen by the sign; the side to move counts 10 afterwards, which is not tuned
    const int strong = eg(score) > 0 ? pawns[0] : pawns[1]; // asked before a bound, which keeps the sign
    score = bounded_eg(score, complexity);
    const int factor = strong > 4 ? 128 : 128 - 6 * (5 - strong);
    return taper(score, b.phase, 24, factor, 128) + (b.black_to_move ? -10 : 10);
#elif VARIANT == 1 // a tuned factor, and a bound in each phase
    score = bounded_mg(bounded_eg(score, complexity), mg(INITIATIVE) * (16 - pawns[0] - pawns[1]), 20);
    const Value factor = SCALE_BASE + SCALE_PAWN * (score > 0 ? pawns[0] : pawns[1]);
    return taper(scale_eg(score, factor, 128, 0, 128), b.phase, 24);
#else // a factor on the whole score, with an untapered number in it
    const Value value = taper(score, b.phase, 24) + (b.black_to_move ? -1 : 1) * COMPLEXITY_PAWNS;
    const int strong = 0 <= value ? pawns[0] : pawns[1];
    return scale(value, SCALE_BASE + SCALE_PAWN * strong, 128);
#endif
}

int main(int argc, char **argv) { return trace(argc, argv, evaluate); }
