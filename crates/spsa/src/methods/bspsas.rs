//! BSPSAS: Bayesian SPSA with a posterior of each parameter by itself.

use serde::{Deserialize, Serialize};

use super::super::schedule::Schedule;
use super::super::variables::Variable;
use super::{Factors, MethodKind, Observation, Rule, Scratch, required};
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bspsas {
    schedule: Schedule,
    c_end: Vec<f64>,
    sigma: Vec<f64>,
    /// s².
    variances: Vec<f64>,
}

impl Bspsas {
    pub fn try_new(schedule: Schedule, variables: &[Variable]) -> Result<Self> {
        let s = required(variables, "s", MethodKind::Bspsas, |v| v.s)?;
        Ok(Self {
            schedule,
            c_end: variables.iter().map(|v| v.c_end).collect(),
            sigma: required(variables, "sigma", MethodKind::Bspsas, |v| v.sigma)?,
            variances: s.iter().map(|s| s * s).collect(),
        })
    }
}

impl Rule for Bspsas {
    fn c_end(&self) -> &[f64] {
        &self.c_end
    }

    fn r_end(&self) -> Option<&[f64]> {
        None
    }

    fn factors(&self, k: u64) -> Factors {
        Factors { c: self.schedule.c_factor(k), r: 1.0 }
    }

    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, scratch: &mut Scratch) {
        let slopes = &mut scratch.slopes;
        let innovation = seen.linearized(theta, &self.c_end, &self.sigma, slopes);
        for ((theta, variance), a) in theta.iter_mut().zip(&mut self.variances).zip(&*slopes) {
            let inverse = 1.0 / (a * a * *variance + seen.variance);
            *theta += *variance * a * innovation * inverse;
            *variance *= seen.variance * inverse;
        }
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    fn deviation(&self, i: usize) -> f64 {
        self.variances[i].sqrt()
    }

    fn len(&self) -> usize {
        self.variances.len().min(self.c_end.len()).min(self.sigma.len())
    }
}
