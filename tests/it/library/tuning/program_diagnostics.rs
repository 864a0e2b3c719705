//! Diagnostics of nonlinear evaluations, against formulas of the test's program written out by hand.

use crate::common::prelude::*;
use crate::common::programs::{FEATURES, program_dataset, program_theta};
use gputexel::tuning::{Histogram, diagnose_program, term_activity};

const OBJECTIVE: Objective = Objective { k: 0.9, loss: LossKind::Squared };
/// Parts that can be left out: the four terms, the adjustment, the factor.
const PARTS: usize = 6;

/// The sums of a position in the test's program; `None` without entries.
struct Sums {
    linear: [f64; 2],
    danger: [Option<[f64; 2]>; 2],
    complexity: Option<[f64; 2]>,
    factor: [Option<[f64; 2]>; 2],
    room: [Option<[f64; 2]>; 2],
    taper: Taper,
}

fn sums(data: &Dataset, theta: &[f64], n: usize) -> Sums {
    let (sums, present) = objective::sums(data, data.program().unwrap(), theta, n);
    let slot = |slot: usize| (present >> slot & 1 == 1).then(|| sums[slot]);
    Sums {
        linear: sums[0],
        danger: [slot(1), slot(2)],
        complexity: slot(3),
        factor: [slot(4), slot(5)],
        room: [slot(6), slot(7)],
        taper: objective::taper(data, n),
    }
}

/// The endgame value before and after the adjustment, the factor, and the score.
struct Value {
    before: f64,
    factor: Option<f64>,
    black: bool,
    score: f64,
}

fn value(sums: &Sums, without: [bool; PARTS]) -> Value {
    let [mut mg, mut eg] = sums.linear;
    for side in 0..2 {
        let sign = [1.0, -1.0][side];
        if let Some([a, b]) = sums.danger[side] {
            mg -= if without[0] { 0.0 } else { sign * a.max(0.0).powi(2) / 120.0 };
            eg -= if without[1] { 0.0 } else { sign * b.max(0.0) / 2.0 };
        }
        if let (Some([x, y]), false) = (sums.room[side], without[2]) {
            mg += sign * 90.0 / (1.0 + (-x / 40.0).exp());
            assert!(y.is_finite());
        }
        if let (Some([a, _]), Some([_, y]), false) = (sums.danger[side], sums.room[side], without[3]) {
            eg += sign * a * y / 200.0;
        }
    }
    let before = eg;
    if let (Some([_, c]), false) = (sums.complexity, without[4]) {
        // An even score stays even.
        let sign = if eg == 0.0 { 0.0 } else { eg.signum() };
        eg = sign * (eg.abs() + c).max(0.0);
    }
    let black = eg < 0.0;
    let factor = sums.factor[usize::from(black)].map(|[_, f]| f.clamp(0.0, 96.0) / 64.0);
    let scale = if without[5] { 1.0 } else { factor.unwrap_or(1.0) };
    Value { before, factor, black, score: sums.taper.mg * mg + sums.taper.eg * eg * scale }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * (1.0 + a.abs())
}

/// Checks the shares of numbers in the intervals of a histogram.
fn check_histogram(histogram: &Histogram, which: usize, values: &[f64]) {
    assert_eq!(histogram.count, values.len() as u64);
    assert!(near(histogram.means[which], values.iter().sum::<f64>() / values.len() as f64));
    let (edges, shares) = (&histogram.edges, &histogram.shares[which]);
    let last = shares.len() - 1;
    for (i, share) in shares.iter().enumerate() {
        let low = if i == 0 { f64::NEG_INFINITY } else { edges[i] };
        let high = if i == last { f64::INFINITY } else { edges[i + 1] };
        let count = values.iter().filter(|value| (low..high).contains(value)).count();
        // Rounding may move a number on an edge to the neighboring interval.
        let difference = (share * values.len() as f64 - count as f64).abs();
        assert!(difference < 1.5, "{i}: {share} {count}");
    }
}

#[test]
fn every_number_matches_the_formulas() {
    let data = program_dataset(&scratch(), 3000, 8);
    let split = Split::try_new(&data, 0.3, 1, 1).unwrap();
    let prior = program_theta();
    let theta: Vec<f64> = prior.iter().map(|value| 0.8 * value + 2.3).collect();
    let found = diagnose_program(&data, &split, OBJECTIVE, &theta, &prior).unwrap();
    assert_eq!(found.positions, 3000);
    let names: Vec<&str> = found.sums.iter().map(|sum| sum.name.as_str()).collect();
    assert_eq!(names, ["danger.mg", "danger.eg", "room.mg"]);
    for (which, theta) in [&prior, &theta].into_iter().enumerate() {
        let all: Vec<Sums> = (0..data.len()).map(|n| sums(&data, theta, n)).collect();
        let values: Vec<Value> = all.iter().map(|sums| value(sums, [false; PARTS])).collect();
        values.iter().enumerate().for_each(|(n, value)| {
            let score = objective::score(&data, theta, n);
            assert!(near(value.score, score), "formulas of this test, {n}: {} {score}", value.score);
        });
        // Sums and terms.
        let danger = |phase: usize| all.iter().flat_map(|s| s.danger).flatten().map(move |d| d[phase]);
        check_histogram(&found.sums[0].histogram, which, &danger(0).collect::<Vec<_>>());
        check_histogram(&found.sums[1].histogram, which, &danger(1).collect::<Vec<_>>());
        let room: Vec<f64> = all.iter().flat_map(|s| s.room).flatten().map(|r| r[0]).collect();
        check_histogram(&found.sums[2].histogram, which, &room);
        let present = all.iter().filter(|s| s.danger.iter().any(Option::is_some)).count();
        assert!(near(found.sums[0].present, present as f64 / 3000.0));
        for (term, phase) in [(0, 0), (1, 1)] {
            let on = |s: &&Sums| s.danger.iter().flatten().any(|d| d[phase] > 0.0);
            let activity = &found.terms[term].activity[which];
            assert_eq!(activity.active, all.iter().filter(on).count() as u64);
            assert_eq!((activity.positions, activity.accumulator.as_str()), (3000, "danger"));
            assert!(activity.can_be_off && !activity.is_dead());
            assert_eq!(&term_activity(&data, theta)[term], activity);
        }
        let count = danger(0).count() as f64;
        let size = danger(0).map(|d| d.max(0.0).powi(2) / 120.0).sum::<f64>() / count;
        assert!(near(found.terms[0].mean_size[which], size));
        for (x, y) in found.sums[0].histogram.edges.iter().zip(&found.terms[0].response[which]) {
            assert!(near(*y, -x.max(0.0).powi(2) / 120.0));
        }
        let product = |s: &Sums| {
            let both = s.danger.into_iter().zip(s.room);
            both.filter_map(|(d, r)| d.zip(r)).map(|(_, r)| r[1]).collect::<Vec<f64>>()
        };
        let others: Vec<f64> = all.iter().flat_map(product).collect();
        let other = others.iter().sum::<f64>() / others.len() as f64;
        for (x, y) in found.sums[0].histogram.edges.iter().zip(&found.terms[3].response[which]) {
            assert!(near(*y, x * other / 200.0));
        }
        // The adjustment.
        let amounts: Vec<f64> = all.iter().filter_map(|s| s.complexity).map(|c| c[1]).collect();
        check_histogram(&found.adjustments[0].histogram, which, &amounts);
        let cut = all
            .iter()
            .zip(&values)
            .filter(|(s, v)| v.before != 0.0 && s.complexity.is_some_and(|c| c[1] <= -v.before.abs()));
        assert!(near(found.adjustments[0].cut[which], cut.count() as f64 / amounts.len() as f64));
    }
    check_factor(&data, [&prior, &theta], found.factor.as_ref().unwrap());
    check_worth(&data, &split, &theta, &found.worth);
    assert_ne!(found.terms[3].response[0], found.terms[3].response[1]);
}

fn check_factor(data: &Dataset, thetas: [&Vec<f64>; 2], found: &gputexel::tuning::FactorDiagnostics) {
    let program = data.program().unwrap();
    let mut factors: Vec<[f64; 2]> = Vec::new();
    let mut groups: HashMap<Vec<String>, Vec<[f64; 2]>> = HashMap::new();
    for n in 0..data.len() {
        let [before, after] = thetas.map(|theta| value(&sums(data, theta, n), [false; PARTS]));
        let Some(own) = after.factor else { continue };
        let pair = [before.factor.unwrap_or(1.0), own];
        factors.push(pair);
        let slot = program.slot_columns(4 + usize::from(after.black));
        let row = data.row(n);
        let columns = row.entries().map(|(column, _)| column).filter(|c| slot.contains(&usize::from(*c)));
        let mut names: Vec<String> = columns.map(|column| format!("f{}", data.feature_of(column))).collect();
        names.sort();
        groups.entry(names).or_default().push(pair);
    }
    for which in 0..2 {
        let own: Vec<f64> = factors.iter().map(|pair| pair[which]).collect();
        check_histogram(&found.histogram, which, &own);
        let share = |limit: f64| own.iter().filter(|f| **f == limit).count() as f64 / own.len() as f64;
        assert!(near(found.at_max[which], share(1.5)), "{} {}", found.at_max[which], share(1.5));
    }
    // Three parameters have seven combinations.
    assert_eq!((found.combination_count, found.combinations.len()), (7, 7));
    assert!(found.combinations.is_sorted_by(|a, b| a.positions >= b.positions));
    for group in &found.combinations {
        let own = &groups[&group.names];
        assert_eq!(group.positions, own.len() as u64, "{:?}", group.names);
        for which in 0..2 {
            let mean = own.iter().map(|pair| pair[which]).sum::<f64>() / own.len() as f64;
            assert!(near(group.means[which], mean), "{:?}", group.names);
        }
    }
    let names: Vec<&str> = found.parameters.iter().map(|group| group.names[0].as_str()).collect();
    assert_eq!(names, ["f10", "f11", "f12"]);
    for group in &found.parameters {
        let own = groups.iter().filter(|(names, _)| names.contains(&group.names[0]));
        assert_eq!(group.positions, own.map(|(_, pairs)| pairs.len() as u64).sum::<u64>());
    }
}

fn check_worth(data: &Dataset, split: &Split, theta: &[f64], found: &gputexel::tuning::Worth) {
    let held_out: Vec<usize> = split.held_out().collect();
    assert!(found.held_out && found.positions == held_out.len() as u64);
    let names: Vec<&str> = found.parts.iter().map(|part| part.name.as_str()).collect();
    let expected = [
        ("relu2 of danger.mg in mg", vec![0]),
        ("relu of danger.eg in eg", vec![1]),
        ("sigmoid of room.mg in mg", vec![2]),
        ("identity of danger.mg times room.eg in eg", vec![3]),
        ("adjustment of eg by complexity.eg", vec![4]),
        ("factor by factor.eg", vec![5]),
        ("all of danger", vec![0, 1, 3]),
        ("all of room", vec![2, 3]),
        ("all of these", vec![0, 1, 2, 3, 4, 5]),
    ];
    assert_eq!(names, expected.each_ref().map(|(name, _)| *name));
    let loss = |n: usize, without: [bool; PARTS]| {
        let p = expected_score(OBJECTIVE.k, value(&sums(data, theta, n), without).score);
        (p - f64::from(data.row(n).result)).powi(2)
    };
    for (part, (name, left_out)) in found.parts.iter().zip(expected) {
        let mut without = [false; PARTS];
        left_out.iter().for_each(|&index: &usize| without[index] = true);
        let differences: Vec<f64> =
            held_out.iter().map(|&n| loss(n, without) - loss(n, [false; PARTS])).collect();
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        assert!(near(part.cost, mean), "{name}: {} {mean}", part.cost);
        let mut games: HashMap<u32, f64> = HashMap::new();
        for (&n, difference) in held_out.iter().zip(&differences) {
            *games.entry(data.game(n)).or_default() += difference - mean;
        }
        let error = games.values().map(|sum| sum * sum).sum::<f64>().sqrt() / differences.len() as f64;
        assert!(near(part.error, error), "{name}: {} {error}", part.error);
    }
    assert!(near(found.loss, objective::loss(data, OBJECTIVE, theta, held_out.iter().copied())));
}

#[test]
fn reports_dead_terms() {
    let data = program_dataset(&scratch(), 300, 3);
    let mut theta = program_theta();
    // Not the first feature, which danger shares with the linear part.
    [0, 5, 6, 7].into_iter().for_each(|f| theta[f] = -40.0);
    let dead: Vec<bool> = term_activity(&data, &theta).iter().map(|term| term.is_dead()).collect();
    assert_eq!(dead, [true, false, false, false]);
    let zero: Vec<bool> =
        term_activity(&data, &vec![0.0; 2 * FEATURES]).iter().map(|term| term.is_dead()).collect();
    assert_eq!(zero, [true, true, false, true], "sigmoids are never off");
}

#[test]
fn uses_training_positions_without_holdout() {
    let data = program_dataset(&scratch(), 300, 4);
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let theta = program_theta();
    let worth = diagnose_program(&data, &split, OBJECTIVE, &theta, &theta).unwrap().worth;
    assert!(!worth.held_out && worth.positions == 300);
}

#[test]
fn linear_evaluations_have_no_such_diagnostics() {
    let data = weighted_dataset(&scratch(), 100, 5);
    let split = Split::try_new(&data, 0.3, 1, 1).unwrap();
    let theta = Prior::default().theta(&data.metadata().feature_set).unwrap();
    assert_eq!(diagnose_program(&data, &split, OBJECTIVE, &theta, &theta), None);
    assert!(term_activity(&data, &theta).is_empty());
}
