//! `gputexel spsa run`: tunes by playing games.

mod live;
mod outputs;
pub mod page;
mod report;
mod verify;

use std::path::{Path, PathBuf};

use gputexel::matches::check_games;
use gputexel::report::Report;
use gputexel::spsa::config::{Conf, RunConfig};
use gputexel::spsa::numbers::four_digits;
use gputexel::spsa::run::{RunState, RunSummary, SpsaRun, Stop, conclude, read};
use gputexel::spsa::{MethodKind, Rounding};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::conclusion::ending;
use super::super::context::Context;
use super::super::games::warn;
use super::super::live::{LiveArgs, LivePage};
use super::super::output::{print_text, write_stdout};
use live::Live;

pub use report::{ReportArgs, report};
pub use verify::{VerifyArgs, verify};

/// Flags of `spsa run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
CONFIG is written by 'spsa init', or a configuration of spsa.pl or bspsa.pl. The folder of the run \
contains the journal (spsa.jsonl), to which every pair of games is added as it ends, the values after \
every pair (log.csv, in the columns of spsa.pl), and at the end values.*, report.html and paths.svg. A run that \
was killed can be resumed with --resume and loses no finished pair.\n\n\
Examples:\n  \
gputexel spsa run spsa.toml --out runs/toga --verify 1000")]
pub struct RunArgs {
    /// Configuration file
    #[arg(value_name = "CONFIG", required_unless_present = "resume")]
    config: Option<PathBuf>,
    /// Folder of the run [default: a dated one under runs]
    #[arg(long, short, value_name = "DIR", conflicts_with = "resume", value_parser = super::super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume the run in this folder; with CONFIG, only if the configuration is the same
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// With --resume and --iterations: continue with a different number of pairs, and the gains of a run of that
    /// length
    #[arg(long, requires = "resume", requires = "iterations")]
    replan: bool,
    /// Override the configured method: spsa, bspsas, bspsa, constant
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "resume",
        help_heading = "Overrides of the configuration"
    )]
    method: Option<MethodKind>,
    /// Number of pairs of games
    #[arg(long, short = 'N', value_name = "N", help_heading = "Overrides of the configuration")]
    iterations: Option<u64>,
    /// Limit per move or game: nodes=5000, depth=8, move-time=100 (milliseconds), time=10+0.1 (seconds)
    #[arg(
        long,
        value_name = "LIMIT",
        conflicts_with = "resume",
        help_heading = "Overrides of the configuration"
    )]
    limit: Option<String>,
    /// Rounding to integers: away (half away from zero) or stochastic
    #[arg(
        long,
        value_name = "HOW",
        conflicts_with = "resume",
        help_heading = "Overrides of the configuration"
    )]
    rounding: Option<Rounding>,
    /// Update with the intended perturbation, as spsa.pl and bspsa.pl do
    #[arg(long, conflicts_with = "resume", help_heading = "Overrides of the configuration")]
    as_published: bool,
    /// Seed for signs, rounding and openings
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "resume",
        help_heading = "Overrides of the configuration"
    )]
    seed: Option<u64>,
    /// Concurrent pairs
    #[arg(long, value_name = "N", help_heading = "Overrides of the configuration")]
    concurrency: Option<usize>,
    #[command(flatten)]
    live: LiveArgs,
    /// At the end, play this many games between the result and the start, as 'spsa verify' does
    #[arg(long, value_name = "GAMES")]
    verify: Option<u64>,
}

/// # Errors
/// Bad usage, configurations and engines that cannot be used, files that cannot be read or written,
/// [`Error::Interrupted`].
pub fn run(args: &RunArgs, context: &Context) -> anyhow::Result<()> {
    if let Some(games) = args.verify {
        check_games("verify", games)?;
    }
    let (folder, object) = match &args.resume {
        Some(folder) => resume(args, folder, context)?,
        None => begin(args, context)?,
    };
    if let Some(games) = args.verify {
        let mut report = None;
        let played = verify::play_folder(&folder, games, args.concurrency, false, context, &mut report);
        if let Some(mut object) = object {
            if let Some(verification) = report {
                for part in ["verdict", "findings", "next"] {
                    object[part] = verification[part].clone();
                }
                object["verification"] = verification;
            }
            write_stdout(&format!("{object:#}\n"))?;
        }
        played?;
    }
    Ok(())
}

/// Reads the configuration and applies the flags.
fn configured(args: &RunArgs, path: &Path) -> Result<RunConfig> {
    let mut config = match Conf::open(path)? {
        Conf::Games(config) => *config,
        Conf::Simulation(_) => {
            let reason = "Simulate = 1 asks for a simulation: 'gputexel spsa simulate --conf' makes it";
            return Err(Error::input(path, reason));
        }
    };
    if let Some(method) = args.method {
        config.run.method = method;
    }
    if let Some(iterations) = args.iterations.filter(|_| !args.replan) {
        config.run.iterations = iterations;
    }
    if let Some(limit) = &args.limit {
        config.games.limit.clone_from(limit);
    }
    if let Some(rounding) = args.rounding {
        config.run.rounding = rounding;
    }
    config.run.as_published |= args.as_published;
    if let Some(seed) = args.seed {
        config.run.seed = seed;
    }
    if args.concurrency.is_some() {
        config.games.concurrency = args.concurrency;
    }
    config.validate()?;
    config.make_absolute();
    Ok(config)
}

fn begin(args: &RunArgs, context: &Context) -> anyhow::Result<(PathBuf, Option<Value>)> {
    let config = configured(args, args.config.as_deref().unwrap_or(Path::new("")))?;
    if let Some(path) = config.existing_output().filter(|_| !args.force) {
        return Err(Error::Exists(path).into());
    }
    let mut run = SpsaRun::new(config, &context.command_line, context.cancel)?;
    let page = args.live.open()?;
    run.create_folder(args.out.as_deref(), args.force)?;
    play_on(args, run, &page, context)
}

fn resume(args: &RunArgs, folder: &Path, context: &Context) -> anyhow::Result<(PathBuf, Option<Value>)> {
    if let Some(path) = &args.config
        && let Some(difference) = configured(args, path)?.difference(&read(folder)?.0.config)
    {
        let reason = format!("is a run with another configuration: {difference}");
        return Err(Error::input(folder, reason).into());
    }
    let mut run = SpsaRun::resume(folder, args.concurrency, context.cancel)?;
    let now = run.state().tuner.iterations();
    match args.iterations.filter(|asked| *asked != now) {
        Some(asked) if !args.replan => {
            return Err(Error::Usage(format!(
                "--iterations {asked}: this run has {now}, on which its gains depend; use --replan to continue \
                 with the gains of a run of {asked} pairs"
            ))
            .into());
        }
        Some(asked) => replan(&mut run, asked, context)?,
        None => {}
    }
    let page = args.live.open()?;
    play_on(args, run, &page, context)
}

/// Resumes with another number of pairs, and prints the effect on the first parameter.
fn replan(run: &mut SpsaRun, iterations: u64, context: &Context) -> Result<()> {
    let gains = |state: &RunState| {
        let gain = state.tuner.r_now(0).map(|r| format!(", R {}", four_digits(r)));
        format!("c {}{}", four_digits(state.tuner.c_now(0)), gain.unwrap_or_default())
    };
    let (before, now) = (gains(run.state()), run.state().tuner.iterations());
    run.replan(iterations)?;
    if !context.quiet && !context.json {
        let tuner = &run.state().tuner;
        let (name, completed, after) =
            (&tuner.variables()[0].name, tuner.completed_pairs(), gains(run.state()));
        note!(
            "gputexel: replanned after {completed} pairs, from {now} to {iterations}: {name} goes from \
             {before} to {after}"
        );
    }
    Ok(())
}

/// Folder and the JSON object that is still to be printed; if the run is verified, the object contains the
/// match.
fn play_on(
    args: &RunArgs,
    mut run: SpsaRun,
    served: &LivePage,
    context: &Context,
) -> anyhow::Result<(PathBuf, Option<Value>)> {
    let folder = &run.folder().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
    warn(&run.seating().warnings, run.folder(), context);
    let path = folder.clone();
    served.show(context, move || page::of_folder(&path).map(|report| Report::Spsa(Box::new(report))))?;
    let mut live = Live::new(context, run.header(), run.state());
    let stop = run.run(|state| live.show(state));
    let seconds = live.finish();
    served.end();
    // Draw the picture however the run ended, but only in its own folder.
    run.check_folder()?;
    let drawn = outputs::write_picture(folder, run.state()).and_then(|()| page::write_page(folder));
    let stop = stop?;
    drawn?;
    let (header, state) = (run.header(), run.state());
    let conclusion = conclude(folder, header, state)?;
    // Before games against the start, there is little to conclude.
    let is_verified = args.verify.is_some() && matches!(stop, Stop::AllPlayed);
    let mut object = context
        .json
        .then(|| json!(RunSummary::new(folder, header, state, &conclusion, Some((&stop, seconds)))));
    if !context.json && !context.quiet {
        let report = folder.join(gputexel::io::run_folder::REPORT);
        let text = outputs::table(folder, header, state, &conclusion, seconds);
        let ending = if is_verified { String::new() } else { ending(&conclusion) };
        print_text(&format!("{text}report      {}\n{ending}", report.display()))?;
    } else if !is_verified && let Some(object) = object.take() {
        write_stdout(&format!("{object:#}\n"))?;
    }
    let (completed, all) = (state.tuner.completed_pairs(), state.tuner.iterations());
    let go_on = format!("resume with 'gputexel spsa run --resume {}'", folder.display());
    match stop {
        Stop::AllPlayed | Stop::Decided(_) => Ok((folder.clone(), object)),
        Stop::Failures(failures) => {
            let reason = format!("{failures}; aborted after {completed} of {all} pairs, {go_on}");
            Err(Error::input(folder, reason).into())
        }
        Stop::Cancelled => {
            Err(Error::Interrupted(format!("after {completed} of {all} pairs; {go_on}")).into())
        }
    }
}
