//! Tuning data by engines: self-play games, and new scores for positions.

pub mod rescore;
pub mod selfplay;
