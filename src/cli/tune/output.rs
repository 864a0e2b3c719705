//! Output of `tune` at its end.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use gputexel::Result;
use gputexel::report::board;
use gputexel::run::{Answer, FAR_CP, PieceWorth, RunSummary, Tuned, WEAK_SUPPORT};
use gputexel::tables::Language;
use gputexel::tuning::{Ablation, LeftOut, OptimizerConfig, ScaleMode};

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::runs::{
    change_text, folds_text, gain_text, joint_lines, reason_text, regularized_line, rounding_lines,
};
use super::super::style::columns;
use super::super::table::{aligned, compensation, counted, grouped};
use super::uncertainty::describe;

/// Maximum number of features listed if there is no board to show.
const LISTED: usize = 24;

/// Ratio of scores to the prior's within which search margins still fit.
const SAME_SCALE: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// Prints the results.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_results(context: &Context, tuned: &Tuned, piece: &str) -> Result<()> {
    let (outcome, config, set) = (&tuned.outcome, tuned.config(), &tuned.features);
    let folder = tuned.folder.as_deref().unwrap_or(Path::new("")).display();
    if context.json {
        return write_stdout(&format!("{}\n", serde_json::json!(RunSummary::new(tuned))));
    }
    if context.quiet {
        return Ok(());
    }
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
    if tuned.is_start() {
        let _ = writeln!(
            out,
            "warning     nothing was better than the {}, which is kept; {}",
            if config.basis.is_some() { "start" } else { "prior" },
            match config.optimizer {
                OptimizerConfig::Adam(_) => "more epochs, smaller steps or more positions may help",
                _ => "more positions would help",
            }
        );
    }
    if let (Some(before), Some(after), None) = (tuned.loss_before, tuned.loss, tuned.held_out)
        && after > before
    {
        let hint = match config.named_basis() {
            Some(_) => ": should the \"base\" of the basis be \"prior\"?",
            None => "",
        };
        let _ = writeln!(out, "warning     the result is worse than the prior{hint}");
    }
    let fractions = tuned.fractions();
    if fractions > 0 {
        let _ = writeln!(
            out,
            "note        integer coordinates without whole values yet: {}; use --round local",
            grouped(fractions as u64)
        );
    }
    if tuned.has_few_positions() {
        let _ = writeln!(
            out,
            "warning     {} {} too few for {}: expect noise; --l2 and --holdout help",
            counted(tuned.positions, "position"),
            if tuned.positions == 1 { "is" } else { "are" },
            counted(outcome.z.len() as u64, "parameter")
        );
    }
    let _ = writeln!(out);
    // If there is a table for each king bucket, show the first.
    let drawn = |group: &str| board(set, &outcome.parameters, group, columns());
    let shown = drawn(piece).or_else(|| drawn(&format!("{piece}_k0")));
    match shown {
        Some(text) => out += &text,
        None => {
            // Values that occur in no position mean nothing, such as a king's in a sum of material.
            let ids: Vec<usize> = (0..set.features.len()).filter(|&id| tuned.occurrences[id] > 0).collect();
            let shown = &ids[..ids.len().min(LISTED)];
            let name = |id: &usize| set.features[*id].name.as_str();
            let width = shown.iter().map(|id| name(id).chars().count()).max().unwrap_or(0).max(10);
            for id in shown {
                let (mg, eg) = (outcome.parameters[*id], outcome.parameters[set.features.len() + id]);
                let _ = writeln!(out, "{:<width$} middlegame {mg:>8.1}  endgame {eg:>8.1}", name(id));
            }
            if ids.len() > LISTED {
                let _ = writeln!(out, "and {} more, see params.json", ids.len() - LISTED);
            }
        }
    }
    let _ = writeln!(out);
    out += &piece_lines(tuned);
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
    let files: Vec<&str> = Language::RUN.iter().map(|language| language.file_name()).collect();
    let z = if config.named_basis().is_some() { "z.json, " } else { "" };
    let _ = writeln!(out, "written     {}: params.json, {z}{}, report.html", folder, files.join(", "));
    if let Some(strength) = &tuned.record.strength
        && let Some(gain) = &strength.gain
        && !tuned.is_start()
    {
        let _ = writeln!(out, "strength    held-out loss {} ({})", gain_text(gain), folds_text(strength));
    }
    out += &scale_line(tuned);
    if let Some(page) = tuned.report() {
        let _ = writeln!(out, "report      {}", page.display());
    }
    print_text(&out)
}

/// Worth of the pieces before and after, with a warning about those that fell.
fn piece_lines(tuned: &Tuned) -> String {
    let pieces = tuned.pieces();
    if pieces.is_empty() || tuned.is_start() {
        return String::new();
    }
    let titles = ["mean value", "middlegame", "", "endgame", ""].map(String::from).to_vec();
    let change = |one: &PieceWorth, phase: usize| {
        let (before, after) = (one.before[phase], one.after[phase]);
        let share =
            if before > 0.0 { format!("{:+.0} %", 100.0 * (after / before - 1.0)) } else { String::new() };
        [format!("{before:.0} -> {after:.0}"), share]
    };
    let row = |one: &PieceWorth| {
        let [[mg, mg_share], [eg, eg_share]] = [change(one, 0), change(one, 1)];
        vec![one.piece.to_string(), mg, mg_share, eg, eg_share]
    };
    let rows: Vec<Vec<String>> = std::iter::once(titles).chain(pieces.iter().map(row)).collect();
    let mut text = aligned(&rows, 0);
    let fallen = |phase: usize, name: &str| {
        let names: Vec<&str> = pieces.iter().filter(|one| one.falls(phase)).map(|one| one.piece).collect();
        (!names.is_empty()).then(|| format!("{} in the {name}", names.join(", ")))
    };
    let fallen: Vec<String> = [fallen(0, "middlegame"), fallen(1, "endgame")].into_iter().flatten().collect();
    if !fallen.is_empty() {
        let why = compensation(tuned.ahead.as_ref())
            .unwrap_or_else(|| "a match against the values before shows whether that wins games".to_string());
        text += &format!("warning     worth less by a quarter or more: {}; {why}\n", fallen.join(", "));
    }
    text + "\n"
}

/// Lines about the uncertainty of the values, if requested.
pub(super) fn uncertainty_lines(tuned: &Tuned) -> String {
    match &tuned.uncertainty {
        Answer::None => String::new(),
        Answer::LeftOut(reason) => format!("no errors   {reason}\n"),
        Answer::Found(findings) => describe(findings, tuned),
    }
}

/// Line about scores whose scale differs from the prior's, if so.
fn scale_line(tuned: &Tuned) -> String {
    let Some(ratio) = tuned.score_ratio.filter(|ratio| !SAME_SCALE.contains(ratio)) else {
        return String::new();
    };
    let scale = tuned.record.scale;
    if scale.is_some_and(|scale| scale.joint_failed) {
        // Margins have no scale to follow, as a warning has said.
        return String::new();
    }
    let joint = scale.is_some_and(|scale| scale.mode == ScaleMode::Joint);
    let instead = if joint { "" } else { ", or use --k joint" };
    format!(
        "scale       scores are {ratio:.2} times the prior's: multiply search margins in centipawns by that{instead}\n"
    )
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
