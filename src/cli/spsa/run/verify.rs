//! `gputexel spsa verify`: measures what a run has gained, in games of its values against its start.

use std::path::{Path, PathBuf};

use gputexel::matches::{MatchResult, Stop, Tally};
use gputexel::report::Conclusion;
use gputexel::spsa::run::{Verification, VerifyOptions, conclude};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::super::conclusion::{add, ending};
use super::super::super::context::Context;
use super::super::super::games::{Progress, warn};
use super::super::super::output::{print_text, write_stdout};
use super::super::super::table::{counted, grouped};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The resulting values of the run play against its starting values, with the engine, limits, rules and \
book of the run, but other openings or another order of openings. Games are written to DIR/verify; to \
resume an interrupted match, repeat the command.\n\n\
Examples:\n  \
gputexel spsa verify runs/toga --games 2000")]
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

pub fn verify(args: &VerifyArgs, context: &Context) -> anyhow::Result<()> {
    let mut report = None;
    let played = play_folder(&args.folder, args.games, args.concurrency, args.force, context, &mut report);
    if let Some(report) = report.filter(|_| context.json) {
        write_stdout(&format!("{report:#}\n"))?;
    }
    played
}

/// Plays the values of a run against its start, and stores the result for JSON in `report`, even if there was
/// nothing to play or the match was aborted.
pub fn play_folder(
    folder: &Path,
    games: u64,
    concurrency: Option<usize>,
    force: bool,
    context: &Context,
    report: &mut Option<Value>,
) -> anyhow::Result<()> {
    let options = VerifyOptions { games, concurrency, replace: force, ..VerifyOptions::default() };
    let verification = Verification::open(folder, options, context.cancel)?;
    let tuner = &verification.state.tuner;
    if !tuner.is_finished() {
        let (completed, all) = (tuner.completed_pairs(), tuner.iterations());
        note!("gputexel: the run has not finished yet: using the values after {completed} of {all} pairs");
    }
    let conclude = || conclude(folder, &verification.header, &verification.state);
    if !verification.has_changes() {
        note!("gputexel: after rounding, the values equal the starting values: there is nothing to verify");
        *report = Some(summary(&Tally::default(), None, &conclude()?));
        return Ok(());
    }
    warn(&verification.setup.seating.warnings, None, context);
    let mut progress = Progress::new(context, games);
    let bar = progress.bar();
    let result = verification.run(|tally| {
        let elo = tally.pairs.elo();
        progress.show(tally.games(), || {
            format!("tuned against start {:+.1} \u{b1} {:.1} Elo", elo.elo, elo.error95)
        });
    });
    bar.finish_and_clear();
    let result = result?;
    // The report of the run shows the gain.
    super::page::write_page(folder)?;
    let conclusion = conclude()?;
    *report = Some(summary(&result.tally, Some(&verification.pgn()), &conclusion));
    show(&result, games, &verification.pgn(), &conclusion, context)?;
    match &result.stop {
        Stop::AllPlayed | Stop::Decided(_) => Ok(()),
        Stop::Failures(failures) => {
            Err(Error::input(&verification.folder, format!("{failures}; the match was aborted")).into())
        }
        Stop::Cancelled => {
            let played = result.tally.games() + 2 * result.ahead;
            let again = format!("resume with 'gputexel spsa verify {} --games {games}'", folder.display());
            Err(Error::Interrupted(format!("after {played} of {games} games; {again}")).into())
        }
    }
}

/// Summarizes the match as JSON; without PGN if no games were played because no value changed.
fn summary(tally: &Tally, pgn: Option<&Path>, conclusion: &Conclusion) -> Value {
    let elo = tally.pairs.elo();
    let [wins, draws, losses] = tally.wins_draws_losses;
    let los = tally.pairs.los();
    let mut object = json!({
        "games": tally.games(), "wins": wins, "draws": draws, "losses": losses, "pairs": tally.pairs.counts,
        "elo": pgn.map(|_| elo.elo), "elo_error95": pgn.map(|_| elo.error95), "los": pgn.map(|_| los),
        "failures": tally.failures, "time_forfeits": tally.time_forfeits, "pgn": pgn,
    });
    add(&mut object, conclusion);
    object
}

fn show(
    result: &MatchResult,
    games: u64,
    pgn: &Path,
    conclusion: &Conclusion,
    context: &Context,
) -> Result<()> {
    if context.json || context.quiet {
        return Ok(());
    }
    let tally = &result.tally;
    let elo = tally.pairs.elo();
    let [wins, draws, losses] = tally.wins_draws_losses;
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
            let late = if late == 1 { "1 loss".to_string() } else { format!("{} losses", grouped(late)) };
            text += &format!("{name}: {}, {late} on time\n", counted(failures, "failure"));
        }
    }
    print_text(&(text + &format!("{}\n", pgn.display()) + &ending(conclusion)))
}
