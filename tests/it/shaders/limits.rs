//! Devices with limited resources: small bindings, few workgroups.

use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::random_theta;
use gputexel::evaluator::reference::reference;

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
        (answer, gpu.stats().unwrap())
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
