//! Evaluations as Lichess publishes them (<https://database.lichess.org/#evals>): JSON, one position per
//! line.
//!
//! A line has a position of four fields (`fen`) and evaluations (`evals`) of different depths, each with one
//! or several variations (`pvs`). The first variation of the deepest evaluation counts; of equally deep ones that
//! with the most nodes (`knodes`). Scores are White's view, centipawns (`cp`) or moves to mate (`mate`). There
//! are no results.

use crate::labels::MAX_SCORE_CP;
use crate::sample::Batch;
use crate::selection::{Criteria, Reason};
use crate::text::significant_lines;
use shakmaty::{Chess, Position};

use crate::formats::collector::Collector;
use crate::formats::json::{Json, JsonError};
use crate::formats::spec::{FormatSpec, TrainingData, last_line_end};
use crate::formats::{position, refusal};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "lichess",
    has_results: false,
    split_point: Some(last_line_end),
    training: Some(TrainingData { read, detect, is_certain: true }),
    ..FormatSpec::TEXT
};

#[derive(Debug, Default)]
struct Line {
    fen: Option<Vec<u8>>,
    deepest: Option<Evaluation>,
    has_evaluations: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Evaluation {
    depth: f64,
    knodes: f64,
    score: Option<Score>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Score {
    Centipawns(f64),
    /// Moves to mate, positive for White's.
    Mate(f64),
}

impl Score {
    /// Returns centipawns in White's view, within the bound that mates have in texts, too.
    fn white_cp(self, position: &Chess) -> f32 {
        match self {
            Self::Centipawns(cp) => (cp as f32).clamp(-MAX_SCORE_CP, MAX_SCORE_CP) + 0.0,
            // Mate in 0: the side to move is mated.
            Self::Mate(0.0) => position.turn().fold_wb(-MAX_SCORE_CP, MAX_SCORE_CP),
            Self::Mate(moves) => MAX_SCORE_CP.copysign(moves as f32),
        }
    }
}

fn score(json: &mut Json<'_>) -> Result<Option<Score>, JsonError> {
    let mut score = None;
    json.object(|json, key| {
        match key {
            b"cp" => score = json.number()?.map(Score::Centipawns).or(score),
            b"mate" => score = json.number()?.map(Score::Mate).or(score),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(score)
}

fn evaluation(json: &mut Json<'_>) -> Result<Evaluation, JsonError> {
    let mut evaluation = Evaluation::default();
    json.object(|json, key| {
        match key {
            b"depth" => evaluation.depth = json.number()?.unwrap_or(0.0),
            b"knodes" => evaluation.knodes = json.number()?.unwrap_or(0.0),
            b"pvs" => {
                evaluation.score = None;
                let mut first = true;
                json.array(|json| {
                    if !std::mem::take(&mut first) {
                        return json.skip();
                    }
                    evaluation.score = score(json)?;
                    Ok(())
                })?;
            }
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(evaluation)
}

fn parse(text: &[u8]) -> Result<Line, JsonError> {
    let mut line = Line::default();
    let mut json = Json::new(text)?;
    json.object(|json, key| {
        match key {
            b"fen" => line.fen = Some(json.string()?.into_owned()),
            b"evals" => {
                line.has_evaluations = true;
                line.deepest = None;
                json.array(|json| {
                    let one = evaluation(json)?;
                    let deeper = |best: &Evaluation| (one.depth, one.knodes) > (best.depth, best.knodes);
                    if line.deepest.as_ref().is_none_or(deeper) {
                        line.deepest = Some(one);
                    }
                    Ok(())
                })?;
            }
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.end()?;
    Ok(line)
}

/// Returns true if an input begins with such a line; a line longer than `head` is judged by its keys.
fn detect(head: &[u8], complete: bool) -> bool {
    let Some((_, first)) = significant_lines(head, 1).next() else { return false };
    let whole = complete || first.len() < head.len() && memchr::memchr(b'\n', head).is_some();
    if whole {
        return parse(first).is_ok_and(|line| line.fen.is_some() && line.has_evaluations);
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
        let (Some(fen), true) = (&line.fen, line.has_evaluations) else {
            let lacking = if line.fen.is_none() { "fen" } else { "evals" };
            out.refuse(Reason::UnreadableRecord, number, || format!("the object has no \"{lacking}\""));
            continue;
        };
        match position(fen) {
            Ok(position) => {
                let score = line.deepest.and_then(|evaluation| evaluation.score);
                let score_cp = score.map_or(f32::NAN, |score| score.white_cp(&position));
                out.position(&position, score_cp, f32::NAN, number);
            }
            Err(error) => out.refuse(refusal(error), number, || error.reason().to_string()),
        }
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Selection;
    use proptest::prelude::*;
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
        assert!(reasons[0].contains("no string") && reasons[1].contains("illegal position"), "{reasons:?}");
        assert!(reasons[2].contains("no \"evals\"") && reasons[3].contains("more than one"), "{reasons:?}");
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

    proptest! {
        #[test]
        fn scores_are_those_of_a_general_parser(
            evals in proptest::collection::vec((0u32..50, 0u32..9, -9999i32..9999, any::<bool>(), ".{0,20}"), 0..6),
            spaced in any::<bool>(),
        ) {
            let list: Vec<Value> = evals.iter().map(|(depth, knodes, score, mate, line)| {
                let key = if *mate { "mate" } else { "cp" };
                json!({"pvs": [{"line": line, key: score}, {"cp": 5}], "extra": {line: line}, "knodes": knodes, "depth": depth})
            }).collect();
            let value = json!({"fen": FEN, "evals": list});
            let text = if spaced {
                serde_json::to_string_pretty(&value).unwrap().replace('\n', " ")
            } else {
                value.to_string()
            };
            let mut best: Option<&Value> = None;
            let rank = |e: &Value| (e["depth"].as_u64(), e["knodes"].as_u64());
            for one in value["evals"].as_array().unwrap() {
                if best.is_none_or(|best| rank(one) > rank(best)) {
                    best = Some(one);
                }
            }
            let wanted = best.map(|one| match (&one["pvs"][0]["cp"], &one["pvs"][0]["mate"]) {
                (Value::Null, mate) => if mate.as_i64() > Some(0) { 30_000.0 } else { -30_000.0 },
                (cp, _) => cp.as_f64().unwrap() as f32,
            });
            let (found, complaints) = scores(&text);
            prop_assert!(complaints.is_empty(), "{:?} {}", complaints, text);
            prop_assert_eq!(Some(found[0]).filter(|score| !score.is_nan()), wanted);
        }
    }
}
