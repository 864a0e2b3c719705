//! `gputexel selfplay`: plays games of an engine against itself, as data for tuning.

mod output;

use std::path::PathBuf;

use gputexel::Error;
use gputexel::datagen::selfplay::{GameFormat, SelfPlay, SelfPlayOptions};
use gputexel::matches::{Changes, Side, Stop};

use super::context::Context;
use super::games::{FolderFlags, Progress, RuleFlags, settings, warn};
use super::output::print_result;
use super::subcommand::{Subcommand, short_help};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "params", "engine", "option", "nodes", "time", "games", "concurrency", "openings", "leaves",
        "format", "out", "resume",
    ])),
    allow_negative_numbers = true,
    after_help = "\
The built-in engine or a UCI engine plays both sides of each game; no two games share an opening. Every \
game is kept in DIR/selfplay.jsonl as it is finished; the files of games are written from it, in order and as a \
whole, when playing ends. With fixed nodes or depth they depend on the settings and the seed alone, not on \
--concurrency or interruptions. Games in which the engine fails or exceeds its time are not written.\n\n\
Examples:\n  \
gputexel selfplay --games 10000 --nodes 5000 -o runs/games\n  \
gputexel selfplay --params runs/first --win 6:1000 --draw 40:8:10 -o runs/more\n  \
gputexel selfplay --engine ./engine --depth 8 --openings book.epd -o runs/own\n  \
gputexel selfplay --resume runs/games"
)]
pub struct SelfPlayArgs {
    #[command(flatten)]
    played: Played,
    #[command(flatten)]
    rules: RuleFlags,
    /// Number of games [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Games")]
    games: Option<u64>,
    #[command(flatten)]
    files: FolderFlags,
    /// Output formats, separated by commas: pgn (scores in comments), binpack (every position searched, with its
    /// move and score), bulletformat (positions that are not in check and whose move is neither a capture nor a
    /// promotion) [default: pgn]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Games")]
    format: Vec<String>,
    /// Resume an interrupted run; --games extends it, --format writes other files
    #[arg(long, value_name = "DIR", conflicts_with_all = ["Played", "RuleFlags"], help_heading = "Games")]
    resume: Option<PathBuf>,
}

/// Flags that determine the games; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
struct Played {
    /// Parameters for the built-in engine: a params.json, the folder of a run, piece values as material or
    /// material:P,N,B,R,Q, or pesto [default: material]
    #[arg(long, value_name = "PARAMS", conflicts_with = "engine", help_heading = "Engines")]
    params: Option<String>,
    /// UCI engine to use instead: a program or a quoted command line
    #[arg(long, value_name = "COMMAND", help_heading = "Engines")]
    engine: Option<String>,
    /// UCI option; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "engine", help_heading = "Engines")]
    option: Vec<String>,
    /// Random plies after the opening [default: 0; 2 if the default openings are fewer than the games]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    random_plies: Option<u32>,
    /// Also write leaves.fens: one in N of the positions that searches evaluate in quiescence, drawn by key, to be labeled
    /// by 'rescore'; a UCI engine has to print them as 'info string leaf FEN' [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Games")]
    leaves: Option<u64>,
}

impl SelfPlayArgs {
    fn formats(&self) -> gputexel::Result<Option<Vec<GameFormat>>> {
        let mut formats: Vec<GameFormat> =
            self.format.iter().map(|name| name.parse()).collect::<gputexel::Result<_>>()?;
        formats.dedup();
        Ok((!formats.is_empty()).then_some(formats))
    }

    fn options(&self, changes: Changes, context: &Context) -> gputexel::Result<SelfPlayOptions> {
        let Self { played, rules, .. } = self;
        // A word given as a command must not be taken for a file.
        let source = match (&played.engine, &played.params) {
            (Some(command), _) if command.starts_with("cmd:") => command.clone(),
            (Some(command), _) => format!("cmd:{command}"),
            (None, params) => params.clone().unwrap_or_else(|| "material".to_string()),
        };
        Ok(SelfPlayOptions {
            engine: Side::new(source).options(settings(&played.option)?),
            play: rules.settings(changes, context)?,
            random_plies: played.random_plies,
            leaves: played.leaves.unwrap_or(0),
            formats: self.formats()?.unwrap_or_else(|| vec![GameFormat::Pgn]),
        })
    }
}

impl Subcommand for SelfPlayArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let changes = Changes { games: self.games, concurrency: self.files.concurrency };
        let mut selfplay = match &self.resume {
            Some(folder) => SelfPlay::resume(folder, changes, self.formats()?, context.cancel)?,
            None => SelfPlay::new(&self.options(changes, context)?, context.cancel)?,
        };
        // All checks come before anything is written.
        if self.resume.is_none() {
            selfplay.create_folder(self.files.out.as_deref(), self.files.force)?;
        }
        warn(&selfplay.seating().warnings, selfplay.folder(), context);
        let games = selfplay.config().play.games;
        let mut progress = Progress::new(context, games);
        let bar = progress.bar();
        let finished = selfplay.run(move |tally| {
            progress.show(tally.finished(), || output::describe(tally));
        });
        bar.finish_and_clear();
        let finished = finished?;
        print_result(context, &output::json(&finished), || output::table(&finished))?;
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
            Stop::AllPlayed | Stop::Decided(_) => Ok(()),
            Stop::Failures(failures) => {
                let reason = format!("{failures}; self-play was given up");
                Err(Error::input(&finished.folder, reason).into())
            }
            Stop::Cancelled => Err(Error::Interrupted(format!(
                "after {} of {} games; resume with 'gputexel selfplay --resume {folder}'",
                finished.tally.finished(),
                finished.config.play.games,
            ))
            .into()),
        }
    }
}
