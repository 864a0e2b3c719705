//! Parameter files from CSV, UCI options, JSON and marked sources.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

use super::header::Header;
use super::lists::{self, Listed, PHASES};
use super::{Format, NameStyle, check_names};
use crate::languages::Language;
use crate::tables::sources::{ReadTables, read, utf8};
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result, did_you_mean};
use gputexel_model::{
    Feature, FeatureKind, FeatureSet, ParameterFile, ParameterRecord, Phases, Prior, named_parameters,
};

pub fn import_file(file: &Path, like: Option<&Like>) -> Result<Imported> {
    if file.is_dir() {
        return Err(Error::input(file, "is a folder; expected an export"));
    }
    let bytes = gputexel_io::read_whole(file, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(file, e))?;
    import(&bytes, file, like)
}

#[derive(Clone, Debug, PartialEq)]
pub enum Like {
    /// Parameters of a parameter file, which supplies values that the export lacks.
    File(Box<ParameterFile>),
    /// Parameters of a feature set; all must be present.
    Set(Box<FeatureSet>),
}

impl Like {
    /// Reads a parameter file, or that of a run's folder.
    pub fn file(path: &Path) -> Result<Self> {
        Ok(Self::File(Box::new(located(path)?)))
    }

    pub fn set(name: &str) -> Result<Self> {
        let set = FeatureSet::new(FeatureKind::parse(name)?, PhaseSettings::default());
        Ok(Self::Set(Box::new(set)))
    }

    fn features(&self) -> Vec<Feature> {
        match self {
            Self::File(file) => crate::tables::features(file),
            Self::Set(set) => set.features.clone(),
        }
    }

    fn untapered(&self) -> Vec<bool> {
        match self {
            Self::File(file) => file.parameters.iter().map(|record| record.mg == record.eg).collect(),
            Self::Set(set) => {
                let declared = set.imported.iter().flat_map(|imported| &imported.parameters);
                declared.map(|own| own.phases == Phases::Untapered).collect()
            }
        }
    }

    /// Returns a value that may be missing because it is not tuned: that of the phase that a parameter does not have.
    fn kept(&self, index: usize) -> Option<f64> {
        let Self::Set(set) = self else { return None };
        let parameters = &set.imported.as_ref()?.parameters;
        let own = parameters.get(index % parameters.len().max(1))?;
        let phase = index / parameters.len();
        matches!((own.phases, phase), (Phases::Mg, 1) | (Phases::Eg, 0)).then_some(own.prior[phase])
    }

    fn feature_set(&self) -> &str {
        match self {
            Self::File(file) => &file.feature_set,
            Self::Set(set) => set.name(),
        }
    }

    fn phase(&self) -> &PhaseSettings {
        match self {
            Self::File(file) => &file.phase,
            Self::Set(set) => &set.phase,
        }
    }
}

/// Reads a parameter file, that of a run's folder, or values named by a word, such as `pesto`.
pub(super) fn located(path: &Path) -> Result<ParameterFile> {
    if let Some(word) = path.to_str().filter(|text| Prior::is_word(text)) {
        let (set, theta) = named_parameters(word)?;
        return Ok(ParameterFile::new(&set, &theta, None, None));
    }
    let file = ParameterFile::locate(path)?;
    let read = ParameterFile::read(&file)?;
    read.phase.validate().map_err(|error| Error::input(&file, error.to_string()))?;
    check_names(&read).map_err(|reason| Error::input(&file, reason))?;
    Ok(read)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub file: ParameterFile,
    pub format: Format,
    pub notes: Vec<String>,
}

/// Reads JSON, CSV, UCI options, or a source with marked arrays. The parameters are those of `like`, else of the
/// header, else those that the text names.
pub fn import(bytes: &[u8], path: &Path, like: Option<&Like>) -> Result<Imported> {
    let text = utf8(bytes, path)?;
    let header = Header::find(text).map(|(line, header)| header.map_err(|why| Error::line(path, line, why)));
    let header = header.transpose()?;
    let format = format_of(text, path, header.as_ref())?;
    if format == Format::Json {
        return parameter_file(text, path, like);
    }
    let mut notes = Vec::new();
    let known = match (like, &header) {
        (Some(like), _) => Some(like.features()),
        (None, Some(header)) => FeatureKind::parse(&header.feature_set).ok().map(features_of),
        (None, None) => None,
    };
    let style = header.as_ref().and_then(|header| header.style);
    let (values, scale) = match format {
        Format::Code(language) => {
            let features = known.ok_or_else(|| {
                Error::input(path, "does not say which parameters its arrays hold; see --like")
            })?;
            // Features that gputexel computes have an order of their own.
            let own_order = like.is_some_and(|like| FeatureKind::parse(like.feature_set()).is_err());
            let untapered = like.map(Like::untapered).unwrap_or_default();
            let ReadTables { theta, scale, assumed } =
                read(bytes, path, language, features.clone(), own_order, &untapered)?;
            notes.extend(assumed.map(|(order, markers)| {
                let markers = markers.join(", ");
                format!("squares are taken to be {order}, as no marker says otherwise: {markers}")
            }));
            (Assignment { features, theta, path }, scale)
        }
        Format::Csv => (rows(text, path, known)?, 1.0),
        _ => (options(text, path, style, known)?, 1.0),
    };
    let Assignment { features, theta, .. } = values;
    let (feature_set, phase) = whose(like, header.as_ref(), &features, path, &mut notes)?;
    if let Some(header) = header.as_ref().filter(|_| like.is_none())
        && header.features > features.len()
    {
        let reason = format!(
            "has {} of the {} parameters that its header counts; --like supplies the others",
            features.len(),
            header.features
        );
        return Err(Error::input(path, reason));
    }
    let theta = complete(&features, theta, like, path, &mut notes)?;
    let parameters = ParameterRecord::all(&features, &theta);
    let k = match (&header, like) {
        (Some(header), _) => header.k,
        (None, Some(Like::File(file))) => file.k,
        _ => None,
    };
    notes.extend(about_precision(&theta, scale));
    let mut file = ParameterFile::of(&feature_set, phase, k, parameters);
    if let Some(Like::File(like)) = like {
        // gputexel names parameters by their index.
        let names = |file: &ParameterFile| -> Vec<String> {
            file.parameters.iter().map(|record| record.name.clone()).collect()
        };
        file.program = like.program.clone().filter(|_| names(&file) == names(like));
    }
    if let Some(header) = header {
        file.provenance = header.provenance;
    }
    Ok(Imported { file, format, notes })
}

/// Fills in missing values: those of a parameter file, or of a phase that a parameter does not have.
fn complete(
    features: &[Feature],
    mut theta: Vec<f64>,
    like: Option<&Like>,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<f64>> {
    let count = features.len();
    if theta.iter().all(|value| value.is_nan()) {
        return Err(Error::input(path, "contains no parameters"));
    }
    let mut lent = 0;
    for index in (0..theta.len()).filter(|&index| theta[index].is_nan()).collect::<Vec<_>>() {
        theta[index] = match (like.and_then(|like| like.kept(index)), like) {
            (Some(kept), _) => kept,
            (None, Some(Like::File(file))) => {
                lent += 1;
                let record = &file.parameters[index % count];
                [record.mg, record.eg][index / count]
            }
            _ => {
                let (name, phase) = (&features[index % count].name, PHASES[index / count]);
                let reason = format!("parameter '{name}.{phase}' is missing; see --like");
                return Err(Error::input(path, reason));
            }
        };
    }
    if lent > 0 {
        let all = theta.len();
        notes.push(format!("{lent} of {all} values are not in it, and are those of the reference file"));
    }
    if let Some(index) = theta.iter().position(|value| !value.is_finite()) {
        return Err(Error::input(path, format!("parameter '{}' is too large", features[index % count].name)));
    }
    Ok(theta)
}

/// Describes the precision lost by rounding to 1/`scale` centipawn.
fn about_precision(theta: &[f64], scale: f64) -> Option<String> {
    if theta.iter().all(|value| value.fract() == 0.0) {
        return Some("values are whole centipawns; decimals are lost".to_string());
    }
    (scale != 1.0).then(|| format!("values are rounded to 1/{scale} centipawn"))
}

fn format_of(text: &str, path: &Path, header: Option<&Header>) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).and_then(Format::of_ending);
    let by_header = || {
        let header = header?;
        Some(header.format.parse::<Format>().map_err(|_| {
            Error::input(path, format!("is an export of a format '{}' that is not known", header.format))
        }))
    };
    match ending.map(Ok).or_else(by_header).transpose()? {
        Some(Format::Params) => {
            return Err(Error::input(path, "is a .params file, from which no values are read"));
        }
        Some(format) => return Ok(format),
        None => {}
    }
    let lines = || text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
    let first = lines().find(|line| !line.is_empty()).unwrap_or_default();
    let is_option = |line: &str| line.to_ascii_lowercase().starts_with("setoption");
    let titles: Vec<String> = first.split(',').map(|title| title.trim().to_ascii_lowercase()).collect();
    let has = |title: &str| titles.iter().any(|own| own == title);
    if first.starts_with('{') {
        Ok(Format::Json)
    } else if lines().any(is_option) {
        Ok(Format::Uci)
    } else if has("name") && has("mg") && has("eg") {
        Ok(Format::Csv)
    } else if text.contains("gputexel:") {
        Ok(Format::Code(Language::C))
    } else {
        Err(Error::input(
            path,
            "is not an export: no JSON, CSV with name, mg and eg, setoption lines, or arrays marked 'gputexel: NAME'",
        ))
    }
}

fn features_of(kind: FeatureKind) -> Vec<Feature> {
    FeatureSet::new(kind, PhaseSettings::default()).features
}

fn parameter_file(text: &str, path: &Path, like: Option<&Like>) -> Result<Imported> {
    let file = ParameterFile::parse(text, path)?;
    file.phase.validate().map_err(|error| Error::input(path, error.to_string()))?;
    check_names(&file).map_err(|reason| Error::input(path, reason))?;
    if let Some(set) = file.computed_set() {
        file.theta(&set, path)?;
    }
    if let Some(like) = like {
        let features = like.features();
        let wanted: HashSet<&String> = features.iter().map(|feature| &feature.name).collect();
        let names: HashSet<&String> = file.parameters.iter().map(|record| &record.name).collect();
        if let Some(other) = file.parameters.iter().find(|record| !wanted.contains(&record.name)) {
            let reason = format!("'{}' is not a parameter of the reference", other.name);
            return Err(Error::input(path, reason));
        }
        if let Some(missing) = wanted.iter().find(|name| !names.contains(*name)) {
            return Err(Error::input(path, format!("parameter '{missing}' is missing")));
        }
        if *like.phase() != file.phase {
            return Err(other_phase(path, &file.phase, like.phase()));
        }
    }
    Ok(Imported { file, format: Format::Json, notes: Vec::new() })
}

fn other_phase(path: &Path, own: &PhaseSettings, other: &PhaseSettings) -> Error {
    let reason = format!("its phase weights are {own}, those of the reference are {other}");
    Error::input(path, reason)
}

fn rows<'a>(text: &str, path: &'a Path, known: Option<Vec<Feature>>) -> Result<Assignment<'a>> {
    let rows = lists::read_csv(text, path)?;
    let features = known.unwrap_or_else(|| rows.iter().map(|(_, feature, _)| feature.clone()).collect());
    let ids: HashMap<String, usize> =
        features.iter().enumerate().map(|(id, feature)| (feature.name.clone(), id)).collect();
    let mut values = Assignment::new(features, path);
    for (line, Feature { name, .. }, [mg, eg]) in &rows {
        let id = *ids.get(name).ok_or_else(|| {
            let near = did_you_mean(name, ids.keys().cloned());
            let why = format!("'{name}' is not a parameter of the reference or the header{near}");
            Error::line(path, *line, why)
        })?;
        values.set(id, 0, *mg, *line)?;
        values.set(id, 1, *eg, *line)?;
    }
    Ok(values)
}

fn options<'a>(
    text: &str,
    path: &'a Path,
    style: Option<NameStyle>,
    known: Option<Vec<Feature>>,
) -> Result<Assignment<'a>> {
    let listed = lists::read_uci(text, path)?;
    let features = match known {
        Some(features) => features,
        None if style.is_some() => {
            let reason =
                "its names are in a style from which those of the parameters cannot be told; see --like";
            return Err(Error::input(path, reason));
        }
        None => named_by_options(&listed, path)?,
    };
    let names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
    let mut places: HashMap<String, (usize, Range<usize>)> = HashMap::new();
    for (id, pair) in lists::option_names(&names, style)?.into_iter().enumerate() {
        for (phase, option) in pair.into_iter().enumerate() {
            places.entry(option.to_lowercase()).or_insert((id, phase..phase + 1));
        }
    }
    // The names that markers and schemas use: `NAME.mg`, `NAME.eg`, and `NAME` for both, also after that of the group.
    for (id, Feature { name, group }) in features.iter().enumerate() {
        for name in [name.to_lowercase(), format!("{group}_{name}").to_lowercase()] {
            places.entry(format!("{name}.mg")).or_insert((id, 0..1));
            places.entry(format!("{name}.eg")).or_insert((id, 1..2));
            places.entry(name).or_insert((id, 0..2));
        }
    }
    let mut values = Assignment::new(features, path);
    for Listed { line, name, value } in listed {
        let (id, phases) = places.get(&name.to_lowercase()).cloned().ok_or_else(|| {
            let near = did_you_mean(&name.to_lowercase(), places.keys().cloned());
            Error::line(path, line, format!("option '{name}' is not a parameter{near}"))
        })?;
        for phase in phases {
            values.set(id, phase, value, line)?;
        }
    }
    Ok(values)
}

fn named_by_options(listed: &[Listed], path: &Path) -> Result<Vec<Feature>> {
    let mut features = Vec::new();
    let mut seen = HashSet::new();
    for Listed { line, name, .. } in listed {
        let Some(feature) = name.strip_suffix(".mg").or_else(|| name.strip_suffix(".eg")) else {
            let why = format!("option '{name}' is not called NAME.mg or NAME.eg; see --like");
            return Err(Error::line(path, *line, why));
        };
        if seen.insert(feature.to_string()) {
            features.push(Feature { name: feature.to_string(), group: String::new() });
        }
    }
    Ok(features)
}

struct Assignment<'a> {
    features: Vec<Feature>,
    theta: Vec<f64>,
    path: &'a Path,
}

impl<'a> Assignment<'a> {
    fn new(features: Vec<Feature>, path: &'a Path) -> Self {
        Self { theta: vec![f64::NAN; 2 * features.len()], features, path }
    }

    fn set(&mut self, id: usize, phase: usize, value: f64, line: u64) -> Result<()> {
        let slot = &mut self.theta[phase * self.features.len() + id];
        if slot.is_nan() {
            *slot = value;
            return Ok(());
        }
        let reason = format!("parameter '{}.{}' is listed twice", self.features[id].name, PHASES[phase]);
        Err(Error::line(self.path, line, reason))
    }
}

fn whose(
    like: Option<&Like>,
    header: Option<&Header>,
    features: &[Feature],
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<(String, PhaseSettings)> {
    if features.is_empty() {
        return Err(Error::input(path, "contains no parameters"));
    }
    match (like, header) {
        (Some(like), Some(header)) if *like.phase() != header.phase => {
            Err(other_phase(path, &header.phase, like.phase()))
        }
        (Some(like), header) => {
            if header.is_none() {
                notes.push(
                    "no header: phase weights (and K, if known) are those of the reference".to_string(),
                );
            }
            Ok((like.feature_set().to_string(), like.phase().clone()))
        }
        (None, Some(header)) => Ok((header.feature_set.clone(), header.phase.clone())),
        (None, None) => {
            notes.push("no header: the usual phase weights are taken, K is not known".to_string());
            let same = |kind: &FeatureKind| {
                let known = features_of(*kind);
                known.len() == features.len()
                    && known.iter().all(|known| features.iter().any(|own| own.name == known.name))
            };
            let kind = FeatureKind::computed().find(same);
            Ok((kind.map_or("imported", FeatureKind::name).to_string(), PhaseSettings::default()))
        }
    }
}
