//! Particle swarms with the rules of MadChess, an engine that has been tuned with them since 2018.

mod settings;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

pub use settings::{ParticleSwarmSettings, SwarmVariant, Swarms};

use super::{Best, Evaluations, Optimizer, OptimizerState, Proposal, Space, SwarmDetails};
use gputexel_io::{Error, Result};

/// The error of particles that have not been evaluated or whose error is not finite.
const UNKNOWN: f64 = f64::MAX;

const LISTED: usize = 256;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParticleSwarm {
    #[serde(skip)]
    settings: ParticleSwarmSettings,
    #[serde(skip)]
    start: Vec<f64>,
    #[serde(skip)]
    low: Vec<f64>,
    #[serde(skip)]
    high: Vec<f64>,
    #[serde(skip)]
    integer: Vec<bool>,
    #[serde(skip)]
    positions: Vec<f64>,
    #[serde(skip)]
    velocities: Vec<f64>,
    #[serde(skip)]
    best_positions: Vec<f64>,
    /// Each particle's error at its last evaluation; [`UNKNOWN`] for new ones.
    #[serde(skip)]
    errors: Vec<f64>,
    #[serde(skip)]
    best_errors: Vec<f64>,
    #[serde(skip)]
    global: Vec<f64>,
    global_error: f64,
    global_member: usize,
    original: f64,
    rng: Xoshiro256PlusPlus,
    iterations: u64,
    stalled: u64,
    deaths: u64,
    restarts: u64,
}

impl ParticleSwarm {
    /// Creates particles spread over the whole box; the first one is at the start.
    pub fn try_new(space: &Space, settings: ParticleSwarmSettings) -> Result<Self> {
        settings.validate()?;
        let dimension = space.dimension();
        let bounded = |i: &usize| (space.upper[*i] - space.lower[*i]).is_finite();
        if let Some(i) = (0..dimension).find(|i| !bounded(i)) {
            return Err(Error::Usage(format!("swarms need bounds, and parameter {i} has none")));
        }
        let members = settings.members().expect("settings were checked");
        let inward = |bounds: &[f64], round: fn(f64) -> f64| -> Vec<f64> {
            bounds
                .iter()
                .zip(&space.integer)
                .map(|(&v, &integer)| if integer { round(v) } else { v })
                .collect()
        };
        let mut swarm = Self {
            start: space.start.clone(),
            low: inward(&space.lower, f64::ceil),
            high: inward(&space.upper, f64::floor),
            integer: space.integer.clone(),
            positions: vec![0.0; members * dimension],
            velocities: vec![0.0; members * dimension],
            best_positions: vec![0.0; members * dimension],
            errors: vec![UNKNOWN; members],
            best_errors: vec![UNKNOWN; members],
            global: space.start.clone(),
            global_error: UNKNOWN,
            global_member: 0,
            original: UNKNOWN,
            rng: Xoshiro256PlusPlus::seed_from_u64(settings.seed),
            iterations: 0,
            stalled: 0,
            deaths: 0,
            restarts: 0,
            settings,
        };
        (0..members).for_each(|particle| swarm.randomize(particle));
        swarm.positions[..dimension].copy_from_slice(&space.start);
        swarm.best_positions[..dimension].copy_from_slice(&space.start);
        Ok(swarm)
    }

    fn dimension(&self) -> usize {
        self.start.len()
    }

    fn members(&self) -> usize {
        self.errors.len()
    }

    fn swarm(&self, swarm: usize) -> std::ops::Range<usize> {
        swarm * self.settings.particles..(swarm + 1) * self.settings.particles
    }

    fn best_of(&self, particles: std::ops::Range<usize>) -> usize {
        let first = particles.start;
        particles.fold(first, |best, p| if self.best_errors[p] < self.best_errors[best] { p } else { best })
    }

    fn randomize(&mut self, particle: usize) {
        let dimension = self.dimension();
        for i in 0..dimension {
            let (low, high) = (self.low[i], self.high[i]);
            let position = match self.integer[i] {
                true => self.rng.random_range(low as i64..=high as i64) as f64,
                false => (low + (high - low) * self.rng.random::<f64>()).min(high),
            };
            let most = self.settings.initial_velocity * (high - low);
            let at = particle * dimension + i;
            self.positions[at] = position;
            self.best_positions[at] = position;
            self.velocities[at] = self.rng.random::<f64>() * 2.0 * most - most;
        }
        self.errors[particle] = UNKNOWN;
        self.best_errors[particle] = UNKNOWN;
    }

    fn learn(&mut self, particle: usize, error: f64) {
        self.errors[particle] = error;
        if error < self.best_errors[particle] {
            self.best_errors[particle] = error;
            let at = particle * self.dimension()..(particle + 1) * self.dimension();
            self.best_positions[at.clone()].copy_from_slice(&self.positions[at]);
        }
    }

    /// Replaces a particle with a new one at random, unless it is the best of its swarm.
    fn may_die(&mut self, particle: usize, best: usize) {
        if particle != best && self.rng.random::<f64>() < self.settings.death {
            self.randomize(particle);
            self.deaths += 1;
        }
    }

    fn step(&mut self, particle: usize) {
        let dimension = self.dimension();
        for i in 0..dimension {
            let at = particle * dimension + i;
            let velocity = self.velocities[at];
            self.positions[at] += if self.integer[i] { velocity.trunc() } else { velocity };
            if !(self.low[i]..=self.high[i]).contains(&self.positions[at]) {
                self.positions[at] = self.positions[at].clamp(self.low[i], self.high[i]);
                self.velocities[at] = 0.0;
            }
        }
    }

    fn steer(&mut self) {
        let (dimension, settings) = (self.dimension(), self.settings);
        for swarm in 0..settings.swarms {
            let best = self.best_of(self.swarm(swarm)) * dimension;
            for particle in self.swarm(swarm) {
                for i in 0..dimension {
                    let at = particle * dimension + i;
                    let x = self.positions[at];
                    let mut pull =
                        |influence: f64, toward: f64| self.rng.random::<f64>() * influence * (toward - x);
                    let own = pull(settings.own, self.best_positions[at]);
                    let swarm = pull(settings.swarm, self.best_positions[best + i]);
                    let global = pull(settings.global, self.global[i]);
                    self.velocities[at] = settings.inertia * self.velocities[at] + own + swarm + global;
                }
            }
        }
    }

    /// Runs an iteration of 2025: particles are evaluated, then die, then move.
    fn iterate_2025(&mut self, errors: &[f64]) {
        for swarm in 0..self.settings.swarms {
            let mut best = self.best_of(self.swarm(swarm));
            for particle in self.swarm(swarm) {
                self.learn(particle, errors[particle]);
                let (own, lowest) = (self.best_errors[particle], self.best_errors[best]);
                if own < lowest || (own == lowest && particle < best) {
                    best = particle;
                }
                self.may_die(particle, best);
                self.step(particle);
            }
        }
        self.turn();
    }

    /// Ends an iteration: checks for progress, then either restarts the particles or steers them.
    fn turn(&mut self) {
        let best = self.best_of(0..self.members());
        // The current error of the best particle, not its best error: this is what MadChess compares.
        let progress = self.errors[best] < self.global_error;
        if self.best_errors[best] < self.global_error {
            let at = best * self.dimension();
            self.global.copy_from_slice(&self.best_positions[at..at + self.start.len()]);
            self.global_error = self.best_errors[best];
            self.global_member = best;
        }
        self.stalled = if progress { 0 } else { self.stalled + 1 };
        self.iterations += 1;
        if self.settings.restart_after.is_some_and(|limit| self.stalled >= limit) {
            for swarm in 0..self.settings.swarms {
                // MadChess's loop begins with the second particle.
                self.swarm(swarm).skip(1).for_each(|particle| self.randomize(particle));
            }
            self.stalled = 0;
            self.restarts += 1;
        } else {
            self.steer();
        }
    }

    /// Runs the part of an iteration of 2018 before the evaluation: deaths, by the best positions known before the
    /// loop, and moves.
    fn prepare_2018(&mut self) {
        for swarm in 0..self.settings.swarms {
            let best = self.best_of(self.swarm(swarm));
            for particle in self.swarm(swarm) {
                self.may_die(particle, best);
                self.step(particle);
            }
        }
    }

    fn is_before_start(&self) -> bool {
        self.settings.variant == SwarmVariant::Of2018 && self.original == UNKNOWN
    }
}

impl Optimizer for ParticleSwarm {
    fn ask(&mut self) -> Proposal {
        let members = if self.is_before_start() { 1 } else { self.members() };
        Proposal {
            parameters: self.positions[..members * self.dimension()].to_vec(),
            members: (0..members).collect(),
            gradients: false,
            curvature: false,
        }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        let known = |&error: &f64| if error.is_finite() { error } else { UNKNOWN };
        let errors: Vec<f64> = evaluations.losses.iter().map(known).collect();
        if errors.iter().all(|&error| error == UNKNOWN) {
            return Err(Error::Numeric("particle swarm: no particle has a finite error".to_string()));
        }
        if self.is_before_start() {
            self.original = errors[0];
            self.learn(0, errors[0]);
            self.global_error = errors[0];
            self.prepare_2018();
            return Ok(());
        }
        if self.original == UNKNOWN {
            self.original = errors[0];
        }
        match self.settings.variant {
            SwarmVariant::Of2025 => self.iterate_2025(&errors),
            SwarmVariant::Of2018 => {
                errors.iter().enumerate().for_each(|(particle, &error)| self.learn(particle, error));
                self.turn();
                self.prepare_2018();
            }
        }
        Ok(())
    }

    fn best(&self) -> Best {
        Best { member: self.global_member, parameters: self.global.clone(), loss: self.global_error }
    }

    fn gradient_norm(&self) -> Option<f64> {
        None
    }

    fn epoch_done(&self) -> bool {
        self.iterations > 0
    }

    fn converged(&self) -> bool {
        false
    }

    fn members_are_trials(&self) -> bool {
        true
    }

    fn details(&self) -> Option<SwarmDetails> {
        let mut bests: Vec<f64> = (0..self.settings.swarms)
            .map(|swarm| self.best_errors[self.best_of(self.swarm(swarm))])
            .collect();
        let list = (bests.len() <= LISTED).then(|| bests.clone());
        bests.sort_unstable_by(f64::total_cmp);
        Some(SwarmDetails {
            original: self.original,
            swarms: list,
            swarm_median: bests[bests.len() / 2],
            swarm_worst: bests[bests.len() - 1],
            deaths: self.deaths,
            restarts: self.restarts,
        })
    }

    fn save(&self) -> OptimizerState {
        let vectors: [(&str, &[f64]); 6] = [
            ("positions", &self.positions),
            ("velocities", &self.velocities),
            ("best_positions", &self.best_positions),
            ("errors", &self.errors),
            ("best_errors", &self.best_errors),
            ("global", &self.global),
        ];
        OptimizerState::new("particle-swarm", self, vectors)
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let saved: Self = state.scalars("particle-swarm")?;
        let (size, members) = (self.positions.len(), self.members());
        if saved.global_member >= members {
            return Err(Error::Usage("the saved state's 'global_member' is broken".to_string()));
        }
        *self = Self {
            settings: self.settings,
            positions: state.take("positions", size)?,
            velocities: state.take("velocities", size)?,
            best_positions: state.take("best_positions", size)?,
            errors: state.take("errors", members)?,
            best_errors: state.take("best_errors", members)?,
            global: state.take("global", self.start.len())?,
            start: std::mem::take(&mut self.start),
            low: std::mem::take(&mut self.low),
            high: std::mem::take(&mut self.high),
            integer: std::mem::take(&mut self.integer),
            ..saved
        };
        for (name, points) in [
            ("positions", &self.positions),
            ("best_positions", &self.best_positions),
            ("global", &self.global),
        ] {
            let outside = |(i, value): (usize, &f64)| {
                let i = i % self.start.len();
                !(self.low[i]..=self.high[i]).contains(value) || (self.integer[i] && value.fract() != 0.0)
            };
            if points.iter().enumerate().any(outside) {
                return Err(Error::Usage(format!("the saved '{name}' lie outside the space")));
            }
        }
        Ok(())
    }

    fn describe(&self, _member: usize, _l2: f64) -> String {
        let ParticleSwarmSettings { variant, swarms, particles, seed, .. } = self.settings;
        format!("particle swarm ({swarms} x {particles} particles, variant {variant}, seed {seed})")
    }
}

#[cfg(test)]
mod tests;
