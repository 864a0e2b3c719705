//! Chess input: the game phase, the readers of games and labeled positions, and the rules that select
//! positions.
//!
//! Readers work on chunks of decompressed text and know neither files nor threads nor features. [`detection`]
//! detects the contents of a text, [`pgn`] and [`text`] turn chunks into samples, [`selection`] decides which
//! positions are left out and why. [`quiescence`] searches captures under any [`evaluation`].

mod agreement;
mod bare;
mod comments;
pub mod detection;
pub mod epd;
pub mod evaluation;
mod evidence;
pub mod fen;
mod fields;
pub mod formats;
mod header;
pub mod labels;
pub mod pgn;
mod phase;
pub mod quiescence;
mod reason;
pub mod sample;
pub mod scale;
pub mod selection;
pub mod text;
mod unsupported;

pub use phase::PhaseSettings;
