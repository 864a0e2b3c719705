// expect: this number counts differently in middlegame and endgame
#include "common.hpp"
const Value SPACE = V(7); // here
Value evaluate(const Facts &f) {
    return taper(f.pawns * A_PAWN + pair(SPACE * f.all_pawns, SPACE * f.all_pawns / 2), f.phase, 24);
}
MAIN
