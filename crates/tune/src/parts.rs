//! The parts of a run.

use std::sync::atomic::AtomicBool;

use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_eval::Backend;

use super::RunConfig;

/// Settings, positions and backend of a run, as needed by the steps after optimization.
#[derive(Clone, Copy)]
pub struct RunParts<'a> {
    pub config: &'a RunConfig,
    pub data: &'a Dataset,
    /// Division of the positions into training and held-out ones.
    pub split: &'a Split,
    /// The positions in evaluation order.
    pub layout: &'a Layout,
    pub backend: &'a Backend,
    /// Ends the work early when set.
    pub cancel: &'a AtomicBool,
}
