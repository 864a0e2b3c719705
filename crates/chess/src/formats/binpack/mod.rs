//! Stockfish's binpack: blocks of chains of consecutive positions.
//!
//! A block is `BINP`, its size in four bytes (low byte first) and its chains. A chain is a stem, the number
//! of plies that follow (two bytes, high byte first), and their moves and scores in bits, filled up to a
//! byte. Scores and results are those of the side to move; scores are stored as differences. The format is
//! described by nnue-pytorch (lib/nnue_training_data_formats.h) and by the crate sfbinpack, with which tests
//! read the same files.

mod bits;
mod moves;
mod stem;
mod writer;

use crate::sample::Batch;
use crate::selection::{Criteria, MAX_PLIES, Ply, Reason};
use shakmaty::{Chess, Position};

use self::bits::{BitReader, signed};
use self::stem::{STEM_BYTES, Stem, StemError};
pub use self::writer::BinpackWriter;
use crate::formats::NO_SCORE;
use crate::formats::collector::Collector;
use crate::formats::spec::{FormatSpec, Output, TrainingData};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "binpack",
    endings: &["binpack"],
    records: ["chain of moves", "chains of moves"],
    has_moves: true,
    is_text: false,
    max_record_bytes: 2 * MAX_BLOCK_BYTES,
    split_point: Some(split_point),
    training: Some(TrainingData { read, detect: |head, _| head.starts_with(MAGIC) }),
    output: Some(Output {
        has_missing_scores: true,
        ..Output::new(|writer, origin, result, out| {
            let written = writer.binpack.push(origin, result, out);
            writer.losses.null_moves += u64::from(written && origin.next.is_none());
            written
        })
    }),
    ..FormatSpec::TEXT
};

const MAGIC: &[u8; 4] = b"BINP";
const HEADER_BYTES: usize = 8;

const MAX_BLOCK_BYTES: usize = 100 << 20;

/// Returns the number of bytes of a block's chains from its header; `None` for an invalid header.
fn block_bytes(header: &[u8]) -> Option<usize> {
    let size = header.strip_prefix(MAGIC)?.get(..4)?;
    let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
    (size <= MAX_BLOCK_BYTES).then_some(size)
}

/// Returns the end of the last whole block in a buffer that begins with a block.
fn split_point(buffer: &[u8]) -> Option<usize> {
    let mut end = 0;
    while let Some(size) = buffer.get(end..end + HEADER_BYTES).and_then(block_bytes) {
        if end + HEADER_BYTES + size > buffer.len() {
            break;
        }
        end += HEADER_BYTES + size;
    }
    // Damaged headers are left to the reader, which reports them.
    let damaged = buffer.get(end..end + HEADER_BYTES).is_some_and(|header| block_bytes(header).is_none());
    if damaged { Some(buffer.len()) } else { Some(end).filter(|end| *end > 0) }
}

/// Reads the blocks of a chunk whose first byte is at `offset` of the input, up to the first damage.
fn read(chunk: &[u8], offset: u64, criteria: Criteria<'_>) -> Batch {
    let mut reader = Reader { out: Collector::new(criteria), plies: Vec::new(), result: 0, next_ply: None };
    let mut at = 0;
    while at < chunk.len() && !reader.out.is_damaged() {
        let here = offset + at as u64;
        let rest = &chunk[at..];
        match block_bytes(rest) {
            Some(size) if HEADER_BYTES + size <= rest.len() => {
                reader.block(&rest[HEADER_BYTES..][..size], here + HEADER_BYTES as u64);
                at += HEADER_BYTES + size;
            }
            Some(size) => {
                let left = rest.len() - HEADER_BYTES;
                let what = format!("the file ends after {left} of the {size} bytes of a block");
                reader.out.damage(here, what);
                // The complete chains of a truncated block can still be read.
                reader.block(&rest[HEADER_BYTES..], here + HEADER_BYTES as u64);
            }
            None => {
                let what = if rest.len() < HEADER_BYTES && MAGIC.starts_with(&rest[..rest.len().min(4)]) {
                    "the header of a block is cut short"
                } else if rest.starts_with(MAGIC) {
                    "a block of impossible size"
                } else {
                    "no block begins here"
                };
                reader.out.damage(here, what.to_string());
            }
        }
    }
    reader.end_game();
    reader.out.finish()
}

struct Reader<'c> {
    out: Collector<'c>,
    plies: Vec<Ply>,
    /// Its result, White's view, −1 to 1.
    result: i16,
    next_ply: Option<(Chess, u16)>,
}

impl Reader<'_> {
    fn block(&mut self, block: &[u8], offset: u64) {
        let mut at = 0;
        while at < block.len() {
            match self.chain(&block[at..], offset + at as u64) {
                Some(used) => at += used,
                None => return,
            }
        }
    }

    /// Reads a chain. Returns its number of bytes, or `None` if the rest of the block cannot be parsed.
    fn chain(&mut self, bytes: &[u8], offset: u64) -> Option<usize> {
        let (Some(stem), Some(count)) =
            (bytes.first_chunk::<STEM_BYTES>(), bytes.get(STEM_BYTES..STEM_BYTES + 2))
        else {
            let left = bytes.len();
            self.out.damage(offset, format!("{left} bytes are left where a chain should begin"));
            return None;
        };
        let count = usize::from(u16::from_be_bytes([count[0], count[1]]));
        let text = &bytes[STEM_BYTES + 2..];
        let stem = match Stem::read(stem) {
            Ok(stem) => stem,
            Err(error) => {
                let (reason, what) = match error {
                    StemError::Position(what) => (Reason::IllegalRecord, what),
                    StemError::Move => (Reason::IllegalRecordMove, "the move is not legal"),
                    StemError::Result => {
                        (Reason::BadRecordResult, "the result is neither loss, draw nor win")
                    }
                };
                if count == 0 {
                    self.out.refuse(reason, offset, || what.to_string());
                    return Some(STEM_BYTES + 2);
                }
                self.out.damage(offset, format!("a chain of {} positions: {what}", count + 1));
                return None;
            }
        };
        self.begin(&stem);
        match self.moves(stem, text, count) {
            Ok(used) => Some(STEM_BYTES + 2 + used),
            Err((read, what)) => {
                let at = offset + (STEM_BYTES + 2) as u64;
                self.out.damage(at, format!("{what} in move {} of {count} of a chain", read + 1));
                self.end_game();
                None
            }
        }
    }

    fn begin(&mut self, stem: &Stem) {
        let turn = stem.position.turn();
        let result = turn.fold_wb(stem.result, -stem.result);
        let goes_on = self.result == result
            && self.next_ply.as_ref().is_some_and(|(position, ply)| {
                stem.ply == *ply && stem.position.board() == position.board() && turn == position.turn()
            });
        if !goes_on || self.plies.len() >= MAX_PLIES {
            self.end_game();
        }
        self.result = result;
    }

    /// Reads the moves and scores after a stem. The error is the number of moves read, and the reason.
    fn moves(&mut self, stem: Stem, text: &[u8], count: usize) -> Result<usize, (usize, &'static str)> {
        let mut bits = BitReader::new(text);
        let Stem { mut position, mut next, mut score, mut ply, .. } = stem;
        self.push(&position, next, score);
        for read in 0..count {
            let Some(played) = next else { return Err((read, "a null move")) };
            position.play_unchecked(played);
            ply += 1;
            let m = moves::read_move(&position, &mut bits).ok_or((read, "no legal move"))?;
            let difference = bits.take_variable().ok_or((read, "no score"))?;
            score = score.wrapping_neg().wrapping_add(signed(difference));
            next = Some(m);
            self.push(&position, next, score);
        }
        self.next_ply = next.map(|played| {
            position.play_unchecked(played);
            (position, ply + 1)
        });
        Ok(bits.bytes_taken())
    }

    fn push(&mut self, position: &Chess, next: Option<shakmaty::Move>, score: i16) {
        let mut ply = Ply::new(position.clone());
        ply.next = next;
        if score != NO_SCORE {
            ply.score_cp = crate::formats::white_score(score, position.turn());
        }
        self.plies.push(ply);
    }

    fn end_game(&mut self) {
        if !self.plies.is_empty() {
            self.out.game(&mut self.plies, 0.5 + 0.5 * f32::from(self.result));
        }
        self.next_ply = None;
    }
}
