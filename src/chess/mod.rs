//! What knows chess: the game phase, the readers of games and labelled positions, and the rules
//! by which positions are kept.

mod phase;

pub use phase::PhaseSettings;
