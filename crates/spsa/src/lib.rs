//! Tuning by games: SPSA and its Bayesian successors, their simulator and their planner.
//!
//! Parameters that no dataset can tune (search margins, for example) are tuned by playing: one
//! engine plays with every parameter moved a little at random, another with all moved the opposite
//! way, and the score of their pair of games says which way to go. This crate owns the
//! [`variables`], the update rules behind one ask/tell interface ([`Tuner`]), what they gain on a
//! model engine ([`simulator`], and [`grid`]s of settings for it), settings that suit a number of games ([`planner`]), the configuration
//! of a run ([`config`]) and drafts of one ([`draft`]), other programs' [`lists`] of parameters, and
//! [`run`]s with real games. Only drafts and runs start engines; whoever else plays the games asks the
//! tuner for the values of both sides and tells it the score.

mod bounds;
pub mod config;
pub mod draft;
pub mod grid;
pub mod lists;
mod method_kind;
mod methods;
pub mod numbers;
pub mod planner;
pub mod run;
mod schedule;
mod settings;
pub mod simulator;
mod toml_text;
mod tuner;
pub mod variables;

pub use bounds::NearBound;
pub use lists::read_variables;
pub use method_kind::MethodKind;
pub use schedule::Schedule;
pub use settings::{Noise, Settings, check_draw_rate};
pub use tuner::{Perturbation, Tuner};
pub use variables::{Rounding, Variable};
