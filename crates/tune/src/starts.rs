//! Starting points of runs with nonlinear scores.

use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::scale_ratio::at_most;
use super::{Limits, ModelSize, OptimizerConfig, RunConfig, StopReason, Tuning, space_of};
use gputexel_dataset::{Dataset, Layout, Split, objective};
use gputexel_eval::Backend;
use gputexel_io::{Error, Result};
use gputexel_model::program::{CompiledProgram, Input, Term, TermActivity};

pub const MOST_STARTS: usize = 64;
/// Default number of starts if a term is dead under the prior.
pub const DEFAULT_STARTS: usize = 5;
/// Number of steps of a fit, which need not end at the optimum.
const EPOCHS: u64 = 20;
const MEASURED: usize = 1 << 14;
/// For a drawn start, each term that can be off is switched on in a random share of the sums in this range.
const SHARES: std::ops::Range<f64> = 0.1..0.9;
/// Standard deviation of the noise added to each parameter of such a sum, as a share of their root mean square.
const NOISE: f64 = 0.25;
/// Where parameters are 0, the noise lets the term change by about this, centipawns.
const NOTICED: f64 = 20.0;

/// Starting points of a run, and the one that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartsRecord {
    /// Training loss, including regularization, after a short fit from each; the first starts at the prior.
    pub losses: Vec<f64>,
    pub best: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StartChoice {
    pub z: Vec<f64>,
    pub record: StartsRecord,
}

/// Returns the default number of starts of a run: [`DEFAULT_STARTS`] if a term of its program is
/// [dead](TermActivity::is_dead) under the prior, else 1.
pub fn default_starts(config: &RunConfig, data: &Dataset, activity: &[TermActivity]) -> usize {
    let is_possible = starts_obstacle(config, data).is_none();
    if is_possible && activity.iter().any(TermActivity::is_dead) { DEFAULT_STARTS } else { 1 }
}

/// Returns the reason why a run cannot begin from several points, if any.
pub fn starts_obstacle(config: &RunConfig, data: &Dataset) -> Option<&'static str> {
    let parameterization = config.parameterization();
    if data.program().is_none() {
        Some("the scores are linear, so every start leads to the same optimum")
    } else if parameterization.coordinates.iter().any(|coordinate| coordinate.integer) {
        Some("coordinates are integers")
    } else if !config.optimizer.uses_matrices() {
        Some("only runs of gn-lbfgs and gauss-newton begin where they are told to")
    } else {
        None
    }
}

/// Fits a run for a few steps from `count` points, the prior and others that switch terms on and off, and returns the
/// best.
pub fn choose_start(
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    count: usize,
    stop: &AtomicBool,
) -> Result<StartChoice> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(config.seed);
    let mut best: Option<StartChoice> = None;
    let mut losses = Vec::new();
    for index in 0..count {
        let begin = match (index, data.program()) {
            (0, _) | (_, None) => config.begin.clone(),
            (_, Some(program)) => Some(drawn(config, data, program, split, &mut rng)),
        };
        let from = RunConfig { begin, ..config.clone() };
        let (z, loss) = near_optimum(&from, data, split, backend, stop)?;
        if best.as_ref().is_none_or(|best| loss < losses[best.record.best]) {
            best = Some(StartChoice { z, record: StartsRecord { losses: Vec::new(), best: index } });
        }
        losses.push(loss);
    }
    let mut best = best.ok_or_else(|| Error::Usage("a run begins somewhere".to_string()))?;
    best.record.losses = losses;
    Ok(best)
}

fn near_optimum(
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    stop: &AtomicBool,
) -> Result<(Vec<f64>, f64)> {
    let model = ModelSize { parameters: config.prior_theta.len(), linear: false };
    let optimizer = OptimizerConfig::default_for(config.loss.is_smooth(), model);
    let limits = Limits { epochs: Some(EPOCHS), improvement: Some(1e-4), ..Limits::default() };
    let fit = RunConfig { stopping: limits.for_method(&optimizer), optimizer, ..config.clone() };
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
    let (mut evaluator, _) = backend.evaluator(&layout)?;
    let outcome = Tuning::try_new(&fit, split)?.run(&mut *evaluator, stop, &mut |_| Ok(()))?;
    match outcome.reason {
        StopReason::Interrupted => {
            Err(Error::Interrupted("while looking for the neighborhood of the optimum".to_string()))
        }
        _ => Ok((outcome.z, outcome.members[outcome.best_member].1)),
    }
}

/// Draws a start that switches on each term that can be off in a random share of the sums, by moving the sum along its
/// mean entries.
fn drawn(
    config: &RunConfig,
    data: &Dataset,
    program: &CompiledProgram,
    split: &Split,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    let parameterization = config.parameterization();
    let space = space_of(&parameterization);
    let mut z = config.begin.clone().unwrap_or_else(|| space.start.clone());
    let positions = at_most(split.training().map(|n| n as u32).collect(), MEASURED);
    let mut moved: Vec<Input> = Vec::new();
    for term in program.program().terms.iter().filter(|term| term.can_be_off()) {
        if moved.contains(&term.input) {
            continue;
        }
        moved.push(term.input);
        let share = rng.random_range(SHARES);
        let sums = sums_of(data, program, &parameterization.theta(&z), term.input, &positions);
        if sums.values.is_empty() {
            continue;
        }
        let mut along = parameterization.pull_gradients(&sums.direction);
        let free = |i: usize| space.lower[i] < space.upper[i];
        (0..along.len()).filter(|&i| !free(i)).for_each(|i| along[i] = 0.0);
        let square: f64 = along.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        let touched: Vec<usize> = (0..along.len()).filter(|&i| along[i] != 0.0).collect();
        let mean_square = touched.iter().map(|&i| z[i] * z[i]).sum::<f64>() / touched.len() as f64;
        let noise = match mean_square > 0.0 {
            true => NOISE * mean_square.sqrt(),
            false => noticed(term) / square.sqrt(),
        };
        for &i in &touched {
            // Sums of uniform numbers are close enough to normal ones.
            let normal: f64 = (0..12).map(|_| rng.random_range(0.0..1.0)).sum::<f64>() - 6.0;
            z[i] += noise * normal;
        }
        let mut values = sums_of(data, program, &parameterization.theta(&z), term.input, &positions).values;
        values.sort_unstable_by(f64::total_cmp);
        // Places this share of the sums above the threshold.
        let quantile = values[(((1.0 - share) * values.len() as f64) as usize).min(values.len() - 1)];
        let step = (term.threshold() - quantile) / square;
        touched.iter().filter(|_| step.is_finite()).for_each(|&i| z[i] += step * along[i]);
    }
    space.clamp(&mut z);
    z
}

fn noticed(term: &Term) -> f64 {
    let threshold = if term.threshold().is_finite() { term.threshold() } else { -term.shift };
    let size = |distance: f64| term.function(threshold + distance).0.abs();
    let distances = std::iter::successors(Some(1e-3), |distance| Some(2.0 * distance));
    distances
        .take_while(|&distance| distance < 1e6)
        .find(|&distance| size(distance) >= NOTICED)
        .unwrap_or(1.0)
}

struct InputSums {
    values: Vec<f64>,
    /// The mean of their derivatives by θ.
    direction: Vec<f64>,
}

fn sums_of(
    data: &Dataset,
    program: &CompiledProgram,
    theta: &[f64],
    input: Input,
    positions: &[u32],
) -> InputSums {
    let slots = program.slots_of(input.accumulator);
    let features = data.feature_count();
    let phase = input.phase as usize;
    let (mut values, mut direction) = (Vec::new(), vec![0.0; theta.len()]);
    for &n in positions {
        let (sums, present) = objective::sums(data, program, theta, n as usize);
        let own = slots.clone().filter(|slot| present >> slot & 1 == 1);
        values.extend(own.map(|slot| sums[slot][phase]));
        let row = data.row(n as usize);
        for (column, coefficient) in row.entries() {
            if slots.contains(&program.slot_of_column(usize::from(column))) {
                direction[phase * features + usize::from(data.feature_of(column))] += f64::from(coefficient);
            }
        }
    }
    let count = values.len().max(1) as f64;
    direction.iter_mut().for_each(|sum| *sum /= count);
    InputSums { values, direction }
}
