//! The free memory of the machine.

use sysinfo::System;

/// Returns the free memory in bytes, according to the system and the limits of a container.
pub fn available() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let free = system.cgroup_limits().map_or(u64::MAX, |limits| limits.free_memory);
    Some(system.available_memory().min(free)).filter(|&bytes| bytes > 0).map(|bytes| bytes.min(allowed()))
}

/// Returns the bytes that this process may still allocate under its own limit (`ulimit -v`).
#[cfg(target_os = "linux")]
fn allowed() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX);
    let taken = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |pages| pages * rustix::param::page_size() as u64);
    limit.saturating_sub(taken)
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> u64 {
    u64::MAX
}
