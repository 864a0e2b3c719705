//! Sums over positions that processes share.
//!
//! One process, rank 0, runs the program as if it were alone, with its files and its optimizer. The others keep
//! sections of its layouts and compute their sums when asked. Owns what is said between them, over any [`Link`]; what is
//! computed, and the order of sums, are those of [`gputexel_eval::divided`].

mod message;
mod root;
mod worker;

pub use root::{Ranks, Traffic};
pub use worker::serve;

use gputexel_io::Result;

/// Messages between rank 0 and the others, in order and without loss.
pub trait Link: Send {
    /// Number of processes.
    fn size(&self) -> usize;

    /// Sends a message to another rank.
    ///
    /// # Errors
    /// Those of the connection.
    fn send(&mut self, to: usize, message: &[u8]) -> Result<()>;

    /// Waits until there is a message from another rank, where that can be told from receiving it.
    ///
    /// # Errors
    /// Those of the connection.
    fn wait(&mut self, from: usize) -> Result<()> {
        let _ = from;
        Ok(())
    }

    /// The next message from another rank, when it is there.
    ///
    /// # Errors
    /// Those of the connection.
    fn receive(&mut self, from: usize) -> Result<Vec<u8>>;
}
