//! The parameter file: names and values in JSON, with their provenance.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Feature, FeatureKind, FeatureSet};
use crate::program::Program;
use gputexel_chess::PhaseSettings;
use gputexel_io::run_folder::PARAMETERS;
use gputexel_io::{Advice, Error, Result};

const FORMAT: &str = "gputexel-parameters";
const VERSION: u32 = 1;

/// Reasons why a folder may have no parameters although a run has started in it, by the file that shows this.
const RECORDS: [(&str, &str, Option<CommandParts>); 4] = [
    ("run.json", "the run has not finished", Some(["resume it with 'gputexel tune ", "'"])),
    (
        "sweep.json",
        "sweeps write parameters only on request",
        Some(["'gputexel sweep ", " --best FILE' trains them"]),
    ),
    (
        "spsa.jsonl",
        "the run has not finished, or tunes another engine",
        Some(["resume it with 'gputexel spsa run ", "'"]),
    ),
    ("match.jsonl", "it is the folder of a match", None),
];

/// The words around the setting that resumes a run in a folder.
type CommandParts = [&'static str; 2];

/// One feature's two parameters, in centipawns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterRecord {
    /// The feature's name, see [`Feature`].
    pub name: String,
    #[serde(default)]
    pub group: String,
    /// Middlegame value, centipawns.
    pub mg: f64,
    /// Endgame value, centipawns.
    pub eg: f64,
    /// Positions of the dataset that have the feature, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrences: Option<u64>,
    /// Standard errors, centipawns, if requested; `null` for values without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BothPhases<f64>>,
    /// Spread over bootstrap resamples of the games, if requested; `null` for values without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BothPhases<Interval>>,
}

impl ParameterRecord {
    /// The values θ of features (mg of every feature, then eg of every feature), of which nothing else is known.
    pub fn all(features: &[Feature], theta: &[f64]) -> Vec<Self> {
        assert_eq!(theta.len(), 2 * features.len());
        let record = |(feature, (&mg, &eg)): (&Feature, (&f64, &f64))| {
            let Feature { name, group } = feature.clone();
            Self { name, group, mg, eg, occurrences: None, errors: None, bootstrap: None }
        };
        let (mg, eg) = theta.split_at(features.len());
        features.iter().zip(mg.iter().zip(eg)).map(record).collect()
    }
}

/// A property of each of a feature's two parameters, if available.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BothPhases<T> {
    pub mg: Option<T>,
    pub eg: Option<T>,
}

/// Variation of a parameter over bootstrap resamples, centipawns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Standard deviation.
    pub error: f64,
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

/// Computation of standard errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UncertaintyRecord {
    /// Number of games, or of positions if the input had no games.
    pub clusters: u64,
    /// `game` or `position`.
    pub clustered_by: String,
    /// `second-derivatives`, or `gauss-newton` if the values are not a minimum.
    pub curvature: String,
    /// Number of directions that change no score.
    pub undetermined: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resamples: Option<u64>,
    /// Resamples that had not converged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// The pairs of tuned coordinates whose estimates are correlated most, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correlations: Vec<CorrelationRecord>,
}

/// Two tuned coordinates that the data hardly distinguish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrelationRecord {
    pub a: String,
    pub b: String,
    /// Correlation of their estimates, −1 to 1, from the inverse of the curvature: near −1, the data determine
    /// their sum (of effects) far better than either.
    pub r: f64,
}

/// Origin of the values: everything needed to reproduce them, and nothing that differs between two identical
/// runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub program: String,
    #[serde(default)]
    pub datasets: Vec<String>,
    #[serde(default)]
    pub positions: u64,
    #[serde(default)]
    pub optimizer: String,
    #[serde(default)]
    pub loss_kind: String,
    #[serde(default)]
    pub prior: String,
    #[serde(default)]
    pub seed: u64,
    /// Mean loss over the training positions before tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_before: Option<f64>,
    /// Mean loss over the training positions after tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Mean loss over the held-out positions after tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_held_out: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<RoundingRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_steps: Option<SingleStepsRecord>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundingRecord {
    /// `naive` or `local`.
    pub method: String,
    pub loss_real: f64,
    /// Training loss if every value had been rounded to the nearest whole number.
    pub loss_naive: f64,
    pub loss: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SingleStepsRecord {
    /// Steps within bounds that change the loss of any position.
    pub count: usize,
    /// Steps that would improve the exact training loss.
    pub improving: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_increase: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterFile {
    format: String,
    version: u32,
    pub feature_set: String,
    pub phase: PhaseSettings,
    /// Scale constant K, base-10 form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Computation of standard errors, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<UncertaintyRecord>,
    pub parameters: Vec<ParameterRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    #[serde(default)]
    pub provenance: Provenance,
}

impl ParameterFile {
    /// True for each of the middlegame and the endgame value of a parameter that is not used in any
    /// computation: it is 0, and no accumulator of the parameter uses it.
    pub fn unread(&self, id: usize) -> [bool; 2] {
        let record = &self.parameters[id];
        match self.program.as_ref().and_then(|program| program.reads(id as u16)) {
            Some([mg, eg]) => [!mg && record.mg == 0.0, !eg && record.eg == 0.0],
            None => [false; 2],
        }
    }

    /// Names the values of θ (mg of every feature, then eg of every feature).
    pub fn new(set: &FeatureSet, theta: &[f64], occurrences: Option<&[u64]>, k: Option<f64>) -> Self {
        let mut parameters = ParameterRecord::all(&set.features, theta);
        for (id, record) in parameters.iter_mut().enumerate() {
            record.occurrences = occurrences.map(|all| all[id]);
        }
        Self { program: set.program.clone(), ..Self::of(set.name(), set.phase.clone(), k, parameters) }
    }

    /// Creates a file of values with arbitrary names, without provenance.
    pub fn of(
        feature_set: &str,
        phase: PhaseSettings,
        k: Option<f64>,
        parameters: Vec<ParameterRecord>,
    ) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            feature_set: feature_set.to_string(),
            phase,
            k,
            uncertainty: None,
            parameters,
            program: None,
            provenance: Provenance::default(),
        }
    }

    pub fn computed_set(&self) -> Option<FeatureSet> {
        let kind = FeatureKind::parse(&self.feature_set).ok()?;
        Some(FeatureSet::new(kind, self.phase.clone()))
    }

    /// The file that a path refers to: itself, or the result in a run's folder.
    pub fn locate(path: &Path) -> Result<PathBuf> {
        if !path.is_dir() {
            return Ok(path.to_path_buf());
        }
        let inside = path.join(PARAMETERS);
        if inside.exists() {
            return Ok(inside);
        }
        let known = RECORDS.iter().find(|(record, ..)| path.join(record).exists());
        let (why, command) = known
            .map_or(("it is not the folder of a finished run", None), |(_, why, command)| (*why, *command));
        let error = Error::input(path, format!("has no params.json: {why}"));
        Err(match command {
            Some([before, behind]) => {
                error.advise(Advice::default().text(before).setting("resume", path.display()).text(behind))
            }
            None => error,
        })
    }

    /// Reads and checks a parameter file, or the one in a run's folder.
    pub fn read(path: &Path) -> Result<Self> {
        let path = &*Self::locate(path)?;
        let text =
            gputexel_io::read_whole_text(path, gputexel_io::SETTINGS_BYTES).map_err(|source| match source
                .kind()
            {
                std::io::ErrorKind::InvalidData => {
                    Error::input(path, "not a parameter file (params.json): it is not text")
                }
                _ => Error::io(path, source),
            })?;
        Self::parse(&text, path)
    }

    /// Reads and checks the text of a parameter file; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let file: Self =
            serde_json::from_str(text).map_err(|error| Error::json(path, "a parameter file", &error))?;
        if file.format != FORMAT {
            return Err(Error::input(path, format!("format is '{}', expected '{FORMAT}'", file.format)));
        }
        if file.version != VERSION {
            return Err(Error::input(
                path,
                format!("version {} is not supported (this is {VERSION})", file.version),
            ));
        }
        let mut known = FeatureKind::computed().chain([FeatureKind::Imported]);
        if !known.any(|kind| kind.name() == file.feature_set) {
            return Err(Error::input(path, format!("feature set '{}' is not known", file.feature_set)));
        }
        for record in &file.parameters {
            if !record.mg.is_finite() || !record.eg.is_finite() {
                return Err(Error::input(
                    path,
                    format!("parameter '{}' is not a finite number", record.name),
                ));
            }
        }
        if let Some(program) = &file.program {
            program.validate(file.parameters.len()).map_err(|error| Error::input(path, error.to_string()))?;
        }
        if file.k.is_some_and(|k| !k.is_finite() || k <= 0.0) {
            return Err(Error::input(path, "k must be a positive number"));
        }
        Ok(file)
    }

    /// Formats the file as indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data serializes");
        text.push('\n');
        text
    }

    /// θ in the id order of `set`, matched by name.
    pub fn theta(&self, set: &FeatureSet, path: &Path) -> Result<Vec<f64>> {
        let count = set.features.len();
        if self.feature_set != set.name() {
            return Err(Error::input(
                path,
                format!(
                    "its values belong to feature set '{}', the dataset to '{}'",
                    self.feature_set,
                    set.name()
                ),
            ));
        }
        if self.phase != set.phase {
            return Err(Error::input(
                path,
                format!(
                    "its values belong to phase weights {}, the dataset was extracted with {}",
                    self.phase, set.phase
                ),
            ));
        }
        let ids: std::collections::HashMap<&str, usize> =
            set.features.iter().enumerate().map(|(id, feature)| (feature.name.as_str(), id)).collect();
        let mut theta = vec![f64::NAN; 2 * count];
        for record in &self.parameters {
            let Some(&id) = ids.get(record.name.as_str()) else {
                return Err(Error::input(
                    path,
                    format!("parameter '{}' is not in feature set '{}'", record.name, set.name()),
                ));
            };
            if !theta[id].is_nan() {
                return Err(Error::input(path, format!("parameter '{}' is listed twice", record.name)));
            }
            theta[id] = record.mg;
            theta[count + id] = record.eg;
        }
        if let Some(id) = (0..count).find(|&id| theta[id].is_nan()) {
            return Err(Error::input(path, format!("parameter '{}' is missing", set.features[id].name)));
        }
        Ok(theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pst() -> FeatureSet {
        FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
    }

    #[test]
    fn values_survive_a_round_trip() {
        let set = pst();
        let theta: Vec<f64> = (0..768).map(|i| f64::from(i) / 7.0 - 50.0).collect();
        let mut file = ParameterFile::new(&set, &theta, Some(&[3; 384]), Some(0.8));
        file.parameters[7].errors = Some(BothPhases { mg: Some(1.0 / 3.0), eg: None });
        let interval = Interval { error: 0.1, low: -0.7, high: 2.0 / 3.0 };
        file.parameters[7].bootstrap = Some(BothPhases { mg: None, eg: Some(interval) });
        assert!(file.to_json().contains("\"eg\": null"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.json");
        std::fs::write(&path, file.to_json()).unwrap();
        let read = ParameterFile::read(&path).unwrap();
        assert_eq!(read, file);
        assert_eq!(read.theta(&set, &path).unwrap(), theta);
    }

    #[test]
    fn feature_sets_of_older_versions_are_refused() {
        let set = pst();
        let file = ParameterFile {
            feature_set: "king-pst".into(),
            ..ParameterFile::new(&set, &[0.0; 768], None, None)
        };
        assert_eq!(
            file.theta(&set, Path::new("p.json")).unwrap_err().to_string(),
            "p.json: its values belong to feature set 'king-pst', the dataset to 'pst'"
        );
        let error = ParameterFile::parse(&file.to_json(), Path::new("p.json")).unwrap_err().to_string();
        assert_eq!(error, "p.json: feature set 'king-pst' is not known");
        let stored = serde_json::to_string(&set).unwrap().replace(r#""kind":"pst""#, r#""kind":"king-pst""#);
        let error = serde_json::from_str::<FeatureSet>(&stored).unwrap_err().to_string();
        assert!(error.starts_with("unknown variant `king-pst`"), "{error}");
    }

    #[test]
    fn mistakes_are_named() {
        let set = pst();
        let path = Path::new("p.json");
        let good = ParameterFile::new(&set, &[0.0; 768], None, None);
        let message = |file: &ParameterFile| file.theta(&set, path).unwrap_err().to_string();
        let mut missing = good.clone();
        missing.parameters.remove(5);
        assert_eq!(message(&missing), "p.json: parameter 'pawn_f1' is missing");
        let mut twice = good.clone();
        twice.parameters[1].name = "pawn_a1".into();
        assert_eq!(message(&twice), "p.json: parameter 'pawn_a1' is listed twice");
        let mut unknown = good.clone();
        unknown.parameters[0].name = "bishop_pair".into();
        assert!(message(&unknown).contains("'bishop_pair' is not in feature set 'pst'"));
        let mut phase = good;
        phase.phase.max = 25;
        assert!(message(&phase).contains("phase weights"));
    }
}
