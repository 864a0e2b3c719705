//! Parts of a sweep, which are trained by separate processes and merged.

use std::ops::Range;
use std::path::Path;

use gputexel_io::{Error, Result};
use gputexel_optim::OptimizerState;

use super::super::{Checkpoint, Progress, StopReason};
use super::config::{SweepConfig, SweepPart};
use super::train::members_per_portion;

pub(super) const RESULTS: &str = "sweep-results";
/// Number of values per run in it.
pub(super) const NUMBERS: usize = 4;

fn portions(config: &SweepConfig) -> Vec<Range<usize>> {
    let of_seed = config.grid.len() * config.folds;
    let portion = members_per_portion(config.method, config.start.len());
    let starts = (0..config.seeds.len())
        .flat_map(|seed| (0..of_seed).step_by(portion).map(move |start| (seed * of_seed, start)));
    starts.map(|(first, start)| first + start..first + (start + portion).min(of_seed)).collect()
}

/// Returns the runs of a part, in the order in which a sweep trains all of them. A part consists of whole portions, so
/// that its runs are trained together with the same ones as in an undivided sweep.
pub(super) fn runs_of(part: SweepPart, config: &SweepConfig) -> Result<Range<usize>> {
    let SweepPart { number, of } = part;
    if !(1..=of).contains(&number) {
        return Err(Error::setting("part", part, "there is no such part"));
    }
    let portions = portions(config);
    let most = portions.len();
    if of > most {
        let reason = match most {
            1 => "its runs are trained together, as one portion, so it cannot be divided".to_string(),
            _ => format!(
                "the sweep has {most} portions of runs that are trained together: at most {most} parts"
            ),
        };
        return Err(Error::setting("part", part, reason));
    }
    let own = &portions[most * (number - 1) / of..most * number / of];
    Ok(own[0].start..own[own.len() - 1].end)
}

/// Combines the states of the parts, in order, to that of the whole sweep.
pub fn merged<'c>(
    config: &SweepConfig,
    parts: impl Iterator<Item = (SweepPart, &'c Checkpoint, &'c Path)>,
) -> Result<Checkpoint> {
    let mut results: Vec<f64> = Vec::new();
    let (mut epochs, mut seconds) = (0, 0.0);
    for (part, checkpoint, path) in parts {
        let Progress { finished, epochs: own, seconds: took, .. } = checkpoint.progress;
        let vector = checkpoint.optimizer.vectors.get(RESULTS);
        let is_whole =
            |vector: &&Vec<f64>| runs_of(part, config).is_ok_and(|runs| vector.len() == NUMBERS * runs.len());
        match vector.filter(is_whole).filter(|_| finished == Some(StopReason::Epochs)) {
            Some(vector) => results.extend(vector),
            None => {
                let reason = format!("part {part} has not ended; resume it with 'gputexel sweep --resume'");
                return Err(Error::input(path, reason));
            }
        }
        (epochs, seconds) = (epochs + own, seconds + took);
    }
    Ok(Checkpoint {
        progress: Progress { epochs, seconds, finished: Some(StopReason::Epochs), ..Progress::default() },
        optimizer: OptimizerState {
            scalars: serde_json::json!({ "method": "sweep", "portion": null }),
            vectors: [(RESULTS.to_string(), results)].into(),
        },
    })
}
