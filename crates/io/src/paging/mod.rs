//! Memory limit: large arrays beyond it are kept in files.
//!
//! [`PagingAllocator`], the allocator of a program, passes requests on to the system's until large blocks together
//! exceed the [`limit`]. Further ones are mapped from files without a name in a scratch folder. Whenever too much of
//! the process is resident, the pages of these files are unmapped; the system loads them when they are used again. So
//! an array may be larger than memory, and no code that uses it needs to know; only the order in which it is traversed
//! decides the speed.
//!
//! A thread checks resident memory every millisecond. Threads that run through large arrays can load 30 GB per second,
//! which is too fast for it if cores are busy, so iterators over large arrays check, too: see [`keep_limit`]. Pages
//! that such threads load beyond the limit are in the system's cache, and leave memory when the system needs it.
//!
//! Files cost nothing while memory suffices, and are removed however the process ends. Together they use at most nine
//! tenths of the disk space that is free when the limit is set; further blocks stay in memory. If the disk fills up
//! anyway, the system kills the program (SIGBUS, "bus error").
//!
//! Linux only. On other systems [`limit`] returns an error, and the allocator is the system's.

#[cfg(target_os = "linux")]
mod allocator;
#[cfg(target_os = "linux")]
mod files;

use std::path::{Path, PathBuf};

use sysinfo::System;

#[cfg(target_os = "linux")]
pub use allocator::PagingAllocator;
#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as PagingAllocator;

/// Smallest size of a block that may go to a file, in bytes.
pub const LARGE: usize = 4 << 20;

/// Sizes of the blocks in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in files now.
    pub in_files: u64,
    /// Maximum bytes in files at any time.
    pub most_in_files: u64,
    /// Bytes of blocks that had no room in files and are in memory.
    pub refused: u64,
}

/// Reason why there can be no limit.
#[derive(Debug)]
pub enum LimitError {
    /// Not implemented for this system.
    Unsupported,
    /// The scratch folder cannot hold files without names, or is itself in memory.
    Folder(PathBuf, std::io::Error),
    /// A limit was set before.
    Set,
}

impl std::fmt::Display for LimitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsupported => write!(f, "memory can only be limited on Linux"),
            Self::Folder(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Set => write!(f, "the memory is limited already"),
        }
    }
}

impl std::error::Error for LimitError {}

/// Limits the resident memory of the process to about `bytes` from now on: large blocks without room go to files in the
/// first of `folders` that can hold them. Small blocks and working memory are not limited.
///
/// # Errors
/// [`LimitError`]; memory then stays unlimited.
pub fn limit(bytes: u64, folders: &[PathBuf]) -> Result<(), LimitError> {
    #[cfg(target_os = "linux")]
    {
        files::begin(bytes, folders)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (bytes, folders);
        Err(LimitError::Unsupported)
    }
}

/// Unmaps blocks in files if too much of the process is resident. For iterators that consume large arrays at the speed
/// of memory, every few megabytes: it takes a microsecond, and no time if nothing is in files.
#[inline]
pub fn keep_limit() {
    #[cfg(target_os = "linux")]
    files::check();
}

/// Returns a large slice in portions of a few megabytes, with [`keep_limit`] before each.
pub fn portions<T>(slice: &[T]) -> impl Iterator<Item = &[T]> {
    slice.chunks((LARGE / size_of::<T>().max(1)).max(1)).inspect(|_| keep_limit())
}

/// Returns the current and largest sizes of blocks in files.
pub fn usage() -> Usage {
    #[cfg(target_os = "linux")]
    return files::usage();
    #[cfg(not(target_os = "linux"))]
    Usage::default()
}

/// Returns the folders for scratch files if the user names none: that for temporary files, `/var/tmp`, which is on a
/// disk where `/tmp` is in memory, and the current folder.
pub fn scratch_folders() -> Vec<PathBuf> {
    vec![std::env::temp_dir(), Path::new("/var/tmp").to_path_buf(), Path::new(".").to_path_buf()]
}

/// Returns the free memory in bytes, according to the system and the limits of a container; `None` if the system does
/// not report it.
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

/// Other systems have no such limit, or no way to query the rest of it.
#[cfg(not(target_os = "linux"))]
fn allowed() -> u64 {
    u64::MAX
}
