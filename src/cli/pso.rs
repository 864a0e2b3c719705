//! `gputexel pso`: `tune --optimizer pso` with flags for the constants of MadChess's particle swarms.

use gputexel::optimizer::{ParticleSwarmSettings, SwarmVariant, Swarms};
use gputexel::run::{BasisSettings, OptimizerChoice, TunerSettings};
use gputexel::tuning::{Limits, OptimizerConfig};
use gputexel::{Error, Result};

#[cfg(feature = "mpi")]
use super::backend::BackendArgs;
use super::context::Context;
use super::subcommand::{Subcommand, short_help};
use super::tune::{ObjectiveArgs, RunArgs};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "out", "resume", "basis", "freeze", "prior", "holdout", "iterations", "swarms", "particles",
        "threads",
    ])),
    allow_negative_numbers = true,
    after_help = "\
Swarms search the space of a basis, which must have bounds: madchess unless --basis is given \
(--basis identity --radius 100 tunes every parameter separately). All particles of an iteration are \
evaluated as one population.\n\n\
Examples:\n  \
gputexel pso d.bin --k-e 1.886 --polish"
)]
pub struct PsoArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    swarms: SwarmArgs,
}

/// Flags of the swarms; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "NewRun", multiple = true)]
struct SwarmArgs {
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
    /// Inertia: share of the velocity that is kept [default: 0.75]
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, help_heading = "Swarms")]
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
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, help_heading = "Swarms")]
    initial_velocity: Option<f64>,
    /// Probability that a particle dies in an iteration [default: 0.01; 0.05 in 2018]
    #[arg(long, value_name = "P", help_heading = "Swarms")]
    death: Option<f64>,
    /// Restart particles after this many iterations without progress, or never [default: never; 10 in 2018]
    #[arg(long, value_name = "N", help_heading = "Swarms")]
    restart_after: Option<String>,
    /// Refine the best particle: Gauss-Newton within the bounds, then rounding to integers until no
    /// single step improves the loss
    #[arg(long, help_heading = "Swarms")]
    polish: bool,
}

impl SwarmArgs {
    fn settings(&self, seed: u64) -> Result<ParticleSwarmSettings> {
        let variant: SwarmVariant = self.variant.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let usual = ParticleSwarmSettings::of(variant);
        let restart_after = match self.restart_after.as_deref() {
            None => usual.restart_after,
            Some("never") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Error::Usage(format!("--restart-after {text}: expected a number of iterations, or never"))
            })?),
        };
        let settings = ParticleSwarmSettings {
            seed,
            variant,
            swarms: self.swarms.unwrap_or(usual.swarms),
            particles: self.particles.unwrap_or(usual.particles),
            inertia: self.inertia.unwrap_or(usual.inertia),
            own: self.own.unwrap_or(usual.own),
            swarm: self.swarm.unwrap_or(usual.swarm),
            global: self.global.unwrap_or(usual.global),
            initial_velocity: self.initial_velocity.unwrap_or(usual.initial_velocity),
            death: self.death.unwrap_or(usual.death),
            restart_after,
        };
        settings.validate().map(|()| settings)
    }

    fn space(&self, basis: BasisSettings) -> Result<BasisSettings> {
        match self.radius {
            Some(radius) if !(radius.is_finite() && radius > 0.0) => {
                Err(Error::Usage(format!("--radius {radius}: must be a positive number")))
            }
            radius => Ok(BasisSettings { integers: self.integers, radius, ..basis }),
        }
    }

    fn limits(&self, seconds: Option<f64>) -> Result<Limits> {
        if self.iterations == Some(0) {
            return Err(Error::Usage("--iterations must be at least 1".to_string()));
        }
        Ok(Limits { epochs: self.iterations, seconds, ..Limits::default() })
    }
}

impl Subcommand for PsoArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        crate::process::keep_large_blocks();
        self.run.carry_out(context, true, || start(self), |before, _| Ok(before))
    }

    #[cfg(feature = "mpi")]
    fn backend(&self) -> Option<&BackendArgs> {
        Some(&self.run.backend)
    }
}

fn start(args: &PsoArgs) -> Result<TunerSettings<'_>> {
    let PsoArgs { run, objective, swarms } = args;
    let settings = objective.settings()?;
    let method = Swarms { settings: swarms.settings(settings.seed)?, polish: swarms.polish };
    Ok(TunerSettings {
        basis: swarms.space(run.basis.settings())?,
        limits: swarms.limits(objective.time)?,
        optimizer: OptimizerChoice::Given(OptimizerConfig::ParticleSwarm(method)),
        prior_strength: objective.given_strength()?,
        k: run.scale.k()?,
        ..settings
    })
}
