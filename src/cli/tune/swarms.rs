use std::path::Path;

use gputexel::Result;
use gputexel::run::{SwarmLosses, Tuned, run_summary};
use gputexel::tuning::Polish;

use super::super::conclusion::{ending, findings};
use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::runs::{reason_text, regularized_line, rounding_lines};
use super::super::table::counted;
use super::output::uncertainty_lines;
use super::summary::values;

pub(super) fn print_results(context: &Context, tuned: &Tuned, losses: SwarmLosses) -> Result<()> {
    let (outcome, config, polish) = (&tuned.outcome, tuned.config(), tuned.polish.as_ref());
    let folder = tuned.folder.as_deref().unwrap_or(Path::new("")).display();
    let SwarmLosses { original, best: swarm } = losses;
    if context.json {
        return write_stdout(&format!("{}\n", run_summary(tuned)));
    }
    if context.quiet {
        return Ok(());
    }
    let mut out = format!(
        "finished    {}, {:.2} s: {}\noptimizer   {}\noriginal    {original:.10}\nbest        {swarm:.10} ({:+.3} %), iteration {}\n",
        counted(outcome.epochs, "iteration"),
        outcome.seconds,
        reason_text(outcome.reason, config),
        outcome.optimizer,
        100.0 * (swarm - original) / original,
        outcome.best_epoch
    );
    if let Some(polish) = polish {
        out += &polish_line(polish);
        if let Some(rounding) = &tuned.rounding {
            out += &rounding_lines(rounding, tuned.record.config.round);
        }
    }
    // Printed last, because it concerns the final values.
    out += &regularized_line(tuned);
    if let Some((before, after)) = tuned.held_out_before.zip(tuned.held_out) {
        out += &format!("held out    {before:.10} -> {after:.10}\n");
    }
    out.push('\n');
    out += &values(tuned);
    out += &uncertainty_lines(tuned);
    out += &findings(&tuned.conclusion(), true);
    out += &format!("\nwritten     {}: params.json, z.json, tables, report.html\n", folder);
    out += &ending(&tuned.conclusion());
    print_text(&out)
}

fn polish_line(polish: &Polish) -> String {
    let optimum = polish.optimum.map(|loss| format!(" (continuous optimum {loss:.10})")).unwrap_or_default();
    let closed =
        polish.closed().map(|share| format!(", {:.1} % of the way", 100.0 * share)).unwrap_or_default();
    let fate = if polish.refused { "; rejected because the held-out loss is worse" } else { "" };
    format!(
        "polished    {:.10} -> {:.10}{optimum}{closed}{fate}; {:.1} s\n",
        polish.swarm, polish.polished, polish.seconds
    )
}
