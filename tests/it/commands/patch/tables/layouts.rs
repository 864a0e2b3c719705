//! Layouts of arrays in engines, as in docs/patch-recipes.md: each example is filled here, with numbers whose places
//! are computed index by index, and each wrongly declared layout is refused.

use crate::common::prelude::*;

/// Values of the built-in tables; all squares and pieces are different enough not to be confused; the same in both
/// phases if `tied`.
fn values(change: f64, tied: bool) -> Vec<f64> {
    let piece = [90.0, 310.0, 330.0, 480.0, 950.0, 0.0];
    (0..768)
        .map(|i| {
            let (phase, role, rank, file) = (if tied { 0 } else { i / 384 }, i / 64 % 6, i / 8 % 8, i % 8);
            let shape = (7 * rank + 3 * file + rank * file * (role + 1) + 11 * phase * rank) % 41;
            piece[role] + shape as f64 - 20.0 + change * ((i % 384 * (i % 384)) % 13) as f64
        })
        .collect()
}

fn write_values(bench: &Bench, name: &str, theta: &[f64]) {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    bench.write(name, ParameterFile::new(&set, theta, None, None).to_json());
}

fn at(theta: &[f64], role: usize, square: usize) -> i64 {
    theta[64 * role + square].round() as i64
}

/// Returns the middlegame piece value: the mean of a table, for pawns over ranks 2 to 7.
fn piece(theta: &[f64], role: usize) -> i64 {
    let squares = if role == 0 { 8..56 } else { 0..64 };
    let count = squares.len() as f64;
    (squares.map(|square| theta[64 * role + square]).sum::<f64>() / count).round() as i64
}

fn list(numbers: impl IntoIterator<Item = i64>) -> String {
    format!("{{{}}}", numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", "))
}

type Numbers = fn(&[f64]) -> String;

/// Examples of the page, with the contents of `{ ... }` there.
const TABLES: [(&str, Numbers); 6] = [
    ("// gputexel: knight.mg orientation a8\nconst int knight_mg[8][8] = { ... };", |theta| {
        let rank = |rank: usize| list((0..8).map(|file| at(theta, 1, 8 * (7 - rank) + file)));
        format!("{{{}}}", (0..8).map(rank).collect::<Vec<_>>().join(", "))
    }),
    ("// gputexel: pst.mg colors both\nconst int pst_mg[2][6][64] = { ... };", |theta| {
        let table =
            |i: usize| list((0..64).map(|square| at(theta, i % 6, if i < 6 { square } else { square ^ 56 })));
        let color =
            |of: usize| format!("{{{}}}", (6 * of..6 * of + 6).map(table).collect::<Vec<_>>().join(", "));
        format!("{{{}, {}}}", color(0), color(1))
    }),
    (
        "// gputexel: pst.mg pieces -PNBRQKpnbrqk colors negated\nconst int pst_mg[13][64] = { ... };",
        |theta| {
            let row = |i: usize| match i {
                0 => list([5; 64]),
                1..=6 => list((0..64).map(|square| at(theta, i - 1, square))),
                _ => list((0..64).map(|square| -at(theta, i - 7, square ^ 56))),
            };
            format!("{{{}}}", (0..13).map(row).collect::<Vec<_>>().join(", "))
        },
    ),
    ("// gputexel: material.mg pieces -pnbrqk\nconst int value_mg[7] = { ... };", |theta| {
        list((0..7).map(|i| if i == 0 { 0 } else { piece(theta, i - 1) }))
    }),
    (
        "// gputexel: material.mg pieces -pnbrq-pnbrq colors negated\nconst int value_mg[12] = { ... };",
        |theta| {
            list((0..12).map(|i| match i % 6 {
                0 => 0,
                role => piece(theta, role - 1) * if i < 6 { 1 } else { -1 },
            }))
        },
    ),
    ("// gputexel: material.mg colors both\nconst int value_mg[2][6] = { ... };", |theta| {
        let row = || list((0..6).map(|role| piece(theta, role)));
        format!("{{{}, {}}}", row(), row())
    }),
];

fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/patch-recipes.md");
    std::fs::read_to_string(path).unwrap()
}

/// Fills a source, which must change as expected; then again, which must change nothing.
#[track_caller]
fn fills(bench: &Bench, before: &str, after: &str) {
    bench.write("a.c", before);
    bench.ok("patch tables tuned.json a.c --start start.json");
    assert_eq!(bench.text("a.c"), after, "{before}");
    assert_has(&bench.ok("patch tables tuned.json a.c"), "nothing to write");
}

#[test]
#[ignore = "full"]
fn tables_of_the_page_are_filled() {
    let bench = Bench::new();
    let (start, tuned) = (values(0.0, false), values(1.0, false));
    write_values(&bench, "start.json", &start);
    write_values(&bench, "tuned.json", &tuned);
    let page = page();
    for (example, numbers) in TABLES {
        assert!(page.contains(example), "the page lacks {example}");
        let source = |theta: &[f64]| example.replace("{ ... }", &numbers(theta)) + "\n";
        fills(&bench, &source(&start), &source(&tuned));
        // The same array in another order or with another sign is refused, and so is one of another table.
        let other = |from: &str, to: &str| source(&start).replacen(from, to, 1);
        for wrong in [
            other(" orientation a8", ""),
            other("colors both\nconst int pst", "colors negated\nconst int pst"),
            other("PNBRQKpnbrqk", "pnbrqkPNBRQK"),
            other("-pnbrq-pnbrq", "-pbnrq-pbnrq"),
            other("-pnbrq-pnbrq colors negated", "-pnbrq-pnbrq"),
            other("pieces -pnbrqk\n", "pieces -kqrbnp\n"),
        ] {
            if wrong == source(&start) {
                continue;
            }
            bench.write("a.c", &wrong);
            bench.fails("patch tables tuned.json a.c --start start.json", 1);
            assert_eq!(bench.text("a.c"), wrong);
        }
    }
}

#[test]
fn one_number_for_both_phases_needs_values_without_phases() {
    let bench = Bench::new();
    let (start, tied) = (values(0.0, true), values(1.0, true));
    write_values(&bench, "start.json", &start);
    write_values(&bench, "tuned.json", &tied);
    let example = "// gputexel: knight.both orientation a8\nconst int knight[64] = { ... };";
    assert!(page().contains(example));
    let source =
        |theta: &[f64]| example.replace("{ ... }", &list((0..64).map(|i| at(theta, 1, i ^ 56)))) + "\n";
    fills(&bench, &source(&start), &source(&tied));
    // When read back, a number is the value of both.
    bench.ok("import-params a.c --like start.json -o back.json");
    let back: ParameterFile = serde_json::from_slice(&bench.bytes("back.json")).unwrap();
    for (id, record) in back.parameters.iter().enumerate() {
        let expected = if id / 64 == 1 { tied[id].round() } else { start[id] };
        assert_eq!((record.mg, record.eg), (expected, expected), "{}", record.name);
    }
    // An export of such values has no pairs, and is read back, too.
    for (to, name) in [("c", "t.h"), ("cpp", "t.hpp"), ("rust", "t.rs"), ("python", "t.py")] {
        let export = ["export", "tuned.json", "--to", to, "-o", name, "--untapered", "--decimals", "all"];
        bench.ok(export);
        let exported = bench.text(name);
        assert!(!exported.contains("S(") && !exported.contains("_eg"), "{exported}");
        bench.ok(["import-params", name, "-o", "b.json", "--force"]);
        let back: ParameterFile = serde_json::from_slice(&bench.bytes("b.json")).unwrap();
        let values: Vec<f64> = back.parameters.iter().flat_map(|record| [record.mg, record.eg]).collect();
        let expected: Vec<f64> = (0..384).flat_map(|id| [tied[id]; 2]).collect();
        assert_eq!(values, expected, "{name}");
    }
    write_values(&bench, "tapered.json", &values(1.0, false));
    let why = "a.c:1: 'knight.both' is one number for both phases, but 'knight_";
    let message = bench.fails_with("patch tables tapered.json a.c", 1, why);
    assert!(message.contains("--basis tied"), "{message}");
    bench.fails_with("export tapered.json --to c --untapered", 2, ["in the endgame", "--basis tied"]);
}

fn record(name: &str, group: &str, mg: f64, eg: f64) -> ParameterRecord {
    let (name, group) = (name.to_string(), group.to_string());
    ParameterRecord { name, group, mg, eg, occurrences: None, errors: None, bootstrap: None }
}

/// Writes a parameter file of lists: mobility of three pieces in one group, and a bonus.
fn lists(bench: &Bench, name: &str, change: f64) -> Vec<f64> {
    let mut parameters = Vec::new();
    for (piece, count) in [("knight", 3), ("bishop", 4), ("rook", 2)] {
        for i in 0..count {
            let value = f64::from(i * i) * 7.0 - 20.0 + piece.len() as f64 * 3.0 + change * f64::from(i + 1);
            parameters.push(record(&format!("{piece}_mobility_{i}"), "mobility", value, value + 100.0));
        }
    }
    parameters.push(record("step", "", 9.0 + change, 3.0 - change));
    let values = parameters.iter().map(|record| record.mg).collect();
    bench.write(name, ParameterFile::of("imported", PhaseSettings::default(), None, parameters).to_json());
    values
}

#[test]
fn lists_and_numbers_of_lines_are_filled() {
    let bench = Bench::new();
    let (start, tuned) = (lists(&bench, "start.json", 0.0), lists(&bench, "tuned.json", 2.0));
    let page = page();
    let numbers = |values: &[f64]| values.iter().map(|value| value.round() as i64).collect::<Vec<_>>();
    let pairs = |values: &[f64]| {
        let pair = |value: &f64| format!("S({0}, {1})", value, value + 100.0);
        format!("{{{}}}", values.iter().map(pair).collect::<Vec<_>>().join(", "))
    };
    let rows = |theta: &[f64], of: &dyn Fn(&[f64]) -> String| {
        format!("{{{}, {}, {}}}", of(&theta[..3]), of(&theta[3..7]), of(&theta[7..9]))
    };
    type Written<'a> = &'a dyn Fn(&[f64]) -> String;
    let cases: [(&str, Written); 3] = [
        ("// gputexel: mobility.mg\nconst int mobility_mg[3][4] = { ... };", &|theta| {
            rows(theta, &|row| list(numbers(row)))
        }),
        ("// gputexel: mobility\nconst Score mobility[3][4] = { ... };", &|theta| rows(theta, &pairs)),
        ("// gputexel: mobility.mg rows 3/4/2\nconst int mobility_mg[3][4] = { ... };", &|theta| {
            rows(theta, &|row| {
                let mut padded = numbers(row);
                padded.resize(4, 55);
                list(padded)
            })
        }),
    ];
    for (example, array) in cases {
        assert!(page.contains(example), "the page lacks {example}");
        let source = |theta: &[f64]| example.replace("{ ... }", &array(theta)) + "\n";
        fills(&bench, &source(&start), &source(&tuned));
    }
    let line = "score += 9 * (mobility - 3);";
    let both = format!("{line} // gputexel: step number 1/2");
    let one = format!("{line} // gputexel: step.mg number 1");
    assert!(page.contains(&one) && page.contains(&both), "{page}");
    // The tuned values are 11 and 1.
    fills(&bench, &format!("{one}\n"), &format!("{}\n", one.replace("9 *", "11 *")));
    fills(
        &bench,
        &format!("{both}\n"),
        &format!("{}\n", both.replace("9 * (mobility - 3)", "11 * (mobility - 1)")),
    );
    for (source, expected) in [
        (one.replace("number 1", "number 3"), "a.c:1: the line has 2 numbers; the marker asks for number 3"),
        (one.replace("number 1", "number 2"), "(step.mg: 3, expected 9)"),
        (both.replace("1/2", "2/1"), "with the endgame's numbers before the middlegame's"),
        (both.replace("1/2", "1/1"), "expected a place on the line"),
    ] {
        bench.write("a.c", &source);
        bench.fails_with("patch tables tuned.json a.c --start start.json", 1, expected);
        assert_eq!(bench.text("a.c"), source);
    }
    for case in [
        "mobility.mg rows 3/4/2 ~ a[] = {1,2,3,4,1,2,3,4,1,2,3} ~ a.c:2: the array's 11 numbers are not 3 rows",
        "mobility.mg rows 3/4/1 ~ a[3][4] = {{1,2,3,4},{1,2,3,4},{1,2,3,4}} ~ counts 8",
        "mobility.mg rows 2/5/2 ~ a[3][4] = {{1,2,3,4},{1,2,3,4},{1,2,3,4}} ~ counts 5",
        "mobility.mg ~ a[9] = { [0] = 1, [2] = 3 } ~ a.c:2: '[0] =' places an entry",
        "step.mg pieces pn ~ a = 9 ~ option 'pieces' is for all pieces",
        "mobility.mg colors both ~ a[9] = {0} ~ the array has 1 number, 'mobility.mg' has 18, [2][9]",
    ] {
        let [marker, array, expected] = cells(case);
        let source = format!("// gputexel: {marker}\nint {array};");
        bench.write("a.c", &source);
        bench.fails_with("patch tables tuned.json a.c --start start.json", 1, expected);
        assert_eq!(bench.text("a.c"), source);
    }
}

/// Numbers that match no piece are reported as such, also where kings have no value.
#[test]
fn kings_may_lack_a_value() {
    let bench = Bench::new();
    for (name, change) in [("start.json", 0.0), ("tuned.json", 7.0)] {
        let values =
            [("pawn", 100.0), ("knight", 300.0), ("bishop", 320.0), ("rook", 500.0), ("queen", 900.0)];
        let piece = |(name, value): (&str, f64)| record(name, "material", value + change, value + change);
        let values = values.map(piece).to_vec();
        bench.write(name, ParameterFile::of("imported", PhaseSettings::default(), None, values).to_json());
    }
    let source = |numbers: &str| {
        format!("// gputexel: material.both pieces -PNBRQ-pnbrq- colors negated\nint a[] = {numbers};\n")
    };
    let numbers = "{0, 100, 300, 320, 500, 900, 0, -100, -300, -320, -500, -900, 0}";
    let tuned = "{0, 107, 307, 327, 507, 907, 0, -107, -307, -327, -507, -907, 0}";
    fills(&bench, &source(numbers), &source(tuned));
    bench.write("a.c", source(&numbers.replace("320", "333")));
    bench.fails_with("patch tables tuned.json a.c --start start.json", 1, "(bishop.mg: 333, expected 320)");
}
