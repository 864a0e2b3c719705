//! Generates tuning data with engines and tablebases: self-play games ([`selfplay`]), and new labels for positions
//! ([`rescore`]).
//!
//! Uses the players, openings and rules of [`matches`](mod@crate), reads and writes positions as a
//! [conversion](gputexel_ingest::conversion) does. Knows nothing of features or datasets.

pub mod rescore;
pub mod selfplay;

use crate::engine::Score;

/// Bound of scores in texts, centipawns; larger scores and mates are clamped to it.
pub const MAX_SCORE_CP: i32 = 30_000;

/// Returns a score as a number: mates become [`MAX_SCORE_CP`], as in games that are read.
fn score_cp(score: Score) -> i32 {
    match score {
        Score::Centipawns(cp) => cp.clamp(-MAX_SCORE_CP, MAX_SCORE_CP),
        Score::Mate(moves) if moves > 0 => MAX_SCORE_CP,
        Score::Mate(_) => -MAX_SCORE_CP,
    }
}
