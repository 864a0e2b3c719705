
/// Blends the middlegame and the endgame value by phase.
fn blend(score: Score, phase: i64, side_to_move: usize) -> i32 {
    let phase = phase.min(PHASE_MAX);
    finish(mg_of(score) * phase + eg_of(score) * (PHASE_MAX - phase), PHASE_MAX, side_to_move)
}
