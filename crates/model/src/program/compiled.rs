//! A program with its columns: the meaning of the entries of rows.

use std::ops::Range;

use super::{Input, Program};
use gputexel_io::Result;

pub const MAX_SLOTS: usize = 32;
pub const LINEAR: usize = 0;

/// A program for a number of features, and the meaning of the *columns* that rows refer to.
///
/// Column f below the number of features is feature f in the linear part. After them, each accumulator has a
/// column for every entry of each of its sums (White's first), in the order of accumulators.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledProgram {
    pub(super) program: Program,
    features: usize,
    /// First column of each slot, and the number of columns.
    starts: Vec<u32>,
    feature_of: Vec<u16>,
    /// By column.
    slots: Vec<u8>,
    slot_of: Vec<usize>,
    /// Terms that go into sums, each after those that go into what it takes.
    inner_terms: Vec<usize>,
}

impl CompiledProgram {
    pub fn try_new(program: Program, features: usize) -> Result<Self> {
        program.validate(features)?;
        let mut compiled = Self {
            features,
            starts: vec![0, features as u32],
            feature_of: (0..features as u16).collect(),
            slots: vec![LINEAR as u8; features],
            slot_of: Vec::new(),
            inner_terms: Vec::new(),
            program,
        };
        compiled.order_inner_terms();
        for accumulator in &compiled.program.accumulators {
            compiled.slot_of.push(compiled.starts.len() - 1);
            for _ in 0..accumulator.slots() {
                compiled.feature_of.extend_from_slice(&accumulator.features);
                compiled.slots.resize(compiled.feature_of.len(), compiled.starts.len() as u8 - 1);
                compiled.starts.push(compiled.feature_of.len() as u32);
            }
        }
        Ok(compiled)
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn order_inner_terms(&mut self) {
        let terms = &self.program.terms;
        self.inner_terms = (0..terms.len()).filter(|&index| terms[index].into.is_some()).collect();
        self.inner_terms.sort_by_key(|&index| terms[index].last_input());
    }

    #[inline]
    pub fn inner_terms(&self) -> &[usize] {
        &self.inner_terms
    }

    #[inline]
    pub fn features(&self) -> usize {
        self.features
    }

    #[inline]
    pub fn columns(&self) -> usize {
        self.feature_of.len()
    }

    #[inline]
    pub fn slots(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    pub fn slot_columns(&self, slot: usize) -> Range<usize> {
        self.starts[slot] as usize..self.starts[slot + 1] as usize
    }

    pub fn slot_starts(&self) -> &[u32] {
        &self.starts
    }

    #[inline]
    pub fn slot_of_column(&self, column: usize) -> usize {
        usize::from(self.slots[column])
    }

    #[inline]
    pub fn features_of_columns(&self) -> &[u16] {
        &self.feature_of
    }

    /// The slot of an input for White (0) or Black (1), and the index of its value.
    #[inline]
    pub fn slot(&self, input: Input, side: usize) -> (usize, usize) {
        let both = usize::from(self.program.accumulators[input.accumulator].sides);
        (self.slot_of[input.accumulator] + side * both, input.phase as usize)
    }

    pub fn slots_of(&self, accumulator: usize) -> Range<usize> {
        let first = self.slot_of[accumulator];
        first..first + self.program.accumulators[accumulator].slots()
    }

    /// The accumulator that a slot belongs to; `None` for the linear part.
    pub fn accumulator_of(&self, slot: usize) -> Option<usize> {
        (0..self.slot_of.len()).find(|&accumulator| self.slots_of(accumulator).contains(&slot))
    }

    pub fn slot_name(&self, slot: usize) -> String {
        let Some(index) = self.accumulator_of(slot) else { return "linear".to_string() };
        let accumulator = &self.program.accumulators[index];
        match (accumulator.sides, slot - self.slot_of[index]) {
            (false, _) => accumulator.name.clone(),
            (true, 0) => format!("{}.white", accumulator.name),
            (true, _) => format!("{}.black", accumulator.name),
        }
    }

    /// Adds the entries of a row, columns and coefficients, to the sums of its slots.
    pub fn sum_up(
        &self,
        row: impl Iterator<Item = (u16, f64)>,
        value_of: impl Fn(usize) -> [f64; 2],
        sums: &mut [[f64; 2]],
    ) -> u32 {
        let mut present = 0;
        for (column, coefficient) in row.filter(|&(_, coefficient)| coefficient != 0.0) {
            let column = usize::from(column);
            let slot = self.slot_of_column(column);
            present |= 1 << slot;
            for (sum, value) in sums[slot].iter_mut().zip(value_of(column)) {
                *sum += coefficient * value;
            }
        }
        present
    }

    /// θ (2 F values) as a table of (mg, eg) by column.
    pub fn column_values(&self, theta: &[f64]) -> Vec<[f64; 2]> {
        let (mg, eg) = theta.split_at(self.features);
        self.feature_of.iter().map(|&f| [mg[usize::from(f)], eg[usize::from(f)]]).collect()
    }

    pub fn add_to_parameters(&self, columns: &[[f64; 2]], parameters: &mut [f64]) {
        let (mg, eg) = parameters.split_at_mut(self.features);
        for (&feature, [a, b]) in self.feature_of.iter().zip(columns) {
            mg[usize::from(feature)] += a;
            eg[usize::from(feature)] += b;
        }
    }
}
