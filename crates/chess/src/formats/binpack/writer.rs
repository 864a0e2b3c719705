//! Writes binpacks.

use crate::sample::{Origin, game_ply};
use shakmaty::{Move, Position};

use super::bits::{BitWriter, unsigned};
use super::stem::{MAX_PLY, Stem};
use super::{HEADER_BYTES, MAGIC, moves};
use crate::formats::NO_SCORE;

/// Number of bytes of chains after which a block ends, as in Stockfish's writer.
const BLOCK_BYTES: usize = 1 << 20;

/// Writer of positions as chains: positions that follow from the one before by its move, with the same
/// result, continue its chain.
#[derive(Default)]
pub struct BinpackWriter {
    block: Vec<u8>,
    last: Option<Stem>,
    /// Plies of the chain after its stem, and their moves and scores.
    count: u16,
    text: BitWriter,
}

impl BinpackWriter {
    /// Appends a position, and a block to `out` when one is full. Returns true if the format can express it:
    /// it has no Chess960 castling rights.
    pub fn push(&mut self, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
        let position = &origin.position;
        let turn = position.turn();
        let white = (2.0 * result - 1.0).round() as i16;
        let entry = Stem {
            position: position.clone(),
            next: origin.next,
            score: if origin.score_cp.is_nan() {
                NO_SCORE
            } else {
                crate::formats::stored_score(origin.score_cp, turn)
            },
            result: turn.fold_wb(white, -white),
            ply: game_ply(position).min(MAX_PLY) as u16,
        };
        let goes_on =
            self.last.as_ref().and_then(|last| continuation(last, &entry)).filter(|_| self.count < u16::MAX);
        if let Some(next) = goes_on {
            moves::write_move(position, next, &mut self.text);
            let last = self.last.as_ref().map_or(0, |last| last.score);
            self.text.push_variable(unsigned(entry.score.wrapping_sub(last.wrapping_neg())));
            self.count += 1;
        } else {
            let Some(stem) = entry.write() else { return false };
            self.end_chain();
            if self.block.len() >= BLOCK_BYTES {
                self.end_block(out);
            }
            self.block.extend_from_slice(&stem);
        }
        self.last = Some(entry);
        true
    }

    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.end_chain();
        if !self.block.is_empty() {
            self.end_block(out);
        }
    }

    fn end_chain(&mut self) {
        if self.last.take().is_some() {
            self.block.extend_from_slice(&self.count.to_be_bytes());
            self.block.extend_from_slice(self.text.bytes());
        }
        self.count = 0;
        self.text.clear();
    }

    fn end_block(&mut self, out: &mut Vec<u8>) {
        out.reserve(HEADER_BYTES + self.block.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&(self.block.len() as u32).to_le_bytes());
        out.append(&mut self.block);
    }
}

/// Returns the move by which an entry continues the one before, if it does.
fn continuation(last: &Stem, entry: &Stem) -> Option<Move> {
    let next = entry.next?;
    let played = last.next?;
    let expected = last.result == -entry.result && last.ply + 1 == entry.ply;
    if !expected {
        return None;
    }
    let mut position = last.position.clone();
    position.play_unchecked(played);
    // Clocks count: a reader derives them from the chain.
    (position == entry.position && position.halfmoves() == entry.position.halfmoves()).then_some(next)
}
