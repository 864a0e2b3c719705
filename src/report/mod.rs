//! What came of a run, for people and for source files.
//!
//! Owns tables for C, C++ and Rust, and the boards shown on a terminal. Decides nothing.

mod board;
mod tables;

pub use board::board;
pub use tables::{Language, tables};
