//! Engines at play, most of them in processes of their own: protocols, failures, and no leftover processes. Clocks
//! run here, so `scripts/test` runs these tests after the others.

mod client;
#[cfg(unix)]
mod clock;
mod datagen_commands;
#[cfg(unix)]
mod exposed;
mod games;
mod learning;
mod match_command;
mod match_runs;
mod probe;
mod recorded;
mod script;
mod spsa_command;
mod uci_command;
