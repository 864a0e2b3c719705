//! Games between engines: who plays, by which rules games end, and what the results say.
//!
//! Owns players (in-process or other programs that speak UCI), openings, adjudication, the
//! schedule of pairs, the record of games, and the statistics of their results. Knows nothing of
//! tuning; `spsa` plays its games with it.

pub mod client;
mod player;
pub mod statistics;

pub use player::{Choice, Failure, GameSoFar, Player};
