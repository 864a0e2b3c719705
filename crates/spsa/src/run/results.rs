//! Results of a run: values in the forms that others read, with warnings about them.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use serde::{Serialize, Serializer};

use super::sides::tuned_setting;
use super::{Header, RunState, TunedEngine};
use crate::lists::{self, ListEntry, ListFormat};
use crate::method_kind::MethodKind;
use gputexel_io::run_folder::PARAMETERS;
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
    let (name, text) = match engine.reads_values() {
        true => {
            let settings: Vec<Setting> = options.into_iter().map(tuned_setting).collect();
            ("values.txt", values_text(&settings))
        }
        false => {
            let entry = |(name, value)| ListEntry { integer: false, ..ListEntry::new(name, value) };
            let options: Vec<ListEntry> = options.into_iter().map(entry).collect();
            ("values.uci", lists::write_list(&options, ListFormat::Uci)?.text)
        }
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
    let errors = tuner.standard_errors();
    let rounded = tuner.rounded_values();
    for (i, v) in tuner.variables().iter().enumerate() {
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

/// State of a run, printed as JSON by `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary<'a> {
    pub folder: &'a Path,
    /// Names of the engines, the plus side's first.
    pub engines: &'a [String; 2],
    /// Limit of the engines, such as `nodes=5000`.
    pub limit: &'a str,
    pub method: MethodKind,
    pub iterations: u64,
    #[serde(rename = "pairs_told")]
    pub completed_pairs: u64,
    pub games: u64,
    /// Pairs by the plus side's half points.
    pub pairs: [u64; 5],
    pub draw_rate: f64,
    pub plus_elo: f64,
    /// Half the width of its 95 % interval.
    pub plus_elo_error95: f64,
    #[serde(serialize_with = "as_map")]
    pub ends: Vec<(&'static str, u64)>,
    /// τ as known by now.
    pub tau: f64,
    pub spoiled: [u64; 2],
    pub last_failure: Option<&'a str>,
    pub parameters: Vec<ParameterSummary<'a>>,
    /// Reason for the end of the process that played; none for a run that was only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    #[serde(flatten)]
    pub conclusion: &'a Conclusion,
}

fn as_map<S: Serializer>(ends: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(ends.iter().copied())
}

#[derive(Clone, Debug, Serialize)]
pub struct ParameterSummary<'a> {
    pub name: &'a str,
    pub value: f64,
    pub rounded: f64,
    pub start: f64,
    pub min: f64,
    pub max: f64,
    pub c_end: f64,
    pub c_now: f64,
    pub r_now: Option<f64>,
    /// Standard deviation that a Bayesian method believes in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub posterior_s: Option<f64>,
    /// Standard deviation that the noise of the games alone would have caused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_s: Option<f64>,
    pub larger_value_elo: f64,
    /// Half the width of its 95 % interval.
    pub larger_value_error95: f64,
}

impl<'a> RunSummary<'a> {
    /// `ended` says how the process that played ended, and after how many seconds.
    pub fn new(
        folder: &'a Path,
        header: &'a Header,
        state: &'a RunState,
        conclusion: &'a Conclusion,
        ended: Option<(&Stop, f64)>,
    ) -> Self {
        let tuner = &state.tuner;
        let bayesian = tuner.method().is_bayesian();
        let (errors, rounded) = (tuner.standard_errors(), tuner.rounded_values());
        let parameter = |(i, v): (usize, &'a crate::Variable)| {
            let slope = state.slope(i);
            ParameterSummary {
                name: &v.name,
                value: tuner.values()[i],
                rounded: rounded[i],
                start: v.start,
                min: v.min,
                max: v.max,
                c_end: v.c_end,
                c_now: tuner.c_now(i),
                r_now: tuner.r_now(i),
                posterior_s: bayesian.then(|| errors[i]),
                noise_s: (!bayesian).then(|| errors[i]),
                // Not minus nothing.
                larger_value_elo: slope.elo + 0.0,
                larger_value_error95: slope.error95,
            }
        };
        let elo = state.pairs.elo();
        Self {
            folder,
            engines: &header.engines,
            limit: &header.config.games.limit,
            method: tuner.method(),
            iterations: tuner.iterations(),
            completed_pairs: tuner.completed_pairs(),
            games: state.games(),
            pairs: state.pairs.counts,
            draw_rate: state.draw_rate(),
            plus_elo: elo.elo + 0.0,
            plus_elo_error95: elo.error95,
            ends: state.ends.iter().map(|(end, count)| (end.describe(), *count)).collect(),
            tau: tuner.noise_variance().sqrt(),
            spoiled: state.spoiled,
            last_failure: state.last_failure.as_deref(),
            parameters: tuner.variables().iter().enumerate().map(parameter).collect(),
            stop: ended.map(|(stop, _)| stop.name()),
            seconds: ended.map(|(_, seconds)| seconds),
            conclusion,
        }
    }
}
