//! A finished game as a line of the journal, and the tally of all.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use shakmaty::fen::Fen;
use shakmaty::{Color, EnPassantMode, KnownOutcome};

use super::config::SelfPlayConfig;
use crate::end::End;
use crate::game::GameRecord;
use crate::pgn::{GameTags, to_pgn};
use gputexel_chess::sample::position_key;
use gputexel_io::LogFile;
use gputexel_io::run_folder::Kind;

pub(super) const JOURNAL: LogFile = LogFile { name: "selfplay.jsonl", what: Kind::SelfPlay.name() };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredGame {
    pub game: u64,
    /// Of the position after the opening, unique among games.
    pub key: u64,
    pub result: String,
    pub end: End,
    /// If the engine failed or exceeded the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub positions: u64,
    pub without_score: u64,
    pub nodes: u64,
    /// As FEN, in order and without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<String>,
    pub pgn: String,
}

impl StoredGame {
    pub(super) fn new(game: u64, record: &GameRecord, config: &SelfPlayConfig) -> Self {
        let tags = GameTags {
            event: "gputexel self-play",
            date: &config.play.head.date,
            round: (game + 1).to_string(),
            names: [&config.engine.name; 2],
            time_control: config.play.limit,
        };
        let mut seen = HashSet::new();
        let leaves = record.leaves.iter().filter(|leaf| seen.insert(position_key(leaf)));
        Self {
            game,
            key: position_key(&record.opening.position()),
            result: record.outcome.as_str().to_string(),
            end: record.end,
            failure: record.failure.clone(),
            positions: record.moves.len() as u64,
            without_score: record.moves.iter().filter(|played| played.score.is_none()).count() as u64,
            nodes: record.moves.iter().filter_map(|played| played.nodes).sum(),
            leaves: leaves.map(|leaf| Fen::from_position(leaf, EnPassantMode::Legal).to_string()).collect(),
            pgn: to_pgn(record, &tags),
        }
    }

    pub(super) fn outcome(&self) -> Option<KnownOutcome> {
        self.result.parse().ok()
    }
}

/// Only games that were played properly say something about positions.
pub(super) fn is_sound(end: End) -> bool {
    !end.is_failure() && end != End::TimeForfeit
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfPlayTally {
    /// White wins, draws, Black wins.
    pub results: [u64; 3],
    /// Including spoiled games.
    pub ends: BTreeMap<End, u64>,
    /// Searched in games that count.
    pub positions: u64,
    pub without_score: u64,
    /// Drawn from those that were evaluated, in a game each once.
    pub leaves: u64,
    pub nodes: u64,
    /// Games with an illegal move or none, a crash, a hang, or exceeded time. They are not written.
    pub spoiled: u64,
    pub last_failure: Option<String>,
}

impl SelfPlayTally {
    pub(super) fn add(&mut self, game: &StoredGame) {
        *self.ends.entry(game.end).or_default() += 1;
        if !is_sound(game.end) {
            self.spoiled += 1;
            let what = game.failure.as_deref().unwrap_or("unknown");
            self.last_failure = Some(format!("{}: {what}", game.end.describe()));
            return;
        }
        let place = match game.outcome().and_then(|outcome| outcome.winner()) {
            Some(Color::White) => 0,
            None => 1,
            Some(Color::Black) => 2,
        };
        self.results[place] += 1;
        self.positions += game.positions;
        self.without_score += game.without_score;
        self.leaves += game.leaves.len() as u64;
        self.nodes += game.nodes;
    }

    pub fn games(&self) -> u64 {
        self.results.iter().sum()
    }

    pub fn finished(&self) -> u64 {
        self.games() + self.spoiled
    }
}
