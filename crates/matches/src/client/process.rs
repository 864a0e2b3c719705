//! The process of an engine, and lines to and from it with deadlines.
//!
//! Threads stand at both ends of its pipes, so that neither an engine that does not read, nor one
//! that writes without end, can stop the caller. Knows nothing of UCI but the word `quit`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::command::EngineCommand;
use super::containment::{self, Contained, KILL_TIMEOUT};
use gputexel_files::{StopFlag, shown};

/// What is longer than this is cut; the longest lines of real engines are some KiB.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Lines that wait to be read; an engine that writes more has to wait itself.
const LINES_AHEAD: usize = 256;

/// How long an engine may take to follow `quit`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The same where somebody waits for the program to end.
const QUIT_TIMEOUT_STOPPED: Duration = Duration::from_millis(400);

/// How often it is looked whether a silent process has ended without closing its pipes (a child of
/// its own may hold them), and whether all is to stop.
const PULSE: Duration = Duration::from_millis(100);

/// Why there was no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadError {
    /// The deadline passed.
    Deadline,
    /// The process ended or closed its output.
    Ended,
    /// The user has asked to stop.
    Stopped,
}

/// A running process; dropping it asks it to quit and, failing that, kills it.
pub(super) struct EngineProcess {
    contained: Arc<dyn Contained>,
    killed: bool,
    /// Set when the user wants all to stop.
    stop: StopFlag,
    /// To the thread that writes; `None` once the input is closed.
    commands: Option<Sender<String>>,
    lines: Receiver<String>,
    /// The last line on standard error, and the thread that reads there.
    complaint: Arc<Mutex<String>>,
    complaints: Option<JoinHandle<()>>,
}

impl EngineProcess {
    /// Starts the program; `stop` ends all waiting for it.
    ///
    /// # Errors
    /// Those of starting programs and threads; [`io::ErrorKind::TimedOut`] behind the command's deadline.
    pub(super) fn spawn(command: &EngineCommand, stop: StopFlag) -> io::Result<Self> {
        let (contained, pipes) = containment::start(command, &stop)?;
        let (commands, to_write) = channel();
        let (to_read, lines) = sync_channel(LINES_AHEAD);
        let complaint = Arc::new(Mutex::new(String::new()));
        let last = Arc::clone(&complaint);
        let commands = Some(commands);
        // If a thread cannot be started, the process is killed by being dropped.
        let mut process =
            Self { contained, killed: false, stop, commands, lines, complaint, complaints: None };
        let builder = || thread::Builder::new().name("engine".to_string());
        builder().spawn(move || write_lines(pipes.stdin, &to_write))?;
        builder().spawn(move || read_lines(pipes.stdout, &to_read))?;
        process.complaints = Some(builder().spawn(move || keep_last_line(pipes.stderr, &last))?);
        Ok(process)
    }

    /// Sends a line; never waits. That the process is gone shows when an answer is read.
    pub(super) fn send(&self, line: String) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(line);
        }
    }

    /// The next line, as soon as there is one.
    pub(super) fn next_line(&mut self, until: Instant) -> Result<String, ReadError> {
        self.wait_for_line(until, true)
    }

    /// The next line, also when all is to stop.
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

    /// Whether the user has asked to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Drops the lines that have come.
    pub(super) fn forget_lines(&mut self) {
        // No more than can wait: an engine that floods its output would keep this busy for ever.
        for _ in self.lines.try_iter().take(LINES_AHEAD) {}
    }

    /// Whether the process has ended. Its children may live on.
    pub(super) fn has_exited(&mut self) -> bool {
        self.killed || self.contained.has_exited()
    }

    /// Kills the process and its children, and waits for it so that no zombie is left.
    pub(super) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            self.contained.kill();
            self.contained.wait(Instant::now() + KILL_TIMEOUT);
        }
    }

    /// How a process that fell silent ended, with its last line on standard error.
    pub(super) fn exit_report(mut self) -> String {
        let exited = self.wait_for(Duration::from_millis(500), Self::has_exited);
        self.kill();
        let mut words = match self.contained.status() {
            Some(status) if exited => status.to_string(),
            _ => "closed its output".to_string(),
        };
        let read_out = |process: &mut Self| process.complaints.as_ref().is_none_or(JoinHandle::is_finished);
        self.wait_for(Duration::from_millis(200), read_out);
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner);
        if !complaint.is_empty() {
            words.push_str(": ");
            words.push_str(&complaint);
        }
        words
    }

    /// Waits until `happened`, at most for `time`; says whether it has.
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

fn keep_last_line(stderr: impl Read, last: &Mutex<String>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line) {
        let text = String::from_utf8_lossy(&line);
        // Rust's panics end with a note on how to see more; the line before says what happened.
        if !text.trim().is_empty() && !text.starts_with("note: ") {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = shown(text.trim());
        }
    }
}

/// Reads the next line into `line`, cut at its greatest length; `false` at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    match reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', line) {
        Ok(0) | Err(_) => false,
        Ok(_) => {
            // The rest of a line that is too long; at the end of the output there is none.
            line.last() == Some(&b'\n') || line.len() < MAX_LINE_BYTES || reader.skip_until(b'\n').is_ok()
        }
    }
}
