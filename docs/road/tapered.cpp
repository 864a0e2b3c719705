// An engine with a tapered evaluation, as they are written in C++: pairs S(mg, eg), tables that begin with a8, and macros that
// count what is added. Its values are crude guesses, to be tuned.
#define NAME "Tapered"
#include "core.h"

struct Score {
    int mg, eg;
};
#define S(mg, eg) Score{mg, eg}

// gputexel: material
static const Score Material[5] = {S(100, 100), S(300, 300), S(300, 300), S(500, 500), S(900, 900)};

// gputexel: pawn_squares
static const Score PawnTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
// gputexel: knight_squares
static const Score KnightTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
// gputexel: bishop_squares
static const Score BishopTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
// gputexel: rook_squares
static const Score RookTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
// gputexel: queen_squares
static const Score QueenTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
// gputexel: king_squares
static const Score KingTable[64] = {
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
    S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0), S(   0,    0),
};
static const Score *const Tables[6] = {PawnTable, KnightTable, BishopTable, RookTable, QueenTable, KingTable};

// gputexel: passed
static const Score Passed[8] = {S(0, 0), S(5, 5), S(5, 5), S(10, 10), S(20, 20), S(30, 30), S(50, 50), S(0, 0)};
// gputexel: knight_mobility
static const Score KnightMobility[9] = {S(0, 0), S(0, 0), S(0, 0), S(0, 0), S(0, 0), S(0, 0), S(0, 0), S(0, 0), S(0, 0)};
static const Score BishopPair = S(10, 10);   // gputexel: bishop_pair
static const Score Isolated = S(-5, -5);     // gputexel: isolated
static const Score Doubled = S(-5, -5);      // gputexel: doubled
static const Score RookOpen = S(5, 5);       // gputexel: rook_open
static const Score Tempo = S(5, 5);          // gputexel: tempo

enum Index {
    MATERIAL = 0,
    SQUARES = MATERIAL + 5,
    PASSED = SQUARES + 6 * 64,
    KNIGHT_MOBILITY = PASSED + 8,
    BISHOP_PAIR = KNIGHT_MOBILITY + 9,
    ISOLATED,
    DOUBLED,
    ROOK_OPEN,
    TEMPO,
    INDICES
};

struct Sums {
    int mg = 0, eg = 0, phase = 0;
    int *counts = nullptr;
};

#define ADD(index, score, sign) \
    (sums.mg += (sign) * (score).mg, sums.eg += (sign) * (score).eg, sums.counts ? (void)(sums.counts[index] += (sign)) : (void)0)

static void add_up(const Position *p, Sums &sums) {
    static const int phases[7] = {0, 0, 1, 1, 2, 4, 0};
    int pawns[2][8] = {}, bishops[2] = {}, front[2][8];
    for (int f = 0; f < 8; f++) front[0][f] = 0, front[1][f] = 7;  // the most advanced enemy of White, of Black
    for (int s = 0; s < 128; s++) {
        if (!ON_BOARD(s) || TYPE(p->board[s]) != PAWN) continue;
        const int black = IS_BLACK(p->board[s]) ? 1 : 0, f = FILE_OF(s), r = RANK(s);
        pawns[black][f]++;
        if (black) front[0][f] = r > front[0][f] ? r : front[0][f];
        else front[1][f] = r < front[1][f] ? r : front[1][f];
    }
    for (int s = 0; s < 128; s++) {
        if (!ON_BOARD(s) || !p->board[s]) continue;
        const int black = IS_BLACK(p->board[s]) ? 1 : 0, type = TYPE(p->board[s]), sign = black ? -1 : 1;
        const int f = FILE_OF(s), r = RANK(s), a8 = 8 * (black ? r : 7 - r) + f;
        sums.phase += phases[type];
        if (type != KING) ADD(MATERIAL + type - 1, Material[type - 1], sign);
        ADD(SQUARES + 64 * (type - 1) + a8, Tables[type - 1][a8], sign);
        if (type == PAWN) {
            bool isolated = true, passed = true;
            for (int g = f - 1; g <= f + 1; g++) {
                if (g < 0 || g > 7) continue;
                if (g != f && pawns[black][g]) isolated = false;
                if (black ? front[1][g] < r : front[0][g] > r) passed = false;
            }
            const int rank = black ? 7 - r : r;
            if (isolated) ADD(ISOLATED, Isolated, sign);
            if (passed) ADD(PASSED + rank, Passed[rank], sign);
        }
        if (type == BISHOP) bishops[black]++;
        if (type == ROOK && !pawns[0][f] && !pawns[1][f]) ADD(ROOK_OPEN, RookOpen, sign);
        if (type == KNIGHT) {
            int mobility = 0;
            for (int i = 0; i < 8; i++) {
                const int to = s + jumps[i];
                if (ON_BOARD(to) && (!p->board[to] || IS_BLACK(p->board[to]) != IS_BLACK(p->board[s]))) mobility++;
            }
            ADD(KNIGHT_MOBILITY + mobility, KnightMobility[mobility], sign);
        }
    }
    for (int black = 0; black < 2; black++) {
        const int sign = black ? -1 : 1;
        if (bishops[black] >= 2) ADD(BISHOP_PAIR, BishopPair, sign);
        for (int f = 0; f < 8; f++)
            for (int more = 1; more < pawns[black][f]; more++) ADD(DOUBLED, Doubled, sign);
    }
    ADD(TEMPO, Tempo, p->turn ? -1 : 1);
    if (sums.phase > 24) sums.phase = 24;
}

static int evaluate(const Position *p) {
    Sums sums;
    add_up(p, sums);
    return (sums.mg * sums.phase + sums.eg * (24 - sums.phase)) / 24;
}

static void trace_line(const Position *p, const char *game, const char *result, const char *fen) {
    int counts[INDICES] = {};
    Sums sums;
    sums.counts = counts;
    add_up(p, sums);
    printf("%s qid:%s 1:%d 2:%d", result, game, sums.phase, evaluate(p));
    for (int i = 0; i < INDICES; i++)
        if (counts[i]) printf(" %d:%d", i + 3, counts[i]);
    printf(" # %s\n", fen);
}
