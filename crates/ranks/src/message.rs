//! Messages between ranks. A message is a byte for its kind, and its contents.

use gputexel_eval::divided::Answer;
use gputexel_eval::{Population, Request};
use gputexel_io::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Message from rank 0.
#[derive(Debug)]
pub(crate) enum Order {
    /// Keep a layout, which gets the number `id`.
    Open { id: u64, layout: Vec<u8> },
    /// Compute sums on it.
    Sums { id: u64, population: Population, request: Request },
    /// The layout is not needed any more.
    Close { id: u64 },
    /// Everything is done.
    End,
}

/// Reply of the others to all but [`Order::Close`] and [`Order::End`].
#[derive(Debug)]
pub(crate) enum Reply {
    /// A layout is ready, with a description of the evaluator.
    Opened(String),
    /// Sums of its sections.
    Sums(Answer),
    /// The reason why there are none.
    Failed(String),
}

/// The first bytes of messages.
mod kind {
    pub const OPEN: u8 = 1;
    pub const SUMS: u8 = 2;
    pub const CLOSE: u8 = 4;
    pub const END: u8 = 5;
    pub const OPENED: u8 = 6;
    pub const ANSWER: u8 = 7;
    pub const FAILED: u8 = 8;
}

fn with_kind(kind: u8, contents: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(contents, vec![kind]).expect("a list in memory takes anything")
}

fn broken() -> Error {
    Error::Usage("a message from another rank is broken".to_string())
}

fn contents<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| broken())
}

pub(crate) fn open(id: u64, layout: &[u8]) -> Vec<u8> {
    let mut message = vec![kind::OPEN];
    message.extend_from_slice(&id.to_le_bytes());
    message.extend_from_slice(layout);
    message
}

pub(crate) fn sums(id: u64, of: &(Population, Request)) -> Vec<u8> {
    with_kind(kind::SUMS, &(id, of))
}

pub(crate) fn close(id: u64) -> Vec<u8> {
    with_kind(kind::CLOSE, &id)
}

pub(crate) fn end() -> Vec<u8> {
    vec![kind::END]
}

impl Order {
    pub fn read(message: &[u8]) -> Result<Self> {
        let (&kind, bytes) = message.split_first().ok_or_else(broken)?;
        Ok(match kind {
            kind::OPEN => {
                let (id, layout) = bytes.split_first_chunk().ok_or_else(broken)?;
                Self::Open { id: u64::from_le_bytes(*id), layout: layout.to_vec() }
            }
            kind::SUMS => {
                let (id, (population, request)) = contents(bytes)?;
                Self::Sums { id, population, request }
            }
            kind::CLOSE => Self::Close { id: contents(bytes)? },
            kind::END => Self::End,
            _ => return Err(broken()),
        })
    }
}

impl Reply {
    pub fn write(&self) -> Vec<u8> {
        match self {
            Self::Opened(who) => with_kind(kind::OPENED, who),
            Self::Sums(answer) => with_kind(kind::ANSWER, answer),
            Self::Failed(why) => with_kind(kind::FAILED, why),
        }
    }

    pub fn read(message: &[u8]) -> Result<Self> {
        let (&kind, bytes) = message.split_first().ok_or_else(broken)?;
        Ok(match kind {
            kind::OPENED => Self::Opened(contents(bytes)?),
            kind::ANSWER => Self::Sums(contents(bytes)?),
            kind::FAILED => Self::Failed(contents(bytes)?),
            _ => return Err(broken()),
        })
    }
}
