//! What a run is asked to do, stored in its folder so that it can be resumed and repeated.

use serde::{Deserialize, Serialize};

use super::{Rounding, Stopping};
use gputexel_dataset::objective::LossKind;
use gputexel_files::{Error, Result};
use gputexel_model::{Coordinate, Parameterization};
use gputexel_optimizer::{
    Adam, AdamSettings, GaussNewton, GaussNewtonSettings, Local, LocalSettings, Optimizer, ParticleSwarm,
    ParticleSwarmSettings, Schedule, Space,
};

/// The method and its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum OptimizerConfig {
    /// Gauss–Newton with Levenberg–Marquardt damping.
    GaussNewton(GaussNewtonSettings),
    /// Adam, one or more runs side by side.
    Adam {
        /// Settings of every run.
        runs: Vec<AdamSettings>,
        /// Learning-rate schedule.
        schedule: Schedule,
        /// Mini-batches an epoch.
        batches: usize,
    },
    /// Local search on whole numbers.
    Local(LocalSettings),
    /// MadChess's particle swarms.
    ParticleSwarm {
        /// Its settings.
        settings: ParticleSwarmSettings,
        /// Whether the result is finished by Gauss–Newton and single steps.
        polish: bool,
    },
}

impl OptimizerConfig {
    /// Mini-batches an epoch.
    pub fn batches(&self) -> usize {
        match self {
            Self::GaussNewton(_) | Self::Local(_) | Self::ParticleSwarm { .. } => 1,
            Self::Adam { batches, .. } => *batches,
        }
    }

    /// Whether losses contain a pull toward the prior.
    pub fn regularizes(&self) -> bool {
        match self {
            Self::GaussNewton(settings) => settings.l2 > 0.0,
            Self::Adam { runs, .. } => runs.iter().any(|run| run.l2 > 0.0),
            Self::Local(settings) => settings.l2 > 0.0,
            Self::ParticleSwarm { settings, .. } => settings.l2 > 0.0,
        }
    }

    /// Weight λ of the regularisation of a member.
    pub fn l2(&self, member: usize) -> f64 {
        match self {
            Self::GaussNewton(settings) => settings.l2,
            Self::Adam { runs, .. } => runs[member].l2,
            Self::Local(settings) => settings.l2,
            Self::ParticleSwarm { settings, .. } => settings.l2,
        }
    }

    /// The optimizer, at its start.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of their range.
    pub fn build(&self, space: &Space, epochs: u64) -> Result<Box<dyn Optimizer>> {
        Ok(match self {
            Self::GaussNewton(settings) => Box::new(GaussNewton::try_new(space, *settings)?),
            Self::Adam { runs, schedule, batches } => {
                Box::new(Adam::try_new(space, runs.clone(), *schedule, epochs, *batches as u64)?)
            }
            Self::Local(settings) => Box::new(Local::try_new(space, settings.clone())?),
            Self::ParticleSwarm { settings, .. } => Box::new(ParticleSwarm::try_new(space, *settings)?),
        })
    }
}

/// Everything that decides what a run computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// Dataset files.
    pub datasets: Vec<String>,
    /// Checksum of the datasets, to notice others under the same names.
    pub checksum: String,
    /// The prior's description.
    pub prior: String,
    /// The prior's θ, so that a resumed run does not depend on the prior's file. Regularisation
    /// pulls toward it.
    pub start: Vec<f64>,
    /// What of θ is tuned; without it, every parameter by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Parameterization>,
    /// Scale constant, base-10 form.
    pub k: f64,
    /// Loss function.
    pub loss: LossKind,
    /// Share of games held out.
    pub holdout: f64,
    /// Seed of split and batches.
    pub seed: u64,
    /// The method.
    pub optimizer: OptimizerConfig,
    /// What is done to the result.
    #[serde(default)]
    pub round: Rounding,
    /// When to stop.
    pub stopping: Stopping,
}

/// What is to be found out about the result, see [`sandwich`](super::sandwich) and
/// [`bootstrap`](super::bootstrap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertaintyRequest {
    /// Whether standard errors are wanted.
    pub errors: bool,
    /// Members of a bootstrap; 0 for none.
    pub bootstrap: usize,
}

/// The contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Program and version.
    pub program: String,
    /// The command line that began the run.
    pub command_line: String,
    /// When it began, UTC.
    pub started: String,
    /// What it computes.
    pub config: RunConfig,
    /// What is asked about its result.
    #[serde(default)]
    pub uncertainty: UncertaintyRequest,
    /// The rounds that follow with positions resolved anew, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requiesce: Option<RequiesceRecord>,
}

/// Rounds in which positions are resolved with tuned parameters and tuned on again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiesceRecord {
    /// Rounds wanted.
    pub rounds: u32,
    /// The search that resolves, by its name.
    pub from: String,
    /// Rounds done.
    pub done: Vec<RoundRecord>,
}

/// One round of a [`RequiesceRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its number, from 1.
    pub round: u32,
    /// Positions of its dataset.
    pub positions: u64,
    /// Positions whose leaf is another than in the round before.
    pub changed: u64,
    /// `changed` as a share of the positions.
    pub changed_share: f64,
    /// Positions that were not kept in the round before.
    pub entered: u64,
    /// Positions of the round before that are no longer kept.
    pub left: u64,
    /// Exact training loss, on the round's positions, of the parameters that they were resolved with.
    pub loss_before: Option<f64>,
    /// Exact training loss of the round's result.
    pub loss: Option<f64>,
    /// Exact held-out loss of the parameters that the positions were resolved with.
    pub held_out_before: Option<f64>,
    /// Exact held-out loss of the round's result.
    pub held_out: Option<f64>,
    /// Root mean square over all parameters of how far they moved, centipawns.
    pub moved_rms_cp: f64,
    /// How far the parameter that moved most did, centipawns.
    pub moved_max_cp: f64,
    /// Epochs of the round's run.
    pub epochs: u64,
    /// Seconds that the round took, the extraction included.
    pub seconds: f64,
}

impl RunRecord {
    /// The record of a run that begins now.
    pub fn new(command_line: &str, config: RunConfig) -> Self {
        Self {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: command_line.to_string(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            config,
            uncertainty: UncertaintyRequest::default(),
            requiesce: None,
        }
    }
}

/// Start, bounds and integrality of z.
pub fn space_of(parameterization: &Parameterization) -> Space {
    let mut space = Space::unbounded(&parameterization.start());
    for (i, Coordinate { min, max, integer, .. }) in parameterization.coordinates.iter().enumerate() {
        space.lower[i] = min.unwrap_or(f64::NEG_INFINITY);
        space.upper[i] = max.unwrap_or(f64::INFINITY);
        space.integer[i] = *integer;
    }
    space
}

impl RunConfig {
    /// The basis, unless every parameter is tuned by itself.
    pub fn named_basis(&self) -> Option<&Parameterization> {
        self.basis.as_ref().filter(|basis| !basis.is_identity())
    }

    /// What is tuned.
    pub fn parameterization(&self) -> Parameterization {
        self.basis.clone().unwrap_or_else(|| Parameterization::identity(&self.start))
    }

    /// Checks everything that the types leave open.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers out of their range or not finite.
    pub fn validate(&self) -> Result<()> {
        if !(self.k.is_finite() && self.k > 0.0) {
            return Err(Error::Usage(format!("K {}: must be a positive number", self.k)));
        }
        if self.start.iter().any(|value| !value.is_finite()) {
            return Err(Error::Usage("the prior holds values that are not finite".to_string()));
        }
        if let Some(basis) = &self.basis {
            basis.validate()?;
            if basis.parameters() != self.start.len() {
                return Err(Error::Usage(format!(
                    "basis '{}' is for {} parameters, the prior has {}",
                    basis.name,
                    basis.parameters(),
                    self.start.len()
                )));
            }
            let names: Vec<String> = basis.coordinates.iter().map(|c| c.name.clone()).collect();
            space_of(basis).validate(&names)?;
        }
        if matches!(self.optimizer, OptimizerConfig::GaussNewton(_)) && !self.loss.is_smooth() {
            return Err(Error::Usage(format!(
                "gauss-newton needs a smooth loss; '{}' is not: use --optimizer adam",
                self.loss
            )));
        }
        if matches!(self.optimizer, OptimizerConfig::ParticleSwarm { .. }) {
            self.validate_swarm()?;
        }
        if self.round != Rounding::None {
            self.validate_rounding()?;
        }
        self.stopping.validate()
    }

    /// Checks that every coordinate has the bounds that a swarm needs.
    fn validate_swarm(&self) -> Result<()> {
        let unbounded = |c: &&Coordinate| c.min.is_none() || c.max.is_none();
        let name = match &self.basis {
            None => Some("every parameter"),
            Some(basis) => basis.coordinates.iter().find(unbounded).map(|c| c.name.as_str()),
        };
        name.map_or(Ok(()), |name| {
            Err(Error::Usage(format!(
                "swarms need bounds, and '{name}' has none: give its min and max, or --radius CP"
            )))
        })
    }

    /// Checks that whole coordinates make whole parameters, and that they are not whole anyway.
    fn validate_rounding(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if matches!(self.optimizer, OptimizerConfig::Local(_)) {
            return usage(
                "--round only applies to continuous optimizers: the local search already uses integers"
                    .to_string(),
            );
        }
        let Some(basis) = &self.basis else { return Ok(()) };
        for (coordinate, column) in basis.coordinates.iter().zip(&basis.columns) {
            if let Some((_, factor)) = column.iter().find(|(_, factor)| factor.fract() != 0.0) {
                return usage(format!(
                    "--round needs an integer basis: '{}' of '{}' has the factor {factor}",
                    coordinate.name, basis.name
                ));
            }
            let (low, high) = (coordinate.min.unwrap_or(f64::MIN), coordinate.max.unwrap_or(f64::MAX));
            if low.ceil() > high.floor() {
                return usage(format!(
                    "--round: there is no integer within the bounds of '{}'",
                    coordinate.name
                ));
            }
        }
        match basis.base.iter().find(|value| value.fract() != 0.0) {
            Some(value) => {
                usage(format!("--round needs an integer basis: the base of '{}' holds {value}", basis.name))
            }
            None => Ok(()),
        }
    }
}
