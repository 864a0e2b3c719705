//! Rules that select positions.
//!
//! They apply in the order of [`Reason::ALL`], and a position counts for the first that leaves it out: those of
//! the position and its place in the game, then quiescence, the samples by position and by game, duplicates,
//! the result of the game. So the first of several equal positions stands for all of them even if its game was
//! drawn and draws are left out: `nodraw` keeps exactly what `unique` keeps of decided games.

mod criteria;
mod preset;
mod settings;

pub use crate::reason::{LeftOut, Reason, Unit};
pub use criteria::{Criteria, MAX_PLIES, NODE_LIMIT, Ply, PositionSearch, draw, unit_interval};
pub use preset::Preset;

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    Keep,
    #[default]
    Drop,
    /// The first is kept, with the mean result of all and their number as its weight.
    Average,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolve {
    #[default]
    None,
    Quiescence,
    /// The end of the principal variation of a search of depth 1 with quiescence.
    Depth1,
}

/// Rules by which positions are kept, and how kept positions are processed.
///
/// Rules that need a game (plies, captures, promotions, neighborhoods of checks and mates, book moves, tags,
/// samples by game) do not apply to labeled positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    pub preset: Option<Preset>,
    /// Leave out positions of games before this ply of the game (counted by the position's own move counter,
    /// so the moves of an opening before a FEN tag count).
    pub skip_plies: u32,
    pub max_ply: Option<u32>,
    /// Keep positions of mate and stalemate, which are never evaluated.
    pub keep_ends: bool,
    /// Keep positions in which the side to move is in check, and those before.
    pub keep_checks: bool,
    pub before_checks: u32,
    /// Number of positions before a mate that are left out with it, even if checks are kept.
    pub before_mates: u32,
    pub keep_captures: bool,
    pub keep_promotions: bool,
    /// Number of positions of a game before a capture or promotion that are left out with it.
    pub before_captures: u32,
    /// Leave out positions whose move came from a book, by its comment.
    pub no_book: bool,
    pub min_non_pawns: u32,
    /// Smallest number of pieces, kings counted; 7 leaves out the positions of six-men tablebases.
    pub min_pieces: u32,
    pub max_pieces: u32,
    /// Largest size of the recorded search score, centipawns; positions without one are kept.
    pub max_score_cp: Option<u32>,
    pub no_mates: bool,
    pub require_score: bool,
    /// Largest difference, centipawns, between the static evaluation and the quiescence score.
    pub quiescence_margin_cp: Option<u32>,
    pub resolve: Resolve,
    /// The evaluation of quiescence: a parameter file or piece values.
    pub params: String,
    pub share: f64,
    /// Number of positions drawn from those of each game that all other rules of a position keep.
    pub per_game: Option<u32>,
    pub seed: u64,
    /// Treatment of positions that occur more than once, in any of the inputs.
    pub duplicates: Duplicates,
    pub no_draws: bool,
    /// Number of positions drawn from all that are left in the end.
    pub sample: Option<u64>,
    pub min_elo: Option<u32>,
    pub max_elo: Option<u32>,
}

const DEFAULT_PARAMS: &str = "material";
const ALL_PIECES: u32 = 32;
/// Largest number of positions before an event that can be left out with it.
pub const MAX_BEFORE: u32 = 1000;

impl Selection {
    /// Returns a selection with every rule switched off: all positions except mates and stalemates are kept.
    pub fn everything() -> Self {
        Self {
            preset: None,
            skip_plies: 0,
            max_ply: None,
            keep_ends: false,
            keep_checks: true,
            before_checks: 0,
            before_mates: 0,
            keep_captures: true,
            keep_promotions: true,
            before_captures: 0,
            no_book: false,
            min_non_pawns: 0,
            min_pieces: 0,
            max_pieces: u32::MAX,
            max_score_cp: None,
            no_mates: false,
            require_score: false,
            quiescence_margin_cp: None,
            resolve: Resolve::None,
            params: DEFAULT_PARAMS.to_string(),
            share: 1.0,
            per_game: None,
            seed: 1,
            duplicates: Duplicates::Keep,
            no_draws: false,
            sample: None,
            min_elo: None,
            max_elo: None,
        }
    }

    pub fn searches(&self) -> bool {
        self.quiescence_margin_cp.is_some() || self.resolve != Resolve::None
    }

    pub fn draws(&self) -> bool {
        self.share < 1.0 || self.per_game.is_some() || self.sample.is_some()
    }

    /// Returns the names of the active rules that need a game, as [`settings`](Self::settings) names them.
    pub fn game_rules(&self) -> Vec<&'static str> {
        let before = self.before_checks > 0 && !self.keep_checks;
        [
            ("max_ply", self.max_ply.is_some()),
            ("before_checks", before),
            ("before_mates", self.before_mates > 0),
            ("before_captures", self.before_captures > 0 && !self.keep_captures),
            ("no_book", self.no_book),
            ("per_game", self.per_game.is_some()),
            ("min_elo", self.min_elo.is_some()),
            ("max_elo", self.max_elo.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, on)| on.then_some(name))
        .collect()
    }

    /// Rejects settings that contradict each other or that nothing can satisfy.
    pub fn validate(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::Usage(text));
        if !(self.share > 0.0 && self.share <= 1.0) {
            return refuse(format!("share {}: must be above 0 and at most 1", self.share));
        }
        if self.per_game == Some(0) || self.sample == Some(0) {
            return refuse("a sample of 0 positions keeps nothing".to_string());
        }
        for (name, before) in
            [("checks", self.before_checks), ("mates", self.before_mates), ("captures", self.before_captures)]
        {
            if before > MAX_BEFORE {
                return refuse(format!("{before} positions before {name}: must be at most {MAX_BEFORE}"));
            }
        }
        if self.max_ply.is_some_and(|last| last < self.skip_plies) {
            return refuse(format!(
                "plies from {} to {}: there are none",
                self.skip_plies,
                self.max_ply.unwrap_or_default()
            ));
        }
        for (what, least, most) in [
            ("pieces", Some(self.min_pieces.max(self.min_non_pawns)), Some(self.max_pieces)),
            ("pieces", Some(self.min_pieces.max(self.min_non_pawns)), Some(ALL_PIECES)),
            ("pieces", Some(2), Some(self.max_pieces)),
            ("Elo", self.min_elo, self.max_elo),
        ] {
            if let (Some(least), Some(most)) = (least, most)
                && least > most
            {
                return refuse(format!("{what} from {least} to {most}: there are none"));
            }
        }
        Ok(())
    }
}

impl Default for Selection {
    /// Returns rules for a game database: quiet by the move played, after the opening, each position once.
    fn default() -> Self {
        Self {
            skip_plies: 8,
            keep_checks: false,
            keep_captures: false,
            keep_promotions: false,
            duplicates: Duplicates::Drop,
            ..Self::everything()
        }
    }
}
