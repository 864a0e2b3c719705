//! Blocks that build on each other.

use super::bench;
use crate::common::prelude::*;
use std::fmt::Write as _;

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
