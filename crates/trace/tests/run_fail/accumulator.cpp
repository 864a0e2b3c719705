// expect: a score of an earlier position is used here (a cache?)
#include "common.hpp"
Value evaluate(const Facts &f) {
    static Pair material; // carried from position to position, as with moves
    static int before = 0;
    material += (f.pawns - before) * A_PAWN; // here
    before = f.pawns;
    return taper(material, f.phase, 24);
}
MAIN
