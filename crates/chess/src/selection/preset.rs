//! The presets of zurichess's study of January 2016 (zurichess wiki), by the study's names.
//!
//! All look at every position of a game, leave out those in check or mated with the five before,
//! and replace what is left by the end of the principal variation of a search of depth 1 with
//! quiescence. The study drew 2,000,000 positions at random, which is `--sample` here and not part
//! of a preset.

use std::str::FromStr;

use super::{Duplicates, Resolve, Selection};
use gputexel_files::{Error, Result};

/// A preset of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The study's default: checks and mates out.
    Capt,
    /// As `capt`, captures out, too.
    Quiet,
    /// As `capt`, duplicates out.
    Unique,
    /// As `unique`, drawn games out.
    Nodraw,
    /// As `unique`, positions with at most four pieces that are no pawns out.
    Drop4,
    /// As `unique`, positions with more than 30 pieces out.
    Drop30,
}

/// Positions before a check, mate or capture that the study leaves out with it.
const BEFORE: u32 = 5;

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 6] =
        [Self::Capt, Self::Quiet, Self::Unique, Self::Nodraw, Self::Drop4, Self::Drop30];

    /// The study's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capt => "capt",
            Self::Quiet => "quiet",
            Self::Unique => "unique",
            Self::Nodraw => "nodraw",
            Self::Drop4 => "drop4",
            Self::Drop30 => "drop30",
        }
    }

    /// Its rules.
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
            // The study speaks of captures alone; the search deals with promotions.
            Self::Quiet => Selection { keep_captures: false, before_captures: BEFORE, ..capt },
            Self::Unique => unique,
            Self::Nodraw => Selection { no_draws: true, ..unique },
            Self::Drop4 => Selection { min_non_pawns: 5, ..unique },
            Self::Drop30 => Selection { max_pieces: 30, ..unique },
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::Usage(format!("preset '{text}': expected one of {names}"))
        })
    }
}
