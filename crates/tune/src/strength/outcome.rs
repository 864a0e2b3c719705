use serde::{Deserialize, Serialize};

use gputexel_model::{Penalty, PenaltyKind};

/// The weight of a kind of penalty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindStrength {
    pub kind: PenaltyKind,
    pub weight: f64,
    /// The weight that the other folds choose, for each fold: with them, held-out losses are computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_fold: Vec<f64>,
}

/// Loss of held-out positions before and after.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOutGain {
    /// Loss of the prior.
    pub before: f64,
    /// Loss of every position under parameters, and weights of penalties, found without its fold.
    pub after: f64,
    /// Standard error of the difference of the two, by game.
    pub error: f64,
}

/// The chosen weights, and their effects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strength {
    /// Number of folds; 0 if there was nothing to hold out.
    pub folds: usize,
    /// True if folds consist of games, not of positions.
    pub by_game: bool,
    /// Number of games, or of positions.
    pub clusters: u64,
    /// The kinds of penalties, with weights.
    pub kinds: Vec<KindStrength>,
    /// Gain over the prior on held-out positions, if there were any.
    pub gain: Option<HeldOutGain>,
    pub effective: f64,
    pub coordinates: usize,
    /// True if nothing was better than the prior, which is therefore kept.
    pub keeps_prior: bool,
}

#[derive(Clone, Debug)]
pub struct StrengthChoice {
    /// The weights, and their effects.
    pub strength: Strength,
    pub penalties: Vec<Penalty>,
    /// z near the optimum with them.
    pub z: Vec<f64>,
    /// Warnings about the choice, one line each.
    pub warnings: Vec<String>,
}
