//! The gradient of the fast evaluator against finite differences of the reference, on a sample.

use rayon::prelude::*;
use serde::Serialize;

use super::{CheckSettings, parameter_name};
use gputexel_dataset::objective::{self, Objective};
use gputexel_dataset::{Dataset, Layout};
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_eval::{Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_model::program::{CompiledProgram, Interval};

pub const PARAMETERS: usize = 64;
/// Largest difference, as a fraction of the largest derivative, that is attributed to f32 rounding.
pub const TOLERANCE: f64 = 1e-4;
/// Step of central differences: the largest change of a score, and of a parameter, centipawns.
const STEP_CP: f64 = 0.05;

fn smooth_positions(data: &Dataset, program: &CompiledProgram, theta: &[f64]) -> Vec<usize> {
    let is_smooth = |n: &usize| {
        let largest = data.row(*n).entries().fold(1.0f32, |most, (_, c)| most.max(c.abs()));
        let (sums, present) = objective::sums(data, program, theta, *n);
        let around = |sum: f64| Interval::around(sum, STEP_CP * f64::from(largest), false);
        let sums: Vec<[Interval; 2]> = sums.iter().map(|pair| pair.map(around)).collect();
        !program.score(&sums, present, objective::taper(data, *n)).split
    };
    (0..data.len()).filter(is_smooth).collect()
}

/// Results of comparing derivatives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradientFindings {
    pub positions: usize,
    /// For a nonlinear evaluation, the share of positions so close to a kink or jump that finite differences
    /// may cross it; they are not in the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_kinks: Option<f64>,
    /// Number of parameters compared: evenly spaced among those that occur in the sample.
    pub parameters: usize,
    /// Largest absolute derivative, per centipawn.
    pub largest_derivative: f64,
    pub largest_difference: f64,
    /// The parameter with the largest difference.
    pub at: String,
}

impl GradientFindings {
    pub(super) fn new(data: &Dataset, theta: &[f64], settings: CheckSettings) -> Result<Option<Self>> {
        let smooth = data.program().map(|program| smooth_positions(data, program, theta));
        let available = smooth.as_ref().map_or(data.len(), Vec::len);
        let wanted = settings.sample.min(available);
        if wanted == 0 {
            return Ok(None);
        }
        // Evenly spaced, so that all parts of the input are covered.
        let place = |i: usize| i * available / wanted;
        let chosen: Vec<usize> =
            (0..wanted).map(|i| smooth.as_ref().map_or(place(i), |all| all[place(i)])).collect();
        let near_kinks = smooth.map(|all| 1.0 - all.len() as f64 / data.len() as f64);
        let data = &data.subset(&chosen);
        let layout = Layout::try_new(data, 1, |_| 0)?;
        let population = Population::new(data.feature_count(), theta.to_vec(), vec![settings.k]);
        let request = Request { parts: 0..1, loss: settings.loss, gradients: true, curvature: false };
        let fast = CpuEvaluator::new(&layout).evaluate(&population, &request)?.gradients;

        let mut present = vec![false; data.feature_count()];
        for n in 0..data.len() {
            data.row(n).entries().for_each(|(id, _)| present[usize::from(data.feature_of(id))] = true);
        }
        let features = data.feature_count();
        let candidates: Vec<usize> = (0..2 * features).filter(|&at| present[at % features]).collect();
        let count = candidates.len().min(PARAMETERS);
        let objective = Objective { k: settings.k, loss: settings.loss };
        let mut found = Self {
            positions: wanted,
            near_kinks,
            parameters: count,
            largest_derivative: 0.0,
            largest_difference: 0.0,
            at: String::new(),
        };
        let mut theta = theta.to_vec();
        let mut largest = 0.0;
        for i in 0..count {
            let at = candidates[i * candidates.len() / count];
            let here = theta[at];
            let step = STEP_CP / largest_effect(data, &mut theta, at).max(1.0);
            let mut loss = |value: f64| {
                theta[at] = value;
                objective::loss(data, objective, &theta, 0..data.len())
            };
            let slope = (loss(here + step) - loss(here - step)) / (2.0 * step);
            theta[at] = here;
            found.largest_derivative = found.largest_derivative.max(slope.abs());
            let difference = (fast[at] - slope).abs();
            // A NaN derivative counts as the largest difference.
            if difference > largest || difference.is_nan() || found.at.is_empty() {
                largest = if difference.is_nan() { f64::INFINITY } else { difference };
                found.at = parameter_name(&data.metadata().feature_set, at);
            }
        }
        found.largest_difference = largest / found.largest_derivative.max(1e-12);
        Ok(Some(found))
    }

    pub fn agrees(&self) -> bool {
        self.largest_difference <= TOLERANCE
    }
}

/// The largest change of a score per centipawn of a parameter: that of a factor can be hundreds.
fn largest_effect(data: &Dataset, theta: &mut [f64], at: usize) -> f64 {
    let here = theta[at];
    let scores = |theta: &[f64]| -> Vec<f64> {
        (0..data.len()).into_par_iter().map(|n| objective::score(data, theta, n)).collect()
    };
    let before = scores(theta);
    theta[at] = here + STEP_CP;
    let changes = scores(theta).into_iter().zip(before).map(|(after, before)| (after - before).abs());
    theta[at] = here;
    changes.fold(0.0, f64::max) / STEP_CP
}
