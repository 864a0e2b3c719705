//! Output of `tune` at its end.

use std::fmt::Write as _; // to strings, which cannot fail

use gputexel::Result;
use gputexel::run::{Answer, FAR_CP, RunSummary, Tuned, WEAK_SUPPORT};
use gputexel::tuning::{Ablation, LeftOut};

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::runs::{
    change_text, folds_text, gain_text, joint_lines, reason_text, regularized_line, rounding_lines,
};
use super::super::table::{compensation, counted, grouped};
use super::summary::summary;
use super::uncertainty::describe;

/// Prints the results: a summary, after all figures if `verbose`.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_results(context: &Context, tuned: &Tuned, piece: Option<&str>, verbose: bool) -> Result<()> {
    if context.json {
        return write_stdout(&format!("{}\n", serde_json::json!(RunSummary::new(tuned))));
    }
    if context.quiet {
        return Ok(());
    }
    let details = details(tuned);
    let shown = match verbose {
        true => details + "\n",
        false => details
            .lines()
            .filter(|line| {
                ["warning ", "not optimal ", "at a bound "].iter().any(|start| line.starts_with(start))
            })
            .fold(String::new(), |all, line| all + line + "\n"),
    };
    print_text(&(shown + &summary(tuned, piece)))
}

/// Formats the end of a run, losses, and all that is remarkable about parameters.
fn details(tuned: &Tuned) -> String {
    let (outcome, config, set) = (&tuned.outcome, tuned.config(), &tuned.features);
    let mut out = String::new();
    let epochs = counted(outcome.epochs, "epoch");
    let _ = writeln!(
        out,
        "finished    {epochs}, {:.2} s: {}",
        outcome.seconds,
        reason_text(outcome.reason, config)
    );
    let _ = writeln!(out, "optimizer   {}", outcome.optimizer);
    let judged = if tuned.held_out.is_some() { "held-out loss" } else { "regularized loss" };
    if outcome.members.len() > 1 {
        for (member, value) in &outcome.members {
            let _ = writeln!(out, "  best {judged} {value:.10}  {member}");
        }
    }
    let change = |before: Option<f64>, after: Option<f64>| {
        before.zip(after).map(|(before, after)| change_text(before, after))
    };
    if let Some(text) = change(tuned.loss_before, tuned.loss) {
        let _ = writeln!(out, "loss        {text}");
        out += &joint_lines(tuned);
        out += &regularized_line(tuned);
    }
    if let Some(rounding) = &tuned.rounding {
        out += &rounding_lines(rounding, tuned.record.config.round);
    }
    if let Some(text) = change(tuned.held_out_before, tuned.held_out) {
        let _ = writeln!(out, "held out    {text}, epoch {}", outcome.best_epoch);
    }
    if let Some(losses) = &tuned.against_results
        && let Some(text) = change(Some(losses.before), Some(losses.after))
    {
        let which = if losses.held_out { "held-out" } else { "training" };
        let _ = writeln!(out, "results     {text}: {which} loss against results alone");
    }
    let fractions = tuned.fractions();
    if fractions > 0 {
        let _ = writeln!(
            out,
            "note        integer coordinates without whole values yet: {}; use --round local",
            grouped(fractions as u64)
        );
    }
    out += &fallen_line(tuned);
    if let Some(term) = &tuned.constant_term {
        let _ = writeln!(out, "warning     {}", term.warning());
    }
    let (held, unsupported) = (tuned.at_bounds(), tuned.unsupported());
    if !held.is_empty() {
        let _ = writeln!(out, "at a bound  {}", shortened(&held, "coordinates"));
    }
    if !unsupported.is_empty() {
        let list = shortened(&unsupported, "features");
        let filled: Vec<String> = tuned.filled().iter().map(ToString::to_string).collect();
        let _ = match &filled[..] {
            [] => writeln!(out, "never occur: {list}; they keep their start"),
            changed => {
                let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
                let whence = match config.named_basis() {
                    Some(_) => "which the basis ties to others",
                    None => "squares between others",
                };
                let _ = writeln!(out, "never occur: {list}; they keep their start, but for {whence}:");
                writeln!(out, "            {}", shortened(&changed, "features"))
            }
        };
    }
    let (weak, far) = (tuned.weak(), tuned.far());
    if !weak.is_empty() {
        let _ = writeln!(out, "in fewer than {WEAK_SUPPORT} positions: {}", shortened(&weak, "features"));
    }
    if !far.is_empty() {
        let list = shortened(&far, "features");
        let _ = writeln!(
            out,
            "more than {FAR_CP} centipawns from the prior: {list}; --l2 or more positions would constrain them"
        );
    }
    out += &uncertainty_lines(tuned);
    if let Some(program) = &tuned.program {
        out += &super::program::lines(program, set.imported.is_some());
    }
    if let Some(ablation) = &tuned.ablation {
        out += &ablation_table(ablation);
    }
    if let Some(strength) = &tuned.record.strength
        && let Some(gain) = &strength.gain
        && !tuned.is_start()
    {
        let _ = writeln!(out, "strength    held-out loss {} ({})", gain_text(gain), folds_text(strength));
    }
    out
}

/// Warning about pieces that are worth much less than before, if there are any.
fn fallen_line(tuned: &Tuned) -> String {
    if tuned.is_start() {
        return String::new();
    }
    let pieces = tuned.pieces();
    let fallen = |phase: usize, name: &str| {
        let names: Vec<&str> = pieces.iter().filter(|one| one.falls(phase)).map(|one| one.piece).collect();
        (!names.is_empty()).then(|| format!("{} in the {name}", names.join(", ")))
    };
    let fallen: Vec<String> = [fallen(0, "middlegame"), fallen(1, "endgame")].into_iter().flatten().collect();
    if fallen.is_empty() {
        return String::new();
    }
    let why = compensation(tuned.ahead.as_ref())
        .unwrap_or_else(|| "a match against the values before shows whether that wins games".to_string());
    format!("warning     worth less by a quarter or more: {}; {why}\n", fallen.join(", "))
}

/// Lines about the uncertainty of the values, if requested.
pub(super) fn uncertainty_lines(tuned: &Tuned) -> String {
    match &tuned.uncertainty {
        Answer::None => String::new(),
        Answer::LeftOut(reason) => format!("no errors   {reason}\n"),
        Answer::Found(findings) => describe(findings, tuned),
    }
}

/// Formats the cost of leaving out each group.
pub(super) fn ablation_table(ablation: &Ablation) -> String {
    let width = ablation.groups.iter().map(|group| group.group.chars().count()).max().unwrap_or(0).max(5);
    let what = if ablation.by_game { "games" } else { "positions" };
    let mut out = format!(
        "left out    held-out loss {:.6} over {} folds of {what}; without a group:\n",
        ablation.held_out, ablation.folds
    );
    for LeftOut { group, coordinates, cost, error } in &ablation.groups {
        let verdict = if *cost < *error { "  may go" } else { "" };
        let _ = writeln!(out, "  {group:<width$} {coordinates:>5}  {cost:+.6} ± {error:.6}{verdict}");
    }
    out
}

fn shortened(names: &[&str], what: &str) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        0..=SHOWN => names.join(", "),
        n => format!("{} and {} more {what}", names[..SHOWN].join(", "), n - SHOWN),
    }
}
