//! Index of the positions of each feature, by blocks of positions.

use std::ops::Range;

use gputexel_dataset::{Layout, Shape};
use rayon::prelude::*;

/// Bits for the index of a position in its block; the others of an entry are for its coefficient.
const PLACE_BITS: u32 = 20;
/// Number of positions in a block: data accessed for a block stay within some 100 MB.
pub(super) const LENGTH: usize = 1 << PLACE_BITS;

pub(super) struct Index {
    pub blocks: Vec<Block>,
}

pub(super) struct Block {
    first: usize,
    length: usize,
    starts: Vec<usize>,
    /// Ascending by position: the index in the block, and above it the coefficient, if it is a small whole
    /// number.
    entries: Vec<u32>,
    /// Parallel to `entries`; empty if all are small whole numbers.
    coefficients: Vec<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub position: usize,
    pub coefficient: f32,
}

impl Index {
    pub fn new(layout: &Layout, positions: &Range<usize>) -> Self {
        let starts: Vec<usize> = positions.clone().step_by(LENGTH).collect();
        let block = |start: usize| {
            let range = start..(start + LENGTH).min(positions.end);
            Block::new(layout, range, start - positions.start)
        };
        Self { blocks: starts.into_par_iter().with_max_len(1).map(block).collect() }
    }

    pub fn feature(&self, feature: usize) -> impl Iterator<Item = Entry> {
        self.blocks.iter().flat_map(move |block| block.feature(feature))
    }
}

impl Block {
    fn new(layout: &Layout, range: Range<usize>, first: usize) -> Self {
        let mut starts = vec![0usize; layout.features() + 1];
        let mut small = true;
        for shape in layout.shapes_in(range.clone()) {
            for i in 0..shape.positions.len() {
                entries(layout, &shape, i, |id, coefficient| {
                    starts[id + 1] += 1;
                    small &= packed(coefficient).is_some();
                });
            }
        }
        for id in 0..layout.features() {
            starts[id + 1] += starts[id];
        }
        let mut next = starts.clone();
        let total = starts[layout.features()];
        let (mut list, mut coefficients) = (vec![0u32; total], vec![0f32; if small { 0 } else { total }]);
        for shape in layout.shapes_in(range.clone()) {
            for (i, position) in shape.positions.clone().enumerate() {
                let place = (position - range.start) as u32;
                entries(layout, &shape, i, |id, coefficient| {
                    let slot = next[id];
                    list[slot] = place | packed(coefficient).unwrap_or(0);
                    if !small {
                        coefficients[slot] = coefficient;
                    }
                    next[id] += 1;
                });
            }
        }
        Self { first, length: range.len(), starts, entries: list, coefficients }
    }

    pub fn positions(&self) -> Range<usize> {
        self.first..self.first + self.length
    }

    #[inline]
    pub fn feature(&self, feature: usize) -> impl Iterator<Item = Entry> {
        let range = self.starts[feature]..self.starts[feature + 1];
        let coefficients = self.coefficients.get(range.clone()).unwrap_or_default();
        self.entries[range].iter().enumerate().map(move |(i, &entry)| Entry {
            position: self.first + (entry & (LENGTH as u32 - 1)) as usize,
            coefficient: match coefficients.get(i) {
                Some(&coefficient) => coefficient,
                None => ((entry as i32) >> PLACE_BITS) as f32,
            },
        })
    }
}

#[inline]
fn packed(coefficient: f32) -> Option<u32> {
    const MOST: f32 = (1 << (31 - PLACE_BITS)) as f32;
    let small = coefficient.fract() == 0.0 && (-MOST..MOST).contains(&coefficient);
    small.then_some(((coefficient as i32) << PLACE_BITS) as u32)
}

pub(super) fn entries(layout: &Layout, shape: &Shape, i: usize, mut visit: impl FnMut(usize, f32)) {
    let first = shape.first_entry + i * shape.row_length();
    let range = first..first + shape.row_length();
    let ids = &layout.ids()[range.clone()];
    if !layout.unit_rows() {
        let row = ids.iter().zip(&layout.coefficients()[range]);
        row.for_each(|(&id, &coefficient)| visit(usize::from(id), coefficient));
        return;
    }
    // Ids are ascending for each sign, and no id has both.
    let (plus, minus) = ids.split_at(shape.plus);
    for (sign, ids) in [(1.0, plus), (-1.0, minus)] {
        for same in ids.chunk_by(|a, b| a == b) {
            visit(usize::from(same[0]), sign * same.len() as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_whole_coefficients_fit_beside_the_place() {
        for coefficient in [1.0, -1.0, 2.0, -8.0, 2047.0, -2048.0, 0.0] {
            let entry = packed(coefficient).unwrap() | (LENGTH as u32 - 1);
            assert_eq!(((entry as i32) >> PLACE_BITS) as f32, coefficient);
            assert_eq!(entry & (LENGTH as u32 - 1), LENGTH as u32 - 1);
        }
        for other in [0.5, 2048.0, -2049.0, f32::NAN, f32::INFINITY] {
            assert_eq!(packed(other), None, "{other}");
        }
    }
}
