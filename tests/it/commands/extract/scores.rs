//! Scores of positions, with and without results, in every syntax.

use crate::common::prelude::*;

const BOARDS: [&str; 3] = [
    "r2q1rk1/ppp2ppp/2n1bn2/3p4/3P4/2N1PN2/PP3PPP/R2QKB1R w KQ - 0 9",
    "r2q1rk1/ppp2ppp/2n2n2/3p4/3P4/2N1PN2/PP3PPP/R2QKB1R w KQ - 0 9",
    "r2q1rk1/ppp2ppp/2n1bn2/3p4/3P4/2N1P3/PP3PPP/R2QKB1R b KQ - 0 9",
];

/// Results and scores of [`BOARDS`], White's view.
const RESULTS: [f32; 3] = [0.5, 1.0, 0.0];
const SCORES: [f32; 3] = [-12.0, 310.0, -290.0];

fn lines(write: impl Fn(usize) -> String) -> String {
    (0..3).map(|i| format!("{}{}\n", BOARDS[i], write(i))).collect()
}

fn read(bench: &Bench, args: impl Words) -> (serde_json::Value, Dataset) {
    let (report, data) = bench.extract((args, "--keep-checks"));
    (report["sources"][0].clone(), data)
}

#[test]
fn a_score_before_or_behind_the_result_is_kept() {
    let bench = Bench::new();
    let (r, s) = (|i: usize| format!("{:.1}", RESULTS[i]), |i: usize| SCORES[i]);
    let game = |i: usize| ["1/2-1/2", "1-0", "0-1"][i];
    let mover = |i: usize| if i == 2 { -SCORES[i] } else { SCORES[i] };
    for (text, labels, pov) in [
        (lines(|i| format!(" [{}] {}", r(i), s(i))), "fields", "white"),
        (lines(|i| format!(" {} [{}]", s(i), game(i))), "fields", "white"),
        (lines(|i| format!(";{};{}", r(i), s(i))), "fields", "white"),
        (lines(|i| format!(";{};{}", s(i), RESULTS[i])), "fields", "white"),
        (lines(|i| format!(" | {} | {}", r(i), s(i))), "fields", "white"),
        (lines(|i| format!(" | {} | {}", s(i), r(i))), "score-result", "white"),
        (lines(|i| format!(",{},{}", s(i), game(i))), "fields", "white"),
        (lines(|i| format!("\t{}\t{}", r(i), s(i))), "fields", "white"),
        (lines(|i| format!(" {} {}", game(i), s(i))), "fields", "white"),
        (lines(|i| format!(" : {} : {}", s(i), r(i))), "fields", "white"),
        (lines(|i| format!(" : {} : {}", r(i), s(i))), "texelutil", "white"),
        (lines(|i| format!("; {:.2}; [{}]", s(i) / 100.0, r(i))), "fields", "white"),
        (lines(|i| format!(" | {:+.2} | {}", s(i) / 100.0, r(i))), "score-result", "white"),
        (lines(|i| format!(" ce {}; c9 \"{}\";", mover(i), game(i))), "c9", "stm"),
        (lines(|i| format!(" hmvc 3; c9 \"{}\"; acd 9; ce {};", game(i), mover(i))), "c9", "stm"),
    ] {
        bench.write("x.txt", &text);
        let (source, data) = read(&bench, "x.txt");
        assert_eq!((&source["labels"], results(&data)), (&labels.into(), RESULTS.to_vec()), "{text}");
        assert_eq!(data.search_scores(), SCORES, "{text}");
        assert_eq!(source["score_point_of_view"].as_str().unwrap_or("white"), pov, "{text}");
        assert_eq!(source["unread_scores"], serde_json::Value::Null, "{text}");
        // The same through a conversion, and as the target.
        bench.told("convert x.txt -o x.fens --force");
        let (_, again) = read(&bench, "x.fens");
        assert_eq!((results(&again), again.search_scores()), (RESULTS.to_vec(), &SCORES[..]), "{text}");
        let (_, scored) = read(&bench, "x.txt --target score");
        let wanted = SCORES.map(|cp| (1.0 / (1.0 + 10f64.powf(-f64::from(cp) / 400.0))) as f32);
        assert_eq!(scored.results(), wanted, "{text}");
    }
    let tuned = bench.tune("x.txt --blend 0.5 --l2 1e-4 --k 1 --out r");
    assert_eq!(tuned["blend"]["share"], 0.5, "{tuned}");
}

#[test]
fn reports_ambiguous_fields() {
    let bench = Bench::new();
    let which = "columns 2 and 3 behind the position are numbers, and which of them is the score cannot be known; name them";
    let score = "x.txt:1: positions are followed by a number that is a score rather than a result; --target score takes";
    for (text, args, part) in [
        (
            lines(|i| format!(";{};{}", i % 2, i / 2)),
            "",
            "x.txt:1: columns 1 and 2 behind the position all look",
        ),
        (
            lines(|i| format!(";{};{}", 20 + i, 8 + i)),
            "",
            "columns 1 and 2 behind the position are numbers, and",
        ),
        (lines(|i| format!(";{};{};{}", RESULTS[i], 20 + i, 8 + i)), "--target score", which),
        (lines(|i| format!(";{}", SCORES[i])), "", score),
        (lines(|i| format!(" ce {};", SCORES[i])), "", "have scores, but no results; --target score takes"),
    ] {
        bench.write("x.txt", &text);
        let error = bench.refuse(("x.txt", args), 1);
        assert!(error.contains(part) && !error.contains("--results"), "{error}");
    }
    // Results far out of range, including some values of other scales.
    let text: String = positions(3000)
        .iter()
        .enumerate()
        .map(|(i, (b, t, _))| format!("{b} {t} - -,{}\n", i as i64 * 7 % 600 - 300))
        .collect();
    bench.write("x.csv", format!("fen,target\n{text}"));
    let error = bench.refuse("x.csv", 1);
    assert!(error.contains("lines cannot be used") && !error.contains("--results"), "{error}");
}

#[test]
fn scores_as_targets_need_no_results() {
    let bench = Bench::new();
    let fens = [
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
        "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
    ];
    let (scores, wanted) = (
        ["-10", "+56", "#+1"],
        [-10.0, 56.0, f64::INFINITY].map(|cp: f64| 1.0 / (1.0 + 10f64.powf(-cp / 400.0))),
    );
    let text = |header: &str, write: &dyn Fn(&str, &str) -> String| {
        header.to_string() + &(0..3).map(|i| write(fens[i], scores[i]) + "\n").collect::<String>()
    };
    for text in [
        text("FEN,Evaluation\n", &|fen, score| format!("{fen},{score}")),
        text("cp\tfen\n", &|fen, score| format!("{score}\t\"{fen}\"")),
        text("id;fen;eval\n", &|fen, score| format!("7;{fen};{score}")),
        text("", &|fen, score| format!("{fen};{score}")),
        text("", &|fen, score| format!("{fen} | {score}")),
        text("", &|fen, score| format!("{fen} {score}")),
    ] {
        bench.write("x.csv", &text);
        let (source, data) = read(&bench, "x.csv --target score");
        for (label, wanted) in data.results().iter().zip(wanted) {
            assert!((f64::from(*label) - wanted).abs() < 1e-6, "{text} {label}");
        }
        assert_eq!(source["score_point_of_view"], "white");
        assert_eq!(source["point_of_view"], serde_json::Value::Null);
        let told = bench.told("convert x.csv --target score -o x.fens --force");
        assert_eq!(told["positions"], 3, "{text}");
        bench.refuse_with("x.csv", 1, "--target score takes the scores instead");
        let (_, out, _) = bench.run("extract x.csv --target score -o y.bin --force");
        assert!(out.contains("  scores as ") && !out.contains("  point of view white"), "{out}");
        let (_, out, _) = bench.run("info y.bin");
        assert!(out.contains(", scores as "), "{out}");
    }
    // From the side to move's view.
    bench.write(
        "x.epd",
        text("", &|fen, score| format!("{} ce {score};", &fen[..fen.len() - 4])).replace("#+1", "M1"),
    );
    let (source, data) = read(&bench, "x.epd --target score");
    assert_eq!(source["score_point_of_view"], "stm");
    assert_eq!(data.search_scores()[..2], [10.0, 56.0]);
    let scored =
        ["rescore", "x.csv", "--target", "score", "--engine", "material", "--depth", "1", "-o", "e.fens"];
    assert_eq!(bench.report(scored)["progress"]["scored"], 3);
    bench.tune("x.csv --target score --l2 1e-4 --k 1 --out r");
}

#[test]
fn counts_unreadable_scores() {
    let bench = Bench::new();
    let told = |text: String| {
        bench.write("x.txt", text);
        let (source, data) = read(&bench, "x.txt");
        assert_eq!(results(&data), RESULTS);
        let (_, out, _) = bench.run("convert x.txt -o x.epd --force");
        (source["unread_scores"].clone(), source["warnings"].to_string(), out)
    };
    let (unread, warnings, out) = told(lines(|i| format!(" c9 \"{}\"; ce {}.5;", RESULTS[i], i)));
    assert_eq!((&unread["count"], &unread["first"]), (&3.into(), &"x.txt:1: c9 \"0.5\"; ce 0.5;".into()));
    assert_has(&warnings, "3 lines have what looks like a score and was not understood; the first: x.txt:1:");
    assert!(!out.contains("nothing was lost") && out.contains("warning: 3 lines have what looks"), "{out}");
    let (unread, ..) = told(lines(|i| format!(" | {} | +0.3{i}/12", RESULTS[i])));
    assert_eq!((&unread["count"], &unread["first"]), (&3.into(), &"x.txt:1: | 0.5 | +0.30/12".into()));
    let header = |rest: String| format!("fen,result,sf_eval\n{rest}");
    let (unread, ..) = told(header(lines(|i| format!(",{},{}", RESULTS[i], SCORES[i]))));
    assert_eq!((&unread["count"], &unread["first"]), (&3.into(), &"x.txt:2: 0.5,-12".into()));
    // Other values are not scores, but are reported as lost.
    let (unread, _, out) = told(lines(|i| format!(" c9 \"{}\"; bm e4; acd 12;", RESULTS[i])));
    assert!(unread.is_null() && !out.contains("nothing was lost"), "{out}");
    assert!(out.contains("3 lines of x.txt have more than is read; the first: x.txt:1: c9"), "{out}");
    let (unread, _, out) = told(lines(|i| format!(" c9 \"{}\";", RESULTS[i])));
    assert!(unread.is_null() && out.contains("nothing was lost"), "{out}");
}

#[test]
fn counters_of_epd_are_read_and_written() {
    let bench = Bench::new();
    bench.write("x.epd", "8/8/8/8/3k4/8/8/K6R w - - hmvc 95; fmvn 90; c9 \"1/2-1/2\";\n");
    bench.told("convert x.epd -o x.fens");
    let text = bench.text("x.fens");
    assert!(text == "0 0.5 8/8/8/8/3k4/8/8/K6R w - - 95 90\n", "{text}");
    let told = bench.told("convert x.fens -o again.epd");
    assert_eq!((bench.bytes("again.epd"), &told["losses"]["clocks"]), (bench.bytes("x.epd"), &0.into()));
    bench.write("bad.epd", "8/8/8/8/3k4/8/8/K6R w - - hmvc many; c9 \"1/2-1/2\";\n");
    let why = "bad.epd:1: the operation hmvc or fmvn has no whole number that a FEN could have";
    bench.refuse_with("bad.epd", 1, why);
}
