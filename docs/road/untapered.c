/* An engine in plain C whose evaluation has one value for all phases: tables that begin with a1, piece values of both colors,
   and numbers in the middle of code. It knows what pieces are worth; its other terms are all there, but most have no value
   yet. */
#define NAME "Untapered"
#include "core.h"

/* By the code of a piece: empty, PNBRQK, two that are not used, pnbrqk, and one more. */
/* gputexel: material.both pieces -PNBRQ---pnbrq-- colors negated */
static const int piece_value[16] = {0, 100, 300, 300, 500, 900, 0, 0, 0, -100, -300, -300, -500, -900, 0, 0};

/* gputexel: pawn_squares.both */
static const int pawn_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
/* gputexel: knight_squares.both */
static const int knight_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
/* gputexel: bishop_squares.both */
static const int bishop_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
/* gputexel: rook_squares.both */
static const int rook_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
/* gputexel: queen_squares.both */
static const int queen_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
/* gputexel: king_squares.both */
static const int king_board[64] = {
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,
};
static const int *const boards[6] = {pawn_board, knight_board, bishop_board, rook_board, queen_board, king_board};

/* gputexel: passed.both */
static const int passed_pawn[8] = {0, 0, 0, 0, 0, 0, 0, 0};

enum { I_MATERIAL, I_SQUARES = 5, I_PASSED = I_SQUARES + 6 * 64, I_MOBILITY = I_PASSED + 8, I_PAIR, I_ISOLATED, I_TEMPO, INDICES };
static int *counts; /* of the trace, if there is to be one */

static int count(int index, int sign, int value) {
    if (counts) counts[index] += sign;
    return sign * value;
}

static int evaluate(const Position *p) {
    int score = 0, pawns[2][8] = {{0}}, front[2][8], bishops[2] = {0};
    for (int f = 0; f < 8; f++) front[0][f] = 0, front[1][f] = 7;
    for (int s = 0; s < 128; s++) {
        if (!ON_BOARD(s) || TYPE(p->board[s]) != PAWN) continue;
        const int black = IS_BLACK(p->board[s]) ? 1 : 0, f = FILE_OF(s), r = RANK(s);
        pawns[black][f]++;
        if (black ? r > front[0][f] : r < front[1][f]) front[!black][f] = r;
    }
    for (int s = 0; s < 128; s++) {
        if (!ON_BOARD(s) || !p->board[s]) continue;
        const int piece = p->board[s], black = IS_BLACK(piece) ? 1 : 0, type = TYPE(piece), sign = black ? -1 : 1;
        const int own = black ? s ^ 0x70 : s, f = FILE_OF(s), r = RANK(s);
        score += piece_value[piece];
        if (counts && type != KING) counts[I_MATERIAL + type - 1] += sign;
        score += count(I_SQUARES + 64 * (type - 1) + 8 * RANK(own) + f, sign, boards[type - 1][8 * RANK(own) + f]);
        if (type == PAWN) {
            int isolated = 1, is_passed = 1;
            for (int g = f - 1; g <= f + 1; g++) {
                if (g < 0 || g > 7) continue;
                if (g != f && pawns[black][g]) isolated = 0;
                if (black ? front[1][g] < r : front[0][g] > r) is_passed = 0;
            }
            if (isolated) score += count(I_ISOLATED, sign, 0); /* gputexel: isolated.both number 1 */
            if (is_passed) score += count(I_PASSED + RANK(own), sign, passed_pawn[RANK(own)]);
        }
        if (type == BISHOP && ++bishops[black] == 2) score += count(I_PAIR, sign, 0); /* gputexel: bishop_pair.both number 2 */
        if (type == KNIGHT) {
            int mobility = 0;
            for (int i = 0; i < 8; i++) {
                const int to = s + jumps[i];
                if (ON_BOARD(to) && (!p->board[to] || IS_BLACK(p->board[to]) != IS_BLACK(piece))) mobility++;
            }
            score += sign * 1 * (mobility - 4); /* gputexel: knight_mobility.both number 1 */
            if (counts) counts[I_MOBILITY] += sign * (mobility - 4);
        }
    }
    return score + count(I_TEMPO, p->turn ? -1 : 1, 0); /* gputexel: tempo.both number 3 */
}

static void trace_line(const Position *p, const char *game, const char *result, const char *fen) {
    int all[INDICES] = {0};
    counts = all;
    const int score = evaluate(p);
    counts = NULL;
    printf("%s qid:%s 1:%d", result, game, score);
    for (int i = 0; i < INDICES; i++)
        if (all[i]) printf(" %d:%d", i + 2, all[i]);
    printf(" # %s\n", fen);
}
