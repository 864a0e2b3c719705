//! Converts positions to datasets: [`extraction`] reads games and labeled positions and computes their
//! features, [`trace`] imports features computed by another engine, [`tracing`] runs a command of that engine
//! to compute them, and [`conversion`] writes positions in the formats of other programs.

pub mod conversion;
pub mod extraction;
mod game_numbers;
mod reading;
pub mod trace;
pub mod tracing;
