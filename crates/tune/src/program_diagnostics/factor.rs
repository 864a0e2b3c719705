//! Distribution of a factor over the positions.

use std::collections::HashMap;

use super::{Observed, histogram};
use gputexel_dataset::Dataset;
use gputexel_model::program::CompiledProgram;
use gputexel_report::{FactorDiagnostics, FactorGroup};

const COMBINATIONS: usize = 20;

#[derive(Clone, Copy, Default)]
struct Total {
    positions: u64,
    sums: [f64; 2],
}

impl Total {
    fn add(&mut self, factors: [f64; 2]) {
        self.positions += 1;
        self.sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += factor);
    }

    fn group(self, names: Vec<String>) -> FactorGroup {
        FactorGroup { names, positions: self.positions, means: self.sums.map(|s| s / self.positions as f64) }
    }
}

pub(super) fn diagnose(
    data: &Dataset,
    program: &CompiledProgram,
    which: &[u32],
    observed: &[Observed],
    formula: String,
) -> Option<FactorDiagnostics> {
    let factor = program.program().factor.as_ref()?;
    let (mut values, mut at_min, mut at_max) = (Vec::new(), [0u64; 2], [0u64; 2]);
    let mut combinations: HashMap<Vec<u16>, Total> = HashMap::new();
    let mut parameters = vec![Total::default(); data.feature_count()];
    for (&n, position) in which.iter().zip(observed) {
        let effect = |of: usize| program.factor_effect(&position.sums[of], position.present, position.taper);
        let (Some(before), Some(after)) = (effect(0), effect(1)) else { continue };
        let Some(_) = after.sum else { continue };
        let factors = [before.factor, after.factor];
        for (at, effect) in [before, after].iter().enumerate() {
            at_min[at] += u64::from(effect.sum.is_some_and(|sum| sum <= factor.min));
            at_max[at] += u64::from(effect.sum.is_some_and(|sum| sum >= factor.max));
        }
        values.push(factors);
        // Of the side that the result calls the stronger one.
        let slots: Vec<usize> = factor.by.iter().map(|&by| program.slot(by, after.side).0).collect();
        let row = data.row(n as usize);
        let entries = row.entries().filter(|&(_, coefficient)| coefficient != 0.0);
        let own = entries.filter(|(column, _)| slots.contains(&program.slot_of_column(usize::from(*column))));
        let mut key: Vec<u16> = own.map(|(column, _)| data.feature_of(column)).collect();
        key.sort_unstable();
        key.dedup();
        key.iter().for_each(|&feature| parameters[usize::from(feature)].add(factors));
        combinations.entry(key).or_default().add(factors);
    }
    let names = &data.metadata().feature_set.features;
    let name = |feature: usize| names[feature].name.clone();
    let combination_count = combinations.len();
    let mut combinations: Vec<(Vec<u16>, Total)> = combinations.into_iter().collect();
    combinations.sort_by(|a, b| b.1.positions.cmp(&a.1.positions).then_with(|| a.0.cmp(&b.0)));
    combinations.truncate(COMBINATIONS);
    let parameters = parameters.into_iter().enumerate().filter(|(_, total)| total.positions > 0);
    let share = |count: u64| count as f64 / values.len() as f64;
    Some(FactorDiagnostics {
        formula,
        present: values.len() as f64 / observed.len() as f64,
        at_min: at_min.map(share),
        at_max: at_max.map(share),
        histogram: histogram::of_pairs(&values),
        combinations: combinations
            .into_iter()
            .map(|(key, total)| total.group(key.into_iter().map(|f| name(usize::from(f))).collect()))
            .collect(),
        combination_count,
        parameters: parameters.map(|(feature, total)| total.group(vec![name(feature)])).collect(),
    })
}
