//! Places of imported parameters: the lines and boards that they form.

use std::collections::{HashMap, HashSet};

use crate::feature::{Arrangement, Feature};
use crate::imported::{ImportedParameter, Place, check_name};
use gputexel_io::{Error, Result};

/// Checks that every line lies in one group and has several parameters, and that no square is taken twice.
pub(crate) fn check(features: &[Feature], parameters: &[ImportedParameter]) -> Result<()> {
    struct Line<'a> {
        first: &'a Feature,
        alone: bool,
    }
    let mut lines: HashMap<&str, Line<'_>> = HashMap::new();
    let mut squares = HashSet::new();
    for (feature, parameter) in features.iter().zip(parameters) {
        let Feature { name, group } = feature;
        let usage = |reason: String| Err(Error::Usage(format!("parameter '{name}': {reason}")));
        let Some(place) = &parameter.place else { continue };
        let (Place::Line(whose) | Place::Square(whose, _)) = place;
        if let Err(reason) = check_name(whose) {
            return usage(format!("of its line or board, {reason}"));
        }
        match place {
            Place::Line(line) => {
                let known = lines.entry(line).or_insert(Line { first: feature, alone: true });
                if known.first.group != *group {
                    return usage(format!(
                        "its group is '{group}', but line '{line}' begins in group '{}'",
                        known.first.group
                    ));
                }
                known.alone = known.first.name == *name;
            }
            Place::Square(board, square @ 0..64) => {
                if !squares.insert((group, board, square)) {
                    return usage(format!(
                        "square {} of board '{board}' in group '{group}' is taken already",
                        shakmaty::Square::new(u32::from(*square))
                    ));
                }
            }
            Place::Square(board, square) => {
                return usage(format!("board '{board}' has the squares 0 to 63, not {square}"));
            }
        }
    }
    // In the order of parameters, so that the same one is reported every time.
    for (feature, parameter) in features.iter().zip(parameters) {
        if let Some(Place::Line(line)) = &parameter.place
            && lines[line.as_str()].alone
        {
            let reason = format!("it is the only one in line '{line}', which says nothing");
            return Err(Error::Usage(format!("parameter '{}': {reason}", feature.name)));
        }
    }
    Ok(())
}

/// The parts of groups, with their names, ids and arrangements, in the order of their first features: each
/// board, and the features on none.
pub(crate) fn pieces(
    groups: Vec<(&str, Vec<u32>)>,
    parameters: &[ImportedParameter],
) -> Vec<(String, Vec<u32>, Arrangement)> {
    struct Board<'a> {
        name: &'a str,
        ids: Vec<u32>,
        squares: Vec<Option<u32>>,
    }
    let mut taken: HashSet<String> = groups.iter().map(|&(name, _)| name.to_string()).collect();
    let mut all = Vec::new();
    for (group, ids) in groups {
        let mut boards: Vec<Board<'_>> = Vec::new();
        let mut lines: Vec<Vec<u32>> = Vec::new();
        let mut rest = Vec::new();
        let mut known: HashMap<(bool, &str), usize> = HashMap::new();
        for id in ids {
            match &parameters[id as usize].place {
                Some(Place::Square(name, square)) => {
                    let at = *known.entry((true, name)).or_insert(boards.len());
                    if at == boards.len() {
                        boards.push(Board { name, ids: Vec::new(), squares: vec![None; 64] });
                    }
                    boards[at].ids.push(id);
                    if let Some(place) = boards[at].squares.get_mut(usize::from(*square)) {
                        *place = Some(id);
                    }
                    continue;
                }
                Some(Place::Line(name)) => {
                    let at = *known.entry((false, name)).or_insert(lines.len());
                    if at == lines.len() {
                        lines.push(Vec::new());
                    }
                    lines[at].push(id);
                }
                None => {}
            }
            rest.push(id);
        }
        let whole = boards.len() == 1 && rest.is_empty();
        for Board { name, ids, squares } in boards {
            let name = if whole { group.to_string() } else { unused(&mut taken, format!("{group}/{name}")) };
            all.push((name, ids, Arrangement::Board(squares)));
        }
        if !rest.is_empty() {
            let layout = if lines.is_empty() { Arrangement::None } else { Arrangement::Lines(lines) };
            all.push((group.to_string(), rest, layout));
        }
    }
    all.sort_by_key(|(_, ids, _)| ids.first().copied());
    all
}

fn unused(taken: &mut HashSet<String>, name: String) -> String {
    let mut candidate = name.clone();
    let mut number = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name} {number}");
        number += 1;
    }
    candidate
}
