//! Contents of the folder of a match, read while the match may be in progress.

use std::collections::BTreeMap;
use std::path::Path;

use super::config::{FORMAT, MatchConfig};
use super::journal::{LOG, read_pairs};
use super::statistics::SprtState;
use super::tally::{PairSummary, Tally};
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedPair {
    /// From 0.
    pub pair: u64,
    /// Of A, 0 to 4.
    pub half_points: usize,
    /// Of White, who was A in one game and B in the other, 0 to 4.
    pub white_half_points: usize,
    /// Moves of the opening, after a FEN if they do not begin with the initial position.
    pub opening: String,
}

#[derive(Clone, Debug)]
pub struct MatchRecord {
    pub config: MatchConfig,
    /// In order: those before the first missing one, up to the one that decided the test.
    pub pairs: Vec<PlayedPair>,
    pub tally: Tally,
    pub decided: bool,
    /// Finished pairs that do not count yet.
    pub ahead: u64,
}

impl MatchRecord {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut finished: BTreeMap<u64, PairSummary> = BTreeMap::new();
        let config: MatchConfig = read_pairs(folder, |mut pair: PairSummary| {
            // Only the openings of the games are needed.
            pair.pgn = opening(&pair.pgn);
            finished.entry(pair.pair).or_insert(pair);
        })?;
        config.play.head.check(FORMAT, &LOG.path(folder))?;
        let mut record =
            Self { config, pairs: Vec::new(), tally: Tally::default(), decided: false, ahead: 0 };
        let all = finished.len() as u64;
        for (next, (number, pair)) in (0..).zip(finished) {
            if number != next || record.decided {
                break;
            }
            record.tally.add(&pair);
            let sprt = record.config.sprt.as_ref();
            record.decided = sprt.is_some_and(|sprt| sprt.state(&record.tally.pairs) != SprtState::Continue);
            record.pairs.push(PlayedPair {
                pair: number,
                half_points: pair.half_points(),
                white_half_points: pair.white_half_points(),
                opening: pair.pgn,
            });
        }
        record.ahead = all - record.pairs.len() as u64;
        Ok(record)
    }

    /// True if all games are played, or the test has decided.
    pub fn is_finished(&self) -> bool {
        self.decided || self.tally.games() >= self.config.play.games
    }
}

/// The opening of the first game: its start, and the moves without a comment.
fn opening(pgn: &str) -> String {
    let (tags, moves) = pgn.split_once("\n\n").unwrap_or(("", pgn));
    let fen = tags.lines().find_map(|line| line.strip_prefix("[FEN \"")?.strip_suffix("\"]"));
    let moves = moves.split("\n\n").next().unwrap_or("");
    let Some((book, _)) = moves.split_once('{') else { return fen.unwrap_or("").to_string() };
    let words: Vec<&str> = book.split_whitespace().collect();
    // The last move is the engine's.
    let own = &words[..words.len().saturating_sub(1)];
    let own = match own {
        [rest @ .., number] if number.ends_with('.') => rest,
        all => all,
    };
    [fen.unwrap_or(""), &own.join(" ")]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::match_report;
    use crate::session::Match;
    use crate::settings::MatchOptions;
    use gputexel_io::StopFlag;
    use gputexel_io::folder_lock::FolderLock;

    #[test]
    fn openings_are_what_engines_did_not_play() {
        let tags = "[Event \"x\"]\n[Result \"*\"]\n\n";
        let opening_of = |moves: &str| opening(&format!("{tags}{moves}\n\n{tags}1. a3 {{x}}\n\n"));
        assert_eq!(opening_of("1. Nf3 c6 2. g3\nQc7 {+0.1/2 3} 3. a4 {x} 1-0"), "1. Nf3 c6 2. g3");
        assert_eq!(opening_of("1. Nf3 c6 2. g3 {+0.1/2 3} 1-0"), "1. Nf3 c6");
        assert_eq!((opening_of("1. e4 {x} *"), opening_of("*")), (String::new(), String::new()));
        let fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1";
        let from = |moves: &str| opening(&format!("[FEN \"{fen}\"]\n\n{moves}\n\n"));
        assert_eq!(from("1. O-O {x} *"), fen);
        assert_eq!(from("1... Kd7 2. O-O {x} *"), format!("{fen} 1... Kd7"));
    }

    #[test]
    fn folders_are_read_as_far_as_pairs_follow_each_other() {
        let mut options = MatchOptions::new("material", "zero");
        (options.play.limit, options.play.games) = ("nodes=30".parse().unwrap(), Some(8));
        let folder = tempfile::tempdir().unwrap();
        let mut begun = Match::new(&options, StopFlag::new()).unwrap();
        begun.create_folder(Some(folder.path()), false).unwrap();
        let finished = begun.run(|_| ()).unwrap();
        let record = MatchRecord::read(folder.path()).unwrap();
        assert_eq!(record.tally, finished.result.tally);
        assert!(record.is_finished() && record.ahead == 0 && record.pairs.len() == 4);
        assert!(
            record.pairs.iter().all(|pair| pair.opening.ends_with(" w KQkq - 0 1")),
            "{:?}",
            record.pairs
        );
        let journal = folder.path().join("match.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"pair\":1,")).collect();
        std::fs::write(&journal, without.join("\n") + "\n").unwrap();
        let record = MatchRecord::read(folder.path()).unwrap();
        assert_eq!((record.pairs.len(), record.ahead, record.is_finished()), (1, 2, false));
        let findings = || match_report(folder.path()).unwrap().head.conclusion.findings.len();
        assert_eq!(findings(), 1);
        let lock = FolderLock::acquire(folder.path()).unwrap();
        assert_eq!(findings(), 0, "while it is played");
        drop(lock);
        assert!(MatchRecord::read(&folder.path().join("none")).is_err());
    }
}
