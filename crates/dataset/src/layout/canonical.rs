//! Rows in canonical form: sorted, with features that both sides have canceled, and repeated ones merged.

use rayon::prelude::*;

use super::super::Dataset;

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
            sort_into(white, &mut plus);
            sort_into(black, &mut minus);
            let ids;
            (ids, free) = free.split_at_mut(plus.len() + minus.len());
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

#[inline(always)]
fn sort_into(list: &[u16], out: &mut Vec<u16>) {
    out.clear();
    if list.len() > SHORT || list.is_sorted() {
        out.extend_from_slice(list);
        out.sort_unstable();
        return;
    }
    // The place of each id is the number of smaller ones: comparisons of all with all, without branches.
    // Equal ids are distinguished by their place in the list, and the padding is larger than all.
    let mut keys = [i32::MAX; SHORT];
    for (place, (key, &id)) in keys.iter_mut().zip(list).enumerate() {
        *key = i32::from(id) << 4 | place as i32;
    }
    let mut ranks = [0u32; SHORT];
    for key in keys {
        for (rank, other) in ranks.iter_mut().zip(keys) {
            *rank += u32::from(key < other);
        }
    }
    let mut sorted = [0; SHORT];
    for (&id, rank) in list.iter().zip(ranks) {
        sorted[rank as usize % SHORT] = id;
    }
    out.extend_from_slice(&sorted[..list.len()]);
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
    fn lists_of_any_length_are_sorted() {
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for length in (0..=20).cycle().take(2000) {
            let below = if next(2) == 0 { 4 } else { 1 << 16 };
            let list: Vec<u16> = (0..length).map(|_| next(below) as u16).collect();
            let (mut sorted, mut wanted) = (Vec::new(), list.clone());
            sort_into(&list, &mut sorted);
            wanted.sort_unstable();
            assert_eq!(sorted, wanted, "{list:?}");
        }
    }
}
