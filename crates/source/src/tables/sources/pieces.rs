//! The order of pieces in an array, as given by letters of markers and names of entries.

use gputexel_model::ROLE_NAMES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// 0 for the pawn, 5 for the king.
    pub role: usize,
    /// True for Black's, in arrays that have entries of both colors.
    pub black: bool,
}

impl Piece {
    pub fn white(role: usize) -> Self {
        Self { role, black: false }
    }
}

/// The pieces of an array in order; `None` for entries that are left alone.
pub(super) type Pieces = Vec<Option<Piece>>;

/// Parses letters of `pnbrqk`, `-` for other entries. A piece that occurs twice is of both colors: capital
/// letters are White's if both cases occur, else the first is.
pub(super) fn parse(text: &str) -> Option<Pieces> {
    let roles: Vec<Option<usize>> = text
        .chars()
        .map(|c| match (c, role(c)) {
            ('-', _) => Some(None),
            (_, Some(role)) => Some(Some(role)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let count = |role: usize| roles.iter().filter(|other| **other == Some(role)).count();
    let twice = (0..ROLE_NAMES.len()).any(|role| count(role) == 2);
    let cased = text.contains(char::is_uppercase) && text.contains(char::is_lowercase);
    let mut pieces: Pieces = Vec::with_capacity(roles.len());
    for (role, letter) in roles.into_iter().zip(text.chars()) {
        let Some(role) = role else {
            pieces.push(None);
            continue;
        };
        let black = match cased {
            true => twice && letter.is_lowercase(),
            false => pieces.contains(&Some(Piece::white(role))),
        };
        let piece = Some(Piece { role, black });
        if pieces.contains(&piece) {
            return None;
        }
        pieces.push(piece);
    }
    let mirrored = |piece: &Piece| pieces.contains(&Some(Piece { black: !piece.black, ..*piece }));
    if twice && !pieces.iter().flatten().all(mirrored) {
        return None;
    }
    pieces.iter().any(Option::is_some).then_some(pieces)
}

pub(super) fn text(pieces: &Pieces) -> String {
    let colored = is_colored(pieces);
    let letter = |piece: &Option<Piece>| match piece {
        None => '-',
        Some(Piece { role, black: false }) if colored => letter(*role).to_ascii_uppercase(),
        Some(Piece { role, .. }) => letter(*role),
    };
    pieces.iter().map(letter).collect()
}

pub(super) fn is_colored(pieces: &Pieces) -> bool {
    pieces.iter().flatten().any(|piece| piece.black)
}

pub(super) fn role(c: char) -> Option<usize> {
    (0..ROLE_NAMES.len()).find(|&role| letter(role) == c.to_ascii_lowercase())
}

fn letter(role: usize) -> char {
    match ROLE_NAMES[role] {
        "knight" => 'n',
        name => name.chars().next().unwrap_or(' '),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back() {
        let white = |role| Some(Piece::white(role));
        let black = |role| Some(Piece { role, black: true });
        assert_eq!(parse("-nK").unwrap(), [None, white(1), white(5)]);
        assert_eq!(parse("-pn-pn").unwrap(), [None, white(0), white(1), None, black(0), black(1)]);
        assert_eq!(parse("pnPN").unwrap(), [black(0), black(1), white(0), white(1)]);
        assert_eq!(parse("PPNN").unwrap(), [white(0), black(0), white(1), black(1)]);
        for text in ["ppp", "PPp", "--", "", "x", "pP-p", "ppn", "PNp"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for (letters, expected) in [("-nK", "-nk"), ("-pn-pn", "-PN-pn"), ("pnPN", "pnPN")] {
            let pieces = parse(letters).unwrap();
            assert_eq!(text(&pieces), expected);
            assert_eq!(parse(expected).unwrap(), pieces);
        }
    }
}
