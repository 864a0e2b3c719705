//! What a dataset says about itself, stored as JSON in the container's header.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use gputexel_model::FeatureSet;

/// Where a contiguous run of positions came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The file as it was named on the command line; `-` for standard input.
    pub path: String,
    /// Its format, such as `pgn` or `text`.
    pub format: String,
    /// For labeled text: the syntax that was detected or asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// For labeled text: `white` or `stm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_of_view: Option<String>,
    /// For games: the letters of king, queen, rook, bishop and knight, if they are not those of
    /// English.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece_letters: Option<String>,
    /// For labeled text: what numbers stand for a loss and a win, where that is not `0..1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// For labeled text: whose view scores take, where that is not the view of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_point_of_view: Option<String>,
    /// The earlier input whose content this one has, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// Games (PGN) or lines (text) read.
    pub records: u64,
    /// Positions kept.
    pub positions: u64,
    /// What was left out, by reason.
    #[serde(default)]
    pub left_out: BTreeMap<String, u64>,
}

/// The JSON metadata of a dataset, schema version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Schema version of tensors and metadata.
    pub schema: u32,
    /// Program and version that wrote the file.
    pub program: String,
    /// Meaning of the ids.
    pub feature_set: FeatureSet,
    /// Number of positions.
    pub positions: u64,
    /// Number of games, 0 where the input had none.
    pub games: u64,
    /// Inputs in the order of their positions.
    pub sources: Vec<SourceRecord>,
    /// Selection settings by name.
    pub selection: BTreeMap<String, String>,
    /// xxh3 of each tensor's bytes, hexadecimal.
    #[serde(default)]
    pub checksums: BTreeMap<String, String>,
}

impl Metadata {
    /// The schema version that this program writes and reads.
    pub const SCHEMA: u32 = 1;

    /// Metadata of a dataset to be written.
    pub fn new(feature_set: FeatureSet) -> Self {
        Self {
            schema: Self::SCHEMA,
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            feature_set,
            positions: 0,
            games: 0,
            sources: Vec::new(),
            selection: BTreeMap::new(),
            checksums: BTreeMap::new(),
        }
    }
}
