// King attacks: a quadratic danger in both phases, a sum that is a pair, a product, and a sigmoid times a pair.
#include "../gputexel.hpp"

#include "board.hpp"

using namespace gputexel;
#include "tables.hpp"

constexpr Value ATTACK[4] = {V(36), V(22), V(23), V(78)};
constexpr Value MODIFIER[5] = {V(20), V(63), V(126), V(96), V(124)};
constexpr Value DANGER_BASE = V(-30);
constexpr Pair SAFETY[4] = {S(12, 5), S(9, 4), S(14, 3), S(20, 10)}, SAFETY_BASE = S(-20, -9);
constexpr Pair STORM = S(40, -15);
constexpr Value TENSION = V(7);
constexpr Value CENTRE = V(6);

static Value evaluate(const std::string &fen) {
    const Board b(fen);
    Pair score = 0;
    Pair safety[2] = {SAFETY_BASE, SAFETY_BASE};
    Value danger[2] = {DANGER_BASE, DANGER_BASE}, power[2] = {0, 0};
    int attackers[2] = {0, 0}, hits[2] = {0, 0}, centre[2] = {0, 0};
    for (int square = 0; square < 64; square++) {
        const int p = b.piece[square];
        if (p < 0) continue;
        const int side = b.black[square];
        score += (side ? -1 : 1) * PSQT[p][side ? square ^ 56 : square];
        if (p == PAWN || p == KING) continue;
        int count = 0, attacks = 0;
        b.attacks(square, [&](int to) {
            count++, attacks += b.near_king(to, !side);
            centre[side] += to == 27 || to == 28 || to == 35 || to == 36;
        });
        score += (side ? -1 : 1) * MOBILITY[p - 1][count];
        if (attacks == 0) continue;
        attackers[side]++, hits[side] += attacks;
        danger[side] += attacks * ATTACK[p - 1];
        power[side] += attacks * ATTACK[p - 1];
        safety[side] += SAFETY[p - 1] * attacks;
    }
    for (int side = 0; side < 2; side++) {
        const int own = side ? -1 : 1;
        // One number for both phases (Stockfish, Berserk): squared in the middlegame.
        score += own * pair(relu2(danger[side]) / 1024, relu(danger[side]) / 32);
        // A pair (Ethereal), only with two attackers.
        if (attackers[side] >= 2) {
            const Value m = mg(safety[side]), e = eg(safety[side]);
            score += own * pair(relu2(m) / 720, relu(e) / 20);
        }
        // A product (Weiss).
        const Value modifier = MODIFIER[attackers[side] > 4 ? 4 : attackers[side]];
        if (side) score -= pair(power[side] * modifier / 128, 0);
        else score += pair(power[side] * modifier / 128, 0);
        // A sigmoid times a pair (Clockwork).
        score += own * share(STORM * attackers[side], sigmoid(TENSION * (hits[side] - 3), 8, 256), 256);
        // Constant pairs and limits.
        score += own * pair(clamp(CENTRE * (centre[side] - 2), -20, 25), 0);
    }
    score += pair(b.black_to_move ? -3 : 3, 1);
    return taper(score, b.phase, 24);
}

int main(int argc, char **argv) { return trace(argc, argv, evaluate); }
