//! Processes that can be ended together with everything that they start.
//!
//! Owns how an engine or another command is started, what is left to be killed when it is done with, the list of
//! all that run, so that they can be ended at once, and lines from their pipes. What is said to them is not known
//! here.
//!
//! | system | engine is killed with | engine survives us |
//! |---|---|---|
//! | Linux, [supervised](supervise_engines) | all its descendants | never |
//! | Linux | its process group | only what it started itself |
//! | other Unix | its process group | if it ignores the end of its input |
//! | Windows | its job object | never |

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

pub use lines::{LastLine, MAX_LINE_BYTES, read_line};

/// How long killed processes may take to be gone. Only those that wait for a disk or a network that
/// does not answer take longer, and nothing can be done about these.
pub const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// A program to start. No shell sees its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// How long the system may take to start it.
    pub start_deadline: Duration,
}

/// A process with everything that it starts.
pub trait Contained: Send + Sync {
    /// Whether the process itself has ended. What it started may live on.
    fn has_exited(&self) -> bool;

    /// How it ended, if that is known.
    fn status(&self) -> Option<ExitStatus>;

    /// Kills everything, without waiting for it.
    fn kill(&self);

    /// Whether everything that was killed is gone, and will not come back as a zombie.
    fn is_gone(&self) -> bool;

    /// Waits until it is gone; says whether it is.
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

/// The ends of an engine's pipes.
#[derive(Debug)]
pub struct Pipes {
    /// What the engine reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// Where it complains.
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

/// Everything that runs.
struct Running {
    /// Nothing may be started any more.
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
/// Those of starting programs; [`io::ErrorKind::TimedOut`] when that takes longer than the command's
/// deadline, [`io::ErrorKind::Interrupted`] when it is not wanted any more.
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

/// The program with its arguments, its ends of the pipes still to be taken.
fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// Kills all engines that this process has started, with everything that they started, and lets no
/// other start: for a program that has to end at once. Takes no longer than two seconds.
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

/// Lets engines be watched over by this program itself; for the first line of its `main`.
///
/// On Linux, every engine is then started by another instance of this program, which does nothing but
/// wait: once the first instance has ended, in whatever way, or is done with the engine, the other
/// kills the engine and all descendants that it has, those in sessions of their own included. The pipes
/// of the engine are not touched by this. In that instance this function does not return.
///
/// Without it, or where `/proc` is not there, engines are killed when their parent dies, but not what
/// they have started. Elsewhere it does nothing.
pub fn supervise_engines() {
    #[cfg(target_os = "linux")]
    supervisor::serve_if_asked();
}
