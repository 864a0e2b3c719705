//! The engine with the parameters that are set in it.

use super::super::asking::{Ask, Source, Way};
use super::super::parameters::ProbeParameter;
use super::super::{offered, options_of};
use super::AgainSettings;
use crate::client::{EngineCommand, EngineOption, OptionKind, PARAMETERS_WORD, Setting};
use gputexel_ingest::trace::{ProbedParameter, ProbingRecord};
use gputexel_io::{Advice, Error, Result, StopFlag, some_of};

const NAMED: usize = 4;

/// With the values to be verified.
pub(super) struct Ready {
    pub source: Source,
    pub values: Vec<f64>,
    pub rounded: u64,
    pub built_otherwise: Vec<(String, f64, f64)>,
}

impl Ready {
    pub fn new(
        record: &ProbingRecord,
        values: &[f64],
        settings: &AgainSettings,
        way: &Way,
        stop: &StopFlag,
    ) -> Result<Self> {
        let mut command = settings.command.clone();
        let is_a_program = way.ask == Ask::Lines;
        match (is_a_program, command.reads_values()) {
            // As it was built, a program needs no values.
            (true, false) if !settings.as_built => {
                let reason = format!(
                    "the program that was probed reads a file of values: {PARAMETERS_WORD} is missing"
                );
                return Err(Error::Usage(format!("{command}: {reason}")));
            }
            (false, true) => {
                let reason = format!("a UCI engine was probed, and its command has no {PARAMETERS_WORD}");
                return Err(Error::Usage(format!("{command}: {reason}")));
            }
            _ => {}
        }
        let given = std::mem::take(&mut command.settings);
        let is_given = |name: &str| given.iter().any(|setting| setting.name.eq_ignore_ascii_case(name));
        let of_then =
            record.options.iter().filter(|(name, _)| !is_given(name) && !record.has_parameter(name));
        command.settings =
            of_then.map(|(name, value)| Setting { name: name.clone(), value: value.clone() }).collect();
        command.settings.extend(given.iter().cloned());
        let options = match is_a_program {
            true => None,
            // Without the parameters, other settings do not matter.
            false => Some(options_of(&EngineCommand { settings: Vec::new(), ..command.clone() }, stop)?),
        };
        let mut parameters = Vec::new();
        let mut built_otherwise = Vec::new();
        match (&options, settings.as_built) {
            (Some(options), true) => built_otherwise = defaults(record, values, options),
            (None, true) => {}
            (_, false) => parameters = listed(record, values, options.as_deref(), &command)?,
        }
        let whole: Vec<f64> = match parameters.is_empty() {
            true => record.parameters.iter().zip(values).map(|(one, value)| as_set(one, *value)).collect(),
            false => parameters.iter().map(|parameter| parameter.start).collect(),
        };
        let rounded = whole.iter().zip(values).filter(|(whole, value)| whole != value).count() as u64;
        let (deadline, stop) = (settings.deadline, stop.clone());
        let source = Source { command, is_program: is_a_program, parameters, deadline, stop };
        Ok(Self { source, values: whole, rounded, built_otherwise })
    }
}

/// As the engine takes it.
fn as_set(parameter: &ProbedParameter, value: f64) -> f64 {
    if parameter.integer { value.round() } else { value }
}

fn listed(
    record: &ProbingRecord,
    values: &[f64],
    options: Option<&[EngineOption]>,
    command: &EngineCommand,
) -> Result<Vec<ProbeParameter>> {
    let is_offered = |one: &&ProbedParameter| {
        options.is_none_or(|all| all.iter().any(|option| option.name.eq_ignore_ascii_case(&one.name)))
    };
    let absent: Vec<&str> =
        record.parameters.iter().filter(|one| !is_offered(one)).map(|one| one.name.as_str()).collect();
    if !absent.is_empty() {
        let list = some_of(&absent, NAMED);
        let reason = format!("has no option {list}, of those that the run has tuned in '{}'", record.command);
        let advice = Advice::default().setting("as-built", "");
        let advice = advice.text(" asks it under the values that it was built with");
        return Err(Error::Engine { engine: command.to_string(), reason }.advise(advice));
    }
    let set = |(one, value): (&ProbedParameter, &f64)| {
        let bounds = match options {
            Some(_) => [f64::NEG_INFINITY, f64::INFINITY],
            None => [one.min, one.max],
        };
        let own = ProbeParameter {
            name: one.name.clone(),
            start: as_set(one, *value),
            min: bounds[0],
            max: bounds[1],
            integer: one.integer,
        };
        options.map_or(Ok(own.clone()), |options| offered(&own, options, command))?.checked()
    };
    record.parameters.iter().zip(values).map(set).collect()
}

/// Of which the engine has other values by itself.
fn defaults(record: &ProbingRecord, values: &[f64], options: &[EngineOption]) -> Vec<(String, f64, f64)> {
    let other = |(one, value): (&ProbedParameter, &f64)| {
        let option = options.iter().find(|option| option.name.eq_ignore_ascii_case(&one.name))?;
        let own = match &option.kind {
            OptionKind::Spin { default, .. } => *default as f64,
            OptionKind::String { default } => default.parse().ok()?,
            _ => return None,
        };
        let value = as_set(one, *value);
        (own != value).then(|| (one.name.clone(), own, value))
    };
    record.parameters.iter().zip(values).filter_map(other).collect()
}
