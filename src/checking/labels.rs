//! Results against evaluations, by the side to move: a wrong point of view shows as evaluations
//! that foretell results with one side to move and mislead with the other.

use serde::Serialize;

use crate::dataset::Dataset;
use crate::trace::{Comparison, Correlation, bounded};

/// Correlation above which evaluations are said to foretell results. Real data have 0.3 to 0.7.
const TELLING: f64 = 0.1;
/// Positions below which nothing is concluded.
const FEW: u64 = 100;

/// Correlation of evaluations and results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SideCorrelation {
    /// Positions.
    pub positions: u64,
    /// Pearson's coefficient; none where either does not vary.
    pub correlation: Option<f64>,
}

impl SideCorrelation {
    fn new(sums: &Correlation) -> Self {
        Self { positions: sums.count, correlation: sums.coefficient() }
    }

    /// 1 where evaluations foretell results, −1 where they mislead, 0 where nothing can be said.
    fn tendency(&self) -> i32 {
        match self.correlation {
            Some(r) if self.positions >= FEW && r >= TELLING => 1,
            Some(r) if self.positions >= FEW && r <= -TELLING => -1,
            _ => 0,
        }
    }
}

/// What correlations say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelVerdict {
    /// Evaluations foretell results.
    Agree,
    /// They run against results, whoever is to move.
    Reversed,
    /// They foretell results with one side to move and run against them with the other.
    WrongPointOfView,
    /// Too few positions, or no tendency.
    CannotTell,
}

/// Results against evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelFindings {
    /// Under the parameters, all positions.
    pub all: SideCorrelation,
    /// White to move; no positions where that is unknown.
    pub white_to_move: SideCorrelation,
    /// Black to move.
    pub black_to_move: SideCorrelation,
    /// Search scores against results, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SideCorrelation>,
    /// What that says.
    pub verdict: LabelVerdict,
}

impl LabelFindings {
    pub(super) fn new(data: &Dataset, comparison: &Comparison) -> Self {
        let [white, black, unknown] = &comparison.results;
        let mut all = *white;
        all.merge(black);
        all.merge(unknown);
        let mut search = Correlation::default();
        for (&score, &result) in data.search_scores().iter().zip(data.results()) {
            if !score.is_nan() {
                search.add(bounded(f64::from(score)), f64::from(result));
            }
        }
        let [all, white, black] = [&all, white, black].map(SideCorrelation::new);
        let verdict = match (all.tendency(), white.tendency(), black.tendency()) {
            (_, 1, -1) | (_, -1, 1) => LabelVerdict::WrongPointOfView,
            (-1, _, _) => LabelVerdict::Reversed,
            (1, _, _) => LabelVerdict::Agree,
            _ => LabelVerdict::CannotTell,
        };
        let search = (search.count > 0).then(|| SideCorrelation::new(&search));
        Self { all, white_to_move: white, black_to_move: black, search, verdict }
    }

    /// What should be mended.
    pub(super) fn fault(&self) -> Option<String> {
        match self.verdict {
            LabelVerdict::Reversed => Some("evaluations run against results, as if one were reversed".to_string()),
            LabelVerdict::WrongPointOfView => Some(
                "evaluations run against results for one side to move, as if read from the wrong point of view"
                    .to_string(),
            ),
            LabelVerdict::Agree | LabelVerdict::CannotTell => match &self.search {
                Some(search) if search.tendency() < 0 => {
                    Some("search scores run against results, as if one were reversed".to_string())
                }
                _ => None,
            },
        }
    }
}
