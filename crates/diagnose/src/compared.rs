//! Evaluations of a dataset, compared with those of several sets of values.

use super::compare_with;
use gputexel_dataset::Dataset;
use gputexel_ingest::trace::{Comparison, Reference};
use gputexel_io::Result;
use gputexel_model::FeatureSet;

pub(super) struct Compared<'a> {
    pub(super) data: &'a Dataset,
    /// The engine's evaluation of each position, NaN where there is none.
    pub(super) printed: &'a [f32],
    pub(super) set: &'a FeatureSet,
    pub(super) tolerance_cp: f64,
}

impl Compared<'_> {
    pub(super) fn with(&self, theta: &[f64]) -> Result<Comparison> {
        Ok(compare_with(self.data, self.printed, &self.reference(theta)?))
    }

    pub(super) fn reference(&self, theta: &[f64]) -> Result<Reference> {
        Reference::try_new(self.set, theta.to_vec(), self.tolerance_cp)
    }

    /// Positions in which the engine's evaluation differs from that of the given values, evenly chosen, and
    /// some others.
    pub(super) fn sample(&self, theta: &[f64], differing: usize, others: usize) -> Result<Vec<u32>> {
        let reference = self.reference(theta)?;
        let (mut unlike, mut like) = (Vec::new(), Vec::new());
        for (n, &printed) in self.printed.iter().enumerate() {
            if printed.is_nan() {
                continue;
            }
            let (score, near_kink) = reference.score_of(self.data, n);
            match (score - f64::from(printed)).abs() > self.tolerance_cp {
                true if near_kink => {}
                true => unlike.push(n as u32),
                false => like.push(n as u32),
            }
        }
        let mut chosen = evenly(&unlike, differing);
        chosen.extend(evenly(&like, others));
        Ok(chosen)
    }
}

fn evenly(all: &[u32], most: usize) -> Vec<u32> {
    let count = all.len().min(most);
    (0..count).map(|i| all[i * all.len() / count]).collect()
}
