// expect: this counts otherwise than in positions before
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Value danger = relu(f.all_pawns * ATTACK - 100); // here
    return taper(f.pawns * A_PAWN + pair(danger * f.all_pawns, 0), f.phase, 24);
}
MAIN
