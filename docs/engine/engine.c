// A small chess engine around an evaluation written by `gputexel export --evaluation`: UCI, alpha-beta search with a
// transposition table, null moves and reductions. It is an example to read and to start from, and yours to change.
//
//     gputexel export runs/first --evaluation -o evaluation.c
//     cc -O2 -march=native -o engine engine.c -lm
//
// What it asks of the evaluation is `read_fen`, `evaluate_with`, and three functions that keep the sums
// of the pieces on their squares. Chess960 is not supported.

#ifndef _WIN32
#define _POSIX_C_SOURCE 200112L // for poll
#include <poll.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "evaluation.c"

enum { MAX_PLY = 100, MAX_MOVES = 256, MAX_GAME = 2048, MATE = 32000, INFINITE = 32001, NO_SQUARE = 64, EMPTY = 12 };

// ---- The board ------------------------------------------------------------------------------------------------------

// The squares a move leaves and enters, and the kind that a pawn becomes, 0 for none.
typedef struct {
    uint8_t from, to, promotion;
} Move;

typedef struct {
    Position position;
    Sums sums;
    uint8_t piece[64]; // 6 * color + kind, or EMPTY
    uint8_t castling;  // 1 and 2 for White's king's and queen's side, 4 and 8 for Black's
    uint8_t en_passant; // the square that a pawn has just jumped over, if it can be captured there, or NO_SQUARE
    uint8_t fifty;      // half-moves since a capture or pawn move
    uint64_t key;       // hash of all but `fifty`
} Board;

static const Move NO_MOVE = { 0, 0, 0 };

// Steps to the neighbors of a square, four along ranks and files and four along diagonals, and jumps of knights.
static uint8_t neighbor[64][8], jump[64][8];
static uint64_t piece_keys[12][64], castling_keys[16], en_passant_keys[65], black_key;

static uint64_t random_number(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15; // xorshift64*, Vigna 2016
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1d;
}

static uint8_t step(int square, int files, int ranks)
{
    int file = square % 8 + files, rank = square / 8 + ranks;
    return file < 0 || file > 7 || rank < 0 || rank > 7 ? NO_SQUARE : (uint8_t)(8 * rank + file);
}

static void fill_tables(void)
{
    static const int files[8] = { 1, -1, 0, 0, 1, 1, -1, -1 }, ranks[8] = { 0, 0, 1, -1, 1, -1, 1, -1 };
    static const int jump_files[8] = { 1, 2, 2, 1, -1, -2, -2, -1 }, jump_ranks[8] = { 2, 1, -1, -2, -2, -1, 1, 2 };
    for (int square = 0; square < 64; square++) {
        for (int i = 0; i < 8; i++) {
            neighbor[square][i] = step(square, files[i], ranks[i]);
            jump[square][i] = step(square, jump_files[i], jump_ranks[i]);
        }
        for (int piece = 0; piece < 12; piece++) {
            piece_keys[piece][square] = random_number();
        }
        en_passant_keys[square] = random_number();
    }
    for (int rights = 0; rights < 16; rights++) {
        castling_keys[rights] = random_number();
    }
    black_key = random_number();
}

static void put(Board *board, int color, int kind, int square)
{
    board->piece[square] = (uint8_t)(6 * color + kind);
    board->position.pieces[color][kind] |= (Bitboard)1 << square;
    board->key ^= piece_keys[6 * color + kind][square];
    add_piece(&board->sums, color, kind, square);
}

static void take(Board *board, int square)
{
    int piece = board->piece[square], color = piece / 6, kind = piece % 6;
    board->piece[square] = EMPTY;
    board->position.pieces[color][kind] ^= (Bitboard)1 << square;
    board->key ^= piece_keys[piece][square];
    remove_piece(&board->sums, color, kind, square);
}

// True if a side attacks a square.
static int attacked(const Board *board, int square, int by)
{
    const Bitboard *pieces = board->position.pieces[by];
    Bitboard near = 0, jumps = 0, pawns = 0, straight = 0, diagonal = 0;
    for (int i = 0; i < 8; i++) {
        int at = neighbor[square][i];
        if (jump[square][i] != NO_SQUARE) {
            jumps |= (Bitboard)1 << jump[square][i];
        }
        if (at == NO_SQUARE) {
            continue;
        }
        near |= (Bitboard)1 << at;
        if (i >= 4 && (at > square) == (by == BLACK)) {
            pawns |= (Bitboard)1 << at;
        }
        while (board->piece[at] == EMPTY && neighbor[at][i] != NO_SQUARE) {
            at = neighbor[at][i];
        }
        *(i < 4 ? &straight : &diagonal) |= (Bitboard)1 << at;
    }
    return (near & pieces[KING]) || (jumps & pieces[KNIGHT]) || (pawns & pieces[PAWN])
        || (straight & (pieces[ROOK] | pieces[QUEEN])) || (diagonal & (pieces[BISHOP] | pieces[QUEEN]));
}

static int in_check(const Board *board)
{
    int color = board->position.side_to_move;
    return attacked(board, lowest(board->position.pieces[color][KING]), !color);
}

// Passes the turn; `en_passant` is the square that the last move jumped over.
static void pass(Board *board, int en_passant)
{
    int mover = board->position.side_to_move;
    board->key ^= en_passant_keys[board->en_passant] ^ black_key;
    board->en_passant = NO_SQUARE;
    board->position.side_to_move = !mover;
    for (int side = -1; side <= 1 && en_passant != NO_SQUARE; side += 2) {
        int beside_pawn = step(en_passant, side, mover == WHITE ? 1 : -1);
        if (beside_pawn != NO_SQUARE && board->piece[beside_pawn] == 6 * !mover + PAWN) {
            board->en_passant = (uint8_t)en_passant;
        }
    }
    board->key ^= en_passant_keys[board->en_passant];
}

// The rights that are lost when a piece leaves or enters a square.
static const uint8_t rights[64] = { [0] = 2, [4] = 3, [7] = 1, [56] = 8, [60] = 12, [63] = 4 };

// Makes a move on a copy of the board; returns 0 if it leaves the king attacked.
static int make(const Board *before, Move move, Board *board)
{
    int color = before->position.side_to_move, kind = before->piece[move.from] % 6, jumped = NO_SQUARE;
    *board = *before;
    board->fifty++;
    if (board->piece[move.to] != EMPTY) {
        take(board, move.to);
        board->fifty = 0;
    }
    take(board, move.from);
    put(board, color, move.promotion ? move.promotion : kind, move.to);
    if (kind == PAWN) {
        board->fifty = 0;
        if (move.to == before->en_passant) {
            take(board, color == WHITE ? move.to - 8 : move.to + 8);
        } else if (abs(move.to - move.from) == 16) {
            jumped = (move.from + move.to) / 2;
        }
    } else if (kind == KING && abs(move.to - move.from) == 2) {
        int right = move.to > move.from;
        take(board, right ? move.to + 1 : move.to - 2);
        put(board, color, ROOK, right ? move.to - 1 : move.to + 1);
    }
    board->key ^= castling_keys[board->castling];
    board->castling &= (uint8_t) ~(rights[move.from] | rights[move.to]);
    board->key ^= castling_keys[board->castling];
    pass(board, jumped);
    return !attacked(board, lowest(board->position.pieces[color][KING]), !color);
}

// ---- Moves ----------------------------------------------------------------------------------------------------------

typedef struct {
    Move moves[MAX_MOVES];
    int scores[MAX_MOVES];
    int count;
} MoveList;

static void add(MoveList *list, int from, int to, int promotion)
{
    list->moves[list->count++] = (Move) { (uint8_t)from, (uint8_t)to, (uint8_t)promotion };
}

static void pawn_moves(const Board *board, int from, int only_captures, MoveList *list)
{
    int color = board->position.side_to_move, forward = color == WHITE ? 1 : -1;
    for (int side = -1; side <= 1; side++) {
        int to = step(from, side, forward), two = step(from, 0, 2 * forward), target;
        if (to == NO_SQUARE) {
            continue;
        }
        target = board->piece[to];
        if (side ? to != board->en_passant && (target == EMPTY || target / 6 == color) : target != EMPTY) {
            continue;
        }
        if (to / 8 == 0 || to / 8 == 7) {
            for (int kind = QUEEN; kind >= (only_captures ? QUEEN : KNIGHT); kind--) {
                add(list, from, to, kind);
            }
        } else if (side || !only_captures) {
            add(list, from, to, 0);
            if (!side && from / 8 == (color == WHITE ? 1 : 6) && board->piece[two] == EMPTY) {
                add(list, from, two, 0);
            }
        }
    }
}

static void castling_moves(const Board *board, MoveList *list)
{
    int color = board->position.side_to_move, king = color == WHITE ? 4 : 60, rights = board->castling >> 2 * color & 3;
    for (int right = 0; rights && right < 2 && !in_check(board); right++) {
        int side = right ? -1 : 1, free = 1;
        for (int square = king + side; square % 8 != 0 && square % 8 != 7; square += side) {
            free &= board->piece[square] == EMPTY;
        }
        // The square that the king enters is examined as that of any move.
        if (rights >> right & free && !attacked(board, king + side, !color)) {
            add(list, king, king + 2 * side, 0);
        }
    }
}

// Lists all moves but those that `make` refuses, or captures and promotions to a queen only.
static void list_moves(const Board *board, int only_captures, MoveList *list)
{
    int color = board->position.side_to_move;
    list->count = 0;
    for (int kind = PAWN; kind <= KING; kind++) {
        Bitboard rest = board->position.pieces[color][kind];
        while (rest) {
            int from = next_square(&rest);
            if (kind == PAWN) {
                pawn_moves(board, from, only_captures, list);
                continue;
            }
            for (int i = kind == BISHOP ? 4 : 0; i < (kind == ROOK ? 4 : 8); i++) {
                int to = kind == KNIGHT ? jump[from][i] : neighbor[from][i];
                while (to != NO_SQUARE) {
                    int target = board->piece[to];
                    if (target == EMPTY ? !only_captures : target / 6 != color) {
                        add(list, from, to, 0);
                    }
                    to = target != EMPTY || kind == KNIGHT || kind == KING ? NO_SQUARE : neighbor[to][i];
                }
            }
        }
    }
    if (!only_captures) {
        castling_moves(board, list);
    }
}

static int same(Move a, Move b) { return a.from == b.from && a.to == b.to && a.promotion == b.promotion; }

static void write_move(Move move, char *text)
{
    sprintf(text, "%c%d%c%d", 'a' + move.from % 8, move.from / 8 + 1, 'a' + move.to % 8, move.to / 8 + 1);
    if (same(move, NO_MOVE)) {
        strcpy(text, "0000");
    } else if (move.promotion) {
        text[4] = "pnbrqk"[move.promotion];
        text[5] = 0;
    }
}

static uint64_t perft(const Board *board, int depth)
{
    MoveList list;
    Board after;
    uint64_t leaves = 0;
    list_moves(board, 0, &list);
    for (int i = 0; i < list.count; i++) {
        leaves += !make(board, list.moves[i], &after) ? 0 : depth <= 1 ? 1 : perft(&after, depth - 1);
    }
    return leaves;
}

// ---- Search ---------------------------------------------------------------------------------------------------------

enum { EXACT, AT_LEAST, AT_MOST };

typedef struct {
    uint64_t key;
    Move move;
    int16_t score;
    uint8_t depth, bound;
} Entry;

static Entry *table;
static size_t table_entries;

static Board boards[MAX_PLY + 2]; // from the root to the position that is searched
static uint64_t keys[MAX_GAME + MAX_PLY + 2]; // of the game and of the line that is searched
static int game_length;
static Move root_move, killers[MAX_PLY + 2][2];
static int history[12][64], reductions[64][64];
static uint64_t nodes, node_limit;
static double started, soft_limit, hard_limit; // in seconds
static int stopped;

static const int exchange_values[6] = { 100, 300, 300, 500, 900, 10000 };

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Resizes the table to a number of megabytes and empties it.
static void resize_table(int megabytes)
{
    free(table);
    table_entries = ((size_t)megabytes << 20) / sizeof(Entry);
    table = calloc(table_entries, sizeof(Entry));
    if (!table) {
        fprintf(stderr, "no memory for a table of %d MB\n", megabytes);
        exit(1);
    }
}

static char line[1 << 16]; // of input
static int waiting;        // true if it is a command that arrived during the search and waits for its end

// Reads a command that arrives during the search; on Windows, searches end at their limits alone.
static void read_input(void)
{
#ifndef _WIN32
    struct pollfd input = { 0, POLLIN, 0 };
    if (waiting || poll(&input, 1, 0) <= 0) {
        return;
    }
    if (!fgets(line, sizeof line, stdin)) {
        strcpy(line, "quit");
    }
    if (!strncmp(line, "isready", 7)) {
        printf("readyok\n");
        return;
    }
    stopped |= !strncmp(line, "stop", 4) || !strncmp(line, "quit", 4);
    waiting = strncmp(line, "stop", 4) != 0;
#endif
}

static void count_node(void)
{
    nodes++;
    stopped |= nodes >= node_limit;
    if (nodes % 1024 == 0 && !stopped) {
        stopped = now() - started > hard_limit;
        read_input();
    }
}

// True if the position has occurred before, or the game is drawn by the rule of fifty moves.
static int is_draw(const Board *board, int ply)
{
    int last = game_length + ply, first = last - board->fifty;
    for (int i = last - 4; i >= 0 && i >= first; i -= 2) {
        if (keys[i] == board->key) {
            return 1;
        }
    }
    return board->fifty >= 100;
}

// The first move comes first, then captures of the most valuable pieces by the least valuable ones, then killers, then
// other moves by history.
static void score_moves(const Board *board, MoveList *list, Move first, const Move *killer)
{
    for (int i = 0; i < list->count; i++) {
        Move move = list->moves[i];
        int piece = board->piece[move.from], victim = board->piece[move.to];
        if (same(move, first)) {
            list->scores[i] = 1 << 30;
        } else if (victim != EMPTY || move.promotion) {
            int gain = (victim == EMPTY ? 0 : exchange_values[victim % 6]) + exchange_values[move.promotion];
            list->scores[i] = (1 << 24) + 64 * gain - piece % 6;
        } else {
            int kills = same(move, killer[0]) || same(move, killer[1]);
            list->scores[i] = kills ? 1 << 20 : history[piece][move.to];
        }
    }
}

// Swaps the best of the moves that are left to place `at`, and returns it.
static Move pick(MoveList *list, int at)
{
    int best = at;
    for (int i = at + 1; i < list->count; i++) {
        best = list->scores[i] > list->scores[best] ? i : best;
    }
    Move move = list->moves[best];
    list->moves[best] = list->moves[at];
    list->scores[best] = list->scores[at];
    list->moves[at] = move;
    return move;
}

// True if a capture is of no use: it gives up more than it wins and a pawn takes back, or the captured piece is not
// enough to reach alpha from the score of the position as it stands.
static int is_hopeless(const Board *board, Move move, int stand, int alpha)
{
    int color = board->position.side_to_move, victim = board->piece[move.to], attacker = board->piece[move.from] % 6;
    if (move.promotion || victim == EMPTY) {
        return 0;
    }
    for (int side = -1; side <= 1; side += 2) {
        int at = step(move.to, side, color == WHITE ? 1 : -1);
        if (exchange_values[victim % 6] < exchange_values[attacker] && at != NO_SQUARE
            && board->piece[at] == 6 * !color + PAWN) {
            return 1;
        }
    }
    return stand + exchange_values[victim % 6] + 150 < alpha;
}

static int search(int ply, int depth, int alpha, int beta, int may_pass);

// Passes the turn: where even that reaches beta, a move will. Returns the score, or -INFINITE in pawn endings, where
// every move may be worse than none.
static int score_of_passing(int ply, int depth, int beta)
{
    const Bitboard *own = boards[ply].position.pieces[boards[ply].position.side_to_move];
    if (!(own[KNIGHT] | own[BISHOP] | own[ROOK] | own[QUEEN])) {
        return -INFINITE;
    }
    boards[ply + 1] = boards[ply];
    boards[ply + 1].fifty++;
    pass(&boards[ply + 1], NO_SQUARE);
    count_node();
    int score = -search(ply + 1, depth - 3 - depth / 4, -beta, 1 - beta, 0);
    return score > LIMIT ? beta : score;
}

// Returns the score of a position from the view of the side to move, `depth` plies deep and then along captures; 0 if
// the search is stopped.
static int search(int ply, int depth, int alpha, int beta, int may_pass)
{
    Board *board = &boards[ply];
    const int is_pv = beta - alpha > 1, checked = depth >= 0 && in_check(board), old_alpha = alpha;
    Entry *entry = &table[board->key % table_entries];
    Move first = NO_MOVE, best_move = NO_MOVE;
    MoveList list;
    int best = -INFINITE, legal = 0, quiets = 0;
    keys[game_length + ply] = board->key;
    if (ply > 0 && is_draw(board, ply)) {
        return 0;
    }
    depth += checked;
    const int only_captures = depth <= 0, evaluation = evaluate_with(&board->position, &board->sums);
    if (ply > MAX_PLY) {
        return evaluation;
    }
    if (only_captures) {
        best = evaluation;
        alpha = best > alpha ? best : alpha;
        if (best >= beta) {
            return best;
        }
    } else {
        if (entry->key == board->key) {
            int score = entry->score + (entry->score > LIMIT ? -ply : entry->score < -LIMIT ? ply : 0);
            first = entry->move;
            if (!is_pv && entry->depth >= depth
                && (entry->bound == EXACT || (entry->bound == AT_LEAST ? score >= beta : score <= alpha))) {
                return score;
            }
        }
        if (!is_pv && !checked && abs(beta) <= LIMIT && evaluation >= beta) {
            if (depth <= 6 && evaluation - 80 * depth >= beta) {
                return evaluation;
            }
            int score = depth >= 3 && may_pass ? score_of_passing(ply, depth, beta) : -INFINITE;
            if (stopped || score >= beta) {
                return stopped ? 0 : score;
            }
        }
        // Without a move to begin with, a shallower search finds one for the next time.
        depth -= depth >= 4 && same(first, NO_MOVE);
    }
    list_moves(board, only_captures, &list);
    score_moves(board, &list, first, killers[ply]);
    for (int i = 0; i < list.count; i++) {
        Move move = pick(&list, i);
        int quiet = board->piece[move.to] == EMPTY && !move.promotion, piece = board->piece[move.from];
        int score, reduction = 0;
        if (only_captures && is_hopeless(board, move, evaluation, alpha)) {
            continue;
        }
        // Of the quiet moves, late ones and those that gain too little are left out near the leaves.
        if (quiet && !is_pv && !checked && best >= -LIMIT
            && (quiets > 3 + depth * depth || (depth <= 4 && evaluation + 100 + 100 * depth <= alpha))) {
            continue;
        }
        if (!make(board, move, &boards[ply + 1])) {
            continue;
        }
        count_node();
        legal++;
        quiets += quiet;
        if (quiet && depth >= 3 && legal > 2 && !checked) {
            reduction = reductions[depth < 63 ? depth : 63][legal < 63 ? legal : 63] - is_pv;
            reduction -= history[piece][move.to] / 8192;
            reduction = reduction < 0 ? 0 : reduction > depth - 2 ? depth - 2 : reduction;
        }
        score = alpha + 1;
        if (legal > 1) {
            score = -search(ply + 1, depth - 1 - reduction, -alpha - 1, -alpha, 1);
            if (score > alpha && reduction > 0) {
                score = -search(ply + 1, depth - 1, -alpha - 1, -alpha, 1);
            }
        }
        if (legal == 1 || (score > alpha && score < beta)) {
            score = -search(ply + 1, depth - 1, -beta, -alpha, 1);
        }
        if (stopped) {
            return 0;
        }
        best = score > best ? score : best;
        if (score > alpha) {
            alpha = score;
            best_move = move;
            root_move = ply == 0 ? move : root_move;
        }
        if (score >= beta) {
            if (quiet) {
                int bonus = depth * depth < 1200 ? depth * depth : 1200;
                killers[ply][1] = same(move, killers[ply][0]) ? killers[ply][1] : killers[ply][0];
                killers[ply][0] = move;
                for (int j = 0; j <= i; j++) {
                    // Up for this move, down for those before it, and never beyond 16384.
                    Move tried = list.moves[j];
                    int *value = &history[board->piece[tried.from]][tried.to];
                    *value += (j == i ? bonus : -bonus) - *value * bonus / 16384;
                }
            }
            break;
        }
    }
    if (only_captures) {
        return best;
    }
    if (legal == 0) {
        return checked ? ply - MATE : 0;
    }
    // Mates are stored by their distance from this position, not from the root.
    best_move = same(best_move, NO_MOVE) ? first : best_move;
    *entry = (Entry) { board->key, best_move, (int16_t)(best + (best > LIMIT ? ply : best < -LIMIT ? -ply : 0)),
        (uint8_t)depth, best >= beta ? AT_LEAST : best > old_alpha ? EXACT : AT_MOST };
    return best;
}

// Searches the root deeper and deeper, until a limit is reached, and prints the best move.
static void think(int max_depth)
{
    MoveList list;
    char text[8];
    int score = 0;
    nodes = 0;
    stopped = 0;
    memset(killers, 0, sizeof killers);
    memset(history, 0, sizeof history);
    root_move = NO_MOVE;
    list_moves(&boards[0], 0, &list);
    for (int i = list.count - 1; i >= 0; i--) {
        root_move = make(&boards[0], list.moves[i], &boards[1]) ? list.moves[i] : root_move;
    }
    write_move(root_move, text);
    for (int depth = 1; depth <= max_depth && !same(root_move, NO_MOVE); depth++) {
        // A narrow window around the last score cuts off more; a score outside is searched again.
        int window = depth < 4 ? INFINITE : 25, alpha = score - window, beta = score + window;
        while (score = search(0, depth, alpha, beta, 0), !stopped && (score <= alpha || score >= beta)) {
            window *= 4;
            alpha = score <= alpha ? score - window : alpha;
            beta = score >= beta ? score + window : beta;
        }
        double seconds = now() - started + 1e-9;
        write_move(root_move, text); // of a search that was stopped, too: its first move is the last one's best
        if (stopped) {
            break;
        }
        printf("info depth %d score %s %d nodes %llu time %.0f nps %.0f pv %s\n", depth,
            abs(score) > LIMIT ? "mate" : "cp",
            abs(score) <= LIMIT ? score : score > 0 ? (MATE - score + 1) / 2 : -(MATE + score) / 2,
            (unsigned long long)nodes, 1000 * seconds, (double)nodes / seconds, text);
        if (seconds > soft_limit) {
            break;
        }
    }
    printf("bestmove %s\n", text);
}

// ---- UCI ------------------------------------------------------------------------------------------------------------

static const char *const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

// Sets up a position; returns 0 if it is none.
static int set_up(const char *fen)
{
    Board *board = &boards[0];
    Position position;
    char castling[8] = "-", square[8] = "-";
    int fifty = 0;
    if (!read_fen(fen, &position)) {
        return 0;
    }
    memset(board, 0, sizeof *board);
    memset(board->piece, EMPTY, sizeof board->piece);
    for (int color = WHITE; color <= BLACK; color++) {
        for (int kind = PAWN; kind <= KING; kind++) {
            Bitboard rest = position.pieces[color][kind];
            while (rest) {
                put(board, color, kind, next_square(&rest));
            }
        }
    }
    sscanf(fen, "%*s %*s %7s %7s %d", castling, square, &fifty);
    for (int right = 0; right < 4; right++) {
        int king = right < 2 ? 4 : 60, rook = king + (right % 2 ? -4 : 3), color = right / 2;
        // Rights without the pieces for them are no rights.
        if (strchr(castling, "KQkq"[right]) && board->piece[king] == 6 * color + KING
            && board->piece[rook] == 6 * color + ROOK) {
            board->castling |= (uint8_t)(1 << right);
        }
    }
    board->fifty = (uint8_t)(fifty < 0 ? 0 : fifty > 100 ? 100 : fifty);
    board->key ^= castling_keys[board->castling];
    board->en_passant = NO_SQUARE;
    board->position.side_to_move = !position.side_to_move;
    board->key ^= position.side_to_move == WHITE ? black_key : 0;
    pass(board, square[0] >= 'a' && square[0] <= 'h' && (square[1] == '3' || square[1] == '6')
        ? 8 * (square[1] - '1') + square[0] - 'a' : NO_SQUARE);
    game_length = 0;
    return 1;
}

// Plays a move of the game; returns 0 if it is not legal.
static int play(const char *text)
{
    MoveList list;
    Board after;
    char legal[8];
    list_moves(&boards[0], 0, &list);
    for (int i = 0; i < list.count; i++) {
        write_move(list.moves[i], legal);
        if (!strcmp(legal, text) && make(&boards[0], list.moves[i], &after)) {
            // Positions before a capture or pawn move cannot occur again.
            game_length = after.fifty == 0 || game_length >= MAX_GAME ? -1 : game_length;
            if (game_length >= 0) {
                keys[game_length] = boards[0].key;
            }
            game_length++;
            boards[0] = after;
            return 1;
        }
    }
    return 0;
}

// position startpos|fen FEN [moves MOVE...]
static void read_position(char *command)
{
    char *moves = strstr(command, " moves "), *fen = strstr(command, " fen ");
    if (moves) {
        *moves = 0;
    }
    if (!set_up(fen ? fen + 5 : START)) {
        printf("info string not a position: %s\n", fen ? fen + 5 : command);
        set_up(START);
        return;
    }
    for (char *move = moves ? strtok(moves + 7, " ") : NULL; move; move = strtok(NULL, " ")) {
        if (!play(move)) {
            printf("info string not a legal move: %s\n", move);
            return;
        }
    }
}

// The number that follows a word of a command, or `otherwise`.
static double number_after(const char *command, const char *word, double otherwise)
{
    const char *at = strstr(command, word);
    return at ? atof(at + strlen(word)) : otherwise;
}

static void go(const char *command)
{
    int white = boards[0].position.side_to_move == WHITE;
    double left = number_after(command, white ? " wtime " : " btime ", -1) / 1000;
    double increment = number_after(command, white ? " winc " : " binc ", 0) / 1000;
    double moves_left = number_after(command, " movestogo ", 25), move_time = number_after(command, " movetime ", -1) / 1000;
    double max_depth = number_after(command, " depth ", MAX_PLY), max_nodes = number_after(command, " nodes ", 1e18);
    started = now();
    soft_limit = hard_limit = 1e18;
    if (move_time >= 0) {
        hard_limit = move_time - 0.002;
    } else if (strstr(command, "time ")) {
        double budget = left / (moves_left < 2 ? 2 : moves_left > 25 ? 25 : moves_left) + 0.75 * increment;
        soft_limit = 0.5 * budget;
        hard_limit = 2.5 * budget < 0.5 * left ? 2.5 * budget : 0.5 * left;
    }
    node_limit = max_nodes < 1 ? 1 : max_nodes > 1e18 ? (uint64_t)1e18 : (uint64_t)max_nodes;
    think(max_depth < 1 ? 1 : max_depth > MAX_PLY ? MAX_PLY : (int)max_depth);
}

int main(void)
{
    setvbuf(stdin, NULL, _IONBF, 0); // so that poll sees what has not been read
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    fill_tables();
    resize_table(16);
    for (int depth = 1; depth < 64; depth++) {
        for (int move = 1; move < 64; move++) {
            reductions[depth][move] = (int)(0.5 + log(depth) * log(move) / 2.2);
        }
    }
    set_up(START);
    while (waiting || fgets(line, sizeof line, stdin)) {
        waiting = 0;
        line[strcspn(line, "\r\n")] = 0;
        if (!strcmp(line, "uci")) {
            printf("id name gputexel example\nid author you\n");
            printf("option name Hash type spin default 16 min 1 max 65536\nuciok\n");
        } else if (!strcmp(line, "isready")) {
            printf("readyok\n");
        } else if (!strcmp(line, "ucinewgame")) {
            memset(table, 0, table_entries * sizeof *table);
        } else if (!strncmp(line, "setoption name Hash value ", 26)) {
            int megabytes = atoi(line + 26);
            resize_table(megabytes < 1 ? 1 : megabytes > 65536 ? 65536 : megabytes);
        } else if (!strncmp(line, "position", 8)) {
            read_position(line);
        } else if (!strncmp(line, "go perft ", 9)) {
            printf("Nodes searched: %llu\n", (unsigned long long)perft(&boards[0], atoi(line + 9)));
        } else if (!strncmp(line, "go", 2)) {
            go(line);
        } else if (!strcmp(line, "eval")) {
            int score = evaluate(&boards[0].position);
            printf("%d\n", boards[0].position.side_to_move == WHITE ? score : -score);
        } else if (!strcmp(line, "quit")) {
            break;
        }
    }
    free(table);
    return 0;
}
