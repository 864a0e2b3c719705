//! Books: EPD or FEN, a position per line, or PGN, of which the first moves are used.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use pgn_reader::{RawTag, Reader, SanPlus, Visitor};
use shakmaty::{CastlingMode, Chess, Move, Position};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Opening;
use crate::end::playable;
use gputexel_chess::detection::{InputKind, detect_kind};
use gputexel_chess::epd::parse_epd;
use gputexel_chess::fen::legal_position;
use gputexel_chess::sample::position_key;
use gputexel_io::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_io::{Error, Result};

const COMPLAINTS: usize = 5;
const MAX_LINE: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct Book {
    entries: Vec<BookEntry>,
    pub bad: u64,
    /// With file, line or game, and reason.
    pub complaints: Vec<String>,
    /// Openings that lead to an earlier position.
    pub duplicates: u64,
    /// xxh3 of the decompressed text, hexadecimal.
    pub checksum: String,
}

/// All positions after two moves of both sides whose score, by a search of 3,000 nodes of Stockfish 15.1, is -60 to 110
/// centipawns from White's view.
const BUNDLED: &[u8] = include_bytes!("bundled.epd.zst");

/// Compact, because books have up to millions of lines.
#[derive(Clone, Debug)]
struct BookEntry {
    /// FEN or EPD; `None` for the usual position.
    start: Option<Box<str>>,
    chess960: bool,
    moves: Box<[Move]>,
}

impl Book {
    /// Number of openings in the bundled book.
    pub const BUNDLED: u64 = 53_115;

    /// The openings of games for which no book is named.
    pub fn bundled() -> Self {
        let text = zstd::decode_all(BUNDLED).expect("it is compressed text");
        let mut reading = Reading::new("the bundled book".to_string(), "line");
        reading.lines(&text[..]).expect("reads from memory");
        Self { checksum: format!("{:016x}", xxh3_64(&text)), ..reading.book }
    }

    /// Plain or compressed; of each game, the first `plies`.
    ///
    /// In lines, everything after the four or six fields except the counters `hmvc` and `fmvn` is ignored, and so
    /// are empty lines and those that begin with `#`. Positions whose castling rights require it are Chess960.
    pub fn read(path: &Path, plies: u32) -> Result<Self> {
        let input = Input::open(path, Arc::default())?;
        input.require_text()?;
        let kind = detect_kind(&input.text_name(), input.head());
        let unit = if kind == InputKind::Pgn { "game" } else { "line" };
        let mut reading = Reading::new(input.name().to_string(), unit);
        let mut stream = Stream { input, buffer: Vec::new(), at: 0, ended: false, hash: Xxh3::new() };
        let read = match kind {
            InputKind::Pgn => reading.games(&mut stream, plies as usize),
            InputKind::Text => reading.lines(&mut stream),
        };
        read.map_err(|e| match e.get_ref().is_some_and(|inner| inner.is::<Error>()) {
            // One of our errors, passed through a reader of the standard library.
            true => e
                .into_inner()
                .and_then(|e| e.downcast::<Error>().ok())
                .map_or_else(|| Error::input(path, "cannot be read"), |error| *error),
            false => Error::io(path, e),
        })?;
        let mut book = reading.book;
        book.checksum = format!("{:016x}", stream.hash.digest());
        if book.entries.is_empty() {
            return Err(match book.complaints.first() {
                None => Error::input(path, "contains no openings"),
                Some(first) => Error::input(
                    path,
                    format!("none of its {} {}s can be used; the first: {first}", book.bad, reading.unit),
                ),
            });
        }
        Ok(book)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn has_chess960(&self) -> bool {
        self.entries.iter().any(|entry| entry.chess960)
    }

    pub fn opening(&self, index: usize) -> Opening {
        let entry = &self.entries[index];
        let start = match &entry.start {
            None => Chess::default(),
            Some(text) => parse(text.as_bytes()).expect("it was parsed when the book was read").0,
        };
        Opening { start, moves: entry.moves.to_vec(), chess960: entry.chess960 }
    }
}

/// The position, and true for Chess960.
fn parse(text: &[u8]) -> Result<(Chess, bool), &'static str> {
    let (setup, _) = parse_epd(text).map_err(|e| e.reason())?;
    let mode = CastlingMode::detect(&setup);
    Ok((legal_position(setup, mode).map_err(|e| e.reason())?, mode.is_chess960()))
}

fn stored(text: &[u8]) -> Box<str> {
    String::from_utf8_lossy(text).into()
}

struct Reading {
    book: Book,
    keys: HashSet<u64>,
    name: String,
    unit: &'static str,
}

impl Reading {
    fn new(name: String, unit: &'static str) -> Self {
        Self { book: Book::default(), keys: HashSet::new(), name, unit }
    }

    fn complain(&mut self, number: u64, reason: &str) {
        self.book.bad += 1;
        if self.book.complaints.len() < COMPLAINTS {
            self.book.complaints.push(match self.unit {
                "line" => format!("{}:{number}: {reason}", self.name),
                unit => format!("{}: {unit} {number}: {reason}", self.name),
            });
        }
    }

    fn add(&mut self, number: u64, position: &Chess, entry: BookEntry) {
        if let Err(reason) = playable(position) {
            self.complain(number, reason);
        } else if self.keys.insert(position_key(position)) {
            self.book.entries.push(entry);
        } else {
            self.book.duplicates += 1;
        }
    }

    fn lines(&mut self, stream: impl Read) -> std::io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, stream);
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            let read = (&mut reader).take(MAX_LINE as u64).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            number += 1;
            if read == MAX_LINE && !line.ends_with(b"\n") {
                self.complain(number, "the line is too long for a position");
                if !skip_line(&mut reader)? {
                    return Err(std::io::Error::other(endless_line(&self.name, number)));
                }
                continue;
            }
            let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            match parse(text) {
                Err(reason) => self.complain(number, reason),
                Ok((position, chess960)) => {
                    let start = Some(stored(text));
                    self.add(number, &position, BookEntry { start, chess960, moves: Box::default() });
                }
            }
        }
    }

    fn games(&mut self, stream: &mut Stream, plies: usize) -> std::io::Result<()> {
        let mut reader = Reader::build(stream).set_supported_tag_line_length(MAX_LINE).finish();
        let mut number = 0;
        while let Some(game) = reader.read_game(&mut FirstMoves { plies })? {
            number += 1;
            match game {
                Err(reason) => self.complain(number, &reason),
                Ok(game) if game.moves.is_empty() && game.start.is_none() => {
                    self.complain(number, "no moves");
                }
                Ok(game) => {
                    let entry = BookEntry {
                        start: game.start,
                        chess960: game.chess960,
                        moves: game.moves.into_boxed_slice(),
                    };
                    self.add(number, &game.position, entry);
                }
            }
        }
        Ok(())
    }
}

/// True if the line ends within [`MAX_LINE_BYTES`].
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<bool> {
    let mut skipped = 0;
    while skipped < MAX_LINE_BYTES {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(true);
        }
        let end = memchr::memchr(b'\n', buffer);
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        skipped += used;
        if end.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[derive(Debug, Default)]
struct Beginning {
    start: Option<Box<str>>,
    chess960: bool,
    position: Chess,
    moves: Vec<Move>,
}

struct FirstMoves {
    plies: usize,
}

impl Visitor for FirstMoves {
    type Tags = Beginning;
    type Movetext = Beginning;
    type Output = Result<Beginning, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Self::Tags> {
        ControlFlow::Continue(Beginning::default())
    }

    fn tag(&mut self, tags: &mut Beginning, name: &[u8], value: RawTag<'_>) -> ControlFlow<Self::Output> {
        if name == b"FEN" {
            let text = value.as_bytes().trim_ascii();
            match parse(text) {
                Ok((position, chess960)) => {
                    tags.start = Some(stored(text));
                    tags.position = position;
                    tags.chess960 = chess960;
                }
                Err(reason) => return ControlFlow::Break(Err(reason.to_string())),
            }
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Beginning) -> ControlFlow<Self::Output, Beginning> {
        ControlFlow::Continue(tags)
    }

    fn san(&mut self, game: &mut Beginning, san: SanPlus) -> ControlFlow<Self::Output> {
        if game.moves.len() == self.plies {
            return ControlFlow::Break(Ok(std::mem::take(game)));
        }
        match san.san.to_move(&game.position) {
            Ok(m) => {
                game.position.play_unchecked(m);
                game.moves.push(m);
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(Err(format!("the move {san} is not legal"))),
        }
    }

    fn end_game(&mut self, game: Beginning) -> Self::Output {
        Ok(game)
    }
}

/// Adapts an input to a reader of the standard library, and hashes it.
struct Stream {
    input: Input,
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
    hash: Xxh3,
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.buffer.len() && !self.ended {
            self.buffer.clear();
            self.at = 0;
            self.ended = self.input.fill(&mut self.buffer, 1 << 16).map_err(std::io::Error::other)?;
            self.hash.update(&self.buffer);
        }
        let count = into.len().min(self.buffer.len() - self.at);
        into[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
