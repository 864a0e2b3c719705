// Relies on an order that C++ leaves open: kings() needs what pieces() has counted. Only the played engine shows it.
#include "../gputexel.hpp"

#include "board.hpp"

using namespace gputexel;

constexpr Pair PAWN_VALUE = S(82, 94);
constexpr Value CROWD = V(7);

struct Counts { int pawns = 0; };

static Pair pieces(const Board &b, Counts &counts) {
    Pair score = 0;
    for (int square = 0; square < 64; square++)
        if (b.piece[square] == PAWN) counts.pawns++, score += (b.black[square] ? -1 : 1) * PAWN_VALUE;
    return score;
}
static Pair kings(const Board &b, const Counts &counts) {
    return pair(CROWD, CROWD) * (b.black_to_move ? -counts.pawns : counts.pawns);
}
static Value evaluate(const std::string &fen) {
    const Board b(fen);
    Counts counts;
    return taper(pieces(b, counts) - kings(b, counts), b.phase, 24);
}

int main(int argc, char **argv) { return trace(argc, argv, evaluate); }
