//! Cost of a particle swarm apart from its evaluation: θ of all particles by the MadChess basis, and the swarm's own
//! bookkeeping, compared with the evaluation itself. On one thread; throughput counts particles.

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gputexel::dataset::{self, Layout};
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::{Evaluations, Evaluator, Population, Request};
use gputexel::model::{Basis, Prior};
use gputexel::objective::LossKind;
use gputexel::optimizer::{Optimizer, ParticleSwarm, ParticleSwarmSettings, SwarmVariant};
use gputexel::tuning::space_of;

fn benches(criterion: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.bin");
    let data = dataset::read(&path).expect("the sample is readable");
    let layout = Layout::whole(&data).expect("the sample is not empty");
    let set = &data.metadata().feature_set;
    let prior = Prior::default().theta(set).expect("the default prior fits");
    let Ok(basis) = "madchess".parse::<Basis>();
    let basis = basis.resolve(set, &prior, &[]).expect("the sample has squares");
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: false, curvature: false };
    let mut evaluator = CpuEvaluator::new(&layout);
    let mut group = criterion.benchmark_group("swarm");
    group.sample_size(10);
    for particles in [64, 4096] {
        group.throughput(Throughput::Elements(particles as u64));
        let settings = ParticleSwarmSettings {
            swarms: particles / 64,
            particles: 64,
            ..ParticleSwarmSettings::of(SwarmVariant::Of2025)
        };
        let mut swarm = ParticleSwarm::try_new(&space_of(&basis), settings).expect("the basis has bounds");
        let proposal = swarm.ask();
        group.bench_function(BenchmarkId::new("theta", particles), |bencher| {
            pool.install(|| bencher.iter(|| black_box(basis.theta(&proposal.parameters))));
        });
        let losses: Vec<f64> = (0..particles).map(|i| 0.1 + (i * 31 % 97) as f64 / 1000.0).collect();
        let answer = Evaluations { losses, ..Evaluations::default() };
        group.bench_function(BenchmarkId::new("bookkeeping", particles), |bencher| {
            bencher.iter(|| {
                black_box(swarm.ask());
                swarm.tell(&answer).expect("losses are finite");
            });
        });
        let theta = basis.theta(&proposal.parameters);
        let population = Population::new(data.feature_count(), theta, vec![0.82; particles]);
        group.bench_function(BenchmarkId::new("evaluation", particles), |bencher| {
            pool.install(|| bencher.iter(|| black_box(evaluator.evaluate(&population, &request))));
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
