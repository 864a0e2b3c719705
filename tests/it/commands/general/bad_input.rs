//! Bad inputs, settings and environments: one line on standard error, the right exit code, no panic, and nothing
//! half-written.
#![cfg(unix)]

use crate::common::prelude::*;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 1500, 21);
    bench
}

/// Runs `tune d.bin --out r` with flags, which must fail and leave no folder.
fn refuse(bench: &Bench, flags: impl Words, code: i32) -> String {
    let err = bench.fails(("tune d.bin --out r --backend cpu", &flags), code);
    assert!(!bench.path("r").exists(), "{:?} left a folder", flags.words());
    err
}

#[test]
fn reports_damaged_datasets() {
    let bench = bench();
    let whole = bench.bytes("d.bin");
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().unwrap()) as usize;
    let mut flipped = whole.clone();
    flipped[header + 1000] ^= 0x10;
    let tensors =
        [("a", safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &[0; 4]).unwrap())];
    let foreign = safetensors::serialize(tensors, None).unwrap();
    bench.tune("d.bin --out good --epochs 1");
    for (what, bytes) in
        [("half", &whole[..whole.len() / 2]), ("flipped", &flipped[..]), ("foreign", &foreign[..])]
    {
        bench.write("d.bin", bytes);
        let err = refuse(&bench, "", 1);
        assert!(err.starts_with("gputexel: d.bin: "), "{what}: {err}");
        let err = bench.fails("eval d.bin good/params.json", 1);
        assert!(err.starts_with("gputexel: d.bin: "), "{what}: {err}");
    }
    // A changed number is detected by the checksum.
    bench.write("d.bin", flipped);
    assert!(refuse(&bench, "", 1).contains("checksum"));
    bench.write("d.bin", whole);
    bench.tune("d.bin --out r --epochs 1");
}

#[test]
fn a_dataset_without_positions_is_refused() {
    let bench = Bench::new();
    bench.dataset("d.bin", FeatureKind::Pst, 0, 1);
    assert!(bench.read("d.bin").is_empty());
    assert!(refuse(&bench, "", 1).contains("d.bin: contains no positions"));
    bench.write("empty.epd", "");
    bench.fails_with("tune empty.epd --out r --backend cpu", 1, "empty.epd");
    assert!(!bench.path("r").exists());
}

#[test]
fn numbers_out_of_range_are_refused() {
    let bench = bench();
    let positive = "nan inf 0 -1";
    let not_negative = "nan inf -0.5";
    let share = "nan -0.1 1";
    for (flags, values) in [
        ("--k --k-e --win-scale --e-scale --damping --time", positive),
        ("--l2 --improvement --checkpoint-every", not_negative),
        ("--holdout", share),
        ("--optimizer=adam --learning-rate", positive),
        ("--optimizer=adam --l2", not_negative),
    ] {
        let (before, flags): (Vec<&str>, Vec<&str>) =
            flags.words().into_iter().partition(|flag| flag.contains('='));
        for (flag, value) in
            flags.iter().flat_map(|flag| values.words().into_iter().map(move |value| (flag, value)))
        {
            refuse(&bench, (&before, [&*format!("{flag}={value}")]), 2);
        }
    }
    // Also within a list.
    refuse(&bench, "--optimizer adam --learning-rate 1,nan,2", 2);
    for value in ["nan,300,300,500,900", "inf,300,300,500,900", "1,2,3,4", "1,2,3,4,5,6", "1,2,3,4,x", ""] {
        let prior = format!("material:{value}");
        assert!(refuse(&bench, ["--prior", &prior], 2).contains(&prior));
    }
    for flags in [
        "--epochs 0",
        "--patience 0",
        "--batches 0",
        "--batches 1501",
        "--batches 1000000000000",
        "--threads 0",
        "--loss power:nan",
        "--loss power:0.5",
        "--loss cubic",
        "--schedule step:nan:3",
        "--schedule sine",
        "--optimizer sgd",
        "--optimizer gauss-newton --learning-rate 1",
        "--optimizer gauss-newton --loss power:1",
        "--optimizer adam --damping 1",
        "--l2 1,2",
        "--backend abacus",
    ] {
        // The last of two flags would conflict with the one that chooses the CPU.
        let backend = if flags.starts_with("--backend") { "" } else { "--backend cpu" };
        bench.fails(("tune d.bin --out r", (backend, flags)), 2);
        assert!(!bench.path("r").exists(), "{flags}");
    }
    let rates: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let rates = rates.join(",");
    assert!(refuse(&bench, ["--learning-rate", &rates, "--l2", &rates], 2).contains("10201 combinations"));
    // Steps that overflow: a numeric error, and no result.
    bench.fails_with("-q tune d.bin --out r --learning-rate 1e308 --backend cpu", 1, "finite");
    assert!(!bench.path("r/params.json").exists());
}

#[test]
fn reports_invalid_paths() {
    let bench = bench();
    bench.write("file", "x");
    for out in ["file/r", "file"] {
        bench.fails_with(["tune", "d.bin", "--out", out, "--backend", "cpu"], 1, format!("{out}: "));
    }
    std::fs::create_dir(bench.path("folder")).unwrap();
    for input in ["none.bin", "none.epd", "file/none.bin", "folder"] {
        bench.fails_with(["tune", input, "--out", "r", "--backend", "cpu"], 1, format!("{input}: "));
        assert!(!bench.path("r").exists());
    }
    assert!(refuse(&bench, "--prior none.json", 1).contains("none.json: "));
    bench.write("engine.cpp", "int evaluate()\n{\n    return 1;\n}\n");
    bench.fails_with("tune engine.cpp --out r", 1, "engine.cpp: is source code");
    // Existing files are not overwritten unless requested.
    bench.tune("d.bin --out full --epochs 2");
    let before = bench.bytes("full/params.json");
    bench.fails_with("tune d.bin --out full --backend cpu", 2, ["full: exists and is not empty", "--force"]);
    assert_eq!(bench.bytes("full/params.json"), before);
    bench.tune("d.bin --out full --epochs 1 --force");
    assert_eq!(bench.metrics("full").len(), 1);
    std::fs::create_dir(bench.path("empty")).unwrap();
    bench.tune("d.bin --out empty --epochs 1");
}

#[test]
fn parameter_files_are_checked() {
    let bench = bench();
    bench.tune("d.bin --out good --epochs 1");
    let good = bench.json("good/params.json");
    let text = bench.text("good/params.json");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut file = good.clone();
        change(&mut file);
        file.to_string()
    };
    let third = text.lines().nth(2).unwrap();
    let cases = [
        ("p.json:3: ", text.replacen(third, "  \"feature_set\": oops,", 1)),
        ("p.json", text[..text.len() / 2].to_string()),
        ("p.json", text.replacen("\"mg\": 100.0", "\"mg\": 1e999", 1)),
        ("'pawn_c1'", changed(&|file| drop(file["parameters"].as_array_mut().unwrap().remove(2)))),
        ("'rook_i9'", changed(&|file| file["parameters"][1]["name"] = json!("rook_i9"))),
        ("k must be a positive number", changed(&|file| file["k"] = json!(-1.0))),
        ("version 9", changed(&|file| file["version"] = json!(9))),
    ];
    for (wanted, contents) in cases {
        assert_ne!(contents, text, "{wanted}: nothing was changed");
        bench.write("p.json", contents);
        for err in [bench.fails("eval d.bin p.json", 1), refuse(&bench, "--prior p.json", 1)] {
            assert!(err.contains(wanted), "{wanted}: {err}");
        }
    }
    bench.write("p.json", b"\xff\xfe\x00");
    bench.fails_with("eval d.bin p.json", 1, "it is not text");
    bench.fails_with("eval d.bin d.bin", 1, "not a parameter file");
}

/// A limit on file size simulates a full disk: with its signal ignored, writing fails in the same way. Without `trap`
/// the signal would kill the program, which is the purpose of such a limit.
#[test]
fn full_disk_is_reported_and_leaves_valid_files() {
    let bench = bench();
    bench.tune("d.bin --out good --optimizer adam --epochs 200");
    let mut failures = Vec::new();
    // In blocks of 512 bytes.
    for blocks in [0, 1, 10, 26, 40, 60, 90] {
        let (code, out, err) = bench.shell(&format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$GPUTEXEL\" -q tune d.bin --l2 0 --out r{blocks} \
             --optimizer adam --epochs 200 --checkpoint-every 0 --backend cpu"
        ));
        assert_eq!((code, out.as_str()), (1, ""), "{blocks} blocks: {err}");
        assert_one_line(&err);
        assert!(err.contains("File too large"), "{err}");
        let folder = format!("r{blocks}");
        failures.push(err.split(": ").nth(1).unwrap().replace(&format!("{folder}/"), ""));
        if !bench.path(&folder).exists() {
            continue;
        }
        for name in bench.names(&folder) {
            let file = format!("{folder}/{name}");
            match name.as_str() {
                "run.json" => drop(bench.json(&file)),
                // A line may be truncated: the resumed run cuts it off.
                "metrics.jsonl" => {}
                "checkpoint.safetensors" => {
                    gputexel::tuning::Checkpoint::read(&bench.path(&file)).unwrap();
                }
                "tables.h" | "tables.hpp" | "tables.rs" => {
                    assert!(bench.bytes(&file) == bench.bytes(&format!("good/{name}")), "{file} is broken");
                }
                other => panic!("{other} is left of a run that failed"),
            }
        }
        // With space available again, the run resumes where it stopped.
        if bench.path(&folder).join("run.json").exists() {
            bench.tune(["--resume", &folder]);
            assert!(bench.bytes(&format!("{folder}/params.json")) == bench.bytes("good/params.json"));
            assert_eq!(bench.metrics(&folder).len(), 200);
        }
    }
    failures.dedup();
    assert!(failures.len() >= 3, "the limits hit too few of the files: {failures:?}");

    let text: String = positions(1500).iter().map(|(b, t, r)| format!("{b} {t} - - [{r:.1}]\n")).collect();
    bench.write("p.epd", text);
    let (code, _, err) = bench
        .shell("trap '' XFSZ; ulimit -f 20; exec \"$GPUTEXEL\" -q tune p.epd --l2 0 --out x --backend cpu");
    assert_eq!(code, 1);
    assert_one_line(&err);
    assert!(!bench.path("x").exists(), "{err}");
}

#[test]
fn unwritable_standard_output_does_not_panic() {
    let bench = bench();
    let run = "tune d.bin --backend cpu --prior-strength none --epochs 20 --k 0.8";
    // A reader that exits after the first line, and one that exits at once.
    for (i, reader) in ["head -n 1", "true"].into_iter().enumerate() {
        let (_, _, err) =
            bench.shell(&format!("{{ \"$GPUTEXEL\" {run} --out r{i}; echo $? > code{i}; }} | {reader}"));
        assert_eq!(err, "");
        // The important output is in the folder.
        assert_eq!(bench.bytes(&format!("code{i}")), b"0\n");
        assert!(bench.path(&format!("r{i}/params.json")).exists());
    }
    for command in ["info d.bin", "eval d.bin r0/params.json", "extract p.epd -o o.bin --force", "--help"] {
        bench.write("p.epd", "8/8/8/8/8/P7/8/K1k5 w - - [1.0]\n8/8/8/8/8/p7/8/K1k5 w - - [0.0]\n");
        let (_, _, err) = bench.shell(&format!("\"$GPUTEXEL\" {command} | true"));
        assert!(!err.contains("panicked") && err.lines().count() <= 1, "{command}: {err}");
    }
}

#[test]
#[ignore = "full"]
fn files_without_end_are_refused_by_every_reader() {
    let bench = bench();
    bench.tune("d.bin --out good --epochs 1");
    bench.write("list.txt", "a, int, 10, 0, 20, 2, 0.002\n");
    bench.write("t.txt", "0:1 [1.0]\n");
    bench.write("odd.txt", [vec![b'x'; 5 << 20], b"\n8/8/8/8/8/8/8/K1k5 w - - [0.5]\n".to_vec()].concat());
    let endless = [
        "eval d.bin /dev/zero",
        "eval /dev/zero good/params.json",
        "info /dev/zero",
        "check d.bin --params /dev/zero",
        "check t.txt --schema /dev/zero",
        "compare good /dev/zero",
        "compare good good --dataset /dev/zero",
        "report /dev/zero",
        "export /dev/zero --to csv",
        "import-params /dev/zero",
        "basis /dev/zero",
        "basis material --dataset /dev/zero",
        "import t.txt --output i.bin --schema /dev/zero",
        "extract /dev/zero --output x.bin",
        "tune /dev/zero --out r",
        "tune d.bin --out r --basis /dev/zero",
        "tune d.bin --out r --prior /dev/zero",
        "tune --resume /dev/zero",
        "pso /dev/zero --out r",
        "sweep /dev/zero --scale 0.5,1.5",
        "match good/params.json /dev/zero --games 2 --nodes 10 --out m",
        "match good/params.json good/params.json --games 2 --nodes 10 --out m --openings /dev/zero",
        "match good/params.json good/params.json --games 2 --nodes 10 --out m --openings odd.txt",
        "uci --params /dev/zero",
        "spsa run /dev/zero --out s",
        "spsa run --resume /dev/zero",
        "spsa simulate --conf /dev/zero",
        "spsa convert /dev/zero --to spsa",
        "spsa init --params /dev/zero",
        "extract odd.txt --output x.bin",
    ];
    let before = bench.names(".");
    let mut wrong = Vec::new();
    for command in endless {
        // Twice the size allowed for the largest of these files, so that a reader without a limit is noticed.
        let limited = format!("ulimit -v 4000000; exec timeout 120 \"$GPUTEXEL\" {command}");
        let (code, _, err) = bench.shell(&limited);
        let said = err.lines().count() == 1 && (err.contains("/dev/zero") || err.contains("odd.txt"));
        if code != 1 || !said {
            wrong.push(format!("{command}: {code}, {err}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(bench.names("."), before);
}

/// Writes a dataset with this many imported features, each in some positions.
fn many_features(bench: &Bench, features: u16) {
    let parameter = || serde_json::from_value(json!({ "prior": [10.0, 10.0] })).unwrap();
    let set = FeatureSet::try_imported(
        (0..features).map(|n| Feature { name: format!("f{n}"), group: "all".to_string() }).collect(),
        PhaseSettings::default(),
        Imported::new(1, (0..features).map(|_| parameter()).collect()),
    )
    .unwrap();
    let mut writer = DatasetWriter::create(&bench.path("many.bin"), Metadata::new(set), true).unwrap();
    for n in 0..2000u32 {
        let mut ids: Vec<u16> = (0..30).map(|i| ((n * 37 + i * 811) % u32::from(features)) as u16).collect();
        ids.sort_unstable();
        ids.dedup();
        let coefficients: Vec<f32> = ids.iter().map(|id| f32::from(id % 5) - 2.5).collect();
        let result = (n % 3) as f32 / 2.0;
        let labels = PositionLabels { result, score_cp: None, weight: 1.0, game: Some(n / 10) };
        let position = ImportedPosition {
            ids: &ids,
            coefficients: &coefficients,
            phase: (n % 25) as u16,
            scale: 1,
            offset_cp: 0.0,
            evaluation_cp: None,
            labels,
            board: Default::default(),
        };
        writer.push_imported(&position).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
}

#[test]
#[ignore = "full"]
fn skips_errors_of_too_many_parameters() {
    let bench = Bench::new();
    let why = "no standard errors for 40,000 parameters: the limit is 16,384";
    many_features(&bench, 20_000);
    let flags =
        "many.bin --out r --epochs 2 --k 1 --l2 1e-3 --optimizer adam --backend cpu --errors --bootstrap 5";
    let (out, err) = bench.done(("--json tune", flags));
    assert_one_line(&err);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert!(answer["uncertainty"]["left_out"].str().contains(why), "{}", answer["uncertainty"]);
    assert_eq!(bench.json("r/params.json")["parameters"].list().len(), 20_000);
}
