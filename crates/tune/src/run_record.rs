//! The record of a run in its folder: its configuration, and decisions made before it began.

use gputexel_io::timestamp;
use gputexel_report::Conclusion;
use serde::{Deserialize, Serialize};

use super::{RunConfig, ScaleMode, ScaleRecord, StartsRecord, Strength};

/// Uncertainty estimates of the result to compute, see [`sandwich`](super::sandwich) and
/// [`bootstrap`](super::bootstrap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertaintyRequest {
    pub errors: bool,
    /// Number of bootstrap resamples; 0 for none.
    pub bootstrap: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingChoices {
    pub starts: Option<usize>,
    /// How the weights of penalties are chosen, if they are.
    pub strength: Option<StrengthOrder>,
    pub scale: Option<ScaleMode>,
}

/// An order to choose the weights of penalties by held-out loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrengthOrder {
    /// True if it was given, not the default: it is an error if they cannot be chosen.
    pub given: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub program: String,
    pub command_line: String,
    pub started: String,
    pub config: RunConfig,
    #[serde(default)]
    pub uncertainty: UncertaintyRequest,
    /// Choices that are not made yet; before them, the configuration is not the final one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<PendingChoices>,
    /// Starting points, if not only the prior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartsRecord>,
    /// Choice of the weights of the penalties, if they were chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleRecord>,
    /// Properties of search scores in the targets, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendRecord>,
    /// Features that keep their values, because positions do not tell what they are worth.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// What the run found out, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
}

/// Origin of the search scores in the targets of a run; their share and scale constant are in [`RunConfig::blend`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlendRecord {
    /// Number of positions with a search score; others keep the result alone.
    pub scored: u64,
    pub positions: u64,
    /// True if the scale constant of search scores was fitted to the results.
    pub k_fitted: bool,
    /// True if it is the default, because results are not used or do not follow the scores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub k_default: bool,
}

impl RunRecord {
    pub fn new(command_line: &str, config: RunConfig) -> Self {
        Self {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: command_line.to_string(),
            started: timestamp(),
            config,
            uncertainty: UncertaintyRequest::default(),
            undecided: None,
            starts: None,
            strength: None,
            scale: None,
            blend: None,
            kept: Vec::new(),
            conclusion: None,
        }
    }
}
