//! Compares penalties with their definitions: their matrices with finite differences of the sums of squares
//! that define them, and with the distances they leave free.

use crate::common::prelude::*;
use gputexel::model::{Form, PENALTY_SCALE_CP, Penalty, Place, supported_penalties};

fn one(name: impl Into<String>, group: &str, place: Option<Place>) -> (Feature, ImportedParameter) {
    let parameter = ImportedParameter { place, ..Default::default() };
    (Feature { name: name.into(), group: group.to_string() }, parameter)
}

fn line(name: &str) -> Option<Place> {
    Some(Place::Line(name.to_string()))
}

fn board(table: &str, group: &str, squares: impl Iterator<Item = u8>) -> Vec<(Feature, ImportedParameter)> {
    let place = |square| Some(Place::Square(table.to_string(), square));
    squares.map(|square| one(format!("{table}_{square}"), group, place(square))).collect()
}

fn set(parameters: Vec<(Feature, ImportedParameter)>) -> FeatureSet {
    let (features, parameters) = parameters.into_iter().unzip();
    let imported = Imported::new(1, parameters);
    FeatureSet::try_imported(features, PhaseSettings::default(), imported).unwrap()
}

/// Creates a schema with all kinds of structure: a group that is a board, one with two boards (whole and
/// half), two lines whose parameters alternate and loose parameters, one with untuned parameters, and one
/// without structure.
fn imported() -> FeatureSet {
    let mut all = board("knights", "knight", (0..64).map(|index| index ^ 56));
    all.push(one("king_tropism", "king", None));
    all.extend(board("king_open", "king", 0..64));
    for i in 0..5 {
        all.push(one(format!("shield_{i}"), "king", line("shield")));
        all.push(one(format!("storm_{i}"), "king", line("storm")));
    }
    all.extend(board("king_closed", "king", (0..64).filter(|square| square % 8 < 4)));
    all.extend((0..9).map(|i| one(format!("mobility_{i}"), "mobility", line("mobility"))));
    for (feature, parameter) in &mut all {
        match feature.name.as_str() {
            "mobility_3" => parameter.frozen = true,
            "mobility_7" => parameter.phases = Phases::Untapered,
            "mobility_8" => parameter.phases = Phases::Mg,
            _ => {}
        }
    }
    all.push(one("tempo", "parameters", None));
    set(all)
}

fn computed(kind: FeatureKind) -> FeatureSet {
    FeatureSet::new(kind, PhaseSettings::default())
}

fn sets() -> [FeatureSet; 3] {
    [computed(FeatureKind::Pst), computed(FeatureKind::Classical), imported()]
}

/// Returns all penalties of a set, with the number of its parameters.
fn all(set: &FeatureSet) -> (Vec<Penalty>, usize) {
    let of_kind = |kind| penalties(set, kind);
    (PenaltyKind::ALL.into_iter().flat_map(of_kind).collect(), 2 * set.features.len())
}

/// Returns Σ weight · (Σ factor · δ)², in squares of pawns.
fn sum(penalty: &Penalty, delta: &[f64]) -> f64 {
    let terms = penalty.terms().into_iter().map(|term| {
        let inner: f64 = term.factors.iter().map(|&(i, factor)| factor * delta[i as usize]).sum();
        term.weight * inner * inner
    });
    terms.sum::<f64>() / (PENALTY_SCALE_CP * PENALTY_SCALE_CP)
}

fn random(rng: &mut Xoshiro256PlusPlus, size: usize) -> Vec<f64> {
    (0..size).map(|_| rng.random_range(-100.0..100.0)).collect()
}

/// Returns the parameters of a form, each once.
fn indices(form: &Form) -> Vec<usize> {
    let mut all: Vec<u32> = match form {
        Form::Set(set) => set.clone(),
        Form::Lines(lines) => lines.concat(),
        Form::Board(squares) => squares.iter().flatten().copied().collect(),
        Form::Pairs(pairs) => pairs.iter().flat_map(|&(mg, eg)| [mg, eg]).collect(),
    };
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|i| i as usize).collect()
}

#[test]
fn every_kind_occurs_in_every_set() {
    for set in sets() {
        for kind in PenaltyKind::ALL {
            assert!(!penalties(&set, kind).is_empty(), "{kind} of {}", set.name());
        }
        let (all, size) = all(&set);
        let mut names: Vec<String> = all.iter().map(Penalty::name).collect();
        all.iter().for_each(|penalty| penalty.validate(size).unwrap());
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}

#[test]
fn matrices_are_symmetric_and_positive_semidefinite() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for set in sets() {
        let (all, size) = all(&set);
        for penalty in &all {
            let matrix = penalty.matrix(size);
            assert_eq!(matrix.size(), size);
            for (i, j, value) in matrix.entries() {
                assert_eq!(matrix.entry(j as usize, i as usize), value, "{}", penalty.name());
            }
            // With a small shift, elimination pivots are positive unless an eigenvalue is clearly negative.
            let own = indices(&penalty.form);
            let largest = own.iter().map(|&i| matrix.entry(i, i)).fold(0.0, f64::max);
            let mut rows: Vec<Vec<f64>> =
                own.iter().map(|&i| own.iter().map(|&j| matrix.entry(i, j)).collect()).collect();
            for (i, row) in rows.iter_mut().enumerate() {
                row[i] += 1e-9 * largest;
            }
            for k in 0..own.len() {
                let (above, below) = rows.split_at_mut(k + 1);
                let pivot = above[k][k];
                assert!(pivot > 0.0, "{}: pivot {pivot}", penalty.name());
                for row in below {
                    let factor = row[k] / pivot;
                    row.iter_mut().zip(&above[k]).skip(k).for_each(|(value, top)| *value -= factor * top);
                }
            }
            let x = random(&mut rng, size);
            assert!(matrix.form(&x, &x) > 0.0, "{}", penalty.name());
        }
    }
}

#[test]
fn matrices_are_half_the_second_derivatives() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    for set in sets() {
        let (all, size) = all(&set);
        for penalty in &all {
            let (name, matrix) = (penalty.name(), penalty.matrix(size));
            let mut delta = random(&mut rng, size);
            let value = sum(penalty, &delta);
            assert!((matrix.form(&delta, &delta) - value).abs() < 1e-11 * value, "{name}");
            // Differences of a quadratic function have only rounding errors, for any step.
            let gradient: Vec<f64> = matrix.times(&delta).iter().map(|value| 2.0 * value).collect();
            let scale = gradient.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            let own = indices(&penalty.form);
            let step = 64.0;
            for _ in 0..6 {
                let (i, j) = (own[rng.random_range(0..own.len())], own[rng.random_range(0..own.len())]);
                let mut at = |x: f64, y: f64| {
                    let old = (delta[i], delta[j]);
                    delta[i] += x;
                    delta[j] += y;
                    let value = sum(penalty, &delta);
                    (delta[i], delta[j]) = old;
                    value
                };
                let first = (at(step, 0.0) - at(-step, 0.0)) / (2.0 * step);
                assert!((first - gradient[i]).abs() < 1e-9 * scale, "{name}: {first} for {}", gradient[i]);
                let corners = at(step, step) - at(step, -step) - at(-step, step) + at(-step, -step);
                let (second, expected) = (corners / (4.0 * step * step), 2.0 * matrix.entry(i, j));
                assert!((second - expected).abs() < 1e-12 * value, "{name}: {second} for {expected}");
            }
            // Other parameters have no entries.
            let outside = matrix.entries().filter(|(i, ..)| own.binary_search(&(*i as usize)).is_err());
            assert_eq!(outside.count(), 0, "{name}");
        }
    }
}

#[test]
fn values_match_plain_loops() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let set = computed(FeatureKind::Pst);
    let (all, size) = all(&set);
    let delta = random(&mut rng, size);
    let value = |name: &str| sum(all.iter().find(|penalty| penalty.name() == name).unwrap(), &delta) * 1e4;
    let is = |name: &str, expected: f64| {
        assert!((value(name) - expected).abs() < 1e-11 * expected, "{name}: {} for {expected}", value(name));
    };
    // Endgame values of knights, and of pawns where they can stand.
    let at = |file: i32, rank: i32| delta[384 + 64 + (8 * rank + file) as usize];
    let squares = || (0..8).flat_map(|rank| (0..8).map(move |file| (file, rank)));
    let pawn_squares = || squares().filter(|&(_, rank)| (1..7).contains(&rank));
    let pawn = |(file, rank): (i32, i32)| delta[(8 * rank + file) as usize];
    is("ridge:knight.eg", squares().map(|(file, rank)| at(file, rank).powi(2)).sum());
    is("ridge:pawn.mg", pawn_squares().map(|square| pawn(square).powi(2)).sum());
    let mean = pawn_squares().map(pawn).sum::<f64>() / 48.0;
    is("mean:pawn.mg", pawn_squares().map(|square| (pawn(square) - mean).powi(2)).sum());
    // Every pair of neighbors is visited from both sides.
    let neighbors = |(file, rank): (i32, i32), other: (i32, i32)| match (
        (file - other.0).abs(),
        (rank - other.1).abs(),
    ) {
        (0, 1) | (1, 0) => 0.5,
        (1, 1) => 0.25,
        _ => 0.0,
    };
    let smooth = squares().flat_map(|a| squares().map(move |b| (a, b)));
    let smooth = smooth.map(|(a, b)| neighbors(a, b) * (at(a.0, a.1) - at(b.0, b.1)).powi(2));
    is("smooth:knight.eg", smooth.sum());
    let smooth = pawn_squares().flat_map(|a| pawn_squares().map(move |b| (a, b)));
    is("smooth:pawn.mg", smooth.map(|(a, b)| neighbors(a, b) * (pawn(a) - pawn(b)).powi(2)).sum());
    let mut bend = 0.0;
    for i in 0..8 {
        for j in 0..6 {
            bend += (at(i, j) - 2.0 * at(i, j + 1) + at(i, j + 2)).powi(2);
            bend += (at(j, i) - 2.0 * at(j + 1, i) + at(j + 2, i)).powi(2);
        }
    }
    for (file, rank) in squares().filter(|&(file, rank)| file < 7 && rank < 7) {
        let mixed = at(file + 1, rank + 1) - at(file + 1, rank) - at(file, rank + 1) + at(file, rank);
        bend += 2.0 * mixed.powi(2);
    }
    is("bend:knight.eg", bend);
    let mirror =
        squares().filter(|&(file, _)| file < 4).map(|(file, rank)| at(file, rank) - at(7 - file, rank));
    is("mirror:knight.eg", mirror.map(|difference| difference.powi(2)).sum());
    let of_rank = |rank: i32| (0..8).map(|file| at(file, rank)).sum::<f64>() / 8.0;
    let of_file = |file: i32| (0..8).map(|rank| at(file, rank)).sum::<f64>() / 8.0;
    let whole = (0..8).map(of_rank).sum::<f64>() / 8.0;
    let rest = squares().map(|(file, rank)| at(file, rank) - of_rank(rank) - of_file(file) + whole);
    is("additive:knight.eg", rest.map(|rest| rest.powi(2)).sum());
    let differences: Vec<f64> = (320..384).map(|i| delta[i] - delta[384 + i]).collect();
    let mean = differences.iter().sum::<f64>() / 64.0;
    is("phases:king", differences.iter().map(|difference| (difference - mean).powi(2)).sum());
}

/// Returns a distance that a penalty leaves free according to its doc comment.
fn free(penalty: &Penalty, rng: &mut Xoshiro256PlusPlus, size: usize) -> Option<Vec<f64>> {
    let mut delta = vec![0.0; size];
    let numbers = random(rng, 64);
    match (penalty.kind, &penalty.form) {
        (PenaltyKind::Ridge, _) => return None,
        (PenaltyKind::Mean | PenaltyKind::Smooth, form) => {
            indices(form).into_iter().for_each(|i| delta[i] = numbers[0]);
        }
        (PenaltyKind::Bend, form @ Form::Lines(lines)) => {
            // Crossing lines, such as those of shelters, leave one slope along each side of their rectangle free.
            let cross = lines.concat().len() > indices(form).len();
            let own = lines.iter().filter(|line| !cross || line[1] == line[0] + 1);
            for (n, line) in own.enumerate() {
                let (start, slope) = match cross {
                    true => (numbers[0] + numbers[2] * n as f64, numbers[1]),
                    false => (numbers[2 * n], numbers[2 * n + 1]),
                };
                line.iter().enumerate().for_each(|(x, &i)| delta[i as usize] = start + slope * x as f64);
            }
        }
        (kind, Form::Board(squares)) => {
            for (square, &i) in squares.iter().enumerate() {
                let Some(i) = i else { continue };
                let (file, rank) = (square % 8, square / 8);
                delta[i as usize] = match kind {
                    PenaltyKind::Bend => numbers[0] + numbers[1] * file as f64 + numbers[2] * rank as f64,
                    PenaltyKind::Mirror => numbers[8 * rank + file.min(7 - file)],
                    PenaltyKind::Additive => numbers[file] + numbers[8 + rank],
                    _ => return None,
                };
            }
        }
        (PenaltyKind::Phases, Form::Pairs(pairs)) => {
            for (n, &(mg, eg)) in pairs.iter().enumerate() {
                delta[mg as usize] = numbers[n % 64];
                delta[eg as usize] = numbers[n % 64] + numbers[63];
            }
        }
        _ => return None,
    }
    Some(delta)
}

#[test]
fn penalties_leave_exactly_the_documented_directions_free() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for set in sets() {
        let (all, size) = all(&set);
        for penalty in &all {
            let Some(mut delta) = free(penalty, &mut rng, size) else {
                assert!(matches!(penalty.kind, PenaltyKind::Ridge | PenaltyKind::Level));
                continue;
            };
            let matrix = penalty.matrix(size);
            let (cost, scale) = (matrix.form(&delta, &delta), delta.iter().map(|x| x * x).sum::<f64>());
            assert!(cost.abs() < 1e-13 * scale, "{}: {cost}", penalty.name());
            let own = indices(&penalty.form);
            // One that has neighbors.
            let moved = own.into_iter().find(|&i| matrix.entry(i, i) > 0.0).unwrap();
            delta[moved] += 10.0;
            let expected = 100.0 * matrix.entry(moved, moved);
            let cost = matrix.form(&delta, &delta);
            assert!((cost - expected).abs() < 1e-9 * expected, "{}: {cost}", penalty.name());
        }
    }
}

#[test]
fn groups_of_imported_sets_are_taken_apart() {
    let set = imported();
    let parts = set.structure().parts;
    let seen: Vec<(&str, usize, String)> =
        parts.iter().map(|part| (part.name.as_str(), part.features.len(), part.layout.summary())).collect();
    let expected = [
        ("knight", 64, "board"),
        ("king", 11, "2 lines"),
        ("king/king_open", 64, "board"),
        ("king/king_closed", 32, "board of 32"),
        ("mobility", 9, "line of 9"),
        ("parameters", 1, ""),
    ];
    assert_eq!(seen, expected.map(|(name, count, layout)| (name, count, layout.to_string())));
    // a8 is the first square of the table.
    let Arrangement::Board(squares) = &parts[0].layout else { panic!("{:?}", parts[0]) };
    assert_eq!((squares[56], squares[0], squares[7]), (Some(0), Some(56), Some(63)));
    let Arrangement::Lines(lines) = &parts[1].layout else { panic!("{:?}", parts[1]) };
    assert_eq!(*lines, [[129, 131, 133, 135, 137], [130, 132, 134, 136, 138]]);
    // Every feature is in one part.
    let mut ids: Vec<u32> = parts.iter().flat_map(|part| part.features.iter().map(|own| own.0)).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..set.features.len() as u32).collect::<Vec<_>>());
    // The third of the line is frozen, the last has no endgame value.
    let first = set.features.iter().position(|feature| feature.name == "mobility_0").unwrap() as u32;
    let of = |kind, name: &str| {
        let found = penalties(&set, kind).into_iter().find(|penalty| penalty.of == name);
        found.unwrap_or_else(|| panic!("{kind} of {name}")).form
    };
    let (count, at) = (set.features.len() as u32, |from: u32, to: u32| (from..to).collect::<Vec<_>>());
    let mg = vec![at(first, first + 3), at(first + 4, first + 9)];
    let eg = vec![at(count + first, count + first + 3), at(count + first + 4, count + first + 8)];
    assert_eq!(of(PenaltyKind::Smooth, "mobility.mg"), Form::Lines(mg));
    assert_eq!(of(PenaltyKind::Smooth, "mobility.eg"), Form::Lines(eg));
    // A single value for both phases never differs, and does not enter the mean of differences.
    let Form::Pairs(pairs) = of(PenaltyKind::Phases, "mobility") else { panic!() };
    assert_eq!(pairs.iter().map(|pair| pair.0 - first).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6]);
    // Half a board has no mirrored squares.
    assert!(penalties(&set, PenaltyKind::Mirror).iter().all(|penalty| penalty.group() != "king/king_closed"));
}

#[test]
fn names_of_parts_are_unique() {
    let mut all = board("b", "a", 0..64);
    all.extend([one("x", "a", None), one("y", "a/b", None), one("z", "a/b 2", None)]);
    let names: Vec<String> = set(all).structure().parts.into_iter().map(|part| part.name).collect();
    assert_eq!(names, ["a/b 3", "a", "a/b", "a/b 2"]);
}

#[test]
fn places_that_contradict_each_other_are_refused() {
    let square = |board: &str, square| Some(Place::Square(board.to_string(), square));
    let cases = [
        (vec![one("a", "g", line("l")), one("b", "h", line("l"))], "'b'"),
        (vec![one("a", "g", line("l")), one("b", "g", None)], "'a'"),
        (vec![one("a", "g", square("b", 28)), one("c", "g", square("b", 28))], "square e4"),
        (vec![one("a", "g", square("b", 64))], "not 64"),
        (vec![one("a", "g", line("")), one("b", "g", line(""))], "is empty"),
        (vec![one("a", "g", square("x,y", 1))], "\"x,y\" has a comma"),
    ];
    for (parameters, named) in cases {
        let (features, parameters) = parameters.into_iter().unzip();
        let imported = Imported::new(1, parameters);
        let error = FeatureSet::try_imported(features, PhaseSettings::default(), imported).unwrap_err();
        assert_has(&error.to_string(), named);
    }
    // The same square of two boards, and of boards with the same name in two groups.
    let two =
        vec![one("a", "g", square("b", 1)), one("c", "g", square("d", 1)), one("e", "h", square("b", 1))];
    assert_eq!(set(two).structure().parts.len(), 3);
}

#[test]
fn weights_are_parsed_and_later_ones_replace_earlier_ones() {
    let classical = computed(FeatureKind::Classical);
    let weights = |set: &FeatureSet, text: &str| -> Vec<(String, f64)> {
        let all = parse_penalties(set, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        all.iter().map(|penalty| (penalty.name(), penalty.weight)).collect()
    };
    let named = |expected: &[(&str, f64)]| -> Vec<(String, f64)> {
        expected.iter().map(|&(name, weight)| (name.to_string(), weight)).collect()
    };
    let pst = computed(FeatureKind::Pst);
    assert_eq!((weights(&pst, "smooth=3e-4").len(), weights(&pst, "phases=1").len()), (12, 6));
    assert_eq!(weights(&pst, "smooth=0"), []);
    let knight = named(&[("smooth:knight.mg", 0.5), ("smooth:knight.eg", 0.5)]);
    assert_eq!(weights(&pst, " smooth : knight = 0.5 "), knight);
    assert_eq!(weights(&pst, "mirror:king.eg=2"), named(&[("mirror:king.eg", 2.0)]));
    // A whole kind but one, one of its phases, and the same in the other order.
    let all = weights(&pst, "mean=1,mean:knight=0,mean:rook.mg=7");
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|(name, weight)| (*weight == 7.0) == (name == "mean:rook.mg")));
    assert!(!all.iter().any(|(name, _)| name.starts_with("mean:knight")));
    assert_eq!(weights(&pst, "mean:rook.mg=7,mean=1"), weights(&pst, "mean=1"));
    // Kinds do not replace each other.
    assert_eq!(weights(&pst, "mean:rook.mg=7,smooth:rook.mg=1").len(), 2);
    // Names containing characters of the syntax.
    let odd = set(vec![one("a", "x=1:y", line("l")), one("b", "x=1:y", line("l"))]);
    assert_eq!(weights(&odd, "smooth:x=1:y.mg=3"), named(&[("smooth:x=1:y.mg", 3.0)]));
    let parts = named(&[("smooth:king.mg", 1.0), ("smooth:king.eg", 1.0)]);
    assert_eq!(weights(&imported(), "smooth:king=1"), parts);
    assert_eq!(
        weights(&imported(), "smooth:king/king_open.eg=1"),
        named(&[("smooth:king/king_open.eg", 1.0)])
    );

    for (text, named) in [
        ("smooth=-1", "'smooth=-1'"),
        ("mirror=1,smooth=nan", "'smooth=nan'"),
        ("smooth=", "'smooth='"),
        ("smooth=1e999", "'smooth=1e999'"),
        ("smooth", "expected KIND=WEIGHT"),
        ("smooth=1,", "expected KIND=WEIGHT"),
        ("rough=1", "ridge, level, mean, smooth, bend, mirror, additive or phases"),
        ("smooth:kingt=1", "pawn, knight"),
        ("mirror:knight_mobility=1", "pawn, knight, bishop"),
        ("smooth:=1", "no group"),
        ("mean:tempo=1", "no group"),
    ] {
        assert_has(&parse_penalties(&classical, text).unwrap_err().to_string(), named);
    }
    let material = computed(FeatureKind::Material);
    assert_has(&parse_penalties(&material, "additive=1").unwrap_err().to_string(), "'material'");
}

#[test]
fn penalties_that_do_not_fit_are_refused() {
    let pst = computed(FeatureKind::Pst);
    let valid = parse_penalties(&pst, "mirror:knight.mg=1").unwrap().remove(0);
    valid.validate(768).unwrap();
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let error = Penalty { weight, ..valid.clone() }.validate(768).unwrap_err();
        assert_has(&error.to_string(), "'mirror:knight.mg'");
    }
    assert!(valid.validate(127).is_err());
    let forms = [
        Form::Set(vec![1, 1]),
        Form::Set(vec![768]),
        Form::Lines(vec![vec![1, 2, 1]]),
        Form::Board(vec![None; 63]),
        Form::Board([Some(1); 2].into_iter().chain([None; 62]).collect()),
        Form::Pairs(vec![(1, 2), (2, 3)]),
    ];
    for form in forms {
        let wrong = Penalty { form, ..valid.clone() };
        assert!(wrong.validate(768).is_err(), "{wrong:?}");
    }
    // Lines may cross.
    Penalty { form: Form::Lines(vec![vec![1, 2], vec![1, 3]]), ..valid }.validate(768).unwrap();
}

#[test]
fn absent_values_are_tied_only_within_boards() {
    let set = computed(FeatureKind::Pst);
    let id = |name: &str| set.features.iter().position(|feature| feature.name == name).unwrap() as u32;
    let rook: Vec<String> = "abcdefgh".chars().map(|file| format!("rook_{file}8")).collect();
    let queen: Vec<String> =
        "cde".chars().flat_map(|file| (3..6).map(move |rank| format!("queen_{file}{rank}"))).collect();
    // A gap, a corner with three neighbors, a rank without any to lean on, a hole of three by three squares.
    let gaps = ["knight_d4", "knight_a8"].map(str::to_string);
    let never: Vec<&str> = gaps.iter().chain(&rook).chain(&queen).map(String::as_str).collect();
    let mut occurrences = vec![7; set.features.len()];
    never.iter().for_each(|name| occurrences[id(name) as usize] = 0);
    let parts = set.structure().supported_by(&occurrences).parts;
    let mut supported: Vec<bool> = occurrences.iter().map(|&count| count > 0).collect();
    let features = parts.iter().flat_map(|part| &part.features);
    features.for_each(|&(id, tuned)| supported[id as usize] |= tuned.contains(&true));
    let kept: Vec<&str> = never.iter().copied().filter(|name| !supported[id(name) as usize]).collect();
    // Around a hole, corners have five of eight neighbors, edges three.
    let hole = ["queen_d3", "queen_c4", "queen_d4", "queen_e4", "queen_d5"];
    let expected: BTreeSet<&str> = rook.iter().map(String::as_str).chain(hole).collect();
    assert_eq!(kept.into_iter().collect::<BTreeSet<_>>(), expected);
    let (full, size) = all(&set);
    let tied = supported_penalties(&set, full.clone(), &occurrences);
    assert_eq!(tied.len(), full.len(), "every group has values that occur");
    let count = set.features.len();
    for penalty in &tied {
        penalty.validate(size).unwrap();
        assert!(indices(&penalty.form).iter().all(|i| supported[i % count]), "{}", penalty.name());
    }
    // Features that occur everywhere lose nothing.
    let everywhere = supported_penalties(&set, full.clone(), &vec![1; count]);
    assert_eq!(everywhere, full);
    let nowhere = supported_penalties(&set, full, &vec![0; count]);
    assert!(nowhere.is_empty());
}

#[test]
fn absent_values_split_lines() {
    let set = imported();
    let structure = set.structure();
    let line = structure.parts.iter().find_map(|part| match &part.layout {
        Arrangement::Lines(lines) => lines.iter().find(|line| line.len() >= 3).cloned(),
        _ => None,
    });
    let line = line.unwrap();
    let mut occurrences = vec![1; set.features.len()];
    occurrences[line[0] as usize] = 0;
    let smooth = supported_penalties(&set, penalties(&set, PenaltyKind::Smooth), &occurrences);
    let ids: Vec<usize> = smooth.iter().flat_map(|penalty| indices(&penalty.form)).collect();
    assert!(!ids.contains(&(line[0] as usize)) && ids.contains(&(line[1] as usize)), "{ids:?}");
}
