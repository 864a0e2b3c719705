//! What an import says at its end.

use serde::Serialize;

use crate::extraction::Results;
use gputexel_dataset::SourceRecord;

/// What was read from one trace.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceReport {
    /// As it is recorded in the dataset.
    #[serde(flatten)]
    pub record: SourceRecord,
    /// Lines that could not be used.
    pub bad_lines: u64,
    /// The first of them, `file:line: reason`.
    pub complaints: Vec<String>,
    /// What the user should look at.
    pub warnings: Vec<String>,
}

impl SourceReport {
    /// Share of lines that could not be used.
    pub fn bad_share(&self) -> f64 {
        self.bad_lines as f64 / self.record.records.max(1) as f64
    }
}

/// The outcome of an import.
#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    /// The dataset that was written.
    pub output: String,
    /// Its positions.
    pub positions: u64,
    /// Its games, 0 where the traces have none.
    pub games: u64,
    /// Its features.
    pub features: usize,
    /// Coefficients other than 0.
    pub entries: u64,
    /// `f16`, or `f32` where half precision would change a coefficient.
    pub coefficients: &'static str,
    /// The first coefficient that half precision would change, `file`, feature and value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_inexact: Option<String>,
    /// Distinct endgame scale factors.
    pub scales: usize,
    /// Results of its positions.
    pub results: Results,
    /// Whether results are from the view of the side to move, which the trace does not name.
    pub relative: bool,
    /// Its size in bytes.
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed where they are.
    pub bytes_read: u64,
    /// Bytes of text.
    pub bytes_of_text: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// The traces in order.
    pub sources: Vec<SourceReport>,
    /// Evaluations compared, where that was asked for.
    #[serde(skip)]
    pub comparison: super::Comparison,
}
