//! `gputexel patch tables` through the real binary, on sources as in engines; compilers check the results.

mod layouts;
mod orders;

use crate::common::prelude::*;

/// Writes a parameter file of six tables with values such as -103.7 and 512.4; returns θ.
fn pst(bench: &Bench, name: &str, seed: f64) -> Vec<f64> {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let piece = [100.0, 300.0, 320.0, 500.0, 900.0, 0.0];
    let theta: Vec<f64> = (0..768)
        .map(|i| piece[i / 64 % 6] + ((i as f64 + 1.0) * seed).sin() * 90.0 + (i / 384) as f64 * 7.0)
        .collect();
    bench.write(name, ParameterFile::new(&set, &theta, None, None).to_json());
    theta
}

fn material(bench: &Bench, name: &str) {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = [82.0, 337.4, 364.5, 477.0, 1025.0, 0.0, 94.0, 281.0, 297.0, 512.0, 936.0, 0.0];
    bench.write(name, ParameterFile::new(&set, &theta, None, None).to_json());
}

/// Returns the numbers that a source prints; `None` without a compiler for it.
fn output(bench: &Bench, compiler: &str, flags: &[&str], name: &str) -> Option<Vec<i64>> {
    let (_, text) = bench.built(compiler, flags, name)?;
    Some(text.split_whitespace().map(|number| number.parse().unwrap()).collect())
}

/// Runs on sources, which must succeed; twice, as the second run must change nothing.
#[track_caller]
fn patch(bench: &Bench, args: &[&str], changed: &[&str]) {
    let all = [&["--json", "patch", "tables"], args].concat();
    for again in [false, true] {
        let out = bench.ok(&all);
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        let files: Vec<&str> = report["files"].texts();
        assert_eq!(files, if again { &[] } else { changed });
    }
}

fn rounded(theta: &[f64], phase: usize, role: usize, square: usize) -> i64 {
    theta[384 * phase + 64 * role + square].round() as i64
}

#[test]
#[ignore = "full"]
fn cpp_sources_hold_the_values() {
    let bench = Bench::new();
    let theta = pst(&bench, "p.json", 2.9);
    material(&bench, "m.json");
    let half = "    { S(-175, -96), S(-92,-65), S(-74,-49), S(-73,-21) },\n".repeat(8);
    let source = format!(
        "#include <array>\n#include <cstdio>\n#include <cstdint>\n\
         struct Score {{ int mg, eg; }};\n#define S(mg, eg) Score{{mg, eg}}\n\
         constexpr Score make_score(int mg, int eg) {{ return S(mg, eg); }}\n\
         // gputexel: pst pieces nbrqk files 4\n\
         constexpr Score Bonus[][8][4] = {{\n  {{ }},\n{}}};\n\
         // gputexel: pawn\n\
         [[maybe_unused]] constexpr std::array<std::array<Score, 8>, 8> Pawn = {{{{\n{}}}}};\n\
         enum Value : int {{\n\
         \x20 ZERO = 0,\n\
         \x20 KnightE5 = make_score(1, 2).eg, // a macro is none of ours\n\
         \x20 RookF7 = 5, // gputexel: rook.f7.eg\n\
         }};\n\
         int main() {{\n\
         \tfor (int p = 0; p < 5; p++) for (int i = 0; i < 32; i++) std::printf(\"%d %d\\n\", Bonus[p + 1][i / 4][i % 4].mg, Bonus[p + 1][i / 4][i % 4].eg);\n\
         \tfor (auto &row : Pawn) for (auto &s : row) std::printf(\"%d %d\\n\", s.mg, s.eg);\n\
         \tstd::printf(\"%d\\n\", RookF7);\n}}\n",
        format!("  {{ // piece 1\n{half}  }},\n").repeat(5),
        format!("  {{{{ {} }}}},\n", "{0, -1}, ".repeat(7) + "{ 2, 3 }").repeat(8),
    );
    bench.write("psqt.cpp", source.replace('\n', "\r\n"));
    patch(&bench, &["--trust-marker", "p.json", "psqt.cpp"], &["psqt.cpp"]);
    let mut wanted = Vec::new();
    for role in 1..6 {
        for i in 0..32 {
            let (one, other) = (8 * (i / 4) + i % 4, 8 * (i / 4) + 7 - i % 4);
            wanted.extend([0, 1].map(|phase| {
                let at = 384 * phase + 64 * role;
                ((theta[at + one] + theta[at + other]) / 2.0).round() as i64
            }));
        }
    }
    for i in 0..64 {
        wanted.extend([rounded(&theta, 0, 0, i), rounded(&theta, 1, 0, i)]);
    }
    wanted.push(rounded(&theta, 1, 3, 53));
    if let Some(got) = output(&bench, "g++", &["-std=c++17", "-Wall"], "psqt.cpp") {
        assert_eq!(got, wanted);
    }
    let text = bench.text("psqt.cpp");
    assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());

    let values = "\u{feff}// gputexel: material.mg\nconst int Value[] = {100, 300, 320, 500, 900};\n\
                  // gputexel: material pieces -pnbrqk\n\
                  const Score V[7] = { S(0, 0), S( 82,  94), S(337, 281), S(365, 297), S(  1,   2), S(  3,   4), S(  0,   5) };\n\
                  const int PawnMg = 1, Other = 7;   // gputexel: king.mg\n\
                  float  f = +1.50f;   // gputexel: queen.mg scale 0.01\n";
    bench.write("values.h", values);
    let why = "values.h:5: the marker's declaration goes on with 'Other'";
    bench.fails_with("patch tables m.json values.h", 1, why);
    bench.write("values.h", values.replace(", Other = 7", ""));
    patch(&bench, &["--trust-marker", "m.json", "values.h"], &["values.h"]);
    let expected = values
        .replace(", Other = 7", "")
        .replace("100, 300, 320, 500, 900", "82, 337, 365, 477, 1025")
        .replace("S(  1,   2), S(  3,   4), S(  0,   5)", "S(477, 512), S(1025, 936), S(  0,   0)")
        .replace("PawnMg = 1", "PawnMg = 0")
        .replace("+1.50f", "+10.25f");
    assert_eq!(bench.text("values.h"), expected);
}

#[test]
fn csharp_sources_hold_the_values() {
    let bench = Bench::new();
    material(&bench, "m.json");
    let source = "namespace Engine {\n\tinternal static class Values {\n\
        \t\t// gputexel: material.mg\n\t\tprivate static readonly int[] Mg = { 1, 2, 3, 4, 5, 6 };\n\
        \t\t// gputexel: material\n\t\t[Obsolete(\"{\")] static Score[] Both = new Score[] {\n\
        \t\t\tnew Score(1, 2), new(3, 4),\n\t\t\tnew(mg: 5, eg: 6), new(7, 8), new(9, 10) };\n\
        \t\tconst string Path = @\"C:\\\"; // \"\n\
        \t\t/// gputexel: queen.eg\n\t\tconst decimal Queen = 1m;\n\t}\n}\n";
    bench.write("Values.cs", source);
    patch(&bench, &["--trust-marker", "m.json", "Values.cs"], &["Values.cs"]);
    let expected = source
        .replace("{ 1, 2, 3, 4, 5, 6 }", "{ 82, 337, 365, 477, 1025, 0 }")
        .replace("Score(1, 2), new(3, 4)", "Score(82, 94), new(337, 281)")
        .replace("mg: 5, eg: 6), new(7, 8), new(9, 10)", "mg: 365, eg: 297), new(477, 512), new(1025, 936)")
        .replace("1m", "936m");
    assert_eq!(bench.text("Values.cs"), expected);
}

#[test]
fn diffs_write_nothing_and_what_is_left_is_named() {
    let bench = Bench::new();
    material(&bench, "m.json");
    let a = "// gputexel: pawn.mg\nint a = 1;\n// gputexel: rook.eg\nint c = 3;\n";
    bench.write("a.c", a);
    let (out, _) = bench.done("patch tables m.json a.c -n");
    assert_has(&out, ["--- a/a.c\n+++ b/a.c\n@@ ", "\n-int c = 3;\n+int c = 512;\n"]);
    assert_eq!(bench.text("a.c"), a);
    let (out, _) = bench.done("patch tables m.json a.c");
    let filled = "a.c:1: pawn.mg: 1 number, 1 changed\na.c:3: rook.eg: 1 number, 1 changed\n";
    assert!(out.starts_with(filled) && out.ends_with("restores the old files\n"), "{out}");
    assert_eq!(bench.text("a.c"), a.replace("a = 1", "a = 82").replace("c = 3", "c = 512"));
    let (code, out, _) = bench.run("patch undo .");
    assert!(code == 0 && out.contains("a.c: restored"), "{out}");
    assert_eq!(bench.text("a.c"), a);
    bench.write("b.c", "// gputexel: rook\nint c[2] = {477, 512};\n");
    let (_, out, _) = bench.run("patch tables m.json b.c");
    let unmarked = "not written as a whole, because no marker or S(…) has their names: material";
    let expected = format!(
        "b.c:1: rook: 2 numbers, 0 changed\n{unmarked}\nnothing to write: all files are up to date\n"
    );
    assert_eq!(out, expected);
}

#[test]
fn writes_nothing_unless_everything_fits() {
    let bench = Bench::new();
    material(&bench, "m.json");
    let good = "int a = 1; // gputexel: pawn.mg\n";
    bench.write("good.c", good);
    let fails = |args: &str, code: i32, expected: &str| {
        bench.fails_with(("patch tables", args), code, expected);
        assert_eq!(bench.text("good.c"), good);
    };
    bench.write("bad.c", "// gputexel: material.mg\nint a[] = {\n 1, 2, 3 };\n");
    fails("m.json good.c bad.c", 1, "bad.c:2: the array has 3 numbers, 'material.mg' has 6");
    bench.write("bad.c", "int a[] = {\n 1, 2, 3 };\n");
    fails("m.json good.c bad.c", 1, "bad.c: has no marker");
    bench.write("bad.c", b"\xff\xfe/\0/\0 ");
    fails("m.json good.c bad.c", 1, "bad.c: is in UTF-16");
    bench.write("bad.c", b"\x7fELF // gputexel: rook.mg\nint a = 1;\0");
    fails("m.json good.c bad.c", 1, "bad.c: is a binary file");
    bench.write("bad.c", "// gputexel: material.mg\nint a[] = {\n 1, 2, 3\n");
    fails("m.json good.c bad.c", 1, "bad.c:2: '{' is not closed before the end of the file");
    std::fs::create_dir(bench.path("folder")).unwrap();
    fails("m.json good.c folder", 1, "folder: is a folder; expected a source");
    fails("m.json good.c none.c", 1, "none.c: ");
    fails("none.json good.c", 1, "none.json: ");
    fails("folder good.c", 1, "folder: ");
    fails("good.c good.c", 1, "good.c:1: not a parameter file");
    let json = bench.text("m.json");
    bench.write("null.json", json.replacen("82.0", "null", 1));
    fails("null.json good.c", 1, "null.json:");
    bench.write("few.json", json.replace("\"name\": \"pawn\"", "\"name\": \"pawnn\""));
    fails("few.json good.c", 1, "parameter 'pawnn' is not in feature set 'material'");
    let (code, _, err) = bench.run("patch tables m.json");
    assert!(code == 2 && err.contains("SOURCE"), "{err}");

    bench.write("bad.c", "int a = 1; // gputexel: pawn.eg\n");
    let mut permissions = std::fs::metadata(bench.path("bad.c")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(bench.path("bad.c"), permissions).unwrap();
    fails("m.json good.c bad.c", 1, "bad.c: is read-only");
}

#[test]
fn detects_tables_relative_to_piece_values() {
    let bench = Bench::new();
    std::fs::copy(extracted_games(), bench.path("d.bin")).unwrap();
    let table = |piece: usize| -> String {
        let pawnless = |square: usize| piece == 0 && matches!(square, 0..8 | 56..64);
        let value = |square: usize| if pawnless(square) { 0 } else { (square * 7 + piece * 13) % 41 } as i64;
        let list: Vec<String> =
            (0..64).map(|s| (value(s) - if pawnless(s) { 0 } else { 20 }).to_string()).collect();
        format!("  {{ {} }},\n", list.join(", "))
    };
    let tables: String = (0..6).map(table).collect();
    let source =
        |marker: &str| format!("// gputexel: pst.both{marker}\nconst int psqt[6][64] = {{\n{tables}}};\n");
    bench.write("psqt.c", source(""));
    bench.told("import-params psqt.c --model pst -o start.json");
    let tune = ["tune", "d.bin", "--prior", "start.json", "--basis", "tied", "--backend", "cpu", "--out"];
    let (out, _) = bench.done((&tune, "run"));
    assert_has(&out, ["warning     ", "the prior's tables hold no piece values", "'offset material'"]);
    // With the engine's own piece values there is no message, and the values are those of the marker.
    let piece = " offset 100/100";
    bench.write("knight.c", source(piece));
    bench.done("import-params knight.c --model pst -o own.json");
    let tune = "tune d.bin --prior own.json --basis tied --backend cpu --out own";
    let (out, _) = bench.done(tune);
    assert!(!out.contains("hold no piece values"), "{out}");
}

#[test]
fn markers_are_listed_without_a_run() {
    let bench = Bench::new();
    bench.write(
        "a.c",
        "// gputexel: material\nconst int v[5][2] = {{82, 94}, {337, 281}, {365, 297}, {477, 512}, {1025, 936}};\n// gputexel: tempo min 0 max 50\nint tempo = 10;\n",
    );
    let out = bench.ok("patch list a.c");
    assert_has(
        &out,
        ["a.c:1", "5 pieces", "82/94 337/281", "a.c:3", "bounds 0 to 50", "2 markers, 11 numbers"],
    );
    let report = bench.report("patch list a.c");
    assert_eq!(report["markers"][1]["parameters"][0]["name"], "tempo");
    assert_eq!(report["markers"][0]["phases"], "pairs");
    bench.write("b.c", "// gputexel: a.mg orientation a8\nint a[3] = {1, 2, 3};");
    bench.fails_with(
        "patch list a.c b.c",
        1,
        "b.c:1: 'a' is a table of 64 squares, and the array has 3 entries",
    );
}
