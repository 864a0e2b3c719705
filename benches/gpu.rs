//! The GPU evaluator by population size, in (position, member) pairs per second.
//!
//! `loss` and `gradient` include transfers and the work of the host; `scale` is one θ under many K, `resampled` a
//! bootstrap, and `matrix` a Gauss–Newton matrix, in positions per second. Runs on a software adapter too, on fewer
//! positions; its numbers say nothing about GPUs. On a real GPU, the numbers by tile are the basis of a `TileChoice`.
//! `gpu/host` is the cost of a call for the host, measured on a device that computes nothing.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gputexel::chess::PhaseSettings;
use gputexel::dataset::{self, DatasetWriter, Layout, Metadata, PositionLabels};
use gputexel::evaluator::gpu::{GpuContext, GpuEvaluator, GpuOptions, TileChoice};
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::{FeatureKind, FeatureRow, FeatureSet, Prior};
use gputexel::objective::LossKind;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Returns rows as in games: 8 to 28 pieces on random squares, most of them pawns.
fn layout(positions: usize) -> Layout {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("bench.bin");
    let set = feature_set();
    let mut writer = DatasetWriter::create(&path, Metadata::new(set.clone()), true).expect("a new file");
    let mut row = FeatureRow::default();
    for _ in 0..positions {
        let mut board = shakmaty::Board::empty();
        for piece in 0..rng.random_range(8..=28) {
            // Two kings, then others.
            let role = if piece < 2 { 5 } else { [0, 0, 0, 0, 1, 2, 3, 4][rng.random_range(0..8)] };
            let square = shakmaty::Square::new(rng.random_range(0..64));
            board.set_piece_at(
                square,
                shakmaty::Role::ALL[role].of(shakmaty::Color::from_white(piece % 2 == 0)),
            );
        }
        set.compute(&board, shakmaty::Color::White, &mut row);
        let labels = PositionLabels {
            result: 0.5 * rng.random_range(0..3) as f32,
            score_cp: None,
            weight: 1.0,
            game: None,
        };
        writer.push(&row, labels).expect("a sound row");
    }
    writer.finish(Vec::new(), []).expect("room on the disk");
    Layout::whole(&dataset::read(&path).expect("what was written")).expect("not empty")
}

fn feature_set() -> FeatureSet {
    FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
}

fn bench(criterion: &mut Criterion) {
    let context = match GpuContext::try_new(true) {
        Ok(context) => context,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let summary = context.summary().clone();
    let positions = if summary.software { 1 << 11 } else { 1 << 21 };
    let layout = layout(positions);
    let entries = layout.ids().len() as f64 / positions as f64;
    eprintln!(
        "{} ({}, {}): {positions} positions, {entries:.1} features a position",
        summary.name, summary.kind, summary.backend
    );
    let prior = Prior::default().theta(&feature_set()).expect("material is known");
    single(criterion, &context, &layout, &prior);
    host(criterion, &prior);
    for members in [1usize, 16, 64, 1024, 4096] {
        let parameters = prior.iter().copied().cycle().take(prior.len() * members).collect();
        let population = Population::new(layout.features(), parameters, vec![0.8; members]);
        let pairs = (positions * members) as u64;
        let mut group = criterion.benchmark_group(format!("gpu/{members}"));
        group.throughput(Throughput::Elements(pairs)).sample_size(10).warm_up_time(Duration::from_secs(1));
        group.measurement_time(Duration::from_secs(if summary.software { 2 } else { 5 }));
        let mut run = |name: &str, options: GpuOptions, gradients: bool| {
            let mut evaluator = GpuEvaluator::with_options(&context, &layout, options).expect("room");
            let request = Request { parts: 0..1, loss: LossKind::Squared, gradients, curvature: false };
            evaluator.evaluate(&population, &request).expect("a working device");
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter(|| evaluator.evaluate(&population, &request).expect("a working device"));
            });
        };
        let usual = GpuOptions::new(&context);
        run("loss", usual, false);
        run("gradient", usual, true);
        // Other tiles, to choose by measurement on a real GPU.
        if members > 1 && !summary.software {
            for (tile, staged) in [4, 8, 16, 32].into_iter().flat_map(|tile| [(tile, false), (tile, true)]) {
                let choice = Some(TileChoice { loss: tile, gradient: tile, staged });
                let options = GpuOptions { tile: Some(tile), choice, ..usual };
                let how = if staged { "staged" } else { "cached" };
                run(&format!("loss/tile-{tile}-{how}"), options, false);
                run(&format!("gradient/tile-{tile}-{how}"), options, true);
            }
        }
        let mut evaluator = GpuEvaluator::try_new(&context, &layout).expect("room");
        let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: false, curvature: false };
        let scale = Population {
            parameters: prior.clone(),
            k: (0..members).map(|m| 0.5 + m as f64 * 1e-4).collect(),
            ..population.clone()
        };
        let resampled = Population { resamples: (0..members as u32).collect(), ..population.clone() };
        for (name, population) in [("scale", &scale), ("resampled", &resampled)] {
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                bencher.iter(|| evaluator.evaluate(population, &request).expect("a working device"));
            });
        }
    }
}

/// Calls with 4,096 members on a device that copies but does not compute.
fn host(criterion: &mut Criterion, prior: &[f64]) {
    let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
    let context = GpuContext::from_device(device, queue);
    let layout = layout(2);
    let members = 4096;
    let population = Population::new(layout.features(), prior.repeat(members), vec![0.8; members]);
    let mut evaluator = GpuEvaluator::try_new(&context, &layout).expect("room");
    let mut group = criterion.benchmark_group("gpu/host");
    for (name, gradients) in [("loss", false), ("gradient", true)] {
        let request = Request { parts: 0..1, loss: LossKind::Squared, gradients, curvature: false };
        group.bench_function(name, |bencher| {
            bencher.iter(|| evaluator.evaluate(&population, &request).expect("a device that agrees to all"));
        });
    }
}

/// Further operations with a single member.
fn single(criterion: &mut Criterion, context: &GpuContext, layout: &Layout, prior: &[f64]) {
    let mut group = criterion.benchmark_group("gpu/single");
    group.throughput(Throughput::Elements(layout.positions() as u64)).sample_size(10);
    let mut evaluator = GpuEvaluator::try_new(context, layout).expect("room");
    let population = Population::single(prior, 0.8);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: false, curvature: true };
    group.bench_function("matrix", |bencher| {
        bencher.iter(|| evaluator.evaluate(&population, &request).expect("a working device"));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
