//! The choice of weights.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::model::FoldModel;
use super::pulled::Pulled;
use super::search::{Limits, minimize};
use crate::diagnostics::clustered_mean;
use crate::starts::near_optimum;
use crate::{GAUSS_NEWTON_LIMIT, RunConfig, exact_scores, space_of};
use gputexel_dataset::objective::{Objective, x_per_cp};
use gputexel_dataset::{Dataset, Folds, Layout, Split};
use gputexel_evaluator::{Backend, Evaluator, Population, Request};
use gputexel_files::{Error, Result};
use gputexel_model::{Parameterization, Penalty, PenaltyKind, penalties};

/// Folds where nothing else was asked for: ten of few games, because they leave more of them to train on.
const FOLDS: usize = 5;
const FOLDS_OF_FEW: usize = 10;
/// Fewer games than this are few.
const FEW: usize = 2000;
/// Weight at the start of the search, times the number of games.
const START: f64 = 0.07;
/// Range of the search: this factor below the start, and up to a weight that holds everything at the prior.
const RANGE: f64 = 1e-5;
const LARGEST: f64 = 1.0;
/// The weight by which everything stays at the prior for all practical purposes.
const HOLD: f64 = 1e3;
/// The search ends when a step promises less than this share of the loss; the first time, around the prior,
/// less will do.
const GAIN: f64 = 1e-5;
const FIRST_GAIN: f64 = 1e-4;
/// Evaluations in a search.
const EVALUATIONS: usize = 30;
/// Moves of the point around which the losses are modeled.
const ROUNDS: usize = 4;
/// The quadratic model is good enough when it predicts the exact held-out loss to this share.
const AGREEMENT: f64 = 5e-5;
/// Largest factor by which weights are made larger where the gain is uncertain, and steps to find it.
const STRENGTHENED: f64 = 100.0;
const HALVINGS: usize = 6;
/// Factors on all weights at which the held-out loss is drawn.
const CURVE: [f64; 4] = [0.01, 0.1, 10.0, 100.0];

/// How the weights are to be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StrengthRequest {
    /// Number of folds [default: 5, and 10 of fewer than 2,000 games].
    pub folds: Option<usize>,
    /// Whether to find out what each penalty is worth, and the curve.
    pub details: bool,
}

/// The weight of a kind of penalty, and its effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindStrength {
    /// The kind.
    pub kind: PenaltyKind,
    /// Its weight.
    pub weight: f64,
    /// By how much the held-out loss would rise without it, other weights unchanged, if that was asked for.
    pub worth: Option<f64>,
}

/// Loss of held-out positions before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutGain {
    /// Loss of the prior.
    pub before: f64,
    /// Loss of every position under parameters that were found without its fold.
    pub after: f64,
    /// Standard error of the difference of the two, by game.
    pub error: f64,
}

/// The weights that were chosen, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// Number of folds; 0 if there was nothing to hold out.
    pub folds: usize,
    /// Whether folds are of games, and not of positions.
    pub by_game: bool,
    /// Number of games, or of positions.
    pub clusters: u64,
    /// The kinds of penalties, with weights.
    pub kinds: Vec<KindStrength>,
    /// What it gains over the prior on positions that were held out, where any could be.
    pub gain: Option<HeldOutGain>,
    /// Effective number of parameters.
    pub effective: f64,
    /// Number of tuned coordinates.
    pub coordinates: usize,
    /// Held-out loss by factor on all weights, ascending, if that was asked for.
    pub curve: Vec<(f64, f64)>,
    /// θ without any penalty, centipawns, by the quadratic model of the loss, if details were asked for: what
    /// penalties change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpenalized: Vec<f64>,
    /// Whether nothing was better than the prior, which is therefore kept.
    pub keeps_prior: bool,
}

/// What was chosen.
#[derive(Clone, Debug)]
pub struct StrengthChoice {
    /// The weights, and why.
    pub strength: Strength,
    /// The penalties with their weights.
    pub penalties: Vec<Penalty>,
    /// z near the optimum with them.
    pub z: Vec<f64>,
    /// What should be known about the choice, one line each.
    pub warnings: Vec<String>,
}

/// Why weights cannot be chosen for a run, if so.
pub fn strength_obstacle(config: &RunConfig) -> Option<String> {
    let dimension = config.parameterization().dimension().max(config.prior_theta.len());
    match config.loss.is_smooth() {
        false => Some(format!("the loss '{}' has no curvature", config.loss)),
        true if dimension > GAUSS_NEWTON_LIMIT => Some(format!(
            "{dimension} parameters are more than the {GAUSS_NEWTON_LIMIT} of which a matrix is made"
        )),
        true => None,
    }
}

/// The training positions as folds: a layout whose first parts they are.
pub(super) struct Folded {
    pub layout: Layout,
    pub folds: usize,
    pub by_game: bool,
    pub clusters: usize,
    /// The training positions of each fold.
    members: Vec<Vec<u32>>,
    /// Every training position and its place among the members of all folds, in the order of the games.
    order: Vec<(u32, usize)>,
}

impl Folded {
    /// `None` if there is only one game.
    pub fn try_new(data: &Dataset, split: &Split, wanted: Option<usize>, seed: u64) -> Result<Option<Self>> {
        let mut games: Vec<u32> = split.training().map(|n| data.game(n)).collect();
        games.sort_unstable();
        games.dedup();
        let clusters = games.len();
        if clusters < 2 {
            return Ok(None);
        }
        let usual = if clusters < FEW { FOLDS_OF_FEW } else { FOLDS };
        let wanted = wanted.unwrap_or(usual).min(clusters);
        let folds = Folds::try_new(data, wanted, seed)?;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); wanted];
        split.training().for_each(|n| members[folds.fold_of(n)].push(n as u32));
        // With held-out games and few others, a fold may have none of the latter.
        let mut number = vec![None; wanted];
        let filled = members.iter().enumerate().filter(|(_, list)| !list.is_empty());
        filled.enumerate().for_each(|(at, (fold, _))| number[fold] = Some(at));
        members.retain(|list| !list.is_empty());
        let count = members.len();
        if count < 2 {
            return Ok(None);
        }
        let held_out = split.held_out_part();
        let part_of = |n: usize| match number[folds.fold_of(n)] {
            Some(at) if Some(split.part_of(n)) != held_out => at,
            _ => count,
        };
        let layout = Layout::try_new(data, count + usize::from(held_out.is_some()), part_of)?;
        let mut order: Vec<(u32, usize)> = members.iter().flatten().copied().zip(0..).collect();
        order.sort_unstable_by_key(|&(n, _)| (data.game(n as usize), n));
        Ok(Some(Self { layout, folds: count, by_game: data.has_games(), clusters, members, order }))
    }

    /// The exact loss of every training position, by its place, under the θ that belongs to its fold, against
    /// `results` of all positions.
    pub fn losses<'t>(
        &self,
        data: &Dataset,
        results: &[f32],
        objective: Objective,
        theta_of: impl Fn(usize) -> &'t [f64],
    ) -> Vec<f64> {
        let x_per_cp = x_per_cp(objective.k);
        let of_fold = |(fold, which): (usize, &Vec<u32>)| {
            let scores = exact_scores(data, theta_of(fold), which);
            let loss = |(score, &n): (f64, &u32)| {
                objective.loss.value(x_per_cp * score, f64::from(results[n as usize]))
            };
            scores.into_iter().zip(which).map(loss).collect::<Vec<f64>>()
        };
        self.members.iter().enumerate().flat_map(of_fold).collect()
    }

    /// Mean of a value of training positions, by their places, and its standard error by game.
    pub fn mean(&self, data: &Dataset, value: impl Fn(usize) -> f64) -> (f64, f64) {
        clustered_mean(data, self.order.iter().map(|&(n, place)| (n, value(place))))
    }

    /// The mean loss of every position under the member that belongs to its fold: `part_losses` of one member
    /// for each fold.
    pub fn held_out(&self, part_losses: &[f64]) -> f64 {
        let parts = self.layout.parts()[..self.folds].iter().enumerate();
        let (sum, weight) = parts.fold((0.0, 0.0), |(sum, weight), (fold, part)| {
            (sum + part.weight * part_losses[fold * self.folds + fold], weight + part.weight)
        });
        sum / weight
    }

    /// The mean loss of every position under the parameters without its fold.
    pub fn exact(
        &self,
        evaluator: &mut dyn Evaluator,
        objective: Objective,
        parameterization: &Parameterization,
        z: &[Vec<f64>],
    ) -> Result<f64> {
        let theta = parameterization.theta(&z.concat());
        let population =
            Population::new(parameterization.parameters() / 2, theta, vec![objective.k; self.folds]);
        let request =
            Request { parts: 0..self.folds, loss: objective.loss, gradients: false, curvature: false };
        Ok(self.held_out(&evaluator.evaluate(&population, &request)?.part_losses))
    }
}

/// Chooses the weights of all penalties that the features of a dataset have, for a run on the training
/// positions of a split. `config` says what is tuned and how it is judged; its own penalties are left out.
///
/// # Errors
/// [`Error::Usage`] for a loss without curvature or too many parameters, [`Error::Interrupted`] when `stop` is
/// set, [`Error::Numeric`] when sums are not finite, and those of the evaluator.
pub fn choose_strength(
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    request: StrengthRequest,
    stop: &AtomicBool,
) -> Result<StrengthChoice> {
    Ok(choose_with_folds(config, data, split, backend, request, stop)?.0)
}

/// The parameters without each fold.
pub(super) struct WithoutFolds {
    pub folded: Folded,
    /// θ by fold.
    pub thetas: Vec<Vec<f64>>,
}

/// As [`choose_strength`], with the parameters that were found without each fold, unless there is only one
/// game.
pub(super) fn choose_with_folds(
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    request: StrengthRequest,
    stop: &AtomicBool,
) -> Result<(StrengthChoice, Option<WithoutFolds>)> {
    if let Some(reason) = strength_obstacle(config) {
        return Err(Error::Usage(format!("the strength of the prior cannot be chosen: {reason}")));
    }
    let set = &data.metadata().feature_set;
    let kinds: Vec<(PenaltyKind, Vec<Penalty>)> = PenaltyKind::ALL
        .iter()
        .map(|&kind| (kind, penalties(set, kind)))
        .filter(|(_, list)| !list.is_empty())
        .collect();
    let mut warnings = Vec::new();
    let Some(folded) = Folded::try_new(data, split, request.folds, config.seed)? else {
        warnings
            .push("one game is too few to choose the strength of the prior: the prior is kept".to_string());
        return Ok((Chooser::kept(config, &kinds, warnings), None));
    };
    if !folded.by_game {
        warnings.push(
            "the dataset does not know its games: the strength of the prior is chosen by folds of positions, \
             and neighbors of one game in different folds make it too weak"
                .to_string(),
        );
    } else if request.folds.is_some_and(|folds| folds > folded.folds) || folded.folds < FOLDS {
        let games = folded.clusters;
        warnings.push(format!("{games} games are fewer than the folds: {} are used", folded.folds));
    }
    let objective = Objective { k: config.k, loss: config.loss };
    let (mut evaluator, _) = backend.evaluator(&folded.layout)?;
    let mut chooser = Chooser {
        config,
        objective,
        parameterization: config.parameterization(),
        folded: &folded,
        evaluator: &mut *evaluator,
        kinds: &kinds,
        stop,
    };
    let start = match data.program() {
        None => chooser.parameterization.start(),
        Some(_) => {
            let weight = START / folded.clusters as f64;
            let all = kinds.iter().flat_map(|(_, list)| list.iter());
            let all = all.map(|penalty| Penalty { weight, ..penalty.clone() }).collect();
            near_optimum(config, all, data, split, backend, stop)?.0
        }
    };
    let mut best = chooser.search(start)?;
    let of_prior = folded.losses(data, data.results(), objective, |_| &config.prior_theta);
    let mut against = chooser.against(data, &of_prior, &best.at.without);
    if chooser.strengthen(&mut best, &against)? {
        against = chooser.against(data, &of_prior, &best.at.without);
    }
    let strength = chooser.strength(&best, &against, request.details)?;
    if let Some(fallback) = evaluator.take_fallback() {
        warnings.push(format!("{}; the choice continued on the {}", fallback.error, fallback.evaluator));
    }
    drop(evaluator); // it borrows the layout
    if strength.keeps_prior {
        let thetas = vec![config.prior_theta.clone(); folded.folds];
        let choice = StrengthChoice { strength, ..Chooser::kept(config, &kinds, warnings) };
        return Ok((choice, Some(WithoutFolds { folded, thetas })));
    }
    let thetas = best.at.without.iter().map(|z| config.parameterization().theta(z)).collect();
    let weighted = kinds.iter().zip(&strength.kinds).flat_map(|((_, list), kind)| {
        list.iter().map(|penalty| Penalty { weight: kind.weight, ..penalty.clone() })
    });
    let choice = StrengthChoice {
        penalties: weighted.filter(|penalty| penalty.weight > 0.0).collect(),
        z: best.at.z,
        strength,
        warnings,
    };
    Ok((choice, Some(WithoutFolds { folded, thetas })))
}

/// The work of choosing.
struct Chooser<'a> {
    config: &'a RunConfig,
    objective: Objective,
    parameterization: Parameterization,
    folded: &'a Folded,
    evaluator: &'a mut dyn Evaluator,
    kinds: &'a [(PenaltyKind, Vec<Penalty>)],
    stop: &'a AtomicBool,
}

/// Where some weights lead.
struct Placed {
    /// z of all positions.
    z: Vec<f64>,
    /// z without each fold.
    without: Vec<Vec<f64>>,
    /// Exact held-out loss.
    exact: f64,
}

/// What a search found.
struct Found {
    weights: Vec<f64>,
    /// The point of the model.
    around: Vec<f64>,
    /// The model they were found with.
    model: FoldModel,
    pulled: Vec<Pulled>,
    at: Placed,
}

/// Held-out parameters beside the prior.
struct Against {
    /// Loss of the prior.
    before: f64,
    /// Mean difference of what the parameters without their folds lose, and its standard error by game.
    difference: f64,
    error: f64,
}

fn weights(logarithms: &[f64]) -> Vec<f64> {
    logarithms.iter().map(|value| value.exp()).collect()
}

fn added(z: &[f64], step: &[f64]) -> Vec<f64> {
    z.iter().zip(step).map(|(z, step)| z + step).collect()
}

impl Chooser<'_> {
    /// The prior itself, held by a weight that nothing outweighs.
    fn kept(
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
                kinds: vec![KindStrength { kind: PenaltyKind::Ridge, weight: HOLD, worth: None }],
                gain: None,
                effective: 0.0,
                coordinates: parameterization.dimension(),
                curve: Vec::new(),
                unpenalized: Vec::new(),
                keeps_prior: true,
            },
            penalties,
            z: parameterization.start(),
            warnings,
        }
    }

    /// The smallest weight that is tried.
    fn least(&self) -> f64 {
        RANGE * START / self.folded.clusters as f64
    }

    /// Searches from a point z.
    fn search(&mut self, mut z: Vec<f64>) -> Result<Found> {
        let start = START / self.folded.clusters as f64;
        let mut logarithms = vec![start.ln(); self.kinds.len()];
        let space = space_of(&self.parameterization);
        let mut held = vec![false; z.len()];
        let mut best: Option<Found> = None;
        for round in 0..ROUNDS {
            let mut model = FoldModel::try_new(
                &mut *self.evaluator,
                &self.folded.layout,
                self.folded.folds,
                self.objective,
                &self.parameterization,
                &z,
            )?;
            model.hold(|i| held[i]);
            let pulled = self.pulled(&z);
            let gain = if round == 0 { FIRST_GAIN } else { GAIN };
            let limits = Limits {
                low: self.least().ln(),
                high: LARGEST.ln(),
                gain: gain * model.mean_loss(),
                evaluations: EVALUATIONS,
            };
            let (found, predicted) = minimize(&logarithms, limits, &mut |logarithms| {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted("while choosing the strength of the prior".to_string()));
                }
                let weights = weights(logarithms);
                let held_out = model.held_out(&pulled, &weights)?;
                let slopes = held_out.by_weight.iter().zip(&weights).map(|(slope, weight)| slope * weight);
                Ok((held_out.loss, slopes.collect()))
            })?;
            logarithms = found;
            let weights = weights(&logarithms);
            let at = self.place(&model, &pulled, &z, &weights)?;
            let stopped = |i: usize| at.z[i] <= space.lower[i] || at.z[i] >= space.upper[i];
            held = (0..z.len()).map(stopped).collect();
            let better = best.as_ref().is_none_or(|best| at.exact < best.at.exact);
            let agrees = (at.exact - predicted).abs() <= AGREEMENT * at.exact;
            let around = std::mem::replace(&mut z, at.z.clone());
            if better {
                best = Some(Found { weights, around, model, pulled, at });
            }
            if !better || agrees {
                break;
            }
        }
        best.ok_or_else(|| Error::Numeric("no strength of the prior was found".to_string()))
    }

    /// Where weights lead by a model around a point, within the bounds, and the exact held-out loss there.
    fn place(
        &mut self,
        model: &FoldModel,
        pulled: &[Pulled],
        around: &[f64],
        weights: &[f64],
    ) -> Result<Placed> {
        let space = space_of(&self.parameterization);
        let within = |step: &[f64]| {
            let mut z = added(around, step);
            space.clamp(&mut z);
            z
        };
        let without: Vec<Vec<f64>> = model.steps(pulled, weights)?.iter().map(|step| within(step)).collect();
        let z = within(&model.whole(pulled, weights, false)?.step);
        let exact =
            self.folded.exact(&mut *self.evaluator, self.objective, &self.parameterization, &without)?;
        Ok(Placed { z, without, exact })
    }

    /// Makes all weights larger by one factor where the gain over the prior is uncertain, and says whether it
    /// did. The lowest held-out loss among many weights is partly luck, and the less is known the more: with a
    /// gain g and its error e, the loss may rise by e² / g.
    fn strengthen(&mut self, found: &mut Found, against: &Against) -> Result<bool> {
        let gain = -against.difference;
        let allowed = (against.error * against.error / gain).min(gain);
        if allowed.is_nan() || allowed <= GAIN * found.at.exact {
            return Ok(false);
        }
        let scaled =
            |factor: f64| -> Vec<f64> { found.weights.iter().map(|weight| factor * weight).collect() };
        let least = found.model.held_out_loss(&found.pulled, &found.weights)?;
        // Between 1 and the largest factor, by halves of the logarithm.
        let (mut low, mut high) = (0.0, STRENGTHENED.ln());
        for _ in 0..HALVINGS {
            let middle: f64 = 0.5 * (low + high);
            match found.model.held_out_loss(&found.pulled, &scaled(middle.exp()))? <= least + allowed {
                true => low = middle,
                false => high = middle,
            }
        }
        found.weights = scaled(low.exp());
        found.at = self.place(&found.model, &found.pulled, &found.around, &found.weights)?;
        Ok(true)
    }

    fn pulled(&self, z: &[f64]) -> Vec<Pulled> {
        let theta = self.parameterization.theta(z);
        let delta: Vec<f64> = theta.iter().zip(&self.config.prior_theta).map(|(a, b)| a - b).collect();
        self.kinds.iter().map(|(_, list)| Pulled::new(list, &self.parameterization, &delta)).collect()
    }

    fn strength(&self, found: &Found, against: &Against, details: bool) -> Result<Strength> {
        let Found { model, pulled, weights: chosen, at, .. } = found;
        let Against { before, difference, error } = *against;
        let held_out_of = |weights: &[f64]| model.held_out_loss(pulled, weights);
        let of_model = if details { held_out_of(chosen)? } else { f64::NAN };
        let mut kinds = Vec::new();
        for (i, (kind, _)) in self.kinds.iter().enumerate() {
            let mut less = chosen.clone();
            less[i] = 0.0;
            let worth = if details { Some(held_out_of(&less)? - of_model) } else { None };
            let weight = if chosen[i] > 2.0 * self.least() { chosen[i] } else { 0.0 };
            kinds.push(KindStrength { kind: *kind, weight, worth });
        }
        let mut curve = Vec::new();
        if details {
            for factor in CURVE {
                let scaled: Vec<f64> = chosen.iter().map(|weight| factor * weight).collect();
                curve.push((factor, held_out_of(&scaled)? - of_model + at.exact));
            }
            curve.push((1.0, at.exact));
            curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let unpenalized = match details {
            true => {
                let step = model.whole(pulled, &vec![0.0; chosen.len()], false)?.step;
                self.parameterization.theta(&added(&found.around, &step))
            }
            false => Vec::new(),
        };
        let keeps_prior = difference.is_nan() || difference >= 0.0;
        Ok(Strength {
            folds: self.folded.folds,
            by_game: self.folded.by_game,
            clusters: self.folded.clusters as u64,
            kinds,
            gain: Some(HeldOutGain { before, after: before + difference, error }),
            effective: model.whole(pulled, chosen, true)?.effective,
            coordinates: self.parameterization.dimension(),
            curve,
            unpenalized,
            keeps_prior,
        })
    }

    /// Parameters without each fold, beside the prior, whose losses are given by place.
    fn against(&self, data: &Dataset, of_prior: &[f64], without: &[Vec<f64>]) -> Against {
        let thetas: Vec<Vec<f64>> = without.iter().map(|z| self.parameterization.theta(z)).collect();
        let own = self.folded.losses(data, data.results(), self.objective, |fold| &thetas[fold]);
        let (before, _) = self.folded.mean(data, |place| of_prior[place]);
        let (difference, error) = self.folded.mean(data, |place| own[place] - of_prior[place]);
        Against { before, difference, error }
    }
}
