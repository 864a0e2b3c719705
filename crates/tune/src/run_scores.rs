//! Scores under the prior and the result of a run, from which losses, ratios and diagnostics follow.

use crate::clustered::Clustered;
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{Objective, x_per_cp};
use gputexel_eval::exact::{all_scores, loss_at};

/// Scores of all positions, centipawns, White's view.
#[derive(Clone, Debug, PartialEq)]
pub struct RunScores {
    pub prior: Vec<f64>,
    pub result: Vec<f64>,
}

impl RunScores {
    pub fn new(data: &Dataset, prior: &[f64], theta: &[f64]) -> Self {
        Self { prior: all_scores(data, prior), result: all_scores(data, theta) }
    }

    /// Computes mean losses of the positions `which` under the prior and the result; `None` if there are none.
    pub fn losses(&self, data: &Dataset, objective: Objective, which: &[u32]) -> Option<[f64; 2]> {
        let loss = |scores: &[f64]| loss_at(data, objective, scores, which);
        (!which.is_empty()).then(|| [loss(&self.prior), loss(&self.result)])
    }

    /// Computes the mean loss under the result minus that under the prior, and its standard error by game.
    pub fn difference(&self, data: &Dataset, objective: Objective, which: &[u32]) -> (f64, f64) {
        let mut order = which.to_vec();
        order.sort_by_key(|&n| data.game(n as usize));
        let x_per_cp = x_per_cp(objective.k);
        let mut sums = Clustered::default();
        for at in order.into_iter().map(|n| n as usize) {
            let result = f64::from(data.results()[at]);
            let loss = |scores: &[f64]| objective.loss.value(x_per_cp * scores[at], result);
            sums.add(data.game(at), f64::from(data.row(at).weight), loss(&self.result) - loss(&self.prior));
        }
        sums.finish()
    }
}
