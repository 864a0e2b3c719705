//! The other processes of a run over MPI, if there are any.

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

    /// The other ranks, set on rank 0.
    static RANKS: OnceLock<Ranks> = OnceLock::new();
    /// Number of this rank among those of its machine.
    static LOCAL_RANK: OnceLock<usize> = OnceLock::new();

    pub fn lead(ranks: Ranks, local_rank: usize) -> &'static Ranks {
        follow(local_rank);
        RANKS.get_or_init(|| ranks)
    }

    pub fn follow(local_rank: usize) {
        let _ = LOCAL_RANK.set(local_rank);
    }

    pub fn is_led() -> bool {
        RANKS.get().is_some()
    }

    pub fn team() -> Option<Arc<dyn Team>> {
        RANKS.get().map(|ranks| Arc::new(ranks.clone()) as Arc<dyn Team>)
    }

    pub fn launched() -> Option<String> {
        RANKS.get().map(|ranks| format!("mpirun -n {} gputexel-mpi", ranks.size()))
    }

    /// The GPU of this rank if its machine has several, which are assigned to its ranks in turn.
    pub fn own_device() -> Option<DeviceList> {
        let rank = *LOCAL_RANK.get()?;
        let adapters = list_adapters();
        let real: Vec<usize> = (0..adapters.len())
            .filter(|&index| adapters[index].unusable.is_none() && !adapters[index].software)
            .collect();
        (real.len() > 1).then(|| DeviceList { devices: vec![(Some(real[rank % real.len()]), None)] })
    }
}

#[cfg(not(feature = "mpi"))]
pub fn team() -> Option<Arc<dyn Team>> {
    None
}

#[cfg(not(feature = "mpi"))]
pub fn launched() -> Option<String> {
    None
}

#[cfg(not(feature = "mpi"))]
pub fn own_device() -> Option<DeviceList> {
    None
}
