//! Prior strength: chosen, given, refused.

use crate::common::prelude::*;

fn bench() -> Bench {
    Bench::with_positions(4000, 11)
}

fn weights(bench: &Bench, run: &str) -> Vec<(String, f64)> {
    let record = bench.json(&format!("{run}/run.json"));
    let list = record["config"]["penalties"].as_array().cloned().unwrap_or_default();
    let mut kinds: Vec<(String, f64)> =
        list.iter().map(|penalty| (penalty["kind"].str().to_string(), penalty["weight"].f64())).collect();
    kinds.dedup();
    kinds
}

fn loss(report: &Value) -> f64 {
    report["loss"].f64()
}

#[test]
#[ignore = "full"]
fn weights_are_chosen_by_default() {
    let bench = bench();
    bench.ok("tune d.bin --k 0.8 --backend cpu --out r");
    let chosen = weights(&bench, "r");
    assert!(chosen.len() >= 3, "{chosen:?}");
    // The same weights, given explicitly, lead to the same result.
    let given = bench.tune("d.bin --k 0.8 --out g --prior-strength r");
    assert_eq!(weights(&bench, "g"), chosen);
    let record = bench.json("r/run.json");
    let tuned = record["strength"]["gain"].as_object().unwrap();
    assert!(tuned["after"].f64() < tuned["before"].f64());
    let first = bench.json("r/params.json");
    let second = bench.json("g/params.json");
    for (a, b) in first["parameters"].list().iter().zip(second["parameters"].list()) {
        assert!((a["mg"].f64() - b["mg"].f64()).abs() < 0.5, "{a} {b}");
    }
    // λ alone, including 0, is used as given.
    let zero = bench.tune("d.bin --k 0.8 --out z --l2 0");
    let none = bench.tune("d.bin --k 0.8 --out n --prior-strength none");
    assert!(bench.bytes("z/params.json") == bench.bytes("n/params.json"));
    assert!(weights(&bench, "z").is_empty() && bench.json("z/run.json").get("strength").is_none());
    assert!(loss(&zero) == loss(&none) && loss(&zero) < loss(&given));
}

#[test]
fn other_optimizers_and_rounding_know_penalties() {
    let bench = Bench::new();
    bench.dataset("m.bin", FeatureKind::Material, 3000, 5);
    let flags = "m.bin --k 0.8 --prior-strength mean=1e-2,ridge=1e-3,phases=1e-2 --out";
    let with = |out: &str, more: &str| bench.tune((flags, (&[out], more)));
    let best = |report: &Value| report["members"][0]["best"].f64();
    let newton = with("newton", "--errors");
    let adam = with("adam", "--optimizer adam --learning-rate 2 --epochs 3000");
    assert!((best(&newton) - best(&adam)).abs() < 1e-6, "{newton} {adam}");
    let local = with("local", "--optimizer local");
    let rounded = with("rounded", "--round local");
    assert!((best(&newton) - best(&local)).abs() < 1e-5, "{newton} {local}");
    assert_eq!(rounded["single_steps"]["improving"], 0, "{rounded}");
    assert_eq!(local["single_steps"]["improving"], 0, "{local}");
    let share = newton["uncertainty"]["prior_share"].f64();
    assert!((0.01..1.0).contains(&share), "{newton}");
    let free = bench.tune("m.bin --k 0.8 --l2 0 --errors --out free");
    assert!(free["uncertainty"].get("prior_share").is_none(), "{free}");
    assert!(free["uncertainty"]["median_error"].as_f64() > newton["uncertainty"]["median_error"].as_f64());
}

#[test]
#[ignore = "full"]
fn k_may_be_fitted_with_the_parameters() {
    let bench = Bench::new();
    let sample = extracted_games();
    std::fs::copy(sample, bench.path("d.bin")).unwrap();
    let joint = bench.tune("d.bin --k joint --l2 1e-4 --out j");
    let prior = bench.tune("d.bin --k prior --l2 1e-4 --out p");
    let scale = &bench.json("j/run.json")["scale"];
    assert_eq!(scale["mode"], "joint");
    assert_eq!(scale["on_prior"], prior["k"]);
    assert!(joint["k"].as_f64() != prior["k"].as_f64());
    assert_eq!(bench.json("p/run.json")["scale"]["mode"], "prior");
}

#[test]
#[ignore = "full"]
fn held_out_losses_are_of_the_k_and_values_that_are_written() {
    let bench = Bench::new();
    let sample = extracted_games();
    std::fs::copy(sample, bench.path("d.bin")).unwrap();
    let joint = bench.tune("d.bin --k joint --prior-strength auto --out j");
    let number = |value: &Value| value.f64();
    assert!((number(&joint["score_ratio"]) - 1.0).abs() < 1e-6, "{joint}");
    let [before, held_out] = [&joint["loss_before"], &joint["strength"]["gain"]["before"]].map(number);
    assert!(
        (held_out / before - 1.0).abs() < 1e-9,
        "folds hold every position out once: {before} {held_out}"
    );
    let after = number(&joint["strength"]["gain"]["after"]);
    assert!(after < before && after > number(&joint["loss"]), "{joint}");
    // Weights follow K, and the listed ones are those of the run.
    let listed = joint["strength"]["kinds"].list();
    for (kind, weight) in weights(&bench, "j") {
        let own = listed.iter().find(|own| own["kind"] == kind.as_str()).unwrap();
        assert!((number(&own["weight"]) / weight - 1.0).abs() < 1e-12, "{kind}: {own} {weight}");
    }
}

#[test]
#[ignore = "full"]
fn handles_priors_without_scale() {
    let bench = Bench::new();
    let sample = extracted_games();
    std::fs::copy(sample, bench.path("d.bin")).unwrap();
    let set = bench.read("d.bin").metadata().feature_set.clone();
    // Pawns within ± 20 centipawns, ranks 2 to 7, and nothing else.
    let pawns: [[i8; 8]; 6] = [
        [-5, 17, 14, -12, 3, 18, 10, 20],
        [17, -16, 18, -20, 10, -4, 15, -6],
        [-8, 10, 14, 15, 10, 5, 20, -11],
        [-6, 20, -11, 13, 4, -20, -16, -10],
        [17, -18, -1, -19, -3, 10, 18, 4],
        [7, 5, 16, 8, -12, 3, -14, -18],
    ];
    let value = |name: &str| match name.strip_prefix("pawn_").map(str::as_bytes) {
        Some([file, rank @ b'2'..=b'7']) => {
            f64::from(pawns[usize::from(rank - b'2')][usize::from(file - b'a')])
        }
        _ => 0.0,
    };
    let half: Vec<f64> = set.features.iter().map(|feature| value(&feature.name)).collect();
    let file = gputexel::model::ParameterFile::new(&set, &[&half[..], &half[..]].concat(), None, None);
    bench.write("p.json", file.to_json());
    let tune = "tune d.bin --prior p.json --backend cpu --blend 0";
    let (text, said) = bench.done((tune, "--out a"));
    assert!(said.contains("tuned scores cannot keep the scale of the prior"), "{said}");
    assert!(!text.contains("\nscale "), "there is none: {text}");
    let losses = |run: &str| {
        let provenance = &bench.json(&format!("{run}/params.json"))["provenance"];
        ["loss_before", "loss"].map(|name| provenance[name].f64())
    };
    let [before, auto] = losses("a");
    let best = ["prior", "1"].map(|k| {
        assert_eq!(bench.run(("-q", (tune, &["--k", k, "--out", k]))).0, 0);
        losses(k)[1]
    });
    assert!(auto <= best[0].min(best[1]) * 1.001 && auto < 0.1225, "{auto} {best:?}");
    let held_out = bench.json("a/run.json")["strength"]["gain"]["before"].f64();
    assert!((held_out / before - 1.0).abs() < 1e-9, "{held_out} {before}");
    let (code, _, err) = bench.run((tune, "--k joint --out j"));
    assert_eq!(code, 2, "{err}");
    assert_has(&err, ["--k joint: tuned scores cannot keep", "use --k prior or a number"]);
    assert!(!bench.path("j").exists());
}

#[test]
#[ignore = "full"]
fn sweeps_scale_given_weights() {
    let bench = bench();
    let sweep = "sweep d.bin --k 0.8 --optimizer gauss-newton --backend cpu";
    let report = bench.report((sweep, "--prior-strength bend=1e-4,mean=1e-4 --grid strength=0,1,1e3"));
    let training = |strength: f64| -> f64 {
        let own = |entry: &&Value| entry["settings"]["strength"].f64() == strength;
        report["ranking"].list().iter().find(own).unwrap()["training"].f64()
    };
    assert!(training(0.0) < training(1.0) && training(1.0) < training(1e3), "{report}");
    bench.fails_with((sweep, "--grid strength=1,2"), 2, "there are no penalties");
    let why = "weights are chosen for single runs";
    bench.fails_with((sweep, "--prior-strength auto --grid l2=0,1"), 2, why);
}

#[test]
fn rejects_invalid_strengths() {
    let bench = bench();
    bench.dataset("m.bin", FeatureKind::Material, 200, 5);
    std::fs::create_dir(bench.path("empty")).unwrap();
    bench.tune("d.bin --k 0.8 --l2 1e-3 --epochs 1 --out plain");
    let strength = |text: &'static str| vec!["d.bin", "--prior-strength", text];
    for (flags, code, wanted) in [
        (strength("bend=-1"), 2, "'-1'"),
        (strength("bend=nan"), 2, "'nan'"),
        (strength("bent=1"), 2, "ridge, level, mean"),
        (strength("strong"), 2, "KIND=WEIGHT"),
        (strength("bend:bishp=1"), 2, "bishp"),
        (vec!["m.bin", "--prior-strength", "mirror=1"], 2, "mirror"),
        (strength("empty"), 1, "empty"),
        (strength("plain"), 1, "penalties"),
        (vec!["d.bin", "--prior-strength", "auto", "--l2", "1e-3"], 2, "--l2"),
        (vec!["d.bin", "--prior-strength", "auto", "--loss", "power:1.5"], 2, "curvature"),
        (vec!["d.bin", "--k", "joint", "--loss", "power:1.5"], 2, "--k joint"),
    ] {
        bench.fails_with(("tune --backend cpu --out r", &flags), code, wanted);
        assert!(!bench.path("r").exists(), "{flags:?}");
    }
    // Losses without curvature are tuned without penalties, with a note.
    let (_, err) = bench.done("tune d.bin --loss power:1.5 --epochs 2 --backend cpu --out r");
    assert_one_line(&err);
    assert!(err.contains("nothing is regularized"), "{err}");
}

#[test]
fn handles_few_games_and_games_without_winner() {
    let bench = Bench::new();
    let tune = |input: &str| bench.done(("tune --out r --force --k 1 --backend cpu", input));
    for (positions, wanted) in
        [(10, "one game is too few"), (30, "3 games are fewer than the folds: 3 are used")]
    {
        bench.dataset("few.bin", FeatureKind::Pst, positions, 3);
        let (out, err) = tune("few.bin");
        assert!(err.contains(wanted), "{err} {out}");
    }
    let line = |i: usize| {
        let rank = |piece: &str| format!("{}{piece}{}", 1 + i % 3, 7 - (1 + i % 3));
        let result = ["0-1", "1/2-1/2", "1/2-1/2"][i % 3];
        format!("7k/8/{}/8/8/{}/8/K7 w - - c9 \"{result}\";\n", rank("p"), rank("N"))
    };
    bench.write("draws.epd", (0..60).map(line).collect::<String>());
    let (out, err) = tune("draws.epd");
    assert!(err.contains("games of the positions are not known"), "{err} {out}");
}

#[test]
fn weights_are_not_judged_by_the_games_that_chose_them() {
    let bench = Bench::new();
    // Results of 300 games were drawn from the prior's own expectation; by the folds that chose the weights, the result
    // is better by 2.6 standard errors.
    let games = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nothing-to-gain.fens.gz");
    let told = bench.report(("tune --out r --backend cpu", games));
    assert_eq!(told["verdict"]["judgement"], "same", "{told}");
    let by_fold = |kind: &Value| kind["by_fold"].list().len();
    assert!(told["strength"]["kinds"].list().iter().all(|kind| by_fold(kind) == 10), "{told}");
}

/// Returns lines of positions in which White is a knight ahead, of which it wins `wins` of 10 in the middlegame and 9 of
/// 10 in the endgame.
fn knight_ahead(wins: usize) -> String {
    let line = |n: usize| {
        // Pawns on the second to fourth rank, by the digits of n.
        let rank = |file: u32| 2 + (n / 3_usize.pow(file)) % 3;
        let row = |wanted: usize| {
            (0..8).map(|file| if rank(file) == wanted { 'P' } else { '1' }).collect::<String>()
        };
        let result = |wins: usize| if n % 10 < wins { "1-0" } else { "0-1" };
        let pawns = format!("pppppppp/8/8/{}/{}/{}", row(4), row(3), row(2));
        [("rnbqkb1r", "RNBQKBNR w KQkq", wins), ("4k3", "4K1N1 w -", 9)]
            .map(|(black, white, wins)| format!("{black}/{pawns}/{white} - c9 \"{}\";\n", result(wins)))
            .concat()
    };
    (0..400).map(line).collect()
}

#[test]
fn values_from_positions_with_compensation_are_not_to_be_played() {
    let bench = Bench::new();
    bench.write("given-up.epd", knight_ahead(6));
    bench.write("blundered.epd", knight_ahead(9));
    bench.ok("extract given-up.epd --model material -o d.bin");
    for (input, warned) in [("given-up.epd", true), ("d.bin", true), ("blundered.epd", false)] {
        let (code, out, error) = bench.run(format!("tune {input} --backend cpu --force --out run"));
        assert!(code == 0 && out.contains("ahead       by a minor piece: 0."), "{out} {error}");
        assert_eq!(out.contains("verdict     do not play these values as they are: "), warned, "{out}");
        assert!(!warned || ["rescore", "selfplay --leaves", "improve"].iter().all(|way| out.contains(way)));
    }
}
