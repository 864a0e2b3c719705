//! Writes tuned values into arrays that a comment `gputexel: WHAT [options]` marks. Only numbers change.

mod array;
mod compare;
mod content;
mod layout;
mod line;
mod listing;
mod marker;
mod order;
mod placed;
mod read;
mod values;

use std::path::{Path, PathBuf};

use crate::characters::line_of;
use crate::languages::Language;
use crate::lexer::Token;
use crate::literals::Source;
use crate::plan::PatchPlan;
use crate::sources::Loaded;
pub(crate) use crate::utf8;
use array::Array;
pub use compare::Compared;
use compare::{MarkerChecker, MarkerMatch};
use content::Content;
use gputexel_io::{Error, Result, counted, some_of};
pub(crate) use layout::{Edit, Replacement, apply, edits as edits_of};
pub use listing::{ListedMarker, MarkedKind, MarkedParameter, MarkedPhases, list, list_text};
pub(crate) use listing::{MarkedNumber, numbers};
use marker::{Marking, Offset};
pub(crate) use marker::{escape_unseen, quote};
use order::Order;
use placed::fill;
use read::{Found, find_marked, resolved};
pub(crate) use read::{ReadTables, read};
use values::Named;
pub(crate) use values::marker_name;
pub use values::{KnownValues, TableValues, start_of};

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Filled {
    pub file: PathBuf,
    pub line: u64,
    pub marker: String,
    pub numbers: usize,
    pub changed: usize,
    /// Description of the order of squares and colors, and of squares with one number for both phases, if any.
    pub order: Option<String>,
    pub compared: Compared,
    pub note: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablesPlan {
    pub plan: PatchPlan,
    pub filled: Vec<Filled>,
    pub folder: PathBuf,
    /// Tables of which not every value has a marker.
    pub unmarked: Vec<String>,
    /// Files that have none of the numbers.
    pub without: Vec<PathBuf>,
}

/// One line without its end: `psqt.cpp:12: knight.mg: 64 numbers, 40 changed; a8 first`.
impl std::fmt::Display for Filled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, marker, numbers, changed, order, .. } = self;
        let numbers = counted(*numbers as u64, "number");
        write!(f, "{}:{line}: {marker}: {numbers}, {changed} changed", file.display())?;
        if let Some(order) = order {
            write!(f, "; {order}")?;
        }
        Ok(())
    }
}

impl TablesPlan {
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for Filled { file, line, marker, compared, note, .. } in &self.filled {
            let Some(note) = note else { continue };
            let trusted = if *compared == Compared::Trusted { "filled as marked, although " } else { "" };
            notes.push(format!("{}:{line}: {marker}: {trusted}{note}", file.display()));
        }
        if !self.unmarked.is_empty() {
            let names = self.unmarked.join(", ");
            notes.push(format!("not written as a whole, because no marker or S(…) has their names: {names}"));
        }
        let unchecked = self.filled.iter().filter(|filled| filled.compared == Compared::NotCompared).count();
        if !self.without.is_empty() {
            let files: Vec<String> = self.without.iter().map(|path| path.display().to_string()).collect();
            notes.push(format!("without numbers of the run: {}", files.join(", ")));
        }
        if unchecked > 0 {
            let numbers = counted(unchecked as u64, "single number");
            notes.push(format!("not checked, because the starting values are unknown: {numbers}"));
        }
        notes
    }
}

/// Puts values into the arrays of the markers in `files`, after checking that the current numbers are some of `known`,
/// in the order of the markers; with `trust`, arrays are filled as marked even if their numbers are unknown.
pub fn plan(values: &TableValues, known: &KnownValues, files: &[PathBuf], trust: bool) -> Result<TablesPlan> {
    let sources = Loaded::all(files)?;
    let mut plan = TablesPlan { folder: Loaded::folder(&sources), ..TablesPlan::default() };
    let (mut marked, mut names) = (Vec::new(), Vec::new());
    for source in sources {
        if find_marked(&source.text, &source.shown, source.language)?.is_empty() {
            let source = Source::of(source);
            let Some((own, filled, text)) = fill(values, known, &source, trust)? else {
                plan.without.push(source.loaded.shown);
                continue;
            };
            plan.plan.changes.extend(source.loaded.change(text)?);
            plan.filled.push(filled);
            names.extend(own);
        } else {
            marked.push(source)
        }
    }
    // One of all files of an engine may have none; where there are markers, one may have been forgotten.
    if let Some(first) = plan.without.first().filter(|_| !marked.is_empty() || plan.filled.is_empty()) {
        let reason = "has no marker ('// gputexel: NAME' above an array), and no S(…) or V(…) of these names";
        return Err(Error::input(first, reason));
    }
    let sources = marked;
    let surveys: Vec<Survey<'_>> = sources
        .iter()
        .map(|source| Survey::of(values, &source.text, &source.shown))
        .collect::<Result<_>>()?;
    let jobs = surveys.iter().flat_map(|survey| &survey.jobs);
    plan.unmarked = values.unmarked(known, jobs.map(|job| &job.named).chain(&names));
    // Of numbers that are named in the source, all are found there.
    if let Some(source) = plan.filled.first().filter(|_| !plan.unmarked.is_empty()) {
        let reason = format!(
            "{} of the run stand in none of these files as numbers in S(…) or V(…): name all sources; what is an expression \
             there has to become a number, or be frozen",
            some_of(&plan.unmarked, 1)
        );
        return Err(Error::input(&source.file, reason));
    }
    let matches = compared(MarkerChecker::new(values, known, trust), &surveys)?;
    for ((survey, matches), source) in surveys.iter().zip(matches).zip(&sources) {
        let after = survey.filled(values, matches, &mut plan.filled)?;
        plan.plan.changes.extend(source.change(after)?);
    }
    Ok(plan)
}

/// Compares first those arrays to which the engine adds piece values: they reveal these values.
fn compared(mut checker: MarkerChecker<'_>, surveys: &[Survey<'_>]) -> Result<Vec<Vec<MarkerMatch>>> {
    let mut matches: Vec<Vec<Option<MarkerMatch>>> =
        surveys.iter().map(|survey| survey.jobs.iter().map(|_| None).collect()).collect();
    for adds_material in [true, false] {
        for (survey, matches) in surveys.iter().zip(&mut matches) {
            for (job, matched) in survey.jobs.iter().zip(matches) {
                if matches!(job.marking.offset, Some(Offset::Material)) == adds_material {
                    *matched = Some(checker.check(job).map_err(|why| survey.wrong(job.at, why))?);
                }
            }
        }
    }
    Ok(matches.into_iter().map(|all| all.into_iter().flatten().collect()).collect())
}

struct Job<'a> {
    at: usize,
    marking: Marking,
    named: Named,
    array: Array,
    source: &'a str,
}

struct Survey<'a> {
    shown: &'a Path,
    source: &'a str,
    jobs: Vec<Job<'a>>,
}

impl<'a> Survey<'a> {
    fn of(values: &TableValues, source: &'a str, shown: &'a Path) -> Result<Self> {
        let found = find_marked(source, shown, Language::of(shown))?;
        let mut survey = Self { shown, source, jobs: Vec::new() };
        for Found { at, marking, array } in found {
            let overlaps = |job: &&Job<'_>| array.start < job.array.end && job.array.start < array.end;
            if let Some(other) = survey.jobs.iter().find(overlaps) {
                let line = survey.line_of(other.at);
                return Err(
                    survey.wrong(at, format!("stands for the same numbers as the marker in line {line}"))
                );
            }
            let named = values.resolve(&marking.what).ok_or_else(|| {
                let near = values.near(&marking.what);
                survey.wrong(at, format!("'{}' is not a name in the parameter file{near}", marking.what))
            })?;
            if named.tied {
                check_tied(values, &named, &marking).map_err(|why| survey.wrong(at, why))?;
            }
            let named = resolved(values, named, &marking, &array);
            let job = Job { at, marking, named, array, source };
            job.check(values)
                .map_err(|(place, why)| survey.wrong(if place == 0 { at } else { place }, why))?;
            survey.jobs.push(job);
        }
        Ok(survey)
    }

    fn line_of(&self, at: usize) -> u64 {
        line_of(self.source, at)
    }

    fn wrong(&self, at: usize, why: String) -> Error {
        Error::line(self.shown, self.line_of(at), why)
    }

    fn filled(
        &self,
        values: &TableValues,
        matches: Vec<MarkerMatch>,
        filled: &mut Vec<Filled>,
    ) -> Result<String> {
        let mut edits = Vec::new();
        for (job, MarkerMatch { compared, note }) in self.jobs.iter().zip(matches) {
            let (numbers, order) = job
                .numbers(values)
                .map_err(|(place, why)| self.wrong(if place == 0 { job.at } else { place }, why))?;
            let changes = |number: &&Replacement| self.source[number.start..number.end] != number.new;
            filled.push(Filled {
                file: self.shown.to_path_buf(),
                line: self.line_of(job.at),
                marker: job.marking.what.clone(),
                numbers: numbers.len(),
                changed: numbers.iter().filter(changes).count(),
                order,
                compared,
                note,
            });
            edits.extend(layout::edits(self.source, &numbers, false));
        }
        let mut text = self.source.to_string();
        layout::apply(&mut text, edits);
        Ok(text)
    }
}

fn find_numbers(
    source: &str,
    code: &[Token],
    place: (usize, usize),
    language: Language,
    marking: &Marking,
) -> Result<Array, array::Wrong> {
    match &marking.numbers {
        Some(wanted) => line::numbers(source, code, place, language, wanted),
        None => array::find(source, code, place, language),
    }
}

fn check_tied(values: &TableValues, named: &Named, marking: &Marking) -> Result<(), String> {
    let content = Content::new(values, named, marking);
    let Some(id) = content.first_tapered() else { return Ok(()) };
    let [mg, eg] = [0, 1].map(|phase| values.theta[phase * values.features.len() + id]);
    Err(format!(
        "'{}' is one number for both phases, but '{}' is {mg} in the middlegame and {eg} in the endgame (tune with \
         --basis tied)",
        marking.what, values.features[id].name
    ))
}

/// The features of the numbers of an array; an error at byte 0 is about the marker.
fn arrange<'a>(
    values: &'a TableValues,
    named: &Named,
    marking: &'a Marking,
    array: &Array,
) -> Result<(Content<'a>, Order), array::Wrong> {
    let mut content = Content::new(values, named, marking);
    content.check(named).map_err(|why| (0, why))?;
    let count = array.entries.len();
    if let Some(rows) = &marking.rows {
        content.pad_rows(rows, array).map_err(|why| miscounted(array, why))?;
    }
    if content.king_optional && count == 5 * content.phases.len() {
        content.pieces.truncate(5);
    }
    if count != content.count() {
        let shape: String = content.shape().iter().map(|length| format!("[{length}]")).collect();
        let shape = if shape.is_empty() { String::new() } else { format!(", {shape}") };
        let (what, own) = (&marking.what, content.count());
        // For example, a parameter that only has an endgame value.
        let one_phase = match content.phases.len() == 2 && 2 * count == own {
            true => "; '.mg' or '.eg' behind the name takes one of its values",
            false => "",
        };
        let count = counted(count as u64, "number");
        return Err(miscounted(
            array,
            format!("the array has {count}, '{what}' has {own}{shape}{one_phase}"),
        ));
    }
    let order = Order::of(array, &content).map_err(|why| (array.start, why))?;
    Ok((content, order))
}

/// Entries that are no numbers may stand for several: `-S(1, 2)`; names come last, as they may be left alone.
fn miscounted(array: &Array, why: String) -> array::Wrong {
    let wrong = |entry: &array::Entry| Some((entry.start, entry.number.as_ref().err()?.clone()));
    let others = || array.entries.iter().filter_map(wrong);
    let (start, other) =
        match others().find(|(_, other)| other.contains(['(', '[', '{'])).or_else(|| others().next()) {
            Some((start, other)) => (start, format!("{other}; ")),
            None => (array.start, String::new()),
        };
    (start, format!("{other}{why}"))
}

impl Job<'_> {
    fn check(&self, values: &TableValues) -> Result<(), array::Wrong> {
        let (content, order) = arrange(values, &self.named, &self.marking, &self.array)?;
        for (index, entry) in self.array.entries.iter().enumerate() {
            let (piece, square, _) = order.place(index);
            if let (Some(_), Err(why)) = (content.features(piece, square), &entry.number) {
                return Err((entry.start, why.clone()));
            }
        }
        Ok(())
    }

    fn found(&self, values: &TableValues) -> Vec<f64> {
        let Ok((content, order)) = arrange(values, &self.named, &self.marking, &self.array) else {
            return Vec::new();
        };
        let entries = self.array.entries.iter().enumerate();
        let replaced = entries.filter(|(index, _)| {
            let (piece, square, _) = order.place(*index);
            content.features(piece, square).is_some()
        });
        replaced.filter_map(|(_, entry)| entry.number.as_ref().ok().map(|number| number.value)).collect()
    }

    /// The numbers, old and new, and a description of their order; an error at byte 0 is about the marker.
    #[allow(clippy::type_complexity)]
    fn numbers(&self, values: &TableValues) -> Result<(Vec<Replacement>, Option<String>), array::Wrong> {
        let (content, order) = arrange(values, &self.named, &self.marking, &self.array)?;
        let entries = &self.array.entries;
        let plus = entries.iter().any(|entry| entry.number.as_ref().is_ok_and(|number| number.plus));
        let mut numbers = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let (piece, square, phase) = order.place(index);
            if content.features(piece, square).is_none() {
                continue;
            }
            let number = entry.number.as_ref().map_err(|why| (entry.start, why.clone()))?;
            let Some(value) = content.number(piece, square, phase, |value| number.round(value)) else {
                continue;
            };
            let new = if value == number.value {
                self.source[entry.start..entry.end].to_string()
            } else {
                number
                    .write(value, plus)
                    .map_err(|why| (entry.start, format!("{}: {why}", content.name(piece, square, phase))))?
            };
            numbers.push(Replacement { start: entry.start, end: entry.end, new });
        }
        Ok((numbers, content.description(order.describe_colors(), self.named.tied)))
    }
}

pub(crate) const EXPORT_SIGN: &str = "gputexel-export:";

/// Markers of exports mean a1 first unless they say otherwise.
fn is_export(source: &str) -> bool {
    source.lines().any(|line| line.trim_start_matches(['/', '#', ' ', '\u{feff}']).starts_with(EXPORT_SIGN))
}

#[cfg(test)]
mod tests;
