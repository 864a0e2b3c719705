//! The configuration of a sweep, stored in its folder so that it can be resumed and repeated.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::space_of;
use super::grid::{Axis, AxisKey, Grid, Setting};
use crate::config::rough_loss;
use gputexel_dataset::objective::{GivenScale, LossKind};
use gputexel_dataset::{Dataset, Folds, SourceRecord};
use gputexel_io::{Error, Result, timestamp};
use gputexel_model::{Parameterization, Penalty};
use gputexel_optim::{AdamSettings, Schedule};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case")]
pub enum SweepMethod {
    Adam {
        schedule: Schedule,
    },
    /// Gauss–Newton; a run ends early when an epoch improves its loss by less than `improvement`.
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
    pub fn name(self) -> &'static str {
        match self {
            Self::Adam { .. } => "adam",
            Self::GaussNewton { .. } => "gauss-newton",
        }
    }
}

/// Everything that determines what a sweep computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepConfig {
    pub datasets: Vec<String>,
    /// Checksum of the datasets, to detect different files under the same names.
    pub checksum: String,
    /// Requested number of [sections](gputexel_dataset::Layout::sections); results depend on it to the last digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<usize>,
    pub prior: String,
    /// θ of the prior, where every run starts.
    pub start: Vec<f64>,
    /// The parameterization of θ; without it, every parameter is tuned by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Parameterization>,
    /// Penalties that tie parameters to each other or to the prior, in every run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub penalties: Vec<Penalty>,
    /// The settings that are varied.
    pub grid: Grid,
    /// Loss function, unless the grid varies it.
    pub loss: LossKind,
    /// Scale constant of each loss function (base-10 form), unless the grid varies it.
    pub k: Vec<(LossKind, f64)>,
    /// Loss function by which held-out positions are judged.
    pub judge: LossKind,
    /// Scale constant that converts search scores to expected scores, if targets are blended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend_k: Option<f64>,
    pub folds: usize,
    /// Seeds of the partitions into folds; all runs are repeated for each.
    pub seeds: Vec<u64>,
    pub method: SweepMethod,
    /// Epochs per run.
    pub epochs: u64,
}

/// Files that a sweep writes outside its folder; recorded so that a resumed sweep writes them as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepOutputs {
    /// Parameters of the best settings: a file (`.json`) or a folder; absolute, like all paths here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<PathBuf>,
    /// Table of all runs, as CSV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<PathBuf>,
    /// True if files that existed before the sweep may be overwritten.
    #[serde(default)]
    pub force: bool,
    /// True if the sweep has finished and written everything; it is not written again unless requested.
    #[serde(default)]
    pub written: bool,
}

impl SweepOutputs {
    pub fn is_empty(&self) -> bool {
        self.best.is_none() && self.csv.is_none()
    }
}

/// The contents of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    pub program: String,
    pub command_line: String,
    /// Start time, UTC.
    pub started: String,
    /// Files written outside its folder.
    #[serde(default, skip_serializing_if = "SweepOutputs::is_empty")]
    pub outputs: SweepOutputs,
    pub config: SweepConfig,
}

impl SweepRecord {
    pub fn new(command_line: &str, outputs: SweepOutputs, config: SweepConfig) -> Self {
        Self {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: command_line.to_string(),
            started: timestamp(),
            outputs,
            config,
        }
    }
}

impl SweepConfig {
    pub fn runs(&self) -> usize {
        self.grid.len().saturating_mul(self.folds).saturating_mul(self.seeds.len())
    }

    pub fn setting(&self, combination: usize) -> Setting {
        let base = Setting {
            adam: AdamSettings::default(),
            l2: 0.0,
            k: 0.0,
            loss: self.loss,
            blend: 0.0,
            strength: 1.0,
            sources: Vec::new(),
        };
        self.grid.setting(combination, &base, &self.k)
    }

    /// Returns true if any run blends its targets with search scores.
    pub fn blends(&self) -> bool {
        let blends = self.grid.axes.iter().find(|axis| axis.key == AxisKey::Blend);
        blends.is_some_and(|axis| (0..axis.len()).any(|i| axis.number(i) > Some(0.0)))
    }

    pub fn parameterization(&self) -> Parameterization {
        self.basis.clone().unwrap_or_else(|| Parameterization::identity(&self.start))
    }

    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if self.epochs == 0 || self.epochs > 10_000_000 {
            return usage(format!("{} epochs: must be from 1 to 10,000,000", self.epochs));
        }
        if self.folds < 2 {
            return Err(Error::setting("folds", self.folds, "at least 2 are needed, to train and to judge"));
        }
        if self.seeds.is_empty() || self.grid.is_empty() {
            return usage("there is no run".to_string());
        }
        if self.start.iter().any(|value| !value.is_finite()) {
            return usage("the prior contains non-finite values".to_string());
        }
        self.k.iter().try_for_each(|(_, k)| GivenScale::K(*k).k().map(|_| ()))?;
        self.penalties.iter().try_for_each(|penalty| penalty.validate(self.start.len()))?;
        if self.penalties.is_empty() && self.grid.varies(AxisKey::Strength) {
            return Err(Error::setting(
                "grid",
                "strength",
                "there are no penalties whose weights it could scale",
            ));
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
            if let Some(axis) = self.grid.axes.iter().find(|axis| axis.key == AxisKey::LearningRate) {
                return Err(Error::setting("grid", &axis.name, "gauss-newton does not know it"));
            }
            if let Some(loss) = self.grid.losses(self.loss).iter().find(|loss| !loss.is_smooth()) {
                return Err(rough_loss(*loss));
            }
        }
        Ok(())
    }

    /// Checks that the data can be split into the folds and that every run has training positions left.
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
        // The required number of games does not depend on the seed.
        Folds::try_new(data, self.folds, self.seeds[0]).map(|_| ())
    }
}
