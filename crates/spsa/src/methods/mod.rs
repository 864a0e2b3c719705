//! The update rules: one file each, behind one small trait.

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
use gputexel_io::{Error, Result};

use bspsa::Bspsa;
use bspsas::Bspsas;
use classic::Classic;
use constant::Constant;

#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    pub c: f64,
    /// R_k / r_end; 1 for the rules without a gain.
    pub r: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    slopes: Vec<f64>,
    products: Vec<f64>,
}

/// A pair of games and the values that were played, from which a rule learns.
pub(super) struct Observation<'a> {
    pub factors: Factors,
    pub plus: &'a [f64],
    pub minus: &'a [f64],
    pub delta: &'a [i8],
    pub near: &'a [NearBound],
    /// Score of the pair, −2 to 2.
    pub y: f64,
    pub variance: f64,
    /// Updates with the perturbation that was meant instead of the one that was played.
    pub as_published: bool,
}

impl Observation<'_> {
    /// Half the way from minus to plus of each parameter, as it counts for a method that takes steps along it.
    fn steps(&self, c_end: &[f64]) -> impl Iterator<Item = f64> {
        let mut near = self.near.iter().peekable();
        c_end.iter().enumerate().map(move |(i, c_end)| {
            if self.as_published {
                return self.meant(i, c_end);
            }
            near.next_if(|near| near.i == i).map_or_else(|| self.half(i), |near| near.step)
        })
    }

    /// The Bayesian model's view of the pair: the slopes a_i of the expected score and the innovation, which is
    /// the score less what was expected of it at `theta`.
    ///
    /// The strength of an engine is modeled as the density of N(θ_opt, σ²), which gives y ~ N(Σ a_i (θ_opt,i −
    /// m_i), τ²) with a_i = (plus_i − minus_i) / σ_i² around the middle m_i of the two sides. Where nothing is
    /// clamped or rounded, m is the θ of the asking.
    fn linearized(&self, theta: &[f64], c_end: &[f64], sigma: &[f64], slopes: &mut Vec<f64>) -> f64 {
        slopes.clear();
        let slope = |half: f64, sigma: f64| 2.0 * half / (sigma * sigma);
        if self.as_published {
            slopes.extend((0..theta.len()).map(|i| slope(self.meant(i, &c_end[i]), sigma[i])));
            return self.y;
        }
        let mut near = self.near.iter().peekable();
        let mut expected = 0.0;
        for (i, (theta, &sigma)) in theta.iter().zip(sigma).enumerate() {
            let (half, middle) = match near.next_if(|near| near.i == i) {
                Some(near) => (near.half, near.middle),
                None => (self.half(i), (self.plus[i] + self.minus[i]) / 2.0),
            };
            let a = slope(half, sigma);
            slopes.push(a);
            expected += a * (theta - middle);
        }
        self.y - expected
    }

    fn half(&self, i: usize) -> f64 {
        (self.plus[i] - self.minus[i]) / 2.0
    }

    fn meant(&self, i: usize, c_end: &f64) -> f64 {
        f64::from(self.delta[i]) * (c_end * self.factors.c)
    }
}

pub(super) trait Rule {
    /// How far each side is moved from the middle at the last iteration, by parameter.
    fn c_end(&self) -> &[f64];

    fn r_end(&self) -> Option<&[f64]>;

    fn factors(&self, k: u64) -> Factors;

    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, scratch: &mut Scratch);

    /// Follows another schedule from now on; rules without one have nothing to do.
    fn set_schedule(&mut self, schedule: Schedule);

    fn deviation(&self, i: usize) -> f64;

    fn len(&self) -> usize;
}

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
