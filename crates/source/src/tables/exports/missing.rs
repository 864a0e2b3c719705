//! Values missing from an export: those supplied by a reference file, and digits lost by rounding.

use std::path::Path;

use super::like::Like;
use crate::tables::Remedy;
use gputexel_io::{Error, Result};
use gputexel_model::Feature;

/// Fills in missing values: those of a parameter file, or of a phase that a parameter does not have.
pub(super) fn complete(
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
    for index in 0..theta.len() {
        if !theta[index].is_nan() {
            continue;
        }
        if let Some(kept) = like.and_then(|like| like.kept(index)) {
            theta[index] = kept;
            continue;
        }
        match like {
            Some(Like::File(file)) => {
                let record = &file.parameters[index % count];
                theta[index] = if index < count { record.mg } else { record.eg };
                lent += 1;
            }
            _ => {
                let phase = if index < count { "mg" } else { "eg" };
                let name = &features[index % count].name;
                let reason = format!("parameter '{name}.{phase}' is missing");
                return Err(Error::input(path, reason).advise(Remedy::Like));
            }
        }
    }
    if lent > 0 {
        notes.push(format!(
            "{lent} of {} values are not in it, and are those of the reference file",
            theta.len()
        ));
    }
    if let Some(index) = theta.iter().position(|value| !value.is_finite()) {
        return Err(Error::input(path, format!("parameter '{}' is too large", features[index % count].name)));
    }
    Ok(theta)
}

/// Describes the precision lost by rounding to 1/`scale` centipawn.
pub(super) fn about_precision(theta: &[f64], scale: f64) -> Option<String> {
    if theta.iter().all(|value| value.fract() == 0.0) {
        return Some("values are whole centipawns; decimals are lost".to_string());
    }
    (scale != 1.0).then(|| format!("values are rounded to 1/{scale} centipawn"))
}
