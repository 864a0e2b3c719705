//! Patching engine sources.

pub mod tables;
