//! Output of `spsa simulate`.

use gputexel::Result;
use gputexel::spsa::simulator::{PaperCell, Scenario, Summary};
use serde_json::{Value, json};

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::table::{aligned, counted};

pub struct SimulatedCell {
    pub scenario: Scenario,
    pub summary: Summary,
    /// Root of the mean square distance of final values from the optimum.
    pub rms_error: f64,
    /// `None` for methods without one.
    pub deviation: Option<f64>,
    pub paper: Option<PaperCell>,
    pub seconds: f64,
}

/// # Errors
/// When standard output cannot be written.
pub fn print(context: &Context, finished: &[SimulatedCell]) -> Result<()> {
    if context.json {
        let list: Vec<_> = finished.iter().map(SimulatedCell::json).collect();
        return write_stdout(&format!("{:#}\n", json!({ "settings": list })));
    }
    if context.quiet {
        return Ok(());
    }
    let Some(first) = finished.first() else { return Ok(()) };
    let scenario = &first.scenario;
    let mut out = format!(
        "{} of games per run, {} each, {:.4} % of the games drawn, {} Elo to gain\n\n",
        counted(scenario.settings.schedule.iterations, "pair"),
        counted(scenario.repeats as u64, "run"),
        number(100.0 * scenario.draw_rate),
        number(-scenario.start_elo()),
    )
    .replace(".0000 %", " %");
    let is_paper = first.paper.is_some();
    out += &aligned(&if is_paper { paper_rows(finished) } else { rows(finished) }, 0);
    if is_paper {
        out += "\ndifference: of the means, in units of its standard error (the paper has 50 runs)\n";
    }
    print_text(&out)
}

impl SimulatedCell {
    fn json(&self) -> Value {
        let (s, scenario) = (&self.summary, &self.scenario);
        let settings = &scenario.settings;
        let mut cell = json!({
            "method": settings.method, "parameters": scenario.variables.len(), "mean": s.mean, "sd": s.sd,
        });
        if let Some(paper) = &self.paper {
            cell["paper_mean"] = json!(paper.mean);
            cell["paper_sd"] = json!(paper.sd);
            cell["difference_in_standard_errors"] = json!(paper.deviations(s.mean, s.standard_error));
        }
        let rest = json!({
            "repeats": scenario.repeats, "standard_error": s.standard_error,
            "p5": s.p5, "p25": s.p25, "median": s.median, "p75": s.p75, "p95": s.p95,
            "rms_error": self.rms_error, "posterior_deviation": self.deviation,
            "elo_at_start": scenario.start_elo(), "iterations": settings.schedule.iterations,
            "a": settings.schedule.stability, "alpha": settings.schedule.alpha, "gamma": settings.schedule.gamma,
            "noise": settings.noise, "draw_rate": scenario.draw_rate, "seed": scenario.seed,
            "seconds": self.seconds,
        });
        if let (Some(cell), Value::Object(rest)) = (cell.as_object_mut(), rest) {
            cell.extend(rest);
        }
        cell
    }
}

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
    let header = [
        "parameters",
        "method",
        "mean",
        "sd",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "rms error",
        "posterior s",
    ];
    let mut rows = vec![texts(header)];
    for f in finished {
        let s = &f.summary;
        let mut row = vec![f.scenario.variables.len().to_string(), f.scenario.settings.method.to_string()];
        let gains = [s.mean, s.sd, s.p5, s.p25, s.median, s.p75, s.p95];
        row.extend(gains.iter().map(|value| format!("{value:.5}")));
        row.push(format!("{:.4}", f.rms_error));
        row.push(f.deviation.map_or_else(String::new, |s| format!("{s:.4}")));
        rows.push(row);
    }
    rows
}
