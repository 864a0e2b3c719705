//! Rows in canonical form: sorted, with features that both sides have canceled, and repeated ones merged.

use super::super::Dataset;

/// Positions per chunk.
pub(super) const CHUNK: usize = 1 << 14;
/// Lists of at most as many ids are sorted by their ranks.
const SHORT: usize = 16;

/// Canonical rows of consecutive positions.
#[derive(Default)]
pub(super) struct CanonicalRows {
    pub ids: Vec<u16>,
    /// Parallel to `ids`; empty for rows without coefficients.
    pub coefficients: Vec<f32>,
    /// Of each row: where it starts, its entries with coefficient +1 (all, if there are coefficients), and with −1.
    pub rows: Vec<(u32, u16, u16)>,
}

impl CanonicalRows {
    /// Those of a chunk of a dataset.
    pub fn of_chunk(dataset: &Dataset, chunk: usize) -> Self {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(dataset.len());
        let (first, end) = (dataset.row_starts[range.start], dataset.row_starts[range.end]);
        let mut out = Self {
            ids: Vec::with_capacity((end - first) as usize),
            coefficients: Vec::new(),
            rows: Vec::with_capacity(range.len()),
        };
        match dataset.unit_rows() {
            true => out.push_unit_rows(dataset, range),
            false => out.push_rows(dataset, range),
        }
        out
    }

    fn push_unit_rows(&mut self, dataset: &Dataset, range: std::ops::Range<usize>) {
        let (mut plus, mut minus, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for n in range {
            let (white, black) = dataset.row(n).ids_by_sign();
            sort_into(white, &mut plus);
            sort_into(black, &mut minus);
            let start = self.ids.len();
            kept.resize(minus.len(), 0);
            self.ids.resize(start + plus.len(), 0);
            let (of_plus, of_minus) = differences(&plus, &minus, &mut self.ids[start..], &mut kept);
            self.ids.truncate(start + of_plus);
            self.ids.extend_from_slice(&kept[..of_minus]);
            self.rows.push((start as u32, of_plus as u16, of_minus as u16));
        }
    }

    fn push_rows(&mut self, dataset: &Dataset, range: std::ops::Range<usize>) {
        let mut entries: Vec<(u16, f32)> = Vec::new();
        for n in range {
            entries.clear();
            entries.extend(dataset.row(n).entries());
            entries.sort_unstable_by_key(|&(id, _)| id);
            let start = self.ids.len();
            for merged in entries.chunk_by(|a, b| a.0 == b.0) {
                let coefficient: f32 = merged.iter().map(|&(_, c)| c).sum();
                if coefficient != 0.0 {
                    self.ids.push(merged[0].0);
                    self.coefficients.push(coefficient);
                }
            }
            self.rows.push((start as u32, (self.ids.len() - start) as u16, 0));
        }
    }
}

/// Replaces `out` by the sorted list.
#[inline(always)]
fn sort_into(list: &[u16], out: &mut Vec<u16>) {
    out.clear();
    if list.len() > SHORT || list.is_sorted() {
        out.extend_from_slice(list);
        out.sort_unstable();
        return;
    }
    // The place of each id is the number of smaller ones: comparisons of all with all, without branches. Equal ids
    // are told apart by their place in the list, and what fills it up is larger than all.
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

/// Writes the multiset differences a − b and b − a of two sorted lists, and returns their lengths. There must be
/// room for all of `a` and all of `b`.
#[inline(always)]
fn differences(a: &[u16], b: &[u16], of_a: &mut [u16], of_b: &mut [u16]) -> (usize, usize) {
    let (mut i, mut j, mut kept_a, mut kept_b) = (0, 0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        // Both are written, and kept or overwritten: which one it is cannot be predicted.
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
