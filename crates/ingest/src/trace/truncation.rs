//! Score of a program as an engine with integer arithmetic computes it.

use super::row_sums::RowSums;
use gputexel_model::program::{CompiledProgram, Factor, FactorTarget, LINEAR, Operator, Term};

/// Phase of a position and its endgame scale factor, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Phase units, `max` with all pieces.
    pub phase: u16,
    /// Phase units of φ = 1.
    pub max: u16,
    pub scale: u16,
    /// Endgame scale factor that represents 1.
    pub one: u16,
}

impl Shares {
    /// Returns the shares of the middlegame and the endgame value.
    pub fn pair(self) -> (f64, f64) {
        let phi = f64::from(self.phase) / f64::from(self.max);
        (phi, (1.0 - phi) * (f64::from(self.scale) / f64::from(self.one)))
    }

    /// Returns (mg · phase + eg · (max − phase) · factor) / max; the endgame part is divided first if it has
    /// a factor.
    pub(super) fn truncated(self, [mg, eg]: [f64; 2], factor: Option<(f64, f64)>) -> f64 {
        let mut endgame = eg * f64::from(self.max - self.phase);
        if let Some((factor, one)) = factor {
            endgame = (endgame * factor / one).trunc();
        }
        if self.scale != self.one {
            endgame = (endgame * f64::from(self.scale) / f64::from(self.one)).trunc();
        }
        ((mg * f64::from(self.phase) + endgame) / f64::from(self.max)).trunc()
    }
}

pub(super) fn truncated_score(program: &CompiledProgram, row: &RowSums, shares: Shares) -> f64 {
    let mut values = row.sums[LINEAR];
    for term in &program.program().terms {
        values[term.target as usize] += truncated_term(program, term, row);
    }
    for adjustment in &program.program().adjustments {
        let (slot, phase) = program.slot(adjustment.by, 0);
        if row.present >> slot & 1 == 1 {
            let sum = row.sums[slot][phase];
            let limited = adjustment.at_most.map_or(sum, |k| (sum + k).min(0.0));
            let value = &mut values[adjustment.target as usize];
            if *value != 0.0 {
                *value += value.signum() * limited.max(-value.abs());
            }
        }
    }
    let Some(factor) = &program.program().factor else {
        return shares.truncated(values, None);
    };
    match factor.target {
        FactorTarget::Eg => {
            let found = factor_of(program, factor, row, values[1]);
            shares.truncated(values, found.map(|found| (found, factor.one)))
        }
        FactorTarget::Score => {
            let score = shares.truncated(values, None);
            let found = factor_of(program, factor, row, score);
            found.map_or(score, |found| (score * found / factor.one).trunc())
        }
    }
}

fn truncated_term(program: &CompiledProgram, term: &Term, row: &RowSums) -> f64 {
    let of = |input, side: usize| {
        let (slot, phase) = program.slot(input, side);
        (row.present >> slot & 1 == 1).then(|| row.sums[slot][phase])
    };
    let mut total = 0.0;
    let sides = program.slots_of(term.input.accumulator).len();
    for (side, sign) in [1.0, -1.0].into_iter().enumerate().take(sides) {
        let Some(sum) = of(term.input, side) else { continue };
        let Some(factor) = term.times.map_or(Some(1.0), |times| of(times, side)) else { continue };
        if term.over.is_some_and(|over| sum <= over) {
            continue;
        }
        let x = sum + term.shift;
        let value = match &term.operator {
            Operator::Identity => x,
            Operator::Relu => x.max(0.0),
            Operator::Relu2 => x.max(0.0) * x.max(0.0),
            Operator::Square => x * x.abs(),
            // Not integers in an engine: the exact term, except for its last division.
            Operator::Sigmoid | Operator::Table(_) => {
                let plain = Term { scale: 1.0, over: None, ..term.clone() };
                total += sign * (plain.function(sum).0 * factor * term.scale).trunc();
                continue;
            }
        };
        total += sign * (value * factor * term.scale / term.divide).trunc();
    }
    total
}

fn factor_of(program: &CompiledProgram, factor: &Factor, row: &RowSums, strength: f64) -> Option<f64> {
    let side = usize::from(strength < 0.0);
    let sums = factor.by.iter().map(|&by| program.slot(by, side));
    let sums = sums.filter(|&(slot, _)| row.present >> slot & 1 == 1);
    let least = sums.map(|(slot, phase)| row.sums[slot][phase]).min_by(f64::total_cmp);
    least.map(|least| least.clamp(factor.min, factor.max))
}
