//! The GPU evaluator with limited memory, and the cost for the device.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;

fn dataset(kind: FeatureKind, positions: usize) -> Dataset {
    common::random_dataset(&scratch(), kind, positions, 31)
}

fn layout(data: &Dataset) -> Layout {
    let split = Split::try_new(data, 0.25, 2, 3).unwrap();
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n)).unwrap();
    layout.with_search((0..data.len()).map(|n| (n % 11) as f32 / 10.0).collect()).unwrap()
}

fn population(data: &Dataset, members: usize) -> Population {
    let set = &data.metadata().feature_set;
    let theta = (0..members).flat_map(|m| common::random_theta(set, false, m as u64)).collect();
    Population::new(data.feature_count(), theta, (0..members).map(|m| 0.5 + 0.01 * m as f64).collect())
}

fn request(parts: usize, gradients: bool) -> Request {
    Request { parts: 0..parts, loss: LossKind::Squared, gradients, curvature: false }
}

/// The host gives everything to the device at once, and waits once: for the results.
#[test]
fn a_call_is_one_submission_and_one_wait() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 600);
    let layout = layout(&data);
    // As above.
    let options = GpuOptions { pairs_per_dispatch: 1 << 40, ..GpuOptions::new(context) };
    for members in [1, 2, 70] {
        let plain = population(&data, members);
        let weighted = Population { part_weights: vec![0.5; 3 * members], ..plain.clone() };
        let resampled = Population { resamples: (0..members as u32).collect(), ..plain.clone() };
        let shared = Population { parameters: plain.member(0).to_vec(), ..plain.clone() };
        for population in [&plain, &weighted, &resampled, &shared] {
            let mut evaluator = GpuEvaluator::with_options(context, &layout, options).unwrap();
            for gradients in [false, true] {
                // The first call of a kind uploads as well.
                for parts in [1, 3, 1] {
                    let before = evaluator.stats();
                    evaluator.evaluate(population, &request(parts, gradients)).unwrap();
                    let after = evaluator.stats();
                    let counts = (after.submissions - before.submissions, after.waits - before.waits);
                    assert_eq!(counts, (1, 1), "{members} members, {parts} parts, gradients {gradients}");
                }
            }
        }
    }
}

#[test]
fn a_device_compiles_once_and_buffers_are_bound_once() {
    if context().is_none() {
        return;
    }
    let context = GpuContext::with_default_limits(true).unwrap();
    let data = dataset(FeatureKind::Pst, 600);
    let layout = Layout::whole(&data).unwrap();
    let population = population(&data, 5);
    let mut evaluator = GpuEvaluator::try_new(&context, &layout).unwrap();
    for gradients in [false, true] {
        evaluator.evaluate(&population, &request(1, gradients)).unwrap();
    }
    let first = evaluator.stats();
    assert!(first.pipelines >= 5 && first.bind_groups >= 5, "{first:?}");
    for gradients in [true, false] {
        evaluator.evaluate(&population, &request(1, gradients)).unwrap();
    }
    let then = evaluator.stats();
    assert_eq!((then.pipelines, then.bind_groups), (first.pipelines, first.bind_groups));
    assert!(then.dispatches >= first.dispatches + 6);
    // Larger buffers are bound again, and the old ones are released.
    let more = self::population(&data, 70);
    let wanted = evaluator.evaluate(&more, &request(1, true)).unwrap();
    assert!(evaluator.stats().bind_groups > then.bind_groups);
    let compiled = evaluator.stats().pipelines;
    // Another evaluator has buffers of its own, and the kernels of the first.
    let mut other = GpuEvaluator::try_new(&context.clone(), &layout).unwrap();
    assert!(other.evaluate(&more, &request(1, true)).unwrap() == wanted);
    let stats = other.stats();
    assert!(stats.pipelines == 0 && stats.bind_groups > 0 && compiled > 0, "{stats:?}");
    // A context of its own has nothing compiled.
    let apart = GpuContext::with_default_limits(true).unwrap();
    let mut alone = GpuEvaluator::try_new(&apart, &layout).unwrap();
    alone.evaluate(&population, &request(1, false)).unwrap();
    assert!(alone.stats().pipelines > 0);
}
