//! The report of a match.

use crate::common::prelude::*;

#[test]
fn matches_leave_reports() {
    let bench = Bench::new();
    let material = "material:100,300,320,500,900";
    let common = ["--nodes", "30", "--games", "24", "--sprt", "elo0=0,elo1=2", "--concurrency", "1"];
    let (out, _) = bench.done((&["match", material, "zero"], (&common, "--out m")));
    assert!(out.ends_with("report      m/report.html\n"), "{out}");
    let page = bench.text("m/report.html");
    for text in
        ["Elo over games", "Sequential test", "White won both games", "built-in engine with", "finished"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"), "{page}");
    // It can be created again, elsewhere, and does not prevent the match from being resumed.
    bench.told("report m -o again.html");
    assert_eq!(bench.bytes("again.html"), bench.bytes("m/report.html"));
    bench.fails_with("report m --dataset d.bin", 2, "needs no positions");
    let journal = bench.text("m/match.jsonl");
    let lines: Vec<&str> = journal.lines().collect();
    // An incomplete line is ignored.
    bench.write("m/match.jsonl", format!("{}\n{{\"pair\":", lines[..4].join("\n")));
    bench.told("report m");
    let page = bench.text("m/report.html");
    assert!(page.contains("not final") && page.contains("6 of at most 24 games"), "{page}");
    bench.done("match --resume m");
    // Except for the speed of the engines it is the same page.
    let before_engines = |name: &str| {
        let page = bench.text(name);
        page.split_once("What the engines did").unwrap().0.to_string()
    };
    assert!(before_engines("m/report.html") == before_engines("again.html"));
    bench.write("m/match.jsonl", journal.replacen("{\"pair\":1,", "{\"pair\":x,", 1));
    bench.fails_with("report m", 1, "match.jsonl:3: not the journal of a match, or damaged");
}

#[test]
fn names_cannot_break_the_page() {
    let bench = Bench::new();
    let journal = {
        bench.run("match material zero --nodes 20 --games 2 --out m");
        bench.text("m/match.jsonl")
    };
    let evil = "<script>alert(1)</script>\\\"'&";
    bench.write(
        "m/match.jsonl",
        journal.replacen("\"name\":\"material\"", &format!("\"name\":\"{evil}\""), 1),
    );
    bench.told("report m");
    let page = bench.text("m/report.html");
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script"), "{page}");
}
