//! `gputexel spsa simulate`: the table of the BSPSA paper, and simulations that a configuration of a script
//! describes.

use std::path::PathBuf;
use std::time::Instant;

use gputexel::Error;
use gputexel::spsa::config::Conf;
use gputexel::spsa::numbers::shortest_digits;
use gputexel::spsa::simulator::{Outcome, PaperCell, Scenario, Summary, paper_cells, simulate};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::super::backend::set_threads;
use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::table::{aligned, counted};

const MAX_REPEATS: usize = 100_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Strength is quadratic in every parameter, the draw rate is fixed, and an iteration is a \
pair of games. Gains are in Elo from start to end. 'spsa plan' simulates settings for parameters of yours.\n\n\
Examples:\n  \
gputexel spsa simulate --paper --repeats 50")]
pub struct SimulateArgs {
    /// Reproduce the table of the BSPSA paper (arXiv:2205.15602), next to the paper's figures
    #[arg(long)]
    paper: bool,
    /// Configuration of spsa.pl or bspsa.pl (Simulate = 1)
    #[arg(long, value_name = "FILE", required_unless_present = "paper", conflicts_with = "paper")]
    conf: Option<PathBuf>,
    /// Runs per setting
    #[arg(long, value_name = "N", default_value_t = 400)]
    repeats: usize,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// CPU threads [default: one per core]; does not change results
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl SimulateArgs {
    fn scenarios(&self) -> gputexel::Result<Vec<(Scenario, Option<PaperCell>)>> {
        let Some(path) = &self.conf else {
            let cells = paper_cells().into_iter();
            return Ok(cells.map(|cell| (cell.scenario(self.repeats, self.seed), Some(cell))).collect());
        };
        match Conf::open(path)? {
            Conf::Simulation(scenario) => {
                Ok(vec![(Scenario { repeats: self.repeats, seed: self.seed, ..*scenario }, None)])
            }
            Conf::Games(_) => Err(Error::input(path, "asks for games: 'gputexel spsa run' plays them")),
        }
    }
}

struct SimulatedCell {
    scenario: Scenario,
    outcome: Outcome,
    summary: Summary,
    paper: Option<PaperCell>,
    seconds: f64,
}

pub fn run(args: &SimulateArgs, context: &Context) -> anyhow::Result<()> {
    if !(1..=MAX_REPEATS).contains(&args.repeats) {
        return Err(Error::Usage(format!("--repeats {}: expected 1 to {MAX_REPEATS}", args.repeats)).into());
    }
    let scenarios = args.scenarios()?;
    set_threads(args.threads)?;
    let mut finished: Vec<SimulatedCell> = Vec::with_capacity(scenarios.len());
    for (scenario, paper) in scenarios {
        let count = counted(scenario.variables.len() as u64, "parameter");
        let title = format!("{}, {count}", scenario.settings.method);
        let bar = bar(context, scenario.settings.schedule.iterations, title);
        let started = Instant::now();
        let outcome = simulate(&scenario, &context.cancel.into(), &mut |done| bar.set_position(done));
        bar.finish_and_clear();
        let outcome = match outcome {
            // Print the finished results.
            Err(error @ Error::Interrupted(_)) if !finished.is_empty() => {
                print(context, &finished)?;
                return Err(error.into());
            }
            outcome => outcome?,
        };
        let summary = Summary::new(&outcome.gains);
        let seconds = started.elapsed().as_secs_f64();
        finished.push(SimulatedCell { scenario, outcome, summary, paper, seconds });
    }
    Ok(print(context, &finished)?)
}

pub fn bar(context: &Context, pairs: u64, title: String) -> ProgressBar {
    context.bar(pairs, "{msg} {wide_bar} {pos}/{len} pairs, {eta} left").with_message(title)
}

fn print(context: &Context, finished: &[SimulatedCell]) -> gputexel::Result<()> {
    if context.json {
        let list: Vec<_> = finished.iter().map(SimulatedCell::json).collect();
        return write_stdout(&format!("{:#}\n", json!({ "settings": list })));
    }
    let Some(SimulatedCell { scenario, paper, .. }) = finished.first().filter(|_| !context.quiet) else {
        return Ok(());
    };
    let mut out = format!(
        "{} of games per run, {} each, {} % of the games drawn, {} Elo to gain\n\n",
        counted(scenario.settings.schedule.iterations, "pair"),
        counted(scenario.repeats as u64, "run"),
        shortest_digits(100.0 * scenario.draw_rate),
        shortest_digits(-scenario.start_elo()),
    );
    let mut rows = vec![HEADER.map(str::to_string).to_vec()];
    rows[0].extend(if paper.is_some() { PAPER } else { SPREAD }.map(str::to_string));
    rows.extend(finished.iter().map(SimulatedCell::row));
    out += &aligned(&rows, 0);
    if paper.is_some() {
        out += "\ndifference: of the means, in units of its standard error (the paper has 50 runs)\n";
    }
    print_text(&out)
}

const HEADER: [&str; 4] = ["parameters", "method", "mean", "sd"];
const PAPER: [&str; 4] = ["paper mean", "paper sd", "difference", "sd ratio"];
const SPREAD: [&str; 4] = ["5 %", "median", "95 %", "rms error"];

impl SimulatedCell {
    fn row(&self) -> Vec<String> {
        let (s, digits) = (&self.summary, |value: f64| format!("{value:.5}"));
        let mut row =
            vec![self.scenario.variables.len().to_string(), self.scenario.settings.method.to_string()];
        row.extend([s.mean, s.sd].map(digits));
        row.extend(match &self.paper {
            None => [s.p5, s.median, s.p95, self.outcome.rms_error].map(digits),
            Some(paper) => {
                let difference = paper.deviations(s.mean, s.standard_error);
                let ratio = format!("{:.2}", s.sd / paper.sd);
                [digits(paper.mean), digits(paper.sd), format!("{difference:+.2}"), ratio]
            }
        });
        row
    }

    fn json(&self) -> Value {
        let Self { scenario, outcome, summary: s, paper, seconds } = self;
        let settings = &scenario.settings;
        let mut cell = json!({
            "method": settings.method, "parameters": scenario.variables.len(), "mean": s.mean, "sd": s.sd,
            "repeats": scenario.repeats, "standard_error": s.standard_error,
            "p5": s.p5, "p25": s.p25, "median": s.median, "p75": s.p75, "p95": s.p95,
            "rms_error": outcome.rms_error, "posterior_deviation": outcome.deviation,
            "elo_at_start": scenario.start_elo(), "iterations": settings.schedule.iterations,
            "a": settings.schedule.stability, "alpha": settings.schedule.alpha, "gamma": settings.schedule.gamma,
            "noise": settings.noise, "draw_rate": scenario.draw_rate, "seed": scenario.seed,
            "seconds": seconds,
        });
        if let Some(paper) = paper {
            cell["paper_mean"] = json!(paper.mean);
            cell["paper_sd"] = json!(paper.sd);
            cell["difference_in_standard_errors"] = json!(paper.deviations(s.mean, s.standard_error));
        }
        cell
    }
}
