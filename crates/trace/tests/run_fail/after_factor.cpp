// expect: is added after this
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Pair scaled = scale_eg(f.pawns * A_PAWN, 64, 128); // here
    return taper(scaled, f.phase, 24) + f.side * ATTACK;
}
MAIN
