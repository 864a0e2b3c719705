//! `gputexel match`: plays pairs of games between two engines and evaluates the results.

mod flags;
mod output;

use std::path::PathBuf;

use gputexel::Error;
use gputexel::io::run_folder::REPORT;
use gputexel::io::write_atomically;
use gputexel::matches::{Match, MatchSummary, Side, Stop, match_report};
use gputexel::report::Report;

use super::context::Context;
use super::games::warn;
use super::live::{LiveArgs, LivePage};
use super::output::print_text;
use super::queue::{Queue, QueueFlags};
use super::subcommand::Subcommand;
use flags::Played;
use output::Progress;

/// Flags of `match`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
A and B are parameter files, folders of runs, or piece values (material, material:100,300,320,500,900, zero), played \
by the built-in engine, or UCI engines: a program, a quoted command line, or cmd:COMMAND if it \
could be mistaken for a file; xboard:COMMAND for engines that speak xboard. --engine takes them from engines.toml: a table for each \
(command, protocol = \"uci\" or \"xboard\", name, options), in the current folder, then in the user's settings \
(~/.config/gputexel on Linux), or only in the file that GPUTEXEL_ENGINES names. Games are played in pairs from one opening with colors swapped; errors are \
computed from pairs. Pairs are counted in order, so with fixed nodes or depth the result does not \
depend on --concurrency. Running out of time loses, whatever material the opponent has left.\n\n\
Examples:\n  \
gputexel match runs/first/params.json material --nodes 5000 --games 2000\n  \
gputexel match a.json b.json --time 5+0.05 --openings book.epd --sprt elo0=0,elo1=5\n  \
gputexel match new.json \"/usr/games/toga2\" --depth 3 --option-b \"Hash=16\""
)]
pub struct MatchArgs {
    /// First side; results are from its point of view
    #[arg(value_name = "A", required_unless_present_any = ["resume", "engine"], conflicts_with = "resume")]
    a: Option<String>,
    /// Second side
    #[arg(value_name = "B", conflicts_with = "resume")]
    b: Option<String>,
    /// Name of an engine in engines.toml, in place of B, or, given twice, of A and B
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    engine: Vec<String>,
    #[command(flatten)]
    played: Played,
    #[command(flatten)]
    queue: QueueFlags,
    #[command(flatten)]
    live: LiveArgs,
    /// Number of games, two per opening [default: 1000; with --sprt, at most 100000]
    #[arg(long, value_name = "N", help_heading = "Match")]
    games: Option<u64>,
    /// Abort the match after this many games decided by failing engines [default: a tenth of the games, but between
    /// 10 and 100]
    #[arg(long, value_name = "N", help_heading = "Match")]
    max_failures: Option<u64>,
    /// Concurrent games [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Match")]
    concurrency: Option<usize>,
    /// Output folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = "Match", value_parser = super::target::file())]
    out: Option<PathBuf>,
    /// Write into a folder that is not empty, overwriting existing files
    #[arg(long, conflicts_with = "resume", help_heading = "Match")]
    force: bool,
    /// Resume an interrupted match; --games extends it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Played", "RuleFlags"], help_heading = "Match")]
    resume: Option<PathBuf>,
}

impl Subcommand for MatchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        // With a queue, this machine plays no games.
        let here = self.concurrency.filter(|_| !self.queue.is_asked_for());
        if let Some(path) = &self.resume {
            let builder = Match::resume(path)?.stop(context.cancel);
            let builder = builder.games(self.games).max_failures(self.max_failures).concurrency(here);
            return play(self, context, self.queue.open(context)?, &self.live.open()?, builder.build()?);
        }
        let named = self.engine.iter().map(|name| Side::named(name));
        let typed = [&self.a, &self.b].into_iter().flatten().map(|text| Ok(Side::new(text.as_str())));
        let sides: Vec<Side> = typed.chain(named).collect::<Result<_, Error>>()?;
        let sides: [Side; 2] = sides.try_into().map_err(|sides: Vec<Side>| {
            Error::Usage(format!("match needs two sides, or --resume; {} given", sides.len()))
        })?;
        let builder = self.played.builder(sides)?;
        let builder = builder.command_line(&context.command_line).stop(context.cancel);
        let builder = builder.games(self.games).max_failures(self.max_failures).concurrency(here);
        if let Some(pgn) = self.played.pgn.as_ref().filter(|pgn| pgn.exists() && !self.force) {
            return Err(Error::Exists(pgn.clone()).into());
        }
        if self.live.is_asked_for() && self.out.is_none() {
            return Err(Error::Usage("--live needs a match with a folder: --out".into()).into());
        }
        // All checks come before anything is written.
        let mut prepared = builder.build()?;
        let queue = self.queue.open(context)?;
        let page = self.live.open()?;
        prepared.create_folder(self.out.as_deref(), self.force)?;
        play(self, context, queue, &page, prepared)
    }
}

fn play(
    args: &MatchArgs,
    context: &Context,
    queue: Option<Queue>,
    page: &LivePage,
    mut prepared: Match<'_>,
) -> anyhow::Result<()> {
    let folder = prepared.folder().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
    let games = 2 * prepared.settings().pairs;
    let begin = |queue: Queue| queue.begin(&folder, &prepared.settings().rules, args.concurrency, context);
    let dispatched = queue.map(begin).transpose()?;
    if let Some(dispatched) = &dispatched {
        let (dispatcher, pairs) = dispatched.dispatcher();
        prepared.dispatch(dispatcher, pairs);
    }
    warn(prepared.warnings(), prepared.folder(), context);
    if let Some(path) = prepared.folder().map(|folder| folder.path().to_path_buf()) {
        page.show(context, move || match_report(&path).map(|report| Report::Match(Box::new(report))))?;
    }
    let mut progress = Progress::new(context, prepared.settings(), prepared.known_pairs());
    let bar = progress.bar();
    prepared.observe(move |tally| progress.show(tally));
    let finished = prepared.run();
    bar.finish_and_clear();
    page.end();
    if let Some(dispatched) = dispatched {
        dispatched.leave();
    }
    let finished = finished?;
    let report = match finished.folder() {
        None => None,
        Some(folder) => {
            let report = folder.join(REPORT);
            write_atomically(&report, match_report(folder)?.to_html(None)?.as_bytes())?;
            Some(report)
        }
    };
    let text = match context.json {
        true => format!("{}\n", serde_json::json!(MatchSummary::new(&finished))),
        false if context.quiet => String::new(),
        false => {
            let line = report.map(|path| format!("report      {}\n", path.display()));
            output::table(&finished) + &line.unwrap_or_default()
        }
    };
    print_text(&text)?;
    match &finished.result().stop {
        Stop::AllPlayed | Stop::Decided(_) if finished.is_all_failed() => {
            let tally = &finished.result().tally;
            let worst = usize::from(tally.failures[1] > tally.failures[0]);
            let last = tally.last_failure[worst].as_deref().unwrap_or("unknown");
            let reason = format!(
                "all {} games were decided by failing engines, which says nothing of their strength; {}: {last}",
                tally.games(),
                finished.settings().names[worst]
            );
            Err(Error::input(folder, reason).into())
        }
        Stop::AllPlayed | Stop::Decided(_) => Ok(()),
        Stop::Failures(failures) => {
            let limit = finished.settings().max_failures;
            let reason = format!("{failures}; the match was aborted (--max-failures {limit})");
            Err(Error::input(folder, reason).into())
        }
        Stop::Cancelled => Err(Error::Interrupted(format!(
            "after {} of {games} games; resume with 'gputexel match --resume {}'",
            finished.played_games(),
            folder.display()
        ))
        .into()),
    }
}
