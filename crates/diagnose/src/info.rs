//! The contents of a dataset, and the integrity of its file.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use serde::Serialize;

use super::features::ids_by_group;
use super::{Ahead, PhaseRow, ScoresAgainstResults};
use gputexel_chess::PhaseSettings;
use gputexel_chess::selection::{Reason, Unit};
use gputexel_dataset::{Dataset, Metadata, SourceRecord, TensorInfo};
use gputexel_io::{Error, Result};

const RARE_NAMES: usize = 8;

#[derive(Debug, Serialize)]
pub struct Info {
    pub path: String,
    pub bytes: u64,
    /// True if it can be read and all its checksums match.
    pub intact: bool,
    pub metadata: Summary,
    pub tensors: Vec<TensorInfo>,
    /// A summary of its columns; `None` if it is not intact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<Contents>,
}

/// The metadata without the list of features, which would dominate the output.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub program: String,
    pub feature_set: &'static str,
    pub features: usize,
    pub phase: PhaseSettings,
    pub positions: u64,
    pub games: u64,
    pub sources: Vec<SourceRecord>,
    pub selection: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_command: Option<String>,
}

/// A summary of a dataset's columns.
#[derive(Debug, Serialize)]
pub struct Contents {
    pub checksum: String,
    /// Mean number of entries per position.
    pub entries_a_position: f64,
    pub scored_positions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoresAgainstResults>,
    pub evaluated_positions: u64,
    pub scale_factors: usize,
    /// Results by phase, from full boards to empty ones.
    pub results_by_phase: Vec<PhaseRow>,
    /// Results of sides about a minor piece ahead, in the middlegame and the endgame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<[Ahead; 2]>,
    pub groups: Vec<GroupOccurrences>,
    /// Features that never occur.
    pub unseen: Vec<String>,
    pub rarest: Vec<Occurrences>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Occurrences>,
    pub games_by_source: Vec<u64>,
}

#[derive(Debug, Serialize)]
pub struct GroupOccurrences {
    pub name: String,
    pub features: usize,
    /// Number of features that never occur.
    pub unseen: usize,
    /// Positions of the rarest feature that occurs; 0 if none does.
    pub fewest: u64,
    /// Median number of positions per feature.
    pub median: u64,
    pub most: u64,
    /// Description of the lines and boards that an imported schema declares.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub structure: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Occurrences {
    pub name: String,
    pub positions: u64,
}

impl Info {
    pub fn read(path: &Path, list_features: bool) -> Result<(Self, Option<Error>)> {
        let (metadata, tensors) = gputexel_dataset::tensors(path)?;
        let bytes = std::fs::metadata(path).map_err(|e| Error::io(path, e))?.len();
        let (contents, damage) = match gputexel_dataset::read(path) {
            Ok(data) => (Some(Contents::new(&data, list_features)), None),
            Err(error) => (None, Some(error)),
        };
        let info = Self {
            path: path.display().to_string(),
            bytes,
            intact: damage.is_none(),
            metadata: Summary::from(metadata),
            tensors,
            contents,
        };
        Ok((info, damage))
    }
}

impl From<Metadata> for Summary {
    fn from(metadata: Metadata) -> Self {
        Self {
            feature_set: metadata.feature_set.name(),
            features: metadata.feature_set.features.len(),
            phase: metadata.feature_set.phase,
            program: metadata.program,
            positions: metadata.positions,
            games: metadata.games,
            sources: metadata.sources,
            selection: metadata.selection,
            trace_command: metadata.tracing.map(|tracing| tracing.command),
        }
    }
}

impl Contents {
    pub fn new(data: &Dataset, list_features: bool) -> Self {
        let counts = data.occurrences();
        let set = &data.metadata().feature_set;
        let features = &set.features;
        // For computed features it is fixed, and the same for every dataset.
        let declared = set.arrangements().into_iter().map(|words| match set.imported {
            Some(_) => words,
            None => String::new(),
        });
        let entries: usize = (0..data.len()).map(|n| data.row(n).entry_count()).sum();
        let known = |values: &[f32]| values.iter().filter(|value| !value.is_nan()).count() as u64;
        let named: Vec<Occurrences> = features
            .iter()
            .zip(&counts)
            .map(|(feature, &positions)| Occurrences { name: feature.name.clone(), positions })
            .collect();
        let mut rarest: Vec<Occurrences> = named.iter().filter(|one| one.positions > 0).cloned().collect();
        rarest.sort_by_key(|one| one.positions);
        rarest.truncate(RARE_NAMES);
        Self {
            checksum: data.checksum().to_string(),
            entries_a_position: entries as f64 / data.len().max(1) as f64,
            scored_positions: known(data.search_scores()),
            scores: ScoresAgainstResults::new(data),
            evaluated_positions: known(data.static_evaluations()),
            scale_factors: data.endgame_scales().iter().collect::<BTreeSet<_>>().len(),
            results_by_phase: PhaseRow::all(data),
            ahead: Ahead::of(data),
            groups: ids_by_group(features)
                .into_iter()
                .zip(declared)
                .map(|((name, ids), structure)| GroupOccurrences::new(name, &ids, &counts, structure))
                .collect(),
            unseen: named.iter().filter(|one| one.positions == 0).map(|one| one.name.clone()).collect(),
            rarest,
            features: if list_features { named } else { Vec::new() },
            games_by_source: games_by_source(data),
        }
    }
}

impl GroupOccurrences {
    fn new(name: &str, ids: &[usize], counts: &[u64], structure: String) -> Self {
        let mut own: Vec<u64> = ids.iter().map(|&id| counts[id]).collect();
        own.sort_unstable();
        Self {
            name: name.to_string(),
            features: own.len(),
            unseen: own.iter().filter(|&&count| count == 0).count(),
            fewest: own.iter().copied().find(|&count| count > 0).unwrap_or(0),
            median: own[own.len() / 2],
            most: own[own.len() - 1],
            structure,
        }
    }
}

fn games_by_source(data: &Dataset) -> Vec<u64> {
    let mut start = 0;
    let games = |source: &SourceRecord| {
        let end = (source.positions as usize).saturating_add(start).min(data.len());
        let games: HashSet<u32> = (start..end).map(|n| data.game(n)).collect();
        start = end;
        games.len() as u64
    };
    data.metadata().sources.iter().map(games).collect()
}

/// What was left out of a source, with counts, in the order in which the rules apply; reasons unknown to this
/// version come last. `games_kept` is the number of games with a position kept, if known.
pub fn left_out(source: &SourceRecord, games_kept: Option<u64>) -> Vec<(&str, u64)> {
    let mut left_out: Vec<(Option<Reason>, &str, u64)> = source
        .left_out
        .iter()
        .map(|(label, count)| (Reason::of_label(label), label.as_str(), *count))
        .collect();
    left_out.sort_by_key(|(reason, _, _)| reason.map_or((u8::MAX, 0), Reason::rank));
    let unit = |reason: &Option<Reason>| reason.map(Reason::unit);
    let games: u64 = left_out
        .iter()
        .filter(|(reason, _, _)| unit(reason) == Some(Unit::Game))
        .map(|(_, _, count)| count)
        .sum();
    let empty = games_kept.map_or(0, |kept| source.records.saturating_sub(games + kept));
    if source.format == "pgn" && empty > 0 {
        let at =
            left_out.iter().position(|(reason, _, _)| matches!(unit(reason), None | Some(Unit::Position)));
        let what = match at {
            Some(_) => "games whose positions were all removed by the rules below",
            None => "games without any position to keep",
        };
        left_out.insert(at.unwrap_or(left_out.len()), (None, what, empty));
    }
    left_out.into_iter().map(|(_, label, count)| (label, count)).collect()
}
