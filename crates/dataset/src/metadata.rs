//! The metadata of a dataset, stored as JSON in the container's header.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use gputexel_model::FeatureSet;

/// Occurrences for one side from which the other's are conspicuously few.
const FREQUENT: u64 = 200;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// The file as given on the command line; `-` for standard input.
    pub path: String,
    /// Its format, such as `pgn` or `text`.
    pub format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// For labeled text: `white` or `stm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_of_view: Option<String>,
    /// For labeled text: the numbers for a loss and a win, if not `0..1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// For labeled text: the point of view of scores, if it differs from that of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_point_of_view: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    pub records: u64,
    pub positions: u64,
    #[serde(default)]
    pub left_out: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracingRecord {
    pub command: String,
    pub schema: String,
}

/// A parameter that was set in an engine, to measure its effect on evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedParameter {
    pub name: String,
    pub start: f64,
    /// Smallest value that may be set.
    pub min: f64,
    /// Largest value that may be set.
    pub max: f64,
    /// True if only whole numbers may be set.
    pub integer: bool,
    pub step: f64,
    pub linear: bool,
}

/// Measurement of the coefficients of a dataset, by asking an engine for evaluations under different values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbingRecord {
    /// The command line of the engine, or of a program that reads positions.
    pub command: String,
    /// Options other than the parameters, in the order in which they are set.
    pub options: Vec<(String, String)>,
    /// How it was asked: `eval`, `nodes`, `depth` or `lines`.
    pub ask: String,
    /// Text around the evaluation in its answers, if the question was `eval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// True if each position was asked for with empty tables.
    pub fresh: bool,
    /// `white` or `stm`: whose view evaluations have.
    pub view: String,
    /// Centipawns per unit of the engine's numbers.
    pub unit_cp: f64,
    /// Its smallest difference between evaluations, centipawns.
    pub resolution_cp: f64,
    /// Largest difference, centipawns, between two answers to the same question.
    pub noise_cp: f64,
    /// The parameters, in the order of the features.
    pub parameters: Vec<ProbedParameter>,
    /// Rows of the dataset, spread evenly, and the FENs of their positions, about which the engine can be asked again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<(u64, String)>,
}

impl ProbingRecord {
    /// Returns true if an option, whose name is not case-sensitive, is one of the parameters.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|one| one.name.eq_ignore_ascii_case(name))
    }

    /// Returns true if evaluations change in proportion to all parameters.
    pub fn is_linear(&self) -> bool {
        self.parameters.iter().all(|parameter| parameter.linear)
    }
}

/// The JSON metadata of a dataset, schema version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub schema: u32,
    pub program: String,
    pub feature_set: FeatureSet,
    pub positions: u64,
    pub games: u64,
    /// Inputs in the order of their positions.
    pub sources: Vec<SourceRecord>,
    pub selection: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<TracingRecord>,
    /// The engine that was asked for evaluations, if coefficients were measured so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probing: Option<ProbingRecord>,
    /// Occurrences of each feature for the side to move and for the other side, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_turn: Vec<[u64; 2]>,
    /// xxh3 of each tensor's bytes, hexadecimal.
    #[serde(default)]
    pub checksums: BTreeMap<String, String>,
}

impl Metadata {
    /// The schema version that this version of the program writes and reads.
    pub const SCHEMA: u32 = 1;

    pub fn new(feature_set: FeatureSet) -> Self {
        Self {
            schema: Self::SCHEMA,
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            feature_set,
            positions: 0,
            games: 0,
            sources: Vec::new(),
            selection: BTreeMap::new(),
            tracing: None,
            probing: None,
            by_turn: Vec::new(),
            checksums: BTreeMap::new(),
        }
    }

    /// Returns the features that the side to move hardly ever has, though the other one often does, such as threats:
    /// where it has them, quiet positions end, so that positions do not tell what they are worth.
    pub fn seldom_to_move(&self, share: f64) -> Vec<usize> {
        let counts = self.by_turn.iter().enumerate();
        let seldom = counts
            .filter(|&(_, &[own, other])| other >= FREQUENT && (own as f64) < share * (own + other) as f64);
        seldom.map(|(id, _)| id).collect()
    }
}
