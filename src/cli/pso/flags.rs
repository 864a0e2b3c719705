//! Flags of `pso` that decide what a run computes, and what they mean.

use gputexel::optimizer::{ParticleSwarmSettings, SwarmVariant};
use gputexel::run::BasisSettings;
use gputexel::tuning::Limits;
use gputexel::{Error, Result};

/// Flags that decide what a run computes; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Swarms", multiple = true)]
pub struct Fresh {
    /// Divide sums over positions into so many sections, which devices and machines can share; the last digits of results
    /// depend on it [default: one of every 2^20 positions, and up to 64 of more]
    #[arg(long, value_name = "N", help_heading = "Inputs")]
    pub(super) sections: Option<usize>,
    /// Starting point and reference: material:P,N,B,R,Q, zero, or a params.json or
    /// the folder of a run
    /// [default: material:100,300,320,500,900]
    #[arg(long, value_name = "PRIOR", help_heading = "Objective")]
    pub(super) prior: Option<String>,
    /// squared, cross-entropy, or power:Q [default: squared]
    #[arg(long, value_name = "LOSS", help_heading = "Objective")]
    pub(super) loss: Option<String>,
    /// L2 regularization toward the prior: the cost of a parameter one pawn away from it [default: 0]
    #[arg(long, value_name = "LAMBDA", help_heading = "Objective")]
    l2: Option<f64>,
    /// What ties parameters to their neighbors and to the prior: weights such as bend=1e-4,mirror=1e-2, the
    /// folder of a run, for its weights, or none [default: none]
    #[arg(long, value_name = "HOW", help_heading = "Objective")]
    pub(super) prior_strength: Option<String>,
    /// Share of the games held out to evaluate the best particle of every iteration
    #[arg(long, value_name = "SHARE", help_heading = "Objective")]
    pub(super) holdout: Option<f64>,
    /// Random seed [default: 1]
    #[arg(long, value_name = "N", help_heading = "Objective")]
    seed: Option<u64>,
    /// Bounds for coordinates that have none: this distance from the start
    #[arg(long, value_name = "CP", help_heading = "Objective")]
    radius: Option<f64>,
    /// Restrict all coordinates to integers, as in MadChess
    #[arg(long, help_heading = "Objective")]
    integers: bool,
    /// Version of MadChess's rules and constants: 2018 or 2025 [default: 2025]
    #[arg(long, value_name = "YEAR", help_heading = "Swarms")]
    variant: Option<String>,
    /// Number of swarms [default: 12]
    #[arg(long, value_name = "N", help_heading = "Swarms")]
    swarms: Option<usize>,
    /// Particles in each swarm [default: 4]
    #[arg(long, value_name = "N", help_heading = "Swarms")]
    particles: Option<usize>,
    /// Iterations [default: 400]
    #[arg(long, value_name = "N", help_heading = "Swarms")]
    iterations: Option<u64>,
    /// Time limit in seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Swarms")]
    time: Option<f64>,
    /// Inertia: share of the velocity that is kept [default: 0.75]
    #[arg(long, value_name = "SHARE", help_heading = "Swarms")]
    inertia: Option<f64>,
    /// Acceleration toward the particle's own best [default: 1.5]
    #[arg(long = "own-pull", value_name = "PULL", help_heading = "Swarms")]
    own: Option<f64>,
    /// Acceleration toward the swarm's best [default: 1.5]
    #[arg(long = "swarm-pull", value_name = "PULL", help_heading = "Swarms")]
    swarm: Option<f64>,
    /// Acceleration toward the best of all swarms [default: 0.375]
    #[arg(long = "global-pull", value_name = "PULL", help_heading = "Swarms")]
    global: Option<f64>,
    /// Maximum initial velocity, as a share of the interval [default: 0.1]
    #[arg(long, value_name = "SHARE", help_heading = "Swarms")]
    initial_velocity: Option<f64>,
    /// Probability that a particle dies in an iteration [default: 0.01; 0.05 in 2018]
    #[arg(long, value_name = "P", help_heading = "Swarms")]
    death: Option<f64>,
    /// Iterations without progress after which particles are restarted, or never
    /// [default: never; 10 in 2018]
    #[arg(long, value_name = "N", help_heading = "Swarms")]
    restart_after: Option<String>,
    /// Refine the best particle: Gauss-Newton within the bounds, then rounding to integers until no
    /// single step improves the loss
    #[arg(long, help_heading = "Swarms")]
    pub(super) polish: bool,
}

impl Fresh {
    pub(super) fn settings(&self) -> Result<ParticleSwarmSettings> {
        let variant: SwarmVariant = self.variant.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let of = ParticleSwarmSettings::of(variant);
        let restart_after = match self.restart_after.as_deref() {
            None => of.restart_after,
            Some("never") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Error::Usage(format!("--restart-after {text}: expected a number of iterations, or never"))
            })?),
        };
        let settings = ParticleSwarmSettings {
            variant,
            swarms: self.swarms.unwrap_or(of.swarms),
            particles: self.particles.unwrap_or(of.particles),
            inertia: self.inertia.unwrap_or(of.inertia),
            own: self.own.unwrap_or(of.own),
            swarm: self.swarm.unwrap_or(of.swarm),
            global: self.global.unwrap_or(of.global),
            initial_velocity: self.initial_velocity.unwrap_or(of.initial_velocity),
            death: self.death.unwrap_or(of.death),
            restart_after,
            l2: self.l2.unwrap_or(of.l2),
            seed: self.seed.unwrap_or(of.seed),
        };
        settings.validate()?;
        Ok(settings)
    }

    /// The space that the flags make of a basis.
    pub(super) fn space(&self, basis: BasisSettings) -> Result<BasisSettings> {
        match self.radius {
            Some(radius) if !(radius.is_finite() && radius > 0.0) => {
                Err(Error::Usage(format!("--radius {radius}: must be a positive number")))
            }
            radius => Ok(BasisSettings { integers: self.integers, radius, ..basis }),
        }
    }

    pub(super) fn limits(&self) -> Result<Limits> {
        if self.iterations == Some(0) {
            return Err(Error::Usage("--iterations must be at least 1".to_string()));
        }
        Ok(Limits { epochs: self.iterations, seconds: self.time, ..Limits::default() })
    }
}
