//! Feature sets of one's own: features that an engine computes, with names, starting values and
//! limits that their author gives.
//!
//! Owns what a dataset remembers of the schema it was imported with, and the basis that follows from
//! it. Schema files and traces are read by `trace`.

use serde::{Deserialize, Serialize};

use super::basis::{Base, BasisFile, CoordinateRecord, Named, Value};
use super::{Feature, FeatureKind, FeatureSet};
use gputexel_chess::PhaseSettings;
use gputexel_files::{Error, Result};

/// Most features: ids are 16 bits, and one more id pads rows.
pub const MAX_FEATURES: usize = 65_534;
/// Largest size of a starting value or bound, centipawns.
const MAX_CP: f64 = 1e6;

/// Which of its two values a feature has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phases {
    /// A middlegame and an endgame value.
    #[default]
    Both,
    /// One value that counts for both.
    Untapered,
    /// A middlegame value; that of the endgame stays as it is.
    Mg,
    /// An endgame value; that of the middlegame stays as it is.
    Eg,
}

/// What an author says about a parameter. Pairs are middlegame and endgame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedParameter {
    /// Starting values, centipawns.
    pub prior: [f64; 2],
    /// Which of them are tuned.
    #[serde(default)]
    pub phases: Phases,
    /// Whether neither is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// Whether only whole numbers are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// Smallest values, if there are any.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub min: [Option<f64>; 2],
    /// Largest values, if there are any.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub max: [Option<f64>; 2],
}

fn is_empty(pair: &[Option<f64>; 2]) -> bool {
    *pair == [None; 2]
}

impl ImportedParameter {
    /// Checks numbers, and that the start lies within the bounds.
    ///
    /// # Errors
    /// The reason, without the name.
    pub fn check(&self) -> std::result::Result<(), String> {
        let numbers = self.prior.iter().chain(self.min.iter().flatten()).chain(self.max.iter().flatten());
        if let Some(bad) = numbers.into_iter().find(|value| !value.is_finite() || value.abs() > MAX_CP) {
            return Err(format!("the value {bad} is not one from -1e6 to 1e6"));
        }
        let one_value = |pair: bool| if pair { Ok(()) } else { Err("is untapered, but has two values") };
        if self.phases == Phases::Untapered {
            one_value(self.prior[0] == self.prior[1])?;
            one_value(self.min[0] == self.min[1] && self.max[0] == self.max[1])?;
        }
        for phase in 0..2 {
            if !self.moves(phase) {
                continue;
            }
            let low = self.min[phase].unwrap_or(f64::NEG_INFINITY);
            let high = self.max[phase].unwrap_or(f64::INFINITY);
            let prior = self.prior[phase];
            if low > high || (self.integer && low.ceil() > high.floor()) {
                return Err(format!("the interval {low} to {high} is empty"));
            }
            if !(low..=high).contains(&prior) {
                return Err(format!("the bounds {low} to {high} exclude the prior {prior}"));
            }
            if self.integer && prior.fract() != 0.0 {
                return Err(format!("the prior {prior} is not an integer"));
            }
        }
        Ok(())
    }

    /// Whether the value of a phase, 0 for the middlegame, is tuned.
    fn moves(&self, phase: usize) -> bool {
        !self.frozen
            && match self.phases {
                Phases::Both | Phases::Untapered => true,
                Phases::Mg => phase == 0,
                Phases::Eg => phase == 1,
            }
    }

    /// Whether nothing but the starting values is said.
    fn is_plain(&self) -> bool {
        *self == Self { prior: self.prior, ..Self::default() }
    }
}

/// What a dataset remembers of the schema that it was imported with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// Units of endgame scale factors that stand for 1.
    pub scale_one: u16,
    /// One a feature.
    pub parameters: Vec<ImportedParameter>,
}

impl FeatureSet {
    /// A feature set of one's own.
    ///
    /// # Errors
    /// Those of [`validate`](Self::validate).
    pub fn try_imported(features: Vec<Feature>, phase: PhaseSettings, imported: Imported) -> Result<Self> {
        let set = Self { kind: FeatureKind::Imported, phase, features, imported: Some(imported) };
        set.validate().map(|()| set)
    }

    /// Checks one that was read from a file.
    pub(super) fn validate_imported(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        let Some(imported) = &self.imported else {
            return usage("an imported feature set without parameters".to_string());
        };
        let count = self.features.len();
        if count == 0 || count > MAX_FEATURES || imported.parameters.len() != count {
            return usage(format!(
                "an imported feature set of {count} features and {} parameters: must be equal, 1 to {MAX_FEATURES}",
                imported.parameters.len()
            ));
        }
        if imported.scale_one == 0 || self.phase.max.checked_mul(imported.scale_one).is_none() {
            return usage(format!(
                "{} units of phase times {} of endgame scale: must be from 1 to 65535",
                self.phase.max, imported.scale_one
            ));
        }
        let mut names = std::collections::HashSet::new();
        for (feature, parameter) in self.features.iter().zip(&imported.parameters) {
            let name = &feature.name;
            check_name(name).and_then(|()| check_name(&feature.group)).map_err(Error::Usage)?;
            if !names.insert(name) {
                return usage(format!("parameter '{name}' is listed twice"));
            }
            parameter.check().map_err(|reason| Error::Usage(format!("parameter '{name}': {reason}")))?;
        }
        Ok(())
    }

    /// Starting values of an imported feature set: mg of every feature, then eg.
    pub fn imported_prior(&self) -> Option<Vec<f64>> {
        let parameters = &self.imported.as_ref()?.parameters;
        Some((0..2).flat_map(|phase| parameters.iter().map(move |p| p.prior[phase])).collect())
    }

    /// The basis that is used where none is asked for: what the schema says of an imported feature
    /// set, `otherwise` of one that the program computes.
    pub fn default_basis<'a>(&self, otherwise: &'a str) -> &'a str {
        match &self.imported {
            Some(imported) if imported.parameters.iter().all(ImportedParameter::is_plain) => "identity",
            Some(_) => "schema",
            None => otherwise,
        }
    }

    /// The basis of what an imported schema says is tuned.
    pub(super) fn schema_basis(&self) -> Result<BasisFile> {
        let Some(imported) = &self.imported else {
            return Err(Error::Usage(format!(
                "basis 'schema' is that of imported datasets, and the feature set is '{}'",
                self.name()
            )));
        };
        let mut coordinates = Vec::new();
        let mut fixed = Vec::new();
        for (phase, suffix) in [".mg", ".eg"].iter().enumerate() {
            for (feature, parameter) in self.features.iter().zip(&imported.parameters) {
                let name = &feature.name;
                if !parameter.moves(phase) {
                    fixed.push((format!("{name}{suffix}"), Value::PRIOR));
                    continue;
                }
                let tied = parameter.phases == Phases::Untapered;
                if tied && phase == 1 {
                    continue;
                }
                let moved = if tied { name.clone() } else { format!("{name}{suffix}") };
                coordinates.push(CoordinateRecord {
                    name: moved.clone(),
                    start: Value::PRIOR,
                    min: parameter.min[phase],
                    max: parameter.max[phase],
                    integer: parameter.integer,
                    moves: Named(vec![(moved, 1.0)]),
                });
            }
        }
        let mut file = BasisFile::new("schema", self.name(), coordinates);
        if !fixed.is_empty() {
            file.base = Base::Values(Named(fixed));
        }
        Ok(file)
    }
}

/// Whether a name can stand for a parameter or group wherever names are read back.
///
/// # Errors
/// The reason: names are not empty, `*` or longer than 200 bytes, have no control characters and no
/// blanks at their ends, and do not end in `.mg` or `.eg`, which tell the phases apart.
pub fn check_name(name: &str) -> std::result::Result<(), String> {
    let reason = if name.is_empty() {
        "is empty"
    } else if name.len() > 200 {
        "is longer than 200 bytes"
    } else if name == "*" {
        "stands for all parameters"
    } else if name.chars().any(char::is_control) {
        "has a control character"
    } else if name.contains(',') {
        "has a comma, which parts names in lists such as --freeze"
    } else if name.trim() != name {
        "begins or ends with a blank"
    } else if name.ends_with(".mg") || name.ends_with(".eg") {
        "ends like the value of one phase"
    } else {
        return Ok(());
    };
    Err(format!("the name {name:?} {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Basis, Prior};

    fn set(parameters: Vec<ImportedParameter>) -> Result<FeatureSet> {
        let features = (0..parameters.len())
            .map(|i| Feature { name: format!("p {i}"), group: "all".to_string() })
            .collect();
        FeatureSet::try_imported(features, PhaseSettings::default(), Imported { scale_one: 1, parameters })
    }

    #[test]
    fn the_schema_decides_what_is_tuned() {
        let plain = ImportedParameter { prior: [80.0, 120.0], ..Default::default() };
        let set = set(vec![
            plain.clone(),
            ImportedParameter { prior: [7.0, 7.0], phases: Phases::Untapered, ..Default::default() },
            ImportedParameter { phases: Phases::Eg, max: [None, Some(9.0)], integer: true, ..plain_at(3.0) },
            ImportedParameter { frozen: true, ..plain.clone() },
        ])
        .unwrap();
        let prior = Prior::default_for(&set).theta(&set).unwrap();
        assert_eq!(prior, [80.0, 7.0, 3.0, 80.0, 120.0, 7.0, 3.0, 120.0]);
        let basis = set.default_basis("madchess").parse::<Basis>().unwrap();
        let basis = basis.resolve(&set, &prior, &[]).unwrap();
        let names: Vec<&str> = basis.coordinates.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["p 0.mg", "p 1", "p 0.eg", "p 2.eg"]);
        assert_eq!((basis.coordinates[3].max, basis.coordinates[3].integer), (Some(9.0), true));
        assert_eq!(basis.theta(&basis.start()), prior);
        let theta = basis.theta(&[1.0, 2.0, 4.0, 5.0]);
        assert_eq!(theta, [1.0, 2.0, 3.0, 80.0, 4.0, 2.0, 5.0, 120.0]);
        assert_eq!(super::tests::set(vec![plain]).unwrap().default_basis("madchess"), "identity");
    }

    fn plain_at(value: f64) -> ImportedParameter {
        ImportedParameter { prior: [value; 2], ..Default::default() }
    }

    #[test]
    fn contradictions_are_refused() {
        let message = |parameter: ImportedParameter| set(vec![parameter]).unwrap_err().to_string();
        let untapered =
            ImportedParameter { prior: [1.0, 2.0], phases: Phases::Untapered, ..Default::default() };
        assert_eq!(message(untapered), "parameter 'p 0': is untapered, but has two values");
        let outside = ImportedParameter { max: [Some(2.0); 2], ..plain_at(3.0) };
        assert!(message(outside).contains("the bounds -inf to 2 exclude the prior 3"));
        let empty = ImportedParameter { min: [Some(4.0); 2], max: [Some(2.0); 2], ..plain_at(3.0) };
        assert!(message(empty).contains("the interval 4 to 2 is empty"));
        assert!(message(plain_at(f64::NAN)).contains("NaN"));
        let half = ImportedParameter { integer: true, ..plain_at(0.5) };
        assert!(message(half).contains("not an integer"));
        for name in ["", "*", "a.mg", "a\nb", " a"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        check_name("knight on \"f3\"").unwrap();
    }
}
