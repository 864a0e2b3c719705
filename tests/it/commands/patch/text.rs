//! Sources as text: encodings, numbers, names, and messages about them.

use super::{SOURCE, bench, ok, tune_of};

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
