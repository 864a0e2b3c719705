// expect: the phase is 25, of 24
#include "common.hpp"
Value evaluate(const Facts &f) {
    return taper(f.all_pawns * A_PAWN, f.phase + 1, 24); // here
}
MAIN
