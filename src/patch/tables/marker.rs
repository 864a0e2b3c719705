//! Markers: comments that begin with `gputexel:` and say what the array beside them holds.

use super::lexer::{Kind, Token};
use crate::model::ROLE_NAMES;

const SIGN: &str = "gputexel:";

/// A marker and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marker {
    /// The byte where its comment begins.
    pub start: usize,
    /// The byte behind its comment.
    pub end: usize,
    /// The byte of the sign, for its line.
    pub at: usize,
    /// What it says, or why that cannot be understood.
    pub marking: Result<Marking, String>,
}

/// What a marker says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marking {
    pub what: String,
    /// How it is selected.
    pub name: String,
    /// Ranks run from 8 to 1.
    pub ranks_down: bool,
    /// Files run from h to a.
    pub files_down: bool,
    /// Squares of a rank: 8, or 4 for tables whose halves mirror each other.
    pub files: usize,
    pub scale: f64,
    pub offset: Option<Offset>,
    /// Entries by piece; none for those that are left alone.
    pub pieces: Option<Vec<Option<usize>>>,
    /// The options that are about squares, for messages.
    pub square_option: Option<&'static str>,
}

/// What the engine adds on its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Offset {
    /// Middlegame and endgame, units of the source.
    Numbers([f64; 2]),
    /// The value of the piece that the names with `material` give.
    Material,
}

impl Marking {
    /// The squares of a table in order: the mean of which each is.
    pub fn squares(&self) -> Vec<Vec<usize>> {
        let mut squares = Vec::new();
        for row in 0..8 {
            for column in 0..self.files {
                let rank = if self.ranks_down { 7 - row } else { row };
                let file = if self.files_down { 7 - column } else { column };
                // Of half a table, each square stands for the one that mirrors it, too.
                let mirrored = (self.files == 4).then_some(8 * rank + 7 - file);
                squares.push(std::iter::once(8 * rank + file).chain(mirrored).collect());
            }
        }
        squares
    }
}

/// All markers among the comments.
pub(super) fn find(source: &str, tokens: &[Token]) -> Vec<Marker> {
    let mut markers = Vec::new();
    for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
        let mut from = token.start;
        for line in source[token.start..token.end].split_inclusive('\n') {
            let text = line.trim_end().trim_end_matches("*/");
            let text =
                text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '/' | '*' | '!' | '<'));
            // "Written by gputexel: ..." is none; nor is a word that ends so.
            if let Some(said) = text.strip_prefix(SIGN) {
                let at = from + line.find(SIGN).unwrap_or(0);
                let marking = parse(said);
                markers.push(Marker { start: token.start, end: token.end, at, marking });
            }
            from += line.len();
        }
    }
    markers
}

/// Reads what stands behind `gputexel:`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(said: &str) -> Result<Marking, String> {
    let mut words =
        said.split(|c: char| c.is_whitespace() || matches!(c, ',' | '=')).filter(|word| !word.is_empty());
    let what = words.next().ok_or("the marker names nothing; see --list")?.to_string();
    let mut marking = Marking {
        name: what.clone(),
        what,
        ranks_down: false,
        files_down: false,
        files: 8,
        scale: 1.0,
        offset: None,
        pieces: None,
        square_option: None,
    };
    let mut given: Vec<&str> = Vec::new();
    let mut flip = false;
    while let Some(option) = words.next() {
        if given.contains(&option) {
            return Err(format!("option '{option}' is given twice"));
        }
        given.push(option);
        if option == "flip" {
            flip = true;
            marking.square_option = Some("flip");
            continue;
        }
        if !["orientation", "files", "scale", "offset", "pieces", "name"].contains(&option) {
            return Err(format!(
                "option '{option}' is not known; there are orientation, flip, files, scale, offset, pieces, name"
            ));
        }
        let value = words.next().ok_or_else(|| format!("option '{option}' has no value"))?;
        let wrong = |expected: &str| format!("option '{option}' is '{value}'; expected {expected}");
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        match option {
            "orientation" => {
                (marking.ranks_down, marking.files_down) = match value {
                    "a1" => (false, false),
                    "h1" => (false, true),
                    "a8" => (true, false),
                    "h8" => (true, true),
                    _ => return Err(wrong("the first square: a1, a8, h1 or h8")),
                };
                marking.square_option = Some("orientation");
            }
            "files" => {
                marking.files = match value {
                    "4" => 4,
                    "8" => 8,
                    _ => return Err(wrong("4 or 8")),
                };
                marking.square_option = Some("files");
            }
            "scale" => {
                let scale = number(value).filter(|&scale| scale != 0.0);
                marking.scale = scale.ok_or_else(|| wrong("a factor, not 0"))?;
            }
            "offset" => {
                marking.offset = Some(if value == "material" {
                    Offset::Material
                } else {
                    let (mg, eg) = value.split_once('/').unwrap_or((value, value));
                    let (Some(mg), Some(eg)) = (number(mg), number(eg)) else {
                        return Err(wrong("a number, two as MG/EG, or material"));
                    };
                    Offset::Numbers([mg, eg])
                });
            }
            "pieces" => {
                marking.pieces = Some(pieces(value).ok_or_else(|| wrong("letters of pnbrqk, - for others"))?)
            }
            _ => marking.name = value.to_string(),
        }
    }
    marking.ranks_down ^= flip;
    Ok(marking)
}

fn pieces(text: &str) -> Option<Vec<Option<usize>>> {
    let letter = |role: &str| if role == "knight" { 'n' } else { role.chars().next().unwrap_or(' ') };
    let mut pieces = Vec::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        let piece = ROLE_NAMES.iter().position(|role| letter(role) == c);
        if (piece.is_none() && c != '-') || (piece.is_some() && pieces.contains(&piece)) {
            return None;
        }
        pieces.push(piece);
    }
    pieces.iter().any(Option::is_some).then_some(pieces)
}

#[cfg(test)]
mod tests {
    use super::super::lexer::{Language, lex};
    use super::*;

    #[test]
    fn markers_begin_their_comments() {
        let source = "//gputexel: knight.mg\n/// gputexel: a.b flip\n/* gputexel: c */ int x; /**\n * words\n * gputexel: d\n */\n// by gputexel: e\nchar *s = \"// gputexel: f\"; ///< gputexel:g\n";
        let found = find(source, &lex(source, Language::C));
        let whats: Vec<&str> =
            found.iter().map(|marker| marker.marking.as_ref().unwrap().what.as_str()).collect();
        assert_eq!(whats, ["knight.mg", "a.b", "c", "d", "g"]);
        assert_eq!(&source[found[3].at..found[3].at + 11], "gputexel: d");
        assert!(found[1].marking.as_ref().unwrap().ranks_down);
    }

    #[test]
    fn options_are_checked() {
        let marking = parse(" knight.mg orientation=h8, files 8, scale -0.5 offset 1/2, name a").unwrap();
        assert!(marking.ranks_down && marking.files_down && marking.scale == -0.5 && marking.name == "a");
        assert_eq!(marking.offset, Some(Offset::Numbers([1.0, 2.0])));
        assert_eq!(pieces("-nK").unwrap(), [None, Some(1), Some(5)]);
        for (text, expected) in [
            ("", "names nothing"),
            ("k scale", "has no value"),
            ("k scale 0", "expected a factor"),
            ("k scale nan", "expected a factor"),
            ("k offset 1/x", "expected a number"),
            ("k files 6", "expected 4 or 8"),
            ("k orientation e4", "first square"),
            ("k pieces ppn", "letters of pnbrqk"),
            ("k pieces --", "letters of pnbrqk"),
            ("k pieces x", "letters of pnbrqk"),
            ("k flip flip", "given twice"),
            ("k tuned today", "'tuned' is not known"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn half_tables_are_means_of_mirrored_squares() {
        let squares = parse("k files 4 orientation a8").unwrap().squares();
        assert_eq!((squares.len(), &squares[0], &squares[31]), (32, &vec![56, 63], &vec![3, 4]));
        assert_eq!(parse("k files 4 orientation h1").unwrap().squares()[1], [6, 1]);
    }
}
