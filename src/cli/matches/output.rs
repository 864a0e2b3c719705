//! Output of a match during play and at its end.

use std::path::Path;
use std::time::{Duration, Instant};

use gputexel::matches::statistics::{EloModel, Sprt};
use gputexel::matches::{FinishedMatch, MatchConfig, MatchSettings, Tally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::super::context::Context;
use super::super::style;
use super::super::table::{aligned, counted, grouped, percent};

/// Time between plain lines.
const LINES_EVERY: Duration = Duration::from_secs(5);

/// Progress line.
pub struct Progress {
    sprt: Option<Sprt>,
    games: u64,
    bar: ProgressBar,
    /// True to print plain lines instead of a bar.
    lines: bool,
    last_line: Instant,
    begin: Instant,
    /// Number of games played by an earlier process.
    known: u64,
}

impl Progress {
    /// Starts the display; `known` pairs were played before.
    pub fn new(context: &Context, settings: &MatchSettings, known: u64) -> Self {
        let games = 2 * settings.pairs;
        let bar = match context.shows_progress() {
            true => ProgressBar::new(games),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        Self {
            sprt: settings.sprt,
            games,
            bar,
            lines: !context.shows_progress() && !context.quiet && !context.json,
            last_line: now,
            begin: now,
            known: 2 * known,
        }
    }

    /// Shows the current state of the match.
    pub fn show(&mut self, tally: &Tally) {
        let games = tally.games();
        if self.lines {
            if self.last_line.elapsed() < LINES_EVERY {
                return;
            }
            self.last_line = Instant::now();
            note!("{games} of {} games: {}", self.games, self.describe(tally));
        } else if !self.bar.is_hidden() {
            self.bar.set_position(games);
            self.bar.set_message(self.describe(tally));
        }
    }

    fn describe(&self, tally: &Tally) -> String {
        let elo = tally.pairs.elo();
        let [wins, draws, losses] = tally.wins_draws_losses;
        let llr = self.sprt.as_ref().map_or_else(String::new, |sprt| {
            let [low, high] = sprt.bounds();
            format!(", LLR {:.2} ({low:.2} to {high:.2})", sprt.llr(&tally.pairs))
        });
        let rate = tally.games().saturating_sub(self.known) as f64 / self.begin.elapsed().as_secs_f64();
        format!(
            "+{wins} ={draws} -{losses}, Elo {:+.1} ± {:.1}, LOS {:.1} %{llr}, {rate:.1} games/s",
            elo.elo,
            elo.error95,
            100.0 * tally.pairs.los()
        )
    }

    /// Returns the progress bar, to be cleared at the end.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }
}

/// Describes the source of the openings.
fn describe_openings(finished: &FinishedMatch) -> String {
    let config = finished.config();
    match (&config.openings.file, finished.openings().book()) {
        (Some(path), Some(book)) => {
            let mut text = format!("{}, {}", path.display(), counted(book.len() as u64, "opening"));
            if book.duplicates > 0 {
                text += &format!(", {} duplicates left out", grouped(book.duplicates));
            }
            if book.bad > 0 {
                text += &format!(", {} unusable", grouped(book.bad));
            }
            text + &format!(", {}, seed {}", config.openings.order, config.seed)
        }
        _ => format!("8 random, balanced plies, seed {}", config.seed),
    }
}

/// Formats the result as text.
pub fn table(finished: &FinishedMatch) -> String {
    let (settings, result) = (finished.settings(), finished.result());
    let tally = &result.tally;
    let games = tally.games();
    let [a, b] = &settings.names;
    let mut text = format!("{a} against {b}, {} at {}", counted(games, "game"), limits(finished.config()));
    text += &format!("\nopenings    {}\n", describe_openings(finished));
    if games > 0 {
        let [wins, draws, losses] = tally.wins_draws_losses;
        let elo = tally.pairs.elo();
        text += &format!(
            "score       {:.1} of {games} ({:.2} %): {wins} won, {draws} drawn, {losses} lost\n",
            tally.points(),
            100.0 * tally.points() / games as f64
        );
        let [zero, half, one, more, two] = tally.pairs.counts;
        text += &format!("pairs       {zero}, {half}, {one}, {more}, {two} with 0, ½, 1, 1½, 2 points\n");
        let said =
            format!("{:+.1} ± {:.1} (95 %: {:+.1} to {:+.1})", elo.elo, elo.error95, elo.low, elo.high);
        text += &format!("Elo         {}\n", style::higher_is_better(elo.low, elo.high, &said));
        text += &format!("LOS         {:.2} %\n", 100.0 * tally.pairs.los());
        if let Some(sprt) = &settings.sprt {
            let [low, high] = sprt.bounds();
            text += &format!(
                "SPRT        {}, LLR {:.2} ({low:.2} to {high:.2}), elo0 {}, elo1 {}{}\n",
                sprt.state(&tally.pairs),
                sprt.llr(&tally.pairs),
                sprt.elo0(),
                sprt.elo1(),
                match sprt.model() {
                    EloModel::Logistic => "",
                    EloModel::Normalized => " (normalized Elo)",
                }
            );
            if sprt.model() == EloModel::Normalized {
                let normalized = tally.pairs.normalized_elo();
                text += &format!("normalized  {:+.1} ± {:.1} Elo\n", normalized.elo, normalized.error95);
            }
        }
        text += &format!(
            "White       won {}, lost {}\n",
            percent(tally.white_wins, games),
            percent(tally.black_wins, games)
        );
        text += &format!("length      {:.1} plies on average\nends\n", tally.plies as f64 / games as f64);
        let mut ends: Vec<_> = tally.ends.iter().collect();
        ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let row = |(end, count): (&gputexel::matches::End, &u64)| {
            vec![end.describe().to_string(), grouped(*count), percent(*count, games)]
        };
        text += &aligned(&ends.into_iter().map(row).collect::<Vec<_>>(), 2);
        let mut rows: Vec<_> = (0..2)
            .map(|engine| {
                let each = tally.moves[engine].max(1);
                vec![
                    format!("  {}", settings.names[engine]),
                    grouped(tally.nodes_per_second(engine)),
                    grouped(tally.nodes[engine] / each),
                    format!("{:.1}", tally.micros[engine] as f64 / 1e3 / each as f64),
                    tally.failures[engine].to_string(),
                    tally.time_forfeits[engine].to_string(),
                ]
            })
            .collect();
        let titles = ["engines", "nodes/s", "nodes/move", "ms/move", "failures", "late"];
        rows.insert(0, titles.map(str::to_string).to_vec());
        text += &aligned(&rows, 0);
        for engine in 0..2 {
            if let Some(failure) = &tally.last_failure[engine] {
                text += &format!("  {}, last: {failure}\n", settings.names[engine]);
            }
        }
    }
    let failed: u64 = tally.failures.iter().sum();
    if failed > 0 {
        text += &format!(
            "warning     {failed} of {games} games were decided by failing engines, which the Elo above includes\n"
        );
    }
    for hint in finished.hints() {
        text += &format!("hint        {hint}\n");
    }
    if result.ahead > 0 {
        text += &format!(
            "{} not counted because an earlier pair is missing\n",
            match result.ahead {
                1 => "1 finished pair is".to_string(),
                pairs => format!("{} finished pairs are", grouped(pairs)),
            }
        );
    }
    let pgn = finished.pgn().unwrap_or(Path::new("-"));
    text + &format!("{}, {:.1} s\n", pgn.display(), finished.seconds())
}

fn limits(config: &MatchConfig) -> String {
    let [a, b] = &config.limits;
    if a == b { a.clone() } else { format!("{a} against {b}") }
}
