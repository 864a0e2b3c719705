//! Limits of an engine: per move, or for the game by a clock.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{Clock, Limits};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TimeControl {
    Nodes(u64),
    Depth(u32),
    MoveTime(Duration),
    Clock {
        /// Added again after every time control.
        base: Duration,
        /// After each move.
        increment: Duration,
        /// To a time control; `None` if the base is for the whole game.
        moves: Option<u32>,
    },
}

impl TimeControl {
    pub fn is_timed(&self) -> bool {
        matches!(self, Self::MoveTime(_) | Self::Clock { .. })
    }

    /// 100 ms if each move has its own time, which is to be used up, else 0.
    pub fn usual_margin(&self) -> Duration {
        Duration::from_millis(if matches!(self, Self::MoveTime(_)) { 100 } else { 0 })
    }

    /// `[MOVES/]BASE[+INCREMENT]`, seconds, or `MINUTES:SECONDS` for the base.
    fn parse_clock(text: &str) -> Result<Self> {
        let bad = || {
            Error::Usage(format!(
                "time control '{text}': expected [MOVES/]SECONDS[+INCREMENT], such as 10+0.1 or 40/60"
            ))
        };
        let (moves, times) = match text.split_once('/') {
            Some((moves, times)) => {
                (Some(moves.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(bad)?), times)
            }
            None => (None, text),
        };
        let (base, increment) = times.split_once('+').unwrap_or((times, "0"));
        let (minutes, seconds) = base.split_once(':').unwrap_or(("0", base));
        let minutes: u32 = minutes.parse().map_err(|_| bad())?;
        let base = parse_seconds(seconds).ok_or_else(bad)? + Duration::from_secs(60) * minutes.min(100_000);
        let increment = parse_seconds(increment).ok_or_else(bad)?;
        if base.is_zero() {
            return Err(bad());
        }
        Ok(Self::Clock { base, increment, moves })
    }

    pub(super) fn limits(&self, clock: &RunningClock) -> Limits {
        match *self {
            Self::Nodes(nodes) => Limits { nodes: Some(nodes), ..Limits::default() },
            Self::Depth(depth) => Limits { depth: Some(depth), ..Limits::default() },
            Self::MoveTime(time) => Limits { move_time: Some(time), ..Limits::default() },
            Self::Clock { increment, .. } => {
                let clock = Clock { remaining: clock.left, increment, moves_to_go: clock.moves_to_go };
                Limits { clock: Some(clock), ..Limits::default() }
            }
        }
    }

    /// The PGN tag TimeControl; `-` if there is no clock.
    pub fn time_control(&self) -> String {
        let Self::Clock { base, increment, moves } = self else { return "-".to_string() };
        let moves = moves.map(|moves| format!("{moves}/")).unwrap_or_default();
        let seconds = |time: &Duration| time.as_millis() as f64 / 1e3;
        let increment = if increment.is_zero() { String::new() } else { format!("+{}", seconds(increment)) };
        format!("{moves}{}{increment}", seconds(base))
    }
}

/// Seconds from 0 to a year, to the millisecond.
fn parse_seconds(text: &str) -> Option<Duration> {
    let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let seconds = text.parse::<f64>().ok().filter(|s| digits && (0.0..=3.2e7).contains(s))?;
    Some(Duration::from_millis((seconds * 1e3).round() as u64))
}

/// As parsed: `nodes=5000`, `depth=8`, `move-time=100` (milliseconds), `time=10+0.1`.
impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(nodes) => write!(f, "nodes={nodes}"),
            Self::Depth(depth) => write!(f, "depth={depth}"),
            Self::MoveTime(time) => write!(f, "move-time={}", time.as_millis()),
            Self::Clock { .. } => write!(f, "time={}", self.time_control()),
        }
    }
}

impl FromStr for TimeControl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::Usage(format!(
                "limit '{text}': expected nodes=N, depth=N, move-time=MILLISECONDS or time=SECONDS+INCREMENT"
            ))
        };
        let (kind, value) = text.split_once('=').ok_or_else(bad)?;
        let number = || value.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(bad);
        match kind {
            "nodes" => Ok(Self::Nodes(number()?)),
            "depth" => Ok(Self::Depth(u32::try_from(number()?).map_err(|_| bad())?)),
            "move-time" => Ok(Self::MoveTime(Duration::from_millis(number()?))),
            "time" => Self::parse_clock(value),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for TimeControl {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<TimeControl> for String {
    fn from(time_control: TimeControl) -> Self {
        time_control.to_string()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RunningClock {
    pub left: Duration,
    pub moves_to_go: Option<u32>,
}

impl RunningClock {
    /// Already includes the increment, as in FIDE's laws (glossary, "increment"), cutechess and fastchess.
    pub(super) fn new(time_control: &TimeControl) -> Self {
        match *time_control {
            TimeControl::Clock { base, increment, moves } => {
                Self { left: base.saturating_add(increment), moves_to_go: moves }
            }
            _ => Self { left: Duration::ZERO, moves_to_go: None },
        }
    }

    /// True if the flag fell.
    pub(super) fn after_move(
        &mut self,
        time_control: &TimeControl,
        took: Duration,
        margin: Duration,
    ) -> bool {
        match *time_control {
            TimeControl::Nodes(_) | TimeControl::Depth(_) => false,
            TimeControl::MoveTime(time) => took > time.saturating_add(margin),
            TimeControl::Clock { base, increment, moves } => {
                if took > self.left.saturating_add(margin) {
                    self.left = Duration::ZERO;
                    return true;
                }
                self.left = self.left.saturating_sub(took) + increment;
                self.moves_to_go = self.moves_to_go.map(|togo| togo - 1);
                if self.moves_to_go == Some(0) {
                    self.left += base;
                    self.moves_to_go = moves;
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_are_read_as_they_are_written() {
        for text in ["nodes=5000", "depth=8", "move-time=100", "time=10+0.1", "time=40/60", "time=0.5+0.01"] {
            assert_eq!(text.parse::<TimeControl>().unwrap().to_string(), text);
        }
        assert_eq!("time=40/1:30+2".parse::<TimeControl>().unwrap().to_string(), "time=40/90+2");
        for text in ["", "nodes", "nodes=0", "nodes=-1", "depth=99999999999", "time=0", "time=0/5", "time=-1"]
        {
            assert!(text.parse::<TimeControl>().is_err(), "{text}");
        }
        for text in ["", "nan", "inf", "1e3", "10+", "10+-1", "x/10", "1:2:3", "1+2+3"] {
            assert!(TimeControl::parse_clock(text).is_err(), "{text}");
        }
    }

    #[test]
    fn clocks_run_down_and_are_filled_up_at_controls() {
        let ms = Duration::from_millis;
        let time_control: TimeControl = "time=2/1+0.1".parse().unwrap();
        let mut clock = RunningClock::new(&time_control);
        assert_eq!(clock.left, ms(1100), "the first move has its increment");
        assert!(!clock.after_move(&time_control, ms(300), ms(0)));
        assert_eq!((clock.left, clock.moves_to_go), (ms(900), Some(1)));
        assert!(!clock.after_move(&time_control, ms(900), ms(0)), "not later than the flag");
        assert_eq!((clock.left, clock.moves_to_go), (ms(1100), Some(2)));
        assert!(!clock.after_move(&time_control, ms(1150), ms(50)), "within the margin");
        assert_eq!((clock.left, clock.moves_to_go), (ms(100), Some(1)));
        assert!(clock.after_move(&time_control, ms(151), ms(50)));
        let fixed: TimeControl = "move-time=10".parse().unwrap();
        assert!(!clock.after_move(&fixed, ms(15), ms(5)) && clock.after_move(&fixed, ms(16), ms(5)));
    }
}
