//! Output of self-play during play and at its end.

use std::time::{Duration, Instant};

use gputexel::datagen::selfplay::{FinishedSelfPlay, SelfPlayConfig, SelfPlayTally};
use gputexel::matches::End;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::super::context::Context;
use super::super::table::{aligned, counted, duration, grouped, percent};

/// Time between plain lines.
const LINES_EVERY: Duration = Duration::from_secs(5);

/// Progress line.
pub struct Progress {
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
    /// Starts the display; `known` counts the games played before.
    pub fn new(context: &Context, games: u64, known: &SelfPlayTally) -> Self {
        let bar = match context.shows_progress() {
            true => ProgressBar::new(games),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        Self {
            games,
            bar,
            lines: !context.shows_progress() && !context.quiet && !context.json,
            last_line: now,
            begin: now,
            known: known.finished(),
        }
    }

    /// Shows the current state of self-play.
    pub fn show(&mut self, tally: &SelfPlayTally) {
        let games = tally.finished();
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

    fn describe(&self, tally: &SelfPlayTally) -> String {
        let [white, draws, black] = tally.results;
        let rate = tally.finished().saturating_sub(self.known) as f64 / self.begin.elapsed().as_secs_f64();
        let left = self.games.saturating_sub(tally.finished()) as f64 / rate;
        let spoiled = match tally.spoiled {
            0 => String::new(),
            games => format!(", {games} spoiled"),
        };
        format!(
            "+{white} ={draws} -{black} ({} drawn){spoiled}, {} positions, {rate:.1} games/s, {} left",
            percent(draws, tally.games()),
            grouped(tally.positions),
            duration(left)
        )
    }

    /// Returns the progress bar, to be cleared at the end.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }
}

/// Formats the result as text.
pub fn table(finished: &FinishedSelfPlay) -> String {
    let FinishedSelfPlay { config, tally, .. } = finished;
    let games = tally.games();
    let mut text = format!(
        "{} against itself, {} at {}\nopenings    {}\n",
        config.engine.name,
        counted(games, "game"),
        config.limit,
        openings(config)
    );
    if games > 0 {
        let [white, draws, black] = tally.results;
        text += &format!(
            "results     White won {}, drawn {}, Black won {}\n",
            percent(white, games),
            percent(draws, games),
            percent(black, games)
        );
        text += &format!(
            "positions   {}, {:.1} per game, {} nodes each\n",
            grouped(tally.positions),
            tally.positions as f64 / games as f64,
            grouped(tally.nodes / tally.positions.max(1))
        );
    }
    if tally.without_score > 0 {
        text += &format!(
            "warning     the engine gave no score for {} of {}\n",
            grouped(tally.without_score),
            counted(tally.positions, "position")
        );
    }
    if tally.spoiled > 0 {
        text += &format!(
            "warning     {} not written because the engine failed, last: {}\n",
            counted(tally.spoiled, "game"),
            gputexel::io::printable(tally.last_failure.as_deref().unwrap_or("unknown"))
        );
    }
    let mut ends: Vec<(&End, &u64)> = tally.ends.iter().collect();
    ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let row = |(end, count): (&End, &u64)| {
        vec![end.describe().to_string(), grouped(*count), percent(*count, tally.finished())]
    };
    if !ends.is_empty() {
        text += &format!("ends\n{}", aligned(&ends.into_iter().map(row).collect::<Vec<_>>(), 2));
    }
    if finished.played_now > 0 {
        text += &format!(
            "{}, {:.1} games/s with {} at a time, {:.1} % of the time in searches\n",
            duration(finished.seconds),
            finished.played_now as f64 / finished.seconds,
            finished.concurrency,
            100.0 * finished.search_share
        );
    }
    for file in &finished.files {
        text += &format!("{}\n", file.path.display());
        if file.left_out > 0 {
            text += &format!(
                "  {} left out: the format cannot express them without a score or as they are\n",
                counted(file.left_out, "position")
            );
        }
    }
    if let (Some(file), true) = (finished.files.first(), games > 0) {
        let dataset = finished.folder.join("dataset.bin");
        text += &format!("next: gputexel extract {} -o {}\n", quoted(&file.path), quoted(&dataset));
    }
    text
}

/// Describes where the games start.
fn openings(config: &SelfPlayConfig) -> String {
    let random = config.random;
    let drawn = match random.plies {
        0 => String::new(),
        plies => format!("{plies} random plies within {} cp, ", random.limit_cp),
    };
    match &config.openings.file {
        Some(book) => format!("{}, {}, {drawn}seed {}", book.display(), config.openings.order, config.seed),
        None => format!("{drawn}seed {}", config.seed),
    }
}

fn quoted(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map_or_else(|_| text.clone(), |quoted| quoted.into_owned())
}
