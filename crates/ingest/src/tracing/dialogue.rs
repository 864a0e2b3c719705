//! Communication with a tracing command: it is sent positions and prints a line for each.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::command::TraceCommand;
use super::positions::{Sent, Told, feed};
use crate::trace::{CompiledSchema, read_lines};
use gputexel_io::input::{Input, MAX_LINE_BYTES};
use gputexel_io::processes::{Call, Contained, KILL_TIMEOUT, LastLine, start};
use gputexel_io::{Advice, Error, Result, grouped, shown};

const PULSE: Duration = Duration::from_millis(100);
const BLOCK_BYTES: usize = 1 << 16;
const BLOCKS_AHEAD: usize = 16;
const TELLING_ANSWERS: u64 = 100;
const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) struct Question<'a> {
    pub command: &'a TraceCommand,
    pub name: &'a Path,
    /// `None` for a program that traces itself and writes it to a file.
    pub schema: Option<&'a CompiledSchema>,
    pub written: Option<&'a Path>,
}

struct Process(Arc<Contained>);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill();
        self.0.wait(Instant::now() + KILL_TIMEOUT);
    }
}

/// Runs the command on all positions of an input, and writes its output to `answers`, a line for each
/// position in their order.
///
/// # Errors
/// [`Error::Input`] when the command cannot be started, fails, hangs, or does not print one line for each
/// position; errors of reading the positions and of writing; [`Error::Interrupted`] after `cancel`.
pub(super) fn ask(
    question: &Question<'_>,
    positions: Input,
    answers: &mut impl Write,
    cancel: &AtomicBool,
    mut tell: impl FnMut(u64),
) -> Result<()> {
    let command = question.command;
    let arguments = command.arguments(question.written);
    let program = command.program();
    let call = Call { program: &program, arguments: &arguments, environment: None };
    let cannot = |error: std::io::Error| question.fails(&format!("cannot be started: {error}"));
    let (contained, pipes) = start(&call).map_err(|error| match error.kind() {
        std::io::ErrorKind::Interrupted => interrupted(),
        _ => cannot(error),
    })?;
    let process = Process(contained);
    let last_line = LastLine::of(pipes.stderr).map_err(cannot)?;
    let (sent, asked) = channel();
    let taken = Arc::new(AtomicU64::new(0));
    let told = Told { positions: sent, taken: Arc::clone(&taken) };
    let builder = || thread::Builder::new().name("tracing".to_string());
    let feeder = builder().spawn(move || feed(positions, pipes.stdin, &told)).map_err(cannot)?;
    let (blocks, received) = sync_channel(BLOCKS_AHEAD);
    builder().spawn(move || read_blocks(pipes.stdout, &blocks)).map_err(cannot)?;

    let adds_scores = !question.schema.is_some_and(CompiledSchema::has_score_column);
    let (line, first) = (Vec::new(), Vec::new());
    let mut listener = Listener { question, adds_scores, asked, answers, line, first, count: 0 };
    let mut life = Life { deadline: command.deadline(), taken, known: 0, since: Instant::now() };
    let mut has_ended = false;
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        match received.recv_timeout(PULSE) {
            Ok(block) => {
                listener.hear(&block)?;
                // Writing its output does not count against the command's deadline.
                life.since = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) if life.is_over() => {
                return Err(hung(question, &process, &last_line, listener.count));
            }
            // A child of the command may hold its output open.
            Err(RecvTimeoutError::Timeout) if has_ended => break,
            Err(RecvTimeoutError::Timeout) => has_ended = process.0.has_exited(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        tell(listener.count);
    }
    listener.end()?;
    let ending = Ending { question, process, last_line, feeder, answered: listener.count };
    ending.check(cancel)
}

fn interrupted() -> Error {
    Error::Interrupted("nothing was written".to_string())
}

impl Question<'_> {
    fn fails(&self, what: &str) -> Error {
        Error::input(self.name, format!("the trace command '{}' {what}", self.command))
    }
}

fn read_blocks(mut stdout: impl Read, blocks: &SyncSender<Vec<u8>>) {
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        match stdout.read(&mut block) {
            Ok(0) => return,
            Ok(count) => {
                block.truncate(count);
                if blocks.send(block).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

struct Life {
    deadline: Duration,
    taken: Arc<AtomicU64>,
    known: u64,
    since: Instant,
}

impl Life {
    fn is_over(&mut self) -> bool {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken != self.known {
            self.known = taken;
            self.since = Instant::now();
        }
        self.since.elapsed() >= self.deadline
    }
}

struct Listener<'a, W> {
    question: &'a Question<'a>,
    adds_scores: bool,
    asked: Receiver<Sent>,
    answers: &'a mut W,
    line: Vec<u8>,
    first: Vec<u8>,
    count: u64,
}

impl<W: Write> Listener<'_, W> {
    fn hear(&mut self, block: &[u8]) -> Result<()> {
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.answer()?;
            } else if self.line.len() > MAX_LINE_BYTES {
                return Err(self
                    .question
                    .fails(&format!("prints a line longer than {} MiB", MAX_LINE_BYTES >> 20)));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if !self.line.is_empty() {
            self.line.push(b'\n');
            self.answer()?;
        }
        if !self.first.is_empty() {
            self.judge()?;
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<()> {
        let line = std::mem::take(&mut self.line);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let shown = || shown(String::from_utf8_lossy(&line).trim());
        let sent = match self.asked.try_recv() {
            Ok(sent) => sent,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                return Err(self.question.fails(&format!(
                    "prints more than one line for each position, after {} of them: '{}'",
                    grouped(self.count),
                    shown()
                )));
            }
        };
        self.count += 1;
        let game = sent.game;
        if let Some(named) = game_in(&line).filter(|named| *named != game) {
            let opening = self.first.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let opening = match game_in(opening) {
                None if !opening.is_empty() => {
                    let said = gputexel_io::shown(String::from_utf8_lossy(opening).trim());
                    format!("; its first answer is '{said}', which is not a trace")
                }
                _ => String::new(),
            };
            return Err(self.question.fails(&format!(
                "must print one line for each position, in their order: position {} is of game {game}, answer {0} of game {named}{opening}",
                grouped(self.count)
            )));
        }
        let score = sent.score.filter(|_| self.adds_scores);
        let seen =
            |score| self.question.schema.map_or(score, |schema| schema.score_seen_by(sent.turn, score));
        let score = score.map(seen);
        let scored = scored(&line, score);
        self.answers
            .write_all(scored.as_deref().unwrap_or(&line))
            .map_err(|e| Error::io(self.question.name, e))?;
        if self.count <= TELLING_ANSWERS {
            self.first.extend_from_slice(&line);
            if self.count == TELLING_ANSWERS {
                self.judge()?;
            }
        }
        Ok(())
    }

    /// Rejects a command whose first lines are not traces, before it is sent all positions.
    fn judge(&mut self) -> Result<()> {
        let first = std::mem::take(&mut self.first);
        let Some(schema) = self.question.schema else { return Ok(()) };
        let batch = read_lines(&first, 1, schema, None);
        match batch.complaints.first() {
            Some((number, reason)) if batch.positions() == 0 => Err(self.question.fails(&format!(
                "does not print traces of this schema: none of {} lines can be used; the first, of position {number}: {reason}",
                batch.records
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns a trace with the search score of its position, which the command need not repeat; `None` without one.
fn scored(line: &[u8], score: Option<f64>) -> Option<Vec<u8>> {
    let score = score?;
    let line = line.trim_ascii_start();
    if line.starts_with(b"#") {
        return None;
    }
    let (result, rest) = line.split_at(line.iter().position(u8::is_ascii_whitespace)?);
    Some([result, format!(" score:{score}").as_bytes(), rest].concat())
}

fn game_in(line: &[u8]) -> Option<u64> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().filter(|result| !result.starts_with(b"#"))?;
    let word = words.next()?.strip_prefix(b"qid:")?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn remark(process: &Process, last_line: &LastLine) -> String {
    let until = Instant::now() + LAST_WORDS_TIMEOUT;
    process.0.kill();
    while !last_line.is_final() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    match last_line.take() {
        text if text.is_empty() => String::new(),
        text => format!("; its last words: {text}"),
    }
}

fn hung(question: &Question<'_>, process: &Process, last_line: &LastLine, answered: u64) -> Error {
    let seconds = question.command.deadline().as_secs_f64();
    let remark = remark(process, last_line);
    question
        .fails(&format!(
            "has neither read nor written for {seconds} s after {} answers{remark}",
            grouped(answered)
        ))
        .advise(
            Advice::default()
                .text("if it is at work, allow it more time with ")
                .setting("trace-deadline", "SECONDS"),
        )
}

struct Ending<'a> {
    question: &'a Question<'a>,
    process: Process,
    last_line: LastLine,
    feeder: JoinHandle<Result<u64>>,
    answered: u64,
}

impl Ending<'_> {
    fn check(self, cancel: &AtomicBool) -> Result<()> {
        let Self { question, process, last_line, feeder, answered } = self;
        let until = Instant::now() + question.command.deadline();
        while !process.0.has_exited() {
            if cancel.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            if Instant::now() >= until {
                return Err(hung(question, &process, &last_line, answered));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let status = process.0.status();
        if !status.is_some_and(|status| status.success()) {
            let how = status.map_or_else(|| "was killed".to_string(), |status| status.to_string());
            let remark = remark(&process, &last_line);
            return Err(question.fails(&format!("failed after {} answers: {how}{remark}", grouped(answered))));
        }
        // The feeder reads to the end even if the command has stopped reading.
        while !feeder.is_finished() {
            if cancel.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            thread::sleep(Duration::from_millis(2));
        }
        let positions = feeder.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        if answered < positions {
            let remark = remark(&process, &last_line);
            return Err(question.fails(&format!(
                "answers {} of {} positions; it must print one line for each, '# reason' for those it leaves out{remark}",
                grouped(answered),
                grouped(positions)
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_follow_results() {
        assert_eq!(scored(b"0.5 qid:17 1:24\n", Some(-31.0)).unwrap(), b"0.5 score:-31 qid:17 1:24\n");
        assert_eq!(scored(b"1\n", Some(2.0)).unwrap(), b"1 score:2\n");
        assert_eq!(scored(b"1 1:2\n", None), None);
        assert_eq!(scored(b"# in check\n", Some(2.0)), None);
    }

    #[test]
    fn games_of_answers_are_found() {
        assert_eq!(game_in(b"0.5 qid:17 1:24\n"), Some(17));
        for line in [&b"1 1:24\n"[..], b"# qid:3\n", b"\n", b"1 qid:x"] {
            assert_eq!(game_in(line), None, "{line:?}");
        }
    }
}
