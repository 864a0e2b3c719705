//! Duplicates and drawn games across inputs, in input order, and the sample of all positions.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use gputexel_chess::selection::{Duplicates, Reason, Selection, draw};

#[derive(Default)]
pub(crate) struct Repeats(HashMap<u32, (f32, u32)>);

impl Repeats {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the mean result of a row's position, and the number of its occurrences, if there is more than
    /// one.
    pub fn mean(&self, row: u32, result: f32) -> Option<(f32, f32)> {
        let (results, later) = self.0.get(&row)?;
        let count = *later as f32 + 1.0;
        Some(((result + results) / count, count))
    }
}

pub(crate) struct Judge {
    duplicates: Duplicates,
    no_draws: bool,
    seen: KeySet,
    rows: KeyMap<u32>,
    repeats: Repeats,
    kept: u32,
}

impl Judge {
    pub fn new(rules: &Selection) -> Self {
        Self {
            duplicates: rules.duplicates,
            no_draws: rules.no_draws,
            seen: KeySet::default(),
            rows: KeyMap::default(),
            repeats: Repeats::default(),
            kept: 0,
        }
    }

    /// Handles duplicates and drawn games: returns the reason why a position is left out. Duplicates are dropped before draws, so that the first occurrence
    /// counts whatever its result; averages are taken over the games that count.
    pub fn judge(&mut self, key: u64, result: f32) -> Option<Reason> {
        if self.duplicates == Duplicates::Drop && !self.seen.insert(key) {
            return Some(Reason::Duplicate);
        }
        if self.no_draws && result == 0.5 {
            return Some(Reason::Drawn);
        }
        if self.duplicates == Duplicates::Average {
            match self.rows.entry(key) {
                Entry::Vacant(entry) => {
                    // Compared with the maximum number of rows after each chunk.
                    entry.insert(self.kept);
                }
                Entry::Occupied(entry) => {
                    let (results, count) = self.repeats.0.entry(*entry.get()).or_default();
                    *results += result;
                    *count += 1;
                    return Some(Reason::Merged);
                }
            }
        }
        self.kept = self.kept.wrapping_add(1);
        None
    }

    /// Returns the later occurrences of all positions, after the last call of [`judge`](Self::judge).
    pub fn take_repeats(&mut self) -> Repeats {
        self.rows = KeyMap::default();
        std::mem::take(&mut self.repeats)
    }
}

/// Marks the rows of `total` that are in a sample of `wanted`, drawn uniformly without replacement: selection
/// sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S) with random numbers determined by the
/// seed and the row.
pub(crate) fn sample_of(total: u64, wanted: u64, seed: u64) -> Vec<bool> {
    let mut needed = wanted;
    let rows = (0..total).map(|row| {
        let chance = u128::from(draw(seed, SAMPLE, row));
        let keep = ((chance * u128::from(total - row)) >> 64) < u128::from(needed);
        needed -= u64::from(keep);
        keep
    });
    rows.collect()
}

const SAMPLE: u64 = 0x5a4d_504c;

#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

type KeySet = HashSet<u64, BuildHasherDefault<KeyHasher>>;

type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;
