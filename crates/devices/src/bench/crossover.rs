//! From where a GPU is faster than all threads of the CPU.

use serde::{Deserialize, Serialize};

use super::DeviceReport;

/// A GPU beside the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Name of the GPU.
    pub device: String,
    /// Members from which it is faster at the loss, of those measured; `None` where it is not.
    pub members_for_loss: Option<usize>,
    /// Members from which it is faster at loss and gradient.
    pub members_for_gradient: Option<usize>,
    /// Positions from which it is faster with 64 members and gradient, interpolated between those measured.
    pub positions: Option<usize>,
}

/// The crossovers of all GPUs that were measured beside a CPU.
pub(super) fn find(devices: &[DeviceReport]) -> Vec<Crossover> {
    let Some(cpu) = devices.iter().rfind(|device| device.threads.is_some()) else { return Vec::new() };
    let gpus = devices.iter().filter(|device| device.threads.is_none() && device.error.is_none());
    gpus.map(|gpu| Crossover {
        device: gpu.name.clone(),
        members_for_loss: members(cpu, gpu, false),
        members_for_gradient: members(cpu, gpu, true),
        positions: positions(&cpu.sizes, &gpu.sizes),
    })
    .collect()
}

/// The smallest number of members from which on the GPU has more pairs per second, as far as it was measured.
fn members(cpu: &DeviceReport, gpu: &DeviceReport, gradients: bool) -> Option<usize> {
    let mut from = None;
    let of = |device: &DeviceReport| -> Vec<(usize, f64)> {
        let cells = device.cells.iter().filter(|cell| cell.gradients == gradients);
        cells.map(|cell| (cell.members, cell.pairs_per_second)).collect()
    };
    for ((members, cpu), (_, gpu)) in of(cpu).into_iter().zip(of(gpu)).rev() {
        if gpu <= cpu {
            break;
        }
        from = Some(members);
    }
    from
}

/// Where the times of two devices meet, both axes being logarithmic. The GPU must be faster from there on.
fn positions(cpu: &[(usize, f64)], gpu: &[(usize, f64)]) -> Option<usize> {
    let mut from = None;
    let pairs: Vec<_> = cpu.iter().zip(gpu).collect();
    for (i, ((positions, cpu_time), (_, gpu_time))) in pairs.iter().enumerate().rev() {
        if gpu_time <= cpu_time {
            from = Some(*positions);
            continue;
        }
        if let Some(((next, cpu_next), (_, gpu_next))) = pairs.get(i + 1).filter(|_| from.is_some()) {
            // Logarithms of the ratio of times, on both sides of the meeting point.
            let (here, there) = ((gpu_time / cpu_time).ln(), (gpu_next / cpu_next).ln());
            let share = here / (here - there);
            let at = (*positions as f64).ln() * (1.0 - share) + (*next as f64).ln() * share;
            from = Some(at.exp().round() as usize);
        }
        break;
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_meet_between_what_was_measured() {
        let cpu = [(100, 1e-4), (1000, 1e-3), (10_000, 1e-2)];
        // A round trip of 1 ms, then twice as fast.
        assert_eq!(positions(&cpu, &[(100, 1e-3), (1000, 1e-3), (10_000, 5e-3)]), Some(1000));
        let between = positions(&cpu, &[(100, 1e-3), (1000, 2e-3), (10_000, 5e-3)]);
        assert_eq!(between, Some(3162));
        assert_eq!(positions(&cpu, &[(100, 1e-5), (1000, 1e-4), (10_000, 1e-3)]), Some(100));
        assert_eq!(positions(&cpu, &[(100, 1e-2), (1000, 1e-1), (10_000, 1.0)]), None);
        // Faster in the middle only is not faster from there on.
        assert_eq!(positions(&cpu, &[(100, 1e-2), (1000, 1e-4), (10_000, 1.0)]), None);
    }
}
