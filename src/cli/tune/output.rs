//! Output of `tune` at its end.

use gputexel::Result;
use gputexel::run::{Answer, Tuned, run_summary};

use super::super::conclusion::findings;
use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::runs::{
    change_text, folds_text, gain_text, joint_lines, reason_text, regularized_line, rounding_lines,
};
use super::super::table::counted;
use super::summary::summary;
use super::uncertainty::describe;

/// Prints the results: a summary, after all figures if `verbose`.
pub fn print_results(context: &Context, tuned: &Tuned, verbose: bool) -> Result<()> {
    if context.json {
        return write_stdout(&format!("{}\n", run_summary(tuned)));
    }
    if context.quiet {
        return Ok(());
    }
    let details = if verbose { details(tuned) } else { String::new() };
    let findings = findings(&tuned.conclusion(), verbose);
    let between = if verbose { "\n" } else { "" };
    print_text(&(details + &findings + between + &summary(tuned)))
}

/// Formats the end of a run, losses, and all that is remarkable about parameters.
fn details(tuned: &Tuned) -> String {
    let (outcome, config) = (&tuned.outcome, tuned.config());
    let mut out = String::new();
    let epochs = counted(outcome.epochs, "epoch");
    out +=
        &format!("finished    {epochs}, {:.2} s: {}\n", outcome.seconds, reason_text(outcome.reason, config));
    out += &format!("optimizer   {}\n", outcome.optimizer);
    let judged = if tuned.held_out.is_some() { "held-out loss" } else { "regularized loss" };
    if outcome.members.len() > 1 {
        for (member, value) in &outcome.members {
            out += &format!("  best {judged} {value:.10}  {member}\n");
        }
    }
    let change = |before: Option<f64>, after: Option<f64>| {
        before.zip(after).map(|(before, after)| change_text(before, after))
    };
    if let Some(text) = change(tuned.loss_before, tuned.loss) {
        out += &format!("loss        {text}\n");
        out += &joint_lines(tuned);
        out += &regularized_line(tuned);
    }
    if let Some(rounding) = &tuned.rounding {
        out += &rounding_lines(rounding, tuned.record.config.round);
    }
    if let Some(text) = change(tuned.held_out_before, tuned.held_out) {
        out += &format!("held out    {text}, epoch {}\n", outcome.best_epoch);
    }
    if let Some(losses) = &tuned.against_results
        && let Some(text) = change(Some(losses.before), Some(losses.after))
    {
        let which = if losses.held_out { "held-out" } else { "training" };
        out += &format!("results     {text}: {which} loss against results alone\n");
    }
    out += &uncertainty_lines(tuned);
    if let Some(program) = &tuned.program {
        out += &super::program::lines(program);
    }
    if let Some(strength) = &tuned.record.strength
        && let Some(gain) = &strength.gain
        && !tuned.is_start()
    {
        out += &format!("strength    held-out loss {} ({})\n", gain_text(gain), folds_text(strength));
    }
    out
}

pub(super) fn uncertainty_lines(tuned: &Tuned) -> String {
    match &tuned.uncertainty {
        Answer::None | Answer::LeftOut(_) => String::new(),
        Answer::Found(findings) => describe(findings, tuned),
    }
}
