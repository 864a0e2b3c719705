//! The process of an engine. Threads serve both of its pipes, so that neither an engine that does not read, nor one
//! that writes endlessly, can block the caller.

use std::io::{self, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::command::EngineCommand;
use crate::player::Failure;
use gputexel_io::StopFlag;
use gputexel_io::processes::{Contained, KILL_TIMEOUT, LastLine, read_line};
use tempfile::TempPath;

/// An engine that writes more is blocked.
const LINES_AHEAD: usize = 256;
/// To obey `quit`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);
/// The same when the user is waiting.
const QUIT_TIMEOUT_STOPPED: Duration = Duration::from_millis(400);
/// For checks whether a silent process has ended without closing its pipes (its children may hold them).
const PULSE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    Deadline,
    Ended,
    Stopped,
}

pub(super) fn not_running() -> Failure {
    Failure::NotStarted("it failed and no new game was begun".to_string())
}

/// When dropped, it is told to quit and, failing that, killed.
pub(super) struct EngineProcess {
    contained: Arc<Contained>,
    killed: bool,
    stop: StopFlag,
    /// `None` once the input is closed.
    commands: Option<Sender<String>>,
    lines: Receiver<String>,
    complaints: Option<LastLine>,
    /// It may be read at any time.
    _values: Option<TempPath>,
}

impl EngineProcess {
    pub(super) fn spawn(command: &EngineCommand, stop: StopFlag) -> io::Result<Self> {
        let (arguments, _values) = command.arguments_of_process()?;
        let (contained, pipes) = gputexel_io::processes::start(&command.call(&arguments))?;
        let (commands, to_write) = channel();
        let (to_read, lines) = sync_channel(LINES_AHEAD);
        let commands = Some(commands);
        // If a thread cannot be started, the process is killed by being dropped.
        let mut process = Self { contained, killed: false, stop, commands, lines, complaints: None, _values };
        let builder = || thread::Builder::new().name("engine".to_string());
        builder().spawn(move || write_lines(pipes.stdin, &to_write))?;
        builder().spawn(move || read_lines(pipes.stdout, &to_read))?;
        process.complaints = Some(LastLine::of(pipes.stderr)?);
        Ok(process)
    }

    pub(super) fn start(command: &EngineCommand, stop: &StopFlag) -> Result<Self, Failure> {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Stopped);
        }
        Self::spawn(command, stop.clone()).map_err(|reason| match reason.kind() {
            io::ErrorKind::Interrupted => Failure::Stopped,
            _ => Failure::NotStarted(reason.to_string()),
        })
    }

    pub(super) fn into_failure(
        process: Option<Self>,
        error: ReadError,
        (awaited, deadline): (&'static str, Duration),
        stop: &StopFlag,
    ) -> Failure {
        // An engine that was killed because of a request to stop has not failed.
        if error == ReadError::Stopped || stop.load(Ordering::Relaxed) {
            return Failure::Stopped;
        }
        match (error, process) {
            (ReadError::Ended, Some(process)) => Failure::Died(process.exit_report()),
            (ReadError::Ended, None) => not_running(),
            // Dropping would tell it to quit first, but its time is over.
            (ReadError::Deadline | ReadError::Stopped, process) => {
                if let Some(mut process) = process {
                    process.kill();
                }
                Failure::Hung(awaited, deadline)
            }
        }
    }

    /// Never blocks. A dead process is noticed when an answer is read.
    pub(super) fn send(&self, line: String) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(line);
        }
    }

    pub(super) fn send_last(&mut self, text: String) {
        self.send(text);
        self.commands = None;
    }

    /// Waits for a process that has closed its output.
    pub(super) fn success(mut self) -> Result<(), String> {
        self.wait_for(KILL_TIMEOUT, Self::has_exited);
        match self.contained.status() {
            Some(status) if status.success() => Ok(()),
            _ => Err(self.exit_report()),
        }
    }

    pub(super) fn next_line(&mut self, until: Instant) -> Result<String, ReadError> {
        self.wait_for_line(until, true)
    }

    /// Even after a request to stop.
    pub(super) fn next_line_stopping(&mut self, until: Instant) -> Result<String, ReadError> {
        self.wait_for_line(until, false)
    }

    fn wait_for_line(&mut self, until: Instant, stoppable: bool) -> Result<String, ReadError> {
        loop {
            if stoppable && self.is_stopped() {
                return Err(ReadError::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ReadError::Deadline);
            }
            match self.lines.recv_timeout(left.min(PULSE)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(ReadError::Ended),
                Err(RecvTimeoutError::Timeout) if self.has_exited() => {
                    return self.lines.recv_timeout(PULSE).map_err(|_| ReadError::Ended);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn forget_lines(&mut self) {
        // At most the lines that fit: an engine that floods its output would keep this busy for ever.
        for _ in self.lines.try_iter().take(LINES_AHEAD) {}
    }

    /// Its children may still run.
    pub(super) fn has_exited(&mut self) -> bool {
        self.killed || self.contained.has_exited()
    }

    /// With its children; leaves no zombie.
    pub(super) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.contained.kill();
            self.contained.wait(Instant::now() + KILL_TIMEOUT);
        }
    }

    /// How a silent process ended, with its last line on standard error.
    pub(super) fn exit_report(mut self) -> String {
        let exited = self.wait_for(Duration::from_millis(500), Self::has_exited);
        self.kill();
        let mut words = match self.contained.status() {
            Some(status) if exited => status.to_string(),
            _ => "closed its output".to_string(),
        };
        let read_out = |process: &mut Self| process.complaints.as_ref().is_none_or(LastLine::is_final);
        self.wait_for(Duration::from_millis(200), read_out);
        let complaint = self.complaints.as_ref().map(LastLine::take).unwrap_or_default();
        if !complaint.is_empty() {
            words.push_str(": ");
            words.push_str(&complaint);
        }
        words
    }

    /// True if it `happened` within `time`.
    fn wait_for(&mut self, time: Duration, happened: impl Fn(&mut Self) -> bool) -> bool {
        let until = Instant::now() + time;
        let mut pause = Duration::from_micros(200);
        while !happened(self) {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(20));
        }
        true
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        if !self.killed {
            self.send("quit".to_string());
            // Closes its input, which is another reason to end.
            self.commands = None;
            let timeout = if self.is_stopped() { QUIT_TIMEOUT_STOPPED } else { QUIT_TIMEOUT };
            self.wait_for(timeout, |process| {
                // It may wait for its output to be read.
                process.forget_lines();
                process.has_exited()
            });
        }
        self.kill();
    }
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: impl Read, lines: &SyncSender<String>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line) {
        if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}
