//! Mistakes of traces and schemas: `check` names each in one line, and nothing else.

use super::bench;
use crate::common::engine_trace::{
    Counted, ISOLATED, KINGS, KNIGHT_MOVES, KNIGHTS, Line, MATERIAL, MOVES, OPEN, PAIR, PASSED, PAWNS, PHASE,
    ROOK_MOVES, TEMPO, Values, positions_with_counts, schema, trace_of, values,
};
use crate::common::prelude::*;

const POSITIONS: usize = 1500;

/// Checks a trace with a mistake in each line; returns the findings and the error.
fn checked(danger: bool, mistake: impl Fn(&Counted, &mut Line)) -> (Value, String) {
    let text = trace_of(&positions_with_counts(POSITIONS, 3), &values(), danger, mistake);
    checked_with(&text, &schema(&values(), danger))
}

fn checked_with(text: &str, schema: &str) -> (Value, String) {
    let bench = bench(text, schema);
    let (code, out, err) = bench.run("--json check t.svm --schema s.json");
    assert!(code == 0 || err.lines().count() == 1, "{err}");
    (serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out} {err}")), err)
}

/// Requires that exactly one cause is named, in the line of the error, too.
fn names((found, err): &(Value, String), cause: &str) {
    let causes = found["evaluation"]["explanation"]["causes"].list();
    assert_eq!(causes.len(), 1, "{cause}: {}", found["evaluation"]["explanation"]);
    assert_has(causes[0]["text"].str(), cause);
    assert_has(err, cause);
}

fn cause(cause: &str, mistake: impl Fn(&Counted, &mut Line)) {
    names(&checked(false, mistake), cause);
}

/// Checks right traces with a schema of other values.
fn cause_of_values(cause: &str, danger: bool, change: impl Fn(&mut Values)) {
    let text = trace_of(&positions_with_counts(POSITIONS, 8), &values(), danger, |_, _| ());
    let mut wrong = values();
    change(&mut wrong);
    names(&checked_with(&text, &schema(&wrong, danger)), cause);
}

/// A coefficient in which Black's count has the wrong sign.
fn added(position: &Counted, index: usize) -> i64 {
    position.counts.iter().map(|own| own.get(&index).copied().unwrap_or(0)).sum()
}

/// Mirrors the squares of a table.
fn mirrored(line: &mut Line, first: usize, by: usize) {
    let moved = |(&index, &count): (&usize, &i64)| match index.wrapping_sub(first) {
        square @ 0..64 => (first + (square ^ by), count),
        _ => (index, count),
    };
    line.entries = line.entries.iter().map(moved).collect();
}

fn evaluated(line: &mut Line, change: impl Fn(i64) -> i64) {
    line.eval = line.eval.map(change);
}

/// A number from −40 to 40 that depends on the position.
fn noise(position: &Counted) -> i64 {
    position.fen.bytes().fold(7i64, |sum, byte| (31 * sum + i64::from(byte)) % 1009) % 81 - 40
}

#[test]
fn right_traces_have_no_cause_and_no_warnings() {
    for danger in [false, true] {
        let (found, err) = checked(danger, |_, _| ());
        assert_eq!((err.as_str(), found["evaluation"]["differing"].as_u64()), ("", Some(0)), "{found}");
        assert_eq!(found["evaluation"].get("explanation"), None);
        assert_eq!(found["sources"][0]["warnings"].list().len(), 0, "{found}");
    }
}

#[test]
fn wrong_signs_and_forgotten_terms_are_named() {
    for (index, name) in [(OPEN, "open file"), (PASSED, "passed"), (MATERIAL + 1, "knight")] {
        cause(&format!("'{name}' is not counted in the trace as in the engine"), |position, line| {
            line.entries.insert(index, added(position, index));
        });
    }
    for (index, name) in [(PAIR, "bishop pair"), (ISOLATED, "isolated")] {
        cause(&format!("'{name}' is evaluated, but not traced"), |_, line| line.forget(index));
    }
    // That it is the side to move's is the more specific statement.
    cause("a bonus of 28 (middlegame) and 21 (endgame) cp for the side to move", |_, line| {
        line.forget(TEMPO)
    });
    // Warned about without evaluations.
    for (first, count, name) in [(KNIGHT_MOVES, MOVES, "knight_moves"), (KNIGHTS, 64, "knight_table")] {
        let (found, _) = checked(false, |position, line| {
            (first..first + count).for_each(|index| {
                line.entries.insert(index, added(position, index));
            });
        });
        let warned = found["sources"][0]["warnings"][0].str();
        assert_has(warned, format!("no coefficient of '{name}' is ever negative"));
    }
}

#[test]
fn another_phase_is_named() {
    let positions = positions_with_counts(POSITIONS, 5);
    let text = trace_of(&positions, &values(), false, |_, _| ());
    for (declared, cause) in [
        (
            r#"{"middlegame": 256, "endgame": 0}"#,
            "of its 256 steps, 24 fits the middlegame and 0 the endgame",
        ),
        (r#"{"middlegame": 0, "endgame": 24}"#, "the phase is reversed: exchange"),
    ] {
        let right = format!(r#"{{"middlegame": {PHASE}, "endgame": 0}}"#);
        names(&checked_with(&text, &schema(&values(), false).replace(&right, declared)), cause);
    }
    // Without boards, an exchange of all values cannot be told from a reversed phase.
    let reversed = |line: &mut Line| line.phase = PHASE - line.phase;
    let text = trace_of(&positions, &values(), false, |_, line| {
        reversed(line);
        line.comment.clear();
    });
    let (found, err) = checked_with(&text, &schema(&values(), false));
    assert_has(&err, ["the phase is reversed", "; or: ", "middlegame and endgame are exchanged throughout"]);
    assert_eq!(found["evaluation"]["explanation"]["causes"].list().len(), 2);
    // Without an evaluation, boards tell.
    let text = trace_of(&positions, &values(), false, |_, line| {
        reversed(line);
        line.eval = None;
    });
    let bench = bench(text, &schema(&values(), false).replace("\"eval\": 2, ", ""));
    assert_has(
        &bench.ok("import t.svm --schema s.json -o d.bin"),
        "warning: the phase grows as pieces leave the board",
    );
}

#[test]
fn values_that_the_engine_does_not_play_with_are_named() {
    for (range, cause) in [
        (0..1000, "middlegame and endgame are exchanged throughout"),
        (PASSED..PASSED + 1, "'passed' has middlegame and endgame exchanged"),
        (KNIGHTS..KNIGHTS + 64, "'knight_table' has middlegame and endgame exchanged"),
        (KNIGHT_MOVES..KNIGHT_MOVES + MOVES, "'knight_moves' has middlegame and endgame exchanged"),
        (KNIGHT_MOVES..ROOK_MOVES + MOVES, "'moves' has middlegame and endgame exchanged"),
    ] {
        cause_of_values(cause, false, |values| {
            values.range_mut(range.clone()).for_each(|(_, pair)| pair.reverse())
        });
    }
    for (danger, index, pair, cause) in [
        (false, MATERIAL + 1, [373, 281], "the engine plays with 337 for 'knight.mg', not with 373"),
        (false, PASSED, [17, 86], "the engine plays with 68 for 'passed.eg', not with 86"),
        (false, OPEN, [34, 91], "the engine plays with 43 and 19 for 'open file', not with 34 and 91"),
        (true, PASSED, [17, 86], "the engine plays with 68 for 'passed.eg', not with 86"),
        (false, ISOLATED, [13, 29], "'isolated' has the opposite sign"),
    ] {
        cause_of_values(cause, danger, |values| values.extend([(index, pair)]));
    }
    let text = trace_of(&positions_with_counts(POSITIONS, 8), &values(), true, |_, _| ());
    let wrong = schema(&values(), true).replace("\"prior\": 90", "\"prior\": 60");
    names(&checked_with(&text, &wrong), "the engine plays with 90 for 'checks.mg', not with 60");
    // One value used in both phases.
    for (range, phase, cause) in [
        (PASSED..PASSED + 1, 0, "'passed' has its middlegame values in both phases"),
        (KNIGHT_MOVES..KNIGHT_MOVES + MOVES, 1, "'knight_moves' has its endgame values in both phases"),
    ] {
        let mut played = values();
        played.range_mut(range).for_each(|(_, pair)| *pair = [pair[phase]; 2]);
        let text = trace_of(&positions_with_counts(POSITIONS, 6), &played, false, |_, _| ());
        names(&checked_with(&text, &schema(&values(), false)), cause);
    }
    let mut played = values();
    played.range_mut(KNIGHTS..KNIGHTS + 64).for_each(|(_, pair)| pair[1] = 0);
    played.range_mut(ROOK_MOVES..ROOK_MOVES + MOVES).for_each(|(_, pair)| pair[0] = 0);
    let text = trace_of(&positions_with_counts(POSITIONS, 6), &played, false, |_, _| ());
    let cause = "'knight_table' in the middlegame only, 'rook_moves' in the endgame only: phases mg / eg";
    names(&checked_with(&text, &schema(&values(), false)), cause);
}

#[test]
fn flipped_tables_are_named() {
    cause("'pawn_table' has its ranks in the opposite order", |_, line| mirrored(line, PAWNS, 56));
    cause("'king_table' has its files in the opposite order", |_, line| mirrored(line, KINGS, 7));
    cause("'knight_table' has its squares in the opposite order", |_, line| mirrored(line, KNIGHTS, 63));
    cause("every table has its ranks in the opposite order", |_, line| {
        [PAWNS, KNIGHTS, KINGS].into_iter().for_each(|first| mirrored(line, first, 56));
    });
    cause("'rook_moves' has the opposite sign", |_, line| {
        line.entries.range_mut(ROOK_MOVES..ROOK_MOVES + MOVES).for_each(|(_, count)| *count = -*count);
    });
    // Black's pieces seen from White's side.
    let (found, _) = checked(false, |position, line| {
        (KNIGHTS..KNIGHTS + 64).for_each(|index| line.forget(index));
        for (own, by, sign) in [(0, 0, 1), (1, 56, -1)] {
            for (index, count) in position.counts[own].range(KNIGHTS..KNIGHTS + 64) {
                *line.entries.entry(KNIGHTS + ((index - KNIGHTS) ^ by)).or_insert(0) += sign * count;
            }
        }
    });
    assert_has(found["sources"][0]["warnings"][0].str(), "'knight_table' are mirrored for one color only");
}

#[test]
fn wrong_corners_of_boards_are_named() {
    let text = trace_of(&positions_with_counts(POSITIONS, 7), &values(), false, |_, _| ());
    for (corner, right) in [("a8", "a1"), ("h1", "a1"), ("h8", "a1")] {
        let whole = schema(&values(), false);
        let (before, after) = whole.split_once(r#"{"name": "king_table""#).unwrap();
        let after = after.replacen("\"a1\"", &format!("{corner:?}"), 1);
        let bench = bench(&text, &format!(r#"{before}{{"name": "king_table"{after}"#));
        // Evaluations do not depend on it.
        let out = bench.ok("check t.svm --schema s.json");
        let cause = format!(
            "the squares of 'king_table' are those of a board that begins on {right}, not on {corner}"
        );
        assert_has(&out, format!("warning: {cause}"));
        assert_has(&bench.ok("import t.svm --schema s.json -o d.bin"), format!("warning: {cause}"));
    }
}

#[test]
fn parameters_that_no_evaluation_tests_are_named() {
    let mut values = values();
    values.insert(OPEN, [0, 0]);
    values.insert(PAIR, [31, 31]);
    let text = trace_of(&positions_with_counts(300, 3), &values, false, |_, _| ());
    let bench = bench(text, &schema(&values, false));
    let found: Value = serde_json::from_str(&bench.ok("--json check t.svm --schema s.json")).unwrap();
    let untested = &found["evaluation"]["untested"];
    assert!(untested["zero"].list().contains(&"open file".into()), "{untested}");
    assert!(untested["same_in_phases"].list().contains(&"bishop pair".into()), "{untested}");
}

#[test]
fn other_points_of_view_are_named() {
    let views = "\"eval\" and the coefficients take different points of view";
    let turned = |position: &Counted, line: &mut Line| {
        evaluated(line, |eval| if position.black_to_move { -eval } else { eval });
    };
    cause(views, turned);
    // The side to move is unknown.
    cause(views, |position, line| {
        turned(position, line);
        line.comment.clear();
    });
    cause("\"eval\" has the opposite sign throughout", |_, line| evaluated(line, |eval| -eval));
    cause("\"eval\" is in other units: 2.000 times", |_, line| evaluated(line, |eval| 2 * eval));
    cause("\"eval\" has a constant part of 40 cp", |_, line| evaluated(line, |eval| eval + 40));
    let (found, err) = checked(false, |_, line| line.result = 1.0 - line.result);
    assert_eq!(found["labels"]["verdict"], "reversed");
    assert_has(&err, "evaluations contradict results, as if one were reversed");
}

#[test]
fn a_bonus_for_the_side_to_move_is_named() {
    let bonus = |position: &Counted, line: &mut Line| {
        evaluated(line, |eval| eval + if position.black_to_move { -15 } else { 15 });
    };
    cause("a bonus of 15 cp for the side to move", bonus);
    let unknown = |position: &Counted, line: &mut Line| {
        bonus(position, line);
        line.comment.clear();
    };
    // What is traced of it tells the side to move.
    cause("the engine plays with 43 and 36 for 'tempo', not with 28 and 21", unknown);
    let mut without = values();
    without.insert(TEMPO, [0, 0]);
    let text = trace_of(&positions_with_counts(POSITIONS, 3), &without, false, |position, line| {
        unknown(position, line);
        line.forget(TEMPO);
    });
    let found = checked_with(&text, &schema(&without, false));
    names(&found, "\"eval\" is 15 cp more or less than the trace says");
}

#[test]
fn what_no_change_explains_is_said_to_be_unknown() {
    let (found, err) = checked(false, |position, line| evaluated(line, |eval| eval + noise(position)));
    let explanation = &found["evaluation"]["explanation"];
    assert_eq!(explanation["causes"].list().len(), 0, "{explanation}");
    assert!(err.trim_end().ends_with("what the engine printed"), "{err}");
    // The changes that explain most are listed.
    let (found, _) = checked(false, |position, line| evaluated(line, |eval| eval + 90 + noise(position)));
    let explanation = &found["evaluation"]["explanation"];
    assert_has(explanation["partial"][0]["text"].str(), "\"eval\" has a constant part of");
    // Something about two parameters.
    let (found, _) = checked(false, |position, line| {
        let wrong = [ROOK_MOVES + 3, KNIGHT_MOVES + 5];
        if wrong.iter().any(|index| line.entries.get(index).is_some_and(|count| *count != 0)) {
            evaluated(line, |eval| eval + 85 + noise(position));
        }
    });
    let explanation = &found["evaluation"]["explanation"];
    assert_eq!(explanation["only_where_differing"], json!(["'knight_moves_5'", "'rook_moves_3'"]));
    // A table that is forgotten.
    let (found, _) = checked(false, |_, line| (KNIGHTS..KNIGHTS + 64).for_each(|index| line.forget(index)));
    assert_eq!(found["evaluation"]["explanation"]["untraced"], json!(["'knight_table'"]));
    // A few positions tell too little.
    let (found, _) = checked(false, |position, line| {
        if position.fen.starts_with("8/8/8") {
            line.entries.remove(&PASSED);
        }
    });
    assert_eq!(found["evaluation"].get("explanation"), None);
}

#[test]
fn an_engine_without_phases_is_not_told_of_any() {
    let entry = |at: usize| format!(r#"{{"name": "p{at}", "index": {at}, "prior": {}}}"#, 11 * at * at + 7);
    let entries: Vec<String> = (2..12).map(entry).collect();
    let schema = format!(
        r#"{{"format": "gputexel-schema", "version": 1, "index_base": 1, "columns": {{"eval": 1}}, "parameters": [{}]}}"#,
        entries.join(", ")
    );
    let trace = |mistake: bool| {
        let mut text = String::new();
        for n in 0..600usize {
            let counts: Vec<(usize, i64)> =
                (2..12).map(|at| (at, (n * at * at / 3 + n / at) as i64 % 5 - 2)).collect();
            let eval: i64 = counts.iter().map(|&(at, count)| count * (11 * at * at + 7) as i64).sum();
            text += &format!("{} 1:{eval}", [0.0, 0.5, 1.0][(eval.signum() + 1) as usize]);
            for (at, count) in counts.iter().filter(|(_, count)| *count != 0) {
                let count = if mistake && *at == 5 { count % 2 } else { *count };
                text += &format!(" {at}:{count}");
            }
            text += "\n";
        }
        text
    };
    for mistake in [false, true] {
        let bench = bench(trace(mistake), &schema);
        let (code, out, err) = bench.run("check t.svm --schema s.json");
        assert_eq!(code, i32::from(mistake), "{out}{err}");
        for word in ["phase", "middlegame", "endgame", "midway"] {
            assert!(!(out.clone() + &err).contains(word), "{word}: {out}{err}");
        }
    }
}
