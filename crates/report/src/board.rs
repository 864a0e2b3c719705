//! A piece-square table as a small board for the terminal.

use super::html::{Parameter, Shape, groups};
use gputexel_model::{Arrangement, FeatureSet, FeatureTables};

/// Columns between two boards.
const GAP: usize = 4;

/// Returns the middlegame and endgame tables of a group, eighth rank first; `None` if the group is not a table of
/// squares. They stand side by side if `columns` characters have room for both, else one below the other.
/// stand side by side where `columns` characters have room for both, and below each other elsewhere.
///
/// The names of features give the squares, as everywhere. If they give none, the schema does.
pub fn board(set: &FeatureSet, theta: &[f64], group: &str, columns: usize) -> Option<String> {
    let named = || {
        let table = FeatureTables::new(&set.features).0.into_iter().find(|table| table.name == group)?;
        table.is_squares().then(|| table.ids.into_iter().map(Some).collect::<Vec<_>>())
    };
    let declared = || {
        let part = set.structure().parts.into_iter().find(|part| part.name == group)?;
        let Arrangement::Board(squares) = part.layout else { return None };
        Some(squares.into_iter().map(|id| Some(id? as usize)).collect())
    };
    let places = named().or_else(declared)?;
    Some(drawn(group, columns, |phase, square| {
        let id = places.get(square).copied().flatten();
        id.map_or_else(String::new, |id| (theta[phase * set.features.len() + id].round() as i64).to_string())
    }))
}

/// Returns the changes of all tables of squares against their reference, middlegame and endgame arranged as by
/// [`board`], in whole centipawns; of one table if it is named. Tables without a change are left out.
/// whole centipawns; of one table where it is named. Tables without a change are left out.
pub fn change_boards(parameters: &[Parameter], only: Option<&str>, columns: usize) -> String {
    let mut text = String::new();
    for group in groups(parameters).iter().filter(|group| only.is_none_or(|only| only == group.name)) {
        let Shape::Board(places) = &group.shape else { continue };
        let change = |phase: usize, square: usize| -> Option<i64> {
            let parameter = &parameters[places[square]?];
            Some((parameter.values[phase] - parameter.reference?[phase]).round() as i64)
        };
        if every_square().all(|(phase, square)| change(phase, square).unwrap_or(0) == 0) {
            continue;
        }
        let cell = |phase: usize, square: usize| match change(phase, square) {
            None => String::new(),
            Some(0) => ".".to_string(),
            Some(change) => format!("{change:+}"),
        };
        text += &drawn(group.name, columns, cell);
        text.push('\n');
    }
    text
}

/// Returns the squares of both phases.
fn every_square() -> impl Iterator<Item = (usize, usize)> {
    (0..2).flat_map(|phase| (0..64).map(move |square| (phase, square)))
}

/// Draws both boards of a table with the texts of `cell` in their squares.
fn drawn(name: &str, columns: usize, cell: impl Fn(usize, usize) -> String) -> String {
    let width = every_square().map(|(phase, square)| cell(phase, square).len()).max().unwrap_or(1).max(3);
    let files: String = ('a'..='h').map(|file| format!(" {file:>width$}")).collect();
    let lines = |phase: usize| -> Vec<String> {
        let title = format!("  {name}, {}", ["middlegame", "endgame"][phase]);
        let rank = |rank: usize| {
            let cells = (0..8).map(|file| format!(" {:>width$}", cell(phase, 8 * rank + file)));
            format!("{}{}", rank + 1, cells.collect::<String>())
        };
        std::iter::once(title).chain((0..8).rev().map(rank)).chain([format!(" {files}")]).collect()
    };
    let [left, right] = [lines(0), lines(1)];
    // A rank's number and its squares.
    let half = 1 + 8 * (width + 1);
    let mut text = String::new();
    if 2 * half + GAP > columns {
        for line in left.iter().chain(&right) {
            text += &format!("{}\n", line.trim_end());
        }
    } else {
        for (left, right) in left.iter().zip(&right) {
            text += format!("{left:<half$}{:GAP$}{right}", "").trim_end();
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_chess::PhaseSettings;
    use gputexel_model::FeatureKind;

    #[test]
    fn the_eighth_rank_comes_first() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta: Vec<f64> = (0..768).map(f64::from).collect();
        let text = board(&set, &theta, "knight", 80).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[1], "8 120 121 122 123 124 125 126 127    8 504 505 506 507 508 509 510 511");
        assert_eq!(lines[8], "1  64  65  66  67  68  69  70  71    1 448 449 450 451 452 453 454 455");
        let narrow = board(&set, &theta, "knight", 60).unwrap();
        let lines: Vec<&str> = narrow.lines().collect();
        assert_eq!((lines.len(), lines[10]), (20, "  knight, endgame"));
        assert_eq!(lines[11], "8 504 505 506 507 508 509 510 511");
        assert_eq!(lines[19], "    a   b   c   d   e   f   g   h");
        let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert!(board(&material, &[0.0; 12], "material", 80).is_none());
    }

    #[test]
    fn changes_have_signs_and_tables_without_any_are_left_out() {
        let square = |i: usize| format!("{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
        let table = |group: &str, change: f64| -> Vec<Parameter> {
            let parameter = |i: usize| Parameter {
                name: format!("{group}_{}", square(i)),
                group: group.to_string(),
                values: [100.0 + change * i as f64, 7.0],
                reference: Some([100.0, 7.2]),
                ..Parameter::default()
            };
            (0..64).map(parameter).collect()
        };
        let all = [table("rook", -1.0), table("queen", 0.0)].concat();
        let text = change_boards(&all, None, 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "8 -56 -57 -58 -59 -60 -61 -62 -63    8   .   .   .   .   .   .   .   .");
        assert!(text.contains("rook, middlegame") && !text.contains("queen"), "{text}");
        assert_eq!(change_boards(&all, Some("queen"), 80), "");
    }
}
