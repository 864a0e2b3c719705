//! Diagnostics of nonlinear evaluations: the distribution of their sums, the effects of terms, adjustments
//! and factor, and the worth of each part.

mod activity;
mod factor;
mod histogram;
mod worth;

use rayon::prelude::*;

use crate::scale_ratio::at_most;
use gputexel_dataset::objective::{self, Objective};
use gputexel_dataset::{Dataset, Split};
use gputexel_model::program::{CompiledProgram, Input, Part, Taper, Term};
use gputexel_report::{AdjustmentDiagnostics, ProgramDiagnostics, SumDiagnostics, TermDiagnostics};

pub use activity::term_activity;
pub use gputexel_model::program::{MIN_ACTIVE_SHARE, TermActivity};
pub(crate) use worth::name as part_name;

/// Maximum number of positions that are examined: if there are more, every n-th.
pub const MOST_POSITIONS: usize = 1 << 17;

/// A sum of a side, or of both, under the two parameter vectors.
type Pair = [f64; 2];

/// The sums of a position under prior and result.
struct Observed {
    sums: [Vec<[f64; 2]>; 2],
    present: u32,
    taper: Taper,
}

fn observe(data: &Dataset, program: &CompiledProgram, thetas: [&[f64]; 2], n: usize) -> Observed {
    // Presence depends on the row alone.
    let [(before, present), (after, _)] = thetas.map(|theta| objective::sums(data, program, theta, n));
    Observed { sums: [before, after], present, taper: objective::taper(data, n) }
}

/// Computes the effects of the program of an evaluation under a result θ and under the prior; `None` if there
/// is no program or no position.
pub fn diagnose_program(
    data: &Dataset,
    split: &Split,
    objective: Objective,
    theta: &[f64],
    prior: &[f64],
) -> Option<ProgramDiagnostics> {
    let program = data.program()?;
    let which = at_most((0..data.len() as u32).collect(), MOST_POSITIONS);
    if which.is_empty() {
        return None;
    }
    let observed: Vec<Observed> = which
        .par_iter()
        .with_min_len(1 << 10)
        .map(|&n| observe(data, program, [prior, theta], n as usize))
        .collect();
    let formulas = program.program().formulas();
    let formula_of = |part: Part| {
        let place = program.parts().iter().position(|own| *own == part);
        place.and_then(|place| formulas.get(place)).cloned().unwrap_or_default()
    };
    let mut inputs: Vec<Input> = Vec::new();
    for term in &program.program().terms {
        if !inputs.contains(&term.input) {
            inputs.push(term.input);
        }
    }
    let sums: Vec<SumDiagnostics> = inputs.iter().map(|&input| sum_of(program, &observed, input)).collect();
    let terms = program.program().terms.iter().enumerate().map(|(index, term)| {
        let sum = inputs.iter().position(|input| *input == term.input).unwrap_or(0);
        let edges = &sums[sum].histogram.edges;
        term_of(program, &observed, term, (sum, edges), formula_of(Part::Term(index)))
    });
    Some(ProgramDiagnostics {
        positions: which.len() as u64,
        terms: terms.collect(),
        adjustments: adjustments(program, &observed, formula_of),
        factor: factor::diagnose(data, program, &which, &observed, formula_of(Part::Factor)),
        worth: worth::of_parts(data, program, split, objective, theta),
        sums,
    })
}

fn sum_of(program: &CompiledProgram, observed: &[Observed], input: Input) -> SumDiagnostics {
    let accumulator = &program.program().accumulators[input.accumulator];
    let slots = program.slots_of(input.accumulator);
    let phase = input.phase as usize;
    let (mut values, mut present): (Vec<Pair>, u64) = (Vec::new(), 0);
    for position in observed {
        let own = slots.clone().filter(|slot| position.present >> slot & 1 == 1);
        let before = values.len();
        values.extend(own.map(|slot| [0, 1].map(|which| position.sums[which][slot][phase])));
        present += u64::from(values.len() > before);
    }
    SumDiagnostics {
        name: format!("{}.{}", accumulator.name, input.phase.name()),
        sides: accumulator.sides,
        present: present as f64 / observed.len() as f64,
        histogram: histogram::of_pairs(&values),
    }
}

fn term_of(
    program: &CompiledProgram,
    observed: &[Observed],
    term: &Term,
    (sum, edges): (usize, &[f64]),
    formula: String,
) -> TermDiagnostics {
    let of = |which: usize| {
        let mut activity = TermActivity::new(program.program(), term);
        let (mut size, mut times, mut count) = (0.0, 0.0, 0u64);
        for position in observed {
            let effects = program.term_effects(term, &position.sums[which], position.present);
            activity.add(activity::is_on(effects));
            for effect in effects.iter().flatten() {
                size += effect.value.abs();
                times += effect.times.unwrap_or(1.0);
                count += 1;
            }
        }
        let mean_times = if count > 0 { times / count as f64 } else { 1.0 };
        let response: Vec<f64> = edges.iter().map(|&x| term.function(x).0 * mean_times).collect();
        (activity, response, size / count as f64)
    };
    let [before, after] = [0, 1].map(of);
    TermDiagnostics {
        formula,
        sum,
        activity: [before.0, after.0],
        response: [before.1, after.1],
        mean_size: [before.2, after.2],
    }
}

fn adjustments(
    program: &CompiledProgram,
    observed: &[Observed],
    formula_of: impl Fn(Part) -> String,
) -> Vec<AdjustmentDiagnostics> {
    let count = program.program().adjustments.len();
    if count == 0 {
        return Vec::new();
    }
    let mut amounts: Vec<Vec<Pair>> = vec![Vec::new(); count];
    let mut cut = vec![[0u64; 2]; count];
    for position in observed {
        let [before, after] = [0, 1]
            .map(|which| program.adjustment_effects(&position.sums[which], position.present, position.taper));
        for (index, pair) in before.into_iter().zip(after).enumerate() {
            let (Some(before), Some(after)) = pair else { continue };
            amounts[index].push([before.amount, after.amount]);
            cut[index][0] += u64::from(before.cut);
            cut[index][1] += u64::from(after.cut);
        }
    }
    let of = |(index, (amounts, cut)): (usize, (Vec<Pair>, [u64; 2]))| AdjustmentDiagnostics {
        formula: formula_of(Part::Adjustment(index)),
        present: amounts.len() as f64 / observed.len() as f64,
        cut: cut.map(|cut| cut as f64 / amounts.len() as f64),
        histogram: histogram::of_pairs(&amounts),
    };
    amounts.into_iter().zip(cut).enumerate().map(of).collect()
}
