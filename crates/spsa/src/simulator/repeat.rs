//! One repeat of a run: the [`Tuner`] and the engine whose strength is known.

use std::collections::VecDeque;

use super::Scenario;
use super::games::pair;
use super::random::SignRandom;
use crate::methods::{Factors, Scratch};
use crate::{Perturbation, Tuner};

/// Iterations that all repeats do before gains are looked at.
pub(super) struct Chunk {
    /// Number of pairs to be told.
    pub pairs: u64,
    /// Iteration of the first of the factors.
    pub first: u64,
    /// Factors of all iterations that are asked for in the chunk.
    pub factors: Vec<Factors>,
}

impl Chunk {
    /// Factors of iteration `k`.
    pub fn factors(&self, k: u64) -> Factors {
        self.factors[(k - self.first) as usize]
    }
}

/// A repeat.
#[derive(Clone, Debug)]
pub(super) struct Repeat<'a> {
    scenario: &'a Scenario,
    tuner: Tuner,
    random: SignRandom,
    /// Pairs being played, oldest first.
    playing: VecDeque<Playing>,
    /// A pair that was told, whose memory the next one takes.
    spare: Option<Playing>,
    scratch: Scratch,
}

/// A pair of games.
#[derive(Clone, Debug)]
struct Playing {
    perturbation: Perturbation,
    /// Of its iteration.
    factors: Factors,
    /// Random bits that decide its games.
    bits: u64,
}

impl<'a> Repeat<'a> {
    /// A repeat at its start; `tuner` is that of the scenario.
    pub fn new(scenario: &'a Scenario, tuner: Tuner, repeat: u64) -> Self {
        Self {
            scenario,
            tuner,
            random: SignRandom::new(scenario.seed, repeat),
            playing: VecDeque::new(),
            spare: None,
            scratch: Scratch::default(),
        }
    }

    /// Plays the pairs of a chunk.
    pub fn advance(&mut self, chunk: &Chunk) {
        for _ in 0..chunk.pairs {
            self.pair(chunk);
        }
    }

    /// Asks for pairs until enough are in flight, and tells the oldest.
    fn pair(&mut self, chunk: &Chunk) {
        while self.playing.len() < self.scenario.concurrency {
            let Some(k) = self.tuner.next_iteration() else { break };
            let factors = chunk.factors(k);
            let mut playing = self.spare.take().unwrap_or_else(|| Playing {
                perturbation: Perturbation::with_capacity(self.scenario.variables.len()),
                factors,
                bits: 0,
            });
            self.random.start_iteration();
            self.tuner.ask_into(&mut playing.perturbation, k, factors, &mut self.random);
            playing.factors = factors;
            playing.bits = self.random.word();
            self.playing.push_back(playing);
        }
        let Some(playing) = self.playing.pop_front() else { return };
        let sides = playing.perturbation.plus.iter().zip(&playing.perturbation.minus);
        let lead: f64 = sides
            .zip(self.scenario.variables.iter().zip(&self.scenario.optimum))
            .map(|((plus, minus), (v, o))| -v.simul_elo * 1e-4 * (plus - minus) * (plus + minus - 2.0 * o))
            .sum();
        let y = pair(playing.bits, lead, self.scenario.draw_rate);
        self.tuner.learn(&playing.perturbation, (y + 2.0) as u8, playing.factors, &mut self.scratch);
        self.spare = Some(playing);
    }

    /// Elo of the values that an engine would get now.
    pub fn elo(&self) -> f64 {
        if self.scenario.variables.iter().any(|v| v.integer) {
            self.scenario.elo(&self.tuner.rounded_values())
        } else {
            self.scenario.elo(self.tuner.values())
        }
    }

    /// Values by parameter, as fractions.
    pub fn values(&self) -> Vec<f64> {
        self.tuner.values().to_vec()
    }

    /// Variances of their errors by the method, by parameter.
    pub fn variances(&self) -> Vec<f64> {
        self.tuner.standard_errors().iter().map(|s| s * s).collect()
    }
}
