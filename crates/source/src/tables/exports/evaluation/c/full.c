
// Danger is squared and divided, and the endgame value is multiplied by a factor, of which FACTOR_ONE is 1.
static const int DANGER_DIVISOR = 720;
static const int FACTOR_ONE = 64;
static const int FACTOR_MAX = 192;

static const Bitboard FILES_A_TO_D = 0x0f0f0f0f0f0f0f0f;
static const Bitboard RANKS_4_TO_8 = 0xffffffffff000000;

// Pieces between the enemy king and pieces that would otherwise attack it along `attacks`: the king's own are pinned,
// those of the attacker could discover a check.
static Score pins(const Side *side, Bitboard (*attacks)(int, Bitboard), Bitboard pieces)
{
    int king = side->their_king;
    Bitboard seen, pinning, discovering;
    if (!(attacks(king, 0) & pieces)) {
        return 0;
    }
    seen = attacks(king, side->occupied);
    pinning = attacks(king, side->occupied & ~(seen & side->their_all)) & ~seen & pieces;
    discovering = attacks(king, side->occupied & ~(seen & side->own_all)) & ~seen & pieces;
    return count(pinning) * danger_line_value[0] + count(discovering) * danger_line_value[1];
}

// Danger of the enemy king, 0 unless two pieces attack its zone, or one of a side that has a queen.
static Score danger(const Side *side, const Side *defender, int to_move)
{
    const Attacks *own = &side->attacks, *their = &side->their_attacks;
    const int *attacker = side->zone_attackers;
    int attackers = attacker[KNIGHT] + attacker[BISHOP] + attacker[ROOK] + attacker[QUEEN];
    int king = side->their_king, king_file = king % 8;
    Bitboard ring = their->of[KING], zone = side->king_zone;
    // Attacked, not defended twice, and defended by nothing but the king and the queen.
    Bitboard weak = own->all & ~their->twice & (~their->all | their->of[KING] | their->of[QUEEN]);
    Bitboard safe = ~side->own_all & (~their->all | (weak & own->twice));
    Bitboard flank = FILES_A_TO_D << (king_file < 3 ? 0 : king_file < 5 ? 2 : 4);
    Bitboard area = flank & RANKS_4_TO_8;
    Bitboard checks[6] = { 0, 0, 0, 0, 0, 0 };
    Bitboard occupied = side->occupied & ~side->their[QUEEN];
    int ring_attacks = 0, first = first_shelter_file(king);
    Score score;
    if (attackers == 0 || (attackers == 1 && !side->own[QUEEN])) {
        return 0;
    }
    score = danger_value + danger_attackers_value[at_most(attackers - 1, 5)];
    if (to_move) {
        score += danger_to_move_value;
    }
    if (!side->own[QUEEN]) {
        score += danger_no_queen_value;
    }
    checks[KNIGHT] = knight_attacks(king);
    checks[BISHOP] = bishop_attacks(king, occupied);
    checks[ROOK] = rook_attacks(king, occupied);
    checks[QUEEN] = checks[BISHOP] | checks[ROOK];
    for (int kind = KNIGHT; kind <= QUEEN; kind++) {
        Bitboard squares = checks[kind] & own->of[kind] & ~side->own_all;
        int safe_checks = count(squares & safe);
        score += attacker[kind] * danger_attacker_value[kind - KNIGHT];
        ring_attacks += count(own->of[kind] & ring);
        if (their->of[kind] & zone) {
            score += danger_defender_value[kind - KNIGHT];
        }
        if (safe_checks > 0) {
            score += danger_check_value[(safe_checks > 1 ? 4 : 0) + kind - KNIGHT];
        } else if (squares) {
            score += danger_unsafe_check_value[kind - KNIGHT];
        }
    }
    score += danger_ring_value[at_most(ring_attacks, 15)];
    score += danger_ring_twice_value[at_most(count(own->twice & ring), 6)];
    score += danger_weak_value[at_most(count(weak & zone), 7)];
    score += count(own->of[PAWN] & ring) * danger_pawn_value;
    score += danger_escapes_value[count(ring & ~own->all & ~side->their_all)];
    score += pins(side, bishop_attacks, side->own[BISHOP] | side->own[QUEEN]);
    score += pins(side, rook_attacks, side->own[ROOK] | side->own[QUEEN]);
    score += danger_flank_value[at_most((count(own->all & area) + count(own->twice & area)) / 2, 12)];
    score += danger_flank_defense_value[at_most(count(their->all & area) / 2, 11)];
    if (!((side->own[PAWN] | side->their[PAWN]) & flank)) {
        score += danger_pawnless_value;
    }
    score += danger_king_rank_value[at_most(7 - king / 8, 3)];
    for (int file = first; file < first + 3; file++) {
        score += danger_shield_value[shelter_index(defender->own[PAWN], file, defender->king)];
        score += danger_storm_value[shelter_index(defender->their[PAWN], file, defender->king)];
    }
    return score;
}

// True if there are pawns on the files a to d and on the files e to h.
static int on_both_flanks(Bitboard pawns)
{
    return (pawns & FILES_A_TO_D) && (pawns & ~FILES_A_TO_D);
}

// How easily an advantage can be used, the same for both sides.
static Score complexity(const Side *white, const Side *black)
{
    Bitboard pawns = white->own[PAWN] | white->their[PAWN];
    int king = white->king, their_king = white->their_king;
    int files = king % 8 - their_king % 8, ranks = king / 8 - their_king / 8;
    int outflanking = (files < 0 ? -files : files) - (ranks < 0 ? -ranks : ranks);
    int pieces = count(white->occupied) - count(pawns) - 2;
    Score score = complexity_pawns_value[at_most(count(pawns), 16)];
    if (on_both_flanks(pawns)) {
        score += complexity_flanks_value;
    }
    score += complexity_passed_value[at_most(count(white->passed) + count(black->passed), 4)];
    score += complexity_outflanking_value[outflanking < -4 ? 0 : at_most(outflanking + 4, 8)];
    if (king / 8 > 3 || their_king / 8 < 4) {
        score += complexity_infiltration_value;
    }
    if (pieces == 0) {
        score += complexity_pawn_ending_value;
    }
    return score + complexity_pieces_value[at_most(pieces, 8)];
}

// True if both sides have these numbers of pieces.
static int both_have(const Side *side, int knights, int bishops, int rooks, int queens)
{
    return count(side->own[KNIGHT]) == knights && count(side->their[KNIGHT]) == knights
        && count(side->own[BISHOP]) == bishops && count(side->their[BISHOP]) == bishops
        && count(side->own[ROOK]) == rooks && count(side->their[ROOK]) == rooks
        && count(side->own[QUEEN]) == queens && count(side->their[QUEEN]) == queens;
}

// The kind of ending, an index of factor_ending.
static int ending(const Side *side)
{
    int rooks = count(side->own[ROOK]), queens = count(side->own[QUEEN]);
    int minors = count(side->own[KNIGHT] | side->own[BISHOP]) == 1
        && count(side->their[KNIGHT] | side->their[BISHOP]) == 1;
    int opposite = count(side->own[BISHOP]) == 1 && count(side->their[BISHOP]) == 1
        && !(side->own[BISHOP] & LIGHT_SQUARES) != !(side->their[BISHOP] & LIGHT_SQUARES);
    if (rooks != count(side->their[ROOK]) || queens != count(side->their[QUEEN])) {
        return 13;
    }
    if (both_have(side, 0, 0, 0, 0)) {
        return 0;
    }
    if (both_have(side, 1, 0, 0, 0)) {
        return 1;
    }
    if (both_have(side, 0, 1, 0, 0)) {
        return opposite ? 3 : 2;
    }
    if (rooks == 0 && queens == 0 && minors) {
        return side->own[KNIGHT] ? 5 : 4;
    }
    if (both_have(side, 0, 0, 1, 0)) {
        return 6;
    }
    if (rooks == 1 && queens == 0 && minors) {
        return opposite ? 8 : 7;
    }
    if (opposite) {
        return 9;
    }
    if (both_have(side, 0, 0, 2, 0)) {
        return 10;
    }
    if (both_have(side, 0, 0, 0, 1)) {
        return 11;
    }
    return queens == 1 ? 12 : 13;
}

// The share of the endgame value that remains with the material on the board if the side is the stronger one, of
// FACTOR_ONE.
static int factor(const Side *side)
{
    Bitboard all_pawns = side->own[PAWN] | side->their[PAWN];
    int pawns = count(side->own[PAWN]), their_pawns = count(side->their[PAWN]);
    int ahead = 3 * (count(side->own[KNIGHT] | side->own[BISHOP]) - count(side->their[KNIGHT] | side->their[BISHOP]))
        + 5 * (count(side->own[ROOK]) - count(side->their[ROOK]))
        + 9 * (count(side->own[QUEEN]) - count(side->their[QUEEN]));
    // Less, the same, 1 or 2, 3, 4, 5, 6 or more.
    int step = ahead < 0 ? 0 : ahead == 0 ? 1 : ahead <= 2 ? 2 : at_most(ahead, 6);
    int kind = ending(side), more = pawns > their_pawns ? at_most(pawns - their_pawns, 3) : 0;
    Score score = factor_pawns_value[at_most(pawns, 8)] + factor_their_pawns_value[at_most(their_pawns, 8)]
        + factor_ahead_value[7 * at_most(pawns, 2) + step] + factor_ending_value[kind]
        + factor_passed_value[at_most(count(side->passed), 3)];
    if (kind == 3) {
        score += factor_opposite_bishops_value[more];
    }
    if (kind == 6) {
        score += factor_rooks_value[more];
    }
    if (!on_both_flanks(all_pawns)) {
        score += factor_flank_value[kind == 6 ? 1 : 0];
    }
    // Only endgame values of the factor count.
    return eg_of(score) < 0 ? 0 : at_most(eg_of(score), FACTOR_MAX);
}

// The square of danger; negative danger is none.
static int64_t squared(int64_t danger_sum)
{
    return danger_sum > 0 ? danger_sum * danger_sum : 0;
}

// Makes a value larger or smaller by `by`, without turning its sign.
static int64_t adjusted(int64_t value, int64_t by)
{
    int64_t size = (value < 0 ? -value : value) + by;
    return value == 0 || size < 0 ? 0 : value < 0 ? -size : size;
}

int evaluate_with(const Position *position, const Sums *sums)
{
    Side sides[2];
    Score linear = linear_score(position, sums, sides);
    Score white_danger = danger(&sides[BLACK], &sides[WHITE], position->side_to_move == BLACK);
    Score black_danger = danger(&sides[WHITE], &sides[BLACK], position->side_to_move == WHITE);
    Score change = complexity(&sides[WHITE], &sides[BLACK]);
    int phase = at_most(sums->phase, PHASE_MAX);
    // In units of 1 / DANGER_DIVISOR centipawn, so that nothing is cut off before the end.
    int64_t mg = (int64_t)DANGER_DIVISOR * mg_of(linear);
    int64_t eg = (int64_t)DANGER_DIVISOR * eg_of(linear);
    mg += squared(mg_of(black_danger)) - squared(mg_of(white_danger));
    eg += squared(eg_of(black_danger)) - squared(eg_of(white_danger));
    mg = adjusted(mg, (int64_t)DANGER_DIVISOR * mg_of(change));
    eg = adjusted(eg, (int64_t)DANGER_DIVISOR * eg_of(change));
    mg *= FACTOR_ONE;
    eg *= factor(&sides[eg < 0 ? BLACK : WHITE]);
    return finish(
        mg * phase + eg * (PHASE_MAX - phase),
        (int64_t)DANGER_DIVISOR * FACTOR_ONE * PHASE_MAX,
        position->side_to_move
    );
}
