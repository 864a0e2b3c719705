
static const Score *const square_values[6] = {
    pawn_value, knight_value, bishop_value, rook_value, queen_value, king_value,
};

// The value of a piece on a square; Black's pieces take the square with the rank mirrored and count against White.
static Score piece_score(int color, int kind, int square)
{
    return color == WHITE ? square_values[kind][square] : -square_values[kind][square ^ 56];
}

void add_piece(Sums *sums, int color, int kind, int square)
{
    sums->score += piece_score(color, kind, square);
    sums->phase += phase_units[kind];
}

void remove_piece(Sums *sums, int color, int kind, int square)
{
    sums->score -= piece_score(color, kind, square);
    sums->phase -= phase_units[kind];
}

void move_piece(Sums *sums, int color, int kind, int from, int to)
{
    sums->score += piece_score(color, kind, to) - piece_score(color, kind, from);
}

Sums sums_of(const Position *position)
{
    Sums sums = { 0, 0 };
    for (int color = WHITE; color <= BLACK; color++) {
        for (int kind = PAWN; kind <= KING; kind++) {
            Bitboard rest = position->pieces[color][kind];
            while (rest) {
                add_piece(&sums, color, kind, next_square(&rest));
            }
        }
    }
    return sums;
}

int evaluate(const Position *position)
{
    Sums sums = sums_of(position);
    return evaluate_with(position, &sums);
}
