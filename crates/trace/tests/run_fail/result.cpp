// expect: result() ends a recording
#include "common.hpp"
Value evaluate(const Facts &f) {
    return result(taper(f.pawns * A_PAWN, f.phase, 24)); // here
}
MAIN
