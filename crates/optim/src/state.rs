//! Stored states of optimizers: scalars as JSON, vectors by name.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use gputexel_io::{Error, Result};

/// A state that can be stored and restored: scalars as JSON, vectors as arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimizerState {
    /// Everything but the vectors.
    pub scalars: serde_json::Value,
    pub vectors: BTreeMap<String, Vec<f64>>,
}

impl OptimizerState {
    /// Creates the state of a method: its name, an object with its scalars, and its vectors.
    pub fn new<const N: usize>(method: &str, scalars: &impl Serialize, vectors: [(&str, &[f64]); N]) -> Self {
        let mut scalars = serde_json::to_value(scalars).expect("plain data serializes");
        scalars["method"] = method.into();
        Self { scalars, vectors: vectors.map(|(name, vector)| (name.to_string(), vector.to_vec())).into() }
    }

    pub fn scalars<T: DeserializeOwned>(&self, method: &str) -> Result<T> {
        if self.scalars.get("method").is_none_or(|own| own != method) {
            return Err(Error::Usage(format!("the saved state is not that of {method}")));
        }
        T::deserialize(&self.scalars).map_err(|e| Error::Usage(format!("the saved state is broken: {e}")))
    }

    pub fn take(&mut self, name: &str, length: usize) -> Result<Vec<f64>> {
        let vector = self.vectors.remove(name).filter(|vector| vector.len() == length);
        let vector = vector
            .ok_or_else(|| Error::Usage(format!("the saved state has no '{name}' of {length} numbers")))?;
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(Error::Usage(format!("the saved '{name}' holds numbers that are not finite")));
        }
        Ok(vector)
    }

    pub(crate) fn take_known(&mut self, name: &str, length: usize, needed: bool) -> Result<Vec<f64>> {
        let empty = !needed && self.vectors.get(name).is_some_and(Vec::is_empty);
        self.take(name, if empty { 0 } else { length })
    }
}

/// Reads a number that was infinite if it is null.
pub(crate) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
