// expect: the value of one phase is used in the other
#include "common.hpp"
Value evaluate(const Facts &f) {
    const Value pawns = mg(f.pawns * A_PAWN); // here
    return taper(pair(pawns, pawns), f.phase, 24);
}
MAIN
