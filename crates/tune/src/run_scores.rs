//! Scores under the prior and the result of a run, from which losses, ratios and diagnostics follow.

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::Objective;
use gputexel_eval::exact::{all_scores, loss_at};

/// Scores of all positions, centipawns, White's view.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScores {
    /// Under the prior.
    pub prior: Vec<f64>,
    /// Under the result.
    pub result: Vec<f64>,
}

impl RunScores {
    /// Computes the scores.
    ///
    /// # Panics
    /// If the length of one of the parameter vectors is not twice the number of features.
    pub fn new(data: &Dataset, prior: &[f64], theta: &[f64]) -> Self {
        Self { prior: all_scores(data, prior), result: all_scores(data, theta) }
    }

    /// Computes mean losses of the positions `which` under the prior and the result; `None` if there are none.
    pub fn losses(&self, data: &Dataset, objective: Objective, which: &[u32]) -> Option<[f64; 2]> {
        let loss = |scores: &[f64]| loss_at(data, objective, scores, which);
        (!which.is_empty()).then(|| [loss(&self.prior), loss(&self.result)])
    }
}
