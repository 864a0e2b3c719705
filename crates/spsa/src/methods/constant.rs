//! SPSA with constant gains: fishtest's autoselect form, A = α = γ = 0.

use serde::{Deserialize, Serialize};

use super::super::schedule::Schedule;
use super::super::variables::Variable;
use super::classic::Walk;
use super::{Factors, MethodKind, Observation, Rule, Scratch, required};
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Constant {
    c: Vec<f64>,
    r: Vec<f64>,
    walk: Walk,
}

impl Constant {
    pub fn try_new(variables: &[Variable]) -> Result<Self> {
        Ok(Self {
            c: variables.iter().map(|v| v.c_end).collect(),
            r: required(variables, "r_end", MethodKind::Constant, |v| v.r_end)?,
            walk: Walk::new(variables.len()),
        })
    }
}

impl Rule for Constant {
    fn c_end(&self) -> &[f64] {
        &self.c
    }

    fn r_end(&self) -> Option<&[f64]> {
        Some(&self.r)
    }

    fn factors(&self, _k: u64) -> Factors {
        Factors { c: 1.0, r: 1.0 }
    }

    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, _scratch: &mut Scratch) {
        for (i, (theta, half)) in theta.iter_mut().zip(seen.steps(&self.c)).enumerate() {
            self.walk.step(i, theta, self.r[i], half, seen.y);
        }
    }

    fn set_schedule(&mut self, _schedule: Schedule) {}

    fn deviation(&self, i: usize) -> f64 {
        self.walk.deviation(i)
    }

    fn len(&self) -> usize {
        self.walk.len().min(self.c.len()).min(self.r.len())
    }
}
