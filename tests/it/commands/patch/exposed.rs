//! `gputexel patch expose` and `restore`, with compilers.

use super::*;

/// Exposes sources, compiles them, and checks what the program prints with values and without; then restores them.
fn check(sources: &[(&str, &str)], compiler: &str, values: &str, printed: [&str; 2]) {
    if !requirement::program(compiler.split(' ').next().unwrap()) {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("src")).unwrap();
    let names: Vec<&str> = sources.iter().map(|(name, _)| *name).collect();
    for (name, text) in sources {
        bench.write(name, text);
    }
    let program = |environment: &str| bench.shell(&format!("{environment} ./program"));
    bench.compile(compiler);
    assert_eq!(program("").1.trim(), printed[0]);
    bench.ok(("patch expose", &names[..]));
    bench.compile(compiler);
    assert_eq!(program("").1.trim(), printed[0]);
    bench.write("v.txt", values);
    assert_eq!(program("GPUTEXEL_VALUES=v.txt").1.trim(), printed[1]);
    for (text, expected) in [
        ("nothing 1\n", "bad.txt:1: there is no value called nothing"),
        ("\ntempo x\n", "bad.txt:2: no number for tempo"),
        ("tempo 1.5\n", "bad.txt:1: no whole number for tempo"),
        ("tempo\n", "bad.txt:1: expected a name and a number"),
        ("tempo 1\ntempo 1\n", "bad.txt:2: there is another value of tempo"),
    ] {
        bench.write("bad.txt", text);
        let (code, out, err) = program("GPUTEXEL_VALUES=bad.txt");
        assert_eq!((code, out.as_str(), err.trim()), (1, "", expected));
    }
    let mut list = bench.text("src/gputexel_values.params");
    for line in values.lines() {
        let (name, value) = line.split_once(' ').unwrap();
        let at = list.find(&format!("{name}, ")).unwrap();
        let start = at + list[at..].match_indices(", ").nth(1).unwrap().0 + 2;
        let end = start + list[start..].find(',').unwrap();
        list.replace_range(start..end, value);
    }
    bench.write("tuned.params", list);
    let restore = [&["patch", "restore"][..], &names].concat();
    bench.ok(&[&restore[..], &["--params", "tuned.params"]].concat()[..]);
    bench.compile(compiler);
    assert_eq!(program("GPUTEXEL_VALUES=bad.txt").1.trim(), printed[1]);
    bench.ok("patch undo src");
    bench.ok(&restore[..]);
    for (name, text) in sources {
        assert_eq!(bench.text(name), *text);
    }
}

#[test]
#[ignore = "full"]
fn tables_of_c_are_filled_before_main() {
    let table = "#pragma once\n// gputexel: worth.both\nstatic const int worth[2][2] = {{1, 2}, /* two */ {3, 4}};\n#define TEMPO 10 // gputexel: tempo\nint extra(int n);\n";
    let extra = "#include \"a.h\"\nstatic int first;\n__attribute__((constructor(1001))) static void prepare(void) { first = worth[0][0]; }\nint extra(int n) {\n    static const int steps[3] = {5, -6, 7}; // gputexel: steps\n    return steps[n] + TEMPO + 10000 * first;\n}\n";
    let main = "#include <stdio.h>\n#include \"a.h\"\nint main(void) {\n    int n = 100 * worth[1][0]; // gputexel: factor number 1\n    printf(\"%d\\n\", n + TEMPO + extra(1));\n    return 0;\n}\n";
    let sources = [("src/a.h", table), ("src/extra.c", extra), ("src/main.c", main)];
    let values = "worth_0_0 2\nworth_1_0 30\ntempo 11\nsteps_1 -7\nfactor 200\n";
    check(
        &sources,
        "gcc -std=c11 -Wall -Wextra -o program src/extra.c src/main.c",
        values,
        ["10314", "26015"],
    );
}
