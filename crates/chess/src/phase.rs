//! The game phase: how much material is left, as a whole number of phase units.

use serde::{Deserialize, Serialize};
use shakmaty::{Board, ByRole, Role};

use gputexel_io::{Error, Result};

/// Phase units per piece and their maximum, which corresponds to φ = 1 (all pieces on the board).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSettings {
    /// Units of one pawn (0 in every known engine).
    #[serde(default)]
    pub pawn: u16,
    pub knight: u16,
    pub bishop: u16,
    pub rook: u16,
    pub queen: u16,
    /// Units that correspond to φ = 1; more are clamped to it.
    pub max: u16,
}

impl Default for PhaseSettings {
    fn default() -> Self {
        Self { pawn: 0, knight: 1, bishop: 1, rook: 2, queen: 4, max: 24 }
    }
}

impl std::fmt::Display for PhaseSettings {
    /// Formats as [`PhaseSettings::parse`] parses it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{},{}/{}", self.knight, self.bishop, self.rook, self.queen, self.max)
    }
}

impl PhaseSettings {
    /// No piece counts: the phase is known otherwise.
    pub const NONE: Self = Self { pawn: 0, knight: 0, bishop: 0, rook: 0, queen: 0, max: 1 };

    /// Parses `N,B,R,Q` or `N,B,R,Q/MAX`; without a maximum it is the count of the initial
    /// position (4 N + 4 B + 4 R + 2 Q).
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || {
            Error::Usage(format!(
                "phase '{text}': expected whole numbers N,B,R,Q or N,B,R,Q/MAX, MAX at most 1024, for example 1,1,2,4/24"
            ))
        };
        let (weights, max) = match text.split_once('/') {
            Some((weights, max)) => (weights, Some(max.trim().parse::<u16>().map_err(|_| bad())?)),
            None => (text, None),
        };
        let parts = weights
            .split(',')
            .map(|part| part.trim().parse::<u16>().map_err(|_| bad()))
            .collect::<Result<Vec<u16>>>()?;
        let [knight, bishop, rook, queen] = parts[..] else { return Err(bad()) };
        if parts.iter().any(|&units| units > 256) {
            return Err(bad());
        }
        let settings = Self {
            pawn: 0,
            knight,
            bishop,
            rook,
            queen,
            max: max.unwrap_or(4 * (knight + bishop + rook) + 2 * queen),
        };
        settings.validate()?;
        Ok(settings)
    }

    pub fn validate(&self) -> Result<()> {
        if self.max == 0 || self.max > 1024 {
            return Err(Error::Usage(format!("phase maximum {}: must be from 1 to 1024", self.max)));
        }
        Ok(())
    }

    /// Returns the phase units of a board, clamped to the maximum.
    #[inline]
    pub fn units(&self, board: &Board) -> u16 {
        let by_role = ByRole {
            pawn: self.pawn,
            knight: self.knight,
            bishop: self.bishop,
            rook: self.rook,
            queen: self.queen,
            king: 0,
        };
        let sum: u32 = Role::ALL
            .iter()
            .map(|&role| u32::from(*by_role.get(role)) * board.by_role(role).count() as u32)
            .sum();
        sum.min(u32::from(self.max)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initial_position_is_full_phase() {
        assert_eq!(PhaseSettings::default().units(&Board::new()), 24);
        let madchess = PhaseSettings::parse("5,5,11,22").unwrap();
        assert_eq!((madchess.max, madchess.units(&Board::new())), (128, 128));
    }

    #[test]
    fn more_than_all_pieces_is_clamped() {
        let board = Board::from_ascii_board_fen(b"QQQQQQQQ/8/8/8/8/8/8/Kk6").unwrap();
        assert_eq!(PhaseSettings::default().units(&board), 24);
        let bare = Board::from_ascii_board_fen(b"8/8/8/8/8/P7/8/Kk6").unwrap();
        assert_eq!(PhaseSettings::default().units(&bare), 0);
    }

    #[test]
    fn bad_settings_are_refused() {
        for text in ["", "1,1,2", "1,1,2,4/0", "0,0,0,0", "1,1,2,x", "1,1,2,4/9999", "60000,1,1,1"] {
            assert!(PhaseSettings::parse(text).is_err(), "{text}");
        }
    }
}
