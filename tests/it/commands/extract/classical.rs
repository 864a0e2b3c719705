//! Every command takes a classical dataset or parameter file, as a user would give it.

use crate::common::classical::{classical, labeled};
use crate::common::prelude::*;

#[test]
#[ignore = "full"]
fn works_from_text_to_games() {
    let bench = Bench::new();
    bench.write("p.txt", labeled(12));
    let (_, data) = bench.extract("p.txt --model classical");
    assert!(data.unit_rows() && data.len() > 500, "{}", data.len());
    // The side to move is that of the text.
    let set = classical();
    let tempo = set.features.iter().position(|feature| feature.name == "tempo").unwrap() as u16;
    let sign = |n: usize| data.row(n).entries().find(|(id, _)| *id == tempo).unwrap().1;
    let white = (0..data.len()).filter(|&n| sign(n) > 0.0).count();
    assert!(white > data.len() / 4 && white < data.len() * 3 / 4, "{white}");

    let tuned = bench.tune("out.bin --k 0.8 --l2 1e-3 --out r --round local");
    assert!(tuned["loss"].f64() < 0.25, "{tuned}");
    let loss = bench.told("eval out.bin r/params.json")["loss"].f64();
    let file = bench.json("r/params.json");
    assert_eq!(file["feature_set"], "classical");
    assert_eq!(file["parameters"].list().len(), set.features.len());
    assert!(loss > 0.0 && loss < 0.25);
    let info = bench.told("info out.bin");
    assert!(info.to_string().contains("\"king_attack\""), "{info}");
    bench.told("sweep out.bin --scale 0.5:1.5:8");
    let flown = "pso out.bin --basis mirrored --radius 50 --iterations 2 --k 0.8 --out s";
    bench.told(flown);
    bench.fails("pso out.bin --basis madchess --iterations 2 --k 0.8", 2);
    bench.told("basis tied --model classical -o tied.json");
    bench.tune("out.bin --basis tied.json --freeze king_storm --k 0.8 --out t");

    let (code, out, _) =
        bench.feed("uci --params r/params.json", "uci\nposition startpos\neval\ngo nodes 500\nquit\n");
    assert!(code == 0 && out.contains("option name king_attack_7.mg"), "{out}");
    assert!(out.contains("info string static") && out.contains("bestmove"), "{out}");
    let played = "match r/params.json material --games 4 --nodes 200 --max-plies 80 --out m";
    let report = bench.told(played);
    assert_eq!(report["engines"][0]["name"], "r");
}

#[test]
fn features_are_listed() {
    let bench = Bench::new();
    let set = classical();
    let listed = bench.told("features");
    let names: Vec<&str> = listed["groups"]
        .list()
        .iter()
        .flat_map(|group| group["features"].list().iter().map(|name| name.str()))
        .collect();
    assert!(names.iter().copied().eq(set.features.iter().map(|feature| feature.name.as_str())));
    let (_, out, _) = bench.run("features classical --group bishop_pair");
    assert_eq!(
        out,
        "classical: 1 feature, 2 parameters\n\nbishop_pair (1)\n  The side has at least two bishops.\n    bishop_pair\n"
    );
    assert!(bench.told("features material").to_string().contains("\"queen\""));
    bench.fails_with("features clasical", 2, "expected pst, material, classical or full");
    bench.fails_with("features pst --group tempo", 2, "has no such group");
}

#[test]
fn datasets_of_other_features_are_refused() {
    let bench = Bench::new();
    let mut set = classical();
    set.features.swap(400, 401);
    let path = bench.path("d.bin");
    let mut writer =
        dataset::DatasetWriter::create(&path, dataset::Metadata::new(set.clone()), true).unwrap();
    let mut row = FeatureRow::default();
    set.compute(&shakmaty::Board::new(), shakmaty::Color::White, &mut row);
    let labels = dataset::PositionLabels { result: 0.5, score_cp: None, weight: 1.0, game: None };
    writer.push(&row, labels).unwrap();
    writer.finish(Vec::new(), []).unwrap();
    assert_eq!(set.kind, FeatureKind::Classical);
    bench.fails_with("tune d.bin", 1, "lists other features");
}
