//! Stored form of a chunk of an unfinished extraction: its rows and counts, and data to detect changes of the
//! input.

use half::f16;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::encode::{Encoded, EncodedLabel};
use crate::reading::{Chunk, Ending, Stamp};
use gputexel_chess::sample::Batch;

/// Stored chunk without its rows.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredChunk {
    pub place: ChunkPlace,
    /// Set if the source ends with this chunk.
    pub ending: Option<Ending>,
    /// State of the source's file before it was read, if it ends with this chunk and is a file.
    pub stamp: Option<Stamp>,
    /// Counts and complaints.
    pub rest: Batch,
    /// Number of rows.
    pub rows: usize,
}

/// Place and hash of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPlace {
    /// Index of its source.
    pub source: usize,
    /// File that it belongs to, if the source is an archive.
    pub member: Option<String>,
    /// Offset in the decompressed input, bytes.
    pub offset: u64,
    /// Hash of its bytes.
    pub hash: u64,
    /// True if its source ends with it.
    pub last: bool,
}

impl ChunkPlace {
    /// Returns the place of a chunk that has just been read.
    pub fn of(chunk: &Chunk) -> Self {
        Self {
            source: chunk.source,
            member: chunk.member.as_deref().map(str::to_string),
            offset: chunk.offset,
            hash: xxh3_64(&chunk.bytes),
            last: chunk.ending.is_some(),
        }
    }
}

impl StoredChunk {
    /// Returns the chunk as reading it again would, but without its bytes.
    pub fn chunk(&self) -> Chunk {
        Chunk {
            source: self.place.source,
            member: self.place.member.as_deref().map(Into::into),
            offset: self.place.offset,
            ending: self.ending.clone(),
            ..Chunk::default()
        }
    }
}

/// Flags of the optional fields of a row.
const HAS_LEAF: u8 = 1;
const HAS_SCORE: u8 = 2;
const HAS_GAME: u8 = 4;

/// Appends rows to `bytes`: labels first, then ids, then coefficients.
pub fn write_rows(encoded: &Encoded, bytes: &mut Vec<u8>) {
    for label in &encoded.labels {
        let flag = |condition: bool, flag: u8| if condition { flag } else { 0 };
        let has_score = !label.score_cp.is_nan();
        bytes.push(
            flag(label.leaf_key != label.key, HAS_LEAF)
                | flag(has_score, HAS_SCORE)
                | flag(label.game.is_some(), HAS_GAME),
        );
        bytes.extend_from_slice(&label.key.to_le_bytes());
        bytes.extend_from_slice(&label.result.to_le_bytes());
        for count in [label.phase, label.entries, label.white_entries] {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        if label.leaf_key != label.key {
            bytes.extend_from_slice(&label.leaf_key.to_le_bytes());
        }
        if has_score {
            bytes.extend_from_slice(&label.score_cp.to_le_bytes());
        }
        if let Some(game) = label.game {
            bytes.extend_from_slice(&game.to_le_bytes());
        }
    }
    bytes.extend(encoded.ids.iter().flat_map(|id| id.to_le_bytes()));
    bytes.extend(encoded.coefficients.iter().flat_map(|coefficient| coefficient.to_le_bytes()));
}

/// Reads `count` rows written by [`write_rows`]; `None` if the bytes are not such rows.
pub fn read_rows(mut bytes: &[u8], count: usize, rest: Batch) -> Option<Encoded> {
    let mut labels = Vec::with_capacity(count.min(bytes.len()));
    let mut entries = 0;
    for _ in 0..count {
        let [flags] = take(&mut bytes)?;
        let key = u64::from_le_bytes(take(&mut bytes)?);
        let result = f32::from_le_bytes(take(&mut bytes)?);
        let [phase, own_entries, white_entries] =
            [take(&mut bytes)?, take(&mut bytes)?, take(&mut bytes)?].map(u16::from_le_bytes);
        let leaf_key = match flags & HAS_LEAF {
            0 => key,
            _ => u64::from_le_bytes(take(&mut bytes)?),
        };
        let score_cp = match flags & HAS_SCORE {
            0 => f32::NAN,
            _ => f32::from_le_bytes(take(&mut bytes)?),
        };
        let game = match flags & HAS_GAME {
            0 => None,
            _ => Some(u64::from_le_bytes(take(&mut bytes)?)),
        };
        entries += usize::from(own_entries);
        labels.push(EncodedLabel {
            key,
            leaf_key,
            result,
            score_cp,
            game,
            phase,
            entries: own_entries,
            white_entries,
        });
    }
    let (ids, rest_bytes) = bytes.split_at_checked(2 * entries)?;
    if !rest_bytes.is_empty() && rest_bytes.len() != 2 * entries {
        return None;
    }
    Some(Encoded {
        labels,
        ids: ids.as_chunks().0.iter().map(|id| u16::from_le_bytes(*id)).collect(),
        coefficients: rest_bytes.as_chunks().0.iter().map(|value| f16::from_le_bytes(*value)).collect(),
        rest,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (own, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Encoded {
        let label = |key: u64, entries: u16| EncodedLabel {
            key,
            leaf_key: if key == 2 { 9 } else { key },
            result: 0.25,
            score_cp: if key == 3 { f32::NAN } else { -17.5 },
            game: (key != 1).then_some(u64::MAX - key),
            phase: 24,
            entries,
            white_entries: 1,
        };
        Encoded {
            labels: vec![label(1, 2), label(2, 0), label(3, 1)],
            ids: vec![5, 700, 65_535],
            coefficients: [1.0, -0.5, 3.0].map(f16::from_f32).to_vec(),
            rest: Batch::default(),
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let mut encoded = rows();
        for _ in 0..2 {
            let mut bytes = Vec::new();
            write_rows(&encoded, &mut bytes);
            let again = read_rows(&bytes, 3, Batch::default()).unwrap();
            // NaN scores equal nothing, so their texts are compared.
            assert_eq!(format!("{encoded:?}"), format!("{again:?}"));
            for length in 0..bytes.len() {
                assert!(read_rows(&bytes[..length], 3, Batch::default()).is_none_or(|rows| {
                    // Without coefficients, truncated rows may still be whole.
                    rows.coefficients.is_empty() && length + 6 == bytes.len()
                }));
            }
            encoded.coefficients.clear();
        }
    }
}
