//! Order of the numbers in a source: brackets, markers and schemas are compared with the numbers, and the expected
//! places are computed here, index by index.

use crate::common::prelude::*;

/// Writes values of the built-in tables that resemble an engine's, without symmetries that would hide a wrong order.
fn engine_values(bench: &Bench, name: &str, change: f64) -> Vec<f64> {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let piece = [90.0, 310.0, 330.0, 480.0, 950.0, 0.0];
    let theta: Vec<f64> = (0..768)
        .map(|i| {
            let (phase, role, rank, file) = (i / 384, i / 64 % 6, i / 8 % 8, i % 8);
            let shape = (7 * rank + 3 * file + rank * file * (role + 1) + 11 * phase * rank) % 41;
            piece[role] + shape as f64 - 20.0 + change * ((i * i) % 13) as f64
        })
        .collect();
    bench.write(name, ParameterFile::new(&set, &theta, None, None).to_json());
    theta
}

/// Formats an array in C; `lengths` are from the outside to the inside.
fn nested(lengths: &[usize], numbers: &[i64]) -> String {
    let inner: Vec<String> = match lengths {
        [_] | [] => numbers.iter().map(i64::to_string).collect(),
        [_, rest @ ..] => numbers.chunks(rest.iter().product()).map(|part| nested(rest, part)).collect(),
    };
    format!("{{{}}}", inner.join(", "))
}

/// Returns the text of a source with one marked array.
fn marked(marker: &str, lengths: &[usize], numbers: &[i64]) -> String {
    let brackets: String = lengths.iter().map(|n| format!("[{n}]")).collect();
    format!("// gputexel: {marker}\nint a{brackets} = {};\n", nested(lengths, numbers))
}

/// Maps one of the two colors, a piece and an index of its table to a square of White's view and a sign.
fn by_index(index: usize, layout: &str) -> (usize, usize, usize) {
    let (table, square) = (index / 64, index % 64);
    match layout {
        "color" => (table / 6, table % 6, square),
        "piece" => (table % 2, table / 2, square),
        "black" => (1 - table / 6, table % 6, square),
        _ => panic!("{layout}"),
    }
}

/// Returns 768 numbers of both colors in the middlegame; `mirror` is xored to White's squares.
fn both_colors(theta: &[f64], layout: &str, sign: i64, mirror: usize) -> Vec<i64> {
    let number = |index: usize| {
        let (color, piece, square) = by_index(index, layout);
        // Black's piece on a square of the board is White's on the one with the rank mirrored.
        let own_side = if color == 1 { square ^ mirror ^ 56 } else { square ^ mirror };
        let value = theta[64 * piece + own_side].round() as i64;
        if color == 1 { sign * value } else { value }
    };
    (0..768).map(number).collect()
}

#[test]
fn places_both_colors_by_brackets_and_marker() {
    let bench = Bench::new();
    let start = engine_values(&bench, "start.json", 0.0);
    let tuned = engine_values(&bench, "tuned.json", 1.0);
    let run = |source: &str| {
        bench.write("a.c", source);
        bench.run("--json patch tables tuned.json a.c --start start.json")
    };
    for (marker, lengths, layout, sign, mirror) in [
        ("pst.mg colors both", &[2, 6, 64][..], "color", 1, 0),
        ("pst.mg colors both orientation a8", &[2, 6, 8, 8], "color", 1, 56),
        ("pst.mg colors both", &[6, 2, 64], "piece", 1, 0),
        ("pst.mg pieces PpNnBbRrQqKk", &[12, 64], "piece", 1, 0),
        ("pst.mg colors both", &[12, 64], "color", 1, 0),
        ("pst.mg colors negated", &[768], "color", -1, 0),
        ("pst.mg colors negated", &[2, 6, 64], "color", -1, 0),
        ("pst.mg colors negated pieces pnbrqkPNBRQK orientation h1", &[2, 6, 64], "black", -1, 7),
    ] {
        let source = marked(marker, lengths, &both_colors(&start, layout, sign, mirror));
        let (code, out, err) = run(&source);
        assert_eq!((code, err.as_str()), (0, ""), "{marker} {lengths:?}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["markers"][0]["compared"], "given", "{out}");
        assert!(report["markers"][0]["order"].str().contains(" first"), "{out}");
        let wanted = marked(marker, lengths, &both_colors(&tuned, layout, sign, mirror));
        assert_eq!(bench.text("a.c"), wanted, "{marker} {lengths:?}");
        // Its own numbers are recognized without the start.
        bench.ok("patch tables tuned.json a.c");
        assert_eq!(bench.text("a.c"), wanted);
    }
    // Zeros do not determine orientations, which is reported.
    bench.write("a.c", marked("pst.mg colors both", &[2, 6, 64], &[0; 768]));
    let (code, out, _) = bench.run("patch tables tuned.json a.c");
    assert!(code == 0 && out.contains("whether a1 first is right cannot be determined"), "{out}");
    assert_eq!(
        bench.text("a.c"),
        marked("pst.mg colors both", &[2, 6, 64], &both_colors(&tuned, "color", 1, 0))
    );
}

#[test]
fn matches_numbers_with_markers() {
    let bench = Bench::new();
    let start = engine_values(&bench, "start.json", 0.0);
    engine_values(&bench, "tuned.json", 1.0);
    let table = |phase: usize, role: usize, of: &dyn Fn(usize) -> usize| -> Vec<f64> {
        (0..64).map(|index| start[384 * phase + 64 * role + of(index)]).collect()
    };
    let whole = |values: &[f64]| values.iter().map(|value| value.round() as i64).collect::<Vec<i64>>();
    let knight = table(0, 1, &|index| index);
    let pairs: Vec<i64> = (0..128).map(|i| start[384 * (i % 2) + 64 + ((i / 2) ^ 56)] as i64).collect();
    let swapped: Vec<i64> = (0..128).map(|i| start[384 * (1 - i % 2) + 64 + i / 2] as i64).collect();
    let half: Vec<i64> = (0..32)
        .map(|i| {
            let square = 64 + 8 * (7 - i / 4) + i % 4;
            ((start[square] + start[square ^ 7]) / 2.0).round() as i64
        })
        .collect();
    // An engine that adds piece values itself, which differ from the means of the tables.
    let without: Vec<i64> = knight.iter().map(|value| *value as i64 - 305).collect();
    for (marker, lengths, numbers, expected) in [
        ("knight.mg orientation a8", &[64][..], whole(&knight), "'gputexel: knight.mg orientation a1'"),
        ("knight.mg", &[64], whole(&table(0, 1, &|i| i ^ 7)), "'gputexel: knight.mg orientation h1'"),
        ("knight.mg", &[8, 8], whole(&table(0, 1, &|i| 63 - i)), "'gputexel: knight.mg orientation h8'"),
        ("knight", &[64, 2], pairs, "'gputexel: knight orientation a8'"),
        ("knight", &[64, 2], swapped, "with the endgame's numbers before the middlegame's"),
        ("knight.mg files 4", &[8, 4], half, "'gputexel: knight.mg orientation a8 files 4'"),
    ] {
        let source = marked(marker, lengths, &numbers);
        bench.write("a.c", &source);
        bench.write("good.c", marked("rook.mg", &[64], &whole(&table(0, 3, &|index| index))));
        let good = bench.text("good.c");
        let all = "patch tables tuned.json good.c a.c --start start.json";
        let message = bench.fails_with(all, 1, "a.c:1: the numbers are those of");
        assert!(message.contains(expected) && message.contains("--trust-marker"), "{marker}: {message}");
        // All or nothing.
        assert_eq!((bench.text("a.c"), bench.text("good.c")), (source, good));
    }
    // Tables without material are compared up to the piece value, which is derived from that.
    let source = marked("knight.mg offset material", &[64], &without)
        + "const int Knight = 305; // gputexel: knight.material.mg\n";
    bench.write("a.c", &source);
    let arguments = ["--json", "patch", "tables", "tuned.json", "a.c", "--start", "start.json"];
    bench.ok(arguments);
    bench.write("a.c", source.replace("= 305", "= 290"));
    bench.fails_with(&arguments[1..], 1, ["a.c:3: ", "knight.mg: 290, expected 305"]);
    // Values that match none of these are refused.
    let mut strange = whole(&knight);
    strange[9] += 40;
    bench.write("a.c", marked("knight.mg", &[64], &strange));
    let message =
        bench.fails_with(&arguments[1..], 1, "1 of 64 differ from the start values given (knight_b2.mg");
    assert!(message.contains("--trust-marker"), "{message}");
    let (code, out, _) = bench.run((&arguments[1..], "--trust-marker"));
    assert!(code == 0 && out.contains("filled as marked") && out.contains("; a1 first\n"), "{out}");
    // The same without anything to compare with; single numbers have no order.
    let bare = "int a[] = {1, 2, 3, 4, 5, 6}; // gputexel: material.mg\n";
    bench.write("a.c", bare);
    bench.fails_with("patch tables tuned.json a.c", 1, "no run.json of its run beside the parameter file");
    assert_eq!(bench.text("a.c"), bare);
    bench.write("a.c", "int a = 7; // gputexel: pawn.material.mg\n");
    let (code, out, _) = bench.run("patch tables tuned.json a.c");
    assert!(code == 0 && out.contains("starting values are unknown: 1 single number"), "{out}");
}

fn from_a8(index: usize) -> String {
    format!("{}{}", char::from(b'a' + (index % 8) as u8), 8 - index / 8)
}

/// Returns the value of the engine of [`imported_run`] at an index.
fn engine_knight(phase: usize, index: usize) -> i64 {
    300 + ((index * index * 7 + index * 5) % 61) as i64 - 40 * phase as i64
}

const MOBILITY: [[i64; 2]; 5] = [[-20, -31], [-4, -9], [6, 7], [11, 19], [17, 22]];

/// Creates a run, in `run`, on the trace of an engine whose tables start with a8.
fn imported_run(bench: &Bench) {
    let names: Vec<String> = (0..64).map(|i| format!("\"n_{}\"", from_a8(i))).collect();
    let priors: Vec<String> =
        (0..64).map(|i| format!("[{}, {}]", engine_knight(0, i), engine_knight(1, i))).collect();
    let mobility: Vec<String> = MOBILITY.iter().map(|[mg, eg]| format!("[{mg}, {eg}]")).collect();
    let schema = format!(
        "{{\"format\": \"gputexel-schema\", \"version\": 1, \"index_base\": 1, \
         \"phase\": {{\"middlegame\": 24, \"endgame\": 0}}, \"columns\": {{\"phase\": 1}}, \"parameters\": [\n\
         {{\"name\": \"knight\", \"group\": \"knight\", \"index\": 2, \"names\": [{}], \"priors\": [{}]}},\n\
         {{\"name\": \"mobility\", \"index\": 66, \"count\": 5, \"priors\": [{}]}},\n\
         {{\"name\": \"tempo\", \"group\": \"tempo\", \"index\": 71, \"prior\": 12}}]}}\n",
        names.join(", "),
        priors.join(", "),
        mobility.join(", ")
    );
    let trace: String = (0..400usize)
        .map(|n| {
            let (white, black) = (2 + n * 29 % 64, 2 + (n * 41 + 13) % 64);
            let knights = match white.cmp(&black) {
                std::cmp::Ordering::Less => format!("{white}:1 {black}:-1 "),
                std::cmp::Ordering::Greater => format!("{black}:-1 {white}:1 "),
                std::cmp::Ordering::Equal => String::new(),
            };
            let result = ["1", "0.5", "0"][(n * n + n / 7) % 3];
            let mobility = 66 + n % 5;
            format!("{result} 1:{} {knights}{mobility}:1 71:{}\n", n % 25, if n % 2 == 0 { 1 } else { -1 })
        })
        .collect();
    bench.write("s.json", schema);
    bench.write("t.svm", trace);
    bench.done("import t.svm --schema s.json -o d.bin --force");
    bench.tune("d.bin --out run --force --epochs 3 --k 0.8 --l2 1e-5");
}

fn run_values(bench: &Bench) -> std::collections::HashMap<String, [i64; 2]> {
    let list = bench.json("run/params.json")["parameters"].list().clone();
    let whole = |value: &serde_json::Value| value.f64().round() as i64;
    list.iter()
        .map(|record| (record["name"].str().to_string(), [whole(&record["mg"]), whole(&record["eg"])]))
        .collect()
}

/// Returns the engine's own source, with numbers given by a function of phase and index.
fn engine_source(option: &str, knight: impl Fn(usize, usize) -> i64, rest: &[[i64; 2]]) -> String {
    let table = |phase: usize| nested(&[64], &(0..64).map(|i| knight(phase, i)).collect::<Vec<_>>());
    let pairs: Vec<String> = rest[..5].iter().map(|[mg, eg]| format!("S({mg}, {eg})")).collect();
    format!(
        "// gputexel: knight.mg{option}\nint N_mg[64] = {};\n// gputexel: knight.eg{option}\nint N_eg[64] = {};\n\
         S mobility[5] = {{ {} }}; // gputexel: mobility\nint tempo = {}; // gputexel: tempo.mg\n",
        table(0),
        table(1),
        pairs.join(", "),
        rest[5][0]
    )
}

#[test]
fn imported_tables_keep_the_order_of_the_schema() {
    let bench = Bench::new();
    imported_run(&bench);
    let values = run_values(&bench);
    let moved = (0..64).filter(|&i| values[&format!("n_{}", from_a8(i))][0] != engine_knight(0, i)).count();
    assert!(moved > 20, "{moved}");
    let rest: Vec<[i64; 2]> =
        (0..5).map(|i| values[&format!("mobility_{i}")]).chain([values["tempo"]]).collect();
    let start = [&MOBILITY[..], &[[12, 12]]].concat();
    let tuned =
        |option: &str| engine_source(option, |phase, i| values[&format!("n_{}", from_a8(i))][phase], &rest);
    // Without an orientation, and with the right one.
    for option in ["", " orientation a8"] {
        bench.write("e.cpp", engine_source(option, engine_knight, &start));
        assert_has(&bench.ok("patch tables run/params.json e.cpp"), ["knight.mg: 64 numbers", "; a8 first"]);
        assert_eq!(bench.text("e.cpp"), tuned(option));
        // Filled again, using the folder's name: the current numbers are the result.
        let report = bench.told("patch tables run e.cpp");
        let known: Vec<&str> = report["markers"].list().iter().map(|m| m["compared"].str()).collect();
        assert_eq!(known, ["result"; 4]);
        assert_eq!(bench.text("e.cpp"), tuned(option));
    }
    // The mirrored one is refused, and the right one is named.
    let source = engine_source(" orientation a1", engine_knight, &start);
    bench.write("e.cpp", &source);
    let message = bench.fails_with(
        "patch tables run/params.json e.cpp",
        1,
        ["e.cpp:1: ", "'gputexel: knight.mg orientation a8'"],
    );
    assert!(message.contains("the values that the run started from"), "{message}");
    assert_eq!(bench.text("e.cpp"), source);
    // Lists and single numbers are compared as well.
    let mut other = start.clone();
    other.swap(1, 2);
    bench.write("e.cpp", engine_source("", engine_knight, &other));
    bench.fails_with("patch tables run e.cpp", 1, ["e.cpp:5: ", "4 of 10"]);
    // Nothing is known about a copy, except with --start.
    bench.write("copy.json", bench.bytes("run/params.json"));
    bench.write("e.cpp", engine_source("", engine_knight, &start));
    bench.fails_with("patch tables copy.json e.cpp", 1, "no run.json");
    // The record of another run does not help.
    let record = bench.text("run/run.json").replace("\"prior\": \"schema\"", "\"prior\": \"zero\"");
    bench.write("run.json", record);
    bench.fails_with("patch tables copy.json e.cpp", 1, "no run.json");
}

#[test]
fn exports_and_imports_keep_the_order_of_the_schema() {
    let bench = Bench::new();
    imported_run(&bench);
    let values = run_values(&bench);
    // Returns the numbers after the marker of an array.
    let array = |text: &str, marker: &str| -> Vec<i64> {
        let at = text.find(&format!("gputexel: {marker}\n")).unwrap_or_else(|| panic!("{marker}\n{text}"));
        let body = &text[at..];
        let body = &body[body.find('{').unwrap() + 1..body.find('}').unwrap()];
        body.split(',').filter_map(|word| word.trim().parse().ok()).collect()
    };
    let by_index: Vec<i64> = (0..64).map(|i| values[&format!("n_{}", from_a8(i))][0]).collect();
    let marker = "knight.mg orientation a8";
    let header = bench.text("run/tables.h");
    assert_eq!(array(&header, marker), by_index);
    assert!(header.contains("// Index 0 is a8, 7 is h8, 63 is h1"), "{header}");
    let (out, _) = bench.done("export run --to c");
    assert_eq!(array(&out, marker), by_index);
    let (_, out, _) = bench.run("export run --to c --orientation a1");
    let mirrored: Vec<i64> = (0..64).map(|i| by_index[i ^ 56]).collect();
    assert_eq!(array(&out, "knight.mg orientation a1"), mirrored);
    // Without that option, an export's marker means a1 as before.
    bench.write("old.h", out.replace(" orientation a1", ""));
    let knight = |name: &str, index: usize| {
        let list = bench.json(name)["parameters"].list().clone();
        let record = list.into_iter().find(|r| r["name"] == format!("n_{}", from_a8(index))).unwrap();
        [record["mg"].f64().round() as i64, record["eg"].f64().round() as i64]
    };
    for name in ["old.h", "run/tables.h", "run/tables.hpp", "run/tables.rs"] {
        bench.ok(["import-params", name, "--like", "run", "-o", "back.json", "--force"]);
        assert!((0..64).all(|i| knight("back.json", i) == values[&format!("n_{}", from_a8(i))]), "{name}");
    }
    // The engine's own source, in the schema's order, which is reported.
    let start = [&MOBILITY[..], &[[12, 12]]].concat();
    bench.write("e.cpp", engine_source("", engine_knight, &start));
    let out = bench.ok("import-params e.cpp --like run -o back.json --force");
    assert_has(&out, "squares are taken to be a8 first as in the schema");
    assert!((0..64).all(|i| knight("back.json", i) == [engine_knight(0, i), engine_knight(1, i)]));
    bench.write("e.cpp", engine_source(" orientation a1", engine_knight, &start));
    let out = bench.ok("import-params e.cpp --like run -o back.json --force");
    assert!(!out.contains("squares are taken"), "{out}");
    assert!((0..64).all(|i| knight("back.json", i)[0] == engine_knight(0, i ^ 56)));
}

/// Values of two pieces in the wrong order differ by no more than rounding allows; only the other order fits exactly.
#[test]
fn rejects_pieces_in_another_order_that_could_be_rounding() {
    let bench = Bench::new();
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let values = |change: f64| [[100.0, 320.0, 321.0, 500.0, 900.0 + change, 0.0]; 2].concat();
    for (name, change) in [("start.json", 0.0), ("tuned.json", 30.0)] {
        bench.write(name, ParameterFile::new(&set, &values(change), None, None).to_json());
    }
    let arguments = "patch tables tuned.json a.c --start start.json";
    let source = "int v[5] = { 100, 320, 321, 500, 900 }; // gputexel: material.mg pieces pbnrq\n";
    bench.write("a.c", source);
    bench.fails_with(arguments, 1, "are those of 'gputexel: material.mg pieces pnbrq'");
    assert_eq!(bench.text("a.c"), source);
    bench.write("a.c", source.replace("pbnrq", "pnbrq"));
    bench.told(arguments);
    assert!(bench.text("a.c").starts_with("int v[5] = { 100, 320, 321, 500, 930 };"));
}
