//! Whether a dataset can be trusted: evaluations against what the engine printed, results against
//! evaluations, features against their support, duplicates, and the fast evaluator against finite
//! differences.
//!
//! Owns what is found and what of it counts as a fault; showing it is left to the caller.

mod duplicates;
mod features;
mod gradient;
pub mod info;
mod labels;
mod phases;
mod request;

use serde::Serialize;

pub use duplicates::{Duplicates, duplicates};
pub use features::{FeatureFindings, GroupSupport, IMPOSSIBLE, RARE, Support, is_impossible};
pub use gradient::{GradientFindings, PARAMETERS, TOLERANCE};
pub use labels::{LabelFindings, LabelVerdict, SearchVerdict, SideCorrelation};
pub use phases::PhaseRow;
pub use request::{CheckRequest, Checked};

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{self, LossKind};
use gputexel_files::Result;
use gputexel_ingest::trace::{Comparison, Outlier, Reference};

/// Evaluations against what the engine printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationFindings {
    /// Positions with a printed evaluation.
    pub compared: u64,
    /// Those that differ by more than the tolerance.
    pub differing: u64,
    /// Difference that is still called none, centipawns.
    pub tolerance_cp: f64,
    /// Mean of computed less printed, centipawns.
    pub mean_difference_cp: f64,
    /// Mean of the size of the difference, centipawns.
    pub mean_size_cp: f64,
    /// Printed against computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// What would explain the differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
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
        // Half of those that differ are enough: the other half may differ for another reason.
        let hint = if 2 * comparison.turned > comparison.differing {
            Some(format!(
                "{} of them agree when the sign is turned: whose view do \"eval\" and \"coefficients\" take?",
                comparison.turned
            ))
        } else if comparison.differing > 0 && correlation.is_some_and(|r| r < -0.5) {
            Some("they contradict each other: one of them has the wrong sign".to_string())
        } else {
            None
        };
        Some(Self {
            compared: count,
            differing: comparison.differing,
            tolerance_cp,
            mean_difference_cp: comparison.sum / count as f64,
            mean_size_cp: comparison.sum_absolute / count as f64,
            correlation,
            hint,
            worst: comparison.worst.clone(),
        })
    }
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Positions.
    pub positions: u64,
    /// Games, 0 where the input had none.
    pub games: u64,
    /// Evaluations; `None` where none were printed.
    pub evaluation: Option<EvaluationFindings>,
    /// Results against evaluations.
    pub labels: LabelFindings,
    /// Support of features.
    pub features: FeatureFindings,
    /// Results by phase.
    pub phases: Vec<PhaseRow>,
    /// Positions that occur again.
    pub duplicates: Duplicates,
    /// The fast evaluator; `None` for an empty dataset.
    pub gradient: Option<GradientFindings>,
    /// What should be mended before anything is tuned.
    pub faults: Vec<String>,
}

/// What to check with.
#[derive(Clone, Copy, Debug)]
pub struct CheckSettings {
    /// Scale constant, base-10 form.
    pub k: f64,
    /// Loss function of the gradient.
    pub loss: LossKind,
    /// Positions of which the gradient is taken.
    pub sample: usize,
}

/// Evaluations of a dataset under θ against what it has of printed ones, and against results. Who
/// is to move, a dataset does not know.
pub fn compare(data: &Dataset, theta: &[f64], reference: &Reference) -> Comparison {
    let mut comparison = Comparison::default();
    for n in 0..data.len() {
        let score = objective::score(data, theta, n);
        let printed = data.static_evaluations().get(n).copied().filter(|value| !value.is_nan());
        let result = f64::from(data.results()[n]);
        comparison.add(reference, score, printed.map(f64::from), result, None, n as u64, b"");
    }
    comparison
}

/// Looks at a dataset under θ. The comparison is [`compare`]'s, or that of the trace it was
/// imported from.
///
/// # Errors
/// Those of the evaluator.
pub fn check(
    data: &Dataset,
    theta: &[f64],
    comparison: &Comparison,
    reference: &Reference,
    settings: CheckSettings,
) -> Result<Findings> {
    let evaluation = EvaluationFindings::new(comparison, reference.tolerance_cp);
    let labels = LabelFindings::new(data, theta, comparison);
    let gradient = GradientFindings::new(data, theta, settings)?;
    let mut faults = Vec::new();
    if let Some(found) = evaluation.as_ref().filter(|found| found.differing > 0) {
        faults.push(format!(
            "{} of {} evaluations differ by more than {} cp from what the engine printed",
            found.differing, found.compared, found.tolerance_cp
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
        duplicates: duplicates(data),
        gradient,
        faults,
    })
}
