//! Tags of games, and the rules of selection about players.

use crate::selection::{Reason, Selection};

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

/// Returns the reason why a game of players with these ratings is left out.
pub fn judge_players(elos: [Option<u32>; 2], rules: &Selection) -> Option<Reason> {
    if rules.min_elo.is_none() && rules.max_elo.is_none() {
        return None;
    }
    let [Some(white), Some(black)] = elos else { return Some(Reason::UnknownElo) };
    let range = rules.min_elo.unwrap_or(0)..=rules.max_elo.unwrap_or(u32::MAX);
    (!range.contains(&white) || !range.contains(&black)).then_some(Reason::EloRange)
}

pub fn parse_elo(value: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(value).ok()?.trim().trim_end_matches('?').trim_end();
    text.parse().ok().filter(|elo| (1..10_000).contains(elo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_numbers() {
        assert_eq!(parse_elo(b"2714"), Some(2714));
        assert_eq!(parse_elo(b" 1500? "), Some(1500));
        for text in [&b"-"[..], b"?", b"", b"0", b"123456", b"\xff"] {
            assert_eq!(parse_elo(text), None);
        }
    }
}
