//! The built-in engine: a search on `shakmaty` that plays with tuned parameters.
//!
//! Owns what a search is asked ([`Limits`]) and answers ([`Score`]), the search itself, and its UCI
//! front. Who plays whom, and by which rules a game ends, is the business of `matches`.

mod limits;
mod search;
pub mod uci;

pub use limits::{Clock, Limits, Score};
pub use search::{Chosen, DEFAULT_MOVE_OVERHEAD, Engine, Iteration};
