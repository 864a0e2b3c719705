//! The presets of zurichess's study of January 2016 (zurichess wiki), by the study's names.

use super::{Duplicates, Resolve, Selection};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Capt,
    /// `capt`, and leaves out captures.
    Quiet,
    /// `capt`, and leaves out duplicates.
    Unique,
    /// `unique`, and leaves out drawn games.
    Nodraw,
    /// `unique`, and leaves out positions with at most four pieces other than pawns.
    Drop4,
    /// `unique`, and leaves out positions with more than 30 pieces.
    Drop30,
}

/// Number of positions before a check, mate or capture that the study leaves out with it.
const BEFORE: u32 = 5;

impl Preset {
    pub fn selection(self) -> Selection {
        let capt = Selection {
            preset: Some(self),
            keep_checks: false,
            before_checks: BEFORE,
            before_mates: BEFORE,
            resolve: Resolve::Depth1,
            ..Selection::everything()
        };
        let unique = Selection { duplicates: Duplicates::Drop, ..capt.clone() };
        match self {
            Self::Capt => capt,
            // The study mentions captures only; the search handles promotions.
            Self::Quiet => Selection { keep_captures: false, before_captures: BEFORE, ..capt },
            Self::Unique => unique,
            Self::Nodraw => Selection { no_draws: true, ..unique },
            Self::Drop4 => Selection { min_non_pawns: 5, ..unique },
            Self::Drop30 => Selection { max_pieces: 30, ..unique },
        }
    }
}

gputexel_io::names!(Preset "preset": Capt "capt", Quiet "quiet", Unique "unique", Nodraw "nodraw", Drop4 "drop4", Drop30 "drop30");
