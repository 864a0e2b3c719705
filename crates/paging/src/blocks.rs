//! Large blocks: which of them are in files.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use crate::scratch::{self, Scratch};
use crate::{LARGE, Usage};

/// Alignment of mappings on every system; what needs more is not mapped.
const PAGE: usize = 4096;

/// A block in a file.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    length: usize,
}

/// Blocks in files. The list's own memory is small, and so is never in one.
static IN_FILES: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Bytes of large blocks in memory.
static IN_MEMORY: AtomicU64 = AtomicU64::new(0);
/// Bytes that large blocks may have in memory before further ones go to files.
static ROOM: AtomicU64 = AtomicU64::new(u64::MAX);
/// Where files are made; null as long as there is no limit.
static SCRATCH: AtomicPtr<Scratch> = AtomicPtr::new(null_mut());

/// The thread that evicts.
static WAKED: OnceLock<Thread> = OnceLock::new();

static NOW: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

fn in_files() -> MutexGuard<'static, Vec<Block>> {
    // Whoever held it did nothing that could have left it half changed.
    IN_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn usage() -> Usage {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    Usage { in_files: of(&NOW), most_in_files: of(&MOST), refused: of(&REFUSED) }
}

/// Has large blocks beyond `room` bytes go to files, once and for all, and wakes a thread whenever one does.
pub(crate) fn begin(room: u64, scratch: &'static Scratch, waked: Thread) {
    let _ = WAKED.set(waked);
    ROOM.store(room, Ordering::Relaxed);
    SCRATCH.store(std::ptr::from_ref(scratch).cast_mut(), Ordering::Release);
}

/// A block of at least [`LARGE`] bytes; null if there is no memory.
pub(crate) fn alloc(layout: Layout, zeroed: bool) -> *mut u8 {
    let size = layout.size() as u64;
    if IN_MEMORY.fetch_add(size, Ordering::Relaxed).saturating_add(size) > ROOM.load(Ordering::Relaxed) {
        let pointer = in_file(layout);
        if !pointer.is_null() {
            IN_MEMORY.fetch_sub(size, Ordering::Relaxed);
            return pointer;
        }
    }
    // SAFETY: `layout` has a size of at least `LARGE`.
    let pointer = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if pointer.is_null() {
        IN_MEMORY.fetch_sub(size, Ordering::Relaxed);
    }
    pointer
}

/// A zeroed block in a file; null if there can be none.
fn in_file(layout: Layout) -> *mut u8 {
    let scratch = SCRATCH.load(Ordering::Acquire);
    if scratch.is_null() || layout.align() > PAGE {
        return null_mut();
    }
    let length = layout.size();
    // SAFETY: it is never freed, and was stored after it was made.
    let scratch = unsafe { &*scratch };
    let now = NOW.fetch_add(length as u64, Ordering::Relaxed) + length as u64;
    let mapped = if now <= scratch.room { scratch.map(length).ok() } else { None };
    let Some(pointer) = mapped else {
        NOW.fetch_sub(length as u64, Ordering::Relaxed);
        REFUSED.fetch_add(length as u64, Ordering::Relaxed);
        return null_mut();
    };
    in_files().push(Block { address: pointer as usize, length });
    MOST.fetch_max(now, Ordering::Relaxed);
    if let Some(thread) = WAKED.get() {
        thread.unpark();
    }
    pointer
}

/// Removes a block from the list; whether it was there.
fn forget(pointer: *mut u8) -> bool {
    if NOW.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let mut blocks = in_files();
    match blocks.iter().position(|block| block.address == pointer as usize) {
        Some(place) => {
            let block = blocks.swap_remove(place);
            NOW.fetch_sub(block.length as u64, Ordering::Relaxed);
            true
        }
        None => false,
    }
}

/// Frees a block of at least [`LARGE`] bytes.
///
/// # Safety
/// As for [`GlobalAlloc::dealloc`].
pub(crate) unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    if forget(pointer) {
        // SAFETY: it was in the list, so it is a mapping of this length; it is out of it, so nobody evicts it.
        unsafe { scratch::unmap(pointer, layout.size()) };
        return;
    }
    IN_MEMORY.fetch_sub(layout.size() as u64, Ordering::Relaxed);
    // SAFETY: whatever is not in the list is the system's.
    unsafe { System.dealloc(pointer, layout) };
}

/// Gives a block another size, where the old or the new one is at least [`LARGE`].
///
/// # Safety
/// As for [`GlobalAlloc::realloc`].
pub(crate) unsafe fn realloc(pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    let (before, after) = (count(layout.size()), count(size));
    let others = IN_MEMORY.load(Ordering::Relaxed).saturating_sub(before);
    let is_in_file = before > 0 && is_in_file(pointer);
    if !is_in_file && others.saturating_add(after) <= ROOM.load(Ordering::Relaxed) {
        // SAFETY: the block is the system's; promised by the caller otherwise.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            IN_MEMORY.fetch_add(after, Ordering::Relaxed);
            IN_MEMORY.fetch_sub(before, Ordering::Relaxed);
        }
        return moved;
    }
    // SAFETY: the caller promises that the size is valid for the alignment.
    let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
    let moved = match size >= LARGE {
        true => alloc(new, false),
        // SAFETY: the caller promises that the size is not 0.
        false => unsafe { System.alloc(new) },
    };
    if !moved.is_null() {
        // SAFETY: both blocks are at least as long, and different.
        unsafe { copy_nonoverlapping(pointer, moved, layout.size().min(size)) };
        match layout.size() >= LARGE {
            // SAFETY: promised by the caller.
            true => unsafe { dealloc(pointer, layout) },
            // SAFETY: small blocks are the system's.
            false => unsafe { System.dealloc(pointer, layout) },
        }
    }
    moved
}

fn is_in_file(pointer: *mut u8) -> bool {
    NOW.load(Ordering::Relaxed) > 0 && in_files().iter().any(|block| block.address == pointer as usize)
}

/// What a block of a size adds to [`IN_MEMORY`].
fn count(size: usize) -> u64 {
    if size >= LARGE { size as u64 } else { 0 }
}

/// Has all pages of files leave memory.
pub(crate) fn evict_all() {
    let blocks = in_files();
    for block in blocks.iter() {
        // SAFETY: it is in the list, which is locked, so it is mapped.
        unsafe { scratch::evict(block.address as *mut u8, block.length) };
    }
}

/// Whether there are any files.
pub(crate) fn any() -> bool {
    NOW.load(Ordering::Relaxed) > 0
}
