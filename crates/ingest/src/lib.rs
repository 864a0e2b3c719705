//! How positions become datasets: [`extraction`] reads games and labelled positions and computes
//! their features, [`trace`] takes features that another engine computed.

pub mod extraction;
pub mod trace;
