//! Traces: positions as sparse rows of features that another program computed, in the SVMlight text
//! format, and the schema that says what their indices mean.
//!
//! Owns the schema file, the reader of lines, the import of traces into datasets, and the way back.
//! Only the engine that printed a trace knows what its features mean. `docs/import.md` describes both
//! formats in full.

mod assembly;
mod comparison;
mod compiled_schema;
mod export;
mod line;
mod number;
mod pipeline;
mod report;
mod schema;
mod survey;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use comparison::{Comparison, Correlation, Outlier, Reference, WORST, bounded};
pub use compiled_schema::CompiledSchema;
pub use export::{export, export_files};
pub use line::{Batch, read_lines};
pub use report::{ImportReport, SourceReport};
pub use schema::{
    Columns, Comment, GameColumn, PhaseRecord, Priors, Results, ScaleRecord, Schema, SchemaParameter, Values,
    View, Views,
};
pub use survey::{Survey, survey};

use crate::reading::{Hooks, check_reading};
use gputexel_files::Result;

/// Most distinct endgame scale factors: each of them times each phase is a bucket with a table of
/// its own.
pub const MAX_SCALES: usize = 64;

/// How traces are imported.
#[derive(Clone, Debug)]
pub struct ImportSettings {
    /// What indices mean.
    pub schema: Arc<CompiledSchema>,
    /// Share of broken lines of an input above which nothing is written.
    pub max_bad_share: f64,
    /// Worker threads, besides the one that decompresses.
    pub threads: usize,
    /// Take results as they are, also where they run against material.
    pub trust_results: bool,
    /// Replace an existing output.
    pub force: bool,
    /// Parameters under which static evaluations are compared with what the engine printed.
    pub reference: Option<Reference>,
}

impl ImportSettings {
    /// Default settings for a schema.
    pub fn new(schema: CompiledSchema) -> Self {
        Self {
            schema: Arc::new(schema),
            max_bad_share: 0.1,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            trust_results: false,
            force: false,
            reference: None,
        }
    }

    fn validate(&self, inputs: &[PathBuf], output: &Path) -> Result<()> {
        check_reading(inputs, output, self.max_bad_share, self.threads)
    }
}

/// Reads traces and writes a dataset to `output`.
///
/// # Errors
/// [`Error::Usage`](gputexel_files::Error::Usage) for contradictory settings or an output that exists; [`Error::Input`](gputexel_files::Error::Input) when an
/// input counts its indices otherwise than the schema says, has too many broken lines, or holds no
/// position; [`Error::Interrupted`](gputexel_files::Error::Interrupted) after `cancel`. Nothing is written then.
pub fn import(
    inputs: &[PathBuf],
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ImportReport> {
    settings.validate(inputs, output)?;
    pipeline::run(inputs, settings, output, hooks)
}
