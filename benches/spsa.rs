//! Speed of the SPSA simulator: pairs of games per second over all repeats, on one thread.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gputexel::StopFlag;
use gputexel::spsa::MethodKind;
use gputexel::spsa::simulator::{Scenario, paper_cells, simulate};

/// A cell of the paper's table, shortened.
fn scenario(method: MethodKind, parameters: usize, repeats: usize, iterations: u64) -> Scenario {
    let cells = paper_cells();
    let cell = cells.iter().find(|cell| (cell.method, cell.parameters) == (method, parameters));
    let mut scenario = cell.expect("the paper has this cell").scenario(repeats, 1);
    scenario.settings.schedule.iterations = iterations;
    scenario
}

fn benches(criterion: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread can be had");
    let never = StopFlag::new();
    let mut group = criterion.benchmark_group("simulator");
    group.sample_size(10);
    let methods = [MethodKind::Spsa, MethodKind::Bspsas, MethodKind::Bspsa];
    for (method, parameters) in methods.into_iter().flat_map(|method| [1, 16, 64].map(|n| (method, n))) {
        let scenario = scenario(method, parameters, 64, 2_000);
        group.throughput(Throughput::Elements(64 * 2_000));
        group.bench_function(BenchmarkId::new(method.to_string(), parameters), |bencher| {
            pool.install(|| bencher.iter(|| black_box(simulate(&scenario, &never, &mut |_| {}))));
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
