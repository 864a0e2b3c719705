//! Kernels with and without run-time checks: the same numbers, bit for bit.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::programs::{program_dataset, program_theta};
use gputexel::evaluator::reference::reference;

fn evaluations(context: &GpuContext, kind: FeatureKind) -> Vec<Evaluations> {
    let data = common::random_dataset(&scratch(), kind, 2300, 61);
    let layout = Layout::try_new(&data, 2, |n| n % 2).unwrap();
    let layout = layout.with_search((0..data.len()).map(|n| (n % 11) as f32 / 10.0).collect()).unwrap();
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let set = &data.metadata().feature_set;
    let mut all = Vec::new();
    for members in [1, 3, 37] {
        let theta = (0..members).flat_map(|m| common::random_theta(set, false, m as u64)).collect();
        let k = (0..members).map(|m| 0.5 + 0.01 * m as f64).collect();
        let plain = Population::new(data.feature_count(), theta, k);
        let varied = Population {
            part_weights: (0..2 * members).map(|i| (1 + i % 3) as f32).collect(),
            resamples: (0..members as u32).collect(),
            blends: vec![0.25; members],
            ..plain.clone()
        };
        let shared = Population { parameters: plain.member(0).to_vec(), ..plain.clone() };
        for population in [&plain, &varied, &shared] {
            for gradients in [false, true] {
                let curvature = members == 3 && gradients;
                let request = Request { parts: 0..2, loss: LossKind::Squared, gradients, curvature };
                all.push(gpu.evaluate(population, &request).unwrap());
            }
        }
    }
    all
}

fn program_evaluations(context: &GpuContext) -> Vec<Evaluations> {
    let data = program_dataset(&scratch(), 700, 5);
    let layout = Layout::whole(&data).unwrap();
    let mut gpu = GpuProgramEvaluator::with_options(context, &layout, GpuOptions::new(context)).unwrap();
    let theta = program_theta();
    [1, 9]
        .map(|members: usize| {
            let population = Population::new(theta.len() / 2, theta.repeat(members), vec![0.7; members]);
            let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
            gpu.evaluate(&population, &request).unwrap()
        })
        .into()
}

/// Writes rows of up to 20 of `features` features, with both signs, and reads them back.
fn rows_of(features: usize) -> Dataset {
    let names = (0..features).map(|i| Feature { name: format!("f{i}"), group: "all".to_string() });
    let imported = Imported::new(1, vec![ImportedParameter::default(); features]);
    let set = FeatureSet::try_imported(names.collect(), PhaseSettings::default(), imported).unwrap();
    let path = scratch();
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(63);
    for n in 0..5000 {
        let ids: BTreeSet<u16> = (0..20).map(|_| rng.random_range(0..features as u16)).collect();
        let ids = Vec::from_iter(ids);
        let coefficients: Vec<f32> = ids.iter().map(|_| [1.0, -1.0][rng.random_range(0..2)]).collect();
        let result = [0.0, 0.5, 1.0][n % 3];
        writer
            .push_imported(&ImportedPosition {
                ids: &ids,
                coefficients: &coefficients,
                phase: [0, 9, 24][n % 3],
                scale: 1,
                offset_cp: 0.0,
                evaluation_cp: None,
                labels: PositionLabels { result, score_cp: None, weight: 1.0, game: None },
                board: Default::default(),
            })
            .unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    dataset::read(&path).unwrap()
}

/// Tables as large as the device has room for beside the residuals of a gradient: 48 KiB, or what it has of them.
#[test]
#[ignore = "full"]
fn tables_fill_the_workgroup_memory() {
    if context().is_none() {
        return;
    }
    let context = GpuContext::try_new(true).unwrap();
    let memory = context.summary().workgroup_memory_bytes.min(48 << 10) as usize;
    let residuals = 16 << 10;
    for (tile, gradients) in [(16, false), (32, false), (16, true), (32, true)] {
        let room = memory - if gradients { residuals } else { 0 };
        if room == 0 {
            continue;
        }
        let most = room / (4 * tile);
        for (features, fits) in [(most, true), (most + 1, false)] {
            let data = rows_of(features);
            let layout = Layout::whole(&data).unwrap();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(64);
            let theta =
                (0..2 * features * 19).map(|_| f64::from(rng.random_range(-800i16..800)) / 8.0).collect();
            let population = Population::new(features, theta, vec![0.8; 19]);
            let request = Request { parts: 0..1, loss: LossKind::Squared, gradients, curvature: false };
            let [unstaged, staged] = [false, true].map(|staged| {
                let choice = Some(TileChoice { loss: tile, gradient: tile, staged });
                let options =
                    GpuOptions { tile: Some(tile), choice, workgroups: 1, ..GpuOptions::new(&context) };
                let mut gpu = GpuEvaluator::with_options(&context, &layout, options).unwrap();
                let answer = gpu.evaluate(&population, &request).unwrap();
                (answer, gpu.stats().unwrap().pipelines)
            });
            let case = format!("tile {tile}, gradients {gradients}, {features} features in {memory} bytes");
            assert!(unstaged.0 == staged.0, "{case}");
            // Another kernel was compiled for the table, and only for the one that fits.
            assert_eq!(staged.1 > 0, fits, "{case}");
            let wanted = reference(&data, &layout, &population, &request);
            assert!(relative_difference(&staged.0.losses, &wanted.losses) < 1e-6, "{case}");
            assert!(relative_difference(&staged.0.gradients, &wanted.gradients) < 1e-6, "{case}");
        }
    }
}

#[test]
#[ignore = "full"]
fn kernels_without_checks_compute_the_same() {
    if context().is_none() {
        return;
    }
    let own = GpuContext::try_new(true).unwrap();
    let (checked, trusting) = (own.clone().with_shader_checks(true), own.with_shader_checks(false));
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let wanted = evaluations(&checked, kind);
        assert!(wanted.len() == 18 && wanted.iter().all(|e| e.losses.iter().all(|loss| loss.is_finite())));
        assert!(evaluations(&trusting, kind) == wanted, "{kind:?}");
    }
    // A compiler may fuse other multiplications and additions of a program without the checks; NVIDIA's does.
    for (trusted, wanted) in program_evaluations(&trusting).iter().zip(&program_evaluations(&checked)) {
        let close = |got: &[f64], wanted: &[f64]| {
            let largest = wanted.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-6 * largest)
        };
        assert!(close(&trusted.losses, &wanted.losses) && close(&trusted.gradients, &wanted.gradients));
    }
}
