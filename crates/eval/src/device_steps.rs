//! Optimizer steps that a device takes on its own, so that small problems do not wait for the host between steps.

use gputexel_dataset::Layout;
use gputexel_io::{Error, Result};

use super::{Population, Request};

/// The state of a population under Adam, from which a device takes steps.
///
/// The update is that of Kingma and Ba (2015): m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − rate · m /
/// (√(correction · v) + ε), where g is the gradient of the mean loss plus pull · (θ − prior), that of the loss with
/// pull / 2 · ‖θ − prior‖². A member whose loss or gradient is not finite stays where it is.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamStart {
    /// Parameters before the first step; every member has its own.
    pub population: Population,
    /// Positions and loss; gradients are always computed, even if not requested.
    pub request: Request,
    /// θ₀ toward which parameters are pulled, 2 F values.
    pub prior: Vec<f64>,
    pub settings: Vec<AdamMember>,
    /// First moments, 2 F per member.
    pub first_moment: Vec<f64>,
    /// Second moments, 2 F per member.
    pub second_moment: Vec<f64>,
}

/// Settings that do not change from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamMember {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// ε, loss per centipawn.
    pub epsilon: f64,
    /// Gradient of the regularization per centipawn of distance from the prior.
    pub pull: f64,
}

impl AdamStart {
    pub fn validate(&self, layout: &Layout) -> Result<()> {
        self.population.validate(layout)?;
        self.request.validate(layout)?;
        let (members, size) = (self.population.members(), 2 * layout.features());
        let lists = [
            ("values of the prior", self.prior.len(), size),
            ("settings", self.settings.len(), members),
            ("first moments", self.first_moment.len(), members * size),
            ("second moments", self.second_moment.len(), members * size),
        ];
        for (what, length, expected) in lists {
            if length != expected {
                return Err(Error::Usage(format!(
                    "{length} {what} for {members} members and {} features",
                    layout.features()
                )));
            }
        }
        Ok(())
    }
}

pub(crate) fn count_steps(rates: &[(f64, f64)], members: usize) -> Result<usize> {
    match rates.is_empty() || !rates.len().is_multiple_of(members.max(1)) {
        true => Err(Error::Usage(format!("{} rates for {members} members", rates.len()))),
        false => Ok(rates.len() / members.max(1)),
    }
}
