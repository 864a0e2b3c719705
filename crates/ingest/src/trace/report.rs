//! Report of an import.

use serde::Serialize;

use crate::extraction::Results;
use gputexel_dataset::SourceRecord;

#[derive(Clone, Debug, Default, Serialize)]
pub struct SourceReport {
    #[serde(flatten)]
    pub record: SourceRecord,
    pub bad_lines: u64,
    /// The first unusable lines, `file:line: reason`.
    pub complaints: Vec<String>,
    pub warnings: Vec<String>,
}

impl SourceReport {
    pub fn bad_share(&self) -> f64 {
        self.bad_lines as f64 / self.record.records.max(1) as f64
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    pub output: String,
    pub positions: u64,
    /// Number of games; 0 if the traces have none.
    pub games: u64,
    pub features: usize,
    pub entries: u64,
    pub coefficients: &'static str,
    /// The first coefficient that half precision would change, `file`, feature and value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_inexact: Option<String>,
    pub scales: usize,
    pub results: Results,
    /// True if results are from the view of the side to move, which the trace does not record.
    pub relative: bool,
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed if they are.
    pub bytes_read: u64,
    /// Bytes of decompressed text.
    pub bytes_of_text: u64,
    pub seconds: f64,
    pub sources: Vec<SourceReport>,
    #[serde(skip)]
    pub comparison: super::Comparison,
    /// If evaluations were compared, what lines say of each position beside its row.
    #[serde(skip)]
    pub facts: Vec<super::PositionFacts>,
}
