//! `gputexel info`: shows the contents of datasets and whether they are intact.

use std::path::PathBuf;

use gputexel::checking::info::{Contents, Info, Summary, left_out};
use gputexel::checking::{IMPOSSIBLE, ScoresAgainstResults, is_impossible};
use gputexel::chess::PhaseSettings;
use gputexel::dataset::{ChecksumState, SourceRecord};
use gputexel::formats::Format;

use super::context::Context;
use super::output::{print_text, write_stdout};
use super::scale::scale_forms;
use super::subcommand::Subcommand;
use super::table::{ahead_lines, aligned, bytes, counted, grouped, percent, phase_table};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel info dataset.bin")]
pub struct InfoArgs {
    /// Datasets to describe
    #[arg(required = true, value_name = "DATASET")]
    datasets: Vec<PathBuf>,
    /// List every feature with its occurrences
    #[arg(long)]
    features: bool,
}

impl Subcommand for InfoArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let mut first_error = None;
        let mut infos = Vec::new();
        for path in &self.datasets {
            match Info::read(path, self.features) {
                Ok((info, damage)) => {
                    if !context.json && !context.quiet {
                        print_text(&describe(&info))?;
                    }
                    infos.push(info);
                    first_error = first_error.or(damage);
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if context.json {
            match &infos[..] {
                [one] if self.datasets.len() == 1 => {
                    write_stdout(&format!("{}\n", serde_json::to_string(one)?))?
                }
                [] => {}
                all => write_stdout(&format!(
                    "{}\n",
                    serde_json::to_string(&serde_json::json!({ "datasets": all }))?
                ))?,
            }
        }
        first_error.map_or(Ok(()), |error| Err(error.into()))
    }
}

fn describe(info: &Info) -> String {
    let mut text = String::new();
    let meta = &info.metadata;
    let games = match meta.games {
        0 => "no games: splits go by position".to_string(),
        games => counted(games, "game"),
    };
    text += &format!("{}: {}, {games}\n", info.path, counted(meta.positions, "position"));
    let per_position = info.bytes as f64 / meta.positions.max(1) as f64;
    text += &format!(
        "  {}, {per_position:.1} bytes per position, written by {}\n",
        bytes(info.bytes),
        meta.program
    );
    let phase = &meta.phase;
    let units = match phase {
        PhaseSettings { knight: 0, bishop: 0, rook: 0, queen: 0, max: 1, .. } => "untapered".to_string(),
        PhaseSettings { knight: 0, bishop: 0, rook: 0, queen: 0, max, .. } => format!("phase 0 to {max}"),
        counted => format!("phase {counted}"),
    };
    text += &format!("  features {} ({}), {units}\n", meta.feature_set, meta.features);
    if let Some(contents) = &info.contents {
        describe_contents(&mut text, contents, meta);
    }
    for (i, source) in meta.sources.iter().enumerate() {
        let kept = info.contents.as_ref().and_then(|contents| contents.games_by_source.get(i).copied());
        describe_source(&mut text, source, kept);
    }
    if let Some(command) = &meta.trace_command {
        text += &format!("  traced by {}\n", gputexel::io::printable(command));
    }
    if !meta.selection.is_empty() {
        let settings: Vec<String> =
            meta.selection.iter().map(|(name, value)| format!("{name} {value}")).collect();
        text += &format!("  selection: {}\n", settings.join(", "));
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
    *text += &format!(
        "  {:.2} {unit} per position, checksum {}\n",
        contents.entries_a_position, contents.checksum
    );
    if contents.scored_positions > 0 {
        let share = percent(contents.scored_positions, meta.positions);
        *text += &format!("  search scores: {} ({share})\n", grouped(contents.scored_positions));
        if let Some(scores) = &contents.scores {
            *text += &score_table(scores);
        }
    }
    if contents.evaluated_positions > 0 {
        let share = percent(contents.evaluated_positions, meta.positions);
        *text += &format!("  static evaluations: {} ({share})\n", grouped(contents.evaluated_positions));
    }
    if contents.scale_factors > 0 {
        *text += &format!("  endgame scale factors: {}\n", contents.scale_factors);
    }
    *text += &phase_table(&contents.results_by_phase, 4);
    *text += &ahead_lines(contents.ahead.as_ref(), 4);
    let mut titles = vec!["positions with a", "features", "unseen", "fewest", "median", "most"];
    if contents.groups.iter().any(|group| !group.structure.is_empty()) {
        titles.push("structure");
    }
    let mut rows = vec![titles.into_iter().map(String::from).collect()];
    rows.extend(contents.groups.iter().map(|group| {
        vec![
            group.name.clone(),
            group.features.to_string(),
            group.unseen.to_string(),
            grouped(group.fewest),
            grouped(group.median),
            grouped(group.most),
            group.structure.clone(),
        ]
    }));
    *text += &aligned(&rows, 4);
    let impossible = contents.unseen.iter().filter(|name| is_impossible(name)).count();
    if impossible > 0 {
        *text += &format!("  {impossible} of the unseen are {IMPOSSIBLE}\n");
    }
    let rare: Vec<String> =
        contents.rarest.iter().map(|one| format!("{} {}", one.name, grouped(one.positions))).collect();
    *text += &format!("  rarest: {}\n", rare.join(", "));
    if !contents.features.is_empty() {
        let rows: Vec<Vec<String>> =
            contents.features.iter().map(|one| vec![one.name.clone(), grouped(one.positions)]).collect();
        *text += &aligned(&rows, 4);
    }
}

fn score_table(scores: &ScoresAgainstResults) -> String {
    let mut out = match scores.k {
        Some(k) => format!("    K of the search scores: {}\n", scale_forms(k)),
        None => "    the search scores do not predict the results\n".to_string(),
    };
    let titles = ["score, cp", "positions", "mean score", "mean result", "±", "expected"];
    let mut rows = vec![titles.map(String::from).to_vec()];
    rows.extend(scores.rows.iter().map(|row| {
        let range = match (row.from, row.to, row.mate) {
            (_, _, true) if row.mean_score < 0.0 => "mate for Black".to_string(),
            (_, _, true) => "mate for White".to_string(),
            (Some(from), Some(to), _) => format!("{from:+} to {to:+}"),
            (None, Some(to), _) => format!("below {to:+}"),
            (Some(from), None, _) => format!("{from:+} or more"),
            (None, None, _) => "any".to_string(),
        };
        vec![
            range,
            grouped(row.positions),
            if row.mate { String::new() } else { format!("{:.0}", row.mean_score) },
            format!("{:.3}", row.mean_result),
            format!("{:.3}", row.error),
            row.expected.map_or(String::new(), |expected| format!("{expected:.3}")),
        ]
    }));
    out += &aligned(&rows, 4);
    out
}

fn counted_records(count: u64, format: Format) -> String {
    format!("{} {}", grouped(count), format.record_name(count))
}

/// Describes a source, and how many of its games kept a position, if known.
fn describe_source(text: &mut String, source: &SourceRecord, kept: Option<u64>) {
    // Other formats, such as traces, consist of lines.
    let format = source.format.parse().unwrap_or(Format::Text);
    let labels = match (&source.labels, &source.point_of_view) {
        (Some(labels), Some(view)) => {
            let scale = source.results.as_ref().map_or(String::new(), |scale| format!(" from {scale}"));
            let scores = source.score_point_of_view.as_ref();
            let scores = scores.map_or(String::new(), |view| format!(", that of scores {view}"));
            format!(", results as {labels}{scale}, point of view {view}{scores}")
        }
        (Some(labels), None) => {
            let view = source.score_point_of_view.as_deref().unwrap_or("white");
            format!(", scores as {labels}, point of view {view}")
        }
        _ => {
            let scores = source.score_point_of_view.as_ref();
            scores.map_or(String::new(), |view| format!(", point of view of scores {view}"))
        }
    };
    *text += &format!(
        "  from {}: {} of {}{labels}\n",
        source.path,
        counted(source.positions, "position"),
        counted_records(source.records, format)
    );
    if let Some(earlier) = &source.same_as {
        *text += &format!("    has the same content as {earlier}: all of it was read twice\n");
    }
    let rows: Vec<Vec<String>> = left_out(source, kept)
        .into_iter()
        .map(|(label, count)| vec![format!("- {label}"), grouped(count)])
        .collect();
    *text += &aligned(&rows, 4);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_by_their_format() {
        for (format, one, many) in [
            ("pgn", "1 game", "1,200 games"),
            ("text", "1 line", "1,200 lines"),
            ("binpack", "1 chain of moves", "1,200 chains of moves"),
        ] {
            let format = format.parse().unwrap();
            assert_eq!([1, 1200].map(|count| counted_records(count, format)), [one, many]);
        }
    }
}
