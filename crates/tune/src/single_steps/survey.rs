//! Surveys of all single steps from a point, and the descent that they lead.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::{Effects, Pull, SingleSteps, TIE};
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::{Error, Result, counted, grouped};

pub(super) const MAX_SCORES: u64 = 1 << 31;
/// Number of steps with a program that are tried before progress is reported.
const GROUP: usize = 64;

const STEPS: &str = "whole numbers by single steps";

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub coordinate: usize,
    pub by: f64,
    pub change: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Steps by ±1 that stay within the bounds, have an effect, and were tried.
    pub steps: usize,
    /// Other such steps, which raise the loss by its slopes, and were not tried because all would take too
    /// long.
    pub untried: usize,
    /// Steps that lower the loss by more than a [`TIE`], best first.
    pub improving: Vec<Step>,
    /// Smallest loss change among the other steps that were tried; `None` if there are none.
    pub smallest_increase: Option<f64>,
    /// Coordinates left out because stepping them changes nothing: no position has their features.
    pub without_effect: usize,
}

pub struct Watch<'a> {
    pub cancel: &'a AtomicBool,
    /// Receives what is being done and how far it is, on one line; an error ends the search.
    pub observe: &'a mut dyn FnMut(&str) -> Result<()>,
}

impl Watch<'_> {
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
    }
}

pub(crate) fn interrupted() -> Error {
    Error::Interrupted("while rounding".to_string())
}

struct Order {
    steps: Vec<(usize, f64)>,
    /// Number of steps, from the first, that have to be tried.
    required: usize,
    without_effect: usize,
}

impl SingleSteps<'_> {
    /// Computes the exact loss changes of single steps of integer coordinates: of all, unless a program would take too
    /// long for that.
    pub fn survey(&self, watch: &mut Watch<'_>) -> Result<Survey> {
        let mut left = self.max_scores;
        self.survey_within(&mut left, None, watch)
    }

    pub(super) fn survey_within(
        &self,
        left: &mut u64,
        pass: Option<usize>,
        watch: &mut Watch<'_>,
    ) -> Result<Survey> {
        let Order { steps, required, without_effect } = self.order(watch)?;
        let limit = -TIE * self.loss();
        let (mut tried, mut work, begun) = (Vec::with_capacity(steps.len()), 0, Instant::now());
        let all: u64 = steps.iter().map(|step| self.scores_of(step.0)).sum();
        let what = pass.map_or(STEPS.to_string(), |pass| format!("{STEPS}, pass {pass}"));
        let tell = |done: u64, tried: usize, watch: &mut Watch<'_>| {
            let seconds = begun.elapsed().as_secs_f64() / done.max(1) as f64 * (all - done) as f64;
            let (tried, steps) = (grouped(tried as u64), counted(steps.len() as u64, "step"));
            let of = if pass.is_some() { " of the pass" } else { "" };
            (watch.observe)(&format!("{what}: {tried} of {steps} tried, at most {seconds:.0} s{of} left"))
        };
        let size = match &self.effects {
            Effects::Scores(_) => steps.len().max(1),
            Effects::Sums(_) => GROUP,
        };
        let (first, others) = steps.split_at(required);
        for group in first.chunks(size).chain(others.chunks(size)) {
            let found = pass.is_some() && tried.iter().any(|step: &Step| step.change < limit);
            if tried.len() >= required && (found || *left == 0) {
                break;
            }
            let own: u64 = group.iter().map(|step| self.scores_of(step.0)).sum();
            // Block by block, so that all steps find it in memory.
            let mut sums = vec![0.0; group.len()];
            for block in 0..self.blocks() {
                let cancel = watch.cancel;
                let of_steps = group.par_iter().zip(&mut sums).with_max_len(2);
                of_steps.for_each(|(&(coordinate, by), sum)| {
                    if !cancel.load(Ordering::Relaxed) {
                        *sum += self.change_in(block, coordinate, by);
                    }
                });
                watch.check()?;
                let (done, blocks) = ((block + 1) as u64, self.blocks() as u64);
                tell(
                    work + own * done / blocks,
                    tried.len() + group.len() * (block + 1) / self.blocks(),
                    watch,
                )?;
            }
            tried.extend(group.iter().zip(sums).map(|(&(coordinate, by), sum)| {
                let change = sum / self.weight + self.regularization_change(coordinate, by);
                Step { coordinate, by, change }
            }));
            work += own;
            *left = left.saturating_sub(own);
        }
        let untried = steps.len() - tried.len();
        // NaN (a score beyond the range of f64) is not an improvement.
        let (mut improving, others): (Vec<Step>, Vec<Step>) =
            tried.iter().partition(|step| step.change < limit);
        improving.sort_by(|a, b| {
            a.change.total_cmp(&b.change).then(a.coordinate.cmp(&b.coordinate)) // equal ones by coordinate
        });
        let smallest = others.iter().map(|step| step.change).min_by(f64::total_cmp);
        Ok(Survey { steps: tried.len(), untried, improving, smallest_increase: smallest, without_effect })
    }

    fn order(&self, watch: &Watch<'_>) -> Result<Order> {
        let whole = (0..self.z.len()).filter(|&coordinate| self.problem.space.integer[coordinate]);
        let (coordinates, dead): (Vec<usize>, Vec<usize>) = whole.partition(|&i| self.alive[i]);
        let allowed = |&(coordinate, by): &(usize, f64)| self.is_allowed(coordinate, by);
        let both = coordinates.iter().flat_map(|&coordinate| [(coordinate, -1.0), (coordinate, 1.0)]);
        let steps: Vec<(usize, f64)> = both.filter(allowed).collect();
        let without_effect = dead.len();
        let Effects::Sums(sums) = &self.effects else {
            return Ok(Order { required: steps.len(), steps, without_effect });
        };
        let (objective, max) = (self.problem.objective, f64::from(self.problem.layout.phase_max()));
        let per_cp = x_per_cp(objective.k);
        let outer = |n: usize| {
            let (x, y) = (per_cp * (self.scores[n] / max), self.targets[n]);
            let weight = per_cp * self.weights.get(n).unwrap_or(&1.0);
            [weight * objective.loss.slope(x, y), 0.5 * per_cp * weight * objective.loss.curvature(x, y)]
        };
        let pulls: Vec<&[Pull]> = coordinates.iter().map(|&i| &self.pulls[i][..]).collect();
        let forecasts = sums.forecasts(&pulls, outer, watch.cancel).ok_or_else(interrupted)?;
        let forecast = |&(coordinate, by): &(usize, f64)| {
            let at = coordinates.binary_search(&coordinate).expect("steps are those of these coordinates");
            let [slope, half] = forecasts[at];
            (slope * by + half) / self.weight + self.regularization_change(coordinate, by)
        };
        let mut order: Vec<(f64, (usize, f64))> = steps.iter().map(|step| (forecast(step), *step)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: by coordinate where equal
        // Forecasts that are no numbers come last, but have to be tried, too.
        let required = order.iter().rposition(|(change, _)| change.is_nan() || *change < 0.0);
        let steps = order.into_iter().map(|(_, step)| step).collect();
        Ok(Order { steps, required: required.map_or(0, |last| last + 1), without_effect })
    }

    /// The number of scores that a step of a coordinate changes, at most.
    pub(super) fn scores_of(&self, coordinate: usize) -> u64 {
        match &self.effects {
            Effects::Scores(_) => 1,
            Effects::Sums(sums) => {
                self.pulls[coordinate].iter().map(|pull| sums.count(pull.feature) as u64).sum()
            }
        }
    }

    /// Takes improving steps, best first, rechecking each at the point where it is taken, until no single step improves
    /// the loss; returns the survey that proves this.
    pub fn descend(&mut self, watch: &mut Watch<'_>) -> Result<Survey> {
        let mut left = self.max_scores;
        let mut pass = 0;
        loop {
            pass += 1;
            let survey = self.survey_within(&mut left, Some(pass), watch)?;
            if survey.improving.is_empty() {
                return Ok(survey);
            }
            let limit = -TIE * self.loss();
            let count = grouped(survey.improving.len() as u64);
            for (at, step) in survey.improving.into_iter().enumerate() {
                watch.check()?;
                (watch.observe)(&format!("{STEPS}, pass {pass}: taking {} of {count}", at + 1))?;
                let mut by = step.by;
                while self.is_allowed(step.coordinate, by) && self.change(step.coordinate, by) < limit {
                    self.take(step.coordinate, by);
                    by *= 2.0;
                }
            }
        }
    }
}
