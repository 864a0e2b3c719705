//! `check` on traces with two mistakes, and with mistakes of which a part is not in the trace.

use super::bench;
use super::mistakes::{POSITIONS, added, checked, checked_with, mirrored, moved, names};
use crate::common::engine_trace::{
    Counted, ISOLATED, KINGS, KNIGHT_MOVES, KNIGHTS, Line, MOVES, OPEN, PASSED, PAWNS, PHASE, Values,
    positions_with_counts, schema, trace_of, values,
};
use crate::common::prelude::*;

/// Requires that two causes are named, in either order.
fn both(found: &Value, err: &str, wanted: [&str; 2]) {
    let explanation = &found["evaluation"]["explanation"];
    assert_has(err, "two mistakes: ");
    let (first, second) = (explanation["causes"].list(), explanation["second"].list());
    assert_eq!((first.len(), second.len()), (1, 1), "{wanted:?}: {explanation}");
    let texts = [first[0]["text"].str(), second[0]["text"].str()];
    let has = |a: usize, b: usize| texts[0].contains(wanted[a]) && texts[1].contains(wanted[b]);
    assert!(has(0, 1) || has(1, 0), "{wanted:?}: {texts:?}");
}

#[test]
fn two_mistakes_are_both_named() {
    let open = "Black's 'open file' is added instead of subtracted";
    let passed = "'passed' is evaluated, but not traced";
    let isolated = "'isolated' is evaluated, but not traced";
    let kings = "'king_table' has its files in the opposite order";
    let shifted = "'pawn_table' is shifted by one index in the trace: ";
    let constant = "\"eval\" has a constant part of 90 cp";
    type Mistake = dyn Fn(&Counted, &mut Line);
    let adds_open: &Mistake = &|position, line| {
        line.entries.insert(OPEN, added(position, OPEN));
    };
    let forgets_passed: &Mistake = &|_, line| line.forget(PASSED);
    let forgets_isolated: &Mistake = &|_, line| line.forget(ISOLATED);
    let mirrors_kings: &Mistake = &|_, line| mirrored(line, KINGS, 7);
    let shifts_pawns: &Mistake = &|_, line| {
        moved(line, |index| if index.wrapping_sub(PAWNS) < 64 { index + 1 } else { index });
        line.forget(PAWNS + 64);
    };
    let adds_90: &Mistake = &|_, line| line.eval = line.eval.map(|eval| eval + 90);
    for (one, other, wanted) in [
        (adds_open, adds_90, [open, constant]),
        (adds_open, forgets_passed, [open, passed]),
        (forgets_passed, forgets_isolated, [passed, isolated]),
        (mirrors_kings, adds_90, [kings, constant]),
        (mirrors_kings, adds_open, [kings, open]),
        (mirrors_kings, forgets_passed, [kings, passed]),
        (shifts_pawns, adds_90, [shifted, constant]),
    ] {
        let (found, err) = checked(false, |position, line| {
            one(position, line);
            other(position, line);
        });
        both(&found, &err, wanted);
    }
    // Of the schema.
    let mut wrong = values();
    wrong.insert(PASSED, [17, 86]);
    wrong.range_mut(KNIGHTS..KNIGHTS + 64).for_each(|(_, pair)| pair.reverse());
    let text = trace_of(&positions_with_counts(POSITIONS, 6), &values(), false, |_, _| ());
    let (found, err) = checked_with(&text, &schema(&wrong, false));
    let value = "the engine plays with 68 for 'passed.eg', not with 86";
    both(&found, &err, [value, "'knight_table' has middlegame and endgame exchanged"]);
    let phase = schema(&values(), false).replace(
        &format!(r#"{{"middlegame": {PHASE}, "endgame": 0}}"#),
        r#"{"middlegame": 256, "endgame": 0}"#,
    );
    let text = trace_of(&positions_with_counts(POSITIONS, 5), &values(), false, adds_open);
    let (found, err) = checked_with(&text, &phase);
    both(&found, &err, ["of its 256 steps, 24 fits the middlegame", open]);
}

#[test]
fn half_of_a_cause_is_said_to_be_half() {
    let (found, err) = checked(false, |position, line| {
        mirrored(line, KINGS, 56);
        let odd = position.fen.bytes().fold(7i64, |sum, byte| (31 * sum + i64::from(byte)) % 1009);
        if odd % 4 == 0 {
            line.eval = line.eval.map(|eval| eval + 50 + odd % 81);
        }
    });
    names(&found, &err, "'king_table' has its ranks in the opposite order");
    assert_has(&err, ["(explains ", " positions; the others differ for another reason)"]);
}

#[test]
fn forgotten_tables_are_named() {
    for (first, count, name) in
        [(KNIGHTS, 64, "knight_table"), (KINGS, 64, "king_table"), (KNIGHT_MOVES, MOVES, "knight_moves")]
    {
        let (found, err) =
            checked(false, |_, line| (first..first + count).for_each(|index| line.forget(index)));
        names(&found, &err, &format!("'{name}' has values, but occurs in no position: it seems to be"));
    }
}

#[test]
fn a_value_that_is_used_in_both_phases_is_named() {
    let plays_with = |range: std::ops::Range<usize>, phase: usize| -> Values {
        let mut played = values();
        played.range_mut(range).for_each(|(_, pair)| *pair = [pair[phase]; 2]);
        played
    };
    for (range, phase, name, which) in [
        (PASSED..PASSED + 1, 0, "'passed'", "middlegame"),
        (KNIGHTS..KNIGHTS + 64, 0, "'knight_table'", "middlegame"),
        (KNIGHT_MOVES..KNIGHT_MOVES + MOVES, 1, "'knight_moves'", "endgame"),
        (0..1000, 0, "everything", "middlegame"),
    ] {
        let played = plays_with(range, phase);
        let text = trace_of(&positions_with_counts(POSITIONS, 6), &played, false, |_, _| ());
        let (found, err) = checked_with(&text, &schema(&values(), false));
        names(&found, &err, &format!("the engine counts {name} with the {which} value in both phases"));
    }
}

#[test]
fn tables_at_other_indices_for_one_color_are_named() {
    let black = |first: usize, count: usize, to: fn(usize) -> usize| {
        move |position: &Counted, line: &mut Line| {
            (first..first + count).for_each(|index| line.forget(index));
            for (own, sign) in position.counts.iter().zip([1, -1]) {
                for (index, number) in own.range(first..first + count) {
                    let at = if sign < 0 { first + to(index - first) } else { *index };
                    if at < first + count {
                        *line.entries.entry(at).or_insert(0) += sign * number;
                    }
                }
            }
        }
    };
    let next = "is shifted by one index in the trace for Black only";
    let seen = "are mirrored for one color only: Black's index";
    for (first, count, to, cause) in [
        (KNIGHTS, 64, (|at| at + 1) as fn(usize) -> usize, format!("'knight_table' {next}")),
        (PAWNS, 64, |at| at + 1, format!("'pawn_table' {next}")),
        (KNIGHT_MOVES, MOVES, |at| at + 1, format!("'knight_moves' {next}")),
        (PAWNS, 64, |at| at ^ 56, format!("the squares of 'pawn_table' {seen}")),
        (KINGS, 64, |at| at ^ 56, format!("the squares of 'king_table' {seen}")),
    ] {
        let (found, err) = checked(false, black(first, count, to));
        names(&found, &err, &cause);
    }
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
