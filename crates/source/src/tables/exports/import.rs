//! Parameter files from exports.
//!
//! Detects the format, and the parameters of the values if the text alone does not name them. Notes list what an export
//! has lost.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::header::Header;
use super::like::{Like, LikeSource};
use super::lists::{self, Listed};
use super::missing::{about_precision, complete, with_left_out};
use super::params;
use super::{Format, NameStyle};
use crate::languages::Language;
use crate::tables::Remedy;
use crate::tables::sources::{Precision, ReadAs, ReadTables, read, start_of, utf8};
use gputexel_chess::PhaseSettings;
use gputexel_io::{Error, Result, did_you_mean};
use gputexel_model::{Feature, FeatureKind, FeatureSet, ParameterFile, ParameterRecord};

/// Request to [`import_files`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportRequest {
    /// The export, or the sources that together have the values. Several need [`like`](Self::like).
    pub files: Vec<PathBuf>,
    /// Source of its parameters; by default, the header of the file.
    pub like: Option<LikeSource>,
    /// True to read arrays as marked even if known values contradict the markers.
    pub trust: bool,
}

/// Reads exports from files. The start of the run that produced a [`LikeSource::File`] also counts as known values of
/// its sources.
///
/// # Errors
/// Errors of [`import_as`] and of reading the files; files with different values for a parameter.
pub fn import_files(request: &ImportRequest) -> Result<Imported> {
    let ImportRequest { files, like, trust } = request;
    let reference = like.as_ref().map(LikeSource::read).transpose()?;
    let start = match like {
        Some(LikeSource::File(path)) => start_of(path)?,
        _ => None,
    };
    let check = ArrayCheck { start, trust: *trust };
    let read = |file: &PathBuf| {
        if file.is_dir() {
            return Err(Error::input(file, "is a folder; expected an export"));
        }
        gputexel_io::read_whole(file, gputexel_io::SETTINGS_BYTES).map_err(|error| Error::io(file, error))
    };
    let texts: Vec<Vec<u8>> = files.iter().map(read).collect::<Result<_>>()?;
    let all: Vec<(&[u8], &Path)> =
        texts.iter().map(Vec::as_slice).zip(files.iter().map(PathBuf::as_path)).collect();
    import_all(&all, reference.as_ref(), &check)
}

/// Result of reading an export.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The parameters.
    pub file: ParameterFile,
    /// Detected format.
    pub format: Format,
    /// Notes on what the text lacks, one line each.
    pub notes: Vec<String>,
}

/// Values of some parameters; NaN if missing.
#[derive(Default)]
struct Values {
    features: Vec<Feature>,
    theta: Vec<f64>,
    precision: Option<Precision>,
    records: Option<Vec<ParameterRecord>>,
}

/// Reads an export of any format. Its parameters are those of `like`, else of its header, else those that it names.
///
/// # Errors
/// [`Error::Input`] with the line if it is not an export, does not match `like`, or lacks a value.
pub fn import(bytes: &[u8], path: &Path, like: Option<&Like>) -> Result<Imported> {
    import_as(bytes, path, like, &ArrayCheck::default())
}

/// Comparison of arrays with known values.
#[derive(Clone, Debug, Default)]
pub struct ArrayCheck {
    /// θ from which the values of [`Like::File`] were tuned, in the order of its parameters.
    pub start: Option<Vec<f64>>,
    /// True to read arrays as marked even if known values contradict the markers.
    pub trust: bool,
}

/// Reads as [`import`], but rejects arrays whose numbers are known values in another order than marked.
///
/// # Errors
/// As [`import`].
pub fn import_as(bytes: &[u8], path: &Path, like: Option<&Like>, check: &ArrayCheck) -> Result<Imported> {
    import_all(&[(bytes, path)], like, check)
}

/// Reads as [`import_as`], from several texts with parts of the values.
fn import_all(texts: &[(&[u8], &Path)], like: Option<&Like>, check: &ArrayCheck) -> Result<Imported> {
    let names: Vec<String> = texts.iter().map(|(_, path)| path.display().to_string()).collect();
    let whole = PathBuf::from(names.join(", "));
    if texts.len() > 1 && like.is_none() {
        let reason = "are several files, none of which says which parameters there are";
        return Err(Error::input(&whole, reason).advise(Remedy::Like));
    }
    let (mut all, mut notes): (Option<Part>, Vec<String>) = (None, Vec::new());
    for (bytes, path) in texts {
        let part = match read_part(bytes, path, like, check, &mut notes)? {
            Text::Whole(imported) if texts.len() == 1 => return Ok(*imported),
            Text::Whole(_) => {
                return Err(Error::input(path, "is a parameter file, which is whole by itself"));
            }
            Text::Part(part) => *part,
        };
        match &mut all {
            None => all = Some(part),
            Some(all) => all.add(part, path)?,
        }
    }
    let Some(Part { header, format, values }) = all else {
        return Err(Error::Usage("no file to read values from".to_string()));
    };
    assembled(&whole, like, header, format, values, notes)
}

/// Parsed text.
enum Text {
    /// A parameter file.
    Whole(Box<Imported>),
    /// Values of some parameters.
    Part(Box<Part>),
}

/// Contents of a text that has values.
struct Part {
    header: Option<Header>,
    format: Format,
    values: Values,
}

impl Part {
    /// Adds the values of another text, which has the same parameters.
    fn add(&mut self, other: Self, path: &Path) -> Result<()> {
        self.header = self.header.take().or(other.header);
        let count = self.values.features.len();
        for (index, new) in other.values.theta.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let own = &mut self.values.theta[index];
            if !own.is_nan() && own != new {
                let (name, phase) = (&self.values.features[index % count].name, ["mg", "eg"][index / count]);
                let reason = format!("parameter '{name}.{phase}' is {new} here and {own} in a file before");
                return Err(Error::input(path, reason));
            }
            *own = *new;
        }
        if let Some(theirs) = other.values.precision {
            let own = self.values.precision.get_or_insert(theirs);
            own.decimals = own.decimals.max(theirs.decimals);
            own.scale = own.scale.max(theirs.scale);
        }
        let records = self.values.records.get_or_insert_default();
        records.extend(other.values.records.unwrap_or_default());
        Ok(())
    }
}

/// Reads the values of a text.
fn read_part(
    bytes: &[u8],
    path: &Path,
    like: Option<&Like>,
    check: &ArrayCheck,
    notes: &mut Vec<String>,
) -> Result<Text> {
    let text = utf8(bytes, path)?;
    let header = match Header::find(text) {
        Some((line, header)) => Some(header.map_err(|why| Error::line(path, line, why))?),
        None => None,
    };
    let format = format_of(text, path, header.as_ref())?;
    if format == Format::Json {
        return Ok(Text::Whole(Box::new(parameter_file(text, path, like)?)));
    }
    let known = match (like, &header) {
        (Some(like), _) => Some(like.features()),
        (None, Some(header)) => FeatureKind::parse(&header.feature_set).ok().map(features_of),
        (None, None) => None,
    };
    let values = match format {
        Format::Code(language) => {
            let (start, trust) = (check.start.clone(), check.trust);
            let theta = match like {
                Some(Like::File(file)) => {
                    let mg = file.parameters.iter().map(|record| record.mg);
                    Some(mg.chain(file.parameters.iter().map(|record| record.eg)).collect())
                }
                _ => None,
            };
            // Features that gputexel computes have an order of their own.
            let own_order = like.is_some_and(|like| FeatureKind::parse(like.feature_set()).is_err());
            let untapered = like.map(Like::untapered).unwrap_or_default();
            let read_as = ReadAs { features: known, like: theta, start, own_order, untapered, trust };
            code(bytes, path, language, read_as, notes)?
        }
        Format::Csv => rows(text, path, header.as_ref(), known)?,
        Format::Params => params_lines(text, path, header.as_ref(), known)?,
        _ => options(text, path, header.as_ref(), known)?,
    };
    Ok(Text::Part(Box::new(Part { header, format, values })))
}

/// Returns the parameters composed of all values.
fn assembled(
    path: &Path,
    like: Option<&Like>,
    header: Option<Header>,
    format: Format,
    Values { features, theta, precision, records }: Values,
    mut notes: Vec<String>,
) -> Result<Imported> {
    let (feature_set, phase) = whose(like, header.as_ref(), &features, path, &mut notes)?;
    if let Some(header) = header.as_ref().filter(|_| like.is_none())
        && header.features > features.len()
    {
        let reason =
            format!("has {} of the {} parameters that its header counts", features.len(), header.features);
        return Err(Error::input(path, reason).advise(Remedy::LendValues));
    }
    let theta = with_left_out(&features, theta, header.as_ref());
    let theta = complete(&features, theta, like, path, &mut notes)?;
    let count = features.len();
    let record = |(id, feature): (usize, &Feature)| ParameterRecord {
        name: feature.name.clone(),
        group: feature.group.clone(),
        mg: theta[id],
        eg: theta[count + id],
        occurrences: None,
        errors: None,
        bootstrap: None,
    };
    let mut parameters: Vec<ParameterRecord> = features.iter().enumerate().map(record).collect();
    if let Some(records) = records {
        let extras: HashMap<&str, &ParameterRecord> =
            records.iter().map(|record| (record.name.as_str(), record)).collect();
        for record in &mut parameters {
            if let Some(extra) = extras.get(record.name.as_str()) {
                (record.occurrences, record.errors) = (extra.occurrences, extra.errors);
            }
        }
    }
    let k = match (&header, like) {
        (Some(header), _) => header.k,
        (None, Some(Like::File(file))) => file.k,
        _ => None,
    };
    notes.extend(about_precision(&theta, precision));
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

/// Returns the format by the ending of the file, the header, or the look of the text.
fn format_of(text: &str, path: &Path, header: Option<&Header>) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).and_then(Format::of_ending);
    if let Some(format) = ending {
        return Ok(format);
    }
    if let Some(header) = header {
        return header.format.parse().map_err(|_| {
            Error::input(path, format!("is an export of a format '{}' that is not known", header.format))
        });
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
            "is not an export: it has neither marked arrays ('gputexel: NAME'), nor JSON, CSV with name, mg and eg, or setoption lines",
        ))
    }
}

fn features_of(kind: FeatureKind) -> Vec<Feature> {
    FeatureSet::new(kind, PhaseSettings::default()).features
}

/// Reads a text that already is a parameter file, checks it and compares it with `like`.
fn parameter_file(text: &str, path: &Path, like: Option<&Like>) -> Result<Imported> {
    let file = ParameterFile::parse(text, path)?;
    file.phase.validate().map_err(|error| Error::input(path, error.to_string()))?;
    let mut names = std::collections::HashSet::new();
    if let Some(twice) = file.parameters.iter().find(|record| !names.insert(&record.name)) {
        return Err(Error::input(path, format!("parameter '{}' is listed twice", twice.name)));
    }
    if let Some(set) = file.computed_set() {
        file.theta(&set, path)?;
    }
    if let Some(like) = like {
        let features = like.features();
        let wanted: std::collections::HashSet<&String> =
            features.iter().map(|feature| &feature.name).collect();
        if let Some(other) = file.parameters.iter().find(|record| !wanted.contains(&record.name)) {
            let reason = format!("'{}' is not a parameter of the reference", other.name);
            return Err(Error::input(path, reason).advise(Remedy::OtherLike));
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
    Error::input(path, reason).advise(Remedy::OtherLike)
}

fn code(
    bytes: &[u8],
    path: &Path,
    language: Language,
    read_as: ReadAs,
    notes: &mut Vec<String>,
) -> Result<Values> {
    let ReadTables { features, theta, precision, both_colors, halves, taken, doubts } =
        read(bytes, path, language, read_as)?;
    notes.extend(doubts.into_iter().map(|doubt| format!("{doubt}; the marker was trusted")));
    if let Some((order, markers)) = taken {
        let first = &markers[0];
        let more = match markers.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        notes.push(format!(
            "squares are taken to be {order}, as no marker says otherwise and nothing confirms it: {first}{more}"
        ));
    }
    if both_colors {
        notes.push("both colors' tables are there, and agree".to_string());
    }
    if halves {
        notes.push("half tables: squares that mirror each other have the same values".to_string());
    }
    Ok(Values { features, theta, precision: Some(precision), records: None })
}

fn rows(text: &str, path: &Path, header: Option<&Header>, known: Option<Vec<Feature>>) -> Result<Values> {
    let records = lists::read_csv(text, path)?;
    let scale = header.map_or(1.0, |header| header.scale);
    let features = known.unwrap_or_else(|| {
        let own =
            |record: &ParameterRecord| Feature { name: record.name.clone(), group: record.group.clone() };
        records.iter().map(own).collect()
    });
    let mut values = Assignment::new(features, path);
    for record in &records {
        let id = values.id(&record.name, None)?;
        values.set(id, 0, record.mg / scale, None)?;
        values.set(id, 1, record.eg / scale, None)?;
    }
    Ok(values.scaled(scale, Some(records)))
}

fn options(text: &str, path: &Path, header: Option<&Header>, known: Option<Vec<Feature>>) -> Result<Values> {
    let listed = lists::read_uci(text, path)?;
    let (style, prefix, scale) =
        header.map_or((None, "", 1.0), |header| (header.style, header.prefix.as_str(), header.scale));
    let features = match known {
        Some(features) => features,
        None if style.is_some() => {
            let reason = "its names are in a style from which those of the parameters cannot be told";
            return Err(Error::input(path, reason).advise(Remedy::Like));
        }
        None => named_by_options(&listed, path, prefix)?,
    };
    let names: Vec<&str> = features.iter().map(|feature| feature.name.as_str()).collect();
    let mut places = Places::default();
    for (id, pair) in lists::option_names(&names, style, prefix)?.into_iter().enumerate() {
        for (phase, option) in pair.into_iter().enumerate() {
            places.add(option.to_lowercase(), id, phase..phase + 1);
        }
    }
    places.add_own(&features, |name| name.to_lowercase());
    assigned(&listed, features, path, scale, |name| {
        places
            .find(&name.to_lowercase())
            .map_err(|near| (format!("option '{name}' is not a parameter{near}"), None))
    })
}

/// Returns the values of a `.params` file. A parameter may have a line for each phase, or one for both.
fn params_lines(
    text: &str,
    path: &Path,
    header: Option<&Header>,
    known: Option<Vec<Feature>>,
) -> Result<Values> {
    let listed = params::read(text, path)?;
    let (style, prefix, scale) = header.map_or((Some(NameStyle::Snake), "", 1.0), |header| {
        (header.style, header.prefix.as_str(), header.scale)
    });
    let features = known.ok_or_else(|| {
        let reason = "its names are those of a source, from which those of the parameters cannot be told";
        Error::input(path, reason).advise(Remedy::Like)
    })?;
    let mut places = Places::default();
    for untapered in [false, true] {
        let names = params::Names { style, prefix, untapered };
        for (id, feature) in features.iter().enumerate() {
            for (phase, name) in names.of(&feature.name).into_iter().enumerate() {
                places.add(name, id, if untapered { 0..2 } else { phase..phase + 1 });
            }
        }
    }
    places.add_own(&features, str::to_string);
    assigned(&listed, features, path, scale, |name| {
        places.find(name).map_err(|near| {
            let remedy = near.is_empty().then_some(Remedy::OtherLike);
            (format!("'{name}' is not a parameter{near}"), remedy)
        })
    })
}

/// Place of a value, or the reason why there is none and its remedy.
type Found = std::result::Result<(usize, Range<usize>), (String, Option<Remedy>)>;

/// Returns the values of a list, in the places of their names.
fn assigned(
    listed: &[Listed],
    features: Vec<Feature>,
    path: &Path,
    scale: f64,
    find: impl Fn(&str) -> Found,
) -> Result<Values> {
    let mut values = Assignment::new(features, path);
    for Listed { line, name, value } in listed {
        let (id, phases) = find(name).map_err(|(why, remedy)| match remedy {
            Some(remedy) => Error::line(path, *line, why).advise(remedy),
            None => Error::line(path, *line, why),
        })?;
        for phase in phases {
            values.set(id, phase, value / scale, Some(*line))?;
        }
    }
    Ok(values.scaled(scale, None))
}

/// Values by name: a parameter and its phases.
#[derive(Default)]
struct Places(HashMap<String, (usize, Range<usize>)>);

impl Places {
    /// Adds a name unless it is taken.
    fn add(&mut self, name: String, id: usize, phases: Range<usize>) {
        self.0.entry(name).or_insert((id, phases));
    }

    /// Adds the names that markers and schemas use: `NAME.mg`, `NAME.eg`, and `NAME` for both, also after that of the
    /// group. `written` normalizes them for comparison.
    fn add_own(&mut self, features: &[Feature], written: impl Fn(&str) -> String) {
        for (id, Feature { name, group }) in features.iter().enumerate() {
            for name in [name.clone(), format!("{group}_{name}")] {
                self.add(written(&format!("{name}.mg")), id, 0..1);
                self.add(written(&format!("{name}.eg")), id, 1..2);
                self.add(written(&name), id, 0..2);
            }
        }
    }

    /// Returns the values of a name, or a message ending with a suggested name.
    fn find(&self, name: &str) -> std::result::Result<(usize, Range<usize>), String> {
        self.0.get(name).cloned().ok_or_else(|| did_you_mean(name, self.0.keys().cloned()))
    }
}

/// Returns the features whose parameters the options name.
fn named_by_options(listed: &[Listed], path: &Path, prefix: &str) -> Result<Vec<Feature>> {
    let mut features = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for Listed { line, name, .. } in listed {
        let feature = name.strip_prefix(prefix).and_then(|name| name.get(..name.len().checked_sub(3)?));
        let (Some(feature), true) = (feature, name.ends_with(".mg") || name.ends_with(".eg")) else {
            let why = format!("option '{name}' is not called {prefix}NAME.mg or {prefix}NAME.eg");
            return Err(Error::line(path, *line, why).advise(Remedy::Like));
        };
        if seen.insert(feature.to_string()) {
            features.push(Feature { name: feature.to_string(), group: String::new() });
        }
    }
    Ok(features)
}

/// Values by name, each once.
struct Assignment<'a> {
    features: Vec<Feature>,
    ids: HashMap<String, usize>,
    theta: Vec<f64>,
    path: &'a Path,
}

impl<'a> Assignment<'a> {
    fn new(features: Vec<Feature>, path: &'a Path) -> Self {
        let ids = features.iter().enumerate().map(|(id, feature)| (feature.name.clone(), id)).collect();
        Self { ids, theta: vec![f64::NAN; 2 * features.len()], features, path }
    }

    /// Returns the values, which were rounded in units of 1/`scale`.
    fn scaled(self, scale: f64, records: Option<Vec<ParameterRecord>>) -> Values {
        let precision = Some(Precision { decimals: None, scale }).filter(|_| scale != 1.0);
        Values { features: self.features, theta: self.theta, precision, records }
    }

    fn error(&self, line: Option<u64>, why: String) -> Error {
        Error::Input { path: self.path.to_path_buf(), line, reason: why }
    }

    fn id(&self, name: &str, line: Option<u64>) -> Result<usize> {
        let none = || {
            let near = did_you_mean(name, self.ids.keys().cloned());
            let error =
                self.error(line, format!("'{name}' is not a parameter of the reference or the header{near}"));
            if near.is_empty() { error.advise(Remedy::OtherLike) } else { error }
        };
        self.ids.get(name).copied().ok_or_else(none)
    }

    fn set(&mut self, id: usize, phase: usize, value: f64, line: Option<u64>) -> Result<()> {
        let count = self.features.len();
        if !self.theta[phase * count + id].is_nan() {
            let name = &self.features[id].name;
            return Err(
                self.error(line, format!("parameter '{name}.{}' is listed twice", ["mg", "eg"][phase]))
            );
        }
        self.theta[phase * count + id] = value;
        Ok(())
    }
}

/// Returns the name and phase convention of the feature set.
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
