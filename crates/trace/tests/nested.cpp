// Functions of functions, products of three, and one value of a product.
#include "run_fail/common.hpp"
constexpr Value SHELTER = V(11), STORM = V(-7), OPEN = V(5);
constexpr Pair WEIGHT = S(3, 2), HEAVY = S(-2, 4);
Value evaluate(const Facts &f) {
    Pair score = f.pawns * A_PAWN + f.side * MOVE;
    const Value danger = relu(f.all_pawns * ATTACK - 70) + f.phase * SHELTER / 4;
    score += f.side * pair(square(danger - 20) / 512, max(danger, 40));            // functions of a function,
    const Value open = sigmoid(relu2(f.pawns * STORM) / 8 - f.phase, 16, 4096);    // another one,
    score += f.side * share(WEIGHT, open * OPEN, 2048);                            // in a product of three
    score += pair(mg(HEAVY * (f.phase * STORM)) * SHELTER * f.side / 128, 0);
    return taper(score, f.phase, 24);
}
MAIN
