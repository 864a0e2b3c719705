//! Tuning data by engines: self-play games, and new scores for positions.

pub mod rescore;
pub mod selfplay;

use crate::engine::Score;

/// Larger scores and mates are clamped to it, in centipawns.
pub const MAX_SCORE_CP: i32 = 30_000;

fn score_cp(score: Score) -> i32 {
    match score {
        Score::Centipawns(cp) => cp.clamp(-MAX_SCORE_CP, MAX_SCORE_CP),
        Score::Mate(moves) if moves > 0 => MAX_SCORE_CP,
        Score::Mate(_) => -MAX_SCORE_CP,
    }
}
