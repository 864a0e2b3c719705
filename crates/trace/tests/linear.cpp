// A linear evaluation: piece-square tables, mobility, a pair of bishops, the move.
#include "../gputexel.hpp"

#include "board.hpp"

using namespace gputexel;
#include "tables.hpp"

constexpr Pair BISHOP_PAIR = S(33, 60);
constexpr Value TEMPO = V(18);

static Value evaluate(const std::string &fen) { // from the view of the side to move
    const Board b(fen);
    Pair score = 0;
    int bishops[2] = {0, 0};
    for (int square = 0; square < 64; square++) {
        const int p = b.piece[square];
        if (p < 0) continue;
        const int side = b.black[square], own = side ? -1 : 1;
        score += own * PSQT[p][side ? square ^ 56 : square];
        if (p == BISHOP && ++bishops[side] == 2) score += own * BISHOP_PAIR;
        if (p == PAWN || p == KING) continue;
        int count = 0;
        b.attacks(square, [&](int) { count++; });
        if (side) score -= MOBILITY[p - 1][count];
        else score += MOBILITY[p - 1][count];
    }
    const Value value = taper(score, b.phase, 24);
    return (b.black_to_move ? -value : value) + TEMPO;
}

#ifndef PLAY
int main(int argc, char **argv) { return trace(argc, argv, evaluate, View::side_to_move); }
#else
#include "plain.hpp"
int main(int argc, char **argv) {
    play(argc, argv);
    return plain(evaluate, true);
}
#endif
