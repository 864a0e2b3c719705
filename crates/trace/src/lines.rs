//! Lines of positions, as gputexel sends them, and leaves of the search.

use super::Value;
use std::fmt::Display;
use std::io::{BufRead, Result, Write};
use std::sync::OnceLock;

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

/// Where the search evaluates a position: prints `info string leaf FEN` for one in `GPUTEXEL_LEAVES` positions, by key.
pub fn leaf(fen: impl FnOnce() -> String) {
    static ONE_IN: OnceLock<u64> = OnceLock::new();
    let leaves = || std::env::var("GPUTEXEL_LEAVES").ok().and_then(|n| n.parse().ok());
    let n = *ONE_IN.get_or_init(|| leaves().unwrap_or(0));
    if n == 0 {
        return;
    }
    let fen = fen();
    if is_drawn(&fen, n) {
        println!("info string leaf {fen}");
    }
}

/// True for one of `one_in` positions: by FNV-1a of the first four fields.
pub fn is_drawn(fen: &str, one_in: u64) -> bool {
    let mut key = 14_695_981_039_346_656_037_u64;
    let end = fen.match_indices(' ').nth(3).map_or(fen.len(), |space| space.0);
    for byte in fen[..end].bytes() {
        key = (key ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    (key ^ key >> 32).is_multiple_of(one_in)
}
