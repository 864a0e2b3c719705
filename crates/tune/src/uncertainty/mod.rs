//! The uncertainty of tuned parameters: sandwich standard errors and the bootstrap.

mod bootstrap;
mod program_sums;
mod sandwich;
mod sums;

use std::ops::Range;

use crate::regularization::Regularization;
use gputexel_dataset::Layout;
use gputexel_dataset::objective::Objective;
use gputexel_io::{Error, Result};
use gputexel_model::Parameterization;

pub use bootstrap::{Bootstrap, BootstrapEvent, Spread, bootstrap, check_members, resample_seeds};
pub use sandwich::{Curvature, ErrorStatus, Sandwich, sandwich};

/// Minimum number of clusters (games, or positions if there are none) that must affect a parameter for its standard
/// error to be reported: with fewer, the standard error itself is uncertain by more than a third.
pub const MIN_CLUSTERS: u64 = 10;
/// Largest standard error that is reported, in centipawns.
pub const MAX_ERROR_CP: f64 = 10_000.0;
/// Maximum number of parameters (2 F) for which standard errors are computed: beyond it, the matrices take gigabytes
/// and their decomposition hours.
pub const MAX_PARAMETERS: usize = 16_384;

pub fn bytes_needed(parameters: usize, positions: usize) -> u64 {
    // Up to seven matrices at a time, if the curvature is singular and there are bounds; a record, and an
    // index in the order of games, for each position.
    let matrix = 8 * (parameters as u64).pow(2);
    7 * matrix + 40 * positions as u64
}

/// True if a standard error in centipawns is meaningful.
fn is_determined(error: f64) -> bool {
    error <= MAX_ERROR_CP // false for NaN
}

#[derive(Clone, Debug)]
pub struct Fit<'a> {
    pub layout: &'a Layout,
    pub parts: Range<usize>,
    pub parameterization: &'a Parameterization,
    pub z: &'a [f64],
    pub regularization: Regularization,
    pub objective: Objective,
}

impl Fit<'_> {
    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if !self.objective.loss.is_smooth() {
            return usage(format!(
                "standard errors need a loss with bounded curvature; '{}' has none",
                self.objective.loss
            ));
        }
        let (size, dimension) = (2 * self.layout.features(), self.parameterization.dimension());
        if self.parameterization.parameters() != size || self.regularization.prior().len() != size {
            return usage(format!("the parameters do not match a dataset with {size} parameters"));
        }
        if self.z.len() != dimension || self.z.iter().any(|value| !value.is_finite()) {
            return usage(format!("z must be {dimension} finite numbers"));
        }
        if self.parts.is_empty() || self.parts.end > self.layout.parts().len() {
            return usage(format!("parts {:?} of {}", self.parts, self.layout.parts().len()));
        }
        Ok(())
    }
}

/// The coordinates that affect each θ, as a list of (coordinate, factor) per θ.
fn rows_of(parameterization: &Parameterization) -> Vec<Vec<(usize, f64)>> {
    let moved = |row: Vec<(u32, f64)>| {
        let moved = row.into_iter().filter(|&(_, factor)| factor != 0.0);
        moved.map(|(coordinate, factor)| (coordinate as usize, factor)).collect()
    };
    parameterization.rows().into_iter().map(moved).collect()
}
