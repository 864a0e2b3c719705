//! Tuning by games: SPSA and its Bayesian successors, their simulator and their planner.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod bounds;
pub mod config;
pub mod draft;
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
