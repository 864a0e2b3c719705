//! What needs a GPU adapter; any will do, software ones included.

#[path = "../common/mod.rs"]
mod common;

mod adam;
mod backends;
mod checks;
mod evaluator;
mod memory;
mod population;
mod programs;
mod sections;
