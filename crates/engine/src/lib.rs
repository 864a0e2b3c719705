//! The built-in engine: a search on `shakmaty` that plays with tuned parameters.
//!
//! Owns what a search is asked ([`Limits`]) and answers ([`Score`]), the search itself, and its UCI
//! front. Matches and the rules by which games end are those of the crate for matches.

mod limits;
mod search;
pub mod uci;

pub use limits::{Clock, Limits, Score};
pub use search::{Chosen, DEFAULT_MOVE_OVERHEAD, Engine, Iteration};
