use std::ops::Range;

use gputexel_dataset::{Block, Blocks, Layout};

pub(super) const GROUP: usize = 4;
/// Maximum number of positions in a block: slopes of a block and the rows they are added to fit the first-level cache,
/// measured.
pub(super) const BLOCK: usize = 384;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub groups: u32,
    pub plus: u16,
    pub minus: u16,
}

#[derive(Debug)]
pub(in crate::cpu) struct Groups {
    /// Entries are four offsets of table rows in units of eight bytes, the first in the lowest bits.
    all: Blocks<Run, u64, [f32; GROUP]>,
    /// Length of a table row in units of eight bytes.
    pub(super) unit: usize,
}

impl Groups {
    /// Creates the groups of a layout for table rows of `row_bytes` bytes; `None` if their offsets would not fit.
    pub fn try_new(layout: &Layout, row_bytes: usize) -> Option<Self> {
        let unit = row_bytes / 8;
        if layout.features() * unit > usize::from(u16::MAX) {
            return None;
        }
        let append = |(): &mut (), positions: Range<usize>, all: &mut Blocks<_, _, _>| {
            push(layout, unit, positions, all);
        };
        Some(Self { all: Blocks::arrange(layout, BLOCK, || (), append), unit })
    }

    pub fn blocks_of(&self, positions: Range<usize>) -> Range<usize> {
        let at = |position: usize| self.all.blocks.partition_point(|block| block.positions.start < position);
        at(positions.start)..at(positions.end)
    }

    pub(super) fn blocks(&self) -> &[Block] {
        &self.all.blocks
    }

    pub(super) fn blocks_in(&self, numbers: Range<usize>) -> impl Iterator<Item = (usize, &Block)> {
        numbers.map(|number| (number, &self.all.blocks[number]))
    }

    pub(super) fn runs(&self, block: &Block) -> impl Iterator<Item = (Run, &[u64], &[[f32; GROUP]])> {
        let mut entries = &self.all.entries[block.first_entry..];
        let mut coefficients = self.all.coefficients.get(block.first_entry..).unwrap_or_default();
        self.all.runs[block.runs.clone()].iter().map(move |&run| {
            let length = usize::from(run.plus) + usize::from(run.minus);
            let (own, rest) = entries.split_at(run.groups as usize * length);
            entries = rest;
            let (scales, rest) = coefficients.split_at(own.len().min(coefficients.len()));
            coefficients = rest;
            (run, own, scales)
        })
    }
}

fn push(layout: &Layout, unit: usize, positions: Range<usize>, all: &mut Blocks<Run, u64, [f32; GROUP]>) {
    let first_run = all.runs.len();
    let zero = layout.features() as u16;
    let mut rows: Vec<(&[u16], &[u16])> = Vec::with_capacity(BLOCK);
    let mut coefficients: Vec<&[f32]> = Vec::new();
    for shape in layout.shapes_in(positions) {
        for i in 0..shape.positions.len() {
            let start = shape.first_entry + i * shape.row_length();
            rows.push(layout.ids()[start..start + shape.row_length()].split_at(shape.plus));
            coefficients.extend(layout.coefficients().get(start..start + shape.row_length()));
        }
    }
    // Rows with coefficients only have entries that are added.
    for group in coefficients.chunks(GROUP) {
        let length = group.iter().map(|own| own.len()).max().unwrap_or(0);
        let of = |row: usize, entry: usize| group.get(row).and_then(|own| own.get(entry)).copied();
        let quads = (0..length).map(|entry| std::array::from_fn(|row| of(row, entry).unwrap_or(0.0)));
        all.coefficients.extend(quads);
    }
    for group in rows.chunks(GROUP) {
        let plus = group.iter().map(|(plus, _)| plus.len()).max().unwrap_or(0);
        let minus = group.iter().map(|(_, minus)| minus.len()).max().unwrap_or(0);
        let offset = |row: Option<&u16>| u64::from(*row.unwrap_or(&zero)) * unit as u64;
        let of = |rows: [Option<&u16>; GROUP]| (0..GROUP).fold(0, |sum, i| sum | offset(rows[i]) << (16 * i));
        let row = |i: usize| group.get(i).copied().unwrap_or_default();
        let rows: [(&[u16], &[u16]); GROUP] = std::array::from_fn(row);
        all.entries.extend((0..plus).map(|e| of(rows.map(|(plus, _)| plus.get(e)))));
        all.entries.extend((0..minus).map(|e| of(rows.map(|(_, minus)| minus.get(e)))));
        let run = Run { groups: 1, plus: plus as u16, minus: minus as u16 };
        match all.runs[first_run..].last_mut() {
            Some(last) if (last.plus, last.minus) == (run.plus, run.minus) => last.groups += 1,
            _ => all.runs.push(run),
        }
    }
}
