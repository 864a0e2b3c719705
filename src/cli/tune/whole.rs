//! The end of a run whose result is whole numbers: rounding, and what single steps do to the
//! exact loss.

use std::fmt::Write as _; // to strings, which cannot fail
use std::time::Instant;

use gputexel::dataset::{Layout, Split};
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::{Parameterization, RoundingRecord, SingleStepsRecord};
use gputexel::objective::Objective;
use gputexel::tuning::{
    ExactProblem, OptimizerConfig, Outcome, Rounded, Rounding, RunConfig, SingleSteps, StopReason, Survey,
    regularize, round, space_of,
};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::Context;
use super::super::run_folder::RunFolder;
use super::super::table::grouped;
use super::flags::GAUSS_NEWTON_LIMIT;

/// What was done and found.
pub struct Whole {
    rounded: Option<(Rounding, Rounded)>,
    /// Steps that the search of the run had missed.
    missed: u64,
    survey: Option<Survey>,
    seconds: f64,
}

/// Rounds the result as the configuration says; of a local search, goes the last exact steps.
/// `None` where the result stays real.
///
/// # Errors
/// [`Error::Interrupted`]; the state that is stored already leads here again. Otherwise those of
/// the evaluator and of [`round`].
pub fn finish(
    context: &Context,
    folder: &RunFolder,
    config: &RunConfig,
    layout: &Layout,
    split: &Split,
    outcome: &mut Outcome,
) -> Result<Option<Whole>> {
    let is_local = matches!(config.optimizer, OptimizerConfig::Local(_));
    if config.round == Rounding::None && !is_local {
        return Ok(None);
    }
    let started = Instant::now();
    let parameterization = config.parameterization();
    let mut space = space_of(&parameterization);
    space.integer.fill(true);
    let problem = ExactProblem {
        layout,
        parts: 0..split.batches(),
        objective: Objective { k: config.k, loss: config.loss },
        parameterization: &parameterization,
        space: &space,
        prior: &config.start,
        l2: config.optimizer.l2(outcome.best_member),
    };
    let interrupted = || {
        let path = folder.path().display();
        Error::Interrupted(format!("while rounding; resume with 'gputexel tune --resume {path}'"))
    };
    let whole = if is_local {
        let mut search = SingleSteps::try_new(&problem, &outcome.z)?;
        // What was stopped early, or is judged by positions held out, is not to be led on.
        let ended = outcome.reason == StopReason::Converged && split.held_out_part().is_none();
        let survey = match ended {
            true => search.descend(context.cancel).ok_or_else(interrupted)?,
            false => search.survey(),
        };
        outcome.z = search.z().to_vec();
        Whole {
            rounded: None,
            missed: search.taken(),
            survey: Some(survey),
            seconds: started.elapsed().as_secs_f64(),
        }
    } else {
        let matrix = match config.round {
            Rounding::Local => curvature(&problem, &parameterization, &outcome.z)?,
            _ => None,
        };
        let rounded = round(&problem, &outcome.z, config.round, matrix.as_deref(), context.cancel)?
            .ok_or_else(interrupted)?;
        outcome.z.clone_from(&rounded.z);
        Whole::of(config.round, rounded, started.elapsed().as_secs_f64())
    };
    outcome.parameters = parameterization.theta(&outcome.z);
    Ok(Some(whole))
}

/// The Gauss–Newton matrix with respect to z, where the loss has one and it is not too large.
///
/// # Errors
/// Those of the evaluator.
pub fn curvature(
    problem: &ExactProblem<'_>,
    parameterization: &Parameterization,
    z: &[f64],
) -> Result<Option<Vec<f64>>> {
    let loss = problem.objective.loss;
    if !loss.is_smooth() || parameterization.parameters() > GAUSS_NEWTON_LIMIT {
        return Ok(None);
    }
    let theta = parameterization.theta(z);
    let request = Request { parts: problem.parts.clone(), loss, gradients: false, curvature: true };
    // The same on every machine: the result is to be the same whatever the backend.
    let mut evaluator = CpuEvaluator::new(problem.layout);
    let mut evaluations = evaluator.evaluate(&Population::single(&theta, problem.objective.k), &request)?;
    regularize(&mut evaluations, &theta, problem.prior, &[problem.l2]);
    Ok(Some(parameterization.pull_matrices(&evaluations.curvatures)))
}

impl Whole {
    /// A result that was rounded in some seconds.
    pub fn of(rounding: Rounding, rounded: Rounded, seconds: f64) -> Self {
        Self { missed: 0, survey: rounded.survey.clone(), rounded: Some((rounding, rounded)), seconds }
    }

    /// For `params.json`.
    pub fn rounding_record(&self) -> Option<RoundingRecord> {
        self.rounded.as_ref().map(|(rounding, rounded)| RoundingRecord {
            method: rounding.to_string(),
            loss_real: rounded.loss_real,
            loss_naive: rounded.loss_naive,
            loss: rounded.loss,
        })
    }

    /// For `params.json`.
    pub fn single_steps_record(&self) -> Option<SingleStepsRecord> {
        self.survey.as_ref().map(|survey| SingleStepsRecord {
            count: survey.steps,
            improving: survey.improving.len(),
            smallest_increase: survey.smallest_increase,
        })
    }

    /// Adds to the report in JSON.
    pub fn add_to(&self, report: &mut Value) {
        if let Some((rounding, rounded)) = &self.rounded {
            report["rounding"] = json!({
                "method": rounding, "loss_real": rounded.loss_real, "loss_naive": rounded.loss_naive,
                "loss_successive": rounded.loss_successive, "loss": rounded.loss,
                "steps": rounded.steps, "seconds": self.seconds,
            });
        }
        if let Some(survey) = &self.survey {
            report["single_steps"] = json!({
                "count": survey.steps, "improving": survey.improving.len(),
                "smallest_increase": survey.smallest_increase, "without_effect": survey.without_effect,
                "taken_exactly": self.missed, "seconds": self.seconds,
            });
        }
    }

    /// For people.
    pub fn lines(&self) -> String {
        let mut out = String::new();
        if let Some((rounding, rounded)) = &self.rounded {
            let share = |loss: f64| format!("{:+.2e}", (loss - rounded.loss_real) / rounded.loss_real);
            let _ = write!(out, "rounded     {rounding}: ");
            if *rounding == Rounding::Local {
                let (loss, steps) = (share(rounded.loss), rounded.steps);
                let _ = write!(out, "relative loss {loss}, {steps} steps; ");
                if let Some(loss) = rounded.loss_successive {
                    let _ = write!(out, "successive rounding alone {}, ", share(loss));
                }
                let _ = writeln!(out, "naive {}; {:.1} s", share(rounded.loss_naive), self.seconds);
            } else {
                let _ = writeln!(out, "relative loss {}", share(rounded.loss));
            }
        }
        let Some(survey) = &self.survey else { return out };
        let count = grouped(survey.steps as u64);
        if self.missed > 0 {
            let _ = writeln!(out, "exact       {} more steps improved the exact loss", grouped(self.missed));
        }
        let _ = match (survey.improving.len(), survey.smallest_increase) {
            (0, Some(least)) => writeln!(
                out,
                "verified    none of {count} single steps improves the exact loss (smallest increase {least:.2e})"
            ),
            (0, None) => writeln!(out, "verified    there are no single steps to try"),
            (n, _) => writeln!(
                out,
                "not optimal {} of {count} single steps would improve the exact training loss",
                grouped(n as u64)
            ),
        };
        if self.rounded.is_none() && survey.improving.is_empty() {
            out +=
                "            this is a local minimum; Gauss-Newton with --round local usually ends lower\n";
        }
        out
    }
}
