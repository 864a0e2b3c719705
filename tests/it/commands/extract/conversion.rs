//! `gputexel convert`, and `gputexel extract` on its output.

use crate::common::prelude::*;

fn games(bench: &Bench, count: usize) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
    let text = String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap();
    let end = text.match_indices("[Event ").nth(count).unwrap().0;
    bench.write("games.pgn", &text[..end]);
}

const QUIET: &str = "--skip-plies 12";

#[test]
fn conversion_does_not_change_the_dataset() {
    let bench = Bench::new();
    games(&bench, 60);
    let (report, direct) = bench.extract(("games.pgn --require-score", QUIET));
    let count = report["positions"].u64();
    assert!(count > 2000, "{report}");
    // With moves, every rule of the selection applies as it does to games, and folds are still by game.
    let told = bench.told(["convert", "games.pgn", "-o", "a.binpack"]);
    assert_eq!(told["losses"]["rights"], 0, "{told}");
    let (report, data) = bench.extract(("a.binpack --require-score", QUIET));
    assert_eq!((report["positions"].as_u64(), report["games"].as_u64()), (Some(count), Some(60)));
    assert_eq!(data.results(), direct.results());
    assert_eq!(data.search_scores(), direct.search_scores());
    // The other formats contain the positions that were selected when they were written.
    let (_, wanted) = bench.extract("games.pgn --require-score");
    for name in ["a.txt", "a.epd", "a.bf"] {
        let told = bench.told([
            "convert",
            "games.pgn",
            "-o",
            name,
            "--require-score",
            "--skip-plies=8",
            "--keep-checks=false",
            "--keep-captures=false",
            "--keep-promotions=false",
            "--duplicates=drop",
        ]);
        assert_eq!(told["positions"].as_u64(), Some(wanted.len() as u64), "{told}");
        let (report, data) = bench.extract([name, "--duplicates", "keep", "--keep-checks"]);
        assert_eq!(data.len(), wanted.len(), "{name}: {report}");
        let size = |data: &gputexel::Dataset| -> Vec<f32> {
            data.search_scores().iter().map(|score| score.abs()).collect()
        };
        assert_eq!(size(&data), size(&wanted), "{name}");
        // From the side to move, half of the positions are mirrored.
        if name != "a.bf" {
            assert_eq!(data.results(), wanted.results(), "{name}");
        }
        // Formats without counters and moves, and back to one that has both.
        bench.told(["convert", name, "-o", "back.binpack", "--force"]);
        let (report, data) = bench.extract("back.binpack --duplicates keep");
        assert_eq!(data.len(), wanted.len(), "{name}: {report}");
    }
}

#[test]
fn reports_lost_data() {
    let bench = Bench::new();
    games(&bench, 3);
    let losses = |args: &str| {
        let told = bench.told(("convert games.pgn --force", args));
        (told["losses"].clone(), told["positions"].u64())
    };
    let (lost, positions) = losses("-o a.bf");
    assert!(lost["rights"].as_u64() > Some(0) && lost["sides"].as_u64() > Some(0), "{lost}");
    assert_eq!((lost["moves"].as_u64(), lost["default_scores"].as_u64()), (Some(positions), Some(0)));
    assert!(lost["without_score"].as_u64() >= Some(3), "{lost}");
    let (lost, more) = losses("-o a.bf --default-score 0");
    assert_eq!(lost["default_scores"].as_u64(), Some(more - positions));
    bench.fails_with("convert games.pgn -o a.xyz", 2, "a.xyz: the ending is none of .binpack");
    let why = "for which bulletformat has no place";
    bench.fails_with("convert games.pgn -o b.bf --duplicates average", 2, why);
    assert!(!bench.path("b.bf").exists());
}

#[test]
fn refuses_damage() {
    let bench = Bench::new();
    games(&bench, 20);
    for name in ["a.binpack", "a.bf"] {
        bench.told(["convert", "games.pgn", "-o", name]);
        let bytes = bench.bytes(name);
        bench.write("cut", &bytes[..bytes.len() - 5]);
        bench.refuse_with("cut", 1, ["cut: damaged at byte ", "positions before it can be read"]);
        bench.refuse("cut --format pgn", 1);
    }
    bench.refuse_with("a.bf --format binpack", 1, "a.bf: is bulletformat, not binpack");
    // The bytes of numbers in reverse order.
    let mut swapped = bench.bytes("a.bf");
    for record in swapped.chunks_exact_mut(32) {
        record[..8].reverse();
        record[24..26].reverse();
    }
    bench.write("swapped", swapped);
    bench.refuse_with("swapped", 1, "with the high bytes first");
    // Invalid results are counted like bad lines.
    let mut wrong = bench.bytes("a.bf");
    wrong[64 + 26] = 7;
    bench.write("wrong", wrong);
    let (report, _) = bench.extract("wrong");
    assert_has(report["sources"][0]["complaints"][0].str(), "byte 64: the result is 7");
    bench.refuse_with("wrong --max-bad-share 0", 1, ["1 of ", "records cannot be used"]);
}

#[test]
#[ignore = "full"]
fn tunes_training_data_directly() {
    let bench = Bench::new();
    games(&bench, 60);
    // Network trainers name such files `.bin`, as datasets are named.
    bench.told("convert games.pgn -o train.bin --to binpack");
    let whole = bench.tune("train.bin --out whole");
    assert!(whole["loss"].as_f64() < whole["loss_before"].as_f64(), "{whole}");
    let bytes = bench.bytes("train.bin");
    bench.write("cut.binpack", &bytes[..bytes.len() - 7]);
    let tune = |args: &[&'static str]| Bench::tuning("cpu", args);
    bench.fails_with(tune(&["cut.binpack", "--out", "cut"]), 1, "damaged at byte");
    assert!(!bench.path("cut").exists());
    let scored = bench.tune("train.bin --target score --out scored");
    assert_eq!(scored["loss"], whole["loss"], "one file has one target, on either road");
    bench.fails_with(tune(&["whole/dataset.bin", "--format", "lichess"]), 2, "these are datasets");
    bench.fails_with(tune(&["train.bin", "--format", "bulletformat"]), 1, "is binpack, not bulletformat");
}

/// Parses `GAME RESULT FEN [centipawns]` to game, result, FEN, score.
fn fields(line: &str) -> (u32, f32, String, Option<f32>) {
    let words: Vec<&str> = line.split(' ').collect();
    assert!([8, 9].contains(&words.len()), "{line}");
    let score = words.get(8).map(|score| score.parse().unwrap());
    (words[0].parse().unwrap(), words[1].parse().unwrap(), words[2..8].join(" "), score)
}

#[test]
fn writes_the_positions_of_the_dataset() {
    let bench = Bench::new();
    games(&bench, 60);
    let rules: [&[&str]; 4] = [
        &[],
        &["--resolve", "quiescence", "--keep-captures", "--per-game", "7"],
        &["--max-score", "300"],
        &["--preset", "nodraw"],
    ];
    for rules in rules {
        let (report, data) = bench.extract(("games.pgn", rules));
        let written = [&["extract", "games.pgn", "--positions", "p.fens", "--force"], rules].concat();
        let told = bench.told(&written);
        assert_eq!(told["positions"], report["positions"], "{rules:?}");
        assert_eq!(told["sources"][0]["resolved"], report["sources"][0]["resolved"], "{rules:?}");
        let text = bench.text("p.fens");
        let lines: Vec<_> = text.lines().map(fields).collect();
        assert_eq!(lines.len(), data.len(), "{rules:?}");
        let games: Vec<u32> = lines.iter().map(|line| line.0).collect();
        let wanted: Vec<u32> = (0..data.len()).map(|n| data.game(n)).collect();
        assert_eq!(games, wanted, "{rules:?}");
        let results: Vec<f32> = lines.iter().map(|line| line.1).collect();
        assert_eq!(results, data.results(), "{rules:?}");
        // The boards are the resolved ones, from which features were taken.
        let plain: String = lines.iter().map(|line| format!("{} [{:.1}]\n", line.2, line.1)).collect();
        bench.write("again.txt", plain);
        let (_, again) = bench.extract("again.txt --pov white --keep-duplicates --keep-checks");
        let rows = |data: &gputexel::Dataset| -> Vec<Vec<(u16, f32)>> {
            (0..data.len()).map(|n| data.row(n).entries().collect()).collect()
        };
        assert!(rows(&again) == rows(&data), "{rules:?}");
    }
}

#[test]
#[ignore = "full"]
fn chooses_the_format_by_extension() {
    let bench = Bench::new();
    games(&bench, 20);
    bench.told("extract games.pgn --positions p.epd");
    assert!(bench.text("p.epd").lines().next().unwrap().contains(" c9 \""));
    // Resolved positions are not linked by moves, and none is taken for the end of its game.
    let resolved = "extract games.pgn --resolve quiescence --require-score --positions";
    let count = bench.told((resolved, "r.fens"))["positions"].clone();
    let told = bench.told((resolved, "r.binpack"));
    assert_eq!((&told["positions"], &told["losses"]["without_move"]), (&count, &0.into()), "{told}");
    let refuse = |args: &str, code| bench.fails(("extract games.pgn", args), code);
    assert_has(&refuse("--positions p.epd", 2), "p.epd");
    let error = refuse("--positions q.epd --duplicates average", 2);
    assert!(error.contains("gives positions weights, for which epd has no place; .fens has"), "{error}");
    bench.fails_with("extract - --positions q.fens --sample 100", 2, "standard input cannot be read twice");
    refuse("--positions q.fens -o q.bin", 2);
    refuse("--positions q.fens --model material", 2);
    refuse("", 2);
    assert!(!bench.path("q.fens").exists() && !bench.path("q.bin").exists());
}
