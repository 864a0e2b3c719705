//! Worth of the pieces before and after a run.

use gputexel_model::{FeatureSet, LEAST_WORTH, PieceValues, ROLE_NAMES};
use serde::Serialize;

use crate::tuned::Tuned;

/// Fall of a piece's worth that is reported, as a share of its worth before.
const FALL: f64 = 0.25;

/// Value of a piece: what counts it, and the mean over its squares, each as often as positions have the piece there;
/// centipawns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PieceWorth {
    pub piece: &'static str,
    pub before: [f64; 2],
    pub after: [f64; 2],
}

impl PieceWorth {
    /// Returns true if the worth in a phase (0 is the middlegame) fell by a quarter or more.
    pub fn falls(&self, phase: usize) -> bool {
        self.before[phase] >= LEAST_WORTH && self.after[phase] <= (1.0 - FALL) * self.before[phase]
    }
}

impl Tuned {
    /// Returns the worth of pawns to queens, as far as the features have values of them.
    pub fn pieces(&self) -> Vec<PieceWorth> {
        let features = &self.features.features;
        let weight = |id: usize| self.occurrences[id] as f64;
        let values = PieceValues::of(features.iter().map(|one| (&*one.name, &*one.group)));
        let worth = |(piece, own): (&'static str, PieceValues)| {
            let both = |theta: &[f64]| {
                [0, 1].map(|phase| own.worth(phase, |id| theta[phase * features.len() + id], weight))
            };
            let ([Some(mg), Some(eg)], [Some(mg_after), Some(eg_after)]) =
                (both(&self.config().prior_theta), both(self.parameters()))
            else {
                return None;
            };
            let known = [mg, eg, mg_after, eg_after].into_iter().any(|value| value >= LEAST_WORTH);
            known.then_some(PieceWorth { piece, before: [mg, eg], after: [mg_after, eg_after] })
        };
        ROLE_NAMES.into_iter().zip(values).take(5).filter_map(worth).collect()
    }
}

/// Returns a warning about a prior whose tables are relative to piece values that an engine adds elsewhere: the tuned
/// ones would contain them, and every piece would count twice.
pub(crate) fn relative_tables(set: &FeatureSet, prior: &[f64]) -> Option<String> {
    let count = set.features.len();
    let mean = |own: &PieceValues| {
        let worth = |phase: usize| own.worth(phase, |id| prior[phase * count + id], |_| 1.0);
        own.tables.first().and_then(|_| Some((worth(0)? + worth(1)?) / 2.0))
    };
    let values = PieceValues::of(set.features.iter().map(|one| (&*one.name, &*one.group)));
    let means = values[..5].iter().map(mean).collect::<Option<Vec<f64>>>()?;
    let relative =
        means.iter().all(|mean| mean.abs() < LEAST_WORTH) && prior.iter().any(|&value| value != 0.0);
    relative.then(|| {
        let list: Vec<String> = means.iter().map(|mean| format!("{mean:.0}")).collect();
        format!(
            "the prior's tables hold no piece values (mean squares of pawn to queen: {}), but tuned tables will: if the \
             engine adds piece values elsewhere, import its tables again with markers that say so ('offset 100', 'offset \
             material'), or every piece will count twice",
            list.join(", ")
        )
    })
}
