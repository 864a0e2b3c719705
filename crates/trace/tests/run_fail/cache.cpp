// expect: a score of an earlier position is used here (a cache?)
#include "common.hpp"
Value evaluate(const Facts &f) {
    static Pair cached;
    static bool filled = false;
    if (!filled) cached = f.all_pawns * A_PAWN + MOVE, filled = true;
    const Pair score = f.pawns * A_PAWN + cached; // here
    return taper(score, f.phase, 24);
}
MAIN
