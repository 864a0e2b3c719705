//! `gputexel spsa run`: tuning by real games.

mod keeper;
mod live;
mod outputs;
mod prepare;
mod report;
mod verify;

use std::path::{Path, PathBuf};

use gputexel::spsa::config::RunConfig;
use gputexel::spsa::run::{Entry, Header, Journal, RunState, Stop, play};
use gputexel::spsa::{MethodKind, Rounding};
use gputexel::{Error, Result};

use super::super::games::check_pairs;
use super::super::run_folder::{Kind, RunFolder, check_inputs};
use super::super::{Context, say};
use keeper::Keeper;
use live::Live;
use prepare::{Prepared, prepare};

pub use report::{ReportArgs, report};
pub use verify::{VerifyArgs, verify};

/// Flags of `spsa run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
CONFIG is written by 'spsa init', or a configuration of spsa.pl or bspsa.pl. The folder of the run \
contains the journal (spsa.jsonl), to which every pair of games is added as it ends, the values after \
every pair (log.csv, in the columns of spsa.pl), and at the end values.* and paths.svg. A run that \
was killed can be resumed with --resume and loses no finished pair.")]
pub struct RunArgs {
    /// The configuration
    #[arg(value_name = "CONFIG", required_unless_present = "resume")]
    config: Option<PathBuf>,
    /// Folder of the run [default: a dated one under runs]
    #[arg(long, short, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Resume the run in this folder; with CONFIG, only if the configuration is the same
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// With --resume and --iterations: continue with a different number of pairs, and the gains of a run
    /// of that length
    #[arg(long, requires = "resume", requires = "iterations")]
    replan: bool,
    /// Method instead of the configured one: spsa, bspsas, bspsa, constant
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
    /// At the end, play this many games between the result and the start, as 'spsa verify' does
    #[arg(long, value_name = "GAMES")]
    verify: Option<u64>,
}

/// Runs `spsa run`.
///
/// # Errors
/// Bad usage, configurations and engines that cannot be used, files that cannot be read or written,
/// [`Error::Interrupted`].
pub fn run(args: &RunArgs, context: &Context) -> anyhow::Result<()> {
    if let Some(games) = args.verify {
        check_pairs(games, "--verify")?;
    }
    let folder = match &args.resume {
        Some(folder) => resume(args, folder, context)?,
        None => begin(args, context)?,
    };
    if let Some(games) = args.verify {
        verify::play_folder(&folder, games, args.concurrency, false, context)?;
    }
    Ok(())
}

/// The configuration as the flags change it.
fn configured(args: &RunArgs, path: &Path) -> Result<RunConfig> {
    let mut config = RunConfig::open(path)?;
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
    prepare::make_absolute(&mut config);
    Ok(config)
}

fn begin(args: &RunArgs, context: &Context) -> anyhow::Result<PathBuf> {
    let path = args.config.as_deref().unwrap_or(Path::new(""));
    let config = configured(args, path)?;
    prepare::check_files(&config, args.force)?;
    let mut header = Header::new(&context.command_line, config);
    let story = RunState::try_new(&header.config)?;
    let prepared = prepare(&mut header, args.concurrency, context)?;
    if let Some(out) = &args.out {
        let engines = std::iter::once(&header.config.engine).chain(&header.config.opponent);
        let inputs: Vec<&Path> =
            engines.filter_map(|engine| engine.params.as_deref().map(Path::new)).collect();
        check_inputs(out, Kind::Spsa, &inputs)?;
    }
    let folder = RunFolder::create(args.out.as_deref(), Kind::Spsa, args.force)?;
    let journal = match Journal::create(folder.lock(), &header) {
        Ok(journal) => journal,
        Err(error) => {
            folder.discard();
            return Err(error.into());
        }
    };
    let keeper = Keeper::create(journal, folder.path(), header.config.games.log.as_deref(), "")?;
    if let Some(pgn) = &header.config.games.pgn {
        prepare::clear_games(pgn)?;
    }
    play_on(folder.path(), header, prepared, story, keeper, context)?;
    Ok(folder.path().to_path_buf())
}

fn resume(args: &RunArgs, folder: &Path, context: &Context) -> anyhow::Result<PathBuf> {
    let locked = RunFolder::enter(folder, Kind::Spsa)?;
    let (journal, mut header, entries) = Journal::open(locked.lock())?;
    if let Some(path) = &args.config {
        let asked = configured(args, path)?;
        if let Some(difference) = prepare::difference(&header.config, &asked) {
            return Err(
                Error::input(folder, format!("is a run with another configuration: {difference}")).into()
            );
        }
    }
    let mut log = String::new();
    let mut story = RunState::replay(folder, &header, &entries, |k, story| {
        log += &keeper::log_line(k, story);
        Ok(())
    })?;
    let prepared = prepare(&mut header, args.concurrency, context)?;
    let mut keeper = Keeper::create(journal, folder, header.config.games.log.as_deref(), &log)?;
    let now = story.tuner.iterations();
    match args.iterations {
        Some(asked) if asked != now && !args.replan => {
            return Err(Error::Usage(format!(
                "--iterations {asked}: this run has {now}, on which its gains depend; use --replan to continue \
                 with the gains of a run of {asked} pairs"
            ))
            .into());
        }
        Some(iterations) if iterations != now => {
            let gains = |story: &RunState| {
                let gain = story.tuner.r_now(0).map(|r| format!(", R {}", live::number(r)));
                format!("c {}{}", live::number(story.tuner.c_now(0)), gain.unwrap_or_default())
            };
            let before = gains(&story);
            let entry = Entry::Replan { iterations, stability: story.stability_for(iterations) };
            keeper.replan(&entry, &mut story)?;
            if !context.quiet && !context.json {
                let name = &story.tuner.variables()[0].name;
                let (told, after) = (story.tuner.told(), gains(&story));
                eprintln!(
                    "gputexel: replanned after {told} pairs, from {now} to {iterations}: {name} goes from \
                     {before} to {after}"
                );
            }
        }
        _ => {}
    }
    play_on(folder, header, prepared, story, keeper, context)?;
    Ok(folder.to_path_buf())
}

fn play_on(
    folder: &Path,
    header: Header,
    prepared: Prepared,
    mut story: RunState,
    mut keeper: Keeper,
    context: &Context,
) -> anyhow::Result<()> {
    let arena = prepared.arena(&header);
    let mut live = Live::new(context, &header, &story);
    let stop = play(&arena, &mut story, &mut keeper, context.cancel, &mut |story| live.show(story));
    let seconds = live.finish();
    // Whatever ended the run, what is known is worth having, but in its folder and in no other.
    keeper.check()?;
    let written = outputs::write(folder, &story, prepared.engines()[0]);
    let stop = stop?;
    written?;
    let text = match context.json {
        true => format!("{:#}\n", outputs::json(folder, &header, &story, &stop, seconds)),
        false if context.quiet => String::new(),
        false => outputs::table(folder, &header, &story, seconds),
    };
    say(&text)?;
    let (told, all) = (story.tuner.told(), story.tuner.iterations());
    let go_on = format!("resume with 'gputexel spsa run --resume {}'", folder.display());
    match stop {
        Stop::AllPlayed => Ok(()),
        Stop::Failures(what) => {
            Err(Error::input(folder, format!("{what}; aborted after {told} of {all} pairs, {go_on}")).into())
        }
        Stop::Cancelled => Err(Error::Interrupted(format!("after {told} of {all} pairs; {go_on}")).into()),
    }
}
