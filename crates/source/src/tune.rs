//! `tune`: numbers become names, declared and offered as options.

use std::path::Path;

use super::blocks::{Block, Declared, Setting, TuneFile};
use super::characters::{is_space, is_word, next_line, number_value, whole_text, without_blank_edges};
use super::layout::{Edit, apart, replace_part};
use super::names::Template;
use super::order::{History, uncover, verify_reversible};
use super::pattern::Pattern;
use super::plan::{PatchPlan, PlannedBlock, PlannedValue, finish, params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{Placed, State, place, refuse_others};
use gputexel_io::params::{Number, ParamEntry, ParamKind, ParamsFile, plain};
use gputexel_io::{Error, Result, shown};

pub fn plan_tune(tune: &Path, folder: &Path) -> Result<PatchPlan> {
    let params_path = params_path(tune)?;
    let tune = TuneFile::read(tune)?;
    let mut sources = Sources::open(folder)?;
    let (mut params, bytes) = read_params(&params_path)?;
    let known = params.entries().count();
    let placed = place(&tune, &mut sources)?;
    let mut states: Vec<State> = placed.iter().map(|p| p.state(&sources.files[p.file])).collect();
    uncover(&placed, &mut states, &sources);
    check_states(&placed, &states, &sources, &tune)?;

    params.entries_mut().for_each(|entry| entry.not_used = true);
    tune.declared.iter().for_each(|declared| declare(declared, &mut params));
    for (p, state) in placed.iter().zip(&states) {
        add_parameters(p, state, &sources.files[p.file], &mut params, &tune)?;
    }
    let mut plan = PatchPlan { warnings: undeclared(&tune).into_iter().collect(), ..PatchPlan::default() };
    let used = params.entries().filter(|entry| !entry.not_used);
    let ranges = used.filter_map(ParamEntry::range_problem);
    plan.warnings.extend(ranges.map(|problem| format!("{}: {problem}", params_path.display())));
    let mut histories: Vec<History> = sources.files.iter().map(|_| History::default()).collect();
    for (p, state) in placed.iter().zip(&states) {
        let (source, history) = (&mut sources.files[p.file], &mut histories[p.file]);
        let mut edit = BlockEdit { tune: &tune, p, params: &params, history };
        plan.blocks.push(edit.run(source, state)?);
    }
    for (p, state) in placed.iter().zip(&states) {
        verify_reversible(p, state, &sources.files[p.file], &tune.path)?;
    }
    finish(&mut plan, sources, (params_path, bytes), (params, known))?;
    Ok(plan)
}

/// Adds the parameters for the numbers of a context, unless they exist.
fn add_parameters(
    p: &Placed<'_>,
    state: &State,
    source: &Source,
    params: &mut ParamsFile,
    tune: &TuneFile,
) -> Result<()> {
    let (State::Ready(found), false) = (state, p.block.name.is_empty()) else { return Ok(()) };
    if found.marks.len() != p.context.names().count() {
        return Err(p.block.error(&tune.path, p.block.line, "an @ has no number before it"));
    }
    if p.block.settings.declaration.is_some() {
        refuse_taken(p, source, &tune.path)?;
    }
    for (name, mark) in p.context.names().zip(&found.marks) {
        let text = &source.before[mark.clone()];
        let value = number_value(text);
        if !(2.0 * value).is_finite() {
            let reason = format!("{} is too large a number", shown(text));
            return Err(p.block.error(&tune.path, p.block.line, reason));
        }
        if let Some(entry) = params.get_mut(name) {
            entry.not_used = false
        } else {
            // 12.0 is not an integer in C: division by it would change.
            let kind = if text.contains('.') { ParamKind::Float } else { ParamKind::Int };
            let mut entry = ParamEntry::from_source(name, kind, value);
            if kind == ParamKind::Float {
                // A step of 1 is for integers, which cannot move by less.
                entry.step = Number::new((entry.max.value - entry.min.value) / 20.0);
            }
            params.push(entry);
        }
    }
    Ok(())
}

/// Rejects names that already occur in the source: a declaration would conflict or be shadowed.
fn refuse_taken(p: &Placed<'_>, source: &Source, tune: &Path) -> Result<()> {
    for name in p.context.names() {
        let text = &source.before;
        let taken = text.match_indices(name).find(|(at, _)| {
            let (before, behind) = (text[..*at].chars().next_back(), text[at + name.len()..].chars().next());
            !before.is_some_and(is_word) && !behind.is_some_and(is_word)
        });
        if let Some((at, _)) = taken {
            let (file, line) = (source.file.shown.display(), source.line(at));
            let name = shown(name);
            let reason = format!("the name {name} stands in {file}:{line} already");
            return Err(p.block.error(tune, p.block.line, reason));
        }
    }
    Ok(())
}

/// Plain patches may be in place (`apply` leaves them so), and may be in text that an earlier block inserts.
fn check_states(placed: &[Placed<'_>], states: &[State], sources: &Sources, tune: &TuneFile) -> Result<()> {
    refuse_others(placed, states, sources, &tune.path, |p, state| {
        matches!(state, State::Ready(_)) || p.block.name.is_empty()
    })?;
    let left = |p: &Placed<'_>, state: &State| {
        let source = &sources.files[p.file];
        !matches!(state, State::Done(_)) || p.under_markers().any(|(_, _, body)| !is_present(body, source))
    };
    if !placed.iter().zip(states).any(|(p, state)| left(p, state))
        && let (Some(p), Some(state)) = (placed.first(), states.first())
    {
        return Err(p.refusal(state, &sources.files[p.file], &tune.path));
    }
    Ok(())
}

fn is_present(body: &Template, source: &Source) -> bool {
    let pattern = Pattern::new(&body.named());
    pattern.is_empty() || !pattern.find_all(&source.text).is_empty()
}

/// Adds a `#param`, or sets everything but its value, which is clamped to the range.
fn declare(declared: &Declared, params: &mut ParamsFile) {
    let [v, min, max, step, delta] = declared.numbers.clone();
    let note = declared.note.as_ref().filter(|note| !note.is_empty());
    let note = note.map(|note| format!(" {note}"));
    match params.get_mut(&declared.name) {
        Some(entry) => {
            let value = max.value.min(min.value.max(entry.v.value));
            if value != entry.v.value {
                entry.v = Number::new(value);
            }
            (entry.kind, entry.min, entry.max, entry.step, entry.delta) =
                (declared.kind, min, max, step, delta);
            entry.not_used = false;
            if entry.comment.is_none() {
                entry.comment = note;
            }
        }
        None => params.push(ParamEntry {
            name: declared.name.clone(),
            kind: declared.kind,
            v,
            min,
            max,
            step,
            delta,
            more: Vec::new(),
            comment: note,
            not_used: false,
        }),
    }
}

struct BlockEdit<'a> {
    tune: &'a TuneFile,
    p: &'a Placed<'a>,
    params: &'a ParamsFile,
    history: &'a mut History,
}

impl BlockEdit<'_> {
    fn run(&mut self, source: &mut Source, state: &State) -> Result<PlannedBlock> {
        let Self { p, params, .. } = *self;
        let done = matches!(state, State::Done(_));
        let place = match state {
            State::Ready(found) | State::Done(found) => Some(found.range.start),
            _ => None,
        };
        let texts: Vec<String> = match state {
            State::Ready(found) => found.marks.iter().map(|m| source.before[m.clone()].to_string()).collect(),
            _ => Vec::new(),
        };
        if done && let Some([found]) = p.tuned.as_ref().map(|t| t.find_all(&source.text)).as_deref() {
            self.history.visit(p.block, found.range.clone());
        }
        let mut replaced = done;
        for (add, template) in p.block.adds.iter().zip(&p.adds) {
            let body = template.filled(str::to_string);
            match &add.marker {
                Some(_) if done && is_present(template, source) => {}
                Some(marker) => {
                    let setting = Setting { value: marker.clone(), line: add.line };
                    self.insert(source, &setting, "#add", |_, newline| plain_lines(&body, newline))?;
                }
                None if done => {}
                None => {
                    self.replace(source, state, Some(&body))?;
                    replaced = true;
                }
            }
        }
        if !replaced {
            self.replace(source, state, None)?;
        }
        let entries = p.context.names().filter_map(|name| params.get(name)).collect::<Vec<_>>();
        if let Some(marker) = &p.block.settings.declaration
            && !entries.is_empty()
        {
            self.insert(source, marker, "#set declaration", |indent, newline| {
                let lines = entries.iter().enumerate();
                lines.map(|(i, entry)| declaration(entry, texts.get(i), indent, newline)).collect()
            })?;
        }
        if let Some(marker) = &p.block.settings.options
            && !entries.is_empty()
        {
            self.insert(source, marker, "#set options", |indent, newline| {
                let line = |entry: &&ParamEntry| {
                    let ParamEntry { name, min, max, .. } = entry;
                    format!("{indent}TUNE(SetRange({min}, {max}), {name}, SetDefaultRange);{newline}")
                };
                entries.iter().map(line).collect()
            })?;
        }
        let planned = entries.iter().enumerate().map(|(i, entry)| PlannedValue {
            name: entry.name.clone(),
            before: texts.get(i).cloned().unwrap_or_default(),
            value: value_text(entry, texts.get(i).map(String::as_str), true),
        });
        let action = match (done, p.block.name.is_empty()) {
            (true, _) => "kept",
            (false, true) => "patched",
            (false, false) => "tuned",
        };
        Ok(PlannedBlock { values: planned.collect(), ..p.planned(source, place, action) })
    }

    fn replace(&mut self, source: &mut Source, state: &State, body: Option<&str>) -> Result<()> {
        let Self { tune, p, .. } = *self;
        let found = p.pattern.find_all(&source.text);
        let found = p.only(found, state, source, &tune.path)?;
        let whole = std::slice::from_ref(&found.range);
        let changes = if body.is_some() { whole } else { &found.marks };
        self.history.check_visit(p.block, &found, changes, &tune.path)?;
        self.history.visit(p.block, found.range.clone());
        if let Some(body) = body {
            let edit = replace_part(&mut source.text, found.range, body, source.newline);
            self.history.record(edit);
        } else {
            let names: Vec<&str> = p.context.names().collect();
            for (mark, name) in found.marks.into_iter().zip(names).rev() {
                let new = apart(&source.text, &mark, name);
                self.history.record(Edit { at: mark.start, removed: mark.len(), added: new.len() });
                source.text.replace_range(mark, &new);
            }
        }
        Ok(())
    }

    fn insert(
        &mut self,
        source: &mut Source,
        marker: &Setting,
        what: &str,
        text: impl FnOnce(&str, &str) -> String,
    ) -> Result<()> {
        let line = marker_line(source, marker, what, self.tune)?;
        let (at, length) = (next_line(&source.text, line), source.text.len());
        let first = source.text[line..].trim_start_matches('\u{feff}');
        let indent = first[..first.len() - first.trim_start_matches([' ', '\t']).len()].to_string();
        let text = text(&indent, source.newline);
        if text.is_empty() {
            return Ok(());
        }
        self.history.check_insertion(self.p.block, at, &marker.value, &self.tune.path)?;
        source.insert_below(line, &text);
        self.history.record(Edit { at, removed: 0, added: source.text.len() - length });
        Ok(())
    }
}

fn marker_line(source: &Source, marker: &Setting, what: &str, tune: &TuneFile) -> Result<usize> {
    let lines = source.lines_with(&marker.value);
    let at = |reason: String| {
        Err(Error::line(&tune.path, marker.line, format!("{what}: marker {} {reason}", shown(&marker.value))))
    };
    match lines[..] {
        [] => at(format!("is not in {}", source.file.shown.display())),
        [line] => Ok(line),
        _ => at(format!("is in {} more than once", source.file.shown.display())),
    }
}

fn plain_lines(body: &str, newline: &str) -> String {
    let body = without_blank_edges(body);
    if body.trim_matches(is_space).is_empty() {
        return String::new();
    }
    body.split('\n').flat_map(|line| [line, newline]).collect()
}

fn declaration(entry: &ParamEntry, source_text: Option<&String>, indent: &str, newline: &str) -> String {
    let ParamEntry { name, kind, .. } = entry;
    let value = value_text(entry, source_text.map(String::as_str), true);
    let comment = entry.comment.as_deref().filter(|comment| !comment.is_empty());
    let comment = comment.map(|comment| format!(" //{}", comment.trim_end())).unwrap_or_default();
    format!("{indent}{kind} {name} = {value};{comment}{newline}")
}

/// Text of a value, in a declaration or in place of a number: integers are rounded half away from zero.
pub(super) fn value_text(entry: &ParamEntry, source_text: Option<&str>, declares: bool) -> String {
    let (value, is_float) = (entry.v.value, entry.kind == ParamKind::Float);
    let value = if is_float { value } else { value.round() };
    let fits = |text: &&str| !declares || text.contains('.') == is_float;
    if let Some(text) = source_text.filter(|text| text.is_ascii()).filter(fits)
        && number_value(text) == value
    {
        return text.to_string();
    }
    match entry.kind {
        ParamKind::Int if !declares && source_text.is_some_and(|text| text.contains('.')) => {
            format!("{}.0", whole_text(value))
        }
        ParamKind::Int => whole_text(value),
        ParamKind::Float if value == 0.0 => "0.0".to_string(),
        ParamKind::Float => plain(value),
    }
}

/// Reports contexts with undeclared parameters: no marker is set, and they have no `#add MARKER` that might
/// declare them.
fn undeclared(tune: &TuneFile) -> Option<String> {
    let declares = |block: &&Block| {
        block.settings.declaration.is_some() || block.adds.iter().any(|add| add.marker.is_some())
    };
    let named = tune.blocks.iter().filter(|block| !block.name.is_empty() && block.context.text.contains('@'));
    let missing: Vec<&Block> = named.filter(|block| !declares(block)).collect();
    let first = missing.first()?;
    let more = if missing.len() > 1 { format!(" (and {} more)", missing.len() - 1) } else { String::new() };
    Some(format!(
        "{}:{}: {}{more}: nothing declares its parameters; #set declaration MARKER does",
        tune.path.display(),
        first.line,
        first.title()
    ))
}
