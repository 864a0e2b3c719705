//! Games between engines: players, rules, and statistics of the results.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod adjudication;
mod builtin;
pub mod client;
mod conclusion;
mod config;
mod contestant;
pub mod datagen;
mod end;
pub mod engine;
mod game;
mod hash;
pub mod journal;
mod leaves;
pub mod openings;
mod page;
mod pgn;
mod player;
mod pool;
pub mod probe;
mod record;
mod replay;
mod runner;
pub mod scheduler;
mod session;
mod settings;
pub mod statistics;
mod tally;
mod time_control;
mod unfinished;

pub use adjudication::{Adjudication, DrawRule, WinRule};
pub use builtin::BuiltinPlayer;
pub use conclusion::{failures, judge};
pub use config::{
    EngineConfig, EngineKind, MatchConfig, OpeningsConfig, PlayConfig, RunHead, check_checksum,
};
pub use contestant::{Contestant, Side, absolute_command};
pub use end::End;
pub use game::{GameRecord, Played, Rules, Unplayed, play_game, play_games};
pub use hash::{check_hash, check_tables};
pub use page::{elo_course, is_match, match_report};
pub use pgn::{GameTags, to_pgn};
pub use player::{Choice, Failure, GameSoFar, Player};
pub use record::{MatchRecord, PlayedPair};
pub use replay::{Replay, other_engine};
pub use runner::{MatchEvent, MatchResult, MatchSettings, Stop, pair_pgn, run_match};
pub use session::{FinishedMatch, Match};
pub use settings::{
    Changes, GameSettings, MatchOptions, Seating, check_concurrency, check_games, cores,
    deadline_from_seconds,
};
pub use tally::{GameSummary, PairSummary, Tally};
pub use time_control::TimeControl;
