//! A limit on memory: large arrays beyond it live in files.
//!
//! [`PagingAllocator`], the allocator of a program, passes requests on to the system's until large blocks
//! together exceed what [`limit`] allows. Further ones are mapped from files without a name in a scratch folder.
//! Whenever too much of the process is resident, the pages of these files are unmapped; the system brings them back
//! when they are used again. So an array may be larger than memory, and no code that uses it has to know; only the
//! order in which it is traversed decides how fast that is.
//!
//! A thread looks at what is resident every few milliseconds. Threads that run through large arrays can bring in
//! 30 GB a second, which is too fast for it where cores are busy, so they look themselves: see [`keep_limit`].
//!
//! Files cost nothing while memory suffices, and leave nothing behind, however the process ends. Together they take no
//! more than nine tenths of what the disk has free when the limit is set; what is beyond stays in memory. Should the
//! disk fill up all the same, the program ends with a message.
//!
//! Linux only. Elsewhere [`limit`] says so, and the allocator is the system's.

mod available;
#[cfg(target_os = "linux")]
mod blocks;
#[cfg(target_os = "linux")]
mod eviction;
#[cfg(target_os = "linux")]
mod scratch;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};

pub use available::available;

/// Smallest size of a block that may go to a file, in bytes.
pub const LARGE: usize = 4 << 20;

/// The system's allocator, with files for large blocks beyond a [`limit`].
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: gputexel_paging::PagingAllocator = gputexel_paging::PagingAllocator;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PagingAllocator;

/// How much there is in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in files now.
    pub in_files: u64,
    /// Most bytes in files at any time.
    pub most_in_files: u64,
    /// Bytes that were to be in files and had no room there; they are in memory.
    pub refused: u64,
}

/// Why there can be no limit.
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
/// room go to files in the first of `folders` that can hold them. What small blocks take, and what is computed
/// with at a time, is not limited.
///
/// # Errors
/// [`LimitError`], after which memory is as unlimited as before.
pub fn limit(bytes: u64, folders: &[PathBuf]) -> Result<(), LimitError> {
    #[cfg(target_os = "linux")]
    {
        let scratch = scratch::open_first(folders)?;
        eviction::begin(bytes, scratch)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (bytes, folders);
        Err(LimitError::Unsupported)
    }
}

/// Unmaps what is in files if too much of the process is resident. For loops over large arrays, every few megabytes: it
/// takes a microsecond, and nothing where nothing is in files.
#[inline]
pub fn keep_limit() {
    #[cfg(target_os = "linux")]
    eviction::check();
}

/// A large slice in portions of a few megabytes, with [`keep_limit`] before each.
pub fn portions<T>(slice: &[T]) -> impl Iterator<Item = &[T]> {
    slice.chunks((LARGE / size_of::<T>().max(1)).max(1)).inspect(|_| keep_limit())
}

/// What is in files.
pub fn usage() -> Usage {
    #[cfg(target_os = "linux")]
    return blocks::usage();
    #[cfg(not(target_os = "linux"))]
    Usage::default()
}

/// Folders for scratch files if the user names none: that for temporary files, `/var/tmp`, which is on a disk where
/// `/tmp` is in memory, and the current folder.
pub fn scratch_folders() -> Vec<PathBuf> {
    vec![std::env::temp_dir(), Path::new("/var/tmp").to_path_buf(), Path::new(".").to_path_buf()]
}

// SAFETY: Blocks come either from the system's allocator or from a mapping of their own, which is as long, aligned to
// pages, and unmapped only when the block is freed. Which of the two is known for each block of at least `LARGE`
// bytes; smaller ones are always the system's.
unsafe impl GlobalAlloc for PagingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        #[cfg(target_os = "linux")]
        if layout.size() >= LARGE {
            return blocks::alloc(layout, false);
        }
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        #[cfg(target_os = "linux")]
        if layout.size() >= LARGE {
            return blocks::alloc(layout, true);
        }
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        #[cfg(target_os = "linux")]
        if layout.size() >= LARGE {
            // SAFETY: the caller promises that the block has this layout and is not used any more.
            return unsafe { blocks::dealloc(pointer, layout) };
        }
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        #[cfg(target_os = "linux")]
        if layout.size() >= LARGE || size >= LARGE {
            // SAFETY: as above; the caller promises that the new size is valid for the alignment, too.
            return unsafe { blocks::realloc(pointer, layout, size) };
        }
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
