//! Verifies that an engine evaluates with tuned values, by a trace that it printed after they were written
//! back.

mod rows;

use std::path::{Path, PathBuf};

use gputexel_chess::formats::Format;
use gputexel_chess::selection::Selection;
use gputexel_dataset::{self as dataset, Dataset};
use gputexel_ingest::conversion::ConversionSettings;
use gputexel_ingest::extraction::{ExtractSettings, Hooks, extract};
use gputexel_ingest::trace::{
    Comparison, CompiledSchema, ImportSettings, Outlier, PositionFacts, Reference, SourceReport, import,
};
use gputexel_ingest::tracing::{TraceCommand, Tracing, import_traced};
use gputexel_io::{Advice, Error, Result};
use gputexel_model::{FeatureSet, ParameterFile, ValueChange};
use serde::Serialize;

use super::compared::Compared;
use super::explanation::{self, Explanation};
use super::{check_tolerance, values_of};

pub use rows::ChangedRows;

/// Mean of what rounding explains: a division or two lose half a centipawn each.
const COARSE_CP: f64 = 1.5;

/// The engine's previous values, as far as they are known.
#[derive(Clone, Debug)]
pub enum StartValues {
    File(PathBuf),
    /// θ in the order of the feature set.
    Theta(Vec<f64>),
    Schema,
}

#[derive(Clone, Debug)]
pub enum EvaluationKind {
    Traces(PathBuf),
    /// Output of a command for positions.
    Traced {
        /// `None` for a program that traces itself.
        schema: Option<PathBuf>,
        command: TraceCommand,
        /// The build that plays, whose evaluations take the place of those of a program that traces itself.
        played: Option<TraceCommand>,
    },
    Datasets,
    Positions,
}

#[derive(Clone, Debug)]
pub struct VerificationRequest {
    /// The engine's output with the tuned values.
    pub inputs: Vec<PathBuf>,
    pub kind: EvaluationKind,
    /// The tuned values: a parameter file, or the folder of a run; if absent, those that the program traces with.
    pub params: Option<PathBuf>,
    pub start: StartValues,
    /// Dataset of the same positions from before, whose rows should not have changed.
    pub before: Vec<PathBuf>,
    /// Difference of evaluations that is attributed to rounding, centipawns; of what is played, at least what the verbs of
    /// the evaluation explain.
    pub tolerance_cp: f64,
    /// Maximum fraction of unusable lines in a trace; above it, the import ends with an error.
    pub max_bad_share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    Tuned,
    /// Rounding may explain so much of what is played that other differences would not show.
    Unclear,
    Start,
    /// The tuned and the previous values give the same evaluations, so that nothing can be concluded.
    Indistinguishable,
    /// The engine traces different coefficients than before: positions or features have changed.
    OtherRows,
    Other,
}

#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    #[serde(flatten)]
    pub verdict: Verdict,
    pub compared: u64,
    /// Positions whose evaluation differs from that of the tuned values by more than the tolerance.
    pub differing: u64,
    /// Further positions that differ near a kink or jump of a nonlinear evaluation, where rounding may be the
    /// cause.
    pub near_kinks: u64,
    /// Positions whose evaluation differs from that of the previous values, if these are known.
    pub differing_from_start: Option<u64>,
    /// True if values are considered rounded to whole numbers, as they are in most sources.
    pub whole: bool,
    /// Difference that is attributed to rounding, centipawns.
    pub tolerance_cp: f64,
    /// Mean absolute difference from the tuned values, centipawns.
    pub mean_size_cp: f64,
    pub largest_cp: f64,
    /// The position where rounding explains the largest difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<Outlier>,
    /// The largest differences from the tuned values.
    pub worst: Vec<Outlier>,
    /// Changes in the rows since before; `None` if there is nothing to compare with.
    pub rows: Option<ChangedRows>,
    /// Values changed by the run that occur in no position of the trace, so that it is unknown which ones the
    /// engine uses.
    pub unseen: Vec<ValueChange>,
    /// The change that would explain the differences; `None` if it was not looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// The traces in order; `None` for datasets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<SourceReport>>,
}

impl VerificationRequest {
    /// Reads the inputs and compares the evaluations in them with those of the tuned values; traces are
    /// imported into a temporary dataset, with progress and cancellation through `hooks`.
    pub fn run(&self, hooks: &mut Hooks<'_>) -> Result<Verification> {
        check_tolerance(self.tolerance_cp)?;
        let file = self.params.as_deref().map(ParameterFile::read).transpose()?;
        let file = file.as_ref();
        let Read { data, printed, sources, set, tuned, compared: read, facts } = self.read(file, hooks)?;
        if !printed.iter().any(|value| !value.is_nan()) {
            let text = match self.kind {
                EvaluationKind::Positions => {
                    "has no evaluations to compare with: lines must be 'FEN | EVALUATION | RESULT', from White's view"
                }
                _ => {
                    "has no evaluations to compare with: the engine must print its own, and the schema name their column \
                     'eval'"
                }
            };
            return Err(Error::input(&self.inputs[0], text));
        }
        let (tolerance_cp, is_played) = (self.tolerance_cp, self.is_played());
        let compared = Compared { data: &data, printed: &printed, set: &set, tolerance_cp, is_played };
        let start = match &self.start {
            StartValues::File(path) => Some(ParameterFile::read(path)?.theta(&set, path)?),
            StartValues::Theta(theta) => Some(theta.clone()),
            StartValues::Schema => set.imported_prior(),
        };
        let start = start.filter(|start| start.len() == tuned.len());
        let rows = match &self.before[..] {
            [] => None,
            before => Some(ChangedRows::new(&dataset::read_many(before)?, &data)),
        };
        let mut out = compared.verify(&tuned, start.as_deref())?;
        // They were compared with rounded values while being read, and have line numbers.
        if out.whole && sources.is_some() {
            (out.worst, out.rounded) = (read.worst, read.rounded);
        }
        if out.differing > 0 {
            out.worst.retain(|one| one.difference().abs() > self.tolerance_cp);
        }
        // If so many rows have changed, they explain the differences, or hide other causes.
        let changed = rows.as_ref().and_then(|rows| rows.changed).unwrap_or(0);
        if changed > 0 && changed >= out.differing / 2 {
            out.verdict = Verdict::OtherRows;
        }
        if out.verdict == Verdict::Other {
            let values = if out.whole { rounded(&tuned) } else { tuned.clone() };
            let before = self.params.is_some().then(|| &start.as_ref().unwrap_or(&values)[..]);
            out.explanation = explanation::explain(&compared, &values, before, &facts)?;
        }
        let unseen = data.occurrences().into_iter().enumerate().filter(|(_, count)| *count == 0);
        out.unseen =
            ValueChange::of(&set, unseen.map(|(id, _)| id), start.as_deref().unwrap_or(&tuned), &tuned);
        out.unseen.retain(|value| file.is_some() && (start.is_none() || value.is_change()));
        Ok(Verification { rows, sources, ..out })
    }

    fn is_played(&self) -> bool {
        matches!(self.kind, EvaluationKind::Traced { played: Some(_), .. })
    }

    fn values(&self, file: Option<&ParameterFile>, set: &FeatureSet) -> Result<Vec<f64>> {
        values_of(file, self.params.as_deref(), set)
    }

    fn read(&self, file: Option<&ParameterFile>, hooks: &mut Hooks<'_>) -> Result<Read> {
        let schema = match &self.kind {
            EvaluationKind::Traces(schema) => Some(schema),
            EvaluationKind::Traced { schema, .. } => schema.as_ref(),
            EvaluationKind::Datasets => return self.read_datasets(file),
            EvaluationKind::Positions => return self.read_positions(file, hooks),
        };
        let mut configure = |schema: CompiledSchema| {
            let mut settings = ImportSettings::new(schema);
            settings.max_bad_share = self.max_bad_share;
            let set = settings.schema.feature_set();
            let values = rounded(&self.values(file, set)?);
            let reference = Reference::try_new(set, values, self.tolerance_cp)?;
            settings.reference = Some(reference.with_played(self.is_played()));
            Ok(settings)
        };
        let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))?;
        let path = folder.path().join("trace.bin");
        let report = match &self.kind {
            EvaluationKind::Traced { command, played, .. } => {
                let schema = schema.map(PathBuf::as_path);
                let mut reading = ConversionSettings::everything(Format::Games).reading;
                reading.max_bad_share = self.max_bad_share;
                let tracing = Tracing { command, schema, reading, played: played.as_ref() };
                import_traced(&self.inputs, &tracing, &path, hooks, &mut configure)?
            }
            _ => {
                let schema = CompiledSchema::read(schema.map_or(Path::new(""), PathBuf::as_path))?;
                import(&self.inputs, &configure(schema)?, &path, hooks)?
            }
        };
        if let (EvaluationKind::Traced { .. }, Some(reason)) = (&self.kind, report.comparison.two_views()) {
            return Err(Error::input(&self.inputs[0], reason));
        }
        let data = dataset::read(&path)?;
        let set = data.metadata().feature_set.clone();
        let tuned = self.values(file, &set)?;
        let printed = data.static_evaluations().to_vec();
        let (compared, facts) = (report.comparison, report.facts);
        Ok(Read { data, printed, sources: Some(report.sources), set, tuned, compared, facts })
    }

    fn read_datasets(&self, file: Option<&ParameterFile>) -> Result<Read> {
        let data = dataset::read_many(&self.inputs)?;
        let set = data.metadata().feature_set.clone();
        let tuned = self.values(file, &set)?;
        let printed = data.static_evaluations().to_vec();
        let (compared, facts) = (Comparison::default(), Vec::new());
        Ok(Read { data, printed, sources: None, set, tuned, compared, facts })
    }

    fn read_positions(&self, file: Option<&ParameterFile>, hooks: &mut Hooks<'_>) -> Result<Read> {
        let set = file.and_then(ParameterFile::computed_set).ok_or_else(|| {
            let text = "its features are an engine's own, which has to trace these positions";
            let advice = Advice::default().text("give ").setting("trace-command", "ENGINE");
            Error::input(self.params.as_deref().unwrap_or(Path::new("")), text).advise(advice)
        })?;
        let tuned = self.values(file, &set)?;
        let selection = Selection { keep_ends: true, ..Selection::everything() };
        let max_bad_share = self.max_bad_share;
        let settings = ExtractSettings { selection, max_bad_share, ..ExtractSettings::new(set.clone()) };
        let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))?;
        let path = folder.path().join("positions.bin");
        extract(&self.inputs, &settings, &path, hooks)?;
        let data = dataset::read(&path)?;
        let printed = data.search_scores().to_vec();
        let (compared, facts) = (Comparison::default(), Vec::new());
        Ok(Read { data, printed, sources: None, set, tuned, compared, facts })
    }
}

struct Read {
    data: Dataset,
    /// The engine's evaluations, NaN where there is none.
    printed: Vec<f32>,
    sources: Option<Vec<SourceReport>>,
    set: FeatureSet,
    /// The tuned values, θ in the order of the feature set.
    tuned: Vec<f64>,
    /// With them, rounded, and with the lines of traces.
    compared: Comparison,
    facts: Vec<PositionFacts>,
}

fn rounded(theta: &[f64]) -> Vec<f64> {
    theta.iter().map(|value| value.round()).collect()
}

impl Compared<'_> {
    fn verify(&self, tuned: &[f64], start: Option<&[f64]>) -> Result<Verification> {
        let (exact, whole) = (self.with(tuned)?, self.with(&rounded(tuned))?);
        let is_whole = self.is_played || whole.differing <= exact.differing;
        let found = if is_whole { whole } else { exact };
        let old = start.map(|start| self.with(start)).transpose()?;
        let differing_from_start = old.as_ref().map(|old| old.differing);
        let mean_size_cp = found.sum_absolute / found.compared.max(1) as f64;
        let verdict = match (found.differing, differing_from_start) {
            (0, Some(0)) => Verdict::Indistinguishable,
            (0, _) if self.is_played && mean_size_cp > COARSE_CP => Verdict::Unclear,
            (0, _) => Verdict::Tuned,
            (_, Some(0)) => Verdict::Start,
            _ => Verdict::Other,
        };
        Ok(Verification {
            verdict,
            compared: found.compared,
            differing: found.differing,
            near_kinks: found.near_kinks,
            differing_from_start,
            whole: is_whole,
            tolerance_cp: self.tolerance_cp,
            mean_size_cp,
            largest_cp: found
                .worst
                .first()
                .map_or(0.0, |one| one.difference().abs())
                .max(found.largest_rounded()),
            rounded: found.rounded,
            worst: found.worst,
            rows: None,
            unseen: Vec::new(),
            explanation: None,
            sources: None,
        })
    }
}
