//! Likely mistakes: numbers in comments, constants that must stay constant, parameters that are not declared.

use super::blocks::{Block, TuneFile};
use super::characters::number_value;
use super::constants::{Bound, Code};
use super::lexer::Kind;
use super::sources::Source;
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

pub(super) fn of_block(
    p: &Placed<'_>,
    state: &State,
    source: &Source,
    tune: &TuneFile,
    code: &Code,
) -> Vec<String> {
    let State::Ready(found) = state else { return Vec::new() };
    let text = &source.before;
    let declared = p.block.settings.declaration.is_some();
    let mut said: Vec<String> = Vec::new();
    for mark in &found.marks {
        let number = &text[mark.clone()];
        let unsigned = mark.start + usize::from(number.starts_with('-'));
        let reason = match code.around(&(unsigned..mark.end)).map(|token| token.kind) {
            Some(Kind::Comment) => Some("is in a comment".to_string()),
            Some(Kind::Text) => Some("is in a string".to_string()),
            _ if p.replacement().is_some() => None,
            _ => match code.bound(unsigned) {
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
    let (path, line, title) = (tune.path.display(), p.block.line, p.block.title());
    said.into_iter().map(|what| format!("{path}:{line}: {title}: {what}")).collect()
}
