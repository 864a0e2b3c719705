//! Results in labeled text.

/// A result as written: game results are always White's view, numbers have the file's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// `1-0` and the like; the value is White's.
    Game(f32),
    /// A number, as the expected score from 0 to 1.
    Number(f32),
    /// No result: positions are labeled with scores alone.
    Missing,
}

/// A word or letter for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `w`: White, or a win.
    W,
    /// `white`.
    White,
    /// `b` or `black`.
    Black,
    /// `win` or `won`.
    Win,
    /// `d`, `=`, `draw` or `drawn`.
    Draw,
    /// `l`, `loss` or `lost`.
    Loss,
}

impl Word {
    /// All words, in lower case.
    const ALL: [(&'static str, Self); 13] = [
        ("w", Self::W),
        ("d", Self::Draw),
        ("l", Self::Loss),
        ("b", Self::Black),
        ("=", Self::Draw),
        ("win", Self::Win),
        ("draw", Self::Draw),
        ("loss", Self::Loss),
        ("white", Self::White),
        ("black", Self::Black),
        ("drawn", Self::Draw),
        ("won", Self::Win),
        ("lost", Self::Loss),
    ];

    /// Parses a word, ignoring case.
    pub(super) fn of(text: &[u8]) -> Option<Self> {
        let found = Self::ALL.iter().find(|(word, _)| text.eq_ignore_ascii_case(word.as_bytes()));
        found.map(|(_, word)| *word)
    }
}
