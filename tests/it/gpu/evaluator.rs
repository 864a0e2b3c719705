//! The GPU evaluator against the mathematics in f64.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;

const LOSSES: [LossKind; 4] =
    [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5), LossKind::Power(1.0)];

/// Bounds on the errors against f64. Measured maxima on lavapipe: 1.5e-7 for losses (cross-entropy),
/// 1.8e-6 for gradients relative to the largest component, 1.4e-6 relative to the norm.
const LOSS_BOUND: f64 = 1e-6;
const GRADIENT_BOUND: f64 = 1e-5;

fn random(kind: FeatureKind, positions: usize, seed: u64) -> Dataset {
    common::random_dataset(&scratch(), kind, positions, seed)
}

/// Returns members around material, each with its own K, all exactly representable in f32. K is small enough that
/// boards with nine queens against none leave 1 − p above 1e-16: beyond that, the reference's cross-entropy, which
/// computes 1 − p, is the inaccurate one.
fn population(data: &Dataset, members: usize, whole: bool) -> Population {
    let mut parameters = Vec::new();
    for member in 0..members {
        let theta = common::random_theta(&data.metadata().feature_set, whole, member as u64);
        parameters.extend(theta.into_iter().map(|value| f64::from(value as f32)));
    }
    let k = (0..members).map(|member| 0.3 + 0.4 * member as f64 / members as f64).collect();
    Population::new(data.feature_count(), parameters, k)
}

fn request(layout: &Layout, loss: LossKind) -> Request {
    Request { parts: 0..layout.parts().len(), loss, gradients: true, curvature: false }
}

/// Largest errors of losses, and of gradients relative to their largest component and their norm.
#[derive(Debug, Default, Clone, Copy)]
struct Errors {
    loss: f64,
    largest: f64,
    norm: f64,
}

fn compare(
    data: &Dataset,
    population: &Population,
    loss: LossKind,
    which: &[usize],
    got: &Evaluations,
) -> Errors {
    let mut errors = Errors::default();
    let size = 2 * population.features;
    assert_eq!(got.losses.len(), population.members());
    assert_eq!(got.positions, which.len());
    for member in 0..population.members() {
        let objective = Objective { k: population.k[member], loss };
        let theta = population.member(member);
        let wanted = objective::loss_and_gradient(data, objective, theta, which.iter().copied());
        errors.loss = errors.loss.max((wanted.loss - got.losses[member]).abs());
        if got.gradients.is_empty() {
            continue;
        }
        let gradient = &got.gradients[member * size..][..size];
        let largest = wanted.gradient.iter().fold(0f64, |m, g| m.max(g.abs()));
        let norm = wanted.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let differences = || wanted.gradient.iter().zip(gradient).map(|(a, b)| (a - b).abs());
        if largest == 0.0 {
            assert!(gradient.iter().all(|&g| g == 0.0));
            continue;
        }
        errors.largest = errors.largest.max(differences().fold(0.0, f64::max) / largest);
        errors.norm = errors.norm.max(differences().map(|d| d * d).sum::<f64>().sqrt() / norm);
    }
    assert!(errors.loss <= LOSS_BOUND, "{errors:?}");
    assert!(errors.largest <= GRADIENT_BOUND && errors.norm <= GRADIENT_BOUND, "{errors:?}");
    errors
}

#[test]
fn losses_and_gradients_agree_with_f64_at_every_edge() {
    let Some(context) = context() else { return };
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        for (positions, members) in [
            (1, vec![1, 2, 33]),
            (127, vec![1, 3]),
            (128, vec![31, 32]),
            (129, vec![1, 33, 64]),
            (255, vec![2, 16]),
            (257, vec![1, 4, 64]),
            (6000, vec![1, 7]),
        ] {
            let data = random(kind, positions, positions as u64);
            let layout = Layout::whole(&data).unwrap();
            let all: Vec<usize> = (0..positions).collect();
            let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
            for members in members {
                let population = population(&data, members, false);
                for loss in LOSSES {
                    let got = evaluator.evaluate(&population, &request(&layout, loss)).unwrap();
                    compare(&data, &population, loss, &all, &got);
                    assert_eq!(evaluator.evaluate(&population, &request(&layout, loss)).unwrap(), got);
                    let only = Request { gradients: false, ..request(&layout, loss) };
                    let got = evaluator.evaluate(&population, &only).unwrap();
                    assert!(got.gradients.is_empty());
                    compare(&data, &population, loss, &all, &got);
                }
            }
        }
    }
}

/// Far from 0 the cross-entropy of a lost prediction is |x| itself, ln 2 times the doublings of the odds. With a power of
/// two for their number per phase unit, and each position in a part of its own, losses reveal every bit of the scores.
#[test]
fn scores_of_whole_number_weights_are_exact() {
    let Some(context) = context() else { return };
    const DOUBLINGS: f32 = 64.0;
    const LN_2: f64 = std::f64::consts::LN_2;
    for (kind, positions) in [(FeatureKind::Pst, 3000), (FeatureKind::Material, 3000), (FeatureKind::Pst, 1)]
    {
        let data = random(kind, positions, 3);
        let theta = common::random_theta(&data.metadata().feature_set, true, 5);
        let (mg, eg) = theta.split_at(data.feature_count());
        let exact = |n: usize| {
            let row = data.row(n);
            let (mg_units, eg_units) = (f64::from(row.phase), f64::from(data.phase_max() - row.phase));
            let value = |id: usize| mg_units * mg[id] + eg_units * eg[id];
            row.entries().map(|(id, c)| f64::from(c) * value(usize::from(id))).sum()
        };
        let k = f64::from(DOUBLINGS) * LN_2 * f64::from(data.phase_max()) / objective::x_per_cp(1.0);
        let scores: Vec<f64> = (0..positions).map(exact).collect();
        let lost = scores.iter().map(|&score| if score < 0.0 { 1.0 } else { 0.0 }).collect();
        let layout = Layout::try_new(&data, positions, |n| n).unwrap().with_targets(lost).unwrap();
        let options = GpuOptions { binding_bytes: 64 << 10, ..GpuOptions::new(context) };
        for options in [GpuOptions::new(context), options] {
            let mut evaluator = GpuEvaluator::with_options(context, &layout, options).unwrap();
            for gradients in [false, true] {
                let request = Request { gradients, ..request(&layout, LossKind::CrossEntropy) };
                let got = evaluator.evaluate(&Population::single(&theta, k), &request).unwrap();
                assert_eq!(got.part_losses.len(), positions);
                for (n, (&loss, &score)) in got.part_losses.iter().zip(&scores).enumerate() {
                    match score == 0.0 {
                        true => assert!((loss - LN_2).abs() < 1e-6, "{n}: {loss}"),
                        false => {
                            let wanted = LN_2 as f32 * (DOUBLINGS * score.abs() as f32);
                            assert_eq!(loss, f64::from(wanted), "{n}: {score}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn weights_and_offsets_count() {
    let Some(context) = context() else { return };
    let plain = random(FeatureKind::Pst, 700, 13);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weighted.bin");
    let set = plain.metadata().feature_set.clone();
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
    for n in 0..plain.len() {
        let view = plain.row(n);
        let ids = |sign: f32| view.entries().filter(|&(_, c)| c == sign).map(|(id, _)| id).collect();
        let row =
            FeatureRow { plus: ids(1.0), minus: ids(-1.0), coefficients: Vec::new(), phase: view.phase };
        let weight = 0.25 + (n % 7) as f32;
        let labels = PositionLabels { result: view.result, score_cp: None, weight, game: None };
        writer.push(&row, labels).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    let data = dataset::read(&path).unwrap();
    let layout = Layout::whole(&data).unwrap();
    let all: Vec<usize> = (0..data.len()).collect();
    let population = population(&data, 5, false);
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    let got = evaluator.evaluate(&population, &request(&layout, LossKind::Squared)).unwrap();
    compare(&data, &population, LossKind::Squared, &all, &got);

    let layout = layout.with_offsets((0..data.len()).map(|n| (n % 200) as f32 - 100.0).collect()).unwrap();
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    let got = evaluator.evaluate(&population, &request(&layout, LossKind::Squared)).unwrap();
    for member in 0..population.members() {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (position, &n) in layout.rows().iter().enumerate() {
            let view = data.row(n as usize);
            let score = objective::score(&data, population.member(member), n as usize)
                + f64::from(layout.offsets()[position]);
            let x = objective::x_per_cp(population.k[member]) * score;
            sum += f64::from(view.weight) * LossKind::Squared.value(x, f64::from(view.result));
            weights += f64::from(view.weight);
        }
        assert!((got.losses[member] - sum / weights).abs() < LOSS_BOUND);
    }
}

#[test]
#[ignore = "full"]
fn results_do_not_depend_on_tiles_and_cuts() {
    let Some(context) = context() else { return };
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = random(kind, 2500, 21);
        let layout = Layout::whole(&data).unwrap();
        let all: Vec<usize> = (0..data.len()).collect();
        let population = population(&data, 18, false);
        let usual = GpuOptions::new(context);
        let mut cuts: Vec<GpuOptions> =
            [1, 4, 8, 16, 32].map(|tile| GpuOptions { tile: Some(tile), ..usual }).into();
        // Shards of some hundred kilobytes, slabs for two segments, a few thousand pairs per slice.
        cuts.push(GpuOptions { binding_bytes: 640 << 10, slab_bytes: 256 << 10, ..usual });
        cuts.push(GpuOptions { pairs_per_dispatch: 4000, workgroups: 3, ..usual });
        for options in cuts {
            let mut evaluator = GpuEvaluator::with_options(context, &layout, options).unwrap();
            for gradients in [false, true] {
                let request = Request { gradients, ..request(&layout, LossKind::CrossEntropy) };
                let got = evaluator.evaluate(&population, &request).unwrap();
                compare(&data, &population, LossKind::CrossEntropy, &all, &got);
            }
        }
        let tiny = GpuOptions { binding_bytes: 1 << 20, slab_bytes: 8, ..usual };
        let mut evaluator = GpuEvaluator::with_options(context, &layout, tiny).unwrap();
        let error = evaluator.evaluate(&population, &request(&layout, LossKind::Squared)).unwrap_err();
        assert!(matches!(error, Error::Gpu(_)), "{error}");
    }
}

#[test]
fn far_tails_stay_finite_and_precise() {
    let Some(context) = context() else { return };
    let data = random(FeatureKind::Pst, 400, 8);
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    let theta = common::random_theta(&data.metadata().feature_set, true, 1);
    // Scores of tens of thousands of centipawns: e^x would overflow an f32.
    let huge: Vec<f64> = theta.iter().map(|value| value * 20.0).collect();
    for loss in LOSSES {
        let got = evaluator.evaluate(&Population::single(&huge, 1.0), &request(&layout, loss)).unwrap();
        assert!(got.losses[0].is_finite() && got.gradients.iter().all(|g| g.is_finite()), "{loss}");
    }
    let mut broken = Population::single(&theta, 1.0);
    broken.parameters.extend_from_slice(&theta);
    broken.parameters[7] = f64::NAN;
    broken.k.push(1.0);
    let got = evaluator.evaluate(&broken, &request(&layout, LossKind::Squared)).unwrap();
    assert!(got.losses[0].is_nan() && got.losses[1].is_finite());
}

#[test]
fn wrong_requests_are_usage_errors() {
    let Some(context) = context() else { return };
    let data = random(FeatureKind::Material, 50, 8);
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    let good = population(&data, 2, true);
    let asked = request(&layout, LossKind::Squared);
    let other = Population::new(5, vec![0.0; 20], vec![1.0; 2]);
    let cases = [
        (good.clone(), Request { parts: 0..2, ..asked.clone() }),
        (good.clone(), Request { parts: 1..1, ..asked.clone() }),
        (other, asked.clone()),
    ];
    for (population, request) in cases {
        let error = evaluator.evaluate(&population, &request).unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
    }
    let odd = Population::single(&[0.0; 3], 1.0);
    assert!(matches!(evaluator.evaluate(&odd, &asked), Err(Error::Usage(_))));
    let options = GpuOptions { tile: Some(5), ..GpuOptions::new(context) };
    assert!(matches!(GpuEvaluator::with_options(context, &layout, options), Err(Error::Usage(_))));
    let choice = Some(TileChoice { loss: 16, gradient: 2, staged: true });
    let options = GpuOptions { choice, ..GpuOptions::new(context) };
    assert!(matches!(GpuEvaluator::with_options(context, &layout, options), Err(Error::Usage(_))));
    let nobody = Population::new(6, Vec::new(), Vec::new());
    assert!(evaluator.evaluate(&nobody, &asked).unwrap().losses.is_empty());
}

#[test]
fn matrices_agree_with_f64_and_repeat_bit_for_bit() {
    let Some(context) = context() else { return };
    let mut worst = 0.0f64;
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        for (positions, members) in [(1, 1), (257, 3), (3000, 2)] {
            let data = random(kind, positions, 90 + positions as u64);
            let layout = Layout::whole(&data).unwrap();
            let population = population(&data, members, false);
            let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
            for loss in
                [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5), LossKind::Power(2.0)]
            {
                let request = Request { curvature: true, gradients: false, ..request(&layout, loss) };
                let got = evaluator.evaluate(&population, &request).unwrap();
                assert!(got.gradients.is_empty());
                let size = 2 * data.feature_count();
                for member in 0..members {
                    let objective = Objective { k: population.k[member], loss };
                    let wanted = objective::gauss_newton_matrix(
                        &data,
                        objective,
                        population.member(member),
                        0..positions,
                    );
                    let matrix = &got.curvatures[member * size * size..][..size * size];
                    worst = worst.max(common::relative_difference(matrix, &wanted));
                }
                assert!(worst < 3e-6, "{kind:?} {positions} x {members} {loss}: {worst:e}");
                assert_eq!(evaluator.evaluate(&population, &request).unwrap(), got);
            }
        }
    }
    // Measured on lavapipe: see the bound above, with a margin of about a factor of three.
    eprintln!("worst: matrix {worst:.1e}");
}

#[test]
fn a_lost_device_is_an_error() {
    if context().is_none() {
        return;
    }
    let data = random(FeatureKind::Pst, 200, 4);
    let layout = Layout::whole(&data).unwrap();
    let context = GpuContext::try_new(true).unwrap();
    let mut evaluator = GpuEvaluator::try_new(&context, &layout).unwrap();
    let one = population(&data, 1, true);
    evaluator.evaluate(&one, &request(&layout, LossKind::Squared)).unwrap();
    context.device().destroy();
    for _ in 0..2 {
        let error = evaluator.evaluate(&one, &request(&layout, LossKind::Squared)).unwrap_err().to_string();
        assert!(error.starts_with("GPU: ") && error.lines().count() == 1, "{error}");
        eprintln!("{error}");
    }
    let matrix = Request { curvature: true, ..request(&layout, LossKind::Squared) };
    assert!(matches!(evaluator.evaluate(&one, &matrix), Err(Error::Gpu(_))));
    assert!(matches!(GpuEvaluator::try_new(&context, &layout), Err(Error::Gpu(_))));
}

/// Needs no driver: the noop backend checks shaders, bindings and limits, and computes nothing.
#[test]
#[ignore = "full"]
fn the_noop_device_accepts_every_pipeline_and_binding() {
    let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let context = GpuContext::from_device(device, queue);
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = random(kind, 300, 4);
        let layout = Layout::whole(&data).unwrap();
        let mut evaluator = GpuEvaluator::try_new(&context, &layout).unwrap();
        for members in [1, 4, 6, 16, 40] {
            for loss in LOSSES {
                for gradients in [false, true] {
                    let request = Request { gradients, ..request(&layout, loss) };
                    evaluator.evaluate(&population(&data, members, true), &request).unwrap();
                }
            }
        }
        for loss in LOSSES {
            let request = Request { curvature: true, ..request(&layout, loss) };
            evaluator.evaluate(&population(&data, 1, true), &request).unwrap();
        }
    }
}
