//! Duplicate positions: to an evaluation, equal rows are the same position.

use std::collections::HashMap;

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use gputexel_dataset::Dataset;

/// Counts of duplicate positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    /// Distinct rows.
    pub distinct: u64,
    /// Rows that equal an earlier one.
    pub repeated: u64,
    /// Duplicates whose result differs from that of the first occurrence.
    pub other_result: u64,
    /// Duplicates in the same game as the first occurrence.
    pub same_game: u64,
}

/// Counts rows with the same coefficients, taper and offset as an earlier one. Rows are compared by a 64-bit
/// hash.
pub fn duplicates(data: &Dataset) -> Duplicates {
    let mut found = Duplicates::default();
    let mut first: HashMap<u64, u32> = HashMap::new();
    let mut entries: Vec<(u16, f32)> = Vec::new();
    for n in 0..data.len() {
        let row = data.row(n);
        entries.clear();
        entries.extend(row.entries());
        entries.sort_unstable_by_key(|&(id, _)| id);
        let mut hash = Xxh3::new();
        hash.update(&row.phase.to_le_bytes());
        hash.update(&data.endgame_scales().get(n).copied().unwrap_or(0).to_le_bytes());
        hash.update(&row.offset.to_le_bytes());
        for own in entries.chunk_by(|a, b| a.0 == b.0) {
            let coefficient: f32 = own.iter().map(|&(_, c)| c).sum();
            if coefficient != 0.0 {
                hash.update(&own[0].0.to_le_bytes());
                hash.update(&coefficient.to_le_bytes());
            }
        }
        match first.entry(hash.digest()) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(n as u32);
                found.distinct += 1;
            }
            std::collections::hash_map::Entry::Occupied(entry) => {
                let earlier = *entry.get() as usize;
                found.repeated += 1;
                found.other_result += u64::from(data.results()[earlier] != row.result);
                found.same_game += u64::from(data.has_games() && data.game(earlier) == data.game(n));
            }
        }
    }
    found
}
