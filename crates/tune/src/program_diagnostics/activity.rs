//! How often the terms of a program have an effect in a dataset.

use rayon::prelude::*;

use super::MOST_POSITIONS;
use crate::scale_ratio::at_most;
use gputexel_dataset::{Dataset, objective};
use gputexel_model::program::{TermActivity, TermEffect};

pub(super) fn is_on(effects: [Option<TermEffect>; 2]) -> bool {
    effects.iter().flatten().any(|effect| effect.active)
}

/// Counts how often each term has an effect under θ; empty if the evaluation has no program.
pub fn term_activity(data: &Dataset, theta: &[f64]) -> Vec<TermActivity> {
    let Some(program) = data.program() else { return Vec::new() };
    let which = at_most((0..data.len() as u32).collect(), MOST_POSITIONS);
    let terms = &program.program().terms;
    let start = || terms.iter().map(|term| TermActivity::new(program.program(), term)).collect::<Vec<_>>();
    which
        .par_iter()
        .with_min_len(1 << 10)
        .fold(start, |mut all, &n| {
            let (sums, present) = objective::sums(data, program, theta, n as usize);
            let each = all.iter_mut().zip(terms);
            each.for_each(|(own, term)| own.add(is_on(program.term_effects(term, &sums, present))));
            all
        })
        .reduce(start, |mut all, other| {
            all.iter_mut().zip(&other).for_each(|(own, other)| own.merge(other));
            all
        })
}
