//! Parameter files to export, and commands that export them.

use crate::common::prelude::*;

fn record(name: &str, group: &str, mg: f64, eg: f64) -> ParameterRecord {
    let (name, group) = (name.to_string(), group.to_string());
    ParameterRecord { name, group, mg, eg, occurrences: None, errors: None, bootstrap: None }
}

/// Writes piece-square values, uneven or with equal files.
pub fn pst(bench: &Bench, name: &str, mirrored: bool) -> ParameterFile {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let piece = [100.0, 300.0, 320.0, 500.0, 900.0, 0.0];
    let theta: Vec<f64> = (0..768)
        .map(|i: usize| {
            let square = if mirrored && i % 8 > 3 { i ^ 7 } else { i };
            piece[i / 64 % 6] + 70.0 * (square as f64 * 2.11).sin()
        })
        .collect();
    let file = ParameterFile::new(&set, &theta, None, Some(0.8));
    bench.write(name, file.to_json());
    file
}

/// Names as used by authors, with the identifiers expected for them.
pub const ODD: [(&str, &str, &str); 10] = [
    ("mobility 0", "mobility", "mobility"),
    ("mobility 1", "mobility", "mobility"),
    ("back\\slash\\", "<b>\"bold\"</b> \\", "b_bold_b"),
    ("line // comment */ ??/", "<b>\"bold\"</b> \\", "b_bold_b"),
    ("int", "int", "int"),
    ("3 checks", "", "n3_checks"),
    ("lauf er", "lauf er", "lauf_er"),
    ("lauf-er", "lauf-er", "lauf_er_2"),
    ("while", "", "while"),
    ("turned \u{202e} around", "", "turned_around"),
];

pub fn odd(bench: &Bench, name: &str) -> ParameterFile {
    let one = |(i, (name, group, _)): (usize, &(&str, &str, &str))| {
        record(name, group, 1.0 + i as f64, -10.25 - i as f64)
    };
    let parameters = ODD.iter().enumerate().map(one).collect();
    let file = ParameterFile::of("imported", PhaseSettings::default(), Some(0.9), parameters);
    bench.write(name, file.to_json());
    file
}

#[track_caller]
pub fn export(bench: &Bench, args: impl Words) -> Value {
    bench.told(("export", args))
}

#[track_caller]
pub fn import(bench: &Bench, args: impl Words) -> ParameterFile {
    assert_eq!(bench.ok(("--quiet import-params -o back.json --force", args)), "");
    ParameterFile::read(&bench.path("back.json")).unwrap()
}
