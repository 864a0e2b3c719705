//! Products with an undetermined scale: of two accumulators that are only multiplied by each other, one may
//! grow while the other shrinks, and every score stays the same.
//!
//! Scores do not change when the values of each input i are multiplied by cᵃ⁽ⁱ⁾, if the exponents a solve a
//! linear system: a term f(x) · y, with f of degree d, needs d a(x) + a(y) = 0. Any other use of an input
//! needs a(i) = 0, as does a value that is not tuned. Inputs that share a value share their exponent.

use std::collections::HashMap;

use super::{Input, Operator, Phase, Program, Term};
use crate::imported::{ImportedParameter, Phases};

/// Status of a value of a feature while others are tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    Tuned(usize),
    Zero,
    /// It stays another number, or is also used elsewhere.
    Fixed,
}

impl ValueKind {
    pub fn of(parameter: &ImportedParameter, feature: u16, phase: Phase) -> Self {
        let number = 2 * usize::from(feature);
        match (parameter.moves(phase as usize), parameter.prior[phase as usize] == 0.0) {
            (true, _) if parameter.phases == Phases::Untapered => Self::Tuned(number),
            (true, _) => Self::Tuned(number + phase as usize),
            (false, true) => Self::Zero,
            (false, false) => Self::Fixed,
        }
    }
}

impl Term {
    /// The degree of the function: with c > 0, f(c x) = cᵈ f(x). `None` if it has none.
    fn degree(&self) -> Option<f64> {
        let passes_through_0 = self.shift == 0.0 && self.over.is_none_or(|over| over == 0.0);
        match self.operator {
            Operator::Identity | Operator::Relu => Some(1.0),
            Operator::Relu2 | Operator::Square => Some(2.0),
            Operator::Sigmoid | Operator::Table(_) => None,
        }
        .filter(|_| passes_through_0)
    }
}

impl Program {
    pub fn undetermined_products(&self, kind: impl Fn(u16, Phase) -> ValueKind) -> Vec<String> {
        if self.terms.iter().all(|term| term.times.is_none()) {
            return Vec::new();
        }
        let free = self.free_inputs(kind);
        let mut pairs: Vec<(Input, Input)> = Vec::new();
        let mut warnings = Vec::new();
        for term in &self.terms {
            let Some(times) = term.times.filter(|_| free[place(term.input)]) else { continue };
            if pairs.contains(&(term.input, times)) {
                continue;
            }
            pairs.push((term.input, times));
            let name = |input: Input| &self.accumulators[input.accumulator].name;
            warnings.push(format!(
                "the scale of '{}' times '{}' in {} is not determined, because one can grow while the other shrinks; freeze a parameter of either",
                name(term.input),
                name(times),
                term.target.name()
            ));
        }
        warnings
    }

    fn free_inputs(&self, kind: impl Fn(u16, Phase) -> ValueKind) -> Vec<bool> {
        let count = 2 * self.accumulators.len();
        let mut class: Vec<usize> = (0..count).collect();
        let mut owner: HashMap<usize, usize> = HashMap::new();
        // Rows of the system: factors of the exponents, all of which sum to 0.
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let row = |entries: &[(Input, f64)]| {
            let mut row = vec![0.0; count];
            entries.iter().for_each(|&(input, factor)| row[place(input)] += factor);
            row
        };
        for input in self.inputs() {
            let mut fixed = false;
            for &feature in &self.accumulators[input.accumulator].features {
                match kind(feature, input.phase) {
                    ValueKind::Zero => {}
                    ValueKind::Fixed => fixed = true,
                    ValueKind::Tuned(number) => {
                        let first = *owner.entry(number).or_insert(place(input));
                        let (from, to) = (class[place(input)], class[first]);
                        class.iter_mut().filter(|own| **own == from).for_each(|own| *own = to);
                    }
                }
            }
            if fixed {
                rows.push(row(&[(input, 1.0)]));
            }
        }
        for term in &self.terms {
            match (term.degree(), term.times) {
                (Some(degree), Some(times)) => rows.push(row(&[(term.input, degree), (times, 1.0)])),
                (None, Some(times)) => rows.extend([row(&[(term.input, 1.0)]), row(&[(times, 1.0)])]),
                (_, None) => rows.push(row(&[(term.input, 1.0)])),
            }
        }
        let factors = self.factor.iter().flat_map(|factor| factor.by.iter().copied());
        let others = self.adjustments.iter().map(|adjustment| adjustment.by).chain(factors);
        rows.extend(others.map(|input| row(&[(input, 1.0)])));
        for row in &mut rows {
            let merged: Vec<f64> = (0..count)
                .map(|at| (0..count).filter(|&other| class[other] == at).map(|other| row[other]).sum())
                .collect();
            *row = merged;
        }
        let free = unknowns_that_are_free(rows, count);
        class.into_iter().map(|own| free[own]).collect()
    }
}

fn place(input: Input) -> usize {
    2 * input.accumulator + input.phase as usize
}

fn unknowns_that_are_free(mut rows: Vec<Vec<f64>>, count: usize) -> Vec<bool> {
    let mut pivots: Vec<usize> = Vec::new();
    for column in 0..count {
        let done = pivots.len();
        let Some(found) =
            (done..rows.len()).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
        else {
            break;
        };
        if rows[found][column].abs() < 1e-9 {
            continue;
        }
        rows.swap(done, found);
        let pivot: Vec<f64> = rows[done].iter().map(|value| value / rows[done][column]).collect();
        for row in &mut rows {
            let factor = row[column];
            row.iter_mut().zip(&pivot).for_each(|(value, own)| *value -= factor * own);
        }
        rows[done] = pivot;
        pivots.push(column);
    }
    let mut free = vec![true; count];
    for (row, &column) in rows.iter().zip(&pivots) {
        free[column] = row.iter().enumerate().any(|(at, value)| at != column && value.abs() > 1e-9);
    }
    free
}
