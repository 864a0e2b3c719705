// expect: a branch on the sign of a score changes more than a scale factor
#include "common.hpp"
Value evaluate(const Facts &f) {
    Pair score = f.pawns * A_PAWN + f.side * MOVE;
    if (score > 0) score += MOVE; // here
    return taper(score, f.phase, 24);
}
MAIN
