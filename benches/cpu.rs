//! The CPU evaluator alone: losses, gradients and Gauss–Newton matrices, compared with a plain scalar loop on the
//! same rows. Throughput counts (position, member) pairs, on one thread.

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gputexel::dataset::{self, Dataset, Layout};
use gputexel::evaluator::cpu::{CpuEvaluator, InstructionSet};
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::Prior;
use gputexel::objective::LossKind;

/// Reads the sample, or the dataset named by GPUTEXEL_BENCH_DATASET.
fn data() -> Dataset {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.bin");
    let path = std::env::var_os("GPUTEXEL_BENCH_DATASET").map_or(sample, Into::into);
    dataset::read(&path).expect("the dataset is readable")
}

fn population(data: &Dataset, members: usize) -> Population {
    let set = &data.metadata().feature_set;
    let theta = Prior::default_for(set).theta(set).expect("the default prior fits");
    let spread =
        |member: usize| theta.iter().enumerate().map(move |(i, v)| v + ((member * 31 + i * 7) % 13) as f64);
    Population::new(data.feature_count(), (0..members).flat_map(spread).collect(), vec![0.82; members])
}

/// Computes as a straightforward tuner does: one position after another, f32, two tables.
fn scalar_loop(data: &Dataset, theta: &[f64], gradient: &mut [f32]) -> f64 {
    let count = data.feature_count();
    let theta: Vec<f32> = theta.iter().map(|&v| v as f32).collect();
    let per_phase = 1.0 / f32::from(data.phase_max());
    let mut loss = 0.0;
    for n in 0..data.len() {
        let row = data.row(n);
        let phi = f32::from(row.phase) * per_phase;
        let mut score = 0.0;
        for (id, c) in row.entries() {
            let id = usize::from(id);
            score += c * (phi * theta[id] + (1.0 - phi) * theta[count + id]);
        }
        let p = 1.0 / (1.0 + (-0.00472 * score).exp());
        let d = p - row.result;
        loss += f64::from(d * d);
        let slope = 2.0 * d * p * (1.0 - p);
        for (id, c) in row.entries() {
            let id = usize::from(id);
            gradient[id] += c * slope * phi;
            gradient[count + id] += c * slope * (1.0 - phi);
        }
    }
    loss
}

fn benches(criterion: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let data = data();
    let layout = Layout::whole(&data).expect("the dataset is not empty");
    let request =
        |gradients, curvature| Request { parts: 0..1, loss: LossKind::Squared, gradients, curvature };

    let mut group = criterion.benchmark_group("scalar_loop");
    group.sample_size(10).throughput(Throughput::Elements(data.len() as u64));
    let theta = population(&data, 1).parameters;
    let mut gradient = vec![0.0; theta.len()];
    group.bench_function("gradient", |b| b.iter(|| black_box(scalar_loop(&data, &theta, &mut gradient))));
    group.finish();

    for set in InstructionSet::available() {
        let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
        let mut group = criterion.benchmark_group(format!("cpu/{}", set.name()));
        group.sample_size(10);
        for members in [1usize, 16, 64, 256] {
            let population = population(&data, members);
            group.throughput(Throughput::Elements((members * data.len()) as u64));
            for (name, gradients) in [("loss", false), ("gradient", true)] {
                let request = request(gradients, false);
                group.bench_function(BenchmarkId::new(name, members), |b| {
                    pool.install(|| {
                        b.iter(|| black_box(evaluator.evaluate(&population, &request).expect("it fits")));
                    });
                });
            }
        }
        group.finish();
    }

    // The requests of swarms, sweeps and bootstraps, on the widest body.
    let mut evaluator = CpuEvaluator::new(&layout);
    let mut group = criterion.benchmark_group("uses");
    group.sample_size(10);
    let swarm = |members| population(&data, members);
    let mut sweep = swarm(1024);
    sweep.parameters.truncate(2 * data.feature_count());
    sweep.k = (0..1024).map(|i| 0.2 + 2.8 * f64::from(i) / 1023.0).collect();
    let bootstrap = Population { resamples: (0..64).collect(), ..swarm(64) };
    let uses = [
        ("swarm", swarm(64), false),
        ("swarm", swarm(1024), false),
        ("swarm", swarm(4096), false),
        ("sweep of K", sweep, false),
        ("bootstrap, loss", bootstrap.clone(), false),
        ("bootstrap, gradient", bootstrap, true),
    ];
    for (name, population, gradients) in uses {
        group.throughput(Throughput::Elements((population.members() * data.len()) as u64));
        let request = request(gradients, false);
        group.bench_function(BenchmarkId::new(name, population.members()), |b| {
            pool.install(|| {
                b.iter(|| black_box(evaluator.evaluate(&population, &request).expect("it fits")));
            });
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("gauss_newton_matrix");
    group.sample_size(10).throughput(Throughput::Elements(data.len() as u64));
    let single = population(&data, 1);
    group.bench_function("one thread", |b| {
        pool.install(|| {
            b.iter(|| black_box(evaluator.evaluate(&single, &request(false, true)).expect("it fits")))
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("layout");
    group.sample_size(10).throughput(Throughput::Elements(data.len() as u64));
    group.bench_function("one thread", |b| {
        pool.install(|| b.iter(|| black_box(Layout::whole(&data).expect("not empty"))));
    });
    group.finish();
}

criterion_group!(cpu, benches);
criterion_main!(cpu);
