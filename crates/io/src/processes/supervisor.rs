//! The other instance of this program, which is the parent of the engine.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::{Errno, FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::group::die_with_parent;

/// The first argument of the other instance; the number of the socket and the engine's command follow.
pub(super) const FLAG: &str = "--supervise-engine";

pub(super) const PROCESS_NAME: &str = "engine-supervisor";

pub(super) const MESSAGE_BYTES: usize = 5;

/// This program, even if its file has been replaced since.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Stack size of a thread that only waits.
const STACK_BYTES: usize = 128 << 10;

const REAP_TIMEOUT: Duration = Duration::from_secs(1);

static SERVES: AtomicBool = AtomicBool::new(false);

static CHILDLESS: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Started,
    Failed(i32),
    /// It has ended: its status as returned by `wait`.
    Exited(i32),
}

impl Message {
    fn to_bytes(self) -> [u8; MESSAGE_BYTES] {
        let (tag, number) = match self {
            Self::Started => (b'S', 0),
            Self::Failed(errno) => (b'F', errno),
            Self::Exited(status) => (b'E', status),
        };
        let [a, b, c, d] = number.to_ne_bytes();
        [tag, a, b, c, d]
    }

    pub(super) fn from_bytes([tag, a, b, c, d]: [u8; MESSAGE_BYTES]) -> Option<Self> {
        let number = i32::from_ne_bytes([a, b, c, d]);
        match tag {
            b'S' => Some(Self::Started),
            b'F' => Some(Self::Failed(number)),
            b'E' => Some(Self::Exited(number)),
            _ => None,
        }
    }
}

pub(super) fn program() -> Option<&'static Path> {
    let path = Path::new(OWN_PROGRAM);
    (SERVES.load(Ordering::Relaxed) && path.exists()).then_some(path)
}

pub(super) fn serve_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != FLAG) {
        SERVES.store(true, Ordering::Relaxed);
        return;
    }
    let Some((socket, engine)) = read_arguments(arguments) else {
        let _ = writeln!(io::stderr(), "gputexel: {FLAG}: is for gputexel's own use");
        std::process::exit(2);
    };
    if let Err(error) = serve(&socket, engine) {
        let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        let _ = (&socket).write_all(&Message::Failed(errno).to_bytes());
    }
    std::process::exit(1);
}

fn read_arguments(mut arguments: impl Iterator<Item = OsString>) -> Option<(UnixStream, Command)> {
    let number: RawFd = arguments.next()?.to_str()?.parse().ok().filter(|number| *number > 2)?;
    let mut engine = Command::new(arguments.next()?);
    engine.args(arguments);
    // SAFETY: the number is only queried; if nothing is open under it, the system reports an error.
    fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).ok()?;
    // SAFETY: it is open. This process has just begun and has opened nothing itself, so the descriptor was passed to
    // it, and this is the only place that takes it.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(number) });
    // Anything but a socket is not connected.
    socket.peer_addr().ok()?;
    // The engine does not inherit it.
    fcntl_setfd(socket.as_fd(), FdFlags::CLOEXEC).ok()?;
    Some((socket, engine))
}

/// Starts the engine, and waits until it is to be killed. Returns only with an error, before the engine was started.
fn serve(socket: &UnixStream, mut engine: Command) -> io::Result<()> {
    // Processes that lose their parent below become children of this process.
    set_child_subreaper(Some(getpid()))?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let theirs = socket.try_clone()?;
    let builder = thread::Builder::new().stack_size(STACK_BYTES);
    builder.spawn(move || {
        wait_for_end(theirs);
        end();
    })?;
    // Signals that end this process end the engine as well.
    let _ = ctrlc::set_handler(end);
    // This thread lasts until the process ends.
    die_with_parent(&mut engine);
    // A separate group: engines, and scripts that start them, may kill their own group.
    let engine = engine.process_group(0).spawn()?;
    // Its pipes end with the engine, as if it were alone.
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    // If nobody listens, the other thread ends this process.
    let say = |message: Message| drop((&mut &*socket).write_all(&message.to_bytes()));
    say(Message::Started);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == Pid::from_child(&engine) => {
                say(Message::Exited(status.as_raw()));
            }
            // An orphan, for which nobody else waits.
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    CHILDLESS.store(true, Ordering::Relaxed);
    loop {
        thread::park();
    }
}

fn wait_for_end(mut socket: UnixStream) {
    let mut byte = [0];
    loop {
        match socket.read(&mut byte) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn end() {
    let mut pause = Duration::from_millis(1);
    // Processes started meanwhile are found in the next round.
    while kill_descendants() {
        thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(20));
    }
    // Zombies would otherwise be left to whichever process inherits them, which may not reap them.
    let until = Instant::now() + REAP_TIMEOUT;
    while !CHILDLESS.load(Ordering::Relaxed) && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
    std::process::exit(0);
}

fn kill_descendants() -> bool {
    let processes = processes();
    let mut found = false;
    let mut parents = vec![getpid().as_raw_pid()];
    while let Some(parent) = parents.pop() {
        for process in processes.iter().filter(|process| process.parent == parent) {
            parents.push(process.id);
            // Processes of another user cannot be killed, and are not waited for.
            found |= process.lives
                && Pid::from_raw(process.id).is_some_and(|id| kill_process(id, Signal::KILL).is_ok());
        }
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    lives: bool,
}

fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let read = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        // A process that has just ended has no file.
        Process::parse(id, &std::fs::read(entry.path().join("stat")).ok()?)
    };
    entries.filter_map(read).collect()
}

impl Process {
    /// Reads `id (name) state parent …`. The name may contain anything, including parentheses and bytes that are not
    /// text.
    fn parse(id: i32, stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let mut words = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
        let lives = !["Z", "X", "x"].contains(&words.next()?);
        Some(Self { id, parent: words.next()?.parse().ok()?, lives })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were() {
        for message in [Message::Started, Message::Failed(2), Message::Exited(-1), Message::Exited(0x8b)] {
            assert_eq!(Message::from_bytes(message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes([0; MESSAGE_BYTES]), None);
    }

    #[test]
    fn names_of_processes_do_not_confuse() {
        let parsed = |stat: &[u8]| Process::parse(7, stat);
        assert_eq!(parsed(b"7 (sh) S 3 7 7 0"), Some(Process { id: 7, parent: 3, lives: true }));
        assert_eq!(parsed(b"7 (a) Z 1 (\xff) Z 4 7"), Some(Process { id: 7, parent: 4, lives: false }));
        for stat in [&b""[..], b"7 (sh", b"7 (sh)", b"7 (sh) S", b"7 (sh) S x"] {
            assert_eq!(parsed(stat), None);
        }
        assert!(processes().iter().any(|process| process.id == getpid().as_raw_pid() && process.lives));
    }
}
