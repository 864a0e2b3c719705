//! The end of a run with an integer result: rounding, and the effect of single steps on the exact loss.

use std::time::Instant;

use super::single_steps::interrupted;
use super::{
    ExactProblem, GAUSS_NEWTON_LIMIT, OptimizerConfig, Outcome, Rounded, Rounding, RunParts, SingleSteps,
    StopReason, Survey, Watch, round, space_of,
};
use gputexel_dataset::objective::Objective;
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_eval::{Population, Request};
use gputexel_io::Result;
use gputexel_model::{Parameterization, RoundingRecord, SingleStepsRecord};

/// Rounding of a result, and the effect of single steps from it.
#[derive(Clone, Debug)]
pub struct RoundingOutcome {
    /// Rounding of the result; `None` after a search over whole numbers.
    pub rounded: Option<(Rounding, Rounded)>,
    /// Single steps that improved the exact loss after the run's own search had ended.
    pub exact_steps: u64,
    /// The single steps from the result, if they were surveyed.
    pub survey: Option<Survey>,
    /// Total duration in seconds.
    pub seconds: f64,
}

/// Rounds the result as configured; after a local search, takes the remaining steps that improve the exact loss. `None`
/// if the result stays real.
pub fn round_outcome(
    parts: &RunParts<'_>,
    outcome: &mut Outcome,
    observe: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Option<RoundingOutcome>> {
    let RunParts { config, split, layout, cancel, .. } = *parts;
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
        regularization: config.regularization(outcome.best_member),
    };
    let watch = &mut Watch { cancel, observe };
    let whole = if is_local {
        let mut search = SingleSteps::try_new(&problem, &outcome.z)?;
        // A result that was stopped early, or is judged by held-out positions, is not optimized further.
        let ended = outcome.reason == StopReason::Converged && split.held_out_part().is_none();
        let survey = if ended { search.descend(watch)? } else { search.survey(watch)? };
        outcome.z = search.z().to_vec();
        RoundingOutcome {
            rounded: None,
            exact_steps: search.taken(),
            survey: Some(survey),
            seconds: started.elapsed().as_secs_f64(),
        }
    } else {
        let early = split.held_out_part().is_some() && outcome.best_epoch < outcome.epochs;
        let rounding = if early { Rounding::Naive } else { config.round };
        let matrix = match rounding {
            Rounding::Local => gauss_newton_matrix(&problem, &parameterization, &outcome.z, watch)?,
            _ => None,
        };
        let rounded = round(&problem, &outcome.z, rounding, matrix.as_deref(), watch)?;
        outcome.z.clone_from(&rounded.z);
        RoundingOutcome::of(rounding, rounded, started.elapsed().as_secs_f64())
    };
    outcome.parameters = parameterization.theta(&outcome.z);
    Ok(Some(whole))
}

/// Computes the Gauss–Newton matrix with respect to z, if the loss has one and it is not too large.
pub fn gauss_newton_matrix(
    problem: &ExactProblem<'_>,
    parameterization: &Parameterization,
    z: &[f64],
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<f64>>> {
    let loss = problem.objective.loss;
    if !loss.is_smooth() || parameterization.parameters() > GAUSS_NEWTON_LIMIT {
        return Ok(None);
    }
    let theta = parameterization.theta(z);
    let request = Request { parts: problem.parts.clone(), loss, gradients: false, curvature: true };
    // The CPU on every machine, so that the result does not depend on the backend.
    let evaluator = CpuEvaluator::new(problem.layout);
    let population = Population::single(&theta, problem.objective.k);
    (watch.observe)("whole numbers: the Gauss-Newton matrix")?;
    let mut evaluations =
        evaluator.evaluate_unless(&population, &request, watch.cancel)?.ok_or_else(interrupted)?;
    problem.regularization.add(&mut evaluations, &theta);
    Ok(Some(parameterization.pull_matrices(evaluations.curvatures)))
}

impl RoundingOutcome {
    /// Creates the outcome of a rounding that took some seconds.
    pub fn of(rounding: Rounding, rounded: Rounded, seconds: f64) -> Self {
        Self { exact_steps: 0, survey: rounded.survey.clone(), rounded: Some((rounding, rounded)), seconds }
    }

    pub fn rounding_record(&self) -> Option<RoundingRecord> {
        self.rounded.as_ref().map(|(rounding, rounded)| RoundingRecord {
            method: rounding.to_string(),
            loss_real: rounded.loss_real,
            loss_naive: rounded.loss_naive,
            loss: rounded.loss,
        })
    }

    pub fn single_steps_record(&self) -> Option<SingleStepsRecord> {
        self.survey.as_ref().map(|survey| SingleStepsRecord {
            count: survey.steps,
            improving: survey.improving.len(),
            smallest_increase: survey.smallest_increase,
        })
    }
}
