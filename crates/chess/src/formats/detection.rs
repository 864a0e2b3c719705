//! Detects formats by their content. Only binpack has a magic number; the others are recognized by properties
//! of every record that random bytes and the other formats lack.

use gputexel_io::{Advice, Error, Result};

use crate::formats::format::Format;
use crate::formats::records::{RECORD_BYTES, RecordError};
use crate::formats::{binpack, bulletformat, lichess, marlinformat, plain, viriformat};

/// Number of records that are looked at.
const RECORDS: usize = 1024;

/// Share of the records looked at that may be damaged.
const DAMAGED: f64 = 0.05;

impl Format {
    /// Detects the format of an input that begins with `head`, and is no longer if `complete`; `None` if it
    /// is none of them.
    ///
    /// # Errors
    /// [`Error::Input`] for a format that is recognized but cannot be read: of the other byte order, or that
    /// fits two formats.
    pub fn detect(name: &str, head: &[u8], complete: bool) -> Result<Option<Self>> {
        if head.starts_with(binpack::MAGIC) {
            return Ok(Some(Self::Binpack));
        }
        if plain::detect(head) {
            return Ok(Some(Self::Plain));
        }
        if lichess::detect(head, complete) {
            return Ok(Some(Self::Lichess));
        }
        let fitting: Vec<Self> = [Self::Bulletformat, Self::Marlinformat, Self::Viriformat]
            .into_iter()
            .filter(|format| fits(*format, head, complete))
            .collect();
        // A short game may pass for a single record, except for its length.
        let exact =
            |format: &&Self| matches!(format, Self::Viriformat) || head.len().is_multiple_of(RECORD_BYTES);
        let fitting = if fitting.len() > 1 && complete {
            fitting.iter().filter(exact).copied().collect()
        } else {
            fitting
        };
        match fitting[..] {
            [format] => Ok(Some(format)),
            [] if fits(Self::Bulletformat, &swapped(head), complete) => Err(Error::input(
                name,
                "looks like bulletformat with the high bytes first; only low bytes first can be read",
            )),
            [] => Ok(None),
            [one, other, ..] => {
                Err(Error::input(name, format!("may be {} as well as {}", one.name(), other.name()))
                    .advise(Advice::default().setting("format", one.name()).text(" names the format")))
            }
        }
    }
}

/// Returns the records with the bytes of their occupancies and scores in the other order.
fn swapped(head: &[u8]) -> Vec<u8> {
    let mut bytes = head[..head.len().min(RECORDS * RECORD_BYTES)].to_vec();
    for record in bytes.as_chunks_mut::<RECORD_BYTES>().0 {
        record[..8].reverse();
        record[24..26].reverse();
    }
    bytes
}

fn fits(format: Format, head: &[u8], complete: bool) -> bool {
    let (records, _) = head.as_chunks::<RECORD_BYTES>();
    let records = &records[..records.len().min(RECORDS)];
    match format {
        Format::Binpack => head.starts_with(binpack::MAGIC),
        Format::Bulletformat => mostly(records, |record| match bulletformat::read(record) {
            Ok(labeled) => bulletformat::kings_agree(record, &labeled),
            Err(error) => matches!(error, RecordError::Illegal(_)) && record[26] < 3,
        }),
        Format::Marlinformat => mostly(records, |record| match marlinformat::read(record) {
            Ok(_) => true,
            Err(error) => matches!(error, RecordError::Illegal(_)) && record[30] < 3,
        }),
        Format::Viriformat => has_games(head, complete),
        Format::Plain => plain::detect(head),
        Format::Lichess => lichess::detect(head, complete),
    }
}

/// Returns true if nearly all records are right, including the first.
fn mostly(records: &[[u8; RECORD_BYTES]], right: impl Fn(&[u8; RECORD_BYTES]) -> bool) -> bool {
    let Some(first) = records.first() else { return false };
    let wrong = records.iter().filter(|record| !right(record)).count();
    right(first) && wrong as f64 <= DAMAGED * records.len() as f64
}

/// Returns true if the first bytes are a game with legal moves, or the beginning of one.
fn has_games(head: &[u8], complete: bool) -> bool {
    let Some((record, rest)) = head.split_first_chunk::<RECORD_BYTES>() else { return false };
    let Ok(labeled) = marlinformat::read(record) else { return false };
    let mut position = labeled.position;
    for one in rest.as_chunks::<{ viriformat::MOVE_BYTES }>().0 {
        if *one == viriformat::END {
            return true;
        }
        let Some(next) = viriformat::read_move(&position, u16::from_le_bytes([one[0], one[1]])) else {
            return false;
        };
        shakmaty::Position::play_unchecked(&mut position, next);
    }
    // A game that never ends within the head is not a game: games have at most a few hundred moves.
    complete && rest.len() >= viriformat::MOVE_BYTES
}
