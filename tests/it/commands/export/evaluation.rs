//! Whole evaluations that `gputexel export --evaluation` writes, compiled, against the same integers computed from the
//! rows of features.

use crate::common::prelude::*;
use gputexel::chess::evaluation::Evaluation as _;
use shakmaty::Piece;
use std::process::Command;

/// Largest score of an evaluation.
const LIMIT: i128 = 30_000;

const ODD: [&str; 12] = [
    "QQQQQQQQ/8/8/8/8/8/8/Kk6 w - - 0 1",
    "qqqqqqqq/qqqqqqqk/8/8/8/8/8/K7 b - - 0 1",
    "7k/8/8/8/8/8/8/K7 b - - 0 1",
    "k7/8/8/8/8/8/8/7K w - - 0 1",
    "4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 w - - 0 1",
    "1rk3r1/8/8/2pPpP2/2PpPp2/8/8/1RK3R1 w GBgb - 0 1",
    "bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w GEge - 0 1",
    "NNNNNNNN/NNNNNNNN/NNNNNNNN/NNN1k1NN/NNNNNNNN/NNNNNNNN/NNNNNNNN/NNNNKNNN b - - 0 1",
    "k7/P7/K7/8/8/8/8/8 w - - 0 1",
    "8/8/8/3kK3/8/8/8/8 w - - 0 1",
    "5rk1/5p1p/7Q/4N3/8/3B2R1/5PPP/6K1 w - - 0 1",
    "BB4bb/BB4bb/8/K6k/8/8/RR4rr/RR4rr b - - 0 1",
];

/// The sets, by the name of their parameter file.
fn sets() -> Vec<(&'static str, FeatureSet)> {
    let kinds =
        [("pst", FeatureKind::Pst), ("classical", FeatureKind::Classical), ("full", FeatureKind::Full)];
    let odd = FeatureSet::new(FeatureKind::Pst, PhaseSettings::parse("5,5,11,22").unwrap());
    let set = |(name, kind)| (name, FeatureSet::new(kind, PhaseSettings::default()));
    kinds.into_iter().map(set).chain([("odd", odd)]).collect()
}

/// Draws values of about the usual size: such that many kings are in danger and many factors are within their limits.
fn values(set: &FeatureSet, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let count = set.features.len();
    let value = |index: usize| {
        let group = set.features[index % count].group.as_str();
        let middle = match group {
            "danger_attacker" => 30.0,
            "factor_pawns" | "factor_ahead" if index >= count => 30.0,
            "pawn" | "knight" | "bishop" | "rook" | "queen" => 300.0,
            _ => 0.0,
        };
        let most = if group.starts_with("danger") || group.starts_with("factor") { 40.0 } else { 90.0 };
        match group.starts_with("factor") && index < count {
            true => 0.0,
            false => middle + random.random_range(-most..most),
        }
    };
    (0..2 * count).map(value).collect()
}

fn write(bench: &Bench, name: &str, set: &FeatureSet, theta: &[f64]) {
    bench.write(name, ParameterFile::new(set, theta, None, Some(0.8)).to_json());
}

/// The score that docs/exports.md defines, White's view.
fn exact(set: &FeatureSet, compiled: Option<&CompiledProgram>, theta: &[f64], row: &FeatureRow) -> i32 {
    let count = set.features.len();
    let value = |feature: usize| [theta[feature], theta[count + feature]].map(|value| value.round() as i128);
    let mut sums = vec![[0i128; 2]; compiled.map_or(1, CompiledProgram::slots)];
    let signed = row.plus.iter().map(|&id| (id, 1)).chain(row.minus.iter().map(|&id| (id, -1)));
    for (column, sign) in signed {
        let column = usize::from(column);
        let (slot, feature) = match compiled {
            Some(program) => {
                (program.slot_of_column(column), usize::from(program.features_of_columns()[column]))
            }
            None => (0, column),
        };
        let [mg, eg] = value(feature);
        sums[slot] = [sums[slot][0] + sign * mg, sums[slot][1] + sign * eg];
    }
    let (mut divisor, mut values) = (1, sums[0]);
    if let Some(program) = &set.program {
        let factor = program.factor.as_ref().unwrap();
        let (divide, one) = (program.terms[0].divide as i128, factor.one as i128);
        divisor = divide * one;
        for (phase, value) in values.iter_mut().enumerate() {
            let danger = |slot: usize| sums[slot][phase].max(0).pow(2);
            let own = divide * *value + danger(2) - danger(1);
            *value = own.signum() * (own.abs() + divide * sums[3][phase]).max(0);
        }
        let stronger = if values[1] < 0 { 5 } else { 4 };
        values[1] *= sums[stronger][1].clamp(factor.min as i128, factor.max as i128);
        values[0] *= one;
    }
    let (phase, max) = (i128::from(row.phase), i128::from(set.phase.max));
    let score = (values[0] * phase + values[1] * (max - phase)) / (divisor * max);
    score.clamp(-LIMIT, LIMIT) as i32
}

/// Positions of the repository, one of `each`, odd ones, and `random` boards of anything.
fn boards(each: usize, random: usize) -> Vec<String> {
    let packed = std::fs::File::open("data/leaves.fens.zst").unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(packed).unwrap()).unwrap();
    let fen = |line: &str| {
        let words: Vec<&str> = line.split(' ').skip(2).take(6).collect();
        words.join(" ")
    };
    let mut fens: Vec<String> = text.lines().step_by(each).map(fen).collect();
    fens.extend(ODD.map(str::to_string));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(47);
    for _ in 0..random {
        let mut board = Board::empty();
        let pieces = rng.random_range(0..40);
        for _ in 0..pieces {
            let role = Role::ALL[rng.random_range(0..5)];
            let square = Square::new(rng.random_range(if role == Role::Pawn { 8..56 } else { 0..64 }));
            let color = Color::from_white(rng.random());
            board.set_piece_at(square, Piece { color, role });
        }
        let white = rng.random_range(0..64u32);
        let black = (white + rng.random_range(1..64)) % 64;
        for (color, square) in [(Color::White, white), (Color::Black, black)] {
            board.set_piece_at(Square::new(square), Piece { color, role: Role::King });
        }
        let setup =
            shakmaty::Setup { board, turn: Color::from_white(rng.random()), ..shakmaty::Setup::empty() };
        fens.push(Fen::try_from_setup(setup).unwrap().to_string());
    }
    fens
}

/// Runs a compiled evaluation on positions; returns its scores.
fn scores(bench: &Bench, program: &str, fens: &[String]) -> Vec<i32> {
    bench.write("fens.txt", fens.join("\n"));
    let stdin = Stdio::from(std::fs::File::open(bench.path("fens.txt")).unwrap());
    let run = Command::new(bench.path(program)).stdin(stdin).output().unwrap();
    assert!(run.status.success(), "{program}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    text.lines().map(|line| line.split(" | ").nth(1).unwrap().parse().unwrap()).collect()
}

/// Computes the integers of positions, and compares them with the evaluation in real numbers.
fn wanted(set: &FeatureSet, theta: &[f64], fens: &[String]) -> Vec<i32> {
    let rounded: Vec<f64> = theta.iter().map(|value| value.round()).collect();
    let real = TableEvaluation::try_new(set, &rounded).unwrap();
    let compiled =
        set.program.clone().map(|program| CompiledProgram::try_new(program, set.features.len()).unwrap());
    let mut row = FeatureRow::default();
    let of = |fen: &String| {
        let setup = fen.parse::<Fen>().unwrap().into_setup();
        set.compute(&setup.board, setup.turn, &mut row);
        let wanted = exact(set, compiled.as_ref(), theta, &row);
        if let Ok(position) = setup.clone().position::<Chess>(CastlingMode::Chess960) {
            let model = real.score_stm(&real.state(&position), &position);
            let model = if setup.turn.is_white() { model } else { -model };
            assert!((model - wanted).abs() <= 1, "{fen}: {model}, {wanted}");
        }
        wanted
    };
    fens.iter().map(of).collect()
}

/// Compares a compiled evaluation with the integers.
fn compare(bench: &Bench, program: &str, fens: &[String], wanted: &[i32]) {
    let scores = scores(bench, program, fens);
    for (fen, (score, wanted)) in fens.iter().zip(scores.iter().zip(wanted)) {
        assert_eq!(score, wanted, "{program}: {fen}");
    }
    assert_eq!(scores.len(), fens.len());
}

/// Compiles the exports of all sets in all languages and compares them.
fn check(compilers: &[(&str, &str, &str)], each: usize, random: usize) {
    let bench = Bench::new();
    let fens = boards(each, random);
    for (seed, (name, set)) in sets().into_iter().enumerate() {
        let theta = values(&set, 47 + seed as u64);
        write(&bench, "p.json", &set, &theta);
        let wanted = wanted(&set, &theta, &fens);
        for (compiler, flags, file) in compilers {
            if requirement::program(compiler) {
                let path = format!("{name}-{file}");
                bench.ok(("--quiet export p.json --evaluation --force -o", &path[..]));
                bench.compile(&format!("{compiler} {flags} {path} -o program"));
                compare(&bench, "program", &fens, &wanted);
            }
        }
    }
}

const RUST: &str = "--edition 2021 -Dwarnings -O --cfg evaluation_main";
const C: &str = "-std=c99 -O1 -Wall -Wextra -Wpedantic -Werror -DEVALUATION_MAIN";

#[test]
fn evaluations_in_c_are_those_of_the_features() {
    check(&[("gcc", C, "e.c")], 60, 1000);
}

#[test]
#[ignore = "full"]
fn evaluations_of_all_languages_are_those_of_the_features_on_100_000_positions() {
    let cpp = C.replace("c99", "c++17") + " -x c++";
    let portable = format!("{C} -DEVALUATION_PORTABLE");
    let compilers = [
        ("gcc", C, "e.c"),
        ("gcc", &portable, "p.c"),
        ("clang", C, "e.c"),
        ("g++", &cpp, "e.hpp"),
        ("clang++", &cpp, "e.hpp"),
        ("rustc", RUST, "e.rs"),
    ];
    check(&compilers, 1, 40_000);
}

/// Values that were tuned later are put into the file, which still compiles and evaluates with them.
#[test]
fn later_values_are_filled_in_by_patch_tables() {
    let bench = Bench::new();
    let set = FeatureSet::new(FeatureKind::Full, PhaseSettings::default());
    let later = values(&set, 2);
    write(&bench, "first.json", &set, &values(&set, 1));
    write(&bench, "later.json", &set, &later);
    for (compiler, flags, file) in [("gcc", C, "e.c"), ("rustc", RUST, "e.rs")] {
        bench.ok(("--quiet export first.json --evaluation -o", file));
        bench.ok(&*format!("--quiet patch tables later.json {file} --start first.json"));
        if requirement::program(compiler) {
            bench.compile(&format!("{compiler} {flags} {file} -o program"));
            let fens = boards(300, 100);
            compare(&bench, "program", &fens, &wanted(&set, &later, &fens));
        }
    }
}

/// Compiles docs/engine/engine.c with the evaluation of a parameter file.
fn engine(bench: &Bench, parameters: &str, name: &str) {
    bench.ok(&*format!("--quiet export {parameters} --evaluation --force -o evaluation.c"));
    std::fs::copy("docs/engine/engine.c", bench.path("engine.c")).unwrap();
    bench.compile(&format!("gcc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror engine.c -o {name} -lm"));
}

fn talk(bench: &Bench, engine: &str, commands: &str) -> String {
    bench.write("commands.txt", commands);
    let stdin = Stdio::from(std::fs::File::open(bench.path("commands.txt")).unwrap());
    let run = Command::new(bench.path(engine)).stdin(stdin).output().unwrap();
    assert!(run.status.success(), "{commands}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn small_engine_generates_legal_moves_and_plays_with_every_evaluation() {
    if !requirement::program("gcc") {
        return;
    }
    let bench = Bench::new();
    for (name, set) in sets() {
        write(&bench, "p.json", &set, &values(&set, 5));
        engine(&bench, "p.json", name);
    }
    // Counts of the positions in the Chess Programming Wiki, "Perft results".
    let said = talk(
        &bench,
        "pst",
        "position startpos\ngo perft 4\n\
         position fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1\ngo perft 3\n\
         position fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1\ngo perft 5\n\
         position fen r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1\ngo perft 4\n",
    );
    let counts: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("Nodes searched: ")).collect();
    assert_eq!(counts, ["197281", "97862", "674624", "422333"]);
    let said = talk(
        &bench,
        "full",
        "position fen 8/8/8/8 w - - 0 1\nposition startpos moves e2e4 e2e4\ngo nodes 1\n\
         position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\ngo\n",
    );
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..2],
        ["info string not a position: 8/8/8/8 w - - 0 1", "info string not a legal move: e2e4"]
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("bestmove ")).count(), 2);
    assert!(lines.ends_with(&["bestmove 0000"]), "stalemate: {said}");
    let mate = "position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1\ngo depth 3\n";
    assert!(talk(&bench, "odd", mate).ends_with("\nbestmove a1a8\n"));
    let (_, out, _) =
        bench.run("match ./classical ./odd --nodes 300 --games 6 --concurrency 2 --json -o games");
    let result: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["games"], 6, "{out}");
    assert_eq!(result["failures"].as_u64().unwrap_or(0), 0, "{out}");
}
