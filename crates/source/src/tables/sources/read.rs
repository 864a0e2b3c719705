//! Reads values from marked arrays.
//!
//! Converts numbers back to values, and gathers names from sources of which nothing else is known. The rest of the
//! module finds arrays and interprets their markers.

use std::path::Path;

use super::array;
use super::compare::check_read;
use super::content::{Content, Source};
use super::difference::{Compared, Reference};
use super::marker::{self, Marker, Marking, Offset, quoted};
use super::number::Number;
use super::values::{Named, TableValues, phases, plain, without_both};
use super::{Job, arrange, find_numbers, is_export, take_places, utf8};
use crate::characters::line_of;
use crate::languages::Language;
use crate::lexer::{self, Kind, Token};
use crate::tables::Remedy;
use gputexel_io::{Error, Result};
use gputexel_model::{Colors, Feature, ROLE_NAMES};

/// Contents of a source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadTables {
    /// The names: those given, or those in the source.
    pub features: Vec<Feature>,
    /// Middlegame, then endgame values; NaN if missing in the source.
    pub theta: Vec<f64>,
    /// Precision of the values.
    pub precision: Precision,
    /// True if tables of both colors were present and agree.
    pub both_colors: bool,
    /// True if there were half tables.
    pub halves: bool,
    /// Order of squares assumed where markers do not give one, and the names of these markers.
    pub taken: Option<(String, Vec<String>)>,
    /// Doubts about markers that were trusted.
    pub doubts: Vec<String>,
}

/// Known facts about the parameters of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadAs {
    /// The names; `None` for those that the source itself gives.
    pub features: Option<Vec<Feature>>,
    /// Values that the numbers of the source resemble.
    pub like: Option<Vec<f64>>,
    /// Values from which those were tuned.
    pub start: Option<Vec<f64>>,
    /// True if tables of squares have the order of the names, unless markers give another.
    pub own_order: bool,
    /// For each name, true if one number may be both of its values; empty if unknown.
    pub untapered: Vec<bool>,
    /// True to read arrays as marked even if the values contradict the markers.
    pub trust: bool,
}

/// Precision of written values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Precision {
    /// Maximum number of decimals; `None` for whole numbers.
    pub decimals: Option<usize>,
    /// The largest factor.
    pub scale: f64,
}

/// A marker with its array.
pub(super) struct Found {
    pub at: usize,
    pub marking: Marking,
    pub array: array::Array,
    /// Comments after the numbers, on their lines, one per number.
    pub comments: Vec<Option<String>>,
}

/// Returns the markers of a source with their arrays; none if there are none.
///
/// # Errors
/// [`Error::Input`] with the line of a marker that cannot be parsed or has no array.
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
        let comments = array.entries.iter().map(|entry| comment(source, &tokens, entry.end)).collect();
        found.push(Found { at, marking, array, comments });
    }
    Ok(found)
}

/// Reads all marked arrays of a source. Its features are those given or those that it gives itself.
///
/// # Errors
/// [`Error::Input`] with the line for text that is not UTF-8, a source without markers, arrays that do not match, and
/// values that contradict each other.
pub(crate) fn read(bytes: &[u8], path: &Path, language: Language, read_as: ReadAs) -> Result<ReadTables> {
    let source = utf8(bytes, path)?;
    let wrong = |at: usize, why: String| Error::line(path, line_of(source, at), why);
    let mut found = find_marked(source, path, language)?;
    if found.is_empty() {
        return Err(Error::input(path, "has no marker 'gputexel: NAME' above an array; is it an export?"));
    }
    let own_export = is_export(source);
    let ReadAs { features, like, start, own_order, untapered, trust } = read_as;
    let features = match features {
        Some(features) => features,
        None => described(&found).map_err(|(at, why)| wrong(at, why).advise(Remedy::Like))?,
    };
    // Those with equal values are untapered; unknown ones are equal to nothing.
    let equal = |id: usize| if untapered.get(id) == Some(&true) { 0.0 } else { f64::NAN };
    let theta = (0..2 * features.len()).map(|index| equal(index % features.len())).collect();
    let values = TableValues::names_only(features, own_order).with_theta(theta);
    // One number is enough for both phases if the values are equal.
    let resolve = |marking: &Marking, array: &array::Array| {
        let named = values.resolve(&marking.what)?;
        let content = Content::new(&values, &named, marking);
        let single = 2 * array.entries.len() == content.count() && content.is_untapered();
        Some(if single { Named { phases: vec![0], tied: true, ..named } } else { named })
    };
    let reference = |compared, theta: Option<Vec<f64>>| {
        theta.map(|theta| Reference { compared, values: values.with_theta(theta) })
    };
    let known = [reference(Compared::Like, like), reference(Compared::Start, start)];
    let known: Vec<Reference> = known.into_iter().flatten().collect();
    for Found { marking, array, .. } in &mut found {
        if let Some(named) = resolve(marking, array) {
            take_places(&values, &named, marking, array).map_err(|why| wrong(array.start, why))?;
        }
    }
    let (mut taken, mut doubts) = (Taken::default(), Vec::new());
    for Found { at, marking, array, .. } in &found {
        let Some(named) = resolve(marking, array) else { continue };
        let job =
            Job { at: *at, marking: marking.clone(), named, array: array.clone(), element: None, source };
        let mut confirmed = own_export;
        if !known.is_empty() && !own_export {
            match check_read(&known, &job) {
                Ok(fits) => confirmed = fits,
                Err(why) if trust => doubts.push(format!("line {}: {why}", line_of(source, *at))),
                Err(why) => return Err(wrong(*at, why).advise(Remedy::Trust)),
            }
        }
        if !confirmed && !marking.oriented {
            taken.add(&values, &job);
        }
    }
    let mut sink = Sink::new(&values);
    // Piece values first: tables may need them.
    for tables_of_offsets in [false, true] {
        for Found { at, marking, array, comments } in &found {
            let needs = matches!(marking.offset, Some(Offset::Material));
            if needs == tables_of_offsets {
                let named = resolve(marking, array).ok_or_else(|| {
                    let near = values.near(&marking.what);
                    let error =
                        wrong(*at, format!("'{}' is not the name of a parameter{near}", marking.what));
                    if near.is_empty() { error.advise(Remedy::OtherLike) } else { error }
                })?;
                sink.take(&named, marking, array, comments)
                    .map_err(|(place, why)| wrong(if place == 0 { *at } else { place }, why))?;
            }
        }
    }
    let theta = sink.theta.iter().map(|value| value.map_or(f64::NAN, |(value, _)| value)).collect();
    let order = |of: &dyn Fn(&Marking) -> bool| found.iter().any(|found| of(&found.marking));
    Ok(ReadTables {
        theta,
        precision: sink.precision,
        both_colors: order(&|marking| marking.order.colors != Colors::One),
        halves: order(&|marking| marking.order.files == 4),
        taken: taken.order.map(|order| (order, taken.markers)),
        doubts,
        features: values.features,
    })
}

/// Order of squares where markers do not give one.
#[derive(Default)]
struct Taken {
    order: Option<String>,
    markers: Vec<String>,
}

impl Taken {
    fn add(&mut self, values: &TableValues, job: &Job<'_>) {
        let Some(order) = Content::new(values, &job.named, &job.marking).order_name() else { return };
        match &self.order {
            Some(other) if *other != order => self.order = Some("in the schema's order".to_string()),
            _ => self.order = Some(order),
        }
        self.markers.push(job.marking.name.clone());
    }
}

/// Returns the comment after a number, on its line, if it is not a marker.
fn comment(source: &str, tokens: &[Token], end: usize) -> Option<String> {
    let line_end = source[end..].find('\n').map_or(source.len(), |at| end + at);
    let first = tokens.partition_point(|token| token.start < end);
    let mut behind = tokens[first..].iter().take_while(|token| token.start < line_end);
    let token = behind.find(|token| token.kind == Kind::Comment)?;
    let text = source[token.start..token.end].trim_start_matches(['/', '*', '#']).trim_end_matches("*/");
    let text = text.trim();
    if text.is_empty() || text.starts_with("gputexel:") {
        return None;
    }
    Some(quoted(text).map_or_else(|_| text.to_string(), |(name, _)| name))
}

/// Collected values.
pub(super) struct Sink<'a> {
    values: &'a TableValues,
    /// Values, with the byte of each.
    pub theta: Vec<Option<(f64, usize)>>,
    /// Piece values of tables, by table and phase.
    means: Vec<[Option<f64>; 2]>,
    precision: Precision,
}

impl<'a> Sink<'a> {
    pub fn new(values: &'a TableValues) -> Self {
        Self {
            values,
            theta: vec![None; values.theta.len()],
            means: vec![[None; 2]; values.tables.0.len()],
            precision: Precision { decimals: None, scale: 1.0 },
        }
    }

    /// Adds the numbers of an array; an error at byte 0 is about the marker.
    pub fn take(
        &mut self,
        named: &Named,
        marking: &Marking,
        array: &array::Array,
        comments: &[Option<String>],
    ) -> std::result::Result<(), array::Wrong> {
        let about = |why: String| (0, why);
        let (content, order) = arrange(self.values, named, marking, array)?;
        if order.unsaid {
            return Err(about(
                "neither the brackets nor the marker say how the tables of both colors follow each other; add \
                 'by color' (all of White's, then all of Black's) or 'by piece' (by turns)"
                    .to_string(),
            ));
        }
        self.precision.scale = self.precision.scale.max(marking.scale.abs());
        for (index, (entry, comment)) in array.entries.iter().zip(comments).enumerate() {
            let (piece, square, phase) = order.place(index);
            let Some(source) = content.pieces[piece] else { continue };
            let Some((ids, _)) = content.features(piece, square) else { continue };
            let number = entry.number.as_ref().map_err(|why| (entry.start, why.clone()))?;
            self.compare_name(source, comment.as_deref()).map_err(|why| (entry.start, why))?;
            let value = self
                .value(&content, (piece, square, phase), marking, number)
                .map_err(|why| (entry.start, why))?;
            if let Some(decimals) = number.decimals().or((!number.is_integer()).then_some(15)) {
                self.precision.decimals = self.precision.decimals.max(Some(decimals));
            }
            let phase = content.phases[phase];
            // A number for both phases is the value of both.
            let phases = if named.tied { vec![0, 1] } else { vec![phase] };
            if let Source::Mean(table) = source {
                phases.into_iter().for_each(|phase| self.means[table][phase] = Some(value));
                continue;
            }
            for (id, &phase) in ids.iter().flat_map(|&id| phases.iter().map(move |phase| (id, phase))) {
                let slot = &mut self.theta[phase * self.values.features.len() + id];
                if let Some((other, _)) = slot.filter(|&(other, _)| other != value) {
                    let name = &self.values.features[id].name;
                    let phase = ["mg", "eg"][phase];
                    return Err((
                        entry.start,
                        format!("'{name}.{phase}' is {value} here and {other} elsewhere"),
                    ));
                }
                *slot = Some((value, entry.start));
            }
        }
        Ok(())
    }

    /// Returns a number as a value in centipawns.
    fn value(
        &self,
        content: &Content<'_>,
        (piece, square, phase): (usize, usize, usize),
        marking: &Marking,
        number: &Number,
    ) -> std::result::Result<f64, String> {
        let negative = content.features(piece, square).is_some_and(|(_, negative)| negative);
        let units = if negative { -number.value } else { number.value };
        let phase_of = content.phases[phase];
        let offset = match (marking.offset, content.pieces[piece]) {
            (Some(Offset::Numbers(numbers)), _) => numbers[phase_of],
            (Some(Offset::Material), Some(Source::Table(table))) => {
                let mean = self.means[table][phase_of].ok_or_else(|| {
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
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!("{} is too large", number.value)),
        }
    }

    /// Checks that a number next to the name of another feature does not contradict the marker.
    fn compare_name(&self, source: Source, comment: Option<&str>) -> std::result::Result<(), String> {
        let Some(comment) = comment else { return Ok(()) };
        let own = match source {
            Source::Feature(id) => &self.values.features[id].name,
            Source::Mean(table) | Source::Table(table) => &self.values.tables.0[table].name,
        };
        let known = self.values.features.iter().any(|feature| feature.name == comment);
        match own == comment || !known || matches!(source, Source::Table(_)) {
            true => Ok(()),
            false => Err(format!("is called '{comment}' where '{own}' is expected")),
        }
    }
}

/// Returns the features that a source gives itself, by markers and by comments after numbers.
fn described(found: &[Found]) -> std::result::Result<Vec<Feature>, array::Wrong> {
    let mut groups: Vec<Described> = Vec::new();
    for Found { at, marking, array, comments } in found {
        let (name, phase_count) = base_name(&marking.what);
        let colors = if marking.order.colors == Colors::One { 1 } else { 2 };
        let elements = array.entries.len() / phase_count;
        let Some(name) = name else { continue };
        let squares = |name: &str| -> Vec<String> {
            let prefix = marking.prefix.clone().unwrap_or_else(|| format!("{name}_"));
            shakmaty::Square::ALL.iter().map(|square| format!("{prefix}{square}")).collect()
        };
        // The comment of a pair follows both numbers.
        let noted: Option<Vec<String>> = comments.iter().step_by(phase_count).cloned().collect();
        let listed = elements > 1 && noted.is_some();
        let names = match noted {
            Some(names) if listed => names,
            _ if elements == 1 => vec![comments[0].clone().unwrap_or_else(|| name.clone())],
            _ if plain(&name) == "pst" && elements == 384 * colors => {
                for role in ROLE_NAMES {
                    let names = squares(role);
                    add(&mut groups, Described { name: role.to_string(), names, listed }, *at)?;
                }
                continue;
            }
            _ if elements == marking.entries() * colors => squares(&name),
            _ if plain(&name) == "material" && elements == 6 => ROLE_NAMES.map(str::to_string).to_vec(),
            _ => {
                let why = format!("nothing says what the numbers of '{name}' are called");
                return Err((*at, why));
            }
        };
        add(&mut groups, Described { name, names, listed }, *at)?;
    }
    // Lists named after tables of squares are their piece values.
    let tables: std::collections::HashSet<String> = groups
        .iter()
        .filter(|group| !group.listed && group.names.len() == 64)
        .map(|g| g.name.clone())
        .collect();
    groups.retain(|group| !(group.listed && group.names.iter().all(|name| tables.contains(name))));
    let feature = |group: &str, name: String| Feature { name, group: group.to_string() };
    let features: Vec<Feature> = groups
        .into_iter()
        .flat_map(|group| group.names.into_iter().map(move |name| feature(&group.name, name)))
        .collect();
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = features.iter().find(|feature| !seen.insert(&feature.name)) {
        let at = found.first().map_or(0, |found| found.at);
        return Err((at, format!("the name '{}' is given to several numbers", twice.name)));
    }
    Ok(features)
}

/// A group as described by a marker.
struct Described {
    name: String,
    names: Vec<String>,
    /// True if its names follow its numbers.
    listed: bool,
}

/// Adds a group, or compares it with the description by its other phase.
fn add(groups: &mut Vec<Described>, new: Described, at: usize) -> std::result::Result<(), array::Wrong> {
    match groups.iter().find(|group| group.name == new.name) {
        Some(other) if other.names != new.names => {
            Err((at, format!("the numbers of '{}' are called otherwise elsewhere", new.name)))
        }
        Some(_) => Ok(()),
        None => {
            groups.push(new);
            Ok(())
        }
    }
}

/// Returns a name without the ending of its phase, and its phases.
pub(super) fn ending(what: &str) -> (&str, Vec<usize>) {
    let both = || without_both(what).map(|base| (base, vec![0]));
    phases(what).or_else(both).unwrap_or((what, vec![0, 1]))
}

/// Returns the name in a marker without its phase, and the number of phases; `None` for piece values.
fn base_name(what: &str) -> (Option<String>, usize) {
    if let Ok((name, end)) = quoted(what) {
        let (rest, phases) = ending(&what[end..]);
        return (rest.is_empty().then_some(name), phases.len());
    }
    let (name, phases) = ending(what);
    let own = !plain(name).ends_with(".material");
    (own.then(|| name.to_string()), phases.len())
}
