//! `gputexel extract` on labelled positions, through the real binary.

use crate::common::prelude::*;
use crate::common::program::game_result;
use std::io::Write as _;

type Writer = fn(&str, &str, f32) -> String;

#[test]
fn every_syntax_gives_the_same_dataset() {
    let bench = Bench::new();
    let list = positions(300);
    let syntaxes: [(&str, &str, Writer); 20] = [
        ("c9", "white", |b, t, r| format!("{b} {t} - - c9 \"{}\";", game_result(r))),
        ("c9", "white", |b, t, r| format!("{b} {t} - - c9 {}", game_result(r))),
        ("c9", "white", |b, t, r| format!("{b} {t} - - hmvc 0; c2 \"{r}\";")),
        ("c9-score", "white", |b, t, r| format!("{b} {t} - - c9 \"0.33|{}\";", game_result(r))),
        ("ce", "white", |b, t, r| format!("{b} {t} - - ce {r}")),
        ("ce", "stm", |b, t, r| format!("{b} {t} - - ce {}", if t == "b" { 1.0 - r } else { r })),
        ("brackets", "white", |b, t, r| format!("{b} {t} - - 0 1 [{r:.1}]")),
        ("brackets", "stm", |b, t, r| format!("{b} {t} - - 0 1 [{:.1}]", if t == "b" { 1.0 - r } else { r })),
        ("brackets", "white", |b, t, r| format!("{b} {t} - - 0 1 [{}]", game_result(r))),
        ("semicolon", "white", |b, t, r| format!("{b} {t} - - 0 1; [{r}]")),
        ("semicolon", "white", |b, t, r| format!("{b} {t} - -;{}", game_result(r))),
        ("semicolon", "white", |b, t, r| format!("{b} {t} - - ;{r:.1}")),
        ("score-result", "white", |b, t, r| format!("{b} {t} - - 3 40 | -35 | {r:.1}")),
        ("pipe", "white", |b, t, r| format!("{b} {t} - - 3 40|{}", game_result(r))),
        ("texelutil", "white", |b, t, r| format!("{b} {t} - - 0 1 : {r} : 12 : 15")),
        ("bare", "white", |b, t, r| format!("{b} {t} - - 0 1 {}", game_result(r))),
        ("bare", "white", |b, t, r| format!("{b} {t} - - {r:.1}")),
        ("games", "white", |b, t, r| format!("17 {r} {b} {t} - - 0 1 21")),
        ("games", "white", |b, t, r| format!("17 {} {b} {t} - - 0 1", game_result(r))),
        ("csv", "white", |b, t, r| format!("{b} {t} - - 0 1,{r},55")),
    ];
    let wanted: Vec<f32> = list.iter().map(|(_, _, r)| *r).collect();
    let mut first: Option<Dataset> = None;
    for (i, (name, view, write)) in syntaxes.iter().enumerate() {
        let lines: Vec<String> = list.iter().map(|(b, t, r)| write(b, t, *r)).collect();
        let header = if *name == "csv" { "fen,wdl,cp\n" } else { "" };
        // Line ends, marks, comments and blank lines change nothing.
        let text = match i % 3 {
            0 => format!("{header}{}\n", lines.join("\n")),
            1 => format!("\u{feff}# comment\r\n\r\n{header}{}", lines.join("\r\n")),
            _ => format!("\n{header}{}\n\n\n", lines.join("\n")),
        };
        let path = bench.write("in.txt", text);
        let (report, data) = bench.extract([path.to_str().unwrap()]);
        let source = &report["sources"][0];
        assert_eq!((source["labels"].as_str(), source["point_of_view"].as_str()), (Some(*name), Some(*view)));
        assert_eq!(results(&data), wanted, "{name} {view}");
        assert_eq!(source["verdict"], "agree", "{name} {view}: {source}");
        assert_eq!(data.has_games(), *name == "games");
        let first = first.get_or_insert_with(|| data.clone());
        assert_eq!(data.row(7).entries().collect::<Vec<_>>(), first.row(7).entries().collect::<Vec<_>>());
        let score = data.search_scores().first().copied();
        match *name {
            "score-result" => assert_eq!(score, Some(-35.0)),
            "c9-score" => assert_eq!(score, Some(33.0)),
            "texelutil" => assert_eq!(score, Some(12.0)),
            "csv" => assert_eq!(score, Some(55.0)),
            "games" => assert_eq!(score, (i % 2 == 1).then_some(21.0)),
            _ => assert_eq!(score, None),
        }
        // The result is the same if the syntax is named.
        let (_, again) = bench.extract([path.to_str().unwrap(), "--labels", name, "--pov", view]);
        assert_eq!(results(&again), wanted, "{name} {view}");
    }
}

#[test]
fn reads_positions_written_for_engines() {
    let bench = Bench::new();
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst");
    bench.told(["extract", sample, "--share", "0.05", "--positions", "p.fens"]);
    let text = bench.text("p.fens");
    // Some of its positions have no score.
    let scored = text.lines().filter(|line| line.split(' ').count() == 9).count();
    assert!(scored > 1000 && scored < text.lines().count(), "{scored}");
    let own = "--keep-captures --keep-checks --keep-duplicates";
    let path = |name: &str| bench.path(name).to_str().unwrap().to_string();
    for name in ["p.epd", "p.txt", "again.fens"] {
        bench.told(["convert", "p.fens", "-o", name]);
        let missing = if name == "p.txt" { text.lines().count() - scored } else { 0 };
        let (_, data) = bench.extract((&[path(name).as_str()], own));
        assert_eq!(data.len(), text.lines().count() - missing, "{name}");
        let known = data.search_scores().iter().filter(|score| !score.is_nan()).count();
        assert_eq!(known, scored, "{name}");
    }
    assert_eq!(bench.bytes("again.fens"), bench.bytes("p.fens"));
    let weighted: String = text.lines().map(|line| format!("{line} 0.5\n")).collect();
    bench.write("w.fens", weighted);
    bench.fails_with("extract w.fens -o w.bin", 1, "a weight follows the score");
}

#[test]
fn compression_and_standard_input_change_nothing() {
    let bench = Bench::new();
    let text: String = positions(200).iter().map(|(b, t, r)| format!("{b} {t} - - [{r:.1}]\n")).collect();
    bench.write("plain.epd", &text);
    bench.extract("plain.epd");
    let wanted = tensors(&bench.path("out.bin"));
    bench.write("misnamed.txt", zstd::encode_all(text.as_bytes(), 3).unwrap());
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    bench.write("x.epd.gz", &gz);
    // Two concatenated members or frames are one file.
    let (head, tail) = text.split_at(text.len() / 2);
    let frames = [head, tail].map(|part| zstd::encode_all(part.as_bytes(), 1).unwrap()).concat();
    bench.write("frames.zst", &frames);
    let skippable = [&b"\x50\x2a\x4d\x18\x04\0\0\0abcd"[..], &frames].concat();
    bench.write("skippable.zst", skippable);
    for (args, stdin) in [
        (vec!["misnamed.txt"], Vec::new()),
        (vec!["x.epd.gz"], Vec::new()),
        (vec!["frames.zst"], Vec::new()),
        (vec!["skippable.zst"], Vec::new()),
        (vec!["-"], text.clone().into_bytes()),
        (vec!["-", "--threads", "3"], gz.clone()),
    ] {
        bench.extract_from(&args, stdin);
        assert_eq!(tensors(&bench.path("out.bin")), wanted, "{args:?}");
    }
    bench.write("cut.zst", &zstd::encode_all(text.as_bytes(), 3).unwrap()[..200]);
    bench.refuse_with("cut.zst", 1, "damaged or cut short");
    bench.write("x.7z", b"7z\xbc\xaf\x27\x1c");
    bench.refuse_with("x.7z", 1, "x.7z: is packed with 7z; unpack it first");
}

#[test]
fn reads_unambiguous_result_words() {
    let bench = Bench::new();
    let wanted: Vec<f32> = positions(1000).iter().map(|(_, _, r)| *r).collect();
    let word = |words: [&'static str; 3], r: f32| words[(2.0 * r) as usize];
    let own = |t: &str, r: f32| if t == "b" { 1.0 - r } else { r };
    bench.write("winner.epd", scheme(1000, |_, _, r| format!(";{}", word(["b", "d", "w"], r))));
    bench.write("white.epd", scheme(1000, |_, _, r| format!("[{}]", word(["L", "D", "W"], r))));
    bench.write("stm.epd", scheme(1000, |_, t, r| format!("; {}", word(["loss", "draw", "win"], own(t, r)))));
    for (args, scale, view) in [
        ("winner.epd", "wdb", "white"),
        ("white.epd --results wdl", "wdl", "white"),
        ("stm.epd --results wdl", "wdl", "stm"),
        ("stm.epd --results wdl --pov stm", "wdl", "stm"),
    ] {
        let (report, data) = bench.extract(args);
        let source = &report["sources"][0];
        assert_eq!((&source["results"], &source["point_of_view"]), (&scale.into(), &view.into()), "{args:?}");
        assert_eq!(results(&data), wanted, "{args:?}");
    }
    // Without the setting, L may be a loss for White or for the side to move.
    bench.refuse_with("white.epd", 1, "--results wdl w, d and l as won, drawn");
    // A letter of the other scale, however late and rare, makes all others ambiguous.
    let late = |i: usize, r: f32| if i == 4990 { ";l" } else { [";b", ";d", ";w"][(2.0 * r) as usize] };
    let text: String = (0..5).map(|_| scheme(1000, |i, _, r| late(i, r).to_string())).collect();
    bench.write("mixed.epd", text.replacen(";d", ";l", 1));
    for args in ["mixed.epd", "mixed.epd --results wdb"] {
        bench.refuse_with(args, 1, ["word", "mixed.epd:1:"]);
    }
    bench.write(
        "percent.csv",
        format!("fen,win%\n{}", {
            let line = |(b, t, r): &(String, &str, f32)| format!("{b} {t} - - 0 1,{}\n", 100.0 * r);
            positions(1000).iter().map(line).collect::<String>()
        }),
    );
    let (report, data) = bench.extract("percent.csv");
    assert_eq!((&report["sources"][0]["results"], results(&data)), (&"0..100".into(), wanted));
}

#[test]
fn game_numbers_follow_the_inputs() {
    let bench = Bench::new();
    bench.write(
        "g.pgn",
        [pgn("", GAME, "1-0"), pgn("", &GAME.replace("9. h3 Nb8", "9. d3 Na5"), "0-1")].concat(),
    );
    let text: String = positions(4).iter().map(|(b, t, _)| format!("{b} {t} - - [0.5]\n")).collect();
    bench.write("t.epd", text);
    let (report, data) = bench.extract("t.epd g.pgn");
    assert_eq!(report["games"], 6);
    let games: Vec<u32> = (0..data.len()).map(|n| data.game(n)).collect();
    assert_eq!(games[..5], [0, 1, 2, 3, 4]);
    assert_eq!((games[14], games[15], *games.last().unwrap()), (4, 5, 5));
    // The game column of texelutil is used, with games in order of their first position.
    let text: String = positions(6)
        .iter()
        .enumerate()
        .map(|(i, (b, t, _))| format!("{b} {t} - - 0 1 : 0.5 : 3 : 4 : {}\n", 70 + i % 3))
        .collect();
    bench.write("x.txt", text);
    let (_, data) = bench.extract("x.txt");
    assert_eq!((0..6).map(|n| data.game(n)).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(data.metadata().games, 3);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let bench = Bench::new();
    // Several chunks of each kind, with duplicates across them.
    let list = positions(2048);
    let text: String = (0..40_000)
        .map(|i| {
            let (b, t, r) = &list[(i * 7919) % list.len()];
            let broken = if i % 500 == 0 { "x" } else { "" };
            format!("{broken}{b} {t} - - {} {} [{r:.1}]\n", i % 90, i % 300)
        })
        .collect();
    bench.write("t.epd", text);
    let comment = "x".repeat(900);
    let games: String = (0..3000)
        .map(|i| {
            let (a, b) = (["a3", "b3", "c3", "g3"][i % 4], ["a6", "b6", "c6", "g6"][(i / 4) % 4]);
            pgn(
                "",
                &format!("1. {a} {b} {{{comment}}} 2. Nh3 Nh6 3. Nf4 Nf5 4. Nd3 Nd6 5. e3 e6 6. f3 f6"),
                ["1-0", "0-1"][i % 2],
            )
        })
        .collect();
    bench.write("g.pgn", games);
    for extra in ["", "--keep-duplicates"] {
        let run = |threads| {
            bench.extract((&["t.epd", "g.pgn", "--threads", threads], extra));
            std::fs::read(bench.path("out.bin")).unwrap()
        };
        let one = run("1");
        assert_eq!(one, run("2"));
        assert_eq!(one, run("7"));
    }
}

#[test]
fn reports_bad_lines_and_stops_at_too_many() {
    let bench = Bench::new();
    let list = positions(2000);
    let with_broken = |every: usize| -> String {
        list.iter()
            .enumerate()
            .map(|(i, (b, t, r))| match i % every {
                5 if i % 2 == 0 => format!("{b} {t} - -\n"),
                5 => format!("K{b} {t} - - [{r:.1}]\n"),
                _ => format!("{b} {t} - - [{r:.1}]\n"),
            })
            .collect()
    };
    bench.write("one.epd", with_broken(101));
    let (report, data) = bench.extract("one.epd");
    let source = &report["sources"][0];
    assert_eq!(source["bad_lines"], 20);
    assert_eq!(data.len(), 1980);
    let complaints: Vec<&str> = source["complaints"].texts();
    assert_eq!(complaints.len(), 5);
    assert_eq!(complaints[1], "one.epd:107: no result after the position");
    assert!(
        complaints[0].starts_with("one.epd:6: not a position") || complaints[0].contains("one.epd:6: "),
        "{complaints:?}"
    );
    let half: String = list
        .iter()
        .enumerate()
        .map(|(i, (b, t, r))| if i % 2 == 0 { format!("{b} {t} - - [{r:.1}]\n") } else { "broken\n".into() })
        .collect();
    bench.write("half.epd", half);
    let why = "half.epd: 1000 of 2000 lines cannot be used (50.0 %, the limit is 10.0 %)";
    let error = bench.refuse_with("half.epd", 1, why);
    assert!(error.contains("half.epd:2: not a position"), "{error}");
    bench.extract("half.epd --max-bad-share 0.6");
}

#[test]
fn warns_about_doubtful_points_of_view() {
    let bench = Bench::new();
    let list = positions(1500);
    let lines = |flip: &dyn Fn(usize, &str) -> bool| -> String {
        list.iter()
            .enumerate()
            .map(|(i, (b, t, r))| format!("{b} {t} - - [{:.1}]\n", if flip(i, t) { 1.0 - r } else { *r }))
            .collect()
    };
    let report = |name: &str, text: String, args: &str| {
        bench.write(name, text);
        bench.extract((&[name], args)).0["sources"][0].clone()
    };
    let wrong = report("w.epd", lines(&|_, t| t == "b"), "--pov white");
    assert_eq!(wrong["verdict"], "wrong-point-of-view");
    assert!(wrong["warnings"].to_string().contains("try the point of view stm"), "{wrong}");
    // Reversed results are not written unless requested.
    bench.write("r.epd", lines(&|_, _| true));
    for args in ["r.epd", "r.epd --pov white"] {
        let error = bench.refuse_with(args, 1, "as if Black's wins were the higher number");
        assert!(error.contains("--pov white --results 1..0"), "{error}");
    }
    let reversed = report("r.epd", lines(&|_, _| true), "--pov white --results 0..1");
    assert_eq!(reversed["verdict"], "reversed");
    let (mended, data) = bench.extract("r.epd --pov white --results 1..0");
    assert_eq!(mended["sources"][0]["verdict"], "agree");
    assert_eq!(results(&data), list.iter().map(|(_, _, r)| *r).collect::<Vec<_>>());
    // From the view of the side that has just moved, as some programs print it.
    bench.write("moved.epd", lines(&|_, t| t == "w"));
    bench.refuse_with("moved.epd", 1, ["the side that has just moved", "--pov stm --results 1..0"]);
    let (_, data) = bench.extract("moved.epd --pov stm --results 1..0");
    assert_eq!(results(&data), list.iter().map(|(_, _, r)| *r).collect::<Vec<_>>());
    bench.write("m.epd", lines(&|i, t| t == "b" && i % 2 == 0));
    bench.refuse_with("m.epd", 1, "different points of view seem to be mixed");
    let mixed = report("m.epd", lines(&|i, t| t == "b" && i % 2 == 0), "--pov white");
    assert_eq!(mixed["verdict"], "mixed-point-of-view", "{mixed}");
    let stm = report("s.epd", lines(&|_, t| t == "b"), "");
    assert_eq!((stm["point_of_view"].as_str(), stm["verdict"].as_str()), (Some("stm"), Some("agree")));
    let (_, text, _) = bench.run("extract w.epd -o y.bin");
    assert!(text.contains("point of view side to move: with Black to move"), "{text}");
}

/// Returns lines of [`positions`] with results written in a scheme.
pub fn scheme(count: usize, write: impl Fn(usize, &str, f32) -> String) -> String {
    let list = positions(count);
    let lines = list.iter().enumerate();
    lines.map(|(i, (b, t, r))| format!("{b} {t} - - {}\n", write(i, t, *r))).collect()
}

#[test]
fn reads_other_result_scales_only_when_named() {
    let bench = Bench::new();
    // The decisive class is rare, and occurs after the part that detection examines.
    let wanted = |i: usize, r: f32| if r == 0.0 && i < 8000 { 0.5 } else { r };
    let written = |i: usize, r: f32, of: [&str; 3]| {
        let value = wanted(i, r);
        let text = if value == 0.0 {
            of[0]
        } else if value == 0.5 {
            of[1]
        } else {
            of[2]
        };
        format!("[{text}]")
    };
    for (scale, of, sign) in [
        ("-1..1", ["-1", "0", "1"], "the result -1"),
        ("-1..1", ["-1.0", "0.0", "1.0"], "the result -1"),
        ("2..0", ["2", "1", "0"], "the result 2"),
        ("100..0", ["100", "50", "0"], "the result 50 or 100"),
    ] {
        let text = scheme(8200, |i, _, r| written(i, r, of)).replace(" - - ", " - - 0 1 ");
        bench.write("x.epd", text);
        bench.refuse_with("x.epd", 1, ["x.epd:", "--results", sign]);
        let (report, data) = bench.extract(["x.epd", "--results", scale, "--keep-duplicates"]);
        assert_eq!(report["sources"][0]["results"], scale);
        assert_eq!(report["sources"][0]["bad_lines"], 0);
        let list = positions(8200);
        let right: Vec<f32> = list.iter().enumerate().map(|(i, (_, _, r))| wanted(i, *r)).collect();
        assert_eq!(results(&data), right, "{of:?}");
    }
    // If every class is frequent, the many bad lines are explained.
    bench.write("all.epd", scheme(2000, |_, _, r| format!("[{}]", 2.0 * r - 1.0)));
    bench.refuse_with("all.epd", 1, "extract --results -1..1 reads");
    bench.write(
        "stm.epd",
        scheme(2000, |_, t, r| format!("[{}]", (2.0 * r - 1.0) * if t == "b" { -1.0 } else { 1.0 })),
    );
    let (report, data) = bench.extract("stm.epd --results -1..1");
    assert_eq!(report["sources"][0]["point_of_view"], "stm");
    assert_eq!(results(&data), positions(2000).iter().map(|(_, _, r)| *r).collect::<Vec<_>>());
    // One line is enough, and the message shows it; if the scale is named, it is one bad line.
    bench.write(
        "one.epd",
        scheme(1000, |i, _, r| if i == 700 { "[-1]".into() } else { format!("[{}]", r.round()) }),
    );
    bench.refuse_with("one.epd", 1, "one.epd:701: 1 line has the result -1");
    let (report, _) = bench.extract("one.epd --results 0..1");
    assert_eq!(report["sources"][0]["complaints"][0], "one.epd:701: the result -1 is not from 0 to 1");
    // Next to draws it is a marker for something else: left out, with a warning.
    bench.write("mark.epd", scheme(1000, |i, _, r| if i == 700 { "[-1]".into() } else { format!("[{r}]") }));
    let (report, data) = bench.extract("mark.epd");
    assert_eq!((data.len(), report["sources"][0]["bad_lines"].as_u64()), (999, Some(1)));
    assert_has(report["sources"][0]["warnings"][0].str(), "1 results of -1 or 2");
    // Letters.
    bench.write(
        "letters.epd",
        scheme(1000, |i, _, r| if i % 50 == 0 { "[D]".into() } else { format!("[{r}]") }),
    );
    bench.refuse_with("letters.epd", 1, "letters.epd:1: 20 lines have a word or letter");
    // Only 0 and 1: reported, with a warning if 0 is a draw judging by material.
    bench.write(
        "decisive.epd",
        scheme(1500, |i, _, r| format!("[{}]", if i % 5 == 0 { f32::from(i % 2 == 0) } else { r })),
    );
    let (report, _) = bench.extract("decisive.epd");
    assert!(report["sources"][0]["warnings"][0].str().starts_with("no result is a draw"), "{report}");
    bench.write(
        "won.epd",
        scheme(2000, |i, _, _| match (i / 128) % 2 {
            // White is ahead: won or drawn. Black is ahead: drawn, if the game has a result.
            0 => format!("[{}]", i32::from(i % 2 == 0)),
            _ if i % 2 == 0 => "[*]".to_string(),
            _ => "[0]".to_string(),
        }),
    );
    bench.refuse_with("won.epd", 1, "extract --results -1..1 reads 0 as a draw");
    bench.extract("won.epd --results 0..1");
    bench.refuse_with("scale.epd --results 1..1", 2, "results '1..1'");
    let error = bench.refuse_from("- --results -1..1", pgn("", GAME, "1-0"), 2);
    assert_has(&error, "only apply to labeled positions in text");
    bench.write("half.epd", scheme(2000, |_, _, r| format!("[{r}]")));
    let (report, _) = bench.extract("half.epd --results -1..1");
    assert!(report["sources"][0]["warnings"].to_string().contains("no result is below 0"), "{report}");
}

#[test]
fn scores_and_results_have_separate_points_of_view() {
    let bench = Bench::new();
    let list = positions(1500);
    // Scores agree with material; results do if they are decisive.
    let lines = |results: &str, scores: &str, sign: f32| -> String {
        let turned = |view: &str, t: &str| view == "stm" && t == "b";
        let line = |(b, t, r): &(String, &str, f32)| {
            let score = sign * if b.contains('N') { 310.0 } else { -310.0 };
            let score = if turned(scores, t) { -score } else { score };
            format!("{b} {t} - - | {score} | {:.1}\n", if turned(results, t) { 1.0 - r } else { *r })
        };
        list.iter().map(line).collect()
    };
    let wanted: Vec<f32> =
        list.iter().map(|(b, _, _)| if b.contains('N') { 310.0 } else { -310.0 }).collect();
    for (results_view, score_view) in [("white", "white"), ("white", "stm"), ("stm", "white"), ("stm", "stm")]
    {
        bench.write("x.txt", lines(results_view, score_view, 1.0));
        let right = |args: &[&str]| {
            let (report, data) = bench.extract(("x.txt", args));
            let source = &report["sources"][0];
            assert_eq!(source["point_of_view"], results_view);
            assert_eq!(results(&data), list.iter().map(|(_, _, r)| *r).collect::<Vec<_>>());
            assert_eq!(data.search_scores(), wanted, "{results_view} {score_view} {args:?}");
            let other = (results_view != score_view).then_some(score_view);
            assert_eq!(source["score_point_of_view"].as_str(), other, "{source}");
            let unusual = usize::from(results_view == "stm" && args.is_empty());
            assert_eq!(source["warnings"].list().len(), unusual, "{source}");
        };
        right(&[]);
        right(&["--pov", results_view]);
        right(&["--pov", results_view, "--score-pov", score_view]);
        bench.done("check out.bin");
        let (_, out, _) = bench.run("extract x.txt -o y.bin --force");
        let name = if score_view == "stm" { "side to move" } else { "white" };
        assert!(out.contains(&format!("point of view of scores {name}: with Black to move")), "{out}");
    }
    // Explicit settings are followed, with a warning.
    bench.write("x.txt", lines("white", "stm", 1.0));
    let (report, _) = bench.extract("x.txt --score-pov white");
    assert!(report["sources"][0]["warnings"].to_string().contains("scores look like stm"), "{report}");
    // Scores from Black's view match no setting.
    bench.write("black.txt", lines("white", "white", -1.0));
    bench.refuse_with("black.txt", 1, "scores contradict material as if they were Black's");
    bench.refuse_with("x.txt --score-pov black", 2, "point of view 'black'");
}

#[test]
#[ignore = "full"]
fn public_positions_are_all_kept() {
    let Some(path) = shared("epd/engine-725k.c9.epd.zst") else { return };
    let bench = Bench::new();
    let (report, data) = bench.extract([path.to_str().unwrap()]);
    assert_eq!(data.len(), 725_000);
    let results = &report["results"];
    assert_eq!(
        (results["white"].as_u64(), results["draws"].as_u64(), results["black"].as_u64()),
        (Some(260_670), Some(401_642), Some(62_688))
    );
    assert_eq!(report["sources"][0]["verdict"], "agree");
}
