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

#[test]
#[ignore = "full"]
fn streamed_results_equal_resident_ones_bit_for_bit() {
    let Some(context) = context() else { return };
    for (kind, memory) in [(FeatureKind::Pst, 5 << 20), (FeatureKind::Material, 1 << 20)] {
        let data = dataset(kind, 24_000);
        let layout = layout(&data);
        // Buckets of several cells, each of which fits the slots.
        let usual = GpuOptions { cell: 1024, ..GpuOptions::new(context) };
        let little = GpuOptions { memory_bytes: Some(memory), ..usual };
        let mut resident = GpuEvaluator::with_options(context, &layout, usual).unwrap();
        let mut streamed = GpuEvaluator::with_options(context, &layout, little).unwrap();
        assert!(streamed.is_streamed() && !resident.is_streamed());
        assert!(streamed.describe().contains("streamed"));
        let mut plain = population(&data, 3);
        let mut weighted = population(&data, 9);
        weighted.part_weights = (0..27).map(|i| (i % 4) as f32).collect();
        weighted.resamples = (0..9).collect();
        weighted.blends = vec![0.25; 9];
        // Chunks of members, too, if the tables of all do not fit.
        let many = population(&data, 70);
        for round in 0..2 {
            for (population, gradients) in
                [(&plain, true), (&plain, false), (&weighted, true), (&many, true), (&many, false)]
            {
                let request = request(3, gradients);
                let wanted = resident.evaluate(population, &request).unwrap();
                let before = streamed.stats().unwrap();
                let got = streamed.evaluate(population, &request).unwrap();
                assert!(got == wanted, "{kind:?}, {} members, gradients {gradients}", population.members());
                let after = streamed.stats().unwrap();
                // Shards are uploaded every time, except for one that a slot still holds.
                let sent = after.bytes_up - before.bytes_up;
                assert!(sent > 24_000 * 16, "{kind:?}, round {round}: {sent} bytes");
                assert!(after.submissions - before.submissions > 1);
            }
            plain.k[0] += 0.1;
        }
        // A matrix of 384 features needs more memory than this; of 6 it does not.
        if kind == FeatureKind::Material {
            let request = Request { curvature: true, ..request(3, true) };
            let wanted = resident.evaluate(&weighted, &request).unwrap();
            assert!(streamed.evaluate(&weighted, &request).unwrap() == wanted);
            assert_eq!(wanted.curvatures.len(), 9 * 144);
        } else {
            let request = Request { curvature: true, ..request(3, false) };
            let error = streamed.evaluate(&plain, &request).unwrap_err().to_string();
            assert!(error.contains("too little; 40 MiB would do"), "{error}");
        }
        let single = Population::single(plain.member(1), 1.0);
        let request = request(3, false);
        assert!(
            streamed.evaluate(&single, &request).unwrap() == resident.evaluate(&single, &request).unwrap()
        );
        let peak = streamed.stats().unwrap().peak_bytes;
        assert!(peak <= memory && peak > memory / 3, "{peak} bytes of {memory}");
        assert!(resident.stats().unwrap().peak_bytes > memory);
    }
}

#[test]
fn too_small_limit_reports_the_required_memory() {
    let Some(context) = context() else { return };
    let data = dataset(FeatureKind::Pst, 3000);
    let layout = Layout::whole(&data).unwrap();
    let with = |memory: u64| GpuOptions { memory_bytes: Some(memory), ..GpuOptions::new(context) };
    let population = population(&data, 2);
    let mut failures = 0;
    for memory in [1, 4 << 10, 64 << 10, 128 << 10, 256 << 10] {
        let outcome = |memory| {
            GpuEvaluator::with_options(context, &layout, with(memory))
                .and_then(|mut evaluator| evaluator.evaluate(&population, &request(1, true)))
        };
        let mut memory = memory;
        // Enough memory for the data may not be enough for the members.
        while let Err(error) = outcome(memory) {
            failures += 1;
            let text = error.to_string();
            assert!(matches!(error, Error::Gpu(_)) && text.lines().count() == 1, "{text}");
            let (_, rest) = text.split_once("too little; ").unwrap_or_else(|| panic!("{text}"));
            let (advice, _) = rest.split_once(" would do").unwrap();
            let (number, unit) = advice.split_once(' ').unwrap();
            let more = number.parse::<u64>().unwrap() << if unit == "KiB" { 10 } else { 20 };
            assert!(more > memory && more <= 4 << 20, "{text}");
            memory = more;
        }
    }
    assert!(failures >= 3);
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
                    let before = evaluator.stats().unwrap();
                    evaluator.evaluate(population, &request(parts, gradients)).unwrap();
                    let after = evaluator.stats().unwrap();
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
    let first = evaluator.stats().unwrap();
    assert!(first.pipelines >= 5 && first.bind_groups >= 5, "{first:?}");
    for gradients in [true, false] {
        evaluator.evaluate(&population, &request(1, gradients)).unwrap();
    }
    let then = evaluator.stats().unwrap();
    assert_eq!((then.pipelines, then.bind_groups), (first.pipelines, first.bind_groups));
    assert!(then.dispatches >= first.dispatches + 6);
    // Larger buffers are bound again, and the old ones are released.
    let more = self::population(&data, 70);
    let wanted = evaluator.evaluate(&more, &request(1, true)).unwrap();
    assert!(evaluator.stats().unwrap().bind_groups > then.bind_groups);
    let compiled = evaluator.stats().unwrap().pipelines;
    // Another evaluator has buffers of its own, and the kernels of the first.
    let mut other = GpuEvaluator::try_new(&context.clone(), &layout).unwrap();
    assert!(other.evaluate(&more, &request(1, true)).unwrap() == wanted);
    let stats = other.stats().unwrap();
    assert!(stats.pipelines == 0 && stats.bind_groups > 0 && compiled > 0, "{stats:?}");
    // A context of its own has nothing compiled.
    let apart = GpuContext::with_default_limits(true).unwrap();
    let mut alone = GpuEvaluator::try_new(&apart, &layout).unwrap();
    alone.evaluate(&population, &request(1, false)).unwrap();
    assert!(alone.stats().unwrap().pipelines > 0);
}
