//! Checks results against evaluations, separately by side to move: with a wrong point of view, evaluations
//! predict results when one side is to move and contradict them when the other is. Also checks search scores
//! against both: if the side to move is unknown, scores from the wrong point of view predict results less
//! well than evaluations do.

use serde::Serialize;

use gputexel_dataset::{Dataset, objective};
use gputexel_ingest::trace::{Comparison, Correlation, bounded};

/// Search scores must have at least this fraction of the correlation of evaluations, or they are probably
/// wrong.
const BEHIND: f64 = 0.5;
/// With fewer positions than this, no conclusion is drawn.
const FEW: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SideCorrelation {
    pub positions: u64,
    /// Pearson's coefficient; `None` if either variable is constant.
    pub correlation: Option<f64>,
}

impl SideCorrelation {
    fn new(sums: &Correlation) -> Self {
        Self { positions: sums.count, correlation: sums.coefficient() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelVerdict {
    /// Evaluations predict results.
    Agree,
    /// They contradict results, whichever side is to move.
    Reversed,
    /// They predict results when one side is to move and contradict them when the other is.
    WrongPointOfView,
    /// Too few positions, or no correlation.
    CannotTell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchVerdict {
    /// They predict results.
    Agree,
    /// They contradict results.
    Reversed,
    /// They predict results much worse than evaluations do.
    Unrelated,
    Few,
    /// No correlation with results; comparing with evaluations does not explain it.
    CannotTell,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelFindings {
    /// Evaluations under the parameters, over all positions.
    pub all: SideCorrelation,
    pub white_to_move: SideCorrelation,
    pub black_to_move: SideCorrelation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SideCorrelation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_evaluations: Option<SideCorrelation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_verdict: Option<SearchVerdict>,
    /// Conclusion from the correlations of evaluations and results.
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
        let verdict = match all.tendency() {
            _ if comparison.two_views().is_some() => LabelVerdict::WrongPointOfView,
            -1 => LabelVerdict::Reversed,
            1 => LabelVerdict::Agree,
            _ => LabelVerdict::CannotTell,
        };
        let tendencies = [search.tendency(), evaluations.tendency()];
        let [all, white, black] = [&all, white, black].map(SideCorrelation::new);
        let [search, search_evaluations] =
            [search, evaluations].map(|sums| (sums.count > 0).then(|| SideCorrelation::new(&sums)));
        // Results that were made of scores agree with them, right or wrong.
        let are_scores = data.metadata().selection.get("target").is_some_and(|target| target == "score");
        let search_verdict = search.as_ref().filter(|_| !are_scores).map(|results| match tendencies {
            [-1, _] | [_, -1] => SearchVerdict::Reversed,
            _ if verdict == LabelVerdict::Agree && falls_behind(results, &all) => SearchVerdict::Unrelated,
            [1, _] => SearchVerdict::Agree,
            _ if results.positions < FEW => SearchVerdict::Few,
            _ => SearchVerdict::CannotTell,
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

/// True if search scores predict results much worse than evaluations do.
fn falls_behind(search: &SideCorrelation, evaluations: &SideCorrelation) -> bool {
    let (Some(search_r), Some(evaluations_r)) = (search.correlation, evaluations.correlation) else {
        return false;
    };
    search.positions >= FEW && search_r < BEHIND * evaluations_r
}
