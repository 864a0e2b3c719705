
// The tables of a side. Its king chooses them, from its own side of the board; where buckets are mirrored, a king on
// files e to h mirrors the board.
static Score seen_by(const Position *position, int color)
{
    int flip = color == WHITE ? 0 : 56;
    int king = lowest(position->pieces[color][KING]) ^ flip;
    int turn = MIRRORED && (king & 7) > 3 ? flip ^ 7 : flip;
    Score score = 0;
    for (int owner = 0; owner < OWNERS; owner++) {
        for (int kind = PAWN; kind <= KING; kind++) {
            const Score *values = bucket_values[bucket_of[king]][owner][kind];
            Bitboard rest = position->pieces[owner == 0 ? color : !color][kind];
            while (rest) {
                score += values[next_square(&rest) ^ turn];
            }
        }
    }
    return score;
}

int evaluate(const Position *position)
{
    int phase = 0;
    for (int kind = PAWN; kind <= KING; kind++) {
        Bitboard rest = position->pieces[WHITE][kind] | position->pieces[BLACK][kind];
        for (; rest; rest &= rest - 1) {
            phase += phase_units[kind];
        }
    }
    Score score = seen_by(position, WHITE) - seen_by(position, BLACK);
    return blend(score, phase, position->side_to_move);
}
