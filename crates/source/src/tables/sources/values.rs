//! Contents for arrays: the names of a parameter file's tables, their shapes and values.

use std::path::Path;

use super::marker::{quote, quoted};
use gputexel_io::{Error, Result, did_you_mean};
use gputexel_model::{Feature, FeatureTables, ParameterFile};

/// Tuned values by their names in markers.
#[derive(Clone, Debug, PartialEq)]
pub struct TableValues {
    pub(super) features: Vec<Feature>,
    pub(super) tables: FeatureTables,
    /// Middlegame, then endgame values.
    pub(super) theta: Vec<f64>,
    /// True if the order of features is their author's, so that tables of squares have it unless their markers give
    /// another.
    pub(super) own_order: bool,
}

/// Name that a marker may use.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TableName {
    /// The name; `SQUARE` stands for a square.
    pub name: String,
    /// Lengths from the outermost array to the innermost; empty for a single number. Pairs of a middlegame and an
    /// endgame value are a length of 2.
    pub shape: Vec<usize>,
    /// Number of numbers.
    pub numbers: usize,
}

pub(super) const PHASES: [&str; 2] = ["mg", "eg"];

const BOTH: &str = "both";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub place: Place,
    /// 0 for middlegame, 1 for endgame.
    pub phases: Vec<usize>,
    /// True if a number counts in both phases; `phases` then holds the middlegame alone.
    pub tied: bool,
}

impl Named {
    fn new(place: Place, phases: Vec<usize>) -> Self {
        Self { place, phases, tied: false }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Six tables of squares.
    Tables([usize; 6]),
    /// All features of a table.
    Table(usize),
    Feature(usize),
    /// Six piece values, of tables of squares.
    Material([usize; 6]),
    /// The piece value of a table of squares.
    Mean(usize),
}

impl TableValues {
    /// Creates tables of values θ (mg of every feature, then eg of every feature, centipawns).
    ///
    /// # Errors
    /// [`Error::Numeric`] when one is not finite.
    ///
    /// # Panics
    /// If `theta` is not twice as long as the features.
    pub fn try_new(features: Vec<Feature>, theta: Vec<f64>) -> Result<Self> {
        let count = features.len();
        assert_eq!(theta.len(), 2 * count);
        if let Some(index) = theta.iter().position(|value| !value.is_finite()) {
            let name = &features[index % count].name;
            return Err(Error::Numeric(format!("parameter '{name}' is {}", theta[index])));
        }
        Ok(Self { tables: FeatureTables::new(&features), features, theta, own_order: false })
    }

    pub(super) fn names_only(features: Vec<Feature>, own_order: bool) -> Self {
        let theta = vec![f64::NAN; 2 * features.len()];
        Self { tables: FeatureTables::new(&features), theta, features, own_order }
    }

    pub(super) fn with_theta(&self, theta: Vec<f64>) -> Self {
        Self { theta, ..self.clone() }
    }

    /// Reads a parameter file of any feature set; for those that gputexel computes, it must be complete.
    ///
    /// # Errors
    /// Errors of [`ParameterFile::read`] and [`ParameterFile::theta`]; a name that is listed twice.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(&ParameterFile::read(path)?, path)
    }

    /// Converts a file that was read before, as [`read`](Self::read); `path` is for messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of(file: &ParameterFile, path: &Path) -> Result<Self> {
        file.phase.validate()?;
        if let Some(set) = file.computed_set() {
            let theta = file.theta(&set, path)?;
            return Self::try_new(set.features, theta);
        }
        let mut names = std::collections::HashSet::new();
        if let Some(twice) = file.parameters.iter().find(|record| !names.insert(&record.name)) {
            return Err(Error::input(path, format!("parameter '{}' is listed twice", twice.name)));
        }
        let features = crate::tables::features(file);
        let mg = file.parameters.iter().map(|record| record.mg);
        let eg = file.parameters.iter().map(|record| record.eg);
        Ok(Self { own_order: true, ..Self::try_new(features, mg.chain(eg).collect())? })
    }

    /// Returns all names, the largest first.
    pub fn names(&self) -> Vec<TableName> {
        let mut names: Vec<TableName> = Vec::new();
        let mut add = |name: &str, shape: &[usize]| {
            let numbers = shape.iter().product::<usize>();
            // A table of one feature may have the name of its feature.
            if names.iter().any(|known| known.name == name) {
                return;
            }
            names.push(TableName {
                name: name.to_string(),
                shape: [shape, &[2]].concat(),
                numbers: 2 * numbers,
            });
            for phase in PHASES {
                names.push(TableName { name: format!("{name}.{phase}"), shape: shape.to_vec(), numbers });
            }
        };
        let pieces = self.tables.pieces();
        if pieces.is_some() {
            add("pst", &[6, 64]);
        }
        for table in &self.tables.0 {
            match table.ids.len() {
                1 => add(&marker_name(&table.name), &[]),
                count => add(&marker_name(&table.name), &[count]),
            }
        }
        if pieces.is_some() && !self.tables.0.iter().any(|table| table.name == "material") {
            add("material", &[6]);
        }
        for table in self.tables.0.iter().filter(|table| table.is_squares()) {
            add(&format!("{}.material", marker_name(&table.name)), &[]);
        }
        for table in &self.tables.0 {
            match &table.prefix {
                Some(prefix) if *prefix == format!("{}_", table.name) && is_plain(&table.name) => {
                    add(&format!("{}.SQUARE", table.name), &[]);
                }
                _ => table.ids.iter().for_each(|&id| add(&marker_name(&self.features[id].name), &[])),
            }
        }
        names
    }

    /// Tables, and features outside of tables, without any of these names; with `.mg` or `.eg` for only that
    /// phase.
    pub(super) fn unmarked<'n>(&self, names: impl Iterator<Item = &'n Named>) -> Vec<String> {
        let mut marked = [vec![false; self.features.len()], vec![false; self.features.len()]];
        for Named { place, phases, tied } in names {
            let tables = match place {
                Place::Tables(tables) | Place::Material(tables) => &tables[..],
                Place::Table(table) | Place::Mean(table) => std::slice::from_ref(table),
                Place::Feature(_) => &[],
            };
            let single = match place {
                Place::Feature(id) => Some(id),
                _ => None,
            };
            for &id in tables.iter().flat_map(|&table| &self.tables.0[table].ids).chain(single) {
                (0..2)
                    .filter(|phase| *tied || phases.contains(phase))
                    .for_each(|phase| marked[phase][id] = true);
            }
        }
        let named = |name: &str, left: [bool; 2]| match left {
            [true, true] => Some(name.to_string()),
            [false, false] => None,
            [mg, _] => Some(format!("{name}.{}", PHASES[usize::from(!mg)])),
        };
        let mut left = Vec::new();
        for table in &self.tables.0 {
            let all = table.ids.len();
            let counts = [0, 1].map(|phase| table.ids.iter().filter(|&&id| !marked[phase][id]).count());
            // A phase of a table is listed as one unless only some of it is left; features without a table by name.
            let is_uniform = table.is_squares() || counts.iter().all(|&count| count == 0 || count == all);
            if all > 1 && table.name != "parameters" && is_uniform {
                left.extend(named(&table.name, counts.map(|count| count == all)));
            } else if !table.is_squares() {
                let alone =
                    |&id: &usize| named(&self.features[id].name, [0, 1].map(|phase| !marked[phase][id]));
                left.extend(table.ids.iter().filter_map(alone));
            }
        }
        left
    }

    /// Exactly if quoted; otherwise in any case, with dots or underscores, unless there is an exact match.
    pub(super) fn resolve(&self, text: &str) -> Option<Named> {
        self.resolve_phases(text).or_else(|| {
            let Named { place, .. } = self.resolve_phases(without_both(text)?)?;
            Some(Named { place, phases: vec![0], tied: true })
        })
    }

    fn resolve_phases(&self, text: &str) -> Option<Named> {
        if let Ok((name, end)) = quoted(text) {
            let (rest, phases) = phases(&text[end..]).unwrap_or((&text[end..], vec![0, 1]));
            let place = match rest {
                "" => self.place(|other| other == name),
                ".material" => self.mean(|other| other == name),
                _ => None,
            };
            return Some(Named::new(place?, phases));
        }
        // A name may end like that of a phase.
        let ways = [phases(text), Some((text, vec![0, 1]))];
        ways.into_iter().flatten().find_map(|(exact, phases)| {
            let name = plain(exact);
            let alike = |other: &str| plain(other) == name;
            let special = || match name.as_str() {
                "pst" => self.tables.pieces().map(Place::Tables),
                "material" => self.tables.pieces().map(Place::Material),
                _ => {
                    let piece = name.strip_suffix(".material")?;
                    self.mean(|other| plain(other) == piece)
                }
            };
            let place = self.place(|other| other == exact).or_else(|| self.place(alike)).or_else(special);
            Some(Named::new(place?, phases))
        })
    }

    /// Returns a suggestion for an unknown name, as the end of a message.
    pub(super) fn near(&self, text: &str) -> String {
        // Of the same phase, which is seldom wrong.
        let phase = |name: &str| phases(name).map(|(_, phases)| phases);
        let names = self.names().into_iter().map(|name| name.name);
        did_you_mean(text, names.filter(|name| phase(name) == phase(text)))
    }

    /// A table or feature, unless ambiguous; a feature also by the names of its group and itself.
    fn place(&self, named: impl Fn(&str) -> bool) -> Option<Place> {
        let mut tables = (0..self.tables.0.len()).filter(|&table| named(&self.tables.0[table].name));
        let only = |named: &dyn Fn(&Feature) -> bool| {
            let mut features = (0..self.features.len()).filter(|&id| named(&self.features[id]));
            features.next().filter(|_| features.next().is_none())
        };
        match (tables.next(), tables.next()) {
            (Some(table), None) => Some(Place::Table(table)),
            (None, _) => only(&|feature| named(&feature.name))
                .or_else(|| only(&|feature| named(&format!("{}_{}", feature.group, feature.name))))
                .map(Place::Feature),
            _ => None,
        }
    }

    fn mean(&self, named: impl Fn(&str) -> bool) -> Option<Place> {
        match self.place(named)? {
            Place::Table(table) if self.tables.0[table].is_squares() => Some(Place::Mean(table)),
            Place::Feature(id) => Some(Place::Feature(id)),
            _ => None,
        }
    }

    pub(super) fn value(&self, ids: &[usize], phase: usize) -> f64 {
        let value = |id: &usize| self.theta[phase * self.features.len() + id];
        ids.iter().map(value).sum::<f64>() / ids.len() as f64
    }
}

pub(super) fn phases(text: &str) -> Option<(&str, Vec<usize>)> {
    let base_end = text.len().checked_sub(3)?;
    let ending = text.get(base_end..)?.strip_prefix(['.', '_'])?;
    let phase = PHASES.iter().position(|phase| ending.eq_ignore_ascii_case(phase))?;
    Some((&text[..base_end], vec![phase]))
}

pub(super) fn without_both(text: &str) -> Option<&str> {
    let base_end = text.len().checked_sub(BOTH.len() + 1)?;
    let ending = text.get(base_end..)?.strip_prefix(['.', '_'])?;
    ending.eq_ignore_ascii_case(BOTH).then_some(&text[..base_end])
}

pub(super) fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', ".")
}

/// Returns true if a name needs no quotes in a marker.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && phases(name).is_none()
        && !["pst", "material"].contains(&name.to_lowercase().as_str())
        && !name.to_lowercase().ends_with("_material")
}

/// Returns a name as written in markers, quoted if necessary.
pub(crate) fn marker_name(name: &str) -> String {
    match is_plain(name) || name == "material" {
        true => name.to_string(),
        false => quote(name),
    }
}
