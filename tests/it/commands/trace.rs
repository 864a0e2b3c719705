//! Evaluations that trace themselves: what `gputexel trace` prints, compiled, traced, tuned, patched and verified.

use crate::common::prelude::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");

/// Creates a folder with an engine in C++, which is compiled, and positions; `None` without a compiler.
fn engine() -> Option<Bench> {
    let bench = Bench::new();
    if !requirement::program("g++") {
        return None;
    }
    bench.write("gputexel.hpp", bench.ok("trace --header cpp"));
    std::fs::create_dir(bench.path("src")).unwrap();
    for name in ["linear.cpp", "board.hpp", "tables.hpp"] {
        std::fs::copy(format!("{ROOT}/crates/trace/tests/{name}"), bench.path("src").join(name)).unwrap();
    }
    // Padded, as columns are.
    bench.write("src/linear.cpp", bench.text("src/linear.cpp").replace("S(33, 60)", "S( 33,  60)"));
    compile(&bench, 20);
    bench.told((&["extract", SAMPLE, "--positions", "q.fens"], "--share 0.1"));
    Some(bench)
}

fn compile(bench: &Bench, standard: u32) {
    bench.compile(&format!("g++ -std=c++{standard} -O1 -DGPUTEXEL src/linear.cpp -o engine-trace"));
}

#[test]
#[ignore = "full"]
fn numbers_are_tuned_and_written_where_they_stand() {
    let Some(bench) = engine() else { return };
    bench.told("tune ./engine-trace q.fens --blend 0 --l2 0.001 --holdout 0.1 --out run");
    let told = bench.told("tune run/dataset.bin --k 1 --blend 0 --out better");
    assert_has(told["next"].as_str().unwrap(), "patch tables better src/linear.cpp src/tables.hpp");
    let names: Vec<String> = bench.json("run/params.json")["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["name"].as_str().unwrap().to_string())
        .collect();
    for name in ["PSQT[1][12]", "MOBILITY[0][3]", "BISHOP_PAIR", "TEMPO"] {
        assert!(names.iter().any(|own| own == name), "{name} is not among {names:?}");
    }
    let before = ["src/tables.hpp", "src/linear.cpp"].map(|name| bench.text(name));
    let (code, _, err) = bench.run("verify q.fens --trace-command ./engine-trace --params run");
    assert!(code == 1 && err.contains("still evaluates with the values from before"), "{err}");
    // All or nothing.
    let reason = "src/tables.hpp: BISHOP_PAIR and 1 more of the run stand in none of these files";
    bench.fails_with("patch tables run src/tables.hpp", 1, reason);
    let out = bench.ok("patch tables run src/tables.hpp src/linear.cpp src/board.hpp");
    assert_has(&out, "without numbers of the run: src/board.hpp");
    bench.fails_with("patch tables run src/board.hpp", 1, "src/board.hpp: has no marker");
    assert_has(&bench.ok("patch tables run src/tables.hpp src/linear.cpp --dry-run"), "nothing to write");
    let after = ["src/tables.hpp", "src/linear.cpp"].map(|name| bench.text(name));
    // The diff is numbers only.
    let without = |text: &String| text.replace(|c: char| c.is_ascii_digit() || c == '-' || c == ' ', "");
    assert_eq!(before.each_ref().map(without), after.each_ref().map(without));
    assert_ne!(before, after);
    // The column has the width that it had.
    let pair = |text: &str| text.find("BISHOP_PAIR = ").zip(text.find("constexpr Value TEMPO"));
    assert_eq!(pair(&before[1]), pair(&after[1]));
    compile(&bench, 20);
    let out = bench.ok("verify q.fens --trace-command ./engine-trace --params run");
    assert!(out.contains("verified "), "{out}");
    // The places of C++17 are counted, and give the same names.
    compile(&bench, 17);
    let out = bench.ok("verify q.fens --trace-command ./engine-trace --params run");
    assert!(out.contains("verified "), "{out}");
    bench.ok("patch undo src");
    assert_eq!(["src/tables.hpp", "src/linear.cpp"].map(|name| bench.text(name)), before);

    // The leaves that it shows are those that 'selfplay' takes.
    bench.compile(&format!("g++ -std=c++20 -O1 -DPLAY -I{ROOT}/crates/trace/tests src/linear.cpp -o plain"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "GPUTEXEL_LEAVES=4 ./plain < q.fens"]).current_dir(bench.path("."));
    let said = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    let shown: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("info string leaf ")).collect();
    let fen = |line: &str| line.split(' ').skip(2).take(6).collect::<Vec<_>>().join(" ");
    let fens: Vec<String> = bench.text("q.fens").lines().map(fen).collect();
    let drawn: Vec<&String> = fens.iter().filter(|fen| gputexel_trace::is_drawn(fen, 4)).collect();
    assert!((fens.len() / 8..fens.len() / 2).contains(&drawn.len()), "{} of {}", drawn.len(), fens.len());
    assert!(shown.iter().eq(&drawn), "{} of {}", shown.len(), drawn.len());

    // Compiled elsewhere than it runs, beside an older copy that lacks a number.
    std::fs::create_dir(bench.path("older")).unwrap();
    bench.write("older/tables.hpp", &before[0]);
    bench.write("older/linear.cpp", before[1].replace("S( 33,  60)", "S(30 + 3, 60)"));
    bench.compile("env -C src g++ -std=c++20 -O1 -DGPUTEXEL linear.cpp -o ../engine-trace");
    bench.told("tune ./engine-trace q.fens --blend 0 --l2 0.001 --out elsewhere");
    assert_has(&bench.text("elsewhere/params.json"), "\"BISHOP_PAIR\"");

    let changed = before[1].replace("S( 33,  60)", "S( 34,  60)");
    let line = 1 + before[1].lines().position(|line| line.contains("S( 33,  60)")).unwrap();
    bench.write("src/linear.cpp", changed);
    let reason = format!("linear.cpp:{line}: BISHOP_PAIR is 34 here, but 33 where the run started");
    bench.fails_with("patch tables run src/linear.cpp", 1, reason);
    bench.fails_with("import q.fens --trace-command ./engine-trace -o d.bin", 1, "build it again");
}

#[test]
#[ignore = "full"]
fn several_inputs_are_traced_by_one_process_and_told_apart() {
    let Some(bench) = engine() else { return };
    let lines = bench.text("q.fens");
    let (first, second) = lines.split_at(lines.match_indices('\n').nth(999).unwrap().0 + 1);
    bench.write("a.fens", first);
    // Blank lines have no answers.
    bench.write("b.fens", second.trim_end().replacen('\n', "\n\n", 3));
    let report = bench.told("import a.fens b.fens --trace-command ./engine-trace -o two.bin");
    let positions = |i: usize| report["sources"][i]["positions"].as_u64().unwrap();
    assert_eq!((positions(0), positions(1)), (1000, second.lines().count() as u64), "{report}");
    bench.fails_with("tune ./engine-trace", 1, "name them behind it");
    bench.fails_with("tune a.fens ./engine-trace", 1, "is named first");
    bench.fails_with(["tune", "no games.pgn"], 1, "no games.pgn: No such file");
    let printer = "sh -c 'while read -r game result fen; do echo \"$result qid:$game # $fen\"; done' --";
    let import = ["import", "a.fens", "--trace-command", printer, "-o", "d.bin"];
    bench.fails_with(import, 2, "has written no schema");
}

#[test]
#[ignore = "full"]
fn the_header_records_what_it_can_and_refuses_the_rest() {
    if !requirement::program("g++") {
        return;
    }
    let program = assert_cmd::cargo::cargo_bin("gputexel");
    let output = std::process::Command::new("sh")
        .arg(format!("{ROOT}/crates/trace/tests/run.sh"))
        .args([program.as_os_str(), SAMPLE.as_ref()])
        .env("PER_GAME", "2")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "full"]
fn what_is_played_otherwise_than_it_is_recorded_is_named() {
    let Some(bench) = engine() else { return };
    let tests = format!("{ROOT}/crates/trace/tests");
    let source =
        std::fs::read_to_string(format!("{tests}/kings.cpp")).unwrap().replace("../gputexel", "gputexel");
    let coarse = "using namespace gputexel;\nint coarse(int x, int d, int one) { return gputexel::sigmoid(x, d, one) / 64 * 64; }";
    let source = |own: &str| source.replacen("using namespace gputexel;", own, 1);
    bench.write("kings.cpp", source("using namespace gputexel;"));
    bench.write("coarse.cpp", source(coarse).replace(" sigmoid(TENSION", " coarse(TENSION"));
    let include = format!("-I{tests}");
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} -DGPUTEXEL kings.cpp -o kings-trace"));
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} kings.cpp -o kings"));
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} coarse.cpp -o coarse"));
    let verify = "verify q.fens --trace-command ./kings-trace --played";
    let out = bench.ok(format!("{verify} ./kings"));
    assert_has(&out, "rounding may explain");
    assert!(out.contains("verified    what is recorded is what is played"), "{out}");
    // What is played of a sigmoid whose whole is 1 is always 0: rounding explains everything.
    bench.write("steps.cpp", source("using namespace gputexel;").replace("8, 256), 256)", "8, 1), 1)"));
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} -DGPUTEXEL steps.cpp -o steps-trace"));
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} steps.cpp -o steps"));
    let (code, out, err) = bench.run("verify q.fens --trace-command ./steps-trace --played ./steps --json");
    assert!(code == 1 && out.contains(r#""verdict":"unclear""#), "{out}{err}");
    assert_has(&err, "rounding explains so much that other differences would not show");

    let (code, out, err) = bench.run(format!("{verify} ./coarse --tolerance 1"));
    assert!(code == 1 && out.contains("otherwise than as a sigmoid"), "{out}{err}");
    let words: Vec<&str> = verify.split(' ').chain(["sed s/eval/value/"]).collect();
    bench.fails_with(words, 2, "prints no evaluation");
    bench.fails_with(
        format!("{verify} ./kings-trace"),
        2,
        "prints no evaluation alone, as the build without",
    );
    bench.fails("verify q.fens --trace-command ./kings-trace", 2);

    // Code of one build only is not taken for rounding, or for a miscounted number.
    let taper = "    return taper(score, b.phase, 24);";
    for (size, least) in [(12, 1000), (3, 1)] {
        let more = format!("    if (b.phase > 20) score += pair({size}, 0);\n{taper}");
        bench.write("more.cpp", source("using namespace gputexel;").replace(taper, &more));
        bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} more.cpp -o more"));
        let (code, out, err) = bench.run(format!("{verify} ./more --json"));
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(code == 1 && json["differing"].as_u64().unwrap() >= least, "{out}");
        assert_eq!(json["explanation"]["causes"], serde_json::json!([]), "{out}");
        assert!(err.contains("only one of the builds"), "{err}");
    }
    let side = taper.replace("taper", "(b.black_to_move ? -1 : 1) * taper");
    bench.write("side.cpp", source("using namespace gputexel;").replace(taper, &side));
    bench.compile(&format!("g++ -std=c++20 -O1 -I. {include} -DGPUTEXEL side.cpp -o side"));
    bench.fails_with("import q.fens --trace-command ./side -o side.bin", 1, "View::side_to_move");
}

#[test]
#[ignore = "full"]
fn what_rust_records_is_what_it_evaluates() {
    let bench = Bench::new();
    if !requirement::program("rustc") {
        return;
    }
    let module = bench.ok("trace --header rust");
    let engine = include_str!("../../../crates/trace/tests/engine/mod.rs")
        .replace("gputexel_trace", "crate::gputexel_trace");
    let main = "fn main() -> std::process::ExitCode {\n    use engine::*;\n    let evaluate = match \
                std::env::var(\"EVALUATION\").unwrap().as_str() {\n        \"linear\" => linear,\n        \"kings\" => kings,\n        \
                \"0\" => endgames::<0>,\n        \"1\" => endgames::<1>,\n        _ => endgames::<2>,\n    };\n    \
                gputexel_trace::trace(|fen| Board::new(fen).map(|b| evaluate(&b)))\n}\n";
    bench.write("main.rs", format!("{main}mod gputexel_trace {{\n{module}}}\nmod engine {{\n{engine}}}\n"));
    let compiler = "rustc --edition=2024 -O -A warnings main.rs -o";
    bench.compile(&format!("{compiler} engine-plain"));
    bench.compile(&format!("{compiler} engine-trace --cfg feature=\"record\""));
    bench.told((&["extract", SAMPLE, "--positions", "q.fens"], "--share 0.02"));
    for name in ["linear", "kings", "0", "1", "2"] {
        let command = format!("env EVALUATION={name} ./engine-trace");
        bench.ok(["import", "q.fens", "--trace-command", &command, "-o", "d.bin", "--force"]);
        let plain = command.replace("trace", "plain");
        let out = bench.ok(["verify", "q.fens", "--trace-command", &command, "--played", &plain]);
        assert!(out.contains("verified    what is recorded is what is played"), "{name}: {out}");
    }
}

#[test]
#[ignore = "full"]
fn new_programs_compile_as_they_are_printed() {
    let bench = Bench::new();
    bench.write("gputexel.hpp", bench.ok("trace --header cpp"));
    bench.write("trace.cpp", bench.ok("trace --new cpp"));
    bench.write(
        "evaluate.h",
        "struct Position { explicit Position(const std::string &) {} };\n\
         inline void init() {}\n\
         inline gputexel::Value evaluate(const Position &) { return gputexel::V(3); }\n",
    );
    for build in ["-UGPUTEXEL", "-DGPUTEXEL"] {
        bench.built("g++", &["-std=c++17", "-Wall", "-Wextra", build], "trace.cpp");
    }
    let module = bench.ok("trace --header rust");
    let main = bench.ok("trace --new rust").replace("engine::", "");
    let main = main.replace("use gputexel;", "mod gputexel;").replace("use {", "use inside::{");
    bench.write("gputexel.rs", module);
    let stub = "mod inside { use crate::gputexel::*; pub struct Position; impl Position { pub fn from_fen(_: &str) -> \
                Result<Self, String> { Ok(Self) } } pub fn evaluate(_: &Position) -> Value { V(3) } }";
    bench.write("main.rs", format!("{main}{stub}"));
    bench.built("rustc", &["--edition=2024", "--cfg", "feature=\"record\""], "main.rs");
    bench.fails("trace", 2);
}

#[test]
#[ignore = "full"]
fn an_evaluation_that_treats_colors_differently_is_told() {
    let Some(bench) = engine() else { return };
    let (code, out, _) = bench.run("import q.fens --trace-command ./engine-trace -o d.bin");
    assert!(code == 0 && !out.contains("White and Black"), "{out}");
    bench.write(
        "src/linear.cpp",
        bench.text("src/linear.cpp").replace("side ? square ^ 56 : square", "square"),
    );
    compile(&bench, 20);
    let (code, out, _) = bench.run("import q.fens --trace-command ./engine-trace -o d.bin --force");
    assert!(code == 0 && out.contains("White and Black are evaluated differently in "), "{out}");
}
