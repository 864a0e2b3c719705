//! Rank 0: distributes sections, requests sums, and ends the other ranks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::Link;
use crate::message::{self, Reply};
use gputexel_dataset::Layout;
use gputexel_eval::divided::{Answer, Division, Helper, Task, Team};
use gputexel_io::{Error, Result};

/// Traffic between rank 0 and the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Number of messages, both ways.
    pub messages: u64,
    /// Bytes from rank 0.
    pub sent: u64,
    /// Bytes to rank 0.
    pub received: u64,
    /// Seconds that rank 0 spent on messages: writing, sending, fetching, reading. Waiting for others is not included.
    pub seconds: f64,
}

impl std::fmt::Display for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let (sent, received) = (mib(self.sent), mib(self.received));
        let Self { messages, seconds, .. } = self;
        write!(
            f,
            "{messages} messages, {sent:.1} MiB sent, {received:.1} MiB received, busy with them {seconds:.2} s"
        )
    }
}

struct Counted {
    link: Box<dyn Link>,
    traffic: Traffic,
}

impl Counted {
    fn send(&mut self, to: usize, message: impl FnOnce() -> Result<Vec<u8>>) -> Result<()> {
        let start = Instant::now();
        let message = message()?;
        self.link.send(to, &message)?;
        self.traffic.messages += 1;
        self.traffic.sent += message.len() as u64;
        self.traffic.seconds += start.elapsed().as_secs_f64();
        Ok(())
    }

    fn receive(&mut self, from: usize) -> Result<Reply> {
        self.link.wait(from)?;
        let start = Instant::now();
        let message = self.link.receive(from)?;
        let reply = Reply::read(&message);
        self.traffic.messages += 1;
        self.traffic.received += message.len() as u64;
        self.traffic.seconds += start.elapsed().as_secs_f64();
        reply
    }
}

type Shared = Arc<Mutex<Counted>>;

/// All ranks, as seen by rank 0.
#[derive(Clone)]
pub struct Ranks {
    link: Shared,
    size: usize,
    next: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Ranks {
    /// Creates the ranks behind a link.
    pub fn new(link: Box<dyn Link>) -> Self {
        let size = link.size();
        let link = Arc::new(Mutex::new(Counted { link, traffic: Traffic::default() }));
        Self { link, size, next: Arc::default(), ended: Arc::default() }
    }

    /// Returns the number of processes, including this one.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the traffic so far.
    pub fn traffic(&self) -> Traffic {
        locked(&self.link).traffic
    }

    /// Tells all others to end.
    ///
    /// # Errors
    /// Errors of the connections; all ranks are notified even then.
    pub fn end(&self) -> Result<()> {
        if self.ended.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut link = locked(&self.link);
        (1..self.size).map(|rank| link.send(rank, || Ok(message::end()))).fold(Ok(()), Result::and)
    }
}

fn locked(link: &Shared) -> MutexGuard<'_, Counted> {
    link.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of_rank(rank: usize, why: &str) -> Error {
    Error::Rank { rank, reason: why.to_string() }
}

impl Team for Ranks {
    fn divide(&self, layout: &Layout) -> Result<Division> {
        let sections = layout.sections();
        let of = |rank: usize| {
            // With more ranks than sections, rank 0, which needs no copy, still gets a section.
            let at = |rank: usize| sections.start + (rank * sections.len()).div_ceil(self.size);
            at(rank)..at(rank + 1)
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut link = locked(&self.link);
        let (mut sent, mut result) = (Vec::new(), Ok(()));
        for rank in 1..self.size {
            if of(rank).is_empty() || result.is_err() {
                continue;
            }
            let bytes = || layout.select(of(rank)).map(|own| message::open(id, &own.to_bytes()));
            result = link.send(rank, bytes);
            if result.is_ok() {
                sent.push(rank);
            }
        }
        let mut helpers: Vec<Box<dyn Helper>> = Vec::with_capacity(sent.len());
        for rank in sent {
            let opened = link.receive(rank).and_then(|reply| match reply {
                Reply::Opened(who) => Ok(who),
                Reply::Failed(why) => Err(of_rank(rank, &why)),
                Reply::Sums(_) => Err(unasked(rank)),
            });
            match opened {
                Ok(who) => helpers.push(Box::new(Remote {
                    link: Arc::clone(&self.link),
                    rank,
                    id,
                    sections: of(rank),
                    who,
                })),
                Err(error) => result = result.and(Err(error)),
            }
        }
        drop(link);
        result?;
        let idle = self.size - 1 - helpers.len();
        Ok(Division { own: of(0), helpers, idle })
    }
}

fn unasked(rank: usize) -> Error {
    of_rank(rank, "answers what it was not asked")
}

struct Remote {
    link: Shared,
    rank: usize,
    id: u64,
    sections: Range<usize>,
    who: String,
}

impl Helper for Remote {
    fn sections(&self) -> Range<usize> {
        self.sections.clone()
    }

    fn begin(&mut self, task: &Task) -> Result<()> {
        locked(&self.link).send(self.rank, || Ok(message::sums(self.id, task)))
    }

    fn end(&mut self) -> Result<Answer> {
        match locked(&self.link).receive(self.rank)? {
            Reply::Sums(answer) => Ok(answer),
            Reply::Failed(why) => Err(of_rank(self.rank, &why)),
            Reply::Opened(_) => Err(unasked(self.rank)),
        }
    }

    fn describe(&self) -> String {
        format!("rank {} ({})", self.rank, self.who)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // If the connection is gone, so is the layout.
        let _ = locked(&self.link).send(self.rank, || Ok(message::close(self.id)));
    }
}
