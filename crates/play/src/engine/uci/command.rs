//! Parses the commands of a GUI.

use std::time::Duration;

use crate::engine::{Clock, Limits};
use shakmaty::Color;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Go {
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    pub move_time: Option<Duration>,
    /// White's first.
    pub time: [Option<Duration>; 2],
    /// White's first.
    pub increment: [Duration; 2],
    pub moves_to_go: Option<u32>,
    pub infinite: bool,
    pub moves: Vec<String>,
    pub complaints: Vec<String>,
}

const WORDS: [&str; 10] =
    ["depth", "nodes", "movetime", "wtime", "btime", "winc", "binc", "movestogo", "infinite", "searchmoves"];

impl Go {
    /// Invalid words and numbers are skipped, with a complaint.
    pub(super) fn parse(text: &str) -> Self {
        let mut go = Self::default();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            match word {
                "infinite" => go.infinite = true,
                "searchmoves" => {
                    while let Some(m) = words.next_if(|word| !WORDS.contains(word)) {
                        go.moves.push(m.to_string());
                    }
                }
                "depth" | "nodes" | "movetime" | "wtime" | "btime" | "winc" | "binc" | "movestogo" => {
                    // Some GUIs send negative numbers for clocks that have run out.
                    let Some(number) = words.peek().and_then(|word| word.parse::<i64>().ok()) else {
                        let found = words.next_if(|word| !WORDS.contains(word)).unwrap_or("nothing");
                        go.complaints.push(format!("go {word}: expected an integer, found {found}"));
                        continue;
                    };
                    words.next();
                    let number = number.max(0) as u64;
                    let small = u32::try_from(number).unwrap_or(u32::MAX);
                    let time = Duration::from_millis(number);
                    match word {
                        "depth" => go.depth = Some(small),
                        "nodes" => go.nodes = Some(number),
                        "movetime" => go.move_time = Some(time),
                        "wtime" => go.time[0] = Some(time),
                        "btime" => go.time[1] = Some(time),
                        "winc" => go.increment[0] = time,
                        "binc" => go.increment[1] = time,
                        _ => go.moves_to_go = Some(small).filter(|moves| *moves > 0),
                    }
                }
                _ => go.complaints.push(format!("go: '{word}' is not known")),
            }
        }
        go
    }

    /// For either side to move.
    pub(super) fn is_bounded(&self) -> bool {
        let limited = |color| self.limits(color) != Limits::default();
        !self.infinite && limited(Color::White) && limited(Color::Black)
    }

    pub(super) fn limits(&self, turn: Color) -> Limits {
        let side = turn.fold_wb(0, 1);
        let clock = self.time[side].map(|remaining| Clock {
            remaining,
            increment: self.increment[side],
            moves_to_go: self.moves_to_go,
        });
        Limits { depth: self.depth, nodes: self.nodes, move_time: self.move_time, clock }
    }

    /// Only a stop ends the search.
    pub(super) fn is_endless(&self, limits: &Limits) -> bool {
        self.infinite || *limits == Limits::default()
    }
}

/// The value is empty if there is none.
pub(super) fn parse_option(text: &str) -> Option<(String, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.first() != Some(&"name") {
        return None;
    }
    let value = words.iter().position(|word| *word == "value").unwrap_or(words.len());
    let name = words[1..value].join(" ");
    (!name.is_empty()).then(|| (name, words.get(value + 1..).unwrap_or(&[]).join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_understood() {
        let go = Go::parse("wtime 1000 btime -5 winc 10 binc 20 movestogo 0 depth x nodes 7 gibberish");
        let white = go.limits(Color::White);
        let clock = white.clock.unwrap();
        assert_eq!((clock.remaining, clock.increment), (Duration::from_secs(1), Duration::from_millis(10)));
        assert_eq!((clock.moves_to_go, white.nodes, white.depth), (None, Some(7), None));
        assert_eq!(go.limits(Color::Black).clock.unwrap().remaining, Duration::ZERO);
        let go = Go::parse("searchmoves e2e4 d2d4 depth 5");
        assert_eq!((go.moves.len(), go.depth), (2, Some(5)));
        assert!(Go::parse("").is_endless(&Limits::default()));
        let go = Go::parse("infinite depth 4");
        assert!(go.is_endless(&go.limits(Color::White)));
    }

    #[test]
    fn options_are_understood() {
        let pair = |a: &str, b: &str| Some((a.to_string(), b.to_string()));
        assert_eq!(parse_option("name Clear Hash"), pair("Clear Hash", ""));
        assert_eq!(parse_option("name knight_f3.mg  value -3.5"), pair("knight_f3.mg", "-3.5"));
        assert_eq!(parse_option("name value 3"), None);
        assert_eq!(parse_option("value 3"), None);
    }
}
