//! The built-in engine: a search on `shakmaty` that plays with tuned parameters.

mod limits;
mod search;
pub mod uci;

pub use limits::{Clock, Limits, Score};
pub use search::{Chosen, DEFAULT_MOVE_OVERHEAD, Engine, Iteration};
