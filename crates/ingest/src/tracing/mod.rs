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
use crate::reading::{Hooks, Progress};
use crate::trace::{Answers, CompiledSchema, ImportReport, ImportSettings, Record, Schema, import_answers};
use dialogue::Question;
use gputexel_chess::formats::Format;
use gputexel_dataset::TracingRecord;
use gputexel_io::input::Input;
use gputexel_io::{Error, Result, grouped, staging_folder};
use gputexel_model::FeatureSet;

#[derive(Clone, Debug)]
pub struct TracingSettings {
    pub command: TraceCommand,
    pub import: ImportSettings,
    schema: String,
}

impl TracingSettings {
    /// Returns the default settings for a command and the schema of its traces.
    pub fn try_new(command: TraceCommand, schema: &Schema) -> Result<Self> {
        let import = ImportSettings::new(CompiledSchema::try_new(schema)?);
        Ok(Self { command, import, schema: schema.to_json() })
    }

    /// Returns the default settings for a command and the schema of its traces in a file.
    pub fn read(command: TraceCommand, path: &Path) -> Result<Self> {
        Self::try_new(command, &Schema::read(path)?).map_err(|error| match error {
            Error::Usage(reason) => Error::input(path, reason),
            other => other,
        })
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
    let values = set.imported_prior().unwrap_or_default();
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
    let answers = Some(Answers { positions: inputs, record: Record::Tracing(record) });
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
