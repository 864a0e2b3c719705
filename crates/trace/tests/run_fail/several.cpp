// expect: this S or V stands for several numbers
#include "common.hpp"
Value evaluate(const Facts &f) {
    const int mine[] = {1, 2, 3};
    Pair score = 0;
    for (int number : mine) score += f.pawns * S(number, number); // here
    return taper(score, f.phase, 24);
}
MAIN
