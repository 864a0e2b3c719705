//! Single steps of evaluations with a program: a step changes sums, from which the program computes new
//! scores.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::index::entries;
use super::{CHUNK, Pull};
use gputexel_dataset::Layout;
use gputexel_model::program::{CompiledProgram, MAX_SLOTS, Taper};

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    position: u32,
    slot: u32,
    coefficient: f32,
}

pub(super) struct ProgramSums<'a> {
    program: &'a CompiledProgram,
    starts: Vec<usize>,
    entries: Vec<Entry>,
    tapers: Vec<Taper>,
    /// A bit for each slot that a position has entries of.
    present: Vec<u32>,
    offsets: Vec<f64>,
    sums: Vec<[f64; 2]>,
}

impl<'a> ProgramSums<'a> {
    /// Creates the entries of consecutive positions of a layout; sums are 0 until [`set`](Self::set).
    pub fn new(layout: &Layout, program: &'a CompiledProgram, range: &Range<usize>) -> Self {
        let positions = range.len();
        let mut own = Self {
            program,
            starts: vec![0; program.features() + 1],
            entries: Vec::new(),
            tapers: vec![Taper { mg: 0.0, eg: 0.0 }; positions],
            present: vec![0; positions],
            offsets: (range.clone())
                .map(|n| f64::from(layout.offsets().get(n).copied().unwrap_or(0.0)))
                .collect(),
            sums: vec![[0.0; 2]; positions * program.slots()],
        };
        let max = f64::from(layout.phase_max());
        for (bucket, positions) in layout.buckets_in(range.clone()) {
            let taper = Taper { mg: f64::from(bucket.mg_units) / max, eg: f64::from(bucket.eg_units) / max };
            own.tapers[positions.start - range.start..positions.end - range.start].fill(taper);
        }
        let feature_of = |column: usize| usize::from(program.features_of_columns()[column]);
        for shape in layout.shapes_in(range.clone()) {
            for i in 0..shape.positions.len() {
                entries(layout, &shape, i, |column, _| own.starts[feature_of(column) + 1] += 1);
            }
        }
        for feature in 0..program.features() {
            own.starts[feature + 1] += own.starts[feature];
        }
        let mut next = own.starts.clone();
        own.entries.resize(own.starts[program.features()], Entry::default());
        for shape in layout.shapes_in(range.clone()) {
            for (i, position) in shape.positions.clone().enumerate() {
                let position = position - range.start;
                entries(layout, &shape, i, |column, coefficient| {
                    let slot = program.slot_of_column(column);
                    own.present[position] |= 1 << slot;
                    let at = &mut next[feature_of(column)];
                    own.entries[*at] = Entry { position: position as u32, slot: slot as u32, coefficient };
                    *at += 1;
                });
            }
        }
        own
    }

    /// Computes all sums under θ, and the scores, in centipawns.
    pub fn set(&mut self, theta: &[f64]) -> Vec<f64> {
        let (mg, eg) = theta.split_at(self.program.features());
        let slots = self.program.slots();
        self.sums.fill([0.0; 2]);
        for feature in 0..self.program.features() {
            for entry in &self.entries[self.starts[feature]..self.starts[feature + 1]] {
                let sum = &mut self.sums[entry.position as usize * slots + entry.slot as usize];
                sum[0] += f64::from(entry.coefficient) * mg[feature];
                sum[1] += f64::from(entry.coefficient) * eg[feature];
            }
        }
        let positions = (0..self.tapers.len()).into_par_iter().with_min_len(CHUNK);
        positions.map(|n| self.score(n, &self.sums[n * slots..][..slots])).collect()
    }

    fn score(&self, position: usize, sums: &[[f64; 2]]) -> f64 {
        let value = self.program.score(sums, self.present[position], self.tapers[position]);
        self.offsets[position] + value
    }

    pub fn count(&self, feature: usize) -> usize {
        self.starts[feature + 1] - self.starts[feature]
    }

    pub fn blocks(&self) -> usize {
        self.tapers.len().div_ceil(CHUNK)
    }

    fn block(&self, block: usize) -> Range<usize> {
        block * CHUNK..((block + 1) * CHUNK).min(self.tapers.len())
    }

    fn entries_in(&self, feature: usize, positions: &Range<usize>) -> &[Entry] {
        let list = &self.entries[self.starts[feature]..self.starts[feature + 1]];
        let before = |end: usize| list.partition_point(|entry| (entry.position as usize) < end);
        &list[before(positions.start)..before(positions.end)]
    }

    /// Returns the slope along each coordinate, and half the Gauss–Newton curvature, of a sum over positions; `outer`
    /// gives its slope by the score of a position, per centipawn, and half its curvature. `None` when cancelled.
    pub fn forecasts(
        &self,
        coordinates: &[&[Pull]],
        outer: impl Fn(usize) -> [f64; 2] + Sync,
        cancel: &AtomicBool,
    ) -> Option<Vec<[f64; 2]>> {
        let slots = self.program.slots();
        let of_block = |block: usize| {
            let positions = self.block(block);
            let mut slopes = vec![[0.0; 2]; positions.len() * slots];
            let mut outers = Vec::with_capacity(positions.len());
            for (n, slopes) in positions.clone().zip(slopes.chunks_exact_mut(slots)) {
                let sums = &self.sums[n * slots..][..slots];
                self.program.score_and_slopes(sums, self.present[n], self.tapers[n], slopes);
                outers.push(outer(n));
            }
            let mut changes = vec![0.0; positions.len()];
            let along = |pulls: &&[Pull]| {
                if cancel.load(Ordering::Relaxed) {
                    return None;
                }
                let mut sum = [0.0; 2];
                for pull in *pulls {
                    for entry in self.entries_in(pull.feature, &positions) {
                        let at = entry.position as usize - positions.start;
                        let [mg, eg] = slopes[at * slots + entry.slot as usize];
                        changes[at] += f64::from(entry.coefficient) * (pull.mg * mg + pull.eg * eg);
                    }
                }
                for pull in *pulls {
                    for entry in self.entries_in(pull.feature, &positions) {
                        let at = entry.position as usize - positions.start;
                        let change = std::mem::take(&mut changes[at]);
                        sum[0] += outers[at][0] * change;
                        sum[1] += outers[at][1] * change * change;
                    }
                }
                Some(sum)
            };
            coordinates.iter().map(along).collect::<Option<Vec<[f64; 2]>>>()
        };
        let blocks: Option<Vec<Vec<[f64; 2]>>> = (0..self.blocks()).into_par_iter().map(of_block).collect();
        blocks?.into_iter().reduce(|mut sums, block| {
            sums.iter_mut().zip(block).for_each(|(sum, own)| *sum = [sum[0] + own[0], sum[1] + own[1]]);
            sums
        })
    }

    /// Calls `call` for every position of a block that has one of the features, ascending, with its score
    /// after the step, and its new sums, to keep them.
    pub fn each_change(
        &self,
        block: usize,
        pulls: &[Pull],
        by: f64,
        mut call: impl FnMut(usize, f64, &[[f64; 2]]),
    ) {
        let (slots, positions) = (self.program.slots(), self.block(block));
        let list = |pull: &Pull| self.entries_in(pull.feature, &positions);
        let mut next: Vec<&[Entry]> = pulls.iter().map(list).collect();
        let mut sums = [[0.0; 2]; MAX_SLOTS];
        while let Some(position) = next.iter().filter_map(|list| list.first()).map(|e| e.position).min() {
            let at = position as usize;
            sums[..slots].copy_from_slice(&self.sums[at * slots..][..slots]);
            for (pull, list) in pulls.iter().zip(&mut next) {
                while let Some((entry, rest)) = list.split_first()
                    && entry.position == position
                {
                    let step = by * f64::from(entry.coefficient);
                    let sum = &mut sums[entry.slot as usize];
                    *sum = [sum[0] + step * pull.mg, sum[1] + step * pull.eg];
                    *list = rest;
                }
            }
            call(at, self.score(at, &sums[..slots]), &sums[..slots]);
        }
    }

    pub fn keep(&mut self, position: usize, sums: &[[f64; 2]]) {
        self.sums[position * self.program.slots()..][..sums.len()].copy_from_slice(sums);
    }
}
