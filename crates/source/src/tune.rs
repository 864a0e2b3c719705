//! `tune`: numbers become names, declared and offered as options.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::Options;
use super::blocks::{Declared, Setting, TuneFile};
use super::characters::{is_space, is_word, next_line, number_value, without_blank_edges};
use super::constants::Code;
use super::layout::Edit;
use super::layout::{apart, replace_part};
use super::names::Template;
use super::order::{History, uncover, verify_reversible};
use super::pattern::{Pattern, values};
use super::plan::{Change, ParamsSummary, PatchPlan, PlannedBlock, PlannedValue, params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{Placed, State, place, refuse_others};
use super::warnings::{encodings, of_block, undeclared};
use gputexel_io::params::{Number, ParamEntry, ParamKind, ParamsFile, plain, python};
use gputexel_io::shown;
use gputexel_io::{Error, Result};

/// Plans `tune FILE.tune SOURCE_DIR`.
///
/// Every context must match in one place, and every marker that is needed must be in one line; otherwise there is no
/// plan.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] with file and line of anything unusable.
pub fn plan_tune(tune: &Path, folder: &Path, options: &Options) -> Result<PatchPlan> {
    let params_path = params_path(tune)?;
    let tune = TuneFile::read(tune, options.compat, true)?;
    let mut sources = Sources::open(folder, options)?;
    let (mut params, bytes) = read_params(&params_path)?;
    let known = params.entries().count();
    if options.compat {
        params.forget_style();
    }
    let placed = place(&tune, &mut sources, options)?;
    let mut states: Vec<State> = placed.iter().map(|p| p.state(&sources.files[p.file])).collect();
    uncover(&placed, &mut states, &sources, options);
    check_states(&placed, &states, &sources, &tune, options)?;

    params.entries_mut().for_each(|entry| entry.not_used = true);
    tune.declared.iter().for_each(|declared| declare(declared, &mut params, options));
    for (p, state) in placed.iter().zip(&states) {
        add_parameters(p, state, &sources.files[p.file], &mut params, &tune, options)?;
    }
    let mut plan = PatchPlan::default();
    if !options.compat {
        let blocks = placed.iter().zip(&states);
        let codes: Vec<OnceCell<Code>> = sources.files.iter().map(|_| OnceCell::new()).collect();
        let odd =
            blocks.flat_map(|(p, state)| of_block(p, state, &sources.files[p.file], &tune, &codes[p.file]));
        let read = encodings(&placed, &sources, &tune).into_iter();
        plan.warnings = read.chain(odd).chain(undeclared(&tune)).collect();
        let used = params.entries().filter(|entry| !entry.not_used);
        let ranges = used.filter_map(ParamEntry::range_problem);
        plan.warnings.extend(ranges.map(|problem| format!("{}: {problem}", params_path.display())));
    }
    let mut histories: Vec<History> = sources.files.iter().map(|_| History::default()).collect();
    for (p, state) in placed.iter().zip(&states) {
        let (source, history) = (&mut sources.files[p.file], &mut histories[p.file]);
        let mut edit = BlockEdit { tune: &tune, p, params: &params, options, history };
        plan.blocks.push(edit.run(source, state)?);
    }
    for (p, state) in placed.iter().zip(&states).filter(|_| !options.compat) {
        verify_reversible(p, state, &sources.files[p.file], &tune.path)?;
    }
    let not_used = params.entries().filter(|entry| entry.not_used).count();
    let all = params.entries().count();
    plan.params =
        Some(ParamsSummary { path: params_path.clone(), used: all - not_used, new: all - known, not_used });
    plan.take_sources(sources)?;
    let after = params.text().into_bytes();
    if bytes.as_ref() != Some(&after) {
        let path = resolved(&params_path)?;
        plan.changes.push(Change { path, shown: params_path, before: bytes, after, params: true });
    }
    Ok(plan)
}

/// Returns the path of the parameters: next to the blocks, which may have come with a tree, so that a link is followed
/// within that folder only.
fn resolved(params: &Path) -> Result<PathBuf> {
    let io = |e| Error::io(params, e);
    let folder = match params.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let root = folder.canonicalize().map_err(io)?;
    match params.canonicalize() {
        Ok(path) if path.starts_with(&root) => Ok(path),
        Ok(_) => {
            let folder = folder.display();
            Err(Error::input(
                params,
                format!("is a link that leads outside {folder}; put the file itself there"),
            ))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Ok(root.join(params.file_name().unwrap_or_default()))
        }
        Err(e) => Err(io(e)),
    }
}

/// Adds the parameters for the numbers of a context, unless they exist.
pub(super) fn add_parameters(
    p: &Placed<'_>,
    state: &State,
    source: &Source,
    params: &mut ParamsFile,
    tune: &TuneFile,
    options: &Options,
) -> Result<()> {
    let (State::Ready(found), false) = (state, p.block.name.is_empty()) else { return Ok(()) };
    let numbers = values(&source.before, found);
    let texts = found.marks.iter().map(|mark| &source.before[mark.clone()]);
    if numbers.len() != p.context.names().count() {
        return Err(p.block.error(&tune.path, p.block.line, "an @ has no number before it"));
    }
    if !options.compat && p.block.settings.declaration.is_some() {
        refuse_taken(p, source, &tune.path)?;
    }
    for ((name, value), text) in p.context.names().zip(numbers).zip(texts) {
        if !(2.0 * value).is_finite() {
            let reason = format!("{} is too large a number", shown(text));
            return Err(p.block.error(&tune.path, p.block.line, reason));
        }
        match params.get_mut(name) {
            Some(entry) => entry.not_used = false,
            None => {
                // 12.0 is not an integer in C: division by it would change.
                let whole = if options.compat { value.fract() == 0.0 } else { !text.contains('.') };
                let kind = if whole { ParamKind::Int } else { ParamKind::Float };
                let mut entry = ParamEntry::from_source(name, kind, value);
                if kind == ParamKind::Float && !options.compat {
                    // A step of 1 is for integers, which cannot move by less.
                    entry.step = Number::new((entry.max.value - entry.min.value) / 20.0);
                }
                params.push(entry);
            }
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
            let (file, line) = (source.shown.display(), source.line(at));
            let name = shown(name);
            let reason = format!("the name {name} stands in {file}:{line} already");
            return Err(p.block.error(tune, p.block.line, reason));
        }
    }
    Ok(())
}

/// Rejects sources in which contexts are missing, or which are tuned. Plain patches may be in place (`apply` leaves
/// them so), and may be in text that an earlier block inserts.
fn check_states(
    placed: &[Placed<'_>],
    states: &[State],
    sources: &Sources,
    tune: &TuneFile,
    options: &Options,
) -> Result<()> {
    refuse_others(placed, states, sources, &tune.path, |p, state| {
        let plain = p.block.name.is_empty();
        match state {
            State::Ready(_) => true,
            State::Done(_) => plain && !options.compat,
            State::Missing | State::Several(_) => plain,
        }
    })?;
    let left = |p: &Placed<'_>, state: &State| {
        let source = &sources.files[p.file];
        !matches!(state, State::Done(_))
            || p.under_markers().any(|(_, _, body)| !is_present(body, source, options))
    };
    if !placed.iter().zip(states).any(|(p, state)| left(p, state))
        && let (Some(p), Some(state)) = (placed.first(), states.first())
    {
        return Err(p.refusal(state, &sources.files[p.file], &tune.path));
    }
    Ok(())
}

/// Returns true if the body of an `#add` is in a source.
fn is_present(body: &Template, source: &Source, options: &Options) -> bool {
    let pattern = Pattern::new(&body.named(), options.rule(), false);
    pattern.is_empty() || !pattern.find_all(&source.text, &source.frequencies).is_empty()
}

/// Adds a `#param`, or sets everything but its value, which is clamped to the range.
fn declare(declared: &Declared, params: &mut ParamsFile, options: &Options) {
    let [v, min, max, step, delta] = declared.numbers.clone();
    // The original drops notes and comments here.
    let note = declared.note.as_ref().filter(|note| !options.compat && !note.is_empty());
    let note = note.map(|note| format!(" {note}"));
    match params.get_mut(&declared.name) {
        Some(entry) => {
            let value = max.value.min(min.value.max(entry.v.value));
            if options.compat || value != entry.v.value {
                entry.v = Number::new(value);
            }
            (entry.kind, entry.min, entry.max, entry.step, entry.delta) =
                (declared.kind, min, max, step, delta);
            entry.not_used = false;
            if options.compat {
                entry.comment = None;
            } else if entry.comment.is_none() {
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

/// State of the work on one block.
pub(super) struct BlockEdit<'a> {
    pub tune: &'a TuneFile,
    pub p: &'a Placed<'a>,
    pub params: &'a ParamsFile,
    pub options: &'a Options,
    pub history: &'a mut History,
}

impl BlockEdit<'_> {
    /// Changes the text of a source like `tune`.
    pub fn run(&mut self, source: &mut Source, state: &State) -> Result<PlannedBlock> {
        let Self { p, params, options, .. } = *self;
        let done = matches!(state, State::Done(_));
        let place = match state {
            State::Ready(found) | State::Done(found) => Some(found.range.start),
            _ => None,
        };
        let texts: Vec<String> = match state {
            State::Ready(found) => found.marks.iter().map(|m| source.before[m.clone()].to_string()).collect(),
            _ => Vec::new(),
        };
        if done
            && let Some([found]) =
                p.tuned.as_ref().map(|t| t.find_all(&source.text, &source.frequencies)).as_deref()
        {
            self.history.visit(p.block, found.range.clone());
        }
        let mut replaced = done;
        for (add, template) in p.block.adds.iter().zip(&p.adds) {
            let body = template.filled(str::to_string);
            match &add.marker {
                Some(_) if done && is_present(template, source, options) => {}
                Some(marker) => {
                    let setting = Setting { value: marker.clone(), line: add.line };
                    self.insert(source, &setting, "#add", |_, newline| {
                        if options.compat { body } else { plain_lines(&body, newline) }
                    })?;
                }
                None if done => {}
                None => {
                    self.replace(source, state, Some(&body))?;
                    replaced = true;
                }
            }
        }
        if !replaced {
            let body = options.compat.then(|| p.context.filled(str::to_string));
            self.replace(source, state, body.as_deref())?;
        }
        let entries = p.context.names().filter_map(|name| params.get(name)).collect::<Vec<_>>();
        if let Some(marker) = &p.block.settings.declaration
            && (options.compat || !entries.is_empty())
        {
            self.insert(source, marker, "#set declaration", |indent, newline| {
                let lines = entries.iter().enumerate();
                lines.map(|(i, entry)| declaration(entry, texts.get(i), options, indent, newline)).collect()
            })?;
        }
        if let Some(marker) = &p.block.settings.options
            && (options.compat || !entries.is_empty())
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
            value: value_text(entry, texts.get(i).map(String::as_str), true, options),
        });
        let action = match (done, p.block.name.is_empty()) {
            (true, _) => "kept",
            (false, true) => "patched",
            (false, false) => "tuned",
        };
        Ok(PlannedBlock { values: planned.collect(), ..p.planned(source, place, action) })
    }

    /// Replaces the context by a body, or without one only its numbers by names.
    fn replace(&mut self, source: &mut Source, state: &State, body: Option<&str>) -> Result<()> {
        let Self { tune, p, options, .. } = *self;
        let found = p.pattern.find_all(&source.text, &source.frequencies);
        if let (State::Ready(before), true, false) = (state, found.is_empty(), options.compat)
            && let Some(error) = self.history.blame(p.block, &before.range, source, &tune.path)
        {
            return Err(error);
        }
        let found = p.only(found, state, source, &tune.path)?;
        if !options.compat {
            let whole = std::slice::from_ref(&found.range);
            let changes = if body.is_some() { whole } else { &found.marks };
            self.history.check_visit(p.block, &found, changes, source, &tune.path)?;
        }
        self.history.visit(p.block, found.range.clone());
        match body {
            Some(body) if options.compat => {
                let edit = Edit { at: found.range.start, removed: found.range.len(), added: body.len() };
                source.text.replace_range(found.range, body);
                self.history.record(edit);
            }
            Some(body) => {
                let edit = replace_part(&mut source.text, found.range, body, source.newline);
                self.history.record(edit);
            }
            None => {
                let names: Vec<&str> = p.context.names().collect();
                for (mark, name) in found.marks.into_iter().zip(names).rev() {
                    let new = apart(&source.text, &mark, name);
                    self.history.record(Edit { at: mark.start, removed: mark.len(), added: new.len() });
                    source.text.replace_range(mark, &new);
                }
            }
        }
        Ok(())
    }

    /// Inserts text under the line of a marker. The text is made for the indentation and line end there.
    fn insert(
        &mut self,
        source: &mut Source,
        marker: &Setting,
        what: &str,
        text: impl FnOnce(&str, &str) -> String,
    ) -> Result<()> {
        let line = marker_line(source, marker, what, self.tune, self.options)?;
        let (at, length) = (next_line(&source.text, line), source.text.len());
        if self.options.compat {
            // At the end of the file, the original does not begin a new line.
            source.text.insert_str(at, &text("", "\n"));
        } else {
            let first = source.text[line..].trim_start_matches('\u{feff}');
            let indent = first[..first.len() - first.trim_start_matches([' ', '\t']).len()].to_string();
            let text = text(&indent, source.newline);
            if text.is_empty() {
                return Ok(());
            }
            self.history.check_insertion(self.p.block, at, &marker.value, &self.tune.path)?;
            source.insert_below(line, &text);
        }
        self.history.record(Edit { at, removed: 0, added: source.text.len() - length });
        Ok(())
    }
}

/// Returns the beginning of the one line that contains a marker.
pub(super) fn marker_line(
    source: &Source,
    marker: &Setting,
    what: &str,
    tune: &TuneFile,
    options: &Options,
) -> Result<usize> {
    let lines = source.lines_with(&marker.value);
    let at = |reason: String| {
        Err(Error::line(&tune.path, marker.line, format!("{what}: marker {} {reason}", shown(&marker.value))))
    };
    match lines[..] {
        [] => at(format!("is not in {}", source.shown.display())),
        [line] => Ok(line),
        [line, ..] if options.compat => Ok(line),
        [one, two, ..] => {
            // The user's lines, without those inserted above.
            let original = Source { text: source.before.clone(), ..source.clone() };
            let (one, two) = match original.lines_with(&marker.value)[..] {
                [one, two, ..] => (one, two),
                _ => (one, two),
            };
            let (name, line) = (source.shown.display(), |at| super::characters::line_of(&original.text, at));
            at(format!("is in {name} more than once, lines {} and {}", line(one), line(two)))
        }
    }
}

/// Returns the lines of a body with the line end of the source, without blank ones at the edges.
fn plain_lines(body: &str, newline: &str) -> String {
    let body = without_blank_edges(body);
    if body.trim_matches(is_space).is_empty() {
        return String::new();
    }
    body.split('\n').flat_map(|line| [line, newline]).collect()
}

fn declaration(
    entry: &ParamEntry,
    source_text: Option<&String>,
    options: &Options,
    indent: &str,
    newline: &str,
) -> String {
    let ParamEntry { name, kind, .. } = entry;
    let value = value_text(entry, source_text.map(String::as_str), true, options);
    let comment = entry.comment.as_deref().filter(|comment| !comment.is_empty());
    if options.compat {
        let comment = comment.map(|comment| format!("//{comment}")).unwrap_or_default();
        return format!("{kind} {name} = {value}; {comment}\n");
    }
    let comment = comment.map(|comment| format!(" //{}", comment.trim_end())).unwrap_or_default();
    format!("{indent}{kind} {name} = {value};{comment}{newline}")
}

/// Returns the text of a value, in a declaration or in place of a number: integers are rounded half away from zero. The
/// text of the source stays if it has that value, so that it can be restored; in declarations, if it is of that type.
/// In place of a fraction, it remains one.
pub(super) fn value_text(
    entry: &ParamEntry,
    source_text: Option<&str>,
    declares: bool,
    options: &Options,
) -> String {
    let (value, is_float) = (entry.v.value, entry.kind == ParamKind::Float);
    if options.compat {
        return match entry.kind {
            ParamKind::Int => whole_text(if declares { value.trunc() } else { (value + 0.5).trunc() }),
            ParamKind::Float => python(value),
        };
    }
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

/// Formats a whole number, zero without a sign.
fn whole_text(value: f64) -> String {
    if value == 0.0 { "0".to_string() } else { format!("{value:.0}") }
}
