//! The prior: the values from which tuning starts and toward which it is regularized.

use std::path::PathBuf;
use std::str::FromStr;

use shakmaty::Square;

use super::{Feature, FeatureKind, FeatureSet, ParameterFile, Provenance, ROLE_NAMES, full, pesto};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// Piece values in centipawns (pawn to queen), the same in both phases and on every square.
    Material([f64; 5]),
    Pesto,
    Zero,
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
    pub fn default_for(set: &FeatureSet) -> Self {
        if set.imported.is_some() { Self::Schema } else { Self::default() }
    }

    /// True if a text gives piece values by a keyword, correctly written or not, rather than a file.
    pub fn is_word(text: &str) -> bool {
        ["zero", "schema", "material", "pesto"].contains(&text) || text.starts_with("material:")
    }

    /// θ₀: mg of every feature, then eg of every feature; kings are worth 0. The sums of
    /// [`full`], which would have no slopes at 0, start from values of their own, unless a
    /// parameter file of that feature set has others.
    pub fn theta(&self, set: &FeatureSet) -> Result<Vec<f64>> {
        let count = set.features.len();
        let mut theta = match self {
            // A value that tuning cannot move is the engine's: a frozen scale of 0 would hide what it multiplies.
            Self::Zero => {
                let given = set.imported.as_ref().map_or(&[][..], |imported| &imported.parameters);
                let kept = |(phase, id): (usize, usize)| {
                    given.get(id).filter(|own| !own.moves(phase)).map_or(0.0, |own| own.prior[phase])
                };
                (0..2).flat_map(|phase| (0..count).map(move |id| (phase, id))).map(kept).collect()
            }
            Self::Schema => set.imported_prior().ok_or_else(|| {
                let name = set.name();
                Error::Usage(format!(
                    "prior 'schema' is that of imported datasets, not of feature set '{name}'"
                ))
            })?,
            Self::File(path) => {
                let file = ParameterFile::read(path)?;
                // The features of `classical` come first in `full`.
                let base = FeatureSet::new(FeatureKind::Classical, set.phase.clone());
                if set.kind != FeatureKind::Full || file.feature_set != base.name() {
                    return file.theta(set, path);
                }
                let values = file.theta(&base, path)?;
                let (mg, eg) = values.split_at(base.features.len());
                let mut theta = vec![0.0; 2 * count];
                theta[..mg.len()].copy_from_slice(mg);
                theta[count..][..eg.len()].copy_from_slice(eg);
                theta
            }
            Self::Material(_) | Self::Pesto if set.imported.is_some() => {
                return Err(Error::Usage(format!(
                    "prior '{self}': imported features are not pieces; give schema, zero or a parameter file"
                )));
            }
            Self::Material(values) => {
                let value = |role: usize, _: usize| values.get(role).copied().unwrap_or(0.0);
                let half = pieces(set, value, |role| value(role, 0));
                [half.clone(), half].concat()
            }
            Self::Pesto => {
                let half = |phase| {
                    let on = move |role, square| pesto::value(phase, role, square);
                    pieces(set, on, move |role| pesto::mean(phase, role))
                };
                [half(0), half(1)].concat()
            }
        };
        if set.kind == FeatureKind::Full {
            full::fill_start(&mut theta);
        }
        Ok(theta)
    }

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

impl FromStr for Prior {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "zero" => return Ok(Self::Zero),
            "schema" => return Ok(Self::Schema),
            "pesto" => return Ok(Self::Pesto),
            _ => (),
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
            Self::Pesto => f.write_str("pesto"),
            Self::Schema => f.write_str("schema"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A value for every feature: `on(role, square)` for those of piece-square tables, `alone(role)` for those
/// that count pieces.
fn pieces(set: &FeatureSet, on: impl Fn(usize, usize) -> f64, alone: impl Fn(usize) -> f64) -> Vec<f64> {
    let role = |name: &str| ROLE_NAMES.iter().position(|role| *role == name);
    let value = |feature: &Feature| match (role(&feature.group), role(&feature.name)) {
        (Some(role), _) => {
            let square = feature.name.rsplit('_').next().and_then(|name| name.parse::<Square>().ok());
            square.map_or_else(|| alone(role), |square| on(role, usize::from(square)))
        }
        (None, Some(role)) => alone(role),
        (None, None) => 0.0,
    };
    set.features.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn pesto_fills_every_feature_set_of_pieces() {
        let theta = |kind| Prior::Pesto.theta(&FeatureSet::new(kind, PhaseSettings::default())).unwrap();
        let pst = theta(FeatureKind::Pst);
        // Pawn a2 and h7, knight a1, king e1 in the middlegame; pawn a7 and queen h1 in the endgame.
        assert_eq!([pst[8], pst[55], pst[64], pst[320 + 4]], [47.0, 71.0, 232.0, 8.0]);
        assert_eq!([pst[384 + 48], pst[384 + 256 + 7]], [272.0, 895.0]);
        let classical = theta(FeatureKind::Classical);
        assert_eq!((&classical[..384], classical[678 + 48]), (&pst[..384], 272.0));
        assert!(classical[384..678].iter().all(|value| *value == 0.0));
        let material = theta(FeatureKind::Material);
        assert!((material[1] - pst[64..128].iter().sum::<f64>() / 64.0).abs() < 1e-9);
        assert_eq!((material[5], material.len()), (0.0, 12));
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
