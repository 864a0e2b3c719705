//! Cost of the quiescence search per position of a game: the filter, the leaf by quiescence and the leaf after a
//! search at depth 1, one thread.
//!
//! Positions come from a PGN file: `GPUTEXEL_BENCH_PGN` (may be compressed with zstd), or else the
//! sample of the project.

use std::hint::black_box;
use std::ops::ControlFlow;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gputexel::chess::PhaseSettings;
use gputexel::chess::quiescence::Quiescence;
use gputexel::model::{FeatureKind, FeatureSet, Prior, TableEvaluation};
use pgn_reader::{Reader, SanPlus, Skip, Visitor};
use shakmaty::{Chess, Position};

/// Number of positions searched.
const POSITIONS: usize = 20_000;

/// Collects the positions of a game that starts from the initial position.
struct Positions(Vec<Chess>);

impl Visitor for Positions {
    type Tags = bool;
    type Movetext = Option<Chess>;
    type Output = ();

    fn begin_tags(&mut self) -> ControlFlow<(), bool> {
        ControlFlow::Continue(true)
    }

    fn begin_movetext(&mut self, _: bool) -> ControlFlow<(), Option<Chess>> {
        ControlFlow::Continue(Some(Chess::default()))
    }

    fn begin_variation(&mut self, _: &mut Option<Chess>) -> ControlFlow<(), Skip> {
        ControlFlow::Continue(Skip(true))
    }

    fn san(&mut self, position: &mut Option<Chess>, san: SanPlus) -> ControlFlow<()> {
        let Some(before) = position else { return ControlFlow::Continue(()) };
        match san.san.to_move(before) {
            Ok(m) => {
                self.0.push(before.clone());
                before.play_unchecked(m);
            }
            Err(_) => *position = None,
        }
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, _: Option<Chess>) {}
}

fn positions() -> Vec<Chess> {
    let path = std::env::var_os("GPUTEXEL_BENCH_PGN")
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/data/sample.pgn.zst").into());
    let file = std::fs::File::open(path).expect("a file of games");
    let text = zstd::stream::read::Decoder::new(file).expect("compressed with zstd");
    let mut visitor = Positions(Vec::new());
    let mut reader = Reader::new(text);
    while visitor.0.len() < 3 * POSITIONS && reader.read_game(&mut visitor).expect("readable games").is_some()
    {
    }
    visitor.0.into_iter().step_by(3).take(POSITIONS).collect()
}

fn quiescence(criterion: &mut Criterion) {
    let positions = positions();
    let not_in_check: Vec<&Chess> = positions.iter().filter(|p| !p.is_check()).collect();
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let mut theta = Prior::Material([100.0, 300.0, 320.0, 500.0, 900.0]).theta(&set).expect("values");
    let material = TableEvaluation::try_new(&set, &theta).expect("small values");
    for (i, value) in theta.iter_mut().enumerate() {
        *value += (i * 7919 % 61) as f64 - 30.0;
    }
    let tables = TableEvaluation::try_new(&set, &theta).expect("small values");

    for (name, evaluation) in [("material", &material), ("tables", &tables)] {
        let mut search = Quiescence::new(evaluation);
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        group.throughput(Throughput::Elements(not_in_check.len() as u64));
        group.bench_function("is_quiet", |b| {
            b.iter(|| not_in_check.iter().filter(|p| search.is_quiet(p, 0).expect("few nodes")).count());
        });
        group.throughput(Throughput::Elements(positions.len() as u64));
        group.bench_function("score", |b| {
            b.iter(|| positions.iter().for_each(|p| _ = black_box(search.score_stm(p))));
        });
        group.bench_function("resolve", |b| {
            b.iter(|| positions.iter().for_each(|p| _ = black_box(search.resolve(p))));
        });
        group.bench_function("resolve_depth1", |b| {
            b.iter(|| positions.iter().for_each(|p| _ = black_box(search.resolve_depth1(p))));
        });
        group.finish();
        let mut nodes = [Vec::new(), Vec::new(), Vec::new()];
        for position in &positions {
            _ = search.is_quiet(position, 0);
            nodes[0].push(search.nodes());
            _ = search.resolve(position);
            nodes[1].push(search.nodes());
            _ = search.resolve_depth1(position);
            nodes[2].push(search.nodes());
        }
        for (what, counts) in ["is_quiet", "resolve", "resolve_depth1"].iter().zip(&nodes) {
            let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
            println!(
                "{name}/{what}: {mean:.1} nodes a position, {} at most",
                counts.iter().max().unwrap_or(&0)
            );
        }
    }
}

criterion_group!(benches, quiescence);
criterion_main!(benches);
