//! The end of a swarm run: from its best position to the optimum, and from there to whole numbers.

use std::time::Instant;

use super::single_steps::interrupted;
use super::{
    ExactProblem, GAUSS_NEWTON_LIMIT, ModelSize, OptimizerConfig, Outcome, Rounded, Rounding,
    RoundingOutcome, RunConfig, RunParts, SingleSteps, StopReason, Stopping, Tuning, Watch, exact_loss,
    gauss_newton_matrix, round, space_of,
};
use gputexel_dataset::objective::Objective;
use gputexel_io::Result;

#[derive(Clone, Debug)]
pub struct Polish {
    pub swarm: f64,
    /// Loss of the real-valued optimum, if the loss function is smooth.
    pub optimum: Option<f64>,
    pub polished: f64,
    /// True if the result was rejected because held-out positions favor the swarm's best, which is then kept.
    pub refused: bool,
    pub rounding: Option<RoundingOutcome>,
    pub seconds: f64,
}

/// Polishes `outcome`: bounded Gauss–Newton from the swarm's best, then rounding and single steps to a minimum of the
/// exact loss over whole numbers.
pub fn polish(
    parts: &RunParts<'_>,
    outcome: &mut Outcome,
    observe: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Polish> {
    let RunParts { config, data, split, layout, backend, cancel } = *parts;
    let started = Instant::now();
    let watch = &mut Watch { cancel, observe };
    let basis = config.parameterization();
    let space = space_of(&basis);
    let problem = ExactProblem {
        layout,
        parts: 0..split.batches(),
        objective: Objective { k: config.k, loss: config.loss },
        parameterization: &basis,
        space: &space,
        regularization: config.regularization(0),
    };
    let mut optimum = None;
    let mut best: Option<Rounded> = None;
    if config.loss.is_smooth() && basis.parameters() <= GAUSS_NEWTON_LIMIT {
        let smooth = RunConfig {
            basis: Some(basis.clone().with_start(&outcome.z)),
            optimizer: OptimizerConfig::default_for(
                config.loss.is_smooth(),
                ModelSize { parameters: basis.parameters(), linear: layout.program().is_none() },
            ),
            stopping: Stopping { epochs: 50, seconds: None, improvement: 1e-9, ..config.stopping },
            ..config.clone()
        };
        let (mut evaluator, _) = backend.evaluator(layout)?;
        let mut run = Tuning::try_new(&smooth, split)?;
        let end = run.run(&mut *evaluator, cancel, &mut |_| Ok(()))?;
        drop(evaluator);
        if end.reason == StopReason::Interrupted {
            return Err(interrupted());
        }
        let matrix = gauss_newton_matrix(&problem, &basis, &end.z, watch)?;
        let rounded = round(&problem, &end.z, Rounding::Local, matrix.as_deref(), watch)?;
        optimum = Some(rounded.loss_real);
        best = Some(rounded);
    }
    let mut search = SingleSteps::try_new(&problem, &outcome.z)?;
    let swarm = search.loss();
    if best.as_ref().is_none_or(|best| best.loss >= swarm) {
        let survey = search.descend(watch)?;
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
    let rounded = best.expect("one of the two ways was taken");
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let unseen = |z: &[f64]| exact_loss(data, problem.objective, &basis.theta(z), &held_out);
    let refused = !held_out.is_empty() && unseen(&rounded.z) > unseen(&outcome.z);
    let polished = rounded.loss;
    if !refused {
        outcome.z.clone_from(&rounded.z);
        outcome.parameters = basis.theta(&outcome.z);
    }
    let seconds = started.elapsed().as_secs_f64();
    // A rejected result is not recorded.
    let rounding = (!refused).then(|| RoundingOutcome::of(Rounding::Local, rounded, seconds));
    Ok(Polish { swarm, optimum, polished, refused, rounding, seconds })
}

impl Polish {
    /// Returns the fraction of the gap in loss between the swarm's best and the optimum that was closed.
    pub fn closed(&self) -> Option<f64> {
        let gap = self.swarm - self.optimum?;
        (gap > 0.0).then(|| (self.swarm - self.polished) / gap)
    }
}
