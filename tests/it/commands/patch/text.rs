//! Sources as text: encodings, numbers, names, and messages about them.

use super::{SOURCE, bench, ok, tune_of};
use crate::common::prelude::*;

#[test]
fn sources_in_other_encodings_keep_their_bytes() {
    // "// 評価値のマージン" and "// 表" (whose second byte is a backslash) in Shift-JIS, "// Größe" in Latin-1.
    let shift_jis: &[u8] =
        b"// \x95\x5d\x89\xbf\x92\x6c\x82\xcc\x83\x7d\x81\x5b\x83\x57\x83\x93\n// \x95\x5c\n";
    let latin: &[u8] = b"// Gr\xf6\xdfe \xe9\x40\n";
    for head in [shift_jis, latin] {
        let bench = bench();
        let source = |text: &str| [head, text.as_bytes()].concat();
        bench.write("source/s.cpp", source(SOURCE));
        bench.done("patch tune x.tune source");
        assert_ne!(bench.bytes("source/s.cpp"), source(SOURCE));
        bench.done("patch apply x.tune source");
        assert_eq!(bench.bytes("source/s.cpp"), source(SOURCE));
        bench.write("x.params", bench.text("x.params").replace("100.0,", "130.0,"));
        bench.done("patch apply x.tune source");
        assert_eq!(bench.bytes("source/s.cpp"), source(&SOURCE.replace("100 * d", "130 * d")));
        // A letter that the source cannot hold is not replaced by a question mark.
        bench.write("x.tune", tune_of("#context f\nint m = 1@ * d - 1@;\n#add %%D%%\nint @; int @; // ☃\n"));
        bench.write("source/s.cpp", source(SOURCE));
        bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: is not in UTF-8, and cannot hold '☃'");
        assert_eq!(bench.bytes("source/s.cpp"), source(SOURCE));
    }
}

#[test]
fn names_may_hold_underscores() {
    let bench = bench();
    bench.write(
        "x.tune",
        tune_of("#context f\nint m = 1@per_depth * d - 1@_;\n#add\nint m = @per_depth * d - @_;\n"),
    );
    ok(&bench, "tune x.tune source");
    assert!(bench.text("source/s.cpp").contains("  int m = f_per_depth * d - f__;\n"));
    assert!(bench.text("x.params").starts_with("f_per_depth, int, 100.0"));
    ok(&bench, "apply x.tune source");
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
    // Names that become equal are refused, however they are composed.
    bench.write("x.tune", tune_of("#context f\nint m = 1@a_1 * d - 25;\n#context f_a\nreturn 5@;\n"));
    let why = "x.tune:6: f_a_1 is the name of a parameter of line 4 already";
    bench.fails_with("patch tune x.tune source", 1, why);
}

#[test]
fn init_marks_possible_parameters() {
    let bench = bench();
    for case in [
        // Sizes and indices, including whole expressions; values in braces are marked.
        "a.cpp ~ int a[2 * 4][N + 1] = {5, b[i + 2], c[f(3)]};\n ~ 1 ~ int a[2 * 4][N + 1] = {5@, b[i + 2], c[f(3)]};\n",
        "a.cpp ~ std::array<int, 8> a = {7};\n ~ 1 ~ std::array<int, 8> a = {7@};\n",
        // Constants that span lines; the code after them is marked again.
        "a.cpp ~ constexpr int T[] = {\n  1, 2,\n  3};\nint x = 4;\n ~ 1-4 ~ constexpr int T[] = {\n  1, 2,\n  3};\nint x = 4@;\n",
        "a.cpp ~ constexpr int f(int x) {\n  return 5 * x;\n}\nint y = 6;\n ~ 2-4 ~   return 5 * x;\n}\nint y = 6@;\n",
        "a.cpp ~ enum E : int {\n  A = 5,\n  B = 6 };\nint z = 7;\n ~ 2-4 ~   A = 5,\n  B = 6 };\nint z = 7@;\n",
        "a.cpp ~ switch (x) { case A + 1: case 2 ... 4: y = 5; }\n ~ 1 ~ switch (x) { case A + 1: case 2 ... 4: y = 5@; }\n",
        "a.cpp ~ #if A > \\\n  5\nint x = 6;\n ~ 2-3 ~   5\nint x = 6@;\n",
        "a.cpp ~ #define A \\\n  5\n ~ 1-2 ~  #define A \\\n  5@\n",
        "a.cpp ~ template <int N = 5> int f() { return 6; }\n ~ 1 ~ template <int N = 5> int f() { return 6@; }\n",
        // Shifts and comparisons are not brackets.
        "a.cpp ~ int x = a << 3, y = b >> 4, z = c < 5 && d > 6;\n ~ 1 ~ int x = a << 3@, y = b >> 4@, z = c < 5@ && d > 6@;\n",
        // Comments and strings that span lines.
        "a.cpp ~ /* 1\n 2 */ int x = 3; // 4 \\\n 5\nint y = 6;\n ~ 2-4 ~  2 */ int x = 3@; // 4 \\\n 5\nint y = 6@;\n",
        // Rust's constants and statics, the bodies of constant functions, lengths, patterns.
        "a.rs ~ pub static X: [i32; 2] = [\n 5, 6];\nlet y = 7;\n ~ 2-3 ~  5, 6];\nlet y = 7@;\n",
        "a.rs ~ const fn f(x: i32) -> i32 {\n  x * 5\n}\nfn g() -> i32 { 6 }\n ~ 2-4 ~   x * 5\n}\nfn g() -> i32 { 6@ }\n",
        "a.rs ~ let a: [i32; 2 * 4] = [1, 2]; let b = [7; 64]; c[3] = 5;\n ~ 1 ~ let a: [i32; 2 * 4] = [1@, 2@]; let b = [7@; 64]; c[3] = 5@;\n",
        // C# and Go have constants, too.
        "a.cs ~ const int X = 5; int y = 6;\n ~ 1 ~ const int X = 5; int y = 6@;\n",
        "a.go ~ const (\n A = 5\n B = 6\n)\nvar y = [3]int{7, 8}\n ~ 2-5 ~  A = 5\n B = 6\n)\nvar y = [3]int{7@, 8@}\n",
        "a.py ~ x = [1, 2]  # 3\ny = x[0] + 4\n ~ 1-2 ~ x = [1@, 2@]  # 3\ny = x[0] + 4@\n",
    ] {
        let [file, source, lines, expected] = cells(case);

        let path = format!("source/{file}");
        bench.write(&path, source);
        let (out, _) = bench.done(["patch", "init", &format!("{path}:{lines}"), "--name", "n"]);
        let head = format!("#set file {file}\n#context n\n");
        assert_eq!(out, format!("{head}{expected}"), "{source}");
    }
    for (file, source, why) in [
        ("a.rs", "const X: i32 = 5;\n", ""),
        ("a.cpp", "enum { A = 1, B = 2 }; char b[256];\n", ""),
        ("a.rs", "let x = t.0;\n", ""),
        ("a.cpp", "f(\"5\"); // was 5\n", ""),
        ("a.cpp", "x = 5_ms + 10u + 0x1F + 1e3;\n", " (5_ms, 10u, 0x1F, 1e3 cannot be)"),
    ] {
        bench.write(&format!("source/{file}"), source);
        let place = format!("source/{file}:1");
        bench.fails_with(["patch", "init", &place], 1, &*format!("no number that can be marked{why}"));
    }
    // A block of a constant works for 'apply' alone.
    bench.write("source/a.cpp", "constexpr int M = 140;\n");
    bench.write("n.tune", "#set file a.cpp\n#context M\nconstexpr int M = 140@m;\n");
    bench.write("n.params", "M_m, int, 152, 0, 280, 14, 0.002\n");
    ok(&bench, "apply n.tune source");
    assert_eq!(bench.text("source/a.cpp"), "constexpr int M = 152;\n");
}
