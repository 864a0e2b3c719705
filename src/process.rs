//! What a process of the program settles before anything else runs.

/// Has large arrays go to files where memory is limited.
#[global_allocator]
static ALLOCATOR: gputexel_io::paging::PagingAllocator = gputexel_io::paging::PagingAllocator;

/// To be called first.
pub fn prepare() {
    return_large_blocks();
    survive_large_files();
    gputexel::matches::client::supervise_engines();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none_or(|folder| folder.is_empty()) {
        // Without that folder, a layer of Mesa that sorts GPUs by what a desktop prefers complains
        // on standard error each time adapters are listed; where there is no desktop it is idle.
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Has writing fail beyond the largest size of files (`ulimit -f`), instead of a signal ending the process without a
/// word. A function that does nothing, since what is ignored would be ignored by engines, too.
fn survive_large_files() {
    #[cfg(unix)]
    {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: no other thread runs yet, and a function that does nothing may interrupt anything.
        unsafe {
            libc::signal(libc::SIGXFSZ, nothing as *const () as libc::sighandler_t);
        }
    }
}

/// Has the allocator give blocks of 8 MiB back as soon as they are free. By itself glibc's keeps those of up to 32 MiB
/// once some have been freed, a third of what a run of a million positions takes. Smaller ones come and go too often:
/// a matrix of 768 parameters has 4.5 MiB.
fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a setting of the allocator, before any other thread runs.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 8 << 20);
    }
}
