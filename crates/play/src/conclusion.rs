//! What a match has shown, and what is remarkable about its games.

use std::path::Path;

use crate::config::{EngineKind, MatchConfig};
use crate::end::End;
use crate::statistics::{Pentanomial, SprtState};
use crate::tally::Tally;
use crate::time_control::TimeControl;
use gputexel_io::counted;
use gputexel_report::{Conclusion, Finding, FindingKind, Judgement, Verdict, grouped, quoted};

/// Judges games from the view of A: better or worse only if the 95 % interval of Elo excludes 0.
pub fn judge(pairs: &Pentanomial, [a, b]: [&str; 2]) -> Verdict {
    let elo = pairs.elo();
    let (judgement, words) = match () {
        () if pairs.pairs() == 0 => {
            let words = "unknown: no pair of games says anything".to_string();
            return Verdict { figure: "Elo unknown".to_string(), words, ..Verdict::default() };
        }
        () if elo.low > 0.0 => (Judgement::Better, format!("{a} is stronger than {b}")),
        () if elo.high < 0.0 => (Judgement::Worse, format!("{b} is stronger than {a}")),
        () => (Judgement::Same, "no difference beyond the error: more games would tell".to_string()),
    };
    let figure = format!("Elo {:+.1} ± {:.1}", elo.elo, elo.error95).replace('-', "−");
    Verdict { judgement, figure, measured_on: format!("{} games", grouped(pairs.games())), words }
}

/// `ahead` finished pairs do not count.
pub(crate) fn conclude(config: &MatchConfig, tally: &Tally, ahead: u64, folder: &Path) -> Conclusion {
    let is_decided = config.sprt.is_some_and(|sprt| sprt.state(&tally.pairs) != SprtState::Continue);
    let pairs = if tally.is_all_failed() { Pentanomial::default() } else { tally.pairs };
    let mut verdict = judge(&pairs, config.engines.each_ref().map(|engine| engine.name.as_str()));
    if verdict.judgement == Judgement::Same && config.sprt.is_some() && !is_decided {
        verdict.words = "not decided: more games would tell".to_string();
    }
    let is_finished = is_decided || tally.games() >= config.play.games;
    let next = match verdict.judgement {
        _ if !is_finished => format!("gputexel match --resume {}", quoted(folder)),
        Judgement::Same if !is_decided => {
            format!("gputexel match --resume {} --games {}", quoted(folder), 2 * tally.games())
        }
        _ => String::new(),
    };
    let mut findings: Vec<Finding> = failures(tally).into_iter().collect();
    findings.extend((0..2).filter_map(|engine| ignored_limit(config, tally, engine)));
    findings.extend((ahead > 0).then(|| not_counted(ahead, is_decided)));
    Conclusion { verdict, findings, next }
}

/// Games that say more of how engines fail than of their strength.
pub fn failures(tally: &Tally) -> Option<Finding> {
    let failed: u64 = tally.failures.iter().sum();
    let text = format!(
        "{failed} of {} games were decided by failing engines, which the Elo above includes",
        tally.games()
    );
    (failed > 0).then(|| Finding::warning(FindingKind::EngineFailed, text, Vec::new()))
}

fn ignored_limit(config: &MatchConfig, tally: &Tally, engine: usize) -> Option<Finding> {
    let TimeControl::Nodes(limit) = config.limits()[engine] else { return None };
    let name = &config.engines[engine].name;
    if config.engines[engine].kind == EngineKind::BuiltIn {
        return None;
    }
    let each = tally.nodes[engine] / tally.moves[engine].max(1);
    let hung = tally.ends.contains_key(&End::Hung) && tally.failures[engine] > 0;
    // Many engines check their limits only every few thousand nodes.
    let text = match each > 2 * limit + 5000 {
        true => format!(
            "{name} reports {each} nodes per move at {limit}: it seems to ignore 'go nodes'; depth and time may do"
        ),
        false if hung => {
            format!("{name} may hang because it does not know 'go nodes'; depth and time may do")
        }
        false => return None,
    };
    Some(Finding::warning(FindingKind::IgnoresLimit, text, vec![name.clone()]))
}

fn not_counted(ahead: u64, is_decided: bool) -> Finding {
    let verb = if ahead == 1 { "is" } else { "are" };
    let (finding, why): (fn(_, _, _) -> _, _) = match is_decided {
        true => (Finding::note, "the test had ended"),
        false => (Finding::warning, "an earlier pair is missing"),
    };
    let text = format!("{} {verb} not counted because {why}", counted(ahead, "finished pair"));
    finding(FindingKind::NotCounted, text, Vec::new())
}
