//! What all of gputexel does with files, and the error type that all of it shares.
//!
//! Files are written whole or not at all ([`write_atomically`]), folders of runs have one writer
//! ([`folder_lock`]), what happens is kept in [`journal`]s whose torn last line does not count, and
//! inputs are streams of decompressed bytes ([`input`]).

mod advice;
mod error;
mod files;
pub mod folder_lock;
mod gzip;
pub mod input;
pub mod journal;
mod messages;
mod rights;

pub use advice::Advice;
pub use error::{Error, Result};
pub use files::{
    Growing, RECORD_BYTES, SETTINGS_BYTES, Scratch, TEMPORARY, folder_for, gone, is_at, read_limited,
    read_whole, read_whole_text, remove_until_rewritten, write_atomically,
};
pub use messages::{escaped, printable, shown};
pub use rights::Rights;
