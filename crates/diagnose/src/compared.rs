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
    /// True if they are those of a build that plays, in integers.
    pub(super) is_played: bool,
}

impl Compared<'_> {
    pub(super) fn with(&self, theta: &[f64]) -> Result<Comparison> {
        Ok(compare_with(self.data, self.printed, &self.reference(theta)?))
    }

    pub(super) fn reference(&self, theta: &[f64]) -> Result<Reference> {
        let reference = Reference::try_new(self.set, theta.to_vec(), self.tolerance_cp)?;
        Ok(reference.with_played(self.is_played))
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
            let (row, printed) = (Reference::row_of(self.data, n), f64::from(printed));
            let score = reference.score_of_row(&row, &[]);
            match (score - printed).abs() > self.tolerance_cp {
                true if reference.is_rounding(&row, score, printed) => {}
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
