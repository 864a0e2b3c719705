//! The loss as a function of K alone: nothing is trained.

use std::path::Path;

use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Dataset, Layout};
use gputexel_io::{Error, Result};
use gputexel_model::Prior;
use gputexel_tune::sweep::MakeEvaluator;
use gputexel_tune::{MinimumAt, ScaleCurve, Values, scale_curve};
use serde::Serialize;

use crate::sweeps::write_csv;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleBase {
    #[default]
    Ten,
    E,
}

impl ScaleBase {
    /// Returns the factor that converts K from this form to base 10.
    pub fn factor(self) -> f64 {
        match self {
            Self::Ten => 1.0,
            Self::E => 1.0 / std::f64::consts::LN_10,
        }
    }
}

gputexel_io::names!(ScaleBase setting "k-base": Ten "10", E "e");

/// Settings of a computation of losses as a function of K.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleSweep {
    pub values: Values,
    pub base: ScaleBase,
    pub loss: LossKind,
    /// The parameters to evaluate; `None` for the initial values of the features.
    pub prior: Option<Prior>,
}

impl ScaleSweep {
    pub fn validate(&self) -> Result<()> {
        match self.values.numbers.iter().find(|k| **k <= 0.0) {
            Some(k) => {
                let reason = format!("K {k}: must be a positive number");
                Err(Error::Setting { setting: "scale", value: None, reason })
            }
            None => Ok(()),
        }
    }

    pub fn run(self, data: &Dataset, make_evaluator: &MakeEvaluator<'_>) -> Result<ScaleSweepResults> {
        self.validate()?;
        let Self { values, base, loss, prior } = self;
        let set = &data.metadata().feature_set;
        let prior = prior.unwrap_or_else(|| Prior::default_for(set));
        let theta = prior.theta(set)?;
        let layout = Layout::whole(data)?;
        let mut evaluator = make_evaluator(&layout)?;
        let ks: Vec<f64> = values.numbers.iter().map(|k| k * base.factor()).collect();
        let curve = scale_curve(&mut *evaluator, &layout, data, &theta, &ks, loss)?;
        let positions = data.len() as u64;
        Ok(ScaleSweepResults { curve, positions, loss, prior, base })
    }
}

#[derive(Clone, Debug)]
pub struct ScaleSweepResults {
    pub curve: ScaleCurve,
    pub positions: u64,
    pub loss: LossKind,
    pub prior: Prior,
    pub base: ScaleBase,
}

impl ScaleSweepResults {
    /// Writes the losses as CSV, with K in base 10 and base e.
    pub fn write_csv(&self, path: &Path) -> Result<()> {
        let row = |(k, loss): &(f64, f64)| [*k, k * std::f64::consts::LN_10, *loss].map(|x| x.to_string());
        let header = ["k", "k_e", "loss"].map(str::to_string);
        let rows = std::iter::once(header).chain(self.curve.points.iter().map(row));
        write_csv(path, rows.map(Vec::from))
    }

    pub fn summary(&self) -> ScaleSummary {
        let point = |(k, loss): (f64, f64)| ScalePoint { k, loss };
        let ScaleCurve { points, minimum, at } = &self.curve;
        ScaleSummary {
            points: points.iter().copied().map(point).collect(),
            minimum: point((minimum.k, minimum.loss)),
            minimum_at: *at,
            positions: self.positions,
            loss_kind: self.loss.to_string(),
            prior: self.prior.to_string(),
        }
    }
}

/// [`ScaleSweepResults`] in machine-readable form; printed as JSON by `sweep --scale --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScaleSummary {
    pub points: Vec<ScalePoint>,
    pub minimum: ScalePoint,
    pub minimum_at: MinimumAt,
    pub positions: u64,
    pub loss_kind: String,
    pub prior: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScalePoint {
    /// K in base-10 form.
    pub k: f64,
    pub loss: f64,
}
