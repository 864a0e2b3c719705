//! Processes that can be ended together with all their children.

mod command_line;
#[cfg(unix)]
mod group;
#[cfg(windows)]
mod job;
mod lines;

use std::io;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

pub use command_line::split_command;
#[cfg(unix)]
pub use group::Contained;
#[cfg(windows)]
pub use job::Contained;
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
    /// A variable and its value, besides what this process has.
    pub environment: Option<(&'static str, u64)>,
}

impl Contained {
    pub fn wait(&self, until: Instant) -> bool {
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
    all: Vec<Weak<Contained>>,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { closed: false, all: Vec::new() });

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts an engine.
///
/// # Errors
/// Errors of starting programs; [`io::ErrorKind::Interrupted`] after [`kill_all_engines`].
pub fn start(call: &Call<'_>) -> io::Result<(Arc<Contained>, Pipes)> {
    let mut command = Command::new(call.program);
    command
        .args(call.arguments)
        .envs(call.environment.map(|(name, value)| (name, value.to_string())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (contained, pipes) = Contained::start(command)?;
    let contained = Arc::new(contained);
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

/// Kills all engines started by this process, with all their children, and prevents further starts: for a
/// program that has to end at once.
pub fn kill_all_engines() {
    let all: Vec<Arc<Contained>> = {
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
