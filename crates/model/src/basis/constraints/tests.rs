//! Constraints on bases of the feature set `classical`.

use super::ConstraintKind::{Decreasing, Increasing, Negative, Positive};
use super::*;
use crate::basis::{Basis, BasisFile, CoordinateRecord, Named};
use crate::kinds::FeatureKind;
use crate::prior::Prior;
use gputexel_chess::PhaseSettings;

fn classical() -> FeatureSet {
    FeatureSet::new(FeatureKind::Classical, PhaseSettings::default())
}

fn at(name: &str) -> usize {
    classical().features.iter().position(|feature| feature.name == name).unwrap()
}

fn rising() -> Vec<f64> {
    let count = classical().features.len();
    (0..2 * count).map(|i| (i % count) as f64).collect()
}

fn held(
    basis: &str,
    freeze: &[&str],
    prior: &[f64],
    list: &[(ConstraintKind, &str)],
) -> Result<Parameterization> {
    let Ok(basis) = basis.parse::<Basis>();
    let freeze: Vec<String> = freeze.iter().map(|name| (*name).to_string()).collect();
    let basis = basis.resolve(&classical(), prior, &freeze).unwrap();
    basis.constrained(&classical(), prior, &constraints(list))
}

fn constraints(list: &[(ConstraintKind, &str)]) -> Vec<Constraint> {
    list.iter().map(|&(kind, name)| Constraint { kind, name: name.to_string() }).collect()
}

fn message(basis: &str, freeze: &[&str], prior: &[f64], list: &[(ConstraintKind, &str)]) -> String {
    held(basis, freeze, prior, list).unwrap_err().to_string()
}

fn find<'b>(basis: &'b Parameterization, name: &str) -> &'b Coordinate {
    basis.coordinates.iter().find(|coordinate| coordinate.name == name).expect(name)
}

fn within(basis: &Parameterization, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / 16_777_216.0
    };
    let value = |coordinate: &Coordinate| {
        let (low, high) = interval(coordinate);
        let far = if next() < 0.333 { 0.0 } else { 100.0 * next() };
        match (low.is_finite(), high.is_finite()) {
            (true, _) => (low + far).min(high),
            (_, true) => high - far,
            _ => far - 50.0,
        }
    };
    basis.coordinates.iter().map(value).collect()
}

fn is_rising(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] <= pair[1])
}

fn is_falling(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] >= pair[1])
}

#[test]
fn values_of_lines_stay_in_order() {
    let mut prior = rising();
    let (count, pawns) = (prior.len() / 2, at("bishop_pawns_0"));
    prior[pawns..pawns + 9].reverse();
    let list =
        [(Increasing, "knight_mobility"), (Decreasing, "bishop_pawns.mg"), (Increasing, "passed_own_king")];
    let basis = held("identity", &[], &prior, &list).unwrap();
    assert_eq!(
        basis.name,
        "identity, increasing knight_mobility passed_own_king, decreasing bishop_pawns.mg"
    );
    assert_eq!(basis.dimension(), prior.len());
    assert_eq!(basis.theta(&basis.start()), prior);
    let step = find(&basis, "knight_mobility_3.eg - knight_mobility_2.eg");
    assert_eq!((step.start, step.min, step.max), (1.0, Some(0.0), None));
    assert_eq!(find(&basis, "bishop_pawns_3.mg - bishop_pawns_4.mg").min, Some(0.0));
    assert_eq!(find(&basis, "knight_mobility_0.mg").min, None);
    assert_eq!(find(&basis, "bishop_pawns_0.mg").min, None);
    let (knight, king) = (at("knight_mobility_0"), at("passed_own_king_low_0"));
    let mut out_of_order = 0;
    let names: Vec<String> = (0..prior.len()).map(|i| classical().parameter_name(i)).collect();
    for seed in 0..200 {
        let z = within(&basis, seed);
        let theta = basis.theta(&z);
        for phase in [0, count] {
            assert!(is_rising(&theta[phase + knight..][..9]), "{seed}");
            // Along distances, not along ranks.
            assert!(is_rising(&theta[phase + king..][..8]) && is_rising(&theta[phase + king + 8..][..8]));
            out_of_order += usize::from(theta[phase + king] > theta[phase + king + 8]);
        }
        assert!(is_falling(&theta[pawns..][..9]), "{seed}");
        out_of_order += usize::from(!is_falling(&theta[count + pawns..][..9]));
        // Everything else is unchanged: a coordinate of its own.
        let others = (0..theta.len()).filter(|i| basis.coordinates[*i].name == names[*i]);
        let others: Vec<usize> = others.filter(|i| !(knight..knight + 9).contains(&(i % count))).collect();
        let is_first = |i: usize| [king, king + 8].contains(&(i % count)) || i == pawns;
        assert!(others.iter().all(|&i| theta[i] == z[i] || is_first(i)), "{seed}");
        assert_eq!(others.len(), theta.len() - 2 * 9 - 2 * 14 - 8);
    }
    assert!(out_of_order > 100, "{out_of_order}: too much is in order");
    // Every vector in order can be reached: the first value, and the steps from it.
    let mut z = basis.start();
    let line: Vec<f64> = (0..9).map(|i| f64::from(i * i) - 20.5).collect();
    (0..9).for_each(|i| z[knight + i] = if i == 0 { line[0] } else { line[i] - line[i - 1] });
    assert_eq!(basis.theta(&z)[knight..knight + 9], line);
}

#[test]
fn shelters_have_an_order_by_rank_only() {
    let basis = held("identity", &[], &rising(), &[(Increasing, "king_shield")]).unwrap();
    let steps = basis.coordinates.iter().filter(|coordinate| coordinate.name.contains(" - "));
    let steps: Vec<&str> = steps.map(|coordinate| coordinate.name.as_str()).collect();
    assert_eq!(steps.len(), 2 * 4 * 5);
    assert!(steps.contains(&"king_shield_d_rank7.mg - king_shield_d_rank6.mg"));
    assert!(!steps.iter().any(|name| name.contains("none")), "{steps:?}");
}

#[test]
fn signs_are_bounds() {
    let zero = vec![0.0; rising().len()];
    let list = [(Positive, "bishop_pair"), (Negative, "doubled.eg")];
    let basis = held("identity", &[], &zero, &list).unwrap();
    assert_eq!(basis.name, "identity, positive bishop_pair, negative doubled.eg");
    assert_eq!(interval(find(&basis, "bishop_pair.eg")), (0.0, f64::INFINITY));
    assert_eq!(interval(find(&basis, "doubled_de.eg")), (f64::NEG_INFINITY, 0.0));
    assert_eq!(interval(find(&basis, "doubled_de.mg")), (f64::NEG_INFINITY, f64::INFINITY));
    let free = basis.coordinates.iter().filter(|c| c.min.is_none() && c.max.is_none()).count();
    assert_eq!(free, zero.len() - 2 - 4);
    // Bounds and factors of differences from the prior.
    let record = |name: &str, min: f64, factor: f64| CoordinateRecord {
        name: name.to_string(),
        min: Some(min),
        moves: Named(vec![(name.to_string(), factor)]),
        ..CoordinateRecord::default()
    };
    let mut file = BasisFile::new(
        "file",
        "classical",
        vec![
            record("bishop_pair.mg", -5.0, 2.0),
            record("bishop_pair.eg", -90.0, -0.5),
            record("tempo.mg", -90.0, 4.0),
        ],
    );
    file.base = crate::Base::Word(crate::BaseWord::Prior);
    let prior = vec![30.0; zero.len()];
    let basis = file.resolve(&classical(), &prior, &[]).unwrap();
    let list = constraints(&[(Positive, "bishop_pair"), (Positive, "tempo")]);
    let basis = basis.constrained(&classical(), &prior, &list).unwrap();
    let bounds: Vec<(f64, f64)> = basis.coordinates.iter().map(interval).collect();
    assert_eq!(bounds, [(-5.0, f64::INFINITY), (-90.0, 60.0), (-7.5, f64::INFINITY)]);
}

#[test]
fn a_bounded_value_anchors_its_line() {
    let mut prior = rising();
    let (first, count) = (at("knight_mobility_0"), prior.len() / 2);
    (0..9).for_each(|i| prior[first + i] = i as f64 - 4.0);
    // The least value is the first of a rising line, and the last of a falling one.
    let cases = [
        (Increasing, Positive, "knight_mobility.eg", "knight_mobility_0.eg", true),
        (Increasing, Negative, "knight_mobility_4.mg", "knight_mobility_4.mg", false),
        (Increasing, Positive, "knight_mobility_4.mg", "knight_mobility_4.mg", true),
    ];
    for (order, sign, signed, anchor, is_below) in cases {
        let basis = held("identity", &[], &prior, &[(sign, signed), (order, "knight_mobility")]).unwrap();
        let found = find(&basis, anchor);
        assert_eq!((found.min, found.max), if is_below { (Some(0.0), None) } else { (None, Some(0.0)) });
        let theta = basis.theta(&basis.start());
        assert!(theta.iter().zip(&prior).all(|(a, b)| (a - b).abs() < 1e-9), "{anchor}");
        for seed in 0..100 {
            let theta = basis.theta(&within(&basis, seed));
            for phase in [0, count] {
                let line = &theta[phase + first..][..9];
                // Steps on both sides of the anchor.
                assert!(line.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9), "{anchor} {seed}: {line:?}");
            }
            let value = theta
                [first + usize::from(anchor.contains('4')) * 4 + count * usize::from(anchor.ends_with("eg"))];
            assert!(if is_below { value >= 0.0 } else { value <= 0.0 }, "{anchor} {seed}: {value}");
        }
    }
    (0..9).for_each(|i| prior[first + i] = 8.0 - i as f64);
    let basis =
        held("identity", &[], &prior, &[(Decreasing, "knight_mobility.mg"), (Positive, "knight_mobility")])
            .unwrap();
    assert_eq!(find(&basis, "knight_mobility_8.mg").min, Some(0.0));
    assert_eq!(find(&basis, "knight_mobility_7.mg - knight_mobility_8.mg").start, 1.0);
}

#[test]
fn what_is_not_tuned_bounds_its_neighbors() {
    let prior = rising();
    let first = at("knight_mobility_0");
    let list = [(Increasing, "knight_mobility.mg")];
    let basis = held("identity", &["knight_mobility_0", "knight_mobility_4"], &prior, &list);
    // The values between two that are fixed are bounded from both sides.
    let reason = basis.unwrap_err().to_string();
    assert!(
        reason.contains("knight_mobility_1.mg has to be at least")
            && reason.contains("knight_mobility_3.mg at most"),
        "{reason}"
    );
    let basis = held("identity", &["knight_mobility_0", "knight_mobility_2.mg"], &prior, &list).unwrap();
    let bounds = |name: &str| interval(find(&basis, name));
    let (low, high) = (prior[first], prior[first + 2]);
    assert_eq!(bounds("knight_mobility_1.mg"), (low, high));
    assert_eq!(bounds("knight_mobility_3.mg"), (high, f64::INFINITY));
    assert_eq!(bounds("knight_mobility_4.mg - knight_mobility_3.mg"), (0.0, f64::INFINITY));
    for seed in 0..100 {
        assert!(is_rising(&basis.theta(&within(&basis, seed))[first..first + 9]), "{seed}");
    }
}

#[test]
fn tied_values_are_one_line() {
    let (prior, first) = (rising(), at("rook_mobility_0"));
    let count = prior.len() / 2;
    for name in ["rook_mobility", "rook_mobility.eg"] {
        let basis = held("tied", &[], &prior, &[(Increasing, name)]).unwrap();
        assert_eq!(basis.dimension(), count);
        assert_eq!(find(&basis, "rook_mobility_1 - rook_mobility_0").min, Some(0.0));
        for seed in 0..50 {
            let theta = basis.theta(&within(&basis, seed));
            assert!(is_rising(&theta[first..first + 15]), "{seed}");
            assert_eq!(theta[..count], theta[count..]);
        }
    }
    let list = [(Increasing, "rook_mobility.mg"), (Decreasing, "rook_mobility.eg")];
    let flat = vec![0.0; prior.len()];
    assert!(message("tied", &[], &flat, &list).contains("is tied to a value in another order"));
    // If only some are tied to the other phase, the lines of the phases differ.
    assert!(
        message("tied", &["rook_mobility_0.eg"], &prior, &[(Increasing, "rook_mobility")])
            .contains("rook_mobility_1.eg is tied to a value in another order")
    );
}

#[test]
fn whole_numbers_stay_whole() {
    let prior = Prior::default().theta(&classical()).unwrap();
    let basis = held("identity", &[], &prior, &[(Increasing, "knight_mobility")]).unwrap().whole();
    let z: Vec<f64> = within(&basis, 1).iter().map(|value| value.round()).collect();
    assert!(basis.theta(&z).iter().all(|value| value.fract() == 0.0));
    let record = |name: &str, integer: bool| CoordinateRecord {
        name: name.to_string(),
        integer,
        moves: Named(vec![(name.to_string(), 1.0)]),
        ..CoordinateRecord::default()
    };
    let names: Vec<String> = (0..9).map(|i| format!("knight_mobility_{i}.mg")).collect();
    let refused = |mixed: bool, prior: &[f64]| {
        let records = names.iter().enumerate().map(|(i, name)| record(name, !mixed || i > 0)).collect();
        let mut file = BasisFile::new("file", "classical", records);
        file.base = crate::Base::Word(crate::BaseWord::Prior);
        let basis = file.resolve(&classical(), prior, &[]).unwrap();
        let list = constraints(&[(Increasing, "knight_mobility.mg")]);
        basis.constrained(&classical(), prior, &list).unwrap_err().to_string()
    };
    assert!(refused(true, &prior).contains("only one is a whole number"));
    let mut fraction = prior.clone();
    fraction[at("knight_mobility_8")] = 0.5;
    assert!(refused(false, &fraction).contains("do not start a whole number apart"));
}

#[test]
fn what_cannot_hold_is_refused_by_name() {
    let flat = vec![0.0; rising().len()];
    let mut prior = flat.clone();
    (prior[at("knight_mobility_2")], prior[at("knight_mobility_3")]) = (15.0, 12.0);
    prior[at("bishop_pair")] = -12.0;
    (5..9).for_each(|i| prior[at(&format!("knight_mobility_{i}"))] = 20.0);
    let refused = |freeze: &[&str], prior: &[f64], list: &[(ConstraintKind, &str)], named: &str| {
        let found = message("identity", freeze, prior, list);
        let (kind, name) = list[list.len() - 1];
        let of = if list.len() == 3 {
            "increasing isolated".to_string()
        } else {
            format!("{} {name}", kind.name())
        };
        assert!(found.starts_with(&of) && found.contains(named), "{found}: {named}");
    };
    let cases: &[(&[(ConstraintKind, &str)], &str)] = &[
        (&[(Increasing, "knight_mobility")], "knight_mobility_3.mg (12)"),
        (&[(Decreasing, "knight_mobility.mg")], "knight_mobility_2.mg (15)"),
        (&[(Positive, "bishop_pair")], "bishop_pair.mg is -12"),
        (&[(Negative, "knight_mobility_3")], "knight_mobility_3.mg is 12"),
        (&[(Positive, "knigth")], "'classical'"),
        (&[(Increasing, "knight_mobility_3")], "its table is knight_mobility"),
        (&[(Increasing, "outpost")], "knight_mobility, bishop_mobility"),
        (&[(Positive, "tempo.mg"), (Negative, "tempo")], "tempo.mg is to be positive, too"),
        (&[(Decreasing, "isolated"), (Increasing, "isolated.eg")], "isolated_ah.eg is to be decreasing, too"),
        (
            &[(Increasing, "isolated"), (Positive, "isolated_ah"), (Negative, "isolated_de")],
            "isolated_ah.mg has to be at least 0, isolated_de.mg at most 0",
        ),
    ];
    for (list, named) in cases {
        refused(&[], &prior, list, named);
    }
    refused(&["bishop_pair"], &flat, &[(Positive, "bishop_pair")], "tunes nothing of it");
    // A frozen value that breaks the constraint on the tuned ones.
    refused(&["bishop_pair.mg"], &prior, &[(Positive, "bishop_pair")], "bishop_pair.mg is -12");
    let pst = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let prior = Prior::default().theta(&pst).unwrap();
    let hold = |basis: &str, kind: ConstraintKind, name: &str| {
        let Ok(basis) = basis.parse::<Basis>();
        let basis = basis.resolve(&pst, &prior, &[]).unwrap();
        basis.constrained(&pst, &prior, &constraints(&[(kind, name)])).map_err(|error| error.to_string())
    };
    assert!(
        hold("identity", Increasing, "pawn").unwrap_err().contains("no table of feature set 'pst' is a line")
    );
    let found = hold("madchess", Positive, "knight_f3").unwrap_err();
    assert!(
        found.contains("knight_f3.mg has no coordinate of its own: basis 'madchess' makes it of"),
        "{found}"
    );
    assert!(hold("mirrored", Positive, "knight").is_ok());
    assert!(hold("identity", Positive, "*").is_ok());
}

#[test]
fn bounds_of_the_basis_are_kept() {
    let record = |i: usize, min: Option<f64>, max: Option<f64>| CoordinateRecord {
        name: format!("n{i}"),
        min,
        max,
        moves: Named(vec![(format!("knight_mobility_{i}.mg"), 1.0)]),
        ..CoordinateRecord::default()
    };
    let flat = vec![0.0; rising().len()];
    let hold = |min: Option<f64>, max: Option<f64>, list: &[(ConstraintKind, &str)]| {
        let records = (0..9).map(|i| record(i, min, max)).collect();
        let basis = BasisFile::new("file", "classical", records).resolve(&classical(), &flat, &[]).unwrap();
        basis.constrained(&classical(), &flat, &constraints(list)).map_err(|error| error.to_string())
    };
    let rising = [(Increasing, "knight_mobility.mg")];
    let basis = hold(Some(-5.0), None, &rising).unwrap();
    assert_eq!((find(&basis, "n0").min, find(&basis, "n1 - n0").min), (Some(-5.0), Some(0.0)));
    let basis = hold(None, Some(50.0), &rising).unwrap();
    assert_eq!((find(&basis, "n8").max, find(&basis, "n1 - n0").min), (Some(50.0), Some(0.0)));
    let found = hold(Some(-5.0), Some(50.0), &rising).unwrap_err();
    assert!(
        found.contains("knight_mobility_0.mg has to be at least -5, knight_mobility_8.mg at most 50"),
        "{found}"
    );
    // Shared coordinates, and factors.
    let shared = |factor: f64, more: Option<&str>| {
        let mut records: Vec<CoordinateRecord> = (0..9).map(|i| record(i, None, None)).collect();
        records[3].moves.0[0].1 = factor;
        records[3].moves.0.extend(more.map(|name| (name.to_string(), 1.0)));
        let basis = BasisFile::new("file", "classical", records).resolve(&classical(), &flat, &[]).unwrap();
        basis.constrained(&classical(), &flat, &constraints(&rising)).unwrap_err().to_string()
    };
    let own =
        "increasing knight_mobility.mg: knight_mobility_3.mg has no coordinate of its own: basis 'file'";
    assert_eq!(shared(2.0, None), format!("{own} makes it of 'n3' times 2"));
    assert_eq!(shared(1.0, Some("tempo.mg")), format!("{own} moves tempo.mg with it"));
    assert_eq!(
        shared(1.0, Some("knight_mobility_4.mg")),
        format!("{own} moves knight_mobility_4.mg with it")
    );
    let before = shared(1.0, Some("knight_mobility_2.mg"));
    assert!(before.contains("knight_mobility_2.mg has no coordinate of its own: basis 'file' makes it of 2"));
    // An interval that a sign leaves empty.
    let mut far = record(0, None, Some(-3.0));
    far.start = crate::Value::Number(-4.0);
    let basis = BasisFile::new("file", "classical", vec![far]).resolve(&classical(), &flat, &[]).unwrap();
    let found = basis.constrained(&classical(), &flat, &constraints(&[(Positive, "knight_mobility.mg")]));
    assert_eq!(
        found.unwrap_err().to_string(),
        "positive knight_mobility.mg: leaves knight_mobility_0.mg no value: 'n0' would be from 0 to -3"
    );
}
