
// Sets of squares. Each side sees the board from its own side, so that its pawns move up.

static const Bitboard FILE_A = 0x0101010101010101;
static const Bitboard FILE_H = 0x8080808080808080;
static const Bitboard RANK_3 = 0xff0000;
static const Bitboard RANK_7 = 0xff000000000000;
static const Bitboard RANK_8 = 0xff00000000000000;
static const Bitboard RANKS_4_TO_6 = 0xffffff000000;
static const Bitboard LIGHT_SQUARES = 0x55aa55aa55aa55aa;
static const Bitboard DIAGONAL = 0x8040201008040201; // a1 to h8
static const Bitboard ANTIDIAGONAL = 0x0102040810204080; // h1 to a8

static int count(Bitboard set)
{
#if defined(__GNUC__) && !defined(EVALUATION_PORTABLE)
    return __builtin_popcountll(set);
#else
    int squares = 0;
    for (; set; set &= set - 1) {
        squares++;
    }
    return squares;
#endif
}

// The highest square of a set, which is not empty.
static int highest(Bitboard set)
{
#if defined(__GNUC__) && !defined(EVALUATION_PORTABLE)
    return 63 - __builtin_clzll(set);
#else
    int square = 63;
    while (!((set >> square) & 1)) {
        square--;
    }
    return square;
#endif
}

// The board from the other side: the first rank becomes the eighth.
static Bitboard flipped(Bitboard set)
{
    set = ((set >> 8) & 0x00ff00ff00ff00ff) | ((set & 0x00ff00ff00ff00ff) << 8);
    set = ((set >> 16) & 0x0000ffff0000ffff) | ((set & 0x0000ffff0000ffff) << 16);
    return (set >> 32) | (set << 32);
}

static Bitboard bit(int square) { return (Bitboard)1 << square; }
static int has(Bitboard set, int square) { return (int)((set >> square) & 1); }
static Bitboard up(Bitboard set) { return set << 8; }
static Bitboard down(Bitboard set) { return set >> 8; }
static Bitboard left(Bitboard set) { return (set & ~FILE_A) >> 1; }
static Bitboard right(Bitboard set) { return (set & ~FILE_H) << 1; }
static Bitboard beside(Bitboard set) { return left(set) | right(set); }

// A set with all squares in front of it, and with all squares behind it.
static Bitboard fill_up(Bitboard set)
{
    set |= set << 8;
    set |= set << 16;
    return set | set << 32;
}

static Bitboard fill_down(Bitboard set)
{
    set |= set >> 8;
    set |= set >> 16;
    return set | set >> 32;
}

static int at_most(int number, int most) { return number < most ? number : most; }

// The distance of a file from the nearer edge: 0 for a and h, 3 for d and e.
static int from_edge(int file) { return at_most(file, 7 - file); }

// The distance of two squares in moves of a king.
static int distance(int a, int b)
{
    int files = a % 8 - b % 8, ranks = a / 8 - b / 8;
    files = files < 0 ? -files : files;
    ranks = ranks < 0 ? -ranks : ranks;
    return files > ranks ? files : ranks;
}

// Attacks of pieces.

static Bitboard knight_attacks(int square)
{
    Bitboard one = beside(bit(square)), two = left(left(bit(square))) | right(right(bit(square)));
    return up(up(one)) | down(down(one)) | up(two) | down(two);
}

static Bitboard king_attacks(int square)
{
    Bitboard row = bit(square) | beside(bit(square));
    return (row | up(row) | down(row)) & ~bit(square);
}

// The squares that a piece attacks along a line on which it stands: those between the nearest piece below it and the
// nearest above it, both included. The subtraction sets all bits from the one to the other.
static Bitboard line_attacks(int square, Bitboard line, Bitboard occupied)
{
    Bitboard pieces, above;
    line &= ~bit(square);
    pieces = line & occupied;
    above = pieces & ~(bit(square) - 1);
    return line & (2 * (above & (0 - above)) - bit(highest((pieces & (bit(square) - 1)) | 1)));
}

static Bitboard bishop_attacks(int square, Bitboard occupied)
{
    int file = square & 7, rank = square >> 3;
    Bitboard diagonal = rank >= file ? DIAGONAL << 8 * (rank - file) : DIAGONAL >> 8 * (file - rank);
    Bitboard antidiagonal =
        rank + file >= 7 ? ANTIDIAGONAL << 8 * (rank + file - 7) : ANTIDIAGONAL >> 8 * (7 - rank - file);
    return line_attacks(square, diagonal, occupied) | line_attacks(square, antidiagonal, occupied);
}

static Bitboard rook_attacks(int square, Bitboard occupied)
{
    Bitboard file = FILE_A << (square & 7), rank = (Bitboard)0xff << (square & 56);
    return line_attacks(square, file, occupied) | line_attacks(square, rank, occupied);
}

// The squares that a side attacks. Pins are ignored; bishops see through queens, rooks through queens and rooks of
// their own side.
typedef struct {
    Bitboard of[6]; // by kind of piece
    Bitboard all;
    Bitboard twice; // by two pieces or more
} Attacks;

// The position as one side sees it.
typedef struct {
    Bitboard own[6], their[6]; // by kind of piece
    Bitboard own_all, their_all, occupied;
    Bitboard their_pawn_attacks;
    int king, their_king;
    Bitboard passed;           // its pawns with none in front of them, nor enemy pawns there on the adjacent files
    Bitboard mobility_area;    // no own pawn or king, and not attacked by enemy pawns
    Bitboard king_zone;        // the enemy king, the squares next to it, and those in front of them
    int zone_attackers[6];     // pieces that attack the zone, by kind
    Attacks attacks, their_attacks;
} Side;

static void look(const Position *position, int color, Side *side)
{
    Bitboard near_king;
    side->own_all = side->their_all = 0;
    for (int kind = PAWN; kind <= KING; kind++) {
        Bitboard own = position->pieces[color][kind], their = position->pieces[!color][kind];
        side->own[kind] = color == WHITE ? own : flipped(own);
        side->their[kind] = color == WHITE ? their : flipped(their);
        side->own_all |= side->own[kind];
        side->their_all |= side->their[kind];
        side->attacks.of[kind] = 0;
        side->zone_attackers[kind] = 0;
    }
    side->occupied = side->own_all | side->their_all;
    side->king = lowest(side->own[KING]);
    side->their_king = lowest(side->their[KING]);
    side->their_pawn_attacks = down(beside(side->their[PAWN]));
    side->passed = side->own[PAWN]
        & ~fill_down(down(side->own[PAWN] | side->their[PAWN]) | side->their_pawn_attacks);
    side->mobility_area = ~(side->their_pawn_attacks | side->own[PAWN] | side->own[KING]);
    near_king = side->their[KING] | king_attacks(side->their_king);
    side->king_zone = near_king | down(near_king);
    side->attacks.of[PAWN] = up(beside(side->own[PAWN]));
    side->attacks.of[KING] = king_attacks(side->king);
    side->attacks.all = side->attacks.of[PAWN] | side->attacks.of[KING];
    side->attacks.twice = (side->attacks.of[PAWN] & side->attacks.of[KING])
        | up(left(side->own[PAWN]) & right(side->own[PAWN]));
}

// Pawns.

static Score by_file(Bitboard pawns, const Score *values)
{
    Score score = 0;
    while (pawns) {
        score += values[from_edge(next_square(&pawns) % 8)];
    }
    return score;
}

// Adds up values that begin with those of rank `first`.
static Score by_rank(Bitboard pawns, const Score *values, int first)
{
    Score score = 0;
    while (pawns) {
        score += values[next_square(&pawns) / 8 + 1 - first];
    }
    return score;
}

// The part that depends on pawns alone; it can be cached. Pawns are
//   isolated: without pawns of their side on the adjacent files;
//   doubled: with one in front of them on their file;
//   backward: not isolated, and the square in front of them is attacked by a pawn and can never be defended by one.
static Score pawn_structure(const Side *side)
{
    Bitboard own = side->own[PAWN], attacks = side->attacks.of[PAWN];
    Bitboard isolated = own & ~fill_up(fill_down(beside(own)));
    Bitboard doubled = own & fill_down(down(own));
    Bitboard backward = own & ~isolated & down(side->their_pawn_attacks & ~fill_up(attacks));
    return by_file(isolated, isolated_value) + by_file(doubled, doubled_value)
        + by_rank(backward, backward_value, 2) + by_rank(own & beside(own), phalanx_value, 2)
        + by_rank(own & attacks, supported_value, 3);
}

static Score passed_pawns(const Side *side)
{
    Score score = 0;
    Bitboard rest = side->passed;
    while (rest) {
        int square = next_square(&rest), stop = square + 8, rank = square / 8 + 1;
        score += has(side->occupied, stop) ? passed_blocked_value[rank - 2] : passed_free_value[rank - 2];
        if (!(fill_up(bit(stop)) & (side->occupied | side->their_attacks.all))) {
            score += passed_safe_path_value[rank - 2];
        }
        if (rank >= 4) {
            int first = rank >= 6 ? 8 : 0;
            score += passed_own_king_value[first + distance(side->king, stop)];
            score += passed_their_king_value[first + distance(side->their_king, stop)];
        }
    }
    return score;
}

// Knights, bishops, rooks and queens.

// Notes what a piece attacks.
static void note_attacks(Side *side, int kind, Bitboard attacks)
{
    side->attacks.of[kind] |= attacks;
    side->attacks.twice |= side->attacks.all & attacks;
    side->attacks.all |= attacks;
    side->zone_attackers[kind] += (attacks & side->king_zone) != 0;
}

// Squares of the fourth to sixth rank that own pawns defend and that no enemy pawn can ever attack.
static Bitboard outposts(const Side *side)
{
    return side->attacks.of[PAWN] & ~fill_down(side->their_pawn_attacks) & RANKS_4_TO_6;
}

static Score knights(Side *side)
{
    Score score = 0;
    Bitboard rest = side->own[KNIGHT];
    while (rest) {
        int square = next_square(&rest);
        Bitboard attacks = knight_attacks(square);
        note_attacks(side, KNIGHT, attacks);
        score += knight_mobility_value[count(attacks & side->mobility_area)];
        if (has(outposts(side), square)) {
            score += outpost_value[0];
        } else if (attacks & outposts(side) & ~side->own_all) {
            score += outpost_value[2];
        }
    }
    return score;
}

static Score bishops(Side *side)
{
    Score score = 0;
    Bitboard occupied = side->occupied & ~(side->own[QUEEN] | side->their[QUEEN]);
    Bitboard rest = side->own[BISHOP];
    if (count(rest) >= 2) {
        score += bishop_pair_value;
    }
    while (rest) {
        int square = next_square(&rest);
        Bitboard attacks = bishop_attacks(square, occupied);
        Bitboard same_color = has(LIGHT_SQUARES, square) ? LIGHT_SQUARES : ~LIGHT_SQUARES;
        note_attacks(side, BISHOP, attacks);
        score += bishop_mobility_value[count(attacks & side->mobility_area)];
        score += bishop_pawns_value[at_most(count(side->own[PAWN] & same_color), 8)];
        if (has(outposts(side), square)) {
            score += outpost_value[1];
        }
    }
    return score;
}

static Score minors_behind_pawns(const Side *side)
{
    Bitboard behind = down(side->own[PAWN] | side->their[PAWN]);
    return count((side->own[KNIGHT] | side->own[BISHOP]) & behind) * outpost_value[3];
}

static Score rooks(Side *side)
{
    Score score = 0;
    Bitboard occupied = side->occupied & ~(side->own[QUEEN] | side->their[QUEEN] | side->own[ROOK]);
    int seventh_counts = (side->their[KING] & RANK_8) || (side->their[PAWN] & RANK_7);
    Bitboard rest = side->own[ROOK];
    while (rest) {
        int square = next_square(&rest);
        Bitboard attacks = rook_attacks(square, occupied);
        Bitboard file = FILE_A << square % 8;
        note_attacks(side, ROOK, attacks);
        score += rook_mobility_value[count(attacks & side->mobility_area)];
        if (!(side->own[PAWN] & file)) {
            score += rook_file_value[side->their[PAWN] & file ? 1 : 0];
        }
        if (seventh_counts && square / 8 == 6) {
            score += rook_file_value[2];
        }
        if (has(fill_down(side->passed), square)) {
            score += rook_file_value[3];
        }
    }
    return score;
}

static Score queens(Side *side)
{
    Score score = 0;
    Bitboard rest = side->own[QUEEN];
    while (rest) {
        int square = next_square(&rest);
        Bitboard attacks = bishop_attacks(square, side->occupied) | rook_attacks(square, side->occupied);
        note_attacks(side, QUEEN, attacks);
        score += queen_mobility_value[count(attacks & side->mobility_area)];
    }
    return score;
}

// Kings.

// The index in tables of 28 of the rearmost pawn on a file that is not behind the king: seven entries for each distance
// of the file from the edge, the first of them for no pawn.
static int shelter_index(Bitboard pawns, int file, int king)
{
    Bitboard ahead = pawns & (FILE_A << file) & (~(Bitboard)0 << (king & 56));
    return 7 * from_edge(file) + (ahead ? lowest(ahead) / 8 : 0);
}

// The first of the three files whose pawns shelter a king.
static int first_shelter_file(int king)
{
    int file = king % 8;
    return file < 1 ? 0 : file > 6 ? 5 : file - 1;
}

static Score king_shelter(const Side *side)
{
    Score score = 0;
    int king_file = side->king % 8, first = first_shelter_file(side->king);
    for (int file = first; file < first + 3; file++) {
        score += king_shield_value[shelter_index(side->own[PAWN], file, side->king)];
        score += king_storm_value[shelter_index(side->their[PAWN], file, side->king)];
    }
    for (int file = king_file - 1; file <= king_file + 1; file++) {
        if (file < 0 || file > 7 || side->own[PAWN] & (FILE_A << file)) {
            continue;
        }
        score += king_file_value[(file == king_file ? 0 : 2) + (side->their[PAWN] & (FILE_A << file) ? 1 : 0)];
    }
    return score;
}

// The attack on the enemy king: safe checks, and a number of units. Each knight and bishop that attacks the king zone is
// 2 of them, each rook 3, each queen 4; each kind of piece with a safe check is 3; each square next to the king that is
// attacked, and defended by the king alone, is 1. Without a piece that attacks the zone, there are none.
static Score king_attack(const Side *side)
{
    Score score = 0;
    Bitboard open = ~(side->own_all | side->their_attacks.all);
    Bitboard diagonals = bishop_attacks(side->their_king, side->occupied);
    Bitboard lines = rook_attacks(side->their_king, side->occupied);
    Bitboard checks[4];
    const int *attackers = side->zone_attackers;
    int units = 2 * (attackers[KNIGHT] + attackers[BISHOP]) + 3 * attackers[ROOK] + 4 * attackers[QUEEN];
    int attacked = units > 0;
    checks[0] = knight_attacks(side->their_king) & side->attacks.of[KNIGHT];
    checks[1] = diagonals & side->attacks.of[BISHOP];
    checks[2] = lines & side->attacks.of[ROOK];
    checks[3] = (diagonals | lines) & side->attacks.of[QUEEN];
    for (int kind = 0; kind < 4; kind++) {
        if (checks[kind] & open) {
            score += safe_check_value[kind];
            units += 3;
        }
    }
    if (attacked) {
        units += count(side->their_attacks.of[KING] & side->attacks.all & ~side->their_attacks.twice);
        score += king_attack_value[at_most(units - 2, 18)];
    }
    return score;
}

// Threats.

// The kind of the enemy piece on a square.
static int their_kind(const Side *side, int square)
{
    int kind = PAWN;
    while (!has(side->their[kind], square)) {
        kind++;
    }
    return kind;
}

// Enemy pieces that own ones attack, by their kind; `values` begin with kind `first`.
static Score victims(const Side *side, Bitboard attacked, const Score *values, int first)
{
    Score score = 0;
    while (attacked) {
        score += values[their_kind(side, next_square(&attacked)) - first];
    }
    return score;
}

static Score threats(const Side *side)
{
    Score score = 0;
    Bitboard pieces = side->their_all & ~side->their[PAWN] & ~side->their[KING];
    Bitboard no_kings = side->their_all & ~side->their[KING];
    Bitboard defended = side->their_attacks.all;
    const Bitboard *attacks = side->attacks.of;
    const Score *const values[4] = {
        knight_threat_value, bishop_threat_value, rook_threat_value, queen_threat_value,
    };
    // Pawn moves to squares that no enemy pawn attacks and that are defended, or not attacked at all.
    Bitboard once = up(side->own[PAWN]) & ~side->occupied;
    Bitboard pushes = once | (up(once & RANK_3) & ~side->occupied);
    pushes &= ~side->their_attacks.of[PAWN] & (side->attacks.all | ~defended);
    score += victims(side, attacks[PAWN] & pieces, pawn_threat_value, KNIGHT);
    score += victims(side, up(beside(pushes)) & pieces & ~attacks[PAWN], push_threat_value, KNIGHT);
    // Five values of defended pieces, then five of undefended ones.
    for (int kind = KNIGHT; kind <= QUEEN; kind++) {
        score += victims(side, attacks[kind] & no_kings & defended, values[kind - KNIGHT], PAWN);
        score += victims(side, attacks[kind] & no_kings & ~defended, values[kind - KNIGHT] + 5, PAWN);
    }
    return score + victims(side, attacks[KING] & no_kings & ~defended, king_threat_value, PAWN);
}

// The position from both sides, with all attacks; returns the score of everything that is added up.
static Score linear_score(const Position *position, const Sums *sums, Side sides[2])
{
    Score score = sums->score;
    for (int color = WHITE; color <= BLACK; color++) {
        Side *side = &sides[color];
        Score own;
        look(position, color, side);
        own = knights(side) + bishops(side) + rooks(side) + queens(side);
        own += pawn_structure(side);
        own += minors_behind_pawns(side);
        if (color == position->side_to_move) {
            own += tempo_value;
        }
        score += color == WHITE ? own : -own;
    }
    for (int color = WHITE; color <= BLACK; color++) {
        Side *side = &sides[color];
        const Attacks *their = &sides[!color].attacks;
        Score own = 0;
        for (int kind = PAWN; kind <= KING; kind++) {
            side->their_attacks.of[kind] = flipped(their->of[kind]);
        }
        side->their_attacks.all = flipped(their->all);
        side->their_attacks.twice = flipped(their->twice);
        own += passed_pawns(side);
        own += king_shelter(side);
        own += king_attack(side);
        own += threats(side);
        score += color == WHITE ? own : -own;
    }
    return score;
}
