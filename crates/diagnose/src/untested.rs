//! Parameters whose values hide mistakes of a trace from a comparison of evaluations.

use serde::Serialize;

use gputexel_dataset::Dataset;
use gputexel_model::Phases;

/// Names of parameters that occur, but of which a mistake would change no evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Untested {
    /// The value is 0, so that a wrong count changes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub zero: Vec<String>,
    /// Middlegame and endgame values of the whole table are equal, so that a wrong phase changes nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_in_phases: Vec<String>,
}

impl Untested {
    pub(super) fn new(data: &Dataset, theta: &[f64]) -> Option<Self> {
        let set = &data.metadata().feature_set;
        let phases =
            |id: u32| set.imported.as_ref().map_or(Phases::Both, |all| all.parameters[id as usize].phases);
        let occurrences = data.occurrences();
        let values = |id: u32| [theta[id as usize], theta[id as usize + set.features.len()]];
        let mut out = Self::default();
        for table in set.tables() {
            let seen = table.features.iter().map(|one| one.0).filter(|&id| occurrences[id as usize] > 0);
            let (zero, others): (Vec<u32>, Vec<u32>) = seen.partition(|&id| values(id) == [0.0; 2]);
            let name = |id: u32| set.features[id as usize].name.clone();
            out.zero.extend(zero.into_iter().map(name));
            let same = |&id: &u32| values(id)[0] == values(id)[1] && phases(id) == Phases::Both;
            if others.iter().all(same) {
                out.same_in_phases.extend(others.into_iter().map(name));
            }
        }
        (out != Self::default()).then_some(out)
    }
}
