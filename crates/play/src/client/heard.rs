//! Parses the output of engines, line by line and without a process: for fuzzing.

use shakmaty::Chess;

use super::features::Features;
use super::options::EngineOption;
use super::protocol::{self, Dialog};
use super::thinking::Thinking;
use crate::player::{Choice, Failure};

/// Reads the lines of a UCI engine: its options, and its answer in a position, if it gives one; after a `readyok`, if
/// that must come first.
pub fn uci(
    text: &str,
    position: &Chess,
    fenced: bool,
) -> (Vec<EngineOption>, Option<Result<Choice, Failure>>) {
    let mut dialog = if fenced { Dialog::fenced() } else { Dialog::default() };
    let mut options = Vec::new();
    for line in text.lines() {
        match line.split_whitespace().next() {
            Some("id") => drop(protocol::engine_name(line)),
            Some("option") => options.extend(EngineOption::parse(line)),
            _ => {
                if let Some(answer) = dialog.read(line, position) {
                    return (options, Some(answer));
                }
            }
        }
    }
    (options, None)
}

/// Returns the command that sets an option.
///
/// # Errors
/// The reason why it cannot be set.
pub fn setting(option: &EngineOption, value: &str) -> Result<String, String> {
    option.setting(value)
}

/// Reads the lines of an xboard engine: returns the replies, and its answer in a position, if it gives one.
pub fn xboard(text: &str, position: &Chess) -> (Vec<String>, Option<Result<Choice, Failure>>) {
    let (mut features, mut thinking, mut answers) = (Features::default(), Thinking::default(), Vec::new());
    for line in text.lines() {
        match line.trim().strip_prefix("feature") {
            Some(rest) => answers.extend(features.read(rest)),
            None => {
                if let Some(answer) = thinking.read(line, position) {
                    return (answers, Some(answer));
                }
            }
        }
    }
    answers.extend(["Hash", "Threads", "option"].iter().filter_map(|name| features.setting(name, "1")));
    (answers, None)
}
