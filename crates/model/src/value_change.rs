//! Changes of values that no position supports, for reports.

use serde::Serialize;

use crate::feature_set::FeatureSet;

/// The values of a feature before and after, centipawns: middlegame and endgame.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueChange {
    pub name: String,
    pub from: [f64; 2],
    pub to: [f64; 2],
}

impl ValueChange {
    /// The changes of the features `which`, by id, between two vectors θ: middlegame values of all features,
    /// then their endgame values.
    pub fn of(set: &FeatureSet, which: impl Iterator<Item = usize>, from: &[f64], to: &[f64]) -> Vec<Self> {
        let count = set.features.len();
        let values = |theta: &[f64], id: usize| [theta[id], theta[count + id]];
        which
            .map(|id| Self {
                name: set.features[id].name.clone(),
                from: values(from, id),
                to: values(to, id),
            })
            .collect()
    }

    pub fn is_change(&self) -> bool {
        self.from != self.to
    }
}

/// Formats as `knight_a8 (mg 0 -> -12, eg 0 -> -5.5)`; values that did not change are left out.
impl std::fmt::Display for ValueChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tenths = |value: f64| (10.0 * value).round() / 10.0;
        let phases = ["mg", "eg"].into_iter().zip(self.from.iter().zip(&self.to));
        let changed = phases.filter(|(_, (from, to))| from != to);
        let texts: Vec<String> = changed
            .map(|(phase, (from, to))| format!("{phase} {} -> {}", tenths(*from), tenths(*to)))
            .collect();
        write!(f, "{} ({})", self.name, texts.join(", "))
    }
}
