//! Piece letters of languages.

use std::str::FromStr;
use std::sync::LazyLock;

use shakmaty::Role;

use gputexel_io::{Error, Result};

/// The letters of king, queen, rook, bishop and knight; one piece may have two, as in Russian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PieceLetters {
    letters: [String; 5],
}

const ROLES: [Role; 5] = [Role::King, Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// Languages by their codes, those with the same letters together. Letters are in the order of
/// [`PieceLetters`].
const LANGUAGES: &[(&[&str], &str)] = &[
    (&["en"], "K,Q,R,B,N"),
    (&["de", "da", "no", "nb", "sv", "hr", "sl", "sr"], "K,D,T,L,S"),
    (&["fr"], "R,D,T,F,C"),
    (&["es", "it", "ca"], "R,D,T,A,C"),
    (&["nl"], "K,D,T,L,P"),
    (&["ru"], "Кр,Ф,Л,С,К"),
    (&["pl"], "K,H,W,G,S"),
    (&["pt"], "R,D,T,B,C"),
    (&["cs", "sk"], "K,D,V,S,J"),
    (&["hu"], "K,V,B,F,H"),
    (&["fi"], "K,D,T,L,R"),
    (&["ro"], "R,D,T,N,C"),
    (&["is"], "K,D,H,B,R"),
    (&["et"], "K,L,V,O,R"),
    (&["tr"], "Ş,V,K,F,A"),
    (&["uk"], "Кр,Ф,Т,С,К"),
    (&["bg"], "Ц,Д,Т,О,К"),
    (&["el"], "Ρ,Β,Π,Α,Ι"),
];

/// English letters, in which the parser reads.
pub static ENGLISH: LazyLock<PieceLetters> =
    LazyLock::new(|| PieceLetters { letters: ["K", "Q", "R", "B", "N"].map(str::to_string) });

impl PieceLetters {
    /// Returns the letter sets of all known languages except English.
    pub fn non_english() -> impl Iterator<Item = Self> {
        LANGUAGES[1..].iter().filter_map(|(_, letters)| Self::parse(letters).ok())
    }

    /// Returns true if they are the English letters.
    pub fn is_english(&self) -> bool {
        *self == *ENGLISH
    }

    /// Returns the piece that `text` begins with, and the number of characters that name it.
    pub fn role(&self, text: &[char]) -> Option<(Role, usize)> {
        let length = |letters: &str| {
            let count = letters.chars().count();
            (text.len() >= count && letters.chars().eq(text[..count].iter().copied())).then_some(count)
        };
        let found =
            ROLES.iter().zip(&self.letters).filter_map(|(role, letters)| Some((*role, length(letters)?)));
        // If one begins with another, as with the king and the knight of Russian, the longer one counts.
        found.max_by_key(|(_, count)| *count)
    }

    /// Returns the letters as one word, with commas if one piece has several.
    pub fn name(&self) -> String {
        let single = self.letters.iter().all(|letters| letters.chars().count() == 1);
        self.letters.join(if single { "" } else { "," })
    }

    /// Returns the letters and the languages that use them, for messages.
    pub fn describe(&self) -> String {
        let name = self.name();
        let languages =
            LANGUAGES.iter().find(|(_, letters)| Self::parse(letters).is_ok_and(|set| set == *self));
        languages.map_or_else(|| name.clone(), |(codes, _)| format!("{name} ({})", codes.join(", ")))
    }

    fn parse(text: &str) -> Result<Self> {
        let refuse = || {
            Error::Usage(format!(
                "piece letters '{text}': expected a language ({}) or the letters of king, queen, rook, bishop \
                 and knight, such as KDTLS or Кр,Ф,Л,С,К",
                LANGUAGES.iter().flat_map(|(codes, _)| codes.iter().copied()).collect::<Vec<_>>().join(", ")
            ))
        };
        let letters: Vec<String> = if text.contains(',') {
            text.split(',').map(|part| part.trim().to_string()).collect()
        } else {
            text.chars().map(String::from).collect()
        };
        let letters: [String; 5] = letters.try_into().map_err(|_| refuse())?;
        // Capitals, so that they are not mistaken for files.
        let capital = |letters: &String| {
            letters.chars().count() <= 2
                && letters.chars().next().is_some_and(char::is_uppercase)
                && letters.chars().all(char::is_alphabetic)
        };
        let distinct = (0..5).all(|i| !letters[..i].contains(&letters[i]));
        if !distinct || !letters.iter().all(capital) {
            return Err(refuse());
        }
        Ok(Self { letters })
    }
}

impl FromStr for PieceLetters {
    type Err = Error;

    /// Parses a language code, or the letters themselves.
    fn from_str(text: &str) -> Result<Self> {
        let code = text.to_lowercase();
        match LANGUAGES.iter().find(|(codes, _)| codes.contains(&code.as_str())) {
            Some((_, letters)) => Self::parse(letters),
            None => Self::parse(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_names_five_pieces() {
        for (codes, letters) in LANGUAGES {
            for code in *codes {
                let set: PieceLetters = code.parse().unwrap();
                assert_eq!(set, letters.parse().unwrap(), "{code}");
                assert_eq!(set.name().parse::<PieceLetters>().unwrap(), set, "{code}");
                assert_eq!(set.is_english(), *code == "en");
            }
        }
        let german: PieceLetters = "de".parse().unwrap();
        assert_eq!(german.role(&['S', 'f', '3']), Some((Role::Knight, 1)));
        assert_eq!(german.describe(), "KDTLS (de, da, no, nb, sv, hr, sl, sr)");
        let russian: PieceLetters = "ru".parse().unwrap();
        assert_eq!(russian.role(&['К', 'р', 'e', '2']), Some((Role::King, 2)));
        assert_eq!(russian.role(&['К', 'e', '2']), Some((Role::Knight, 1)));
        assert_eq!(PieceLetters::non_english().count(), LANGUAGES.len() - 1);
    }

    #[test]
    fn odd_letters_are_refused() {
        for text in ["", "KDTL", "KDTLL", "kdtls", "KDTL1", "K,D,T,L", "Krr,D,T,L,S", "xx"] {
            assert!(text.parse::<PieceLetters>().is_err(), "{text}");
        }
    }
}
