//! Evaluations of a dataset, compared with those of several sets of values.

use gputexel_dataset::Dataset;
use gputexel_ingest::trace::{Comparison, Reference};
use gputexel_io::Result;
use gputexel_model::FeatureSet;

use super::compare_with;

/// A dataset whose evaluations are compared with those of several sets of values.
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
}
