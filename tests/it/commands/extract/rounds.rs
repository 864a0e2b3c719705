//! Rounds of resolving positions with tuned parameters and tuning again, by the real program.

use crate::common::prelude::*;

fn sample() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst").to_string()
}

/// Returns the leaves by row under the parameters of a file.
fn leaves(bench: &Bench, data: &str, params: &str) -> Vec<gputexel::extraction::Leaf> {
    let path = bench.path(data);
    let (inputs, mut settings) =
        ExtractSettings::of_dataset(&path, dataset::read(&path).unwrap().metadata()).unwrap();
    let (set, theta) = named_parameters(params).unwrap();
    settings.evaluation = Some(TableEvaluation::try_new(&set, &theta).unwrap());
    settings.force = true;
    let cancel = AtomicBool::new(false);
    let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
    extract_with_leaves(&inputs, &settings, &bench.path("leaves.bin"), &mut hooks).unwrap().1
}

#[test]
#[ignore = "full"]
fn rounds_resolve_with_parameters_of_the_previous_round() {
    let bench = Bench::new();
    let sample = sample();
    let selection = ["--resolve", "quiescence", "--keep-captures", "--share", "0.2", "--per-game", "12"];
    bench.extract((&[sample.as_str()], &selection));
    let plain = bench.tune("out.bin --out plain --l2 1e-5 --blend 0");
    let report = bench.tune("out.bin --out r --l2 1e-5 --blend 0 --requiesce 2");
    let rounds = report["rounds"].list();
    assert_eq!(rounds.len(), 2, "{report}");
    assert_eq!(bench.json("r/run.json")["requiesce"]["done"], report["rounds"]);
    assert_eq!(bench.json("r/run.json")["requiesce"]["from"], "quiescence");
    let metrics = bench.metrics("r");
    assert_eq!(metrics.iter().filter(|line| line["requiesce"].is_object()).count(), 2);
    assert!(metrics.len() > 2 && bench.names("r").iter().all(|name| !name.starts_with('.')));

    // The first run is the one without rounds, and the first round uses its result to resolve.
    let params = |name: &str| bench.path(name).to_str().unwrap().to_string();
    let material = leaves(&bench, "out.bin", "material");
    let first = leaves(&bench, "out.bin", &params("plain/params.json"));
    let second = leaves(&bench, "out.bin", &params("r/round-1/params.json"));
    for (round, (before, after)) in rounds.iter().zip([(&material, &first), (&first, &second)]) {
        assert!(before.iter().zip(after).all(|(a, b)| a.key == b.key));
        let changed = before.iter().zip(after).filter(|(a, b)| a.leaf != b.leaf).count() as u64;
        assert_eq!(round["changed"], changed, "{round}");
        assert_eq!(round["positions"], before.len() as u64);
        assert_eq!((&round["entered"], &round["left"]), (&0.into(), &0.into()));
        assert!(round["loss"].as_f64() < round["loss_before"].as_f64(), "{round}");
        assert!(round["moved_max_cp"].as_f64() > round["moved_rms_cp"].as_f64());
    }
    assert!(rounds[0]["changed_share"].f64() > 0.001, "{report}");
    assert!(rounds[1]["changed"].as_u64() < rounds[0]["changed"].as_u64(), "{report}");
    assert!(rounds[1]["moved_rms_cp"].as_f64() < rounds[0]["moved_rms_cp"].as_f64(), "{report}");

    // The dataset of the second round is the output of `extract` with the result of the first.
    let of_first = params("r/round-1/params.json");
    let again = [&[sample.as_str()][..], &selection, &["--params", &of_first]].concat();
    bench.extract(&again);
    assert_eq!(tensors(&bench.path("out.bin")), tensors(&bench.path("r/round-2/dataset.bin")));
    // It starts from the result of the first round.
    let k = report["k"].to_string();
    let eval = bench.run(["--json", "eval", "r/round-2/dataset.bin", &of_first, "--k", &k]);
    assert_eq!(eval.0, 0, "{}", eval.2);
    let loss = serde_json::from_str::<serde_json::Value>(&eval.1).unwrap()["loss"].f64();
    assert!((loss - rounds[1]["loss_before"].f64()).abs() < 1e-12, "{loss} {report}");

    // If the record lacks one of the requested rounds, its values do not match: the run is not resumed.
    let record = bench.text("r/run.json");
    let mut cut: serde_json::Value = serde_json::from_str(&record).unwrap();
    cut["requiesce"]["done"].as_array_mut().unwrap().pop();
    bench.write("r/run.json", cut.to_string());
    std::fs::remove_file(bench.path("r/report.html")).unwrap();
    bench.fails_with("tune --resume r", 1, "r: stopped before the end of round 2 of 2; runs with rounds");
    assert!(!bench.path("r/report.html").exists());
    bench.write("r/run.json", record);

    // The folder has the result of the last round.
    assert_eq!(bench.bytes("r/params.json"), bench.bytes("r/round-2/params.json"));
    assert_eq!(report["k"], plain["k"]);
    assert_ne!(bench.bytes("r/params.json"), bench.bytes("plain/params.json"));
}

#[test]
#[ignore = "full"]
fn unresolved_datasets_and_games_can_be_resolved_in_rounds() {
    let bench = Bench::new();
    bench.extract([sample().as_str(), "--keep-captures", "--share", "0.05"]);
    let report = bench.tune("out.bin --out r --l2 1e-4 --requiesce 1 --requiesce-from depth1");
    // Every position is replaced by one at least a ply deeper, some by the same one as before.
    assert!(report["rounds"][0]["changed_share"].f64() > 0.95, "{report}");
    assert_eq!(bench.json("r/run.json")["requiesce"]["from"], "depth1");
    let games = bench.write("few.pgn", (0..20).map(|_| pgn("", GAME, "1-0")).collect::<String>());
    bench.tune([games.to_str().unwrap(), "--out", "g", "--k", "1", "--l2", "1e-3", "--requiesce", "1"]);
    assert_eq!(bench.json("g/run.json")["requiesce"]["from"], "quiescence");
}

#[test]
fn rejects_invalid_rounds_in_one_line() {
    let bench = Bench::new();
    let text = pgn("", GAME, "1-0");
    bench.write("games.pgn", &text);
    bench.extract("games.pgn");
    std::fs::rename(bench.path("out.bin"), bench.path("data.bin")).unwrap();
    let tune = |data: &str, more: &[&str], code: i32| {
        bench.fails(
            (&["tune", data, "--l2=0", "--backend", "cpu", "--k", "1", "--out", "none", "--quiet"], more),
            code,
        )
    };
    let one = ["--requiesce", "1"];
    assert!(tune("data.bin", &["--requiesce", "0"], 2).contains("must be from 1 to"));
    assert!(
        tune("data.bin", &["--requiesce", "1", "--requiesce-from", "none"], 2)
            .contains("expected quiescence")
    );
    assert!(tune("-", &one, 2).contains("standard input cannot be read again"));
    bench.fails_with("tune data.bin data.bin --requiesce 1", 2, "a single dataset");

    bench.write("games.pgn", pgn("", "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Nf3 Be7 5. Bg5 h6 6. Bh4 O-O", "1-0"));
    assert_has(&tune("data.bin", &one, 1), "games.pgn) no longer give the same positions");
    std::fs::remove_file(bench.path("games.pgn")).unwrap();
    assert_has(&tune("data.bin", &one, 1), "data.bin: its source 'games.pgn' is not there");
    bench.extract_from("-", text);
    assert_has(&tune("out.bin", &one, 1), "extracted from standard input");
    assert!(!bench.path("none").exists());
}
