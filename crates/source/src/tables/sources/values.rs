//! Contents for arrays: the names of a parameter file's tables, their shapes and values.

use std::path::Path;

use super::marker::{quote, quoted};
use gputexel_io::run_folder::{parameters_at, run_of};
use gputexel_io::{Error, Result, did_you_mean};
use gputexel_model::{Feature, FeatureTables, ParameterFile, SINGLE_VALUES};
use serde::Deserialize;

/// Tuned values by their names in markers.
#[derive(Clone, Debug, PartialEq)]
pub struct TableValues {
    pub(super) features: Vec<Feature>,
    pub(super) tables: FeatureTables,
    pub(super) theta: Vec<f64>,
    /// True if the order of features is their author's, so that tables of squares have it unless their markers give
    /// another.
    pub(super) own_order: bool,
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
    Tables([usize; 6]),
    Table(usize),
    Feature(usize),
    Material([usize; 6]),
    Mean(usize),
}

impl TableValues {
    pub fn try_new(features: Vec<Feature>, theta: Vec<f64>) -> Result<Self> {
        let count = features.len();
        assert_eq!(theta.len(), 2 * count);
        if let Some(index) = theta.iter().position(|value| !value.is_finite()) {
            let name = &features[index % count].name;
            return Err(Error::Numeric(format!("parameter '{name}' is {}", theta[index])));
        }
        Ok(Self::new(features, theta, false))
    }

    /// Without checks; NaN are unknown values.
    pub(super) fn new(features: Vec<Feature>, theta: Vec<f64>, own_order: bool) -> Self {
        Self { tables: FeatureTables::new(&features), theta, features, own_order }
    }

    pub(super) fn with_theta(&self, theta: Vec<f64>) -> Self {
        Self { theta, ..self.clone() }
    }

    /// Reads a parameter file of any feature set; for those that gputexel computes, it must be complete.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(&ParameterFile::read(path)?, path)
    }

    /// Converts a file that was read before, as [`read`](Self::read); `path` is for messages.
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

    /// Tables of which a value has none of these names, although it is another than at the start.
    pub(super) fn unmarked<'n>(
        &self,
        known: &KnownValues,
        names: impl Iterator<Item = &'n Named>,
    ) -> Vec<String> {
        let count = self.features.len();
        let start = known.start.as_ref();
        let stays = |at: usize| start.is_some_and(|start| start.theta[at] == self.theta[at]);
        let mut marked: Vec<[bool; 2]> = (0..count).map(|id| [stays(id), stays(count + id)]).collect();
        for Named { place, phases, tied } in names {
            let ids: Vec<usize> = match place {
                Place::Tables(tables) | Place::Material(tables) => {
                    tables.iter().flat_map(|&table| self.tables.0[table].ids.clone()).collect()
                }
                Place::Table(table) | Place::Mean(table) => self.tables.0[*table].ids.clone(),
                Place::Feature(id) => vec![*id],
            };
            for id in ids {
                (0..2).for_each(|phase| marked[id][phase] |= *tied || phases.contains(&phase));
            }
        }
        let left = self.tables.0.iter().flat_map(|table| {
            let ids = table.ids.iter().filter(|&&id| marked[id] != [true; 2]);
            let is_table = table.name != SINGLE_VALUES;
            let names = ids.map(move |&id| if is_table { &table.name } else { &self.features[id].name });
            names.take(if is_table { 1 } else { usize::MAX })
        });
        left.cloned().collect()
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

    pub(super) fn near(&self, text: &str) -> String {
        let tables = self.tables.0.iter().map(|table| table.name.clone());
        let features = self.features.iter().map(|feature| feature.name.clone());
        let phase = phases(text).map_or("", |(name, _)| &text[name.len()..]);
        let names = tables.chain(features).map(|own| marker_name(&own) + phase);
        did_you_mean(text, names)
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

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && phases(name).is_none()
        && !["pst", "material"].contains(&name.to_lowercase().as_str())
        && !name.to_lowercase().ends_with("_material")
}

pub(crate) fn marker_name(name: &str) -> String {
    if is_plain(name) || name == "material" { name.to_string() } else { quote(name) }
}

/// The fields of `run.json` that identify a run, and its start.
#[derive(Deserialize)]
struct StartRecord {
    config: StartConfig,
}

#[derive(Deserialize)]
struct StartConfig {
    prior: String,
    seed: u64,
    /// θ at the start: middlegame, then endgame values, centipawns.
    start: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    pub(super) start: Option<TableValues>,
    pub(super) given: Option<TableValues>,
}

impl KnownValues {
    /// Finds the start of the run that produced a parameter file: `run.json`, in the folder given or in that of the
    /// file, if it is of the same run. `given` are the values that the sources hold according to the user, a parameter
    /// file or the folder of a run.
    pub fn find(values: &TableValues, params: &Path, given: Option<&Path>) -> Result<Self> {
        let given = given.map(|path| same_parameters(values, path)).transpose()?;
        Ok(Self { start: start_of_run(values, params)?, given })
    }
}

/// Returns the θ that the run of a parameter file started from, in the order of its parameters; `None` if its folder
/// has no record of the run.
pub fn start_of(path: &Path) -> Result<Option<Vec<f64>>> {
    let values = TableValues::read(path)?;
    Ok(start_of_run(&values, path)?.map(|start| start.theta))
}

fn same_parameters(values: &TableValues, path: &Path) -> Result<TableValues> {
    let other = TableValues::read(path)?;
    let places: std::collections::HashMap<&str, usize> =
        other.features.iter().enumerate().map(|(id, feature)| (feature.name.as_str(), id)).collect();
    let count = other.features.len();
    let mut theta = [Vec::new(), Vec::new()];
    for feature in &values.features {
        let &id = places.get(feature.name.as_str()).ok_or_else(|| {
            Error::input(
                path,
                format!("parameter '{}' is missing; it must have those of PARAMS", feature.name),
            )
        })?;
        theta[0].push(other.theta[id]);
        theta[1].push(other.theta[count + id]);
    }
    Ok(values.with_theta(theta.concat()))
}

fn start_of_run(values: &TableValues, params: &Path) -> Result<Option<TableValues>> {
    let file = parameters_at(params);
    let record = run_of(params).join("run.json");
    // Anything but a regular file of this name is not a record, and might never end.
    if !std::fs::metadata(&record).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let text = gputexel_io::read_whole_text(&record, gputexel_io::SETTINGS_BYTES)
        .map_err(|e| Error::io(&record, e))?;
    // Other programs and versions may use a file of this name.
    let Ok(StartRecord { config }) = serde_json::from_str::<StartRecord>(&text) else { return Ok(None) };
    let provenance = ParameterFile::read(&file)?.provenance;
    let same = provenance.prior == config.prior
        && provenance.seed == config.seed
        && config.start.len() == values.theta.len()
        && config.start.iter().all(|value| value.is_finite());
    Ok(same.then(|| values.with_theta(config.start)))
}
