//! Sums over positions, shared by several processes.
//!
//! One process, rank 0, runs the program as if it were alone, with its files and its optimizer. The others keep
//! sections of its layouts and compute their sums on request. Owns the protocol between them, over any [`Link`].
//! Processes compute and add as the devices of one process do ([`gputexel_eval::divided`]), in the same order.

mod message;
mod root;
mod worker;

pub use root::{Ranks, Traffic};
pub use worker::serve;

use gputexel_io::Result;

/// Reliable ordered messages between rank 0 and the others.
pub trait Link: Send {
    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Sends a message to another rank.
    fn send(&mut self, to: usize, message: &[u8]) -> Result<()>;

    /// Waits until there is a message from another rank, if that can be distinguished from receiving it.
    fn wait(&mut self, from: usize) -> Result<()> {
        let _ = from;
        Ok(())
    }

    /// Receives the next message from another rank; blocks until it arrives.
    fn receive(&mut self, from: usize) -> Result<Vec<u8>>;
}
