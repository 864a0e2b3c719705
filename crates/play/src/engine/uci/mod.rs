//! UCI front of the engine (<https://www.shredderchess.com/download/div/uci.zip>). One thread reads commands;
//! another owns the engine, so that `stop`, `isready` and `quit` work while a search runs.
//!
//! A search with limits finishes before the next `go`, and at the end of the input, so that commands can come from a
//! file; one without limits ends there.

mod command;
mod options;
mod worker;

use std::io::{BufRead, Read as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use self::command::{Go, parse_option};
pub use self::options::PARAMETER_RANGE_CP;
use self::options::Parameters;
use self::worker::{Job, Signals, Worker};
use crate::engine::DEFAULT_MOVE_OVERHEAD;
use gputexel_io::{Error, Result};
use gputexel_model::FeatureSet;

/// A game of 5,000 moves takes 50,000 bytes. The rest of a longer line is the next one.
const MAX_LINE_BYTES: u64 = 1 << 20;

struct Answers<W> {
    output: Mutex<W>,
    gone: AtomicBool,
}

impl<W: Write> Answers<W> {
    fn say(&self, text: &str) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() {
            self.gone.store(true, Ordering::Relaxed);
        }
    }

    fn complain(&self, text: &str) {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
        self.say(&format!("info string {clean}\n"));
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// Until `quit` or the end of the input; ends silently if the reader closes the pipe.
pub fn serve(
    mut input: impl BufRead,
    output: impl Write + Send,
    set: FeatureSet,
    theta: Vec<f64>,
    hash_mib: usize,
) -> Result<()> {
    if !(1..=options::MAX_HASH_MIB).contains(&hash_mib) {
        return Err(Error::Usage(format!(
            "hash {hash_mib}: must be from 1 to {} MiB",
            options::MAX_HASH_MIB
        )));
    }
    let answers = Answers { output: Mutex::new(output), gone: AtomicBool::new(false) };
    let worker = Worker::try_new(&answers, Parameters::new(set, theta), hash_mib)?;
    let list = worker.parameters.list(hash_mib, DEFAULT_MOVE_OVERHEAD.as_millis() as u64);
    std::thread::scope(|scope| {
        let (jobs, queue) = mpsc::channel();
        std::thread::Builder::new()
            .name("search".to_string())
            .stack_size(16 << 20)
            .spawn_scoped(scope, move || worker.run(&queue))
            .map_err(|source| Error::io("a thread for the search", source))?;
        let mut front = Front { answers: &answers, jobs, searches: Vec::new(), list };
        let mut line = Vec::new();
        let ended = loop {
            line.clear();
            match (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(0) => {
                    front.stop_endless();
                    break Ok(());
                }
                Err(source) => {
                    front.stop();
                    break Err(Error::io("standard input", source));
                }
                Ok(_) => {}
            }
            if !front.obey(String::from_utf8_lossy(&line).trim()) || answers.is_gone() {
                front.stop();
                break Ok(());
            }
        };
        // Returning drops the queue's end: the worker ends after the remaining jobs.
        ended
    })
}

struct Front<'a, W> {
    answers: &'a Answers<W>,
    jobs: mpsc::Sender<Job>,
    /// Of searches that have not finished, in their order.
    searches: Vec<Arc<Signals>>,
    list: String,
}

impl<W: Write> Front<'_, W> {
    /// `false` for `quit`.
    fn obey(&mut self, line: &str) -> bool {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "" => {}
            "quit" => return false,
            "uci" => self.answers.say(&format!(
                "id name gputexel {}\nid author the authors of gputexel\n{}uciok\n",
                env!("CARGO_PKG_VERSION"),
                self.list
            )),
            "isready" => {
                if self.searches.iter().any(|signals| !signals.done.load(Ordering::Acquire)) {
                    self.answers.say("readyok\n");
                } else {
                    self.queue(Job::Ready);
                }
            }
            "stop" => self.stop(),
            "go" => {
                let go = Go::parse(rest);
                let signals = self.begin(go.is_bounded());
                self.queue(Job::Go(Box::new(go), signals));
            }
            "ucinewgame" => self.queue(Job::NewGame),
            "position" => self.queue(Job::Position(rest.to_string())),
            "setoption" => match parse_option(rest) {
                Some((name, value)) => self.queue(Job::Option(name, value)),
                None => self.answers.complain(&format!("setoption without a name: '{rest}'")),
            },
            "eval" => self.queue(Job::Evaluate),
            "debug" | "register" => {}
            _ => self.answers.complain(&format!("unknown command '{word}'")),
        }
        true
    }

    fn queue(&self, job: Job) {
        // The worker runs as long as this end of the queue exists.
        let _ = self.jobs.send(job);
    }

    /// An endless search before it has to reply now, as GUIs wait for it anyway.
    fn begin(&mut self, bounded: bool) -> Arc<Signals> {
        self.stop_endless();
        self.searches.retain(|signals| !signals.done.load(Ordering::Acquire));
        let signals = Arc::new(Signals { bounded, ..Signals::default() });
        self.searches.push(Arc::clone(&signals));
        signals
    }

    fn stop(&self) {
        self.stop_where(|_| true);
    }

    fn stop_endless(&self) {
        self.stop_where(|signals| !signals.bounded);
    }

    fn stop_where(&self, applies: impl Fn(&Signals) -> bool) {
        for signals in self.searches.iter().filter(|signals| applies(signals)) {
            signals.stop.store(true, Ordering::Release);
        }
    }
}
