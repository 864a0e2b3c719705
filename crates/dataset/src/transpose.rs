//! The transposed dataset: for each block of positions and each feature, the positions that have it.

use std::ops::Range;

use rayon::prelude::*;

use super::Layout;

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub bucket: usize,
    /// Its positions, in layout order.
    pub positions: Range<usize>,
    pub runs: Range<usize>,
    pub first_entry: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub feature: u16,
    /// Number of entries with coefficient +1, which come first; all entries of coefficient rows.
    pub plus: u16,
    /// Number of entries with coefficient −1.
    pub minus: u16,
}

#[derive(Clone, Debug)]
pub struct Blocks<R, E, C> {
    /// Blocks in layout order; no block crosses a bucket boundary.
    pub blocks: Vec<Block>,
    pub runs: Vec<R>,
    pub entries: Vec<E>,
    /// Parallel to `entries`; empty when every coefficient is ±1.
    pub coefficients: Vec<C>,
}

/// A layout transposed block by block. Entries are positions, relative to the start of their block.
pub type Transpose = Blocks<Run, u16, f32>;

/// Number of blocks that a thread arranges at a time: a piece.
pub const PIECE: usize = 64;
/// Number of blocks whose pieces are joined together: some 100 MB.
pub const JOINED: usize = 64 * PIECE;

impl<R, E, C> Default for Blocks<R, E, C> {
    fn default() -> Self {
        Self { blocks: Vec::new(), runs: Vec::new(), entries: Vec::new(), coefficients: Vec::new() }
    }
}

impl<R: Send, E: Send, C: Send> Blocks<R, E, C> {
    /// Arranges a layout in blocks of at most `length` positions. `append` adds the runs and entries of some positions;
    /// it has a state that is reused for the blocks of a piece.
    pub fn arrange<S>(
        layout: &Layout,
        length: usize,
        state: impl Fn() -> S + Sync,
        append: impl Fn(&mut S, Range<usize>, &mut Self) + Sync,
    ) -> Self {
        let mut blocks = Vec::new();
        for (bucket, own) in layout.buckets().iter().enumerate() {
            let starts = own.positions.clone().step_by(length);
            blocks.extend(starts.map(|start| (bucket, start..(start + length).min(own.positions.end))));
        }
        let piece = |chunk: &[(usize, Range<usize>)]| {
            let (mut piece, mut state) = (Self::default(), state());
            for (bucket, positions) in chunk {
                let (first_run, first_entry) = (piece.runs.len(), piece.entries.len());
                append(&mut state, positions.clone(), &mut piece);
                let (bucket, positions, runs) = (*bucket, positions.clone(), first_run..piece.runs.len());
                piece.blocks.push(Block { bucket, positions, runs, first_entry });
            }
            piece
        };
        let joined =
            |blocks: &[(usize, Range<usize>)]| -> Vec<Self> { blocks.par_chunks(PIECE).map(piece).collect() };
        let mut all = Self::default();
        for piece in blocks.chunks(JOINED).flat_map(joined) {
            let (runs, entries) = (all.runs.len(), all.entries.len());
            all.blocks.extend(piece.blocks.into_iter().map(|block| Block {
                runs: block.runs.start + runs..block.runs.end + runs,
                first_entry: block.first_entry + entries,
                ..block
            }));
            all.runs.extend(piece.runs);
            all.entries.extend(piece.entries);
            all.coefficients.extend(piece.coefficients);
        }
        all
    }
}

impl Transpose {
    /// Transposes a layout in blocks of at most `block` positions.
    ///
    /// # Panics
    /// If `block` is 0 or above 32,768.
    pub fn new(layout: &Layout, block: usize) -> Self {
        assert!((1..=1 << 15).contains(&block));
        let state = || CountingSort { heads: vec![0; 2 * layout.features()], ..CountingSort::default() };
        Self::arrange(layout, block, state, |sort, positions, out| sort.transpose(layout, positions, out))
    }
}

#[derive(Default)]
struct CountingSort {
    /// Per feature and sign: first the count, then the next free slot.
    heads: Vec<u32>,
    touched: Vec<u16>,
}

impl CountingSort {
    fn transpose(&mut self, layout: &Layout, positions: Range<usize>, out: &mut Transpose) {
        let first = positions.start;
        self.touched.clear();
        let slot = |id: u16, minus: bool| 2 * usize::from(id) + usize::from(minus);
        for shape in layout.shapes_in(positions.clone()) {
            let rows = &layout.ids()[shape.first_entry..][..shape.positions.len() * shape.row_length()];
            for row in rows.chunks_exact(shape.row_length().max(1)) {
                for (i, &id) in row.iter().enumerate() {
                    if self.heads[slot(id, false)] + self.heads[slot(id, true)] == 0 {
                        self.touched.push(id);
                    }
                    self.heads[slot(id, i >= shape.plus)] += 1;
                }
            }
        }
        self.touched.sort_unstable();
        let base = out.entries.len() as u32;
        let mut next = base;
        for &id in &self.touched {
            let (plus, minus) = (self.heads[slot(id, false)], self.heads[slot(id, true)]);
            out.runs.push(Run { feature: id, plus: plus as u16, minus: minus as u16 });
            self.heads[slot(id, false)] = next;
            self.heads[slot(id, true)] = next + plus;
            next += plus + minus;
        }
        out.entries.resize(next as usize, 0);
        if !layout.unit_rows() {
            out.coefficients.resize(next as usize, 0.0);
        }
        for shape in layout.shapes_in(positions) {
            for (i, position) in shape.positions.clone().enumerate() {
                let start = shape.first_entry + i * shape.row_length();
                for entry in 0..shape.row_length() {
                    let head = &mut self.heads[slot(layout.ids()[start + entry], entry >= shape.plus)];
                    out.entries[*head as usize] = (position - first) as u16;
                    if !layout.unit_rows() {
                        out.coefficients[*head as usize] = layout.coefficients()[start + entry];
                    }
                    *head += 1;
                }
            }
        }
        for &id in &self.touched {
            self.heads[slot(id, false)] = 0;
            self.heads[slot(id, true)] = 0;
        }
    }
}
