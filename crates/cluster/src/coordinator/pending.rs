//! Outstanding work: pairs that are being played, answers that came before they were requested, and the number of
//! places that workers have.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc;
use std::time::Instant;

use gputexel_play::{Assignment, Delivery};

use crate::wire::{Answer, Work};

/// Maximum number of answers that are kept until their pair is requested.
const MAX_EARLY: usize = 256;

/// Seconds after which a larger number of places is forgotten: workers requesting more work have none meanwhile.
const MEMORY_SECONDS: u64 = 10;

/// Tells the server that an answer is stored.
pub(super) type Stored = Box<dyn FnOnce() + Send>;

/// An outstanding pair.
struct Out {
    digest: String,
    assignment: Assignment,
    payload: Vec<u8>,
    answers: mpsc::Sender<Delivery>,
    /// True once the server has had it; `missing` is the number of consecutive checks without it.
    sent: bool,
    missing: u32,
}

/// Outstanding work.
pub(super) struct Pending {
    out: HashMap<u64, Out>,
    /// Work that the server had when the run was resumed, by number: the digest.
    left: BTreeMap<u64, String>,
    early: HashMap<u64, (Answer, Stored)>,
    /// Numbers of pairs that got their games since the run was resumed.
    done: HashSet<u64>,
    /// Number of threads that may request a pair or wait for one.
    taken: usize,
    /// Numbers of places that workers had recently, the maximum within each second.
    places: Vec<(Instant, usize)>,
}

/// State of a pair that is to be played.
pub(super) enum Claim {
    /// Its games are already there.
    Answered(Delivery),
    /// Its games will come. The server may already have it, or another one with the same number.
    Wait { answers: mpsc::Receiver<Delivery>, sent: bool, outdated: bool },
}

/// Outcome of an answer.
pub(super) enum Verdict {
    /// It is used, or kept for later.
    Taken,
    /// The pair already has games, or has changed meanwhile.
    Late(Stored),
    /// Its games cannot have been played.
    Impossible(Stored, String),
}

impl Pending {
    /// Starts with only the work that the server has.
    pub fn new(left: BTreeMap<u64, String>) -> Self {
        Self {
            out: HashMap::new(),
            left,
            early: HashMap::new(),
            done: HashSet::new(),
            taken: 0,
            places: Vec::new(),
        }
    }

    /// Takes a place, if a worker has one or none is taken.
    pub fn take_place(&mut self) -> bool {
        let places = self.places.iter().map(|(_, places)| *places).max().unwrap_or(0);
        let free = self.taken < places.max(1);
        self.taken += usize::from(free);
        free
    }

    /// Gives a place back.
    pub fn free_place(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Records how many pairs workers play or wait for.
    pub fn note_places(&mut self, places: usize, now: Instant) {
        self.places.retain(|(since, _)| now.duration_since(*since).as_secs() < MEMORY_SECONDS);
        self.places.push((now, places));
    }

    /// Claims a pair to be played, in a place that was taken.
    pub fn claim(&mut self, work: &Work, assignment: &Assignment) -> Claim {
        let (number, digest) = (work.number, work.task.digest());
        if let Some((answer, stored)) = self.early.remove(&number) {
            if answer.digest() == digest
                && let Ok(games) = answer.records(assignment)
            {
                self.done.insert(number);
                return Claim::Answered(Delivery { games, stored });
            }
            // It has other values, which nobody will request again.
            stored();
        }
        // A pair that is played again, with other values.
        self.done.remove(&number);
        let left = self.left.remove(&number);
        let sent = left.as_ref() == Some(&digest);
        let outdated = left.is_some() && !sent;
        let (sender, answers) = mpsc::channel();
        let (assignment, payload) = (assignment.clone(), work.to_bytes());
        self.out.insert(number, Out { digest, assignment, payload, answers: sender, sent, missing: 0 });
        Claim::Wait { answers, sent, outdated }
    }

    /// Records that the server has a pair.
    pub fn sent(&mut self, number: u64) {
        if let Some(out) = self.out.get_mut(&number) {
            (out.sent, out.missing) = (true, 0);
        }
    }

    /// Stops waiting for a pair and frees its place.
    pub fn give_up(&mut self, number: u64) {
        self.out.remove(&number);
        self.free_place();
    }

    /// Handles an answer whose sender was given the work.
    pub fn answer(&mut self, answer: Answer, stored: Stored) -> Verdict {
        let number = answer.number();
        let Some(out) = self.out.get(&number) else {
            if self.done.contains(&number) {
                return Verdict::Late(stored);
            }
            // After a restart answers come before their pairs are requested; answers for pairs that are already known
            // would never be used.
            if self.early.len() >= MAX_EARLY && !self.early.contains_key(&number) {
                return Verdict::Late(stored);
            }
            return match self.early.insert(number, (answer, stored)) {
                None => Verdict::Taken,
                Some((_, stored)) => Verdict::Late(stored),
            };
        };
        if out.digest != answer.digest() {
            return Verdict::Late(stored);
        }
        match answer.records(&out.assignment) {
            Err(reason) => Verdict::Impossible(stored, reason),
            Ok(games) => {
                self.done.insert(number);
                if let Some(out) = self.out.remove(&number) {
                    // If the thread has stopped waiting, the answer is left for the next start.
                    let _ = out.answers.send(Delivery { games, stored });
                }
                Verdict::Taken
            }
        }
    }

    /// Records which work the server has, by number, and returns what it should have but lacked twice in a row.
    pub fn missing(&mut self, there: &BTreeMap<u64, String>) -> Vec<(u64, Vec<u8>)> {
        let mut missing = Vec::new();
        for (number, out) in self.out.iter_mut().filter(|(_, out)| out.sent) {
            match there.contains_key(number) {
                true => out.missing = 0,
                false => out.missing += 1,
            }
            if out.missing >= 2 {
                missing.push((*number, out.payload.clone()));
            }
        }
        missing
    }

    /// Returns the number of answers that nobody requested: the run had their pairs before it was resumed.
    pub fn unasked(&self) -> u64 {
        self.early.len() as u64
    }

    /// Returns true if a thread waits for a pair.
    pub fn wants(&self, number: u64) -> bool {
        self.out.contains_key(&number)
    }
}
