//! Stockfish's plain text: six lines per position, as its tools write it in addition to binpack.
//!
//! ```text
//! fen FEN
//! move e2e4
//! score 35
//! ply 0
//! result 1
//! e
//! ```
//!
//! Score and result (1, 0 or -1) are the side to move's; 32002 means no score, `0000` no move; `e` ends the
//! record. Consecutive records form a game if each follows from the one before by its move.

use std::fmt::Write as _;

use crate::sample::{Batch, Origin, game_ply};
use crate::selection::{Criteria, MAX_PLIES, Ply, Reason};
use crate::text::significant_lines;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, File, Move, Position, Rank};

use crate::formats::collector::{Collector, MOST_MISSING};
use crate::formats::spec::{FormatSpec, Output, TrainingData};
use crate::formats::{NO_SCORE, Writer, position, refusal, stored_score, white_score};

pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "plain",
    endings: &["plain"],
    records: ["chain of moves", "chains of moves"],
    has_moves: true,
    split_point: Some(split_point),
    training: Some(TrainingData { read, detect: |head, _| detect(head) }),
    output: Some(Output { has_missing_scores: true, ..Output::new(push) }),
    ..FormatSpec::TEXT
};

/// Number of bytes after which chunks end even within games.
const LONG_GAME_BYTES: usize = 2 << 20;

/// Number of bytes before the end of a record in which its ply is searched for.
const RECORD_BYTES: usize = 256;

#[derive(Debug, Default)]
struct Fields {
    line: u64,
    position: Option<Chess>,
    /// The move, unless it is the null move.
    next: Option<UciMove>,
    score: Option<i16>,
    ply: Option<u32>,
    /// Result of the side to move: 1, 0 or -1.
    result: Option<i8>,
    seen: u8,
}

struct Record {
    position: Chess,
    next: Option<Move>,
    score_cp: f32,
    ply: Option<u32>,
    result: f32,
}

struct Refusal(u64, Reason, String);

impl Fields {
    /// Reads a line `KEY VALUE`.
    fn read(&mut self, line: u64, text: &[u8]) -> Result<(), Refusal> {
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        let (key, value) = (&text[..end], text[end..].trim_ascii());
        let shown = |text: &[u8]| String::from_utf8_lossy(text).chars().take(40).collect::<String>();
        let unreadable = || {
            Refusal(
                line,
                Reason::UnreadableRecord,
                format!("the {} '{}' cannot be read", shown(key), shown(value)),
            )
        };
        let word = std::str::from_utf8(value).unwrap_or_default();
        let field = match key {
            b"fen" => 0,
            b"move" => 1,
            b"score" => 2,
            b"ply" => 3,
            b"result" => 4,
            _ => {
                let what = format!("'{}' is none of fen, move, score, ply, result and e", shown(key));
                return Err(Refusal(line, Reason::UnreadableRecord, what));
            }
        };
        if self.seen & 1 << field != 0 {
            let what = format!("a second {} in a record, which should end with e", shown(key));
            return Err(Refusal(line, Reason::UnreadableRecord, what));
        }
        self.seen |= 1 << field;
        match field {
            0 => {
                let position = position(value);
                let position =
                    position.map_err(|error| Refusal(line, refusal(error), error.reason().to_string()))?;
                self.position = Some(position);
            }
            1 => {
                let next: UciMove = word.parse().map_err(|_| unreadable())?;
                self.next = Some(next).filter(|next| *next != UciMove::Null);
            }
            2 => self.score = Some(word.parse().map_err(|_| unreadable())?),
            3 => self.ply = Some(word.parse().map_err(|_| unreadable())?),
            _ => {
                let result = word.parse().ok().filter(|result| (-1..=1).contains(result));
                self.result = Some(result.ok_or_else(|| {
                    let what = format!("the result '{}' is neither 1, 0 nor -1", shown(value));
                    Refusal(line, Reason::BadRecordResult, what)
                })?);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Record, Refusal> {
        let lacks =
            |field| Refusal(self.line, Reason::UnreadableRecord, format!("the record has no {field}"));
        let position = self.position.ok_or_else(|| lacks("fen"))?;
        let result = f32::from(self.result.ok_or_else(|| lacks("result"))?);
        let next = match self.next {
            None => None,
            Some(next) => Some(next.to_move(&position).map_err(|_| {
                Refusal(self.line, Reason::IllegalRecordMove, format!("the move {next} is not legal"))
            })?),
        };
        let turn = position.turn();
        let score_cp =
            self.score.filter(|score| *score != NO_SCORE).map_or(f32::NAN, |s| white_score(s, turn));
        let result = 0.5 + turn.fold_wb(0.5, -0.5) * result;
        Ok(Record { position, next, score_cp, ply: self.ply, result })
    }
}

#[derive(Default)]
struct Game {
    plies: Vec<Ply>,
    result: f32,
    expected: Option<(u32, Chess)>,
}

impl Game {
    fn add(&mut self, record: Record, out: &mut Collector<'_>) {
        let continues = self.plies.len() < MAX_PLIES
            && self.result == record.result
            && self
                .expected
                .as_ref()
                .is_some_and(|(ply, position)| record.ply == Some(*ply) && *position == record.position);
        if !continues {
            self.end(out);
        }
        self.result = record.result;
        self.expected = record.next.zip(record.ply).and_then(|(next, ply)| {
            let mut position = record.position.clone();
            position.play_unchecked(next);
            Some((ply.checked_add(1)?, position))
        });
        let mut ply = Ply::new(record.position);
        ply.next = record.next;
        ply.score_cp = record.score_cp;
        self.plies.push(ply);
    }

    fn end(&mut self, out: &mut Collector<'_>) {
        self.expected = None;
        if !self.plies.is_empty() {
            out.game(&mut self.plies, self.result);
        }
    }
}

/// Returns true if an input begins with such a record, as far as `head` reaches.
fn detect(head: &[u8]) -> bool {
    let mut lines = significant_lines(head, 1).map(|(_, line)| line);
    let fen = lines.next().and_then(|line| line.strip_prefix(b"fen "));
    fen.is_some_and(|fen| crate::fen::parse_fen(fen.trim_ascii()).is_ok())
}

/// Reads the records of a chunk whose first line is number `first_line`. Places are lines.
fn read(chunk: &[u8], first_line: u64, criteria: Criteria<'_>) -> Batch {
    let mut out = Collector::new(criteria);
    let mut game = Game::default();
    let mut fields = Fields::default();
    // After a fault the rest of the record is skipped, up to its end or the beginning of the next one.
    let mut broken = false;
    for (line, text) in significant_lines(chunk, first_line) {
        if text == b"e" {
            let done = std::mem::take(&mut fields);
            if !std::mem::take(&mut broken) {
                match done.finish() {
                    Ok(record) => game.add(record, &mut out),
                    Err(refusal) => refuse(refusal, &mut game, &mut out),
                }
            }
            continue;
        }
        if broken && text.starts_with(b"fen ") {
            (broken, fields) = (false, Fields::default());
        }
        if broken {
            continue;
        }
        if fields.seen == 0 {
            fields.line = line;
        }
        if let Err(refusal) = fields.read(line, text) {
            refuse(refusal, &mut game, &mut out);
            // The record whose end is missing is at fault, not the one after it.
            fields = Fields::default();
            broken = !text.starts_with(b"fen ") || fields.read(line, text).is_err();
            fields.line = line;
        }
    }
    if fields.seen != 0 && !broken {
        let what = "the last record does not end with e: the input is cut short".to_string();
        refuse(Refusal(fields.line, Reason::UnreadableRecord, what), &mut game, &mut out);
    }
    game.end(&mut out);
    out.finish()
}

fn push(writer: &mut Writer, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
    let position = &origin.position;
    let turn = position.turn();
    let mode = if is_chess960(position) { CastlingMode::Chess960 } else { CastlingMode::Standard };
    let next = origin.next.map_or_else(|| "0000".to_string(), |next| next.to_uci(mode).to_string());
    let ply = game_ply(position).min(u32::MAX.into());
    let score = if origin.score_cp.is_nan() { NO_SCORE } else { stored_score(origin.score_cp, turn) };
    let result = (2.0 * turn.fold_wb(result, 1.0 - result) - 1.0).round() as i32;
    let fen = Fen::from_position(position, EnPassantMode::Legal);
    writer.losses.null_moves += u64::from(origin.next.is_none());
    writer.push_text(out, |text| {
        write!(text, "fen {fen}\nmove {next}\nscore {score}\nply {ply}\nresult {result}\ne\n")
    })
}

fn is_chess960(position: &Chess) -> bool {
    position.castles().castling_rights().into_iter().any(|rook| {
        let king = position.board().king_of(Color::from_white(rook.rank() == Rank::First));
        !matches!(rook.file(), File::A | File::H) || king.is_none_or(|king| king.file() != File::E)
    })
}

fn refuse(Refusal(line, reason, what): Refusal, game: &mut Game, out: &mut Collector<'_>) {
    game.end(out);
    out.refuse(reason, line, || what);
}

/// Returns the end of a game in a buffer that begins with a record: after the last record that the next whole
/// one cannot continue, by their plies.
fn split_point(buffer: &[u8]) -> Option<usize> {
    // The end of the record after the current one.
    let mut next_end = None;
    let mut last = None;
    for at in memchr::memmem::rfind_iter(buffer, b"\ne") {
        let end = match &buffer[at + 2..] {
            [b'\n', ..] => at + 3,
            [b'\r', b'\n', ..] => at + 4,
            _ => continue,
        };
        last = last.or(Some(end));
        if let Some(next_end) = next_end.replace(end) {
            let before = last_ply(&buffer[at.saturating_sub(RECORD_BYTES)..at]);
            let behind = last_ply(&buffer[end..next_end]);
            let goes_on = before.zip(behind).is_some_and(|(before, behind)| {
                before
                    .checked_add(1)
                    .is_some_and(|next| (next..=next.saturating_add(MOST_MISSING)).contains(&behind))
            });
            if !goes_on {
                return Some(end);
            }
        }
    }
    last.filter(|_| buffer.len() >= LONG_GAME_BYTES)
}

fn last_ply(text: &[u8]) -> Option<u32> {
    let start = memchr::memmem::rfind(text, b"\nply ")? + 5;
    let line = text[start..].split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line.trim_ascii()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Selection;
    use proptest::prelude::*;

    const RECORDS: [&str; 4] = [
        "fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\nmove e2e4\nscore 35\nply 0\nresult -1\ne\n",
        "fen rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\nmove e7e5\nscore -20\nply 1\nresult 1\ne\n",
        "fen rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2\nmove g1f3\nscore 32002\nply 2\nresult -1\ne\n",
        "fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 30\nmove 0000\nscore 1\nply 58\nresult 0\ne\n",
    ];

    type Seen = (f32, Option<f32>, u64);

    fn all(text: &str) -> (Vec<Seen>, Vec<(u64, String)>) {
        let batch = read(text.as_bytes(), 1, (&Selection::everything()).into());
        let samples = batch.samples.iter().map(|sample| {
            (sample.result, Some(sample.score_cp).filter(|s| !s.is_nan()), sample.game.unwrap())
        });
        (samples.collect(), batch.complaints)
    }

    const SAMPLES: [Seen; 4] =
        [(0.0, Some(35.0), 1), (0.0, Some(20.0), 1), (0.0, None, 1), (0.5, Some(1.0), 2)];

    #[test]
    fn records_become_games() {
        let text = RECORDS.concat();
        assert_eq!(all(&text), (SAMPLES.to_vec(), Vec::new()));
        assert_eq!(all(&format!("\u{feff}{}", text.replace('\n', "\r\n"))).0, SAMPLES);
        let chains = |text: &str| read(text.as_bytes(), 1, (&Selection::everything()).into()).records;
        assert_eq!(chains(&text), 2);
        // A different order, result or ply breaks a chain of moves.
        assert_eq!(chains(&[RECORDS[1], RECORDS[0], RECORDS[2]].concat()), 3);
        for (from, to) in [("ply 1\nresult 1", "ply 1\nresult 0"), ("ply 1\n", "ply 3\n")] {
            assert_eq!(chains(&text.replace(from, to)), 4);
        }
        let games: Vec<u64> =
            all(&text.replace("ply 1\nresult 1", "ply 1\nresult 0")).0.iter().map(|s| s.2).collect();
        assert_eq!(games, [1, 2, 3, 4]);
        assert!(detect(text.as_bytes()) && !detect(b"fen,result\n") && !detect(b""));
    }

    #[test]
    fn faulty_records_are_left_out_and_named() {
        let text = RECORDS.concat();
        for (from, to, line, part) in [
            ("move e7e5", "move e7e4", 7, "the move e7e4 is not legal"),
            ("score -20", "score 40000", 9, "the score '40000' cannot be read"),
            ("result 1", "result 2", 11, "the result '2' is neither"),
            ("ply 1\n", "ply x\n", 10, "the ply 'x' cannot be read"),
            ("ply 1\n", "", 7, ""),
            ("result 1\n", "", 7, "the record has no result"),
            ("score -20\n", "eval -20\n", 9, "'eval' is none of"),
            ("result 1\ne\n", "result 1\n", 12, "a second fen in a record"),
            ("/4P3/8/PPPP1PPP/RNBQKBNR b", "/4P3/8/PPPP1PPP/RNBQ1BNR b", 7, "illegal position"),
        ] {
            let broken = text.replacen(from, to, 1);
            let (samples, complaints) = all(&broken);
            if part.is_empty() {
                assert_eq!((samples.len(), complaints.len()), (4, 0), "{from:?} {to:?}");
                continue;
            }
            assert_eq!(samples.len(), 3, "{from:?} {to:?} {complaints:?}");
            assert_eq!(complaints.len(), 1, "{from:?} {to:?} {complaints:?}");
            assert!(complaints[0].0 == line && complaints[0].1.contains(part), "{complaints:?}");
        }
    }

    #[test]
    fn cut_anywhere_it_holds_the_whole_records_before() {
        let text = RECORDS.concat();
        for end in 0..text.len() {
            let whole = text[..end].matches("\ne\n").count() + usize::from(text[..end].ends_with("\ne"));
            let (samples, complaints) = all(&text[..end]);
            assert_eq!(samples, SAMPLES[..whole], "{end}");
            let rest = text[..end].rsplit("\ne\n").next().unwrap();
            assert_eq!(complaints.len(), usize::from(!rest.is_empty() && !rest.ends_with("\ne")), "{end}");
        }
    }

    #[test]
    fn chunks_end_between_games() {
        let text = RECORDS.concat();
        let third = RECORDS[..3].concat().len();
        assert_eq!(split_point(text.as_bytes()), Some(third));
        assert_eq!(split_point(&text.as_bytes()[..text.len() - 12]), None);
        assert_eq!(split_point(RECORDS[..3].concat().as_bytes()), None);
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(split_point(crlf.as_bytes()), Some(RECORDS[..3].concat().replace('\n', "\r\n").len()));
        let without = RECORDS[0].replace("ply 0\n", "");
        assert_eq!(split_point(without.repeat(3).as_bytes()), Some(2 * without.len()));
        let long: String = (0..LONG_GAME_BYTES / RECORDS[0].len() + 10)
            .map(|ply| RECORDS[0].replace("ply 0", &format!("ply {ply}")))
            .collect();
        assert_eq!(split_point(long.as_bytes()), Some(long.len()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>(), byte: u8) {
            read(&bytes, 1, (&Selection::everything()).into());
            split_point(&bytes);
            let mut text = RECORDS.concat().into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            let batch = read(&text, 1, (&Selection::everything()).into());
            prop_assert!(batch.samples.len() <= 4);
            split_point(&text);
        }
    }
}
