//! Markers: comments that begin with `gputexel:` and describe the array next to them.

use super::board::Board;
use super::pieces::{self, Pieces, is_colored};
use crate::lexer::{Kind, Token};
use gputexel_model::{Colors, SquareOrder};

const SIGN: &str = "gputexel:";

/// Options with values.
const OPTIONS: [&str; 16] = [
    "orientation",
    "files",
    "board",
    "ranks",
    "colors",
    "by",
    "first",
    "prefix",
    "scale",
    "offset",
    "pieces",
    "rows",
    "number",
    "name",
    "min",
    "max",
];

/// A marker and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marker {
    /// Byte at which its comment begins.
    pub start: usize,
    /// Byte after its comment.
    pub end: usize,
    /// Byte of the sign, for its line.
    pub at: usize,
    /// Its contents, or the reason why they cannot be parsed.
    pub marking: Result<Marking, String>,
}

/// Contents of a marker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marking {
    pub what: String,
    /// Name by which it is selected.
    pub name: String,
    /// Square of each index.
    pub order: SquareOrder,
    /// True if it gives the first square. Otherwise imported tables have the order of the schema.
    pub oriented: bool,
    /// Grouping if both colors have tables of several pieces.
    pub by: Option<Grouping>,
    /// True if Black's tables stand before White's.
    pub black_first: bool,
    /// Prefix of the names of squares, if it is not the name and an underscore.
    pub prefix: Option<String>,
    pub scale: f64,
    pub offset: Option<Offset>,
    /// Layout of the entries of a table.
    pub board: Board,
    /// Entries by piece.
    pub pieces: Option<Pieces>,
    /// Number of entries of each row that count, if rows continue with others.
    pub rows: Option<Vec<usize>>,
    /// Numbers of its line that are meant, from 1; `None` for an array.
    pub numbers: Option<Vec<usize>>,
    /// Least value of the parameters, middlegame and endgame, centipawns.
    pub min: Option<[f64; 2]>,
    /// Largest value of the parameters.
    pub max: Option<[f64; 2]>,
    /// Options about squares, for messages.
    pub square_option: Option<&'static str>,
    /// Options about both colors, for messages.
    pub color_option: Option<&'static str>,
}

/// Order of the tables of two colors and several pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grouping {
    /// All pieces of a color, then all of the other.
    Color,
    /// Both colors of a piece, then both of the next.
    Piece,
}

impl Grouping {
    pub fn name(self) -> &'static str {
        match self {
            Self::Color => "color",
            Self::Piece => "piece",
        }
    }
}

/// Values that the engine itself adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Offset {
    /// Middlegame and endgame, in units of the source.
    Numbers([f64; 2]),
    /// The value of the piece, given by the names with `material`.
    Material,
}

/// Finds all markers among the comments.
pub(super) fn find(source: &str, tokens: &[Token]) -> Vec<Marker> {
    let mut markers = Vec::new();
    for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
        let mut from = token.start;
        for line in source[token.start..token.end].split_inclusive('\n') {
            let text = line.trim_end().trim_end_matches("*/");
            let text = text.trim_start_matches(is_ornament);
            // "Written by gputexel: ..." is not a marker, nor is a word with this ending.
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

/// Finds comments that would be markers if they had a colon: their positions, and the word that follows.
pub(super) fn without_colon<'a>(source: &'a str, tokens: &[Token]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
        let comment = &source[token.start..token.end];
        let text = comment.trim_start_matches(is_ornament).trim_end().trim_end_matches("*/");
        let Some(said) = text.strip_prefix(SIGN.trim_end_matches(':')) else { continue };
        if said.starts_with(char::is_whitespace)
            && let Some(word) = said.split_whitespace().next()
        {
            found.push((token.start, word));
        }
    }
    found
}

/// Returns true if a character only opens or decorates a comment.
fn is_ornament(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '*' | '!' | '<' | '#')
}

/// Parses the text after `gputexel:`.
pub(super) fn parse(said: &str) -> Result<Marking, String> {
    let mut words = words(said)?.into_iter();
    let what = words.next().ok_or("the marker names nothing")?;
    let mut marking = Marking {
        name: what.clone(),
        what,
        order: SquareOrder::default(),
        oriented: false,
        by: None,
        black_first: false,
        prefix: None,
        scale: 1.0,
        offset: None,
        board: Board::Squares,
        pieces: None,
        rows: None,
        numbers: None,
        min: None,
        max: None,
        square_option: None,
        color_option: None,
    };
    let mut given: Vec<String> = Vec::new();
    let mut flip = false;
    while let Some(option) = words.next() {
        if given.contains(&option) {
            return Err(format!("option '{option}' is given twice"));
        }
        given.push(option.clone());
        let option = option.as_str();
        if option == "flip" {
            flip = true;
            marking.oriented = true;
            marking.square_option = Some("flip");
            continue;
        }
        if !OPTIONS.contains(&option) {
            return Err(format!("option '{option}' is not known; there are flip, {}", OPTIONS.join(", ")));
        }
        let value = words.next().ok_or_else(|| format!("option '{option}' has no value"))?;
        let value = value.as_str();
        let wrong = |expected: &str| format!("option '{option}' is '{value}'; expected {expected}");
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let pair = || {
            let (mg, eg) = value.split_once('/').unwrap_or((value, value));
            number(mg).zip(number(eg)).map(|(mg, eg)| [mg, eg])
        };
        match option {
            "orientation" => {
                let first = value.parse::<SquareOrder>();
                let first = first.map_err(|_| wrong("the first square: a1, a8, h1 or h8"))?;
                let SquareOrder { files, colors, .. } = marking.order;
                marking.order = SquareOrder { files, colors, ..first };
                marking.oriented = true;
                marking.square_option = Some("orientation");
            }
            "files" => {
                marking.order.files = match value {
                    "4" => 4,
                    "8" => 8,
                    _ => return Err(wrong("4 or 8")),
                };
                marking.square_option = Some("files");
            }
            "board" => {
                marking.board = Board::of_option(value).ok_or_else(|| wrong("0x88 or 10x12"))?;
                marking.square_option = Some("board");
            }
            "ranks" if value == "2-7" => {
                marking.board = Board::PawnRanks;
                marking.square_option = Some("ranks");
            }
            "ranks" => return Err(wrong("2-7")),
            "rows" => marking.rows = Some(counts(value).ok_or_else(|| wrong("lengths, such as 9/14/15"))?),
            "number" => {
                let numbers = counts(value).filter(|all| (1..all.len()).all(|i| !all[..i].contains(&all[i])));
                marking.numbers =
                    Some(numbers.ok_or_else(|| wrong("a place on the line from 1, several as 1/2"))?);
            }
            "colors" => {
                marking.order.colors = match value {
                    "both" => Colors::Both,
                    "negated" => Colors::Negated,
                    _ => return Err(wrong("both or negated")),
                };
                marking.color_option = Some("colors");
            }
            "by" => {
                marking.by = Some(match value {
                    "color" => Grouping::Color,
                    "piece" => Grouping::Piece,
                    _ => return Err(wrong("color or piece")),
                });
                marking.color_option = Some("by");
            }
            "first" => {
                marking.black_first = match value {
                    "white" => false,
                    "black" => true,
                    _ => return Err(wrong("white or black")),
                };
                marking.color_option = Some("first");
            }
            "prefix" => {
                marking.prefix = Some(unquoted(value));
                marking.square_option = Some("prefix");
            }
            "scale" => {
                let scale = number(value).filter(|&scale| scale != 0.0);
                marking.scale = scale.ok_or_else(|| wrong("a factor, not 0"))?;
            }
            "offset" => {
                marking.offset = Some(match value {
                    "material" => Offset::Material,
                    _ => Offset::Numbers(pair().ok_or_else(|| wrong("a number, two as MG/EG, or material"))?),
                });
            }
            "min" => marking.min = Some(pair().ok_or_else(|| wrong("a number, or two as MG/EG"))?),
            "max" => marking.max = Some(pair().ok_or_else(|| wrong("a number, or two as MG/EG"))?),
            "pieces" => {
                let letters = "letters of pnbrqk, twice for both colors, - for others";
                marking.pieces = Some(pieces::parse(value).ok_or_else(|| wrong(letters))?);
            }
            _ => marking.name = unquoted(value),
        }
    }
    marking.order.ranks_down ^= flip;
    if let (Some(min), Some(max)) = (marking.min, marking.max)
        && (0..2).any(|phase| min[phase] > max[phase])
    {
        return Err("option 'min' is larger than 'max'".to_string());
    }
    if marking.board != Board::Squares {
        let both =
            given.iter().any(|option| option == "board") && given.iter().any(|option| option == "ranks");
        if marking.order.files == 4 || both {
            let other = if both { "ranks 2-7" } else { "files 4" };
            return Err(format!(
                "option '{other}' is for tables of squares alone, which have no 'board' or 'ranks'"
            ));
        }
    }
    marking.color_pieces()?;
    if marking.order.colors == Colors::One
        && let Some(option) = given.iter().find(|option| ["by", "first"].contains(&option.as_str()))
    {
        return Err(format!("option '{option}' is for tables of both colors; there is 'colors both'"));
    }
    Ok(marking)
}

impl Marking {
    /// Returns true if the pieces are of both colors, each entry of one.
    pub fn is_colored(&self) -> bool {
        self.pieces.as_ref().is_some_and(is_colored)
    }

    /// Marks pieces of both colors as such.
    fn color_pieces(&mut self) -> Result<(), String> {
        if !self.is_colored() {
            return Ok(());
        }
        if let Some(option @ ("by" | "first")) = self.color_option {
            return Err(format!(
                "option '{option}' is for tables of both colors; 'pieces' says already whose they are"
            ));
        }
        if self.order.colors == Colors::One {
            self.order.colors = Colors::Both;
        }
        Ok(())
    }

    /// Takes over the order given by names of entries, as in `[PAWN] =`.
    pub fn take_places(&mut self, places: &Places) -> Result<(), String> {
        if let Some(named) = &places.pieces {
            match &self.pieces {
                Some(own) if own != named => {
                    return Err(format!(
                        "the names of the entries are 'pieces {}', the marker says 'pieces {}'",
                        pieces::text(named),
                        pieces::text(own)
                    ));
                }
                _ => self.pieces = Some(named.clone()),
            }
            self.color_pieces()?;
        }
        if let Some(black_first) = places.black_first.filter(|_| self.order.colors != Colors::One) {
            if self.color_option == Some("first") && black_first != self.black_first {
                return Err("the names of the entries say which color is first, the marker says otherwise"
                    .to_string());
            }
            self.black_first = black_first;
        }
        Ok(())
    }

    /// Returns the number of entries of one color's table of squares.
    pub fn entries(&self) -> usize {
        self.board.entries(self.order.entries())
    }

    /// Returns the text of the marker.
    pub fn text(&self) -> String {
        let mut text = format!("{SIGN} {}", self.what);
        if let Some(prefix) = &self.prefix {
            text += &format!(" prefix {}", quote(prefix));
        }
        if self.oriented {
            text += &format!(" orientation {}", self.order.first());
        }
        if self.order.files == 4 {
            text += " files 4";
        }
        text += self.board.option();
        match self.order.colors {
            Colors::One => {}
            Colors::Both => text += " colors both",
            Colors::Negated => text += " colors negated",
        }
        if let Some(by) = self.by {
            text += &format!(" by {}", by.name());
        }
        if self.black_first {
            text += " first black";
        }
        if self.scale != 1.0 {
            text += &format!(" scale {}", self.scale);
        }
        match self.offset {
            Some(Offset::Numbers([mg, eg])) if mg == eg => text += &format!(" offset {mg}"),
            Some(Offset::Numbers([mg, eg])) => text += &format!(" offset {mg}/{eg}"),
            Some(Offset::Material) => text += " offset material",
            None => {}
        }
        if let Some(pieces) = &self.pieces {
            text += &format!(" pieces {}", pieces::text(pieces));
        }
        let slashed = |all: &[usize]| all.iter().map(usize::to_string).collect::<Vec<_>>().join("/");
        if let Some(rows) = &self.rows {
            text += &format!(" rows {}", slashed(rows));
        }
        if let Some(numbers) = &self.numbers {
            text += &format!(" number {}", slashed(numbers));
        }
        for (option, bound) in [("min", self.min), ("max", self.max)] {
            match bound {
                Some([mg, eg]) if mg == eg => text += &format!(" {option} {mg}"),
                Some([mg, eg]) => text += &format!(" {option} {mg}/{eg}"),
                None => {}
            }
        }
        if self.name != self.what {
            let plain = self.name.chars().all(|c| c.is_alphanumeric() || "._".contains(c));
            text += &format!(" name {}", if plain { self.name.clone() } else { quote(&self.name) });
        }
        text
    }
}

/// Order given by the names of an array's entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Places {
    pub pieces: Option<Pieces>,
    /// True if Black's entries come before White's.
    pub black_first: Option<bool>,
}

/// Parses numbers from 1, separated by slashes.
fn counts(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=4096).contains(number));
    text.split('/').map(number).collect()
}

/// Splits at blanks, commas and equals signs. A word that begins with a quote extends to the end of the string, with
/// the escapes of JSON, and any text right after it.
fn words(said: &str) -> Result<Vec<String>, String> {
    let separates = |c: char| c.is_whitespace() || matches!(c, ',' | '=');
    let mut words = Vec::new();
    let mut rest = said.trim_start_matches(separates);
    while !rest.is_empty() {
        let quoted = if rest.starts_with('"') { quoted(rest)?.1 } else { 0 };
        let end = rest[quoted..].find(separates).map_or(rest.len(), |end| quoted + end);
        words.push(rest[..end].to_string());
        rest = rest[end..].trim_start_matches(separates);
    }
    Ok(words)
}

/// Returns the string at the beginning of a text, and its end.
pub(crate) fn quoted(text: &str) -> Result<(String, usize), String> {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match strings.next() {
        Some(Ok(string)) => Ok((string, strings.byte_offset())),
        _ => Err(format!("{text} is not a quoted JSON string")),
    }
}

/// Returns a quoted name that can stand in a comment of any language. Characters that could end the comment's line or
/// change its display are escaped as in JSON.
pub(crate) fn quote(name: &str) -> String {
    escape_unseen(&serde_json::Value::from(name).to_string())
}

/// Escapes everything in JSON or text that could end a line or change its display: compilers warn of such comments, or
/// take the following text for code.
pub(crate) fn escape_unseen(text: &str) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if unseen(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() }).collect()
}

/// Returns a word without quotes, if it has any.
fn unquoted(word: &str) -> String {
    quoted(word).map_or_else(|_| word.to_string(), |(string, _)| string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Language;
    use crate::lexer::lex;

    #[test]
    fn markers_begin_their_comments() {
        let source = "//gputexel: knight.mg\n/// gputexel: a.b flip\n/* gputexel: c */ int x; /**\n * words\n * gputexel: d\n */\n// by gputexel: e\nchar *s = \"// gputexel: f\"; ///< gputexel:g\n";
        let found = find(source, &lex(source, Language::C));
        let whats: Vec<&str> =
            found.iter().map(|marker| marker.marking.as_ref().unwrap().what.as_str()).collect();
        assert_eq!(whats, ["knight.mg", "a.b", "c", "d", "g"]);
        assert_eq!(&source[found[3].at..found[3].at + 11], "gputexel: d");
        assert!(found[1].marking.as_ref().unwrap().order.ranks_down);
    }

    #[test]
    fn options_are_checked() {
        let marking = parse(" knight.mg orientation=h8, files 8, scale -0.5 offset 1/2, name a").unwrap();
        assert!(marking.order.ranks_down && marking.order.files_down);
        assert!(marking.scale == -0.5 && marking.name == "a");
        assert_eq!(marking.offset, Some(Offset::Numbers([1.0, 2.0])));
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
            ("k colors both by rank", "color or piece"),
            ("k colors both first red", "white or black"),
            ("k by color", "is for tables of both colors"),
            ("k first white", "is for tables of both colors"),
            ("k min 1 max 0", "'min' is larger than 'max'"),
            ("k max 1/x", "two as MG/EG"),
            ("k tuned today", "'tuned' is not known"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn names_may_be_quoted() {
        let marking = parse(" \"a, \\\"b\\\" = c\".mg colors=both prefix \"x \", name \"n m\"").unwrap();
        assert_eq!(marking.what, "\"a, \\\"b\\\" = c\".mg");
        assert_eq!((marking.prefix.as_deref(), marking.name.as_str()), (Some("x "), "n m"));
        assert_eq!(marking.order.colors, Colors::Both);
        assert!(parse("\"a b").unwrap_err().contains("is not a quoted JSON string"));
        assert!(parse("a colors three").unwrap_err().contains("both or negated"));
    }
}
