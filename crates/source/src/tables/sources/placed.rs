//! Numbers that sources name without markers, as evaluations that trace themselves have them: `S(337, 281)`.

use std::collections::HashMap;

use super::Filled;
use super::compare::Compared;
use super::layout::{self, Replacement};
use super::values::{KnownValues, Named, Place, TableValues};
use crate::literals::Source;
use gputexel_io::{Result, counted, shown_number};

/// The names of what is filled into a source, a report, and the new text.
pub(super) type Filling = (Vec<Named>, Filled, String);

/// Puts values into the literals of a source that have their names, after checking that their numbers are those that
/// the run started from, or its result; with `trust`, whatever their numbers are. `None` if there are none.
pub(super) fn fill(
    values: &TableValues,
    known: &KnownValues,
    source: &Source,
    trust: bool,
) -> Result<Option<Filling>> {
    let stem = source.loaded.shown.file_stem().unwrap_or_default().to_string_lossy();
    let ids: HashMap<&str, usize> =
        values.features.iter().enumerate().map(|(id, feature)| (feature.name.as_str(), id)).collect();
    let start = known.given.as_ref().or(known.start.as_ref());
    let compared = match (&known.given, &known.start) {
        _ if trust => Compared::Trusted,
        (Some(_), _) => Compared::Given,
        (None, Some(_)) => Compared::Start,
        (None, None) => Compared::Result,
    };
    let (mut names, mut replacements, mut line, mut changed) = (Vec::new(), Vec::new(), 0, 0);
    for literal in &source.literals {
        // Where several sources have the name, it begins with that of the source.
        let id =
            ids.get(format!("{stem}.{}", literal.name).as_str()).or_else(|| ids.get(literal.name.as_str()));
        let Some(&id) = id else { continue };
        let wrong = |why: String| source.loaded.error(literal.range.start, why);
        let of = |values: &TableValues, phase: usize| values.value(&[id], phase);
        let tied = literal.numbers.len() == 1;
        // A number that counts in one phase only has any value in the other.
        let moves = |phase: &usize| start.is_none_or(|start| of(start, *phase) != of(values, *phase));
        let moved: Vec<usize> = (0..2).filter(moves).collect();
        if tied && moved.len() == 2 && of(values, 0) != of(values, 1) {
            let [mg, eg] = [0, 1].map(|phase| shown_number(of(values, phase)));
            return Err(wrong(format!("{} is one number, but tuned to {mg} and {eg}", literal.name)));
        }
        for (i, (range, number)) in literal.numbers.iter().enumerate() {
            let phase = if tied { moved.first().copied().unwrap_or(0) } else { i };
            let moves = moved.contains(&phase);
            let tuned = if moves { number.round(of(values, phase)) } else { number.value };
            let is_start = start.is_some_and(|start| number.round(of(start, phase)) == number.value);
            if !(trust || is_start || number.value == tuned) {
                let there = shown_number(number.value);
                let expected = shown_number(of(start.unwrap_or(values), phase));
                let reason = match start {
                    Some(_) => format!(
                        "{} is {there} here, but {expected} where the run started: has the source changed since?",
                        literal.name
                    ),
                    None => format!(
                        "{} is {there} here, and what the run started from is unknown: --start names it",
                        literal.name
                    ),
                };
                return Err(wrong(reason));
            }
            if moves && !tied && source.loaded.language.is_c && tuned.abs() > f64::from(i16::MAX) {
                let tuned = shown_number(tuned);
                return Err(wrong(format!(
                    "{}: {tuned} does not fit the 16 bits of a packed pair",
                    literal.name
                )));
            }
            let new = match tuned == number.value {
                true => source.loaded.text[range.clone()].to_string(),
                false => number
                    .write(tuned, number.plus)
                    .map_err(|why| wrong(format!("{}: {why}", literal.name)))?,
            };
            changed += usize::from(tuned != number.value);
            replacements.push(Replacement { start: range.start, end: range.end, new });
        }
        line = if names.is_empty() { literal.line } else { line };
        names.push(Named {
            place: Place::Feature(id),
            phases: if tied { vec![0] } else { vec![0, 1] },
            tied,
        });
    }
    if names.is_empty() {
        return Ok(None);
    }
    let mut text = source.loaded.text.clone();
    let padded = replacements.iter().any(|number| text[..number.start].ends_with("( "));
    let edits = layout::edits(&text, &replacements, padded);
    layout::apply(&mut text, edits);
    let filled = Filled {
        file: source.loaded.shown.clone(),
        line,
        marker: counted(names.len() as u64, "named place"),
        numbers: replacements.len(),
        changed,
        order: None,
        compared,
        note: None,
    };
    Ok(Some((names, filled, text)))
}
