//! Sources as text: encodings, numbers, names, and messages about them.

use super::{SOURCE, bench, object, ok, tune_of};
use crate::common::prelude::*;

#[test]
fn sources_in_other_encodings_keep_their_bytes() {
    // "// 評価値のマージン" and "// 表" (whose second byte is a backslash) in Shift-JIS; NEC's row 13
    // has letters twice, of which a conversion there and back would keep one.
    let shift_jis: &[u8] = b"// \x95\x5d\x89\xbf\x92\x6c\x82\xcc\x83\x7d\x81\x5b\x83\x57\x83\x93 \x87\x90\x81\xe0\n// \x95\x5c\n";
    // "// Größe für Réti" in Latin-1; two of its pairs would be letters of Shift-JIS.
    let latin: &[u8] = b"// Gr\xf6\xdfe f\xfcr R\xe9ti \xe9\x40\n";
    let utf16 = |text: &str| -> Vec<u8> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
        [0xff, 0xfe].into_iter().chain(bytes).collect()
    };
    let plain = |head: &[u8], text: &str| [head, text.as_bytes()].concat();
    let edited = SOURCE.replace("100 * d - 25", "130 * d - 25");
    let edited = edited.as_str();
    for (name, line, before, after) in [
        ("Shift-JIS", 10, plain(shift_jis, SOURCE), plain(shift_jis, edited)),
        ("Windows-1252", 9, plain(latin, SOURCE), plain(latin, edited)),
        ("UTF-16", 8, utf16(SOURCE), utf16(edited)),
    ] {
        let bench = bench();
        bench.write("source/s.cpp", &before);
        let warning = format!("x.tune:1: source/s.cpp: is not UTF-8, and is read as {name}\n");
        let (out, _) = bench.done("patch check x.tune source");
        assert!(out.contains(&format!("warning: {warning}")), "{out}");
        let (code, diff, _) = bench.run("patch tune x.tune source -n");
        assert!(code == 0 && diff.contains("\n-  int m = 100 * d - 25;\n"), "{name}: {diff}");
        let (code, _, err) = bench.run("patch tune x.tune source");
        assert_eq!((code, err), (0, format!("gputexel: warning: {warning}")));
        assert_ne!(bench.bytes("source/s.cpp"), before);
        assert_eq!(bench.run("patch apply x.tune source").0, 0);
        assert_eq!(bench.bytes("source/s.cpp"), before, "{name}");
        bench.write("x.params", bench.text("x.params").replace("100.0,", "130.0,"));
        assert_eq!(bench.run("patch apply x.tune source").0, 0);
        assert_eq!(bench.bytes("source/s.cpp"), after, "{name}");
        let place = format!("source/s.cpp:{line}");
        let (code, out, err) = bench.run(["patch", "init", &place, "--name", "n"]);
        assert!(code == 0 && out.ends_with("#context n\n  int m = 130@ * d - 25@;\n"), "{place}: {out}{err}");
        // The script supports UTF-8 only.
        bench.fails_with("patch tune x.tune source --compat tune.py", 1, "is not UTF-8");
    }
}

#[test]
fn contexts_in_utf_8_match_comments_in_other_encodings() {
    let bench = bench();
    let line = b"  int n = 7; // \x83\x7d\x81\x5b\x83\x57\x83\x93\n";
    let before = [SOURCE.as_bytes(), line].concat();
    bench.write("source/s.cpp", &before);
    bench.write("x.tune", tune_of("#context n\nint n = 7@; // マージン\n"));
    assert_eq!(bench.run("patch tune x.tune source").0, 0);
    let tuned = bench.bytes("source/s.cpp");
    let expected = b"int n = n_1; // \x83\x7d\x81\x5b\x83\x57\x83\x93\n";
    assert!(tuned.ends_with(expected), "{}", String::from_utf8_lossy(&tuned));
    assert_eq!(bench.run("patch apply x.tune source").0, 0);
    assert_eq!(bench.bytes("source/s.cpp"), before);
    // A letter that the source's encoding lacks is not replaced by a question mark.
    bench.write("x.tune", tune_of("#context n\nint n = 7@; // マージン\n#add %%D%%\nint @; // ☃\n"));
    bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: is in Shift-JIS, which has no '☃'");
    assert_eq!(bench.bytes("source/s.cpp"), before);
    // Half a UTF-16 code unit is invalid.
    bench.write("source/s.cpp", b"\xff\xfea\x00b");
    bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: ends within a letter of UTF-16");
    bench.write("source/s.cpp", b"\xff\xfea\x00\x00\xd8b\x00");
    let why = "source/s.cpp:1: holds 0xD800, which is not a character of UTF-16";
    bench.fails_with("patch tune x.tune source", 1, why);
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
    // Text after a name is not part of it if the script is emulated.
    bench.fails_with("patch tune x.tune source --compat tune.py", 1, "no match");
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
        "a.cpp ~ int a = f<3>(4) + std::bitset<(64)>(x) + (b<5);\n ~ 1 ~ int a = f<3>(4@) + std::bitset<(64)>(x) + (b<5@);\n",
        "a.cpp ~ auto a = new int[8]; x = 9;\n ~ 1 ~ auto a = new int[8]; x = 9@;\n",
        "a.cpp ~ T t = { [3] = 5, .x = 6 };\n ~ 1 ~ T t = { [3] = 5@, .x = 6@ };\n",
        // Constants that span lines; the code after them is marked again.
        "a.cpp ~ constexpr int T[] = {\n  1, 2,\n  3};\nint x = 4;\n ~ 1-4 ~ constexpr int T[] = {\n  1, 2,\n  3};\nint x = 4@;\n",
        "a.cpp ~ constexpr int\n  A = 5;\nint y = 6;\n ~ 2-3 ~   A = 5;\nint y = 6@;\n",
        "a.cpp ~ constexpr int f(int x) {\n  return 5 * x;\n}\nint y = 6;\n ~ 2-4 ~   return 5 * x;\n}\nint y = 6@;\n",
        "a.cpp ~ void f() {\n  if constexpr (N > 3) x = 5;\n}\n ~ 2 ~   if constexpr (N > 3) x = 5@;\n",
        "a.cpp ~ enum E : int {\n  A = 5,\n  B = 6 };\nint z = 7;\n ~ 2-4 ~   A = 5,\n  B = 6 };\nint z = 7@;\n",
        "a.cpp ~ static_assert(N ==\n  5, \"x\");\nint z = 7;\n ~ 2-3 ~   5, \"x\");\nint z = 7@;\n",
        "a.cpp ~ switch (x) { case A + 1: case 2 ... 4: y = 5; }\n ~ 1 ~ switch (x) { case A + 1: case 2 ... 4: y = 5@; }\n",
        "a.cpp ~ struct S { unsigned b : 3; int c = x ? 4 : 5; };\n ~ 1 ~ struct S { unsigned b : 3; int c = x ? 4@ : 5@; };\n",
        "a.cpp ~ #if A > \\\n  5\nint x = 6;\n ~ 2-3 ~   5\nint x = 6@;\n",
        "a.cpp ~ #define A \\\n  5\n ~ 1-2 ~  #define A \\\n  5@\n",
        "a.cpp ~ alignas(64) int x = 6;\n ~ 1 ~ alignas(64) int x = 6@;\n",
        "a.cpp ~ template <int N = 5> int f() { return 6; }\n ~ 1 ~ template <int N = 5> int f() { return 6@; }\n",
        // Shifts and comparisons are not brackets.
        "a.cpp ~ int x = a << 3, y = b >> 4, z = c < 5 && d > 6;\n ~ 1 ~ int x = a << 3@, y = b >> 4@, z = c < 5@ && d > 6@;\n",
        // Comments and strings that span lines.
        "a.cpp ~ /* 1\n 2 */ int x = 3; // 4 \\\n 5\nint y = 6;\n ~ 2-4 ~  2 */ int x = 3@; // 4 \\\n 5\nint y = 6@;\n",
        "a.cpp ~ auto s = R\"(\n5 \")\"; int x = 6;\n ~ 2 ~ 5 \")\"; int x = 6@;\n",
        "a.cpp ~ const int A = 5;\n ~ 1 ~ const int A = 5@;\n",
        // Rust's constants and statics, the bodies of constant functions, lengths, patterns.
        "a.rs ~ const X: i32 = 5;\nlet y = 6;\n ~ 1-2 ~ const X: i32 = 5;\nlet y = 6@;\n",
        "a.rs ~ pub static X: [i32; 2] = [\n 5, 6];\nlet y = 7;\n ~ 2-3 ~  5, 6];\nlet y = 7@;\n",
        "a.rs ~ const fn f(x: i32) -> i32 {\n  x * 5\n}\nfn g() -> i32 { 6 }\n ~ 2-4 ~   x * 5\n}\nfn g() -> i32 { 6@ }\n",
        "a.rs ~ let a: [i32; 2 * 4] = [1, 2]; let b = [7; 64]; c[3] = 5;\n ~ 1 ~ let a: [i32; 2 * 4] = [1@, 2@]; let b = [7@; 64]; c[3] = 5@;\n",
        "a.rs ~ match x { 5 | 6 => 7, 1..=4 => t.0, _ if y > 2 => 3 }\n ~ 1 ~ match x { 5 | 6 => 7@, 1..=4 => t.0, _ if y > 2@ => 3@ }\n",
        "a.rs ~ #[repr(align(64))] let p: *const i32 = f::<8>(9);\n ~ 1 ~  #[repr(align(64))] let p: *const i32 = f::<8>(9@);\n",
        "a.rs ~ fn f(x: &'static str) { 5 }\n ~ 1 ~ fn f(x: &'static str) { 5@ }\n",
        // C# and Go have constants, too.
        "a.cs ~ const int X = 5; int y = 6;\n ~ 1 ~ const int X = 5; int y = 6@;\n",
        "a.go ~ const X = 5\nvar y = 6\n ~ 1-2 ~ const X = 5\nvar y = 6@\n",
        "a.go ~ const (\n A = 5\n B = 6\n)\nvar y = [3]int{7, 8}\n ~ 2-5 ~  A = 5\n B = 6\n)\nvar y = [3]int{7@, 8@}\n",
        "a.py ~ x = [1, 2]  # 3\ny = x[0] + 4\n ~ 1-2 ~ x = [1@, 2@]  # 3\ny = x[0] + 4@\n",
    ] {
        let [file, source, lines, expected] = cells(case);

        let path = format!("source/{file}");
        bench.write(&path, source);
        let (out, _) = bench.done(["patch", "init", &format!("{path}:{lines}"), "--name", "n"]);
        let head = format!("#set file {file}\n#context n\n");
        assert_eq!(out, format!("{head}{expected}"), "{source}");
        // 'check' reports nothing about the output of 'init'.
        bench.write("n.tune", &out);
        let report = object(&bench, "check n.tune source");
        let said = report["warnings"].to_string();
        assert!(!said.contains("must be known"), "{source}: {said}");
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
    let said = object(&bench, "check n.tune source")["warnings"].to_string();
    assert!(said.contains("140 in line 1 must be known when compiling, in 'constexpr'"), "{said}");
    bench.write("n.params", "M_m, int, 152, 0, 280, 14, 0.002\n");
    ok(&bench, "apply n.tune source");
    assert_eq!(bench.text("source/a.cpp"), "constexpr int M = 152;\n");
}

#[test]
fn warns_about_integer_types_of_fractions() {
    let bench = bench();
    let source = SOURCE.replace("100 * d", "0.1 * d");
    bench.write("source/s.cpp", &source);
    let double = "x.tune:4: context f: f_1 is declared as a float, and 0.1 in line 8 is a double: results differ from about the eighth digit on\n";
    let whole = "x.tune:4: context f: f_1 is offered as a fraction, and the TUNE of Stockfish only accepts integers\n";
    let both = format!("gputexel: warning: {double}gputexel: warning: {whole}");
    let (code, _, err) = bench.run("patch tune x.tune source -n");
    assert_eq!((code, err), (0, both));
    let (_, out, _) = bench.run("patch check x.tune source");
    assert!(out.contains(&format!("warning: {double}warning: {whole}")), "{out}");
    // Neither is reported if the user has custom declarations and options.
    bench.write("x.tune", "#set file s.cpp\n#context f\nint m = 1@ * d - 1@;\n#add %%D%%\nint @; int @;\n");
    bench.ok("patch tune x.tune source -n");
    // The script reported nothing.
    bench.write("x.tune", super::TUNE);
    bench.ok("patch tune x.tune source -n --compat tune.py");
}
