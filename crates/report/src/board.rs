//! A piece-square table as a small board for the terminal.

use super::html::{CLEAR, Parameter, Shape, groups};
use gputexel_model::{Arrangement, FeatureSet, FeatureTables};

const GAP: usize = 4;

/// A table with a feature for each square, a1 first; squares may be missing.
struct Squares {
    name: String,
    places: Vec<Option<usize>>,
}

fn tables(set: &FeatureSet) -> Vec<Squares> {
    let named = FeatureTables::new(&set.features).0.into_iter().filter(|table| table.is_squares());
    let mut all: Vec<Squares> = named
        .map(|table| Squares { name: table.name, places: table.ids.into_iter().map(Some).collect() })
        .collect();
    for part in set.structure().parts {
        if let Arrangement::Board(squares) = part.layout
            && all.iter().all(|known| known.name != part.name)
        {
            let places = squares.into_iter().map(|id| Some(id? as usize)).collect();
            all.push(Squares { name: part.name, places });
        }
    }
    all
}

/// Tuned values with what is known of them: by feature, and by parameter the middlegame values first.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Values, centipawns.
    pub theta: &'a [f64],
    pub occurrences: &'a [u64],
    /// Standard errors of the values, centipawns, if they are known.
    pub errors: Option<&'a [Option<f64>]>,
}

struct Form {
    mean: f64,
    /// `None` for squares that no position has.
    deviations: Vec<Option<(f64, Option<f64>)>>,
}

impl Form {
    fn new(known: &Known<'_>, phase: usize, places: &[Option<usize>]) -> Self {
        let count = known.occurrences.len();
        let own = |id: &usize| known.occurrences[*id] > 0;
        let value = |id: usize| known.theta[phase * count + id];
        let ids = || places.iter().flatten().copied().filter(own);
        let weight: f64 = ids().map(|id| known.occurrences[id] as f64).sum();
        let mean = ids().map(|id| known.occurrences[id] as f64 * value(id)).sum::<f64>() / weight.max(1.0);
        let deviation =
            |id: usize| (value(id) - mean, known.errors.and_then(|errors| errors[phase * count + id]));
        let deviations = places.iter().map(|id| id.filter(own).map(deviation)).collect();
        Self { mean, deviations }
    }

    /// How much it stands out: the mean square of the deviations in standard errors or, if there are none, their
    /// sum of squares weighted by how often the squares occur.
    fn clarity(&self, known: &Known<'_>, places: &[Option<usize>]) -> f64 {
        let squares =
            self.deviations.iter().zip(places).filter_map(|(deviation, id)| Some(((*deviation)?, (*id)?)));
        match known.errors {
            None => squares.map(|((d, _), id)| d * d * known.occurrences[id] as f64).sum(),
            Some(_) => {
                let known =
                    squares.filter_map(|((d, error), _)| Some(d / error.filter(|error| *error > 0.0)?));
                let known: Vec<f64> = known.collect();
                known.iter().map(|t| t * t).sum::<f64>() / known.len().max(1) as f64
            }
        }
    }
}

/// The table whose shape stands out most from its errors, as deviations from its mean: both phases side by side if
/// `columns` have room for both, else the one that stands out more. `paint` gets the deviation of a square as a share of
/// the largest, 0 for one that is within two standard errors, and the text.
pub fn shape_board(
    set: &FeatureSet,
    known: &Known<'_>,
    columns: usize,
    paint: impl Fn(f64, &str) -> String,
) -> Option<String> {
    let forms = |places: &[Option<usize>]| [0, 1].map(|phase| Form::new(known, phase, places));
    let clarity = |table: &Squares| forms(&table.places).map(|form| form.clarity(known, &table.places));
    let rated = tables(set).into_iter().map(|table| (clarity(&table).iter().sum::<f64>(), table));
    let table = rated.filter(|(clarity, _)| *clarity > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let forms = forms(&table.places);
    let largest = forms.iter().flat_map(|form| form.deviations.iter().flatten()).map(|(d, _)| d.abs());
    let largest = largest.fold(f64::MIN_POSITIVE, f64::max);
    let cell = |phase: usize, square: usize| match forms[phase].deviations.get(square) {
        Some(Some((deviation, _))) => match deviation.round() as i64 {
            0 => "0".to_string(),
            whole => format!("{whole:+}"),
        },
        _ => String::new(),
    };
    let tone = |phase: usize, square: usize, text: &str| match forms[phase].deviations.get(square) {
        Some(Some((deviation, error))) => {
            let noise = known.errors.is_some() && error.is_none_or(|error| deviation.abs() <= CLEAR * error);
            paint(if noise { 0.0 } else { deviation / largest }, text)
        }
        _ => text.to_string(),
    };
    let title = |phase: usize, name: &str| {
        let mean = forms[phase].mean.round() as i64;
        format!("{}{name} (mean {mean})", table.name)
    };
    let untapered =
        table.places.iter().flatten().all(|&id| known.theta[id] == known.theta[set.features.len() + id]);
    if untapered {
        return Some(drawn(&[title(0, "")], columns, cell, tone));
    }
    let titles = [title(0, ", middlegame"), title(1, ", endgame")];
    if half(width(2, &cell)) * 2 + GAP <= columns {
        return Some(drawn(&titles, columns, cell, tone));
    }
    let [mg, eg] = clarity(&table);
    let phase = usize::from(eg > mg);
    let only = [titles[phase].clone()];
    Some(drawn(&only, columns, |_, square| cell(phase, square), |_, square, text| tone(phase, square, text)))
}

/// Changes of all tables of squares against their reference, middlegame and endgame arranged as by [`shape_board`],
/// in whole centipawns; of one table if it is named.
pub fn change_boards(parameters: &[Parameter], only: Option<&str>, columns: usize) -> String {
    let mut text = String::new();
    for group in groups(parameters).iter().filter(|group| only.is_none_or(|only| only == group.name)) {
        let Shape::Board(places) = &group.shape else { continue };
        let change = |phase: usize, square: usize| -> Option<i64> {
            let parameter = &parameters[places[square]?];
            Some((parameter.values[phase] - parameter.reference?[phase]).round() as i64)
        };
        if (0..2).all(|phase| (0..64).all(|square| change(phase, square).unwrap_or(0) == 0)) {
            continue;
        }
        let cell = |phase: usize, square: usize| match change(phase, square) {
            None => String::new(),
            Some(0) => ".".to_string(),
            Some(change) => format!("{change:+}"),
        };
        let titles = ["middlegame", "endgame"].map(|phase| format!("{}, {phase}", group.name));
        text += &drawn(&titles, columns, cell, |_, _, text| text.to_string());
        text.push('\n');
    }
    text
}

fn width(boards: usize, cell: &impl Fn(usize, usize) -> String) -> usize {
    let squares = (0..boards).flat_map(|board| (0..64).map(move |square| (board, square)));
    squares.map(|(board, square)| cell(board, square).len()).max().unwrap_or(1).max(3)
}

fn half(width: usize) -> usize {
    1 + 8 * (width + 1)
}

/// Draws one or two boards with the texts of `cell` in their squares, painted by `paint` in their full width.
fn drawn(
    titles: &[String],
    columns: usize,
    cell: impl Fn(usize, usize) -> String,
    paint: impl Fn(usize, usize, &str) -> String,
) -> String {
    let width = width(titles.len(), &cell);
    let half = half(width);
    // Blanks at the ends of lines depend on texts, not on their colors.
    let rank = |board: usize, rank: usize| {
        let texts: Vec<String> = (0..8).map(|file| cell(board, 8 * rank + file)).collect();
        let last = texts.iter().rposition(|text| !text.is_empty()).map_or(0, |at| at + 1);
        let mut line = (rank + 1).to_string();
        for (file, text) in texts.iter().enumerate().take(last) {
            line += " ";
            line += &paint(board, 8 * rank + file, &format!("{text:>width$}"));
        }
        (line, 1 + last * (width + 1))
    };
    let lines = |board: usize| -> Vec<(String, usize)> {
        let plain = |text: String| {
            let length = text.chars().count();
            (text, length)
        };
        let files: String = ('a'..='h').map(|file| format!(" {file:>width$}")).collect();
        let title = plain(format!("  {}", titles[board]));
        let ranks = (0..8).rev().map(|at| rank(board, at));
        std::iter::once(title).chain(ranks).chain([plain(format!(" {files}"))]).collect()
    };
    let mut boards = (0..titles.len()).map(lines);
    let left = boards.next().unwrap_or_default();
    let mut text = String::new();
    match boards.next() {
        Some(right) if 2 * half + GAP <= columns => {
            for ((left, used), (right, _)) in left.into_iter().zip(right) {
                text += &format!("{left}{:1$}{right}\n", "", (half + GAP).saturating_sub(used).max(1));
            }
        }
        right => {
            for (line, _) in left.into_iter().chain(right.into_iter().flatten()) {
                text += &format!("{line}\n");
            }
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
    fn the_table_that_stands_out_from_its_errors_is_shown() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let mut theta = vec![0.0; 768];
        (64..128).for_each(|id| theta[id] = 300.0 + 20.0 * f64::from(id as u32 % 2));
        (192..256).for_each(|id| theta[id] = 500.0 + if id == 255 { 64.0 } else { 0.0 });
        let mut errors = vec![Some(4.0); 768];
        (64..128).for_each(|id| errors[id] = Some(40.0));
        let mut occurrences = vec![10; 384];
        occurrences[192] = 0;
        let known = Known { theta: &theta, occurrences: &occurrences, errors: Some(&errors) };
        let paint = |share: f64, text: &str| match share {
            0.0 => text.replace(' ', "."),
            share => format!("<{text}:{share:.1}>"),
        };
        let lines = |known: &Known<'_>, columns: usize| -> Vec<String> {
            shape_board(&set, known, columns, paint).unwrap().lines().map(str::to_string).collect()
        };
        let rook = lines(&known, 80);
        assert_eq!(rook.len(), 10);
        assert!(
            rook[0].starts_with("  rook, middlegame (mean 501)    ")
                && rook[0].ends_with("rook, endgame (mean 0)")
        );
        assert!(rook[1].starts_with("8 .-1 .-1 .-1 .-1 .-1 .-1 .-1 <+63:1.0>    8 ..0"), "{rook:?}");
        // A square that no position has.
        assert!(rook[8].starts_with("1     .-1 "), "{rook:?}");
        // Only one phase if there is no room for both; ranks from the eighth, files below.
        let narrow = lines(&known, 60);
        assert_eq!((narrow.len(), narrow[0].as_str()), (10, "  rook, middlegame (mean 501)"));
        assert_eq!(narrow[1], "8 .-1 .-1 .-1 .-1 .-1 .-1 .-1 <+63:1.0>");
        assert!(narrow[8].starts_with("1 ") && narrow[9].ends_with("   h"), "{narrow:?}");
        let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        assert!(shape_board(&material, &known, 80, paint).is_none());
        let unknown = Known { errors: None, ..known };
        assert!(lines(&unknown, 80)[1].starts_with("8 <-10:-1.0> <+10:1.0>"));
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
