//! Positions as lines for a command that traces: `GAME RESULT FEN [SCORE]`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use gputexel_files::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_files::{Error, Result};

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 1 << 16;

/// The number of the game in a line, if it is one of a position.
fn game_of(line: &[u8]) -> Option<u64> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let mut text = || words.next().and_then(|word| std::str::from_utf8(word).ok());
    let game = text()?.parse().ok()?;
    let result: f32 = text()?.parse().ok()?;
    let board = text()?;
    let turn = text()?;
    let rows = board.bytes().filter(|byte| *byte == b'/').count() == 7;
    ((0.0..=1.0).contains(&result) && rows && ["w", "b"].contains(&turn)).then_some(game)
}

/// Whether a line says nothing.
fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Whether an input consists of such lines already.
///
/// # Errors
/// Those of opening it.
pub(super) fn are_lines(path: &Path) -> Result<bool> {
    let input = Input::open(path, Arc::default())?;
    let mut lines = input.head().split(|byte| *byte == b'\n');
    Ok(lines.find(|line| !is_blank(line)).is_some_and(|line| game_of(line).is_some()))
}

/// What tells the one who reads the answers about the positions.
pub(super) struct Told {
    /// The game of each position before it is written.
    pub games: Sender<u64>,
    /// Bytes of all positions that the command has taken; they show that it lives.
    pub taken: Arc<AtomicU64>,
}

/// Writes all positions of an input to a command; returns their number. A command that takes no more is left alone,
/// and the rest is counted.
///
/// # Errors
/// Those of reading; [`Error::Input`] for a line that is no position.
pub(super) fn feed(mut input: Input, command: impl Write, told: &Told) -> Result<u64> {
    let mut sink = Some(BufWriter::with_capacity(BLOCK_BYTES, command));
    let (mut block, mut rest) = (Vec::new(), Vec::new());
    let (mut number, mut positions) = (0, 0);
    loop {
        block.clear();
        let ended = input.fill(&mut block, BLOCK_BYTES)?;
        if ended && !block.is_empty() && !block.ends_with(b"\n") {
            block.push(b'\n');
        }
        rest.extend_from_slice(&block);
        if ended && !rest.is_empty() && !rest.ends_with(b"\n") {
            rest.push(b'\n');
        }
        let complete = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
        for line in rest[..complete].split_inclusive(|byte| *byte == b'\n') {
            number += 1;
            if is_blank(line) {
                continue;
            }
            let Some(game) = game_of(line) else {
                return Err(Error::line(input.name(), number, "is no line 'GAME RESULT FEN [SCORE]'"));
            };
            positions += 1;
            // Nobody listens any more once the command has failed.
            let _ = told.games.send(game);
            if let Some(writer) = &mut sink
                && writer.write_all(line).is_err()
            {
                sink = None;
            }
            told.taken.fetch_add(line.len() as u64, Ordering::Relaxed);
        }
        rest.drain(..complete);
        if rest.len() > MAX_LINE_BYTES {
            return Err(endless_line(input.name(), number + 1));
        }
        if ended {
            if let Some(mut writer) = sink {
                // That it has ended shows in its answers.
                let _ = writer.flush();
            }
            return Ok(positions);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_positions_are_told_from_others() {
        let fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3";
        assert_eq!(game_of(format!("17 0.5 {fen} -31\r").as_bytes()), Some(17));
        assert_eq!(game_of(format!("0 1 {fen}").as_bytes()), Some(0));
        for other in [format!("{fen} [0.5]"), format!("17 2 {fen}"), "1 0.5 x w".to_string(), String::new()] {
            assert_eq!(game_of(other.as_bytes()), None, "{other}");
        }
    }
}
