//! Shell completions and the help of commands.

use crate::common::prelude::*;

#[test]
fn completions_contain_all_commands() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert_has(&bench.ok(["completions", shell]), ["import-params", "split-material", "spsa", "tables"]);
    }
    // The available shell reads its own completions.
    let (code, _, err) = bench.shell("\"$GPUTEXEL\" completions bash -o c.sh -q && bash -n c.sh");
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn suggests_similar_files() {
    let bench = Bench::with_positions(64, 1);
    std::fs::create_dir(bench.path("data")).unwrap();
    std::fs::rename(bench.path("d.bin"), bench.path("data/sample.bin")).unwrap();
    for (name, meant) in [
        ("data/sampel.bin", "; did you mean 'data/sample.bin'?"),
        ("dat", "; did you mean 'data'?"),
        ("data/other.pgn", ""),
        ("dat/sample.bin", ""),
    ] {
        let expected = format!("gputexel: {name}: No such file or directory (os error 2){meant}\n");
        assert_eq!(bench.fails(["info", name], 1), expected);
    }
}

#[test]
fn a_hyphen_is_standard_output_or_refused() {
    let bench = Bench::new();
    bench.dataset("d.bin", gputexel::model::FeatureKind::Material, 400, 3);
    bench.tune("d.bin --out run --l2 1e-3");
    for args in [
        "basis mirrored",
        "completions bash",
        "export run --to c",
        "import-params run/params.json",
        "spsa init --params run",
    ] {
        let out = bench.ok(args);
        let (code, with_hyphen, err) = bench.run((args, "-o -"));
        assert!((code, err.as_str(), with_hyphen == out) == (0, "", true), "{args:?}: {err}");
    }
    for args in [
        "tune d.bin -o -",
        "report run --output -",
        "extract x.pgn -o -",
        "compare run run --html -",
        "sweep d.bin --scale 0.5:2:8 --csv -",
        "match zero zero --pgn -",
    ] {
        bench.fails_with(args, 2, "standard output");
    }
    // No file can be replaced or added to there.
    bench.write("list.csv", "A,10,0,100,5,0.002\n");
    bench.write("search.cpp", "int margin = 12;\n");
    for args in [
        &["basis", "mirrored", "-o", "-", "--force"][..],
        &["completions", "bash", "-o", "-", "--force"],
        &["export", "run", "--to", "c", "-o", "-", "--force"],
        &["import-params", "run/params.json", "-o", "-", "--force"],
        &["bench", "d.bin", "-o", "-", "--force"],
        &["spsa", "init", "--params", "run", "-o", "-", "--force"],
        &["spsa", "init", "--params", "run", "--force"],
        &["spsa", "convert", "list.csv", "--to", "toml", "-o", "-", "--force"],
    ] {
        bench.fails_with(args, 2, args[args.len() - 1]);
    }
    assert!(!bench.path("-").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn distinguishes_full_disks_from_closed_pipes() {
    let bench = Bench::new();
    for args in ["features pst", "--help", "tune -h", "--version", "completions bash", "devices"] {
        let (code, _, err) = bench.shell(&format!("\"$GPUTEXEL\" {args} > /dev/full"));
        let said = "gputexel: standard output: No space left on device (os error 28)\n";
        assert_eq!((code, err.as_str()), (1, said), "{args}");
        // `true` has exited before anything is written.
        let (_, _, err) = bench.shell(&format!("(sleep 0.1; \"$GPUTEXEL\" {args}; echo $? >&2) | true"));
        assert_eq!(err, "0\n", "{args}");
    }
    // A failure to print warnings does not end a command.
    bench.dataset("d.bin", gputexel::model::FeatureKind::Material, 400, 3);
    let tune = "\"$GPUTEXEL\" --json tune d.bin -o r --force --loss power:1.5 --epochs 1 --backend cpu";
    let (code, _, err) = bench.shell(tune);
    assert!(code == 0 && err.contains("warning"), "{err}");
    assert_eq!(bench.shell(&format!("{tune} 2> /dev/full")).0, 0);
}
