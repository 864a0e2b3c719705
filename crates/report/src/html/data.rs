//! Contents of a page, as plain data: names, numbers and texts. Nothing here is computed or escaped; the page escapes.

use crate::{Conclusion, Diagnostics, ProgramDiagnostics};

/// Everything that a report shows. Anything empty or `None` is left out or reported as missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// Title, such as `tune runs/first`.
    pub title: String,
    /// Status: finished and why, or the progress so far.
    pub status: String,
    /// True once the numbers are final.
    pub final_: bool,
    /// True while the run is in progress. One that is neither final nor running was interrupted.
    pub running: bool,
    /// Maximum remaining seconds of a run in progress, if known.
    pub remaining_seconds: Option<f64>,
    /// What the run found out, once it has ended.
    pub conclusion: Option<Conclusion>,
    /// Headline figures: name and value.
    pub facts: Vec<(String, String)>,
    /// The run step by step.
    pub steps: Vec<Step>,
    /// Name of a step: epoch, iteration.
    pub step_name: String,
    /// Name of the first loss of a step, which may contain regularization.
    pub loss_name: String,
    /// Features with their two values.
    pub parameters: Vec<Parameter>,
    /// Name of [`Parameter::reference`]: the prior.
    pub reference: String,
    /// Number of positions below which a feature is called rare.
    pub rare: u64,
    /// Coordinates that were tuned, if they are not the parameters themselves.
    pub coordinates: Vec<CoordinateValue>,
    /// Values with the most correlated errors, if errors are known.
    pub correlations: Option<Table>,
    /// Regularization toward the prior.
    pub strength: Option<StrengthReport>,
    /// Source of the standard errors; empty if there are none.
    pub errors_note: String,
    /// Diagnostics of the result on the positions.
    pub diagnostics: Option<Diagnostics>,
    /// The positions that the result gets most wrong.
    pub worst: Option<WorstPositions>,
    /// Diagnostics of the nonlinear parts of the evaluation, if there are any.
    pub program: Option<ProgramDiagnostics>,
    /// Reason why there are no diagnostics.
    pub diagnostics_note: String,
    /// The sweep, if this is one.
    pub sweep: Option<SweepReport>,
    /// The configuration: name and value.
    pub configuration: Vec<(String, String)>,
    /// Inputs with checksums.
    pub inputs: Option<Table>,
    /// The record of the run, for reading.
    pub record: String,
}

/// The positions with the largest errors, and what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorstPositions {
    /// True if they are held out, false if they are training positions.
    pub is_held_out: bool,
    /// Number of positions judged.
    pub positions: u64,
    /// Number of the worst that [`shared`](Self::shared) is about, one per game.
    pub worst: u64,
    /// What the dataset does not record about positions; may be empty.
    pub note: String,
    /// Properties that are more frequent among the worst.
    pub shared: Vec<SharedTrait>,
    /// The worst, the largest error first.
    pub shown: Vec<WorstPosition>,
}

/// A property of positions: its share among the worst, and among all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedTrait {
    /// Its kind: `phase`, `material`, `term`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Share of the worst positions that have it, 0 to 1.
    pub worst: f64,
    /// Share of all positions.
    pub all: f64,
    /// Standard error of [`worst`](Self::worst) if it were the same as among all.
    pub error: f64,
}

impl SharedTrait {
    /// Returns by how many standard errors the share among the worst exceeds that among all.
    pub fn excess(&self) -> f64 {
        let difference = self.worst - self.all;
        if self.error > 0.0 { difference / self.error } else { 0.0 }
    }
}

/// A position and its error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorstPosition {
    /// The position, if the dataset has boards.
    pub fen: Option<String>,
    /// Its number in the dataset, from 1.
    pub number: u64,
    /// Number of its game, from 1, if the dataset has games.
    pub game: Option<u64>,
    /// Its score, centipawns, White's view.
    pub score: f64,
    /// The result that the score predicts, White's view, 0 to 1.
    pub predicted: f64,
    /// Its target.
    pub target: f64,
    /// Contributions to the score, centipawns, White's view: the largest first. In a comparison, their changes.
    pub terms: Vec<(String, f64)>,
    /// In a comparison, the score of the first set of parameters and the result that it predicts.
    pub first: Option<(f64, f64)>,
}

/// A step of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its number, from 1.
    pub number: u64,
    /// Training loss.
    pub loss: f64,
    /// Held-out loss, if positions are held out.
    pub held_out: Option<f64>,
    /// Largest component of the gradient.
    pub gradient: Option<f64>,
    /// Seconds since the start.
    pub seconds: f64,
    /// Results of the swarms, if there are swarms.
    pub swarms: Option<Swarms>,
}

/// Swarms at a step, by their lowest losses so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swarms {
    /// Each swarm's best, if there are few.
    pub each: Vec<f64>,
    /// Median of the swarms.
    pub median: f64,
    /// The worst of the swarms.
    pub worst: f64,
    /// Particles that died so far.
    pub deaths: u64,
    /// Swarms restarted so far.
    pub restarts: u64,
}

/// A feature and its two parameters, in centipawns unless it is [summed](Self::summed) separately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Middlegame and endgame value.
    pub values: [f64; 2],
    /// Values to compare with.
    pub reference: Option<[f64; 2]>,
    /// Standard errors.
    pub errors: [Option<f64>; 2],
    /// Number of positions that have the feature.
    pub support: Option<u64>,
    /// For a parameter of accumulators, whose values are in units of their sums: which of its two values are used.
    pub summed: Option<[bool; 2]>,
}

impl Parameter {
    /// Returns the unit of its values.
    pub fn unit(&self) -> &'static str {
        if self.summed.is_some() { "in units of their sum" } else { "centipawns" }
    }

    /// Returns true if a value is not used in any computation.
    pub fn is_unread(&self, phase: usize) -> bool {
        let is_0 = self.values[phase] == 0.0 && self.reference.is_none_or(|values| values[phase] == 0.0);
        is_0 && self.summed.is_some_and(|used| !used[phase])
    }
}

/// A coordinate of a basis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoordinateValue {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its lower bound.
    pub min: Option<f64>,
    /// Its upper bound.
    pub max: Option<f64>,
    /// Its standard error.
    pub error: Option<f64>,
}

/// Regularization toward the prior and its effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrengthReport {
    /// Notes, one sentence or two each.
    pub notes: Vec<String>,
    /// Figures of the choice: name and value.
    pub facts: Vec<(String, String)>,
    /// The penalties.
    pub penalties: Vec<PenaltyRow>,
    /// Held-out loss by factor on all weights, ascending.
    pub curve: Vec<(f64, f64)>,
    /// Held-out loss of the prior.
    pub prior_loss: Option<f64>,
    /// Values without penalties, in the order of the parameters; or empty.
    pub unpenalized: Vec<[f64; 2]>,
    /// Worth of each group of features.
    pub ablation: Option<Table>,
}

/// Penalties of a kind that have one weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PenaltyRow {
    /// Their kind.
    pub name: String,
    /// Effect as a sentence.
    pub meaning: String,
    /// Their groups, unless obvious.
    pub of: String,
    /// Their weight.
    pub weight: f64,
    /// Increase of the held-out loss without them.
    pub worth: Option<f64>,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, as long as the header.
    pub rows: Vec<Vec<String>>,
}

/// A sweep: settings ranked by their held-out loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepReport {
    /// The loss by which settings are ranked.
    pub judge: String,
    /// Axes that are varied.
    pub axes: Vec<SweepAxis>,
    /// Settings, the best first.
    pub settings: Vec<SweepSetting>,
}

/// One thing that a sweep varies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepAxis {
    /// Its name.
    pub name: String,
    /// Its values as texts.
    pub labels: Vec<String>,
    /// Its values, if they are numbers.
    pub numbers: Option<Vec<f64>>,
}

/// One combination of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSetting {
    /// Index of the value of each axis.
    pub indices: Vec<usize>,
    /// Mean held-out loss and its standard error.
    pub held_out: (f64, f64),
    /// Mean difference to the best and its standard error.
    pub over_best: (f64, f64),
    /// True if it is statistically tied with the best.
    pub tied: bool,
    /// Mean training loss.
    pub training: f64,
}

/// Two sets of parameters side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Names of both.
    pub names: [String; 2],
    /// Headline figures.
    pub facts: Vec<(String, String)>,
    /// Losses on datasets.
    pub losses: Option<Table>,
    /// Positions where the first predicts much better than the second, and those where the second does.
    pub disagreements: [Vec<WorstPosition>; 2],
    /// Features of both: values of the second, and those of the first as the reference. Errors are
    /// those of the difference.
    pub parameters: Vec<Parameter>,
    /// Largest changes.
    pub largest: Table,
    /// Parameters that only one of them has.
    pub only: [Vec<String>; 2],
    /// Note about the errors.
    pub errors_note: String,
}
