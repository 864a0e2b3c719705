//! Rejects labels that contradict material and so were probably misinterpreted, unless the user has specified
//! how to interpret them.

use super::ExtractSettings;
use super::report::SourceReport;
use gputexel_chess::sample::{Agreement, Verdict};
use gputexel_chess::scale::{ResultScale, ResultTally};
use gputexel_chess::text::PointOfView;
use gputexel_io::{Advice, Error};

/// Number of decisive, imbalanced positions after which labels are judged before the end of the file.
const JUDGED_EARLY: u64 = 20_000;

pub(super) fn can_judge(report: &SourceReport, last: bool) -> bool {
    last || report.agreement.positions() >= JUDGED_EARLY
}

/// Explains why the labels of a text should not be accepted as interpreted; `last` at the end of the text.
pub(super) fn implausible_labels(
    report: &SourceReport,
    settings: &ExtractSettings,
    last: bool,
) -> Option<Error> {
    let tally = &report.tally;
    let path = &report.record.path;
    // Draws may still follow, so scales are only judged at the end.
    if last && let Some(refusal) = scale_mismatch(report, settings) {
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
        .and_then(|verdict| results_mismatch(&report.agreement, verdict, results, tally, settings));
    let faulty = faulty.or_else(|| {
        let scores = view(report.record.score_point_of_view.as_ref().or(record_view(report)));
        let verdict = report.score_agreement.clear_fault().filter(|_| settings.text.score_view.is_none())?;
        Some(scores_mismatch(&report.score_agreement, verdict, scores))
    });
    faulty.map(|(reason, advice)| Error::input(path, reason).advise(advice))
}

/// Explains why results seem to use a scale other than the assumed one, unless the user has specified it.
pub(super) fn scale_mismatch(report: &SourceReport, settings: &ExtractSettings) -> Option<Error> {
    let path = &report.record.path;
    let scale = report.record.results.as_ref().and_then(|scale| scale.parse::<ResultScale>().ok());
    // Words are certain only if all of them are on one scale, no matter who chose it. Percents are only read
    // as such if a header declares them.
    let found = match scale {
        Some(scale) => report.tally.mixed_words(scale)?,
        None => report.tally.scale_mismatch().filter(|_| settings.text.scale.is_none())?,
    };
    let refusal = match found.line {
        Some(line) => Error::line(path, line, found.reason),
        None => Error::input(path, found.reason),
    };
    Some(refusal.advise(found.advice))
}

const CLEAR_PAIRS: u64 = 100;

/// Explains why the scores in comments should not be accepted as read, unless the user has specified their
/// view.
pub(super) fn implausible_comments(
    report: &SourceReport,
    settings: &ExtractSettings,
    last: bool,
) -> Option<Error> {
    let forms = report.comments.by_form(&report.convention);
    let pairs: u64 = forms.iter().map(|(tally, _)| tally.pairs()).sum();
    if settings.text.score_view.is_some() || !(last || pairs >= JUDGED_EARLY) {
        return None;
    }
    let (reason, advice) = forms.into_iter().find_map(|(tally, view)| {
        let (pairs, changing) = (tally.pairs(), tally.changing);
        if pairs < CLEAR_PAIRS || 4 * changing <= pairs {
            let verdict = tally.material.clear_fault()?;
            return Some(scores_mismatch(&tally.material, verdict, view));
        }
        let set = |view: PointOfView| Advice::default().setting("score-pov", view.name());
        let counts = format!(
            "{changing} of {pairs} scores in comments favor another side than that of the move before"
        );
        Some(match view {
            _ if 4 * changing < 3 * pairs => (
                format!("scores with different points of view seem to be mixed: {counts}"),
                set(PointOfView::White)
                    .text(" or ")
                    .join(set(PointOfView::Stm).text(" reads them all the same way")),
            ),
            PointOfView::White => (
                format!("scores look like the mover's, not White's: {counts}"),
                set(PointOfView::Stm).text(" reads them that way, ").join(set(view).text(" as they are")),
            ),
            PointOfView::Stm => (
                format!("scores look like White's, not the mover's: {counts}"),
                set(PointOfView::White).text(" reads them that way, ").join(set(view).text(" as they are")),
            ),
        })
    })?;
    Some(Error::input(&report.record.path, reason).advise(advice))
}

fn record_view(report: &SourceReport) -> Option<&String> {
    report.record.point_of_view.as_ref()
}

pub(crate) fn rates(counts: &Agreement, what: &str) -> String {
    let percent = |agree: u64, total: u64| format!("{:.0} %", 100.0 * agree as f64 / total.max(1) as f64);
    format!(
        "of {} {what} only {} go to the side with more material with White to move, {} with Black to move",
        counts.positions(),
        percent(counts.white_to_move_agree, counts.white_to_move),
        percent(counts.black_to_move_agree, counts.black_to_move),
    )
}

/// Returns the point of view with which numbers agree with material, and true if they must be reversed as
/// well, given counts of numbers interpreted from `view`.
fn fitting(counts: &Agreement, view: PointOfView) -> (PointOfView, bool) {
    let as_white = match view {
        PointOfView::White => *counts,
        PointOfView::Stm => counts.flipped(),
    };
    let reversed = 2 * as_white.white_to_move_agree < as_white.white_to_move;
    let black_reversed = 2 * as_white.black_to_move_agree < as_white.black_to_move;
    (if reversed == black_reversed { PointOfView::White } else { PointOfView::Stm }, reversed)
}

fn results_mismatch(
    counts: &Agreement,
    verdict: Verdict,
    view: PointOfView,
    tally: &ResultTally,
    settings: &ExtractSettings,
) -> Option<(String, Advice)> {
    let set = |name, value| Advice::default().setting(name, value);
    let rates = rates(counts, "decisive, imbalanced results");
    if verdict == Verdict::MixedPointOfView {
        return settings.text.point_of_view.is_none().then(|| {
            let advice =
                set("pov", "white").text(" or ").join(set("pov", "stm").text(" reads them all the same way"));
            (format!("lines with different points of view seem to be mixed: {rates}"), advice)
        });
    }
    let (fitting, reversed) = fitting(counts, view);
    // Explicit settings are followed, with a warning.
    if if reversed { settings.text.scale.is_some() } else { settings.text.point_of_view.is_some() } {
        return None;
    }
    let what = match (reversed, fitting) {
        (true, PointOfView::White) => "Black's wins were the higher number",
        (true, PointOfView::Stm) => "they were those of the side that has just moved",
        (false, PointOfView::White) => "they were White's",
        (false, PointOfView::Stm) => "they were the side to move's",
    };
    let game_results = tally.all_games();
    let extract = Advice::default().text("extract ");
    let as_they_are = set("results", "0..1");
    let advice = match (reversed, fitting) {
        (true, _) if !game_results => extract
            .setting("pov", fitting.name())
            .text(" ")
            .setting("results", "1..0")
            .text(" reads them that way, ")
            .join(as_they_are.text(" as they are")),
        (true, PointOfView::White) => extract
            .setting("results", "1..0")
            .text(" reverses them, ")
            .join(as_they_are.text(" reads them as they are")),
        (false, _) if !game_results => extract
            .setting("pov", fitting.name())
            .text(" reads them that way, ")
            .setting("pov", view.name())
            .text(" as they are"),
        _ => Advice::default()
            .text("1-0 and the like are White's by definition; ")
            .join(extract.setting("pov", view.name()).text(" "))
            .join(as_they_are.text(" reads them as they are")),
    };
    Some((format!("results contradict material as if {what}: {rates}"), advice))
}

fn scores_mismatch(counts: &Agreement, verdict: Verdict, view: PointOfView) -> (String, Advice) {
    let set = |view: PointOfView| Advice::default().setting("score-pov", view.name());
    let rates = rates(counts, "imbalanced scores of half a pawn or more");
    if verdict == Verdict::MixedPointOfView {
        let white = set(PointOfView::White).text(" or ");
        return (
            format!("scores with different points of view seem to be mixed: {rates}"),
            white.join(set(PointOfView::Stm).text(" reads them all the same way")),
        );
    }
    let as_they_are = |before: &str| Advice::default().text(before).join(set(view));
    let (fitting, reversed) = fitting(counts, view);
    let (whose, advice) = match (fitting, reversed) {
        (fitting, false) => (
            if fitting == PointOfView::White { "White's" } else { "the side to move's" },
            Advice::default()
                .text("extract ")
                .join(set(fitting).text(" reads them that way, "))
                .join(as_they_are("").text(" as they are")),
        ),
        (fitting, true) => (
            if fitting == PointOfView::White { "Black's" } else { "those of the side that has just moved" },
            as_they_are("reverse their sign, or extract ").text(" reads them as they are"),
        ),
    };
    (format!("scores contradict material as if they were {whose}: {rates}"), advice)
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
