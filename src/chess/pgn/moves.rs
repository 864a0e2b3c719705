//! Finds the legal move that a word stands for, however it is spelled.

use shakmaty::san::{San, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingSide, Chess, Move};

use crate::chess::selection::Reason;

/// Whether a word is the whole spelling of a move as the parser read it.
pub fn spells(word: &[u8], read: &SanPlus) -> bool {
    match SanPlus::from_ascii(word) {
        Ok(san) => san == *read,
        Err(_) => word.first() == Some(&b'0') && lenient_san(word) == Some(read.san),
    }
}

/// The legal move that a word stands for: algebraic notation as programs and people write it, or
/// the coordinates of UCI. `san` is the word as read by the parser, if it could.
pub fn find_move(position: &Chess, word: &[u8], san: Option<San>) -> Result<Move, Reason> {
    if let Some(san) = san.or_else(|| San::from_ascii(word).ok()) {
        if let Ok(found) = san.to_move(position) {
            return Ok(found);
        }
        return find_coordinates(position, word).ok_or(Reason::IllegalMove);
    }
    if let Some(found) = find_coordinates(position, word) {
        return Ok(found);
    }
    let san = lenient_san(word).ok_or(Reason::UnreadableMove)?;
    san.to_move(position).map_err(|_| Reason::IllegalMove)
}

fn find_coordinates(position: &Chess, word: &[u8]) -> Option<Move> {
    UciMove::from_ascii(word).ok().filter(|uci| *uci != UciMove::Null)?.to_move(position).ok()
}

/// Castling with zeros or small letters, several check signs, `e8Q` and `exd6e.p.`.
fn lenient_san(word: &[u8]) -> Option<San> {
    let end = word.iter().rposition(|b| !b"+#=".contains(b))? + 1;
    let word = &word[..end];
    let word = word.strip_suffix(b"e.p.").or_else(|| word.strip_suffix(b"ep")).unwrap_or(word);
    match word {
        b"0-0" | b"o-o" | b"OO" => return Some(San::Castle(CastlingSide::KingSide)),
        b"0-0-0" | b"o-o-o" | b"OOO" => return Some(San::Castle(CastlingSide::QueenSide)),
        _ => {}
    }
    if let Ok(san) = San::from_ascii(word) {
        return Some(san);
    }
    // Promotions without the sign, and those whose piece is a small letter.
    let (&piece, before) = word.split_last()?;
    let before = before.strip_suffix(b"=").unwrap_or(before);
    let mut fixed = before.to_vec();
    fixed.push(b'=');
    fixed.push(piece.to_ascii_uppercase());
    San::from_ascii(&fixed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::fen::{legal_position, parse_fen};
    use shakmaty::CastlingMode;

    #[test]
    fn moves_are_read_in_many_spellings() {
        let position = |fen: &str| {
            let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
            legal_position(setup, CastlingMode::Standard).unwrap()
        };
        let promotion = position("7k/4P3/8/8/8/8/8/K7 w - - 0 1");
        for word in ["e8=Q", "e8Q", "e8=q", "e8=Q+", "e7e8q", "e8Q++"] {
            let found = find_move(&promotion, word.as_bytes(), None).unwrap();
            assert_eq!(found.promotion(), Some(shakmaty::Role::Queen), "{word}");
        }
        let castling = position("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1");
        for word in ["O-O", "0-0", "o-o", "e1g1", "O-O+", "0-0#"] {
            assert_eq!(
                find_move(&castling, word.as_bytes(), None).unwrap().castling_side(),
                Some(CastlingSide::KingSide)
            );
        }
        for word in ["O-O-O", "0-0-0", "e1c1"] {
            assert_eq!(
                find_move(&castling, word.as_bytes(), None).unwrap().castling_side(),
                Some(CastlingSide::QueenSide)
            );
        }
        let passing = position("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1");
        for word in ["exd6", "exd6e.p.", "e5d6"] {
            assert!(find_move(&passing, word.as_bytes(), None).unwrap().is_en_passant(), "{word}");
        }
        assert_eq!(find_move(&castling, b"Qh5", None), Err(Reason::IllegalMove));
        assert_eq!(find_move(&castling, b"Xy9", None), Err(Reason::UnreadableMove));
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
