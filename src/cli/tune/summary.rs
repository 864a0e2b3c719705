//! The end of `tune` in about twelve lines: data, what it was good for, worth of the pieces, one board, files, and what
//! to do next.

use std::path::Path;

use gputexel::checking::{Ahead, compensation_unknown};
use gputexel::report::{Known, shape_board};
use gputexel::run::Tuned;
use gputexel::tuning::{HeldOutGain, ScaleMode};

use super::super::conclusion::{next, verdict};
use super::super::runs::targets_line;
use super::super::style::{columns, shade};
use super::super::table::{aligned, counted, grouped};

/// Maximum number of changes to list when there is no board to show.
const LISTED: usize = 8;
/// Width of a terminal that is not known.
const USUAL_COLUMNS: usize = 80;
/// Width of what stands beside a board.
const BESIDE: usize = 38;
/// Ratio of scores to the prior's within which search margins still fit.
const SAME_SCALE: std::ops::RangeInclusive<f64> = 0.95..=1.05;

/// Formats the summary, with the board of the table that stands out most.
pub fn summary(tuned: &Tuned) -> String {
    let mut out = data_line(tuned);
    out += &ahead_line(tuned);
    out += &gain_line(tuned);
    let conclusion = tuned.conclusion();
    out += &verdict(&conclusion.verdict);
    out += &scale_line(tuned);
    out += &values(tuned);
    let folder = tuned.folder.as_deref().unwrap_or(Path::new("")).display();
    let z = if tuned.config().named_basis().is_some() { "z.json, " } else { "" };
    let tables = if tuned.features.places().is_some() { "values.txt" } else { "tables.h, .hpp, .rs" };
    out += &format!("files       {folder}/report.html, params.json, {z}{tables}\n");
    out + &next(&conclusion)
}

fn data_line(tuned: &Tuned) -> String {
    let games = tuned.games.map(|games| format!(" of {}", counted(games, "game"))).unwrap_or_default();
    let targets = targets_line(tuned.config().blend.zip(tuned.record.blend), tuned.labels_k.as_deref());
    format!("data        {}{games}\n{targets}", counted(tuned.positions, "position"))
}

fn ahead_line(tuned: &Tuned) -> String {
    let Some(halves) = &tuned.doubts.ahead else { return String::new() };
    let unknown =
        if compensation_unknown(halves) { "; too few to tell whether pieces were given up" } else { "" };
    format!("ahead       by a minor piece: {}{unknown}\n", Ahead::figures(halves))
}

fn gain_line(tuned: &Tuned) -> String {
    let change = |before: f64, after: f64| {
        format!("{before:.6} -> {after:.6}: {:+.1} %", 100.0 * (after - before) / before)
    };
    if let Some(HeldOutGain { before, after, error }) = tuned.gain() {
        let error = match error.is_finite() {
            true => format!(" ± {:.1}", 100.0 * error / before),
            false => String::new(),
        };
        let how = match (&tuned.held_out_gain, &tuned.record.strength) {
            (None, Some(strength)) if strength.by_game => format!(" ({} folds of games)", strength.folds),
            (None, Some(strength)) => format!(" ({} folds)", strength.folds),
            _ => String::new(),
        };
        return format!("held out    {}{error}{how}\n", change(before, after));
    }
    match tuned.loss_before.zip(tuned.loss) {
        Some((before, after)) => format!("loss        {} in training\n", change(before, after)),
        None => String::new(),
    }
}

fn scale_line(tuned: &Tuned) -> String {
    let scale = tuned.record.scale;
    // Where K could not be fitted, margins have no scale to follow, as a warning has said.
    let ratio = tuned.score_ratio.filter(|ratio| !SAME_SCALE.contains(ratio));
    let Some(ratio) = ratio.filter(|_| !scale.is_some_and(|scale| scale.joint_failed)) else {
        return String::new();
    };
    let joint = scale.is_some_and(|scale| scale.mode == ScaleMode::Joint);
    let instead = if joint { "" } else { ", or --k joint" };
    format!("scale       scores are {ratio:.2} times the prior's: scale search margins{instead}\n")
}

fn worth_lines(tuned: &Tuned) -> Vec<String> {
    let pieces = tuned.pieces();
    let untapered = pieces.iter().all(|one| one.before[0] == one.before[1] && one.after[0] == one.after[1]);
    let row = |title: &str, cells: [String; 2]| {
        let cells = cells.iter().take(if untapered { 1 } else { 2 }).map(|cell| format!("{cell:<13}"));
        std::iter::once(format!("{title:<12}")).chain(cells).collect::<String>().trim_end().to_string()
    };
    let mut lines = Vec::new();
    if !pieces.is_empty() {
        let titles = if untapered { ["before -> after", ""] } else { ["middlegame", "endgame"] };
        lines.push(row("worth", titles.map(String::from)));
    }
    for one in &pieces {
        let cells = [0, 1].map(|phase| format!("{:.0} -> {:.0}", one.before[phase], one.after[phase]));
        lines.push(row(one.piece, cells));
    }
    lines.push(format!("K           {:.6} (base 10)", tuned.config().k));
    if tuned.record.scale.is_some_and(|scale| scale.mode == ScaleMode::Joint) {
        lines.push("            fitted with the values".to_string());
    }
    lines
}

/// Returns the worth of the pieces, beside it a board if the features have one; below it where that leaves no room.
pub(super) fn values(tuned: &Tuned) -> String {
    let known =
        Known { theta: tuned.parameters(), occurrences: &tuned.occurrences, errors: tuned.errors.as_deref() };
    let room = Some(columns()).filter(|columns| *columns < usize::MAX).unwrap_or(USUAL_COLUMNS);
    let mut worth = worth_lines(tuned);
    let plain = |_: f64, text: &str| text.to_string();
    let narrow = shape_board(&tuned.features, &known, 0, plain).unwrap_or_default();
    let fits = narrow.lines().all(|line| BESIDE + line.chars().count() <= room);
    let left = if worth.len() > 4 && fits { BESIDE } else { 0 };
    let Some(board) = shape_board(&tuned.features, &known, room - left, shade) else {
        let lines = worth.into_iter().map(|line| line + "\n").collect::<String>();
        return lines + &change_lines(tuned);
    };
    let mut board: Vec<&str> = board.lines().collect();
    if left == 0 {
        return worth.iter().map(String::as_str).chain(board).map(|line| format!("{line}\n")).collect();
    }
    // The letters of files would need a line that is empty beside them.
    board.truncate(worth.len().max(board.len() - 1));
    worth.resize(board.len(), String::new());
    worth.iter().zip(board).map(|(worth, board)| format!("{worth:<left$}{board}\n")).collect()
}

/// Lists the largest changes of values that are not the worth of a piece, in standard errors if these are known.
fn change_lines(tuned: &Tuned) -> String {
    let (set, prior, theta) = (&tuned.features, &tuned.config().prior_theta, tuned.parameters());
    let count = set.features.len();
    let pieces = &tuned.piece_values[..5];
    let mut changes: Vec<f64> = theta.iter().zip(prior).map(|(now, before)| now - before).collect();
    for (ids, _) in pieces.iter().flat_map(|one| &one.tables) {
        // What all entries of a table share is in the worth of the piece.
        for changes in changes.chunks_mut(count) {
            let total = |of: &dyn Fn(usize) -> f64| {
                ids.iter().map(|&id| tuned.occurrences[id] as f64 * of(id)).sum::<f64>()
            };
            let mean = total(&|id| changes[id]) / total(&|_| 1.0).max(1.0);
            ids.iter().for_each(|&id| changes[id] -= mean);
        }
    }
    let size = |id: usize| {
        let change = |i: usize| {
            let error = tuned.errors.as_ref().map_or(Some(1.0), |errors| errors[i]);
            error.map_or(0.0, |error| changes[i].abs() / error.max(f64::MIN_POSITIVE))
        };
        change(id).max(change(count + id))
    };
    let is_shown = |id: &usize| {
        tuned.occurrences[*id] > 0
            && size(*id) > 0.5
            && !pieces.iter().flat_map(|one| &one.counts).any(|(count, _)| count == id)
    };
    let mut ids: Vec<usize> = (0..count).filter(is_shown).collect();
    if ids.is_empty() {
        return String::new();
    }
    let more = ids.len().saturating_sub(LISTED);
    ids.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
    ids.truncate(LISTED);
    let cell = |id: usize, phase: usize| {
        let both = [0, 1].map(|phase| [prior[phase * count + id], theta[phase * count + id]]);
        let reads = set.program.as_ref().and_then(|program| program.reads(id as u16));
        let is_unread = both[phase] == [0.0; 2] && reads.is_some_and(|reads| !reads[phase]);
        match is_unread || (phase == 1 && both[0] == both[1]) {
            true => String::new(),
            false => format!("{:.0} -> {:.0}", both[phase][0], both[phase][1]),
        }
    };
    let (titles, values): (&[&str], _) = match set.has_phases() {
        true => (&["clearest changes", "middlegame", "endgame"], 2),
        false => (&["clearest changes"], 1),
    };
    let row = |&id: &usize| {
        let changes = (0..values).map(|phase| cell(id, phase));
        std::iter::once(set.features[id].name.clone()).chain(changes).collect()
    };
    let titles = titles.iter().map(ToString::to_string).collect();
    let mut out = aligned(&std::iter::once(titles).chain(ids.iter().map(row)).collect::<Vec<_>>(), 0);
    if more > 0 {
        out += &format!("and {} more, see params.json\n", grouped(more as u64));
    }
    out
}
