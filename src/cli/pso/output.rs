//! What `pso` shows at its end.

use std::fmt::Write as _; // to strings, which cannot fail

use gputexel::Result;
use gputexel::dataset::Dataset;
use gputexel::report::board;
use gputexel::tuning::RunConfig;
use serde_json::{Map, Value, json};

use super::super::run_folder::RunFolder;
use super::super::table::aligned;
use super::super::tune::Summary;
use super::super::{Context, say};
use super::polish::Polish;

/// More coordinates than this are left to `z.json`.
const LISTED: usize = 120;

/// Shows the results. `original` and `swarm` are the exact losses of the start and of the swarm's
/// best position.
///
/// # Errors
/// When standard output cannot be written.
#[allow(clippy::too_many_arguments, reason = "one call shows all there is")]
pub fn print_results(
    context: &Context,
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    summary: &Summary,
    polish: Option<&Polish>,
    (original, swarm): (f64, f64),
    piece: &str,
) -> Result<()> {
    let (outcome, basis) = (&summary.outcome, config.parameterization());
    let named = || basis.coordinates.iter().zip(&outcome.z);
    if context.json {
        let coordinates: Map<String, Value> = named().map(|(c, z)| (c.name.clone(), json!(z))).collect();
        let mut object = json!({
            "folder": folder.path(), "positions": data.len(), "k": config.k, "basis": basis.name,
            "original": original, "swarm": swarm, "loss_before": summary.before, "loss": summary.after,
            "held_out_before": summary.held_out_before, "held_out": summary.held_out_after,
            "iterations": outcome.epochs, "seconds": outcome.seconds, "reason": outcome.reason,
            "optimizer": outcome.optimizer, "best_iteration": outcome.best_epoch,
            "polish": polish.map(Polish::to_json), "coordinates": coordinates,
        });
        if let Some(whole) = &summary.whole {
            whole.add_to(&mut object);
        }
        return say(&format!("{object}\n"));
    }
    if context.quiet {
        return Ok(());
    }
    let mut out = String::new();
    let _ = writeln!(
        out,
        "finished    {} iterations, {:.2} s: {}\noptimizer   {}\noriginal    {original:.10}\nbest        {swarm:.10} ({:+.3} %), iteration {}",
        outcome.epochs,
        outcome.seconds,
        outcome.reason,
        outcome.optimizer,
        100.0 * (swarm - original) / original,
        outcome.best_epoch
    );
    if let Some(polish) = polish {
        out += &polish.line();
        out += &summary.whole.as_ref().map(|whole| whole.lines()).unwrap_or_default();
    }
    if let Some((before, after)) = summary.held_out_before.zip(summary.held_out_after) {
        let _ = writeln!(out, "held out    {before:.10} -> {after:.10}");
    }
    let _ = writeln!(out);
    if basis.dimension() <= LISTED {
        let cell = |(c, z): (&gputexel::model::Coordinate, &f64)| {
            let bound = match (c.min == Some(*z), c.max == Some(*z)) {
                (true, _) => " (min)",
                (_, true) => " (max)",
                _ => "",
            };
            format!("{} = {z}{bound}", c.name)
        };
        let cells: Vec<String> = named().map(cell).collect();
        let rows = cells.len().div_ceil(3);
        let row = |row: usize| cells.iter().skip(row).step_by(rows).cloned().collect();
        out += &aligned(&(0..rows).map(row).collect::<Vec<_>>(), 2);
    } else {
        out += &board(&data.metadata().feature_set, &outcome.parameters, piece).unwrap_or_default();
    }
    let _ =
        writeln!(out, "\nwritten     {}: params.json, z.json, tables, report.html", folder.path().display());
    say(&out)
}
