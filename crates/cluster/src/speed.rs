//! Speed of a machine, measured by searches of the built-in engine, which every machine has.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use gputexel_chess::fen::{legal_position, parse_fen};
use gputexel_model::{TableEvaluation, named_parameters};
use gputexel_play::engine::uci::BENCH_POSITIONS;
use gputexel_play::engine::{Engine, Limits};
use shakmaty::{CastlingMode, Chess};

/// Depth of the searches.
const DEPTH: u32 = 6;

/// Number of repetitions; the fastest counts.
const ROUNDS: usize = 3;

/// Transposition table, MiB.
const HASH_MIB: usize = 1;

/// Measures nodes per second per search, with `threads` searches in parallel.
pub fn nodes_per_second(threads: usize) -> u64 {
    let speed = || {
        let rounds = (0..ROUNDS).map(|_| {
            let begin = Instant::now();
            let nodes = search_all();
            nodes as f64 / begin.elapsed().as_secs_f64().max(1e-6)
        });
        rounds.fold(0.0, f64::max)
    };
    let total: f64 = std::thread::scope(|scope| {
        let searches: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(speed)).collect();
        searches.into_iter().map(|search| search.join().unwrap_or(0.0)).sum()
    });
    (total / threads.max(1) as f64).round() as u64
}

/// Returns the nodes of the searches, the same on every machine that has the same engine.
pub(crate) fn reference_nodes() -> u64 {
    static NODES: OnceLock<u64> = OnceLock::new();
    *NODES.get_or_init(search_all)
}

fn search_all() -> u64 {
    let Ok(evaluation) =
        named_parameters("material").and_then(|(set, theta)| TableEvaluation::try_new(&set, &theta))
    else {
        return 0;
    };
    let Ok(mut engine) = Engine::try_new(evaluation, HASH_MIB) else { return 0 };
    let limits = Limits { depth: Some(DEPTH), ..Limits::default() };
    let stop = AtomicBool::new(false);
    let mut nodes = 0;
    for position in BENCH_POSITIONS.iter().filter_map(|fen| position(fen)) {
        engine.new_game();
        nodes += engine.search(&position, &[], &limits, &stop, &mut |_| {}).map_or(0, |chosen| chosen.nodes);
    }
    nodes
}

fn position(fen: &str) -> Option<Chess> {
    let (setup, _) = parse_fen(fen.as_bytes()).ok()?;
    legal_position(setup, CastlingMode::Standard).ok()
}
