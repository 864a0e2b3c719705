//! `gputexel spsa simulate`: simulates what methods and settings gain.

use std::path::PathBuf;
use std::time::Instant;

use gputexel::Error;
use gputexel::io::{check_target, write_atomically};
use gputexel::report::{BandPanel, Bands};
use gputexel::spsa::grid::{GridCell, SimulatedCell};
use gputexel::spsa::simulator::{PaperCell, Summary, paper_cells, simulate};
use indicatif::{ProgressBar, ProgressStyle};

use super::super::backend::set_threads;
use super::super::context::Context;
use super::super::table::counted;
use super::cells::ScenarioArgs;
use super::output::print;

/// Maximum number of repeats; their values are kept at 200 points in time.
const MAX_REPEATS: usize = 100_000;

/// Flags of `spsa simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Strength is quadratic in every parameter, the draw rate is fixed, and an iteration is a \
pair of games. Without --variables, all parameters are identical. Gains are in Elo from start to end.\n\n\
Examples:\n  \
gputexel spsa simulate --method spsa,bspsa --parameters 8 --elo 20 -N 10000 --grid c-end=x0.5,x1,x2")]
pub struct SimulateArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Reproduce the table of the BSPSA paper (arXiv:2205.15602), next to the paper's figures
    #[arg(long)]
    paper: bool,
    /// Runs per setting
    #[arg(long, value_name = "N", default_value_t = 400)]
    repeats: usize,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// CPU threads [default: one per core]; does not change results
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Draw the percentiles of the gain over the iterations to this file
    #[arg(long, value_name = "FILE", value_parser = super::super::target::file())]
    svg: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Maximum number of panels in a picture.
const MAX_PANELS: usize = 100;

/// Runs `spsa simulate`.
///
/// # Errors
/// Bad usage, files that cannot be read or written.
pub fn run(args: &SimulateArgs, context: &Context) -> anyhow::Result<()> {
    if args.repeats == 0 {
        return Err(Error::Usage("--repeats 0: must be a positive number".to_string()).into());
    }
    if args.repeats > MAX_REPEATS {
        return Err(Error::Usage(format!("--repeats {}: at most {MAX_REPEATS}", args.repeats)).into());
    }
    if args.paper && args.scenario != ScenarioArgs::default() {
        let why = "--paper: cannot be combined with flags for the simulation and its settings";
        return Err(Error::Usage(why.to_string()).into());
    }
    check_target(args.svg.as_deref(), args.force)?;
    let (cells, paper): (Vec<GridCell>, Vec<Option<PaperCell>>) = if args.paper {
        let cell = |paper: PaperCell| {
            let scenario = paper.scenario(args.repeats, args.seed);
            (GridCell { scenario, place: Vec::new() }, Some(paper))
        };
        paper_cells().into_iter().map(cell).unzip()
    } else {
        args.scenario.cells(args.repeats, args.seed)?.into_iter().map(|cell| (cell, None)).unzip()
    };
    if args.svg.is_some() && cells.len() > MAX_PANELS {
        let count = cells.len();
        return Err(Error::Usage(format!("--svg: {count} runs are more than {MAX_PANELS} panels")).into());
    }
    set_threads(args.threads)?;
    let mut finished = Vec::with_capacity(cells.len());
    let mut panels = Vec::new();
    for (i, (cell, paper)) in cells.into_iter().zip(paper).enumerate() {
        let bar = bar(context, cell.scenario.settings.schedule.iterations, title(&cell));
        let started = Instant::now();
        let outcome = simulate(&cell.scenario, &context.cancel.into(), &mut |done| bar.set_position(done));
        bar.finish_and_clear();
        let outcome = match outcome {
            // Print the finished results.
            Err(error @ Error::Interrupted(_)) if i > 0 => {
                print(context, args.paper, &finished)?;
                return Err(error.into());
            }
            outcome => outcome?,
        };
        if args.svg.is_some() {
            let five = |gains: &[f64]| {
                let s = Summary::new(gains);
                [s.p5, s.p25, s.median, s.p75, s.p95]
            };
            let trajectory = outcome.trajectory.iter();
            let points = trajectory.map(|(k, gains)| (*k as f64, five(gains))).collect();
            panels.push(BandPanel { title: title(&cell), points });
        }
        finished.push(SimulatedCell::new(cell, &outcome, paper, started.elapsed().as_secs_f64()));
    }
    if let Some(path) = &args.svg {
        let bands = Bands {
            title: format!("Elo gained in {} simulated runs: median, quartiles, 5 to 95 %", args.repeats),
            x_name: "pairs of games".to_string(),
            y_name: "Elo".to_string(),
            panels,
        };
        write_atomically(path, bands.to_svg()?.as_bytes())?;
    }
    Ok(print(context, args.paper, &finished)?)
}

fn title(cell: &GridCell) -> String {
    let n = cell.scenario.variables.len();
    let mut text = format!("{}, {}", cell.scenario.settings.method, counted(n as u64, "parameter"));
    for (name, value) in &cell.place {
        text += &format!(", {name} {value}");
    }
    text
}

/// Creates a progress bar for the pairs of a simulation.
pub fn bar(context: &Context, pairs: u64, title: String) -> ProgressBar {
    if !context.shows_progress() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} pairs, {eta} left");
    ProgressBar::new(pairs).with_style(style.expect("the template is well-formed")).with_message(title)
}
