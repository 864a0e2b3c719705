//! What `tune` and `pso` have in common: a run is driven to its end, and its result measured.

use gputexel::Result;
use gputexel::dataset::{Dataset, Layout, Split};
use gputexel::objective::Objective;
use gputexel::tuning::{Checkpoint, Outcome, RunConfig, Tuning, exact_loss};

use super::super::Context;
use super::super::backend::Backend;
use super::super::live::Watch;
use super::super::report;
use super::super::run_folder::RunFolder;
use super::output::{Observer, Summary, print_opening};
use super::uncertainty::Answer;
use super::whole::Whole;

/// A run and everything that it needs.
pub struct Work<'a> {
    /// How to talk.
    pub context: &'a Context,
    /// How it is watched.
    pub watch: &'a Watch,
    /// What computes.
    pub backend: &'a Backend,
    /// Where results and state go.
    pub folder: &'a RunFolder,
    /// What is computed.
    pub config: &'a RunConfig,
    /// The positions.
    pub data: &'a Dataset,
    /// Which of them are held out.
    pub split: &'a Split,
    /// The positions in the order of evaluation.
    pub layout: &'a Layout,
}

impl Work<'_> {
    /// Runs to the end, or until the user asks to stop, from a checkpoint where there is one.
    ///
    /// # Errors
    /// Those of [`Tuning`], and files that cannot be written.
    pub fn drive(
        &self,
        checkpoint: Option<Checkpoint>,
        resuming: bool,
        fitted_loss: Option<f64>,
        checkpoint_every: f64,
    ) -> Result<Outcome> {
        let Self { context, watch, backend, folder, config, data, split, layout } = *self;
        let (mut evaluator, line) = backend.evaluator(layout)?;
        let resumed = resuming.then(|| checkpoint.as_ref().map_or(0, |c| c.progress.epochs));
        let kept = checkpoint.as_ref().map_or(0, |c| c.progress.metrics);
        let mut run = match checkpoint {
            Some(checkpoint) => Tuning::resume(config, split, checkpoint, &folder.checkpoint())?,
            None => Tuning::try_new(config, split)?,
        };
        if !context.quiet && !context.json {
            print_opening(folder, config, data, split, &line, fitted_loss, resumed)?;
        }
        watch.follow(context, folder, &data.metadata().feature_set)?;
        let mut observer = Observer::new(context, watch, folder, config, kept, checkpoint_every)?;
        let outcome = run.run(&mut *evaluator, context.cancel, &mut |event| observer.observe(event));
        observer.finish();
        outcome
    }

    /// Writes the report of the folder as it is now.
    pub fn leave_report(&self) {
        report::leave(self.folder, self.data, self.split);
    }

    /// The result with its exact losses beside the prior's.
    pub fn summary(&self, outcome: Outcome, uncertainty: Answer, whole: Option<Whole>) -> Summary {
        let Self { config, data, split, .. } = *self;
        let objective = Objective { k: config.k, loss: config.loss };
        let training: Vec<u32> = split.training().map(|n| n as u32).collect();
        let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
        let loss = |theta: &[f64], which: &[u32]| {
            (!which.is_empty()).then(|| exact_loss(data, objective, theta, which))
        };
        Summary {
            before: loss(&config.start, &training),
            after: loss(&outcome.parameters, &training),
            held_out_before: loss(&config.start, &held_out),
            held_out_after: loss(&outcome.parameters, &held_out),
            occurrences: data.occurrences(),
            outcome,
            uncertainty,
            whole,
        }
    }
}
