//! Markers: comments that begin with `gputexel:` and describe the array next to them.

use crate::lexer::{Kind, Token};
use gputexel_model::{Colors, ROLE_NAMES, SquareOrder};

const SIGN: &str = "gputexel:";

const OPTIONS: [&str; 10] =
    ["orientation", "files", "colors", "scale", "offset", "pieces", "rows", "number", "min", "max"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marker {
    pub start: usize,
    pub end: usize,
    pub at: usize,
    pub marking: Result<Marking, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marking {
    pub what: String,
    pub order: SquareOrder,
    /// True if it gives the first square. Otherwise imported tables have the order of the schema.
    pub oriented: bool,
    pub scale: f64,
    pub offset: Option<Offset>,
    pub pieces: Option<Pieces>,
    /// Number of entries of each row that count, if rows continue with others.
    pub rows: Option<Vec<usize>>,
    /// Numbers of its line that are meant, from 1; `None` for an array.
    pub numbers: Option<Vec<usize>>,
    /// Least value of the parameters, middlegame and endgame, centipawns.
    pub min: Option<[f64; 2]>,
    pub max: Option<[f64; 2]>,
    pub square_option: Option<&'static str>,
    /// True for lists of both colors by rank: Black's begins where White's ends.
    pub reversed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Offset {
    /// Middlegame and endgame, in units of the source.
    Numbers([f64; 2]),
    Material,
}

pub(super) fn find(source: &str, tokens: &[Token]) -> Vec<Marker> {
    let mut markers = Vec::new();
    for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
        let mut from = token.start;
        for line in source[token.start..token.end].split_inclusive('\n') {
            let text = line.trim_end().trim_end_matches("*/");
            let text = text.trim_start_matches(|c: char| c.is_whitespace() || "/*!<#".contains(c));
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

pub(super) fn parse(said: &str) -> Result<Marking, String> {
    let mut words = words(said)?.into_iter();
    let what = words.next().ok_or("the marker names nothing")?;
    let mut marking = Marking {
        what,
        order: SquareOrder::default(),
        oriented: false,
        scale: 1.0,
        offset: None,
        pieces: None,
        rows: None,
        numbers: None,
        min: None,
        max: None,
        square_option: None,
        reversed: false,
    };
    let mut given: Vec<&str> = Vec::new();
    while let Some(option) = words.next() {
        let Some(&option) = OPTIONS.iter().find(|known| **known == option) else {
            return Err(format!("option '{option}' is not known; there are {}", OPTIONS.join(", ")));
        };
        if given.contains(&option) {
            return Err(format!("option '{option}' is given twice"));
        }
        given.push(option);
        let value = words.next().ok_or_else(|| format!("option '{option}' has no value"))?;
        marking
            .set(option, &value)
            .map_err(|expected| format!("option '{option}' is '{value}'; expected {expected}"))?;
    }
    if let (Some(min), Some(max)) = (marking.min, marking.max)
        && (0..2).any(|phase| min[phase] > max[phase])
    {
        return Err("option 'min' is larger than 'max'".to_string());
    }
    if marking.is_colored() && marking.order.colors == Colors::One {
        marking.order.colors = Colors::Both;
    }
    Ok(marking)
}

fn pair(text: &str) -> Option<[f64; 2]> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let (mg, eg) = text.split_once('/').unwrap_or((text, text));
    number(mg).zip(number(eg)).map(|(mg, eg)| [mg, eg])
}

impl Marking {
    pub fn is_colored(&self) -> bool {
        self.pieces.as_ref().is_some_and(is_colored)
    }

    /// Sets an option; the error is what its value should have been.
    fn set(&mut self, option: &'static str, value: &str) -> Result<(), &'static str> {
        if matches!(option, "orientation" | "files") {
            self.square_option = Some(option);
        }
        match option {
            "orientation" => self.orient(value).ok_or("the first square: a1, a8, h1 or h8")?,
            "files" if value == "4" => self.order.files = 4,
            "files" => return Err("4"),
            "colors" => {
                self.reversed = value == "reversed";
                self.order.colors = match value {
                    "both" | "reversed" => Colors::Both,
                    "negated" => Colors::Negated,
                    _ => return Err("both, negated or reversed"),
                }
            }
            "scale" => {
                let scale = value.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale != 0.0);
                self.scale = scale.ok_or("a factor, not 0")?;
            }
            "offset" if value == "material" => self.offset = Some(Offset::Material),
            "offset" => {
                let numbers = pair(value).ok_or("a number, two as MG/EG, or material")?;
                self.offset = Some(Offset::Numbers(numbers));
            }
            "pieces" => {
                let expected = "letters of pnbrqk, twice for both colors, - for others";
                self.pieces = Some(parse_pieces(value).ok_or(expected)?);
            }
            "rows" => self.rows = Some(counts(value).ok_or("lengths, such as 9/14/15")?),
            "number" => {
                let numbers = counts(value).filter(|all| (1..all.len()).all(|i| !all[..i].contains(&all[i])));
                self.numbers = Some(numbers.ok_or("a place on the line from 1, several as 1/2")?);
            }
            "min" => self.min = Some(pair(value).ok_or("a number, or two as MG/EG")?),
            _ => self.max = Some(pair(value).ok_or("a number, or two as MG/EG")?),
        }
        Ok(())
    }

    pub fn orient(&mut self, first: &str) -> Option<()> {
        let SquareOrder { files, colors, .. } = self.order;
        self.order = SquareOrder { files, colors, ..first.parse().ok()? };
        self.oriented = true;
        Some(())
    }

    pub fn text(&self) -> String {
        let mut text = format!("{SIGN} {}", self.what);
        if self.oriented {
            text += &format!(" orientation {}", self.order.first());
        }
        if self.order.files == 4 {
            text += " files 4";
        }
        match self.order.colors {
            Colors::One => {}
            Colors::Both if self.reversed => text += " colors reversed",
            Colors::Both => text += " colors both",
            Colors::Negated => text += " colors negated",
        }
        if let Some(pieces) = &self.pieces {
            text += &format!(" pieces {}", letters(pieces));
        }
        text
    }
}

fn counts(text: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| (1..=4096).contains(number));
    text.split('/').map(number).collect()
}

/// Splits at blanks, commas and equals signs, except within quoted JSON strings.
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

pub(crate) fn quoted(text: &str) -> Result<(String, usize), String> {
    let mut strings = serde_json::Deserializer::from_str(text).into_iter::<String>();
    match strings.next() {
        Some(Ok(string)) => Ok((string, strings.byte_offset())),
        _ => Err(format!("{text} is not a quoted JSON string")),
    }
}

/// Quotes a name as in JSON, so that it can stand in a comment of any language.
pub(crate) fn quote(name: &str) -> String {
    escape_unseen(&serde_json::Value::from(name).to_string())
}

/// Escapes what could end a line or change its display: the following text might become code.
pub(crate) fn escape_unseen(text: &str) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if unseen(c) { format!("\\u{:04x}", c as u32) } else { c.to_string() }).collect()
}

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
fn parse_pieces(text: &str) -> Option<Pieces> {
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

fn letters(pieces: &Pieces) -> String {
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

fn role(c: char) -> Option<usize> {
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
    use crate::languages::Language;
    use crate::lexer::lex;

    #[test]
    fn markers_begin_their_comments() {
        let source = "//gputexel: knight.mg\n/// gputexel: a.b\n/* gputexel: c */ int x; /**\n * words\n * gputexel: d\n */\n// by gputexel: e\nchar *s = \"// gputexel: f\"; ///< gputexel:g\n";
        let found = find(source, &lex(source, Language::C));
        let whats: Vec<&str> =
            found.iter().map(|marker| marker.marking.as_ref().unwrap().what.as_str()).collect();
        assert_eq!(whats, ["knight.mg", "a.b", "c", "d", "g"]);
        assert_eq!(&source[found[3].at..found[3].at + 11], "gputexel: d");
    }

    #[test]
    fn options_are_checked() {
        let marking =
            parse(" \"a, \\\"b\\\" = c\".mg orientation=h8, scale -0.5 offset 1/2, colors=both").unwrap();
        assert_eq!(marking.what, "\"a, \\\"b\\\" = c\".mg");
        assert!(marking.order.ranks_down && marking.order.files_down && marking.scale == -0.5);
        assert_eq!(marking.offset, Some(Offset::Numbers([1.0, 2.0])));
        assert_eq!(marking.order.colors, Colors::Both);
        for (text, expected) in [
            ("", "names nothing"),
            ("\"a b", "is not a quoted JSON string"),
            ("k scale", "has no value"),
            ("k scale 0", "a factor"),
            ("k scale nan", "a factor"),
            ("k offset 1/x", "a number"),
            ("k files 6", "expected 4"),
            ("k orientation e4", "first square"),
            ("k pieces ppn", "letters"),
            ("k pieces --", "letters"),
            ("k rows 1 rows 1", "twice"),
            ("k colors three", "both, negated or reversed"),
            ("k min 1 max 0", "'min'"),
            ("k max 1/x", "MG/EG"),
            ("k tuned today", "'tuned'"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn letters_come_back() {
        let white = |role| Some(Piece::white(role));
        let black = |role| Some(Piece { role, black: true });
        assert_eq!(parse_pieces("-nK").unwrap(), [None, white(1), white(5)]);
        assert_eq!(parse_pieces("-pn-pn").unwrap(), [None, white(0), white(1), None, black(0), black(1)]);
        assert_eq!(parse_pieces("pnPN").unwrap(), [black(0), black(1), white(0), white(1)]);
        assert_eq!(parse_pieces("PPNN").unwrap(), [white(0), black(0), white(1), black(1)]);
        for text in ["ppp", "PPp", "--", "", "x", "pP-p", "ppn", "PNp"] {
            assert_eq!(parse_pieces(text), None, "{text}");
        }
        for (own, expected) in [("-nK", "-nk"), ("-pn-pn", "-PN-pn"), ("pnPN", "pnPN")] {
            let pieces = parse_pieces(own).unwrap();
            assert_eq!(letters(&pieces), expected);
            assert_eq!(parse_pieces(expected).unwrap(), pieces);
        }
    }
}
