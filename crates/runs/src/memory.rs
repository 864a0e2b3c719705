//! Checks whether a request fits in this machine's memory.

use gputexel_io::memory::available;
use gputexel_io::{Error, Result};
use gputexel_optim::ParticleSwarmSettings;
use gputexel_report::{bytes, grouped};

/// A population may take 1 / `SHARE` of the free memory; the rest is for the evaluator.
const SHARE: u64 = 2;

fn check(members: usize, bytes_each: usize, available: u64) -> Result<()> {
    let (needed, room) = (members as u128 * bytes_each as u128, available / SHARE);
    if needed <= u128::from(room) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} members need {} of memory, but only {} is free: at most {} fit",
        grouped(members as u64),
        bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
        bytes(available),
        grouped(room / bytes_each as u64),
    )))
}

pub(crate) fn check_swarms(settings: &ParticleSwarmSettings, dimension: usize) -> Result<()> {
    let members = settings.members().unwrap_or(usize::MAX);
    let bytes_each = ParticleSwarmSettings::bytes_per_particle(dimension);
    available().map_or(Ok(()), |available| check(members, bytes_each, available))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_what_does() {
        check(100, 1000, 200_000).unwrap();
        let message = check(101, 1000, 200_000).unwrap_err().to_string();
        assert_eq!(
            message,
            "101 members need 101.0 kB of memory, but only 200.0 kB is free: at most 100 fit"
        );
        check(usize::MAX, usize::MAX, u64::MAX).unwrap_err();
        assert!(available().is_none_or(|bytes| bytes > 1 << 20));
    }
}
