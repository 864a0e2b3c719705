//! Files and the error type of all crates of gputexel.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod advice;
mod appending;
mod atomic;
mod clock;
mod error;
pub mod folder_lock;
pub mod input;
mod json_lines;
mod layers;
mod lines;
mod median;
pub mod memory;
mod messages;
mod names;
mod new_folders;
pub mod params;
mod paths;
mod patterns;
pub mod processes;
mod reading;
pub mod run_folder;
mod run_log;
mod sizes;
mod stop_flag;
mod targets;

pub use advice::Advice;
pub use appending::{AppendFile, is_open_at};
pub use atomic::{AtomicFile, staging_folder, write_atomically};
pub use clock::timestamp;
pub use error::{Error, Result};
pub use layers::is_compressed;
pub use lines::{LINE_BYTES, Lines, Text};
pub use median::median;
pub use messages::{
    counted, did_you_mean, escaped, grouped, is_active, most_alike, printable, shown, shown_number, some_of,
    weight_text,
};
pub use names::{any_of, unknown_name, unknown_value};
pub use new_folders::NewFolders;
pub use paths::{absolute, is_one, without_links};
pub use patterns::matches_pattern;
pub use reading::{
    RECORD_BYTES, SETTINGS_BYTES, first_difference, open_whole, read_limited, read_whole, read_whole_text,
};
pub use run_folder::RunFolder;
pub use run_log::{LogFile, LogLine, RunLog, read_at};
pub use sizes::parse_bytes;
pub use stop_flag::StopFlag;
pub use targets::{check_apart, check_output, check_present, check_replaceable, check_target};
