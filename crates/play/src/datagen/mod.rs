//! Data for tuning, made with engines and tablebases: games of an engine against itself ([`selfplay`]), and new
//! labels for positions ([`rescore`]).
//!
//! Plays with the players, openings and rules of [`matches`](mod@crate), reads and writes positions as a
//! [conversion](gputexel_ingest::conversion) does. Knows nothing of features or datasets.

pub mod rescore;
pub mod selfplay;

use crate::engine::Score;

/// Centipawns of scores that are larger, and of mates: the bound of scores in texts.
pub const MAX_SCORE_CP: i32 = 30_000;

/// A score as a number: mates become [`MAX_SCORE_CP`], as in games that are read.
fn score_cp(score: Score) -> i32 {
    match score {
        Score::Centipawns(cp) => cp.clamp(-MAX_SCORE_CP, MAX_SCORE_CP),
        Score::Mate(moves) if moves > 0 => MAX_SCORE_CP,
        Score::Mate(_) => -MAX_SCORE_CP,
    }
}
