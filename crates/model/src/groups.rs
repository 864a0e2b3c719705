//! Numbers that each represent a group of parameters of the built-in engine: the meaning of `queen`,
//! `rook.mg` and `knight.f3`, and the effect of changing them on θ.

use super::FeatureSet;
use gputexel_io::{Error, Result};

/// The indices of θ that a name refers to, ascending; `None` if it refers to nothing.
///
/// Names and parameters are split at dots and underscores, ignoring case: `queen_e4.mg` has the segments
/// `queen`, `e4` and `mg`. A name refers to all parameters that contain its segments as a subsequence: `queen`
/// to all of the queen's, `queen.mg` to those of the middlegame, `e4.eg` to the endgame values of all pieces
/// on e4.
pub fn resolve(set: &FeatureSet, name: &str) -> Option<Vec<usize>> {
    let wanted = segments(name);
    if wanted.iter().any(String::is_empty) {
        return None;
    }
    let begins = |group: &&str| wanted.starts_with(&segments(group));
    let table = set.features.iter().map(|f| f.group.as_str()).filter(begins).max_by_key(|name| name.len());
    let search = |table: Option<&str>| -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for index in 0..2 * set.features.len() {
            if table.is_some_and(|table| set.features[index % set.features.len()].group != table) {
                continue;
            }
            let own = segments(&set.parameter_name(index));
            // Searching with one iterator, which continues after the last match, makes this a subsequence
            // test.
            let mut rest = own.iter();
            if wanted.iter().all(|segment| rest.any(|other| other == segment)) {
                found.push(index);
            }
        }
        (!found.is_empty()).then_some(found)
    };
    table.and_then(|table| search(Some(table))).or_else(|| search(None))
}

fn segments(name: &str) -> Vec<String> {
    name.split(['.', '_']).map(|segment| segment.trim().to_lowercase()).collect()
}

/// Parameter values controlled by a few numbers, each being the mean of the group of parameters that it
/// represents.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroups {
    theta: Vec<f64>,
    indices: Vec<Vec<usize>>,
}

impl ParameterGroups {
    /// Creates the groups that `names` refer to, with the values θ of a feature set (mg of every feature, then
    /// eg of every feature, centipawns).
    pub fn try_new<S: AsRef<str>>(set: &FeatureSet, theta: &[f64], names: &[S]) -> Result<Self> {
        assert_eq!(theta.len(), 2 * set.features.len());
        let mut owner: Vec<Option<&str>> = vec![None; theta.len()];
        let mut indices = Vec::with_capacity(names.len());
        for name in names.iter().map(AsRef::as_ref) {
            let Some(group) = resolve(set, name) else {
                return Err(Error::Usage(format!(
                    "parameter '{name}': the built-in engine's model '{}' has none of that name (queen, \
                     queen.mg or, of pst, queen.e4.mg)",
                    set.name()
                )));
            };
            for &index in &group {
                if let Some(other) = owner[index].replace(name) {
                    let shared = set.parameter_name(index);
                    return Err(Error::Usage(format!(
                        "parameters '{other}' and '{name}': both move {shared}"
                    )));
                }
            }
            indices.push(group);
        }
        Ok(Self { theta: theta.to_vec(), indices })
    }

    pub fn len(&self) -> usize {
        self.indices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    pub fn indices(&self) -> &[Vec<usize>] {
        &self.indices
    }

    /// The value of each group: the mean of its parameters, centipawns.
    pub fn means(&self) -> Vec<f64> {
        let mean =
            |group: &Vec<usize>| group.iter().map(|&i| self.theta[i]).sum::<f64>() / group.len() as f64;
        self.indices.iter().map(mean).collect()
    }

    /// θ with every group shifted as a whole so that its mean becomes the given value.
    pub fn theta(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.len());
        let mut theta = self.theta.clone();
        for ((group, mean), value) in self.indices.iter().zip(self.means()).zip(values) {
            for &index in group {
                // A single parameter is assigned directly, without the rounding error of a shift.
                theta[index] = if group.len() == 1 { *value } else { self.theta[index] + (value - mean) };
            }
        }
        theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::FeatureKind;
    use crate::playing::named_parameters;
    use gputexel_chess::PhaseSettings;

    fn pst() -> FeatureSet {
        FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
    }

    #[test]
    fn names_stand_for_what_they_are_a_part_of() {
        let (material, _) = named_parameters("material").unwrap();
        assert_eq!(resolve(&material, "queen").unwrap(), [4, 10]);
        assert_eq!(resolve(&material, "Queen.EG").unwrap(), [10]);
        assert_eq!(resolve(&material, "mg").unwrap(), [0, 1, 2, 3, 4, 5]);
        let pst = pst();
        assert_eq!(resolve(&pst, "queen.e4.mg").unwrap(), [4 * 64 + 28]);
        assert_eq!(resolve(&pst, "queen_e4.mg").unwrap(), [4 * 64 + 28]);
        assert_eq!(resolve(&pst, "queen.eg").unwrap(), (384 + 256..384 + 320).collect::<Vec<_>>());
        assert_eq!(resolve(&pst, "e4.mg").unwrap(), [28, 92, 156, 220, 284, 348]);
        // Wrong order, unknown, incomplete segments, empty.
        for name in ["mg.queen", "quee", "queen.e9", "queen.queen", "", ".", "queen.", "queen..mg", "a b"] {
            assert_eq!(resolve(&pst, name), None, "{name}");
        }
    }

    #[test]
    fn tables_come_before_what_is_named_after_them() {
        let set = FeatureSet::new(FeatureKind::Classical, PhaseSettings::default());
        let count = set.features.len();
        let groups = |name: &str| -> Vec<&str> {
            let mut groups: Vec<&str> = resolve(&set, name)
                .unwrap_or_default()
                .into_iter()
                .map(|index| set.features[index % count].group.as_str())
                .collect();
            groups.dedup();
            groups
        };
        assert_eq!(resolve(&set, "queen.mg").unwrap(), (256..320).collect::<Vec<_>>());
        assert_eq!(groups("queen.mobility.mg"), ["queen_mobility"]);
        assert_eq!(groups("queen_threat_defended.eg"), ["queen_threat"]);
        assert_eq!(groups("knight_outpost.mg"), ["outpost"]);
        let all = ["knight_mobility", "bishop_mobility", "rook_mobility", "queen_mobility"];
        assert_eq!(groups("mobility.mg"), all);
        assert_eq!(groups("queen.rank3"), [""; 0]);
    }

    #[test]
    fn groups_are_shifted_as_a_whole() {
        let set = pst();
        let theta: Vec<f64> = (0..768).map(f64::from).collect();
        let groups = ParameterGroups::try_new(&set, &theta, &["queen.mg", "pawn.e4.eg"]).unwrap();
        assert_eq!((groups.len(), groups.is_empty()), (2, false));
        assert_eq!(groups.means(), [256.0 + 31.5, 384.0 + 28.0]);
        assert_eq!(groups.theta(&groups.means()), theta);
        let moved = groups.theta(&[300.0, -7.25]);
        for (index, (new, old)) in moved.iter().zip(&theta).enumerate() {
            let expected = match index {
                256..320 => old + 12.5,
                412 => -7.25,
                _ => *old,
            };
            assert_eq!(*new, expected, "{index}");
        }
    }

    #[test]
    fn unknown_and_overlapping_names_are_refused() {
        let set = pst();
        let error =
            |names: &[&str]| ParameterGroups::try_new(&set, &[0.0; 768], names).unwrap_err().to_string();
        assert!(error(&["quen"]).starts_with("parameter 'quen': the built-in engine's model 'pst' has none"));
        assert_eq!(error(&["queen", "e4.eg"]), "parameters 'queen' and 'e4.eg': both move queen_e4.eg");
        assert_eq!(error(&["queen", "queen"]), "parameters 'queen' and 'queen': both move queen_a1.mg");
    }
}
