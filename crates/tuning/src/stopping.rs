//! When a run ends.

use serde::{Deserialize, Serialize};

use super::OptimizerConfig;
use gputexel_files::{Error, Result};

/// Limits of a run; whichever is reached first ends it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// Passes over the training positions (Gauss–Newton: accepted steps).
    pub epochs: u64,
    /// Seconds of work, over all resumptions.
    pub seconds: Option<f64>,
    /// Largest gradient component, loss a centipawn, at which the minimum counts as reached.
    pub gradient_norm: f64,
    /// Relative improvement of the loss over `window` epochs below which the run ends.
    pub improvement: f64,
    /// Epochs over which the improvement is judged.
    pub window: u64,
    /// Epochs without a better held-out loss after which the run ends.
    pub patience: u64,
}

/// Limits that are asked for; the method decides about those that are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// See [`Stopping::epochs`]: 50 for Gauss–Newton, 400 for swarms, else 500.
    pub epochs: Option<u64>,
    /// See [`Stopping::seconds`]: none.
    pub seconds: Option<f64>,
    /// See [`Stopping::gradient_norm`]: 0.
    pub gradient_norm: Option<f64>,
    /// See [`Stopping::improvement`]: 1e-8 for Gauss–Newton, else 0.
    pub improvement: Option<f64>,
    /// See [`Stopping::window`]: 1 for Gauss–Newton and swarms, else 50.
    pub window: Option<u64>,
    /// See [`Stopping::patience`]: 5 for Gauss–Newton, all epochs for swarms, else 50.
    pub patience: Option<u64>,
}

impl Limits {
    /// The limits of a run by a method.
    pub fn for_method(self, optimizer: &OptimizerConfig) -> Stopping {
        let (epochs, improvement, window, patience) = match optimizer {
            OptimizerConfig::GaussNewton(_) => (50, 1e-8, 1, Some(5)),
            // Swarms stand still for long and then go on.
            OptimizerConfig::ParticleSwarm { .. } => (400, 0.0, 1, None),
            _ => (500, 0.0, 50, Some(50)),
        };
        let epochs = self.epochs.unwrap_or(epochs);
        Stopping {
            epochs,
            seconds: self.seconds,
            gradient_norm: self.gradient_norm.unwrap_or(0.0),
            improvement: self.improvement.unwrap_or(improvement),
            window: self.window.unwrap_or(window),
            patience: self.patience.or(patience).unwrap_or(epochs),
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The planned epochs are done.
    Epochs,
    /// The time is up.
    Time,
    /// The gradient vanished.
    Gradient,
    /// The loss improves no more.
    Improvement,
    /// The held-out loss improves no more.
    HeldOut,
    /// The optimizer found no better point.
    Converged,
    /// The user asked to stop.
    Interrupted,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Epochs => "epoch limit reached",
            Self::Time => "time limit reached",
            Self::Gradient => "gradient limit reached",
            Self::Improvement => "loss converged",
            Self::HeldOut => "held-out loss stopped improving",
            Self::Converged => "converged",
            Self::Interrupted => "interrupted",
        })
    }
}

impl Stopping {
    /// The limits of a method where none are asked for.
    pub fn default_for(optimizer: &OptimizerConfig) -> Self {
        Limits::default().for_method(optimizer)
    }

    /// Checks the limits.
    ///
    /// # Errors
    /// [`Error::Usage`] for numbers out of their range or not finite.
    pub fn validate(&self) -> Result<()> {
        if self.seconds.is_some_and(|s| !(s.is_finite() && s > 0.0)) {
            return Err(Error::Usage("the time limit must be a positive number of seconds".to_string()));
        }
        for (what, value) in [("gradient norm", self.gradient_norm), ("improvement", self.improvement)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Usage(format!("{what} {value}: must be 0 or a positive number")));
            }
        }
        if self.epochs == 0 || self.window == 0 || self.patience == 0 {
            return Err(Error::Usage("epochs, window and patience must be at least 1".to_string()));
        }
        Ok(())
    }
}
