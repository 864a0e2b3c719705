//! The win/draw/loss model of engines.
//!
//! Engines that print win, draw and loss chances (`UCI_ShowWDL`) and scale scores so that a pawn wins half of the games
//! use one formula with a few constants. This crate fits them to games with scores, by maximum likelihood.

mod calibration;
mod constants;
mod counts;
mod fit;
mod likelihood;
mod linear;
mod model;
mod page;
mod pictures;
mod request;
mod variable;

pub use calibration::{CalibrationRow, calibration};
pub use constants::{Constants, ConstantsFormat};
pub use counts::{Cell, Counts, Outcome};
pub use fit::{Errors, Fit, FitSettings, MAX_DEGREE, MIN_GAMES, MIN_POSITIONS, fit};
pub use model::WdlModel;
pub use page::PAGE;
pub use request::{Reading, ScoreUnit, WdlReport, WdlRequest};
pub use variable::{Moment, Variable};
