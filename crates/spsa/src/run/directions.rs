//! Directions: a few numbers that move many parameters of an engine, each along a step of its own.

use std::collections::BTreeSet;
use std::path::Path;

use gputexel_io::{Error, Result, SETTINGS_BYTES, read_whole};
use serde::{Deserialize, Serialize};

use crate::variables::Variable;

const FORMAT: &str = "gputexel-directions";

/// A start and steps from it: values are start + Σ factor · step, over the directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directions {
    format: String,
    /// UCI options, values that a program reads, or parameters of the built-in engine in the order of its
    /// features, the middlegame before the endgame.
    pub parameters: Vec<String>,
    pub start: Vec<f64>,
    pub integer: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fractions: Vec<String>,
    /// Least and greatest value of each parameter, where an engine has such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<[f64; 2]>>,
    pub directions: Vec<Direction>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    pub name: String,
    /// Change of each parameter at a factor of 1.
    pub step: Vec<f64>,
}

impl Directions {
    /// Creates directions; all vectors have one value for each parameter.
    pub fn try_new(
        parameters: Vec<String>,
        start: Vec<f64>,
        integer: bool,
        directions: Vec<Direction>,
    ) -> Result<Self> {
        let (format, fractions) = (FORMAT.to_string(), Vec::new());
        let new = Self { format, parameters, start, integer, fractions, bounds: None, directions };
        new.check().map_err(Error::Usage)?;
        Ok(new)
    }

    /// Keeps values within bounds, which include the start.
    pub fn bounded(self, bounds: Vec<[f64; 2]>) -> Result<Self> {
        let new = Self { bounds: Some(bounds), ..self };
        new.check().map_err(Error::Usage)?;
        Ok(new)
    }

    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] for another format, vectors of different lengths and values that are not
    /// finite.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read_whole(path, SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
        let read: Self = serde_json::from_slice(&bytes).map_err(|e| Error::input(path, e.to_string()))?;
        read.check().map_err(|reason| Error::input(path, reason))?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format '{}': expected {FORMAT}", self.format));
        }
        let vectors = self.directions.iter().map(|one| (one.name.as_str(), &one.step));
        for (name, vector) in std::iter::once(("start", &self.start)).chain(vectors) {
            if vector.len() != self.parameters.len() {
                let (found, wanted) = (vector.len(), self.parameters.len());
                return Err(format!("{name}: {found} values for {wanted} parameters"));
            }
            if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
                return Err(format!("{name}: {value} is not a finite number"));
            }
        }
        let bounds = self.bounds.iter().flatten();
        if self.bounds.as_ref().is_some_and(|bounds| bounds.len() != self.parameters.len()) {
            return Err(format!(
                "bounds: expected one pair for each of {} parameters",
                self.parameters.len()
            ));
        }
        match bounds.zip(&self.start).find(|([min, max], start)| !(min <= *start && *start <= max)) {
            Some(([min, max], start)) => {
                Err(format!("bounds {min} to {max} do not include the start {start}"))
            }
            None => Ok(()),
        }
    }

    /// Refuses variables other than the directions, in the same order.
    pub fn check_variables(&self, variables: &[Variable]) -> Result<()> {
        let names = || self.directions.iter().map(|one| one.name.as_str());
        if names().eq(variables.iter().map(|variable| variable.name.as_str())) {
            return Ok(());
        }
        let names: Vec<&str> = names().collect();
        Err(Error::Usage(format!("parameters must be the directions, in their order: {}", names.join(", "))))
    }

    pub fn values(&self, factors: &[f64]) -> Vec<f64> {
        let mut values = self.start.clone();
        for (direction, factor) in self.directions.iter().zip(factors) {
            values.iter_mut().zip(&direction.step).for_each(|(value, step)| *value += factor * step);
        }
        if self.integer {
            let all = values.iter_mut().zip(&self.start).zip(&self.parameters);
            let whole = all.filter(|(_, name)| !self.fractions.contains(name));
            whole.for_each(|((value, start), _)| *value = rounded(*value, *start));
        }
        for (value, [min, max]) in values.iter_mut().zip(self.bounds.iter().flatten()) {
            *value = value.clamp(*min, *max);
        }
        values
    }

    pub fn settings(&self, factors: &[f64]) -> Vec<(String, f64)> {
        let mut seen = BTreeSet::new();
        let all = self.parameters.iter().zip(self.values(factors));
        all.filter(|(name, _)| seen.insert(*name)).map(|(name, value)| (name.clone(), value)).collect()
    }

    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string() + "\n"
    }
}

/// Of two that are equally far away, it is the one nearer to the start: most steps between whole numbers are
/// small, so half of one would often be all of it where values grow, and nothing where they fall.
fn rounded(value: f64, start: f64) -> f64 {
    match value.fract().abs() == 0.5 {
        true if value > start => value.floor(),
        true => value.ceil(),
        false => value.round(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Directions {
        let step = |name: &str, step: [f64; 2]| Direction { name: name.to_string(), step: step.to_vec() };
        let names = ["a", "b"].map(String::from).to_vec();
        let steps = vec![step("one", [10.0, 0.0]), step("two", [0.0, -3.0])];
        Directions::try_new(names, vec![100.0, 50.0], true, steps).unwrap()
    }

    #[test]
    fn factors_move_values_from_the_start() {
        assert_eq!(two().values(&[0.0, 0.0]), [100.0, 50.0]);
        assert_eq!(two().values(&[0.5, 0.5]), [105.0, 49.0]);
        // Between two whole numbers, the one nearer to the start.
        assert_eq!(two().values(&[0.25, 0.5]), [102.0, 49.0]);
        assert_eq!(two().values(&[-0.25, -0.5]), [98.0, 51.0]);
        assert_eq!(two().settings(&[1.0, 0.0])[0], ("a".to_string(), 110.0));
        let bounded = two().bounded(vec![[90.0, 105.0], [0.0, 60.0]]).unwrap();
        assert_eq!(bounded.values(&[1.0, -1.0]), [105.0, 53.0]);
        assert!(two().bounded(vec![[0.0, 50.0], [0.0, 60.0]]).is_err());
        assert!(two().bounded(vec![[0.0, 100.0]]).is_err());
        let fractional = Directions { fractions: vec!["b".to_string()], ..two() };
        assert_eq!(fractional.values(&[0.26, 0.5]), [103.0, 48.5]);
        let both = Directions { parameters: vec!["a".to_string(); 2], ..two() };
        assert_eq!(both.settings(&[0.0, 0.0]), [("a".to_string(), 100.0)]);
    }

    #[test]
    fn files_come_back_and_bad_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directions.json");
        std::fs::write(&path, two().to_json()).unwrap();
        assert_eq!(Directions::read(&path).unwrap(), two());
        for (from, to, reason) in [
            ("gputexel-directions", "other", "format 'other'"),
            ("[10.0,0.0]", "[10.0]", "one: 1 values for 2 parameters"),
            ("\"integer\":true,", "", "integer"),
        ] {
            std::fs::write(&path, two().to_json().replace(from, to)).unwrap();
            let error = Directions::read(&path).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
