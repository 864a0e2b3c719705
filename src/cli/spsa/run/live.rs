//! Table that shows a run in progress.

use std::time::{Duration, Instant};

use console::Term;
use gputexel::matches::statistics::Estimate;
use gputexel::spsa::numbers::four_digits as number;
use gputexel::spsa::run::{Header, RunState};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::super::super::context::Context;
use super::super::super::table::{aligned, counted, duration, grouped};

const LINES_EVERY: Duration = Duration::from_secs(10);
const TABLES_EVERY: Duration = Duration::from_millis(500);

/// Maximum number of parameters shown during a run: those that moved farthest.
const ROWS: usize = 24;

const VALUES: usize = 8;

pub struct Live {
    bar: ProgressBar,
    lines: bool,
    shown: Option<Instant>,
    begin: Instant,
    known: u64,
    heading: String,
}

impl Live {
    pub fn new(context: &Context, header: &Header, state: &RunState) -> Self {
        let bar = match context.shows_progress() {
            true => ProgressBar::new(state.tuner.iterations()),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:16} {pos}/{len} pairs, {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message("playing the first pairs");
        let lines = !context.shows_progress() && !context.quiet && !context.json;
        let known = state.tuner.completed_pairs();
        if lines && known > 0 {
            note!("resuming after {} of {} pairs", grouped(known), grouped(state.tuner.iterations()));
        }
        let heading = heading(header, state);
        Self { bar, lines, shown: None, begin: Instant::now(), known, heading }
    }

    pub fn show(&mut self, state: &RunState) {
        let every = if self.lines { LINES_EVERY } else { TABLES_EVERY };
        if self.shown.get_or_insert(self.begin).elapsed() < every || !self.lines && self.bar.is_hidden() {
            return;
        }
        self.shown = Some(Instant::now());
        let completed = state.tuner.completed_pairs();
        let rate = completed.saturating_sub(self.known) as f64 / self.begin.elapsed().as_secs_f64();
        let left = (state.tuner.iterations() - completed) as f64 / rate;
        let speed = match left.is_finite() {
            true => format!("{} pairs/s, {} left", number(rate), duration(left)),
            false => "no pair finished yet".to_string(),
        };
        if self.lines {
            let all = grouped(state.tuner.iterations());
            note!("{} of {all} pairs, {speed}; {}; {}", grouped(completed), games(state), values(state));
        } else {
            self.bar.set_position(completed);
            let (height, width) = Term::stderr().size();
            // The bar, the headings, and a line for the parameters left out.
            let rows = parameter_rows(state, ROWS.min(usize::from(height).saturating_sub(8)).max(1));
            let text = format!("{}\n{}\n\n{}", self.heading, games(state), aligned(&rows, 0));
            // A wrapped line would leave remains when the table is redrawn.
            let width = usize::from(width).saturating_sub(1);
            let shown = gputexel::io::escaped;
            let lines = text.trim_end().lines().map(|line| shown(line).chars().take(width).collect());
            self.bar.set_message(format!("{speed}\n{}", lines.collect::<Vec<String>>().join("\n")));
        }
    }

    /// Clears the table; returns the seconds since the start.
    pub fn finish(self) -> f64 {
        self.bar.finish_and_clear();
        self.begin.elapsed().as_secs_f64()
    }
}

pub fn heading(header: &Header, state: &RunState) -> String {
    let [plus, minus] = &header.engines;
    let engines = if plus == minus { plus.clone() } else { format!("{plus} against {minus}") };
    let settings = state.tuner.settings();
    let published = if settings.as_published { ", as published" } else { "" };
    format!(
        "{engines} at {}, {}{published}, seed {}",
        header.config.games.limit, settings.method, header.config.run.seed
    )
}

pub fn games(state: &RunState) -> String {
    let mut text = format!(
        "{:.1} % drawn, plus against minus {}",
        100.0 * state.draw_rate(),
        elo(&state.pairs.elo(), state.pairs.pairs())
    );
    let spoiled: u64 = state.spoiled.iter().sum();
    if spoiled > 0 {
        text += &format!(", {} discarded because an engine failed", counted(spoiled, "pair"));
    }
    let late = state.ends.get(&gputexel::matches::End::TimeForfeit).copied().unwrap_or(0);
    if late > 0 {
        text += &format!(", {} lost on time", counted(late, "game"));
    }
    text
}

pub fn elo(estimate: &Estimate, pairs: u64) -> String {
    match pairs {
        0 => "unknown".to_string(),
        // A value that rounds to zero is not printed as minus zero.
        _ => format!("{:+.1} \u{b1} {:.1} Elo", (estimate.elo * 10.0).round() / 10.0 + 0.0, estimate.error95),
    }
}

pub fn parameter_rows(state: &RunState, most: usize) -> Vec<Vec<String>> {
    let tuner = &state.tuner;
    let bayesian = tuner.method().is_bayesian();
    let error = if bayesian { "posterior s" } else { "noise s" };
    let header = ["parameter", "value", "change", "c now", "R now", error, "larger value"];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    let errors = tuner.standard_errors();
    let change = |i: usize| tuner.values()[i] - tuner.variables()[i].start;
    let left_out = errors.len().saturating_sub(most);
    let mut farthest = tuner.farthest(most);
    farthest.sort_unstable();
    for i in farthest {
        rows.push(vec![
            tuner.variables()[i].name.clone(),
            number(tuner.values()[i]),
            signed(change(i)),
            number(tuner.c_now(i)),
            tuner.r_now(i).map_or_else(|| "-".to_string(), number),
            number(errors[i]),
            elo(&state.slope(i), state.larger[i].pairs()),
        ]);
    }
    if left_out > 0 {
        rows.push(vec![format!("and {left_out} that moved less")]);
    }
    rows
}

fn values(state: &RunState) -> String {
    let pairs = state.tuner.variables().iter().zip(state.tuner.values());
    let mut texts: Vec<String> =
        pairs.take(VALUES).map(|(v, x)| format!("{} {}", v.name, number(*x))).collect();
    if state.tuner.values().len() > VALUES {
        texts.push("...".to_string());
    }
    texts.join(", ")
}

fn signed(value: f64) -> String {
    let text = number(value);
    if value > 0.0 { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_signs_and_times_units() {
        assert_eq!([3.0, -3.0, 0.0].map(signed), ["+3.000", "-3.000", "0"]);
        assert_eq!([3.4, 65.0, 7384.0].map(duration), ["3 s", "1 min 05 s", "2 h 03 min"]);
    }
}
