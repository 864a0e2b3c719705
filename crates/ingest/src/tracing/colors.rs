//! Whether a program evaluates White and Black alike.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use super::rows::evaluation;
use gputexel_chess::fen::mirrored;
use gputexel_io::{Error, Result, SETTINGS_BYTES, grouped, read_whole_text};

/// Number of positions that are asked about once more.
const MIRRORED: usize = 1000;
/// Larger differences are no rounding.
const ROUNDING_CP: f64 = 0.5;

/// Writes the first positions of a tape with colors exchanged; returns their FENs before and their evaluations.
pub(super) fn exchange(tape: &Path, to: &Path) -> Result<Vec<(String, f64)>> {
    let (mut known, mut text) = (Vec::new(), String::new());
    for line in BufReader::new(File::open(tape).map_err(|e| Error::io(tape, e))?).lines() {
        let line = line.map_err(|e| Error::io(tape, e))?;
        let Some((_, fen)) = line.split_once(" # ") else { continue };
        if let Some((exchanged, evaluation)) = mirrored(fen).zip(evaluation(&line)) {
            text += &format!("0 0.5 {exchanged}\n");
            known.push((fen.to_string(), evaluation));
        }
        if known.len() == MIRRORED {
            break;
        }
    }
    std::fs::write(to, text).map_err(|e| Error::io(to, e))?;
    Ok(known)
}

/// Returns a warning if evaluations are not the opposite with colors exchanged.
pub(super) fn one_sided(known: &[(String, f64)], answers: &Path) -> Result<Option<String>> {
    let text = read_whole_text(answers, SETTINGS_BYTES).map_err(|e| Error::io(answers, e))?;
    let differs = |((fen, before), line)| {
        let after = -evaluation(line)?;
        (f64::abs(before - after) > ROUNDING_CP).then_some((fen, before, after))
    };
    let known = known.iter().map(|(fen, evaluation)| (fen, *evaluation));
    let differing: Vec<(&String, f64, f64)> = known.clone().zip(text.lines()).filter_map(differs).collect();
    Ok(differing.first().map(|(fen, before, after)| {
        format!(
            "White and Black are evaluated differently in {} of {} positions, if colors are exchanged: {before:.1} and {after:.1} \
             in {fen}",
            grouped(differing.len() as u64),
            grouped(known.len() as u64)
        )
    }))
}
