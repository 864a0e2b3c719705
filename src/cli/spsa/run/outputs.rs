//! Table of a run.

use std::path::Path;

use gputexel::report::Conclusion;
use gputexel::spsa::numbers::four_digits as number;
use gputexel::spsa::run::{Header, RunState};

use super::super::super::conclusion::findings;
use super::super::super::table::{aligned, grouped, percent};
use super::live::{games, heading, parameter_rows};

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
    text += &aligned(&parameter_rows(state, usize::MAX), 0);
    text += match tuner.method().is_bayesian() {
        true => "\nposterior s: estimated distance from the best value (one standard deviation)\n",
        false => {
            "\nnoise s: how far noise in the games alone would have moved the value (one standard deviation)\n"
        }
    };
    text += "larger value: Elo of the side that played the larger value, over the whole run, with its 95 % error bar\n";
    text += &findings(conclusion, true);
    text + &format!("{}, {}\n", folder.display(), time(seconds))
}

fn time(seconds: f64) -> String {
    if seconds > 0.0 { format!("{seconds:.1} s") } else { "according to its journal".to_string() }
}
