//! Lenient parsing of moves: words that deviate from the standard but can mean only one legal move.

use shakmaty::{CastlingSide, Chess, File, Move, Position, Rank, Role, Square};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveError {
    Unreadable,
    Illegal,
    Ambiguous,
}

const LONGEST: usize = 40;

/// Finds the only legal move that matches a word; `rest` is the text after it.
pub fn find_lenient(position: &Chess, word: &[u8], rest: &[u8]) -> Result<Move, MoveError> {
    let text = decode(word).ok_or(MoveError::Unreadable)?;
    if let Some(side) = castling(&text) {
        return position.castling_moves(side).first().copied().ok_or(MoveError::Illegal);
    }
    let mut written = Written::parse(&text).ok_or(MoveError::Unreadable)?;
    if written.lacks_promotion() {
        written.promotion = promotion_behind(rest);
    }
    let legal = position.legal_moves();
    let mut fitting = legal.iter().filter(|legal| written.fits(**legal));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Ok(*only),
        (None, _) => Err(MoveError::Illegal),
        _ => Err(MoveError::Ambiguous),
    }
}

/// Returns the side to which a word castles, in any spelling, including `О-О` in Cyrillic letters.
pub fn castling_side(word: &[u8]) -> Option<CastlingSide> {
    castling(&decode(word)?)
}

/// Decodes a word, as Latin-1 if it is not UTF-8.
fn decode(word: &[u8]) -> Option<Vec<char>> {
    if word.len() > LONGEST {
        return None;
    }
    Some(match std::str::from_utf8(word) {
        Ok(text) => text.chars().collect(),
        Err(_) => word.iter().map(|byte| char::from(*byte)).collect(),
    })
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{96}' | '\u{97}')
}

fn is_link(c: char) -> bool {
    is_dash(c) || matches!(c, 'x' | 'X' | ':' | '=' | '/' | '\u{d7}' | '\u{445}' | '\u{425}')
}

fn castling(text: &[char]) -> Option<CastlingSide> {
    let mut rooks = 0;
    for (index, c) in text.iter().enumerate() {
        match c {
            '0' | 'O' | 'o' | '\u{41e}' | '\u{43e}' => rooks += 1,
            c if is_dash(*c) && rooks > 0 => {}
            // Check signs and glyphs may follow.
            c if !c.is_alphanumeric() && text[index..].iter().all(|c| !c.is_alphanumeric()) => break,
            _ => return None,
        }
    }
    match rooks {
        2 => Some(CastlingSide::KingSide),
        3 => Some(CastlingSide::QueenSide),
        _ => None,
    }
}

/// Returns a promotion in parentheses after the word, as in `cxd8(Q)`, which the parser takes for the start
/// of a variation.
fn promotion_behind(rest: &[u8]) -> Option<Role> {
    let inside = rest.trim_ascii_start().strip_prefix(b"(")?;
    let inside = &inside[..memchr::memchr(b')', inside.get(..LONGEST).unwrap_or(inside))?];
    let text = decode(inside.trim_ascii())?;
    let start = text.iter().take_while(|c| is_link(**c)).count();
    let (role, length) = role_at(&text[start..])?;
    (start + length == text.len() && can_promote(role)).then_some(role)
}

fn can_promote(role: Role) -> bool {
    !matches!(role, Role::King | Role::Pawn)
}

fn role_at(text: &[char]) -> Option<(Role, usize)> {
    let figurine = match text.first()? {
        '\u{2654}' | '\u{265a}' => Role::King,
        '\u{2655}' | '\u{265b}' => Role::Queen,
        '\u{2656}' | '\u{265c}' => Role::Rook,
        '\u{2657}' | '\u{265d}' => Role::Bishop,
        '\u{2658}' | '\u{265e}' => Role::Knight,
        '\u{2659}' | '\u{265f}' => Role::Pawn,
        c => return Role::from_char(*c).filter(|_| c.is_ascii_uppercase()).map(|role| (role, 1)),
    };
    // A variation selector may follow a figurine.
    Some((figurine, 1 + usize::from(matches!(text.get(1), Some('\u{fe0e}' | '\u{fe0f}')))))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    File(File),
    Rank(Rank),
}

impl Part {
    fn parse(c: char) -> Option<Self> {
        let c = match c {
            '\u{430}' => 'a',
            '\u{441}' => 'c',
            '\u{435}' => 'e',
            c => c,
        };
        File::from_char(c).map(Self::File).or_else(|| Rank::from_char(c).map(Self::Rank))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Written {
    /// `None` if both squares determine it.
    role: Option<Role>,
    from: (Option<File>, Option<Rank>),
    to: (File, Option<Rank>),
    promotion: Option<Role>,
}

impl Written {
    fn parse(text: &[char]) -> Option<Self> {
        let mut rest = undecorated(text);
        let mut role = None;
        if let Some((named, length)) = role_at(rest) {
            role = Some(named);
            rest = &rest[length..];
        }
        let mut parts = Vec::new();
        loop {
            rest = &rest[rest.iter().take_while(|c| is_link(**c)).count()..];
            match rest.first().and_then(|c| Part::parse(*c)) {
                Some(part) if parts.len() < 5 => parts.push(part),
                Some(_) => return None,
                None => break,
            }
            rest = &rest[1..];
        }
        let mut promotion = None;
        if let [.., Part::Rank(_), Part::File(File::B)] = parts[..] {
            // The small letter of a bishop, as in `e7e8b`.
            parts.pop();
            promotion = Some(Role::Bishop);
        }
        use Part::{File as F, Rank as R};
        let (from, to) = match parts[..] {
            [F(file), R(rank)] => ((None, None), (file, Some(rank))),
            [F(from), F(file), R(rank)] => ((Some(from), None), (file, Some(rank))),
            [R(from), F(file), R(rank)] if role.is_some() => ((None, Some(from)), (file, Some(rank))),
            [F(from), R(row), F(file), R(rank)] => ((Some(from), Some(row)), (file, Some(rank))),
            // `ed`, a pawn that captures.
            [F(from), F(file)] if from.distance(file) == 1 => ((Some(from), None), (file, None)),
            _ => return None,
        };
        if from.1.is_none() || to.1.is_none() {
            role = role.or(Some(Role::Pawn));
        }
        let pawn = role.is_none_or(|role| role == Role::Pawn);
        // `N` marks a novelty where it cannot be a promotion.
        let novelty = rest == ['N'] && !(pawn && promotes(to.1));
        if !rest.is_empty() && !novelty {
            promotion = Some(promotion_at_end(rest)?);
        }
        let sensible = pawn || (promotion.is_none() && to.1.is_some());
        sensible.then_some(Self { role, from, to, promotion })
    }

    fn lacks_promotion(&self) -> bool {
        self.promotion.is_none() && self.role.is_none_or(|role| role == Role::Pawn) && promotes(self.to.1)
    }

    fn fits(&self, legal: Move) -> bool {
        let from_fits = |square: Square| {
            self.from.0.is_none_or(|file| file == square.file())
                && self.from.1.is_none_or(|rank| rank == square.rank())
        };
        let to_fits =
            |square: Square| self.to.0 == square.file() && self.to.1.is_none_or(|rank| rank == square.rank());
        match legal {
            Move::Normal { role, from, to, promotion, .. } => {
                self.role.is_none_or(|wanted| wanted == role)
                    && from_fits(from)
                    && to_fits(to)
                    && promotion == self.promotion
                    // Captures by pawns are written with their file.
                    && (role != Role::Pawn || self.from.0.is_some() || from.file() == to.file())
            }
            Move::EnPassant { from, to } => {
                self.role.is_none_or(|wanted| wanted == Role::Pawn)
                    && self.from.0.is_some()
                    && from_fits(from)
                    && to_fits(to)
                    && self.promotion.is_none()
            }
            // `Ke1-g1`, where the king moves more than one square.
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(rook > king);
                let to = Square::from_coords(side.king_to_file(), king.rank());
                self.role.is_none_or(|wanted| wanted == Role::King)
                    && self.from.0.is_some()
                    && self.from.1.is_some()
                    && from_fits(king)
                    && to_fits(to)
                    && king.distance(to) > 1
                    && self.promotion.is_none()
            }
            Move::Put { .. } => false,
        }
    }
}

fn promotes(rank: Option<Rank>) -> bool {
    matches!(rank, Some(Rank::First | Rank::Eighth))
}

fn promotion_at_end(rest: &[char]) -> Option<Role> {
    let role = match rest {
        ['q'] => Role::Queen,
        ['r'] => Role::Rook,
        ['n'] => Role::Knight,
        _ => {
            let (role, length) = role_at(rest)?;
            if length != rest.len() {
                return None;
            }
            role
        }
    };
    can_promote(role).then_some(role)
}

fn undecorated(text: &[char]) -> &[char] {
    const REMARKS: [&str; 9] = ["e.p", "ep", "dbl.ch", "dis.ch", "dblch", "disch", "ch", "mate", "TN"];
    let mut text = text;
    loop {
        // Letters, digits and figurines.
        let means = |c: &char| c.is_alphanumeric() || matches!(c, '\u{2654}'..='\u{265f}');
        let length = text.iter().rposition(means).map_or(0, |at| at + 1);
        text = &text[..length];
        let ends = |remark: &str| {
            let count = remark.chars().count();
            (length > count + 1 && remark.chars().eq(text[length - count..].iter().copied())).then_some(count)
        };
        match REMARKS.iter().find_map(|remark| ends(remark)) {
            Some(count) => text = &text[..length - count],
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fen::{legal_position, parse_fen};
    use shakmaty::CastlingMode;
    use shakmaty::uci::UciMove;

    fn position(fen: &str) -> Chess {
        let (setup, _) = parse_fen(fen.as_bytes()).unwrap();
        legal_position(setup, CastlingMode::Standard).unwrap()
    }

    fn found(fen: &str, text: &str) -> Result<String, MoveError> {
        let (word, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
        find_lenient(&position(fen), word.as_bytes(), rest.as_bytes())
            .map(|found| UciMove::from_move(found, CastlingMode::Standard).to_string())
    }

    #[test]
    fn many_spellings_mean_one_move() {
        // White: pawns c7, e4, e5; black: a rook on d8, pawns d5 (just moved) and d4.
        let fen = "3rk3/2P5/8/3pP3/3pP3/8/3N4/R2QKB1R w KQ d6 0 1";
        for (uci, words) in [
            ("f1b5", "Bf1-b5+ Bb5 Bxb5 f1b5+ f1-b5 ♗b5 ♝b5† Bb5ch Bf1–b5 B:b5 Bf1xb5++ Bb5dis.ch."),
            ("c7d8q", "cxd8(Q) cd8=Q c7xd8Q c7xd8/Q+ c7d8q cd=♕ cxd8=(Q) Pcxd8=Q cdQ"),
            ("c7d8n", "cxd8=N cd8N c7d8n+ cxd8=♘"),
            ("c7c8b", "c8=B c8(B) c7c8b c7-c8B c8/B c8b"),
            ("e5d6", "exd6 ed6 exd6e.p. e5xd6ep e5-d6+ exd6e.p e5:d6 ed6ep+"),
            ("e4d5", "e4xd5 exd5 e4d5 ed5□ e:d5± e4xd5N exd5⩲ e4×d5 e4xd5N"),
            ("d1b3", "Qb3 Qd1-b3! Qxb3+- Qb3= Qb3[] Qd1b3∓ Qb3N Qb3TN Qb3+/- Q1b3 Qb3□"),
            ("d2b3", "Nb3 Nd2-b3 Nxb3 N2b3 Ndb3 Nb3N ♘d2b3 ♞\u{fe0e}b3"),
            ("e1e2", "Ke2 Kxe2 Ke1-e2 e1e2 ♔e2 Kе2"),
        ] {
            for word in words.split(' ') {
                assert_eq!(found(fen, word).as_deref(), Ok(uci), "{word}");
            }
        }
    }

    #[test]
    fn castling_is_told_by_its_zeros() {
        let fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1";
        for word in ["O–O", "0–0+", "00", "o-o", "О-О", "Ke1-g1", "O-O□", "0-0#", "e1-g1"] {
            assert_eq!(found(fen, word).as_deref(), Ok("e1g1"), "{word}");
        }
        for word in ["O–O–O", "О-О-О", "000", "Ke1c1", "0—0—0"] {
            assert_eq!(found(fen, word).as_deref(), Ok("e1c1"), "{word}");
        }
        for word in ["0-1", "0", "O-O-O-O", "-O-O", "Kg1", "0-0x"] {
            assert!(found(fen, word).is_err(), "{word}");
        }
    }

    #[test]
    fn what_is_not_clear_is_no_move() {
        let two = "4k3/8/8/3p4/8/2N1N3/8/4K3 w - - 0 1";
        assert_eq!(found(two, "Nxd5"), Err(MoveError::Ambiguous));
        assert_eq!(found(two, "Nc3d5").as_deref(), Ok("c3d5"));
        let pawns = "4k3/4P3/8/2ppp3/3P4/8/8/4K3 w - - 0 1";
        // A capture of a pawn without its file, and promotions without a piece.
        for (word, fault) in [
            ("e5", MoveError::Illegal),
            ("c5", MoveError::Illegal),
            ("e8", MoveError::Illegal),
            ("e8=K", MoveError::Unreadable),
            ("d4", MoveError::Illegal),
            ("d4,d5", MoveError::Unreadable),
            ("Kd1Kd2", MoveError::Unreadable),
            ("Kx9", MoveError::Unreadable),
            ("abc", MoveError::Unreadable),
            ("[Ke2", MoveError::Unreadable),
            ("+", MoveError::Unreadable),
            ("", MoveError::Unreadable),
        ] {
            assert_eq!(found(pawns, word), Err(fault), "{word}");
        }
    }
}
