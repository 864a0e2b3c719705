//! The thread that keeps what is resident below the limit.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::thread::{Builder, park};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};

use crate::LimitError;
use crate::blocks;
use crate::scratch::Scratch;

/// How often memory is looked at, beside what threads do themselves.
const EVERY: Duration = Duration::from_millis(2);

/// Most of the limit that is kept free for what threads bring in between two looks, and as much for small blocks; of
/// small limits, a quarter.
const SLACK: u64 = 1 << 30;

static SCRATCH: OnceLock<Scratch> = OnceLock::new();
static WATCH: OnceLock<Watch> = OnceLock::new();

/// What is looked at, and what is allowed.
struct Watch {
    statm: OwnedFd,
    /// Bytes from which on files leave memory.
    full: u64,
}

/// Begins to limit memory.
pub(crate) fn begin(bytes: u64, scratch: Scratch) -> Result<(), LimitError> {
    SCRATCH.set(scratch).map_err(|_| LimitError::Set)?;
    let unavailable = |error: std::io::Error| LimitError::Folder("/proc/self/statm".into(), error);
    let statm = open(c"/proc/self/statm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let statm = statm.map_err(|error| unavailable(error.into()))?;
    let slack = (bytes / 4).min(SLACK);
    let full = bytes - slack;
    let watch = WATCH.get_or_init(|| Watch { statm, full });
    let thread = Builder::new().name("paging".to_string()).spawn(move || watch.keep_on());
    let thread = thread.map_err(unavailable)?;
    explain_faults();
    if let Some(scratch) = SCRATCH.get() {
        blocks::begin(bytes - 2 * slack, scratch, thread.thread().clone());
    }
    Ok(())
}

/// Has a disk that is full, or fails, end the program with a message: memory that is a file cannot be read or written
/// then, and nothing can go on that was about to.
fn explain_faults() {
    extern "C" fn explain(_: libc::c_int) {
        const TEXT: &[u8] =
            b"gputexel: the disk of the scratch folder is full or fails; free some room, or give \
            another folder (--scratch), and resume the run\n";
        // SAFETY: none of these functions allocates or locks, and the last does not return.
        unsafe {
            if !blocks::any() {
                // Of no file of ours: what would have happened without this handler happens on return.
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
                return;
            }
            libc::write(libc::STDERR_FILENO, TEXT.as_ptr().cast(), TEXT.len());
            libc::_exit(1);
        }
    }
    let handler: extern "C" fn(libc::c_int) = explain;
    // SAFETY: the handler calls nothing that a handler must not.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

/// See [`keep_limit`](crate::keep_limit).
pub(crate) fn check() {
    if blocks::any()
        && let Some(watch) = WATCH.get()
    {
        watch.check();
    }
}

impl Watch {
    /// Evicts the pages of files whenever too much is resident, for as long as the program runs.
    fn keep_on(&self) {
        loop {
            match blocks::any() {
                true => self.check(),
                false => park(),
            }
            std::thread::sleep(EVERY);
        }
    }

    fn check(&self) {
        if self.resident().is_some_and(|bytes| bytes > self.full) {
            blocks::evict_all();
        }
    }

    /// Bytes of the process that are in memory.
    fn resident(&self) -> Option<u64> {
        let mut text = [0u8; 128];
        let length = rustix::io::pread(&self.statm, &mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(pages * rustix::param::page_size() as u64)
    }
}
