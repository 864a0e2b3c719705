//! Figures of other tuners on real positions, which this one must reach, too.
//!
//! The positions are public and are not part of the project: `GPUTEXEL_SHARED_DATA`, or else `../shared/data`, is
//! where they are expected.

use crate::common::prelude::*;
use gputexel::optimizer::AdamRuns;

/// 725,000 quiet positions, extracted once for all tests.
fn engine_725k() -> Option<&'static (Bench, Dataset)> {
    static DATA: OnceLock<(Bench, Dataset)> = OnceLock::new();
    let path = shared("epd/engine-725k.c9.epd.zst")?;
    Some(DATA.get_or_init(|| {
        let bench = Bench::new();
        let (report, _) = bench.extract([path.to_str().unwrap()]);
        assert_eq!(report["positions"], 725_000);
        let results = ["white", "draws", "black"].map(|key| report["results"][key].as_u64().unwrap());
        assert_eq!(results, [260_670, 401_642, 62_688]);
        let data = dataset::read(&bench.path("out.bin")).unwrap();
        (bench, data)
    }))
}

fn all(data: &Dataset) -> Vec<u32> {
    (0..data.len() as u32).collect()
}

#[test]
#[ignore = "full"]
fn fitted_scale_matches_other_tuners() {
    let Some((_, data)) = engine_725k() else { return };
    for (prior, k, loss, precision) in [
        ("material:100,300,300,500,900", 0.819_095_9, 0.087_136_792_8, 1e-9),
        ("material:100,300,320,500,900", 0.837_314_712_5, 0.086_531_8, 5e-8),
    ] {
        let theta = prior.parse::<Prior>().unwrap().theta(&data.metadata().feature_set).unwrap();
        let fit =
            fit_scale(data, &exact_scores(data, &theta, &all(data)), &all(data), LossKind::Squared).unwrap();
        assert!((fit.k - k).abs() < 1e-6, "{prior}: {fit:?}");
        assert!((fit.loss - loss).abs() < precision, "{prior}: {fit:?}");
    }
}

#[test]
#[ignore = "full"]
fn gauss_newton_reaches_the_minimum() {
    let Some((bench, _)) = engine_725k() else { return };
    let report = bench.tune([
        "out.bin",
        "--out",
        "r",
        "--prior",
        "material:100,300,320,500,900",
        "--k",
        "0.8373147125",
    ]);
    let loss = report["loss"].as_f64().unwrap();
    // The minimum over the 768 weights, found by other means, is 0.0702005549.
    assert!((0.070_200_55..=0.070_200_562).contains(&loss), "{report}");
    assert!((report["loss_before"].as_f64().unwrap() - 0.086_531_8).abs() < 5e-8, "{report}");
    assert!(report["epochs"].as_u64().unwrap() <= 20, "{report}");
}

/// Returns full-batch losses after 0, 1, 2, … updates with rate 1, ε 1e-8 and no bias correction.
///
/// An epoch's loss is that of the parameters before its update: that of epoch n + 1 comes after n
/// updates.
fn trajectory(data: &Dataset, k: f64, updates: u64) -> Vec<f64> {
    let prior = Prior::Material([100.0, 300.0, 300.0, 500.0, 900.0]);
    let adam =
        AdamSettings { learning_rate: 1.0, epsilon: 1e-8, bias_correction: false, ..AdamSettings::default() };
    let config = RunConfig {
        stopping: stopping(updates + 1, 1000, 1000),
        optimizer: OptimizerConfig::Adam(AdamRuns {
            runs: vec![adam],
            schedule: Schedule::Constant,
            batches: 1,
        }),
        ..RunConfig::new(data, &prior, k).unwrap()
    };
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    let layout = Layout::try_new(data, 1, |_| 0).unwrap();
    let mut losses = Vec::new();
    let outcome = Tuning::try_new(&config, &split)
        .unwrap()
        .run(&mut CpuEvaluator::new(&layout), &AtomicBool::new(false), &mut |event| {
            if let Event::Epoch { loss, .. } = event {
                losses.push(loss);
            }
            Ok(())
        })
        .unwrap();
    // The resulting parameters have had one more update.
    let objective = Objective { k, loss: LossKind::Squared };
    let exact = exact_loss(data, objective, &outcome.parameters, &all(data));
    let last = losses[updates as usize];
    assert!(exact < last && last - exact < 1e-5, "{exact} after {last}");
    losses
}

/// Results of hce-tuner with one table per phase, measured to seven digits at its own fit of K (1.8862 in base-e
/// form): .0709048, .0707224 and, one before the 300th update, .0706180. Half the gradient would lead to .0709470,
/// .0707691 and .0706667; a smaller ε to .0708421 at first.
#[test]
#[ignore = "full"]
fn adam_follows_another_tuner() {
    let Some((_, data)) = engine_725k() else { return };
    let losses = trajectory(data, 1.886_19 / std::f64::consts::LN_10, 299);
    for (updates, wanted) in [(100, 0.070_904_8), (200, 0.070_722_4), (299, 0.070_618_0)] {
        let got = losses[updates];
        assert!((got - wanted).abs() < 1e-7, "after {updates} updates: {got:.8}, not {wanted}");
    }
}

/// The same algorithm in f64 throughout, over the reference of losses and gradients, at the exact
/// minimum of K.
#[test]
#[ignore = "full"]
fn adam_follows_exact_arithmetic() {
    let Some((_, data)) = engine_725k() else { return };
    let losses = trajectory(data, 0.819_095_9, 100);
    for (updates, wanted) in
        [(0, 0.087_136_793), (10, 0.074_085_588), (50, 0.071_165_179), (100, 0.070_904_986)]
    {
        let got = losses[updates];
        assert!((got - wanted).abs() < 1e-8, "after {updates} updates: {got:.9}, not {wanted}");
    }
}
