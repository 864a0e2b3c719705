//! What came of a run, for people and for source files.
//!
//! Owns exports of parameters to other languages and back, the boards and curves shown on a terminal, and pictures (SVG).
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
pub use tables::{
    CodeOptions, ExportOptions, Exported, Format, Imported, Language, Like, NameStyle, Normalization,
    Rounding, Target, export, import, tables,
};
