//! Runs of Gauss–Newton beside each other: each has its own matrix, step and end.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Best, Evaluations, GaussNewton, GaussNewtonSettings, Optimizer, OptimizerState, Proposal, Space,
};
use gputexel_io::{Error, Result};

const METHOD: &str = "gauss-newton-runs";

/// How far a member has got, of a population whose members end one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberProgress {
    pub epochs: u64,
    last_loss: Option<f64>,
    pub finished: bool,
}

impl MemberProgress {
    /// Counts an epoch if the last answer completed one, and judges whether it was the last.
    fn advance(&mut self, run: &GaussNewton, epochs: u64, improvement: f64) {
        if run.epoch_done() {
            self.epochs += 1;
            let loss = Optimizer::best(run).loss;
            let stalls = self.last_loss.is_some_and(|before| has_stalled(before, loss, improvement));
            self.last_loss = Some(loss);
            self.finished = stalls || self.epochs >= epochs;
        }
        self.finished |= run.converged();
    }
}

/// Returns true if the loss has improved by less than the share `improvement`.
pub fn has_stalled(before: f64, now: f64, improvement: f64) -> bool {
    before.is_finite() && before - now < improvement * before.abs()
}

#[derive(Clone, Debug)]
pub struct GaussNewtonRuns {
    runs: Vec<GaussNewton>,
    progress: Vec<MemberProgress>,
    epochs: u64,
    improvement: f64,
    /// True if the last answer was one of trial points, not of matrices.
    tried: bool,
}

#[derive(Serialize, Deserialize)]
struct Scalars {
    runs: Vec<serde_json::Value>,
    progress: Vec<MemberProgress>,
}

impl GaussNewtonRuns {
    pub fn try_new(space: &Space, count: usize, epochs: u64, improvement: f64) -> Result<Self> {
        let run = GaussNewton::try_new(space, GaussNewtonSettings::default())?;
        let progress = vec![MemberProgress::default(); count];
        Ok(Self { runs: vec![run; count], progress, epochs, improvement, tried: false })
    }

    /// Returns the runs to evaluate next, and whether for matrices: those come first, so that few remain that a stored
    /// state must contain.
    fn next(&self) -> (Vec<usize>, bool) {
        let unfinished = || (0..self.runs.len()).filter(|&i| !self.progress[i].finished);
        let matrices = unfinished().any(|i| self.runs[i].needs_curvature());
        (unfinished().filter(|&i| self.runs[i].needs_curvature() == matrices).collect(), matrices)
    }

    fn lowest(&self) -> usize {
        let loss = |i: usize| Optimizer::best(&self.runs[i]).loss;
        (0..self.runs.len()).min_by(|&a, &b| loss(a).total_cmp(&loss(b))).unwrap_or(0)
    }
}

impl Optimizer for GaussNewtonRuns {
    fn ask(&mut self) -> Proposal {
        let (members, curvature) = self.next();
        let parameters = members.iter().flat_map(|&i| self.runs[i].ask().parameters).collect();
        Proposal { parameters, members, gradients: !curvature, curvature }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        let (which, matrices) = self.next();
        self.tried = !matrices;
        let (epochs, improvement) = (self.epochs, self.improvement);
        let mut place = vec![None; self.runs.len()];
        which.iter().enumerate().for_each(|(at, &i)| place[i] = Some(at));
        let cut = |values: &[f64], at: usize| -> Vec<f64> {
            let each = values.len() / which.len();
            values[at * each..(at + 1) * each].to_vec()
        };
        // Each run solves its own linear system.
        let runs = self.runs.par_iter_mut().zip(&mut self.progress).zip(place);
        let told = runs.filter_map(|((run, progress), at)| at.map(|at| (run, progress, at))).map(
            |(run, progress, at)| {
                let own = Evaluations {
                    losses: vec![evaluations.losses[at]],
                    gradients: cut(&evaluations.gradients, at),
                    curvatures: cut(&evaluations.curvatures, at),
                    positions: evaluations.positions,
                    ..Evaluations::default()
                };
                match run.tell(&own) {
                    Ok(()) => progress.advance(run, epochs, improvement),
                    // A run that cannot continue stays at its best point; the others continue.
                    Err(Error::Numeric(_)) => progress.finished = true,
                    Err(other) => return Err(other),
                }
                Ok(())
            },
        );
        told.collect()
    }

    fn best(&self) -> Best {
        let member = self.lowest();
        Best { member, ..Optimizer::best(&self.runs[member]) }
    }

    fn gradient_norm(&self) -> Option<f64> {
        self.runs[self.lowest()].gradient_norm()
    }

    fn epoch_done(&self) -> bool {
        self.tried
    }

    fn converged(&self) -> bool {
        self.progress.iter().all(|progress| progress.finished)
    }

    fn points(&mut self) -> Vec<f64> {
        self.runs.iter().flat_map(|run| Optimizer::best(run).parameters).collect()
    }

    fn progress(&self, member: usize) -> Option<MemberProgress> {
        Some(self.progress[member])
    }

    fn save(&self) -> OptimizerState {
        let mut vectors = BTreeMap::new();
        let mut runs = Vec::new();
        for (i, (run, progress)) in self.runs.iter().zip(&self.progress).enumerate() {
            let saved = run.save();
            runs.push(saved.scalars);
            // A matrix that is about to be replaced, or never used again, is not stored.
            let useless = progress.finished || run.needs_curvature();
            for (name, vector) in saved.vectors {
                let vector = if useless && name == "matrix" { Vec::new() } else { vector };
                vectors.insert(format!("{name}.{i}"), vector);
            }
        }
        let scalars = Scalars { runs, progress: self.progress.clone() };
        OptimizerState { vectors, ..OptimizerState::new(METHOD, &scalars, []) }
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let Scalars { runs, progress } = state.scalars(METHOD)?;
        if [runs.len(), progress.len()] != [self.runs.len(); 2] {
            return Err(Error::Usage("the saved state has another number of runs".to_string()));
        }
        for (i, (run, scalars)) in self.runs.iter_mut().zip(runs).enumerate() {
            let mut own = OptimizerState { scalars, ..OptimizerState::default() };
            for name in ["point", "trial", "gradient", "matrix"] {
                if let Some(vector) = state.vectors.remove(&format!("{name}.{i}")) {
                    own.vectors.insert(name.to_string(), vector);
                }
            }
            run.restore(own)?;
        }
        self.progress = progress;
        Ok(())
    }

    fn describe(&self, member: usize, l2: f64) -> String {
        self.runs[member].describe(0, l2)
    }
}
