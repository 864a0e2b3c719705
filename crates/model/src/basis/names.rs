//! Parameters by name: the meaning of `knight_f3.mg`, `knight_f3`, `knight.eg`, `knight_f*` and `*`.

use std::collections::HashMap;

use crate::feature_set::FeatureSet;
use gputexel_io::{did_you_mean, matches_pattern};

pub(super) struct ParameterNames<'a> {
    features: HashMap<&'a str, u32>,
    groups: HashMap<&'a str, Vec<u32>>,
    count: u32,
}

impl<'a> ParameterNames<'a> {
    pub(super) fn new(set: &'a FeatureSet) -> Self {
        let features = (0..).zip(&set.features).map(|(id, feature)| (feature.name.as_str(), id)).collect();
        Self { features, groups: set.grouped().into_iter().collect(), count: set.features.len() as u32 }
    }

    /// The indices of θ that a name refers to, ascending: a feature, a table, or the features whose names
    /// match a pattern, in one phase if followed by `.mg` or `.eg`, otherwise in both. `None` if there are
    /// none.
    pub(super) fn find(&self, name: &str) -> Option<Vec<u32>> {
        let (stem, phases) = match (name.strip_suffix(".mg"), name.strip_suffix(".eg")) {
            (Some(stem), _) => (stem, 0..1),
            (_, Some(stem)) => (stem, 1..2),
            _ => (name, 0..2),
        };
        let ids = match (self.features.get(stem), self.groups.get(stem)) {
            (Some(&id), _) => vec![id],
            (None, Some(group)) => group.clone(),
            (None, None) => self.matching(stem)?,
        };
        Some(phases.flat_map(|phase| ids.iter().map(move |id| phase * self.count + id)).collect())
    }

    fn matching(&self, pattern: &str) -> Option<Vec<u32>> {
        if !pattern.contains(['*', '?']) {
            return None;
        }
        let features = self.features.iter().filter(|(name, _)| matches_pattern(pattern, name));
        let mut ids: Vec<u32> = features.map(|(_, &id)| id).collect();
        ids.sort_unstable();
        (!ids.is_empty()).then_some(ids)
    }

    pub(super) fn near(&self, name: &str, others: impl IntoIterator<Item = String>) -> String {
        let ending = [".mg", ".eg"].into_iter().find(|ending| name.ends_with(ending)).unwrap_or_default();
        let known = self.features.keys().chain(self.groups.keys()).map(|known| format!("{known}{ending}"));
        did_you_mean(name, known.chain(others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::FeatureKind;
    use gputexel_chess::PhaseSettings;

    #[test]
    fn names_stand_for_features_tables_and_phases() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let names = ParameterNames::new(&set);
        assert_eq!(names.find("pawn_b1.mg").unwrap(), [1]);
        assert_eq!(names.find("pawn_b1").unwrap(), [1, 385]);
        assert_eq!(names.find("knight.eg").unwrap(), (448..512).collect::<Vec<u32>>());
        assert_eq!(names.find("*").unwrap().len(), 768);
        assert_eq!(names.find("pawn_?1.mg").unwrap(), (0..8).collect::<Vec<u32>>());
        assert_eq!(names.find("*_A1.eg").unwrap(), (384..768).step_by(64).collect::<Vec<u32>>());
        for name in ["", "knigth", "knight_f9", "knight.xg", ".mg", "*.*", "x*"] {
            assert_eq!(names.find(name), None, "{name}");
        }
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert_eq!(ParameterNames::new(&set).find("knight").unwrap(), [1, 7]);
    }
}
