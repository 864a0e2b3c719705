//! State of a run as text.

use std::path::Path;

use gputexel::matches::statistics::Estimate;
use gputexel::report::Conclusion;
use gputexel::spsa::numbers::four_digits as number;
use gputexel::spsa::run::{Header, RunState};

use super::super::super::conclusion::findings;
use super::super::super::table::{aligned, counted, grouped, percent};

/// Values that the line of a run in progress shows.
const VALUES: usize = 8;

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

/// The first row is the header.
pub fn parameter_rows(state: &RunState) -> Vec<Vec<String>> {
    let tuner = &state.tuner;
    let error = if tuner.method().is_bayesian() { "posterior s" } else { "noise s" };
    let header = ["parameter", "value", "change", "c now", "R now", error, "larger value"];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    for (i, (variable, error)) in tuner.variables().iter().zip(tuner.standard_errors()).enumerate() {
        let value = tuner.values()[i];
        rows.push(vec![
            variable.name.clone(),
            number(value),
            signed(value - variable.start),
            number(tuner.c_now(i)),
            tuner.r_now(i).map_or_else(|| "-".to_string(), number),
            number(error),
            elo(&state.slope(i), state.larger[i].pairs()),
        ]);
    }
    rows
}

pub fn values(state: &RunState) -> String {
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

pub fn table(
    folder: &Path,
    header: &Header,
    state: &RunState,
    conclusion: &Conclusion,
    seconds: f64,
) -> String {
    let tuner = &state.tuner;
    let (completed, all) = (tuner.completed_pairs(), tuner.iterations());
    let mut text = format!("{}\n", heading(header, state));
    text +=
        &format!("pairs       {} of {} ({})\n", grouped(completed), grouped(all), percent(completed, all));
    if completed > 0 {
        let [zero, half, one, more, two] = state.pairs.counts;
        text += &format!("games       {}\n", games(state));
        text += &format!(
            "pairs       {zero}, {half}, {one}, {more}, {two} with 0, \u{bd}, 1, 1\u{bd}, 2 points for plus\n"
        );
        let mut ends: Vec<_> = state.ends.iter().collect();
        ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let ends = ends.iter().map(|(end, n)| format!("{} {}", end.describe(), percent(**n, state.games())));
        text += &format!("ends        {}\n", ends.collect::<Vec<_>>().join(", "));
        text += &format!("length      {:.1} plies on average\n", state.plies as f64 / state.games() as f64);
        if tuner.method().is_bayesian() {
            text += &format!("tau         {}\n", number(tuner.noise_variance().sqrt()));
        }
    }
    if let Some(failure) = &state.last_failure {
        let [plus, minus] = state.spoiled;
        text += &format!("failures    {plus} by plus, {minus} by minus; the last: {failure}\n");
    }
    text.push('\n');
    text += &aligned(&parameter_rows(state), 0);
    text += if tuner.method().is_bayesian() {
        "\nposterior s: estimated distance from the best value (one standard deviation)\n"
    } else {
        "\nnoise s: how far noise in the games alone would have moved the value (one standard deviation)\n"
    };
    text += "larger value: Elo of the side that played the larger value, over the whole run, with its 95 % error bar\n";
    text += &findings(conclusion, true);
    text + &format!("{}, {}\n", folder.display(), time(seconds))
}

fn time(seconds: f64) -> String {
    if seconds > 0.0 { format!("{seconds:.1} s") } else { "according to its journal".to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_signs() {
        assert_eq!([3.0, -3.0, 0.0].map(signed), ["+3.000", "-3.000", "0"]);
    }
}
