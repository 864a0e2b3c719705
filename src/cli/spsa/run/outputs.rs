//! What is left of a run: values in the forms that others read, a picture, a table.

use std::fmt::Write as _;
use std::path::Path;

use gputexel::report::{self, Paths};
use gputexel::spsa::lists::{self, ListEntry, ListFormat, ListOptions};
use gputexel::spsa::run::{Header, RunState, Stop, TunedEngine};
use gputexel::{Result, write_atomically};
use serde_json::{Value, json};

use super::super::super::table::{aligned, grouped, percent};
use super::live::{counted, games, heading, number, parameter_rows};

/// The picture's name in the folder.
pub const PICTURE: &str = "paths.svg";

/// Lists of the values for other programs, by the names of their files.
const LISTS: [(&str, ListFormat); 2] =
    [("values.openbench", ListFormat::OpenBench), ("values.params", ListFormat::Params)];

/// Writes the values and the picture of the paths into the folder, and for the built-in engine its
/// parameters. A list whose format asks for
/// settings that the run does not have (SPSA's gain, after a Bayesian run) is left out.
///
/// # Errors
/// [`gputexel::Error::Io`].
pub fn write(folder: &Path, story: &RunState, engine: &TunedEngine) -> Result<()> {
    write_atomically(&folder.join("values.csv"), values_csv(story).as_bytes())?;
    let rounded = story.tuner.rounded_values();
    let options = engine.options(story.tuner.variables(), &rounded);
    let options: Vec<ListEntry> = options
        .into_iter()
        .map(|(name, value)| ListEntry { integer: false, ..ListEntry::new(name, value) })
        .collect();
    let written = lists::write_list(&options, ListFormat::Uci, ListOptions::default())?;
    write_atomically(&folder.join("values.uci"), written.text.as_bytes())?;
    if let Some(file) = engine.parameter_file(&rounded) {
        write_atomically(&folder.join("params.json"), file.to_json().as_bytes())?;
    }
    let values = story.tuner.variables().iter().zip(rounded);
    let entries: Vec<ListEntry> =
        values.map(|(v, value)| ListEntry { start: value, ..ListEntry::from(v) }).collect();
    for (name, format) in LISTS {
        if lists::missing(&entries, format).is_none() {
            let written = lists::write_list(&entries, format, ListOptions::default())?;
            write_atomically(&folder.join(name), written.text.as_bytes())?;
        }
    }
    write_atomically(&folder.join(PICTURE), picture(story)?.as_bytes())
}

/// What the error of a value is called: what the method believes, or what noise alone would do.
fn error_name(story: &RunState) -> &'static str {
    if story.tuner.method().is_bayesian() { "posterior_s" } else { "noise_s" }
}

/// `name,value,rounded,start,min,max,c_end,` and the error, with a header.
fn values_csv(story: &RunState) -> String {
    let tuner = &story.tuner;
    let mut text = format!("name,value,rounded,start,min,max,c_end,{}\n", error_name(story));
    let errors = tuner.standard_errors();
    let rounded = tuner.rounded_values();
    for (i, v) in tuner.variables().iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{}",
            v.name,
            tuner.values()[i],
            rounded[i],
            v.start,
            v.min,
            v.max,
            v.c_end,
            errors[i]
        );
    }
    text
}

/// Every parameter's way from its start, in units of its perturbation.
///
/// # Errors
/// When it cannot be drawn.
pub fn picture(story: &RunState) -> Result<String> {
    let tuner = &story.tuner;
    let path = story.path_to_now();
    let one = |(i, v): (usize, &gputexel::spsa::Variable)| report::Path {
        name: v.name.clone(),
        unit: v.c_end,
        points: path.iter().map(|(told, values)| (*told as f64, values[i])).collect(),
    };
    let all = tuner.iterations();
    let paths = Paths {
        title: format!("{}: {} of {} pairs", tuner.method(), grouped(tuner.told()), grouped(all)),
        x_name: "pairs of games".to_string(),
        x_end: all as f64,
        paths: tuner.variables().iter().enumerate().map(one).collect(),
    };
    paths.to_svg()
}

/// Where the run stands, in words.
pub fn table(folder: &Path, header: &Header, story: &RunState, seconds: f64) -> String {
    let tuner = &story.tuner;
    let (told, all) = (tuner.told(), tuner.iterations());
    let mut text = format!("{}\n", heading(header, story));
    text += &format!("pairs       {} of {} ({})\n", grouped(told), grouped(all), percent(told, all));
    for (after, iterations) in &story.replans {
        text += &format!("replanned   after {} to {}\n", counted(*after, "pair"), grouped(*iterations));
    }
    if told > 0 {
        let [zero, half, one, more, two] = story.pairs.counts;
        text += &format!("games       {}\n", games(story));
        text += &format!(
            "pairs       {zero}, {half}, {one}, {more}, {two} with 0, \u{bd}, 1, 1\u{bd}, 2 points for plus\n"
        );
        let mut ends: Vec<_> = story.ends.iter().collect();
        ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let ends = ends.iter().map(|(end, n)| format!("{} {}", end.describe(), percent(**n, story.games())));
        text += &format!("ends        {}\n", ends.collect::<Vec<_>>().join(", "));
        text += &format!("length      {:.1} plies on average\n", story.plies as f64 / story.games() as f64);
        if tuner.method().is_bayesian() {
            text += &format!("tau         {}\n", number(tuner.noise_variance().sqrt()));
        }
    }
    if let Some(failure) = &story.last_failure {
        let [plus, minus] = story.spoiled;
        text += &format!("failures    {plus} by plus, {minus} by minus; the last: {failure}\n");
    }
    text.push('\n');
    text += &aligned(&parameter_rows(story, usize::MAX), 0);
    text += match tuner.method().is_bayesian() {
        true => "\nposterior s: estimated distance from the best value (one standard deviation)\n",
        false => {
            "\nnoise s: how far noise in the games alone would have moved the value (one standard deviation)\n"
        }
    };
    text += "larger value: Elo of the side that played the larger value, over the whole run, with its 95 % error bar\n";
    for warning in warnings(story) {
        text += &format!("warning     {warning}\n");
    }
    text + &format!("{}, {}\n", folder.display(), time(seconds))
}

/// What the values should not be believed without.
fn warnings(story: &RunState) -> Vec<String> {
    let tuner = &story.tuner;
    let rounded = tuner.rounded_values();
    let mut warnings = Vec::new();
    for (i, v) in tuner.variables().iter().enumerate() {
        if rounded[i] <= v.min || rounded[i] >= v.max {
            warnings
                .push(format!("{} is at its bound {}: the best value may be beyond it", v.name, rounded[i]));
        }
        let moved = (tuner.values()[i] - v.start).abs();
        if let Some(s) = v.s.filter(|s| tuner.method().is_bayesian() && moved > 2.0 * s) {
            warnings.push(format!(
                "{} moved {:.1} s from its start: s = {} was too small; if sigma was, too, so is posterior s",
                v.name,
                moved / s,
                number(s)
            ));
        }
    }
    warnings
}

fn time(seconds: f64) -> String {
    if seconds > 0.0 { format!("{seconds:.1} s") } else { "according to its journal".to_string() }
}

/// Where the run stands, for machines.
pub fn json(folder: &Path, header: &Header, story: &RunState, stop: &Stop, seconds: f64) -> Value {
    let stop = match stop {
        Stop::AllPlayed => "all-played",
        Stop::Cancelled => "cancelled",
        Stop::Failures(_) => "failures",
    };
    let mut object = state(folder, header, story);
    object["stop"] = stop.into();
    object["seconds"] = seconds.into();
    object
}

/// As [`json`], without how it ended.
pub fn state(folder: &Path, header: &Header, story: &RunState) -> Value {
    let tuner = &story.tuner;
    let (errors, rounded) = (tuner.standard_errors(), tuner.rounded_values());
    let parameter = |(i, v): (usize, &gputexel::spsa::Variable)| {
        let slope = story.slope(i);
        json!({
            "name": v.name, "value": tuner.values()[i], "rounded": rounded[i], "start": v.start,
            "min": v.min, "max": v.max, "c_end": v.c_end, "c_now": tuner.c_now(i), "r_now": tuner.r_now(i),
            error_name(story): errors[i], "larger_value_elo": slope.elo + 0.0,
            "larger_value_error95": slope.error95,
        })
    };
    let elo = story.pairs.elo();
    let ends: serde_json::Map<String, Value> =
        story.ends.iter().map(|(end, count)| (end.describe().to_string(), json!(count))).collect();
    json!({
        "folder": folder, "engines": header.engines, "limit": header.config.games.limit,
        "method": tuner.method(), "iterations": tuner.iterations(), "pairs_told": tuner.told(),
        "games": story.games(), "pairs": story.pairs.counts, "draw_rate": story.draw_rate(),
        "plus_elo": elo.elo + 0.0, "plus_elo_error95": elo.error95, "ends": ends,
        "tau": tuner.noise_variance().sqrt(), "warnings": warnings(story), "spoiled": story.spoiled, "last_failure": story.last_failure,
        "replans": story.replans,
        "parameters": tuner.variables().iter().enumerate().map(parameter).collect::<Vec<_>>(),
    })
}
