// A small chess engine without an evaluation, which whoever includes this adds: C, and C++ as well. It speaks UCI, and
// 'ENGINE trace' prints a trace of the positions that it reads (docs/import.md), 'ENGINE eval' only their evaluations. Written to be read, not to be strong.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Squares of a board with 16 columns, of which the right 8 are no squares: a1 is 0, h1 7, a2 16, h8 119.
enum { EMPTY, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, BLACK = 8 };
#define TYPE(piece) ((piece) & 7)
#define IS_BLACK(piece) ((piece) & BLACK)
#define RANK(square) ((square) >> 4)
#define FILE_OF(square) ((square) & 7)
#define ON_BOARD(square) (!((square) & 0x88))

typedef struct {
    signed char board[128];
    int turn;       // 0 or BLACK
    int castling;   // 1 K, 2 Q, 4 k, 8 q
    int ep;         // the square behind a pawn that moved two, or -1
    int fifty;
    unsigned long long hash;
} Position;

typedef struct {
    int from, to, promotion, score;
} Move;

// What the evaluation provides: centipawns, White's view.
static int evaluate(const Position *p);
// The same, with how often each parameter counts, White's minus Black's, and the phase; prints a line of the trace.
static void trace_line(const Position *p, const char *game, const char *result, const char *fen);

static unsigned long long keys[16][128], turn_key, ep_keys[128], castling_keys[16];

static unsigned long long random_key(void) {
    static unsigned long long state = 0x9E3779B97F4A7C15ULL;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static void make_keys(void) {
    for (int piece = 0; piece < 16; piece++)
        for (int square = 0; square < 128; square++) keys[piece][square] = random_key();
    for (int i = 0; i < 128; i++) ep_keys[i] = random_key();
    for (int i = 0; i < 16; i++) castling_keys[i] = random_key();
    turn_key = random_key();
}

static unsigned long long full_hash(const Position *p) {
    unsigned long long hash = castling_keys[p->castling] ^ (p->turn ? turn_key : 0) ^ (p->ep >= 0 ? ep_keys[p->ep] : 0);
    for (int s = 0; s < 128; s++)
        if (ON_BOARD(s) && p->board[s]) hash ^= keys[(int)p->board[s]][s];
    return hash;
}

static const char letters[] = ".PNBRQK..pnbrqk";

// Prints the first four fields of a FEN.
static void print_fen(const Position *p) {
    for (int rank = 7, gap = 0; rank >= 0; rank--, gap = 0) {
        for (int file = 0; file < 8; file++) {
            const int piece = p->board[16 * rank + file];
            if (!piece) gap++;
            if (gap && (piece || file == 7)) putchar('0' + gap), gap = 0;
            if (piece) putchar(letters[piece]);
        }
        putchar(rank ? '/' : ' ');
    }
    printf(p->turn ? "b " : "w ");
    for (int i = 0; i < 4; i++)
        if (p->castling >> i & 1) putchar("KQkq"[i]);
    printf(p->castling ? " " : "- ");
    if (p->ep < 0) putchar('-');
    else printf("%c%d", 'a' + FILE_OF(p->ep), RANK(p->ep) + 1);
}

// Returns whether the first four fields are those of a position.
static int read_fen(Position *p, const char *fen) {
    memset(p, 0, sizeof *p);
    p->ep = -1;
    int square = 0x70, kings = 0;
    for (; *fen && *fen != ' '; fen++) {
        const char *letter = strchr(letters + 1, *fen);
        if (*fen == '/') square = (square & 0xF0) - 16;
        else if (isdigit((unsigned char)*fen)) square += *fen - '0';
        else if (!letter || *fen == '.' || square < 0 || !ON_BOARD(square)) return 0;
        else p->board[square++] = (signed char)(letter - letters), kings += toupper((unsigned char)*fen) == 'K';
        if (square < 0) return 0;
    }
    if (kings != 2 || *fen++ != ' ') return 0;
    p->turn = *fen == 'b' ? BLACK : 0;
    if (*fen) fen++;
    while (*fen == ' ') fen++;
    for (; *fen && *fen != ' '; fen++) {
        const char *right = strchr("KQkq", *fen);
        if (right) p->castling |= 1 << (right - "KQkq");
    }
    p->castling &= 15;
    while (*fen == ' ') fen++;
    if (fen[0] >= 'a' && fen[0] <= 'h') p->ep = (fen[0] - 'a') + 16 * (fen[1] - '1');
    p->hash = full_hash(p);
    return 1;
}

static const int steps[8] = {1, -1, 16, -16, 15, -15, 17, -17};
static const int jumps[8] = {33, 31, 18, 14, -33, -31, -18, -14};

static int attacked(const Position *p, int square, int by) {
    const int down = by ? 16 : -16;
    for (int side = -1; side <= 1; side += 2) {
        const int s = square + down + side;
        if (ON_BOARD(s) && p->board[s] == (PAWN | by)) return 1;
    }
    for (int i = 0; i < 8; i++) {
        const int s = square + jumps[i];
        if (ON_BOARD(s) && p->board[s] == (KNIGHT | by)) return 1;
    }
    for (int i = 0; i < 8; i++) {
        int s = square + steps[i], distance = 1;
        while (ON_BOARD(s) && !p->board[s]) s += steps[i], distance++;
        if (!ON_BOARD(s) || (p->board[s] & BLACK) != by) continue;
        const int type = TYPE(p->board[s]);
        if (type == QUEEN || (type == KING && distance == 1) || type == (i < 4 ? ROOK : BISHOP)) return 1;
    }
    return 0;
}

static int in_check(const Position *p, int side) {
    for (int s = 0; s < 128; s++)
        if (ON_BOARD(s) && p->board[s] == (KING | side)) return attacked(p, s, side ^ BLACK);
    return 1;
}

static int add(Move *list, int count, const Position *p, int from, int to) {
    const int type = TYPE(p->board[from]), last = RANK(to) == 0 || RANK(to) == 7;
    const int victim = TYPE(p->board[to]);
    for (int promotion = type == PAWN && last ? QUEEN : 0;; promotion--) {
        const Move move = {from, to, promotion, 16 * victim - type + (promotion == QUEEN ? 100 : 0)};
        list[count++] = move;
        if (promotion <= KNIGHT) return count;
    }
}

static int generate(const Position *p, Move *list, int captures_only) {
    int count = 0;
    const int side = p->turn, up = side ? -16 : 16;
    for (int from = 0; from < 128; from++) {
        if (!ON_BOARD(from) || !p->board[from] || IS_BLACK(p->board[from]) != side) continue;
        const int type = TYPE(p->board[from]);
        if (type == PAWN) {
            for (int aside = -1; aside <= 1; aside += 2) {
                const int to = from + up + aside;
                if (!ON_BOARD(to)) continue;
                const int victim = p->board[to];
                if ((victim && IS_BLACK(victim) != side) || to == p->ep) count = add(list, count, p, from, to);
            }
            const int to = from + up;
            if (!p->board[to] && (!captures_only || RANK(to) == 0 || RANK(to) == 7)) {
                count = add(list, count, p, from, to);
                if (RANK(from) == (side ? 6 : 1) && !p->board[to + up]) count = add(list, count, p, from, to + up);
            }
            continue;
        }
        const int first = type == BISHOP ? 4 : 0, end = type == ROOK ? 4 : 8;
        for (int i = first; i < end; i++) {
            const int step = type == KNIGHT ? jumps[i] : steps[i];
            for (int to = from + step; ON_BOARD(to); to += step) {
                const int victim = p->board[to];
                if (victim && IS_BLACK(victim) == side) break;
                if (victim || !captures_only) count = add(list, count, p, from, to);
                if (victim || type == KNIGHT || type == KING) break;
            }
        }
        if (type == KING && !captures_only && from == (side ? 0x74 : 4) && !attacked(p, from, side ^ BLACK)) {
            const int rights = side ? p->castling >> 2 : p->castling;
            if ((rights & 1) && !p->board[from + 1] && !p->board[from + 2] && !attacked(p, from + 1, side ^ BLACK))
                count = add(list, count, p, from, from + 2);
            if ((rights & 2) && !p->board[from - 1] && !p->board[from - 2] && !p->board[from - 3] &&
                !attacked(p, from - 1, side ^ BLACK))
                count = add(list, count, p, from, from - 2);
        }
    }
    return count;
}

static void put(Position *p, int square, int piece) {
    if (p->board[square]) p->hash ^= keys[(int)p->board[square]][square];
    p->board[square] = (signed char)piece;
    if (piece) p->hash ^= keys[piece][square];
}

// Returns whether the move was legal.
static int make(const Position *before, const Move *move, Position *p) {
    static const int corners[4] = {7, 0, 0x77, 0x70};
    *p = *before;
    const int side = p->turn, piece = p->board[move->from], type = TYPE(piece);
    const int captures = p->board[move->to] != EMPTY;
    p->fifty = type == PAWN || captures ? 0 : p->fifty + 1;
    put(p, move->to, move->promotion ? (move->promotion | side) : piece);
    put(p, move->from, EMPTY);
    if (type == PAWN && move->to == before->ep) put(p, move->to + (side ? 16 : -16), EMPTY);
    if (type == KING && abs(move->to - move->from) == 2) {
        const int rook = move->to > move->from ? move->to + 1 : move->to - 2;
        put(p, (move->to + move->from) / 2, p->board[rook]);
        put(p, rook, EMPTY);
    }
    if (p->ep >= 0) p->hash ^= ep_keys[p->ep];
    p->ep = type == PAWN && abs(move->to - move->from) == 32 ? (move->to + move->from) / 2 : -1;
    if (p->ep >= 0) p->hash ^= ep_keys[p->ep];
    p->hash ^= castling_keys[p->castling];
    if (type == KING) p->castling &= side ? 3 : 12;
    for (int i = 0; i < 4; i++)
        if (move->from == corners[i] || move->to == corners[i]) p->castling &= ~(1 << i);
    p->hash ^= castling_keys[p->castling];
    p->turn ^= BLACK;
    p->hash ^= turn_key;
    return !in_check(p, side);
}

enum { MATE = 30000, MAX_PLY = 64 };
static long long nodes, node_limit;
static unsigned long long history[1024 + MAX_PLY];
static int history_length;
static Move best_at_root;

static int own_view(const Position *p) {
    const int score = evaluate(p);
    return p->turn ? -score : score;
}

static void pick(Move *list, int count, int from) {
    int best = from;
    for (int i = from + 1; i < count; i++)
        if (list[i].score > list[best].score) best = i;
    const Move swapped = list[from];
    list[from] = list[best];
    list[best] = swapped;
}

// Whether to print positions that quiescence evaluates, for 'gputexel selfplay --leaves'.
static int shows_leaves;

static int quiesce(const Position *p, int alpha, int beta, int ply) {
    nodes++;
    const int stand = own_view(p);
    // One in 64, drawn by key: printing takes longer than searching.
    if (shows_leaves && p->hash % 64 == 0) printf("info string leaf "), print_fen(p), putchar('\n');
    if (stand >= beta || ply >= MAX_PLY) return stand;
    if (stand > alpha) alpha = stand;
    Move list[256];
    const int count = generate(p, list, 1);
    for (int i = 0; i < count; i++) {
        Position next;
        pick(list, count, i);
        if (!make(p, &list[i], &next)) continue;
        const int score = -quiesce(&next, -beta, -alpha, ply + 1);
        if (score >= beta) return score;
        if (score > alpha) alpha = score;
    }
    return alpha;
}

static int repeated(const Position *p) {
    for (int i = history_length - 2; i >= 0 && i >= history_length - 1 - p->fifty; i -= 1)
        if (history[i] == p->hash) return 1;
    return 0;
}

static int search(const Position *p, int depth, int alpha, int beta, int ply) {
    const int check = in_check(p, p->turn);
    if (depth <= 0 && !check) return quiesce(p, alpha, beta, ply);
    nodes++;
    if (ply && (p->fifty >= 100 || repeated(p))) return 0;
    if (ply >= MAX_PLY - 1) return own_view(p);
    Move list[256];
    const int count = generate(p, list, 0);
    int legal = 0;
    for (int i = 0; ply == 0 && i < count; i++)
        if (list[i].from == best_at_root.from && list[i].to == best_at_root.to) list[i].score += 1000;
    for (int i = 0; i < count; i++) {
        Position next;
        pick(list, count, i);
        if (!make(p, &list[i], &next)) continue;
        legal++;
        history[history_length++] = next.hash;
        const int score = -search(&next, depth - 1, -beta, -alpha, ply + 1);
        history_length--;
        if (nodes >= node_limit && (ply || best_at_root.from != best_at_root.to)) return alpha;
        if (score > alpha) {
            alpha = score;
            if (ply == 0) best_at_root = list[i];
            if (score >= beta) return score;
        }
    }
    return legal ? alpha : check ? ply - MATE : 0;
}

static void print_move(const Move *move) {
    printf("%c%d%c%d", 'a' + FILE_OF(move->from), RANK(move->from) + 1, 'a' + FILE_OF(move->to), RANK(move->to) + 1);
    if (move->promotion) putchar(" .nbrq"[move->promotion]);
}

static void play(Position *p, const char *text) {
    Move list[256];
    const int count = generate(p, list, 0);
    for (int i = 0; i < count; i++) {
        const int promotion = text[4] && strchr("nbrq", text[4]) ? (int)(strchr("nbrq", text[4]) - "nbrq") + KNIGHT : 0;
        Position next;
        if (list[i].from == (text[0] - 'a') + 16 * (text[1] - '1') && list[i].to == (text[2] - 'a') + 16 * (text[3] - '1') &&
            list[i].promotion == promotion && make(p, &list[i], &next)) {
            *p = next;
            if (history_length == 1024) memmove(history, history + 1, 1023 * sizeof *history), history_length--;
            history[history_length++] = p->hash;
            return;
        }
    }
}

static void set_position(Position *p, char *line) {
    char *moves = strstr(line, " moves ");
    char *fen = strstr(line, " fen ");
    if (moves) *moves = 0;
    read_fen(p, fen ? fen + 5 : "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    history_length = 0;
    history[history_length++] = p->hash;
    if (!moves) return;
    for (char *word = strtok(moves + 7, " \r\n"); word; word = strtok(NULL, " \r\n")) play(p, word);
}

static void go(Position *p, const char *line) {
    const char *word = strstr(line, "nodes "), *deep = strstr(line, "depth ");
    node_limit = word ? atoll(word + 6) : deep ? 1LL << 62 : 20000;
    const int depth_limit = deep ? atoi(deep + 6) : MAX_PLY;
    nodes = 0;
    memset(&best_at_root, 0, sizeof best_at_root);
    for (int depth = 1; depth <= depth_limit && nodes < node_limit; depth++) {
        const int score = search(p, depth, -MATE, MATE, 0);
        if (nodes < node_limit) printf("info depth %d nodes %lld score cp %d\n", depth, nodes, score);
    }
    printf("bestmove ");
    if (best_at_root.from == best_at_root.to) printf("0000");
    else print_move(&best_at_root);
    putchar('\n');
}

int main(int argc, char **argv) {
    static char line[1 << 16];
    Position p;
    make_keys();
    if (argc > 1 && !strcmp(argv[1], "trace")) {
        while (fgets(line, sizeof line, stdin)) {
            char *game = strtok(line, " \n"), *result = strtok(NULL, " \n"), fen[256] = "";
            for (int field = 0; field < 6; field++) {
                const char *word = strtok(NULL, " \n");
                if (!word || strlen(fen) + strlen(word) + 2 > sizeof fen) break;
                strcat(strcat(fen, field ? " " : ""), word);
            }
            if (result && read_fen(&p, fen)) trace_line(&p, game, result, fen);
        }
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "eval")) {
        while (fgets(line, sizeof line, stdin)) printf("%d\n", read_fen(&p, line) ? evaluate(&p) : 0);
        return 0;
    }
    read_fen(&p, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "uci\n", 4)) printf("id name %s\noption name Leaves type check default false\nuciok\n", NAME);
        else if (!strncmp(line, "setoption name Leaves ", 22)) shows_leaves = strstr(line, "true") != NULL;
        else if (!strncmp(line, "isready", 7)) printf("readyok\n");
        else if (!strncmp(line, "position", 8)) set_position(&p, line);
        else if (!strncmp(line, "go", 2)) go(&p, line);
        else if (!strncmp(line, "quit", 4)) break;
        fflush(stdout);
    }
    return 0;
}
