//! Positions as lines for a tracing command: `GAME RESULT FEN [SCORE]`.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use gputexel_io::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_io::{Error, Result};
use shakmaty::Color;

const BLOCK_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sent {
    pub game: u64,
    pub turn: Color,
    /// Search score in centipawns, from White's point of view, if the line has one.
    pub score: Option<f64>,
}

fn position_of(line: &[u8]) -> Option<Sent> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let mut text = || words.next().and_then(|word| std::str::from_utf8(word).ok());
    let game = text()?.parse().ok()?;
    let result: f32 = text()?.parse().ok()?;
    let board = text()?;
    let turn = text()?;
    let rows = board.bytes().filter(|byte| *byte == b'/').count() == 7;
    let turn = if turn == "w" { Color::White } else { (turn == "b").then_some(Color::Black)? };
    // After castling rights, the square for en passant and two counters.
    let score = words.nth(4).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
    let sent = Sent { game, turn, score: score.filter(|score: &f64| score.is_finite()) };
    ((0.0..=1.0).contains(&result) && rows).then_some(sent)
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// True if a file begins with a position of a game, as `extract --positions` writes them.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read.
pub fn are_positions(path: &Path) -> Result<bool> {
    let input = Input::open(path, Arc::default())?;
    let mut lines = input.head().split(|byte| *byte == b'\n');
    Ok(lines.find(|line| !is_blank(line)).is_some_and(|line| position_of(line).is_some()))
}

pub(super) struct Told {
    pub positions: Sender<Sent>,
    /// Number of bytes of positions that the command has read, which show that it is alive.
    pub taken: Arc<AtomicU64>,
}

/// Writes all positions of an input to a command. Returns their number. If the command stops reading, the
/// rest is only counted.
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
            let Some(sent) = position_of(line) else {
                return Err(Error::line(input.name(), number, "is not a line 'GAME RESULT FEN [SCORE]'"));
            };
            positions += 1;
            // The channel has no receiver once the command has failed.
            let _ = told.positions.send(sent);
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
                // If it has ended, its output shows that.
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
        let sent = |game, score| Some(Sent { game, turn: Color::White, score });
        assert_eq!(position_of(format!("17 0.5 {fen} -31\r").as_bytes()), sent(17, Some(-31.0)));
        assert_eq!(position_of(format!("0 1 {fen}").as_bytes()), sent(0, None));
        assert_eq!(position_of(format!("0 1 {fen} - 2.5").as_bytes()), sent(0, None));
        for other in [format!("{fen} [0.5]"), format!("17 2 {fen}"), "1 0.5 x w".to_string(), String::new()] {
            assert_eq!(position_of(other.as_bytes()), None, "{other}");
        }
    }
}
