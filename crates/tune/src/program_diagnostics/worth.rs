//! Worth of the parts of a program: how far the loss rises without them, with everything else as tuned.

use rayon::prelude::*;

use super::super::diagnostics::clustered_mean;
use super::MOST_POSITIONS;
use crate::scale_ratio::at_most;
use gputexel_dataset::objective::{self, Objective, x_per_cp};
use gputexel_dataset::{Dataset, Split};
use gputexel_model::program::{CompiledProgram, Part};
use gputexel_report::{PartWorth, Worth};

pub(crate) fn name(program: &CompiledProgram, part: Part) -> String {
    let inputs = program.inputs_of(part);
    let program = program.program();
    let input = |index: usize| {
        let input = inputs[index];
        format!("{}.{}", program.accumulators[input.accumulator].name, input.phase.name())
    };
    match part {
        Part::Term(index) => {
            let term = &program.terms[index];
            let times = if term.times.is_some() { format!(" times {}", input(1)) } else { String::new() };
            format!("{} of {}{times} in {}", term.operator.name(), input(0), term.target.name())
        }
        Part::Adjustment(index) => {
            format!("adjustment of {} by {}", program.adjustments[index].target.name(), input(0))
        }
        Part::Factor => {
            let names: Vec<String> = (0..inputs.len()).map(input).collect();
            format!("factor by {}", names.join(" or "))
        }
    }
}

/// Sets of parts that are left out together: each part, those of an accumulator, all.
fn groups(program: &CompiledProgram) -> Vec<(String, Vec<Part>)> {
    let parts = program.parts();
    let mut groups: Vec<(String, Vec<Part>)> =
        parts.iter().map(|&part| (name(program, part), vec![part])).collect();
    for (index, accumulator) in program.program().accumulators.iter().enumerate() {
        let uses = |part: &Part| program.inputs_of(*part).iter().any(|input| input.accumulator == index);
        let own: Vec<Part> = parts.iter().copied().filter(uses).collect();
        if own.len() > 1 {
            groups.push((format!("all of {}", accumulator.name), own));
        }
    }
    if parts.len() > 1 {
        groups.push(("all of these".to_string(), parts));
    }
    // An accumulator may be all there is, or two may only be used together.
    let mut seen: Vec<Vec<Part>> = Vec::new();
    groups.retain(|(_, parts)| {
        let new = !seen.contains(parts);
        seen.push(parts.clone());
        new
    });
    groups
}

/// Computes the worth of the parts of a program on held-out positions, or if there are none, on training
/// positions.
pub(super) fn of_parts(
    data: &Dataset,
    program: &CompiledProgram,
    split: &Split,
    objective: Objective,
    theta: &[f64],
) -> Worth {
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let judged = !held_out.is_empty();
    let all = if judged { held_out } else { split.training().map(|n| n as u32).collect() };
    let mut which = at_most(all, MOST_POSITIONS);
    // In the order of games, as the standard errors need them.
    which.sort_by_key(|&n| data.game(n as usize));
    let groups = groups(program);
    let variants: Vec<CompiledProgram> = groups.iter().map(|(_, parts)| program.without(parts)).collect();
    let x_per_cp = x_per_cp(objective.k);
    // The loss of the whole program, then the increase with each variant.
    let losses: Vec<Vec<f64>> = which
        .par_iter()
        .with_min_len(1 << 10)
        .map(|&n| {
            let n = n as usize;
            let (sums, present) = objective::sums(data, program, theta, n);
            let (taper, row) = (objective::taper(data, n), data.row(n));
            let loss = |of: &CompiledProgram| {
                let score = f64::from(row.offset) + of.score(&sums, present, taper);
                objective.loss.value(x_per_cp * score, f64::from(row.result))
            };
            let whole = loss(program);
            std::iter::once(whole).chain(variants.iter().map(|variant| loss(variant) - whole)).collect()
        })
        .collect();
    let mean = |at: usize| clustered_mean(data, which.iter().zip(&losses).map(|(&n, own)| (n, own[at])));
    let parts = groups.into_iter().enumerate().map(|(index, (name, parts))| {
        let (cost, error) = mean(index + 1);
        PartWorth { name, parts: parts.len(), cost, error }
    });
    Worth {
        held_out: judged,
        positions: which.len() as u64,
        loss: mean(0).0,
        parts: if which.is_empty() { Vec::new() } else { parts.collect() },
    }
}
