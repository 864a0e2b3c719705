//! Contributions of groups of parameters, and of the parts of a program, to the score of a position.

use crate::program_diagnostics::part_name;
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{sums, taper};
use gputexel_model::SINGLE_VALUES;
use gputexel_model::program::CompiledProgram;

/// Groups of the parameters of a dataset, and the parts of its program.
pub(super) struct Contributions<'a> {
    data: &'a Dataset,
    groups: Vec<&'a str>,
    group_of: Vec<usize>,
    parts: Vec<(String, CompiledProgram)>,
}

impl<'a> Contributions<'a> {
    pub(super) fn new(data: &'a Dataset) -> Self {
        let set = &data.metadata().feature_set;
        let parts = data.program().map_or_else(Vec::new, |program| {
            let parts = program.parts().into_iter();
            parts.map(|part| (part_name(program, part), program.without(&[part]))).collect()
        });
        let (mut groups, mut group_of) = (set.group_names(), set.group_indices());
        for (feature, group) in set.features.iter().zip(&mut group_of) {
            if groups[*group] == SINGLE_VALUES {
                *group = groups.len();
                groups.push(&feature.name);
            }
        }
        Self { data, groups, group_of, parts }
    }

    /// The contributions to the score of position `n`, centipawns, White's view, the largest first; without
    /// those that are 0.
    pub(super) fn of(&self, theta: &[f64], n: usize) -> Vec<(String, f64)> {
        sorted(self.all(theta, n))
    }

    /// The changes of contributions from the first θ to the second, as [`of`](Self::of).
    pub(super) fn changes(&self, thetas: [&[f64]; 2], n: usize) -> Vec<(String, f64)> {
        let [before, after] = thetas.map(|theta| self.all(theta, n));
        let both = before.into_iter().zip(after);
        sorted(both.map(|(before, (name, after))| (name, after - before.1)).collect())
    }

    fn all(&self, theta: &[f64], n: usize) -> Vec<(String, f64)> {
        let data = self.data;
        let (mg, eg) = theta.split_at(data.feature_count());
        let (mg_share, eg_share) = data.shares(n);
        let row = data.row(n);
        let mut by_group = vec![0.0; self.groups.len()];
        for (column, coefficient) in row.entries() {
            let id = usize::from(column);
            if let Some(&group) = self.group_of.get(id) {
                by_group[group] += f64::from(coefficient) * (mg_share * mg[id] + eg_share * eg[id]);
            }
        }
        let mut found: Vec<(String, f64)> =
            self.groups.iter().map(|name| (*name).to_string()).zip(by_group).collect();
        found.push(("constant part".to_string(), f64::from(row.offset)));
        if let Some(program) = data.program() {
            let (sums, present) = sums(data, program, theta, n);
            let score = |program: &CompiledProgram| program.score(&sums, present, taper(data, n));
            let whole = score(program);
            found.extend(self.parts.iter().map(|(name, without)| (name.clone(), whole - score(without))));
        }
        found
    }
}

fn sorted(mut found: Vec<(String, f64)>) -> Vec<(String, f64)> {
    found.retain(|(_, value)| value.is_finite() && value.abs() >= 0.05);
    found.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    found
}
