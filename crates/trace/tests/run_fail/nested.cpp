// expect: a function of a function, which the schema cannot say
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Value danger = relu(f.all_pawns * ATTACK);
    return taper(f.pawns * A_PAWN, f.phase, 24) + square(danger - 20) / 64 - relu(danger); // here
}
MAIN
