use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result};

/// Limits of a run; it ends when the first one is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    pub epochs: u64,
    /// Seconds of work, including earlier sessions.
    pub seconds: Option<f64>,
    /// Relative improvement of the lowest loss over `window` epochs below which the run ends; 0 disables the criterion.
    pub improvement: f64,
    pub window: u64,
    /// Epochs without a new best held-out loss after which the run ends.
    pub patience: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    Epochs,
    Time,
    Gradient,
    Improvement,
    HeldOut,
    Converged,
    Interrupted,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Epochs => "limit reached",
            Self::Time => "time limit reached",
            Self::Gradient => "the gradient is 0",
            Self::Improvement => "improvement limit reached",
            Self::HeldOut => "held-out loss stopped improving",
            Self::Converged => "converged",
            Self::Interrupted => "interrupted",
        })
    }
}

impl Stopping {
    pub fn validate(&self) -> Result<()> {
        if self.seconds.is_some_and(|s| !(s.is_finite() && s > 0.0)) {
            return Err(Error::Usage("the time limit must be a positive number of seconds".to_string()));
        }
        if !(self.improvement.is_finite() && self.improvement >= 0.0) {
            return Err(Error::setting("improvement", self.improvement, "must be 0 or a positive number"));
        }
        for (setting, value) in
            [("epochs", self.epochs), ("window", self.window), ("patience", self.patience)]
        {
            if value == 0 {
                return Err(Error::setting(setting, 0, "must be at least 1"));
            }
        }
        Ok(())
    }
}
