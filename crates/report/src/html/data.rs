//! What a page shows, as plain data: names, numbers and texts. Nothing here is decided, and nothing
//! is escaped; the page does that.

use crate::{Diagnostics, ProgramDiagnostics};

/// Everything that a report shows. What is empty or `None` is left out, or its absence is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// What was run, such as `tune runs/first`.
    pub title: String,
    /// How it stands: finished and why, or how far it has come.
    pub status: String,
    /// Whether the numbers do not change any more.
    pub final_: bool,
    /// Whether the run goes on right now; one that is neither final nor running was interrupted.
    pub running: bool,
    /// Seconds that a run under way will take yet at most, if that can be told.
    pub remaining_seconds: Option<f64>,
    /// Headline figures: name and value.
    pub facts: Vec<(String, String)>,
    /// What is to be noticed before anything is believed.
    pub warnings: Vec<String>,
    /// The run step by step.
    pub steps: Vec<Step>,
    /// What the steps are called: epoch, iteration.
    pub step_name: String,
    /// What the first loss of a step is called: it may contain regularization.
    pub loss_name: String,
    /// Features with their two values.
    pub parameters: Vec<Parameter>,
    /// What [`Parameter::reference`] is: the prior.
    pub reference: String,
    /// Positions below which a feature is called rare.
    pub rare: u64,
    /// What was tuned, where it was not every parameter by itself.
    pub coordinates: Vec<CoordinateValue>,
    /// Values whose errors go together most, if errors are known.
    pub correlations: Option<Table>,
    /// What holds the parameters to the prior.
    pub strength: Option<StrengthReport>,
    /// Where standard errors come from; empty where there are none.
    pub errors_note: String,
    /// What the result does on the positions.
    pub diagnostics: Option<Diagnostics>,
    /// What is not linear in the evaluation, if anything is.
    pub program: Option<ProgramDiagnostics>,
    /// Why there are no diagnostics.
    pub diagnostics_note: String,
    /// The sweep, where this is one.
    pub sweep: Option<SweepReport>,
    /// Rounds of positions resolved anew.
    pub rounds: Option<Table>,
    /// The configuration: name and value.
    pub configuration: Vec<(String, String)>,
    /// Inputs with checksums.
    pub inputs: Option<Table>,
    /// The record of the run, to be read by people.
    pub record: String,
}

/// A step of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its number, from 1.
    pub number: u64,
    /// Training loss.
    pub loss: f64,
    /// Held-out loss, where positions are held out.
    pub held_out: Option<f64>,
    /// Largest component of the gradient.
    pub gradient: Option<f64>,
    /// Seconds since the start.
    pub seconds: f64,
    /// What swarms have found, where swarms fly.
    pub swarms: Option<Swarms>,
}

/// Swarms at a step, by their lowest losses so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swarms {
    /// Each swarm's best, where there are few.
    pub each: Vec<f64>,
    /// The middle one of the swarms.
    pub median: f64,
    /// The worst of the swarms.
    pub worst: f64,
    /// Particles that died so far.
    pub deaths: u64,
    /// Swarms that started anew so far.
    pub restarts: u64,
}

/// A feature and its two parameters, centipawns unless it is [summed](Self::summed) apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its table.
    pub group: String,
    /// Middlegame and endgame value.
    pub values: [f64; 2],
    /// What the values are compared with.
    pub reference: Option<[f64; 2]>,
    /// Standard errors.
    pub errors: [Option<f64>; 2],
    /// Positions that have the feature.
    pub support: Option<u64>,
    /// Of a parameter of accumulators, whose values are in units of their sums: which of both values are used.
    pub summed: Option<[bool; 2]>,
}

impl Parameter {
    /// What its values are measured in.
    pub fn unit(&self) -> &'static str {
        if self.summed.is_some() { "in units of their sum" } else { "centipawns" }
    }

    /// Whether a value is one that nothing is computed with.
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

/// What holds the parameters to the prior, and what that changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrengthReport {
    /// What is to be known, one sentence or two each.
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
    /// What each group of features is worth.
    pub ablation: Option<Table>,
}

/// Penalties of a kind that have one weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PenaltyRow {
    /// Their kind.
    pub name: String,
    /// What they hold small.
    pub meaning: String,
    /// Their groups, where these do not go without saying.
    pub of: String,
    /// Their weight.
    pub weight: f64,
    /// By how much the held-out loss would rise without them.
    pub worth: Option<f64>,
}

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, as long as the header.
    pub rows: Vec<Vec<String>>,
}

/// A sweep: settings ranked by their held-out loss.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepReport {
    /// The loss by which settings are judged.
    pub judge: String,
    /// What is varied.
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
    /// Its values, where they are numbers.
    pub numbers: Option<Vec<f64>>,
}

/// One combination of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepSetting {
    /// Which value of each axis.
    pub indices: Vec<usize>,
    /// Mean held-out loss and its standard error.
    pub held_out: (f64, f64),
    /// Mean difference to the best and its standard error.
    pub over_best: (f64, f64),
    /// Whether it cannot be told from the best.
    pub tied: bool,
    /// Mean training loss.
    pub training: f64,
}

/// Two sets of parameters side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// What the two are called.
    pub names: [String; 2],
    /// Headline figures.
    pub facts: Vec<(String, String)>,
    /// Losses on datasets.
    pub losses: Option<Table>,
    /// Features of both: values of the second, and those of the first as the reference. Errors are
    /// those of the difference.
    pub parameters: Vec<Parameter>,
    /// Largest changes.
    pub largest: Table,
    /// Parameters that only one has.
    pub only: [Vec<String>; 2],
    /// What is to be known about the errors.
    pub errors_note: String,
}
