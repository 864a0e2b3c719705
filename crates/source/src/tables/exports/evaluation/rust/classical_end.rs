
/// As `evaluate`, with sums that the caller keeps.
pub fn evaluate_with(position: &Position, sums: &Sums) -> i32 {
    let (_, score) = linear_score(position, sums);
    blend(score, sums.phase, position.side_to_move)
}
