//! Whether an engine is still the one that a run began with: the first moves of its first game, played again.

use super::game::{Rules, Unplayed, play_games};
use super::openings::Opening;
use super::pgn::moves;
use super::player::Player;
use super::tally::PairSummary;
use gputexel_io::{Error, Result, StopFlag};

/// After the opening.
const PLIES: usize = 16;

pub struct Replay<'a> {
    /// The player of a side, which has not played yet.
    pub make: &'a dyn Fn(usize) -> Result<Box<dyn Player>>,
    pub opening: Opening,
    pub rules: Rules,
    pub stop: &'a StopFlag,
}

impl Replay<'_> {
    /// Moves and comments as PGN has them; `None` where they may differ from time to time.
    pub fn play(&self) -> Result<Option<String>> {
        if self.rules.time_controls.iter().any(|limit| limit.is_timed()) {
            return Ok(None);
        }
        let most = (self.opening.moves.len() + PLIES) as u32;
        let mut rules = self.rules;
        rules.adjudication.max_plies = Some(rules.adjudication.max_plies.map_or(most, |own| own.min(most)));
        let [mut a, mut b] = [(self.make)(0)?, (self.make)(1)?];
        match play_games::<1>(&mut *a, &mut *b, &self.opening, &rules, self.stop) {
            Ok([game]) if game.end.is_failure() => Ok(None),
            Ok([game]) => Ok(Some(moves(&game, rules.time_controls).join(" "))),
            Err(Unplayed::Cancelled) => Err(Error::Interrupted("before the engines were ready".to_string())),
            Err(Unplayed::NotReady { name, failure }) => {
                Err(Error::Engine { engine: name, reason: failure.to_string() })
            }
        }
    }

    /// Refuses an `engine` that plays otherwise than it `was` when the `what` began; returns a warning if it plays
    /// otherwise each time.
    pub fn compare(&self, was: &str, engine: &str, what: &str) -> Result<Option<String>> {
        let Some(now) = self.play()? else { return Ok(None) };
        let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        if words(was).starts_with(&words(&now)) {
            return Ok(None);
        }
        if self.play()?.as_ref() != Some(&now) {
            let reason = format!("whether it is still that with which the {what} began cannot be told");
            return Ok(Some(format!("{engine}: plays otherwise each time; {reason}")));
        }
        let reason = format!("plays otherwise than when the {what} began");
        Err(other_engine(engine, &reason, what))
    }

    pub fn compare_first(&self, pair: &PairSummary, engine: &str, what: &str) -> Result<Option<String>> {
        let moves = pair.pgn.split("\n\n").nth(1).filter(|_| !pair.games[0].end.is_failure());
        moves.map_or(Ok(None), |moves| self.compare(moves, engine, what))
    }
}

pub fn other_engine(engine: &str, found: &str, what: &str) -> Error {
    let reason = format!("{found}; go on with the engine of then, or start a new {what}");
    Error::Engine { engine: engine.to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestant::{Contestant, Side};
    use crate::openings::Openings;
    use crate::settings::GameSettings;
    use crate::time_control::TimeControl;

    #[test]
    fn other_engines_are_refused_and_other_limits_are_not_compared() {
        let stop = StopFlag::new();
        let open = |name: &str| {
            Contestant::open(&mut Side::new(name).describe().unwrap(), 1, &stop, "match").unwrap()
        };
        let (then, now) = (open("material"), open("pesto"));
        let settings = GameSettings { limit: "nodes=100".parse().unwrap(), ..GameSettings::default() };
        let rules = settings.record("", 1).unwrap().rules();
        let replayed = |engine: &Contestant, rules, was: Option<&str>| {
            let (make, opening) = (&|_| engine.player("x"), Openings::bundled(1).get(0));
            let replay = Replay { make, opening, rules, stop: &stop };
            was.map_or_else(|| replay.play(), |was| replay.compare(was, "x", "match"))
        };
        let was = replayed(&then, rules, None).unwrap().unwrap() + " 50. a3";
        assert_eq!(replayed(&then, rules, Some(&was)).unwrap(), None);
        let refused = replayed(&now, rules, Some(&was)).unwrap_err().to_string();
        assert!(refused.contains("x: plays otherwise than when the match began; go on with"), "{refused}");
        let timed = Rules {
            time_controls: [TimeControl::MoveTime(std::time::Duration::from_millis(10)); 2],
            ..rules
        };
        assert_eq!(replayed(&now, timed, Some(&was)).unwrap(), None);
    }
}
