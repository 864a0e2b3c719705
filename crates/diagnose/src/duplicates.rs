//! Duplicate positions: for an evaluation, equal rows are the same position.

use rayon::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use gputexel_dataset::Dataset;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    pub distinct: u64,
    /// Rows that equal an earlier one.
    pub repeated: u64,
    /// Duplicates whose result differs from that of the first occurrence.
    pub other_result: u64,
    pub same_game: u64,
}

const HASHED_ROWS: usize = 1 << 14;
/// Maximum mean number of rows per bucket, unless there would be too many buckets.
const BUCKET_ROWS: usize = 1 << 18;
const MAX_BUCKETS: usize = 1 << 10;
/// Maximum number of rows waiting for their buckets, in total and per bucket.
const WAITING_ROWS: usize = 1 << 21;
const MAX_WAITING_ROWS: usize = 1 << 12;

/// Sort record: the hash, and the bits of the result above the game.
type HashedRow = [u64; 2];

/// Rows waiting for one bucket, and their destination in the list of all.
struct Bucket {
    waiting: Vec<HashedRow>,
    next: usize,
}

impl Bucket {
    fn deliver(&mut self, rows: &mut [HashedRow]) {
        let end = self.next + self.waiting.len();
        rows[self.next..end].copy_from_slice(&self.waiting);
        self.waiting.clear();
        self.next = end;
    }
}

/// Counts rows with the same coefficients, taper and offset as an earlier one.
pub fn duplicates(data: &Dataset) -> Duplicates {
    let mut hashes = vec![0u64; data.len()];
    hashes.par_chunks_mut(HASHED_ROWS).enumerate().for_each(|(i, hashes)| {
        let mut entries = Vec::new();
        for (place, hash) in hashes.iter_mut().enumerate() {
            *hash = row_hash(data, i * HASHED_ROWS + place, &mut entries);
        }
    });
    let (mut rows, ends) = by_bucket(data, &hashes);
    drop(hashes);
    let mut found = Duplicates::default();
    let mut start = 0;
    for end in ends {
        let own = &mut rows[start..end];
        start = end;
        // Stable, so that the first of equal ones is the first position.
        own.sort_by_key(|row| row[0]);
        for equal in own.chunk_by(|a, b| a[0] == b[0]) {
            found.distinct += 1;
            for later in &equal[1..] {
                found.repeated += 1;
                found.other_result += u64::from(result_of(&equal[0]) != result_of(later));
                found.same_game += u64::from(data.has_games() && equal[0][1] as u32 == later[1] as u32);
            }
        }
    }
    found
}

fn result_of(row: &HashedRow) -> f32 {
    f32::from_bits((row[1] >> 32) as u32)
}

/// The rows by bucket, in the order of positions within each, and the end of each bucket.
fn by_bucket(data: &Dataset, hashes: &[u64]) -> (Vec<HashedRow>, Vec<usize>) {
    let count = data.len().div_ceil(BUCKET_ROWS).next_power_of_two().min(MAX_BUCKETS);
    let bucket_of = |hash: u64| ((u128::from(hash) * count as u128) >> 64) as usize;
    let mut ends = vec![0; count];
    hashes.iter().for_each(|&hash| ends[bucket_of(hash)] += 1);
    let mut next = 0;
    let mut buckets = Vec::with_capacity(count);
    for end in &mut ends {
        buckets.push(Bucket { waiting: Vec::new(), next });
        next += *end;
        *end = next;
    }
    let waiting_rows = (WAITING_ROWS / count).min(MAX_WAITING_ROWS);
    let mut rows = vec![[0; 2]; data.len()];
    for (n, &hash) in hashes.iter().enumerate() {
        let bucket = &mut buckets[bucket_of(hash)];
        let result = u64::from(data.results()[n].to_bits());
        bucket.waiting.push([hash, result << 32 | u64::from(data.game(n))]);
        if bucket.waiting.len() == waiting_rows {
            bucket.deliver(&mut rows);
        }
    }
    buckets.iter_mut().for_each(|bucket| bucket.deliver(&mut rows));
    (rows, ends)
}

fn row_hash(data: &Dataset, n: usize, entries: &mut Vec<(u16, f32)>) -> u64 {
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
    hash.digest()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use gputexel_dataset::{DatasetWriter, Metadata, PositionLabels};
    use gputexel_model::{FeatureKind, FeatureRow, FeatureSet};

    use super::*;

    #[test]
    fn duplicates_are_those_of_a_table() {
        // More rows than two buckets have, of few kinds.
        let count = 2 * BUCKET_ROWS + 1234;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.bin");
        let set = FeatureSet::new(FeatureKind::Pst, gputexel_chess::PhaseSettings::default());
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), false).unwrap();
        let mut expected = Duplicates::default();
        let mut first: HashMap<u64, (f32, u32)> = HashMap::new();
        let mut random = 1u64;
        for n in 0..count {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let kind = (random >> 40) % 300_000;
            let (result, game) = (((random >> 33) % 3) as f32 / 2.0, (n / 7) as u32);
            let ids = [kind % 384, kind / 384 % 384, 383 - kind / (384 * 384)].map(|id| id as u16);
            let mut plus = ids.to_vec();
            // The same position, however its entries are ordered.
            if n % 2 == 0 {
                plus.reverse();
            }
            let row = FeatureRow { plus, phase: 3, ..FeatureRow::default() };
            let labels = PositionLabels { result, score_cp: None, weight: 1.0, game: Some(game) };
            writer.push(&row, labels).unwrap();
            let mut sorted = ids;
            sorted.sort_unstable();
            let key = sorted.iter().fold(0, |key, id| key << 16 | u64::from(*id));
            match first.get(&key) {
                None => {
                    expected.distinct += 1;
                    first.insert(key, (result, game));
                }
                Some(earlier) => {
                    expected.repeated += 1;
                    expected.other_result += u64::from(earlier.0 != result);
                    expected.same_game += u64::from(earlier.1 == game);
                }
            }
        }
        writer.finish(Vec::new(), []).unwrap();
        let found = duplicates(&gputexel_dataset::read(&path).unwrap());
        assert_eq!(found, expected);
        assert!(found.distinct > 100_000 && found.other_result > 100_000 && found.same_game > 0, "{found:?}");
    }
}
