//! Engines under a [`supervisor`](super::supervisor), as seen from the program that plays.

use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};

use super::Call;
use super::supervisor::{FLAG, MESSAGE_BYTES, Message, PROCESS_NAME};
use super::{Contained, KILL_TIMEOUT, Pipes, piped};

const PULSE: Duration = Duration::from_millis(100);

struct Supervised {
    socket: UnixStream,
    state: Mutex<State>,
}

struct State {
    supervisor: Child,
    gone: bool,
    exited: bool,
    status: Option<ExitStatus>,
}

/// Starts an engine through `program`, an instance of this one.
pub(super) fn start(
    command: &Call<'_>,
    program: &Path,
    stop: &AtomicBool,
) -> io::Result<(Arc<dyn Contained>, Pipes)> {
    let (socket, theirs) = UnixStream::pair()?;
    let mut call = Command::new(program);
    // A separate group, so that Ctrl-C at the terminal does not reach it.
    call.arg0(PROCESS_NAME).process_group(0);
    call.arg(FLAG).arg(theirs.as_raw_fd().to_string()).arg(command.program).args(command.arguments);
    let number = theirs.as_raw_fd();
    let inherit = move || {
        // SAFETY: the socket stays open until the process has been started; the new process has it under the same
        // number.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        Ok(fcntl_setfd(socket, FdFlags::empty())?)
    };
    // SAFETY: this runs in the new process before its program does, where only async-signal-safe operations are
    // allowed: one system call, without allocating memory or taking a lock.
    unsafe { call.pre_exec(inherit) };
    let mut supervisor = piped(&mut call).spawn()?;
    drop(theirs);
    let pipes = Pipes::take(&mut supervisor);
    let state = State { supervisor, gone: false, exited: false, status: None };
    let supervised = Supervised { socket, state: Mutex::new(state) };
    match supervised.first_message(Instant::now() + command.start_deadline, stop) {
        Ok(()) => Ok((Arc::new(supervised), pipes)),
        Err(error) => {
            supervised.kill();
            supervised.wait(Instant::now() + KILL_TIMEOUT);
            Err(error)
        }
    }
}

impl Supervised {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_message(&self, until: Instant, stop: &AtomicBool) -> io::Result<()> {
        self.socket.set_read_timeout(Some(PULSE))?;
        let message = loop {
            match self.read() {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if stop.load(Ordering::Relaxed) {
                        return Err(ErrorKind::Interrupted.into());
                    }
                    if Instant::now() >= until {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                read => break read?,
            }
        };
        match message {
            Message::Started => self.socket.set_nonblocking(true),
            Message::Failed(errno) => Err(io::Error::from_raw_os_error(errno)),
            Message::Exited(_) => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn read(&self) -> io::Result<Message> {
        let mut bytes = [0; MESSAGE_BYTES];
        // Messages are shorter than anything that is sent in pieces.
        (&self.socket).read_exact(&mut bytes)?;
        Message::from_bytes(bytes).ok_or_else(|| ErrorKind::InvalidData.into())
    }
}

impl Contained for Supervised {
    fn has_exited(&self) -> bool {
        let mut state = self.state();
        if !state.exited {
            match self.read() {
                Ok(Message::Exited(status)) => {
                    state.exited = true;
                    state.status = Some(ExitStatus::from_raw(status));
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                // The supervisor has been killed, and the engine with it.
                Err(_) => state.exited = true,
            }
        }
        state.exited
    }

    fn status(&self) -> Option<ExitStatus> {
        self.state().status
    }

    fn kill(&self) {
        // Without a supervisor, there is nobody to notify.
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    fn is_gone(&self) -> bool {
        let mut state = self.state();
        state.gone = state.gone || !matches!(state.supervisor.try_wait(), Ok(None));
        state.gone
    }
}
