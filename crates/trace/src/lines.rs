//! Lines of positions, as gputexel sends them.

use super::Value;
use std::fmt::Display;
use std::io::{BufRead, Result, Write};

/// The result of evaluating a FEN: a value, or the reason why the position is skipped.
pub trait Outcome {
    /// The value.
    fn outcome(self) -> std::result::Result<Value, String>;
}
impl Outcome for Value {
    fn outcome(self) -> std::result::Result<Value, String> {
        Ok(self)
    }
}
impl<E: Display> Outcome for std::result::Result<Value, E> {
    fn outcome(self) -> std::result::Result<Value, String> {
        self.map_err(|e| e.to_string())
    }
}

/// Prints what is appended for the FEN of each line `GAME RESULT FEN [SCORE] [WEIGHT]`, or why there is nothing.
pub(crate) fn each_line(
    input: impl BufRead,
    output: &mut impl Write,
    mut append: impl FnMut(&str, &mut String) -> std::result::Result<(), String>,
) -> Result<()> {
    for line in input.lines() {
        let line = line?;
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let Some(fen) = words.get(2..8).map(|fields| fields.join(" ")) else {
            writeln!(output, "# skipped: not GAME RESULT FEN, with six fields in the FEN")?;
            continue;
        };
        let mut row = format!("{} qid:{}", words[1], words[0]);
        match append(&fen, &mut row) {
            Ok(()) => writeln!(output, "{row} # {fen}")?,
            Err(why) => writeln!(output, "# skipped: {}", why.replace(['\n', '\r'], " "))?,
        }
    }
    output.flush()
}
