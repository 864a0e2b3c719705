//! `gputexel match`: plays pairs of games between two engines and evaluates the results.

mod output;

use std::path::PathBuf;

use gputexel::io::run_folder::REPORT;
use gputexel::io::write_atomically;
use gputexel::matches::{Changes, Match, MatchOptions, MatchSettings, Side, Stop, match_report};
use gputexel::{Error, Result};

use super::context::Context;
use super::games::{FolderFlags, Progress, RuleFlags, set_up, warn};
use super::output::print_text;
use super::settings::parsed;
use super::subcommand::{Subcommand, short_help};

/// Flags of `match`.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "engine", "nodes", "time", "games", "concurrency", "openings", "sprt", "option-a",
        "option-b", "out", "resume", "live",
    ])),
    allow_negative_numbers = true,
    after_help = "\
A and B are parameter files, folders of runs, or piece values (material, material:100,300,320,500,900, zero), played \
by the built-in engine, or UCI engines: a program, a quoted command line, or cmd:COMMAND if it \
could be mistaken for a file. --engine takes them from engines.toml: a table for each \
(command, name, options), in the current folder, then in the user's settings \
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
    /// Number of games, two per opening [default: 1000; with --sprt, at most 100000]
    #[arg(long, value_name = "N", help_heading = "Games")]
    games: Option<u64>,
    /// Abort the match after this many games decided by failing engines [default: a tenth of the games, but between
    /// 10 and 100]
    #[arg(long, value_name = "N", help_heading = "Games")]
    max_failures: Option<u64>,
    #[command(flatten)]
    files: FolderFlags,
    /// Resume an interrupted match; --games extends it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Played", "RuleFlags"], help_heading = "Games")]
    resume: Option<PathBuf>,
}

/// Flags that determine the games; a resumed match has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
struct Played {
    #[command(flatten)]
    rules: RuleFlags,
    /// A different limit for B: nodes=N, depth=N, time=BASE+INC or move-time=MS
    #[arg(long, value_name = "LIMIT", help_heading = "Limits")]
    limit_b: Option<String>,
    /// Stop when a sequential test (SPRT) reaches a decision: elo0=0,elo1=5[,alpha=0.05,beta=0.05]; with
    /// model=normalized in normalized Elo instead of logistic
    #[arg(long, value_name = "TEST", help_heading = "Games")]
    sprt: Option<String>,
    /// Name of A in games and tables [default: from its file, or the engine's own name]
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_a: Option<String>,
    /// Name of B
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_b: Option<String>,
    /// UCI option for A; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_a: Vec<String>,
    /// UCI option for B
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_b: Vec<String>,
    /// PGN file for the games [default: games.pgn in the folder]
    #[arg(long, value_name = "FILE", help_heading = "Games", value_parser = super::target::file())]
    pgn: Option<PathBuf>,
}

impl Played {
    fn options(&self, [a, b]: [Side; 2], changes: Changes, context: &Context) -> Result<MatchOptions> {
        let a = set_up(a, self.name_a.as_deref(), &self.option_a, "--option-a")?;
        let b = set_up(b, self.name_b.as_deref(), &self.option_b, "--option-b")?;
        Ok(MatchOptions {
            sides: [a, b],
            play: self.rules.settings(changes, context)?,
            limit_b: parsed(&self.limit_b)?,
            sprt: parsed(&self.sprt)?,
            pgn: self.pgn.clone(),
        })
    }
}

impl Subcommand for MatchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let changes = Changes {
            games: self.games,
            max_failures: self.max_failures,
            concurrency: self.files.concurrency,
        };
        if let Some(path) = &self.resume {
            let prepared = Match::resume(path, changes, context.cancel)?;
            return play(context, prepared);
        }
        let named = self.engine.iter().map(|name| Side::named(name));
        let typed = [&self.a, &self.b].into_iter().flatten().map(|text| Ok(Side::new(text.as_str())));
        let sides: Vec<Side> = typed.chain(named).collect::<Result<_>>()?;
        let sides: [Side; 2] = sides.try_into().map_err(|sides: Vec<Side>| {
            Error::Usage(format!("match needs two sides, or --resume; {} given", sides.len()))
        })?;
        let options = self.played.options(sides, changes, context)?;
        let FolderFlags { out, force, .. } = &self.files;
        if let Some(pgn) = self.played.pgn.as_ref().filter(|pgn| pgn.exists() && !force) {
            return Err(Error::Exists(pgn.clone()).into());
        }
        // All checks come before anything is written.
        let mut prepared = Match::new(&options, context.cancel)?;
        prepared.create_folder(out.as_deref(), *force)?;
        play(context, prepared)
    }
}

fn play(context: &Context, prepared: Match) -> anyhow::Result<()> {
    let folder = prepared.folder().map(|folder| folder.path().to_path_buf()).unwrap_or_default();
    let MatchSettings { pairs, sprt, .. } = *prepared.settings();
    warn(&prepared.seating().warnings, prepared.folder(), context);
    let games = 2 * pairs;
    let mut progress = Progress::new(context, games, 2 * prepared.known_pairs());
    let bar = progress.bar();
    let finished = prepared.run(move |tally| {
        progress.show(tally.games(), |rate| output::describe(tally, sprt.as_ref(), rate));
    });
    bar.finish_and_clear();
    let finished = finished?;
    let report = match &finished.folder {
        None => None,
        Some(folder) => {
            let report = folder.join(REPORT);
            let page = match_report(folder)?;
            write_atomically(&report, page.to_html(None).as_bytes())?;
            Some(report)
        }
    };
    let conclusion = finished.conclusion();
    let text = match context.json {
        true => format!("{}\n", output::json(&finished, &conclusion)),
        false if context.quiet => String::new(),
        false => {
            let line = report.map(|path| format!("report      {}\n", path.display()));
            output::table(&finished, &conclusion) + &line.unwrap_or_default()
        }
    };
    print_text(&text)?;
    match &finished.result.stop {
        Stop::AllPlayed | Stop::Decided(_) if finished.result.tally.is_all_failed() => {
            let tally = &finished.result.tally;
            let worst = usize::from(tally.failures[1] > tally.failures[0]);
            let last = tally.last_failure[worst].as_deref().unwrap_or("unknown");
            let reason = format!(
                "all {} games were decided by failing engines, which says nothing of their strength; {}: {last}",
                tally.games(),
                finished.settings.names[worst]
            );
            Err(Error::input(folder, reason).into())
        }
        Stop::AllPlayed | Stop::Decided(_) => Ok(()),
        Stop::Failures(failures) => {
            let limit = finished.settings.max_failures;
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
