//! What `spsa simulate` shows at its end.

use gputexel::Result;
use gputexel::spsa::simulator::{GridCell, PaperCell, Summary};
use serde_json::{Map, Value, json};

use super::super::table::{aligned, grouped};
use super::super::{Context, say};
use super::simulate::SimulateArgs;

/// A run of the grid that is done.
pub struct Finished {
    pub cell: GridCell,
    pub summary: Summary,
    pub rms_error: f64,
    /// What the posterior says of that.
    pub deviation: Option<f64>,
    pub paper: Option<PaperCell>,
    /// The GPU that simulated it.
    pub gpu: Option<String>,
    pub seconds: f64,
}

/// Shows all: a JSON list, or a table.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(context: &Context, args: &SimulateArgs, finished: &[Finished]) -> Result<()> {
    if context.json {
        let list: Vec<Value> = finished.iter().map(to_json).collect();
        return say(&format!("{:#}\n", Value::from(list)));
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
        out += &format!("{} pairs of games per run, ", grouped(scenario.settings.schedule.iterations));
    }
    out += &format!(
        "{} runs each, {:.4} % of the games drawn, {} Elo to gain\n\n",
        grouped(scenario.repeats as u64),
        number(100.0 * scenario.draw_rate),
        number(-scenario.start_elo()),
    )
    .replace(".0000 %", " %");
    let rows = if args.is_paper() { paper_rows(finished) } else { rows(finished) };
    out += &aligned(&rows, 0);
    if let Some(device) = finished.iter().find_map(|f| f.gpu.as_ref()) {
        out += &format!("\nsimulated on {device}, in 32 bits\n");
    }
    if args.is_paper() {
        out += "\ndifference: of the means, in units of its standard error (the paper has 50 runs)\n";
    }
    say(&out)
}

/// A number in six decimals without the zeros at its end.
fn number(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn texts<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_string).to_vec()
}

fn paper_rows(finished: &[Finished]) -> Vec<Vec<String>> {
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

fn rows(finished: &[Finished]) -> Vec<Vec<String>> {
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

fn to_json(f: &Finished) -> Value {
    let (s, scenario) = (&f.summary, &f.cell.scenario);
    let settings = &scenario.settings;
    let place: Map<String, Value> =
        f.cell.place.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
    let bayesian = settings.method.is_bayesian();
    let variables: Vec<Value> = scenario
        .variables
        .iter()
        .zip(&scenario.optimum)
        .map(|(v, optimum)| {
            let mut object = json!({
                "name": v.name, "start": v.start, "min": v.min, "max": v.max, "optimum": optimum,
                "simul_elo": v.simul_elo, "c_end": v.c_end,
            });
            if bayesian {
                object["s"] = json!(v.s);
                object["sigma"] = json!(v.sigma);
            } else {
                object["r_end"] = json!(v.r_end);
            }
            object
        })
        .collect();
    let mut object = json!({
        "method": settings.method.to_string(),
        "parameters": scenario.variables.len(),
        "mean": s.mean, "sd": s.sd,
    });
    if let Some(paper) = &f.paper {
        object["paper_mean"] = json!(paper.mean);
        object["paper_sd"] = json!(paper.sd);
        object["difference_in_standard_errors"] = json!(paper.deviations(s.mean, s.standard_error));
    }
    let rest = json!({
        "repeats": scenario.repeats,
        "standard_error": s.standard_error,
        "p5": s.p5, "p25": s.p25, "median": s.median, "p75": s.p75, "p95": s.p95,
        "rms_error": f.rms_error,
        "posterior_deviation": f.deviation,
        "elo_at_start": scenario.start_elo(),
        "iterations": settings.schedule.iterations,
        "a": settings.schedule.stability,
        "alpha": settings.schedule.alpha,
        "gamma": settings.schedule.gamma,
        "noise": settings.noise,
        "draw_rate": scenario.draw_rate,
        "concurrency": scenario.concurrency,
        "as_published": settings.as_published,
        "seed": scenario.seed,
        "grid": place,
        "backend": if f.gpu.is_some() { "gpu" } else { "cpu" },
        "device": f.gpu,
        "seconds": f.seconds,
    });
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    if f.paper.is_none() {
        object["variables"] = variables.into();
    }
    object
}
