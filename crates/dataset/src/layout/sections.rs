//! Sections: fixed runs of consecutive positions of a dataset, whose sums are computed separately and then
//! added in a fixed order.

use std::ops::Range;

use super::{Bucket, Layout, Part, Shape};
use gputexel_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// Number of positions that are sorted together. Passes over a larger layout, and its construction, work in
/// one region of memory at a time.
const STRETCH: usize = 1 << 20;
/// Number of sections up to which each is one stretch: with more, the sums of a call take longer to exchange
/// than to compute.
const ENOUGH: usize = 64;
pub const MOST_SECTIONS: usize = 4096;

pub(super) struct SectionPlan {
    positions: usize,
    size: usize,
}

impl SectionPlan {
    /// Creates the division into `wanted` sections, or by the number of positions.
    pub fn new(positions: usize, wanted: Option<usize>) -> Self {
        let size = match wanted {
            Some(count) => positions.div_ceil(count.max(1)),
            None => STRETCH * positions.div_ceil(STRETCH).div_ceil(ENOUGH),
        };
        Self { positions, size: size.max(1) }
    }

    fn sections(&self) -> usize {
        self.positions.div_ceil(self.size).max(1)
    }

    fn stretches_of_section(&self) -> usize {
        self.size.div_ceil(STRETCH)
    }

    pub fn stretches(&self) -> usize {
        self.sections() * self.stretches_of_section()
    }

    pub fn stretch(&self, stretch: usize) -> Range<usize> {
        let of = self.stretches_of_section();
        let end = ((stretch / of + 1) * self.size).min(self.positions);
        let start = (stretch / of * self.size + stretch % of * STRETCH).min(end);
        start..(start + STRETCH).min(end)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sections {
    pub(super) present: Range<usize>,
    pub(super) all: usize,
    /// Start of each section in each part, part by part, and the end of the last one.
    pub(super) starts: Vec<usize>,
}

impl Sections {
    /// Locates the sections of parts whose positions are sorted by stretch, given the row of each position.
    pub fn new(plan: &SectionPlan, parts: &[Part], rows: &[u32]) -> Self {
        let all = plan.sections();
        let mut starts = Vec::with_capacity(parts.len() * all + 1);
        for part in parts {
            let rows = &rows[part.positions.clone()];
            let before = |section: usize| rows.partition_point(|&n| (n as usize) < section * plan.size);
            starts.extend((0..all).map(|section| part.positions.start + before(section)));
        }
        starts.push(rows.len());
        Self { present: 0..all, all, starts }
    }

    /// Checks the sections that another process had.
    ///
    /// # Errors
    /// [`Error::Usage`] for sections out of range.
    pub fn check(&self) -> Result<()> {
        let Self { present, all, .. } = self;
        match present.start < present.end && present.end <= *all && *all <= u32::MAX as usize {
            true => Ok(()),
            false => Err(Error::Usage(format!("sections {present:?} of {all}"))),
        }
    }

    pub fn fit(&self, parts: usize, positions: usize) -> bool {
        self.starts.len() == parts * self.present.len() + 1
            && self.starts.is_sorted()
            && self.starts.last() == Some(&positions)
    }

    #[cfg(test)]
    pub fn whole(positions: usize) -> Self {
        Self { present: 0..1, all: 1, starts: vec![0, positions] }
    }

    fn cell(&self, part: usize, section: usize) -> Range<usize> {
        let at = part * self.present.len() + section - self.present.start;
        self.starts[at]..self.starts[at + 1]
    }
}

impl Layout {
    /// Returns the sections that the layout has: all of the dataset's, unless some were
    /// [selected](Self::select).
    #[inline]
    pub fn sections(&self) -> Range<usize> {
        self.sections.present.clone()
    }

    /// Returns the positions of consecutive parts in one section, in layout order, as ranges that are summed
    /// up separately. None are empty.
    ///
    /// # Panics
    /// If the layout lacks the section, or one of the parts.
    pub fn section(&self, parts: &Range<usize>, section: usize) -> Vec<Range<usize>> {
        if self.sections.all == 1 {
            // Parts follow each other without gaps.
            let (first, last) = (&self.parts[parts.start], &self.parts[parts.end - 1]);
            return std::iter::once(first.positions.start..last.positions.end).collect();
        }
        let cells = parts.clone().map(|part| self.sections.cell(part, section));
        cells.filter(|cell| !cell.is_empty()).collect()
    }

    /// Returns the layout of some consecutive sections alone. Parts may be empty in it.
    ///
    /// # Errors
    /// [`Error::Usage`] for sections that this layout lacks.
    pub fn select(&self, sections: Range<usize>) -> Result<Self> {
        let present = self.sections();
        if sections.start >= sections.end || sections.start < present.start || sections.end > present.end {
            let reason = format!("sections {sections:?} of a layout that has {present:?}");
            return Err(Error::Usage(reason));
        }
        let mut out = Self {
            sections: Sections { present: sections.clone(), all: self.sections.all, starts: Vec::new() },
            ..Self::empty(self.features, self.columns, self.program.clone(), self.phase_max)
        };
        for part in 0..self.parts.len() {
            let (first_bucket, first_position) = (out.buckets.len(), out.positions());
            for section in sections.clone() {
                out.sections.starts.push(out.positions());
                out.append(self, self.sections.cell(part, section));
            }
            let positions = first_position..out.positions();
            let weight = match out.weights.get(positions.clone()) {
                Some(weights) if !out.weights.is_empty() => weights.iter().map(|&w| f64::from(w)).sum(),
                _ => positions.len() as f64,
            };
            out.parts.push(Part { positions, buckets: first_bucket..out.buckets.len(), weight });
        }
        out.sections.starts.push(out.positions());
        out.check()
    }

    fn append(&mut self, from: &Self, cell: Range<usize>) {
        if cell.is_empty() {
            return;
        }
        let start = self.positions();
        let moved = |positions: &Range<usize>| {
            positions.start - cell.start + start..positions.end - cell.start + start
        };
        let first_entry = from.shapes_in(cell.clone()).next().map_or(0, |shape| shape.first_entry);
        let mut entries = 0;
        for (bucket, positions) in from.buckets_in(cell.clone()) {
            let first = self.shapes.len();
            for shape in from.shapes_in(positions.clone()) {
                let at = self.ids.len() + entries;
                entries += shape.positions.len() * shape.row_length();
                self.shapes.push(Shape { positions: moved(&shape.positions), first_entry: at, ..shape });
            }
            let shapes = first..self.shapes.len();
            self.buckets.push(Bucket { positions: moved(&positions), shapes, ..bucket.clone() });
        }
        self.ids.extend_from_slice(&from.ids[first_entry..first_entry + entries]);
        if !from.unit_rows() {
            self.coefficients.extend_from_slice(&from.coefficients[first_entry..first_entry + entries]);
        }
        fn column<T: Copy>(to: &mut Vec<T>, from: &[T], cell: &Range<usize>) {
            to.extend_from_slice(from.get(cell.clone()).unwrap_or_default());
        }
        column(&mut self.targets, &from.targets, &cell);
        column(&mut self.weights, &from.weights, &cell);
        column(&mut self.offsets, &from.offsets, &cell);
        column(&mut self.rows, &from.rows, &cell);
        column(&mut self.games, &from.games, &cell);
        column(&mut self.search, &from.search, &cell);
    }
}
