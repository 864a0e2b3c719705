//! Lines and boards of schemas.

use super::{HEAD, bench, import, refuse};
use crate::common::prelude::*;

/// Builds a schema of tables and single parameters, each with the number of its parameters and further fields.
fn schema(entries: &[(&str, usize, &str)]) -> String {
    let mut next = 1;
    let rows = entries.iter().map(|(name, count, rest)| {
        let table = if *count == 1 { String::new() } else { format!(", \"count\": {count}") };
        let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
        let row = format!("{{\"name\": \"{name}\", \"index\": {next}{table}{rest}}}");
        next += count;
        row
    });
    format!("{HEAD}\"index_base\": 1, \"parameters\": [{}]}}", rows.collect::<Vec<_>>().join(", "))
}

const ENTRIES: [(&str, usize, &str); 9] = [
    ("mobility", 9, "\"line\": true"),
    ("rank 2", 1, "\"group\": \"passed\", \"line\": \"passed by rank\", \"prior\": 5"),
    ("tempo", 1, "\"line\": false"),
    ("passed", 3, "\"line\": \"passed by rank\""),
    ("knights", 64, "\"group\": \"knight\", \"board\": \"a8\", \"min\": -50, \"max\": 50"),
    ("rank 6", 1, "\"group\": \"passed\", \"line\": \"passed by rank\""),
    ("king_near", 32, "\"group\": \"king\", \"board\": \"h1\", \"prior\": 3"),
    ("pawns", 48, "\"board\": \"h8\", \"integer\": true"),
    ("king_far", 64, "\"group\": \"king\", \"board\": \"a1\", \"frozen\": true"),
];

#[test]
fn lines_and_boards_are_kept_without_other_changes() {
    let lines = "1 1:1 20:-2 40:1 200:3\n0 5:2 120:1 2:1\n".replace("120:1 2:1", "120:1");
    let plain = ENTRIES.map(|(name, count, rest)| {
        let said = rest.split(", ").filter(|said| !said.contains("line") && !said.contains("board"));
        (name, count, said.collect::<Vec<_>>().join(", "))
    });
    let plain = plain.each_ref().map(|(name, count, rest)| (*name, *count, rest.as_str()));
    let bench = bench(lines, &schema(&plain));
    import(&bench, "t.svm", "");
    let path = bench.path("out.bin");
    let (without, wanted) = (dataset::read(&path).unwrap(), tensors(&path));
    let has_place = || {
        let bytes = std::fs::read(&path).unwrap();
        bytes.windows(5).any(|text| text == b"place")
    };
    assert!(!has_place());

    bench.write("s.json", schema(&ENTRIES));
    import(&bench, "t.svm", "");
    let with = dataset::read(&path).unwrap();
    assert!(has_place() && tensors(&path) == wanted);
    let set = with.metadata().feature_set.clone();
    let parts = set.structure().parts;
    let seen: Vec<(&str, String)> =
        parts.iter().map(|part| (part.name.as_str(), part.layout.summary())).collect();
    let expected = [
        ("mobility", "line of 9"),
        ("passed", "line of 5"),
        ("parameters", ""),
        ("knight", "board"),
        ("king/king_near", "board of 32"),
        ("pawns", "board of 48"),
        ("king/king_far", "board"),
    ];
    assert_eq!(seen, expected.map(|(name, layout)| (name, layout.to_string())));
    // A line keeps the order of the schema, whatever stands between its entries.
    let Arrangement::Lines(lines) = &parts[1].layout else { panic!("{:?}", parts[1]) };
    let names: Vec<&str> = lines[0].iter().map(|&id| set.features[id as usize].name.as_str()).collect();
    assert_eq!(names, ["rank 2", "passed_0", "passed_1", "passed_2", "rank 6"]);
    // The first squares of tables: a8, h1, and h7 for one without the last rank.
    for (part, first, next) in [(3, 56, 57), (4, 7, 6), (5, 55, 54), (6, 0, 1)] {
        let Arrangement::Board(squares) = &parts[part].layout else { panic!("{:?}", parts[part]) };
        let ids = [squares[first].unwrap(), squares[next].unwrap()];
        assert_eq!([parts[part].features[0].0, parts[part].features[1].0], ids);
        assert_eq!(squares.iter().flatten().count(), parts[part].features.len());
    }
    // Nothing else depends on it.
    let mut rest = set.clone();
    for parameter in &mut rest.imported.as_mut().unwrap().parameters {
        parameter.place = None;
    }
    assert_eq!(rest, without.metadata().feature_set);
    // With two values each and no bounds, every parameter is tuned separately, as without lines.
    let phase =
        "\"phase\": {\"middlegame\": 24, \"endgame\": 0}, \"columns\": {\"phase\": 99}, \"parameters\"";
    bench.write("s.json", schema(&[ENTRIES[0], ENTRIES[2]]).replace("\"parameters\"", phase));
    bench.write("few.svm", "1 1:1 99:24\n0 2:1 99:3\n");
    import(&bench, "few.svm", "");
    let few = dataset::read(&path).unwrap();
    assert_eq!(few.metadata().feature_set.default_basis("none"), "identity");

    bench.write("s.json", schema(&ENTRIES));
    import(&bench, "t.svm", "");
    let out = bench.ok("info out.bin");
    for (group, structure) in
        [("mobility", "line of 9"), ("king", "board of 32, board"), ("pawns", "board of 48")]
    {
        let row = out.lines().find(|line| line.trim_start().starts_with(group)).unwrap();
        assert!(row.ends_with(structure), "{row}");
    }
}

#[test]
fn reports_contradictory_structure() {
    // Entries, each with name, number of parameters and further keys, and the expected message.
    for case in [
        "a 1 'line': true ~ parameter 'a': is not a table, so its line must have a name",
        "a 64 'line': true, 'board': 'a1' ~ parameter 'a': has a line and a board, must be one of them",
        "a 63 'board': 'a1' ~ parameter 'a': its board has 63 parameters, must be 64, 32 (four files) or 48 (without the first and last rank)",
        "a 1 'board': 'a1' ~ parameter 'a': its board has 1 parameter",
        "a 64 'board': 'e4' ~ parameter 'a': the board begins on 'e4', must be one of a1, h1, a8 and h8",
        "a 64 'board': 1 ~ invalid type: integer `1`, expected a string",
        "a 2 'line': 1 ~ expected true, false or the name of a line",
        "a 2 'line': '' ~ parameter 'a_0': of its line or board, the name \"\" is empty",
        "a 2 'line': 'l'; b 1 'line': 'l' ~ parameter 'b': its group is 'parameters', but line 'l' begins in group 'a'",
        // `true` stands for the name.
        "a 2 'line': true; b 2 'line': 'a' ~ parameter 'b_0': its group is 'b', but line 'a' begins in group 'a'",
        "a 1 'line': 'l'; b 1  ~ parameter 'a': it is the only one in line 'l', which says nothing",
        "a,b 64 'group': 'g', 'board': 'a1' ~ has a comma",
        "a 2 'lines': true ~ unknown field `lines`",
    ] {
        let [entries, expected] = cells(case);
        let entries = entries.replace('\'', "\"");
        let entry = |text: &'_ str| {
            let mut words = text.splitn(3, ' ');
            let mut next = || words.next().unwrap().to_string();
            (next(), next().parse().unwrap(), next())
        };
        let entries: Vec<(String, usize, String)> = entries.split("; ").map(entry).collect();
        let entries: Vec<_> = entries.iter().map(|(name, count, rest)| (&**name, *count, &**rest)).collect();
        let bench = bench("1 1:1\n", &schema(&entries));
        let told = refuse(&bench, "t.svm --schema s.json", 1);
        assert!(told.starts_with("gputexel: s.json") && told.contains(expected), "{expected}: {told}");
    }
    // Two tables with the same name, whose parameters have different names.
    let names = |letter: char| {
        let names: Vec<String> = (0..32).map(|n| format!("\"{letter}{n}\"")).collect();
        format!("\"names\": [{}], \"board\": \"a1\"", names.join(", "))
    };
    let entries: Vec<String> = [('p', 1), ('q', 33)]
        .iter()
        .map(|&(letter, index)| format!("{{\"name\": \"a\", \"index\": {index}, {}}}", names(letter)))
        .collect();
    let schema = format!("{HEAD}\"index_base\": 1, \"parameters\": [{}]}}", entries.join(", "));
    let told = refuse(&bench("1 1:1\n", &schema), ["t.svm", "--schema", "s.json"], 1);
    let expected = "s.json: parameter 'q0': square a1 of board 'a' in group 'a' is taken already";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn boards_are_named_by_squares() {
    let squares = "\"names\": \"squares\"";
    let schema = |rest: &str| {
        let pawns =
            format!("{{\"name\": \"pawns\", \"index\": 65, \"count\": 48, {squares}, \"board\": \"h8\"}}");
        let knights = format!("{{\"name\": \"knights\", \"index\": 1{rest}}}");
        format!("{HEAD}\"index_base\": 1, \"parameters\": [{knights}, {pawns}]}}")
    };
    let bench = bench("1 1:1 2:1 65:2\n0 112:1\n", &schema(&format!(", {squares}, \"board\": \"a8\"")));
    import(&bench, "t.svm", "");
    let read = bench.read("out.bin");
    let features = &read.metadata().feature_set.features;
    let names = [0, 1, 63, 64, 111].map(|id| features[id].name.as_str());
    assert_eq!(names, ["knights_a8", "knights_b8", "knights_h1", "pawns_h7", "pawns_a2"]);

    bench.write("s.json", schema(&format!(", {squares}")));
    let args = "t.svm --schema s.json";
    let needed = "parameter 'knights': has the names of squares, needs a board to say which";
    assert_has(&refuse(&bench, args, 1), needed);
    bench.write("s.json", schema(", \"names\": \"fields\", \"board\": \"a8\""));
    assert_has(&refuse(&bench, args, 1), "expected a list of names or \"squares\"");
}

#[test]
fn reads_starting_values_from_sources() {
    let pieces = "\"names\": [\"pawn\", \"knight\", \"bishop\"]";
    let schema = format!(
        "{HEAD}\"index_base\": 1, \"phase\": {{\"middlegame\": 24, \"endgame\": 0}}, \"columns\": {{\"phase\": 7}}, \"parameters\": [\
         {{\"name\": \"PieceValue\", \"index\": 1, {pieces}}}, {{\"name\": \"Tempo\", \"index\": 4, \"phases\": \"untapered\"}}, \
         {{\"name\": \"ScaleBase\", \"index\": 5, \"phases\": \"eg\", \"prior\": 3}}, {{\"name\": \"Shield\", \"index\": 6, \"phases\": \"mg\"}}]}}"
    );
    let lines: String = (0..40).map(|i| format!("{} {}:1 7:{}\n", i % 2, i % 6 + 1, i % 25)).collect();
    let bench = bench(lines, &schema);
    import(&bench, "t.svm", "");
    let eval = "// gputexel: PieceValue\nint value[3][2] = {{82, 94}, {337, 281}, {365, 297}};\nint tempo = 14; // gputexel: Tempo\n";
    // The group, each of its names, and both combined refer to the same parameters.
    let more = "int s = 31; // gputexel: ScaleBase.eg\nint k = 337; // gputexel: knight.mg\nint b = 365; // gputexel: PieceValue_bishop.mg\n";
    let source = format!("{eval}{more}int w = -7; // gputexel: Shield.mg\n");
    bench.write("eval.c", &source);
    let like = ["--like", "out.bin", "-o", "start.json", "--force"];
    bench.told(("import-params eval.c", &like));
    let values = || -> Vec<[f64; 2]> {
        let start = bench.json("start.json");
        let records = start["parameters"].list().clone();
        records.iter().map(|own| [own["mg"].f64(), own["eg"].f64()]).collect()
    };
    // Unused values keep their start: 0 in the middlegame for an endgame parameter.
    let expected = vec![[82.0, 94.0], [337.0, 281.0], [365.0, 297.0], [14.0, 14.0], [0.0, 31.0], [-7.0, 0.0]];
    assert_eq!(values(), expected);
    bench.told("tune out.bin --prior start.json --k 1 --l2 1e-3 --out r");
    // The same as options.
    let options = "pawn.mg 82, pawn.eg 94, PieceValue_knight.mg 337, PieceValue_knight.eg 281, bishop.mg 365, bishop.eg 297, Tempo 14, \
                   ScaleBase.eg 31, Shield.mg -7";
    let line = |option: &str| format!("setoption name {}\n", option.trim().replacen(' ', " value ", 1));
    bench.write("a.uci", options.split(',').map(line).collect::<String>());
    bench.told(("import-params a.uci", &like));
    assert_eq!(values(), expected);
    // Mismatches are reported.
    let refused = |file: &str, expected: &str| {
        bench.fails_with(("import-params", (file, &like)), 1, expected);
    };
    for (from, to, expected) in [
        ("// gputexel: Shield.mg", "// none", "parameter 'Shield.mg' is missing"),
        ("= 337;", "= 338;", "eval.c:5: 'knight.mg' is 338 here and 337 in line"),
        ("ScaleBase", "ScaleBasis", "eval.c:4: 'ScaleBasis.eg' is not the name of a parameter; did you mean"),
    ] {
        bench.write("eval.c", source.replace(from, to));
        refused("eval.c", expected);
    }
    bench.write("a.uci", "setoption name bihsop.mg value 5\n");
    refused("a.uci", "a.uci:1: option 'bihsop.mg' is not a parameter; did you mean 'bishop.mg'?");
}
