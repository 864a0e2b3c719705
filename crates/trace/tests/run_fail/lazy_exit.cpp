// expect: a score is compared with a number other than 0
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Pair score = f.pawns * A_PAWN;
    if (mg(score) > 500) return mg(score); // here
    return taper(score + f.side * MOVE, f.phase, 24);
}
MAIN
