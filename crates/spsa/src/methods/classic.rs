//! SPSA as `spsa.pl` runs it, and its constant-gain form's common part.

use serde::{Deserialize, Serialize};

use super::super::schedule::Schedule;
use super::super::variables::Variable;
use super::{Factors, MethodKind, Observation, Rule, Scratch, required};
use gputexel_io::Result;

/// A step along the played perturbation, and the noise that such steps have added up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Walk {
    /// Σ (R d y)² of each variable: the variance of a walk driven by the scores' noise alone.
    noise: Vec<f64>,
}

impl Walk {
    pub fn new(variables: usize) -> Self {
        Self { noise: vec![0.0; variables] }
    }

    /// Moves variable `i` with gain `r` along `half`.
    pub fn step(&mut self, i: usize, theta: &mut f64, r: f64, half: f64, y: f64) {
        let step = r * half * y;
        *theta += step;
        self.noise[i] += step * step;
    }

    /// How far noise alone would have carried the variable: the standard deviation of a sum of independent steps
    /// as large as those taken. Where games pull a value to its optimum they undo part of the noise, so this errs
    /// on the large side.
    pub fn deviation(&self, i: usize) -> f64 {
        self.noise[i].sqrt()
    }

    pub fn len(&self) -> usize {
        self.noise.len()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Classic {
    schedule: Schedule,
    c_end: Vec<f64>,
    r_end: Vec<f64>,
    walk: Walk,
}

impl Classic {
    pub fn try_new(schedule: Schedule, variables: &[Variable]) -> Result<Self> {
        Ok(Self {
            schedule,
            c_end: variables.iter().map(|v| v.c_end).collect(),
            r_end: required(variables, "r_end", MethodKind::Spsa, |v| v.r_end)?,
            walk: Walk::new(variables.len()),
        })
    }
}

impl Rule for Classic {
    fn c_end(&self) -> &[f64] {
        &self.c_end
    }

    fn r_end(&self) -> Option<&[f64]> {
        Some(&self.r_end)
    }

    fn factors(&self, k: u64) -> Factors {
        Factors { c: self.schedule.c_factor(k), r: self.schedule.r_factor(k) }
    }

    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, _scratch: &mut Scratch) {
        for (i, (theta, half)) in theta.iter_mut().zip(seen.steps(&self.c_end)).enumerate() {
            self.walk.step(i, theta, self.r_end[i] * seen.factors.r, half, seen.y);
        }
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    fn deviation(&self, i: usize) -> f64 {
        self.walk.deviation(i)
    }

    fn len(&self) -> usize {
        self.walk.len().min(self.c_end.len()).min(self.r_end.len())
    }
}
