//! The allocator: counts requests for large blocks, and serves them from files if the count exceeds the limit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::copy_nonoverlapping;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::paging::{LARGE, files};

/// The system's allocator, with files for large blocks beyond a [`limit`](crate::paging::limit).
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: crate::paging::PagingAllocator = crate::paging::PagingAllocator;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PagingAllocator;

/// Bytes of large blocks in memory.
static IN_MEMORY: AtomicU64 = AtomicU64::new(0);

/// Returns the contribution of a block of `size` bytes to [`IN_MEMORY`].
fn counted(size: usize) -> u64 {
    if size >= LARGE { size as u64 } else { 0 }
}

/// Returns a block from a file, if there is no room for it in memory; from the system otherwise.
#[inline]
fn allocate(layout: Layout, system: impl FnOnce() -> *mut u8) -> *mut u8 {
    if layout.size() < LARGE {
        return system();
    }
    let size = layout.size() as u64;
    let in_memory = IN_MEMORY.fetch_add(size, Ordering::Relaxed).saturating_add(size);
    let in_file = if in_memory > files::room_in_memory() { files::map(layout) } else { None };
    let pointer = in_file.unwrap_or_else(system);
    if in_file.is_some() || pointer.is_null() {
        IN_MEMORY.fetch_sub(size, Ordering::Relaxed);
    }
    pointer
}

/// Returns true if the system's allocator may resize a block: it is not in a file, and the new size has room in memory.
fn stays_in_memory(pointer: *mut u8, from: usize, to: usize) -> bool {
    let others = IN_MEMORY.load(Ordering::Relaxed).saturating_sub(counted(from));
    let fits = to < LARGE || others.saturating_add(to as u64) <= files::room_in_memory();
    fits && !(from >= LARGE && files::contains(pointer))
}

// SAFETY: Blocks come either from the system's allocator or from a mapping of their own, which is as long, aligned to
// pages, and unmapped only when the block is freed. Mappings are listed; other blocks, and all below `LARGE`, are the
// system's.
unsafe impl GlobalAlloc for PagingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        allocate(layout, || unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above; new files are zeroed, too.
        allocate(layout, || unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            if files::unmap(pointer) {
                return;
            }
            IN_MEMORY.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        }
        // SAFETY: the block is not in a file, so it is the system's; promised by the caller otherwise.
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < LARGE || stays_in_memory(pointer, layout.size(), size) {
            // SAFETY: the block is the system's; promised by the caller otherwise.
            let moved = unsafe { System.realloc(pointer, layout, size) };
            if !moved.is_null() {
                IN_MEMORY.fetch_add(counted(size), Ordering::Relaxed);
                IN_MEMORY.fetch_sub(counted(layout.size()), Ordering::Relaxed);
            }
            return moved;
        }
        // SAFETY: the caller promises that the size is not 0 and valid for the alignment, and that the block has this
        // layout and is not used any more; the two blocks differ, and both are as long as what is copied.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                copy_nonoverlapping(pointer, moved, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}
