//! `gputexel export` and `import-params` through the real binary: exports are read back unchanged, and bad input is
//! refused.

use crate::common::exports::{export, import, odd, pst};
use crate::common::prelude::*;

#[test]
fn all_export_formats_round_trip() {
    let bench = Bench::new();
    let file = pst(&bench, "p.json", false);
    std::fs::create_dir(bench.path("run")).unwrap();
    bench.write("run/params.json", file.to_json());
    let values =
        |file: &ParameterFile| -> Vec<(f64, f64)> { file.parameters.iter().map(|r| (r.mg, r.eg)).collect() };
    for (to, name) in [
        ("c", "a.h"),
        ("cpp", "a.cpp"),
        ("rust", "a.rs"),
        ("csharp", "a.cs"),
        ("go", "a.go"),
        ("python", "a.py"),
        ("json", "a.json"),
        ("csv", "a.csv"),
        ("uci", "a.uci"),
        // The format is detected.
        ("python", "python.txt"),
        ("csv", "csv.txt"),
        ("uci", "uci.txt"),
        ("json", "json.txt"),
    ] {
        export(&bench, ["run", "--to", to, "-o", name, "--decimals", "all"]);
        let back = import(&bench, [name]);
        assert_eq!(
            (values(&back), back.k, back.feature_set.as_str()),
            (values(&file), file.k, "pst"),
            "{name}"
        );
        assert_eq!(values(&import(&bench, [name, "--model", "pst"])), values(&file), "{name}");
        assert_eq!(values(&import(&bench, [name, "--like", "run"])), values(&file), "{name}");
        // Standard output gets the same text.
        let (_, out, _) = bench.run(["export", "p.json", "--to", to, "--decimals", "all"]);
        assert_eq!(out.as_bytes(), bench.bytes(name), "{name}");
    }
    let out = bench.ok("import-params a.uci");
    assert_eq!(serde_json::from_str::<ParameterFile>(&out).unwrap().parameters, file.parameters);
    export(&bench, "p.json -o whole.h");
    let (_, out, _) = bench.run("import-params whole.h -o whole.json");
    assert_has(&out, ["written     whole.json: 768 values (pst)", "note        values are whole centipawns"]);
    // CRLF, as written by editors on other systems.
    for name in ["a.h", "a.py", "a.csv", "a.uci"] {
        let text = bench.text(name).replace('\n', "\r\n");
        bench.write(name, text);
        assert_eq!(values(&import(&bench, [name])), values(&file), "{name}");
    }
}

#[test]
fn patch_fills_exported_tables() {
    let bench = Bench::new();
    let old = pst(&bench, "old.json", true);
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta: Vec<f64> =
        old.parameters.iter().map(|r| r.mg + 3.0).chain(old.parameters.iter().map(|r| r.eg - 4.0)).collect();
    bench.write("new.json", ParameterFile::new(&set, &theta, None, None).to_json());
    for name in ["a.h", "a.hpp", "a.rs", "a.cs", "a.go", "a.py"] {
        for flags in ["--split-material", "--orientation h8", "--decimals 2"] {
            export(&bench, (["old.json", "--force", "-o", name], flags));
            bench.ok(["patch", "tables", "new.json", name, "--start", "old.json"]);
            let patched = import(&bench, [name, "--model", "pst"]);
            export(&bench, (["new.json", "--force", "-o", name], flags));
            assert_eq!(
                import(&bench, [name, "--model", "pst"]).parameters,
                patched.parameters,
                "{name} {flags:?}"
            );
        }
    }
    // For imported features, too.
    odd(&bench, "odd.json");
    export(&bench, "odd.json -o odd.h");
    let text = bench.text("odd.json");
    bench.write("was.json", &text);
    bench.write("odd.json", text.replace("-10.25", "77.0"));
    assert_has(&bench.ok("patch tables odd.json odd.h --start was.json"), "1 changed");
    assert_eq!(import(&bench, ["odd.h", "--like", "was.json"]).parameters[0].eg, 77.0);
}

#[test]
fn bad_requests_are_refused() {
    let bench = Bench::new();
    pst(&bench, "p.json", false);
    bench.write("text.txt", "nothing of ours\n");
    bench.write("there.h", "keep me\n");
    let refused = |args: &[&str], code: i32, expected: &str| {
        bench.fails_with(args, code, expected);
    };
    let export = |flags: &[&str], code: i32, expected: &str| {
        refused(&[&["export", "p.json"], flags].concat(), code, expected);
    };
    export(&[], 2, "use --to");
    export(&["-o", "a.xyz"], 2, "use --to");
    export(&["--to", "fortran"], 2, "expected one of c, cpp");
    export(&["-o", "there.h"], 2, "there.h: exists; use --force");
    export(&["--to", "c", "--orientation", "e4"], 2, "a1, h1, a8 or h8");
    export(&["--to", "c", "--decimals", "x"], 2, "0 to 12, or all");
    export(&["--to", "c", "--style", "kebab"], 2, "screaming");
    export(&["--to", "json", "--orientation", "a8"], 2, "--orientation does not apply to json");
    export(&["--to", "csv", "--style", "snake"], 2, "--style does not apply to csv");
    export(&["--to", "csv", "--evaluation"], 2, "evaluations are written in c, cpp and rust, not csv");
    export(&["--to", "c", "--evaluation", "--untapered"], 2, "cannot be used with");
    export(&["--to", "csv", "--untapered"], 2, "--untapered does not apply to csv");
    let text = bench.text("p.json");
    let at = text.find("\"mg\": ").unwrap() + 6;
    let end = at + text[at..].find(',').unwrap();
    for (value, expected) in [
        ("1e999", "number out of range"),
        ("NaN", "expected"),
        ("null", "invalid type"),
        ("3e10", "does not fit 32 bits"),
    ] {
        bench.write("bad.json", format!("{}{value}{}", &text[..at], &text[end..]));
        let code = if value == "3e10" { 2 } else { 1 };
        refused(&["export", "bad.json", "--to", "c"], code, expected);
    }
    refused(&["export", "none.json", "--to", "c"], 1, "none.json: ");
    refused(&["export", ".", "--to", "c"], 1, "params.json: ");
    refused(&["export", "text.txt", "--to", "c"], 1, "text.txt:1: not a parameter file");
    refused(&["import-params", "text.txt"], 1, "text.txt: is not an export");
    refused(&["import-params", "."], 1, "is a folder");
    refused(&["import-params", "none.h"], 1, "none.h: ");
    refused(&["import-params", "p.json", "-o", "there.h"], 2, "there.h: exists");
    refused(&["import-params", "p.json", "--model", "x"], 2, "expected pst, material, classical or full");
    refused(&["import-params", "p.json", "--model", "material"], 1, "'pawn_a1' is not a parameter of");
    assert_eq!(bench.bytes("there.h"), b"keep me\n");
}
