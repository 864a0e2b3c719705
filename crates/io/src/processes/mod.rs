//! Processes that can be ended together with all their children.

mod command_line;
#[cfg(unix)]
mod group;
#[cfg(windows)]
mod job;
mod lines;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(target_os = "linux")]
mod supervisor;

use std::io;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

pub use command_line::split_command;
pub use lines::{LastLine, MAX_LINE_BYTES, read_line};

/// Time that killed processes may take to disappear. Only those waiting for a disk or a network that does not respond
/// take longer, and nothing can be done about these.
pub const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// A program to start. Its arguments are not interpreted by a shell.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: &'a Path,
    pub arguments: &'a [String],
    pub start_deadline: Duration,
}

pub trait Contained: Send + Sync {
    fn has_exited(&self) -> bool;

    fn status(&self) -> Option<ExitStatus>;

    fn kill(&self);

    fn is_gone(&self) -> bool;

    fn wait(&self, until: Instant) -> bool {
        let mut pause = Duration::from_micros(200);
        while !self.is_gone() {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(10));
        }
        true
    }
}

#[derive(Debug)]
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Pipes {
    fn take(child: &mut Child) -> Self {
        let taken = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = taken else {
            unreachable!("all three were asked for, and nobody else has had them")
        };
        Self { stdin, stdout, stderr }
    }
}

struct Running {
    closed: bool,
    all: Vec<Weak<dyn Contained>>,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { closed: false, all: Vec::new() });

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts an engine. Gives up when `stop` is set.
///
/// # Errors
/// Errors of starting programs; [`io::ErrorKind::TimedOut`] when that takes longer than the command's deadline,
/// [`io::ErrorKind::Interrupted`] when `stop` was set.
pub fn start(call: &Call<'_>, stop: &AtomicBool) -> io::Result<(Arc<dyn Contained>, Pipes)> {
    let (contained, pipes) = start_contained(call, stop)?;
    let closed = {
        let mut running = running();
        running.all.retain(|other| other.strong_count() > 0);
        running.all.push(Arc::downgrade(&contained));
        running.closed
    };
    if closed {
        contained.kill();
        contained.wait(Instant::now() + KILL_TIMEOUT);
        return Err(io::ErrorKind::Interrupted.into());
    }
    Ok((contained, pipes))
}

#[cfg(target_os = "linux")]
fn start_contained(call: &Call<'_>, stop: &AtomicBool) -> io::Result<(Arc<dyn Contained>, Pipes)> {
    match supervisor::program() {
        Some(program) => supervised::start(call, program, stop),
        None => group::start(call),
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
fn start_contained(call: &Call<'_>, _: &AtomicBool) -> io::Result<(Arc<dyn Contained>, Pipes)> {
    group::start(call)
}

#[cfg(windows)]
fn start_contained(call: &Call<'_>, _: &AtomicBool) -> io::Result<(Arc<dyn Contained>, Pipes)> {
    job::start(call)
}

fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Kills all engines started by this process, with all their children, and prevents further starts: for a
/// program that has to end at once.
pub fn kill_all_engines() {
    let all: Vec<Arc<dyn Contained>> = {
        let mut running = running();
        running.closed = true;
        running.all.iter().filter_map(Weak::upgrade).collect()
    };
    all.iter().for_each(|contained| contained.kill());
    let until = Instant::now() + KILL_TIMEOUT;
    for contained in all {
        contained.wait(until);
    }
}

/// Lets this program itself supervise engines; call it first in `main`.
///
/// Without it, or without `/proc`, engines are killed when their parent dies, but their children are not. On
/// other systems it does nothing.
pub fn supervise_engines() {
    #[cfg(target_os = "linux")]
    supervisor::serve_if_asked();
}
