//! Checks whether a dataset can be trusted: evaluations against the engine's output, results against
//! evaluations, support of features, duplicates, and the fast evaluator against finite differences.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod compared;
mod duplicates;
mod explanation;
mod features;
mod gradient;
pub mod info;
mod labels;
mod phases;
mod request;
mod scores;
mod untested;
pub mod verification;

use serde::Serialize;

pub use duplicates::{Duplicates, duplicates};
pub use explanation::{Cause, Explanation, Presence};
pub use features::{FeatureFindings, GroupSupport, IMPOSSIBLE, RARE, Support, is_impossible};
pub use gputexel_tune::{Ahead, compensation, compensation_unknown, explained_compensation};
pub use gradient::{GradientFindings, PARAMETERS, TOLERANCE};
pub use labels::{LabelFindings, LabelVerdict, SearchVerdict, SideCorrelation};
pub use phases::PhaseRow;
use phases::parameter_name;
pub use request::{CheckRequest, Checked};
pub use scores::{ScoreRow, ScoresAgainstResults};
pub use untested::Untested;

use self::compared::Compared;
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::LossKind;
use gputexel_ingest::trace::{Comparison, Outlier, PositionFacts, Reference};
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureSet, ParameterFile, Prior};
use std::path::Path;

/// Checks the largest difference, in centipawns, that counts as equal.
pub fn check_tolerance(cp: f64) -> Result<()> {
    match cp.is_finite() && cp >= 0.0 {
        true => Ok(()),
        false => Err(Error::Usage(format!("tolerance {cp}: must be 0 or a positive number"))),
    }
}

/// The values of a file at a path, or those that the features begin with.
fn values_of(file: Option<&ParameterFile>, path: Option<&Path>, set: &FeatureSet) -> Result<Vec<f64>> {
    match file.zip(path) {
        Some((file, path)) => file.theta(set, path),
        None => Prior::default_for(set).theta(set),
    }
}

/// Computed evaluations compared with those printed by the engine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationFindings {
    /// Positions with a printed evaluation.
    pub compared: u64,
    pub differing: u64,
    /// Those that differ as much near a kink or jump of the evaluation, where the engine's rounding may be the cause.
    pub near_kinks: u64,
    /// The one of them with the largest difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<Outlier>,
    /// Largest difference that still counts as equal, centipawns.
    pub tolerance_cp: f64,
    /// Mean of computed − printed, centipawns.
    pub mean_difference_cp: f64,
    /// Mean absolute difference, centipawns.
    pub mean_size_cp: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// The change that explains the differences; `None` if too few evaluations differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Parameters that the comparison cannot test; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untested: Option<Untested>,
    /// The largest differences, largest first.
    pub worst: Vec<Outlier>,
}

impl EvaluationFindings {
    fn new(comparison: &Comparison, tolerance_cp: f64) -> Option<Self> {
        let count = comparison.compared;
        if count == 0 {
            return None;
        }
        let correlation = comparison.evaluations.coefficient();
        Some(Self {
            compared: count,
            differing: comparison.differing,
            near_kinks: comparison.near_kinks,
            rounded: comparison.rounded.clone(),
            tolerance_cp,
            mean_difference_cp: comparison.sum / count as f64,
            mean_size_cp: comparison.sum_absolute / count as f64,
            correlation,
            explanation: None,
            untested: None,
            worst: comparison.worst.clone(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    pub positions: u64,
    pub games: u64,
    /// Evaluations; `None` if none were printed.
    pub evaluation: Option<EvaluationFindings>,
    /// Results against evaluations.
    pub labels: LabelFindings,
    pub features: FeatureFindings,
    pub phases: Vec<PhaseRow>,
    /// Results of sides about a minor piece ahead, in the middlegame and the endgame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<[Ahead; 2]>,
    pub duplicates: Duplicates,
    /// The fast evaluator; `None` for an empty dataset.
    pub gradient: Option<GradientFindings>,
    /// Problems that should be fixed before tuning.
    pub faults: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct CheckSettings {
    /// Scale constant, base-10 form.
    pub k: f64,
    pub loss: LossKind,
    /// Number of positions used for the gradient.
    pub sample: usize,
}

/// Compares a dataset's evaluations with printed ones, if it has any, and with results. A dataset does not
/// record the side to move.
pub fn compare(data: &Dataset, reference: &Reference) -> Comparison {
    compare_with(data, data.static_evaluations(), reference)
}

fn compare_with(data: &Dataset, evaluations: &[f32], reference: &Reference) -> Comparison {
    let mut comparison = Comparison::default();
    for n in 0..data.len() {
        let row = Reference::row_of(data, n);
        let score = reference.score_of_row(&row, &[]);
        let printed = evaluations.get(n).copied().filter(|value| !value.is_nan()).map(f64::from);
        let computed = (score, printed.is_some_and(|printed| reference.is_rounding(&row, score, printed)));
        let result = f64::from(data.results()[n]);
        comparison.add(reference, computed, printed, result, None, n as u64, b"");
    }
    comparison
}

/// Checks a dataset under θ. The comparison comes from [`compare`], or from the trace the dataset was imported
/// from; `facts` are what that trace says of positions, if it is known.
pub fn check(
    data: &Dataset,
    theta: &[f64],
    comparison: &Comparison,
    facts: &[PositionFacts],
    reference: &Reference,
    settings: CheckSettings,
) -> Result<Findings> {
    let mut evaluation = EvaluationFindings::new(comparison, reference.tolerance_cp);
    if let Some(found) = &mut evaluation {
        found.untested = Untested::new(data, theta);
    }
    if let Some(found) = evaluation.as_mut().filter(|found| found.differing > 0) {
        let set = &data.metadata().feature_set;
        let tolerance_cp = reference.tolerance_cp;
        let printed = data.static_evaluations();
        let compared = Compared { data, printed, set, tolerance_cp, is_played: false };
        found.explanation = explanation::explain(&compared, theta, None, facts)?;
    }
    let labels = LabelFindings::new(data, theta, comparison);
    let gradient = GradientFindings::new(data, theta, settings)?;
    let mut faults = Vec::new();
    if let Some(found) = evaluation.as_ref().filter(|found| found.differing > 0) {
        faults.push(format!(
            "{} of {} evaluations differ by more than {} cp from what the engine printed{}",
            found.differing,
            found.compared,
            found.tolerance_cp,
            found
                .explanation
                .as_ref()
                .and_then(Explanation::cause)
                .map_or(String::new(), |text| format!(": {text}"))
        ));
    }
    faults.extend(labels.fault());
    faults.extend(labels.search_fault());
    if let Some(found) = gradient.as_ref().filter(|found| !found.agrees()) {
        faults.push(format!(
            "the gradient is off by {:.1e} of its size against finite differences",
            found.largest_difference
        ));
    }
    Ok(Findings {
        positions: data.len() as u64,
        games: data.metadata().games,
        evaluation,
        labels,
        features: FeatureFindings::new(data),
        phases: PhaseRow::all(data),
        ahead: Ahead::of(data),
        duplicates: duplicates(data),
        gradient,
        faults,
    })
}
