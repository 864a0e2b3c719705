
const DANGER_DIVISOR: i64 = 720;
/// The endgame value is multiplied by a factor, of which this is 1.
const FACTOR_ONE: i64 = 64;
const FACTOR_MAX: i64 = 192;

const FILES_A_TO_D: Bitboard = 0x0f0f_0f0f_0f0f_0f0f;
const RANKS_4_TO_8: Bitboard = Bitboard::MAX << 24;

/// Returns the entry of a table, or its last.
fn capped(values: &[Score], index: usize) -> Score {
    values[index.min(values.len() - 1)]
}

/// True if there are pawns on the files a to d and on the files e to h.
fn on_both_flanks(pawns: Bitboard) -> bool {
    pawns & FILES_A_TO_D != 0 && pawns & !FILES_A_TO_D != 0
}

impl Side {
    /// Pieces between the enemy king and pieces that would otherwise attack it along `attacks`: the king's own are
    /// pinned, those of the attacker could discover a check.
    fn pins(&self, attacks: fn(usize, Bitboard) -> Bitboard, pieces: Bitboard) -> Score {
        let king = self.their_king;
        if attacks(king, 0) & pieces == 0 {
            return 0;
        }
        let seen = attacks(king, self.occupied);
        let behind = |side: Bitboard| {
            let attacks = attacks(king, self.occupied & !(seen & side));
            count(attacks & !seen & pieces) as i64
        };
        behind(self.their_all) * DANGER_LINE_VALUE[0] + behind(self.own_all) * DANGER_LINE_VALUE[1]
    }

    /// Danger of the enemy king, 0 unless two pieces attack its zone, or one of a side that has a queen.
    fn danger(&self, defender: &Self, to_move: bool) -> Score {
        let (own, their) = (&self.attacks, &self.their_attacks);
        let attackers: usize = self.zone_attackers.iter().sum();
        if attackers == 0 || attackers == 1 && self.own[QUEEN] == 0 {
            return 0;
        }
        let mut score = DANGER_VALUE + capped(&DANGER_ATTACKERS_VALUE, attackers - 1);
        if to_move {
            score += DANGER_TO_MOVE_VALUE;
        }
        if self.own[QUEEN] == 0 {
            score += DANGER_NO_QUEEN_VALUE;
        }
        let (king, ring, zone) = (self.their_king, their.of[KING], self.king_zone);
        // Attacked, not defended twice, and defended by nothing but the king and the queen.
        let weak = own.all & !their.twice & (!their.all | their.of[KING] | their.of[QUEEN]);
        let safe = !self.own_all & (!their.all | weak & own.twice);
        // The king's own queen may move away.
        let occupied = self.occupied & !self.their[QUEEN];
        let (diagonals, lines) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
        let checks = [knight_attacks(king), diagonals, lines, diagonals | lines];
        let mut ring_attacks = 0;
        for (index, &check) in checks.iter().enumerate() {
            let kind = KNIGHT + index;
            let squares = check & own.of[kind] & !self.own_all;
            score += self.zone_attackers[kind] as i64 * DANGER_ATTACKER_VALUE[index];
            ring_attacks += count(own.of[kind] & ring);
            if their.of[kind] & zone != 0 {
                score += DANGER_DEFENDER_VALUE[index];
            }
            score += match count(squares & safe) {
                0 if squares != 0 => DANGER_UNSAFE_CHECK_VALUE[index],
                0 => 0,
                1 => DANGER_CHECK_VALUE[index],
                _ => DANGER_CHECK_VALUE[4 + index],
            };
        }
        score += capped(&DANGER_RING_VALUE, ring_attacks);
        score += capped(&DANGER_RING_TWICE_VALUE, count(own.twice & ring));
        score += capped(&DANGER_WEAK_VALUE, count(weak & zone));
        score += count(own.of[PAWN] & ring) as i64 * DANGER_PAWN_VALUE;
        score += DANGER_ESCAPES_VALUE[count(ring & !own.all & !self.their_all)];
        score += self.pins(bishop_attacks, self.own[BISHOP] | self.own[QUEEN]);
        score += self.pins(rook_attacks, self.own[ROOK] | self.own[QUEEN]);
        let flank = FILES_A_TO_D << [0, 0, 0, 2, 2, 4, 4, 4][king % 8];
        let area = flank & RANKS_4_TO_8;
        score += capped(&DANGER_FLANK_VALUE, (count(own.all & area) + count(own.twice & area)) / 2);
        score += capped(&DANGER_FLANK_DEFENSE_VALUE, count(their.all & area) / 2);
        if (self.own[PAWN] | self.their[PAWN]) & flank == 0 {
            score += DANGER_PAWNLESS_VALUE;
        }
        score += capped(&DANGER_KING_RANK_VALUE, 7 - king / 8);
        for file in shelter_files(king) {
            score += DANGER_SHIELD_VALUE[shelter_index(defender.own[PAWN], file, defender.king)];
            score += DANGER_STORM_VALUE[shelter_index(defender.their[PAWN], file, defender.king)];
        }
        score
    }

    /// The kind of ending, an index of FACTOR_ENDING_VALUE.
    fn ending(&self) -> usize {
        let counts = |pieces: &[Bitboard; 6]| [KNIGHT, BISHOP, ROOK, QUEEN].map(|kind| count(pieces[kind]));
        let (own, their) = (counts(&self.own), counts(&self.their));
        let minors = own[0] + own[1] == 1 && their[0] + their[1] == 1;
        let light = |bishops: Bitboard| bishops & LIGHT_SQUARES != 0;
        let opposite = own[1] == 1 && their[1] == 1 && light(self.own[BISHOP]) != light(self.their[BISHOP]);
        if own[2..] != their[2..] {
            return 13;
        }
        match own {
            [0, 0, 0, 0] if own == their => 0,
            [1, 0, 0, 0] if own == their => 1,
            [0, 1, 0, 0] if own == their => 2 + usize::from(opposite),
            [knights, _, 0, 0] if minors => 4 + knights,
            [0, 0, 1, 0] if own == their => 6,
            [_, _, 1, 0] if minors => 7 + usize::from(opposite),
            _ if opposite => 9,
            [0, 0, 2, 0] if own == their => 10,
            [0, 0, 0, 1] if own == their => 11,
            [_, _, _, 1] => 12,
            _ => 13,
        }
    }

    /// The share of the endgame value that remains with the material on the board if the side is the stronger one, of
    /// FACTOR_ONE.
    fn factor(&self) -> i64 {
        let worth = |pieces: &[Bitboard; 6]| {
            3 * count(pieces[KNIGHT] | pieces[BISHOP]) + 5 * count(pieces[ROOK]) + 9 * count(pieces[QUEEN])
        };
        let (pawns, their_pawns) = (count(self.own[PAWN]), count(self.their[PAWN]));
        let more = pawns.saturating_sub(their_pawns);
        // By how much the pieces are worth more: less, the same, 1 or 2, 3, 4, 5, 6 or more.
        let step = match worth(&self.own).checked_sub(worth(&self.their)) {
            None => 0,
            Some(0) => 1,
            Some(ahead) => ahead.clamp(2, 6),
        };
        let kind = self.ending();
        let mut score = capped(&FACTOR_PAWNS_VALUE, pawns)
            + capped(&FACTOR_THEIR_PAWNS_VALUE, their_pawns)
            + FACTOR_AHEAD_VALUE[7 * pawns.min(2) + step]
            + FACTOR_ENDING_VALUE[kind]
            + capped(&FACTOR_PASSED_VALUE, count(self.passed));
        score += match kind {
            3 => capped(&FACTOR_OPPOSITE_BISHOPS_VALUE, more),
            6 => capped(&FACTOR_ROOKS_VALUE, more),
            _ => 0,
        };
        if !on_both_flanks(self.own[PAWN] | self.their[PAWN]) {
            score += FACTOR_FLANK_VALUE[usize::from(kind == 6)];
        }
        // Only endgame values of the factor count.
        eg_of(score).clamp(0, FACTOR_MAX)
    }
}

/// How easily an advantage can be used, the same for both sides.
fn complexity(white: &Side, black: &Side) -> Score {
    let pawns = white.own[PAWN] | white.their[PAWN];
    let (king, their_king) = (white.king, white.their_king);
    let (files, ranks) = ((king % 8).abs_diff(their_king % 8), (king / 8).abs_diff(their_king / 8));
    let pieces = count(white.occupied) - count(pawns) - 2;
    let mut score = capped(&COMPLEXITY_PAWNS_VALUE, count(pawns))
        + capped(&COMPLEXITY_PASSED_VALUE, count(white.passed) + count(black.passed))
        + capped(&COMPLEXITY_OUTFLANKING_VALUE, (4 + files).saturating_sub(ranks))
        + capped(&COMPLEXITY_PIECES_VALUE, pieces);
    if on_both_flanks(pawns) {
        score += COMPLEXITY_FLANKS_VALUE;
    }
    if king / 8 > 3 || their_king / 8 < 4 {
        score += COMPLEXITY_INFILTRATION_VALUE;
    }
    if pieces == 0 {
        score += COMPLEXITY_PAWN_ENDING_VALUE;
    }
    score
}

/// The square of danger; negative danger is none.
fn squared(danger: i64) -> i64 {
    danger.max(0) * danger.max(0)
}

/// Makes a value larger or smaller by `by`, without turning its sign.
fn adjusted(value: i64, by: i64) -> i64 {
    value.signum() * (value.abs() + by).max(0)
}

/// As `evaluate`, with sums that the caller keeps.
pub fn evaluate_with(position: &Position, sums: &Sums) -> i32 {
    let ([white, black], linear) = linear_score(position, sums);
    let white_danger = black.danger(&white, position.side_to_move == BLACK);
    let black_danger = white.danger(&black, position.side_to_move == WHITE);
    let change = complexity(&white, &black);
    let phase = sums.phase.min(PHASE_MAX);
    // In units of 1 / DANGER_DIVISOR centipawn, so that nothing is cut off before the end.
    let [mg, eg] = [mg_of, eg_of].map(|of| {
        let value = DANGER_DIVISOR * of(linear);
        let value = value + squared(of(black_danger)) - squared(of(white_danger));
        let value = adjusted(value, DANGER_DIVISOR * of(change));
        value
    });
    let mg = mg * FACTOR_ONE;
    let eg = eg * if eg < 0 { black.factor() } else { white.factor() };
    let total = mg * phase + eg * (PHASE_MAX - phase);
    finish(total, DANGER_DIVISOR * FACTOR_ONE * PHASE_MAX, position.side_to_move)
}
