use std::path::Path;

use proptest::prelude::*;

use super::*;
use gputexel_chess::PhaseSettings;
use gputexel_model::{FeatureKind, FeatureSet};

fn values(kind: FeatureKind, value: impl Fn(usize) -> f64) -> TableValues {
    let set = FeatureSet::new(kind, PhaseSettings::default());
    let count = 2 * set.features.len();
    TableValues::try_new(set.features, (0..count).map(value).collect()).unwrap()
}

fn file(values: &TableValues, source: &str, name: &Path) -> Result<(String, Vec<Filled>)> {
    let survey = Survey::of(values, source, name)?;
    let checker = MarkerChecker::new(values, &KnownValues::default(), true);
    let matches = compared(checker, std::slice::from_ref(&survey))?;
    let mut filled = Vec::new();
    let text = survey.filled(values, matches.into_iter().flatten().collect(), &mut filled)?;
    Ok((text, filled))
}

fn patched(values: &TableValues, name: &str, source: &str) -> std::result::Result<String, String> {
    file(values, source, Path::new(name)).map(|(text, _)| text).map_err(|error| error.to_string())
}

/// Piece values 100, 300, 320, 500, 900, 0 and 110, 310, 330, 520, 950, 0.
fn material() -> TableValues {
    let list = [100.0, 300.0, 320.0, 500.0, 900.0, 0.0, 110.0, 310.0, 330.0, 520.0, 950.0, 0.0];
    values(FeatureKind::Material, |i| list[i])
}

#[track_caller]
fn gives(source: &str, expected: &str) {
    for (source, expected) in [
        (source.to_string(), expected.to_string()),
        (source.replace('\n', "\r\n"), expected.replace('\n', "\r\n")),
    ] {
        let once = patched(&material(), "a.cpp", &source).unwrap();
        assert_eq!(once, expected);
        assert_eq!(patched(&material(), "a.cpp", &once).unwrap(), once);
    }
}

/// Zeros are placeholders for first values, although the king is worth zero at the start, and so is every square
/// without the material.
#[test]
fn zeros_are_filled_as_marked() {
    let start = values(FeatureKind::Pst, |i| [100.0, 300.0, 320.0, 500.0, 900.0, 0.0][i / 64 % 6]);
    let known = KnownValues { start: Some(start), given: None };
    let tuned = values(FeatureKind::Pst, |i| (i % 384) as f64);
    for marker in ["pawn.mg orientation a8", "knight.mg offset material"] {
        let name = marker.split('.').next().unwrap();
        let source = format!("// gputexel: {marker}\nint a[64] = {{{}}};\n", vec!["0"; 64].join(", "));
        let survey = Survey::of(&tuned, &source, Path::new("a.c")).unwrap();
        let matches = compared(MarkerChecker::new(&tuned, &known, false), std::slice::from_ref(&survey));
        let matches: Vec<MarkerMatch> =
            matches.unwrap_or_else(|error| panic!("{marker}: {error}")).into_iter().flatten().collect();
        let compared = matches[0].compared;
        assert!(compared == Compared::Alike || marker.contains("offset"), "{name}: {compared:?}");
        let mut filled = Vec::new();
        let text = survey.filled(&tuned, matches, &mut filled).unwrap();
        assert!(!text.contains("{0, 0"), "{text}");
    }
}

#[test]
fn layouts_are_kept() {
    // Ragged, with a trailing comma, comments, a plus.
    gives(
        "\u{feff}// gputexel: material.mg\nint a[] = {+1,-2, /* n */ 3,\n\t4,5, // x\n 6,};\n",
        "\u{feff}// gputexel: material.mg\nint a[] = {+100,+300, /* n */ +320,\n\t+500,+900, // x\n 0,};\n",
    );
    // To the right.
    gives(
        "int a[] = { // gputexel: material.mg\n       1, -2000,     3, // one\n       4,     5,     6, // two\n};\n",
        "int a[] = { // gputexel: material.mg\n     100,   300,   320, // one\n     500,   900,     0, // two\n};\n",
    );
    // All of one length.
    gives(
        "int a[] = { // gputexel: material.eg\n    0,0,0,\n    0,0,0\n};\n",
        "int a[] = { // gputexel: material.eg\n    110,310,330,\n    520,950,0\n};\n",
    );
    // Pairs, padded within and before the wrapper.
    gives(
        "S a[] = { // gputexel: material\n    S(  1,   2), S( -3, 400),\n    S(  5,   6), S(  7,   8),\n    S(  9,  10), S( 11,  12) };\n",
        "S a[] = { // gputexel: material\n    S(100, 110), S(300, 310),\n    S(320, 330), S(500, 520),\n    S(900, 950), S(  0,   0) };\n",
    );
    // One line.
    gives(
        "int a[] = {   1,  -2,   3,   4,   5 }; // gputexel: material.mg\n",
        "int a[] = { 100, 300, 320, 500, 900 }; // gputexel: material.mg\n",
    );
    gives(
        "S a[] = { S( 1, -2), S( 3,  4), S(-5,  6), S( 7,  8), S( 9, 10) }; // gputexel: material\n",
        "S a[] = { S(100, 110), S(300, 310), S(320, 330), S(500, 520), S(900, 950) }; // gputexel: material\n",
    );
    gives(
        "int a[] = { 1, -2000, 3, 4, 5 }; // gputexel: material.mg\n",
        "int a[] = { 100, 300, 320, 500, 900 }; // gputexel: material.mg\n",
    );
}

#[test]
fn one_number_is_enough_for_both_phases_if_they_are_the_same() {
    let feature = |name: &str| gputexel_model::Feature { name: name.to_string(), group: "other".to_string() };
    let values = |eg: f64| {
        let theta = vec![12.0, 30.0, -4.0, eg, 35.0, -4.0];
        TableValues::try_new(vec![feature("tempo"), feature("b"), feature("c")], theta).unwrap()
    };
    let source = |what: &str, array: &str| format!("// gputexel: {what}\nconst int A{array};\n");
    let gives = |values: &TableValues, what: &str, array: &str| {
        patched(values, "a.c", &source(what, array))
            .map_err(|told| told.split(": ").nth(1).unwrap().to_string())
    };
    assert_eq!(gives(&values(12.0), "tempo", " = 9"), Ok(source("tempo", " = 12")));
    assert_eq!(gives(&values(12.0), "tempo", "[2] = {9, 9}"), Ok(source("tempo", "[2] = {12, 12}")));
    assert_eq!(gives(&values(12.0), "c", "[1] = {9}"), Ok(source("c", "[1] = {-4}")));
    let both = "[2][3] = {{12, 30, -4}, {-4, 30, 12}}";
    let zeros = "[2][3] = {{0, 0, 0}, {0, 0, 0}}";
    let what = "other.mg colors reversed";
    assert_eq!(gives(&values(12.0), what, zeros), Ok(source(what, both)));
    let told = gives(&values(13.0), "tempo", " = 9").unwrap_err();
    assert_eq!(
        told,
        "the array has 1 number, 'tempo' has 2, [2]; '.mg' or '.eg' behind the name takes one of its values"
    );
    assert!(gives(&values(12.0), "other", "[3] = {1, 2, 3}").is_err());
    assert_eq!(gives(&values(13.0), "tempo.mg", " = 9"), Ok(source("tempo.mg", " = 12")));
}

#[test]
fn shapes_say_where_phases_are() {
    gives(
        "// gputexel: material\nint a[2][6] = {{1,2,3,4,5,6},{1,2,3,4,5,6}};",
        "// gputexel: material\nint a[2][6] = {{100,300,320,500,900,0},{110,310,330,520,950,0}};",
    );
    gives(
        "// gputexel: material pieces -pq-\nV a[2][4] = {{V0,2,3,V9},{V0,2,3,V9}};",
        "// gputexel: material pieces -pq-\nV a[2][4] = {{V0,100,900,V9},{V0,110,950,V9}};",
    );
    gives(
        "// gputexel: pawn.mg scale 1.28\nconst int P = 5;\nconst int Q = 6; // gputexel: pawn.eg, offset 10\n#define E 7\n",
        "// gputexel: pawn.mg scale 1.28\nconst int P = 5;\nconst int Q = 6; // gputexel: pawn.eg, offset 10\n#define E 7\n"
            .replace("= 5", "= 128").replace("= 6", "= 100")
            .as_str(),
    );
}

#[test]
fn what_does_not_fit_is_said_with_file_and_line() {
    let pst = values(FeatureKind::Pst, |i| i as f64);
    for (source, line, expected) in [
        ("\n// gputexel: knght.mg\nint a;", ":2", "did you mean 'knight.mg'?"),
        ("\n// gputexel: knight.mg\n\nint a[] = {1,2,3};", ":4", "has 3 numbers, 'knight.mg' has 64, [64]"),
        ("// gputexel: queen.e4.mg\nint a[] = {1,2,3};", ":2", "'queen.e4.mg' has 1"),
        ("#define A 5 // gputexel: queen.e4", ":1", "'.mg' or '.eg'"),
        ("// gputexel: material\nint a[] = {1,2,3,4,5,6,7,8,9,10,11,12};", ":2", "no pairs"),
        ("// gputexel: material\nint a[] = {{1,2},{3,4,5},6,{7,8,9,10,11,12}};", ":2", "different lengths"),
        ("// gputexel: material.mg\nint a[] = {1,2,\n3*4,4,5,6};", ":3", "'3*4' is not a number"),
        (
            "// gputexel: pst.mg\nint a[] = {N,\n-S(2, 3)};",
            ":3",
            "a number that can be replaced; the array has 2 numbers",
        ),
        (
            "// gputexel: knight.material.mg\n#define A 1\n// gputexel: knight.mg colors reversed\nint b = 1;",
            ":3",
            "is for lists",
        ),
        ("// gputexel: pawn.a1.eg\n// gputexel: pawn.a2.eg\nint b = 1;", ":2", "marker in line 1"),
        ("// gputexel: pawn.a1.mg offset 2\nunsigned a = 5u;", ":2", "-2 does not fit"),
        ("// gputexel: pawn.a1 files 4\nS a = S(1,2);", ":1", "option 'files'"),
        ("// gputexel: pawn pieces k\nS a = S(1,2);", ":1", "option 'pieces'"),
        ("// gputexel: material offset material\nS a = S(1,2);", ":1", "option 'offset material'"),
    ] {
        let told = patched(&pst, "dir/a.cpp", source).unwrap_err();
        assert!(
            told.starts_with(&format!("dir/a.cpp{line}: ")) && told.contains(expected),
            "{source}: {told}"
        );
    }
    let rows = |marker: &str, outer: usize, inner: usize| {
        let row = format!("{{{}}},", "1,".repeat(inner));
        patched(&pst, "a.c", &format!("// gputexel: {marker}\nint a[] = {{{}}};", row.repeat(outer)))
    };
    assert!(rows("pst.mg", 6, 64).is_ok() && rows("pst.mg", 48, 8).is_ok());
    assert!(rows("pst.mg", 64, 6).unwrap_err().contains("[64][6], which does not go with [6][64]"));
    assert!(rows("king.mg files 4", 8, 4).is_ok() && rows("king.mg files 4", 4, 8).is_err());
}

#[test]
fn floats_stay_floats() {
    let values = values(FeatureKind::Material, |i| [1.005, -0.04, 3.25, 82.0, 0.5, 0.0][i % 6]);
    let source = "// gputexel: material.mg\nfloat a[] = { 1.0f, 2.00, .5, 4, 5.0, -0.0 };";
    let expected = "// gputexel: material.mg\nfloat a[] = { 1.0f, -0.04, 3.3, 82, 0.5, -0.0 };";
    assert_eq!(patched(&values, "a.c", source).unwrap(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(text in "(// gputexel: (pawn|knight.mg|material|pst files 4)\n)?[-{}()\\[\\]=;:,.#'\"a-cS0-9 \n/*<>!&\\\\é]{0,80}") {
        let values = values(FeatureKind::Pst, |i| i as f64);
        for name in ["a.c", "a.rs", "a.cs"] {
            let _ = patched(&values, name, &text);
            let _ = patched(&values, name, &format!("x // gputexel: pawn.a2\n{text}"));
            let _ = patched(&values, name, &format!("{text} // gputexel: pawn.a2.mg"));
        }
    }
}
