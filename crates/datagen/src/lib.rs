//! Data for tuning, made with engines: games of an engine against itself ([`selfplay`]).
//!
//! Plays with the players, openings and rules of [`matches`](mod@gputexel_matches). Knows nothing of features or
//! datasets: what it writes, the readers of games and positions read.

pub mod selfplay;
