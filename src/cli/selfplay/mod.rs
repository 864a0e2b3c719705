//! `gputexel selfplay`: plays games of an engine against itself, as data for tuning.

mod output;

use std::path::PathBuf;

use gputexel::Error;
use gputexel::datagen::selfplay::{Changes, GameFormat, SelfPlay, SelfPlayOptions, Stop};

use super::context::Context;
use super::games::{RuleFlags, side, warn};
use super::output::print_result;
use super::queue::{Queue, QueueFlags};
use super::settings::parsed;
use super::subcommand::Subcommand;
use output::Progress;

/// Flags of `selfplay`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
The built-in engine or a UCI engine plays both sides of each game; no two games share an opening. Every \
game is kept in DIR/selfplay.jsonl as it is finished; the files of games are written from it, in order and as a \
whole, when playing ends. With fixed nodes or depth they depend on the settings and the seed alone, not on \
--concurrency or interruptions. Games in which the engine fails or exceeds its time are not written.\n\n\
Examples:\n  \
gputexel selfplay --games 10000 --nodes 5000 -o runs/games\n  \
gputexel selfplay --params runs/first --win-score 1000 --draw-after 40 --seed 2 -o runs/second-games\n  \
gputexel selfplay --engine ./engine --option Hash=16 --depth 8 --openings book.epd --random-plies 2\n  \
gputexel selfplay --resume runs/games"
)]
pub struct SelfPlayArgs {
    #[command(flatten)]
    played: Played,
    #[command(flatten)]
    rules: RuleFlags,
    #[command(flatten)]
    queue: QueueFlags,
    /// Number of games [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Games")]
    games: Option<u64>,
    /// Give up after this many games spoiled by a failing engine [default: a hundredth of the games, but at least 10]
    #[arg(long, value_name = "N", help_heading = "Games")]
    max_failures: Option<u64>,
    /// Concurrent games [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Games")]
    concurrency: Option<usize>,
    /// Output formats, separated by commas: pgn (scores in comments), binpack and viriformat (every position
    /// searched, with its move and score), bulletformat and marlinformat (positions that are not in check and whose
    /// move is neither a capture nor a promotion) [default: pgn]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Games")]
    format: Vec<String>,
    /// Output folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = "Games", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty, overwriting existing files
    #[arg(long, conflicts_with = "resume", help_heading = "Games")]
    force: bool,
    /// Resume an interrupted run; --games extends it, --format writes other files
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Played", "RuleFlags"], help_heading = "Games")]
    resume: Option<PathBuf>,
}

/// Flags that determine the games; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
struct Played {
    /// Parameters for the built-in engine: a params.json, the folder of a run, or piece values as material or
    /// material:P,N,B,R,Q [default: material]
    #[arg(long, value_name = "PARAMS", conflicts_with = "engine", help_heading = "Engines")]
    params: Option<String>,
    /// UCI engine to use instead: a program or a quoted command line
    #[arg(long, value_name = "COMMAND", help_heading = "Engines")]
    engine: Option<String>,
    /// UCI option; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "engine", help_heading = "Engines")]
    option: Vec<String>,
    /// Name of the engine in games [default: from its file, or the engine's own name]
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name: Option<String>,
    /// Opening book: EPD or FEN, one position per line, or PGN; plain, .zst or .gz [default: none]
    #[arg(long, value_name = "FILE", help_heading = "Openings")]
    openings: Option<PathBuf>,
    /// Order of the openings: random or sequential [default: random]
    #[arg(long, value_name = "ORDER", requires = "openings", help_heading = "Openings")]
    order: Option<String>,
    /// PGN books: plies to play from each game [default: 16]
    #[arg(long, value_name = "N", requires = "openings", help_heading = "Openings")]
    book_plies: Option<u32>,
    /// Random plies from the initial position or the book's opening [default: 8 without a book, 0 with one]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    random_plies: Option<u32>,
    /// Largest material advantage after the random plies, determined by a search of one ply and captures [default:
    /// 200]
    #[arg(long, value_name = "CP", help_heading = "Openings")]
    opening_limit: Option<u32>,
    /// Seed of the openings [default: 1]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    seed: Option<u64>,
}

impl SelfPlayArgs {
    fn formats(&self) -> gputexel::Result<Option<Vec<GameFormat>>> {
        let mut formats: Vec<GameFormat> =
            self.format.iter().map(|name| name.parse()).collect::<gputexel::Result<_>>()?;
        formats.dedup();
        Ok((!formats.is_empty()).then_some(formats))
    }

    fn options(&self, context: &Context) -> gputexel::Result<SelfPlayOptions> {
        let Self { played, rules, .. } = self;
        let usual = SelfPlayOptions::default();
        // A word given as a command must not be taken for a file.
        let source = match (&played.engine, &played.params) {
            (Some(command), _) if command.starts_with("cmd:") => command.clone(),
            (Some(command), _) => format!("cmd:{command}"),
            (None, params) => params.clone().unwrap_or_else(|| "material".to_string()),
        };
        Ok(SelfPlayOptions {
            engine: side(&source, played.name.as_deref(), &played.option, "--option")?,
            limit: rules.limit()?,
            time_margin: rules.time_margin(),
            deadline: rules.deadline()?.unwrap_or(usual.deadline),
            adjudication: rules.adjudication(),
            book: played.openings.clone(),
            order: parsed(&played.order)?.unwrap_or(usual.order),
            book_plies: played.book_plies.unwrap_or(usual.book_plies),
            random_plies: played.random_plies,
            opening_limit_cp: played.opening_limit.unwrap_or(usual.opening_limit_cp),
            seed: played.seed.unwrap_or(usual.seed),
            hash_mib: rules.hash.unwrap_or(usual.hash_mib),
            games: self.games.unwrap_or(usual.games),
            max_failures: self.max_failures,
            formats: self.formats()?.unwrap_or(usual.formats),
            command_line: context.command_line.clone(),
        })
    }
}

impl Subcommand for SelfPlayArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        // With a queue, this machine plays no games.
        let here = self.concurrency.filter(|_| !self.queue.is_asked_for());
        let (mut selfplay, queue) = match &self.resume {
            Some(folder) => {
                let changes = Changes {
                    games: self.games,
                    max_failures: self.max_failures,
                    formats: self.formats()?,
                    concurrency: here,
                };
                let selfplay = SelfPlay::resume(folder, changes, context.cancel)?;
                (selfplay, self.queue.open(context)?)
            }
            None => {
                // All checks come before anything is written.
                let mut selfplay = SelfPlay::new(self.options(context)?, here, context.cancel)?;
                let queue = self.queue.open(context)?;
                selfplay.create_folder(self.out.as_deref(), self.force)?;
                (selfplay, queue)
            }
        };
        let folder = selfplay.folder().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
        let begin = |queue: Queue| queue.begin(&folder, selfplay.rules(), self.concurrency, context);
        let dispatched = queue.map(begin).transpose()?;
        if let Some(dispatched) = &dispatched {
            let (dispatcher, games) = dispatched.dispatcher();
            selfplay.dispatch(dispatcher, games);
        }
        warn(selfplay.warnings(), selfplay.folder(), context);
        let mut progress = Progress::new(context, selfplay.config().games, selfplay.tally());
        let bar = progress.bar();
        selfplay.observe(move |tally| progress.show(tally));
        let finished = selfplay.run();
        bar.finish_and_clear();
        if let Some(dispatched) = dispatched {
            dispatched.leave();
        }
        let finished = finished?;
        print_result(context, &finished.summary(), || output::table(&finished))?;
        let folder = finished.folder.display();
        match &finished.stop {
            Stop::AllPlayed if finished.tally.games() == 0 => {
                let (games, tally) =
                    (gputexel::io::counted(finished.tally.finished(), "game"), &finished.tally);
                let last = tally.last_failure.as_deref().unwrap_or("unknown");
                let name = &finished.config.engine.name;
                let reason =
                    format!("{name}: failed in each of {games}, none of which is written; last: {last}");
                Err(Error::input(&finished.folder, reason).into())
            }
            Stop::AllPlayed => Ok(()),
            Stop::Failures(failures) => {
                let limit = finished.config.max_failures;
                let reason = format!("{failures}; self-play was given up (--max-failures {limit})");
                Err(Error::input(&finished.folder, reason).into())
            }
            Stop::Cancelled => Err(Error::Interrupted(format!(
                "after {} of {} games; resume with 'gputexel selfplay --resume {folder}'",
                finished.tally.finished(),
                finished.config.games,
            ))
            .into()),
        }
    }
}
