//! Traces: positions as sparse rows of features computed by another program, in the SVMlight text format, and
//! the schema that defines their indices.

mod accumulators;
mod assembly;
mod audit;
mod comparison;
mod compiled_schema;
mod conventions;
mod line;
mod number;
mod parameters;
mod pipeline_plan;
mod places;
mod report;
mod row_sums;
mod schema;
mod source_names;
mod truncation;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::assembly::Assembly;
use crate::reading::{Hooks, Queue, Source, check_reading, read_all};
use gputexel_chess::formats::Format;
use gputexel_dataset::{DatasetWriter, Metadata, TracingRecord};
pub use gputexel_dataset::{ProbedParameter, ProbingRecord};
use gputexel_io::{Error, Result};

pub use accumulators::{
    AccumulatorEntry, AccumulatorRecord, AdjustmentOperator, AdjustmentRecord, FactorRecord, OneOrMany,
    OperatorRecord, SharedParameter, SideIndices, TermRecord,
};
pub use comparison::{Comparison, Correlation, Outlier, Reference, ReferenceRow, WORST, bounded};
pub use compiled_schema::CompiledSchema;
pub use line::{Batch, PositionFacts, read_lines};
pub(crate) use number::parse_number;
pub use parameters::{At, LineRecord, MadeNames, NamesRecord, Priors, SchemaParameter, Values};
pub use report::{ImportReport, SourceReport};
pub(crate) use schema::refuse_schema;
pub use schema::{
    Columns, Comment, GameColumn, PhaseRecord, QidWord, Results, ScaleRecord, Schema, View, Views,
};
pub use truncation::Shares;

pub use gputexel_model::Division;

/// Maximum number of distinct endgame scale factors: each combination with a phase is a bucket with its own
/// table.
pub const MAX_SCALES: usize = 64;

#[derive(Clone, Debug)]
pub struct ImportSettings {
    pub schema: Arc<CompiledSchema>,
    /// Maximum share of bad lines in an input; above it, nothing is written.
    pub max_bad_share: f64,
    pub threads: usize,
    /// Accept results as they are, even if they contradict material.
    pub trust_results: bool,
    pub force: bool,
    /// Parameters for comparing computed evaluations with those printed by the engine.
    pub reference: Option<Reference>,
    /// True if evaluations must be those of the reference, as they are its own record.
    pub recorded: bool,
}

impl ImportSettings {
    pub fn new(schema: CompiledSchema) -> Self {
        Self {
            schema: Arc::new(schema),
            max_bad_share: 0.1,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            trust_results: false,
            force: false,
            reference: None,
            recorded: false,
        }
    }

    pub(crate) fn validate(&self, inputs: &[PathBuf], output: &Path) -> Result<()> {
        inputs.iter().try_for_each(|input| refuse_schema(input))?;
        check_reading(inputs, output, self.max_bad_share, self.threads)
    }
}

/// Reads traces and writes a dataset to `output`.
///
/// # Errors
/// [`Error::Usage`] for contradictory settings or an output that exists;
/// [`Error::Input`] when an input's indices do not start where the schema
/// declares, too many of its lines are bad, or it has no positions;
/// [`Error::Interrupted`] after `cancel`. In all these cases, nothing is
/// written.
pub fn import(
    inputs: &[PathBuf],
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ImportReport> {
    settings.validate(inputs, output)?;
    import_answers(inputs, settings, output, hooks, None)
}

/// Imports as [`import`] traces that were measured on the positions of `positions`, which the dataset names
/// as its sources, one for each trace.
pub fn import_probed(
    (traces, positions): (&[PathBuf], &[PathBuf]),
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    record: ProbingRecord,
) -> Result<ImportReport> {
    let answers = Answers { positions, record: Record::Probing(record) };
    import_answers(traces, settings, output, hooks, Some(answers))
}

#[derive(Clone)]
pub(crate) enum Record {
    Tracing(TracingRecord),
    Probing(ProbingRecord),
}

pub(crate) struct Answers<'a> {
    pub positions: &'a [PathBuf],
    pub record: Record,
}

/// Imports as [`import`] traces, which may be printed for the positions of `answers`.
pub(crate) fn import_answers(
    traces: &[PathBuf],
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    answers: Option<Answers<'_>>,
) -> Result<ImportReport> {
    let start = Instant::now();
    // Before anything is read: an unwritable path should not cost an hour.
    let mut metadata = Metadata::new(settings.schema.feature_set().clone());
    match answers.as_ref().map(|answers| answers.record.clone()) {
        Some(Record::Tracing(record)) => metadata.tracing = Some(record),
        Some(Record::Probing(record)) => metadata.probing = Some(record),
        None => {}
    }
    let writer = DatasetWriter::create(output, metadata, settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let sources = traces.iter().map(|path| {
        Source::open(path, &bytes_read, |input| match input.head().iter().take(4096).any(|&byte| byte == 0) {
            true => Err(Error::input(path, "is not text")),
            false => Ok(Format::Text),
        })
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let mut assembly = Assembly::new(writer, traces, settings, answers);
    let (schema, reference) = (Arc::clone(&settings.schema), settings.reference.clone());
    let worker = move |queue: &Queue<Batch>| {
        queue.process(|chunk| read_lines(&chunk.bytes, chunk.first_line, &schema, reference.as_ref()));
    };
    read_all(sources, &bytes_read, settings.threads, worker, &mut assembly, hooks)?;
    let mut report = assembly.finish(output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
