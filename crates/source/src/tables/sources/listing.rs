//! What markers say themselves. Lists are numbered from 0, boards named by squares, values of pieces by pieces.

use std::path::{Path, PathBuf};

use super::arrange;
use super::array::{Entry, Wrong};
use super::marker::quoted;
use super::read::{Found, Sink, ending, find_marked, resolved};
use super::values::{TableValues, plain};
use crate::characters::line_of;
use crate::languages::Language;
use crate::number::Number;
use crate::sources::Loaded;
use gputexel_io::{Error, Result};
use gputexel_model::{Colors, Feature, ROLE_NAMES};

/// Phases that the numbers of a marker count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkedPhases {
    /// Pairs of a middlegame and an endgame value.
    Pairs,
    Mg,
    Eg,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkedKind {
    Single,
    List,
    /// The 64 squares of a board, from a1 to h8.
    Squares,
    /// Five or six pieces, from the pawn on.
    Pieces,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MarkedParameter {
    pub name: String,
    /// Its middlegame and endgame value, or the only one, centipawns.
    pub values: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ListedMarker {
    pub file: PathBuf,
    pub line: u64,
    pub marker: String,
    pub name: String,
    pub phases: MarkedPhases,
    pub kind: MarkedKind,
    /// Number of numbers in the source, including those that are left alone.
    pub numbers: usize,
    /// First square in the source; `None` if the marker does not say it, or there are no squares.
    pub first: Option<&'static str>,
    pub partial: bool,
    pub min: Option<[f64; 2]>,
    pub max: Option<[f64; 2]>,
    /// The parameters, in the order of squares from a1, of pieces from the pawn, or of the list.
    pub parameters: Vec<MarkedParameter>,
}

/// Lists all markers of sources, in their order.
pub fn list(files: &[PathBuf]) -> Result<Vec<ListedMarker>> {
    let lists = Loaded::all(files)?.into_iter().map(|file| list_text(&file.text, &file.shown));
    Ok(lists.collect::<Result<Vec<_>>>()?.concat())
}

fn wrong_in<'a>(source: &'a str, shown: &'a Path) -> impl Fn(Wrong) -> Error + Copy + 'a {
    move |(at, why)| Error::line(shown, line_of(source, at), why)
}

fn named(source: &str, shown: &Path) -> Result<(Vec<Found>, TableValues)> {
    let wrong = wrong_in(source, shown);
    let found = find_marked(source, shown, Language::of(shown))?;
    let mut groups: Vec<Group> = Vec::new();
    let mut owners: Vec<&Found> = Vec::new();
    for one in &found {
        for group in groups_of(one).map_err(wrong)? {
            let earlier = |at: usize| {
                format!("'{}' (line {})", owners[at].marking.what, line_of(source, owners[at].at))
            };
            match groups.iter().position(|other| other.name == group.name) {
                Some(at) if groups[at].names != group.names || groups[at].untapered != group.untapered => {
                    let phases = match groups[at].names == group.names {
                        true => format!(", or mark each by its phase: '{0}.mg', '{0}.eg'", group.name),
                        false => String::new(),
                    };
                    let why = format!(
                        "'{}' has {}, but {} has {} of '{}'; give one of them another name{phases}",
                        one.marking.what,
                        group.describe(one),
                        earlier(at),
                        groups[at].describe(owners[at]),
                        group.name,
                    );
                    return Err(wrong((one.at, why)));
                }
                Some(_) => continue,
                None => {}
            }
            // Only lists with a number for each piece may share names.
            let by_piece = |group: &Group| group.kind == MarkedKind::Pieces;
            let taken = |name: &String| {
                let has =
                    |other: &Group| !(by_piece(&group) && by_piece(other)) && other.names.contains(name);
                Some((groups.iter().position(has)?, name.clone()))
            };
            if let Some((at, name)) = group.names.iter().find_map(taken) {
                let why = format!("marker {} stands for a parameter '{name}', too", earlier(at));
                return Err(wrong((one.at, why)));
            }
            groups.push(group);
            owners.push(one);
        }
    }
    let values = names_of(&groups);
    Ok((found, values))
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MarkedNumber {
    pub at: usize,
    /// Bytes of the number, with its sign.
    pub range: std::ops::Range<usize>,
    /// Name of its parameter, and of the phase if it has two.
    pub name: String,
    /// Its value, of the opposite sign where it is Black's.
    pub value: f64,
    /// True if it is the parameter's value of the opposite sign.
    pub negative: bool,
    pub number: Number,
    /// Smallest and largest value, if the marker says both in units of the source.
    pub bounds: Option<(f64, f64)>,
}

pub(crate) fn numbers(source: &str, shown: &Path) -> Result<Vec<MarkedNumber>> {
    let wrong = wrong_in(source, shown);
    let (found, values) = named(source, shown)?;
    let mut numbers = Vec::new();
    for one in &found {
        let named = values
            .resolve(&one.marking.what)
            .ok_or_else(|| wrong((one.at, format!("'{}' names nothing", one.marking.what))))?;
        let named = resolved(&values, named, &one.marking, &one.array);
        let Found { at, marking, array } = one;
        let (content, order) = arrange(&values, &named, marking, array)
            .map_err(|(place, why)| wrong((if place == 0 { *at } else { place }, why)))?;
        for (index, entry) in array.entries.iter().enumerate() {
            let (piece, square, phase) = order.place(index);
            let Some((ids, negative)) = content.features(piece, square) else { continue };
            let number = entry.number.clone().map_err(|why| wrong((entry.start, why)))?;
            let own = match content.pieces[piece] {
                Some(super::content::Source::Mean(table)) => {
                    format!("{}_material", values.tables.0[table].name)
                }
                // Pieces of several tables have the same names.
                _ => match &values.features[ids[0]] {
                    Feature { name, group } if !name.starts_with(group.as_str()) => format!("{group}_{name}"),
                    Feature { name, .. } => name.clone(),
                },
            };
            let phase = content.phases[phase];
            let name = if named.tied { own } else { format!("{own}_{}", super::values::PHASES[phase]) };
            let plain_units = marking.scale == 1.0 && marking.offset.is_none();
            let bounds = marking.min.zip(marking.max).filter(|_| plain_units);
            numbers.push(MarkedNumber {
                at: *at,
                range: entry.start..entry.end,
                name,
                value: if negative { 0.0 - number.value } else { number.value },
                negative,
                number,
                bounds: bounds.map(|(min, max)| (min[phase], max[phase])),
            });
        }
    }
    Ok(numbers)
}

/// Lists the markers of one text; `shown` gives its language, and is for messages.
pub fn list_text(source: &str, shown: &Path) -> Result<Vec<ListedMarker>> {
    let wrong = wrong_in(source, shown);
    let (found, values) = named(source, shown)?;
    let unknown = |what: &str| format!("no marker in this file has the table of '{what}'");
    let sink = Sink::read(&values, source, shown, &found, unknown)?;
    let mut listed = Vec::new();
    for one in &found {
        let groups = groups_of(one).map_err(wrong)?;
        let tables = groups.len();
        for group in groups {
            let phases = phases_of(one);
            let own: &[usize] = match phases {
                MarkedPhases::Pairs => &[0, 1],
                MarkedPhases::Eg => &[1],
                MarkedPhases::Mg | MarkedPhases::Both => &[0],
            };
            let parameters = group.names.iter().map(|name| {
                let is_own = |feature: &Feature| feature.name == *name && feature.group == group.name;
                let id = values.features.iter().position(is_own).unwrap_or(0);
                let values = own.iter().filter_map(|&phase| sink.value_of(id, phase)).collect();
                MarkedParameter { name: name.clone(), values }
            });
            let squares = group.kind == MarkedKind::Squares;
            listed.push(ListedMarker {
                file: shown.to_path_buf(),
                line: line_of(source, one.at),
                marker: one.marking.what.clone(),
                phases,
                kind: group.kind,
                numbers: one.array.entries.len() / tables,
                first: (squares && one.marking.oriented).then(|| one.marking.order.first()),
                partial: squares && one.marking.order.files == 4,
                min: one.marking.min,
                max: one.marking.max,
                parameters: parameters.collect(),
                name: group.name,
            });
        }
    }
    Ok(listed)
}

struct Group {
    name: String,
    names: Vec<String>,
    kind: MarkedKind,
    untapered: bool,
}

impl Group {
    fn describe(&self, found: &Found) -> String {
        let count = self.names.len();
        let kind = match self.kind {
            MarkedKind::Single => "one value".to_string(),
            MarkedKind::List => format!("a list of {count}"),
            MarkedKind::Squares => format!("{count} squares"),
            MarkedKind::Pieces => format!("{count} pieces"),
        };
        let phases = match phases_of(found) {
            MarkedPhases::Pairs => "in pairs",
            MarkedPhases::Mg => "for the middlegame",
            MarkedPhases::Eg => "for the endgame",
            MarkedPhases::Both => "with one number for both phases",
        };
        format!("{kind} {phases}")
    }
}

/// Values of untapered groups are equal, others unknown.
fn names_of(groups: &[Group]) -> TableValues {
    let feature = |group: &Group, name: &String| Feature { name: name.clone(), group: group.name.clone() };
    let features: Vec<Feature> =
        groups.iter().flat_map(|group| group.names.iter().map(|name| feature(group, name))).collect();
    let untapered: Vec<bool> =
        groups.iter().flat_map(|group| group.names.iter().map(|_| group.untapered)).collect();
    let value = |index: usize| if untapered[index % untapered.len()] { 0.0 } else { f64::NAN };
    let theta = (0..2 * features.len()).map(value).collect();
    TableValues::new(features, theta, false)
}

/// The phases as the name ends, else pairs where the brackets show them.
fn phases_of(found: &Found) -> MarkedPhases {
    let what = &found.marking.what;
    let (rest, tied) = match quoted(what) {
        Ok((_, end)) => (&what[end..], super::values::without_both(&what[end..]).is_some()),
        Err(_) => (what.as_str(), super::values::without_both(what).is_some()),
    };
    match super::values::phases(rest) {
        _ if tied => MarkedPhases::Both,
        Some((_, phases)) if phases == [0] => MarkedPhases::Mg,
        Some(_) => MarkedPhases::Eg,
        None if has_pairs(found) => MarkedPhases::Pairs,
        None => MarkedPhases::Both,
    }
}

fn has_pairs(Found { marking, array, .. }: &Found) -> bool {
    let colors = usize::from(marking.order.colors != Colors::One && !marking.is_colored());
    if array.pairs_inside {
        return colors == 0 || array.entries.len() > 2;
    }
    let Some(shape) = &array.shape else { return false };
    let twos = shape.iter().filter(|&&length| length == 2).count();
    shape.last() == Some(&2) || twos > colors
}

/// None for the piece value of a table.
fn groups_of(found: &Found) -> Result<Vec<Group>, Wrong> {
    let Found { at, marking, array } = found;
    if let Some(index) = array.beside_pairs.filter(|_| ending(&marking.what).1.len() == 2) {
        let why = "a single number stands among pairs of a middlegame and an endgame value; write a pair, too: S(0, 0)";
        let Entry { start, number, .. } = &array.entries[index];
        return Err((*start, number.as_ref().err().cloned().unwrap_or_else(|| why.to_string())));
    }
    let name = match quoted(&marking.what) {
        Ok((name, end)) if ending(&marking.what[end..]).0.is_empty() => name,
        Ok(_) => return Ok(Vec::new()),
        Err(_) => ending(&marking.what).0.to_string(),
    };
    if plain(&name).ends_with(".material") {
        return Ok(Vec::new());
    }
    let phases = phases_of(found);
    let per = if phases == MarkedPhases::Pairs { 2 } else { 1 };
    let elements = array.entries.len() / per;
    let colors = if marking.order.colors == Colors::One { 1 } else { 2 };
    let untapered = phases == MarkedPhases::Both;
    let group = |name: String, names: Vec<String>, kind| Group { name, names, kind, untapered };
    let squares = |name: &str| -> Vec<String> {
        shakmaty::Square::ALL.iter().map(|square| format!("{name}_{square}")).collect()
    };
    let board = marking.order.entries();
    let tables = elements.checked_div(board * colors).filter(|count| count * board * colors == elements);
    if plain(&name) == "pst" && tables.is_some_and(|count| count >= 6) {
        let roles = ROLE_NAMES.iter().map(|role| group(role.to_string(), squares(role), MarkedKind::Squares));
        return Ok(roles.collect());
    }
    let roles = match &marking.pieces {
        Some(pieces) => pieces.iter().flatten().map(|piece| piece.role + 1).max(),
        None if plain(&name) == "material" => [5, 6].into_iter().find(|count| count * colors == elements),
        None => None,
    };
    Ok(vec![if let Some(count) = roles {
        let names = ROLE_NAMES[..count.max(5)].iter().map(|role| role.to_string()).collect();
        group(name, names, MarkedKind::Pieces)
    } else if let Some(rows) = &marking.rows {
        let names = match rows[..] {
            [length] => numbered(&name, &[length]),
            _ => (0..)
                .zip(rows)
                .flat_map(|(row, &length)| numbered(&format!("{name}_{row}"), &[length]))
                .collect(),
        };
        group(name, names, MarkedKind::List)
    } else if tables == Some(1) {
        let names = squares(&name);
        group(name, names, MarkedKind::Squares)
    } else if elements <= colors {
        group(name.clone(), vec![name], MarkedKind::Single)
    } else if marking.square_option.is_some() {
        let why = format!(
            "'{name}' is a table of {}, and the array has {}",
            gputexel_io::counted((board * colors) as u64, "square"),
            gputexel_io::counted(elements as u64, "entry").replace("entrys", "entries")
        );
        return Err((*at, why));
    } else {
        let mut lengths = array.shape.clone().unwrap_or_default();
        if per == 2 && lengths.pop_if(|length| *length == 2).is_none() {
            // Phases come before the entries of each.
            if let Some(phases) = lengths.iter().position(|&length| length == 2) {
                lengths.remove(phases);
            }
        }
        if let Some(axis) = lengths.iter().position(|&length| colors == 2 && length == 2) {
            lengths.remove(axis);
        }
        if lengths.iter().product::<usize>() != elements / colors {
            lengths = vec![elements / colors];
        }
        let names = array.jagged_names(&name, per == 2).unwrap_or_else(|| numbered(&name, &lengths));
        group(name, names, MarkedKind::List)
    }])
}

/// Returns the names of the entries of an array with these lengths, outermost first: `mobility_2_13`.
fn numbered(name: &str, lengths: &[usize]) -> Vec<String> {
    lengths.iter().fold(vec![name.to_string()], |names, &length| {
        names.iter().flat_map(|name| (0..length).map(move |index| format!("{name}_{index}"))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(source: &str) -> Result<Vec<ListedMarker>> {
        list_text(source, Path::new("a.cpp"))
    }

    fn one(source: &str) -> ListedMarker {
        let mut all = listed(source).unwrap();
        assert_eq!(all.len(), 1, "{source}");
        all.remove(0)
    }

    #[test]
    fn brackets_and_endings_say_what_a_number_counts_for() {
        for (source, expected) in [
            ("a\nint a = 5;", "Both Single a=5"),
            ("a.mg\nint a = 5;", "Mg Single a=5"),
            ("a_eg\nint a = -5;", "Eg Single a=-5"),
            ("a\nS a = S(5, 6);", "Pairs Single a=5/6"),
            ("a number 1/2\nx += 4 * (m - 3);", "Pairs Single a=4/3"),
            ("a\nint a[3] = {1, 2, 3};", "Both List a_0=1 a_1=2 a_2=3"),
            ("a\nS a[2] = {S(1, 2), S(3, 4)};", "Pairs List a_0=1/2 a_1=3/4"),
            ("a.mg\nint a[2][2] = {{1, 2}, {3, 4}};", "Mg List a_0_0=1 a_0_1=2 a_1_0=3 a_1_1=4"),
            ("a\nS a[2][1] = {{S(1, 2)}, {S(5, 6)}};", "Pairs List a_0=1/2 a_1=5/6"),
            // Phases outside of rows of three, and rows of different lengths.
            ("a\nint a[2][3] = {{1, 2, 3}, {4, 5, 6}};", "Pairs List a_0=1/4 a_1=2/5 a_2=3/6"),
            ("a.mg\nint a[2][2] = {{1, 2}, 3};", "Mg List a_0_0=1 a_0_1=2 a_1=3"),
            ("a\nS a[2][2] = {{{{1, 2}}, {{3, 4}, {5, 6}}}};", "Pairs List a_0_0=1/2 a_1_0=3/4 a_1_1=5/6"),
            ("a rows 1/1\nS a[2][2] = {{S(1, 2)}, {S(3, 4), S(5, 6)}};", "Pairs List a_0_0=1/2 a_1_0=3/4"),
            ("a.mg colors reversed\nint a[2][3] = {{1, 2, 3}, {3, 2, 1}};", "Mg List a_0=1 a_1=2 a_2=3"),
            (
                "a colors both\nS a[3][2] = {{S(1, 2), S(1, 2)}, {S(3, 4), S(3, 4)}, {S(5, 6), S(5, 6)}};",
                "Pairs List a_0=1/2 a_1=3/4 a_2=5/6",
            ),
            ("a colors negated\nint a[2] = {1, -1};", "Both Single a=1"),
            ("a.mg rows 2/1\nint a[2][3] = {{1, 2, 0}, {3, 0, 0}};", "Mg List a_0_0=1 a_0_1=2 a_1_0=3"),
            ("a.mg rows 2\nint a[3] = {1, 2, 0};", "Mg List a_0=1 a_1=2"),
            (
                "a.both pieces -pnbrq colors negated\nint a[12] = {0,1,2,3,4,5,0,-1,-2,-3,-4,-5};",
                "Both Pieces pawn=1 knight=2 bishop=3 rook=4 queen=5",
            ),
        ] {
            let ListedMarker { phases, kind, parameters, .. } = one(&format!("// gputexel: {source}"));
            let mut shown = format!("{phases:?} {kind:?}");
            for MarkedParameter { name, values } in parameters {
                let values: Vec<String> = values.iter().map(f64::to_string).collect();
                shown += &format!(" {name}={}", values.join("/"));
            }
            assert_eq!(shown, expected, "{source}");
        }
    }

    #[test]
    fn boards_are_listed_from_a1() {
        let numbers: Vec<String> = (0..64).map(|i| i.to_string()).collect();
        let source = format!(
            "// gputexel: knight.mg orientation a8 min -50 max 50/60\nint a[64] = {{{}}};",
            numbers.join(",")
        );
        let found = one(&source);
        assert_eq!(
            (found.kind, found.first, found.name.as_str()),
            (MarkedKind::Squares, Some("a8"), "knight")
        );
        assert_eq!(
            (found.parameters[0].name.as_str(), &found.parameters[0].values[..]),
            ("knight_a1", &[56.0][..])
        );
        assert_eq!((found.min, found.max), (Some([-50.0; 2]), Some([50.0, 60.0])));
        let unsaid = one(&source.replace(" orientation a8", ""));
        assert_eq!((unsaid.first, &unsaid.parameters[0].values[..]), (None, &[0.0][..]));
    }

    #[test]
    fn contradictions_have_their_line() {
        for (source, expected) in [
            (
                "// gputexel: a.mg\nint a[2] = {1, 2};\n// gputexel: a.eg\nint b[3] = {1, 2, 3};",
                "a.cpp:3: 'a.eg' has a list of 3 for the endgame, but 'a.mg' (line 1) has a list of 2 for the middlegame of 'a'; give one of them another name",
            ),
            (
                "// gputexel: a\nint a = 5;\n// gputexel: a.eg\nint b = 5;",
                "'a' (line 1) has one value with one number for both phases of 'a'; give one of them another name, or mark each by its phase: 'a.mg'",
            ),
            (
                "// gputexel: a\nint a = 5;\n// gputexel: a\nint b = 6;",
                "a.cpp:4: 'a.mg' is 6 here and 5 in line 2",
            ),
            ("// gputexel: a\nS a[2] = {\n -S(1, 2), S(3, 4)};", "a.cpp:3: '-S(1, 2)' is not a number"),
            (
                "// gputexel: a.mg colors reversed\nint a[2][3] = {{1, 2, 3},\n{1, 2, 3}};",
                "a.cpp:3: 'a_2.mg' is 1 here and 3 in line 2",
            ),
            (
                "\n// gputexel: a orientation a8\nint a[63] = {1, 2, 3};",
                "a.cpp:2: 'a' is a table of 64 squares",
            ),
            (
                "// gputexel: a\nS a[3] = {\n  S(1, 2),\n  0, S(3, 4)};",
                "a.cpp:4: a single number stands among pairs",
            ),
            ("// gputexel: a\nS a[2][2] = {{S(1, 2), S(3, 4)}, {S(5, 6), 0}};", "a.cpp:2: a single number"),
            ("// gputexel: knight.material\nint a = 5;", "a.cpp:1: no marker in this file has the table"),
            (
                "// gputexel: a_0\nint b = 5;\n// gputexel: a\nint a[3] = {1, 2, 3};",
                "a.cpp:3: marker 'a_0' (line 1) stands for a parameter 'a_0', too",
            ),
            (
                "// gputexel: pawn\nint a = 7;\n// gputexel: material\nint b[5] = {1, 2, 3, 4, 5};",
                "a.cpp:3: marker 'pawn' (line 1) stands for a parameter 'pawn', too",
            ),
        ] {
            let error = listed(source).unwrap_err().to_string();
            assert!(error.contains(expected), "{source}: {error}");
        }
        assert!(listed("int a;").unwrap().is_empty());
    }

    proptest::proptest! {
        #[test]
        fn no_source_panics(parts in proptest::collection::vec(proptest::sample::select(vec![
            "// gputexel: ", "a", "pst", ".mg", " rows 1/2", " colors both", " colors reversed", " pieces -pk", " number 1", "\n", "{1, 2}", "[2]",
            "3", "= ", "{", "}", "(4, 5)", ";", " files 4", " material", " offset material",
        ]), 0..30)) {
            let _ = list_text(&parts.concat(), Path::new("x.rs"));
        }
    }
}
