//! Engines as leaders of process groups.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};

use super::Pipes;

/// A running engine. On Linux it is killed when this process dies.
pub struct Contained(Mutex<State>);

struct State {
    leader: Child,
    status: Option<ExitStatus>,
}

#[cfg(not(target_os = "linux"))]
fn spawn(mut call: Command) -> io::Result<Child> {
    call.spawn()
}

#[cfg(target_os = "linux")]
fn spawn(mut call: Command) -> io::Result<Child> {
    use rustix::process::{getpid, getppid, set_parent_process_death_signal};
    let parent = getpid();
    let bind = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that ended earlier sends no signal.
        match getppid() {
            Some(pid) if pid == parent => Ok(()),
            _ => Err(io::Error::from(rustix::io::Errno::SRCH)),
        }
    };
    // SAFETY: this runs in the new process before its program does, where only async-signal-safe operations are
    // allowed: two system calls, without allocating memory or taking a lock.
    unsafe { call.pre_exec(bind) };
    lasting::spawn(call)
}

/// A thread that starts programs and ends only with the process: processes that should die with their parent die with
/// the thread that started them.
#[cfg(target_os = "linux")]
mod lasting {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    type Order = (Command, Sender<io::Result<Child>>);

    static ORDERS: Mutex<Option<Sender<Order>>> = Mutex::new(None);

    pub(super) fn spawn(call: Command) -> io::Result<Child> {
        let orders = {
            let mut orders = ORDERS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(orders) = &*orders {
                orders.clone()
            } else {
                let (sender, receiver) = channel();
                let builder = std::thread::Builder::new().name("engines".to_string());
                builder.spawn(move || carry_out(receiver))?;
                orders.insert(sender).clone()
            }
        };
        let (sender, receiver) = channel();
        let gone = || io::Error::other("the thread that starts engines has ended");
        orders.send((call, sender)).map_err(|_| gone())?;
        receiver.recv().map_err(|_| gone())?
    }

    fn carry_out(orders: Receiver<Order>) {
        for (mut call, answer) in orders {
            // The requester waits for the answer.
            let _ = answer.send(call.spawn());
        }
    }
}

/// Returns whether and how a process has ended, without reaping it, so that its group can still be killed.
fn peek(leader: &Child) -> rustix::io::Result<Option<WaitIdStatus>> {
    waitid(
        WaitId::Pid(Pid::from_child(leader)),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG,
    )
}

impl Contained {
    pub(super) fn start(mut call: Command) -> io::Result<(Self, Pipes)> {
        call.process_group(0);
        let mut leader = spawn(call)?;
        let pipes = Pipes::take(&mut leader);
        Ok((Self(Mutex::new(State { leader, status: None })), pipes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_exited(&self) -> bool {
        let state = self.state();
        state.status.is_some() || !matches!(peek(&state.leader), Ok(None))
    }

    /// Of a process that has exited.
    pub fn status(&self) -> Option<ExitStatus> {
        let state = self.state();
        state.status.or_else(|| {
            let ended = peek(&state.leader).ok()??;
            // As `wait` would tell it.
            ended.exit_status().map(|code| code << 8).or(ended.terminating_signal()).map(ExitStatus::from_raw)
        })
    }

    /// Kills it with its children.
    pub fn kill(&self) {
        let mut state = self.state();
        // It was not waited for yet, so its id and that of its group are still its own.
        if state.status.is_none() {
            let _ = kill_process_group(Pid::from_child(&state.leader), Signal::KILL);
            let _ = state.leader.kill();
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        let mut state = self.state();
        if state.status.is_none() {
            state.status = state.leader.try_wait().unwrap_or_default();
        }
        state.status.is_some()
    }
}
