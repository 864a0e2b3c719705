//! Contents of a page, as plain data: names, numbers and texts. Nothing here is computed or escaped; the page
//! escapes.

use crate::conclusion::Conclusion;
use crate::diagnostics::{Diagnostics, ProgramDiagnostics};
use gputexel_model::PieceWorth;

/// Anything empty or `None` is left out or reported as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    pub title: String,
    pub status: String,
    pub final_: bool,
    pub running: bool,
    /// Maximum remaining seconds of a run in progress, if known.
    pub remaining_seconds: Option<f64>,
    /// What the run found out, once it has ended.
    pub conclusion: Option<Conclusion>,
    pub facts: Vec<(String, String)>,
    pub steps: Vec<Step>,
    pub step_name: String,
    pub loss_name: String,
    pub parameters: Vec<Parameter>,
    pub worth: Vec<PieceWorth>,
    pub reference: String,
    pub coordinates: Vec<CoordinateValue>,
    /// Values with the most correlated errors, if errors are known.
    pub correlations: Option<Table>,
    pub strength: Option<StrengthReport>,
    /// Source of the standard errors; empty if there are none.
    pub errors_note: String,
    pub diagnostics: Option<Diagnostics>,
    pub worst: Option<WorstPositions>,
    pub program: Option<ProgramDiagnostics>,
    pub diagnostics_note: String,
    pub sweep: Option<SweepReport>,
    pub configuration: Vec<(String, String)>,
    pub inputs: Option<Table>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorstPositions {
    pub is_held_out: bool,
    pub positions: u64,
    /// Number of the worst that [`shared`](Self::shared) is about, one per game.
    pub worst: u64,
    /// What the dataset does not record about positions; may be empty.
    pub note: String,
    /// Properties that are more frequent among the worst.
    pub shared: Vec<SharedTrait>,
    pub shown: Vec<WorstPosition>,
}

/// A property of positions: its share among the worst, and among all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedTrait {
    pub kind: &'static str,
    pub name: String,
    /// Share of the worst positions that have it, 0 to 1.
    pub worst: f64,
    pub all: f64,
    /// Standard error of [`worst`](Self::worst) if it were the same as among all.
    pub error: f64,
}

impl SharedTrait {
    /// By how many standard errors the share among the worst exceeds that among all.
    pub fn excess(&self) -> f64 {
        let difference = self.worst - self.all;
        if self.error > 0.0 { difference / self.error } else { 0.0 }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorstPosition {
    pub fen: Option<String>,
    /// Its number in the dataset, from 1.
    pub number: u64,
    /// Number of its game, from 1, if the dataset has games.
    pub game: Option<u64>,
    /// Its score, centipawns, White's view.
    pub score: f64,
    /// The result that the score predicts, White's view, 0 to 1.
    pub predicted: f64,
    pub target: f64,
    /// Contributions to the score, centipawns, White's view: the largest first.
    pub terms: Vec<(String, f64)>,
    /// In a comparison, the score of the first set of parameters and the result that it predicts.
    pub first: Option<(f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub number: u64,
    pub loss: f64,
    pub held_out: Option<f64>,
    pub gradient: Option<f64>,
    pub seconds: f64,
    /// Results of the swarms, if there are swarms.
    pub swarms: Option<Swarms>,
}

/// Swarms at a step, by their lowest losses so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swarms {
    pub each: Vec<f64>,
    pub median: f64,
    pub worst: f64,
    pub deaths: u64,
    /// Swarms restarted so far.
    pub restarts: u64,
}

/// A feature and its two parameters, in centipawns unless it is [summed](Self::summed) separately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub group: String,
    pub values: [f64; 2],
    pub reference: Option<[f64; 2]>,
    pub errors: [Option<f64>; 2],
    pub support: Option<u64>,
    /// For a parameter of accumulators, whose values are in units of their sums: which of its two values are
    /// used.
    pub summed: Option<[bool; 2]>,
    /// Its square, from 0 for a1 to 63 for h8, if its name does not say it.
    pub square: Option<usize>,
}

impl Parameter {
    pub fn unit(&self) -> &'static str {
        if self.summed.is_some() { "in units of their sum" } else { "centipawns" }
    }

    pub fn is_unread(&self, phase: usize) -> bool {
        let is_0 = self.values[phase] == 0.0 && self.reference.is_none_or(|values| values[phase] == 0.0);
        is_0 && self.summed.is_some_and(|used| !used[phase])
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoordinateValue {
    pub name: String,
    pub value: f64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub error: Option<f64>,
}

/// Regularization toward the prior and its effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrengthReport {
    pub notes: Vec<String>,
    pub facts: Vec<(String, String)>,
    pub penalties: Vec<PenaltyRow>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PenaltyRow {
    pub name: String,
    pub meaning: String,
    /// Their groups, unless obvious.
    pub of: String,
    pub weight: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A sweep: settings ranked by their held-out loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepReport {
    pub judge: String,
    pub axes: Vec<SweepAxis>,
    pub settings: Vec<SweepSetting>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepAxis {
    pub name: String,
    pub labels: Vec<String>,
    pub numbers: Option<Vec<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSetting {
    pub indices: Vec<usize>,
    pub held_out: (f64, f64),
    pub over_best: (f64, f64),
    pub tied: bool,
    pub training: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub names: [String; 2],
    pub facts: Vec<(String, String)>,
    pub losses: Option<Table>,
    /// Positions where the first predicts much better than the second, and those where the second does.
    pub disagreements: [Vec<WorstPosition>; 2],
    /// Features of both: values of the second, and those of the first as the reference.
    pub parameters: Vec<Parameter>,
    pub worth: Vec<PieceWorth>,
    pub only: [Vec<String>; 2],
    pub errors_note: String,
}
