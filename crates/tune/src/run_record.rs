//! The record of a run in its folder: what it computes, and what was decided before it began.

use serde::{Deserialize, Serialize};

use super::{BlendChoice, RunConfig, ScaleRecord, StartsRecord, Strength};

/// Which uncertainty estimates of the result to compute, see [`sandwich`](super::sandwich) and
/// [`bootstrap`](super::bootstrap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncertaintyRequest {
    /// Whether to compute standard errors.
    pub errors: bool,
    /// Number of bootstrap resamples; 0 for none.
    pub bootstrap: usize,
}

/// The contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Program and version.
    pub program: String,
    /// The command line that started the run.
    pub command_line: String,
    /// When it was started, UTC.
    pub started: String,
    /// What it computes.
    pub config: RunConfig,
    /// The uncertainty estimates requested.
    #[serde(default)]
    pub uncertainty: UncertaintyRequest,
    /// Whether to find out what each group of features is worth, see [`ablate`](super::ablate).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ablate: bool,
    /// From how many points it was to begin, if not only from the prior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartsRecord>,
    /// How the weights of the penalties were chosen, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// How K was found, unless it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleRecord>,
    /// What is known of search scores in the targets, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<BlendRecord>,
    /// The rounds that follow, in which positions are resolved again, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requiesce: Option<RequiesceRecord>,
}

/// Where the search scores in the targets of a run come from; their share and scale constant are in
/// [`RunConfig::blend`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlendRecord {
    /// Positions with a search score; others keep the result alone.
    pub scored: u64,
    /// Positions.
    pub positions: u64,
    /// Whether the scale constant of search scores was fitted, and not given.
    pub k_fitted: bool,
    /// How the share was chosen, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<BlendChoice>,
}

/// Rounds in which positions are resolved with the tuned parameters, which are then tuned further.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequiesceRecord {
    /// Number of rounds requested.
    pub rounds: u32,
    /// The name of the search that resolves positions.
    pub from: String,
    /// Rounds done.
    pub done: Vec<RoundRecord>,
}

/// One round of a [`RequiesceRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// Its number, from 1.
    pub round: u32,
    /// Positions of its dataset.
    pub positions: u64,
    /// Positions whose leaf differs from that of the previous round.
    pub changed: u64,
    /// `changed` as a fraction of the positions.
    pub changed_share: f64,
    /// Positions that were not kept in the previous round.
    pub entered: u64,
    /// Positions of the previous round that are no longer kept.
    pub left: u64,
    /// Exact training loss, on this round's positions, of the parameters they were resolved with.
    pub loss_before: Option<f64>,
    /// Exact training loss of the round's result.
    pub loss: Option<f64>,
    /// Exact held-out loss of the parameters the positions were resolved with.
    pub held_out_before: Option<f64>,
    /// Exact held-out loss of the round's result.
    pub held_out: Option<f64>,
    /// Root mean square change of all parameters, centipawns.
    pub moved_rms_cp: f64,
    /// Largest change of any parameter, centipawns.
    pub moved_max_cp: f64,
    /// Epochs of the round's run.
    pub epochs: u64,
    /// Duration of the round in seconds, including the extraction.
    pub seconds: f64,
}

impl RunRecord {
    /// The record of a run that starts now.
    pub fn new(command_line: &str, config: RunConfig) -> Self {
        Self {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            command_line: command_line.to_string(),
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            config,
            uncertainty: UncertaintyRequest::default(),
            ablate: false,
            starts: None,
            strength: None,
            scale: None,
            blend: None,
            requiesce: None,
        }
    }
}
