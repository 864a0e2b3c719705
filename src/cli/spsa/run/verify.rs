//! `gputexel spsa verify`: what a run has gained, in games of its values against its start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gputexel::matches::journal::{GamesFile, Journal};
use gputexel::matches::openings::{Openings, Order};
use gputexel::matches::{MatchResult, MatchSettings, Observer, PairSummary, Stop, Tally, run_match};
use gputexel::spsa::run::{Header, RunState, read};
use gputexel::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::super::games::check_pairs;
use super::super::super::run_folder::locked;
use super::super::super::{Context, say, shows_progress};
use super::prepare::{Prepared, prepare};

/// The match's folder in that of the run.
const FOLDER: &str = "verify";

/// What tells the openings of the match from those that the values were tuned on.
const OTHER_OPENINGS: u64 = 0x7665_7269_6679;

/// Flags of `spsa verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The resulting values of the run play against its starting values, with the engine, limits, rules and \
book of the run, but other openings or another order of openings. Games are written to DIR/verify; to \
resume an interrupted match, repeat the command.")]
pub struct VerifyArgs {
    /// Folder of the run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Number of games
    #[arg(long, value_name = "N", default_value_t = 1000)]
    games: u64,
    /// Concurrent pairs
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Start over even if another match was played there
    #[arg(long)]
    force: bool,
}

/// What is played, as its folder keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    format: String,
    /// Names of the parameters.
    names: Vec<String>,
    /// What the run arrived at.
    tuned: Vec<f64>,
    /// What it started from.
    start: Vec<f64>,
}

/// Runs `spsa verify`.
///
/// # Errors
/// Those of [`play_folder`].
pub fn verify(args: &VerifyArgs, context: &Context) -> anyhow::Result<()> {
    check_pairs(args.games, "--games")?;
    play_folder(&args.folder, args.games, args.concurrency, args.force, context)
}

struct Keeper<'a> {
    journal: Journal,
    games: GamesFile,
    bar: &'a ProgressBar,
}

impl Observer for Keeper<'_> {
    fn finished(&mut self, pair: &PairSummary) -> Result<()> {
        self.journal.append(pair)?;
        self.games.add(pair.pair, &pair.pgn)
    }

    fn counted(&mut self, tally: &Tally) {
        let elo = tally.pairs.elo();
        self.bar.set_position(tally.games());
        self.bar.set_message(format!("tuned against start {:+.1} \u{b1} {:.1} Elo", elo.elo, elo.error95));
    }
}

/// Lets the values of a run play against its start.
///
/// # Errors
/// Runs that cannot be read, engines that cannot be used, files that cannot be written,
/// [`Error::Interrupted`].
pub fn play_folder(
    folder: &Path,
    games: u64,
    concurrency: Option<usize>,
    force: bool,
    context: &Context,
) -> anyhow::Result<()> {
    let (mut header, entries) = read(folder)?;
    let story = RunState::replay(folder, &header, &entries, |_, _| Ok(()))?;
    if !story.tuner.is_finished() && !context.quiet {
        let (told, all) = (story.tuner.told(), story.tuner.iterations());
        eprintln!("gputexel: the run has not finished yet: using the values after {told} of {all} pairs");
    }
    let prepared = prepare(&mut header, concurrency, context)?;
    let variables = story.tuner.variables();
    let config = Config {
        format: "gputexel-spsa-verify".to_string(),
        names: variables.iter().map(|v| v.name.clone()).collect(),
        tuned: story.tuner.rounded_values(),
        start: variables.iter().map(|v| v.rounded(v.start)).collect(),
    };
    if config.tuned == config.start {
        if !context.quiet {
            eprintln!(
                "gputexel: after rounding, the values equal the starting values: there is nothing to verify"
            );
        }
        return Ok(());
    }
    let place = folder.join(FOLDER);
    std::fs::create_dir_all(&place).map_err(|e| Error::io(&place, e))?;
    let (journal, done) = open(&place, &config, force)?;
    let pgn = place.join("games.pgn");
    let mut file = GamesFile::create(&pgn)?;
    for (number, pair) in &done {
        file.add(*number, &pair.pgn)?;
    }
    let settings = MatchSettings {
        names: ["tuned".to_string(), "start".to_string()],
        event: "gputexel spsa verify".to_string(),
        date: header.date.clone(),
        rules: prepared.rules,
        pairs: games / 2,
        concurrency: prepared.concurrency,
        sprt: None,
        max_failures: games / 10,
    };
    let openings = openings(&header, &prepared)?;
    let values = [&config.tuned, &config.start];
    let make = |side: usize| {
        // The tuned values play with the engine that was tuned.
        let player = prepared.engines()[side].player(&settings.names[side], variables, values[side])?;
        Ok(player.into_player())
    };
    let bar = if shows_progress(context) { ProgressBar::new(games) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:16} {pos}/{len} games, {msg}") {
        bar.set_style(style);
    }
    let mut keeper = Keeper { journal, games: file, bar: &bar };
    let result = run_match(&settings, &openings, &make, done, context.cancel, &mut keeper);
    bar.finish_and_clear();
    keeper.journal.check()?;
    keeper.games.finish()?;
    let result = result?;
    show(&result, games, &pgn, context)?;
    match &result.stop {
        Stop::AllPlayed | Stop::Decided(_) => Ok(()),
        Stop::Failures(what) => Err(Error::input(&place, what).into()),
        Stop::Cancelled => {
            let played = result.tally.games() + 2 * result.ahead;
            let again = format!("resume with 'gputexel spsa verify {} --games {games}'", folder.display());
            Err(Error::Interrupted(format!("after {played} of {games} games; {again}")).into())
        }
    }
}

/// Other openings than those of the run: of generated ones others, of a book's another order.
fn openings(header: &Header, prepared: &Prepared) -> Result<Openings> {
    let seed = header.config.run.seed ^ OTHER_OPENINGS;
    Ok(match prepared.openings.book() {
        Some(book) => Openings::of_book(book.clone(), Order::Random, seed),
        None => Openings::generated(seed),
    })
}

fn open(place: &Path, config: &Config, force: bool) -> Result<(Journal, BTreeMap<u64, PairSummary>)> {
    // The journal keeps it.
    let lock = locked(place)?;
    if !force && place.join(gputexel::matches::journal::JOURNAL).exists() {
        let (journal, theirs, done) = Journal::open::<Config>(&lock)?;
        if theirs != *config {
            let why = "contains a match of other values; use --force to overwrite it";
            return Err(Error::Usage(format!("{}: {why}", place.display())));
        }
        return Ok((journal, done));
    }
    Ok((Journal::create(&lock, config)?, BTreeMap::new()))
}

fn show(result: &MatchResult, games: u64, pgn: &Path, context: &Context) -> Result<()> {
    let tally = &result.tally;
    let elo = tally.pairs.elo();
    let [wins, draws, losses] = tally.wins_draws_losses;
    if context.json {
        let value = json!({
            "games": tally.games(), "wins": wins, "draws": draws, "losses": losses, "pairs": tally.pairs.counts,
            "elo": elo.elo, "elo_error95": elo.error95, "los": tally.pairs.los(),
            "failures": tally.failures, "time_forfeits": tally.time_forfeits, "pgn": pgn,
        });
        return say(&format!("{value:#}\n"));
    }
    if context.quiet {
        return Ok(());
    }
    let mut text = format!(
        "tuned against start, {} of {games} games: {wins} won, {draws} drawn, {losses} lost, {:+.1} \u{b1} {:.1} Elo, LOS \
         {:.2} %\n",
        tally.games(),
        elo.elo,
        elo.error95,
        100.0 * tally.pairs.los()
    );
    for (name, side) in ["tuned", "start"].iter().zip(0..) {
        let (failures, late) = (tally.failures[side], tally.time_forfeits[side]);
        if failures + late > 0 {
            text += &format!("{name}: {failures} failures, {late} losses on time\n");
        }
    }
    say(&(text + &format!("{}\n", pgn.display())))
}
