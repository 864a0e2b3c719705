//! Random legal moves, accepted if nothing hangs.

use std::sync::LazyLock;

use rand::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::{Chess, Position};

use super::Opening;
use crate::end::playable;
use gputexel_chess::PhaseSettings;
use gputexel_chess::quiescence::Quiescence;
use gputexel_model::{FeatureKind, FeatureSet, Prior, TableEvaluation};

/// Largest advantage afterwards, by a search of one ply and captures that counts material.
const LIMIT_CP: u32 = 200;

/// Regardless of the engines' evaluations.
static MATERIAL: LazyLock<TableEvaluation> = LazyLock::new(|| {
    let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    let theta = Prior::default().theta(&set).expect("the default names no file");
    TableEvaluation::try_new(&set, &theta).expect("the default values are in range")
});

/// One attempt: the drawn moves may lose, or end the game.
pub fn draw(plies: u32, from: &Opening, random: &mut Xoshiro256PlusPlus) -> Option<Opening> {
    let mut opening = from.clone();
    let mut position = from.position();
    for _ in 0..plies {
        let m = *position.legal_moves().choose(random)?;
        position.play_unchecked(m);
        opening.moves.push(m);
    }
    is_balanced(&position).then_some(opening)
}

/// Positions in check are rejected: half their moves would not be the engines' own.
fn is_balanced(position: &Chess) -> bool {
    !position.is_check()
        && playable(position).is_ok()
        && Quiescence::new(&*MATERIAL)
            .resolve_depth1(position)
            .is_ok_and(|resolved| resolved.score_stm.unsigned_abs() <= LIMIT_CP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(fen: &str) -> Chess {
        let (setup, _) = gputexel_chess::fen::parse_fen(fen.as_bytes()).unwrap();
        gputexel_chess::fen::legal_position(setup, shakmaty::CastlingMode::Standard).unwrap()
    }

    #[test]
    fn the_bundled_book_is_whole() {
        let book = crate::openings::Book::bundled();
        assert_eq!((book.len() as u64, book.bad, book.duplicates), (crate::openings::Book::BUNDLED, 0, 0));
    }

    #[test]
    fn hanging_pieces_and_mates_are_seen() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert!(is_balanced(&position(start)));
        // A queen can be captured; a knight hangs but its owner is to move; both queens can be captured.
        assert!(!is_balanced(&position("rnb1kbnr/pppp1ppp/8/4p1q1/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 3")));
        assert!(is_balanced(&position("rnbqkbnr/ppp1pppp/8/3p4/4N3/8/PPPPPPPP/R1BQKBNR w KQkq - 0 3")));
        // Fool's mate is possible.
        assert!(!is_balanced(&position("rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 2")));
    }
}
