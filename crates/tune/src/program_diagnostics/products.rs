//! Products whose scale the data do not determine.

use super::MOST_POSITIONS;
use crate::config::RunConfig;
use crate::scale_ratio::at_most;
use gputexel_dataset::Dataset;
use gputexel_model::program::ValueKind;

/// Warnings about products of two accumulators whose scale nothing determines in a run, as clauses: one can
/// grow while the other shrinks. Empty if the evaluation has no products.
pub fn undetermined_products(data: &Dataset, config: &RunConfig) -> Vec<String> {
    let Some(program) = data.program() else { return Vec::new() };
    if program.program().terms.iter().all(|term| term.times.is_none()) {
        return Vec::new();
    }
    let features = data.feature_count();
    let mut linear = vec![false; features];
    for n in at_most((0..data.len() as u32).collect(), MOST_POSITIONS) {
        let row = data.row(n as usize);
        let used = row
            .entries()
            .filter(|&(column, coefficient)| usize::from(column) < features && coefficient != 0.0);
        used.for_each(|(column, _)| linear[usize::from(column)] = true);
    }
    let kinds = value_kinds(config);
    program.program().undetermined_products(|feature, phase| {
        let feature = usize::from(feature);
        if linear[feature] { ValueKind::Fixed } else { kinds[feature + features * phase as usize] }
    })
}

/// The kind of each value of θ; values that a coordinate moves together are one.
fn value_kinds(config: &RunConfig) -> Vec<ValueKind> {
    let prior = &config.prior_theta;
    let Some(basis) = config.named_basis() else { return (0..prior.len()).map(ValueKind::Tuned).collect() };
    let mut parent: Vec<usize> = (0..prior.len()).collect();
    let mut moved = vec![false; prior.len()];
    fn root(parent: &[usize], mut at: usize) -> usize {
        while parent[at] != at {
            at = parent[at];
        }
        at
    }
    for column in &basis.columns {
        let mut first = None;
        for &(index, _) in column.iter().filter(|(_, factor)| *factor != 0.0) {
            let own = root(&parent, index as usize);
            moved[index as usize] = true;
            let first = *first.get_or_insert(own);
            parent[own] = first;
        }
    }
    let kind = |(index, &value): (usize, &f64)| match moved[index] {
        true => ValueKind::Tuned(root(&parent, index)),
        false if value == 0.0 => ValueKind::Zero,
        false => ValueKind::Fixed,
    };
    prior.iter().enumerate().map(kind).collect()
}
