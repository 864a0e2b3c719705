//! The loss of a parameter file on datasets.

use std::path::Path;

use gputexel_dataset as dataset;
use gputexel_dataset::objective::{LossKind, Objective};
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureSet, ParameterFile, Prior};
use serde::Serialize;

use super::scale::fit_scale;
use gputexel_eval::exact::{exact_loss, exact_scores};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleOrigin {
    Given,
    File,
    Fitted,
}

/// The loss of a parameter file, printed as JSON by `eval --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileLoss {
    /// Mean loss over all positions, in f64 and without regularization.
    pub loss: f64,
    pub positions: u64,
    pub loss_kind: String,
    /// Scale constant, base-10 form.
    pub k: f64,
    #[serde(skip)]
    pub origin: ScaleOrigin,
}

impl FileLoss {
    /// Computes the loss of `parameters` on the union of datasets: a file, the folder of a run, or the text of a
    /// [`Prior`] (`material`, `zero`, `schema`).
    pub fn on<P: AsRef<Path>>(
        datasets: &[P],
        parameters: &Path,
        loss: Option<LossKind>,
        k: Option<f64>,
    ) -> Result<Self> {
        let given = k.map(|k| (k, ScaleOrigin::Given));
        if let Some(word) = parameters.to_str().filter(|text| Prior::is_word(text)) {
            let prior: Prior = word.parse()?;
            return Self::of(datasets, loss.unwrap_or(LossKind::Squared), given, |set| prior.theta(set));
        }
        let file = ParameterFile::read(parameters)?;
        let loss = match loss {
            Some(loss) => loss,
            None if file.provenance.loss_kind.is_empty() => LossKind::Squared,
            None => file
                .provenance
                .loss_kind
                .parse()
                .map_err(|error| Error::input(parameters, format!("loss_kind: {error}")))?,
        };
        let k = given.or(file.k.map(|k| (k, ScaleOrigin::File)));
        Self::of(datasets, loss, k, |set| file.theta(set, parameters))
    }

    /// As [`on`](Self::on), for the parameters that `theta` returns for the features of the datasets; if `k` is
    /// missing, it is fitted.
    fn of<P: AsRef<Path>>(
        datasets: &[P],
        loss: LossKind,
        k: Option<(f64, ScaleOrigin)>,
        theta: impl FnOnce(&FeatureSet) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let data = dataset::read_positions(datasets)?;
        let theta = theta(&data.metadata().feature_set)?;
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let (k, origin) = if let Some(known) = k {
            known
        } else {
            let scores = exact_scores(&data, &theta, &all);
            (fit_scale(&data, &scores, &all, loss)?.k, ScaleOrigin::Fitted)
        };
        let value = exact_loss(&data, Objective { k, loss }, &theta, &all);
        if !value.is_finite() {
            return Err(Error::Numeric(format!("the loss is {value}")));
        }
        Ok(Self { loss: value, positions: data.len() as u64, loss_kind: loss.to_string(), k, origin })
    }
}
