// Counts of a position, a few numbers, and main.
#pragma once
#include "../../gputexel.hpp"

#include "../board.hpp"

using namespace gputexel;

struct Facts {
    int pawns = 0, all_pawns = 0, phase = 0, side = 1;
    explicit Facts(const Board &b) : phase(b.phase), side(b.black_to_move ? -1 : 1) {
        for (int square = 0; square < 64; square++)
            if (b.piece[square] == PAWN) all_pawns++, pawns += b.black[square] ? -1 : 1;
    }
};
constexpr Pair A_PAWN = S(82, 94), MOVE = S(10, 4);
constexpr Value ATTACK = V(9);

#define MAIN                                                                                                           \
    int main(int argc, char **argv) {                                                                                  \
        return trace(argc, argv, [](const std::string &fen) { return evaluate(Facts(Board(fen))); });                  \
    }
