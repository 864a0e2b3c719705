
#undef S

// The largest score, so that scores of mates can be told from it.
static const int LIMIT = 30000;

static int mg_of(Score score)
{
    // A negative endgame value has borrowed from the upper half.
    return (int)((score + 2147483648) >> 32);
}

static int eg_of(Score score)
{
    return (int32_t)(score & 4294967295);
}

// The lowest square of a set, which is not empty.
static int lowest(Bitboard set)
{
#if defined(__GNUC__) && !defined(EVALUATION_PORTABLE)
    return __builtin_ctzll(set);
#else
    int square = 0;
    while (!((set >> square) & 1)) {
        square++;
    }
    return square;
#endif
}

// Removes the lowest square of a set and returns it.
static int next_square(Bitboard *set)
{
    int square = lowest(*set);
    *set &= *set - 1;
    return square;
}

// The score of the side to move from total / divisor, White's view; the division truncates toward zero.
static int finish(int64_t total, int64_t divisor, int side_to_move)
{
    int64_t score = total / divisor;
    score = score > LIMIT ? LIMIT : score < -LIMIT ? -LIMIT : score;
    return (int)(side_to_move == WHITE ? score : -score);
}
