//! Parses the output of engines, line by line and without a process: for fuzzing.

use shakmaty::Chess;

use super::options::EngineOption;
use super::protocol::{self, Dialog};
use crate::player::{Choice, Failure};

/// Options and answer of a UCI engine; `fenced` if a `readyok` must come first.
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

pub fn setting(option: &EngineOption, value: &str) -> Result<String, String> {
    option.setting(value)
}
