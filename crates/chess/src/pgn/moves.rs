//! Finds the legal move that a word means: by the standard, or else leniently.

use shakmaty::san::{San, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Move};

use super::lenient_moves::{MoveError, castling_side, find_lenient};

/// Returns true if a word is the whole spelling of a move as the parser read it.
pub fn spells(word: &[u8], read: &SanPlus) -> bool {
    if let Ok(san) = SanPlus::from_ascii(word) {
        san == *read
    } else {
        let side = if word.first() == Some(&b'0') { castling_side(word) } else { None };
        side.is_some_and(|side| read.san == San::Castle(side))
    }
}

/// Finds the legal move that a word means. `san` is the word as read by the parser, if it could.
pub fn find_move<'r>(
    position: &Chess,
    word: &[u8],
    san: Option<San>,
    rest: impl FnOnce() -> &'r [u8],
) -> Result<Move, MoveError> {
    if let Some(san) = san.or_else(|| San::from_ascii(word).ok())
        && let Ok(found) = san.to_move(position)
    {
        return Ok(found);
    }
    let coordinates = UciMove::from_ascii(word).ok().filter(|uci| *uci != UciMove::Null);
    match coordinates.and_then(|uci| uci.to_move(position).ok()) {
        Some(found) => Ok(found),
        None => find_lenient(position, word, rest()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fen::{legal_position, parse_fen};
    use shakmaty::{CastlingMode, CastlingSide};

    #[test]
    fn moves_are_read_in_many_spellings() {
        let find_move = |position: &Chess, word: &[u8]| find_move(position, word, None, || b"");
        let position = |fen: &str| {
            let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
            legal_position(setup, CastlingMode::Standard).unwrap()
        };
        let promotion = position("7k/4P3/8/8/8/8/8/K7 w - - 0 1");
        for word in ["e8=Q", "e8Q", "e8=q", "e8=Q+", "e7e8q", "e8Q++"] {
            let found = find_move(&promotion, word.as_bytes()).unwrap();
            assert_eq!(found.promotion(), Some(shakmaty::Role::Queen), "{word}");
        }
        let castling = position("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1");
        for word in ["O-O", "0-0", "o-o", "e1g1", "O-O+", "0-0#"] {
            assert_eq!(
                find_move(&castling, word.as_bytes()).unwrap().castling_side(),
                Some(CastlingSide::KingSide)
            );
        }
        for word in ["O-O-O", "0-0-0", "e1c1"] {
            assert_eq!(
                find_move(&castling, word.as_bytes()).unwrap().castling_side(),
                Some(CastlingSide::QueenSide)
            );
        }
        let passing = position("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1");
        for word in ["exd6", "exd6e.p.", "e5d6"] {
            assert!(find_move(&passing, word.as_bytes()).unwrap().is_en_passant(), "{word}");
        }
        assert_eq!(find_move(&castling, b"Qh5"), Err(MoveError::Illegal));
        assert_eq!(find_move(&castling, b"Xy9"), Err(MoveError::Unreadable));
    }

    #[test]
    fn only_whole_words_spell_a_move() {
        let castle = |text: &str| SanPlus::from_ascii(text.as_bytes()).unwrap();
        assert!(spells(b"0-0-0+", &castle("O-O-O+")) && spells(b"Nf3", &castle("Nf3")));
        for word in ["Nf3Nc6", "e8Q", "Nf3+", "O-O", ""] {
            assert!(!spells(word.as_bytes(), &castle("Nf3")), "{word}");
        }
    }
}
