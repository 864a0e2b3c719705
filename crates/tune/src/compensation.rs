//! Compensation: whether material that is missing was given up for something.

use std::path::PathBuf;

use serde::Serialize;

use gputexel_dataset::{Dataset, objective};
use gputexel_io::{Advice, Error, Result};
use gputexel_model::Prior;

/// Advantage of a side that counts as ahead, centipawns of the default prior: two to four and a half pawns,
/// about a minor piece.
const AHEAD_CP: std::ops::RangeInclusive<f64> = 200.0..=450.0;

const COMPENSATED: f64 = 0.75;

/// By how much more the same advantage must bring in the endgame, where little can compensate for it: 0.14 to
/// 0.25 in games of people and of the best engines, 0 to 0.1 in self-play and where results are only noisier.
const MORE_IN_ENDGAMES: f64 = 0.12;

const FEW: u64 = 200;

const LOOKED_AT: usize = 500_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ahead {
    pub positions: u64,
    /// Mean result of the side that is ahead; 0 without positions.
    pub mean_result: f64,
}

impl Ahead {
    /// The results in the half of the phases with more pieces, and in the other; `None` if the default prior
    /// of the features has no values of pieces, or the engine has no phases.
    pub fn of(data: &Dataset) -> Option<[Self; 2]> {
        let set = &data.metadata().feature_set;
        let theta = Prior::default_for(set).theta(set).ok().filter(|_| set.has_phases())?;
        let mut halves = [Self::default(); 2];
        for n in (0..data.len()).step_by(data.len().div_ceil(LOOKED_AT).max(1)) {
            let (phase, result) = (data.phases()[n], data.results()[n]);
            let score = objective::score(data, &theta, n);
            if AHEAD_CP.contains(&score.abs()) {
                let half = &mut halves[usize::from(2 * phase < data.phase_max())];
                let result = f64::from(result);
                half.positions += 1;
                half.mean_result += if score > 0.0 { result } else { 1.0 - result };
            }
        }
        for half in &mut halves {
            half.mean_result /= half.positions.max(1) as f64;
        }
        Some(halves)
    }
}

/// What is wrong with positions with these results of sides that are ahead, in the middlegame and the endgame,
/// if advantages are often compensated in the middlegame.
pub fn compensation([middlegame, endgame]: &[Ahead; 2]) -> Option<String> {
    let known = middlegame.positions >= FEW && endgame.positions >= FEW;
    let more = endgame.mean_result - middlegame.mean_result;
    (known && middlegame.mean_result < COMPENSATED && more >= MORE_IN_ENDGAMES).then(|| {
        format!(
            "a side that is a piece ahead scores only {:.2} in the middlegame, but {:.2} in the endgame: missing \
             material was often given up for something, so results make pieces look cheap; tables tuned on such \
             positions lose 80 to 150 Elo to PeSTO's",
            middlegame.mean_result, endgame.mean_result
        )
    })
}

/// Returns what is wrong with positions with these results, and what helps, see [`compensation`].
pub fn explained_compensation(ahead: &[Ahead; 2]) -> Option<String> {
    let why = compensation(ahead)?;
    Some(format!(
        "{why}; let games decide ('gputexel improve'), or tune on positions that a search meets ('gputexel learn', \
         'gputexel selfplay --leaves')"
    ))
}

/// Rejects positions, from the given files if any, in which advantages are compensated. What the values of another engine
/// call an advantage need not be material.
pub fn refuse_compensation(data: &Dataset, files: &[PathBuf]) -> Result<()> {
    if data.metadata().feature_set.imported.is_some() {
        return Ok(());
    }
    let Some(reason) = Ahead::of(data).as_ref().and_then(compensation) else { return Ok(()) };
    let advice = Advice::default()
        .text("use positions that a search meets ('gputexel learn', 'gputexel selfplay --leaves'), or ")
        .setting("allow-compensation", "")
        .text(" and let games decide ('gputexel improve')");
    let error = match files.first() {
        Some(file) => Error::input(file, reason),
        None => Error::Usage(reason),
    };
    Err(error.advise(advice))
}
