//! A complete check, from files to findings.

use std::path::{Path, PathBuf};

use super::{CheckSettings, Findings, check, check_tolerance, compare, values_of};
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{self as dataset, Dataset};
use gputexel_ingest::extraction::Hooks;
use gputexel_ingest::trace::{
    Comparison, CompiledSchema, ImportSettings, PositionFacts, Reference, SourceReport, import,
};
use gputexel_io::{Error, Result};
use gputexel_model::ParameterFile;
use gputexel_tune::{exact_scores, fit_scale};
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// Datasets with the same feature set, or traces.
    pub inputs: Vec<PathBuf>,
    /// The schema of traces; `None` for datasets.
    pub schema: Option<PathBuf>,
    /// Parameters of the evaluation; if `None`, the schema's priors, or else material.
    pub params: Option<PathBuf>,
    /// Difference of evaluations that is attributed to rounding, centipawns.
    pub tolerance_cp: f64,
    /// Number of positions on which the gradient is compared with finite differences.
    pub sample: usize,
    /// Maximum fraction of unusable lines in a trace; above it, the check ends with an error.
    pub max_bad_share: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    #[serde(flatten)]
    pub findings: Findings,
    #[serde(skip)]
    pub features: usize,
    /// The traces in order; `None` for datasets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<SourceReport>>,
}

impl CheckRequest {
    /// Creates a check of `inputs` with a tolerance of 1 centipawn, 2,000 positions for the gradient and at
    /// most a tenth of the lines unusable.
    pub fn new(inputs: Vec<PathBuf>) -> Self {
        Self { inputs, schema: None, params: None, tolerance_cp: 1.0, sample: 2000, max_bad_share: 0.1 }
    }

    /// Reads the inputs and checks them; traces are imported into a temporary dataset, with progress and
    /// cancellation through `hooks`.
    pub fn run(&self, hooks: &mut Hooks<'_>) -> Result<Checked> {
        check_tolerance(self.tolerance_cp)?;
        let parameters = self.params.as_deref().map(ParameterFile::read).transpose()?;
        let read = match &self.schema {
            None => self.read_datasets(parameters.as_ref())?,
            Some(schema) => self.read_traces(schema, parameters.as_ref(), hooks)?,
        };
        let Read { data, theta, reference, comparison, facts, sources } = read;
        if data.is_empty() {
            return Err(Error::input(&self.inputs[0], "contains no positions"));
        }
        let fitted = || {
            let all: Vec<u32> = (0..data.len() as u32).collect();
            // The gradient can be checked with any K; with all parameters 0, K cannot be fitted.
            fit_scale(&data, &exact_scores(&data, &theta, &all), &all, LossKind::Squared)
                .map_or(1.0, |fit| fit.k)
        };
        let k = parameters.as_ref().and_then(|file| file.k).unwrap_or_else(fitted);
        let settings = CheckSettings { k, loss: LossKind::Squared, sample: self.sample };
        let findings = check(&data, &theta, &comparison, &facts, &reference, settings)?;
        Ok(Checked { findings, features: data.feature_count(), sources })
    }

    fn read_datasets(&self, parameters: Option<&ParameterFile>) -> Result<Read> {
        let data = dataset::read_many(&self.inputs)?;
        let set = &data.metadata().feature_set;
        let theta = values_of(parameters, self.params.as_deref(), set)?;
        let reference = Reference::try_new(set, theta.clone(), self.tolerance_cp)?;
        let comparison = compare(&data, &reference);
        Ok(Read { data, theta, reference, comparison, facts: Vec::new(), sources: None })
    }

    /// Imports traces into a temporary dataset and compares evaluations at the same time.
    fn read_traces(
        &self,
        schema: &Path,
        parameters: Option<&ParameterFile>,
        hooks: &mut Hooks<'_>,
    ) -> Result<Read> {
        let mut settings = ImportSettings::new(CompiledSchema::read(schema)?);
        let set = settings.schema.feature_set();
        let theta = values_of(parameters, self.params.as_deref(), set)?;
        let reference = Reference::try_new(set, theta.clone(), self.tolerance_cp)?;
        settings.reference = Some(reference.clone());
        settings.max_bad_share = self.max_bad_share;
        let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))?;
        let path = folder.path().join("trace.bin");
        let report = import(&self.inputs, &settings, &path, hooks)?;
        let data = dataset::read(&path)?;
        Ok(Read {
            data,
            theta,
            reference,
            comparison: report.comparison,
            facts: report.facts,
            sources: Some(report.sources),
        })
    }
}

struct Read {
    data: Dataset,
    theta: Vec<f64>,
    reference: Reference,
    comparison: Comparison,
    facts: Vec<PositionFacts>,
    sources: Option<Vec<SourceReport>>,
}
