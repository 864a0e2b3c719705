//! Process setup that must happen before anything else runs.

/// Sets up the process; must be called first.
pub fn prepare() {
    return_large_blocks();
    survive_large_files();
    if std::env::var_os("XDG_RUNTIME_DIR").is_none_or(|folder| folder.is_empty()) {
        // Without that folder, a layer of Mesa that sorts GPUs by what a desktop prefers complains on standard error
        // each time adapters are listed; without a desktop it does nothing. SAFETY: no other thread runs yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Makes writing fail beyond the maximum file size (`ulimit -f`), instead of a signal killing the process silently.
/// The handler does nothing; an ignored signal would also be ignored by engines.
fn survive_large_files() {
    #[cfg(unix)]
    {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: no other thread runs yet, and a handler that does nothing may interrupt anything.
        unsafe {
            libc::signal(libc::SIGXFSZ, nothing as *const () as libc::sighandler_t);
        }
    }
}

/// Makes the allocator keep blocks of up to 32 MiB when they are freed. Each iteration of a population takes the same
/// ones again, and the system would have to fill them with zeros: a third of the time of 4,096 particles.
pub fn keep_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: settings of the allocator, which it reads under its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 29);
    }
}

/// Makes the allocator return blocks of 8 MiB or more as soon as they are freed. By default glibc keeps blocks of up
/// to 32 MiB once some have been freed, a third of the memory of a run on a million positions. Smaller blocks come
/// and go too often: a matrix of 768 parameters has 4.5 MiB. They stay, and few threads share them: the system
/// spent 8 % of the time of a run on the sample on filling them with zeros.
fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: settings of the allocator, before any other thread runs.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 8 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
        if std::thread::available_parallelism().is_ok_and(|cores| cores.get() <= 8) {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}
