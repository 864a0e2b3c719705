//! `gputexel info`: what datasets hold, and whether they are whole.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gputexel::checking::{IMPOSSIBLE, PhaseRow, is_impossible};
use gputexel::chess::PhaseSettings;
use gputexel::chess::selection::{Reason, Unit};
use gputexel::dataset::{self, ChecksumState, Dataset, Metadata, SourceRecord, TensorInfo};
use serde::Serialize;

use super::Context;
use super::table::{aligned, bytes, grouped, percent};

/// Flags of `info`.
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// Datasets to describe
    #[arg(required = true, value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    /// List every feature with its occurrences
    #[arg(long)]
    features: bool,
}

/// Rare features that are named.
const RARE_NAMES: usize = 8;

/// Everything that is printed of one dataset.
#[derive(Debug, Serialize)]
struct Info {
    path: String,
    bytes: u64,
    intact: bool,
    metadata: Summary,
    tensors: Vec<TensorInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<Contents>,
}

/// The metadata without the list of features, which would drown the rest.
#[derive(Debug, Serialize)]
struct Summary {
    program: String,
    feature_set: &'static str,
    features: usize,
    phase: PhaseSettings,
    positions: u64,
    games: u64,
    sources: Vec<SourceRecord>,
    selection: std::collections::BTreeMap<String, String>,
}

/// What only the columns tell.
#[derive(Debug, Serialize)]
struct Contents {
    checksum: String,
    entries_a_position: f64,
    scored_positions: u64,
    /// Positions with a static evaluation of the engine.
    evaluated_positions: u64,
    /// Distinct endgame scale factors.
    scale_factors: usize,
    results_by_phase: Vec<PhaseRow>,
    groups: Vec<Group>,
    unseen: Vec<String>,
    rarest: Vec<Occurrences>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    features: Vec<Occurrences>,
    /// Of each source, the games of which a position was kept.
    games_by_source: Vec<u64>,
}

/// The features of one table.
#[derive(Debug, Serialize)]
struct Group {
    name: String,
    features: usize,
    unseen: usize,
    fewest: u64,
    median: u64,
    most: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Occurrences {
    name: String,
    positions: u64,
}

/// Runs `info`.
///
/// # Errors
/// Those of reading datasets; a damaged one is described before the error is returned.
pub fn run(args: &InfoArgs, context: &Context) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut first_error = None;
    let mut infos = Vec::new();
    for path in &args.datasets {
        match look(path, args.features) {
            Ok((info, damage)) => {
                if !context.json && !context.quiet {
                    out.write_all(describe(&info).as_bytes())?;
                }
                infos.push(info);
                first_error = first_error.or(damage);
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if context.json {
        match &infos[..] {
            [one] if args.datasets.len() == 1 => writeln!(out, "{}", serde_json::to_string(one)?)?,
            [] => {}
            all => writeln!(out, "{}", serde_json::to_string(&serde_json::json!({ "datasets": all }))?)?,
        }
    }
    first_error.map_or(Ok(()), |error| Err(error.into()))
}

/// Describes a dataset; one that is damaged is described as far as it can be.
fn look(path: &Path, all_features: bool) -> gputexel::Result<(Info, Option<gputexel::Error>)> {
    let (metadata, tensors) = dataset::tensors(path)?;
    let file_bytes = std::fs::metadata(path).map_err(|e| gputexel::Error::io(path, e))?.len();
    let (contents, damage) = match dataset::read(path) {
        Ok(data) => (Some(contents(&data, all_features)), None),
        Err(error) => (None, Some(error)),
    };
    let info = Info {
        path: path.display().to_string(),
        bytes: file_bytes,
        intact: damage.is_none(),
        metadata: summary(metadata),
        tensors,
        contents,
    };
    Ok((info, damage))
}

fn summary(metadata: Metadata) -> Summary {
    Summary {
        feature_set: metadata.feature_set.name(),
        features: metadata.feature_set.features.len(),
        phase: metadata.feature_set.phase,
        program: metadata.program,
        positions: metadata.positions,
        games: metadata.games,
        sources: metadata.sources,
        selection: metadata.selection,
    }
}

fn contents(data: &Dataset, all_features: bool) -> Contents {
    let counts = data.occurrences();
    let features = &data.metadata().feature_set.features;
    let entries: usize = (0..data.len()).map(|n| data.row(n).entry_count()).sum();
    let named: Vec<Occurrences> = features
        .iter()
        .zip(&counts)
        .map(|(feature, &positions)| Occurrences { name: feature.name.clone(), positions })
        .collect();
    let mut rarest: Vec<Occurrences> = named.iter().filter(|one| one.positions > 0).cloned().collect();
    rarest.sort_by_key(|one| one.positions);
    rarest.truncate(RARE_NAMES);
    Contents {
        checksum: data.checksum().to_string(),
        entries_a_position: entries as f64 / data.len().max(1) as f64,
        scored_positions: data.search_scores().iter().filter(|score| !score.is_nan()).count() as u64,
        evaluated_positions: data.static_evaluations().iter().filter(|value| !value.is_nan()).count() as u64,
        scale_factors: data.scales().iter().collect::<std::collections::BTreeSet<_>>().len(),
        results_by_phase: PhaseRow::all(data),
        groups: groups(data, &counts),
        unseen: named.iter().filter(|one| one.positions == 0).map(|one| one.name.clone()).collect(),
        rarest,
        features: if all_features { named } else { Vec::new() },
        games_by_source: games_by_source(data),
    }
}

/// The games of which a position was kept, source by source, whose positions follow one another.
fn games_by_source(data: &Dataset) -> Vec<u64> {
    let mut start = 0;
    let games = |source: &SourceRecord| {
        let end = (source.positions as usize).saturating_add(start).min(data.len());
        let games: std::collections::HashSet<u32> = (start..end).map(|n| data.game(n)).collect();
        start = end;
        games.len() as u64
    };
    data.metadata().sources.iter().map(games).collect()
}

fn groups(data: &Dataset, counts: &[u64]) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    let features = &data.metadata().feature_set.features;
    for feature in features {
        if !names.contains(&feature.group.as_str()) {
            names.push(&feature.group);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let mut own: Vec<u64> =
                features.iter().zip(counts).filter(|(f, _)| f.group == name).map(|(_, &c)| c).collect();
            own.sort_unstable();
            Group {
                name: name.to_string(),
                features: own.len(),
                unseen: own.iter().filter(|&&count| count == 0).count(),
                fewest: own.iter().copied().find(|&count| count > 0).unwrap_or(0),
                median: own[own.len() / 2],
                most: own[own.len() - 1],
            }
        })
        .collect()
}

fn describe(info: &Info) -> String {
    let mut text = String::new();
    let meta = &info.metadata;
    let games = match meta.games {
        0 => "no games: splits go by position".to_string(),
        games => format!("{} games", grouped(games)),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {} positions, {games}", info.path, grouped(meta.positions));
    let per_position = info.bytes as f64 / meta.positions.max(1) as f64;
    let _ = writeln!(
        text,
        "  {}, {per_position:.1} bytes per position, written by {}",
        bytes(info.bytes),
        meta.program
    );
    let phase = &meta.phase;
    let units = match phase {
        PhaseSettings { knight: 0, bishop: 0, rook: 0, queen: 0, max: 1, .. } => "untapered".to_string(),
        PhaseSettings { knight: 0, bishop: 0, rook: 0, queen: 0, max, .. } => format!("phase 0 to {max}"),
        counted => format!("phase {counted}"),
    };
    let _ = writeln!(text, "  features {} ({}), {units}", meta.feature_set, meta.features);
    if let Some(contents) = &info.contents {
        describe_contents(&mut text, contents, meta);
    }
    for (i, source) in meta.sources.iter().enumerate() {
        let kept = info.contents.as_ref().and_then(|contents| contents.games_by_source.get(i).copied());
        describe_source(&mut text, source, kept);
    }
    if !meta.selection.is_empty() {
        let settings: Vec<String> =
            meta.selection.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(text, "  selection: {}", settings.join(", "));
    }
    let rows: Vec<Vec<String>> = info
        .tensors
        .iter()
        .map(|tensor| {
            let state = match tensor.checksum {
                ChecksumState::Ok => "ok",
                ChecksumState::Wrong => "DAMAGED",
                ChecksumState::Missing => "no checksum",
            };
            vec![
                tensor.name.clone(),
                tensor.dtype.clone(),
                grouped(tensor.elements as u64),
                bytes(tensor.bytes as u64),
                state.into(),
            ]
        })
        .collect();
    text += "  tensors:\n";
    text += &aligned(&rows, 4);
    text
}

fn describe_contents(text: &mut String, contents: &Contents, meta: &Summary) {
    let unit = if meta.feature_set == "pst" { "pieces" } else { "entries" };
    let _ = writeln!(
        text,
        "  {:.2} {unit} per position, checksum {}",
        contents.entries_a_position, contents.checksum
    );
    if contents.scored_positions > 0 {
        let share = percent(contents.scored_positions, meta.positions);
        let _ = writeln!(text, "  search scores: {} ({share})", grouped(contents.scored_positions));
    }
    if contents.evaluated_positions > 0 {
        let share = percent(contents.evaluated_positions, meta.positions);
        let _ = writeln!(text, "  static evaluations: {} ({share})", grouped(contents.evaluated_positions));
    }
    if contents.scale_factors > 0 {
        let _ = writeln!(text, "  endgame scale factors: {}", contents.scale_factors);
    }
    let mut rows =
        vec![["phase", "positions", "White wins", "draws", "Black wins", "mean"].map(String::from).to_vec()];
    rows.extend(contents.results_by_phase.iter().map(|row| {
        vec![
            format!("{}-{}", row.from, row.to),
            grouped(row.positions),
            percent(row.white_wins, row.positions),
            percent(row.draws, row.positions),
            percent(row.black_wins, row.positions),
            format!("{:.3}", row.mean_result),
        ]
    }));
    *text += &aligned(&rows, 4);
    let mut rows = vec![
        ["positions with a", "features", "unseen", "fewest", "median", "most"].map(String::from).to_vec(),
    ];
    rows.extend(contents.groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.features.to_string(),
            group.unseen.to_string(),
            grouped(group.fewest),
            grouped(group.median),
            grouped(group.most),
        ]
    }));
    *text += &aligned(&rows, 4);
    let impossible = contents.unseen.iter().filter(|name| is_impossible(name)).count();
    if impossible > 0 {
        let _ = writeln!(text, "  {impossible} of the unseen are {IMPOSSIBLE}");
    }
    let rare: Vec<String> =
        contents.rarest.iter().map(|one| format!("{} {}", one.name, grouped(one.positions))).collect();
    let _ = writeln!(text, "  rarest: {}", rare.join(", "));
    if !contents.features.is_empty() {
        let rows: Vec<Vec<String>> =
            contents.features.iter().map(|one| vec![one.name.clone(), grouped(one.positions)]).collect();
        *text += &aligned(&rows, 4);
    }
}

/// A source, and the games of it that kept a position, where that is known.
fn describe_source(text: &mut String, source: &SourceRecord, kept: Option<u64>) {
    let what = if source.format == "pgn" { "games" } else { "lines" };
    let labels = match (&source.labels, &source.point_of_view) {
        (Some(labels), Some(view)) => {
            let scale = source.results.as_ref().map_or(String::new(), |scale| format!(" from {scale}"));
            let scores = source.score_point_of_view.as_ref();
            let scores = scores.map_or(String::new(), |view| format!(", that of scores {view}"));
            format!(", results as {labels}{scale}, point of view {view}{scores}")
        }
        _ => String::new(),
    };
    let _ = writeln!(
        text,
        "  from {}: {} of {} {what}{labels}",
        source.path,
        if source.positions == 1 {
            "1 position".to_string()
        } else {
            format!("{} positions", grouped(source.positions))
        },
        grouped(source.records)
    );
    if let Some(earlier) = &source.same_as {
        let _ = writeln!(text, "    has the same content as {earlier}: all of it was read twice");
    }
    // In the order in which rules apply; what only another version knows comes last.
    let mut left_out: Vec<_> = source
        .left_out
        .iter()
        .map(|(label, count)| (Reason::of_label(label), label.as_str(), *count))
        .collect();
    left_out.sort_by_key(|(reason, _, _)| reason.map_or((u8::MAX, 0), Reason::rank));
    let games: u64 = left_out
        .iter()
        .filter(|(reason, _, _)| reason.is_some_and(|reason| reason.unit() == Unit::Game))
        .map(|(_, _, count)| count)
        .sum();
    let empty = kept.map_or(0, |kept| source.records.saturating_sub(games + kept));
    if source.format == "pgn" && empty > 0 {
        let positions = |reason: &Reason| reason.unit() == Unit::Position;
        let at = left_out.iter().position(|(reason, _, _)| reason.is_none_or(|reason| positions(&reason)));
        let what = match at {
            Some(_) => "games whose positions were all removed by the rules below",
            None => "games without any position to keep",
        };
        left_out.insert(at.unwrap_or(left_out.len()), (None, what, empty));
    }
    let rows: Vec<Vec<String>> =
        left_out.iter().map(|(_, label, count)| vec![format!("- {label}"), grouped(*count)]).collect();
    *text += &aligned(&rows, 4);
}
