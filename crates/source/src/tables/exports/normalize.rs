//! Scales all values so that a chosen one has a chosen value.

use std::str::FromStr;

use crate::tables::features;
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureTables, ParameterFile, ParameterRecord};

/// Normalization of values: one of them becomes another.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalization {
    /// A parameter (`knight_f3.eg`), or a piece (`pawn.eg`) for its value or the mean of its table.
    pub name: String,
    /// Its new value, centipawns.
    pub value: f64,
}

impl FromStr for Normalization {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::Usage(format!("normalization '{text}': {why}"));
        let (name, value) =
            text.rsplit_once('=').ok_or_else(|| wrong("expected NAME=VALUE, for example pawn.eg=100"))?;
        let value: f64 = value.trim().parse().map_err(|_| wrong("the value is not a number"))?;
        if !value.is_finite() || value == 0.0 {
            return Err(wrong("the value must be a number other than 0"));
        }
        Ok(Self { name: name.trim().to_string(), value })
    }
}

impl Normalization {
    /// Scales all values and their errors, and K inversely, so that the loss stays the same. Returns the factor.
    ///
    /// # Errors
    /// [`Error::Usage`] for unknown names, for a parameter that is 0 or of the other sign, and for values, errors or a
    /// K that become too large.
    pub fn apply(&self, file: &mut ParameterFile) -> Result<f64> {
        let Self { name, value } = self;
        let old = find(name, file)? + 0.0; // no -0
        let factor = value / old;
        if old == 0.0 || !factor.is_finite() {
            return Err(Error::Usage(format!("'{name}' is {old}: no factor makes {value} of it")));
        }
        if factor <= 0.0 {
            return Err(Error::Usage(format!(
                "'{name}' is {old}: to make {value} of it would turn the signs of all values"
            )));
        }
        let too_large =
            |what: &str| Err(Error::Usage(format!("{what} becomes too large with a factor of {factor}")));
        for ParameterRecord { name, mg, eg, errors, bootstrap, .. } in &mut file.parameters {
            let mut all = vec![mg, eg];
            if let Some(errors) = errors {
                all.extend([&mut errors.mg, &mut errors.eg].into_iter().flatten());
            }
            if let Some(intervals) = bootstrap {
                for interval in [&mut intervals.mg, &mut intervals.eg].into_iter().flatten() {
                    all.extend([&mut interval.error, &mut interval.low, &mut interval.high]);
                }
            }
            for value in all {
                *value *= factor;
                if !value.is_finite() {
                    return too_large(&format!("'{name}' or its error"));
                }
            }
        }
        file.k = file.k.map(|k| k / factor);
        match file.k {
            Some(k) if !k.is_finite() => too_large("K"),
            _ => Ok(factor),
        }
    }
}

impl std::fmt::Display for Normalization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

fn find(whole_name: &str, file: &ParameterFile) -> Result<f64> {
    let unknown = |why: &str| Error::Usage(format!("normalization by '{whole_name}': {why}"));
    let (name, phase) = match whole_name.rsplit_once('.') {
        Some((name, "mg")) => (name, 0),
        Some((name, "eg")) => (name, 1),
        _ => return Err(unknown("expected the name of a parameter followed by .mg or .eg")),
    };
    let value = |id: usize| [file.parameters[id].mg, file.parameters[id].eg][phase];
    if let Some(id) = file.parameters.iter().position(|record| record.name == name) {
        return Ok(value(id));
    }
    let piece = name.strip_suffix(".material").unwrap_or(name);
    let tables = FeatureTables::new(&features(file)).0;
    let table = tables.iter().find(|table| table.is_squares() && table.name == piece);
    let ids = table
        .map(|table| table.piece_ids())
        .ok_or_else(|| unknown("there is no parameter or table of squares of that name"))?;
    Ok(ids.iter().map(|&id| value(id)).sum::<f64>() / ids.len() as f64)
}
