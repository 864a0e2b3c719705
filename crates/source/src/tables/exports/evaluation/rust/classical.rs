
// Sets of squares. Each side sees the board from its own side, so that its pawns move up.

const FILE_A: Bitboard = 0x0101_0101_0101_0101;
const FILE_H: Bitboard = 0x8080_8080_8080_8080;
const RANK_3: Bitboard = 0xff << 16;
const RANK_7: Bitboard = 0xff << 48;
const RANK_8: Bitboard = 0xff << 56;
const RANKS_4_TO_6: Bitboard = 0xff_ffff << 24;
const LIGHT_SQUARES: Bitboard = 0x55aa_55aa_55aa_55aa;
/// From a1 to h8, and from h1 to a8.
const DIAGONAL: Bitboard = 0x8040_2010_0804_0201;
const ANTIDIAGONAL: Bitboard = 0x0102_0408_1020_4080;

fn count(set: Bitboard) -> usize {
    set.count_ones() as usize
}

fn bit(square: usize) -> Bitboard {
    1 << square
}

fn has(set: Bitboard, square: usize) -> bool {
    set >> square & 1 == 1
}

fn up(set: Bitboard) -> Bitboard {
    set << 8
}

fn down(set: Bitboard) -> Bitboard {
    set >> 8
}

fn left(set: Bitboard) -> Bitboard {
    (set & !FILE_A) >> 1
}

fn right(set: Bitboard) -> Bitboard {
    (set & !FILE_H) << 1
}

fn beside(set: Bitboard) -> Bitboard {
    left(set) | right(set)
}

/// A set with all squares in front of it.
fn fill_up(mut set: Bitboard) -> Bitboard {
    set |= set << 8;
    set |= set << 16;
    set | set << 32
}

/// A set with all squares behind it.
fn fill_down(mut set: Bitboard) -> Bitboard {
    set |= set >> 8;
    set |= set >> 16;
    set | set >> 32
}

/// The distance of a file from the nearer edge: 0 for a and h, 3 for d and e.
fn from_edge(file: usize) -> usize {
    file.min(7 - file)
}

/// The distance of two squares in moves of a king.
fn distance(a: usize, b: usize) -> usize {
    (a % 8).abs_diff(b % 8).max((a / 8).abs_diff(b / 8))
}

// Attacks of pieces.

fn knight_attacks(square: usize) -> Bitboard {
    let one = beside(bit(square));
    let two = left(left(bit(square))) | right(right(bit(square)));
    up(up(one)) | down(down(one)) | up(two) | down(two)
}

fn king_attacks(square: usize) -> Bitboard {
    let row = bit(square) | beside(bit(square));
    (row | up(row) | down(row)) & !bit(square)
}

/// The squares that a piece attacks along a line on which it stands: those between the nearest piece below it and the
/// nearest above it, both included. The subtraction sets all bits from the one to the other.
fn line_attacks(square: usize, line: Bitboard, occupied: Bitboard) -> Bitboard {
    let line = line & !bit(square);
    let pieces = line & occupied;
    let above = pieces & !(bit(square) - 1);
    let nearest_below = 1 << (63 - (pieces & (bit(square) - 1) | 1).leading_zeros());
    line & ((above & above.wrapping_neg()) << 1).wrapping_sub(nearest_below)
}

fn bishop_attacks(square: usize, occupied: Bitboard) -> Bitboard {
    let (file, rank) = (square % 8, square / 8);
    let diagonal = if rank >= file { DIAGONAL << (8 * (rank - file)) } else { DIAGONAL >> (8 * (file - rank)) };
    let antidiagonal = match rank + file {
        sum @ 7.. => ANTIDIAGONAL << (8 * (sum - 7)),
        sum => ANTIDIAGONAL >> (8 * (7 - sum)),
    };
    line_attacks(square, diagonal, occupied) | line_attacks(square, antidiagonal, occupied)
}

fn rook_attacks(square: usize, occupied: Bitboard) -> Bitboard {
    let (file, rank) = (FILE_A << (square % 8), 0xff << (square & 56));
    line_attacks(square, file, occupied) | line_attacks(square, rank, occupied)
}

/// The squares that a side attacks. Pins are ignored; bishops see through queens, rooks through queens and rooks of
/// their own side.
#[derive(Clone, Copy, Default)]
struct Attacks {
    /// By kind of piece.
    of: [Bitboard; 6],
    all: Bitboard,
    /// By two pieces or more.
    twice: Bitboard,
}

/// The position as one side sees it.
struct Side {
    /// By kind of piece.
    own: [Bitboard; 6],
    their: [Bitboard; 6],
    own_all: Bitboard,
    their_all: Bitboard,
    occupied: Bitboard,
    their_pawn_attacks: Bitboard,
    king: usize,
    their_king: usize,
    /// Its pawns with none in front of them, nor enemy pawns there on the adjacent files.
    passed: Bitboard,
    /// No own pawn or king, and not attacked by enemy pawns.
    mobility_area: Bitboard,
    /// The enemy king, the squares next to it, and those in front of them.
    king_zone: Bitboard,
    /// Pieces that attack the zone, by kind.
    zone_attackers: [usize; 6],
    attacks: Attacks,
    their_attacks: Attacks,
}

fn by_file(mut pawns: Bitboard, values: &[Score]) -> Score {
    let mut score = 0;
    while pawns != 0 {
        score += values[from_edge(next_square(&mut pawns) % 8)];
    }
    score
}

/// Adds up values that begin with those of rank `first`.
fn by_rank(mut pawns: Bitboard, values: &[Score], first: usize) -> Score {
    let mut score = 0;
    while pawns != 0 {
        score += values[next_square(&mut pawns) / 8 + 1 - first];
    }
    score
}

/// The index in tables of 28 of the rearmost pawn on a file that is not behind the king: seven entries for each distance
/// of the file from the edge, the first of them for no pawn.
fn shelter_index(pawns: Bitboard, file: usize, king: usize) -> usize {
    let ahead = pawns & FILE_A << file & Bitboard::MAX << (king & 56);
    7 * from_edge(file) + if ahead == 0 { 0 } else { lowest(ahead) / 8 }
}

/// The three files whose pawns shelter a king.
fn shelter_files(king: usize) -> std::ops::RangeInclusive<usize> {
    let middle = (king % 8).clamp(1, 6);
    middle - 1..=middle + 1
}

impl Side {
    fn new(position: &Position, color: usize) -> Self {
        let seen = |of: usize| position.pieces[of].map(|set| if color == WHITE { set } else { set.swap_bytes() });
        let all = |pieces: &[Bitboard; 6]| pieces.iter().fold(0, |all, set| all | set);
        let (own, their) = (seen(color), seen(1 - color));
        let (king, their_king) = (lowest(own[KING]), lowest(their[KING]));
        let their_pawn_attacks = down(beside(their[PAWN]));
        let near = their[KING] | king_attacks(their_king);
        let mut attacks = Attacks::default();
        attacks.of[PAWN] = up(beside(own[PAWN]));
        attacks.of[KING] = king_attacks(king);
        attacks.all = attacks.of[PAWN] | attacks.of[KING];
        attacks.twice = attacks.of[PAWN] & attacks.of[KING] | up(left(own[PAWN]) & right(own[PAWN]));
        Self {
            own,
            their,
            own_all: all(&own),
            their_all: all(&their),
            occupied: all(&own) | all(&their),
            their_pawn_attacks,
            king,
            their_king,
            passed: own[PAWN] & !fill_down(down(own[PAWN] | their[PAWN]) | their_pawn_attacks),
            mobility_area: !(their_pawn_attacks | own[PAWN] | own[KING]),
            king_zone: near | down(near),
            zone_attackers: [0; 6],
            attacks,
            their_attacks: Attacks::default(),
        }
    }

    // Pawns.

    /// The part that depends on pawns alone; it can be cached. Pawns are
    /// - isolated: without pawns of their side on the adjacent files;
    /// - doubled: with one in front of them on their file;
    /// - backward: not isolated, and the square in front of them is attacked by a pawn and can never be defended by one.
    fn pawn_structure(&self) -> Score {
        let (own, attacks) = (self.own[PAWN], self.attacks.of[PAWN]);
        let isolated = own & !fill_up(fill_down(beside(own)));
        let doubled = own & fill_down(down(own));
        let backward = own & !isolated & down(self.their_pawn_attacks & !fill_up(attacks));
        by_file(isolated, &ISOLATED_VALUE)
            + by_file(doubled, &DOUBLED_VALUE)
            + by_rank(backward, &BACKWARD_VALUE, 2)
            + by_rank(own & beside(own), &PHALANX_VALUE, 2)
            + by_rank(own & attacks, &SUPPORTED_VALUE, 3)
    }

    fn passed_pawns(&self) -> Score {
        let mut score = 0;
        let mut rest = self.passed;
        while rest != 0 {
            let square = next_square(&mut rest);
            let (stop, rank) = (square + 8, square / 8 + 1);
            let blocked = has(self.occupied, stop);
            score += if blocked { PASSED_BLOCKED_VALUE[rank - 2] } else { PASSED_FREE_VALUE[rank - 2] };
            if fill_up(bit(stop)) & (self.occupied | self.their_attacks.all) == 0 {
                score += PASSED_SAFE_PATH_VALUE[rank - 2];
            }
            if rank >= 4 {
                let first = if rank >= 6 { 8 } else { 0 };
                score += PASSED_OWN_KING_VALUE[first + distance(self.king, stop)];
                score += PASSED_THEIR_KING_VALUE[first + distance(self.their_king, stop)];
            }
        }
        score
    }

    // Knights, bishops, rooks and queens.

    /// Notes what a piece attacks.
    fn note_attacks(&mut self, kind: usize, attacks: Bitboard) {
        self.attacks.of[kind] |= attacks;
        self.attacks.twice |= self.attacks.all & attacks;
        self.attacks.all |= attacks;
        self.zone_attackers[kind] += usize::from(attacks & self.king_zone != 0);
    }

    /// Squares of the fourth to sixth rank that own pawns defend and that no enemy pawn can ever attack.
    fn outposts(&self) -> Bitboard {
        self.attacks.of[PAWN] & !fill_down(self.their_pawn_attacks) & RANKS_4_TO_6
    }

    fn knights(&mut self) -> Score {
        let mut score = 0;
        let mut rest = self.own[KNIGHT];
        while rest != 0 {
            let square = next_square(&mut rest);
            let attacks = knight_attacks(square);
            self.note_attacks(KNIGHT, attacks);
            score += KNIGHT_MOBILITY_VALUE[count(attacks & self.mobility_area)];
            if has(self.outposts(), square) {
                score += OUTPOST_VALUE[0];
            } else if attacks & self.outposts() & !self.own_all != 0 {
                score += OUTPOST_VALUE[2];
            }
        }
        score
    }

    fn bishops(&mut self) -> Score {
        let mut score = 0;
        let occupied = self.occupied & !(self.own[QUEEN] | self.their[QUEEN]);
        let mut rest = self.own[BISHOP];
        if count(rest) >= 2 {
            score += BISHOP_PAIR_VALUE;
        }
        while rest != 0 {
            let square = next_square(&mut rest);
            let attacks = bishop_attacks(square, occupied);
            let same_color = if has(LIGHT_SQUARES, square) { LIGHT_SQUARES } else { !LIGHT_SQUARES };
            self.note_attacks(BISHOP, attacks);
            score += BISHOP_MOBILITY_VALUE[count(attacks & self.mobility_area)];
            score += BISHOP_PAWNS_VALUE[count(self.own[PAWN] & same_color).min(8)];
            if has(self.outposts(), square) {
                score += OUTPOST_VALUE[1];
            }
        }
        score
    }

    fn minors_behind_pawns(&self) -> Score {
        let behind = down(self.own[PAWN] | self.their[PAWN]);
        count((self.own[KNIGHT] | self.own[BISHOP]) & behind) as i64 * OUTPOST_VALUE[3]
    }

    fn rooks(&mut self) -> Score {
        let mut score = 0;
        let occupied = self.occupied & !(self.own[QUEEN] | self.their[QUEEN] | self.own[ROOK]);
        let seventh_counts = self.their[KING] & RANK_8 != 0 || self.their[PAWN] & RANK_7 != 0;
        let mut rest = self.own[ROOK];
        while rest != 0 {
            let square = next_square(&mut rest);
            let attacks = rook_attacks(square, occupied);
            let file = FILE_A << (square % 8);
            self.note_attacks(ROOK, attacks);
            score += ROOK_MOBILITY_VALUE[count(attacks & self.mobility_area)];
            if self.own[PAWN] & file == 0 {
                score += ROOK_FILE_VALUE[usize::from(self.their[PAWN] & file != 0)];
            }
            if seventh_counts && square / 8 == 6 {
                score += ROOK_FILE_VALUE[2];
            }
            if has(fill_down(self.passed), square) {
                score += ROOK_FILE_VALUE[3];
            }
        }
        score
    }

    fn queens(&mut self) -> Score {
        let mut score = 0;
        let mut rest = self.own[QUEEN];
        while rest != 0 {
            let square = next_square(&mut rest);
            let attacks = bishop_attacks(square, self.occupied) | rook_attacks(square, self.occupied);
            self.note_attacks(QUEEN, attacks);
            score += QUEEN_MOBILITY_VALUE[count(attacks & self.mobility_area)];
        }
        score
    }

    // Kings.

    fn king_shelter(&self) -> Score {
        let mut score = 0;
        for file in shelter_files(self.king) {
            score += KING_SHIELD_VALUE[shelter_index(self.own[PAWN], file, self.king)];
            score += KING_STORM_VALUE[shelter_index(self.their[PAWN], file, self.king)];
        }
        let king_file = self.king % 8;
        for file in king_file.saturating_sub(1)..=(king_file + 1).min(7) {
            if self.own[PAWN] & FILE_A << file == 0 {
                let first = if file == king_file { 0 } else { 2 };
                score += KING_FILE_VALUE[first + usize::from(self.their[PAWN] & FILE_A << file != 0)];
            }
        }
        score
    }

    /// The attack on the enemy king: safe checks, and a number of units. Each knight and bishop that attacks the king
    /// zone is 2 of them, each rook 3, each queen 4; each kind of piece with a safe check is 3; each square next to the
    /// king that is attacked, and defended by the king alone, is 1. Without a piece that attacks the zone, there are
    /// none.
    fn king_attack(&self) -> Score {
        let mut score = 0;
        let open = !(self.own_all | self.their_attacks.all);
        let diagonals = bishop_attacks(self.their_king, self.occupied);
        let lines = rook_attacks(self.their_king, self.occupied);
        let checks = [
            knight_attacks(self.their_king) & self.attacks.of[KNIGHT],
            diagonals & self.attacks.of[BISHOP],
            lines & self.attacks.of[ROOK],
            (diagonals | lines) & self.attacks.of[QUEEN],
        ];
        let attackers = &self.zone_attackers;
        let mut units =
            2 * (attackers[KNIGHT] + attackers[BISHOP]) + 3 * attackers[ROOK] + 4 * attackers[QUEEN];
        let attacked = units > 0;
        for (check, value) in checks.iter().zip(&SAFE_CHECK_VALUE) {
            if check & open != 0 {
                score += value;
                units += 3;
            }
        }
        if attacked {
            units += count(self.their_attacks.of[KING] & self.attacks.all & !self.their_attacks.twice);
            score += KING_ATTACK_VALUE[(units - 2).min(18)];
        }
        score
    }

    // Threats.

    /// The kind of the enemy piece on a square.
    fn their_kind(&self, square: usize) -> usize {
        (PAWN..KING).find(|&kind| has(self.their[kind], square)).unwrap_or(KING)
    }

    /// Enemy pieces that own ones attack, by their kind; `values` begin with kind `first`.
    fn victims(&self, mut attacked: Bitboard, values: &[Score], first: usize) -> Score {
        let mut score = 0;
        while attacked != 0 {
            score += values[self.their_kind(next_square(&mut attacked)) - first];
        }
        score
    }

    fn threats(&self) -> Score {
        let no_kings = self.their_all & !self.their[KING];
        let pieces = no_kings & !self.their[PAWN];
        let defended = self.their_attacks.all;
        let attacks = &self.attacks.of;
        // Pawn moves to squares that no enemy pawn attacks and that are defended, or not attacked at all.
        let once = up(self.own[PAWN]) & !self.occupied;
        let pushes = (once | up(once & RANK_3) & !self.occupied)
            & !self.their_attacks.of[PAWN]
            & (self.attacks.all | !defended);
        let mut score = self.victims(attacks[PAWN] & pieces, &PAWN_THREAT_VALUE, KNIGHT)
            + self.victims(up(beside(pushes)) & pieces & !attacks[PAWN], &PUSH_THREAT_VALUE, KNIGHT);
        // Five values of defended pieces, then five of undefended ones.
        let values = [&KNIGHT_THREAT_VALUE, &BISHOP_THREAT_VALUE, &ROOK_THREAT_VALUE, &QUEEN_THREAT_VALUE];
        for (kind, values) in (KNIGHT..).zip(values) {
            score += self.victims(attacks[kind] & no_kings & defended, &values[..5], PAWN);
            score += self.victims(attacks[kind] & no_kings & !defended, &values[5..], PAWN);
        }
        score + self.victims(attacks[KING] & no_kings & !defended, &KING_THREAT_VALUE, PAWN)
    }
}

/// The position from both sides, with all attacks, and the score of everything that is added up.
fn linear_score(position: &Position, sums: &Sums) -> ([Side; 2], Score) {
    let mut score = sums.score;
    let mut sides = [WHITE, BLACK].map(|color| Side::new(position, color));
    for (color, side) in sides.iter_mut().enumerate() {
        let mut own = side.knights() + side.bishops() + side.rooks() + side.queens();
        own += side.pawn_structure();
        own += side.minors_behind_pawns();
        if color == position.side_to_move {
            own += TEMPO_VALUE;
        }
        score += if color == WHITE { own } else { -own };
    }
    for color in [WHITE, BLACK] {
        let Attacks { of, all, twice } = sides[1 - color].attacks;
        let of = of.map(Bitboard::swap_bytes);
        let side = &mut sides[color];
        side.their_attacks = Attacks { of, all: all.swap_bytes(), twice: twice.swap_bytes() };
        let mut own = 0;
        own += side.passed_pawns();
        own += side.king_shelter();
        own += side.king_attack();
        own += side.threats();
        score += if color == WHITE { own } else { -own };
    }
    (sides, score)
}
