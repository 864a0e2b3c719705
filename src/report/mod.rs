//! What came of a run, for people and for source files.
//!
//! Owns tables for C, C++ and Rust, the boards and curves shown on a terminal, and pictures (SVG).
//! Decides nothing.

mod bands;
mod board;
mod curve;
mod heat;
mod paths;
mod svg;
mod tables;

pub use bands::{BandPanel, Bands};
pub use board::board;
pub use curve::{Curve, Spacing};
pub use heat::HeatMap;
pub use paths::{Path, Paths};
pub use tables::{Language, tables};
