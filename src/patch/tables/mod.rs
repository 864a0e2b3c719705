//! Tuned values into marked arrays of sources.
//!
//! A comment `gputexel: WHAT [options]` stands above an array of C, C++, C#, Rust, Go or Python, or on its
//! line.
//! [`plan()`] finds the markers of files, puts the values of a [`TableValues`] into their arrays, and
//! returns the new texts, which [`patch::write`](super::write()) writes. Only numbers change: how they are
//! written, and how they are lined up, is taken from the array as it stands.

mod array;
mod element;
mod layout;
pub(super) mod lexer;
mod marker;
mod number;
mod read;
mod values;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::plan::{Change, Plan};
use crate::error::{Error, Result};
use array::Array;
use element::ElementType;
use layout::Replacement;
pub(crate) use lexer::Language as SourceLanguage;
use lexer::{Kind, Language, Token};
use marker::{Marker, Marking};
pub(crate) use marker::{escape_unseen, quote};
pub(crate) use read::{Precision, ReadTables, read};
use values::Content;
pub(crate) use values::marker_name;
pub use values::{TableName, TableValues};

/// What becomes of a marker's array.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Filled {
    /// The file, as the user calls it.
    pub file: PathBuf,
    /// The marker's line, from 1.
    pub line: u64,
    /// The marker's name.
    pub marker: String,
    /// What it names.
    pub what: String,
    /// How many numbers its array has.
    pub numbers: usize,
    /// How many of them change.
    pub changed: usize,
}

/// All that would be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablesPlan {
    /// The files that differ, to be [written](super::write()).
    pub plan: Plan,
    /// The arrays, in order.
    pub filled: Vec<Filled>,
    /// The innermost folder that holds all sources, links resolved.
    pub folder: PathBuf,
}

/// Puts values into the arrays of the markers in `files`: those called `markers`, or all if that is
/// empty.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] with the line for markers and arrays that do not fit, for files
/// without a marker, and for names that no marker has.
pub fn plan(values: &TableValues, files: &[PathBuf], markers: &[String]) -> Result<TablesPlan> {
    let mut plan = TablesPlan::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut served: Vec<bool> = vec![false; markers.len()];
    for shown in files {
        let path = shown.canonicalize().map_err(|e| Error::io(shown, e))?;
        if path.is_dir() {
            return Err(Error::input(shown, "is a folder; expected a source"));
        }
        if seen.contains(&path) {
            continue;
        }
        let before = super::sources::read_as(&path, shown)?;
        let source = utf8(&before, shown)?;
        let after = file(values, source, shown, markers, &mut served, &mut plan.filled)?.into_bytes();
        seen.push(path.clone());
        if after != before {
            let metadata = std::fs::metadata(&path).map_err(|e| Error::io(shown, e))?;
            if metadata.permissions().readonly() {
                return Err(Error::input(shown, "is read-only"));
            }
            let (shown, before) = (shown.clone(), Some(before));
            plan.plan.changes.push(Change { path, shown, before, after, params: false });
        }
    }
    if let Some(at) = served.iter().position(|served| !served) {
        let where_to = match files {
            [one] => one.display().to_string(),
            _ => "the sources".to_string(),
        };
        return Err(Error::Usage(format!("{where_to}: no marker 'gputexel: {}'", markers[at])));
    }
    plan.folder = common_folder(&seen);
    Ok(plan)
}

/// The innermost folder that holds all files.
fn common_folder(files: &[PathBuf]) -> PathBuf {
    let mut folders = files.iter().filter_map(|file| file.parent());
    let Some(first) = folders.next() else { return PathBuf::new() };
    let mut common = first;
    for folder in folders {
        while !folder.starts_with(common) {
            // The root holds everything; other drives than the first file's are left to fail later.
            let Some(outer) = common.parent() else { break };
            common = outer;
        }
    }
    common.to_path_buf()
}

/// The new text of one source.
fn file(
    values: &TableValues,
    source: &str,
    shown: &Path,
    wanted: &[String],
    served: &mut [bool],
    filled: &mut Vec<Filled>,
) -> Result<String> {
    let language = Language::of(shown);
    let tokens = lexer::lex(source, language);
    let found = marker::find(source, &tokens);
    let line_of = |at: usize| 1 + memchr::memchr_iter(b'\n', &source.as_bytes()[..at]).count() as u64;
    let wrong = |at: usize, why: String| Error::line(shown, line_of(at), why);
    if found.is_empty() && wanted.is_empty() {
        return Err(Error::input(shown, "has no marker; write '// gputexel: NAME' above an array"));
    }
    let code: Vec<Token> = tokens.iter().filter(|token| token.kind != Kind::Comment).copied().collect();
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut arrays: Vec<(usize, usize, usize)> = Vec::new();
    let mut edits = Vec::new();
    for Marker { start, end, at, marking } in &found {
        let marking = match marking {
            Ok(marking) => marking,
            // What others say is checked only if all are served.
            Err(_) if !wanted.is_empty() => continue,
            Err(why) => return Err(wrong(*at, why.clone())),
        };
        if !wanted.is_empty() {
            let same = |name: &String| name.eq_ignore_ascii_case(&marking.name);
            let asked: Vec<usize> = (0..wanted.len()).filter(|&i| same(&wanted[i])).collect();
            if asked.is_empty() {
                continue;
            }
            asked.into_iter().for_each(|i| served[i] = true);
        }
        if let Some(other) = names.insert(&marking.name, *at) {
            let why = format!(
                "marker '{}' is in line {}, too; tell them apart with 'name SOMETHING'",
                marking.name,
                line_of(other)
            );
            return Err(wrong(*at, why));
        }
        let array =
            array::find(source, &code, (*start, *end), language).map_err(|(at, why)| wrong(at, why))?;
        if let Some((.., other)) = arrays.iter().find(|(from, to, _)| array.start < *to && *from < array.end)
        {
            let why = format!("stands for the same numbers as the marker in line {}", line_of(*other));
            return Err(wrong(*at, why));
        }
        arrays.push((array.start, array.end, *at));
        let element = ElementType::before(source, &code, array.start, language);
        let numbers = fill(values, source, marking, &array, element)
            .map_err(|(place, why)| wrong(if place == 0 { *at } else { place }, why))?;
        let changed = numbers.iter().filter(|number| source[number.start..number.end] != number.new).count();
        filled.push(Filled {
            file: shown.to_path_buf(),
            line: line_of(*at),
            marker: marking.name.clone(),
            what: marking.what.clone(),
            numbers: numbers.len(),
            changed,
        });
        let span = (array.start, array.end);
        edits.extend(layout::edits(source, &tokens, span, &numbers, language != Language::Rust));
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (range, new) in edits {
        text.push_str(&source[at..range.start]);
        text.push_str(&new);
        at = range.end;
    }
    text.push_str(&source[at..]);
    Ok(text)
}

/// The numbers of a marker's array, old and new; an error at byte 0 is about the marker.
fn fill(
    values: &TableValues,
    source: &str,
    marking: &Marking,
    array: &Array,
    element: Option<ElementType>,
) -> std::result::Result<Vec<Replacement>, array::Wrong> {
    let about = |why: String| (0, why);
    let Some(named) = values.resolve(&marking.what) else {
        return Err(about(format!("'{}' is no name of the parameter file; see --list", marking.what)));
    };
    let mut content = Content::new(values, &named, marking);
    content.check(&named).map_err(about)?;
    let count = array.entries.len();
    if content.king_optional && count == 5 * content.phases.len() {
        content.pieces.truncate(5);
    }
    if count != content.count() {
        let shape: String = content.shape().iter().map(|length| format!("[{length}]")).collect();
        let shape = if shape.is_empty() { String::new() } else { format!(", {shape}") };
        let plural = if count == 1 { "" } else { "s" };
        return Err((
            array.start,
            format!(
                "the array has {count} number{plural}, '{}' has {}{shape}",
                marking.what,
                content.count()
            ),
        ));
    }
    let order = Order::of(array.shape.as_deref(), &content).map_err(|why| (array.start, why))?;
    let plus = array.entries.iter().any(|entry| entry.number.as_ref().is_ok_and(|number| number.plus));
    let mut numbers = Vec::with_capacity(count);
    for (index, entry) in array.entries.iter().enumerate() {
        let (piece, square, phase) = order.place(index);
        if content.pieces[piece].is_none() {
            continue;
        }
        let number = entry.number.as_ref().map_err(|why| (entry.start, why.clone()))?;
        let Some(value) = content.number(piece, square, phase, |value| number.round(value)) else { continue };
        let old = &source[entry.start..entry.end];
        let new = if value == number.value {
            old.to_string()
        } else {
            let fits = |new: String| element.map_or(Ok(()), |element| element.check(value)).map(|()| new);
            number
                .write(value, plus)
                .and_then(fits)
                .map_err(|why| (entry.start, format!("{}: {why}", content.name(piece, square, phase))))?
        };
        numbers.push(Replacement { start: entry.start, end: entry.end, new });
    }
    Ok(numbers)
}

/// In which order an array has pieces, squares and phases: always pieces before squares; the phase may be
/// anywhere.
struct Order {
    squares: usize,
    phases: usize,
    /// Numbers of a phase that follow each other.
    run: usize,
}

impl Order {
    fn of(shape: Option<&[usize]>, content: &Content<'_>) -> std::result::Result<Self, String> {
        let Some(shape) = shape else {
            return Err("the rows of the array have different lengths".to_string());
        };
        let phases = content.phases.len();
        let mut rest = shape.to_vec();
        let mut run = 1;
        if phases == 2 {
            // Pairs are innermost, or there is one other place that they may be in.
            let mut twos = (0..shape.len()).filter(|&axis| shape[axis] == 2);
            let axis = match (shape.last(), twos.next(), twos.next()) {
                (Some(2), ..) => shape.len() - 1,
                (_, Some(axis), None) => axis,
                _ => {
                    let why = "the array has no pairs of a middlegame and an endgame value; there are '.mg' and '.eg'";
                    return Err(why.to_string());
                }
            };
            rest.remove(axis);
            run = rest[axis..].iter().product();
        }
        let squares = content.squares();
        let mut inner = 1;
        for length in rest.iter().rev() {
            inner *= length;
            let fits = |of: usize| of == 1 || inner.is_multiple_of(of) || of.is_multiple_of(inner);
            let row = if squares == 1 { 1 } else { content.row };
            // Half a table has rows of 4, which two of make 8, but not columns of 8.
            if !fits(squares) || !fits(row) || (row == 4 && *length == 8 && inner == 8) {
                let lengths = |shape: &[usize]| shape.iter().map(|n| format!("[{n}]")).collect::<String>();
                return Err(format!(
                    "the array is {}, which does not go with {}",
                    lengths(shape),
                    lengths(&content.shape())
                ));
            }
        }
        Ok(Self { squares, phases, run })
    }

    /// Piece, square and phase of a number.
    fn place(&self, index: usize) -> (usize, usize, usize) {
        let phase = index / self.run % self.phases;
        let rest = index / (self.run * self.phases) * self.run + index % self.run;
        (rest / self.squares, rest % self.squares, phase)
    }
}

/// Bytes as text; an error names line and column.
pub(crate) fn utf8<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
        let byte = bytes[e.valid_up_to()];
        Error::line(path, line, format!("column {column}: byte 0x{byte:02X} is not UTF-8"))
    })
}

#[cfg(test)]
mod tests;
