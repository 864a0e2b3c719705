//! Lines from the pipes of processes, of any length and however malformed.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::{io, mem};

use crate::messages::{shortened, shown};

/// Longer lines are cut; the longest lines of real engines are some KiB.
pub const MAX_LINE_BYTES: usize = 64 * 1024;
const MAX_LAST_LINE: usize = 200;

/// The last line that a process wrote to standard error, read by a separate thread.
#[derive(Debug)]
pub struct LastLine {
    text: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl LastLine {
    pub fn of(stderr: impl Read + Send + 'static) -> io::Result<Self> {
        let text = Arc::new(Mutex::new(String::new()));
        let last = Arc::clone(&text);
        let reader =
            thread::Builder::new().name("complaints".to_string()).spawn(move || keep_last(stderr, &last))?;
        Ok(Self { text, reader })
    }

    pub fn is_final(&self) -> bool {
        self.reader.is_finished()
    }

    /// Returns the last line so far, to be shown in a message; empty if there was none.
    pub fn take(&self) -> String {
        let text = mem::take(&mut *self.text.lock().unwrap_or_else(PoisonError::into_inner));
        let words: Vec<String> = text.split_whitespace().map(shown).collect();
        shortened(&words.join(" "), MAX_LAST_LINE)
    }
}

fn keep_last(stderr: impl Read, last: &Mutex<String>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line) {
        let text = String::from_utf8_lossy(&line);
        // Rust's panics end with a note on how to see more; the line before describes the failure.
        if !text.trim().is_empty() && !text.starts_with("note: ") {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = text.into_owned();
        }
    }
}

/// Reads the next line into `line`, cut at [`MAX_LINE_BYTES`]; returns false at the end.
pub fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    match reader.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', line) {
        Ok(0) | Err(_) => false,
        Ok(_) => {
            // The rest of a line that is too long; at the end of the output there is none.
            line.last() == Some(&b'\n') || line.len() < MAX_LINE_BYTES || reader.skip_until(b'\n').is_ok()
        }
    }
}
