//! Agreement of labels with the material on the board, and the point of view that follows from it.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color};

/// Smallest absolute score whose sign is compared with material, centipawns.
pub(crate) const TELLING_SCORE_CP: f32 = 50.0;

pub(super) fn is_decisive(result: f32) -> bool {
    (result - 0.5).abs() >= 0.1
}

/// Returns the material in pawns, White's minus Black's, with the usual values 1, 3, 3, 5, 9.
pub fn material_balance(board: &Board) -> i32 {
    let white = board.white();
    let balance = |pieces: Bitboard| 2 * (pieces & white).count() as i32 - pieces.count() as i32;
    balance(board.pawns())
        + 3 * balance(board.knights() | board.bishops())
        + 5 * balance(board.rooks())
        + 9 * balance(board.queens())
}

/// Decisive results of positions with at least two pawns of imbalance, and how many of them went to the side
/// with more material, by side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    pub white_to_move: u64,
    pub white_to_move_agree: u64,
    pub black_to_move: u64,
    /// Black to move: results that went to the side with more material.
    pub black_to_move_agree: u64,
}

const MIN_CLEAR: u64 = 100;
/// Share of results that go with material below which they clearly run against it.
const AGAINST: f64 = 1.0 / 3.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Agree,
    #[default]
    CannotTell,
    Reversed,
    /// Results go against material for one side to move only: they were read from the wrong
    /// point of view.
    WrongPointOfView,
    /// Results go with material much less often for one side to move: the lines mix both points of view.
    MixedPointOfView,
}

impl Agreement {
    /// Counts one position with a result from White's view if it is decisive and the board
    /// imbalanced. Returns true if it is.
    pub fn add(&mut self, board: &Board, turn: Color, result: f32) -> bool {
        is_decisive(result) && self.add_balance(material_balance(board), turn, result > 0.5).is_some()
    }

    /// Counts one position with its material balance and the side that its result or score favors, if the
    /// board is imbalanced.
    pub(crate) fn add_balance(&mut self, balance: i32, turn: Color, favors_white: bool) -> Option<bool> {
        if balance.abs() < 2 {
            return None;
        }
        let agrees = (balance > 0) == favors_white;
        if turn.is_white() {
            self.white_to_move += 1;
            self.white_to_move_agree += u64::from(agrees);
        } else {
            self.black_to_move += 1;
            self.black_to_move_agree += u64::from(agrees);
        }
        Some(agrees)
    }

    pub fn merge(&mut self, other: &Self) {
        self.white_to_move += other.white_to_move;
        self.white_to_move_agree += other.white_to_move_agree;
        self.black_to_move += other.black_to_move;
        self.black_to_move_agree += other.black_to_move_agree;
    }

    pub fn positions(&self) -> u64 {
        self.white_to_move + self.black_to_move
    }

    /// Returns the share of results that went to the side with more material.
    pub fn rate(&self) -> Option<f64> {
        let agree = self.white_to_move_agree + self.black_to_move_agree;
        (self.positions() > 0).then(|| agree as f64 / self.positions() as f64)
    }

    /// Returns the same results read from the other point of view.
    pub fn flipped(&self) -> Self {
        Self { black_to_move_agree: self.black_to_move - self.black_to_move_agree, ..*self }
    }

    /// Returns the verdict if the counts show so clear a fault that nothing should be written: two of three
    /// results go against material for one side to move or for both, or those of one side show no tendency.
    pub fn clear_fault(&self) -> Option<Verdict> {
        let rate = |agree: u64, total: u64| agree as f64 / total.max(1) as f64;
        let white = rate(self.white_to_move_agree, self.white_to_move);
        let black = rate(self.black_to_move_agree, self.black_to_move);
        let (low, high) = (white.min(black), white.max(black));
        let fewest = self.white_to_move.min(self.black_to_move);
        let verdict = self.verdict();
        let clear = match verdict {
            Verdict::Agree | Verdict::CannotTell => false,
            Verdict::Reversed => {
                self.positions() >= MIN_CLEAR && self.rate().is_some_and(|rate| rate < AGAINST)
            }
            Verdict::WrongPointOfView => 2 * fewest >= MIN_CLEAR && low < AGAINST,
            Verdict::MixedPointOfView => 2 * fewest >= MIN_CLEAR && low <= 0.6 && high - low >= 0.15,
        };
        clear.then_some(verdict)
    }

    /// Returns the verdict. The thresholds are three standard deviations of a fair coin, and a tenth between
    /// the sides to move (real data differ by a hundredth or two).
    pub fn verdict(&self) -> Verdict {
        let white = tendency(self.white_to_move_agree, self.white_to_move);
        let black = tendency(self.black_to_move_agree, self.black_to_move);
        let all = tendency(self.white_to_move_agree + self.black_to_move_agree, self.positions());
        match (white, black) {
            (-1, -1) => return Verdict::Reversed,
            (1, -1) | (-1, 1) => return Verdict::WrongPointOfView,
            _ => {}
        }
        if self.white_to_move > 0 && self.black_to_move > 0 {
            let rates = [
                self.white_to_move_agree as f64 / self.white_to_move as f64,
                self.black_to_move_agree as f64 / self.black_to_move as f64,
            ];
            let mean = self.rate().unwrap_or(0.5);
            let variance =
                mean * (1.0 - mean) * (1.0 / self.white_to_move as f64 + 1.0 / self.black_to_move as f64);
            let difference = (rates[0] - rates[1]).abs();
            if difference > 0.1 && difference > 5.0 * variance.sqrt() {
                return Verdict::MixedPointOfView;
            }
        }
        match all {
            1 => Verdict::Agree,
            -1 => Verdict::Reversed,
            _ => Verdict::CannotTell,
        }
    }
}

/// Returns 1 if `agree` of `total` is clearly more than half, −1 if clearly less.
pub(super) fn tendency(agree: u64, total: u64) -> i32 {
    let excess = 2.0 * agree as f64 - total as f64;
    match total {
        0..10 => 0,
        _ if excess >= 3.0 * (total as f64).sqrt() => 1,
        _ if excess <= -3.0 * (total as f64).sqrt() => -1,
        _ => 0,
    }
}

/// Returns the point of view that the counts support, if any, of numbers read as White's.
pub(super) fn told_view(counts: &Agreement) -> Option<PointOfView> {
    let white = tendency(counts.white_to_move_agree, counts.white_to_move);
    match (white, tendency(counts.black_to_move_agree, counts.black_to_move)) {
        (-1, _) => None,
        (_, 1) => Some(PointOfView::White),
        (_, -1) => Some(PointOfView::Stm),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointOfView {
    White,
    Stm,
}

gputexel_io::names!(PointOfView "point of view": White "white", Stm "stm");

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(white: (u64, u64), black: (u64, u64)) -> Agreement {
        Agreement {
            white_to_move_agree: white.0,
            white_to_move: white.1,
            black_to_move_agree: black.0,
            black_to_move: black.1,
        }
    }

    #[test]
    fn verdicts() {
        assert_eq!(agreement((80, 100), (78, 100)).verdict(), Verdict::Agree);
        assert_eq!(agreement((80, 100), (22, 100)).verdict(), Verdict::WrongPointOfView);
        assert_eq!(agreement((20, 100), (22, 100)).verdict(), Verdict::Reversed);
        assert_eq!(agreement((800, 1000), (500, 1000)).verdict(), Verdict::MixedPointOfView);
        assert_eq!(agreement((3, 4), (3, 4)).verdict(), Verdict::CannotTell);
        assert_eq!(Agreement::default().verdict(), Verdict::CannotTell);
        assert_eq!(agreement((80, 100), (22, 100)).flipped().verdict(), Verdict::Agree);
    }

    #[test]
    fn only_clear_faults_stop_a_run() {
        assert_eq!(agreement((12, 100), (13, 100)).clear_fault(), Some(Verdict::Reversed));
        assert_eq!(agreement((35, 100), (40, 100)).clear_fault(), None);
        assert_eq!(agreement((4, 40), (4, 40)).clear_fault(), None);
        assert_eq!(agreement((80, 100), (22, 100)).clear_fault(), Some(Verdict::WrongPointOfView));
        assert_eq!(agreement((800, 1000), (500, 1000)).clear_fault(), Some(Verdict::MixedPointOfView));
        assert_eq!(agreement((900, 1000), (780, 1000)).clear_fault(), None);
        assert_eq!(agreement((80, 100), (78, 100)).clear_fault(), None);
    }
}
