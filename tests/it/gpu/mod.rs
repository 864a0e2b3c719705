//! Tests that need a GPU adapter, which may be a software one.

mod adam;
mod backends;
mod checks;
mod devices;
#[cfg(target_os = "linux")]
mod drivers;
mod evaluator;
mod memory;
mod population;
mod programs;
mod sections;
