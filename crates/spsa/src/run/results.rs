//! Results of a run: values in the forms that others read, with warnings about them.

use std::path::Path;

use serde_json::{Value, json};

use super::sides::tuned_setting;
use super::{Header, RunState, TunedEngine};
use crate::Variable;
use crate::lists::{self, ListEntry, ListFormat};
use gputexel_io::run_folder::{PARAMETERS, VALUES};
use gputexel_io::write_atomically;
use gputexel_play::Stop;
use gputexel_play::client::{Setting, values_text};
use gputexel_report::Conclusion;

/// Lists of the values for other programs, by the names of their files.
const LISTS: [(&str, ListFormat); 2] =
    [("values.openbench", ListFormat::OpenBench), ("values.params", ListFormat::Params)];

/// `values.csv`, `values.uci` (for an engine that reads a file of values, `values.txt`), `values.openbench`,
/// `values.params`, and for the built-in engine its parameters. A list whose format asks for settings that
/// the run does not have (SPSA's gain, after a Bayesian run) is left out.
pub fn write_values(folder: &Path, state: &RunState, engine: &TunedEngine) -> gputexel_io::Result<()> {
    write_atomically(&folder.join("values.csv"), values_csv(state).as_bytes())?;
    let rounded = state.tuner.rounded_values();
    let options = engine.options(state.tuner.variables(), &rounded);
    let (name, text) = if engine.reads_values() {
        let settings: Vec<Setting> = options.into_iter().map(tuned_setting).collect();
        (VALUES, values_text(&settings))
    } else {
        let entry = |(name, value)| ListEntry { integer: false, ..ListEntry::new(name, value) };
        let options: Vec<ListEntry> = options.into_iter().map(entry).collect();
        ("values.uci", lists::write_list(&options, ListFormat::Uci)?.text)
    };
    write_atomically(&folder.join(name), text.as_bytes())?;
    if let Some(file) = engine.parameter_file(&rounded) {
        write_atomically(&folder.join(PARAMETERS), file.to_json().as_bytes())?;
    }
    let values = state.tuner.variables().iter().zip(rounded);
    let entries: Vec<ListEntry> =
        values.map(|(v, value)| ListEntry { start: value, ..ListEntry::from(v) }).collect();
    for (name, format) in LISTS {
        if lists::missing(&entries, format).is_none() {
            let written = lists::write_list(&entries, format)?;
            write_atomically(&folder.join(name), written.text.as_bytes())?;
        }
    }
    Ok(())
}

fn error_name(state: &RunState) -> &'static str {
    if state.tuner.method().is_bayesian() { "posterior_s" } else { "noise_s" }
}

/// `name,value,rounded,start,min,max,c_end,` and the error, with a header.
fn values_csv(state: &RunState) -> String {
    let tuner = &state.tuner;
    let mut text = format!("name,value,rounded,start,min,max,c_end,{}\n", error_name(state));
    let figures = tuner.values().iter().zip(tuner.rounded_values()).zip(tuner.standard_errors());
    for (v, ((value, rounded), error)) in tuner.variables().iter().zip(figures) {
        let Variable { name, start, min, max, c_end, .. } = v;
        text += &format!("{name},{value},{rounded},{start},{min},{max},{c_end},{error}\n");
    }
    text
}

/// State of a run as JSON; `ended` says how the process that played ended, and after how many seconds.
pub fn summary(
    folder: &Path,
    header: &Header,
    state: &RunState,
    conclusion: &Conclusion,
    ended: Option<(&Stop, f64)>,
) -> Value {
    let tuner = &state.tuner;
    let (errors, rounded) = (tuner.standard_errors(), tuner.rounded_values());
    let parameter = |(i, v): (usize, &Variable)| {
        let slope = state.slope(i);
        json!({
            "name": v.name, "value": tuner.values()[i], "rounded": rounded[i], "start": v.start, "min": v.min,
            "max": v.max, "c_end": v.c_end, "c_now": tuner.c_now(i), "r_now": tuner.r_now(i),
            (error_name(state)): errors[i],
            // Not minus nothing.
            "larger_value_elo": slope.elo + 0.0, "larger_value_error95": slope.error95,
        })
    };
    let elo = state.pairs.elo();
    let ends = state.ends.iter().map(|(end, count)| (end.describe().to_string(), json!(count)));
    let mut summary = json!({
        "folder": folder, "engines": header.engines, "limit": header.config.games.limit,
        "method": tuner.method(), "iterations": tuner.iterations(), "pairs_told": tuner.completed_pairs(),
        "games": state.games(), "pairs": state.pairs.counts, "draw_rate": state.draw_rate(),
        "plus_elo": elo.elo + 0.0, "plus_elo_error95": elo.error95, "ends": Value::Object(ends.collect()),
        "tau": tuner.noise_variance().sqrt(), "spoiled": state.spoiled, "last_failure": state.last_failure,
        "parameters": tuner.variables().iter().enumerate().map(parameter).collect::<Vec<_>>(),
    });
    if let Some((stop, seconds)) = ended {
        summary["stop"] = json!(stop.name());
        summary["seconds"] = json!(seconds);
    }
    if let (Some(object), Value::Object(parts)) = (summary.as_object_mut(), json!(conclusion)) {
        object.extend(parts);
    }
    summary
}
