//! Diagnostics of a result, as plain data: predictions compared with results, and the nonlinear parts of an evaluation.

use gputexel_model::program::TermActivity;
use serde::Serialize;

/// Predictions compared with results, for training and held-out positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// The training positions, then the held-out ones, if any.
    pub sets: Vec<SetDiagnostics>,
    /// The loss around the K of the run.
    pub scale: ScaleNeighborhood,
    /// Phase units of the opening.
    pub phase_max: u16,
}

/// Diagnostics of a set of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct SetDiagnostics {
    /// True for held-out positions.
    pub held_out: bool,
    /// Number of positions.
    pub positions: u64,
    /// Mean loss of the result.
    pub loss: f64,
    /// Mean loss of the prior.
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
    /// Lowest and highest phase units.
    pub phases: (u16, u16),
    /// Deciles of the positions by prediction, lowest first; fewer bins if there are few positions.
    pub bins: Vec<CalibrationBin>,
}

/// The loss as a function of K around the K of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleNeighborhood {
    /// The K of the run, base-10 form.
    pub k: f64,
    /// K (ascending), loss of the result, loss of the prior.
    pub points: Vec<(f64, f64, f64)>,
    /// Number of training positions used for the losses.
    pub positions: u64,
}

/// Positions with similar predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// Number of positions.
    pub positions: u64,
    /// Weighted mean of the predicted scores, 0 to 1.
    pub predicted: f64,
    /// Weighted mean of the results.
    pub actual: f64,
    /// Standard error of `actual - predicted`.
    pub error: f64,
}

/// The mean deviation of results from predictions, for positions with a common property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// The common property: phase units, or number of pieces.
    pub key: u32,
    /// Number of positions.
    pub positions: u64,
    /// Weighted mean of result − prediction, White's view.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Weighted mean of (result − prediction) from the view of the side predicted to win. Positive for
    /// underconfident evaluations, negative for overconfident ones.
    pub boldness: f64,
    /// Standard error of `boldness`.
    pub boldness_error: f64,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the prior.
    pub prior_loss: f64,
}

/// Effects of a program under the prior and under the result. Pairs have the prior's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramDiagnostics {
    /// Number of positions examined, for everything but [`worth`](Self::worth).
    pub positions: u64,
    /// The sums that terms are functions of.
    pub sums: Vec<SumDiagnostics>,
    /// The terms.
    pub terms: Vec<TermDiagnostics>,
    /// The adjustments, in their order.
    pub adjustments: Vec<AdjustmentDiagnostics>,
    /// The factor, if there is one.
    pub factor: Option<FactorDiagnostics>,
    /// Worth of the parts.
    pub worth: Worth,
}

/// Distribution of a value of an accumulator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SumDiagnostics {
    /// Accumulator and value, such as `danger.mg`.
    pub name: String,
    /// True where each side has a sum of its own; both are pooled.
    pub sides: bool,
    /// Share of positions in which either side has it.
    pub present: f64,
    /// The sums of those that have it, in their own units.
    pub histogram: Histogram,
}

/// Effect of a term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermDiagnostics {
    /// Formula for people.
    pub formula: String,
    /// Index of its sum among the [sums](ProgramDiagnostics::sums).
    pub sum: usize,
    /// Activity of the term.
    pub activity: [TermActivity; 2],
    /// Its value for White at the edges of its sum's histogram, centipawns. The two differ only if it is a
    /// product, whose other factor is at its mean.
    pub response: [Vec<f64>; 2],
    /// Mean size of what it adds for a side that has it, centipawns; NaN if none has.
    pub mean_size: [f64; 2],
}

/// Effect of an adjustment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdjustmentDiagnostics {
    /// Formula for people.
    pub formula: String,
    /// Share of positions that have its sum.
    pub present: f64,
    /// Of those, the share in which it cuts a nonzero value to 0.
    pub cut: [f64; 2],
    /// Distribution of the amount by which it changes the size of the value, centipawns, before it is cut.
    pub histogram: Histogram,
}

/// Histogram with intervals of equal width. Numbers beyond the ends count in the first or last interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Limits of the intervals, ascending, one more than there are intervals.
    pub edges: Vec<f64>,
    /// Share of the numbers in each interval, under the prior and under the result.
    pub shares: [Vec<f64>; 2],
    /// Number of values.
    pub count: u64,
    /// Their means; NaN if there are none.
    pub means: [f64; 2],
}

/// Effect of a factor. Factors are shares: 1 leaves a value as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorDiagnostics {
    /// Formula for people.
    pub formula: String,
    /// Share of positions that have any of its sums; in the others it is 1.
    pub present: f64,
    /// Of those, the share in which it is at its smallest value.
    pub at_min: [f64; 2],
    /// Of those, the share in which it is at its largest value.
    pub at_max: [f64; 2],
    /// Its distribution in them.
    pub histogram: Histogram,
    /// The most frequent combinations of parameters that count in one position, most frequent first.
    pub combinations: Vec<FactorGroup>,
    /// Number of different combinations.
    pub combination_count: usize,
    /// Each parameter that counts anywhere, in the order of features.
    pub parameters: Vec<FactorGroup>,
}

/// Share of positions above which a factor at its largest value causes a warning.
const MUCH: f64 = 1.0 / 3.0;

impl FactorDiagnostics {
    /// Returns true if the result has the factor at its largest value in more than a third of the positions that have
    /// it. These give no information about its parameters.
    pub fn is_often_at_max(&self) -> bool {
        self.at_max[1] > MUCH
    }
}

/// Positions with the same parameters in the sum of the factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorGroup {
    /// The parameters.
    pub names: Vec<String>,
    /// Number of positions.
    pub positions: u64,
    /// Mean factor.
    pub means: [f64; 2],
}

/// Worth of parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// True where losses are on held-out positions, false where they are on training positions.
    pub held_out: bool,
    /// Number of positions.
    pub positions: u64,
    /// Mean loss of the result on them.
    pub loss: f64,
    /// Each part by itself in the order of the program, then the parts of each accumulator that has several, then
    /// all of them. Empty without positions.
    pub parts: Vec<PartWorth>,
}

/// Worth of one or more parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartWorth {
    /// Name of the parts that are left out.
    pub name: String,
    /// Number of those parts.
    pub parts: usize,
    /// Increase of the loss without them. The rest is not tuned again, which would recover some of it.
    pub cost: f64,
    /// Standard error of `cost`, treating games as independent.
    pub error: f64,
}
