//! What a sweep is asked to do, stored in its folder so that it can be resumed and repeated.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::space_of;
use super::grid::{Axis, AxisKey, Grid, Setting};
use crate::config::rough_loss;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Dataset, Folds, SourceRecord};
use gputexel_files::{Error, Result};
use gputexel_model::Parameterization;
use gputexel_optimizer::{AdamSettings, GaussNewtonSettings, Schedule};

/// The method that trains every run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum SweepMethod {
    /// Adam over the full batch.
    Adam {
        /// Learning-rate schedule.
        schedule: Schedule,
    },
    /// Gauss–Newton; a run ends early where an epoch improves its loss by less than the share.
    GaussNewton {
        /// Relative improvement below which a run ends.
        improvement: f64,
    },
}

impl Default for SweepMethod {
    fn default() -> Self {
        Self::Adam { schedule: Schedule::default() }
    }
}

impl SweepMethod {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adam { .. } => "adam",
            Self::GaussNewton { .. } => "gauss-newton",
        }
    }
}

/// Everything that decides what a sweep computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepConfig {
    /// Dataset files.
    pub datasets: Vec<String>,
    /// Checksum of the datasets, to notice others under the same names.
    pub checksum: String,
    /// The prior's description.
    pub prior: String,
    /// The prior's θ, where every run starts.
    pub start: Vec<f64>,
    /// What of θ is trained; without it, every parameter by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Parameterization>,
    /// What is varied.
    pub grid: Grid,
    /// Loss function, where the grid does not vary it.
    pub loss: LossKind,
    /// Scale constant of each loss function (base-10 form), where the grid does not vary it.
    pub k: Vec<(LossKind, f64)>,
    /// Loss function by which held-out positions are judged.
    pub judge: LossKind,
    /// Scale constant that maps search scores to expected scores, where targets are blended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend_k: Option<f64>,
    /// Number of folds.
    pub folds: usize,
    /// Seeds of the partitions into folds; the runs are repeated for each.
    pub seeds: Vec<u64>,
    /// The method.
    pub method: SweepMethod,
    /// Epochs of every run.
    pub epochs: u64,
}

/// What a sweep is to write outside its folder, so that one that is resumed writes it as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepOutputs {
    /// Parameters of the best settings: a file (`.json`) or a folder; absolute, as all paths here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<PathBuf>,
    /// Table of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<PathBuf>,
    /// Picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub svg: Option<PathBuf>,
    /// Whether they may be written over what was there before the sweep.
    #[serde(default)]
    pub force: bool,
    /// Whether the sweep is over and all of it written; it is not written a second time unasked.
    #[serde(default)]
    pub written: bool,
}

impl SweepOutputs {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.best.is_none() && self.csv.is_none() && self.svg.is_none()
    }
}

/// The contents of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// Program and version.
    pub program: String,
    /// The command line that began the sweep.
    pub command_line: String,
    /// When it began, UTC.
    pub started: String,
    /// What it writes elsewhere.
    #[serde(default, skip_serializing_if = "SweepOutputs::is_empty")]
    pub outputs: SweepOutputs,
    /// What it computes.
    pub config: SweepConfig,
}

impl SweepRecord {
    /// The record of a sweep that begins now.
    pub fn new(command_line: &str, outputs: SweepOutputs, config: SweepConfig) -> Self {
        Self {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: command_line.to_string(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            outputs,
            config,
        }
    }
}

impl SweepConfig {
    /// Number of runs; saturates.
    pub fn runs(&self) -> usize {
        self.grid.len().saturating_mul(self.folds).saturating_mul(self.seeds.len())
    }

    /// The settings of a combination.
    pub fn setting(&self, combination: usize) -> Setting {
        let base = Setting {
            adam: AdamSettings::default(),
            k: 0.0,
            loss: self.loss,
            blend: 0.0,
            sources: Vec::new(),
        };
        self.grid.setting(combination, &base, &self.k)
    }

    /// Whether targets are blended with search scores in any run.
    pub fn blends(&self) -> bool {
        let blends = self.grid.axes.iter().find(|axis| axis.key == AxisKey::Blend);
        blends.is_some_and(|axis| (0..axis.len()).any(|i| axis.number(i) > Some(0.0)))
    }

    /// What is trained.
    pub fn parameterization(&self) -> Parameterization {
        self.basis.clone().unwrap_or_else(|| Parameterization::identity(&self.start))
    }

    /// Checks everything that the types leave open.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers out of their range and settings that do not go together.
    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.epochs == 0 || self.epochs > 10_000_000 {
            return usage(format!("{} epochs: must be from 1 to 10,000,000", self.epochs));
        }
        if self.folds < 2 {
            return usage(format!("{} folds: at least 2 are needed, to train and to judge", self.folds));
        }
        if self.seeds.is_empty() || self.grid.is_empty() {
            return usage("there is no run".to_string());
        }
        if self.start.iter().any(|value| !value.is_finite()) {
            return usage("the prior holds values that are not finite".to_string());
        }
        if self.k.iter().any(|(_, k)| !(k.is_finite() && *k > 0.0)) {
            return usage("K must be a positive number".to_string());
        }
        if let Some(basis) = &self.basis {
            basis.validate()?;
            let names: Vec<String> = basis.coordinates.iter().map(|c| c.name.clone()).collect();
            space_of(basis).validate(&names)?;
            if basis.parameters() != self.start.len() {
                return usage(format!(
                    "basis '{}' is for {} parameters, the prior has {}",
                    basis.name,
                    basis.parameters(),
                    self.start.len()
                ));
            }
        }
        let mut keys: Vec<_> = self.grid.axes.iter().map(|axis| axis.key).collect();
        while let Some(key) = keys.pop() {
            if keys.contains(&key) {
                let name = &self.grid.axes[keys.len()].name;
                return Err(Error::setting("grid", name, "given twice"));
            }
        }
        if let SweepMethod::GaussNewton { .. } = self.method {
            if let Some(axis) = self.grid.axes.iter().find(|axis| axis.key.is_adams()) {
                return Err(Error::setting("grid", &axis.name, "gauss-newton does not know it"));
            }
            if let Some(loss) = self.grid.losses(self.loss).iter().find(|loss| !loss.is_smooth()) {
                return Err(rough_loss(*loss));
            }
        }
        Ok(())
    }

    /// Checks that the data can be cut into the folds, and leave every run something to train on.
    ///
    /// # Errors
    /// [`Error::Usage`]; see [`Folds::try_new`].
    pub fn check_data(&self, data: &Dataset) -> Result<()> {
        let varied = self.grid.sources();
        let sources = data.metadata().sources.iter().enumerate();
        let fixed = |(i, source): (usize, &SourceRecord)| source.positions > 0 && !varied.contains(&i);
        let has_zero = |axis: &Axis| {
            !matches!(axis.key, AxisKey::Source(_)) || (0..axis.len()).any(|i| axis.number(i) == Some(0.0))
        };
        if !varied.is_empty() && !sources.into_iter().any(fixed) && self.grid.axes.iter().all(has_zero) {
            return Err(Error::Usage(
                "a run whose sources all weigh 0 has no position to train on".to_string(),
            ));
        }
        // Whether there are enough games does not depend on the seed.
        Folds::try_new(data, self.folds, self.seeds[0]).map(|_| ())
    }

    /// Gauss–Newton's settings of a run.
    pub(super) fn gauss_newton(setting: &Setting) -> GaussNewtonSettings {
        GaussNewtonSettings { l2: setting.adam.l2, ..GaussNewtonSettings::default() }
    }
}
