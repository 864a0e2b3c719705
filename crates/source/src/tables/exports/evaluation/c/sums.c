
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
