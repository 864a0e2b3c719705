//! Marked numbers as variables that an engine reads from a file at its start, and constants again.

mod code;
mod declarations;
mod loader;
mod tags;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::languages::Language;
use crate::plan::PatchPlan;
use crate::sources::{Change, Loaded};
use crate::tables::sources::{MarkedNumber, Replacement, apply, edits_of, numbers};
use declarations::expose;
use gputexel_io::params::{self, ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result, did_you_mean};

pub const VARIABLE: &str = "GPUTEXEL_VALUES";
const PARAMS: &str = "gputexel_values.params";

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExposedFile {
    pub file: PathBuf,
    pub numbers: usize,
    pub changed: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExposePlan {
    pub plan: PatchPlan,
    pub files: Vec<ExposedFile>,
    pub parameters: usize,
    pub folder: PathBuf,
    pub params: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    name: String,
    value: f64,
    whole: bool,
    bounds: Option<(f64, f64)>,
}

/// Plans to make the marked numbers of sources variables.
pub fn plan_expose(files: &[PathBuf]) -> Result<ExposePlan> {
    let (sources, folder) = load(files)?;
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Vec<MarkedNumber>> = Vec::new();
    for source in &sources {
        if tags::is_tagged(&source.text) {
            return Err(Error::input(&source.shown, "has variables already; restore it first"));
        }
        let mut found = numbers(&source.text, &source.shown)?;
        for own in &mut found {
            own.name = identifier(&own.name);
            let error = |reason: String| source.error(own.at, format!("'{}' {reason}", own.name));
            check_literal(own).map_err(error)?;
            match places.get(&own.name) {
                None => {
                    places.insert(own.name.clone(), parameters.len());
                    let whole = own.number.is_integer();
                    let (name, value, bounds) = (own.name.clone(), own.value, own.bounds);
                    parameters.push(Parameter { name, value, whole, bounds });
                }
                Some(&at) if parameters[at].value != own.value => {
                    return Err(error(format!(
                        "is {} here and {} elsewhere",
                        own.value, parameters[at].value
                    )));
                }
                Some(_) => {}
            }
        }
        all.push(found);
    }
    if parameters.is_empty() {
        return Err(Error::input(
            &sources[0].shown,
            "has no marker; write '// gputexel: NAME' above an array",
        ));
    }
    let texts = expose(&sources, &all, &folder)?;
    let mut plan =
        ExposePlan { parameters: parameters.len(), folder: folder.clone(), ..ExposePlan::default() };
    for ((source, after), numbers) in sources.iter().zip(&texts).zip(&all) {
        if tags::without(after) != source.text {
            let reason = "has text that gputexel could not restore later; nothing was written";
            return Err(Error::input(&source.shown, reason));
        }
        push(&mut plan, source, after.clone(), numbers.len(), 0)?;
    }
    new_file(&mut plan.plan, &folder, loader::HEADER, loader::header(&parameters))?;
    plan.params = folder.join(PARAMS);
    new_file(&mut plan.plan, &folder, PARAMS, list_of(&parameters))?;
    Ok(plan)
}

/// Plans to make exposed numbers constants again, with the values of a `.params` file or a parameter file if
/// given.
pub fn plan_restore(files: &[PathBuf], values: Option<&Path>) -> Result<ExposePlan> {
    let (sources, folder) = load(files)?;
    let values = values.map(|path| Ok::<_, Error>((path, read_values(path)?))).transpose()?;
    let mut plan = ExposePlan { folder, ..ExposePlan::default() };
    let mut known: Vec<String> = Vec::new();
    // Those that only use variables may be named, too, as for `plan_expose`.
    if !sources.iter().any(|source| tags::is_tagged(&source.text)) {
        return Err(Error::input(&sources[0].shown, "has no variables; it is as it was before"));
    }
    for source in sources.iter().filter(|source| tags::is_tagged(&source.text)) {
        let mut text = tags::without(&source.text);
        let mut found = numbers(&text, &source.shown)?;
        found.iter_mut().for_each(|own| own.name = identifier(&own.name));
        let (mut edits, mut changed) = (Vec::new(), 0);
        // The numbers of an array keep their columns.
        for array in found.chunk_by(|a, b| a.at == b.at) {
            let mut written = Vec::with_capacity(array.len());
            for own in array {
                let (start, end) = (own.range.start, own.range.end);
                let mut new = text[own.range.clone()].to_string();
                let value = values.as_ref().and_then(|(_, values)| values.get(&own.name));
                let value =
                    value.map(|value| own.number.round(if own.negative { 0.0 - value } else { *value }));
                if let Some(value) = value.filter(|value| *value != own.number.value) {
                    let error =
                        |reason: String| Error::input(&source.shown, format!("'{}': {reason}", own.name));
                    new = own.number.write(value, own.number.plus).map_err(error)?;
                    changed += 1;
                }
                written.push(Replacement { start, end, new });
            }
            written.sort_by_key(|number| number.start);
            edits.extend(edits_of(&text, &written, false));
        }
        apply(&mut text, edits);
        known.extend(found.iter().map(|own| own.name.clone()));
        push(&mut plan, source, text, found.len(), changed)?;
    }
    known.sort();
    known.dedup();
    plan.parameters = known.len();
    if let Some((path, values)) = values {
        plan.params = path.to_path_buf();
        let mut names: Vec<&String> = values.keys().collect();
        names.sort();
        if let Some(name) = names.into_iter().find(|name| known.binary_search(name).is_err()) {
            let near = did_you_mean(name, known.iter().cloned());
            return Err(Error::input(path, format!("'{name}' has no marker in these sources{near}")));
        }
    }
    Ok(plan)
}

fn load(files: &[PathBuf]) -> Result<(Vec<Loaded>, PathBuf)> {
    let sources = Loaded::all(files)?;
    if let Some(other) = sources.iter().find(|source| source.language != Language::C) {
        let reason = match other.language.name {
            "cpp" => "is a source in C++; C++ engines trace themselves: docs/selftrace.md",
            "rust" => "is a source in Rust; Rust engines trace themselves: docs/selftrace.md",
            _ => "is no source in C",
        };
        return Err(Error::input(&other.shown, reason));
    }
    let folder = Loaded::folder(&sources);
    Ok((sources, folder))
}

fn push(plan: &mut ExposePlan, source: &Loaded, after: String, numbers: usize, changed: usize) -> Result<()> {
    plan.files.push(ExposedFile { file: source.shown.clone(), numbers, changed });
    plan.plan.changes.extend(source.change(after)?);
    Ok(())
}

fn new_file(plan: &mut PatchPlan, folder: &Path, name: &str, text: String) -> Result<()> {
    let path = folder.join(name);
    let before = match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io(&path, error)),
    };
    let after = text.into_bytes();
    if before.as_ref() != Some(&after) {
        plan.changes.push(Change { shown: path.clone(), path, before, after, params: name == PARAMS });
    }
    Ok(())
}

/// List of parameters, with ranges by size unless the markers have bounds.
fn list_of(parameters: &[Parameter]) -> String {
    let mut file = ParamsFile::default();
    for own in parameters {
        let kind = if own.whole { ParamKind::Int } else { ParamKind::Float };
        let mut entry = ParamEntry::from_source(own.name.clone(), kind, own.value);
        // The value of a term may change its sign.
        let room = if own.whole { own.value.abs().max(50.0) } else { own.value.abs().max(1.0) };
        let (min, max) = own.bounds.unwrap_or((own.value - room, own.value + room));
        let step = (max - min) / 20.0;
        let step = if own.whole { step.round().max(1.0) } else { step };
        (entry.min, entry.max) = (params::Number::new(min), params::Number::new(max));
        entry.step = params::Number::new(step);
        file.push(entry);
    }
    file.text()
}

fn read_values(path: &Path) -> Result<HashMap<String, f64>> {
    if path.extension().is_some_and(|extension| extension == "params") {
        let file = ParamsFile::parse(&crate::read_text(path)?, path)?;
        return Ok(file.entries().map(|entry| (entry.name.clone(), entry.v.value)).collect());
    }
    let file = gputexel_model::ParameterFile::read(path)?;
    let mut values = HashMap::new();
    for own in file.parameters {
        if own.mg != own.eg {
            let reason = format!(
                "parameter '{}' has two values, {} and {}; a number has one",
                own.name, own.mg, own.eg
            );
            return Err(Error::input(path, reason));
        }
        values.insert(own.name, own.mg);
    }
    Ok(values)
}

fn check_literal(own: &MarkedNumber) -> Result<(), String> {
    let suffix = own.number.suffix();
    let whole = own.number.is_integer();
    let plain = suffix.is_empty() || (!whole && suffix.eq_ignore_ascii_case("f"));
    if !plain {
        return Err(format!("has the suffix '{suffix}'; only plain numbers can become variables"));
    }
    if whole && own.value.abs() > f64::from(i32::MAX) {
        return Err("does not fit 32 bits".to_string());
    }
    Ok(())
}

fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests;
