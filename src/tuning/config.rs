//! What a run is asked to do, stored in its folder so that it can be resumed and repeated.

use serde::{Deserialize, Serialize};

use super::Stopping;
use crate::error::{Error, Result};
use crate::model::{Coordinate, Parameterization};
use crate::objective::LossKind;
use crate::optimizer::{Adam, AdamSettings, GaussNewton, GaussNewtonSettings, Optimizer, Schedule, Space};

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
}

impl OptimizerConfig {
    /// Mini-batches an epoch.
    pub fn batches(&self) -> usize {
        match self {
            Self::GaussNewton(_) => 1,
            Self::Adam { batches, .. } => *batches,
        }
    }

    /// Weight of the regularisation of a member.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn l2(&self, member: usize) -> f64 {
        match self {
            Self::GaussNewton(settings) => settings.l2,
            Self::Adam { runs, .. } => runs[member].l2,
        }
    }

    /// Whether losses contain a pull toward the prior.
    pub fn regularizes(&self) -> bool {
        match self {
            Self::GaussNewton(settings) => settings.l2 > 0.0,
            Self::Adam { runs, .. } => runs.iter().any(|run| run.l2 > 0.0),
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
        self.stopping.validate()
    }
}
