//! Files that commands write: what they may replace.

pub use gputexel::{check_apart, check_outputs, check_target};
