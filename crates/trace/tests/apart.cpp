// Numbers that count differently in middlegame and endgame, and factors of verbs that change with the position.
#include "run_fail/common.hpp"
constexpr Value SPACE = V(7), STORM = V(-12), HIDDEN = V(11), THREAT = V(13);
constexpr Pair OPEN = S(20, -8);
Value evaluate(const Facts &f) {
    Pair score = f.pawns * A_PAWN + pair(SPACE * f.all_pawns, SPACE * f.pawns) + f.side * MOVE;
    score += pair(0, mg(f.side * OPEN) * 2);                            // of the other phase
    if (f.phase > 12) score += pair(STORM * f.side, 0);                 // of one phase, at times
    else score += f.side * pair(STORM, STORM);
    const Value danger = relu(f.all_pawns * ATTACK - 60);               // a factor that changes,
    score += f.side * pair(danger * f.pawns * f.pawns, danger * f.phase);
    score += f.side * pair((f.all_pawns * HIDDEN) * THREAT * f.phase / 64, 0); // and that of a product
    const Value open = relu2(f.all_pawns * HIDDEN - 90);                // of one sum, but not in all positions
    score += f.side * pair(open / 128, relu(f.all_pawns * HIDDEN - (f.phase > 20 ? 90 : 80)));
    return taper(score, f.phase, 24);
}
MAIN
