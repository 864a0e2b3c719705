//! `gputexel spsa run`: tunes by playing games.

pub mod page;
mod report;
mod table;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Instant;

use gputexel::matches::check_games;
use gputexel::spsa::config::{Conf, RunConfig};
use gputexel::spsa::run::{SpsaRun, Stop, conclude, summary};
use gputexel::{Error, Result};
use serde_json::Value;

use super::super::conclusion::ending;
use super::super::context::Context;
use super::super::games::{Progress, warn};
use super::super::output::{print_text, write_stdout};

pub use report::{ReportArgs, report};
pub use verify::{VerifyArgs, verify};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
CONFIG is written by 'spsa init', or a configuration of spsa.pl or bspsa.pl. The folder of the run \
contains the journal (spsa.jsonl), to which every pair of games is added as it ends, the values after \
every pair (log.csv, in the columns of spsa.pl), and at the end values.* and report.html. A run that \
was killed can be resumed with --resume and loses no finished pair.\n\n\
Examples:\n  \
gputexel spsa run spsa.toml --out runs/toga --verify 1000")]
pub struct RunArgs {
    /// Configuration file
    #[arg(value_name = "CONFIG", required_unless_present = "resume", conflicts_with = "resume")]
    config: Option<PathBuf>,
    /// Folder of the run [default: a dated one under runs]
    #[arg(long, short, value_name = "DIR", conflicts_with = "resume", value_parser = super::super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume the run in this folder
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Number of pairs of games, in place of the configuration's
    #[arg(long, short = 'N', value_name = "N", conflicts_with = "resume")]
    iterations: Option<u64>,
    /// Limit per move or game, in place of the configuration's: nodes=5000, depth=8, move-time=100 (milliseconds),
    /// time=10+0.1 (seconds)
    #[arg(long, value_name = "LIMIT", conflicts_with = "resume")]
    limit: Option<String>,
    /// Seed for signs, rounding and openings, in place of the configuration's
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    seed: Option<u64>,
    /// Concurrent pairs
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// At the end, play this many games between the result and the start, as 'spsa verify' does
    #[arg(long, value_name = "GAMES")]
    verify: Option<u64>,
}

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

fn configured(args: &RunArgs, path: &Path) -> Result<RunConfig> {
    let mut config = match Conf::open(path)? {
        Conf::Games(config) => *config,
        Conf::Simulation(_) => {
            let reason = "Simulate = 1 asks for a simulation: 'gputexel spsa simulate --conf' makes it";
            return Err(Error::input(path, reason));
        }
    };
    config.run.iterations = args.iterations.unwrap_or(config.run.iterations);
    if let Some(limit) = &args.limit {
        config.games.limit.clone_from(limit);
    }
    config.run.seed = args.seed.unwrap_or(config.run.seed);
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
    run.create_folder(args.out.as_deref(), args.force)?;
    play_on(args, run, context)
}

fn resume(args: &RunArgs, folder: &Path, context: &Context) -> anyhow::Result<(PathBuf, Option<Value>)> {
    let run = SpsaRun::resume(folder, args.concurrency, context.cancel)?;
    play_on(args, run, context)
}

/// Folder and the JSON object that is still to be printed; if the run is verified, the object contains the
/// match.
fn play_on(args: &RunArgs, mut run: SpsaRun, context: &Context) -> anyhow::Result<(PathBuf, Option<Value>)> {
    let folder = &run.folder().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
    warn(&run.setup.seating.warnings, run.folder(), context);
    let tuner = &run.state().tuner;
    let mut progress = Progress::new(context, 2 * tuner.iterations());
    let (bar, begin) = (progress.bar(), Instant::now());
    let stop = run.run(|state| {
        progress.show(2 * state.tuner.completed_pairs(), || {
            format!("{}; {}", table::games(state), table::values(state))
        });
    });
    bar.finish_and_clear();
    let seconds = begin.elapsed().as_secs_f64();
    // Write the report however the run ended, but only in its own folder.
    run.check_folder()?;
    let drawn = page::write_page(folder);
    let stop = stop?;
    drawn?;
    let (header, state) = (&run.header, run.state());
    let conclusion = conclude(folder, header, state)?;
    // Before games against the start, there is little to conclude.
    let is_verified = args.verify.is_some() && matches!(stop, Stop::AllPlayed);
    let ended = Some((&stop, seconds));
    let mut object = context.json.then(|| summary(folder, header, state, &conclusion, ended));
    if !context.json && !context.quiet {
        let report = folder.join(gputexel::io::run_folder::REPORT);
        let text = table::table(folder, header, state, &conclusion, seconds);
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
