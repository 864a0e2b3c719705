// expect: a function of a taper
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Value score = taper(f.pawns * A_PAWN, f.phase, 24);
    return score + relu(score - f.side * ATTACK); // here
}
MAIN
