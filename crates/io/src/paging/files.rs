//! Blocks in files without names, and the thread that keeps resident memory below the limit.

use std::alloc::Layout;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, Thread, park, sleep};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::fs::{Mode, OFlags, fstatfs, ftruncate, open, openat};

use crate::paging::{LimitError, Usage};

/// Alignment of mappings on every system; blocks that need more are not mapped.
const PAGE: usize = 4096;

/// Time between two checks of resident memory.
const EVERY: Duration = Duration::from_millis(1);

/// Maximum part of the limit that is kept free for memory that threads use between two checks, and as much for small
/// blocks; for small limits, a quarter.
const SLACK: u64 = 1 << 30;

/// Types of file systems whose files are in memory: tmpfs and ramfs, as in `linux/magic.h`.
const MEMORY_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Share of the free disk space that files may use, since other programs need some, too.
const SHARE: f64 = 0.9;

/// A memory limit, and the folder for blocks beyond it.
struct Limit {
    scratch: Scratch,
    /// Bytes of large blocks in memory before further ones go to files.
    in_memory: u64,
    /// Resident bytes from which the pages of files are unmapped.
    full: u64,
    /// `/proc/self/statm`.
    statm: File,
    /// The thread that runs [`evict`].
    evictor: Thread,
}

static LIMIT: OnceLock<Limit> = OnceLock::new();

/// Blocks in files. The list's own memory is small, and so is never in one.
static FILES: Mutex<Vec<MmapRaw>> = Mutex::new(Vec::new());

static NOW: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

fn files() -> MutexGuard<'static, Vec<MmapRaw>> {
    // No holder can leave it half changed.
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn usage() -> Usage {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Usage { in_files: of(&NOW), most_in_files: of(&MOST), refused: of(&REFUSED) }
}

/// Starts limiting memory.
///
/// # Errors
/// [`LimitError`].
pub(crate) fn begin(bytes: u64, folders: &[PathBuf]) -> Result<(), LimitError> {
    let scratch = Scratch::open_first(folders)?;
    if LIMIT.get().is_some() {
        return Err(LimitError::Set);
    }
    let unavailable = |error| LimitError::Folder("/proc/self/statm".into(), error);
    let statm = File::open("/proc/self/statm").map_err(unavailable)?;
    let evictor = Builder::new().name("paging".to_string()).spawn(evict).map_err(unavailable)?;
    let slack = (bytes / 4).min(SLACK);
    let (in_memory, full) = (bytes - 2 * slack, bytes - slack);
    let limit = Limit { scratch, in_memory, full, statm, evictor: evictor.thread().clone() };
    LIMIT.set(limit).map_err(|_| LimitError::Set)
}

/// Returns the bytes that large blocks may use in memory before further ones go to files.
pub(crate) fn room_in_memory() -> u64 {
    LIMIT.get().map_or(u64::MAX, |limit| limit.in_memory)
}

/// Returns a zeroed block in a file; `None` on failure.
pub(crate) fn map(layout: Layout) -> Option<*mut u8> {
    let limit = LIMIT.get().filter(|_| layout.align() <= PAGE)?;
    let length = layout.size() as u64;
    let now = NOW.fetch_add(length, Ordering::Relaxed) + length;
    let file = if now <= limit.scratch.room { limit.scratch.map(layout.size()).ok() } else { None };
    let Some(file) = file else {
        NOW.fetch_sub(length, Ordering::Relaxed);
        REFUSED.fetch_add(length, Ordering::Relaxed);
        return None;
    };
    let pointer = file.as_mut_ptr();
    files().push(file);
    MOST.fetch_max(now, Ordering::Relaxed);
    limit.evictor.unpark();
    Some(pointer)
}

/// Returns true if a block is in a file.
pub(crate) fn contains(pointer: *mut u8) -> bool {
    any() && files().iter().any(|file| file.as_mut_ptr() == pointer)
}

/// Ends the mapping of a block and frees its file; returns false if it is not in one.
pub(crate) fn unmap(pointer: *mut u8) -> bool {
    if !any() {
        return false;
    }
    let mut files = files();
    let Some(place) = files.iter().position(|file| file.as_mut_ptr() == pointer) else { return false };
    let file = files.swap_remove(place);
    drop(files);
    NOW.fetch_sub(file.len() as u64, Ordering::Relaxed);
    true
}

/// Returns true if there are any files.
fn any() -> bool {
    NOW.load(Ordering::Relaxed) > 0
}

/// Unmaps the pages of all files if too much of the process is resident. They return when they are used.
pub(crate) fn check() {
    if any()
        && let Some(limit) = LIMIT.get()
        && limit.resident().is_some_and(|bytes| bytes > limit.full)
    {
        for file in files().iter() {
            // SAFETY: the mapping is shared, so this drops references to the pages of its file, not their contents.
            let _ = unsafe { file.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }
}

/// Checks resident memory as long as the program runs and there are files.
fn evict() {
    loop {
        match any() {
            true => check(),
            false => park(),
        }
        sleep(EVERY);
    }
}

impl Limit {
    /// Returns the resident bytes of the process.
    fn resident(&self) -> Option<u64> {
        let mut text = [0; 128];
        let length = self.statm.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }
}

/// A folder for files without names.
struct Scratch {
    folder: OwnedFd,
    /// Maximum total size of the files, bytes.
    room: u64,
}

impl Scratch {
    /// Returns the first folder that can hold files.
    ///
    /// # Errors
    /// [`LimitError::Folder`] with the first folder if none can.
    fn open_first(folders: &[PathBuf]) -> Result<Self, LimitError> {
        let mut first = None;
        for folder in folders {
            match Self::open(folder) {
                Ok(scratch) => return Ok(scratch),
                Err(error) => first = first.or(Some(LimitError::Folder(folder.clone(), error))),
            }
        }
        Err(first.unwrap_or_else(|| LimitError::Folder(PathBuf::new(), io::ErrorKind::NotFound.into())))
    }

    fn open(folder: &Path) -> io::Result<Self> {
        let folder = open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
        let disk = fstatfs(&folder)?;
        // The type is signed on some systems; only its 32 bits are meaningful.
        if MEMORY_SYSTEMS.contains(&(disk.f_type as u64 & 0xffff_ffff)) {
            return Err(io::Error::other("its files are in memory themselves"));
        }
        let free = disk.f_bavail as f64 * disk.f_bsize as f64;
        let scratch = Self { folder, room: (free * SHARE) as u64 };
        scratch.map(1)?;
        Ok(scratch)
    }

    /// Returns zeroed memory backed by a file. Allocates nothing.
    ///
    /// Disk space is not reserved: the system would then take nine times as long to fill it.
    fn map(&self, length: usize) -> io::Result<MmapRaw> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(&self.folder, c".", flags, Mode::RUSR | Mode::WUSR)?;
        ftruncate(&file, length as u64)?;
        MmapOptions::new().len(length).map_raw(&file)
    }
}
