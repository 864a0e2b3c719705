//! Patching a source of 2 MB with 200 blocks: reading it, finding every block, computing the new text.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gputexel::patch::{check, plan_apply, plan_tune, write};

const BLOCKS: usize = 200;
const SOURCE_BYTES: usize = 2_000_000;

/// Writes functions that differ little, as those of engines do.
fn inputs(folder: &Path) {
    let mut source = "// %%D%%\n// %%O%%\n".to_string();
    let mut tune = "#set file s.cpp\n#set declaration %%D%%\n#set options %%O%%\n".to_string();
    let mut functions = 0;
    while source.len() < SOURCE_BYTES {
        let i = functions;
        let _ = write!(
            source,
            "int function_{i}(int depth, bool improving) {{\n    int margin_{i} = {} * depth - {};\n    if (improving)\n        margin_{i} += {}.5;\n    return margin_{i};\n}}\n\n",
            i % 317,
            i % 53,
            i % 7
        );
        functions += 1;
    }
    for i in (0..BLOCKS).map(|i| i * functions / BLOCKS) {
        let _ = write!(
            tune,
            "#context c{i}\n  int margin_{i} = 1@ * depth - 1@;\n  if (improving)\n    margin_{i} += 1@;\n"
        );
    }
    std::fs::create_dir_all(folder.join("source")).unwrap();
    std::fs::write(folder.join("source/s.cpp"), source).unwrap();
    std::fs::write(folder.join("x.tune"), tune).unwrap();
}

fn patch(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    inputs(folder.path());
    let (tune, sources) = (folder.path().join("x.tune"), folder.path().join("source"));
    let mut group = criterion.benchmark_group("patch");
    group.throughput(Throughput::Bytes(SOURCE_BYTES as u64));
    group.bench_function("tune", |b| b.iter(|| black_box(plan_tune(&tune, &sources).unwrap())));
    group.bench_function("check", |b| b.iter(|| black_box(check(&tune, &sources).unwrap())));
    // Applying to tuned sources takes every name and line out again.
    let plan = plan_tune(&tune, &sources).unwrap();
    write(&plan, &sources, "tune").unwrap();
    group.bench_function("apply to tuned", |b| {
        b.iter(|| black_box(plan_apply(&tune, &sources, None).unwrap()));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = patch
}
criterion_main!(benches);
