//! Results against evaluations, by the side to move: a wrong point of view shows as evaluations
//! that predict results with one side to move and mislead with the other. Search scores against
//! both: where the side to move is unknown, scores from the wrong point of view show as scores that
//! predict less than evaluations do.

use serde::Serialize;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective;
use gputexel_ingest::trace::{Comparison, Correlation, bounded};

/// Correlation above which evaluations are said to predict results. Real data have 0.3 to 0.7.
const TELLING: f64 = 0.1;
/// Share of the correlation of evaluations that search scores have at least, unless they are wrong.
const BEHIND: f64 = 0.5;
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

    /// 1 where evaluations predict results, −1 where they mislead, 0 where nothing can be said.
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
    /// Evaluations predict results.
    Agree,
    /// They run against results, whoever is to move.
    Reversed,
    /// They predict results with one side to move and run against them with the other.
    WrongPointOfView,
    /// Too few positions, or no tendency.
    CannotTell,
}

/// What search scores say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchVerdict {
    /// They predict results.
    Agree,
    /// They run against results.
    Reversed,
    /// They predict results much worse than evaluations do.
    Unrelated,
    /// Too few positions.
    Few,
    /// No tendency, which the evaluations do not explain.
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
    /// Search scores against evaluations, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_evaluations: Option<SideCorrelation>,
    /// What search scores say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_verdict: Option<SearchVerdict>,
    /// What evaluations and results say.
    pub verdict: LabelVerdict,
}

impl LabelFindings {
    pub(super) fn new(data: &Dataset, theta: &[f64], comparison: &Comparison) -> Self {
        let [white, black, unknown] = &comparison.results;
        let mut all = *white;
        all.merge(black);
        all.merge(unknown);
        let (mut search, mut evaluations) = (Correlation::default(), Correlation::default());
        for (n, (&score, &result)) in data.search_scores().iter().zip(data.results()).enumerate() {
            if !score.is_nan() {
                let score = bounded(f64::from(score));
                search.add(score, f64::from(result));
                evaluations.add(score, bounded(objective::score(data, theta, n)));
            }
        }
        let [all, white, black] = [&all, white, black].map(SideCorrelation::new);
        let verdict = match (all.tendency(), white.tendency(), black.tendency()) {
            (_, 1, -1) | (_, -1, 1) => LabelVerdict::WrongPointOfView,
            (-1, _, _) => LabelVerdict::Reversed,
            (1, _, _) => LabelVerdict::Agree,
            _ => LabelVerdict::CannotTell,
        };
        let [search, search_evaluations] =
            [search, evaluations].map(|sums| (sums.count > 0).then(|| SideCorrelation::new(&sums)));
        let search_verdict =
            search.as_ref().zip(search_evaluations.as_ref()).map(|(results, evaluations)| {
                match (results.tendency(), evaluations.tendency()) {
                    (-1, _) | (_, -1) => SearchVerdict::Reversed,
                    _ if verdict == LabelVerdict::Agree && falls_behind(results, &all) => {
                        SearchVerdict::Unrelated
                    }
                    (1, _) => SearchVerdict::Agree,
                    _ if results.positions < FEW => SearchVerdict::Few,
                    _ => SearchVerdict::CannotTell,
                }
            });
        Self {
            all,
            white_to_move: white,
            black_to_move: black,
            search,
            search_evaluations,
            search_verdict,
            verdict,
        }
    }

    /// What should be mended of search scores.
    pub(super) fn search_fault(&self) -> Option<String> {
        match self.search_verdict? {
            SearchVerdict::Reversed => {
                Some("search scores contradict results, as if one were reversed".to_string())
            }
            SearchVerdict::Unrelated => Some(
                "search scores predict results much worse than evaluations do, as if read from the wrong point of view"
                    .to_string(),
            ),
            SearchVerdict::Agree | SearchVerdict::Few | SearchVerdict::CannotTell => None,
        }
    }

    /// What should be mended.
    pub(super) fn fault(&self) -> Option<String> {
        match self.verdict {
            LabelVerdict::Reversed => Some("evaluations contradict results, as if one were reversed".to_string()),
            LabelVerdict::WrongPointOfView => Some(
                "evaluations contradict results for one side to move, as if read from the wrong point of view"
                    .to_string(),
            ),
            LabelVerdict::Agree | LabelVerdict::CannotTell => None,
        }
    }
}

/// Whether search scores predict results much worse than evaluations do. A search sees what the
/// evaluation sees and more, so that its scores predict better unless some have the wrong sign.
fn falls_behind(search: &SideCorrelation, evaluations: &SideCorrelation) -> bool {
    let (Some(search_r), Some(evaluations_r)) = (search.correlation, evaluations.correlation) else {
        return false;
    };
    search.positions >= FEW && search_r < BEHIND * evaluations_r
}
