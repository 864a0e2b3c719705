//! What a run has gained, as far as games have shown it, and what is remarkable about its values.

use std::path::Path;

use super::{Header, RunState, Verified};
use crate::numbers::four_digits;
use gputexel_io::Result;
use gputexel_play::statistics::{Pentanomial, Sprt, SprtState};
use gputexel_play::{MatchResult, Stop, failures, judge};
use gputexel_report::{Conclusion, Finding, FindingKind, Judgement, Verdict, quoted};

/// Concludes from a run and from the games in its folder of its values against its start.
///
/// # Errors
/// A match of them that cannot be read.
pub fn conclude(folder: &Path, header: &Header, state: &RunState) -> Result<Conclusion> {
    let tuned = state.tuner.rounded_values();
    let has_changes = tuned != state.starting_values(header);
    let mut pairs = Pentanomial::default();
    // Games of other values say nothing of these.
    let verified = Verified::read(folder)?.filter(|verified| verified.tuned == tuned);
    verified.iter().flat_map(|verified| &verified.half_points).for_each(|points| pairs.add(*points));
    let mut verdict = judge(&pairs, ["the result", "the start"]);
    if verdict.judgement == Judgement::Unknown {
        verdict.words = match has_changes {
            true => "unknown, no games against the start were played".to_string(),
            false => "after rounding, the values equal the starting values".to_string(),
        };
    }
    let shown = quoted(folder);
    let next = match verdict.judgement {
        _ if !state.tuner.is_finished() => format!("gputexel spsa run --resume {shown}"),
        Judgement::Same => format!("gputexel spsa verify {shown} --games {}", 2 * pairs.games()),
        Judgement::Unknown if has_changes => format!("gputexel spsa verify {shown}"),
        _ => String::new(),
    };
    Ok(Conclusion { verdict, findings: findings(state), next })
}

/// Values at bounds, and those that moved farther than the prior of a Bayesian method allows for.
fn findings(state: &RunState) -> Vec<Finding> {
    let tuner = &state.tuner;
    let mut found = Vec::new();
    for ((v, rounded), value) in tuner.variables().iter().zip(tuner.rounded_values()).zip(tuner.values()) {
        let name = &v.name;
        if rounded <= v.min || rounded >= v.max {
            let text = format!("{name} is at its bound {rounded}: the best value may be beyond it");
            found.push(Finding::warning(FindingKind::AtBound, text, vec![name.clone()]));
        }
        let moved = (value - v.start).abs();
        if let Some(s) = v.s.filter(|s| tuner.method().is_bayesian() && moved > 2.0 * s) {
            let text = format!(
                "{name} moved {:.1} s from its start: s = {} was too small; if sigma was, too, so is posterior s",
                moved / s,
                four_digits(s)
            );
            found.push(Finding::warning(FindingKind::FarFromPrior, text, vec![name.clone()]));
        }
    }
    found
}

/// Concludes from the test of a result that is used only if it passes, and from other games that `confirmed` a passed
/// one: a test that stops when it has decided overestimates. `resume` is the command that goes on.
pub fn conclude_test(
    MatchResult { tally, stop, .. }: &MatchResult,
    confirmed: Option<&MatchResult>,
    sprt: &Sprt,
    resume: &str,
) -> Conclusion {
    let (judged, pairs) = (judge(&confirmed.map_or(tally, |own| &own.tally).pairs, [""; 2]), &tally.pairs);
    let (judgement, words, next) = match stop {
        Stop::Decided(SprtState::AcceptedH1) => {
            let words = match (confirmed, judged.judgement) {
                (None, _) => "passed; these values are written",
                (Some(_), Judgement::Better) => "passed, and confirmed; these values are written",
                (Some(_), Judgement::Worse) => {
                    "passed by chance: other games show a loss; the start is kept, and written"
                }
                (Some(_), _) => "passed, but other games alone do not show a gain; these values are written",
            };
            (judged.judgement, words.to_string(), String::new())
        }
        Stop::Decided(_) => {
            (judged.judgement, "not passed; the start is kept, and written".to_string(), String::new())
        }
        _ => {
            let los = 100.0 * pairs.los();
            let words = format!("too few to decide, LOS {los:.0} %; the start is kept, and written");
            // The ratio grows with the games, so this many decide if they go on as they went.
            let (ratio, [low, high]) = (sprt.llr(pairs), sprt.bounds());
            let left = if ratio < 0.0 { low / ratio } else { high / ratio };
            let more = (1.25 * left).clamp(2.0, 10.0);
            let games = (pairs.pairs() as f64 * more).ceil() as u64 * 2;
            (Judgement::TooLittle, words, format!("{resume} --test-games {games}"))
        }
    };
    let verdict = Verdict { judgement, words, ..judged };
    Conclusion { verdict, findings: failures(tally).into_iter().collect(), next }
}
