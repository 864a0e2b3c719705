// expect: a scale factor depends on the sign of another score
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Pair score = f.pawns * A_PAWN + f.side * MOVE;
    const int scale = mg(MOVE * f.side) > 0 ? 64 : 128; // here
    return taper(score, f.phase, 24, scale, 128);
}
MAIN
