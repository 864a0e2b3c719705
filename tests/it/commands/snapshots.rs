//! What each command prints, as pages to be reviewed: `snapshots/PAGE.txt` has command lines after `$`, what they print
//! to standard output, lines of standard error after `!`, and exit codes other than 0 after `=`. `GPUTEXEL_BLESS=1` runs
//! the command lines and rewrites the rest. Times, speeds and paths are replaced, and decimals cut. Messages of the
//! system are those of Linux.
#![cfg(target_os = "linux")]

use crate::common::prelude::*;
use crate::common::spsa::built_in;
use regex::Regex;
use std::sync::LazyLock;

const SCHEMA: &str = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1, "comment": "fen", "phase": "fen", "columns": {"game": "qid"},
    "parameters": [{"name": "material", "index": 1, "names": ["pawn", "knight", "bishop", "rook", "queen"],
                    "priors": [100, 300, 300, 500, 900]}]}"#;

/// A trace of the material of positions, lines 'GAME RESULT FEN [SCORE]'.
fn material(lines: &str) -> String {
    let trace = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let count = |piece: char| words[2].matches(piece).count() as i32;
        let counts = "PNBRQ".chars().zip(1..);
        let counts =
            counts.map(|(own, at)| format!(" {at}:{}", count(own) - count(own.to_ascii_lowercase())));
        let score = words.get(8).map_or_else(String::new, |score| format!(" score:{score}"));
        let (fen, counts) = (words[2..8].join(" "), counts.collect::<String>());
        format!("{}{score} qid:{}{counts} # {fen}\n", words[1], words[0])
    };
    lines.lines().map(trace).collect()
}

/// Inputs of all pages, made once: datasets of the sample, a game, a position, a source, and a text that is nothing.
fn stage() -> &'static Bench {
    static STAGE: LazyLock<Bench> = LazyLock::new(|| {
        let bench = Bench::new();
        let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.pgn.zst");
        std::fs::copy(sample, bench.path("sample.pgn.zst")).unwrap();
        for (name, model) in [("d.bin", "pst"), ("m.bin", "material")] {
            bench.ok(["-q", "extract", "sample.pgn.zst", "--sample", "3000", "--model", model, "-o", name]);
        }
        bench.ok("-q extract sample.pgn.zst --sample 3000 --positions some.fens");
        bench.write("t.svm", material(&bench.text("some.fens")));
        bench.write("t.json", SCHEMA);
        bench.write("g.pgn", pgn("", GAME, "1-0"));
        bench.write("p.fens", "1 1-0 rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n");
        bench.write("text.txt", "not what is expected\n");
        bench.write("run.toml", built_in("spsa", 6, 1));
        std::fs::create_dir(bench.path("source")).unwrap();
        let zeros = ["0"; 64].join(", ");
        bench.write("source/t.c", format!("int mg[64] = {{{zeros}}}; // gputexel: knight.mg\nint x = 5;\n"));
        bench.write("x.tune", "#set file t.c\n#context x\nint x = 5@;\n");
        bench
    });
    &STAGE
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => assert!(std::fs::copy(from, to).is_ok()),
        }
    }
}

/// Replaces what differs from run to run and from machine to machine.
fn normalized(text: &str, folder: &Path) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let rules = [
            (r"\x1b\[[0-9;]*m", ""),
            (r"(?m)[ \t]+$", ""),
            (r"\bCPU, [\w -]+, \d+ threads?", "CPU"),
            (r"[\d.,]+ ?[kMGT]?B?( bytes| positions| nodes| games| pairs)?/s\b", "N/s"),
            (r"(?m)^(  .*?) +[\d,]+ +(\d+) +\d+\.\d +(\d+) +(\d+)$", "${1} N/s ${2} TIME ${3} ${4}"),
            (r"\b\d+\.\d % of the time", "N % of the time"),
            (r"\b\d+:\d\d(:\d\d)?\b", "TIME"),
            (r"(?m)(^|[ ,(])[\d.]+ (ns|µs|ms|s|min|minutes|seconds|h|hours)\b", "${1}TIME"),
            (r"\b\d{4}-\d\d-\d\d( \d\d:\d\d)?\b", "DATE"),
            (r"\b\d(\.\d+)?e-\d+\b", "SMALL"),
            (r"(\d\.\d{4})\d+", "$1"),
        ];
        rules.map(|(pattern, with)| (Regex::new(pattern).unwrap(), with)).into()
    });
    let text =
        text.replace(&folder.display().to_string(), "FOLDER").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    RULES.iter().fold(text, |text, (rule, with)| rule.replace_all(&text, *with).into_owned())
}

fn page(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/commands/snapshots/{name}.txt"));
    let written = std::fs::read_to_string(&path).unwrap();
    let bench = Bench::new();
    copy(stage().folder.path(), bench.folder.path());
    let mut printed = String::new();
    for line in written.lines().filter(|line| line.starts_with("$ gputexel")) {
        let words = shlex::split(line).unwrap();
        let words: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let (code, out, err) = bench.run(words);
        let [out, err] = [out, err].map(|text| normalized(&text, bench.folder.path()));
        let err = err.lines().map(|line| format!("! {line}").trim_end().to_string() + "\n");
        let code = if code == 0 { String::new() } else { format!("= {code}\n") };
        printed += &format!(
            "{line}\n{}{}{code}\n",
            out.trim_end().to_string() + if out.is_empty() { "" } else { "\n" },
            err.collect::<String>()
        );
    }
    if std::env::var_os("GPUTEXEL_BLESS").is_some_and(|value| value == "1") {
        return std::fs::write(&path, printed).unwrap();
    }
    let (was, is): (Vec<&str>, Vec<&str>) = (written.lines().collect(), printed.lines().collect());
    let at = (0..).find(|&at| was.get(at) != is.get(at) || at >= was.len().max(is.len())).unwrap_or(0);
    let show = |lines: &[&str]| {
        lines.iter().skip(at.saturating_sub(3)).take(8).copied().collect::<Vec<_>>().join("\n")
    };
    assert!(
        was == is,
        "{name}.txt, line {}: GPUTEXEL_BLESS=1 rewrites it. Was:\n{}\nIs:\n{}",
        at + 1,
        show(&was),
        show(&is)
    );
}

macro_rules! pages {
    ($($test:ident $name:literal,)*) => {
        const PAGES: &[&str] = &[$($name),*];
        $(#[test]
        fn $test() {
            page($name);
        })*
    };
}

pages! {
    basis "basis",
    bench "bench",
    check "check",
    compare "compare",
    completions "completions",
    convert "convert",
    devices "devices",
    eval "eval",
    export "export",
    extract "extract",
    features "features",
    import "import",
    import_params "import-params",
    improve "improve",
    info "info",
    learn "learn",
    matches "match",
    patch "patch",
    patch_tables "patch-tables",
    probe "probe",
    program "program",
    pso "pso",
    report "report",
    rescore "rescore",
    selfplay "selfplay",
    serve "serve",
    spsa "spsa",
    spsa_run "spsa-run",
    sweep "sweep",
    trace "trace",
    tune "tune",
    uci "uci",
    verify "verify",
}

#[test]
fn every_command_has_a_page() {
    let (help, _) = stage().done("--help");
    let list =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands = list.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let missing: Vec<&str> =
        commands.filter(|name| !name.is_empty() && *name != "help" && !PAGES.contains(name)).collect();
    assert!(missing.is_empty(), "without a page: {missing:?}");
}
