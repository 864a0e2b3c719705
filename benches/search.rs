//! The search: nodes per second over fixed positions, with an evaluation of 768 weights.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gputexel::chess::PhaseSettings;
use gputexel::chess::fen::{legal_position, parse_fen};
use gputexel::engine::uci::BENCH_POSITIONS;
use gputexel::engine::{Engine, Limits};
use gputexel::model::{FeatureKind, FeatureSet, Prior, TableEvaluation};
use shakmaty::{CastlingMode, Chess};

/// Nodes per position: enough for the table to matter, few enough for many samples.
const NODES: u64 = 50_000;

fn benches(criterion: &mut Criterion) {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("the default prior fits");
    let evaluation = TableEvaluation::try_new(&set, &theta).expect("the values are in range");
    let mut engine = Engine::try_new(evaluation, 16).unwrap();
    let positions: Vec<Chess> = BENCH_POSITIONS
        .iter()
        .map(|fen| {
            let (setup, _) = parse_fen(fen.as_bytes()).expect("the positions can be read");
            legal_position(setup, CastlingMode::Standard).expect("the positions are legal")
        })
        .collect();
    let stop = AtomicBool::new(false);
    let mut group = criterion.benchmark_group("search");
    group.sample_size(10).throughput(Throughput::Elements(NODES * positions.len() as u64));
    group.bench_function("nodes", |b| {
        b.iter(|| {
            for position in &positions {
                engine.new_game();
                let limits = Limits { nodes: Some(NODES), ..Limits::default() };
                black_box(engine.search(position, &[], &limits, &stop, &mut |_| {}));
            }
        });
    });
    group.finish();
}

criterion_group!(search, benches);
criterion_main!(search);
