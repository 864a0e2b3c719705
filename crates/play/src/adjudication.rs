//! Adjudication of games by the scores of both engines.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use shakmaty::Color;

use crate::engine::Score;
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRule {
    /// Full moves that must be over.
    pub after_move: u32,
    /// Number of consecutive plies whose scores must be small.
    pub plies: u32,
    pub score_cp: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WinRule {
    pub plies: u32,
    /// Least score of the winner, centipawns; the loser's must be as bad.
    pub score_cp: u32,
}

/// The whole numbers in `text`, with colons between them.
fn numbers<const N: usize>(setting: &'static str, form: &str, text: &str) -> Result<[u32; N]> {
    let numbers: Option<Vec<u32>> = text.split(':').map(|word| word.parse().ok()).collect();
    let expected = || Error::setting(setting, text, format!("expected {form}, whole numbers"));
    numbers.and_then(|numbers| numbers.try_into().ok()).ok_or_else(expected)
}

/// `MOVE:PLIES:CP`.
impl FromStr for DrawRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let [after_move, plies, score_cp] = numbers("draw", "MOVE:PLIES:CP", text)?;
        Ok(Self { after_move, plies, score_cp })
    }
}

/// `PLIES:CP`.
impl FromStr for WinRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let [plies, score_cp] = numbers("win", "PLIES:CP", text)?;
        Ok(Self { plies, score_cp })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjudication {
    pub draw: Option<DrawRule>,
    pub win: Option<WinRule>,
    pub max_plies: Option<u32>,
}

impl Adjudication {
    /// Refuses rules that could never or would always apply.
    pub fn check(&self) -> Result<()> {
        let settings = [
            ("draw", self.draw.map(|rule| rule.plies)),
            ("win", self.win.map(|rule| rule.plies.min(rule.score_cp))),
            ("max-plies", self.max_plies),
        ];
        match settings.into_iter().find(|(_, value)| *value == Some(0)) {
            Some((setting, _)) => Err(Error::setting(setting, 0, "expected at least 1")),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    Draw,
    Win(Color),
    TooLong,
}

/// Follows the scores of one game. A move without a score breaks every streak.
#[derive(Clone, Copy, Debug)]
pub(super) struct Adjudicator {
    rules: Adjudication,
    small: u32,
    winning: Option<(Color, u32)>,
}

impl Adjudicator {
    pub(super) fn new(rules: Adjudication) -> Self {
        Self { rules, small: 0, winning: None }
    }

    /// The score is the mover's view.
    pub(super) fn add(&mut self, mover: Color, score: Option<Score>) {
        let cp = score.map(|score| match score {
            Score::Centipawns(cp) => i64::from(cp),
            Score::Mate(moves) if moves > 0 => i64::MAX,
            Score::Mate(_) => -i64::MAX,
        });
        let small = |rule: DrawRule| cp.is_some_and(|cp| cp.abs() <= i64::from(rule.score_cp));
        self.small = if self.rules.draw.is_some_and(small) { self.small + 1 } else { 0 };
        let winner = self.rules.win.zip(cp).and_then(|(rule, cp)| match cp {
            _ if cp.abs() < i64::from(rule.score_cp) || cp == 0 => None,
            _ if cp > 0 => Some(mover),
            _ => Some(!mover),
        });
        self.winning = winner.map(|color| match self.winning {
            Some((before, plies)) if before == color => (color, plies + 1),
            _ => (color, 1),
        });
    }

    /// `plies` were played; `moves_over` full moves are over by the position's counter.
    pub(super) fn early_end(&self, plies: usize, moves_over: u32) -> Option<EarlyEnd> {
        if let (Some(rule), Some((color, streak))) = (self.rules.win, self.winning)
            && streak >= rule.plies.max(1)
        {
            return Some(EarlyEnd::Win(color));
        }
        if let Some(rule) = self.rules.draw
            && moves_over >= rule.after_move
            && self.small >= rule.plies.max(1)
        {
            return Some(EarlyEnd::Draw);
        }
        self.rules.max_plies.filter(|most| plies >= *most as usize).map(|_| EarlyEnd::TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Color::{Black, White};
    use Score::{Centipawns, Mate};

    fn follow(rules: Adjudication, scores: &[Option<Score>]) -> Option<(usize, EarlyEnd)> {
        let mut adjudicator = Adjudicator::new(rules);
        let mut mover = White;
        for (i, &score) in scores.iter().enumerate() {
            adjudicator.add(mover, score);
            mover = !mover;
            if let Some(verdict) = adjudicator.early_end(i + 1, (i as u32).div_ceil(2)) {
                return Some((i + 1, verdict));
            }
        }
        None
    }

    #[test]
    fn draws_need_a_streak_and_a_move_number() {
        let draw = |after_move| Adjudication {
            draw: Some(DrawRule { after_move, plies: 4, score_cp: 20 }),
            ..Adjudication::default()
        };
        let small = [Some(Centipawns(20)), Some(Centipawns(-20))].repeat(10);
        assert_eq!(follow(draw(0), &small), Some((4, EarlyEnd::Draw)));
        assert_eq!(follow(draw(5), &small), Some((10, EarlyEnd::Draw)));
        for breaker in [Some(Centipawns(21)), Some(Centipawns(-21)), Some(Mate(3)), Some(Mate(-3)), None] {
            let mut scores = small.clone();
            scores[2] = breaker;
            assert_eq!(follow(draw(0), &scores), Some((7, EarlyEnd::Draw)), "{breaker:?}");
        }
    }

    #[test]
    fn wins_need_both_engines_to_agree() {
        let win = Adjudication { win: Some(WinRule { plies: 4, score_cp: 500 }), ..Adjudication::default() };
        let black = [Some(Centipawns(-500)), Some(Centipawns(700))].repeat(4);
        assert_eq!(follow(win, &black), Some((4, EarlyEnd::Win(Black))));
        let white = [Some(Mate(2)), Some(Mate(-1)), Some(Mate(1)), Some(Mate(0))];
        assert_eq!(follow(win, &white), Some((4, EarlyEnd::Win(White))));
        // Both claim to be winning.
        assert_eq!(follow(win, &[Some(Centipawns(900)); 12]), None);
        let mut scores = black.clone();
        scores[1] = Some(Centipawns(499));
        assert_eq!(follow(win, &scores), Some((6, EarlyEnd::Win(Black))));
        scores[1] = None;
        assert_eq!(follow(win, &scores), Some((6, EarlyEnd::Win(Black))));
    }

    #[test]
    fn long_games_are_draws() {
        let long = Adjudication { max_plies: Some(3), ..Adjudication::default() };
        assert_eq!(follow(long, &[None; 9]), Some((3, EarlyEnd::TooLong)));
        assert_eq!(follow(Adjudication::default(), &[Some(Centipawns(0)); 999]), None);
    }
}
