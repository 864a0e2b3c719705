
static SQUARE_VALUES: [&[Score; 64]; 6] =
    [&PAWN_VALUE, &KNIGHT_VALUE, &BISHOP_VALUE, &ROOK_VALUE, &QUEEN_VALUE, &KING_VALUE];

/// The value of a piece on a square; Black's pieces take the square with the rank mirrored and count against White.
fn piece_score(color: usize, kind: usize, square: usize) -> Score {
    if color == WHITE { SQUARE_VALUES[kind][square] } else { -SQUARE_VALUES[kind][square ^ 56] }
}

/// Sums that each move changes by a few pieces only: the values of all pieces on their squares, White's less Black's,
/// and the units of the phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    score: Score,
    phase: i64,
}

/// The sums of a position, and what a move does to them; castling moves two pieces, a capture removes one.
impl Sums {
    pub fn of(position: &Position) -> Self {
        let mut sums = Self::default();
        for color in [WHITE, BLACK] {
            for kind in PAWN..=KING {
                let mut rest = position.pieces[color][kind];
                while rest != 0 {
                    sums.add_piece(color, kind, next_square(&mut rest));
                }
            }
        }
        sums
    }

    pub fn add_piece(&mut self, color: usize, kind: usize, square: usize) {
        self.score += piece_score(color, kind, square);
        self.phase += PHASE_UNITS[kind];
    }

    pub fn remove_piece(&mut self, color: usize, kind: usize, square: usize) {
        self.score -= piece_score(color, kind, square);
        self.phase -= PHASE_UNITS[kind];
    }

    pub fn move_piece(&mut self, color: usize, kind: usize, from: usize, to: usize) {
        self.score += piece_score(color, kind, to) - piece_score(color, kind, from);
    }
}

/// The score of a position in centipawns, from the view of the side to move.
pub fn evaluate(position: &Position) -> i32 {
    evaluate_with(position, &Sums::of(position))
}
