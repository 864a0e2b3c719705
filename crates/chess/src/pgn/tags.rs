//! Applies the rules of selection to tags about players, clocks and ends of games.

use crate::selection::{Reason, Selection, Termination};

macro_rules! known_tags {
    ($($tag:ident $name:literal),*) => {
        /// Tags whose values are used, or by which games can be separated.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KnownTag { $($tag,)* }

        impl KnownTag {
            /// Parses the name of a tag, ignoring case.
            pub fn parse(name: &[u8]) -> Option<Self> {
                // Nearly all are spelled as in the standard.
                match name {
                    $($name => return Some(Self::$tag),)*
                    _ => {}
                }
                $(if name.len() == $name.len() && name.eq_ignore_ascii_case($name) {
                    return Some(Self::$tag);
                })*
                None
            }

            pub fn bit(self) -> u32 {
                1 << self as u32
            }
        }
    };
}

known_tags! {
    Event b"Event", Site b"Site", Date b"Date", Round b"Round", White b"White", Black b"Black",
    Result b"Result", Fen b"FEN", SetUp b"SetUp", Variant b"Variant", WhiteElo b"WhiteElo",
    BlackElo b"BlackElo", TimeControl b"TimeControl", Termination b"Termination"
}

#[derive(Clone, Debug, Default)]
pub struct GameTags {
    white_elo: Option<u32>,
    black_elo: Option<u32>,
    time_s: Option<f64>,
    broken_off: bool,
}

impl GameTags {
    pub fn tag(&mut self, tag: KnownTag, value: &[u8]) {
        match tag {
            KnownTag::WhiteElo => self.white_elo = parse_elo(value),
            KnownTag::BlackElo => self.black_elo = parse_elo(value),
            KnownTag::TimeControl => self.time_s = time_for_40_moves_s(value),
            KnownTag::Termination => self.broken_off = is_broken_off(value),
            _ => {}
        }
    }

    pub fn judge(&self, rules: &Selection) -> Option<Reason> {
        if rules.min_elo.is_some() || rules.max_elo.is_some() {
            let (Some(white), Some(black)) = (self.white_elo, self.black_elo) else {
                return Some(Reason::UnknownElo);
            };
            let range = rules.min_elo.unwrap_or(0)..=rules.max_elo.unwrap_or(u32::MAX);
            if !range.contains(&white) || !range.contains(&black) {
                return Some(Reason::EloRange);
            }
        }
        if rules.min_time_s.is_some() || rules.max_time_s.is_some() {
            let Some(time) = self.time_s else { return Some(Reason::UnknownTime) };
            let least = f64::from(rules.min_time_s.unwrap_or(0));
            if time < least || rules.max_time_s.is_some_and(|most| time > f64::from(most)) {
                return Some(Reason::TimeRange);
            }
        }
        (rules.termination == Termination::Normal && self.broken_off).then_some(Reason::Termination)
    }
}

fn parse_elo(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?.trim().trim_end_matches('?').trim_end();
    text.parse().ok().filter(|elo| (1..10_000).contains(elo))
}

/// Returns the seconds that a player has for 40 moves, by the standard's forms of the tag.
fn time_for_40_moves_s(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let period = text.split([':', ',', ' ']).next()?.trim_start_matches('*');
    let (period, increment) = match period.split_once('+') {
        Some((period, increment)) => (period, parse_seconds(increment)?),
        None => (period, 0.0),
    };
    let base = match period.split_once('/') {
        Some((moves, seconds)) => parse_seconds(seconds)? * 40.0 / f64::from(moves.parse::<u16>().ok()?),
        None => parse_seconds(period)?,
    };
    let time = base + 40.0 * increment;
    (time.is_finite() && time > 0.0).then_some(time)
}

fn parse_seconds(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain { text.parse().ok() } else { None }
}

/// Returns true if a game ended by something other than its moves, an agreement or adjudication: in the words
/// of the standard, of match programs and of servers.
fn is_broken_off(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    [
        "time forfeit",
        "timeout",
        "time out",
        "on time",
        "out of time",
        "abandon",
        "infraction",
        "illegal",
        "unterminated",
        "emergency",
        "death",
        "disconnect",
        "stalled",
        "crash",
        "aborted",
        "interrupted",
    ]
    .iter()
    .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_are_compared_by_40_moves() {
        for (text, seconds) in [
            ("300", 300.0),
            ("300+3", 420.0),
            ("60+0.6", 84.0),
            ("40/9000", 9000.0),
            ("20/60", 120.0),
            ("40/7200+30:20/3600:900+30", 8400.0),
            ("*180", 180.0),
            ("1800+5 ", 2000.0),
        ] {
            assert_eq!(time_for_40_moves_s(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in ["", "-", "?", "0/60", "nodes 2714", "inf", "-5", "1e9", "5+", "+5", "99999/1", "\u{bd}"]
        {
            assert_eq!(time_for_40_moves_s(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn ends_of_games_are_told_apart() {
        for text in
            ["Time forfeit", "abandoned", "White wins on time", "rules infraction", "stalled connection"]
        {
            assert!(is_broken_off(text.as_bytes()), "{text}");
        }
        for text in ["", "normal", "adjudication", "stalemate", "checkmate", "White wins by resignation"] {
            assert!(!is_broken_off(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn ratings_are_numbers() {
        assert_eq!(parse_elo(b"2714"), Some(2714));
        assert_eq!(parse_elo(b" 1500? "), Some(1500));
        for text in [&b"-"[..], b"?", b"", b"0", b"123456", b"\xff"] {
            assert_eq!(parse_elo(text), None);
        }
    }
}
