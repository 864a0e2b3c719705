//! Sums of a row, the input of a program.

use gputexel_model::program::CompiledProgram;

/// Largest magnitude of a sum or score, centipawns: evaluators compute in f32, which can represent its
/// square.
const MAX_SUM: f64 = 1e9;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RowSums {
    pub(super) sums: Vec<[f64; 2]>,
    pub(super) present: u32,
}

impl RowSums {
    pub(super) fn add_up(
        &mut self,
        program: &CompiledProgram,
        values: &[[f64; 2]],
        row: impl Iterator<Item = (u16, f64)>,
    ) {
        self.sums.clear();
        self.sums.resize(program.slots(), [0.0; 2]);
        self.present = program.sum_up(row, |column| values[column], &mut self.sums);
    }

    pub(super) fn excess(&self) -> Option<(usize, f64)> {
        let mut all = self.sums.iter().enumerate().flat_map(|(slot, pair)| pair.map(|sum| (slot, sum)));
        all.find(|(_, sum)| sum.is_nan() || sum.abs() > MAX_SUM)
    }

    pub(super) fn count_active(&self, program: &CompiledProgram, counts: &mut Vec<u64>) {
        let terms = &program.program().terms;
        counts.resize(terms.len(), 0);
        for (term, count) in terms.iter().zip(counts) {
            let effects = program.term_effects(term, &self.sums, self.present);
            *count += u64::from(effects.iter().flatten().any(|effect| effect.active));
        }
    }
}

pub(super) fn is_usable(score: f64) -> bool {
    score.abs() <= MAX_SUM
}

/// Returns the column that takes the place of `column` when the sides are exchanged, and true if its
/// coefficient changes its sign.
pub(super) fn exchanged(program: &CompiledProgram, column: u16) -> (u16, bool) {
    let slot = program.slot_of_column(usize::from(column));
    let width = program.slot_columns(slot).len() as u16;
    match program.accumulator_of(slot).map(|own| program.slots_of(own)) {
        None => (column, true),
        Some(slots) if slots.len() < 2 => (column, false),
        Some(slots) => (if slot == slots.start { column + width } else { column - width }, false),
    }
}
