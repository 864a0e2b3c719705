
int read_fen(const char *fen, Position *position)
{
    const Position empty = { { { 0 } }, WHITE };
    const char *letters = "PNBRQKpnbrqk";
    int file = 0, rank = 7;
    *position = empty;
    for (; *fen && *fen != ' '; fen++) {
        if (*fen == '/') {
            if (file != 8 || rank == 0) {
                return 0;
            }
            file = 0;
            rank--;
        } else if (*fen >= '1' && *fen <= '8') {
            file += *fen - '0';
        } else {
            int piece = 0;
            while (letters[piece] && letters[piece] != *fen) {
                piece++;
            }
            if (!letters[piece] || file > 7) {
                return 0;
            }
            position->pieces[piece / 6][piece % 6] |= (Bitboard)1 << (8 * rank + file);
            file++;
        }
        if (file > 8) {
            return 0;
        }
    }
    if (file != 8 || rank != 0 || fen[0] != ' ' || (fen[1] != 'w' && fen[1] != 'b')) {
        return 0;
    }
    position->side_to_move = fen[1] == 'w' ? WHITE : BLACK;
    for (int color = WHITE; color <= BLACK; color++) {
        Bitboard king = position->pieces[color][KING];
        if (!king || (king & (king - 1)) || (position->pieces[color][PAWN] & 0xff000000000000ff)) {
            return 0;
        }
    }
    return 1;
}
