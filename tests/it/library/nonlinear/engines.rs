//! Compares evaluations with formulas written by hand.

use super::{compile, examples, read};
use crate::common::prelude::*;
use gputexel::dataset::objective;
use std::fmt::Write as _;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as i64 % end
    }

    fn from(&mut self, start: i64, end: i64) -> i64 {
        start + self.below(end - start + 1)
    }
}

/// A sum of an engine, or `None` if it does not compute it.
type Counts = Option<Vec<i64>>;

fn total(counts: &Counts, values: &[i64]) -> Option<i64> {
    counts.as_ref().map(|counts| counts.iter().zip(values).map(|(c, v)| c * v).sum())
}

/// Properties of a position that an engine computes, White first.
struct Position {
    phase: i64,
    pieces: Vec<i64>,
    safety: [Counts; 2],
    complexity: Counts,
    scaling: [Counts; 2],
}

fn position(random: &mut Numbers) -> Position {
    let safety =
        |random: &mut Numbers| (random.below(3) > 0).then(|| vec![random.below(13), random.below(9), 1]);
    let scaling = |random: &mut Numbers| (random.below(3) > 0).then(|| vec![1, random.below(9)]);
    Position {
        phase: random.below(25),
        // Without pieces, the signs of the middlegame and the endgame often differ.
        pieces: {
            let only_pawns = random.below(2) == 0;
            (0..5).map(|piece| if only_pawns && piece > 0 { 0 } else { random.from(-2, 2) }).collect()
        },
        safety: [safety(random), safety(random)],
        complexity: (random.below(5) > 0).then(|| vec![random.below(17), 1]),
        scaling: [scaling(random), scaling(random)],
    }
}

/// Computes the evaluation of Ethereal's example in integers.
fn ethereal(position: &Position) -> i64 {
    with_complexity(position, -157)
}

/// Computes the same with another base of complexity.
fn with_complexity(position: &Position, base: i64) -> i64 {
    let value = |values: [i64; 5]| position.pieces.iter().zip(values).map(|(c, v)| c * v).sum::<i64>();
    let mut mg = value([82, 426, 441, 627, 1292]);
    let mut eg = value([144, 475, 510, 803, 1623]);
    for (side, sign) in [(0, -1), (1, 1)] {
        if let Some(danger) = total(&position.safety[side], &[48, 45, -74]) {
            mg += sign * (danger.max(0) * danger.max(0) / 720);
            eg += sign * (total(&position.safety[side], &[41, 34, -26]).unwrap().max(0) / 20);
        }
    }
    if let Some(complexity) = total(&position.complexity, &[8, base]) {
        eg += eg.signum() * complexity.max(-eg.abs());
    }
    let strong = usize::from(eg < 0);
    let factor = total(&position.scaling[strong], &[96, 8]).map_or(128, |factor| factor.clamp(0, 128));
    (mg * position.phase + eg * (24 - position.phase) * factor / 128) / 24
}

/// Formats the line of a position, with the sides as in the arguments.
fn line(position: &Position, sign: i64, eval: i64, end: &str) -> String {
    let mut text = format!("0.5 qid:1 1:{} 2:{eval}", position.phase);
    let mut put = |first: usize, counts: &[i64], sign: i64| {
        for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
            write!(text, " {}:{}", first + at, sign * count).unwrap();
        }
    };
    put(3, &position.pieces, sign);
    let sides: [usize; 2] = if sign > 0 { [0, 1] } else { [1, 0] };
    let pairs = [(1000, &position.safety), (1200, &position.safety)];
    for ((first, counts), side) in pairs.into_iter().zip(sides) {
        put(first, counts[side].as_deref().unwrap_or(&[]), 1);
    }
    put(1400, position.complexity.as_deref().unwrap_or(&[]), 1);
    for (first, side) in [1500, 1510].into_iter().zip(sides) {
        put(first, position.scaling[side].as_deref().unwrap_or(&[]), 1);
    }
    text + end + "\n"
}

#[test]
fn evaluations_match_an_integer_engine() {
    let mut random = Numbers(7);
    let positions: Vec<Position> = (0..4000).map(|_| position(&mut random)).collect();
    let text: String = positions.iter().map(|one| line(one, 1, ethereal(one), "")).collect();
    let schema = &examples()[0];
    assert_eq!(
        compile(schema).unwrap().feature_set().imported.as_ref().unwrap().division,
        Division::Truncate
    );
    let (report, data) = read(schema, &text, Division::Truncate, 0.0);
    let found = &report.comparison;
    assert_eq!((found.compared, found.differing, found.near_kinks), (4000, 0, 0), "{:?}", found.worst);
    assert_eq!(report.sources[0].warnings, [""; 0]);
    // Real numbers are inexact, and a few positions cross a jump by rounding.
    let (report, _) = read(schema, &text, Division::Exact, 3.0);
    let found = &report.comparison;
    assert_eq!((found.compared, found.differing), (4000, 0), "{:?}", found.worst);
    assert!(found.sum_absolute > 100.0 && found.sum_absolute < 8000.0, "{}", found.sum_absolute);
    // The reference for datasets computes the same.
    let theta = data.metadata().feature_set.imported_prior().unwrap();
    let differences = positions
        .iter()
        .enumerate()
        .filter(|(n, one)| (objective::score(&data, &theta, *n) - ethereal(one) as f64).abs() > 3.0);
    assert!(differences.count() <= 20);

    // A wrong sign is found.
    let wrong = schema.replace("\"sign\": -1", "\"sign\": 1");
    let (report, _) = read(&wrong, &text, Division::Truncate, 1.0);
    assert!(report.comparison.differing > 1000, "{}", report.comparison.differing);
}

/// Complexity above 0 pushes a value away from 0, toward the side on which rounding left it.
#[test]
fn rounding_near_jumps_is_reported_separately() {
    let mut random = Numbers(3);
    let positions: Vec<Position> = (0..4000).map(|_| position(&mut random)).collect();
    let text: String = positions.iter().map(|one| line(one, 1, with_complexity(one, 60), "")).collect();
    let schema = examples()[0].replace("\"prior\": -157", "\"prior\": 60");
    let (report, _) = read(&schema, &text, Division::Truncate, 0.0);
    assert_eq!(report.comparison.differing, 0);
    let (report, _) = read(&schema, &text, Division::Exact, 3.0);
    let found = &report.comparison;
    assert_eq!(found.differing, 0, "{:?}", found.worst);
    assert!((1..80).contains(&found.near_kinks), "{}", found.near_kinks);
    assert!(found.largest_rounded() > 20.0, "{:?}", found.rounded);
}

#[test]
fn the_side_to_moves_coefficients_are_turned() {
    let mut random = Numbers(11);
    let (mut white, mut mover) = (String::new(), String::new());
    for n in 0..300 {
        let one = position(&mut random);
        let eval = ethereal(&one);
        let (black, sign) = if n % 2 == 0 { (" 2000:0", 1) } else { (" 2000:-1", -1) };
        let white_turn = if n % 2 == 0 { " 2000:1" } else { " 2000:-1" };
        white += &line(&one, 1, eval, white_turn);
        let black = black.replace(":0", ":1");
        mover += &line(&one, sign, sign * eval, &black);
    }
    let schema = examples()[0].replace("\"eval\": 2,", "\"eval\": 2, \"turn\": 2000,");
    let stm = schema.replace("\"index_base\"", "\"point_of_view\": \"stm\", \"index_base\"");
    let (_, wanted) = read(&schema, &white, Division::Truncate, 0.0);
    let (report, got) = read(&stm, &mover, Division::Truncate, 0.0);
    assert_eq!(report.comparison.differing, 0);
    for n in 0..wanted.len() {
        let row = |data: &Dataset| data.row(n).entries().collect::<Vec<_>>();
        assert_eq!(row(&got), row(&wanted), "{n}");
    }
    // A sum for both that is added to the score cannot be reversed.
    let single = stm.replace("\"name\": \"complexity\",", "\"name\": \"complexity\", \"eg\": {},");
    let told = compile(&single).unwrap_err().to_string();
    assert!(told.contains("accumulator 'complexity': has one sum, which is added to the score"), "{told}");
}

#[test]
fn examples_match_their_engines() {
    let cases = [
        // Danger 100 of White's king is not over 100; 780 + 2 · 185 − 7 · 4 − 39 = 1083 of Black's is.
        // mg 2538 + 0.5 · 1083² / 4096 with initiative 11 · 3 − 103 + 50 = −20, eg 2682 + 67 − 70, sf 36 + 7 · 2.
        (1, "1 1:64 2:0 3:1 100:0 102:1 200:1 201:2 202:4 240:1 300:3 301:1 400:1 401:2", {
            let mg = 2538 + 1083 * 1083 / 4096 - 20;
            let eg = 2682 + 1083 / 16 - 70;
            (mg * 64 + eg * 64 * 50 / 64) / 128
        }),
        // Danger 2 · 28 + 63 = 119 of White's king; the score is negative, so Black's factor 64 + 8 counts.
        (2, "1 1:32 2:0 3:-1 100:2 101:1 200:1 210:1 211:1", {
            let (mg, eg) = (-445 - 119 * 119 / 1024, -416 - 119 / 32);
            (mg * 32 + eg * 96) / 128 * 72 / 128
        }),
        // Power 36 + 78 with a modifier of 96 against power 22 with 113; without a modifier nothing.
        (3, "1 1:24 2:0 100:1 103:1 121:1 203:1 214:1", (36 + 78) * 96 / 100 - 22 * 113 / 100),
        (3, "1 1:24 2:0 3:1 100:1 103:1 121:1 203:1", 390 + (36 + 78) * 96 / 100),
    ];
    for (example, text, score) in cases {
        let text = text.replace("2:0", &format!("2:{score}"));
        let (report, data) = read(&examples()[example], &text, Division::Truncate, 0.0);
        assert_eq!(report.comparison.compared, 1);
        assert_eq!(report.comparison.differing, 0, "{score}: {:?}", report.comparison.worst);
        let theta = data.metadata().feature_set.imported_prior().unwrap();
        assert!((objective::score(&data, &theta, 0) - f64::from(score)).abs() < 4.0);
    }
}

#[test]
fn parameters_have_the_values_that_are_used() {
    let set = |example: usize| compile(&examples()[example]).unwrap().feature_set().clone();
    let phases = |example: usize, name: &str| {
        let set = set(example);
        let id = set.features.iter().position(|feature| feature.name == name).unwrap();
        (set.imported.unwrap().parameters[id].phases, set.features[id].group.clone())
    };
    assert_eq!(phases(0, "SafetyKnightWeight"), (Phases::Both, "safety".to_string()));
    assert_eq!(phases(0, "ComplexityTotalPawns"), (Phases::Eg, "complexity".to_string()));
    assert_eq!(phases(1, "WeakRing"), (Phases::Mg, "danger".to_string()));
    assert_eq!(phases(1, "InitiativeBase"), (Phases::Untapered, "initiative".to_string()));
    assert_eq!(phases(2, "pawn"), (Phases::Mg, "winnable".to_string()));
    assert_eq!(phases(3, "CountModifier_0"), (Phases::Mg, "modifier".to_string()));
    // Both terms of Stockfish's danger use the middlegame value, including shared parameters.
    let program = set(1).program.unwrap();
    let input = Input { accumulator: 0, phase: Phase::Mg };
    assert!(program.terms.iter().all(|term| term.input == input && term.scale == -1.0));
    assert_eq!(program.accumulators[0].features, [4, 5, 6, 1, 2, 3]);
    // A name with a phase selects a value.
    let schema = examples()[2].replace("\"by\": \"winnable\"", "\"by\": [\"winnable.eg\"]");
    assert_eq!(
        compile(&schema).unwrap().feature_set().program.as_ref().unwrap().factor.as_ref().unwrap().by[0]
            .phase,
        Phase::Eg
    );
    let schema = examples()[3]
        .replace("\"divide\": 100", "\"op\": \"table\", \"knots\": [[0, 0], [1, 2.5]], \"divide\": 100");
    let program = compile(&schema).unwrap().feature_set().program.clone().unwrap();
    assert_eq!(program.terms[0].operator, Operator::Table(vec![[0.0, 0.0], [1.0, 2.5]]));
}
