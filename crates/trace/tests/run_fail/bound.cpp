// expect: another one of its kind
#include "common.hpp"
Value evaluate(const Facts &f) {
    Pair score = bounded_eg(f.all_pawns * A_PAWN, ATTACK); // here
    score = bounded_eg(score, -2 * ATTACK);
    return taper(score, f.phase, 24);
}
MAIN
