//! Output of `spsa simulate`.

use gputexel::Result;
use gputexel::spsa::grid::SimulatedCell;
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::table::{aligned, counted};

/// Prints all results, as a JSON object with a list or as a table.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(context: &Context, is_paper: bool, finished: &[SimulatedCell]) -> Result<()> {
    if context.json {
        let list: Vec<_> = finished.iter().map(SimulatedCell::report).collect();
        return write_stdout(&format!("{:#}\n", json!({ "settings": list })));
    }
    if context.quiet {
        return Ok(());
    }
    let Some(first) = finished.first() else { return Ok(()) };
    let scenario = &first.cell.scenario;
    let mut out = String::new();
    let same = finished
        .iter()
        .all(|f| f.cell.scenario.settings.schedule.iterations == scenario.settings.schedule.iterations);
    if same {
        out += &format!("{} of games per run, ", counted(scenario.settings.schedule.iterations, "pair"));
    }
    out += &format!(
        "{} each, {:.4} % of the games drawn, {} Elo to gain\n\n",
        counted(scenario.repeats as u64, "run"),
        number(100.0 * scenario.draw_rate),
        number(-scenario.start_elo()),
    )
    .replace(".0000 %", " %");
    let rows = if is_paper { paper_rows(finished) } else { rows(finished) };
    out += &aligned(&rows, 0);
    if is_paper {
        out += "\ndifference: of the means, in units of its standard error (the paper has 50 runs)\n";
    }
    print_text(&out)
}

/// Rounds a number to six decimals.
fn number(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn texts<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_string).to_vec()
}

fn paper_rows(finished: &[SimulatedCell]) -> Vec<Vec<String>> {
    let header =
        texts(["parameters", "method", "mean", "sd", "paper mean", "paper sd", "difference", "sd ratio"]);
    let mut rows = vec![header];
    for f in finished {
        let Some(paper) = &f.paper else { continue };
        rows.push(vec![
            paper.parameters.to_string(),
            paper.method.to_string(),
            format!("{:.5}", f.summary.mean),
            format!("{:.5}", f.summary.sd),
            format!("{:.5}", paper.mean),
            format!("{:.5}", paper.sd),
            format!("{:+.2}", paper.deviations(f.summary.mean, f.summary.standard_error)),
            format!("{:.2}", f.summary.sd / paper.sd),
        ]);
    }
    rows
}

fn rows(finished: &[SimulatedCell]) -> Vec<Vec<String>> {
    let mut header = texts(["parameters", "method"]);
    let axes = finished.first().map(|f| &f.cell.place[..]).unwrap_or_default();
    header.extend(axes.iter().map(|(name, _)| name.to_string()));
    header.extend(texts(["mean", "sd", "5 %", "25 %", "median", "75 %", "95 %", "rms error", "posterior s"]));
    let mut rows = vec![header];
    for f in finished {
        let s = &f.summary;
        let scenario = &f.cell.scenario;
        let mut row = vec![scenario.variables.len().to_string(), scenario.settings.method.to_string()];
        row.extend(f.cell.place.iter().map(|(_, value)| value.clone()));
        let gains = [s.mean, s.sd, s.p5, s.p25, s.median, s.p75, s.p95];
        row.extend(gains.iter().map(|value| format!("{value:.5}")));
        row.push(format!("{:.4}", f.rms_error));
        row.push(f.deviation.map_or_else(String::new, |s| format!("{s:.4}")));
        rows.push(row);
    }
    rows
}
