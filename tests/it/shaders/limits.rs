//! Devices with limited resources: small bindings, few workgroups, unexpected speed.

use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::random_theta;
use gputexel::evaluator::reference::reference;
use gputexel::gpu::pace::Pace;

/// Bindings so small that the data need many shards, the members many chunks, and slabs many slices; the sums still
/// agree with f64, bit-identical to those of a device with more room and the same cells.
#[test]
#[ignore = "full"]
fn many_shards_and_chunks_make_the_same_sums() {
    let Some(context) = context() else { return };
    let data = random_dataset(&scratch(), FeatureKind::Pst, 30_000, 5);
    let layout = Layout::whole(&data).unwrap();
    let set = &data.metadata().feature_set;
    let theta: Vec<f64> =
        (0..9).flat_map(|m| random_theta(set, false, m)).map(|v| f64::from(v as f32)).collect();
    let population =
        Population::new(layout.features(), theta, (0..9).map(|m| 0.4 + 0.03 * f64::from(m)).collect());
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    let wanted = reference(&data, &layout, &population, &request);
    let cell = 1024;
    let roomy = GpuOptions { cell, ..GpuOptions::new(context) };
    let run = |options: GpuOptions| {
        let mut gpu = GpuEvaluator::with_options(context, &layout, options).unwrap();
        let answer = gpu.evaluate(&population, &request).unwrap();
        (answer, gpu.stats())
    };
    let (whole, few) = run(roomy);
    // A megabyte holds the records of a tenth of the positions, and slabs of a few segments.
    let (parts, many) = run(GpuOptions { binding_bytes: 1 << 20, slab_bytes: 1 << 20, ..roomy });
    assert_eq!(whole, parts, "cuts change no bit");
    assert!(many.submissions > few.submissions, "{many:?} {few:?}");
    assert!(relative_difference(&whole.losses, &wanted.losses) < 1e-6);
    assert!(relative_difference(&whole.gradients, &wanted.gradients) < 1e-5);
    // If not even one member fits, the message names the limit.
    let error = GpuEvaluator::with_options(context, &layout, GpuOptions { binding_bytes: 4096, ..roomy })
        .and_then(|mut gpu| gpu.evaluate(&population, &request).map(|_| ()))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("GPU: ") && !error.contains('\n'), "{error}");
}

/// Simulates slices of a device that computes `rate(slice)` pairs per second; returns the longest in seconds.
fn longest(mut pace: Pace, slices: usize, rate: impl Fn(usize) -> f64) -> f64 {
    let mut longest = 0f64;
    for slice in 0..slices {
        let pairs = pace.pairs();
        let seconds = pairs as f64 / rate(slice);
        longest = longest.max(seconds);
        pace.observe(pairs, Duration::from_secs_f64(seconds));
    }
    longest
}

/// Evaluators start with a sixteenth of the work expected to take a fifth of a second.
#[test]
#[ignore = "full"]
fn dispatches_stay_below_a_second_for_any_initial_pace() {
    // Expected pairs, and how slow a device of the kind may be: a discrete GPU of 2012, the graphics of a netbook, a
    // software adapter on a busy core.
    for (expected, slowest) in [(1u64 << 31, 4e8), (1 << 27, 2e7), (1 << 22, 1e6)] {
        let begin = || Pace::new(expected / 16);
        for factor in [1.0, 3.0, 1000.0, 1e6] {
            let seconds = longest(begin(), 60, |_| slowest * factor);
            assert!(seconds < 1.0, "{expected} pairs expected, {slowest} x {factor}: {seconds} s");
        }
        // A device that another program slows down to a quarter, repeatedly.
        let seconds = longest(begin(), 200, |slice| if slice / 10 % 2 == 0 { 1e10 } else { 2.5e9 });
        assert!(seconds < 1.0, "{seconds} s");
        // A host that was late once, and underestimated the device, recovers.
        let mut pace = begin();
        for _ in 0..40 {
            pace.observe(pace.pairs(), Duration::from_secs_f64(pace.pairs() as f64 / 1e10));
        }
        let quick = pace.pairs();
        pace.observe(quick, Duration::from_secs(5));
        assert!(pace.pairs() < quick);
        for _ in 0..10 {
            pace.observe(pace.pairs(), Duration::from_secs_f64(pace.pairs() as f64 / 1e10));
        }
        assert!(pace.pairs() as f64 > 0.7 * quick as f64, "{} {quick}", pace.pairs());
    }
}
