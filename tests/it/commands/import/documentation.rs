//! The program and the schema of `docs/import.md`, compiled and run as written.

use crate::common::prelude::*;

/// Returns the first block of the page in a language.
fn block(language: &str) -> String {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/import.md"));
    let start = format!("```{language}\n");
    let from = page.find(&start).unwrap() + start.len();
    page[from..from + page[from..].find("```").unwrap()].to_string()
}

#[test]
#[ignore = "full"]
fn the_program_prints_a_trace_of_the_schema() {
    let bench = Bench::new();
    bench.write("schema.json", block("json"));
    bench.write("printer.cpp", block("cpp"));
    if !requirement::program("g++") {
        return;
    }
    bench.compile("g++ printer.cpp -std=c++17 -Wall -Wextra -o printer");
    bench.write("lines.txt", game_lines(600));
    let (code, _, err) = bench.shell("./printer < lines.txt > trace.svm");
    assert_eq!((code, err.as_str()), (0, ""));
    let out = bench.ok("check trace.svm --schema schema.json");
    assert!(out.contains("0 of 600 differ"), "{out}");
    bench.ok("import trace.svm --schema schema.json -o d.bin --max-bad-share 0");
    let data = bench.read("d.bin");
    assert_eq!((data.len(), data.metadata().games), (600, 30));
    bench.tune("d.bin --out run --l2 0.01");
}
