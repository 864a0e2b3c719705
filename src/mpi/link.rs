//! Messages over MPI.

use std::time::{Duration, Instant};

use gputexel::{Error, Result};
use gputexel_ranks::Link;
use mpi::Tag;
use mpi::point_to_point::{Destination, Source};
use mpi::topology::{Communicator, SimpleCommunicator};

/// Tags of the length of a message and of its pieces.
const LENGTH: Tag = 1;
const PIECE: Tag = 2;
/// Size of a piece in bytes; MPI counts them in 32 bits.
const PIECE_BYTES: usize = 1 << 30;
/// How long a rank polls for a message without pausing, and how long it then pauses: waiting must not take the
/// processor from a computing rank on the same machine.
const EAGER: Duration = Duration::from_micros(200);
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// All ranks of a communicator.
pub struct MpiLink {
    world: SimpleCommunicator,
}

// SAFETY: a handle may be used by any thread that MPI lets in, and it was started for threads that take turns. This
// type is not `Sync`, and rank 0 keeps it behind a lock.
unsafe impl Send for MpiLink {}

impl MpiLink {
    pub fn new(world: SimpleCommunicator) -> Self {
        Self { world }
    }
}

impl Link for MpiLink {
    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn send(&mut self, to: usize, message: &[u8]) -> Result<()> {
        let process = self.world.process_at_rank(to as i32);
        process.send_with_tag(&(message.len() as u64), LENGTH);
        message.chunks(PIECE_BYTES).for_each(|piece| process.send_with_tag(piece, PIECE));
        Ok(())
    }

    fn wait(&mut self, from: usize) -> Result<()> {
        let process = self.world.process_at_rank(from as i32);
        let start = Instant::now();
        while process.immediate_probe_with_tag(LENGTH).is_none() {
            match start.elapsed() {
                waited if waited < EAGER => std::hint::spin_loop(),
                waited => std::thread::sleep((waited / 10).clamp(PAUSES[0], PAUSES[1])),
            }
        }
        Ok(())
    }

    fn receive(&mut self, from: usize) -> Result<Vec<u8>> {
        self.wait(from)?;
        let process = self.world.process_at_rank(from as i32);
        let (length, _) = process.receive_with_tag::<u64>(LENGTH);
        let length =
            usize::try_from(length).map_err(|_| Error::Usage("a message is too long".to_string()))?;
        let mut message = vec![0u8; length];
        for piece in message.chunks_mut(PIECE_BYTES) {
            process.receive_into_with_tag(piece, PIECE);
        }
        Ok(message)
    }
}
