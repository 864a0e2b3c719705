//! An engine that was probed, asked once more: whether it evaluates under other values as the coefficients predict.

use std::time::Duration;

use serde::Serialize;

use super::asking::{Ask, Source, Way, evaluations};
use super::parameters::ProbeParameter;
use super::search::explained_cp;
use super::{block_size, offered, options_of};
use crate::client::{EngineCommand, EngineOption, PARAMETERS_WORD, Setting};
use gputexel_ingest::trace::{ProbedParameter, ProbingRecord};
use gputexel_io::{Advice, Error, Result, StopFlag};

/// Share of positions that may disagree with the predictions.
const STRAY: f64 = 0.01;

#[derive(Clone, Debug, PartialEq)]
pub struct KnownPosition {
    pub fen: String,
    /// Under the values of then, centipawns, White's view.
    pub evaluation_cp: f64,
    /// Change of the evaluation for a change of a parameter by 1.
    pub effects: Vec<(u32, f64)>,
}

#[derive(Clone, Debug)]
pub struct AgainSettings {
    pub command: EngineCommand,
    /// Ask under the values that it was built with, instead of setting those to be verified.
    pub as_built: bool,
    /// Difference that counts as rounding in any case.
    pub tolerance_cp: f64,
    pub processes: usize,
    pub deadline: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Agreement,
    /// As predicted, but evaluations under the values of then are the same.
    Indistinguishable,
    Start,
    Other,
}

#[derive(Clone, Debug, Serialize)]
pub struct Again {
    /// Values that are not those of then.
    pub changed: u64,
    pub compared: u64,
    pub missing: u64,
    /// Evaluations that differ by more than rounding explains.
    pub differing: u64,
    pub mean_cp: f64,
    pub outcome: Outcome,
    /// NaN where there is none.
    #[serde(skip)]
    pub evaluations: Vec<f64>,
    #[serde(skip)]
    pub predictions: Vec<f64>,
}

/// `values` are in the order of the record's parameters.
pub fn ask_again(
    record: &ProbingRecord,
    positions: &[KnownPosition],
    values: &[f64],
    settings: &AgainSettings,
    stop: &StopFlag,
) -> Result<Again> {
    let way = Way::from_record(record)?;
    let is_program = way.ask == Ask::Lines;
    let command = command_again(record, settings, is_program)?;
    let options = match is_program {
        true => None,
        // Without the parameters, other settings do not matter.
        false => Some(options_of(&EngineCommand { settings: Vec::new(), ..command.clone() }, stop)?),
    };
    let whole = |(one, value): (&ProbedParameter, &f64)| if one.integer { value.round() } else { *value };
    let values: Vec<f64> = record.parameters.iter().zip(values).map(whole).collect();
    let (parameters, set) = match settings.as_built {
        true => (Vec::new(), Vec::new()),
        false => (listed(record, &values, options.as_deref(), &command)?, values.clone()),
    };
    let (deadline, stop) = (settings.deadline, stop.clone());
    let source = Source { command, is_program, parameters, deadline, stop };
    let asked: Vec<(&str, bool)> =
        positions.iter().map(|one| (one.fen.as_str(), one.fen.split(' ').nth(1) == Some("b"))).collect();
    let pool = (settings.processes, block_size(&source, positions.len(), settings.processes));
    let evaluations = evaluations(&source, &way, pool, &set, &asked, &mut |_| {})?;
    if evaluations.iter().all(|value| value.is_nan()) {
        return Err(source.error("gives no evaluation in any position"));
    }
    Ok(compare(record, positions, &values, evaluations, settings.tolerance_cp))
}

fn compare(
    record: &ProbingRecord,
    positions: &[KnownPosition],
    values: &[f64],
    evaluations: Vec<f64>,
    tolerance_cp: f64,
) -> Again {
    let change = |i: u32| values[i as usize] - record.parameters[i as usize].start;
    let share = |i: u32| match record.parameters[i as usize].step {
        0.0 => 0.0,
        step => change(i) / step,
    };
    let predicted = |one: &KnownPosition| {
        one.evaluation_cp + one.effects.iter().map(|(i, c)| c * change(*i)).sum::<f64>()
    };
    let predictions: Vec<f64> = positions.iter().map(predicted).collect();
    let unit = record.resolution_cp + record.noise_cp;
    let bound = |one: &KnownPosition| {
        explained_cp(one.effects.iter().map(|(i, _)| share(*i)), unit).max(tolerance_cp)
    };
    let bounds: Vec<f64> = positions.iter().map(bound).collect();
    let known: Vec<usize> = (0..evaluations.len()).filter(|n| !evaluations[*n].is_nan()).collect();
    let size = |n: usize| (evaluations[n] - predictions[n]).abs();
    let differing = known.iter().filter(|n| size(**n) > bounds[**n]).count();
    let then = |n: usize| positions[n].evaluation_cp;
    // Rounding within an evaluation has no strict bound.
    let agrees = differing as f64 <= STRAY * evaluations.len() as f64
        && known.iter().all(|n| size(*n) <= 2.0 * bounds[*n]);
    let is_seen = (0..positions.len()).any(|n| (predictions[n] - then(n)).abs() > bounds[n]);
    let outcome = match () {
        () if agrees && is_seen => Outcome::Agreement,
        () if agrees => Outcome::Indistinguishable,
        () if known.iter().all(|n| (evaluations[*n] - then(*n)).abs() <= unit + 1e-6) => Outcome::Start,
        () => Outcome::Other,
    };
    Again {
        changed: (0..values.len() as u32).filter(|i| change(*i) != 0.0).count() as u64,
        compared: known.len() as u64,
        missing: (evaluations.len() - known.len()) as u64,
        differing: differing as u64,
        mean_cp: known.iter().map(|n| size(*n)).sum::<f64>() / known.len() as f64,
        outcome,
        evaluations,
        predictions,
    }
}

fn command_again(
    record: &ProbingRecord,
    settings: &AgainSettings,
    is_program: bool,
) -> Result<EngineCommand> {
    let mut command = settings.command.clone();
    // As it was built, a program needs no values.
    if is_program && !command.reads_values() && !settings.as_built {
        let reason = "the program that was probed reads a file of values";
        return Err(Error::Usage(format!("{command}: {reason}: {PARAMETERS_WORD} is missing")));
    }
    if !is_program && command.reads_values() {
        let reason = "a UCI engine was probed, and its command has no";
        return Err(Error::Usage(format!("{command}: {reason} {PARAMETERS_WORD}")));
    }
    let given = std::mem::take(&mut command.settings);
    let is_given = |name: &str| given.iter().any(|setting| setting.name.eq_ignore_ascii_case(name));
    let of_then = record.options.iter().filter(|(name, _)| !is_given(name) && !record.has_parameter(name));
    let setting = |(name, value): &(String, String)| Setting { name: name.clone(), value: value.clone() };
    command.settings = of_then.map(setting).collect();
    command.settings.extend(given.iter().cloned());
    Ok(command)
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
    if let Some(absent) = record.parameters.iter().find(|one| !is_offered(one)) {
        let reason =
            format!("has no option {}, which the run has tuned in '{}'", absent.name, record.command);
        let advice = Advice::default().setting("as-built", "");
        let advice = advice.text(" asks it under the values that it was built with");
        return Err(Error::Engine { engine: command.to_string(), reason }.advise(advice));
    }
    let set = |(one, value): (&ProbedParameter, &f64)| {
        let [min, max] = match options {
            Some(_) => [f64::NEG_INFINITY, f64::INFINITY],
            None => [one.min, one.max],
        };
        let own = ProbeParameter { name: one.name.clone(), start: *value, min, max, integer: one.integer };
        options.map_or(Ok(own.clone()), |options| offered(&own, options, command))?.checked()
    };
    record.parameters.iter().zip(values).map(set).collect()
}
