//! Builds the layout of a dataset.

use rayon::prelude::*;

use super::super::Dataset;
use super::canonical::{BLOCK, CHUNK, CanonicalRows};
use super::sections::{SectionPlan, Sections};
use super::{Bucket, Layout, Part, Shape};
use gputexel_io::{Error, Result};

const FILLED: usize = 1 << 13;

type Key = (u32, u32, u16, u16);

impl Layout {
    /// Sorts a dataset whose position n belongs to part `part_of(n)`, of `parts` parts.
    ///
    /// # Errors
    /// [`Error::Usage`] when a part would be empty, `part_of` returns an invalid part, or an id of the
    /// dataset is not below its number of features.
    pub fn try_new(dataset: &Dataset, parts: usize, part_of: impl Fn(usize) -> usize + Sync) -> Result<Self> {
        let positions = dataset.len();
        let too_few = || {
            let text =
                format!("{positions} positions are too few for {parts} batches or held-out sets of them");
            Err(Error::Usage(text))
        };
        if parts > positions {
            return too_few();
        }
        let rows = CanonicalRows::new(dataset);

        // The smallest units that represent all factors, so that sums of whole parameters stay exact as long
        // as possible.
        let scale_one = dataset.endgame_scale_one();
        let divisor = dataset.scales.iter().fold(scale_one, |divisor, &scale| gcd(divisor, scale));
        let reduced = |scale: u16| scale / divisor;
        let phase_max = dataset.phase_max().checked_mul(reduced(scale_one)).ok_or_else(|| {
            Error::Usage("phase and endgame scale have too many units together".to_string())
        })?;

        let plan = SectionPlan::new(positions, dataset.sections());
        let stretches = plan.stretches();
        let none = || Err(Error::Usage(format!("a position belongs to none of the {parts} parts")));
        if (parts + 1) * stretches > u32::MAX as usize {
            return Err(Error::Usage(format!("{parts} batches or held-out sets are too many")));
        }
        let mut keys: Vec<Key> = Vec::with_capacity(positions);
        for stretch in 0..stretches {
            let key = |n: usize| {
                let (plus, minus) = rows.lengths(n);
                let scale = dataset.scales.get(n).copied().unwrap_or(scale_one);
                let taper = u32::from(dataset.phases[n]) << 16 | u32::from(scale);
                let part = part_of(n).min(parts);
                ((part * stretches + stretch) as u32, taper, plus, minus)
            };
            keys.par_extend(plan.stretch(stretch).into_par_iter().with_min_len(CHUNK).map(key));
        }

        let (features, columns) = (dataset.feature_count(), dataset.column_count());
        let (order, runs) = sorted(&keys);
        drop(keys);
        if runs.last().is_some_and(|((part, ..), _)| *part as usize / stretches >= parts) {
            return none();
        }
        let mut layout =
            Self { rows: order, ..Self::empty(features, columns, dataset.program().cloned(), phase_max) };
        let (mut index, mut entries, mut last) = (0, 0, None);
        for ((number, taper, plus, minus), count) in runs {
            let part = number as usize / stretches;
            while layout.parts.len() <= part {
                let bucket = layout.buckets.len();
                layout.parts.push(Part { positions: index..index, buckets: bucket..bucket, weight: 0.0 });
            }
            if last.replace((number, taper)) != Some((number, taper)) {
                let shapes = layout.shapes.len();
                let phase = (taper >> 16) as u16;
                layout.buckets.push(Bucket {
                    part,
                    mg_units: phase * reduced(scale_one),
                    eg_units: (dataset.phase_max() - phase) * reduced(taper as u16),
                    positions: index..index,
                    shapes: shapes..shapes,
                });
            }
            let end = index + count;
            let (plus, minus) = (usize::from(plus), usize::from(minus));
            layout.shapes.push(Shape { positions: index..end, plus, minus, first_entry: entries });
            let bucket = layout.buckets.last_mut().expect("pushed above");
            (bucket.positions.end, bucket.shapes.end) = (end, layout.shapes.len());
            let part = &mut layout.parts[part];
            (part.positions.end, part.buckets.end) = (end, layout.buckets.len());
            let weight = |&n: &u32| dataset.weights.get(n as usize).map_or(1.0, |&weight| f64::from(weight));
            part.weight += layout.rows[index..end].iter().map(weight).sum::<f64>();
            entries += count * (plus + minus);
            index = end;
        }
        layout.fill(&rows, entries);
        drop(rows);
        let gather = |column: &[f32]| -> Vec<f32> {
            if column.is_empty() {
                return Vec::new();
            }
            let mut values = vec![0.0; layout.rows.len()];
            layout.rows.par_chunks(CHUNK).zip(values.par_chunks_mut(CHUNK)).for_each(|(rows, values)| {
                rows.iter().zip(values).for_each(|(&n, value)| *value = column[n as usize]);
            });
            values
        };
        layout.targets = gather(&dataset.results);
        (layout.weights, layout.offsets) = (gather(&dataset.weights), gather(&dataset.offsets));
        if dataset.has_games() {
            layout.games = layout.rows.iter().map(|&n| dataset.game(n as usize)).collect();
        }
        if layout.parts.len() < parts || layout.parts.iter().any(|part| part.positions.is_empty()) {
            return too_few();
        }
        layout.sections = Sections::new(&plan, &layout.parts, &layout.rows);
        layout.check()
    }

    fn fill(&mut self, canonical: &CanonicalRows<'_>, entries: usize) {
        let mut ids = vec![0; entries];
        let mut coefficients = vec![0.0; if canonical.has_coefficients() { entries } else { 0 }];
        let (mut free_ids, mut free_coefficients) = (&mut ids[..], &mut coefficients[..]);
        let mut pieces = Vec::with_capacity(self.rows.len().div_ceil(FILLED));
        for rows in self.rows.chunks(FILLED) {
            let lengths = rows.iter().map(|&n| canonical.lengths(n as usize));
            let length = lengths.map(|(plus, minus)| usize::from(plus) + usize::from(minus)).sum();
            let (of_ids, of_coefficients);
            (of_ids, free_ids) = free_ids.split_at_mut(length);
            (of_coefficients, free_coefficients) =
                free_coefficients.split_at_mut(length.min(free_coefficients.len()));
            pieces.push((rows, of_ids, of_coefficients));
        }
        pieces.into_par_iter().for_each(|(rows, ids, coefficients)| {
            let mut at = 0;
            for &n in rows {
                let (of_row, scales) = canonical.row(n as usize);
                match (canonical.block(n as usize), ids[at..].first_chunk_mut()) {
                    // What is copied beyond the row is overwritten by the next.
                    (Some(block), Some(into)) if of_row.len() <= BLOCK => *into = *block,
                    _ => ids[at..][..of_row.len()].copy_from_slice(of_row),
                }
                if !scales.is_empty() {
                    coefficients[at..][..of_row.len()].copy_from_slice(scales);
                }
                at += of_row.len();
            }
        });
        (self.ids, self.coefficients) = (ids, coefficients);
    }
}

const COLLECTED: usize = 1 << 16;
const CHECKED: usize = 1 << 18;

/// Returns the positions sorted by their keys, and by number if these are equal, and how often each key occurs.
fn sorted(keys: &[Key]) -> (Vec<u32>, Vec<(Key, usize)>) {
    let (mut most_plus, mut most_minus) = (0, 0);
    let mut last = None;
    let mut outer: Vec<(u32, u32)> = Vec::new();
    let mut full = COLLECTED;
    for keys in keys.chunks(CHECKED) {
        for &(part, taper, plus, minus) in keys {
            (most_plus, most_minus) = (most_plus.max(plus), most_minus.max(minus));
            // Neighbors often have the same phase.
            if last.replace((part, taper)) != Some((part, taper)) {
                outer.push((part, taper));
            }
        }
        if outer.len() > full {
            outer.sort_unstable();
            outer.dedup();
            full = COLLECTED.max(2 * outer.len());
        }
    }
    outer.sort_unstable();
    outer.dedup();
    let (plus, minus) = (usize::from(most_plus) + 1, usize::from(most_minus) + 1);
    let slots = outer.len() * plus * minus;
    if slots > keys.len().max(1 << 16) {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.par_sort_unstable_by_key(|&n| (keys[n as usize], n));
        let runs = order.chunk_by(|&a, &b| keys[a as usize] == keys[b as usize]);
        let runs = runs.map(|run| (keys[run[0] as usize], run.len())).collect();
        return (order, runs);
    }
    // Counting sort: few keys occur.
    let mut known = ((0, 0), usize::MAX);
    let mut slot = |&(part, taper, of_plus, of_minus): &Key| {
        if known.1 == usize::MAX || known.0 != (part, taper) {
            let place = outer.binary_search(&(part, taper)).expect("collected above");
            known = ((part, taper), place);
        }
        (known.1 * plus + usize::from(of_plus)) * minus + usize::from(of_minus)
    };
    let mut next = vec![0u32; slots];
    keys.iter().for_each(|key| next[slot(key)] += 1);
    let (mut start, mut runs) = (0, Vec::new());
    for (slot, next) in next.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
        let (part, taper) = outer[slot / (plus * minus)];
        runs.push(((part, taper, (slot / minus % plus) as u16, (slot % minus) as u16), *next as usize));
        (*next, start) = (start, start + *next);
    }
    let mut order = vec![0; keys.len()];
    for (n, key) in keys.iter().enumerate() {
        let next = &mut next[slot(key)];
        order[*next as usize] = n as u32;
        *next += 1;
    }
    (order, runs)
}

fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_sorting_agree() {
        let of = |n: u32, spread: u16| {
            let hash = n.wrapping_mul(2_654_435_761);
            (hash >> 30, hash >> 12 & 7, (hash >> 4) as u16 % spread, (hash >> 20) as u16 % spread)
        };
        for spread in [3, 900] {
            let keys: Vec<Key> = (0..5000).map(|n| of(n, spread)).collect();
            let mut wanted: Vec<u32> = (0..5000).collect();
            wanted.sort_by_key(|&n| keys[n as usize]);
            let (order, runs) = sorted(&keys);
            assert_eq!(order, wanted, "{spread}");
            let each = runs.into_iter().flat_map(|(key, count)| std::iter::repeat_n(key, count));
            assert!(each.eq(wanted.iter().map(|&n| keys[n as usize])), "{spread}");
        }
    }
}
