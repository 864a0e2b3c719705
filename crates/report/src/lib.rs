//! What came of a run, for people and for source files.
//!
//! Owns exports of parameters to other languages and back, the boards and curves shown on a terminal,
//! pictures (SVG), the report as a page (HTML), and event files for TensorBoard. Decides nothing.

mod bands;
mod board;
mod curve;
mod heat;
mod html;
mod paths;
mod svg;
mod tensorboard;

pub use bands::{BandPanel, Bands};
pub use board::{board, change_boards};
pub use curve::{Curve, Spacing};
pub use heat::HeatMap;
pub use html::{
    Comparison, CoordinateValue, Live, Parameter, RunReport, Step, Swarms, SweepAxis, SweepReport,
    SweepSetting, Table, bytes, grouped,
};
pub use paths::{Path, Paths};
pub use tensorboard::EventWriter;
