//! Values missing from an export: those of arrays that were left out, those supplied by a reference file, and digits
//! lost by rounding.

use std::path::Path;

use super::header::Header;
use super::like::Like;
use crate::tables::Remedy;
use crate::tables::sources::Precision;
use gputexel_io::{Error, Result};
use gputexel_model::{Feature, FeatureTables};

/// Sets the values of arrays that were left out as unused to 0.
pub(super) fn with_left_out(features: &[Feature], mut theta: Vec<f64>, header: Option<&Header>) -> Vec<f64> {
    let left_out = header.map_or(&[][..], |header| &header.left_out);
    if left_out.is_empty() {
        return theta;
    }
    let tables = FeatureTables::new(features);
    for name in left_out {
        let (table, offset) = match (name.strip_suffix(".mg"), name.strip_suffix(".eg")) {
            (Some(table), _) => (table, 0),
            (_, Some(table)) => (table, features.len()),
            _ => continue,
        };
        let ids = tables.0.iter().filter(|own| own.name == table).flat_map(|own| &own.ids);
        ids.for_each(|id| {
            let value = &mut theta[offset + id];
            *value = if value.is_nan() { 0.0 } else { *value };
        });
    }
    theta
}

/// Returns all values; missing ones are taken from a parameter file, and those of a phase that a parameter does not
/// have from its schema.
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

/// Describes the precision lost by rounding.
pub(super) fn about_precision(theta: &[f64], precision: Option<Precision>) -> Option<String> {
    if theta.iter().all(|value| value.fract() == 0.0) {
        return Some("values are whole centipawns; decimals are lost".to_string());
    }
    match precision? {
        Precision { decimals: None, scale } if scale != 1.0 => {
            Some(format!("values are rounded to 1/{scale} centipawn"))
        }
        Precision { decimals: Some(decimals @ ..=12), .. } => {
            Some(format!("values have {decimals} decimals at most"))
        }
        _ => None,
    }
}
