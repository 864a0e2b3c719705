//! Worth of the pieces before and after a run.

use gputexel_model::ROLE_NAMES;
use serde::Serialize;

use crate::tuned::Tuned;

/// Fall of a piece's worth that is reported, as a share of its worth before.
const FALL: f64 = 0.25;

/// Mean value of a piece over its squares, each as often as positions have the piece there; centipawns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PieceWorth {
    pub piece: &'static str,
    pub before: [f64; 2],
    pub after: [f64; 2],
}

impl PieceWorth {
    /// Returns true if the worth in a phase (0 is the middlegame) fell by a quarter or more.
    pub fn falls(&self, phase: usize) -> bool {
        self.before[phase] > 0.0 && self.after[phase] <= (1.0 - FALL) * self.before[phase]
    }
}

impl Tuned {
    /// Returns the worth of pawns to queens, as far as the features have values of them: tables or counts named after
    /// the piece.
    pub fn pieces(&self) -> Vec<PieceWorth> {
        let features = &self.features.features;
        let worth = |piece: &&'static str| {
            let is_own = |&id: &usize| features[id].group == **piece || features[id].name == **piece;
            let own: Vec<usize> =
                (0..features.len()).filter(is_own).filter(|&id| self.occurrences[id] > 0).collect();
            let total: f64 = own.iter().map(|&id| self.occurrences[id] as f64).sum();
            let mean = |theta: &[f64], first: usize| {
                own.iter().map(|&id| self.occurrences[id] as f64 * theta[first + id]).sum::<f64>() / total
            };
            let both = |theta: &[f64]| [mean(theta, 0), mean(theta, features.len())];
            let (before, after) = (both(&self.config().prior_theta), both(self.parameters()));
            (!own.is_empty()).then_some(PieceWorth { piece, before, after })
        };
        ROLE_NAMES[..5].iter().filter_map(worth).collect()
    }
}
