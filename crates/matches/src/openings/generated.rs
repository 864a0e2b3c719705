//! Random openings: legal moves drawn blindly, kept when nothing hangs.

use std::sync::LazyLock;

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{Chess, Position};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Opening;
use gputexel_chess::PhaseSettings;
use gputexel_chess::quiescence::Quiescence;
use gputexel_model::{FeatureKind, FeatureSet, Prior, TableEvaluation};

/// Random plies.
const PLIES: usize = 8;

/// Largest advantage of either side, centipawns.
const BALANCE_CP: i32 = 100;

/// Plain piece values, whatever the engines play with.
static MATERIAL: LazyLock<TableEvaluation> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("the default names no file");
    TableEvaluation::try_new(&set, &theta).expect("the default values are in range")
});

/// The opening of a pair under a seed.
pub fn opening(seed: u64, pair: u64) -> Opening {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(xxh3_64_with_seed(&pair.to_le_bytes(), seed));
    loop {
        let mut position = Chess::default();
        let mut moves = Vec::with_capacity(PLIES);
        for _ in 0..PLIES {
            let Some(&m) = position.legal_moves().choose(&mut random) else { break };
            position.play_unchecked(m);
            moves.push(m);
        }
        if moves.len() == PLIES && is_balanced(&position) {
            return Opening { start: Chess::default(), moves, chess960: false };
        }
    }
}

/// Whether neither side has an advantage after its best move and all captures behind it. Positions
/// in check are not taken: half their moves would not be the engines' own.
fn is_balanced(position: &Chess) -> bool {
    !position.is_check()
        && Quiescence::new(&*MATERIAL)
            .resolve_depth1(position)
            .is_ok_and(|resolved| resolved.score_stm.abs() <= BALANCE_CP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn position(fen: &str) -> Chess {
        let (setup, _) = gputexel_chess::fen::parse_fen(fen.as_bytes()).unwrap();
        gputexel_chess::fen::legal_position(setup, shakmaty::CastlingMode::Standard).unwrap()
    }

    #[test]
    fn openings_depend_on_seed_and_pair_and_differ() {
        let all: Vec<Opening> = (0..60).map(|pair| opening(7, pair)).collect();
        assert_eq!(all[41], opening(7, 41));
        assert_ne!(all[41], opening(8, 41));
        let keys: HashSet<u64> =
            all.iter().map(|o| gputexel_chess::sample::position_key(&o.position())).collect();
        assert_eq!(keys.len(), all.len());
        assert!(all.iter().all(|o| o.moves.len() == PLIES));
        // An advantage that a plain count of material shows would be unbalanced.
        for o in &all {
            let balance = gputexel_chess::sample::material_balance(o.position().board());
            assert!(balance.abs() <= 4, "{balance}");
        }
    }

    #[test]
    fn hanging_pieces_and_mates_are_seen() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert!(is_balanced(&position(start)));
        // A queen can be taken; a knight hangs but it is its owner's turn; both queens can be taken.
        assert!(!is_balanced(&position("rnb1kbnr/pppp1ppp/8/4p1q1/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 3")));
        assert!(is_balanced(&position("rnbqkbnr/ppp1pppp/8/3p4/4N3/8/PPPPPPPP/R1BQKBNR w KQkq - 0 3")));
        // Fool's mate is on the board next.
        assert!(!is_balanced(&position("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2")));
    }
}
