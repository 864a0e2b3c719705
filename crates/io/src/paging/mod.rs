//! A limit on memory: large arrays beyond it live in files.
//!
//! [`PagingAllocator`], the allocator of a program, passes requests on to the system's until large blocks
//! together exceed what [`limit`] allows. Further ones are mapped from files without a name in a scratch folder.
//! Whenever too much of the process is resident, the pages of these files are unmapped; the system brings them back
//! when they are used again. So an array may be larger than memory, and no code that uses it has to know; only the
//! order in which it is traversed decides how fast that is.
//!
//! A thread looks at what is resident every millisecond. Threads that run through large arrays can bring in 30 GB a
//! second, which is too fast for it where cores are busy, so iterators over large arrays look, too: see [`keep_limit`].
//! What such threads bring in beyond the limit is in the system's cache, and leaves memory when the system needs it.
//!
//! Files cost nothing while memory suffices, and leave nothing behind, however the process ends. Together they take no
//! more than nine tenths of what the disk has free when the limit is set; what is beyond stays in memory. Should the
//! disk fill up all the same, the system ends the program (SIGBUS, "bus error").
//!
//! Linux only. Elsewhere [`limit`] says so, and the allocator is the system's.

#[cfg(target_os = "linux")]
mod allocator;
mod available;
#[cfg(target_os = "linux")]
mod files;

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub use allocator::PagingAllocator;
pub use available::available;
#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as PagingAllocator;

/// Smallest size of a block that may go to a file, in bytes.
pub const LARGE: usize = 4 << 20;

/// Sizes of what is in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in files now.
    pub in_files: u64,
    /// Most bytes in files at any time.
    pub most_in_files: u64,
    /// Bytes that were to be in files and had no room there; they are in memory.
    pub refused: u64,
}

/// A reason why there can be no limit.
#[derive(Debug)]
pub enum LimitError {
    /// The system is not one that this is implemented for.
    Unsupported,
    /// The scratch folder cannot hold files without names, or is itself in memory.
    Folder(PathBuf, std::io::Error),
    /// A limit had been set before.
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

/// Keeps the process from having more than about `bytes` resident, from now on: large blocks for which there is no
/// room go to files in the first of `folders` that can hold them. Small blocks, and what is computed
/// with at a time, are not limited.
///
/// # Errors
/// [`LimitError`], after which memory is as unlimited as before.
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

/// Unmaps what is in files if too much of the process is resident. For iterators over large arrays that are used up at
/// the speed of memory, every few megabytes: it takes a microsecond, and nothing where nothing is in files.
#[inline]
pub fn keep_limit() {
    #[cfg(target_os = "linux")]
    files::check();
}

/// A large slice in portions of a few megabytes, with [`keep_limit`] before each.
pub fn portions<T>(slice: &[T]) -> impl Iterator<Item = &[T]> {
    slice.chunks((LARGE / size_of::<T>().max(1)).max(1)).inspect(|_| keep_limit())
}

/// Sizes of what is in files, now and before.
pub fn usage() -> Usage {
    #[cfg(target_os = "linux")]
    return files::usage();
    #[cfg(not(target_os = "linux"))]
    Usage::default()
}

/// Folders for scratch files if the user names none: that for temporary files, `/var/tmp`, which is on a disk where
/// `/tmp` is in memory, and the current folder.
pub fn scratch_folders() -> Vec<PathBuf> {
    vec![std::env::temp_dir(), Path::new("/var/tmp").to_path_buf(), Path::new(".").to_path_buf()]
}
