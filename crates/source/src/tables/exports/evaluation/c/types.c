#include <stdint.h>

typedef uint64_t Bitboard; // a set of squares: a1 is bit 0, b1 bit 1, h8 bit 63

enum { WHITE, BLACK };
enum { PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING };

// A position, with one king a side and no pawn on the first or last rank.
typedef struct {
    Bitboard pieces[2][6]; // by color and kind
    int side_to_move;
} Position;

// A middlegame and an endgame value in one number, so that one addition adds both.
typedef int64_t Score;
#define S(mg, eg) ((Score)(mg) * 4294967296 + (eg))

// The score of a position in centipawns, from the view of the side to move.
int evaluate(const Position *position);
// Reads the pieces and the side to move of a FEN; returns 0 if it is none, or not of such a position.
int read_fen(const char *fen, Position *position);

#define EVALUATION_SUMS // the functions below exist
// Sums that each move changes by a few pieces only: the values of all pieces on their squares, White's less Black's,
// and the units of the phase.
typedef struct {
    Score score;
    int phase;
} Sums;

// The sums of a position, and what a move does to them; castling moves two pieces, a capture removes one.
Sums sums_of(const Position *position);
void add_piece(Sums *sums, int color, int kind, int square);
void remove_piece(Sums *sums, int color, int kind, int square);
void move_piece(Sums *sums, int color, int kind, int from, int to);
// As `evaluate`, with sums that the caller keeps.
int evaluate_with(const Position *position, const Sums *sums);
