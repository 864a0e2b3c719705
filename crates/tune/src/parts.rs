use std::sync::atomic::AtomicBool;

use super::RunConfig;
use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_eval::Backend;

/// Settings, positions and backend of a run, as needed by the steps after optimization.
#[derive(Clone, Copy)]
pub struct RunParts<'a> {
    pub config: &'a RunConfig,
    pub data: &'a Dataset,
    pub split: &'a Split,
    pub layout: &'a Layout,
    pub backend: &'a Backend,
    pub cancel: &'a AtomicBool,
}
