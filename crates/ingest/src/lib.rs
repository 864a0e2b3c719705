//! Converts positions to datasets.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

pub mod conversion;
pub mod extraction;
mod game_numbers;
mod reading;
pub mod trace;
pub mod tracing;
