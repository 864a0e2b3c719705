//! Likely mistakes: numbers in comments, constants that must stay constant, parameters that are not declared or
//! declared too late.

use std::cell::OnceCell;
use std::ops::Range;

use super::blocks::{Block, TuneFile};
use super::characters::{line_of, number_value};
use super::constants::{Bound, Code};
use super::encoding::Encoding;
use super::languages::Language;
use super::lexer::Kind;
use super::pattern::Found;
use super::sources::{Source, Sources};
use super::state::{Placed, State};
use gputexel_io::shown;

/// Reports contexts with undeclared parameters: no marker is set, and they have no `#add MARKER` that might
/// declare them.
pub(super) fn undeclared(tune: &TuneFile) -> Option<String> {
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

/// Reports sources that are not UTF-8, and their assumed encodings.
pub(super) fn encodings(placed: &[Placed<'_>], sources: &Sources, tune: &TuneFile) -> Vec<String> {
    let others = sources.files.iter().enumerate().filter(|(_, source)| source.encoding != Encoding::Utf8);
    let said = others.filter_map(|(i, Source { shown, encoding, .. })| {
        let setting = placed.iter().find(|p| p.file == i)?.block.settings.file.as_ref()?;
        let (path, line, shown) = (tune.path.display(), setting.line, shown.display());
        Some(format!("{path}:{line}: {shown}: is not UTF-8, and is read as {encoding}"))
    });
    said.collect()
}

pub(super) fn of_block(
    p: &Placed<'_>,
    state: &State,
    source: &Source,
    tune: &TuneFile,
    code: &OnceCell<Code>,
) -> Vec<String> {
    let State::Ready(found) = state else { return Vec::new() };
    let text = &source.before;
    let language = Language::of(&source.path);
    let code = || code.get_or_init(|| Code::of(text, language));
    let declared = p.block.settings.declaration.is_some();
    let mut said: Vec<String> = Vec::new();
    for mark in &found.marks {
        let number = &text[mark.clone()];
        let unsigned = mark.start + usize::from(number.starts_with('-'));
        let reason = match code().around(&(unsigned..mark.end)).map(|token| token.kind) {
            Some(Kind::Comment) => Some("is in a comment".to_string()),
            Some(Kind::Text) => Some("is in a string".to_string()),
            _ if p.replacement().is_some() => None,
            _ => match code().bound(unsigned) {
                Some(bound @ Bound::Constant(_)) => Some(bound.to_string()),
                _ => None,
            },
        };
        if let Some(reason) = reason {
            said.push(format!("{} in line {} {reason}", shown(number), source.line(mark.start)));
        }
        let whole = !number.contains('.') && declared;
        if whole && !(-2_147_483_648.0..=2_147_483_647.0).contains(&number_value(number)) {
            said.push(format!("{} does not fit the int that it is declared as", shown(number)));
        }
    }
    if language.is_c {
        said.extend(fractions(p, found, source));
    }
    if let Some(marker) = &p.block.settings.declaration
        && let [line] = source.lines_with(&marker.value)[..]
        && line > found.range.start
    {
        said.push(format!(
            "marker {} is below, in line {}: parameters would be declared after their use",
            shown(&marker.value),
            line_of(text, line)
        ));
    }
    let (path, line, title) = (tune.path.display(), p.block.line, p.block.title());
    said.into_iter().map(|what| format!("{path}:{line}: {title}: {what}")).collect()
}

/// Reports fractions, whose literals are doubles in C, and which change once they are parameters.
fn fractions(p: &Placed<'_>, found: &Found, source: &Source) -> Vec<String> {
    let marks = p.context.names().zip(&found.marks);
    let fractions: Vec<(&str, &Range<usize>)> =
        marks.filter(|(_, mark)| source.before[(*mark).clone()].contains('.')).collect();
    let Some((name, mark)) = fractions.first() else { return Vec::new() };
    let (more, are) = match fractions.len() - 1 {
        0 => (String::new(), "is"),
        more => (format!(" (and {more} more)"), "are"),
    };
    let name = format!("{}{more}", shown(name));
    let mut said = Vec::new();
    if p.block.settings.declaration.is_some() {
        let (number, line) = (shown(&source.before[(*mark).clone()]), source.line(mark.start));
        said.push(format!(
            "{name} {are} declared as a float, and {number} in line {line} is a double: results differ from about the eighth digit on"
        ));
    }
    if p.block.settings.options.is_some() {
        said.push(format!(
            "{name} {are} offered as a fraction, and the TUNE of Stockfish only accepts integers"
        ));
    }
    said
}
