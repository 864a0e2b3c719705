//! Any bytes as games: nothing panics, and every position is kept or counted.
#![no_main]

use gputexel::chess::pgn::{last_game_start, read_pgn};
use gputexel::chess::selection::{Selection, Unit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let batch = read_pgn(data, 1, &Selection { skip_plies: 0, ..Selection::default() });
    assert_eq!(batch.positions_read, batch.samples.len() as u64 + batch.left_out.sum(Unit::Position));
    assert!(batch.left_out.sum(Unit::Game) + batch.left_out.sum(Unit::GameRest) <= batch.records);
    assert!(batch.plies_lost <= batch.plies);
    assert!(batch.left_out.useless_games() + batch.left_out.faulty_games() <= batch.records);
    for sample in &batch.samples {
        assert!([0.0, 0.5, 1.0].contains(&sample.result));
        assert!(sample.game.is_some_and(|game| game < batch.records));
    }
    if let Some(at) = last_game_start(data) {
        assert!(at > 0 && at < data.len());
    }
});
