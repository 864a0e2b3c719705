//! Properties of a format.

use crate::formats::Writer;
use crate::sample::{Batch, Origin};
use crate::selection::Criteria;

#[derive(Clone, Copy)]
pub(crate) struct FormatSpec {
    pub name: &'static str,
    pub form: &'static str,
    /// Endings of files that are written, the usual one first.
    pub endings: &'static [&'static str],
    pub records: [&'static str; 2],
    pub has_moves: bool,
    pub is_text: bool,
    /// True if positions have results; otherwise these are NaN.
    pub has_results: bool,
    /// Number of bytes of a chunk whose samples fit the second-level cache rather than main memory: samples of
    /// binary formats are several times as large as their records.
    pub chunk_bytes: usize,
    /// Number of bytes within which a record, game or block ends.
    pub max_record_bytes: usize,
    /// Returns the end of the last whole record in a buffer; `None` in a format that is only written.
    pub split_point: Option<fn(&[u8]) -> Option<usize>>,
    pub training: Option<TrainingData>,
    /// Writer, unless the format is only read.
    pub output: Option<Output>,
}

#[derive(Clone, Copy)]
pub(crate) struct TrainingData {
    pub read: fn(&[u8], u64, Criteria<'_>) -> Batch,
    /// Returns true if an input begins with some bytes, or consists of them, and may have the format.
    pub detect: fn(&[u8], bool) -> bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Output {
    /// Appends a position with its result; returns false if the format cannot express it.
    pub push: fn(&mut Writer, &Origin, f32, &mut Vec<u8>) -> bool,
    pub has_missing_scores: bool,
    pub has_fractions: bool,
    /// True if it has move numbers and plies without progress.
    pub has_clocks: bool,
    pub has_games_and_weights: bool,
}

impl FormatSpec {
    pub const TEXT: Self = Self {
        name: "",
        form: "",
        endings: &[],
        records: ["line", "lines"],
        has_moves: false,
        is_text: true,
        has_results: true,
        chunk_bytes: 1 << 20,
        max_record_bytes: 1 << 22,
        split_point: None,
        training: None,
        output: None,
    };
}

impl Output {
    /// Writer of positions that have whole centipawns and one of three results, and clocks.
    pub const fn new(push: fn(&mut Writer, &Origin, f32, &mut Vec<u8>) -> bool) -> Self {
        Self {
            push,
            has_missing_scores: false,
            has_fractions: false,
            has_clocks: true,
            has_games_and_weights: false,
        }
    }
}

pub(crate) fn last_line_end(buffer: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', buffer).map(|at| at + 1)
}
