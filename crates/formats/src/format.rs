//! The formats by name.

use std::str::FromStr;

use gputexel_chess::sample::Batch;
use gputexel_chess::selection::Criteria;
use gputexel_files::{Error, Result};

use crate::{binpack, bulletformat, marlinformat, records, viriformat};

/// A binary format.
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
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Binpack, Self::Bulletformat, Self::Marlinformat, Self::Viriformat];

    /// The name by which command lines and datasets call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binpack => "binpack",
            Self::Bulletformat => "bulletformat",
            Self::Marlinformat => "marlinformat",
            Self::Viriformat => "viriformat",
        }
    }

    /// Whether its positions come in games.
    pub fn has_games(self) -> bool {
        matches!(self, Self::Binpack | Self::Viriformat)
    }

    /// Bytes within which a record, game or block ends.
    pub fn max_record_bytes(self) -> usize {
        match self {
            Self::Binpack => 2 * binpack::MAX_BLOCK_BYTES,
            Self::Bulletformat | Self::Marlinformat => 2 * records::RECORD_BYTES,
            Self::Viriformat => 1 << 22,
        }
    }

    /// The end of the last whole record in a buffer that begins with one; `None` if there is none.
    pub fn split_point(self, buffer: &[u8]) -> Option<usize> {
        match self {
            Self::Binpack => binpack::split_point(buffer),
            Self::Bulletformat | Self::Marlinformat => records::split_point(buffer),
            Self::Viriformat => viriformat::split_point(buffer),
        }
    }

    /// Reads a chunk of whole records whose first byte is at `offset` of the input. Offsets stand where texts
    /// have lines; for games, `game` of a sample counts those of the chunk from 0.
    pub fn read<'c>(self, chunk: &[u8], offset: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
        let criteria = criteria.into();
        match self {
            Self::Binpack => binpack::read(chunk, offset, criteria),
            Self::Bulletformat => records::read(chunk, offset, criteria, bulletformat::read),
            Self::Marlinformat => records::read(chunk, offset, criteria, marlinformat::read),
            Self::Viriformat => viriformat::read(chunk, offset, criteria),
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
