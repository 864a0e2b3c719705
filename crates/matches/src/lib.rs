//! Games between engines: who plays, by which rules games end, and what the results say.
//!
//! Owns players (in-process or other programs that speak UCI), openings, adjudication, the
//! schedule of pairs, the record of games, and the statistics of their results. Knows nothing of
//! tuning; `spsa` plays its games with it.

mod adjudication;
mod builtin;
pub mod client;
mod game;
pub mod journal;
pub mod openings;
mod pgn;
mod player;
mod runner;
pub mod statistics;
mod tally;
mod time_control;

pub use adjudication::{Adjudication, DrawRule, WinRule};
pub use builtin::BuiltinPlayer;
pub use game::{End, GameRecord, PairRecord, Played, Rules, Unplayed, play_game, play_pair};
pub use pgn::{GameTags, to_pgn};
pub use player::{Choice, Failure, GameSoFar, Player};
pub use runner::{MakePlayer, MatchResult, MatchSettings, Observer, Stop, run_match};
pub use tally::{GameSummary, PairSummary, Tally};
pub use time_control::TimeControl;
