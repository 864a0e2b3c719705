//! Settings of a particle swarm and MadChess's values for them.

use serde::{Deserialize, Serialize};

use crate::method::{MethodFlags, MethodLimits, MethodSpec};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwarmVariant {
    #[serde(rename = "2018")]
    Of2018,
    #[default]
    #[serde(rename = "2025")]
    Of2025,
}

gputexel_io::names!(SwarmVariant "variant": Of2018 "2018", Of2025 "2025");

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParticleSwarmSettings {
    /// Order of death, move and evaluation.
    pub variant: SwarmVariant,
    pub swarms: usize,
    /// Particles per swarm.
    pub particles: usize,
    pub inertia: f64,
    pub own: f64,
    pub swarm: f64,
    pub global: f64,
    /// Maximum initial velocity, as a fraction of the interval between the bounds.
    pub initial_velocity: f64,
    /// Probability that a particle other than the best of its swarm is replaced in an iteration.
    pub death: f64,
    /// Iterations without progress after which all particles but the first of each swarm are restarted; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_after: Option<u64>,
    pub seed: u64,
}

impl Default for ParticleSwarmSettings {
    fn default() -> Self {
        Self::of(SwarmVariant::default())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Swarms {
    pub settings: ParticleSwarmSettings,
    pub polish: bool,
}

impl Swarms {
    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "pso",
        help: "the swarms of `gputexel pso` with its default constants",
        flags: &[],
        uses_matrices: false,
        // Swarms often stagnate for a long time and then improve again.
        limits: MethodLimits { epochs: 400, improvement: 0.0, window: 1, patience: None },
        converged: "",
    };

    pub(crate) fn from_flags(flags: &MethodFlags) -> Result<Self> {
        let default = ParticleSwarmSettings::default();
        let settings = ParticleSwarmSettings { seed: flags.seed.unwrap_or(default.seed), ..default };
        settings.validate()?;
        Ok(Self { settings, polish: flags.polish })
    }
}

impl ParticleSwarmSettings {
    pub fn of(variant: SwarmVariant) -> Self {
        let (death, restart_after) = match variant {
            SwarmVariant::Of2018 => (0.05, Some(10)),
            SwarmVariant::Of2025 => (0.01, None),
        };
        Self {
            variant,
            swarms: 12,
            particles: 4,
            inertia: 0.75,
            own: 1.5,
            swarm: 1.5,
            global: 0.375,
            initial_velocity: 0.1,
            death,
            restart_after,
            seed: 1,
        }
    }

    /// Returns the memory per particle of the given dimension: position, velocity, best position, proposal, and a copy
    /// of the first three with its encoding while the state is stored.
    pub const fn bytes_per_particle(dimension: usize) -> usize {
        8 * (10 * dimension + 8)
    }

    pub fn members(&self) -> Option<usize> {
        self.swarms.checked_mul(self.particles)
    }

    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.swarms == 0 || self.particles == 0 {
            let setting = if self.swarms == 0 { "swarms" } else { "particles" };
            return Err(Error::setting(setting, 0, "must be at least 1"));
        }
        let too_many = usize::MAX / Self::bytes_per_particle(1 << 16);
        if self.members().is_none_or(|members| members > too_many) {
            return usage(format!(
                "{} swarms of {} particles cannot be counted",
                self.swarms, self.particles
            ));
        }
        // Above this, particles fly from bound to bound.
        const MAX_COEFFICIENT: f64 = 100.0;
        for (what, value) in [
            ("inertia", self.inertia),
            ("the pull toward the own best", self.own),
            ("the pull toward the swarm's best", self.swarm),
            ("the pull toward the best of all", self.global),
            ("the initial velocity", self.initial_velocity),
        ] {
            if !(0.0..=MAX_COEFFICIENT).contains(&value) {
                return usage(format!("{what} {value}: must be from 0 to {MAX_COEFFICIENT}"));
            }
        }
        if !(0.0..=1.0).contains(&self.death) {
            return usage(format!("the probability of death {}: must be from 0 to 1", self.death));
        }
        if self.restart_after == Some(0) {
            return Err(Error::setting("restart-after", 0, "must be at least 1"));
        }
        Ok(())
    }
}
