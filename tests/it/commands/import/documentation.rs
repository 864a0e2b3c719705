//! The programs and the schema of `docs/import.md`, compiled and run as written.

use crate::common::prelude::*;

/// Returns the first block of the page in a language.
fn block(language: &str) -> String {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/import.md"));
    let start = format!("```{language}\n");
    let from = page.find(&start).unwrap() + start.len();
    page[from..from + page[from..].find("```").unwrap()].to_string()
}

/// Compiles and runs one, whose trace must import and pass the check; `None` without a compiler.
fn run(language: &str, compiler: &str, args: &[&str]) -> Option<String> {
    let bench = Bench::new();
    bench.write("schema.json", block("json"));
    bench.write(args[0], block(language));
    if !requirement::program(compiler) {
        return None;
    }
    bench.compile(&format!("{compiler} {}", args.join(" ")));
    bench.write("lines.txt", game_lines(600));
    let (code, _, err) = bench.shell("./printer < lines.txt > trace.svm");
    assert_eq!((code, err.as_str()), (0, ""));
    let out = bench.ok("check trace.svm --schema schema.json");
    assert!(out.contains("0 of 600 differ"), "{out}");
    bench.ok("import trace.svm --schema schema.json -o d.bin --max-bad-share 0");
    let data = bench.read("d.bin");
    assert_eq!((data.len(), data.metadata().games), (600, 30));
    bench.tune("d.bin --out run --l2 0.01");
    Some(bench.text("trace.svm"))
}

#[test]
#[ignore = "full"]
fn both_programs_print_the_same_trace() {
    let cpp = run("cpp", "g++", &["printer.cpp", "-std=c++17", "-Wall", "-Wextra", "-o", "printer"]);
    let rust = run("rust", "rustc", &["printer.rs", "--edition", "2024", "-o", "printer"]);
    if let (Some(cpp), Some(rust)) = (cpp, rust) {
        assert!(cpp == rust);
    }
}
