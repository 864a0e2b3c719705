//! One repeat of a run with the [`Tuner`] itself: whole numbers, measured noise, and several pairs
//! in flight. Slower than [`lanes`](super::lanes), whose reference it is.

use std::collections::VecDeque;

use super::Scenario;
use super::driver::{Chunk, Runner};
use super::games::pair;
use super::random::SignRandom;
use crate::{Perturbation, Tuner};
use gputexel_files::Result;

/// A repeat.
#[derive(Clone, Debug)]
pub(super) struct Single<'a> {
    scenario: &'a Scenario,
    tuner: Tuner,
    random: SignRandom,
    /// Pairs being played, oldest first, each with the words that decide its games.
    playing: VecDeque<(Perturbation, u64)>,
}

impl<'a> Single<'a> {
    /// A repeat at its start.
    ///
    /// # Errors
    /// Those of [`Tuner::try_new`].
    pub fn try_new(scenario: &'a Scenario, repeat: u64) -> Result<Self> {
        Ok(Self {
            scenario,
            tuner: Tuner::try_new(scenario.settings.clone(), scenario.variables.clone())?,
            random: SignRandom::new(scenario.seed, repeat),
            playing: VecDeque::new(),
        })
    }

    /// Asks for pairs until enough are in flight, and tells the oldest.
    fn pair(&mut self) {
        while self.playing.len() < self.scenario.concurrency {
            self.random.start_iteration();
            let Some(perturbation) = self.tuner.ask(&mut self.random) else { break };
            let bits = self.random.word();
            self.playing.push_back((perturbation, bits));
        }
        let Some((perturbation, bits)) = self.playing.pop_front() else { return };
        let sides = perturbation.plus.iter().zip(&perturbation.minus);
        let lead: f64 = sides
            .zip(self.scenario.variables.iter().zip(&self.scenario.optimum))
            .map(|((plus, minus), (v, o))| -v.simul_elo * 1e-4 * (plus - minus) * (plus + minus - 2.0 * o))
            .sum();
        let y = pair(bits, lead, self.scenario.draw_rate);
        let told = self.tuner.tell(&perturbation, (y + 2.0) as u8);
        told.expect("the perturbation was asked for and is told once");
    }
}

impl Runner for Single<'_> {
    fn advance(&mut self, chunk: &Chunk) -> Result<()> {
        for _ in 0..chunk.steps.len() {
            self.pair();
        }
        Ok(())
    }

    fn gains(&mut self) -> Result<Vec<f64>> {
        let values = match self.scenario.variables.iter().any(|v| v.integer) {
            true => self.tuner.rounded_values(),
            false => self.tuner.values().to_vec(),
        };
        Ok(vec![self.scenario.elo(&values) - self.scenario.start_elo()])
    }

    fn values(&mut self) -> Result<Vec<Vec<f64>>> {
        Ok(vec![self.tuner.values().to_vec()])
    }

    fn variances(&mut self) -> Result<Vec<Vec<f64>>> {
        Ok(vec![self.tuner.standard_errors().iter().map(|s| s * s).collect()])
    }
}
