//! Gauss–Newton by conjugate gradients: the same optimum as methods with full matrices, for any basis and penalties.

use crate::common::prelude::*;
use gputexel::optimizer::GaussNewtonCgSettings;
use gputexel::tuning::{GAUSS_NEWTON_LIMIT, Limits, ModelSize};

const L2: f64 = 1e-3;

/// Runs to convergence, and returns θ with its exact loss, including regularization.
fn tuned(data: &Dataset, config: &RunConfig) -> (Outcome, f64) {
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n)).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let mut run = Tuning::try_new(config, &split).unwrap();
    let outcome = run.run(&mut evaluator, &AtomicBool::new(false), &mut |_| Ok(())).unwrap();
    assert_ne!(outcome.reason, StopReason::Epochs);
    let which: Vec<u32> = (0..data.len() as u32).collect();
    let loss = exact_loss(data, Objective { k: config.k, loss: config.loss }, &outcome.parameters, &which);
    let cost = config.regularization(0).value(&outcome.parameters);
    (outcome, loss + cost)
}

/// The same run by conjugate gradients and with matrices.
fn both(data: &Dataset, config: &RunConfig) -> [(Outcome, f64); 2] {
    let settings = GaussNewtonSettings::default();
    [OptimizerConfig::GaussNewtonCg(GaussNewtonCgSettings(settings)), OptimizerConfig::GaussNewton(settings)]
        .map(|optimizer| {
            let limits = Limits { epochs: Some(200), improvement: Some(1e-12), ..Limits::default() };
            tuned(
                data,
                &RunConfig {
                    stopping: limits.for_method(&optimizer),
                    optimizer,
                    l2: vec![L2],
                    ..config.clone()
                },
            )
        })
}

fn assert_same(data: &Dataset, config: &RunConfig) -> Outcome {
    let [(own, loss), (_, wanted)] = both(data, config);
    assert!((loss - wanted).abs() < 1e-9 * wanted, "{loss} {wanted}");
    own
}

#[test]
fn optima_match_full_matrices() {
    let folder = tempfile::tempdir().unwrap();
    let data = random_dataset(&folder.path().join("d.bin"), FeatureKind::Pst, 4000, 4);
    let set = &data.metadata().feature_set;
    let plain = RunConfig::new(&data, &Prior::Zero, 0.8).unwrap();
    assert_same(&data, &plain);
    assert_same(&data, &RunConfig { loss: LossKind::CrossEntropy, ..plain.clone() });
    let penalties = parse_penalties(set, "mean=1e-3,phases=1e-2,smooth=1e-3").unwrap();
    let penalized = RunConfig { penalties, ..plain.clone() };
    assert_same(&data, &penalized);
    // In a basis, blocks are those of its coordinates.
    let basis = |text: &str, constraints: Vec<Constraint>| -> Option<Parameterization> {
        let Ok(basis) = text.parse::<Basis>();
        let resolved = basis.resolve(set, &plain.prior_theta, &["king".to_string()]).unwrap();
        Some(resolved.constrained(set, &plain.prior_theta, &constraints).unwrap())
    };
    let mirrored = RunConfig { basis: basis("mirrored", vec![]), ..penalized.clone() };
    let theta = assert_same(&data, &mirrored).parameters;
    assert_eq!((theta[64 + 10], theta[5 * 64]), (theta[64 + 13], 0.0));
    assert_same(&data, &RunConfig { basis: basis("mirrored+tied", vec![]), ..penalized });
    let negative = Constraint { kind: ConstraintKind::Negative, name: "knight_e4".to_string() };
    let bounded = RunConfig { basis: basis("identity", vec![negative]), ..plain };
    let theta = assert_same(&data, &bounded).parameters;
    assert_eq!((theta[64 + 28], theta[384 + 64 + 28]), (0.0, 0.0), "a knight on e4 is worth more");
}

#[test]
fn conjugate_gradients_are_the_default_for_large_problems() {
    let of = |parameters: usize, linear: bool, loss: LossKind| {
        OptimizerConfig::default_for(loss.is_smooth(), ModelSize { parameters, linear })
    };
    let (most, smooth) = (GAUSS_NEWTON_LIMIT, LossKind::Squared);
    assert!(matches!(of(most, true, smooth), OptimizerConfig::Hybrid(_)));
    assert!(matches!(of(most + 2, true, smooth), OptimizerConfig::GaussNewtonCg(_)));
    assert!(matches!(of(most + 2, false, smooth), OptimizerConfig::Adam(_)));
    assert!(matches!(of(most + 2, true, LossKind::Power(1.0)), OptimizerConfig::Adam(_)));
}

#[test]
fn scores_that_are_not_linear_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = random_dataset(&folder.path().join("d.bin"), FeatureKind::Full, 200, 4);
    let config = RunConfig {
        optimizer: OptimizerConfig::GaussNewtonCg(GaussNewtonCgSettings(GaussNewtonSettings::default())),
        ..RunConfig::new(&data, &Prior::default(), 0.8).unwrap()
    };
    let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
    let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
    let mut run = Tuning::try_new(&config, &split).unwrap();
    let error =
        run.run(&mut CpuEvaluator::new(&layout), &AtomicBool::new(false), &mut |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("need scores that are sums of parameters"), "{error}");
}
