//! `gputexel match`: two engines, pairs of games, and what the results say.

mod config;
mod contestants;
mod flags;
mod output;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gputexel::matches::journal::{GamesFile, Journal};
use gputexel::matches::openings::Openings;
use gputexel::matches::{MatchSettings, Observer, PairSummary, Stop, Tally, run_match};
use gputexel::{Error, Result};

use super::games::{check_pairs, warnings};
use super::run_folder::{Kind, RunFolder, check_inputs};
use super::{Context, say};
use config::Config;
use contestants::Contestant;
use flags::Played;
use output::Progress;

/// Games of a match that is not told how many.
const GAMES: u64 = 1000;

/// Games at most of a match that a sequential test is to end.
const GAMES_WITH_SPRT: u64 = 100_000;

/// Flags of `match`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
A and B are parameter files, folders of runs, or piece values (material, material:100,300,320,500,900, zero), played \
by the built-in engine, or UCI engines: a program, a quoted command line, or cmd:COMMAND if it \
could be mistaken for a file. Games are played in pairs from one opening with colors swapped; errors are \
computed from pairs. Pairs are counted in order, so with fixed nodes or depth the result does not \
depend on --concurrency. Running out of time loses, whatever material the opponent has left."
)]
pub struct MatchArgs {
    /// The first side; results are from its point of view
    #[arg(value_name = "A", required_unless_present = "resume", requires = "b", conflicts_with = "resume")]
    a: Option<String>,
    /// The second side
    #[arg(value_name = "B", conflicts_with = "resume")]
    b: Option<String>,
    #[command(flatten)]
    played: Played,
    /// Number of games, two per opening [default: 1000; with --sprt, at most 100000]
    #[arg(long, value_name = "N", help_heading = "Match")]
    games: Option<u64>,
    /// Number of games decided by failing engines after which the match is aborted [default: a tenth
    /// of the games, but between 10 and 100]
    #[arg(long, value_name = "N", help_heading = "Match")]
    max_failures: Option<u64>,
    /// Concurrent games [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Match")]
    concurrency: Option<usize>,
    /// The folder to write to
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = "Match")]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty, overwriting existing files
    #[arg(long, conflicts_with = "resume", help_heading = "Match")]
    force: bool,
    /// Resume an interrupted match; --games extends it
    #[arg(long, value_name = "DIR", conflicts_with = "Played", help_heading = "Match")]
    resume: Option<PathBuf>,
}

/// Everything that a match needs.
struct Prepared {
    config: Config,
    settings: MatchSettings,
    openings: Openings,
    contestants: [Contestant; 2],
}

/// Runs `match`.
///
/// # Errors
/// Anything that keeps the match from its end; an interrupted match can be resumed.
pub fn run(args: &MatchArgs, context: &Context) -> anyhow::Result<()> {
    if let Some(path) = &args.resume {
        let folder = RunFolder::enter(path, Kind::Match)?;
        let (journal, mut config, done) = Journal::open::<Config>(folder.lock())?;
        config.check(path)?;
        let played = 2 * done.len() as u64;
        if let Some(games) = args.games.filter(|games| *games < played) {
            return Err(Error::Usage(format!(
                "--games {games}: {} already has {played}; a match can only be extended",
                path.display()
            ))
            .into());
        }
        config.games = args.games.unwrap_or(config.games);
        config.max_failures = args.max_failures.unwrap_or(config.max_failures);
        let prepared = prepare(args, config, context)?;
        return play(context, path, journal, prepared, done);
    }
    let (Some(a), Some(b)) = (&args.a, &args.b) else {
        return Err(Error::Usage("match needs two sides, or --resume".to_string()).into());
    };
    let mut config = args.played.config([a, b], &context.command_line)?;
    let default_games = if config.sprt.is_some() { GAMES_WITH_SPRT } else { GAMES };
    config.games = args.games.unwrap_or(default_games);
    config.max_failures = args.max_failures.unwrap_or_else(|| (config.games / 10).clamp(10, 100));
    if let Some(pgn) = config.pgn.as_ref().filter(|pgn| pgn.exists() && !args.force) {
        return Err(Error::Usage(format!("{}: exists; use --force to replace it", pgn.display())).into());
    }
    // Everything that can be refused is refused before anything is written.
    let prepared = prepare(args, config, context)?;
    if let Some(out) = &args.out {
        let inputs = prepared.config.engines.iter().filter(|engine| engine.checksum.is_some());
        check_inputs(out, Kind::Match, &inputs.map(|engine| Path::new(&engine.source)).collect::<Vec<_>>())?;
    }
    let folder = RunFolder::create(args.out.as_deref(), Kind::Match, args.force)?;
    let journal = match Journal::create(folder.lock(), &prepared.config) {
        Ok(journal) => journal,
        Err(error) => {
            folder.discard();
            return Err(error.into());
        }
    };
    play(context, folder.path(), journal, prepared, BTreeMap::new())
}

fn prepare(args: &MatchArgs, mut config: Config, context: &Context) -> Result<Prepared> {
    check_pairs(config.games, "--games")?;
    let rules = config.rules()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let concurrency = args.concurrency.unwrap_or(cores);
    if concurrency == 0 {
        return Err(Error::Usage("--concurrency 0: expected at least 1".to_string()));
    }
    let contestants = [
        Contestant::open(&mut config, 0, context.cancel)?,
        Contestant::open(&mut config, 1, context.cancel)?,
    ];
    contestants::tell_apart(&mut config.engines);
    let openings = config.open_openings()?;
    let warn = |text: String| {
        if !context.quiet && !context.json {
            eprintln!("gputexel: {}", gputexel::printable(&text));
        }
    };
    warnings(&rules, concurrency, cores, openings.book()).into_iter().for_each(warn);
    let pairs = config.games / 2;
    if let Some(book) = openings.book()
        && pairs > book.len() as u64
        && config.sprt.is_none()
    {
        warn(format!(
            "{pairs} pairs from {} openings: they will be reused, and deterministic engines \
             will repeat whole games",
            book.len()
        ));
    }
    let settings = MatchSettings {
        names: [config.engines[0].name.clone(), config.engines[1].name.clone()],
        event: "gputexel match".to_string(),
        date: config.date.clone(),
        rules,
        pairs,
        concurrency,
        sprt: config.sprt,
        max_failures: config.max_failures,
    };
    Ok(Prepared { config, settings, openings, contestants })
}

/// Stores and shows what is finished.
struct Keeper<'a> {
    journal: Journal,
    games: GamesFile,
    progress: Progress<'a>,
}

impl Observer for Keeper<'_> {
    fn finished(&mut self, pair: &PairSummary) -> Result<()> {
        self.journal.append(pair)?;
        self.games.add(pair.pair, &pair.pgn)
    }

    fn counted(&mut self, tally: &Tally) {
        self.progress.show(tally);
    }
}

fn play(
    context: &Context,
    folder: &Path,
    journal: Journal,
    prepared: Prepared,
    done: BTreeMap<u64, PairSummary>,
) -> anyhow::Result<()> {
    let Prepared { config, settings, openings, contestants } = prepared;
    let pgn = config.pgn.clone().unwrap_or_else(|| folder.join("games.pgn"));
    let mut games = GamesFile::create(&pgn)?;
    for (number, pair) in &done {
        games.add(*number, &pair.pgn)?;
    }
    let progress = Progress::new(context, &settings, done.len() as u64);
    let mut keeper = Keeper { journal, games, progress };
    let make = |engine: usize| contestants[engine].player(&settings.names[engine]);
    let result = run_match(&settings, &openings, &make, done, context.cancel, &mut keeper);
    let Keeper { journal, games, progress } = keeper;
    let seconds = progress.finish();
    // Games that are there are worth writing whatever else went wrong, if they are still there.
    journal.check()?;
    games.finish()?;
    let result = result?;
    let text = match context.json {
        true => format!("{}\n", output::json(&config, &settings, &openings, &result, seconds, folder, &pgn)),
        false if context.quiet => String::new(),
        false => output::table(&config, &settings, &openings, &result, seconds, &pgn),
    };
    say(&text)?;
    match &result.stop {
        Stop::AllPlayed | Stop::Decided(_) => Ok(()),
        Stop::Failures(what) => {
            Err(Error::Input { path: folder.to_path_buf(), line: None, reason: what.clone() }.into())
        }
        Stop::Cancelled => Err(Error::Interrupted(format!(
            "after {} of {} games; resume with 'gputexel match --resume {}'",
            result.tally.games() + 2 * result.ahead,
            config.games,
            folder.display()
        ))
        .into()),
    }
}
