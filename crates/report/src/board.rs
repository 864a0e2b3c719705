//! A piece-square table as a small board for the terminal.

use super::html::{Parameter, Shape, groups};
use gputexel_model::FeatureSet;

/// Middlegame and endgame tables of a group side by side, eighth rank first; `None` for a group
/// that is not a table of squares.
pub fn board(set: &FeatureSet, theta: &[f64], group: &str) -> Option<String> {
    let ids: Vec<usize> = (0..set.features.len()).filter(|&id| set.features[id].group == group).collect();
    let &[first, ..] = &ids[..] else { return None };
    if ids.len() != 64 {
        return None;
    }
    let value =
        |phase: usize, square: usize| theta[phase * set.features.len() + first + square].round() as i64;
    let width = (0..2)
        .flat_map(|phase| (0..64).map(move |square| value(phase, square).to_string().len()))
        .max()
        .unwrap_or(1)
        .max(3);
    let half = 8 * (width + 1);
    let mut text =
        format!("  {:<half$}     {}\n", format!("{group}, middlegame"), format_args!("{group}, endgame"));
    for rank in (0..8).rev() {
        for phase in 0..2 {
            text += &format!("{}{}", if phase == 0 { "" } else { "   " }, rank + 1);
            for file in 0..8 {
                text += &format!(" {:>width$}", value(phase, 8 * rank + file));
            }
            text += " ";
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let files: String = ('a'..='h').map(|file| format!(" {file:>width$}")).collect();
    text += &format!(" {files}     {files}\n");
    Some(text)
}

/// Changes of all tables of squares against their reference, middlegame and endgame side by side,
/// whole centipawns; of one table where it is named. Tables without a change are left out.
pub fn change_boards(parameters: &[Parameter], only: Option<&str>) -> String {
    let mut text = String::new();
    for group in groups(parameters).iter().filter(|group| only.is_none_or(|only| only == group.name)) {
        let Shape::Board(places) = &group.shape else { continue };
        let change = |phase: usize, square: usize| -> Option<i64> {
            let parameter = &parameters[places[square]?];
            Some((parameter.values[phase] - parameter.reference?[phase]).round() as i64)
        };
        let cell = |phase: usize, square: usize| match change(phase, square) {
            None => String::new(),
            Some(0) => ".".to_string(),
            Some(change) => format!("{change:+}"),
        };
        let all = || (0..2).flat_map(|phase| (0..64).map(move |square| (phase, square)));
        if all().all(|(phase, square)| change(phase, square).unwrap_or(0) == 0) {
            continue;
        }
        let width = all().map(|(phase, square)| cell(phase, square).len()).max().unwrap_or(1).max(3);
        let half = 8 * (width + 1);
        let title = [", middlegame", ", endgame"].map(|phase| format!("{}{phase}", group.name));
        text += &format!("  {:<half$}     {}\n", title[0], title[1]);
        for rank in (0..8).rev() {
            for phase in 0..2 {
                text += &format!("{}{}", if phase == 0 { "" } else { "   " }, rank + 1);
                for file in 0..8 {
                    text += &format!(" {:>width$}", cell(phase, 8 * rank + file));
                }
                text += " ";
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let files: String = ('a'..='h').map(|file| format!(" {file:>width$}")).collect();
        text += &format!(" {files}     {files}\n\n");
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
        let text = board(&set, &theta, "knight").unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[1], "8 120 121 122 123 124 125 126 127    8 504 505 506 507 508 509 510 511");
        assert_eq!(lines[8], "1  64  65  66  67  68  69  70  71    1 448 449 450 451 452 453 454 455");
        let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert!(board(&material, &[0.0; 12], "material").is_none());
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
        let text = change_boards(&all, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "8 -56 -57 -58 -59 -60 -61 -62 -63    8   .   .   .   .   .   .   .   .");
        assert!(text.contains("rook, middlegame") && !text.contains("queen"), "{text}");
        assert_eq!(change_boards(&all, Some("queen")), "");
    }
}
