//! Chess input: the game phase, the readers of games and labeled positions, and the rules that select
//! positions.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod agreement;
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
mod prose;
pub mod quiescence;
mod reason;
pub mod sample;
pub mod scale;
pub mod selection;
pub mod text;
mod unsupported;

pub use phase::PhaseSettings;
