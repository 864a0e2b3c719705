//! Bad traces, schemas and files: the error names the problem.

use super::{HEAD, bench, import, refuse};
use crate::common::prelude::*;

#[test]
fn reports_mistakes_in_lines() {
    let schema = format!(
        "{HEAD}\"index_base\": 1, \"phase\": {{\"middlegame\": 0, \"endgame\": 256, \"steps\": 16}},
         \"columns\": {{\"phase\": 1, \"weight\": 2, \"turn\": 9, \"scale\": 10, \"score\": 8}},
         \"parameters\": [{{\"name\": \"a\", \"index\": 3}}, {{\"name\": \"b\", \"mg\": 5, \"eg\": 6}}]}}"
    );
    let good = "1 score:12 1:16 2:1 3:2.5 5:1 6:1 8:12 9:1 10:1";
    let cases = [
        ("1 1:16 2:1 3:1 11:1", "t.svm:3: index 11 is past the last of the schema, 10"),
        ("1 1:16 2:1 3:1 4:1", "t.svm:3: index 4 is not in the schema"),
        ("1 1:16 2:1 5:1 3:1 6:1", "t.svm:3: index 3 comes after 5"),
        ("1 1:16 2:1 3:1 3:1", "t.svm:3: index 3 comes twice"),
        ("1 1:16 2:1 3:nan", "t.svm:3: 'nan' of index 3 is not a finite number"),
        ("1 1:16 2:1 3:-inf", "t.svm:3: '-inf' of index 3 is not a finite number"),
        ("1 1:16 2:1 3:1e39", "of index 3 is too large"),
        ("1 1:16 2:1 3:", "t.svm:3: '' of index 3 is not a finite number"),
        ("1 1:16 2:1 3", "t.svm:3: '3' is not index:coefficient"),
        ("1 1:16 2:1 -3:1", "t.svm:3: '-3:1' is not index:coefficient"),
        ("1 1:16 2:1 99999999999:1", "'99999999999:1' is not index:coefficient"),
        ("2 1:16 2:1", "t.svm:3: result '2' is not from 0 to 1"),
        ("-1 1:16 2:1", "t.svm:3: result '-1': lines with -1, 0 and 1 need \"results\": \"-1..1\""),
        ("win 1:16 2:1", "t.svm:3: result 'win' is not a number"),
        ("nan 1:16 2:1", "t.svm:3: result 'nan' is not a number"),
        ("1 1:16 3:1", "t.svm:3: no weight, which is index 2"),
        ("1 1:16 2:0", "t.svm:3: weight 0: must be a positive number"),
        (
            "1 1:17 2:1",
            "t.svm:3: phase 17 is not one of the 16 steps from middlegame to endgame; trace it rounded",
        ),
        ("1 1:272 2:1", "t.svm:3: phase 272 is not between 0 (middlegame) and 256 (endgame)"),
        ("1 1:16 2:1 9:7", "t.svm:3: side to move 7"),
        ("1 1:16 2:1 10:0.3", "endgame scale 0.3 is negative, too large, or no multiple of 0.0078125"),
        ("1 1:16 2:1 5:1 6:2", "'b' has coefficients 1 of its middlegame and 2 of its endgame index"),
        ("1 qid:x 1:16 2:1", "t.svm:3: 'qid:x' is not an integer"),
        ("1 1:16 qid:1 2:1", "t.svm:3: 'qid:1' is not index:coefficient"),
        ("1 score:12 score:12 1:16 2:1 8:12", "t.svm:3: 'score:12' is a second score"),
        ("1 score:12 1:16 2:1 8:13", "t.svm:3: score:12 behind the result, but 13 in the column of scores"),
    ];
    for (line, expected) in cases {
        let bench = bench(format!("{good}\n\n{line}\n{good} # x\n"), &schema);
        let told = refuse(&bench, "t.svm --schema s.json --max-bad-share 0", 1);
        assert!(told.contains(expected), "{line}: {told}");
        assert!(told.contains("1 of 3 lines cannot be used"), "{told}");
        // A share of them is left out and counted.
        let report = import(&bench, "t.svm --max-bad-share 0.4", "");
        let source = &report["sources"][0];
        assert_eq!((source["positions"].as_u64(), source["bad_lines"].as_u64()), (Some(2), Some(1)));
        assert!(source["complaints"][0].str().contains(expected.trim_start_matches("t.svm:3: ")));
    }
    let bench = bench(format!("{good}\n"), &schema);
    import(&bench, "t.svm", "");
    let data = bench.read("out.bin");
    assert_eq!(data.search_scores(), [12.0]);
    // 16 of 256 is one of 16 steps toward the endgame.
    assert_eq!((data.row(0).phase, data.phase_max()), (15, 16));
    assert_eq!(data.row(0).entries().collect::<Vec<_>>(), [(0, 2.5), (1, 1.0)]);
}

#[test]
fn reports_mismatched_files() {
    let with = |base: u32, rest: &str| {
        let parameters: Vec<String> =
            (0..4).map(|i| format!("{{\"name\": \"p{i}\", \"index\": {}}}", base + i)).collect();
        format!("{HEAD}\"index_base\": {base}, {rest} \"parameters\": [{}]}}", parameters.join(","))
    };
    let refused = |text: &str, schema: &str, expected: &str| {
        assert_has(&refuse(&bench(text, schema), "t.svm --schema s.json", 1), expected);
    };
    // Counted from 1, declared from 0: more than a share of lines, and one alone.
    let one = "t.svm: its indices run from 1 to 4, the schema's from 0 to 3: the file counts from 1";
    refused("1 1:1 4:1\n0 2:1 4:2\n", &with(0, ""), one);
    let many = format!("{}0 2:1 4:2\n", "1 1:1 3:1\n".repeat(50));
    refused(&many, &with(0, ""), "the file counts from 1");
    // A line with index 0 disproves it.
    refused("1 0:1 4:1\n0 2:1 4:2\n", &with(0, ""), "index 4 is past the last");
    let zero = "t.svm:2: index 0: the file counts from 0, the schema says from 1";
    refused("1 1:1 3:1\n0 0:1 2:2\n", &with(1, ""), zero);
    let dense = with(1, "\"dense\": true,");
    refused("1 1:1 2:0 3:1 4:1\n0 1:1 2:1 4:1\n", &dense, "t.svm:2: 3 entries, but the schema declares 4");
    let phase = "\"phase\": {\"middlegame\": 24, \"endgame\": 0}, \"columns\": {\"phase\": 9},";
    let missing = "t.svm: the phase is missing: index 9 occurs in none of 2 lines";
    refused("1 1:1\n0 1:1\n", &with(1, phase), missing);
    refused("1 1:1\n0 qid:4 1:1\n", &with(1, ""), "some lines have a game");
    refused("1 qid:4 1:1\n0 1:1\n", &with(1, "\"columns\": {\"game\": \"qid\"},"), "t.svm:2: no game");
    refused("1 1:1\n", &with(1, "\"comment\": \"fen\","), "t.svm:1: no FEN behind #");
    refused("\n# nothing\n", &with(1, ""), "t.svm: is empty");
    refused("a\0b", &with(1, ""), "t.svm: is not text");
    let scales = phase.replace("9", "9, \"scale\": 10");
    let lines: String = (1..=65).map(|n| format!("1 9:{} 10:{}\n", n % 25, f64::from(n) / 128.0)).collect();
    refused(&lines, &with(1, &scales), "more than 64 distinct endgame scale factors");
}

#[test]
fn a_schema_among_the_inputs_is_refused() {
    let schema = format!("{HEAD}\"index_base\": 1, \"parameters\": [{{\"name\": \"a\", \"index\": 1}}]}}");
    let bench = bench("1 1:1\n".repeat(40), &schema);
    let why = "s.json: is a schema, not a trace or positions: name it with --schema";
    assert_has(&refuse(&bench, "t.svm s.json --schema s.json", 1), why);
    // As positions it would be a file of games without games.
    bench.write("p.fens", "1 1 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n");
    let traced = ["p.fens", "s.json", "--schema", "s.json", "--trace-command", "cat"];
    assert_has(&refuse(&bench, traced, 1), why);
}

#[test]
fn operators_of_a_shell_in_a_trace_command_are_refused() {
    let schema = format!("{HEAD}\"index_base\": 1, \"parameters\": [{{\"name\": \"a\", \"index\": 1}}]}}");
    let bench = bench("", &schema);
    let told = refuse(&bench, ["t.svm", "--schema", "s.json", "--trace-command", "cat | sort"], 2);
    assert_has(&told, "no shell runs it, so '|' would be an argument; write: sh -c 'cat | sort'");
}

#[test]
fn reports_contradictory_schemas() {
    let a = "{\"name\": \"a\", \"index\": 1}";
    // A is a parameter.
    for case in [
        "'index_base': 2, 'parameters': [A] ~ index_base 2: must be 0 or 1",
        "'parameters': [A] ~ missing field `index_base`",
        "'index_base': 1, 'parameters': [] ~ no parameters",
        "'index_base': 1, 'parameters': [A, A] ~ parameter 'a': index 1 is taken already by parameter 'a'",
        "'index_base': 1, 'columns': {'eval': 1}, 'parameters': [A] ~ index 1 is taken already by column eval",
        "'index_base': 1, 'parameters': [{'name': 'a', 'index': 0}] ~ index 0 in a schema whose indices count from 1",
        "'index_base': 1, 'parameters': [{'name': 'a'}] ~ needs either index, indices, or mg and eg",
        "'index_base': 1, 'parameters': [{'name': 'a', 'index': 1, 'indices': [2, 3]}] ~ parameter 'a': has index and indices: needs only one of them",
        "'index_base': 1, 'parameters': [{'name': 'a', 'index': 1, 'color': 3}] ~ unknown field `color`",
        "'index_base': 1, 'parameters': [{'name': 'a.mg', 'index': 1}] ~ ends like the value of one phase",
        "'index_base': 1, 'parameters': [{'name': 'a', 'index': 1, 'prior': 3, 'min': 4}] ~ exclude the prior 3",
        "'index_base': 1, 'parameters': [{'name': 'a', 'mg': 1}] ~ does not say how the phase is known",
        "'index_base': 1, 'columns': {'phase': 7}, 'parameters': [A] ~ must say what its values mean",
        "'index_base': 1, 'phase': 'fen', 'parameters': [A] ~ must say where that is",
        "'index_base': 1, 'columns': {'scale': 7}, 'parameters': [A] ~ how the phase is known",
        "'index_base': 1, 'point_of_view': {'result': 'stm'}, 'parameters': [A] ~ must tell the side",
        "'index_base': 1, 'results': 'wdl', 'parameters': [A] ~ unknown variant `wdl`",
    ] {
        let [rest, expected] = cells(case);
        let rest =
            rest.replace('\'', "\"").replace("[A", &format!("[{a}")).replace(", A]", &format!(", {a}]"));
        let bench = bench("1 1:1\n", &format!("{HEAD}{rest}}}"));
        let told = refuse(&bench, "t.svm --schema s.json", 1);
        assert!(told.starts_with("gputexel: s.json") && told.contains(expected), "{expected}: {told}");
    }
    let bench = bench("1 1:1\n", &format!("{HEAD}\"index_base\": 1, \"parameters\": [{a}]}}"));
    bench.write("there.bin", "x");
    bench.fails_with("import t.svm --schema s.json -o there.bin", 2, "exists; use --force");
    bench.fails("import t.svm --schema none.json -o x.bin", 1);
    bench.fails("import none.svm --schema s.json -o x.bin", 1);
    bench.fails("import t.svm --schema s.json -o t.svm --force", 2);
}
