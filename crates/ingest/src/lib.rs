//! Converts positions to datasets: [`extraction`] reads games and labeled positions and computes their
//! features, [`trace`] imports features computed by another engine.

mod contents;
pub mod extraction;
mod game_numbers;
mod reading;
mod refusals;
pub mod trace;
