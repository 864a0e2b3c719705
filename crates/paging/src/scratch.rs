//! The scratch folder, and blocks of its disk mapped into memory.

use std::ffi::c_void;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use rustix::fs::{Mode, OFlags, fstatfs, ftruncate, open, openat};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::LimitError;

/// Types of file systems whose files are in memory: tmpfs and ramfs, as in `linux/magic.h`.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// A folder for files without names.
pub(crate) struct Scratch {
    folder: OwnedFd,
    /// Bytes that files may have together.
    pub room: u64,
}

/// Of the room that the disk has at the beginning, what files may take; other programs need some, too.
const SHARE: f64 = 0.9;

/// The first folder that can hold files.
///
/// # Errors
/// [`LimitError::Folder`] with the first folder if none can.
pub(crate) fn open_first(folders: &[PathBuf]) -> Result<Scratch, LimitError> {
    let mut first = None;
    for folder in folders {
        match Scratch::open(folder) {
            Ok(scratch) => return Ok(scratch),
            Err(error) => first = first.or(Some(LimitError::Folder(folder.clone(), error))),
        }
    }
    Err(first.unwrap_or_else(|| LimitError::Folder(PathBuf::new(), io::ErrorKind::NotFound.into())))
}

impl Scratch {
    fn open(folder: &Path) -> io::Result<Self> {
        let folder = open(folder, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
        let disk = fstatfs(&folder)?;
        // The type is signed on some systems; only its 32 bits mean anything.
        if IN_MEMORY.contains(&(disk.f_type as u64 & 0xffff_ffff)) {
            return Err(io::Error::other("its files are in memory themselves"));
        }
        let free = disk.f_bavail as f64 * disk.f_bsize as f64;
        let scratch = Self { folder, room: (free * SHARE) as u64 };
        scratch.file(1)?;
        Ok(scratch)
    }

    /// A file without a name. Allocates nothing.
    ///
    /// Its room is not reserved: the system then takes nine times as long to fill it.
    fn file(&self, length: usize) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = openat(&self.folder, c".", flags, Mode::RUSR | Mode::WUSR)?;
        ftruncate(&file, length as u64)?;
        Ok(file)
    }

    /// Zeroed memory that is a file. Allocates nothing.
    pub fn map(&self, length: usize) -> rustix::io::Result<*mut u8> {
        let file = self.file(length)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place of the system's choice, of a file that nobody else can open. It stays
        // valid when the descriptor is closed.
        let address = unsafe { mmap(null_mut(), length, protection, MapFlags::SHARED, &file, 0)? };
        Ok(address.cast())
    }
}

/// Ends a mapping, and frees the file's room.
///
/// # Safety
/// `address` and `length` are those of [`Scratch::map`], and nothing refers to the block.
pub(crate) unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: promised by the caller. It cannot fail for a whole mapping.
    let _ = unsafe { munmap(address.cast::<c_void>(), length) };
}

/// Has the pages of a mapping leave memory. Their contents stay in the file, and come back when used.
///
/// # Safety
/// `address` and `length` are those of [`Scratch::map`], and the block is not yet unmapped.
pub(crate) unsafe fn evict(address: *mut u8, length: usize) {
    // SAFETY: the mapping is shared, so that this drops nothing but references to the pages of its file; promised by
    // the caller otherwise.
    let _ = unsafe { madvise(address.cast::<c_void>(), length, Advice::LinuxDontNeed) };
}
