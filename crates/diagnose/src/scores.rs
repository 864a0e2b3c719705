//! Search scores against results.

use std::collections::BTreeMap;

use serde::Serialize;

use gputexel_chess::labels::MAX_SCORE_CP;
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{LossKind, expected_score};
use gputexel_tune::fit_scale;

/// Bounds between intervals of scores, centipawns; mates are beyond the outer ones.
const BOUNDS: [f32; 12] =
    [-800.0, -400.0, -200.0, -100.0, -50.0, -20.0, 20.0, 50.0, 100.0, 200.0, 400.0, 800.0];

/// Results of positions whose search scores are in an interval, White's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoreRow {
    /// Lowest score, centipawns; `None` if there is no bound.
    pub from: Option<f32>,
    /// Exclusive upper bound of the score; `None` if there is no bound.
    pub to: Option<f32>,
    pub mate: bool,
    pub positions: u64,
    /// Mean score, centipawns.
    pub mean_score: f64,
    pub mean_result: f64,
    /// Standard error of the mean result, by game.
    pub error: f64,
    /// Mean of the results that the fitted sigmoid expects, if there is one.
    pub expected: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoresAgainstResults {
    /// Scale constant K, base-10 form, with which scores fit results with the least squared error, mates
    /// included; `None` if scores do not predict results.
    pub k: Option<f64>,
    /// All intervals that contain positions, ascending.
    pub rows: Vec<ScoreRow>,
}

#[derive(Default)]
struct Sums {
    positions: u64,
    scores: f64,
    results: f64,
    expected: f64,
    games: BTreeMap<u32, (f64, f64)>,
}

impl Sums {
    /// The mean result and its standard error, √Σ (S − mean N)² / Σ N over the games.
    fn result(&self) -> (f64, f64) {
        let n = self.positions as f64;
        let mean = self.results / n;
        let squares: f64 = self.games.values().map(|(count, sum)| (sum - mean * count).powi(2)).sum();
        (mean, squares.sqrt() / n)
    }
}

impl ScoresAgainstResults {
    /// The table of a dataset; `None` if it has no search scores.
    pub fn new(data: &Dataset) -> Option<Self> {
        let all = data.search_scores().iter().enumerate().filter(|(_, score)| !score.is_nan());
        let (which, scores): (Vec<u32>, Vec<f64>) =
            all.map(|(n, &score)| (n as u32, f64::from(score))).unzip();
        if which.is_empty() {
            return None;
        }
        let k = fit_scale(data, &scores, &which, LossKind::Squared).ok().map(|fit| fit.k);
        let mut intervals: BTreeMap<usize, Sums> = BTreeMap::new();
        for (&n, &score) in which.iter().zip(&scores) {
            let result = f64::from(data.game_results()[n as usize]);
            let sums = intervals.entry(interval(score as f32)).or_default();
            sums.positions += 1;
            sums.scores += score;
            sums.results += result;
            sums.expected += k.map_or(0.0, |k| expected_score(k, score));
            let game = sums.games.entry(data.game(n as usize)).or_default();
            *game = (game.0 + 1.0, game.1 + result);
        }
        let row = |(at, sums): (usize, Sums)| {
            let (mean_result, error) = sums.result();
            let mate = at == 0 || at == BOUNDS.len() + 2;
            ScoreRow {
                from: at.checked_sub(2).and_then(|at| BOUNDS.get(at)).copied().filter(|_| !mate),
                to: at.checked_sub(1).and_then(|at| BOUNDS.get(at)).copied().filter(|_| !mate),
                mate,
                positions: sums.positions,
                mean_score: sums.scores / sums.positions as f64,
                mean_result,
                error,
                expected: k.map(|_| sums.expected / sums.positions as f64),
            }
        };
        Some(Self { k, rows: intervals.into_iter().map(row).collect() })
    }
}

/// The interval of a score: mates against White first, mates for White last.
fn interval(score: f32) -> usize {
    match score {
        mated if mated <= -MAX_SCORE_CP => 0,
        mate if mate >= MAX_SCORE_CP => BOUNDS.len() + 2,
        score => 1 + BOUNDS.partition_point(|&bound| bound <= score),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_half_open_and_mates_apart() {
        let last = BOUNDS.len() + 2;
        for (score, at) in [
            (-30_000.0, 0),
            (-29_999.0, 1),
            (-800.0, 2),
            (-20.0, 7),
            (19.0, 7),
            (20.0, 8),
            (29_999.0, last - 1),
        ] {
            assert_eq!(interval(score), at, "{score}");
        }
        assert_eq!(interval(30_000.0), last);
    }
}
