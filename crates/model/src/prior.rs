//! The prior: the values from which tuning starts and toward which it is regularized.

use std::path::PathBuf;
use std::str::FromStr;

use super::{Feature, FeatureSet, ParameterFile, Provenance, ROLE_NAMES};
use gputexel_io::{Error, Result};

/// Origin of the starting values.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Piece values in centipawns (pawn to queen), the same in both phases and on every square.
    Material([f64; 5]),
    /// All zero.
    Zero,
    /// The values in the schema of an imported feature set.
    Schema,
    /// A parameter file of the same feature set.
    File(PathBuf),
}

impl Default for Prior {
    fn default() -> Self {
        Self::Material([100.0, 300.0, 320.0, 500.0, 900.0])
    }
}

impl Prior {
    /// Returns the default prior of a feature set.
    pub fn default_for(set: &FeatureSet) -> Self {
        if set.imported.is_some() { Self::Schema } else { Self::default() }
    }

    /// Returns true if a text gives piece values by a keyword, correctly written or not, rather than a file.
    pub fn is_word(text: &str) -> bool {
        ["zero", "schema", "material"].contains(&text) || text.starts_with("material:")
    }
}

impl FromStr for Prior {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "zero" {
            return Ok(Self::Zero);
        }
        if text == "schema" {
            return Ok(Self::Schema);
        }
        if text.split(',').all(|part| part.trim().parse::<f64>().is_ok()) {
            return Err(Error::Usage(format!("prior '{text}': piece values are written material:{text}")));
        }
        let Some(list) = text.strip_prefix("material") else { return Ok(Self::File(PathBuf::from(text))) };
        if list.is_empty() {
            return Ok(Self::default());
        }
        let bad = || {
            Error::Usage(format!(
                "prior '{text}': expected material:P,N,B,R,Q with five finite centipawn values"
            ))
        };
        let Some(list) = list.strip_prefix(':') else { return Ok(Self::File(PathBuf::from(text))) };
        let values = list
            .split(',')
            .map(|value| value.trim().parse::<f64>().ok().filter(|v| v.is_finite() && v.abs() <= 1e6))
            .collect::<Option<Vec<f64>>>()
            .ok_or_else(bad)?;
        Ok(Self::Material(values.try_into().map_err(|_| bad())?))
    }
}

impl std::fmt::Display for Prior {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Material([p, n, b, r, q]) => write!(f, "material:{p},{n},{b},{r},{q}"),
            Self::Zero => f.write_str("zero"),
            Self::Schema => f.write_str("schema"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Prior {
    /// Returns θ₀: mg of every feature, then eg of every feature; kings are worth 0. The sums of [`full`](super::full),
    /// which would have no slopes at 0, start from values of their own, unless a parameter file of that
    /// feature set has others. Files of `classical` also work for `full`.
    ///
    /// # Errors
    /// As [`ParameterFile::read`] and [`ParameterFile::theta`]; [`Error::Usage`] for the schema of a feature
    /// set that has none, and for piece values of one without pieces.
    pub fn theta(&self, set: &FeatureSet) -> Result<Vec<f64>> {
        let count = set.features.len();
        let mut theta = match self {
            Self::Zero => vec![0.0; 2 * count],
            Self::Schema => set.imported_prior().ok_or_else(|| {
                let name = set.name();
                Error::Usage(format!(
                    "prior 'schema' is that of imported datasets, not of feature set '{name}'"
                ))
            })?,
            Self::File(path) => {
                let file = ParameterFile::read(path)?;
                let Some(base) = set.kind.spec().base().filter(|base| file.feature_set == base.name()) else {
                    return file.theta(set, path);
                };
                let base = FeatureSet::new(base, set.phase.clone());
                let values = file.theta(&base, path)?;
                let (mg, eg) = values.split_at(base.features.len());
                let mut theta = vec![0.0; 2 * count];
                theta[..mg.len()].copy_from_slice(mg);
                theta[count..][..eg.len()].copy_from_slice(eg);
                theta
            }
            Self::Material(_) if set.imported.is_some() => {
                return Err(Error::Usage(format!(
                    "prior '{self}': imported features are not pieces; give schema, zero or a parameter file"
                )));
            }
            Self::Material(values) => {
                // Only a piece's own feature or its piece-square table gets the piece value; other features
                // named after a piece start at 0.
                let value = |feature: &Feature| {
                    let is = |role: &&str| *role == feature.group || *role == feature.name;
                    ROLE_NAMES.iter().position(is).and_then(|i| values.get(i)).copied().unwrap_or(0.0)
                };
                let half: Vec<f64> = match &set.king_buckets {
                    Some(buckets) => (0..count).map(|id| buckets.material(id, values)).collect(),
                    None => set.features.iter().map(value).collect(),
                };
                [half.clone(), half].concat()
            }
        };
        set.kind.spec().fill_start(&mut theta);
        Ok(theta)
    }
}

impl Prior {
    /// Returns these values as a parameter file with the parameters of another one, which is called `name` in
    /// messages.
    ///
    /// # Errors
    /// [`Error::Usage`] for nonzero values if the parameters are those of a schema; otherwise as
    /// [`Self::theta`].
    pub fn file_like(&self, other: &ParameterFile, name: &str) -> Result<ParameterFile> {
        if let Some(set) = other.computed_set() {
            other.phase.validate()?;
            return Ok(ParameterFile::new(&set, &self.theta(&set)?, None, None));
        }
        if *self != Self::Zero {
            return Err(Error::Usage(format!(
                "'{self}': the parameters of {name} are those of a schema, whose values only a parameter file can give; there is 'zero'"
            )));
        }
        let mut file = other.clone();
        (file.k, file.uncertainty, file.provenance) = (None, None, Provenance::default());
        for record in &mut file.parameters {
            (record.mg, record.eg) = (0.0, 0.0);
            (record.occurrences, record.errors, record.bootstrap) = (None, None, None);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FeatureKind;
    use gputexel_chess::PhaseSettings;

    #[test]
    fn material_fills_every_square_of_both_phases() {
        let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
        let theta = "material:100,300,320,500,900".parse::<Prior>().unwrap().theta(&set).unwrap();
        assert_eq!(theta.len(), 768);
        assert_eq!(
            (theta[0], theta[64], theta[128 + 63], theta[383], theta[384 + 4 * 64]),
            (100.0, 300.0, 320.0, 0.0, 900.0)
        );
    }

    #[test]
    fn words_give_values_to_the_parameters_of_a_file() {
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let tuned = ParameterFile::new(&set, &[7.0; 12], Some(&[1; 6]), Some(0.9));
        let found = "material".parse::<Prior>().unwrap().file_like(&tuned, "run").unwrap();
        assert_eq!((found.parameters[4].mg, found.parameters[4].eg, found.k), (900.0, 900.0, None));
        // Parameters of a schema have no pieces.
        let mut imported = tuned.clone();
        imported.feature_set = "imported".to_string();
        let found = Prior::Zero.file_like(&imported, "run").unwrap();
        assert!(found.parameters.iter().all(|p| p.mg == 0.0 && p.eg == 0.0 && p.occurrences.is_none()));
        assert_eq!((found.feature_set.as_str(), found.parameters.len(), found.k), ("imported", 6, None));
        let told = Prior::default().file_like(&imported, "run").unwrap_err().to_string();
        assert!(told.contains("the parameters of run are those of a schema"), "{told}");
    }

    #[test]
    fn bad_priors_are_refused() {
        for text in [
            "material:1,2,3,4",
            "material:nan,1,1,1,1",
            "material:inf,1,1,1,1",
            "material:",
            "material:1,2,3,4,x",
        ] {
            assert!(text.parse::<Prior>().is_err(), "{text}");
        }
        assert_eq!("zero".parse::<Prior>().unwrap(), Prior::Zero);
        assert_eq!("a/p.json".parse::<Prior>().unwrap(), Prior::File("a/p.json".into()));
        assert_eq!("material".parse::<Prior>().unwrap(), Prior::default());
    }
}
