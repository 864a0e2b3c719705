//! Detects the piece letters of a file from its first games.

use std::path::Path;

use gputexel_chess::pgn::{PieceLetters, last_game_start, read_pgn_with_letters};
use gputexel_chess::sample::Batch;
use gputexel_chess::selection::{Reason, Selection};
use gputexel_io::{Advice, Error, Result};

/// Number of bytes of games that are read to check for problems. Every file pays this cost.
const FIRST_BYTES: usize = 1 << 13;

/// Number of positions that the first look needs: a long comment may fill its bytes.
const PLIES: usize = 10;

/// Number of bytes of games that are read in all languages if something is wrong.
const BYTES: usize = 1 << 18;

/// Letters other than the English ones, and the evidence for them.
#[derive(Clone, Debug)]
pub struct DetectedLetters {
    pub letters: PieceLetters,
    pub evidence: Option<String>,
}

/// Finds letters with which nearly all of the first games can be played, if more than half of them cannot be
/// with English ones; `None` if there are no such letters, or nothing is wrong.
///
/// # Errors
/// [`Error::Input`] when several sets of letters fit but give different games.
pub fn detect_letters(path: &Path, head: &[u8], complete: bool) -> Result<Option<DetectedLetters>> {
    let first = Trial::new(first_games(head, FIRST_BYTES, complete), None);
    if first.games > 0 && first.keys.len() >= PLIES && !first.fails() {
        return Ok(None);
    }
    let games = first_games(head, BYTES, complete);
    let english = Trial::new(games, None);
    if !english.fails() {
        return Ok(None);
    }
    let trials = PieceLetters::non_english().map(|letters| (Trial::new(games, Some(&letters)), letters));
    let fitting: Vec<_> =
        trials.filter(|(trial, letters)| trial.fits() && has_non_english_letters(games, letters)).collect();
    let Some((trial, letters)) = fitting.first() else { return Ok(None) };
    if fitting.iter().any(|(other, _)| other.keys != trial.keys) {
        let names: Vec<String> = fitting.iter().map(|(_, letters)| letters.describe()).collect();
        let advice = Advice::default().text("choose with ").setting("piece-letters", "");
        return Err(Error::input(
            path,
            "its moves cannot be played with English piece letters, and mean different games with others",
        )
        .advise(advice.text(format!(": {}", names.join(", ")))));
    }
    let evidence = format!(
        "{} of the first {} games can be played so, {} with English letters",
        trial.games - trial.faulty,
        trial.games,
        english.games - english.faulty
    );
    Ok(Some(DetectedLetters { letters: letters.clone(), evidence: Some(evidence) }))
}

/// Returns the complete games from the beginning of a text, or the beginning of the first one.
pub(super) fn first_games(head: &[u8], bytes: usize, complete: bool) -> &[u8] {
    if complete && head.len() <= bytes {
        return head;
    }
    let start = &head[..bytes.min(head.len())];
    let end = last_game_start(start).or_else(|| start.iter().rposition(u8::is_ascii_whitespace));
    &start[..end.unwrap_or(start.len())]
}

/// Returns true if any word looks like a piece move with a letter that is not used in English. Otherwise,
/// illegal moves are English ones, even if they are legal in some other language.
fn has_non_english_letters(games: &[u8], letters: &PieceLetters) -> bool {
    let words = games.split(|b| b.is_ascii_whitespace() || *b == b'.').filter(|word| word.len() <= 12);
    words.filter_map(|word| std::str::from_utf8(word).ok()).any(|word| {
        let text: Vec<char> = word.chars().collect();
        let Some((_, length)) = letters.role(&text) else { return false };
        let square = |c: &char| matches!(c, 'a'..='h' | '1'..='8' | 'x');
        !"KQRBNP".contains(text[0])
            && text.get(length).is_some_and(square)
            && word.contains(|c: char| c.is_ascii_digit())
    })
}

/// The same games read with certain letters.
struct Trial {
    /// Games that could be used.
    games: u64,
    /// Games with moves that cannot be parsed or played.
    faulty: u64,
    keys: Vec<u64>,
}

impl Trial {
    fn new(games: &[u8], letters: Option<&PieceLetters>) -> Self {
        let Batch { samples, records, left_out, .. } =
            read_pgn_with_letters(games, 1, &Selection::everything(), letters);
        Self {
            games: records - left_out.useless_games(),
            faulty: left_out.count(Reason::IllegalMove) + left_out.count(Reason::UnreadableMove),
            keys: samples.iter().map(|sample| sample.key).collect(),
        }
    }

    fn fails(&self) -> bool {
        2 * self.faulty > self.games
    }

    fn fits(&self) -> bool {
        10 * self.faulty <= self.games
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(moves: &str) -> Result<Option<String>> {
        let text = format!("[Event \"x\"]\n\n{moves} 1-0\n");
        let found = detect_letters(Path::new("g.pgn"), text.as_bytes(), true)?;
        Ok(found.map(|found| found.letters.name()))
    }

    #[test]
    fn letters_are_told_by_legal_moves() {
        assert_eq!(detect("1. e4 e5 2. Nf3 Nc6 3. Bb5").unwrap(), None);
        assert_eq!(detect("1. e4 e5 2. Sf3 Sc6 3. Lb5 De7").unwrap().as_deref(), Some("KDTLS"));
        assert_eq!(detect("1. e4 e5 2. Cf3 Cc6 3. Fb5 De7 4. Re2").unwrap().as_deref(), Some("RDTFC"));
        assert_eq!(detect("1. e4 e5 2. Кf3 Кc6 3. Сb5 Фe7 4. Крe2").unwrap().as_deref(), Some("Кр,Ф,Л,С,К"));
        // Nonsense in every language.
        assert_eq!(detect("1. e4 e5 2. Xf3 Xc6").unwrap(), None);
        // Illegal in English, whatever it means in other languages.
        assert_eq!(detect("1. e4 e5 2. Re2").unwrap(), None);
        // A king in one language, a knight in another.
        let error = detect("1. e4 e5 2. Re2 De7").unwrap_err().to_string();
        assert!(error.contains("RDTFC (fr)") && error.contains("KDTLR (fi)"), "{error}");
    }
}
