//! One repeat of a run: the [`Tuner`] and the engine whose strength is known.

use super::Scenario;
use super::games::pair;
use super::random::SignRandom;
use crate::methods::{Factors, Scratch};
use crate::tuner::{Perturbation, Tuner};

#[derive(Clone, Debug)]
pub(super) struct Repeat<'a> {
    scenario: &'a Scenario,
    tuner: Tuner,
    random: SignRandom,
    perturbation: Perturbation,
    scratch: Scratch,
}

impl<'a> Repeat<'a> {
    pub fn new(scenario: &'a Scenario, tuner: Tuner, repeat: u64) -> Self {
        let random = SignRandom::new(scenario.seed, repeat);
        let perturbation = Perturbation::with_capacity(scenario.variables.len());
        Self { scenario, tuner, random, perturbation, scratch: Scratch::default() }
    }

    /// Plays the pairs of the next iterations, whose factors are given.
    pub fn advance(&mut self, factors: &[Factors]) {
        for &factors in factors {
            self.pair(factors);
        }
    }

    fn pair(&mut self, factors: Factors) {
        let Some(k) = self.tuner.next_iteration() else { return };
        self.random.start_iteration();
        self.tuner.ask_into(&mut self.perturbation, k, factors, &mut self.random);
        let bits = self.random.word();
        let sides = self.perturbation.plus.iter().zip(&self.perturbation.minus);
        let lead: f64 = sides
            .zip(self.scenario.variables.iter().zip(&self.scenario.optimum))
            .map(|((plus, minus), (v, o))| -v.simul_elo * 1e-4 * (plus - minus) * (plus + minus - 2.0 * o))
            .sum();
        let y = pair(bits, lead, self.scenario.draw_rate);
        self.tuner.learn(&self.perturbation, (y + 2.0) as u8, factors, &mut self.scratch);
    }

    /// Elo of the values that an engine would get now.
    pub fn elo(&self) -> f64 {
        if self.scenario.variables.iter().any(|v| v.integer) {
            self.scenario.elo(&self.tuner.rounded_values())
        } else {
            self.scenario.elo(self.tuner.values())
        }
    }

    pub fn values(&self) -> Vec<f64> {
        self.tuner.values().to_vec()
    }

    pub fn variances(&self) -> Vec<f64> {
        self.tuner.standard_errors().iter().map(|s| s * s).collect()
    }
}
