
/// The largest score, so that scores of mates can be told from it.
const LIMIT: i64 = 30_000;

fn mg_of(score: Score) -> i64 {
    // A negative endgame value has borrowed from the upper half.
    (score + 0x8000_0000) >> 32
}

fn eg_of(score: Score) -> i64 {
    i64::from(score as i32)
}

/// Removes the lowest square of a set and returns it.
fn next_square(set: &mut Bitboard) -> usize {
    let square = lowest(*set);
    *set &= *set - 1;
    square
}

fn lowest(set: Bitboard) -> usize {
    set.trailing_zeros() as usize & 63
}

/// The score of the side to move from total / divisor, White's view; the division truncates toward zero.
fn finish(total: i64, divisor: i64, side_to_move: usize) -> i32 {
    let score = (total / divisor).clamp(-LIMIT, LIMIT) as i32;
    if side_to_move == WHITE { score } else { -score }
}
