//! How positions become datasets: [`extraction`] reads games and labeled positions and computes
//! their features, [`trace`] takes features that another engine computed.

mod contents;
pub mod extraction;
mod game_numbers;
mod reading;
mod refusals;
pub mod trace;
