//! `gputexel match`: plays pairs of games between two engines and evaluates the results.

mod output;

use std::path::PathBuf;

use gputexel::io::run_folder::REPORT;
use gputexel::io::write_atomically;
use gputexel::matches::{Changes, Match, MatchOptions, MatchSettings, Side, Stop, match_report};
use gputexel::{Error, Result};

use super::context::Context;
use super::games::{FolderFlags, Progress, RuleFlags, settings, warn};
use super::output::print_result;
use super::settings::parsed;
use super::subcommand::{Subcommand, short_help};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "nodes", "time", "games", "concurrency", "openings", "sprt", "option", "out", "resume",
    ])),
    allow_negative_numbers = true,
    after_help = "\
A and B are parameter files, folders of runs, pesto, or piece values (material, material:100,300,320,500,900, zero), played \
by the built-in engine, or UCI engines: a program, a quoted command line, or cmd:COMMAND if it \
could be mistaken for a file. Games are played in pairs from one opening with colors swapped; errors are \
computed from pairs. Pairs are counted in order, so with fixed nodes or depth the result does not \
depend on --concurrency. Running out of time loses, whatever material the opponent has left.\n\n\
Examples:\n  \
gputexel match runs/first/params.json material --nodes 5000 --games 2000\n  \
gputexel match a.json b.json --time 5+0.05 --sprt elo0=0,elo1=5\n  \
gputexel match new.json \"/usr/games/toga2\" --depth 3 --option B:Hash=16"
)]
pub struct MatchArgs {
    /// First side; results are from its point of view
    #[arg(value_name = "A", required_unless_present = "resume", conflicts_with = "resume")]
    a: Option<String>,
    /// Second side
    #[arg(value_name = "B", required_unless_present = "resume", conflicts_with = "resume")]
    b: Option<String>,
    #[command(flatten)]
    played: Played,
    /// Number of games, two per opening [default: 1000; with --sprt, at most 100000]
    #[arg(long, value_name = "N", help_heading = "Games")]
    games: Option<u64>,
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
    /// UCI option of both engines, or, as A:NAME=VALUE or B:NAME=VALUE, of one; may be given several times
    #[arg(long, value_name = "[A:|B:]NAME=VALUE", help_heading = "Engines")]
    option: Vec<String>,
    /// PGN file for the games [default: games.pgn in the folder]
    #[arg(long, value_name = "FILE", help_heading = "Games", value_parser = super::target::file())]
    pgn: Option<PathBuf>,
}

impl Played {
    fn options(&self, [a, b]: [&str; 2], changes: Changes, context: &Context) -> Result<MatchOptions> {
        let own = |text: &str, letter: &str, other: &str| {
            let mine = self.option.iter().filter(|option| !option.starts_with(other));
            let options = mine.map(|option| option.strip_prefix(letter).unwrap_or(option).to_string());
            Ok::<_, Error>(Side::new(text).options(settings(&options.collect::<Vec<_>>())?))
        };
        Ok(MatchOptions {
            sides: [
                own(a, "A:", "B:")?.name(self.name_a.clone()),
                own(b, "B:", "A:")?.name(self.name_b.clone()),
            ],
            play: self.rules.settings(changes, context)?,
            limit_b: parsed(&self.limit_b)?,
            sprt: parsed(&self.sprt)?,
            pgn: self.pgn.clone(),
        })
    }
}

impl Subcommand for MatchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let changes = Changes { games: self.games, concurrency: self.files.concurrency };
        if let Some(path) = &self.resume {
            let prepared = Match::resume(path, changes, context.cancel)?;
            return play(context, prepared);
        }
        let (Some(a), Some(b)) = (&self.a, &self.b) else { unreachable!("clap requires them") };
        let options = self.played.options([a, b], changes, context)?;
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
    let MatchSettings { pairs, sprt, .. } = prepared.settings;
    warn(&prepared.seating.warnings, prepared.folder(), context);
    let games = 2 * pairs;
    let mut progress = Progress::new(context, games);
    let bar = progress.bar();
    let finished = prepared.run(move |tally| {
        progress.show(tally.games(), || output::describe(tally, sprt.as_ref()));
    });
    bar.finish_and_clear();
    let finished = finished?;
    let report = folder.join(REPORT);
    write_atomically(&report, match_report(&folder)?.to_html(None).as_bytes())?;
    let conclusion = finished.conclusion();
    print_result(context, &output::json(&finished, &conclusion), || {
        output::table(&finished, &conclusion) + &format!("report      {}\n", report.display())
    })?;
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
            Err(Error::input(folder, format!("{failures}; the match was aborted")).into())
        }
        Stop::Cancelled => Err(Error::Interrupted(format!(
            "after {} of {games} games; resume with 'gputexel match --resume {}'",
            finished.played_games(),
            folder.display()
        ))
        .into()),
    }
}
