//! Styles of identifiers.

use heck::{ToPascalCase, ToShoutySnakeCase, ToSnakeCase};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameStyle {
    /// `knight_mobility`
    Snake,
    /// `KnightMobility`
    Pascal,
    /// `KNIGHT_MOBILITY`
    Screaming,
}

impl NameStyle {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "snake" => Some(Self::Snake),
            "pascal" => Some(Self::Pascal),
            "screaming" => Some(Self::Screaming),
            _ => None,
        }
    }

    /// Returns an identifier of ASCII letters, digits and underscores for any name.
    pub fn identifier(self, name: &str) -> String {
        let spelled: String = name.chars().map(spelled).collect();
        let words = match self {
            Self::Snake => spelled.to_snake_case(),
            Self::Pascal => spelled.to_pascal_case(),
            Self::Screaming => spelled.to_shouty_snake_case(),
        };
        let words = if words.is_empty() { self.join(&["unnamed"]) } else { words };
        match words.starts_with(|c: char| c.is_ascii_digit()) {
            true => self.join(&["n"]) + &words,
            false => words,
        }
    }

    pub fn join(self, words: &[&str]) -> String {
        let words = words.join(" ");
        match self {
            Self::Snake => words.to_snake_case(),
            Self::Pascal => words.to_pascal_case(),
            Self::Screaming => words.to_shouty_snake_case(),
        }
    }

    /// Returns an ending of an identifier: `_mg`, `Mg`, `_MG`.
    pub fn ending(self, word: &str) -> String {
        match self {
            Self::Pascal => self.join(&[word]),
            Self::Snake | Self::Screaming => format!("_{}", self.join(&[word])),
        }
    }
}

/// Letters of Latin alphabets beside those of ASCII, and how they are spelled.
#[rustfmt::skip]
const LATIN: [(&str, &str); 53] = [
    ("ŉ", "'n"), ("¹", "1"), ("²", "2"), ("³", "3"), ("ÀÁÂÃÄÅĀĂĄ", "A"), ("Æ", "AE"), ("ÇĆĈĊČ", "C"),
    ("ÐĎĐ", "D"), ("ÈÉÊËĒĔĖĘĚ", "E"), ("ĜĞĠĢ", "G"), ("ĤĦ", "H"), ("ÌÍÎÏĨĪĬĮİ", "I"), ("Ĳ", "IJ"),
    ("Ĵ", "J"), ("Ķ", "K"), ("ĹĻĽĿŁ", "L"), ("ÑŃŅŇ", "N"), ("ŋ", "NG"), ("ÒÓÔÕÖØŌŎŐ", "O"), ("Œ", "OE"),
    ("ŔŖŘ", "R"), ("ŚŜŞŠȘ", "S"), ("ŢŤŦȚ", "T"), ("Þ", "Th"), ("ÙÚÛÜŨŪŬŮŰŲ", "U"), ("Ŵ", "W"),
    ("ÝŶŸ", "Y"), ("ŹŻŽ", "Z"), ("ªàáâãäåāăą", "a"), ("æ", "ae"), ("çćĉċč", "c"), ("ðďđ", "d"),
    ("èéêëēĕėęě", "e"), ("ĝğġģ", "g"), ("ĥħ", "h"), ("ìíîïĩīĭįı", "i"), ("ĳ", "ij"), ("ĵ", "j"),
    ("ķĸ", "k"), ("ĺļľŀł", "l"), ("ñńņň", "n"), ("Ŋ", "ng"), ("ºòóôõöøōŏő", "o"), ("œ", "oe"),
    ("ŕŗř", "r"), ("śŝşšſș", "s"), ("ß", "ss"), ("ţťŧț", "t"), ("þ", "th"), ("µùúûüũūŭůűų", "u"),
    ("ŵ", "w"), ("ýÿŷ", "y"), ("źżž", "z"),
];

/// Spells a character in ASCII: letters without their marks, those of other alphabets by their codes; anything else
/// separates words.
fn spelled(c: char) -> String {
    match c {
        '\u{300}'..='\u{36f}' => String::new(),
        _ if c.is_ascii() => c.to_string(),
        _ if c.is_alphanumeric() => {
            let latin = LATIN.iter().find(|(letters, _)| letters.contains(c));
            latin.map_or_else(|| format!("u{:x}", c as u32), |(_, spelling)| spelling.to_string())
        }
        _ => " ".to_string(),
    }
}
