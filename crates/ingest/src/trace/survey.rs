//! Drafts a schema from a trace: its indices, and the form of its lines.

use std::path::Path;
use std::sync::Arc;

use super::number::parse_number;
use super::parameters::SchemaParameter;
use super::schema::{Comment, GameColumn, PhaseRecord, PhaseWord, QidWord, Results, Schema};
use gputexel_chess::fen::parse_fen;
use gputexel_chess::formats::Format;
use gputexel_chess::text::significant_lines;
use gputexel_io::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_io::{Error, Result};

const MOST: u32 = 65_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub lines: u64,
    pub bad_lines: u64,
    pub dense: bool,
    /// Smallest and largest index.
    pub indices: Option<(u32, u32)>,
    /// True if any result is below 0.
    pub negative: bool,
    pub games: u64,
    pub positions: u64,
}

/// Examines a trace.
pub fn survey(path: &Path) -> Result<Survey> {
    let mut input = Input::open(path, Arc::default())?;
    input.require_text()?;
    let mut found = Survey { dense: true, ..Survey::default() };
    let mut widths: Option<(usize, usize)> = None;
    let (mut buffer, mut first_line) = (Vec::new(), 1);
    loop {
        let size = buffer.len() + MAX_LINE_BYTES;
        let ended = input.fill(&mut buffer, size)?;
        let end = match Format::Text.split_point(&buffer) {
            _ if ended => buffer.len(),
            Some(end) => end,
            None => return Err(endless_line(input.name(), first_line)),
        };
        for (_, line) in significant_lines(&buffer[..end], first_line) {
            found.lines += 1;
            match found.line(line) {
                Some(width) => {
                    let (least, most) = widths.unwrap_or((width, width));
                    widths = Some((least.min(width), most.max(width)));
                }
                None => found.bad_lines += 1,
            }
        }
        first_line += memchr::memchr_iter(b'\n', &buffer[..end]).count() as u64;
        buffer.drain(..end);
        if ended {
            break;
        }
    }
    let Some((_, largest)) = found.indices else {
        return Err(Error::input(path, "is not a trace: no line has index:coefficient entries"));
    };
    if 2 * found.bad_lines > found.lines {
        return Err(Error::input(
            path,
            format!("is not a trace: {} of {} lines cannot be read", found.bad_lines, found.lines),
        ));
    }
    if largest > MOST {
        return Err(Error::input(
            path,
            format!("index {largest}: a schema of more than {MOST} cannot be used"),
        ));
    }
    let count = (largest - found.base() + 1) as usize;
    found.dense = widths == Some((count, count));
    Ok(found)
}

impl Survey {
    fn base(&self) -> u32 {
        u32::from(self.indices.is_none_or(|(smallest, _)| smallest > 0))
    }

    fn line(&mut self, line: &[u8]) -> Option<usize> {
        let (data, comment) = match memchr::memchr(b'#', line) {
            Some(at) => (&line[..at], line[at + 1..].trim_ascii()),
            None => (line, &line[line.len()..]),
        };
        let mut words = data.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let result = parse_number(words.next()?)?;
        let mut width = 0;
        let (mut indices, mut game) = (self.indices, false);
        for word in words {
            if word.starts_with(b"qid:") {
                game = true;
                continue;
            }
            let at = memchr::memchr(b':', word)?;
            let index: u32 = std::str::from_utf8(&word[..at]).ok()?.parse().ok()?;
            parse_number(&word[at + 1..])?;
            let (least, most) = indices.unwrap_or((index, index));
            indices = Some((least.min(index), most.max(index)));
            width += 1;
        }
        self.indices = indices;
        self.games += u64::from(game);
        self.negative |= result < 0.0;
        self.positions += u64::from(parse_fen(comment).is_ok());
        Some(width)
    }

    /// Drafts a schema for such a trace, with numbered names; the phase is counted from the FEN if every line
    /// has one.
    pub fn schema(&self) -> Schema {
        let base = self.base();
        let last = self.indices.map_or(base, |(_, largest)| largest);
        let parameters = (base..=last)
            .map(|index| SchemaParameter {
                name: format!("p{index}"),
                index: Some(index),
                ..SchemaParameter::default()
            })
            .collect();
        let good = self.lines - self.bad_lines;
        let mut schema = Schema::new(base, parameters);
        schema.dense = self.dense;
        if self.negative {
            schema.results = Results::MinusOneToOne;
        }
        if good > 0 && self.games == good {
            schema.columns.game = Some(GameColumn::Qid(QidWord::Qid));
        }
        if good > 0 && self.positions == good {
            schema.comment = Comment::Fen;
            schema.phase = Some(PhaseRecord::Word(PhaseWord::Fen));
        }
        schema
    }
}
