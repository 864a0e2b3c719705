//! Formats of training data by name.

use std::str::FromStr;

use crate::sample::Batch;
use crate::selection::Criteria;
use gputexel_io::{Error, Result};
use shakmaty::Color;

use crate::formats::records::RecordError;
use crate::formats::{binpack, bulletformat, lichess, marlinformat, plain, records, viriformat};

/// Format of training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Stockfish's blocks of chains of moves.
    Binpack,
    /// Records of 32 bytes, seen from the side to move.
    Bulletformat,
    /// Records of 32 bytes, White's view, whole positions.
    Marlinformat,
    /// Games: a marlinformat head and moves with scores.
    Viriformat,
    /// Stockfish's text of six lines per position.
    Plain,
    /// Evaluations of Lichess, JSON, one position per line, without results.
    Lichess,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] =
        [Self::Binpack, Self::Bulletformat, Self::Marlinformat, Self::Viriformat, Self::Plain, Self::Lichess];

    /// Returns its name on command lines and in datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binpack => "binpack",
            Self::Bulletformat => "bulletformat",
            Self::Marlinformat => "marlinformat",
            Self::Viriformat => "viriformat",
            Self::Plain => "plain",
            Self::Lichess => "lichess",
        }
    }

    /// Returns true if its positions come in games.
    pub fn has_games(self) -> bool {
        matches!(self, Self::Binpack | Self::Viriformat | Self::Plain)
    }

    /// Returns true if it is text, in which places are lines.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Plain | Self::Lichess)
    }

    /// Returns true if its positions have results; otherwise these are NaN.
    pub fn has_results(self) -> bool {
        self != Self::Lichess
    }

    /// Returns the number of bytes of a chunk whose samples fit the second-level cache rather than main
    /// memory: samples of binary formats are several times as large as their records.
    pub fn chunk_bytes(self) -> usize {
        match self {
            Self::Bulletformat | Self::Marlinformat => 1 << 17,
            Self::Viriformat => 1 << 15,
            Self::Binpack | Self::Plain | Self::Lichess => 1 << 20,
        }
    }

    /// Returns the number of bytes within which a record, game or block ends.
    pub fn max_record_bytes(self) -> usize {
        match self {
            Self::Binpack => 2 * binpack::MAX_BLOCK_BYTES,
            Self::Bulletformat | Self::Marlinformat => 2 * records::RECORD_BYTES,
            Self::Viriformat | Self::Plain | Self::Lichess => 1 << 22,
        }
    }

    /// Returns the end of the last whole record in a buffer that begins with one; `None` if there is none.
    pub fn split_point(self, buffer: &[u8]) -> Option<usize> {
        match self {
            Self::Binpack => binpack::split_point(buffer),
            Self::Bulletformat | Self::Marlinformat => records::split_point(buffer),
            Self::Viriformat => viriformat::split_point(buffer),
            Self::Plain => plain::split_point(buffer),
            Self::Lichess => memchr::memrchr(b'\n', buffer).map(|at| at + 1),
        }
    }

    /// Reads a chunk of whole records that begins at `offset` of the input: a byte from 0, in text a line
    /// from 1. Offsets take the place of line numbers. For games, `game` of a sample counts those of the
    /// chunk from 0.
    pub fn read<'c>(self, chunk: &[u8], offset: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
        let criteria = criteria.into();
        match self {
            Self::Binpack => binpack::read(chunk, offset, criteria),
            Self::Bulletformat if criteria.is_bare() => {
                records::read(chunk, offset, criteria, |record, out, number| {
                    let bare = bulletformat::read_bare(record)?;
                    let added = out.bare(&bare.board, Color::White, bare.score_cp, bare.result, number);
                    added.map_err(RecordError::Illegal)
                })
            }
            Self::Bulletformat => records::read(chunk, offset, criteria, |record, out, number| {
                let labeled = bulletformat::read(record)?;
                out.position(&labeled.position, labeled.score_cp, labeled.result, number);
                Ok(())
            }),
            Self::Marlinformat => records::read(chunk, offset, criteria, |record, out, number| {
                let labeled = marlinformat::read(record)?;
                out.position(&labeled.position, labeled.score_cp, labeled.result, number);
                Ok(())
            }),
            Self::Viriformat => viriformat::read(chunk, offset, criteria),
            Self::Plain => plain::read(chunk, offset, criteria),
            Self::Lichess => lichess::read(chunk, offset, criteria),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            Error::Usage(format!("format '{text}': expected one of {}", Self::ALL.map(Self::name).join(", ")))
        })
    }
}
