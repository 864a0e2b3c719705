//! Records of 32 bytes without anything between them: bulletformat and marlinformat.

use crate::fen::FenError;
use crate::sample::Batch;
use crate::selection::{Criteria, Reason};
use shakmaty::{Board, Chess};

use crate::formats::collector::Collector;
use crate::formats::spec::FormatSpec;

/// Number of bytes of a record.
pub(crate) const RECORD_BYTES: usize = 32;

/// Number of records that are looked at to detect a format.
pub(crate) const DETECTED_RECORDS: usize = 1024;

/// Share of the records looked at that may be damaged.
const DAMAGED: f64 = 0.05;

/// Properties that such formats have in common.
pub(crate) const RECORDS: FormatSpec = FormatSpec {
    records: ["record", "records"],
    is_text: false,
    chunk_bytes: 1 << 17,
    max_record_bytes: 2 * RECORD_BYTES,
    split_point: Some(split_point),
    ..FormatSpec::TEXT
};

/// Contents of a record with a whole position.
#[derive(Clone, Debug)]
pub(crate) struct Labeled {
    pub position: Chess,
    /// Centipawns, White's view.
    pub score_cp: f32,
    /// White's view, 0 to 1.
    pub result: f32,
}

/// Contents of a record without castling rights and en passant squares. White is to move.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    pub board: Board,
    /// Centipawns, White's view.
    pub score_cp: f32,
    /// White's view, 0 to 1.
    pub result: f32,
}

/// Reason why a record cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// It is not a position.
    Board(&'static str),
    /// A position that is not legal.
    Illegal(FenError),
    /// A result that is not one of three.
    Result(u8),
}

impl RecordError {
    pub fn reason(self) -> Reason {
        match self {
            Self::Board(_) => Reason::BadRecord,
            Self::Illegal(_) => Reason::IllegalRecord,
            Self::Result(_) => Reason::BadRecordResult,
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Board(what) => what.to_string(),
            Self::Illegal(error) => error.reason().to_string(),
            Self::Result(byte) => format!("the result is {byte}, neither 0, 1 nor 2"),
        }
    }
}

/// Reads the records of a chunk whose first byte is at `offset` of the input.
pub(crate) fn read(
    chunk: &[u8],
    offset: u64,
    criteria: Criteria<'_>,
    read: impl Fn(&[u8; RECORD_BYTES], &mut Collector<'_>, u64) -> Result<(), RecordError>,
) -> Batch {
    let mut out = Collector::new(criteria);
    out.expect(chunk.len() / RECORD_BYTES);
    let (records, rest) = chunk.as_chunks::<RECORD_BYTES>();
    let first = offset / RECORD_BYTES as u64;
    for (number, record) in (first..).zip(records) {
        if let Err(error) = read(record, &mut out, number) {
            out.refuse(error.reason(), number * RECORD_BYTES as u64, || error.text());
        }
    }
    if !rest.is_empty() {
        let at = offset + (chunk.len() - rest.len()) as u64;
        let what = format!("the last record has {} of {RECORD_BYTES} bytes", rest.len());
        out.damage(at, rest.len() as u64, what);
    }
    out.finish()
}

/// Returns true if nearly all of the first records are right, including the very first.
pub(crate) fn are_mostly(head: &[u8], right: impl Fn(&[u8; RECORD_BYTES]) -> bool) -> bool {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let records = &records[..records.len().min(DETECTED_RECORDS)];
    let Some(first) = records.first() else { return false };
    let wrong = records.iter().filter(|record| !right(record)).count();
    right(first) && wrong as f64 <= DAMAGED * records.len() as f64
}

/// Returns the end of the last whole record.
fn split_point(buffer: &[u8]) -> Option<usize> {
    Some(buffer.len() - buffer.len() % RECORD_BYTES).filter(|end| *end > 0)
}
