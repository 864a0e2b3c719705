//! Positions traced by a command of the engine that computes their features.

mod command;
mod dialogue;
mod positions;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub use command::{DEFAULT_DEADLINE, PARAMETERS_WORD, TraceCommand};

use crate::conversion::{ConversionSettings, convert};
use crate::extraction::Leaf;
use crate::reading::{Hooks, Progress};
use crate::trace::{Answers, CompiledSchema, ImportReport, ImportSettings, Record, Schema, import_answers};
use dialogue::Question;
use gputexel_chess::formats::Format;
use gputexel_dataset::{Metadata, TracingRecord};
use gputexel_io::input::Input;
use gputexel_io::{Error, Result, grouped, staging_folder};
use gputexel_model::FeatureSet;

#[derive(Clone, Debug)]
pub struct TracingSettings {
    pub command: TraceCommand,
    pub import: ImportSettings,
    /// Values that the command is given, mg of every feature, then eg; those of the schema if `None`.
    pub parameters: Option<Vec<f64>>,
    schema: String,
}

impl TracingSettings {
    /// Returns the default settings for a command and the schema of its traces.
    pub fn try_new(command: TraceCommand, schema: &Schema) -> Result<Self> {
        let import = ImportSettings::new(CompiledSchema::try_new(schema)?);
        Ok(Self { command, import, parameters: None, schema: schema.to_json() })
    }

    /// Returns the default settings for a command and the schema of its traces in a file.
    pub fn read(command: TraceCommand, path: &Path) -> Result<Self> {
        Self::try_new(command, &Schema::read(path)?).map_err(|error| match error {
            Error::Usage(reason) => Error::input(path, reason),
            other => other,
        })
    }

    /// Returns the positions that the dataset at `path` was traced from, and settings that trace them again
    /// by `command`.
    ///
    /// Positions are searched for at their recorded paths, then next to the dataset.
    ///
    /// # Errors
    /// [`Error::Input`] when the dataset was not traced by a command, or its positions are standard input or missing.
    pub fn of_dataset(
        path: &Path,
        metadata: &Metadata,
        command: TraceCommand,
    ) -> Result<(Vec<PathBuf>, Self)> {
        let Some(record) = &metadata.tracing else {
            let reason = "does not name the positions that were traced; import them by a command";
            return Err(Error::input(path, reason));
        };
        let inputs = metadata.sources_beside(path).map_err(|reason| Error::input(path, reason))?;
        let mut settings = Self::try_new(command, &Schema::parse(&record.schema, path)?)?;
        settings.import.max_bad_share = 1.0;
        settings.import.trust_results = true;
        settings.import.force = true;
        Ok((inputs, settings))
    }
}

/// Traces the positions of `inputs`, and writes a dataset to `output`. Inputs are lines
/// `GAME RESULT FEN [SCORE]`, or anything that [`convert`] reads, of which every position is taken.
///
/// The traces of one input at a time are kept in a file next to the output until they are imported.
///
/// # Errors
/// As [`convert`] and [`import`](crate::trace::import); [`Error::Input`] when the command fails, hangs, or
/// does not print one line for every position. In all these cases, nothing is written.
pub fn import_traced(
    inputs: &[PathBuf],
    settings: &TracingSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ImportReport> {
    run(inputs, settings, output, hooks, None)
}

/// Imports as [`import_traced`]. Also returns, for each row in order, the position and a hash of its
/// features, which takes 16 bytes of memory per row.
pub fn import_traced_with_leaves(
    inputs: &[PathBuf],
    settings: &TracingSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<(ImportReport, Vec<Leaf>)> {
    let mut leaves = Vec::new();
    let report = run(inputs, settings, output, hooks, Some(&mut leaves))?;
    Ok((report, leaves))
}

fn run(
    inputs: &[PathBuf],
    settings: &TracingSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    leaves: Option<&mut Vec<Leaf>>,
) -> Result<ImportReport> {
    let start = Instant::now();
    settings.import.validate(inputs, output)?;
    if !settings.import.force && output.exists() {
        return Err(Error::Exists(output.to_path_buf()));
    }
    if inputs.iter().any(|path| path.as_os_str() == "-") {
        return Err(Error::Usage("-: positions to be traced are read from files".to_string()));
    }
    let beside = staging_folder(output);
    let folder = tempfile::Builder::new().prefix(".gputexel-").tempdir_in(&beside);
    let folder = folder.map_err(|e| Error::io(&beside, e))?;
    let set = settings.import.schema.feature_set();
    let parameters = folder.path().join("parameters.txt");
    let values = settings.parameters.clone().or_else(|| set.imported_prior()).unwrap_or_default();
    std::fs::write(&parameters, values_text(set, &values)).map_err(|e| Error::io(&parameters, e))?;
    let (mut traces, mut warnings) = (Vec::new(), vec![Vec::new(); inputs.len()]);
    let mut answered = 0;
    for (i, path) in inputs.iter().enumerate() {
        let lines = match positions::are_lines(path)? {
            true => path.clone(),
            false => {
                let lines = folder.path().join(format!("{i}.fens"));
                let mut conversion = ConversionSettings::everything(Format::Games);
                conversion.reading.max_bad_share = settings.import.max_bad_share;
                conversion.reading.threads = settings.import.threads;
                let report = convert(std::slice::from_ref(path), &conversion, &lines, hooks)?;
                for source in report.sources {
                    let unused = source
                        .left_out
                        .iter()
                        .map(|(reason, count)| format!("{} not traced: {}", grouped(count), reason.label()));
                    warnings[i].extend(unused);
                    warnings[i].extend(source.warnings);
                }
                lines
            }
        };
        let question = Question {
            command: &settings.command,
            parameters: &parameters,
            name: path,
            schema: &settings.import.schema,
        };
        let trace = folder.path().join(format!("{i}.svm"));
        let bytes_read = Arc::default();
        let bytes_total = std::fs::metadata(&lines).ok().map(|file| file.len());
        let input = Input::open(&lines, Arc::clone(&bytes_read))?;
        let file = File::create(&trace).map_err(|e| Error::io(&trace, e))?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let mut count = 0;
        dialogue::ask(&question, input, &mut file, hooks.cancel, |answers| {
            count = answers;
            let bytes_read = bytes_read.load(std::sync::atomic::Ordering::Relaxed);
            (hooks.progress)(Progress { bytes_read, bytes_total, positions: answered + answers });
        })?;
        file.flush().map_err(|e| Error::io(&trace, e))?;
        answered += count;
        traces.push(trace);
    }
    let record = TracingRecord { command: settings.command.to_string(), schema: settings.schema.clone() };
    let answers = Answers { positions: inputs, record: Record::Tracing(record), leaves };
    let mut report = import_answers(&traces, &settings.import, output, hooks, answers)?;
    for (source, warnings) in report.sources.iter_mut().zip(warnings) {
        source.warnings.splice(0..0, warnings);
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Formats values for a command: a line `MG EG NAME` for each parameter, in the order of the schema.
fn values_text(set: &FeatureSet, values: &[f64]) -> String {
    let mut text = String::new();
    let (mg, eg) = values.split_at(values.len() / 2);
    for ((feature, mg), eg) in set.features.iter().zip(mg).zip(eg) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mg} {eg} {}", feature.name);
    }
    text
}
