//! Engines in job objects of Windows.

use std::io;
use std::os::windows::io::AsRawHandle;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use win32job::{ExtendedLimitInfo, Job};

use super::Pipes;

/// A running engine, which is killed when this process dies.
pub struct Contained(Mutex<State>);

struct State {
    engine: Child,
    /// `None` after it was killed.
    job: Option<Job>,
}

impl Contained {
    pub(super) fn start(mut call: Command) -> io::Result<(Self, Pipes)> {
        let mut limits = ExtendedLimitInfo::new();
        limits.limit_kill_on_job_close();
        let job = Job::create_with_limit_info(&limits).map_err(io::Error::other)?;
        let mut engine = call.spawn()?;
        if let Err(error) = job.assign_process(engine.as_raw_handle() as isize) {
            let _ = engine.kill();
            let _ = engine.wait();
            return Err(io::Error::other(error));
        }
        let pipes = Pipes::take(&mut engine);
        Ok((Self(Mutex::new(State { engine, job: Some(job) })), pipes))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_exited(&self) -> bool {
        !matches!(self.state().engine.try_wait(), Ok(None))
    }

    pub fn status(&self) -> Option<ExitStatus> {
        self.state().engine.try_wait().ok().flatten()
    }

    /// Kills it with its children.
    pub fn kill(&self) {
        let mut state = self.state();
        // Its handle is the only one.
        state.job = None;
        // Has no effect unless the engine left the job, which it is not allowed to do.
        let _ = state.engine.kill();
    }

    pub(super) fn is_gone(&self) -> bool {
        self.has_exited()
    }
}
