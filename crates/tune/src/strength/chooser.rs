//! Search for weights by quadratic models of the folds.

use std::sync::atomic::{AtomicBool, Ordering};

use super::folded::Folded;
use super::model::FoldModel;
use super::outcome::{HeldOutGain, KindStrength, Strength, StrengthChoice};
use super::progress::{StrengthObserver, StrengthProgress};
use super::pulled::Pulled;
use super::search::{Derivatives, Limits, minimize};
use super::shorten::{Ways, shorten};
use crate::config::{RunConfig, space_of};
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::Objective;
use gputexel_eval::Evaluator;
use gputexel_io::{Error, Result};
use gputexel_model::{Parameterization, Penalty, PenaltyKind};

pub(super) const START: f64 = 0.07;
/// Range of the search: this factor below the start, and up to a weight that holds everything at the prior.
const RANGE: f64 = 1e-5;
pub(super) const LARGEST: f64 = 1.0;
/// The weight at which everything stays at the prior for all practical purposes.
const HOLD: f64 = 1e3;
/// The search ends when the predicted gain of a step is less than this share of the loss; in the first round, around
/// the prior, the model itself is less accurate.
const GAIN: f64 = 1e-5;
const FIRST_GAIN: f64 = 1e-4;
/// Maximum number of evaluations in a search; no more than there are games, whose losses say little if they are few.
const EVALUATIONS: usize = 30;
/// Maximum number of moves of the point around which the losses are modeled.
const ROUNDS: usize = 4;
/// The quadratic model is accurate enough when it predicts the exact held-out loss to this share: around points with
/// about the same loss, models differ by as much.
const AGREEMENT: f64 = 5e-4;
/// Largest factor by which weights are increased if the gain is uncertain, and number of equal steps to it.
const STRENGTHENED: f64 = 100.0;
const STEPS: usize = 64;

pub(super) struct Chooser<'a> {
    pub objective: Objective,
    pub parameterization: Parameterization,
    pub folded: &'a Folded,
    pub evaluator: &'a mut dyn Evaluator,
    pub kinds: &'a [(PenaltyKind, Vec<Penalty>)],
    pub pulled: Vec<Pulled>,
    pub stop: &'a AtomicBool,
    pub observe: &'a mut StrengthObserver<'a>,
}

pub(super) struct Placed {
    pub z: Vec<f64>,
    pub without: Vec<Vec<f64>>,
}

pub(super) struct Found {
    pub weights: Vec<f64>,
    pub around: Vec<f64>,
    pub model: FoldModel,
    pub at: Placed,
}

pub(super) struct Against {
    before: f64,
    /// Mean difference in loss of the parameters without their folds, and its standard error by game.
    difference: f64,
    error: f64,
}

pub(super) fn weights(logarithms: &[f64]) -> Vec<f64> {
    logarithms.iter().map(|value| value.exp()).collect()
}

pub(super) fn added(z: &[f64], step: &[f64]) -> Vec<f64> {
    z.iter().zip(step).map(|(z, step)| z + step).collect()
}

fn last_within(end: usize, allowed: f64, mut rise: impl FnMut(usize) -> Result<f64>) -> Result<usize> {
    /// Number of guesses before the search only halves, and the first of them.
    const GUESSES: usize = 5;
    const FIRST: f64 = 4.0;
    // Roots of the function lie near a line.
    let root = |rise: f64| rise.max(0.0).sqrt();
    let wanted = root(allowed);
    let (mut low, mut high) = ((0, 0.0), (end, f64::INFINITY));
    for tries in 0.. {
        if high.0 - low.0 <= 1 {
            break;
        }
        let slope = if high.1.is_finite() {
            (high.1 - low.1) / (high.0 - low.0) as f64
        } else {
            low.1 / low.0 as f64
        };
        let steps = if tries == 0 { FIRST } else { (wanted - low.1) / slope };
        let next = match steps.is_finite() && tries < GUESSES {
            true => low.0 + steps as usize,
            false => usize::midpoint(low.0, high.0),
        };
        let next = next.clamp(low.0 + 1, high.0 - 1);
        let root = root(rise(next)?);
        if root <= wanted {
            low = (next, root);
        } else {
            high = (next, root);
        }
    }
    Ok(low.0)
}

impl Chooser<'_> {
    pub(super) fn kept(
        config: &RunConfig,
        kinds: &[(PenaltyKind, Vec<Penalty>)],
        warnings: Vec<String>,
    ) -> StrengthChoice {
        let ridge = kinds.iter().find(|(kind, _)| *kind == PenaltyKind::Ridge);
        let penalties: Vec<Penalty> = ridge.map_or(Vec::new(), |(_, list)| {
            list.iter().map(|penalty| Penalty { weight: HOLD, ..penalty.clone() }).collect()
        });
        let parameterization = config.parameterization();
        StrengthChoice {
            strength: Strength {
                folds: 0,
                by_game: false,
                clusters: 1,
                kinds: vec![KindStrength { kind: PenaltyKind::Ridge, weight: HOLD, by_fold: Vec::new() }],
                gain: None,
                effective: 0.0,
                coordinates: parameterization.dimension(),
                keeps_prior: true,
            },
            penalties,
            z: parameterization.start(),
            warnings,
        }
    }

    pub(super) fn least(&self) -> f64 {
        RANGE * START / self.folded.clusters as f64
    }

    fn limits(&self, gain: f64, evaluations: usize) -> Limits {
        let all = |weight: f64| vec![weight.ln(); self.kinds.len()];
        Limits { low: all(self.least()), high: all(LARGEST), gain, evaluations }
    }

    /// Computes the weights that the other folds would have chosen, for each fold: one of Newton's steps from the
    /// weights that all folds chose. The lowest of many held-out losses is partly luck, and must not be reported.
    pub(super) fn by_fold(&self, model: &FoldModel, chosen: &[f64]) -> Result<Vec<Vec<f64>>> {
        let limits = self.limits(0.0, 0);
        let x: Vec<f64> = chosen.iter().map(|weight| weight.ln()).collect();
        let folds = model.derivatives_by_fold(chosen)?.into_iter().map(|fold| fold.by_logarithms(chosen));
        let folds: Vec<Derivatives> = folds.collect();
        let whole = Derivatives::sum(&folds, x.len());
        let others = |fold: &Derivatives| {
            let step = whole.clone().plus(-1.0, fold).step(&x, &limits);
            let within = |(i, x): (usize, f64)| x.clamp(limits.low[i], limits.high[i]);
            weights(&added(&x, &step).into_iter().enumerate().map(within).collect::<Vec<f64>>())
        };
        Ok(folds.iter().map(others).collect())
    }

    pub(super) fn search(&mut self, mut z: Vec<f64>) -> Result<Found> {
        let start = START / self.folded.clusters as f64;
        let mut logarithms = vec![start.ln(); self.kinds.len()];
        let space = space_of(&self.parameterization);
        let evaluations = EVALUATIONS.min(self.folded.clusters);
        let mut held = vec![false; z.len()];
        // Without its model: two would be the most that a run has in memory.
        let mut best: Option<(f64, Vec<f64>, Vec<f64>, Placed, Vec<bool>)> = None;
        for round in 0.. {
            let progress = StrengthProgress::of_round(round, ROUNDS, evaluations);
            // Reported before: with many parameters, the model takes longest.
            self.proceed(progress)?;
            let mut model = self.model(&z)?;
            model.hold(|i| held[i]);
            let gain = if round == 0 { FIRST_GAIN } else { GAIN };
            let limits = self.limits(gain * model.mean_loss(), evaluations);
            let (found, predicted) = self.minimize(&model, &logarithms, &limits, progress)?;
            logarithms = found;
            let weights = weights(&logarithms);
            let at = self.place(&model, &z, &weights, &[], None)?;
            let exact = self.exact(&at)?;
            if let Some((_, weights, around, at, held)) =
                best.take_if(|best| exact.total_cmp(&best.0).is_ge())
            {
                drop(model);
                let mut model = self.model(&around)?;
                model.hold(|i| held[i]);
                return Ok(Found { weights, around, model, at });
            }
            let around = std::mem::replace(&mut z, at.z.clone());
            if (exact - predicted).abs() <= AGREEMENT * exact || round + 1 == ROUNDS {
                return Ok(Found { weights, around, model, at });
            }
            let stopped = |i: usize| at.z[i] <= space.lower[i] || at.z[i] >= space.upper[i];
            let stopped = (0..z.len()).map(stopped).collect();
            best = Some((exact, weights, around, at, std::mem::replace(&mut held, stopped)));
        }
        unreachable!("the last round returns")
    }

    /// Finds the logarithms of the weights with the lowest held-out loss by a model, and that loss.
    pub(super) fn minimize(
        &mut self,
        model: &FoldModel,
        start: &[f64],
        limits: &Limits,
        mut progress: StrengthProgress,
    ) -> Result<(Vec<f64>, f64)> {
        minimize(start, limits, &mut |logarithms| {
            progress.evaluation += 1;
            self.proceed(progress)?;
            let weights = weights(logarithms);
            Ok(model.derivatives(&weights)?.by_logarithms(&weights))
        })
    }

    pub(super) fn found(&mut self, z: &[f64], weights: Vec<f64>) -> Result<Found> {
        let mut model = self.model(z)?;
        let space = space_of(&self.parameterization);
        model.hold(|i| z[i] <= space.lower[i] || z[i] >= space.upper[i]);
        // For programs, folds begin at the common optimum.
        let origins = self.folded.layout.program().map(|_| vec![z.to_vec(); self.folded.folds]);
        let at = self.place(&model, z, &weights, &[], origins.as_deref())?;
        Ok(Found { weights, around: z.to_vec(), model, at })
    }

    /// Computes the parameters that result from weights by a model around a point, within the bounds; `by_fold` are
    /// weights of the folds, if they have their own.
    pub(super) fn place(
        &mut self,
        model: &FoldModel,
        around: &[f64],
        weights: &[f64],
        by_fold: &[Vec<f64>],
        origins: Option<&[Vec<f64>]>,
    ) -> Result<Placed> {
        let space = space_of(&self.parameterization);
        let within = |step: &[f64]| {
            let mut z = added(around, step);
            space.clamp(&mut z);
            z
        };
        let steps = if by_fold.is_empty() { model.without(weights)?.steps } else { model.steps(by_fold)? };
        let without = steps.iter().map(|step| within(step)).collect();
        let z = within(&model.whole(weights, false)?.step);
        let mut placed = Placed { z, without };
        if let Some(origins) = origins {
            let pulled = &model.pulled;
            let ways =
                Ways { parameterization: &self.parameterization, around, origins, pulled, weights, by_fold };
            shorten(
                &mut *self.evaluator,
                self.folded,
                self.objective,
                ways,
                &mut placed.without,
                &mut placed.z,
            )?;
        }
        Ok(placed)
    }

    /// Computes the exact held-out loss of what a model has placed.
    pub(super) fn exact(&mut self, at: &Placed) -> Result<f64> {
        self.folded.exact(&mut *self.evaluator, self.objective, &self.parameterization, &at.without)
    }

    /// Increases all weights by one factor, which is returned, if the gain over the prior is uncertain. The lowest
    /// held-out loss among many weights is partly luck, the more so the less data there are: with a gain g and its
    /// error e, the loss may rise by e² / g.
    pub(super) fn strengthen(&mut self, found: &mut Found, against: &Against) -> Result<f64> {
        let gain = -against.difference;
        let allowed = (against.error * against.error / gain).min(gain);
        if allowed.is_nan() || allowed <= GAIN * (against.before + against.difference) {
            return Ok(1.0);
        }
        let scaled =
            |factor: f64| -> Vec<f64> { found.weights.iter().map(|weight| factor * weight).collect() };
        let least = found.model.without(&found.weights)?.loss;
        // Between 1 and the largest factor, to a step of its logarithm.
        let step = STRENGTHENED.ln() / STEPS as f64;
        let factor = |steps: usize| (step * steps as f64).exp();
        let chosen = last_within(STEPS, allowed, |steps| {
            Ok(found.model.without(&scaled(factor(steps)))?.loss - least)
        })?;
        found.weights = scaled(factor(chosen));
        let origins = self.folded.layout.program().map(|_| found.at.without.clone());
        found.at = self.place(&found.model, &found.around, &found.weights, &[], origins.as_deref())?;
        Ok(factor(chosen))
    }

    /// Computes the parameters that are found without each fold, with the weights that the other folds choose.
    pub(super) fn nested(&mut self, found: &Found, by_fold: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let origins = self.folded.layout.program().map(|_| found.at.without.clone());
        Ok(self.place(&found.model, &found.around, &found.weights, by_fold, origins.as_deref())?.without)
    }

    pub(super) fn proceed(&mut self, next: StrengthProgress) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("while choosing the strength of the prior".to_string()));
        }
        (self.observe)(next)
    }

    pub(super) fn model(&mut self, z: &[f64]) -> Result<FoldModel> {
        let Folded { layout, folds, .. } = self.folded;
        let step: Vec<f64> =
            z.iter().zip(self.parameterization.start()).map(|(z, start)| z - start).collect();
        let pulled = self.pulled.iter().map(|pulled| pulled.after(&step)).collect();
        FoldModel::try_new(
            &mut *self.evaluator,
            layout,
            *folds,
            self.objective,
            &self.parameterization,
            z,
            pulled,
        )
    }

    pub(super) fn strength(
        &self,
        found: &Found,
        by_fold: &[Vec<f64>],
        against: &Against,
    ) -> Result<Strength> {
        let Found { model, weights: chosen, .. } = found;
        let Against { before, difference, error } = *against;
        let has_effect = |i: usize| chosen[i] > 2.0 * self.least();
        let kinds = self.kinds.iter().enumerate().map(|(i, (kind, _))| KindStrength {
            kind: *kind,
            weight: if has_effect(i) { chosen[i] } else { 0.0 },
            by_fold: by_fold.iter().map(|weights| weights[i]).collect(),
        });
        let kinds = kinds.collect();
        let keeps_prior = difference.is_nan() || difference >= 0.0;
        Ok(Strength {
            folds: self.folded.folds,
            by_game: self.folded.by_game,
            clusters: self.folded.clusters as u64,
            kinds,
            gain: Some(HeldOutGain { before, after: before + difference, error }),
            effective: model.whole(chosen, true)?.effective,
            coordinates: self.parameterization.dimension(),
            keeps_prior,
        })
    }

    pub(super) fn against(&self, data: &Dataset, of_prior: &[f64], without: &[Vec<f64>]) -> Against {
        let thetas: Vec<Vec<f64>> = without.iter().map(|z| self.parameterization.theta(z)).collect();
        let own = self.folded.losses(data, data.results(), self.objective, |fold| &thetas[fold]);
        let ((before, _), (difference, error)) = rayon::join(
            || self.folded.mean(data, |place| of_prior[place]),
            || self.folded.mean(data, |place| own[place] - of_prior[place]),
        );
        Against { before, difference, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_within_is_found_with_few_evaluations() {
        let shapes: [fn(f64) -> f64; 4] =
            [|x| x * x, |x| x * x + 0.02 * x * x * x, f64::sqrt, |x| (x - 20.0).max(0.0)];
        for (shape, function) in shapes.into_iter().enumerate() {
            for wanted in [0, 1, 12, 40, 63] {
                let mut calls = 0;
                let allowed = function(f64::from(wanted) + 0.3);
                let last = (1..64).take_while(|&x| function(f64::from(x)) <= allowed).last().unwrap_or(0);
                let found = last_within(64, allowed, |x| {
                    calls += 1;
                    Ok(function(x as f64))
                });
                assert_eq!(found.unwrap(), last as usize, "{shape} {wanted}");
                assert!(calls <= if shape < 2 { 6 } else { 11 }, "{shape} {wanted}: {calls}");
            }
        }
    }
}
