//! Random openings: legal moves drawn blindly, kept when nothing hangs.

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{Chess, Move, MoveList, Position, Role};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Opening;

/// Random plies.
const PLIES: usize = 8;

/// Largest advantage of either side, centipawns.
const BALANCE_CP: i32 = 100;

const MATE_CP: i32 = 100_000;

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
    if position.is_check() {
        return false;
    }
    let best =
        position.legal_moves().iter().map(|&m| -captures(&after(position, m), -MATE_CP, MATE_CP)).max();
    best.is_some_and(|score| score.abs() <= BALANCE_CP)
}

fn after(position: &Chess, m: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(m);
    next
}

fn value(role: Role) -> i32 {
    [100, 300, 320, 500, 900, 0][usize::from(role) - 1]
}

/// Material after the best sequence of captures and promotions, or standing pat; side to move's
/// view. Mate counts, other evasions of check are not searched.
fn captures(position: &Chess, mut alpha: i32, beta: i32) -> i32 {
    let legal = position.legal_moves();
    if legal.is_empty() {
        return if position.is_check() { -MATE_CP } else { 0 };
    }
    let board = position.board();
    let material = |color| -> i32 {
        Role::ALL
            .iter()
            .map(|&role| value(role) * (board.by_color(color) & board.by_role(role)).count() as i32)
            .sum()
    };
    let mut best = material(position.turn()) - material(!position.turn());
    let mut loud: MoveList = legal.into_iter().filter(|m| m.is_capture() || m.is_promotion()).collect();
    loud.sort_by_key(|m| {
        let gain = m.capture().map_or(0, value) + m.promotion().map_or(0, value);
        (-16 * gain + value(m.role()), m.from().map(u32::from), u32::from(m.to()))
    });
    for m in loud {
        if best >= beta {
            break;
        }
        alpha = alpha.max(best);
        best = best.max(-captures(&after(position, m), -beta, -alpha));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn position(fen: &str) -> Chess {
        let (setup, _) = crate::chess::fen::parse_fen(fen.as_bytes()).unwrap();
        crate::chess::fen::legal_position(setup, shakmaty::CastlingMode::Standard).unwrap()
    }

    #[test]
    fn openings_depend_on_seed_and_pair_and_differ() {
        let all: Vec<Opening> = (0..60).map(|pair| opening(7, pair)).collect();
        assert_eq!(all[41], opening(7, 41));
        assert_ne!(all[41], opening(8, 41));
        let keys: HashSet<u64> =
            all.iter().map(|o| crate::chess::sample::position_key(&o.position())).collect();
        assert_eq!(keys.len(), all.len());
        assert!(all.iter().all(|o| o.moves.len() == PLIES));
        // An advantage that a plain count of material shows would be unbalanced.
        for o in &all {
            let balance = crate::chess::sample::material_balance(o.position().board());
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
