//! Compensation: whether material that is missing was given up for something.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use crate::exact_scores;
use gputexel_dataset::Dataset;
use gputexel_io::counted;
use gputexel_model::Prior;

/// Advantage of a side that counts as ahead, centipawns of the default prior: two to four and a half pawns,
/// about a minor piece.
const AHEAD_CP: std::ops::RangeInclusive<f64> = 200.0..=450.0;

const COMPENSATED: f64 = 0.75;
/// Below it, results of middlegames are not only noisy: in self-play at few nodes they are 0.82 to 0.91.
const CLEARLY_COMPENSATED: f64 = 0.7;
/// By how much more the same advantage must bring in the endgame, where little can compensate for it: 0.14 to
/// 0.25 in games of people and of the best engines, 0 to 0.1 in self-play and where results are only noisier.
const MORE_IN_ENDGAMES: f64 = 0.12;
/// Standard errors beyond which a mean is clear, and which are enough if endgames say the same.
const CLEAR: f64 = 2.0;
const PROBABLE: f64 = 1.0;

const LOOKED_AT: usize = 500_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ahead {
    pub positions: u64,
    /// Mean target of the side that is ahead; 0 without positions.
    pub mean_result: f64,
    /// Its standard error, by game.
    pub error: f64,
}

impl Ahead {
    /// The targets in the half of the phases with more pieces, and in the other; `None` if the default prior
    /// of the features has no values of pieces, or the engine has no phases.
    pub fn of(data: &Dataset) -> Option<[Self; 2]> {
        let set = &data.metadata().feature_set;
        let theta = Prior::default_for(set).theta(set).ok().filter(|_| set.has_phases())?;
        let mut games = [HashMap::new(), HashMap::new()];
        let which: Vec<u32> = (0..data.len() as u32).step_by(data.len().div_ceil(LOOKED_AT).max(1)).collect();
        for (score, n) in exact_scores(data, &theta, &which).into_iter().zip(which) {
            let n = n as usize;
            // Shares of phases do not add up to 1 exactly.
            let score = (1e6 * score).round() / 1e6;
            if AHEAD_CP.contains(&score.abs()) {
                let (phase, result) = (data.phases()[n], f64::from(data.results()[n]));
                let half = &mut games[usize::from(2 * phase < data.phase_max())];
                let (sum, count) = half.entry(data.game(n)).or_insert((0.0, 0u32));
                *sum += if score > 0.0 { result } else { 1.0 - result };
                *count += 1;
            }
        }
        Some(games.map(|games| {
            let mut games: Vec<(f64, f64)> =
                games.into_values().map(|(sum, n)| (sum, f64::from(n))).collect();
            // Sums must not depend on the order of a hash map.
            games.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let (sum, count) = games.iter().fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
            let mean = sum / f64::max(count, 1.0);
            let squares: f64 = games.iter().map(|(sum, n)| (sum - n * mean).powi(2)).sum();
            // Few games may all have one result.
            let floor = 0.25 / f64::max(games.len() as f64, 1.0).powi(2);
            let error = (squares / f64::max(count, 1.0).powi(2) + floor).sqrt();
            Self { positions: count as u64, mean_result: mean, error }
        }))
    }

    pub fn figures([middlegame, endgame]: &[Self; 2]) -> String {
        format!("{middlegame} in the middlegame, {endgame} in the endgame")
    }
}

impl fmt::Display for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { positions, mean_result, error } = self;
        match positions {
            0 => write!(f, "unknown (no positions)"),
            _ => write!(f, "{mean_result:.3} ± {error:.3} ({})", counted(*positions, "position")),
        }
    }
}

/// Mean below which advantages are often compensated in the middlegame, and the standard errors that make it clear.
fn bound([middlegame, endgame]: &[Ahead; 2]) -> (f64, f64) {
    let known = endgame.positions > 0 && CLEAR * endgame.error < MORE_IN_ENDGAMES;
    match endgame.mean_result - middlegame.mean_result >= MORE_IN_ENDGAMES {
        true if known => (COMPENSATED, PROBABLE),
        false if known => (CLEARLY_COMPENSATED, CLEAR),
        _ => (COMPENSATED, CLEAR),
    }
}

/// What is wrong with positions with these results of sides that are ahead, in the middlegame and the endgame,
/// if advantages are often compensated in the middlegame.
pub fn compensation(halves: &[Ahead; 2]) -> Option<String> {
    let (bound, errors) = bound(halves);
    let Ahead { positions, mean_result, error } = halves[0];
    (positions > 0 && mean_result + errors * error < bound).then(|| {
        format!(
            "a side that is a piece ahead scores only {}: missing material was often given up for something, so \
             results make pieces look cheap; tables tuned on such positions lose 80 to 150 Elo to PeSTO's",
            Ahead::figures(halves)
        )
    })
}

/// Returns true if there are too few positions to tell whether advantages are often compensated.
pub fn compensation_unknown(halves: &[Ahead; 2]) -> bool {
    let (bound, errors) = bound(halves);
    let Ahead { positions, mean_result, error } = halves[0];
    positions == 0 || (mean_result - bound).abs() <= errors * error
}

/// Returns what is wrong with positions with these results, and what helps, see [`compensation`].
pub fn explained_compensation(ahead: &[Ahead; 2]) -> Option<String> {
    let why = compensation(ahead)?;
    Some(format!(
        "{why}; label them by a search ('gputexel rescore'), tune on positions that a search meets ('gputexel \
         selfplay --leaves', 'gputexel learn'), or let games decide ('gputexel improve')"
    ))
}
