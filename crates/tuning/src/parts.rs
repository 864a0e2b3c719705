//! What a run is made of.

use std::sync::atomic::AtomicBool;

use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_evaluator::Backend;

use super::RunConfig;

/// Settings, positions and means of a run, as the steps after its optimizer need them.
#[derive(Clone, Copy)]
pub struct RunParts<'a> {
    /// What is computed.
    pub config: &'a RunConfig,
    /// The positions.
    pub data: &'a Dataset,
    /// Which of them are held out.
    pub split: &'a Split,
    /// The positions in the order of evaluation.
    pub layout: &'a Layout,
    /// What computes.
    pub backend: &'a Backend,
    /// Ends the work early when it is set.
    pub cancel: &'a AtomicBool,
}
