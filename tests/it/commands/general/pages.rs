//! Runs every command line of the book, in a folder with files of the names that they mention.

use super::book::{code_and_text, pages, words};
use super::stories::{Stage, commands};
use crate::common::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

/// Commands that are not run here, by their beginning or contents, with the reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("gputexel learn", "engines::learning, with few games"),
    ("gputexel improve", "engines::learning, with few games"),
    ("played/leaves.fens", "engines::learning"),
    ("--option Leaves=true", "engines::learning, with an engine that has it"),
    ("gputexel tune probed.bin", "engines::probe"),
    ("gputexel export runs/probed", "export"),
    ("--evaluation --without", "export::evaluation, on values of `full`"),
    ("gputexel verify ./engine --params runs/probed", "engines::probe"),
    ("games.epd -o toga.bin", "engines::probe, with rounds of a scripted engine"),
    ("gputexel devices --check", "general::devices, on an adapter"),
    ("gputexel bench", "general::bench, with small workloads"),
    ("--device all", "tests/it/gpu has lavapipe, which is no real GPU"),
    ("--device 0,1", "tests/it/gpu has one adapter"),
    ("--device 0=3,cpu=1", "tests/it/gpu has one adapter"),
    ("gputexel serve", "report::serve, as it never ends"),
    ("gputexel uci", "tests/it/engines: it waits for commands"),
    ("'engine trace {params}'", "import::tracing"),
    ("gputexel verify after.svm", "general::stories, with a patched engine"),
    ("gputexel patch apply engine.tune src", "patch::exported"),
    ("--open", "general::book, with a browser that is none"),
    ("gputexel completions bash", "general::command_line"),
    ("gputexel tune full.bin", "import::nonlinear and tune::strength, with fewer parameters"),
    ("gputexel match runs/full/params.json", "as above; other parameters play, too"),
    ("gputexel patch list", "patch::tables"),
    ("--positive bishop_pair", "tune::constraints, on features that have it"),
];

/// Creates the files named in the book: some games of the sample, and outputs made from them.
const STAGE: &str = r#"
set -e
mkdir games src parts moved runs
cp docs/tutorial/psqt.cpp src/psqt.cpp
cp games.pgn.zst games/january.pgn.zst
for name in selfplay more; do cp games.pgn.zst $name.pgn.zst; done
cp games.pgn more.pgn
gputexel -q extract games.pgn -o d.bin
gputexel -q extract games.pgn --positions quiet.fens
for name in dataset big games quiet unique moved/dataset; do cp d.bin $name.bin; done
gputexel -q convert games.pgn -o games.binpack
cp games.binpack data.binpack
gputexel -q convert games.pgn -o data.bf
head -40 quiet.fens > quiet.epd
cut -d' ' -f3-6 quiet.epd | sort -u > book.epd
gputexel -q tune d.bin --threads 1 --out runs/first
for name in second third tables classical quiet unique; do cp -r runs/first runs/$name; done
mv runs/quiet run-quiet; mv runs/unique run-unique
for name in a b new old params; do cp runs/first/params.json $name.json; done
gputexel -q export runs/first -o psqt.hpp
gputexel -q basis madchess -o mine.json
gputexel -q match runs/first material --nodes 30 --games 2 --out runs/match
"#;

/// With a compiler: an engine of the walk-through, its trace, and its values in a source.
const OWN_STAGE: &str = r#"
set -e
gcc -O1 -o traced docs/road/untapered.c
cp docs/road/untapered.json schema.json
./traced trace < quiet.fens > trace.svm
gputexel -q import trace.svm --schema schema.json -o own.bin
gputexel -q tune own.bin --epochs 3 --threads 1 --out runs/own
gputexel -q export runs/own --to c -o src/eval.c
"#;

const ENGINE: &str = r#"#!/bin/sh
if [ "$1" = trace ]; then exec ./traced trace; fi
sed -u '/^setoption name \(Margin\|Depth\|Hash\)/d' | gputexel uci | sed -u 's/^uciok$/option name Margin type spin default 100 min 0 max 300\noption name Depth type spin default 8 min 2 max 20\noption name Hash type spin default 16 min 1 max 1024\nuciok/'
"#;

fn games(number: usize) -> String {
    let sample = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.pgn.zst")).unwrap();
    let text = String::from_utf8(zstd::decode_all(&sample[..]).unwrap()).unwrap();
    let end = text.match_indices("[Event ").nth(number).map_or(text.len(), |(at, _)| at);
    text[..end].to_string()
}

/// Adapts a command for the test: shorter games, fewer of them, and local paths.
fn shortened(line: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let rules = [
            (r"--games \d+", "--games 8"),
            (r"--sprt", "--games 8 --sprt"),
            (r"--nodes \d+", "--nodes 30"),
            (r"--time 5\+0.05", "--time 0.1+0.01"),
            (r"--depth 3", "--depth 1"),
            (r"--verify 2000", "--verify 4"),
            (r"--epochs 1000", "--epochs 10"),
            (r"--bootstrap 200", "--bootstrap 20"),
            (r"^gputexel pso d.bin", "gputexel pso d.bin --iterations 3"),
            (r"^(gputexel rescore .*)--nodes 30", "${1}--nodes 400"),
            (r"^(gputexel selfplay .*)--games 8", "${1}--games 40"),
            (r"^(gputexel selfplay .*)--openings", "${1}--games 20 --openings"),
            (r"^(gputexel match .*)--depth 1", "${1}--depth 1 --games 4"),
            (r"^gputexel spsa run spsa.toml", "gputexel spsa run spsa.toml --limit nodes=30"),
            (r"--l2 1e-7", "--l2 1e-3 --epochs 3"),
            // Of few games, values without penalties are none that the engine plays with.
            (r"--prior-strength none --blend", "--l2 1e-3 --blend"),
            (r#""?/usr/games/(toga2|stockfish)"?"#, "./engine"),
        ];
        rules.map(|(pattern, with)| (Regex::new(pattern).unwrap(), with)).into()
    });
    let plan = line.contains("spsa plan");
    let line = line.trim_start().trim_start_matches("$ ");
    let end = ["  #", " # "].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    let line = line[..end].trim_end();
    if plan {
        return line.to_string();
    }
    let line =
        RULES.iter().fold(line.to_string(), |line, (rule, with)| rule.replace_all(&line, *with).into_owned());
    if line.starts_with("gputexel selfplay ") && !line.contains("--nodes") {
        return line + " --nodes 30";
    }
    // Choosing weights takes a hundred times as long as tuning, and README and the tutorial do it.
    let chooses = ["--l2", "--prior-strength", "--k joint", "--optimizer local"];
    match line.starts_with("gputexel tune ") && !chooses.iter().any(|flag| line.contains(flag)) {
        true => line + " --l2 1e-3",
        false => line,
    }
}

fn written(words: &[String]) -> Option<&String> {
    let kept = ["--append", "--resume"];
    if words.iter().any(|word| kept.contains(&word.as_str())) {
        return None;
    }
    let at = words.iter().position(|word| ["-o", "--out", "--positions"].contains(&word.as_str()))?;
    words.get(at + 1).filter(|word| *word != "-" && !word.contains(".."))
}

fn remove(path: &Path) {
    if path.is_dir() {
        std::fs::remove_dir_all(path).unwrap();
    } else if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
}

fn run_page(name: &Path, page: &str, stage: &Stage, has_engine: bool) -> (usize, Vec<String>) {
    let (mut run, mut failed) = (0, Vec::new());
    for line in code_and_text(page).0 {
        if ELSEWHERE.iter().any(|(what, _)| line.contains(what)) {
            continue;
        }
        let Some(words) = words(line) else { continue };
        let own = ["trace.svm", "own.bin", "engine trace", "schema.json"];
        if !has_engine && own.iter().any(|what| line.contains(what)) {
            continue;
        }
        if let Some(target) = written(&words) {
            remove(&stage.path_of(target));
        }
        run += 1;
        let command = shortened(line);
        let start = std::time::Instant::now();
        if let Err(error) = stage.attempt(&command) {
            failed.push(format!("{}: {command}: {error}", name.display()));
        }
        eprintln!("{:6.2} s  {command}", start.elapsed().as_secs_f64());
    }
    (run, failed)
}

#[test]
#[ignore = "full"]
#[cfg(target_os = "linux")]
fn commands_of_the_book_work() {
    let compiler = requirement::program("gcc");
    let mut first = Stage::new();
    first.replace("engine", ENGINE);
    std::fs::copy(first.path_of("bin/engine"), first.path_of("engine")).unwrap();
    let text = games(60);
    std::fs::write(first.path_of("games.pgn"), &text).unwrap();
    std::fs::write(first.path_of("games.pgn.zst"), zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    first.run(STAGE);
    if compiler {
        first.run(OWN_STAGE);
    }
    // Commands of a page build on each other; pages are independent.
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let pages: Vec<(PathBuf, String)> =
        pages().into_iter().filter(|(path, page)| commands(page).is_empty() && *path != readme).collect();
    let outcomes: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let (half, other) = pages.split_at(pages.len() / 2);
        let work = [half, other].map(|some| {
            let first = &first;
            scope.spawn(move || {
                some.iter()
                    .map(|(path, page)| run_page(path, page, &first.copied(), compiler))
                    .collect::<Vec<_>>()
            })
        });
        work.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let failed: Vec<&String> = outcomes.iter().flat_map(|(_, failed)| failed).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let run: usize = outcomes.iter().map(|(run, _)| run).sum();
    assert!(run > 60, "only {run} commands were run");
}
