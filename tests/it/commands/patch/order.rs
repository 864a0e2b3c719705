//! Blocks that overlap: which are refused, which build on each other, and that `check` agrees with `tune`.

use super::{bench, tune_of};
use crate::common::prelude::*;
use std::fmt::Write as _;

const SOURCE: &str = "// %%D%%\n// %%O%%\nint f(int d) {\n  a = 1;\n  b = 2;\n  c = 3;\n  return a;\n}\n";

/// Runs the blocks on the source; returns the message of `tune`, or nothing. `check` must agree, and `apply` must
/// restore the source.
fn outcome(blocks: &str) -> String {
    let bench = bench();
    bench.write("source/s.cpp", SOURCE);
    bench.write("x.tune", tune_of(blocks));
    let (checked, report, _) = bench.run("patch check x.tune source");
    let (code, out, err) = bench.run("patch tune x.tune source");
    assert_eq!(checked, code, "{blocks}\n{report}\n{out}{err}");
    if code != 0 {
        assert_eq!(bench.text("source/s.cpp"), SOURCE, "{blocks}");
        let reason = err.trim_end().strip_prefix("gputexel: ").unwrap().to_string();
        assert!(
            report.contains("no match") || report.contains("matches in") || report.contains(&reason),
            "{report}\n{err}"
        );
        return reason;
    }
    bench.done("patch check x.tune source");
    bench.done("patch apply x.tune source");
    let applied = bench.text("source/s.cpp");
    if !blocks.contains("#add") {
        assert_eq!(applied, SOURCE, "{blocks}");
    }
    bench.done("patch check x.tune source");
    bench.done("patch tune x.tune source");
    String::new()
}

#[test]
fn rejects_overlapping_contexts() {
    let b = "x.tune:7: context q: overlaps context p in line 4: ";
    // A number of the first block lies in the second, and vice versa.
    let first = outcome("#context p\na = 1@;\nb = 2;\n#context q\nb = 2@;\nc = 3@;\n");
    assert!(first.starts_with(b), "{first}");
    let second = outcome("#context p\na = 1;\nb = 2@;\n#context q\nb = 2;\nc = 3@;\n");
    assert!(second.contains("context q: no longer matches"), "{second}");
    // One block within the other.
    let within = outcome("#context p\na = 1;\nb = 2;\n#context q\nb = 2@;\n");
    assert!(within.starts_with(b), "{within}");
    for blocks in [
        "#context p\nb = 2@;\n\n#context q\na = 1;\nb = 2;\nc = 3@;\n",
        "#context p\nb = 2@;\n\n#context q\nb = 2@;\n",
    ] {
        assert_has(&outcome(blocks), "x.tune:7: context q: ");
    }
    // Lines added by an #add belong to its context.
    assert_has(&outcome("#context p\na = 1@;\n#add\na = @; x = 9;\n#context q\nx = 9@;\n"), "context q: ");
    // A plain patch, before and after.
    let plain = outcome("#context p\na = 1@;\nb = 2;\n#context\nb = 2;\n#add\nb = 4;\n");
    assert!(plain.contains("x.tune:7: unnamed context: overlaps context p in line 4: "), "{plain}");
    assert_has(&outcome("#context\na = 1;\n#add\na = 5;\n#context q\na = 5@;\n"), "x.tune:8: context q: ");
    // Markers within contexts: the declaration would split their lines.
    let marker = outcome("#context p\n// %%D%%\n// %%O%%\nint f(int d) {\na = 1@;\n");
    assert_has(&marker, ["x.tune:4: context p: ", "%%D%%"]);
    let marker = outcome("#context p\na = 1@;\n\n#context q\n// %%O%%\nint f(int d) {\na = 1;\nb = 2@;\n");
    assert!(marker.contains("context q: "), "{marker}");
}

/// The structure of YaneuraOu's lists: patches that prepare the tree for tuning come first, and most later blocks
/// build on them.
#[test]
fn accepts_lists_that_patch_their_own_tree() {
    let bench = bench();
    let mut source = "#include \"search.h\"\r\nnamespace {\r\n".to_string();
    for i in 0..12 {
        let _ = write!(
            source,
            "int margin{i}(Depth d) {{ // 枝刈り{i}\r\n\treturn {} * d - {};\r\n}}\r\n",
            i + 40,
            i
        );
    }
    source += "}\r\nvoid init() {\r\n}\r\n";
    let mut tune = "#set file s.cpp\n\n#context // the header\n #include \"search.h\"\n#add\n #include \"search.h\"\n #include \"tune.h\"\n\n\
        #context\n #include \"tune.h\"\nnamespace {\n#add\n #include \"tune.h\"\n// %%DECLARATION%%\nnamespace {\n\n\
        #context\nvoid init() {\n}\n#add\nvoid init() {\n// %%OPTIONS%%\n}\n\n\
        #set declaration %%DECLARATION%%\n#set options %%OPTIONS%%\n"
        .to_string();
    for i in 0..12 {
        let _ = writeln!(
            tune,
            "#context margin{i}\nint margin{i}(Depth d) {{ // 枝刈り{i}\n return 1@ * d - 1@base;\n}}\n"
        );
    }
    bench.write("source/s.cpp", &source);
    bench.write("x.tune", &tune);
    let check = || bench.run("patch check x.tune source");
    let (code, out, _) = check();
    assert_eq!(code, 0, "{out}");
    assert_has(
        &out,
        [
            "source/s.cpp:1: unnamed (block in line 3): matches",
            "source/s.cpp:3: margin0 (block in line 27): matches, margin0_1 = 40, margin0_base = 0",
        ],
    );
    bench.done("patch tune x.tune source");
    let (code, out, _) = check();
    assert_eq!(code, 0, "{out}");
    bench.write("x.params", bench.text("x.params").replace("margin3_1, int, 43.0", "margin3_1, int, 44.0"));
    bench.done("patch apply x.tune source");
    let prepared = source
        .replace(
            "#include \"search.h\"\r\n",
            "#include \"search.h\"\r\n#include \"tune.h\"\r\n// %%DECLARATION%%\r\n",
        )
        .replace("init() {\r\n", "init() {\r\n// %%OPTIONS%%\r\n");
    let applied = bench.text("source/s.cpp");
    assert_eq!(applied.replace(" #include", "#include"), prepared.replace("return 43 * d", "return 44 * d"));
    assert_eq!((check().0, bench.run("patch tune x.tune source").0), (0, 0));
}
