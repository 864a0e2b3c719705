//! Whether what is asked for fits the memory of this machine.

use gputexel::{Error, Result};
use sysinfo::System;

use super::table::{bytes, grouped};

/// Share of the free memory that a population may take; the rest is for the evaluator.
const SHARE: u64 = 2;

/// Bytes that are free, by the system and by the limits of a container; `None` where the system
/// does not tell.
fn available() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let free = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    Some(system.available_memory().min(free)).filter(|&bytes| bytes > 0).map(|bytes| bytes.min(allowed()))
}

/// Bytes that this process may still take by its own limit (`ulimit -v`).
#[cfg(target_os = "linux")]
fn allowed() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX);
    let taken = gputexel::read_whole_text("/proc/self/statm".as_ref(), gputexel::SETTINGS_BYTES)
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |pages| pages * rustix::param::page_size() as u64);
    limit.saturating_sub(taken)
}

/// Elsewhere there is no such limit, or no way to ask for what is left of it.
#[cfg(not(target_os = "linux"))]
fn allowed() -> u64 {
    u64::MAX
}

/// The bytes that are free, where they are fewer than needed.
pub fn shortage(needed: u64) -> Option<u64> {
    available().filter(|&free| free < needed)
}

/// Checks that a population of `members` with so many bytes each fits.
///
/// # Errors
/// [`Error::Usage`] saying what would be needed and how many members fit.
pub fn check_population(members: usize, bytes_each: usize) -> Result<()> {
    let Some(available) = available() else { return Ok(()) };
    check(members, bytes_each, available)
}

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
