//! Diagnostics of a result, as plain data: predictions compared with results, and the nonlinear parts of an
//! evaluation.

use gputexel_model::program::TermActivity;
use serde::Serialize;

/// Predictions compared with results, for training and held-out positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    pub sets: Vec<SetDiagnostics>,
    pub phase_max: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetDiagnostics {
    pub held_out: bool,
    pub positions: u64,
    pub loss: f64,
    pub prior_loss: f64,
    /// Standard error of the difference of the two, treating games as independent.
    pub change_error: f64,
    /// Calibration over all phases, then in the opening, the middlegame and the endgame.
    pub calibration: Vec<Calibration>,
    /// Residuals by phase units, ascending; units without positions are left out.
    pub by_phase: Vec<Residual>,
    /// Residuals by number of pieces, ascending; empty if it cannot be derived from the rows.
    pub by_pieces: Vec<Residual>,
}

/// Predicted and actual scores of the positions in a range of phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    pub phases: (u16, u16),
    /// Deciles of the positions by prediction, lowest first; fewer bins if there are few positions.
    pub bins: Vec<CalibrationBin>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    pub positions: u64,
    /// Weighted mean of the predicted scores, 0 to 1.
    pub predicted: f64,
    pub actual: f64,
    pub error: f64,
}

/// The mean deviation of results from predictions, for positions with a common property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// The common property: phase units, or number of pieces.
    pub key: u32,
    pub positions: u64,
    /// Weighted mean of result − prediction, White's view.
    pub mean: f64,
    pub error: f64,
    /// Weighted mean of (result − prediction) from the view of the side predicted to win. Positive for
    /// underconfident evaluations, negative for overconfident ones.
    pub boldness: f64,
    pub boldness_error: f64,
    pub loss: f64,
    pub prior_loss: f64,
}

/// Effects of a program under the prior and under the result. Pairs have the prior's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramDiagnostics {
    /// Number of positions examined, for everything but [`worth`](Self::worth).
    pub positions: u64,
    /// The sums that terms are functions of.
    pub sums: Vec<SumDiagnostics>,
    pub terms: Vec<TermDiagnostics>,
    pub adjustments: Vec<AdjustmentDiagnostics>,
    pub factor: Option<FactorDiagnostics>,
    pub worth: Worth,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SumDiagnostics {
    pub name: String,
    pub sides: bool,
    pub present: f64,
    /// The sums of those that have it, in their own units.
    pub histogram: Histogram,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermDiagnostics {
    pub formula: String,
    /// Index of its sum among the [sums](ProgramDiagnostics::sums).
    pub sum: usize,
    pub activity: [TermActivity; 2],
    /// Its value for White at the edges of its sum's histogram, centipawns. The two differ only if it is a
    /// product, whose other factor is at its mean.
    pub response: [Vec<f64>; 2],
    /// Mean size of what it adds for a side that has it, centipawns;
    pub mean_size: [f64; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdjustmentDiagnostics {
    pub formula: String,
    pub present: f64,
    /// Of those, the share in which it cuts a nonzero value to 0.
    pub cut: [f64; 2],
    /// Distribution of the amount by which it changes the size of the value, centipawns, before it is cut.
    pub histogram: Histogram,
}

/// Numbers beyond the ends count in the first or last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Limits of the intervals, ascending, one more than there are intervals.
    pub edges: Vec<f64>,
    /// Share of the numbers in each interval, under the prior and under the result.
    pub shares: [Vec<f64>; 2],
    pub count: u64,
    pub means: [f64; 2],
}

/// Factors are shares: 1 leaves a value as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorDiagnostics {
    pub formula: String,
    /// Share of positions that have any of its sums; in the others it is 1.
    pub present: f64,
    pub at_min: [f64; 2],
    pub at_max: [f64; 2],
    pub histogram: Histogram,
    /// The most frequent combinations of parameters that count in one position, most frequent first.
    pub combinations: Vec<FactorGroup>,
    pub combination_count: usize,
    pub parameters: Vec<FactorGroup>,
}

/// Share of positions above which a factor at a limit causes a warning.
const MUCH: f64 = 1.0 / 3.0;

impl FactorDiagnostics {
    /// The limit, "smallest" or "largest", at which the result has the factor in more than a third of the positions
    /// that have it, and their share. These give no information about its parameters.
    pub fn often_at_limit(&self) -> Option<(&'static str, f64)> {
        let shares = [("smallest", self.at_min[1]), ("largest", self.at_max[1])];
        shares.into_iter().find(|(_, share)| *share > MUCH)
    }
}

/// Positions with the same parameters in the sum of the factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorGroup {
    pub names: Vec<String>,
    pub positions: u64,
    pub means: [f64; 2],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// True where losses are on held-out positions, false where they are on training positions.
    pub held_out: bool,
    pub positions: u64,
    pub loss: f64,
    /// Each part by itself in the order of the program, then the parts of each accumulator that has several, then
    /// all of them.
    pub parts: Vec<PartWorth>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartWorth {
    pub name: String,
    pub parts: usize,
    pub cost: f64,
    /// Standard error of `cost`, treating games as independent.
    pub error: f64,
}
