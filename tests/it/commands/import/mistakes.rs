//! Mistakes of traces and schemas: `check` and `import` name each in one line, and name nothing else.

use super::bench;
use crate::common::engine_trace::{
    Counted, DANGER, ISOLATED, KINGS, KNIGHT_MOVES, KNIGHTS, Line, MATERIAL, MOBILITY, MOVES, OPEN, PAIR,
    PASSED, PAWNS, PHASE, ROOK_MOVES, TEMPO, Values, positions_with_counts, schema, trace_of, values,
};
use crate::common::prelude::*;

pub(super) const POSITIONS: usize = 1500;

/// Checks a trace with a mistake in each line; returns the findings and the error.
pub(super) fn checked(danger: bool, mistake: impl Fn(&Counted, &mut Line)) -> (Value, String) {
    let text = trace_of(&positions_with_counts(POSITIONS, 3), &values(), danger, mistake);
    checked_with(&text, &schema(&values(), danger))
}

pub(super) fn checked_with(text: &str, schema: &str) -> (Value, String) {
    let bench = bench(text, schema);
    let (code, out, err) = bench.run("--json check t.svm --schema s.json");
    assert!(code == 0 || err.lines().count() == 1, "{err}");
    (serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out} {err}")), err)
}

/// Requires that exactly one cause is named, in the line of the error, too.
pub(super) fn names(found: &Value, err: &str, cause: &str) {
    let causes = found["evaluation"]["explanation"]["causes"].list();
    assert_eq!(causes.len(), 1, "{cause}: {}", found["evaluation"]["explanation"]);
    assert_has(causes[0]["text"].str(), cause);
    assert_has(err, cause);
}

/// Checks a trace with a mistake, whose cause must be named.
fn cause(danger: bool, cause: &str, mistake: impl Fn(&Counted, &mut Line)) {
    let (found, err) = checked(danger, mistake);
    names(&found, &err, cause);
}

/// Returns a coefficient in which Black's count has the wrong sign.
pub(super) fn added(position: &Counted, index: usize) -> i64 {
    position.counts.iter().map(|own| own.get(&index).copied().unwrap_or(0)).sum()
}

/// Mirrors the squares of a table.
pub(super) fn mirrored(line: &mut Line, first: usize, by: usize) {
    let moved = |(&index, &count): (&usize, &i64)| match index.wrapping_sub(first) {
        square @ 0..64 => (first + (square ^ by), count),
        _ => (index, count),
    };
    line.entries = line.entries.iter().map(moved).collect();
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
fn wrong_signs_of_black_are_named() {
    cause(false, "no coefficient is ever negative: Black's terms are added", |position, line| {
        let indices: Vec<usize> = position.counts.iter().flat_map(|own| own.keys().copied()).collect();
        line.entries = indices.into_iter().map(|index| (index, added(position, index))).collect();
    });
    for (index, name) in [(OPEN, "open file"), (PASSED, "passed"), (MATERIAL + 1, "knight")] {
        cause(false, &format!("Black's '{name}' is added instead of subtracted"), |position, line| {
            line.entries.insert(index, added(position, index));
        });
    }
    cause(false, "Black's 'mobility' is not traced", |position, line| {
        line.entries.insert(MOBILITY, position.counts[0][&MOBILITY]);
    });
}

#[test]
fn forgotten_terms_are_named() {
    for (index, name) in [(PAIR, "bishop pair"), (ISOLATED, "isolated"), (TEMPO, "tempo")] {
        let (found, err) = checked(false, |_, line| line.forget(index));
        let expected = match index {
            // That it is the side to move's is the more specific statement.
            TEMPO => "a bonus of 28 (middlegame) and 21 (endgame) cp for the side to move".to_string(),
            _ => format!("'{name}' is evaluated, but not traced"),
        };
        names(&found, &err, &expected);
    }
    // Counted in some positions only.
    cause(false, "'open file' is not traced as often as it is evaluated", |position, line| {
        if position.counts[0][&OPEN] == 2 {
            *line.entries.get_mut(&OPEN).unwrap() -= 1;
        }
    });
}

#[test]
fn terms_left_out_of_a_sum_are_named() {
    for (place, name) in [(0, "attackers"), (1, "checks"), (3, "base")] {
        cause(true, &format!("'{name}' is left out of 'danger'"), |_, line| {
            DANGER.iter().for_each(|first| line.forget(first + place));
        });
    }
    cause(true, "Black's 'weak' is left out of 'danger'", |_, line| line.forget(DANGER[1] + 2));
    let text = trace_of(&positions_with_counts(POSITIONS, 4), &values(), true, |_, _| ());
    let wrong = schema(&values(), true).replace("\"sign\": -1", "\"sign\": 1");
    let (found, err) = checked_with(&text, &wrong);
    names(&found, &err, "'danger' has the opposite sign");
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
        let (found, err) = checked_with(&text, &schema(&values(), false).replace(&right, declared));
        names(&found, &err, cause);
    }
    // Without boards, an exchange of all values cannot be told from a reversed phase.
    let text = trace_of(&positions, &values(), false, |_, line| {
        line.phase = PHASE - line.phase;
        line.comment.clear();
    });
    let (found, err) = checked_with(&text, &schema(&values(), false));
    assert_has(&err, ["the phase is reversed", "; or: ", "middlegame and endgame are exchanged throughout"]);
    assert_eq!(found["evaluation"]["explanation"]["causes"].list().len(), 2);
    // Without an evaluation, boards tell.
    let text = trace_of(&positions, &values(), false, |_, line| {
        line.phase = PHASE - line.phase;
        line.eval = None;
    });
    let bench = bench(text, &schema(&values(), false).replace("\"eval\": 2, ", ""));
    assert_has(
        &bench.ok("import t.svm --schema s.json -o d.bin"),
        "warning: the phase grows as pieces leave the board",
    );
}

#[test]
fn exchanged_middlegame_and_endgame_are_named() {
    let swapped = |range: std::ops::Range<usize>| {
        let mut wrong = values();
        wrong.range_mut(range).for_each(|(_, pair)| pair.reverse());
        wrong
    };
    let text = trace_of(&positions_with_counts(POSITIONS, 6), &values(), false, |_, _| ());
    for (range, cause) in [
        (0..1000, "middlegame and endgame are exchanged throughout"),
        (PASSED..PASSED + 1, "'passed' has middlegame and endgame exchanged"),
        (KNIGHTS..KNIGHTS + 64, "'knight_table' has middlegame and endgame exchanged"),
        (KNIGHT_MOVES..KNIGHT_MOVES + MOVES, "'knight_moves' has middlegame and endgame exchanged"),
        (KNIGHT_MOVES..ROOK_MOVES + MOVES, "'moves' has middlegame and endgame exchanged"),
    ] {
        let (found, err) = checked_with(&text, &schema(&swapped(range), false));
        names(&found, &err, cause);
    }
}

#[test]
fn flipped_tables_are_named() {
    cause(false, "'pawn_table' has its ranks in the opposite order", |_, line| mirrored(line, PAWNS, 56));
    cause(false, "'king_table' has its files in the opposite order", |_, line| mirrored(line, KINGS, 7));
    cause(false, "'knight_table' has its squares in the opposite order", |_, line| {
        mirrored(line, KNIGHTS, 63)
    });
    cause(false, "every board has its ranks in the opposite order", |_, line| {
        [PAWNS, KNIGHTS, KINGS].into_iter().for_each(|first| mirrored(line, first, 56));
    });
    // Black's pieces seen from White's side.
    let unmirrored = |position: &Counted, line: &mut Line| {
        (KNIGHTS..KNIGHTS + 64).for_each(|index| line.forget(index));
        for (own, by, sign) in [(0, 0, 1), (1, 56, -1)] {
            for (index, count) in position.counts[own].range(KNIGHTS..KNIGHTS + 64) {
                *line.entries.entry(KNIGHTS + ((index - KNIGHTS) ^ by)).or_insert(0) += sign * count;
            }
        }
    };
    let (found, err) = checked(false, unmirrored);
    names(&found, &err, "the squares of 'knight_table' are mirrored for one color only: Black's index");
    assert_has(found["sources"][0]["warnings"][0].str(), "'knight_table' are mirrored for one color only");
}

/// Moves the entries of a line to other indices.
pub(super) fn moved(line: &mut Line, to: impl Fn(usize) -> usize) {
    let mut entries = BTreeMap::new();
    for (index, count) in &line.entries {
        *entries.entry(to(*index)).or_insert(0) += count;
    }
    line.entries = entries;
}

#[test]
fn tables_of_one_color_with_the_wrong_sign_are_named() {
    let lists = [(KNIGHT_MOVES, MOVES, "knight_moves"), (ROOK_MOVES, MOVES, "rook_moves")];
    for (first, count, name) in [lists[0], lists[1], (KNIGHTS, 64, "knight_table")] {
        let black = format!("Black's entries of '{name}' have the wrong sign");
        let (found, err) = checked(false, |position, line| {
            (first..first + count).for_each(|index| {
                line.entries.insert(index, added(position, index));
            });
        });
        names(&found, &err, &black);
        let differing = found["evaluation"]["differing"].as_u64().unwrap();
        assert_eq!(found["evaluation"]["explanation"]["differing"].as_u64(), Some(differing));
        let share = found["evaluation"]["explanation"]["causes"][0]["agreeing"].as_u64().unwrap();
        assert!(share as f64 >= 0.99 * differing as f64, "{share} of {differing}");
        assert_has(&err, ["(explains ", " positions)"]);
        let warned = found["sources"][0]["warnings"][0].str();
        assert_has(warned, format!("no coefficient of '{name}' is ever negative"));
        cause(false, &format!("White's entries of '{name}' have the wrong sign"), |position, line| {
            (first..first + count).for_each(|index| {
                line.entries.insert(index, -added(position, index));
            });
        });
        cause(false, &format!("'{name}' has the opposite sign"), |_, line| {
            line.entries.range_mut(first..first + count).for_each(|(_, count)| *count = -*count);
        });
    }
    for (first, count, name) in lists {
        let untraced = format!("Black's entries of '{name}' are not traced, only the other color's");
        cause(false, &untraced, |position, line| {
            (first..first + count).for_each(|index| {
                line.entries.insert(index, position.counts[0].get(&index).copied().unwrap_or(0));
            });
        });
    }
    // With many pawns, most differences can be made of some of them.
    cause(false, "added instead of subtracted in the trace", |position, line| {
        (PAWNS..PAWNS + 64).for_each(|index| {
            line.entries.insert(index, added(position, index));
        });
    });
}

#[test]
fn shifted_tables_are_named() {
    let shifted = |first: usize, count: usize, by: isize| {
        move |_: &Counted, line: &mut Line| {
            moved(line, |index| match index.wrapping_sub(first) < count {
                true => index.wrapping_add_signed(by),
                false => index,
            });
            // No parameter has these indices.
            [PAWNS - 1, PAWNS + 64, ROOK_MOVES + MOVES].into_iter().for_each(|index| line.forget(index));
        }
    };
    for (first, count, by, text) in [
        (
            KNIGHT_MOVES,
            MOVES,
            1,
            "'knight_moves' is shifted by one index in the trace: what is counted at 'knight_moves_1' is the engine's 'knight_moves_0'",
        ),
        (
            KNIGHT_MOVES,
            MOVES,
            -1,
            "'knight_moves' is shifted by one index in the trace: what is counted at 'knight_moves_0' is the engine's 'knight_moves_1'",
        ),
        (ROOK_MOVES, MOVES, -1, "'rook_moves' is shifted by one index"),
        (PAWNS, 64, 1, "'pawn_table' is shifted by one index"),
        (PAWNS, 64, -1, "'pawn_table' is shifted by one index"),
        (PAWNS, 64, -8, "'pawn_table' is shifted by 8 indices"),
    ] {
        cause(false, text, shifted(first, count, by));
    }
}

#[test]
fn exchanged_and_reversed_tables_are_named() {
    let exchanged = |a: usize, b: usize, count: usize| {
        move |_: &Counted, line: &mut Line| {
            moved(line, |index| match (index.wrapping_sub(a), index.wrapping_sub(b)) {
                (at, _) if at < count => b + at,
                (_, at) if at < count => a + at,
                _ => index,
            });
        }
    };
    for (a, b, count, text) in [
        (KNIGHT_MOVES, ROOK_MOVES, MOVES, "'knight_moves' and 'rook_moves' are exchanged"),
        (KNIGHTS, KINGS, 64, "'knight_table' and 'king_table' are exchanged"),
        (PASSED, ISOLATED, 1, "are exchanged, in the trace or in their priors"),
    ] {
        cause(false, text, exchanged(a, b, count));
    }
    cause(false, "'rook_moves' has its entries in the opposite order", |_, line| {
        moved(line, |index| match index.wrapping_sub(ROOK_MOVES) {
            at if at < MOVES => ROOK_MOVES + MOVES - 1 - at,
            _ => index,
        });
    });
}

#[test]
fn a_part_of_the_differences_is_not_said_to_be_all() {
    // The last entries of a table counted together: no change of one entry or of the table explains it.
    let (found, err) = checked(false, |_, line| {
        moved(line, |index| if index < ROOK_MOVES + MOVES { index.min(ROOK_MOVES + 4) } else { index });
    });
    let explanation = &found["evaluation"]["explanation"];
    assert_eq!(explanation["causes"].list().len(), 0, "{explanation}");
    assert!(!err.contains("explains"), "{err}");
    let differing = explanation["differing"].as_u64().unwrap();
    for one in explanation["partial"].list() {
        assert!(one["agreeing"].as_u64().unwrap() < differing, "{explanation}");
    }
    // Something about two parameters.
    let text = trace_of(&positions_with_counts(POSITIONS, 3), &values(), false, |position, line| {
        let wrong = [ROOK_MOVES + 3, KNIGHT_MOVES + 5];
        if wrong.iter().any(|index| line.entries.get(index).is_some_and(|count| *count != 0)) {
            let odd = position.fen.bytes().map(i64::from).sum::<i64>() % 29;
            line.eval = line.eval.map(|eval| eval + 40 + odd);
        }
    });
    let bench = bench(text, &schema(&values(), false));
    let (_, out, _) = bench.run("check t.svm --schema s.json");
    assert_has(
        &out,
        [
            "cause       unknown: no change of those",
            "only occur where evaluations differ: 'knight_moves_5', 'rook_moves_3'\n",
        ],
    );
}

#[test]
fn parameters_that_no_evaluation_tests_are_named() {
    let mut values = values();
    values.insert(OPEN, [0, 0]);
    values.insert(PAIR, [31, 31]);
    let text = trace_of(&positions_with_counts(300, 3), &values, false, |_, _| ());
    let bench = bench(text, &schema(&values, false));
    let out = bench.ok("check t.svm --schema s.json");
    assert_has(
        &out,
        ["not tested  ", "of value 0, whose wrong count changes nothing: open file", "bishop pair"],
    );
    let found: Value = serde_json::from_str(&bench.ok("--json check t.svm --schema s.json")).unwrap();
    let untested = &found["evaluation"]["untested"];
    assert!(untested["zero"].list().contains(&"open file".into()), "{untested}");
    assert!(untested["same_in_phases"].list().contains(&"bishop pair".into()), "{untested}");
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
fn values_that_the_engine_does_not_play_with_are_named() {
    let check = |danger: bool, change: &dyn Fn(&mut Values), cause: &str| {
        let text = trace_of(&positions_with_counts(POSITIONS, 8), &values(), danger, |_, _| ());
        let mut wrong = values();
        change(&mut wrong);
        let (found, err) = checked_with(&text, &schema(&wrong, danger));
        names(&found, &err, cause);
    };
    let of = |index: usize, pair: [i64; 2]| move |values: &mut Values| values.extend([(index, pair)]);
    check(false, &of(MATERIAL + 1, [373, 281]), "the engine plays with 337 for 'knight.mg', not with 373");
    check(false, &of(PASSED, [17, 86]), "the engine plays with 68 for 'passed.eg', not with 86");
    check(false, &of(OPEN, [34, 91]), "the engine plays with 43 and 19 for 'open file', not with 34 and 91");
    check(true, &of(PASSED, [17, 86]), "the engine plays with 68 for 'passed.eg', not with 86");
    check(false, &of(ISOLATED, [13, 29]), "'isolated' has the opposite sign");
    let text = trace_of(&positions_with_counts(POSITIONS, 8), &values(), true, |_, _| ());
    let wrong = schema(&values(), true).replace("\"prior\": 90", "\"prior\": 60");
    let (found, err) = checked_with(&text, &wrong);
    names(&found, &err, "the engine plays with 90 for 'checks.mg', not with 60");
}

#[test]
fn other_points_of_view_are_named() {
    let turned = |position: &Counted, line: &mut Line| {
        line.eval = line.eval.map(|eval| if position.black_to_move { -eval } else { eval });
    };
    cause(false, "\"eval\" and the coefficients take different points of view", turned);
    // The side to move is unknown.
    cause(false, "\"eval\" and the coefficients take different points of view", |position, line| {
        turned(position, line);
        line.comment.clear();
    });
    cause(false, "\"eval\" has the opposite sign throughout", |_, line| {
        line.eval = line.eval.map(|eval| -eval)
    });
    cause(false, "\"eval\" is in other units: 2.000 times", |_, line| {
        line.eval = line.eval.map(|eval| 2 * eval)
    });
    let (found, err) = checked(false, |_, line| line.result = 1.0 - line.result);
    assert_eq!(found["labels"]["verdict"], "reversed");
    assert_has(&err, "evaluations contradict results, as if one were reversed");
}

#[test]
fn a_bonus_for_the_side_to_move_is_named() {
    let bonus = |position: &Counted, line: &mut Line| {
        line.eval = line.eval.map(|eval| eval + if position.black_to_move { -15 } else { 15 });
    };
    cause(false, "a bonus of 15 cp for the side to move", bonus);
    let unknown = |position: &Counted, line: &mut Line| {
        bonus(position, line);
        line.comment.clear();
    };
    // What is traced of it tells the side to move.
    cause(false, "the engine plays with 43 and 36 for 'tempo', not with 28 and 21", unknown);
    let mut without = values();
    without.insert(TEMPO, [0, 0]);
    let text = trace_of(&positions_with_counts(POSITIONS, 3), &without, false, |position, line| {
        unknown(position, line);
        line.forget(TEMPO);
    });
    let (found, err) = checked_with(&text, &schema(&without, false));
    names(&found, &err, "\"eval\" is 15 cp more or less than the trace says");
    cause(false, "\"eval\" has a constant part of 40 cp", |_, line| {
        line.eval = line.eval.map(|eval| eval + 40)
    });
}

#[test]
fn a_parameter_that_only_occurs_where_evaluations_differ_is_named() {
    cause(false, "evaluations differ where 'bishop pair' occurs, and nowhere else", |position, line| {
        if line.entries.get(&PAIR).is_some_and(|count| *count != 0) {
            let odd = position.fen.bytes().map(i64::from).sum::<i64>() % 29;
            line.eval = line.eval.map(|eval| eval + 40 + odd);
        }
    });
}

#[test]
fn what_no_change_explains_is_said_to_be_unknown() {
    let noise = |position: &Counted, line: &mut Line| {
        let odd = position.fen.bytes().fold(7i64, |sum, byte| (31 * sum + i64::from(byte)) % 1009);
        line.eval = line.eval.map(|eval| eval + odd % 81 - 40);
    };
    let (found, err) = checked(false, noise);
    let explanation = &found["evaluation"]["explanation"];
    assert_eq!(explanation["causes"].list().len(), 0, "{explanation}");
    assert!(err.trim_end().ends_with("what the engine printed"), "{err}");
    let text = trace_of(&positions_with_counts(POSITIONS, 9), &values(), false, |position, line| {
        noise(position, line);
        line.eval = line.eval.map(|eval| eval + 90);
    });
    let bench = bench(text, &schema(&values(), false));
    let (_, out, _) = bench.run("check t.svm --schema s.json");
    assert_has(
        &out,
        [
            "cause       unknown",
            "            \"eval\" has a constant part of",
            " positions exactly, and make differences ",
            " % smaller on average",
        ],
    );
    // A few positions tell too little.
    let text = trace_of(&positions_with_counts(POSITIONS, 9), &values(), false, |position, line| {
        if position.fen.starts_with("8/8/8") {
            line.entries.remove(&PASSED);
        }
    });
    bench.write("t.svm", text);
    let (_, out, _) = bench.run("check t.svm --schema s.json");
    assert!(!out.contains("cause   "), "{out}");
}
