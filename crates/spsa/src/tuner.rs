//! Ask and tell: which values to play next, and what a pair's score makes of them.

use std::collections::BTreeSet;

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::bounds::{NearBound, Placement, step_length, turn};
use super::method_kind::MethodKind;
use super::methods::{Factors, Method, Observation, Scratch};
use super::settings::Settings;
use super::variables::{Variable, validate};
use gputexel_io::{Error, Result};

/// Values that two sides are to play a pair of games with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perturbation {
    /// Iteration, from 1 to N.
    pub k: u64,
    /// Values of the side whose score is told, after clamping and rounding.
    pub plus: Vec<f64>,
    /// Values of the other side; never those of the first unless rounded as published.
    pub minus: Vec<f64>,
    /// The signs that were drawn, ±1.
    pub delta: Vec<i8>,
    /// Parameters near a bound, of which the two values do not tell all, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<NearBound>,
}

impl Perturbation {
    pub(crate) fn with_capacity(n: usize) -> Self {
        let values = || Vec::with_capacity(n);
        Self { k: 0, plus: values(), minus: values(), delta: Vec::with_capacity(n), near: Vec::new() }
    }

    fn clear(&mut self) {
        self.plus.clear();
        self.minus.clear();
        self.delta.clear();
        self.near.clear();
    }
}

/// A run of one method, asked for perturbations and told scores.
///
/// Several perturbations may be out at a time; scores may come back in any order. Each moves the values as
/// they are then, with the gains of its own iteration, which is what `spsa.pl` does with several threads; for
/// the Bayesian methods this is the exact update of the current posterior.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuner {
    settings: Settings,
    variables: Vec<Variable>,
    method: Method,
    theta: Vec<f64>,
    /// Iterations that were given out at least once.
    asked: u64,
    pending: BTreeSet<u64>,
    /// Iterations taken back, to be given out again.
    returned: BTreeSet<u64>,
    pairs: [u64; 5],
}

impl Tuner {
    /// # Errors
    /// [`Error::Usage`] for settings or variables that cannot be tuned, and settings of the method that a
    /// variable lacks.
    pub fn try_new(settings: Settings, variables: Vec<Variable>) -> Result<Self> {
        settings.validate()?;
        validate(&variables)?;
        let method = Method::try_new(&settings, &variables)?;
        let theta = variables.iter().map(|v| v.start).collect();
        let (pending, returned) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self { settings, variables, method, theta, asked: 0, pending, returned, pairs: [0; 5] })
    }

    pub fn next_iteration(&self) -> Option<u64> {
        let next = (self.asked < self.iterations()).then_some(self.asked + 1);
        self.returned.first().copied().or(next)
    }

    /// `None` once all N are out or told. Draws one 32-bit number a parameter for its sign, whose top bit set
    /// means +, and with stochastic rounding numbers for whole-number parameters after it.
    pub fn ask(&mut self, rng: &mut (impl Rng + ?Sized)) -> Option<Perturbation> {
        let k = self.next_iteration()?;
        let mut perturbation = Perturbation::with_capacity(self.variables.len());
        self.ask_into(&mut perturbation, k, self.factors(k), rng);
        Some(perturbation)
    }

    /// Overwrites a perturbation with the next one, whose iteration `k` is
    /// [`next_iteration`](Self::next_iteration) and has these `factors`.
    pub(crate) fn ask_into(
        &mut self,
        perturbation: &mut Perturbation,
        k: u64,
        factors: Factors,
        rng: &mut (impl Rng + ?Sized),
    ) {
        self.returned.remove(&k);
        self.asked = self.asked.max(k);
        self.pending.insert(k);
        perturbation.clear();
        perturbation.k = k;
        let Settings { rounding, as_published, .. } = self.settings;
        let parameters = self.variables.iter().zip(&self.theta).zip(&self.method.c_end);
        for (i, ((variable, &theta), c_end)) in parameters.enumerate() {
            let delta = if rng.next_u32() >> 31 == 1 { 1 } else { -1 };
            let (sign, c) = (f64::from(delta), c_end * factors.c);
            let placement = if as_published {
                Placement::Around { c, reach: None }
            } else {
                variable.range().placement(theta, c, turn(k, i))
            };
            let (plus, minus) = match placement {
                Placement::Around { c, reach } => {
                    let (plus, minus) = variable.sides(theta, sign * c, rounding, as_published, rng);
                    if let Some(reach) = reach {
                        let (middle, half) = ((plus + minus) / 2.0, (plus - minus) / 2.0);
                        let step = step_length(reach, half.abs()).copysign(half);
                        perturbation.near.push(NearBound { i, middle, half, step });
                    }
                    (plus, minus)
                }
                Placement::Points(points) => {
                    let (half, step) = (sign * points.half, sign * points.step);
                    perturbation.near.push(NearBound { i, middle: theta, half, step });
                    if delta > 0 { (points.upper, points.lower) } else { (points.lower, points.upper) }
                }
            };
            perturbation.plus.push(plus);
            perturbation.minus.push(minus);
            perturbation.delta.push(delta);
        }
    }

    /// `half_points` is what the plus side scored in it, 0 to 4.
    ///
    /// # Errors
    /// [`Error::Usage`] for a perturbation that is not out, or not of this run, and for other scores; nothing is
    /// changed then.
    pub fn tell(&mut self, perturbation: &Perturbation, half_points: u8) -> Result<()> {
        self.check(perturbation)?;
        if half_points > 4 {
            return Err(Error::Usage(format!("{half_points} half points: a pair has at most 4")));
        }
        self.learn(perturbation, half_points, self.factors(perturbation.k), &mut Scratch::default());
        Ok(())
    }

    /// `half_points` is at most 4.
    pub(crate) fn learn(
        &mut self,
        perturbation: &Perturbation,
        half_points: u8,
        factors: Factors,
        scratch: &mut Scratch,
    ) {
        // The pairs before this one, lest its own score have a say in how much it counts.
        let variance = self.noise_variance();
        self.pairs[usize::from(half_points)] += 1;
        let Perturbation { k, plus, minus, delta, near } = perturbation;
        let as_published = self.settings.as_published;
        let y = f64::from(half_points) - 2.0;
        let seen = Observation { factors, plus, minus, delta, near, y, variance, as_published };
        self.method.update(&mut self.theta, &seen, scratch);
        for (theta, variable) in self.theta.iter_mut().zip(&self.variables) {
            *theta = variable.clamp(*theta);
        }
        self.pending.remove(k);
    }

    pub(crate) fn factors(&self, k: u64) -> Factors {
        self.method.factors(k)
    }

    /// Takes a perturbation back whose games came to nothing (a crash): its iteration will be asked for again,
    /// with new signs.
    pub fn take_back(&mut self, perturbation: &Perturbation) -> Result<()> {
        self.check(perturbation)?;
        self.pending.remove(&perturbation.k);
        self.returned.insert(perturbation.k);
        Ok(())
    }

    /// Learns from a pair of games that an earlier process was told, which gave it out: its iteration need not be
    /// out. Telling all pairs in the same order restores the values bit for bit; iterations that were skipped are
    /// asked for again.
    ///
    /// # Errors
    /// Errors of [`tell`](Self::tell); [`Error::Usage`] for an iteration that was told before, or is beyond N.
    pub fn replay(&mut self, perturbation: &Perturbation, half_points: u8) -> Result<()> {
        let k = perturbation.k;
        if k == 0 || k > self.iterations() {
            return Err(Error::Usage(format!("pair {k}: there are only {}", self.iterations())));
        }
        if k > self.asked {
            self.returned.extend(self.asked + 1..=k);
            self.asked = k;
        }
        if !self.returned.remove(&k) && !self.pending.contains(&k) {
            return Err(Error::Usage(format!("pair {k}: is there twice")));
        }
        self.pending.insert(k);
        self.tell(perturbation, half_points)
    }

    fn check(&self, perturbation: &Perturbation) -> Result<()> {
        let Perturbation { k, plus, minus, delta, near } = perturbation;
        let refuse = |why: &str| Err(Error::Usage(format!("pair {k}: {why}")));
        if !self.pending.contains(k) {
            return refuse("is not being played");
        }
        let n = self.variables.len();
        if [plus.len(), minus.len(), delta.len()] != [n; 3] {
            return refuse("is of another list of parameters");
        }
        let within = |v: &Variable, i: usize| {
            (v.min..=v.max).contains(&plus[i]) && (v.min..=v.max).contains(&minus[i]) && delta[i].abs() == 1
        };
        if !self.variables.iter().enumerate().all(|(i, v)| within(v, i)) {
            return refuse("was played with values outside the bounds");
        }
        let known = |entry: &NearBound| {
            let NearBound { i, middle, half, step } = *entry;
            i < n && middle.is_finite() && half.is_finite() && step.is_finite()
        };
        if !near.iter().all(known) || !near.is_sorted_by(|one, next| one.i < next.i) {
            return refuse("says of bounds what cannot be");
        }
        Ok(())
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    pub fn method(&self) -> MethodKind {
        self.settings.method
    }

    pub fn iterations(&self) -> u64 {
        self.settings.schedule.iterations
    }

    pub fn values(&self) -> &[f64] {
        &self.theta
    }

    pub fn rounded_values(&self) -> Vec<f64> {
        self.variables.iter().zip(&self.theta).map(|(v, theta)| v.rounded(*theta)).collect()
    }

    pub fn completed_pairs(&self) -> u64 {
        self.pairs.iter().sum()
    }

    /// True if all N pairs were told.
    pub fn is_finished(&self) -> bool {
        self.completed_pairs() == self.iterations()
    }

    /// c_k of variable `i` at the newest iteration, as far as there is room for it around its value, before
    /// rounding. (Of pairs of three points, A, which is what they are worth.)
    pub fn c_now(&self, i: usize) -> f64 {
        let rule = &self.method;
        let c = rule.c_end[i] * rule.factors(self.asked.max(1)).c;
        if self.settings.as_published {
            return c;
        }
        let range = self.variables[i].range();
        match range.placement(self.theta[i], c, 0.0) {
            Placement::Around { c, .. } => c,
            Placement::Points(points) => points.half.abs(),
        }
    }

    /// R_k of variable `i` at the newest iteration; `None` for the Bayesian methods.
    pub fn r_now(&self, i: usize) -> Option<f64> {
        let rule = &self.method;
        rule.r_end().map(|r_end| r_end[i] * rule.factors(self.asked.max(1)).r)
    }

    /// The variables that went farthest from their starts in units of their perturbations, the farthest first.
    pub fn farthest(&self) -> Vec<usize> {
        let (values, variables) = (self.values(), self.variables());
        let far = |i: usize| ((values[i] - variables[i].start) / variables[i].c_end).abs();
        let mut order: Vec<usize> = (0..variables.len()).collect();
        order.sort_by(|a, b| far(*b).total_cmp(&far(*a)));
        order
    }

    /// Bayesian methods: the posterior's standard deviation. The others: how far the noise of the games alone
    /// would have carried the value by now, which is what a change must exceed to mean something.
    pub fn standard_errors(&self) -> Vec<f64> {
        (0..self.variables.len()).map(|i| self.method.deviation(i)).collect()
    }

    /// τ² as known by now.
    pub fn noise_variance(&self) -> f64 {
        self.settings.noise.variance(&self.pairs)
    }
}
