//! gputexel tunes the evaluation parameters of chess engines with Texel's method.
//!
//! The way of a position: [`chess`] reads it and decides whether it is kept, [`model`] turns it
//! into features, [`dataset`] stores it and sorts it into its phase bucket, [`evaluator`] scores
//! it under every member of a population, [`optimizer`] sees only sums, [`tuning`] decides to go
//! on, and [`report`] shows what came of it. Nothing flows back.
//!
//! Features that another engine computed come in through [`trace`] instead of [`chess`].
//!
//! What tuning is worth shows in games: [`engine`] plays with tuned parameters, [`mod@matches`] lets
//! engines play each other. [`patch`] brings the numbers of any engine's sources to a tuner, and back.

#![warn(missing_docs)]

pub mod checking;
pub mod chess;
pub mod dataset;
pub mod engine;
mod error;
pub mod evaluator;
pub mod extraction;
mod files;
pub mod folder_lock;
mod journal;
pub mod matches;
mod messages;
pub mod model;
pub mod objective;
pub mod optimizer;
pub mod patch;
pub mod report;
mod rights;
pub mod spsa;
pub mod trace;
pub mod tuning;

pub use error::{Error, Result};
pub use files::{
    Growing, RECORD_BYTES, SETTINGS_BYTES, Scratch, read_limited, read_whole, read_whole_text,
    remove_until_rewritten, write_atomically,
};
pub use messages::{printable, shown};
