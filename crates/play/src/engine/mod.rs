//! The built-in engine: a search on `shakmaty` that plays with tuned parameters.
//!
//! Owns the input ([`Limits`]) and output ([`Score`]) of a search, the search itself, and its UCI front.
//! Matches and the rules by which games end belong to the crate for matches.

mod limits;
mod search;
pub mod uci;

pub use limits::{Clock, Limits, Score};
pub use search::{Chosen, DEFAULT_MOVE_OVERHEAD, Engine, Iteration};
