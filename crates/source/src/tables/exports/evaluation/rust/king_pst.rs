
/// The tables of a side. Its king chooses them, from its own side of the board; where buckets are mirrored, a king on
/// files e to h mirrors the board.
fn seen_by(position: &Position, color: usize) -> Score {
    let flip = if color == WHITE { 0 } else { 56 };
    let king = lowest(position.pieces[color][KING]) ^ flip;
    let turn = if MIRRORED && king % 8 > 3 { flip ^ 7 } else { flip };
    let mut score = 0;
    for (owner, tables) in BUCKET_VALUES[BUCKET_OF[king]].iter().enumerate() {
        for (kind, values) in tables.iter().enumerate() {
            let mut rest = position.pieces[color ^ owner][kind];
            while rest != 0 {
                score += values[next_square(&mut rest) ^ turn];
            }
        }
    }
    score
}

/// The score of a position in centipawns, from the view of the side to move.
pub fn evaluate(position: &Position) -> i32 {
    let [white, black] = &position.pieces;
    let phase = (PAWN..=KING).map(|kind| {
        PHASE_UNITS[kind] * i64::from((white[kind] | black[kind]).count_ones())
    });
    let score = seen_by(position, WHITE) - seen_by(position, BLACK);
    blend(score, phase.sum(), position.side_to_move)
}
