//! The update rules: one file each, behind one small trait.
//!
//! A rule knows how far to move the two sides apart and what the score of a pair says about the
//! values; asking, telling, clamping and rounding are the [`Tuner`](super::Tuner)'s.

mod bspsa;
mod bspsas;
mod classic;
mod constant;

use serde::{Deserialize, Serialize};

use super::bounds::NearBound;
use super::method_kind::MethodKind;
use super::schedule::Schedule;
use super::settings::Settings;
use super::variables::Variable;
use gputexel_files::{Error, Result};

use bspsa::Bspsa;
use bspsas::Bspsas;
use classic::Classic;
use constant::Constant;

/// What a rule learns from: a pair of games and the values that were played.
pub(super) struct Observation<'a> {
    /// Iteration of the perturbation, from 1.
    pub k: u64,
    /// Values of the side whose score is told.
    pub plus: &'a [f64],
    /// Values of the other side.
    pub minus: &'a [f64],
    /// Signs that were drawn.
    pub delta: &'a [i8],
    /// Parameters near a bound, in their order.
    pub near: &'a [NearBound],
    /// Score of the pair, −2 to 2.
    pub y: f64,
    /// τ².
    pub variance: f64,
    /// Whether what was meant counts, and not what was played.
    pub as_published: bool,
}

impl Observation<'_> {
    fn near(&self, i: usize) -> Option<&NearBound> {
        self.near.binary_search_by_key(&i, |near| near.i).ok().map(|at| &self.near[at])
    }

    /// Half the way from minus to plus of a parameter; `c`: what was meant.
    fn half(&self, i: usize, c: f64) -> f64 {
        match self.near(i) {
            _ if self.as_published => f64::from(self.delta[i]) * c,
            Some(near) => near.half,
            None => (self.plus[i] - self.minus[i]) / 2.0,
        }
    }

    /// The same for a method that takes steps along it.
    fn step(&self, i: usize, c: f64) -> f64 {
        match self.near(i) {
            Some(near) if !self.as_published => near.step,
            _ => self.half(i, c),
        }
    }

    /// What the Bayesian model makes of the pair: the slopes a_i of the expected score and the
    /// innovation, which is the score less what was expected of it at `theta`.
    ///
    /// The strength of an engine is modeled as the density of N(θ_opt, σ²), which gives
    /// y ~ N(Σ a_i (θ_opt,i − m_i), τ²) with a_i = (plus_i − minus_i) / σ_i² around the middle m_i
    /// of the two sides. Where nothing is clamped or rounded, m is the θ of the asking. Of pairs near a bound, half the
    /// way and m are those of [`NearBound`].
    fn linearized(&self, theta: &[f64], c: &[f64], sigma: &[f64], slopes: &mut Vec<f64>) -> f64 {
        slopes.clear();
        slopes.extend((0..theta.len()).map(|i| 2.0 * self.half(i, c[i]) / (sigma[i] * sigma[i])));
        if self.as_published {
            return self.y;
        }
        let middle = |i: usize| match self.near(i) {
            Some(near) => near.middle,
            None => (self.plus[i] + self.minus[i]) / 2.0,
        };
        let expected: f64 = slopes.iter().enumerate().map(|(i, a)| a * (theta[i] - middle(i))).sum();
        self.y - expected
    }
}

/// An update rule.
pub(super) trait Rule {
    /// c_k: how far each side is moved from the middle.
    fn spread(&self, i: usize, k: u64) -> f64;

    /// R_k, for the rules that have one.
    fn gain(&self, i: usize, k: u64) -> Option<f64>;

    /// Moves `theta` by what was seen.
    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>);

    /// Follows another schedule from now on; rules without one have nothing to do.
    fn set_schedule(&mut self, schedule: Schedule);

    /// A standard deviation of the value's error.
    fn deviation(&self, i: usize) -> f64;

    /// How many variables it was made for.
    fn len(&self) -> usize;
}

/// A rule with its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Method {
    Spsa(Classic),
    Bspsas(Bspsas),
    Bspsa(Bspsa),
    Constant(Constant),
}

impl Method {
    pub fn try_new(settings: &Settings, variables: &[Variable]) -> Result<Self> {
        Ok(match settings.method {
            MethodKind::Spsa => Self::Spsa(Classic::try_new(settings.schedule, variables)?),
            MethodKind::Bspsas => Self::Bspsas(Bspsas::try_new(settings.schedule, variables)?),
            MethodKind::Bspsa => Self::Bspsa(Bspsa::try_new(settings.schedule, variables)?),
            MethodKind::Constant => Self::Constant(Constant::try_new(variables)?),
        })
    }

    pub fn kind(&self) -> MethodKind {
        match self {
            Self::Spsa(_) => MethodKind::Spsa,
            Self::Bspsas(_) => MethodKind::Bspsas,
            Self::Bspsa(_) => MethodKind::Bspsa,
            Self::Constant(_) => MethodKind::Constant,
        }
    }

    pub fn rule(&self) -> &dyn Rule {
        match self {
            Self::Spsa(rule) => rule,
            Self::Bspsas(rule) => rule,
            Self::Bspsa(rule) => rule,
            Self::Constant(rule) => rule,
        }
    }

    pub fn rule_mut(&mut self) -> &mut dyn Rule {
        match self {
            Self::Spsa(rule) => rule,
            Self::Bspsas(rule) => rule,
            Self::Bspsa(rule) => rule,
            Self::Constant(rule) => rule,
        }
    }
}

/// A setting of every variable, or whose is missing.
fn required(
    variables: &[Variable],
    name: &str,
    method: MethodKind,
    get: impl Fn(&Variable) -> Option<f64>,
) -> Result<Vec<f64>> {
    let one = |variable: &Variable| {
        get(variable).ok_or_else(|| Error::Usage(format!("{}: {method} needs {name}", variable.name)))
    };
    variables.iter().map(one).collect()
}
