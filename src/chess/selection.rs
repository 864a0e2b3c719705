//! Which positions are kept, and a count of everything that is not.
//!
//! Owns the rules and the names of the reasons; the readers apply them. Duplicates are judged by
//! the extraction, which alone sees all inputs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The rules by which positions are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Positions of games before this ply of the game (counted by the position's own move
    /// counter, so the moves of an opening that a FEN tag stands for count) are left out.
    pub skip_plies: u32,
    /// Keep positions in which the side to move is in check.
    pub keep_checks: bool,
    /// Keep positions of games whose next move is a capture or promotion.
    pub keep_captures: bool,
    /// Keep positions that occurred before in any of the inputs.
    pub keep_duplicates: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self { skip_plies: 8, keep_checks: false, keep_captures: false, keep_duplicates: false }
    }
}

impl Selection {
    /// The settings by name, as a dataset records them.
    pub fn settings(&self) -> Vec<(String, String)> {
        [
            ("skip_plies", self.skip_plies.to_string()),
            ("keep_checks", self.keep_checks.to_string()),
            ("keep_captures", self.keep_captures.to_string()),
            ("keep_duplicates", self.keep_duplicates.to_string()),
        ]
        .map(|(name, value)| (name.to_string(), value))
        .to_vec()
    }
}

/// What a reason takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// One position.
    Position,
    /// A whole game.
    Game,
    /// The rest of a game; its earlier positions are kept.
    GameRest,
    /// A line of text.
    Line,
}

macro_rules! reasons {
    ($($name:ident $unit:ident $label:literal;)*) => {
        /// Why something was left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason { $(#[doc = $label] $name,)* }

        impl Reason {
            /// Every reason, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in reports and datasets.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            /// What it takes out.
            pub fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit,)* }
            }
        }
    };
}

reasons! {
    EarlyPly Position "positions of the first plies";
    InCheck Position "positions in check";
    CaptureNext Position "positions before a capture or promotion";
    GameOver Position "positions of mate or stalemate";
    Duplicate Position "duplicate positions";
    NoResult Game "games without a result";
    Contradiction Game "games whose tag and last token name different results";
    Variant Game "games of other variants";
    BadFen Game "games with an unreadable or illegal FEN tag";
    BadCastling Game "Chess960 games with castling rights that name no rook";
    NoMoves Game "games without moves";
    IllegalMove GameRest "game endings after an illegal move";
    UnreadableMove GameRest "game endings after an unreadable move";
    NullMove GameRest "game endings after a null move";
    OpenComment GameRest "game endings after a comment that is never closed";
    BadPosition Line "lines without a readable position";
    IllegalPosition Line "lines with an illegal position";
    NoLabel Line "lines without a result";
    BadLabel Line "lines with a result outside 0 to 1";
    UnknownResult Line "lines whose result is unknown (*)";
    LongLine Line "lines that are too long";
}

/// Counts by reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut([u64; Reason::ALL.len()]);

impl Default for LeftOut {
    fn default() -> Self {
        Self([0; Reason::ALL.len()])
    }
}

impl LeftOut {
    /// Counts one more.
    pub fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// Counts several more.
    pub fn add_many(&mut self, reason: Reason, count: u64) {
        self.0[reason as usize] += count;
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// How often a reason applied.
    pub fn count(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Sum over the reasons that take out one kind of thing.
    pub fn sum(&self, unit: Unit) -> u64 {
        self.iter().filter(|(reason, _)| reason.unit() == unit).map(|(_, count)| count).sum()
    }

    /// Reasons that applied at least once, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.iter().map(|&reason| (reason, self.count(reason))).filter(|(_, count)| *count > 0)
    }

    /// Counts by label, as a dataset records them.
    pub fn by_label(&self) -> BTreeMap<String, u64> {
        self.iter().map(|(reason, count)| (reason.label().to_string(), count)).collect()
    }

    /// Lines that count as broken: all that are left out but those whose result is unknown.
    pub fn bad_lines(&self) -> u64 {
        self.sum(Unit::Line) - self.count(Reason::UnknownResult)
    }
}
