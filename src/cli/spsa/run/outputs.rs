//! Output of a run at its end: a picture and a table.

use std::path::Path;

use gputexel::Result;
use gputexel::io::write_atomically;
use gputexel::report::{self, Conclusion, Paths};
use gputexel::spsa::numbers::four_digits as number;
use gputexel::spsa::run::{Header, RunState};

use super::super::super::conclusion::findings;
use super::super::super::table::{aligned, counted, grouped, percent};
use super::live::{games, heading, parameter_rows};

const PICTURE: &str = "paths.svg";

pub fn write_picture(folder: &Path, state: &RunState) -> Result<()> {
    write_atomically(&folder.join(PICTURE), picture(state)?.as_bytes())
}

pub fn picture(state: &RunState) -> Result<String> {
    let tuner = &state.tuner;
    let path = state.path_to_now();
    let one = |(i, v): (usize, &gputexel::spsa::Variable)| report::Path {
        name: v.name.clone(),
        unit: v.c_end,
        points: path.iter().map(|(pairs, values)| (*pairs as f64, values[i])).collect(),
    };
    let all = tuner.iterations();
    let paths = Paths {
        title: format!("{}: {} of {} pairs", tuner.method(), grouped(tuner.completed_pairs()), grouped(all)),
        x_name: "pairs of games".to_string(),
        x_end: all as f64,
        paths: tuner.variables().iter().enumerate().map(one).collect(),
    };
    paths.to_svg()
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
    for (after, iterations) in &state.replans {
        text += &format!("replanned   after {} to {}\n", counted(*after, "pair"), grouped(*iterations));
    }
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
