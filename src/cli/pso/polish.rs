//! The end of a swarm: from its best position to the optimum, and from there to whole numbers.

use std::time::Instant;

use gputexel::dataset::{Dataset, Layout, Split};
use gputexel::objective::Objective;
use gputexel::optimizer::GaussNewtonSettings;
use gputexel::tuning::{
    ExactProblem, OptimizerConfig, Outcome, Rounded, Rounding, RunConfig, SingleSteps, StopReason, Stopping,
    Tuning, exact_loss, round, space_of,
};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::Context;
use super::super::backend::Backend;
use super::super::run_folder::RunFolder;
use super::super::tune::{GAUSS_NEWTON_LIMIT, Whole, curvature};

/// What polishing did. Losses are exact and of the training positions, regularisation included.
pub struct Polish {
    /// Loss of the swarm's best position.
    pub swarm: f64,
    /// Loss of the optimum on real numbers, where the loss function is smooth.
    pub optimum: Option<f64>,
    /// Loss of what came of it.
    pub polished: f64,
    /// Whether held-out positions speak for the swarm's best, which is then kept.
    pub refused: bool,
    /// Rounding, and the single steps from the result.
    pub whole: Option<Whole>,
    seconds: f64,
}

/// Finishes `outcome`: bounded Gauss–Newton from the swarm's best, rounding and single steps to a
/// minimum of the exact loss on whole numbers. What single steps make of the swarm's best itself
/// is the result where that is better, or where there is no Gauss–Newton.
///
/// # Errors
/// [`Error::Interrupted`]; the stored state leads here again. Otherwise those of the parts.
#[allow(clippy::too_many_arguments, reason = "a run's parts, each of which it needs")]
pub fn polish(
    context: &Context,
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    layout: &Layout,
    split: &Split,
    backend: &Backend,
    outcome: &mut Outcome,
) -> Result<Polish> {
    let started = Instant::now();
    let interrupted = || {
        let path = folder.path().display();
        Error::Interrupted(format!("while polishing; resume with 'gputexel pso --resume {path}'"))
    };
    let basis = config.parameterization();
    let space = space_of(&basis);
    let problem = ExactProblem {
        layout,
        parts: 0..split.batches(),
        objective: Objective { k: config.k, loss: config.loss },
        parameterization: &basis,
        space: &space,
        prior: &config.start,
        l2: config.optimizer.l2(0),
    };
    let mut optimum = None;
    let mut best: Option<Rounded> = None;
    if config.loss.is_smooth() && basis.parameters() <= GAUSS_NEWTON_LIMIT {
        let smooth = RunConfig {
            basis: Some(basis.clone().with_start(&outcome.z)),
            optimizer: OptimizerConfig::GaussNewton(GaussNewtonSettings {
                l2: problem.l2,
                ..Default::default()
            }),
            stopping: Stopping { epochs: 50, seconds: None, improvement: 1e-9, ..config.stopping },
            ..config.clone()
        };
        let (evaluator, _) = backend.evaluator(layout)?;
        let mut run = Tuning::try_new(&smooth, split)?;
        let end = run.run(evaluator, |_| backend.replacement(layout), context.cancel, &mut |_| Ok(()))?;
        if end.reason == StopReason::Interrupted {
            return Err(interrupted());
        }
        let matrix = curvature(&problem, &basis, &end.z)?;
        let rounded = round(&problem, &end.z, Rounding::Local, matrix.as_deref(), context.cancel)?
            .ok_or_else(interrupted)?;
        optimum = Some(rounded.loss_real);
        best = Some(rounded);
    }
    let mut search = SingleSteps::try_new(&problem, &outcome.z)?;
    let swarm = search.loss();
    if best.as_ref().is_none_or(|best| best.loss >= swarm) {
        let survey = search.descend(context.cancel).ok_or_else(interrupted)?;
        best = Some(Rounded {
            z: search.z().to_vec(),
            loss_real: swarm,
            loss_naive: swarm,
            loss_successive: None,
            loss: search.loss(),
            steps: search.taken(),
            survey: Some(survey),
        });
    }
    let rounded = best.expect("one of the two ways was gone");
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let unseen = |z: &[f64]| exact_loss(data, problem.objective, &basis.theta(z), &held_out);
    let refused = !held_out.is_empty() && unseen(&rounded.z) > unseen(&outcome.z);
    let polished = rounded.loss;
    if !refused {
        outcome.z.clone_from(&rounded.z);
        outcome.parameters = basis.theta(&outcome.z);
    }
    let seconds = started.elapsed().as_secs_f64();
    // What was not taken has no business in the records.
    let whole = (!refused).then(|| Whole::of(Rounding::Local, rounded, seconds));
    Ok(Polish { swarm, optimum, polished, refused, whole, seconds })
}

impl Polish {
    /// Share of the way from the swarm's best to the optimum that was gone.
    pub fn closed(&self) -> Option<f64> {
        let gap = self.swarm - self.optimum?;
        (gap > 0.0).then(|| (self.swarm - self.polished) / gap)
    }

    /// For the report in JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "swarm": self.swarm, "optimum": self.optimum, "loss": self.polished, "closed": self.closed(),
            "refused": self.refused, "seconds": self.seconds,
        })
    }

    /// For people.
    pub fn line(&self) -> String {
        let optimum =
            self.optimum.map(|loss| format!(" (continuous optimum {loss:.10})")).unwrap_or_default();
        let closed =
            self.closed().map(|share| format!(", {:.1} % of the way", 100.0 * share)).unwrap_or_default();
        let fate = if self.refused { "; rejected because the held-out loss is worse" } else { "" };
        format!(
            "polished    {:.10} -> {:.10}{optimum}{closed}{fate}; {:.1} s\n",
            self.swarm, self.polished, self.seconds
        )
    }
}
