//! Labels that were read through but cannot mean what they were read as: refused rather than
//! written, unless the user has said how to read them.

use super::ExtractSettings;
use super::report::SourceReport;
use gputexel_chess::sample::{Agreement, Verdict};
use gputexel_chess::scale::ResultTally;
use gputexel_chess::text::PointOfView;
use gputexel_files::Error;

/// Decisive, imbalanced positions after which labels are judged although the file goes on.
const JUDGED_EARLY: u64 = 20_000;

/// Whether labels that were read so far can be judged.
pub(super) fn can_judge(report: &SourceReport, last: bool) -> bool {
    last || report.agreement.positions() >= JUDGED_EARLY
}

/// Why the labels of a text should not be taken as they were read; `last` when that is all of it.
pub(super) fn doubt(report: &SourceReport, settings: &ExtractSettings, last: bool) -> Option<Error> {
    let tally = &report.tally;
    let path = &report.record.path;
    // Draws may be yet to come, so that scales are judged at the end alone.
    if last && let Some(refusal) = other_scale(report, settings) {
        return Some(refusal);
    }
    let view = |name: Option<&String>| match name.map(String::as_str) {
        Some("stm") => PointOfView::Stm,
        _ => PointOfView::White,
    };
    let results = view(record_view(report));
    let faulty = report
        .agreement
        .clear_fault()
        .and_then(|verdict| results_doubt(&report.agreement, verdict, results, tally, settings));
    let faulty = faulty.or_else(|| {
        let scores = view(report.record.score_point_of_view.as_ref().or(record_view(report)));
        let verdict = report.score_agreement.clear_fault().filter(|_| settings.score_view.is_none())?;
        Some(scores_doubt(&report.score_agreement, verdict, scores))
    });
    faulty.map(|reason| Error::input(path, reason))
}

/// Why results seem to mean another scale than they are read on, if nobody has said which.
pub(super) fn other_scale(report: &SourceReport, settings: &ExtractSettings) -> Option<Error> {
    let path = &report.record.path;
    let (line, reason) = report.tally.doubt().filter(|_| settings.results.is_none())?;
    Some(match line {
        Some(line) => Error::line(path, line, reason),
        None => Error::input(path, reason),
    })
}

fn record_view(report: &SourceReport) -> Option<&String> {
    report.record.point_of_view.as_ref()
}

/// Shares by side to move, in words.
pub(crate) fn rates(counts: &Agreement, what: &str) -> String {
    let percent = |agree: u64, total: u64| format!("{:.0} %", 100.0 * agree as f64 / total.max(1) as f64);
    format!(
        "of {} {what} only {} go to the side with more material with White to move, {} with Black to move",
        counts.positions(),
        percent(counts.white_to_move_agree, counts.white_to_move),
        percent(counts.black_to_move_agree, counts.black_to_move),
    )
}

/// The view in which numbers go with material, and whether they must be reversed for that, told from
/// counts of numbers that were read from `view`.
fn fitting(counts: &Agreement, view: PointOfView) -> (PointOfView, bool) {
    let as_white = match view {
        PointOfView::White => *counts,
        PointOfView::Stm => counts.flipped(),
    };
    let reversed = 2 * as_white.white_to_move_agree < as_white.white_to_move;
    let black_reversed = 2 * as_white.black_to_move_agree < as_white.black_to_move;
    (if reversed == black_reversed { PointOfView::White } else { PointOfView::Stm }, reversed)
}

fn results_doubt(
    counts: &Agreement,
    verdict: Verdict,
    view: PointOfView,
    tally: &ResultTally,
    settings: &ExtractSettings,
) -> Option<String> {
    let rates = rates(counts, "decisive, imbalanced results");
    if verdict == Verdict::MixedPointOfView {
        return settings.point_of_view.is_none().then(|| {
            format!("lines with different points of view seem to be mixed: {rates}; --pov white or --pov stm reads them all alike")
        });
    }
    let (fitting, reversed) = fitting(counts, view);
    // What was asked for is done, with a warning.
    if if reversed { settings.results.is_some() } else { settings.point_of_view.is_some() } {
        return None;
    }
    let what = match (reversed, fitting) {
        (true, PointOfView::White) => "Black's wins were the higher number",
        (true, PointOfView::Stm) => "they were those of the side that has just moved",
        (false, PointOfView::White) => "they were White's",
        (false, PointOfView::Stm) => "they were the side to move's",
    };
    let game_results = tally.all_games();
    let remedy = match (reversed, fitting) {
        (true, _) if !game_results => format!(
            "extract --pov {} --results 1..0 reads them so, --results 0..1 as they are",
            fitting.name()
        ),
        (true, PointOfView::White) => {
            "extract --results 1..0 turns them, --results 0..1 reads them as they are".to_string()
        }
        (false, _) if !game_results => {
            format!("extract --pov {} reads them so, --pov {} as they are", fitting.name(), view.name())
        }
        _ => format!(
            "1-0 and its like are White's by definition; extract --pov {} --results 0..1 reads them as they are",
            view.name()
        ),
    };
    Some(format!("results contradict material as if {what}: {rates}; {remedy}"))
}

fn scores_doubt(counts: &Agreement, verdict: Verdict, view: PointOfView) -> String {
    let rates = rates(counts, "imbalanced scores of half a pawn or more");
    if verdict == Verdict::MixedPointOfView {
        return format!(
            "scores with different points of view seem to be mixed: {rates}; --score-pov white or --score-pov stm \
             reads them all alike"
        );
    }
    match fitting(counts, view) {
        (fitting, false) => format!(
            "scores contradict material as if they were {}: {rates}; extract --score-pov {} reads them so, \
             --score-pov {} as they are",
            if fitting == PointOfView::White { "White's" } else { "the side to move's" },
            fitting.name(),
            view.name()
        ),
        (fitting, true) => format!(
            "scores contradict material as if they were {}: {rates}; turn their sign, or extract --score-pov {} \
             reads them as they are",
            if fitting == PointOfView::White { "Black's" } else { "those of the side that has just moved" },
            view.name()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reading_that_fits_is_found() {
        let counts = |white: u64, black: u64| Agreement {
            white_to_move: 100,
            white_to_move_agree: white,
            black_to_move: 100,
            black_to_move_agree: black,
        };
        use PointOfView::{Stm, White};
        for (white, black, read, wanted) in [
            (80, 20, White, (Stm, false)),
            (80, 20, Stm, (White, false)),
            (20, 20, White, (White, true)),
            (20, 20, Stm, (Stm, true)),
            (20, 80, White, (Stm, true)),
            (20, 80, Stm, (White, true)),
        ] {
            assert_eq!(fitting(&counts(white, black), read), wanted, "{white} {black} {read:?}");
        }
    }
}
