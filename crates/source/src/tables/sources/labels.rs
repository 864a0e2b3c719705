//! Names of entries, which give the order of an array: `[PAWN] = 82`, `Pawn: 82`, `'P': 82`.

use super::marker::Places;
use super::pieces::{Piece, Pieces, is_colored, role};
use gputexel_model::ROLE_NAMES;

/// The name of an entry, as written in the source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    pub text: String,
    /// True for a place in an array, in brackets, false for the name of a field.
    pub bracketed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Piece(Piece, Said),
    Empty,
    Black(bool),
    Index(u64),
    Unknown,
}

/// Way in which a name gives the color of its piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    /// By a capital or small letter, which is only meaningful together with the other.
    Letter,
    Word,
}

/// Empty for fields without the names of pieces or colors.
pub(super) fn places(labels: &[Option<Label>]) -> Result<Places, String> {
    let Some(first) =
        labels.iter().flatten().find(|label| label.bracketed).or(labels.iter().flatten().next())
    else {
        return Ok(Places::default());
    };
    // A single field determines no order.
    if !first.bracketed && labels.len() < 2 {
        return Ok(Places::default());
    }
    let meanings: Vec<Meaning> = labels
        .iter()
        .map(|label| label.as_ref().map_or(Meaning::Unknown, |label| meaning(&label.text)))
        .collect();
    let all = |is: &dyn Fn(&Meaning) -> bool| meanings.iter().all(is);
    if all(&|meaning| matches!(meaning, Meaning::Piece(..) | Meaning::Empty)) {
        let pieces = pieces(&meanings).map_err(|why| format!("'{}' {why}", first.text))?;
        return Ok(Places { pieces: Some(pieces), black_first: None });
    }
    if let [Meaning::Black(black), Meaning::Black(other)] = meanings[..] {
        if black == other {
            return Err(format!("'{}' is there twice", first.text));
        }
        return Ok(Places { pieces: None, black_first: Some(black) });
    }
    if !first.bracketed || is_phases(labels) {
        return Ok(Places::default());
    }
    if all(&|meaning| matches!(meaning, Meaning::Index(_))) {
        let indices = meanings.iter().filter_map(|meaning| match meaning {
            Meaning::Index(index) => Some(*index),
            _ => None,
        });
        let indices: Vec<u64> = indices.collect();
        if indices.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) {
            return Ok(Places::default());
        }
        return Err(
            "the entries are placed with holes, or in no order; write all of them, in order".to_string()
        );
    }
    Err(format!(
        "'[{}] =' places an entry, and what is there is not known; places are pieces, colors, phases or numbers, \
         for all entries or none",
        first.text
    ))
}

fn is_phases(labels: &[Option<Label>]) -> bool {
    let said = |label: &Option<Label>, words: [&str; 2]| {
        label.as_ref().is_some_and(|label| words.iter().any(|word| label.text.to_lowercase().contains(word)))
    };
    matches!(labels, [mg, eg] if said(mg, ["mg", "mid"]) && said(eg, ["eg", "end"]))
        || matches!(labels, [eg, mg] if said(mg, ["mg", "mid"]) && said(eg, ["eg", "end"]))
}

fn pieces(meanings: &[Meaning]) -> Result<Pieces, &'static str> {
    let mut letters = [false; 2];
    for meaning in meanings {
        if let Meaning::Piece(piece, Said::Letter) = meaning {
            letters[usize::from(piece.black)] = true;
        }
    }
    let cased = letters == [true; 2];
    let of = |meaning: &Meaning| match *meaning {
        Meaning::Piece(piece, Said::Letter) if !cased => Some(Piece::white(piece.role)),
        Meaning::Piece(piece, _) => Some(piece),
        _ => None,
    };
    let pieces: Pieces = meanings.iter().map(of).collect();
    if (0..pieces.len()).any(|i| pieces[i].is_some() && pieces[..i].contains(&pieces[i])) {
        return Err("and others name a piece twice");
    }
    let whites = pieces.iter().flatten().filter(|piece| !piece.black).count();
    if is_colored(&pieces) && whites == 0 {
        return Err(
            "and others name pieces of Black alone, whose values are White's with another name: mark White's",
        );
    }
    match pieces.iter().any(Option::is_some) {
        true => Ok(pieces),
        false => Err("names no piece"),
    }
}

/// Returns the meaning of a name, as programmers write it: `PAWN`, `PieceType::Pawn`, `W_PAWN`, `wP`, `WhitePawn`,
/// `'P'`.
fn meaning(text: &str) -> Meaning {
    let text = text.trim().trim_matches(['\'', '"']);
    let word = text.rsplit([':', '.']).next().unwrap_or_default();
    if let Ok(index) = word.parse::<u64>() {
        return Meaning::Index(index);
    }
    if !text.chars().all(|c| c.is_ascii_alphanumeric() || "_:.".contains(c)) {
        return Meaning::Unknown;
    }
    let parts = parts(word);
    let parts: Vec<&str> = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !["piece", "pt", "pc", "type"].contains(part))
        .collect();
    let color = |part: &str| match part {
        "white" | "w" => Some(false),
        "black" | "b" => Some(true),
        _ => None,
    };
    let named = |part: &str| ROLE_NAMES.iter().position(|name| *name == part);
    let lettered = |part: &str| {
        let mut letters = part.chars();
        letters.next().filter(|_| letters.next().is_none()).and_then(role)
    };
    let piece = |black: Option<bool>, role: usize| {
        let said = if black.is_some() { Said::Word } else { Said::Nothing };
        Meaning::Piece(Piece { role, black: black.unwrap_or(false) }, said)
    };
    match parts[..] {
        ["empty" | "none" | "no"] => Meaning::Empty,
        ["white" | "w"] => Meaning::Black(false),
        ["black"] => Meaning::Black(true),
        [one] => match (named(one), lettered(one), one.split_at_checked(1)) {
            (Some(role), ..) => piece(None, role),
            (_, Some(role), _) => {
                Meaning::Piece(Piece { role, black: word.chars().all(char::is_lowercase) }, Said::Letter)
            }
            (_, _, Some((side, rest))) => match (color(side), lettered(rest)) {
                (Some(black), Some(role)) => piece(Some(black), role),
                _ => Meaning::Unknown,
            },
            _ => Meaning::Unknown,
        },
        [one, other] => match (color(one), named(other).or(lettered(other)), named(one), color(other)) {
            (Some(black), Some(role), ..) | (_, _, Some(role), Some(black)) => piece(Some(black), role),
            _ => Meaning::Unknown,
        },
        _ => Meaning::Unknown,
    }
}

/// Returns the words of an identifier in lower case: `W_PAWN` and `wPawn` are `w` and `pawn`.
fn parts(word: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = ' ';
    for c in word.chars() {
        if c == '_' || (c.is_uppercase() && before.is_lowercase()) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c != '_') {
            part.extend(c.to_lowercase());
        }
        before = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::super::pieces::text;
    use super::*;

    fn said(names: &[&str]) -> Result<String, String> {
        let label = |name: &&str| Some(Label { text: name.to_string(), bracketed: true });
        let labels: Vec<Option<Label>> = names.iter().map(label).collect();
        places(&labels).map(|Places { pieces, black_first }| match (pieces, black_first) {
            (Some(pieces), _) => text(&pieces),
            (None, Some(true)) => "black first".to_string(),
            (None, Some(false)) => "white first".to_string(),
            (None, None) => String::new(),
        })
    }

    #[test]
    fn names_say_the_order_of_pieces() {
        for (names, expected) in [
            (&["PAWN", "KNIGHT", "KING"][..], "pnk"),
            (&["NO_PIECE", "W_PAWN", "B_PAWN"], "-Pp"),
            (&["EMPTY", "wP", "wN", "bP", "bN"], "-PNpn"),
            (&["PieceType::Queen", "PieceType::Rook"], "qr"),
            (&["'P'", "'N'", "'B'"], "pnb"),
            (&["P", "N", "p", "n"], "PNpn"),
            (&["p", "n"], "pn"),
            (&["WhitePawn", "BlackPawn"], "Pp"),
            (&["chess.PAWN", "chess.ROOK"], "pr"),
            (&["PIECE_TYPE_NONE", "PT_BISHOP"], "-b"),
            (&["WHITE", "BLACK"], "white first"),
            (&["Color::Black", "Color::White"], "black first"),
            (&["3", "4", "5"], ""),
            (&["MG", "EG"], ""),
        ] {
            assert_eq!(said(names).as_deref(), Ok(expected), "{names:?}");
        }
        for (names, expected) in [
            (&["1", "3"][..], "with holes"),
            (&["2", "1"], "with holes"),
            (&["LAZY"], "'[LAZY] =' places an entry"),
            (&["PAWN", "OTHER"], "places an entry"),
            (&["PAWN", "Pawn"], "name a piece twice"),
            (&["0 ... 7"], "places an entry"),
            (&["WHITE", "WHITE"], "twice"),
            (&["B_PAWN", "B_KNIGHT"], "of Black alone"),
        ] {
            let why = said(names).unwrap_err();
            assert!(why.contains(expected), "{names:?}: {why}");
        }
        // Fields can have any name.
        let field = |text: &str| Some(Label { text: text.to_string(), bracketed: false });
        assert_eq!(places(&[field("lazy"), field("bonus")]), Ok(Places::default()));
        let mixed = [Some(Label { text: "PAWN".into(), bracketed: true }), None];
        assert!(places(&mixed).is_err());
    }
}
