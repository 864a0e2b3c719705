//! Evaluations as Lichess publishes them (<https://database.lichess.org/#evals>): JSON, one position per
//! line.

use std::borrow::Cow;

use serde::Deserialize;

use crate::fen::{FenError, legal_position, parse_fen};
use crate::labels::MAX_SCORE_CP;
use crate::sample::Batch;
use crate::selection::{Criteria, Reason};
use crate::text::significant_lines;
use shakmaty::{CastlingMode, Chess, Position};

use crate::formats::collector::Collector;
use crate::formats::spec::{FormatSpec, TrainingData, last_line_end};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "lichess",
    has_results: false,
    split_point: Some(last_line_end),
    training: Some(TrainingData { read, detect }),
    ..FormatSpec::TEXT
};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    fen: Option<Cow<'a, str>>,
    evals: Option<Vec<Evaluation>>,
}

#[derive(Deserialize)]
struct Evaluation {
    #[serde(default)]
    depth: Option<f64>,
    #[serde(default)]
    knodes: Option<f64>,
    #[serde(default)]
    pvs: Vec<Variation>,
}

#[derive(Deserialize)]
struct Variation {
    /// Centipawns.
    cp: Option<f64>,
    /// Moves to mate, positive for White's.
    mate: Option<f64>,
}

impl Evaluation {
    fn rank(&self) -> (f64, f64) {
        (self.depth.unwrap_or(0.0), self.knodes.unwrap_or(0.0))
    }
}

impl Line<'_> {
    fn score_cp(&self, position: &Chess) -> f32 {
        let mut deepest: Option<&Evaluation> = None;
        for one in self.evals.iter().flatten() {
            if deepest.is_none_or(|best| one.rank() > best.rank()) {
                deepest = Some(one);
            }
        }
        let variation = deepest.and_then(|evaluation| evaluation.pvs.first());
        variation.map_or(f32::NAN, |variation| variation.white_cp(position))
    }
}

impl Variation {
    /// Returns centipawns in White's view, within the bound that mates have in texts, too; NaN without a score.
    fn white_cp(&self, position: &Chess) -> f32 {
        match (self.cp, self.mate) {
            (Some(cp), _) => (cp as f32).clamp(-MAX_SCORE_CP, MAX_SCORE_CP) + 0.0,
            // Mate in 0: the side to move is mated.
            (_, Some(0.0)) => position.turn().fold_wb(-MAX_SCORE_CP, MAX_SCORE_CP),
            (_, Some(moves)) => MAX_SCORE_CP.copysign(moves as f32),
            _ => f32::NAN,
        }
    }
}

fn parse(text: &[u8]) -> serde_json::Result<Line<'_>> {
    serde_json::from_slice(text)
}

/// Returns true if an input begins with such a line; a line longer than `head` is judged by its keys.
fn detect(head: &[u8], complete: bool) -> bool {
    let Some((_, first)) = significant_lines(head, 1).next() else { return false };
    let whole = complete || first.len() < head.len() && memchr::memchr(b'\n', head).is_some();
    if whole {
        return parse(first).is_ok_and(|line| line.fen.is_some() && line.evals.is_some());
    }
    first.starts_with(b"{")
        && [&b"\"fen\""[..], b"\"evals\""].iter().all(|key| memchr::memmem::find(first, key).is_some())
}

/// Reads the lines of a chunk whose first is number `first_line`. Samples have no result: it is NaN.
fn read(chunk: &[u8], first_line: u64, criteria: Criteria<'_>) -> Batch {
    let mut out = Collector::new(criteria);
    for (number, text) in significant_lines(chunk, first_line) {
        let line = match parse(text) {
            Ok(line) => line,
            Err(error) => {
                out.refuse(Reason::UnreadableRecord, number, || format!("no JSON of an evaluation: {error}"));
                continue;
            }
        };
        let (Some(fen), Some(_)) = (&line.fen, &line.evals) else {
            let lacking = if line.fen.is_none() { "fen" } else { "evals" };
            out.refuse(Reason::UnreadableRecord, number, || format!("the object has no \"{lacking}\""));
            continue;
        };
        match position(fen.as_bytes()) {
            Ok(position) => {
                out.position(&position, line.score_cp(&position), f32::NAN, number);
            }
            Err(error) => out.refuse(refusal(error), number, || error.reason().to_string()),
        }
    }
    out.finish()
}

fn position(fen: &[u8]) -> Result<Chess, FenError> {
    let fen = fen.trim_ascii();
    let (setup, used) = parse_fen(fen)?;
    if used < fen.len() {
        return Err(FenError::Board);
    }
    legal_position(setup, CastlingMode::Chess960)
}

fn refusal(error: FenError) -> Reason {
    match error {
        FenError::Kings | FenError::Pawns | FenError::OppositeCheck => Reason::IllegalRecord,
        _ => Reason::BadRecord,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Selection;
    use serde_json::{Value, json};

    const FEN: &str = "2bq1rk1/pr3ppn/1p2p3/7P/2pP1B1P/2P5/PPQ2PB1/R3R1K1 w - -";

    fn scores(text: &str) -> (Vec<f32>, Vec<(u64, String)>) {
        let batch = read(text.as_bytes(), 1, (&Selection::everything()).into());
        assert!(batch.samples.iter().all(|sample| sample.result.is_nan()));
        (batch.samples.iter().map(|sample| sample.score_cp).collect(), batch.complaints)
    }

    #[test]
    fn the_deepest_evaluation_counts() {
        let one = |evals: Value| scores(&json!({ "fen": FEN, "evals": evals }).to_string()).0[0];
        let cp =
            |cp: i32, depth: u32, knodes: u32| json!({"pvs": [{"cp": cp}], "depth": depth, "knodes": knodes});
        assert_eq!(one(json!([cp(1, 20, 5), cp(2, 30, 1), cp(3, 25, 9)])), 2.0);
        assert_eq!(one(json!([cp(1, 30, 5), cp(2, 30, 7), cp(3, 30, 6)])), 2.0);
        assert_eq!(
            one(json!([{"pvs": [{"cp": -7, "line": "a"}, {"mate": 1}], "depth": 1, "knodes": 1}])),
            -7.0
        );
        assert_eq!(one(json!([{"pvs": [{"mate": -3}], "depth": 1}])), -30_000.0);
        assert_eq!(one(json!([{"pvs": [{"mate": 0}], "depth": 1}])), -30_000.0);
        assert_eq!(one(json!([{"pvs": [{"cp": 123_456}], "depth": 1}])), 30_000.0);
        assert!(one(json!([])).is_nan() && one(json!([{"pvs": [], "depth": 9}])).is_nan());
        assert!(one(json!([{"pvs": [{"cp": null}], "depth": 9}])).is_nan());
    }

    #[test]
    fn faults_are_named_with_their_lines() {
        let good = json!({ "other": {"a": [1, "\"}{", null]}, "fen": FEN, "evals": [{"pvs": [{"cp": 1}]}] });
        let illegal = json!({ "fen": "8/8/8/8/8/8/8/8 w - -", "evals": [] });
        let escaped = good.to_string().replace('/', "\\/");
        let text = format!(
            "{good}\n\n{{\"fen\":\n{illegal}\n{escaped}\n{{\"fen\":\"x\"}}\n{good} 1\n{{\"fen\":\"{FEN} x\",\"evals\":[]}}"
        );
        let (found, complaints) = scores(&text);
        assert_eq!(found, [1.0, 1.0]);
        let lines: Vec<u64> = complaints.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4, 6, 7, 8]);
        let reasons: Vec<&str> = complaints.iter().map(|(_, reason)| reason.as_str()).collect();
        assert!(
            reasons[1].contains("illegal position") && reasons[2].contains("no \"evals\""),
            "{reasons:?}"
        );
    }

    #[test]
    fn a_line_is_cut_nowhere_without_a_complaint() {
        let line =
            json!({ "fen": FEN, "evals": [{"pvs": [{"cp": 123}], "depth": 1, "knodes": 2}] }).to_string();
        for end in 1..line.len() {
            let (found, complaints) = scores(&line[..end]);
            assert_eq!((found.len(), complaints.len()), (0, 1), "{}", &line[..end]);
        }
        assert!(detect(line.as_bytes(), true) && detect(&line.as_bytes()[..80], false));
        assert!(!detect(b"{\"fen\": 1}", true) && !detect(b"[Event \"x\"]", true));
    }
}
