
/// As `evaluate`, with sums that the caller keeps.
pub fn evaluate_with(position: &Position, sums: &Sums) -> i32 {
    blend(sums.score, sums.phase, position.side_to_move)
}
