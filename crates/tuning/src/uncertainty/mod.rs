//! How sure tuned parameters are: sandwich standard errors and the bootstrap.
//!
//! Both take a [`Fit`], the point where a run ended and what it was fitted to, and answer for
//! every coordinate of z and every parameter of θ. Positions of one game share its result, so
//! games are what varies; where the input had no games, positions stand for themselves.

mod bootstrap;
mod inverse;
mod sandwich;
mod sums;

use std::ops::Range;

use gputexel_dataset::Layout;
use gputexel_dataset::objective::Objective;
use gputexel_files::{Error, Result};
use gputexel_model::Parameterization;

pub use bootstrap::{Bootstrap, BootstrapEvent, Spread, bootstrap, check_members, resample_seeds};
pub use sandwich::{Curvature, ErrorStatus, Sandwich, sandwich};

/// Fewest clusters (games, or positions where there are none) that must move a parameter for its
/// error to be given: of fewer, the spread is itself not known to better than a third.
pub const MIN_CLUSTERS: u64 = 10;

/// Largest standard error that is given, in centipawns. Beyond it nothing is known about a
/// parameter: away from a minimum, positions whose expected score is 0 or 1 to all digits have no
/// curvature, and errors grow to numbers without meaning.
pub const MAX_ERROR_CP: f64 = 10_000.0;

/// Most parameters (2 F) of which errors are made: beyond, the matrices take gigabytes and their
/// decomposition hours.
pub const MAX_PARAMETERS: usize = 16_384;

/// Bytes that [`sandwich()`] takes at most for so many parameters (2 F) and positions.
pub fn bytes_needed(parameters: usize, positions: usize) -> u64 {
    // Seven matrices at a time where the curvature is singular and there are bounds; a record, and a
    // place in the order of games, for each position.
    let matrix = 8 * (parameters as u64).pow(2);
    7 * matrix + 40 * positions as u64
}

/// Whether an error in centipawns says anything.
fn is_determined(error: f64) -> bool {
    error <= MAX_ERROR_CP // false for NaN
}

/// Where a run ended, and what it was fitted to.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    /// The positions.
    pub layout: &'a Layout,
    /// The parts of the layout that were trained on.
    pub parts: Range<usize>,
    /// What of θ was tuned.
    pub parameterization: &'a Parameterization,
    /// z at the end.
    pub z: &'a [f64],
    /// θ that regularisation pulls toward, 2 F values.
    pub prior: &'a [f64],
    /// Weight λ of the regularisation.
    pub l2: f64,
    /// Loss and K; K is taken as given.
    pub objective: Objective,
}

impl Fit<'_> {
    /// Checks lengths, and that the loss has the curvature that errors are made of.
    ///
    /// # Errors
    /// [`Error::Usage`] when they do not belong together, when z is not finite, or for a loss
    /// without curvature (|p − y|^q with q < 2).
    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(text));
        if !self.objective.loss.is_smooth() {
            return usage(format!(
                "standard errors need a loss with bounded curvature; '{}' has none",
                self.objective.loss
            ));
        }
        let (size, dimension) = (2 * self.layout.features(), self.parameterization.dimension());
        if self.parameterization.parameters() != size || self.prior.len() != size {
            return usage(format!("the parameters do not belong to a dataset of {size} parameters"));
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

/// Number of the coordinates that move each θ, as a list a θ of (coordinate, factor).
fn rows_of(parameterization: &Parameterization) -> Vec<Vec<(usize, f64)>> {
    if parameterization.is_identity() {
        return (0..parameterization.parameters()).map(|i| vec![(i, 1.0)]).collect();
    }
    let mut rows = vec![Vec::new(); parameterization.parameters()];
    for (coordinate, column) in parameterization.columns.iter().enumerate() {
        for &(index, factor) in column {
            if factor != 0.0 {
                rows[index as usize].push((coordinate, factor));
            }
        }
    }
    rows
}
