//! Rows in canonical form: sorted, with features that both sides have canceled, and repeated ones merged.

use rayon::prelude::*;

use super::super::Dataset;
use gputexel_model::MAX_FEATURES;

pub(super) const CHUNK: usize = 1 << 14;
const SHORT: usize = 16;
/// Number of ids that are copied at once: as many as most rows have.
pub(super) const BLOCK: usize = 16;

/// Canonical rows of a dataset. Each begins where the dataset's own does; the unused rest of that length is
/// left empty.
pub(super) struct CanonicalRows<'a> {
    dataset: &'a Dataset,
    ids: Vec<u16>,
    /// Parallel to `ids`; empty for rows without coefficients.
    coefficients: Vec<f32>,
    /// For each row, the number of entries with coefficient +1 (all, if there are coefficients), and with −1.
    lengths: Vec<(u16, u16)>,
}

struct Chunk<'a> {
    first: usize,
    ids: &'a mut [u16],
    coefficients: &'a mut [f32],
    lengths: &'a mut [(u16, u16)],
}

impl<'a> CanonicalRows<'a> {
    pub fn new(dataset: &'a Dataset) -> Self {
        let entries = dataset.ids.len();
        let has_coefficients = !dataset.unit_rows();
        let mut ids = vec![0; entries];
        let mut coefficients = vec![0.0; if has_coefficients { entries } else { 0 }];
        let mut lengths = vec![(0, 0); dataset.len()];
        let (mut free_ids, mut free_coefficients) = (&mut ids[..], &mut coefficients[..]);
        let mut chunks = Vec::with_capacity(dataset.len().div_ceil(CHUNK));
        for (index, lengths) in lengths.chunks_mut(CHUNK).enumerate() {
            let first = index * CHUNK;
            let length = dataset.row_starts[first + lengths.len()] - dataset.row_starts[first];
            let (ids, coefficients);
            (ids, free_ids) = free_ids.split_at_mut(length as usize);
            (coefficients, free_coefficients) =
                free_coefficients.split_at_mut(if has_coefficients { length as usize } else { 0 });
            chunks.push(Chunk { first, ids, coefficients, lengths });
        }
        chunks.into_par_iter().for_each(|chunk| match has_coefficients {
            true => chunk.write_rows(dataset),
            false => chunk.write_unit_rows(dataset),
        });
        Self { dataset, ids, coefficients, lengths }
    }

    pub fn has_coefficients(&self) -> bool {
        !self.dataset.unit_rows()
    }

    /// Returns the number of entries of a row with coefficient +1 (all, if there are coefficients), and with
    /// −1.
    pub fn lengths(&self, n: usize) -> (u16, u16) {
        self.lengths[n]
    }

    /// Returns the first ids of a row and, if it is shorter, what follows it; `None` at the end of all rows.
    pub fn block(&self, n: usize) -> Option<&[u16; BLOCK]> {
        self.ids[self.dataset.row_starts[n] as usize..].first_chunk()
    }

    /// Returns the ids of a row, those with coefficient +1 first, and its coefficients, if rows have any.
    pub fn row(&self, n: usize) -> (&[u16], &[f32]) {
        let (plus, minus) = self.lengths[n];
        let start = self.dataset.row_starts[n] as usize;
        let range = start..start + usize::from(plus) + usize::from(minus);
        (&self.ids[range.clone()], self.coefficients.get(range).unwrap_or_default())
    }
}

impl Chunk<'_> {
    fn write_unit_rows(self, dataset: &Dataset) {
        let (mut plus, mut minus, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let mut free = self.ids;
        for (i, lengths) in self.lengths.iter_mut().enumerate() {
            let (white, black) = dataset.row(self.first + i).ids_by_sign();
            let ids;
            (ids, free) = free.split_at_mut(white.len() + black.len());
            if let Some([of_plus, of_minus]) = short_differences(white, black, ids) {
                *lengths = (of_plus as u16, of_minus as u16);
                continue;
            }
            for (list, sorted) in [(white, &mut plus), (black, &mut minus)] {
                sorted.clear();
                sorted.extend_from_slice(list);
                sorted.sort_unstable();
            }
            kept.resize(minus.len(), 0);
            let (of_plus, of_minus) = differences(&plus, &minus, ids, &mut kept);
            ids[of_plus..][..of_minus].copy_from_slice(&kept[..of_minus]);
            *lengths = (of_plus as u16, of_minus as u16);
        }
    }

    fn write_rows(self, dataset: &Dataset) {
        let mut entries: Vec<(u16, f32)> = Vec::new();
        let mut start = 0;
        for (i, lengths) in self.lengths.iter_mut().enumerate() {
            entries.clear();
            entries.extend(dataset.row(self.first + i).entries());
            entries.sort_unstable_by_key(|&(id, _)| id);
            let mut at = start;
            for merged in entries.chunk_by(|a, b| a.0 == b.0) {
                let coefficient: f32 = merged.iter().map(|&(_, c)| c).sum();
                if coefficient != 0.0 {
                    (self.ids[at], self.coefficients[at]) = (merged[0].0, coefficient);
                    at += 1;
                }
            }
            *lengths = ((at - start) as u16, 0);
            start += entries.len();
        }
    }
}

/// Writes a − b and b − a of two short lists without repetitions, sorted, one after the other, and returns their
/// lengths; `None` for other lists. All are compared with all, without branches.
#[inline(always)]
fn short_differences(a: &[u16], b: &[u16], out: &mut [u16]) -> Option<[usize; 2]> {
    if a.len().max(b.len()) > SHORT {
        return None;
    }
    // Two paddings above all ids, which do not cancel.
    const { assert!(MAX_FEATURES < u16::MAX as usize) };
    let (mut x, mut y) = ([u16::MAX - 1; SHORT], [u16::MAX; SHORT]);
    x[..a.len()].copy_from_slice(a);
    y[..b.len()].copy_from_slice(b);
    let mut at = 0;
    let mut is_unique = true;
    let lengths = [(a, &x, &y), (b, &y, &x)].map(|(list, own, others)| {
        let mut canceled = [0; SHORT];
        for other in others {
            canceled.iter_mut().zip(own).for_each(|(count, id)| *count += u16::from(id == other));
        }
        is_unique &= canceled.iter().fold(0, |most, &count| most.max(count)) <= 1;
        if !is_unique {
            return 0;
        }
        let kept: [u16; SHORT] = std::array::from_fn(|i| own[i] | 0u16.wrapping_sub(canceled[i]));
        let length = list.len() - canceled.iter().sum::<u16>() as usize;
        let (mut ranks, mut sorted, mut taken) = ([0u16; SHORT], [0; SHORT], 0u32);
        for other in kept {
            ranks.iter_mut().zip(&kept).for_each(|(rank, &id)| *rank += u16::from(other < id));
        }
        for (id, rank) in kept.into_iter().zip(ranks) {
            sorted[usize::from(rank) % SHORT] = id;
            taken |= 1 << (rank % SHORT as u16);
        }
        is_unique &= (taken | u32::MAX << length) == u32::MAX;
        if is_unique {
            out[at..][..length].copy_from_slice(&sorted[..length]);
            at += length;
        }
        length
    });
    is_unique.then_some(lengths)
}

/// Writes the multiset differences a − b and b − a of two sorted lists, and returns their lengths.
#[inline(always)]
fn differences(a: &[u16], b: &[u16], of_a: &mut [u16], of_b: &mut [u16]) -> (usize, usize) {
    let (mut i, mut j, mut kept_a, mut kept_b) = (0, 0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        // Both are written, and kept or overwritten: the choice cannot be predicted.
        of_a[kept_a] = x;
        of_b[kept_b] = y;
        kept_a += usize::from(x < y);
        kept_b += usize::from(y < x);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    let (rest_a, rest_b) = (&a[i..], &b[j..]);
    of_a[kept_a..][..rest_a.len()].copy_from_slice(rest_a);
    of_b[kept_b..][..rest_b.len()].copy_from_slice(rest_b);
    (kept_a + rest_a.len(), kept_b + rest_b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_keep_multiplicities() {
        let (a, b) = ([1, 2, 2, 2, 5, 9], [0, 2, 5, 5, 7]);
        let (mut of_a, mut of_b) = ([0; 6], [0; 5]);
        let kept = differences(&a, &b, &mut of_a, &mut of_b);
        assert_eq!(kept, (4, 3));
        assert_eq!((&of_a[..4], &of_b[..3]), (&[1, 2, 2, 9][..], &[0, 5, 7][..]));
        assert_eq!(differences(&a, &a, &mut of_a, &mut [0; 6]), (0, 0));
    }

    #[test]
    fn short_lists_differ_like_long_ones() {
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut short = 0;
        for length in (0..=18).cycle().take(20_000) {
            let below = [4, 40, MAX_FEATURES as u32][next(3) as usize];
            let [a, b] = [length, next(19)].map(|length| (0..length).map(|_| next(below) as u16).collect());
            let (mut x, mut y): (Vec<u16>, Vec<u16>) = (a, b);
            let mut out = vec![0; x.len() + y.len()];
            let lengths = short_differences(&x, &y, &mut out);
            x.sort_unstable();
            y.sort_unstable();
            let repeats = [&x, &y].iter().any(|list| list.windows(2).any(|pair| pair[0] == pair[1]));
            assert_eq!(lengths.is_some(), !repeats && x.len().max(y.len()) <= SHORT, "{x:?} {y:?}");
            let Some([of_x, of_y]) = lengths else { continue };
            let (mut more, mut less) = (vec![0; x.len()], vec![0; y.len()]);
            assert_eq!(differences(&x, &y, &mut more, &mut less), (of_x, of_y));
            assert_eq!(out[..of_x + of_y], [&more[..of_x], &less[..of_y]].concat());
            short += 1;
        }
        assert!(short > 5000);
    }
}
