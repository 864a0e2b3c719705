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
        if words.starts_with(|c: char| c.is_ascii_digit()) { self.join(&["n"]) + &words } else { words }
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

/// Spells a character in ASCII: letters of other alphabets by their codes; anything else separates words.
fn spelled(c: char) -> String {
    match c {
        _ if c.is_ascii() => c.to_string(),
        _ if c.is_alphanumeric() => format!("u{:x}", c as u32),
        _ => " ".to_string(),
    }
}
