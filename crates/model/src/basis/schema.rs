//! The basis defined by the schema of imported features.

use super::{Base, BasisFile, CoordinateRecord, Named, Value};
use crate::feature_set::FeatureSet;
use crate::imported::Phases;
use gputexel_io::{Error, Result};

impl FeatureSet {
    pub(crate) fn schema_basis(&self) -> Result<BasisFile> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::Basis;
    use crate::feature::Feature;
    use crate::imported::{Imported, ImportedParameter, check_name};
    use crate::prior::Prior;
    use gputexel_chess::PhaseSettings;

    fn set(parameters: Vec<ImportedParameter>) -> Result<FeatureSet> {
        let features = (0..parameters.len())
            .map(|i| Feature { name: format!("p {i}"), group: "all".to_string() })
            .collect();
        FeatureSet::try_imported(features, PhaseSettings::default(), Imported::new(1, parameters))
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
        let zero = Prior::Zero.theta(&set).unwrap();
        assert_eq!(zero, [0.0, 0.0, 3.0, 80.0, 0.0, 0.0, 0.0, 120.0], "what is not tuned keeps its value");
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
