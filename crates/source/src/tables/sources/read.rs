//! Reads values from marked arrays.

use std::path::Path;

use super::content::{Content, Source};
use super::marker::{self, Marker, Marking, Offset};
use super::values::{Named, PHASES, TableValues, phases, without_both};
use super::{arrange, array, find_numbers, is_export, utf8};
use crate::characters::line_of;
use crate::languages::Language;
use crate::lexer::{self, Kind, Token};
use crate::number::Number;
use gputexel_io::{Error, Result};
use gputexel_model::Feature;

pub(crate) struct ReadTables {
    /// Middlegame, then endgame values; NaN if missing in the source.
    pub theta: Vec<f64>,
    /// The largest factor between centipawns and numbers.
    pub scale: f64,
    /// Order of squares assumed where markers give none, and the names of these markers.
    pub assumed: Option<(String, Vec<String>)>,
}

pub(super) struct Found {
    pub at: usize,
    pub marking: Marking,
    pub array: array::Array,
}

pub(super) fn find_marked(source: &str, path: &Path, language: Language) -> Result<Vec<Found>> {
    let tokens = lexer::lex(source, language);
    let wrong = |at: usize, why: String| Error::line(path, line_of(source, at), why);
    let code: Vec<Token> = tokens.iter().filter(|token| token.kind != Kind::Comment).copied().collect();
    let own_export = is_export(source);
    let mut found = Vec::new();
    for Marker { start, end, at, marking } in marker::find(source, &tokens) {
        let mut marking = marking.map_err(|why| wrong(at, why))?;
        marking.oriented |= own_export;
        let array = find_numbers(source, &code, (start, end), language, &marking)
            .map_err(|(at, why)| wrong(at, why))?;
        found.push(Found { at, marking, array });
    }
    Ok(found)
}

/// Reads all marked arrays. `own_order`: tables of squares have the order of the features unless markers give
/// another; `untapered`: for each feature, true if one number may be both of its values.
pub(crate) fn read(
    bytes: &[u8],
    path: &Path,
    language: Language,
    features: Vec<Feature>,
    own_order: bool,
    untapered: &[bool],
) -> Result<ReadTables> {
    let source = utf8(bytes, path)?;
    let found = find_marked(source, path, language)?;
    if found.is_empty() {
        return Err(Error::input(path, "has no marker 'gputexel: NAME' above an array"));
    }
    // Those with equal values are untapered; unknown ones are equal to nothing.
    let equal = |id: usize| if untapered.get(id) == Some(&true) { 0.0 } else { f64::NAN };
    let theta = (0..2 * features.len()).map(|index| equal(index % features.len())).collect();
    let values = TableValues::new(features, theta, own_order);
    let unknown = |what: &str| format!("'{what}' is not the name of a parameter{}", values.near(what));
    let sink = Sink::read(&values, source, path, &found, unknown)?;
    let mut assumed: Option<(String, Vec<String>)> = None;
    for Found { marking, .. } in found.iter().filter(|one| !one.marking.oriented) {
        let Some(named) = values.resolve(&marking.what) else { continue };
        let Some(order) = Content::new(&values, &named, marking).order_name() else { continue };
        let (first, names) = assumed.get_or_insert_with(|| (order.clone(), Vec::new()));
        if *first != order {
            *first = "in the schema's order".to_string();
        }
        names.push(marking.what.clone());
    }
    let theta = sink.theta.iter().map(|value| value.map_or(f64::NAN, |(value, _)| value)).collect();
    Ok(ReadTables { theta, scale: sink.scale, assumed })
}

/// One number stands for both phases if the values are equal and the array has no pairs.
pub(super) fn resolved(values: &TableValues, named: Named, marking: &Marking, array: &array::Array) -> Named {
    let untapered = named.phases.len() == 2 && Content::new(values, &named, marking).is_untapered();
    match untapered && arrange(values, &named, marking, array).is_err() {
        true => Named { phases: vec![0], tied: true, ..named },
        false => named,
    }
}

/// A value and the place of its number.
type Placed = Option<(f64, usize)>;

pub(super) struct Sink<'a> {
    values: &'a TableValues,
    source: &'a str,
    theta: Vec<Placed>,
    means: Vec<[Placed; 2]>,
    scale: f64,
}

impl<'a> Sink<'a> {
    /// `unknown` gives the message about a name that is not a parameter.
    pub fn read(
        values: &'a TableValues,
        source: &'a str,
        path: &Path,
        found: &[Found],
        unknown: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let wrong = |at: usize, why: String| Error::line(path, line_of(source, at), why);
        let mut sink = Self {
            theta: vec![None; values.theta.len()],
            means: vec![[None; 2]; values.tables.0.len()],
            scale: 1.0,
            values,
            source,
        };
        // Piece values first: tables may need them.
        for tables_of_offsets in [false, true] {
            for Found { at, marking, array } in found {
                if matches!(marking.offset, Some(Offset::Material)) != tables_of_offsets {
                    continue;
                }
                let unknown = || wrong(*at, unknown(&marking.what));
                let named = values.resolve(&marking.what).ok_or_else(unknown)?;
                let named = resolved(values, named, marking, array);
                sink.take(&named, marking, array)
                    .map_err(|(place, why)| wrong(if place == 0 { *at } else { place }, why))?;
            }
        }
        Ok(sink)
    }

    fn take(&mut self, named: &Named, marking: &Marking, array: &array::Array) -> Result<(), array::Wrong> {
        let (content, order) = arrange(self.values, named, marking, array)?;
        self.scale = self.scale.max(marking.scale.abs());
        for (index, entry) in array.entries.iter().enumerate() {
            let (piece, square, phase) = order.place(index);
            let Some(source) = content.pieces[piece] else { continue };
            let Some((ids, _)) = content.features(piece, square) else { continue };
            let number = entry.number.as_ref().map_err(|why| (entry.start, why.clone()))?;
            let value = self
                .value(&content, (piece, square, phase), marking, number)
                .map_err(|why| (entry.start, why))?;
            // A number for both phases is the value of both.
            let phases = if named.tied { vec![0, 1] } else { vec![content.phases[phase]] };
            for phase in phases {
                let count = self.values.features.len();
                let values = self.values;
                let set = |slot: &mut Placed, name: String| match slot.replace((value, entry.start)) {
                    Some((other, place)) if other != value => {
                        let line = line_of(self.source, place);
                        let name = format!("{name}.{}", PHASES[phase]);
                        Err((entry.start, format!("'{name}' is {value} here and {other} in line {line}")))
                    }
                    _ => Ok(()),
                };
                if let Source::Mean(table) = source {
                    set(&mut self.means[table][phase], format!("{}.material", values.tables.0[table].name))?;
                    continue;
                }
                for &id in &ids {
                    set(&mut self.theta[phase * count + id], values.features[id].name.clone())?;
                }
            }
        }
        Ok(())
    }

    pub fn value_of(&self, id: usize, phase: usize) -> Option<f64> {
        self.theta[phase * self.values.features.len() + id].map(|(value, _)| value)
    }

    fn value(
        &self,
        content: &Content<'_>,
        (piece, square, phase): (usize, usize, usize),
        marking: &Marking,
        number: &Number,
    ) -> Result<f64, String> {
        let negative = content.features(piece, square).is_some_and(|(_, negative)| negative);
        let units = if negative { -number.value } else { number.value };
        let phase_of = content.phases[phase];
        let offset = match (marking.offset, content.pieces[piece]) {
            (Some(Offset::Numbers(numbers)), _) => numbers[phase_of],
            (Some(Offset::Material), Some(Source::Table(table))) => {
                let (mean, _) = self.means[table][phase_of].ok_or_else(|| {
                    let name = &self.values.tables.0[table].name;
                    format!("the piece value '{name}.material' is not in the file")
                })?;
                mean * marking.scale
            }
            _ => 0.0,
        };
        // Sums of decimal fractions are off in their last bit.
        let units = if offset == 0.0 { units } else { number.round(units + offset) };
        let value = units / marking.scale + 0.0; // no -0
        if value.is_finite() { Ok(value) } else { Err(format!("{} is too large", number.value)) }
    }
}

pub(super) fn ending(what: &str) -> (&str, Vec<usize>) {
    let both = || without_both(what).map(|base| (base, vec![0]));
    phases(what).or_else(both).unwrap_or((what, vec![0, 1]))
}
