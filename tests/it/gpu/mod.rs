//! What needs a GPU adapter; any will do, software ones included.

mod adam;
mod backends;
mod checks;
mod devices;
mod evaluator;
mod memory;
mod population;
mod programs;
mod sections;
