//! `gputexel spsa simulate`: the table of the BSPSA paper, and simulations that a configuration of a script
//! describes.

use std::path::PathBuf;

use gputexel::Error;
use gputexel::spsa::config::Conf;
use gputexel::spsa::simulator::{PaperCell, Scenario, Summary, paper_cells, simulate};
use indicatif::{ProgressBar, ProgressStyle};

use super::super::backend::set_threads;
use super::super::context::Context;
use super::super::table::counted;
use super::output::{SimulatedCell, print};

/// Maximum number of repeats.
const MAX_REPEATS: usize = 100_000;

/// Flags of `spsa simulate`.
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

/// # Errors
/// Bad usage, files that cannot be read or written.
pub fn run(args: &SimulateArgs, context: &Context) -> anyhow::Result<()> {
    if !(1..=MAX_REPEATS).contains(&args.repeats) {
        return Err(Error::Usage(format!("--repeats {}: expected 1 to {MAX_REPEATS}", args.repeats)).into());
    }
    let scenarios = args.scenarios()?;
    set_threads(args.threads)?;
    let mut finished = Vec::with_capacity(scenarios.len());
    for (scenario, paper) in scenarios {
        let bar = bar(context, scenario.settings.schedule.iterations, title(&scenario));
        let started = std::time::Instant::now();
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
        let (rms_error, deviation) = (outcome.rms_error, outcome.deviation);
        let seconds = started.elapsed().as_secs_f64();
        finished.push(SimulatedCell { scenario, summary, rms_error, deviation, paper, seconds });
    }
    Ok(print(context, &finished)?)
}

fn title(scenario: &Scenario) -> String {
    format!("{}, {}", scenario.settings.method, counted(scenario.variables.len() as u64, "parameter"))
}

pub fn bar(context: &Context, pairs: u64, title: String) -> ProgressBar {
    if !context.shows_progress() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} pairs, {eta} left");
    ProgressBar::new(pairs).with_style(style.expect("the template is well-formed")).with_message(title)
}
