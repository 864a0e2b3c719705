//! `tune.py` as it is, with its quirks, for [`Options::compat`](crate::Options): the same bytes from the same
//! files. Only what the script reports on standard output with success, and would lose data, is an error here.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use super::Options;
use super::blocks::{Add, Block, Body, Declared, Setting, Settings, TuneFile, param, words};
use super::characters::{is_space, next_line, number_value, whole_text, with_newlines};
use super::names::{Segment, Template, number_before};
use super::pattern::{Found, number_ends};
use super::plan::{PatchPlan, PlannedBlock, PlannedValue, finish, params_path, read_params};
use super::sources::{Source, Sources};
use gputexel_io::params::{Number, ParamEntry, ParamKind, ParamsFile, python};
use gputexel_io::{Error, Result, shown};

pub(super) fn plan_tune(tune: &Path, folder: &Path, options: &Options) -> Result<PatchPlan> {
    let params_path = params_path(tune)?;
    let tune = read(tune, true)?;
    let mut sources = Sources::open(folder, options)?;
    let (mut params, bytes) = read_params(&params_path)?;
    let known = params.entries().count();
    params.forget_style();
    let blocks = parse_blocks(&tune, &mut sources)?;
    params.entries_mut().for_each(|entry| entry.not_used = true);
    tune.declared.iter().for_each(|declared| declare(declared, &mut params));
    for block in &blocks {
        block.add_parameters(&sources.files[block.file], &mut params, &tune)?;
    }
    let mut plan = PatchPlan::default();
    for block in &blocks {
        plan.blocks.push(block.tune(&mut sources.files[block.file], &params, &tune)?);
    }
    finish(&mut plan, sources, (params_path, bytes), (params, known))?;
    Ok(plan)
}

pub(super) fn plan_apply(
    params_path: &Path,
    tune: &Path,
    folder: &Path,
    options: &Options,
) -> Result<PatchPlan> {
    let tune = read(tune, false)?;
    let mut sources = Sources::open(folder, options)?;
    let (params, _) = read_params(params_path)?;
    let blocks = parse_blocks(&tune, &mut sources)?;
    let mut plan = PatchPlan::default();
    for block in &blocks {
        let source = &mut sources.files[block.file];
        plan.blocks.push(block.apply(source, &params, &tune, params_path)?);
    }
    plan.take_sources(sources)?;
    Ok(plan)
}

/// Reads a `.tune` file: header lines without a word end a block, and the lines below them go to the next
/// one.
fn read(path: &Path, declared: bool) -> Result<TuneFile> {
    let text = with_newlines(&super::read_text(path)?);
    let mut file = TuneFile { path: path.to_path_buf(), blocks: Vec::new(), declared: Vec::new() };
    let mut settings = Settings::default();
    let mut open: Option<Block> = None;
    let mut waiting: Vec<Add> = Vec::new();
    for Section { line, kind, words, body } in sections(&text) {
        if kind.starts_with("set") {
            file.close(&mut open, &settings);
            let [key, value, ..] = &words[..] else {
                return Err(Error::line(path, line, "#set needs a key and a value"));
            };
            let setting = Some(Setting { value: value.clone(), line });
            match key.as_str() {
                "file" => settings.file = setting,
                "declaration" => settings.declaration = setting,
                "options" => settings.options = setting,
                _ => {}
            }
        } else if kind.starts_with("context") {
            file.close(&mut open, &settings);
            let (name, adds) = (words.first().cloned().unwrap_or_default(), std::mem::take(&mut waiting));
            open = Some(Block { line, name, settings: Settings::default(), context: body, adds });
        } else if kind.starts_with("add") {
            let add = Add { line, marker: words.first().cloned(), body };
            open.as_mut().map_or(&mut waiting, |block| &mut block.adds).push(add);
        } else if kind == "param" && declared {
            file.declared.push(param(&words, None, line, path)?);
        }
    }
    file.close(&mut open, &settings);
    Ok(file)
}

#[derive(Default)]
struct Section {
    line: u64,
    kind: String,
    words: Vec<String>,
    body: Body,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut current = Section::default();
    for (line, content) in (1u64..).zip(text.split_inclusive('\n')) {
        let Some(header) = content.strip_prefix('#') else {
            current.body.text.push_str(content);
            continue;
        };
        if !current.kind.is_empty() {
            sections.push(std::mem::take(&mut current));
        }
        let header = header.split_once("//").map_or(header, |(before, _)| before);
        let mut words = words(header);
        if header.is_empty() || header.starts_with(is_space) {
            words.insert(0, String::new());
        }
        if words.is_empty() {
            continue;
        }
        current.kind = words.remove(0);
        current.line = line;
        if !words.is_empty() {
            current.words = words;
        }
    }
    if !current.kind.is_empty() {
        sections.push(current);
    }
    sections
}

/// Parses a body: a minus before a number always belongs to it, and names after marks have no underscores.
fn template(body: &str, prefix: &str) -> Template {
    let mut segments = Vec::new();
    let (mut unnamed, mut rest) = (0, 0);
    while let Some(at) = body[rest..].find('@').map(|at| rest + at) {
        let suffix = &body[at + 1..];
        let length = suffix.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(suffix.len());
        let name = match &suffix[..length] {
            "" => {
                unnamed += 1;
                format!("{prefix}_{unnamed}")
            }
            suffix => format!("{prefix}_{suffix}"),
        };
        let start = number_before(body, rest, at);
        segments.push(Segment::Text(body[rest..start.unwrap_or(at)].to_string()));
        segments.push(match start {
            Some(start) => Segment::Number { text: body[start..at].to_string(), name },
            None => Segment::Name(name),
        });
        rest = at + 1 + length;
    }
    segments.push(Segment::Text(body[rest..].to_string()));
    Template { segments }
}

/// What the script makes a regular expression of, with `\s*` between all items.
enum Item {
    Char(char),
    Number,
}

/// Items of a context; a mark without a number is taken literally.
fn items(context: &Template) -> Vec<Item> {
    let chars = |text: &str| text.chars().filter(|c| !is_space(*c)).map(Item::Char).collect::<Vec<_>>();
    let items = |segment: &Segment| match segment {
        Segment::Text(text) => chars(text),
        Segment::Number { .. } => vec![Item::Number],
        Segment::Name(_) => chars("@"),
    };
    context.segments.iter().flat_map(items).collect()
}

fn find_all(items: &[Item], text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (start, _) in text.char_indices() {
        if items.is_empty() || found.last().is_some_and(|last| start < last.range.end) {
            continue;
        }
        let mut search = Search { items, text, marks: Vec::new(), failed: HashSet::new() };
        if let Some(end) = search.advance(0, start) {
            found.push(Found { range: start..end, marks: search.marks });
        }
    }
    found
}

struct Search<'a> {
    items: &'a [Item],
    text: &'a str,
    marks: Vec<Range<usize>>,
    /// Numbers and positions from which nothing was found; keeps the cost linear.
    failed: HashSet<(usize, usize)>,
}

impl Search<'_> {
    fn advance(&mut self, mut index: usize, mut at: usize) -> Option<usize> {
        while let Some(item) = self.items.get(index) {
            if index > 0 {
                at = self.text.len() - self.text[at..].trim_start_matches(is_space).len();
            }
            match item {
                Item::Char(c) => at = self.text.len() - self.text[at..].strip_prefix(*c)?.len(),
                Item::Number => return self.number(index, at),
            }
            index += 1;
        }
        Some(at)
    }

    fn number(&mut self, index: usize, at: usize) -> Option<usize> {
        if !self.failed.insert((index, at)) {
            return None;
        }
        let kept = self.marks.len();
        for length in number_ends(&self.text[at..]) {
            self.marks.push(at..at + length);
            if let Some(end) = self.advance(index + 1, at + length) {
                return Some(end);
            }
            self.marks.truncate(kept);
        }
        None
    }
}

struct Parsed<'a> {
    block: &'a Block,
    file: usize,
    context: Template,
    items: Vec<Item>,
    adds: Vec<Template>,
}

/// Reads the sources, which must be UTF-8 and get `\n` for every line end, and parses the bodies.
fn parse_blocks<'a>(tune: &'a TuneFile, sources: &mut Sources) -> Result<Vec<Parsed<'a>>> {
    let mut blocks = Vec::new();
    for block in &tune.blocks {
        let missing = || block.error(&tune.path, block.line, "no #set file says which source it is in");
        let file = sources.file(block.settings.file.as_ref().ok_or_else(missing)?, &tune.path)?;
        let source = &mut sources.files[file];
        source.before = with_newlines(super::utf8(&source.bytes, &source.shown)?);
        source.text.clone_from(&source.before);
        let context = template(&block.context.text, &block.name);
        let items = items(&context);
        let adds = block.adds.iter().map(|add| template(&add.body.text, &block.name)).collect();
        blocks.push(Parsed { block, file, context, items, adds });
    }
    Ok(blocks)
}

/// Adds a `#param`, or sets everything but its value, which is clamped to the range.
fn declare(declared: &Declared, params: &mut ParamsFile) {
    let [v, min, max, step, delta] = declared.numbers.clone();
    let v = match params.get_mut(&declared.name) {
        Some(entry) => Number::new(max.value.min(min.value.max(entry.v.value))),
        None => v,
    };
    let (name, kind) = (declared.name.clone(), declared.kind);
    let new =
        ParamEntry { name, kind, v, min, max, step, delta, more: Vec::new(), comment: None, not_used: false };
    match params.get_mut(&declared.name) {
        Some(entry) => *entry = new,
        None => params.push(new),
    }
}

impl Parsed<'_> {
    fn is_plain(&self) -> bool {
        self.block.name.is_empty()
    }

    fn error(&self, tune: &TuneFile, line: u64, reason: impl std::fmt::Display) -> Error {
        self.block.error(&tune.path, line, reason)
    }

    fn only(&self, text: &str, source: &Source, tune: &TuneFile) -> Result<Found> {
        let mut found = find_all(&self.items, text);
        let name = source.shown.display();
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(self.error(tune, self.block.line, format!("no match in {name}"))),
            count => {
                let reason = format!("matches {name} in {count} places");
                Err(self.error(tune, self.block.line, reason))
            }
        }
    }

    /// Adds the parameters for the numbers of a named context in the untouched source, unless they exist.
    fn add_parameters(&self, source: &Source, params: &mut ParamsFile, tune: &TuneFile) -> Result<()> {
        if self.is_plain() {
            return Ok(());
        }
        let found = self.only(&source.before, source, tune)?;
        if found.marks.len() != self.context.names().count() {
            return Err(self.error(tune, self.block.line, "an @ has no number before it"));
        }
        for (name, mark) in self.context.names().zip(found.marks) {
            let value = number_value(&source.before[mark]);
            if !(2.0 * value).is_finite() {
                return Err(self.error(
                    tune,
                    self.block.line,
                    format!("{} is too large a number", shown(name)),
                ));
            }
            match params.get_mut(name) {
                Some(entry) => entry.not_used = false,
                None => {
                    let kind = if value.fract() == 0.0 { ParamKind::Int } else { ParamKind::Float };
                    params.push(ParamEntry::from_source(name, kind, value));
                }
            }
        }
        Ok(())
    }

    fn tune(&self, source: &mut Source, params: &ParamsFile, tune: &TuneFile) -> Result<PlannedBlock> {
        let found = find_all(&self.items, &source.before);
        let mut planned = self.planned(source, &found, if self.is_plain() { "patched" } else { "tuned" });
        for (add, template) in self.block.adds.iter().zip(&self.adds) {
            let body = template.filled(str::to_string);
            match &add.marker {
                Some(marker) => {
                    let marker = Setting { value: marker.clone(), line: add.line };
                    self.insert(source, ("#add", &marker), &body, tune)?;
                }
                None => self.replace(source, &body, tune)?,
            }
        }
        if self.block.replacement().is_none() {
            self.replace(source, &self.context.filled(str::to_string), tune)?;
        }
        let entries: Vec<&ParamEntry> = self.context.names().filter_map(|name| params.get(name)).collect();
        let Settings { declaration: declares, options, .. } = &self.block.settings;
        if let Some(marker) = declares {
            let lines: String = entries.iter().map(|entry| declaration(entry)).collect();
            self.insert(source, ("#set declaration", marker), &lines, tune)?;
        }
        if let Some(marker) = options {
            let line = |ParamEntry { name, min, max, .. }: &ParamEntry| {
                format!("TUNE(SetRange({min}, {max}), {name}, SetDefaultRange);\n")
            };
            let lines: String = entries.iter().map(|entry| line(entry)).collect();
            self.insert(source, ("#set options", marker), &lines, tune)?;
        }
        let texts = found.first().map(|found| &found.marks[..]).unwrap_or_default();
        planned.values = entries
            .iter()
            .enumerate()
            .map(|(i, entry)| PlannedValue {
                name: entry.name.clone(),
                before: texts.get(i).map(|mark| source.before[mark.clone()].to_string()).unwrap_or_default(),
                value: value_text(entry, entry.v.value.trunc()),
            })
            .collect();
        Ok(planned)
    }

    fn apply(
        &self,
        source: &mut Source,
        params: &ParamsFile,
        tune: &TuneFile,
        params_path: &Path,
    ) -> Result<PlannedBlock> {
        let found = find_all(&self.items, &source.before);
        let mut planned = self.planned(source, &found, if self.is_plain() { "patched" } else { "applied" });
        if self.is_plain() {
            let body = match (self.block.adds.first(), self.adds.first()) {
                (Some(Add { marker: Some(_), line, .. }), _) => {
                    return Err(self.error(tune, *line, "its first #add must be the one without a marker"));
                }
                (Some(add), _) => add.body.text.clone(),
                (None, _) => self.context.filled(str::to_string),
            };
            self.replace(source, &body, tune)?;
            return Ok(planned);
        }
        for name in self.context.names() {
            let Some(entry) = params.get(name) else {
                let reason = format!("{} is not in {}", shown(name), params_path.display());
                return Err(Error::line(&tune.path, self.block.line, reason));
            };
            let value = value_text(entry, (entry.v.value + 0.5).trunc());
            planned.values.push(PlannedValue { name: name.to_string(), before: String::new(), value });
        }
        let value = |name: &str| {
            let planned = planned.values.iter().find(|planned| planned.name == name);
            planned.map(|planned| planned.value.clone()).unwrap_or_default()
        };
        self.replace(source, &self.context.filled(value), tune)?;
        Ok(planned)
    }

    fn planned(&self, source: &Source, found: &[Found], action: &'static str) -> PlannedBlock {
        PlannedBlock {
            name: self.block.name.clone(),
            line: self.block.line,
            file: source.shown.clone(),
            source_line: found.first().map(|found| source.line(found.range.start)),
            action,
            values: Vec::new(),
        }
    }

    fn replace(&self, source: &mut Source, body: &str, tune: &TuneFile) -> Result<()> {
        let found = self.only(&source.text, source, tune)?;
        source.text.replace_range(found.range, body);
        Ok(())
    }

    fn insert(
        &self,
        source: &mut Source,
        (what, marker): (&str, &Setting),
        text: &str,
        tune: &TuneFile,
    ) -> Result<()> {
        let Some(line) = source.lines_with(&marker.value).first().copied() else {
            let reason =
                format!("{what}: marker {} is not in {}", shown(&marker.value), source.shown.display());
            return Err(Error::line(&tune.path, marker.line, reason));
        };
        let at = next_line(&source.text, line);
        source.text.insert_str(at, text);
        Ok(())
    }
}

fn value_text(entry: &ParamEntry, integer: f64) -> String {
    match entry.kind {
        ParamKind::Int => whole_text(integer),
        ParamKind::Float => python(entry.v.value),
    }
}

fn declaration(entry: &ParamEntry) -> String {
    let comment = entry.comment.as_deref().filter(|comment| !comment.is_empty());
    let comment = comment.map(|comment| format!("//{comment}")).unwrap_or_default();
    let value = value_text(entry, entry.v.value.trunc());
    format!("{} {} = {value}; {comment}\n", entry.kind, entry.name)
}

#[cfg(test)]
mod tests;
