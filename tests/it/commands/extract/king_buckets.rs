//! Piece-square tables selected by king squares, from text to games, and refused settings.

use crate::common::classical::labeled;
use crate::common::prelude::*;

#[test]
#[ignore = "full"]
fn works_from_text_to_games() {
    let bench = Bench::new();
    bench.write("p.txt", labeled(12));
    let (_, data) = bench.extract("p.txt --king-buckets 8");
    assert!(data.unit_rows() && data.feature_count() == 8 * 384, "{}", data.feature_count());

    // This many parameters are tuned without matrices.
    let arguments = "out.bin --k 0.8 --l2 1e-3";
    let tuned = bench.tune((arguments, "--out r --round naive"));
    let file = bench.json("r/params.json");
    let method = file["provenance"]["optimizer"].str();
    assert!(method.starts_with("adam"), "{method}");
    assert_eq!(file["feature_set"], "king-pst");
    assert!(tuned["loss"].f64() < 0.25, "{tuned}");
    let known = bench.told("eval out.bin r/params.json")["loss"].f64();
    assert!(known > 0.0 && known < 0.25, "{known}");
    assert!(bench.bytes("r/report.html").len() > 10_000);
    bench.tune((arguments, "--freeze king_k0,pawn_k1 --positive queen_k2_d1 --out f"));
    // By default this many parameters have L2 regularization only.
    let held = |more: &str, out: &str| {
        let args = ["tune", "out.bin", "--backend", "cpu", "--k", "0.8", "--epochs", "2", "--out", out];
        assert_eq!(bench.run((&args, more)).0, 0);
        bench.json(&format!("{out}/run.json"))["config"]["l2"][0].as_f64()
    };
    assert_eq!((held("", "held"), held("--l2 0", "loose")), (Some(1e-6), Some(0.0)));
    bench.told("check out.bin");

    // Tables are read back from code with all their names.
    bench.told("export r --to rust -o t.rs");
    let code = bench.text("t.rs");
    assert!(code.contains("knight_k7") || code.contains("KNIGHT_K7"), "{}", &code[..500]);
    bench.told("import-params t.rs --like r -o back.json");
    let values = |file: &serde_json::Value| file["parameters"].list().clone();
    let (back, file) = (values(&bench.json("back.json")), values(&file));
    assert!(
        back.iter()
            .zip(&file)
            .all(|(a, b)| (&a["name"], &a["mg"], &a["eg"]) == (&b["name"], &b["mg"], &b["eg"]))
    );

    let (code, out, _) =
        bench.feed("uci --params r/params.json", "uci\nposition startpos\neval\ngo nodes 500\nquit\n");
    assert!(code == 0 && out.contains("bestmove"), "{out}");
    let played = "match r/params.json material --games 2 --nodes 100 --max-plies 60 --out m";
    assert_eq!(bench.told(played)["engines"][0]["name"], "r");
    // Tables of other bucketings do not fit.
    bench.extract("p.txt --king-buckets 4");
    let why = "its tables are for other king buckets";
    bench.fails_with("tune out.bin --prior r/params.json --k 0.8", 1, why);
}

#[test]
fn buckets_are_read_from_files_and_listed() {
    let bench = Bench::new();
    bench.write("p.txt", labeled(12));
    bench.write("files.txt", "0 1 2 3 4 5 6 7\n".repeat(8));
    let (_, data) = bench.extract("p.txt --king-buckets files.txt --king-pieces all");
    assert_eq!(data.feature_count(), 8 * 768);
    let (_, out, _) = bench.run("features pst --king-buckets files.txt --group king_k3");
    assert!(
        out.starts_with("king-pst: 64 features, 128 parameters\n") && out.contains("king_k3_d1"),
        "{out}"
    );

    let refused = |arguments: &str, code: i32, reason: &str| {
        bench.fails_with(("extract p.txt -o new.bin", arguments), code, reason);
        assert!(!bench.path("new.bin").exists());
    };
    bench.write("short.txt", "0 1 2");
    bench.write("odd.txt", "0 0\n1 x");
    refused("--king-buckets short.txt", 1, "short.txt: 3 numbers: expected 64");
    refused("--king-buckets odd.txt", 1, "odd.txt:2: column 3: 'x' is not a bucket");
    refused("--king-buckets none.txt", 1, "none.txt");
    refused("--king-buckets 5", 2, "expected 4, 8, 16 or a file");
    refused("--king-buckets 4 --model classical", 2, "model 'classical' has none; only pst has");
    refused("--king-pieces all", 2, "--king-pieces only applies with --king-buckets");
    refused("--king-buckets 4 --king-pieces both", 2, "expected own or all");
}
