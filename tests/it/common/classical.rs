//! The feature set `classical`, and positions to count its features on.

use crate::common::prelude::*;
use gputexel::engine::Limits;
use rand::prelude::*;

pub fn classical() -> FeatureSet {
    FeatureSet::new(FeatureKind::Classical, PhaseSettings::default())
}

/// Returns positions of games played by a search at depth 1 after random openings: as natural as possible without a
/// book, and not selected for being quiet.
pub fn played(games: u64) -> Vec<Chess> {
    let (set, theta) = named_parameters("material").unwrap();
    let mut engine = Engine::try_new(TableEvaluation::try_new(&set, &theta).unwrap(), 1).unwrap();
    let stop = AtomicBool::new(false);
    let mut positions = Vec::new();
    for seed in 0..games {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut position = Chess::default();
        engine.new_game();
        for ply in 0..160 {
            let moves = position.legal_moves();
            let Some(&any) = moves.choose(&mut random) else { break };
            // An occasional random move keeps games from repeating the same shuffle of pieces.
            let limits = Limits { depth: Some(1), ..Limits::default() };
            let chosen = if ply < 10 || random.random_range(0..4) == 0 {
                any
            } else {
                engine.search(&position, &[], &limits, &stop, &mut |_| {}).unwrap().best
            };
            position.play_unchecked(chosen);
            positions.push(position.clone());
        }
    }
    positions
}

/// Returns quiet positions of such games as text with results, one per line.
pub fn labeled(games: u64) -> String {
    let line = |(n, position): (usize, &Chess)| {
        let fen = Fen::from_position(position, EnPassantMode::Legal);
        format!("{fen} [{}]\n", ["1.0", "0.5", "0.0"][n * n % 7 % 3])
    };
    played(games).iter().filter(|position| !position.is_check()).enumerate().map(line).collect()
}
