//! The other processes of a run over MPI, where there are any.

use std::sync::Arc;

use gputexel::evaluator::divided::{DeviceList, Team};

#[cfg(feature = "mpi")]
pub use ranked::{follow, is_led, launched, lead, own_device, team};

#[cfg(feature = "mpi")]
#[allow(dead_code, reason = "`gputexel` alone has no ranks")]
mod ranked {
    use std::sync::OnceLock;

    use gputexel::evaluator::gpu::list_adapters;
    use gputexel_ranks::Ranks;

    use super::{Arc, DeviceList, Team};

    /// The other ranks, as rank 0 has them.
    static RANKS: OnceLock<Ranks> = OnceLock::new();
    /// Which of the ranks of its machine this is.
    static LOCAL_RANK: OnceLock<usize> = OnceLock::new();

    /// Makes this process rank 0.
    pub fn lead(ranks: Ranks, local_rank: usize) -> &'static Ranks {
        follow(local_rank);
        RANKS.get_or_init(|| ranks)
    }

    /// Makes this process one of the ranks of its machine.
    pub fn follow(local_rank: usize) {
        let _ = LOCAL_RANK.set(local_rank);
    }

    /// Returns true if this process is rank 0 of several.
    pub fn is_led() -> bool {
        RANKS.get().is_some()
    }

    /// Who else computes, on rank 0 of several.
    pub fn team() -> Option<Arc<dyn Team>> {
        RANKS.get().map(|ranks| Arc::new(ranks.clone()) as Arc<dyn Team>)
    }

    /// How this program was started, if by a launcher.
    pub fn launched() -> Option<String> {
        RANKS.get().map(|ranks| format!("mpirun -n {} gputexel-mpi", ranks.size()))
    }

    /// The GPU of this rank where its machine has several: the ranks of a machine take turns.
    pub fn own_device() -> Option<DeviceList> {
        let rank = *LOCAL_RANK.get()?;
        let adapters = list_adapters();
        let real: Vec<usize> = (0..adapters.len())
            .filter(|&index| adapters[index].unusable.is_none() && !adapters[index].software)
            .collect();
        (real.len() > 1).then(|| DeviceList { devices: vec![(Some(real[rank % real.len()]), None)] })
    }
}

/// Nobody else, without MPI.
#[cfg(not(feature = "mpi"))]
pub fn team() -> Option<Arc<dyn Team>> {
    None
}

/// No launcher, without MPI.
#[cfg(not(feature = "mpi"))]
pub fn launched() -> Option<String> {
    None
}

/// The device that is chosen anyway, without MPI.
#[cfg(not(feature = "mpi"))]
pub fn own_device() -> Option<DeviceList> {
    None
}
