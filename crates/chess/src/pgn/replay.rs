//! Replays the moves of games as the parser reads them.

use std::ops::ControlFlow;

use pgn_reader::{KnownOutcome, Outcome, RawComment, RawTag, Skip, Visitor};
use shakmaty::san::{San, SanPlus};

use super::game::{Game, Stop, TagResult};
use super::lenient_moves::{MoveError, castling_side};
use super::moves::{find_move, spells};
use super::split::{follows_blank_line, is_tag_pair, stretch_ends, tag_name};
use super::tags::KnownTag;
use super::text_cursor::{TextCursor, Token, is_null_move, is_remark, named_result};
use crate::sample::{Batch, SkippedGame};
use crate::selection::{Criteria, MAX_PLIES, Ply, Reason, Unit};

/// Length up to which tag lines are always read, bytes. Comments come in parts: the parser moves the rest of its buffer
/// before each token that may be longer.
const LONGEST: usize = 4096;

/// Reads the games of a chunk; `first_line` is the number of its first line, from 1.
///
/// Positions carry the number of their game in the chunk.
pub fn read_pgn<'c>(chunk: &'c [u8], first_line: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
    let mut player = Replay {
        batch: Batch::default(),
        criteria: criteria.into(),
        chunk,
        cursor: TextCursor::new(chunk, 0),
        line: (0, first_line),
        game: None,
        spare: Vec::new(),
        in_tags: false,
        comment: None,
        variations: 0,
        variation: 0,
    };
    for end in stretch_ends(chunk) {
        player.read(end);
    }
    player.finish();
    player.batch
}

/// Visitor of the parser's events. Games are separated here, by tags and results: the parser ends them at any
/// blank line.
pub(super) struct Replay<'a> {
    batch: Batch,
    pub(super) criteria: Criteria<'a>,
    pub(super) chunk: &'a [u8],
    pub(super) cursor: TextCursor<'a>,
    line: (usize, u64),
    game: Option<Game>,
    spare: Vec<Ply>,
    in_tags: bool,
    comment: Option<usize>,
    variations: u32,
    variation: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParserExit {
    GameEnded,
    Resync,
}

#[derive(Clone, Copy, Debug)]
enum Expected<'s> {
    Move(&'s SanPlus),
    Result,
    Sign(u8),
    Pause,
}

impl<'a> Replay<'a> {
    /// Reads up to an offset of the chunk. Comments and variations end there at the latest.
    fn read(&mut self, end: usize) {
        let text = &self.chunk[..end];
        self.cursor = TextCursor::new(text, self.cursor.offset());
        while self.cursor.offset() < end {
            let from = self.cursor.offset();
            let mut parser =
                pgn_reader::Reader::build(self.cursor.rest()).set_supported_tag_line_length(LONGEST).finish();
            let handed = loop {
                match parser.read_game(self) {
                    Ok(Some(ParserExit::GameEnded)) => {}
                    Ok(Some(ParserExit::Resync)) => break ParserExit::Resync,
                    Ok(None) => break self.pass_rest(end),
                    Err(_) if self.in_tags => self.tag_too_long(),
                    Err(_) => {
                        if self.open_comment().is_break() {
                            break ParserExit::Resync;
                        }
                        let brace = self.comment.take().unwrap_or_default().saturating_sub(1);
                        self.never_closed(brace);
                        self.cursor.advance(end);
                    }
                }
            };
            if handed == ParserExit::Resync && self.cursor.offset() == from {
                self.cursor.advance(1);
            }
        }
        self.close_variations();
    }

    fn pass_rest(&mut self, end: usize) -> ParserExit {
        self.cursor.skip_to_tags();
        while self.cursor.offset() < end {
            if let ControlFlow::Break(handed) = self.pass_to(Expected::Pause) {
                return handed;
            }
        }
        ParserExit::GameEnded
    }

    /// Advances the cursor to the event of the parser, and handles every word before it, which the parser
    /// could not read.
    fn pass_to(&mut self, expected: Expected<'_>) -> ControlFlow<ParserExit, Option<(usize, &'a [u8])>> {
        loop {
            let piece = self.cursor.peek();
            let offset = self.cursor.offset();
            match (piece, expected) {
                (Token::Word(word), _) => {
                    let found = match expected {
                        Expected::Move(san) => spells(word, san),
                        Expected::Result => named_result(word).is_some(),
                        Expected::Sign(_) | Expected::Pause => false,
                    };
                    if self.variations == 0 && !found && is_tag_pair(self.cursor.rest()) {
                        return ControlFlow::Break(ParserExit::Resync);
                    }
                    self.cursor.advance(word.len());
                    if found {
                        return ControlFlow::Continue(Some((offset, word)));
                    }
                    self.skipped(word, offset);
                }
                (Token::Sign(sign), Expected::Sign(wanted)) if sign == wanted => {
                    self.cursor.advance(1);
                    return ControlFlow::Continue(None);
                }
                (Token::Pause, Expected::Pause) => {
                    self.cursor.advance(1);
                    return ControlFlow::Continue(None);
                }
                (Token::End, _) => return ControlFlow::Continue(None),
                // The expected word was passed as part of another, such as `e5` in `e4,e5`.
                (_, Expected::Move(_) | Expected::Result) => return ControlFlow::Continue(None),
                _ => self.cursor.advance(1),
            }
        }
    }

    fn skipped(&mut self, word: &[u8], offset: usize) {
        if self.variations > 0 {
            return;
        }
        if let Some(result) = named_result(word) {
            self.result(result, offset);
        } else if is_null_move(word) {
            self.null_move(word, offset);
        } else if !is_remark(word) || castling_side(word).is_some() {
            self.play(word, None, offset);
        }
    }

    /// Returns the game that something belongs to; a new one if the last is over.
    pub(super) fn game_at(&mut self, offset: usize, over: impl Fn(&Game) -> bool) -> &mut Game {
        if self.game.as_ref().is_some_and(over) {
            self.finish();
        }
        self.game.get_or_insert_with(|| Game::new(offset, std::mem::take(&mut self.spare)))
    }

    fn result(&mut self, result: Option<f32>, offset: usize) {
        let game = self.game_at(offset, |_| false);
        game.token_result = game.token_result.or(result);
        game.terminated = true;
    }

    fn null_move(&mut self, word: &[u8], offset: usize) {
        let criteria = self.criteria;
        let game = self.game_at(offset, |game| game.terminated);
        game.begin(&criteria);
        self.stop(Reason::NullMove, offset, &format!("null move '{}'", shown(word)));
    }

    fn never_closed(&mut self, offset: usize) {
        let criteria = self.criteria;
        self.game_at(offset, |_| false).begin(&criteria);
        self.stop(Reason::OpenComment, offset, "a comment or variation is never closed");
    }

    pub(super) fn close_variations(&mut self) {
        if std::mem::take(&mut self.variations) > 0 {
            self.never_closed(self.variation);
        }
    }

    fn open_comment(&mut self) -> ControlFlow<ParserExit> {
        if self.comment.is_none() {
            self.pass_to(Expected::Sign(b'{'))?;
            self.comment = Some(self.cursor.offset());
        }
        ControlFlow::Continue(())
    }

    fn play(&mut self, text: &[u8], san: Option<San>, offset: usize) {
        let (criteria, chunk) = (self.criteria, self.chunk);
        let game = self.game_at(offset, |game| game.terminated);
        game.begin(&criteria);
        if game.stopped.is_some() {
            game.lost += 1;
            return;
        }
        let Some(ply) = game.plies.last() else { return };
        if game.plies.len() >= MAX_PLIES {
            self.stop(Reason::LongGame, offset, &format!("more than {MAX_PLIES} positions"));
            return;
        }
        let rest = || chunk.get(offset + text.len()..).unwrap_or_default();
        match find_move(&ply.position, text, san, rest) {
            Ok(next) => game.play(next, &criteria),
            Err(fault) => {
                game.lost += 1;
                let (reason, what) = match fault {
                    MoveError::Unreadable => (Reason::UnreadableMove, "unreadable"),
                    MoveError::Illegal => (Reason::IllegalMove, "illegal"),
                    MoveError::Ambiguous => (Reason::IllegalMove, "ambiguous"),
                };
                self.stop(reason, offset, &format!("{what} move '{}'", shown(text)));
            }
        }
    }

    fn unread_score(&mut self, text: &[u8], offset: usize) {
        // Lines are counted only for the one that is printed.
        let line = if self.batch.unread_scores.first.is_none() { self.line_of(offset) } else { 0 };
        self.batch.unread_scores.add(line, || shown(text.trim_ascii()));
    }

    fn stop(&mut self, reason: Reason, offset: usize, what: &str) {
        let Some(game) = self.game.as_mut().filter(|game| game.stopped.is_none()) else { return };
        game.stopped = Some(Stop { reason, place: Some((offset, what.to_string())) });
        if self.batch.complaints.len() < Batch::COMPLAINTS {
            let line = self.line_of(offset);
            self.batch.complain(line, || what.to_string());
        }
    }

    fn line_of(&mut self, offset: usize) -> u64 {
        let (from, line) = self.line;
        let lines = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
        let line = match self.chunk.get(from..offset) {
            Some(between) => line + lines(between),
            None => line - lines(&self.chunk[offset..from]),
        };
        self.line = (offset, line);
        line
    }

    fn finish(&mut self) {
        let Some(mut game) = self.game.take() else { return };
        game.begin(&self.criteria);
        self.batch.records += 1;
        let result = match (game.tag_result, game.token_result) {
            (TagResult::Contradictory, _) => Err(Reason::Contradiction),
            (TagResult::Known(tag), Some(token)) if tag != token => Err(Reason::Contradiction),
            (TagResult::Known(value), _) | (TagResult::Missing, Some(value)) => Ok(value),
            (TagResult::Missing, None) => Err(Reason::NoResult),
        };
        let stopped = game.stopped.as_ref().map(|stop| stop.reason);
        let whole_game = match (stopped, result) {
            (Some(reason @ (Reason::Variant | Reason::BadFen | Reason::BadCastling)), _) => Some(reason),
            (None, _) if game.moves() == 0 => Some(Reason::NoMoves),
            (_, Err(reason)) => Some(reason),
            (Some(reason), _) if reason.unit() == Unit::Game => Some(reason),
            _ => None,
        };
        let reason = whole_game.or(stopped);
        if reason.is_none_or(Reason::is_fault) {
            self.batch.plies += game.moves() as u64 + game.lost;
            self.batch.plies_lost += game.lost;
        }
        let noted = reason.or((!game.terminated).then_some(Reason::NoEnd));
        if let Some(reason) = noted {
            self.skip(&game, reason);
        }
        if whole_game.is_none() {
            if stopped.is_some() {
                // The continuation of the game is not known.
                game.plies.pop();
            }
            let first_sample = self.batch.samples.len();
            game.apply_opening_score();
            if game.has_scores {
                self.batch.comments.add_game(&game.scored_plies());
            }
            self.criteria.judge_game(&mut game.plies, game.identity, &mut self.batch);
            self.batch.positions_read += game.plies.len() as u64;
            let number = self.batch.records - 1;
            // Positions of a game are not independent: one per side to move counts.
            let mut heard = [false; 2];
            for sample in &mut self.batch.samples[first_sample..] {
                sample.result = result.unwrap_or(0.5);
                sample.game = Some(number);
                let heard = &mut heard[usize::from(sample.turn.is_white())];
                *heard = *heard || self.batch.agreement.add(&sample.board, sample.turn, sample.result);
            }
        }
        game.plies.clear();
        self.spare = game.plies;
    }

    fn skip(&mut self, game: &Game, reason: Reason) {
        self.batch.left_out.add(reason);
        if matches!(reason, Reason::BadFen | Reason::BadCastling)
            && self.batch.complaints.len() < Batch::COMPLAINTS
        {
            let line = self.line_of(game.offset);
            self.batch.complain(line, || reason.about_one().to_string());
        }
        let listed = self.batch.skipped.len() < Batch::NAMED_GAMES && !reason.is_choice();
        // The first faults are recorded even if other games fill the list.
        let first = reason.is_fault() && self.batch.left_out.faulty_games() <= Batch::NAMED_FAULTS as u64;
        if !listed && !first {
            return;
        }
        let place = game.stopped.as_ref().and_then(|stop| stop.place.as_ref());
        let (offset, what) = match (place, reason) {
            (Some((offset, what)), _) if reason.unit() == Unit::GameRest => {
                (*offset, format!("{what}; its first {} plies are kept", game.moves()))
            }
            _ => (game.offset, reason.about_one().to_string()),
        };
        let line = self.line_of(offset);
        self.batch.skipped.push(SkippedGame { game: self.batch.records - 1, line, reason, what });
    }
}

impl Visitor for Replay<'_> {
    type Tags = ();
    type Movetext = ();
    type Output = ParserExit;

    fn begin_tags(&mut self) -> ControlFlow<ParserExit> {
        self.in_tags = true;
        self.cursor.skip_to_tags();
        ControlFlow::Continue(())
    }

    fn tag(&mut self, _: &mut (), name: &[u8], value: RawTag<'_>) -> ControlFlow<ParserExit> {
        self.read_tag(name, value.as_bytes().len())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<ParserExit> {
        self.in_tags = false;
        self.bare_tags();
        ControlFlow::Continue(())
    }

    fn san(&mut self, (): &mut (), san: SanPlus) -> ControlFlow<ParserExit> {
        if self.variations == 0
            && let Some((offset, word)) = self.pass_to(Expected::Move(&san))?
        {
            match san.san {
                San::Null => self.null_move(word, offset),
                san => self.play(word, Some(san), offset),
            }
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, (): &mut (), outcome: Outcome) -> ControlFlow<ParserExit> {
        if self.variations == 0
            && let Some((offset, _)) = self.pass_to(Expected::Result)?
        {
            self.result(points(outcome), offset);
        }
        ControlFlow::Continue(())
    }

    fn partial_comment(&mut self, (): &mut (), part: RawComment<'_>) -> ControlFlow<ParserExit> {
        self.open_comment()?;
        self.cursor.advance(part.as_bytes().len());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, (): &mut (), last: RawComment<'_>) -> ControlFlow<ParserExit> {
        self.open_comment()?;
        self.cursor.advance(last.as_bytes().len());
        let from = self.comment.take().unwrap_or_default();
        let end = self.cursor.offset();
        let opened = memchr::memchr_iter(b'{', self.cursor.since(from)).count();
        self.cursor.close_nested(opened);
        if self.variations == 0
            && let Some(game) = &mut self.game
        {
            let text = self.cursor.since(from);
            if game.comment(text, &self.criteria, &mut self.batch.comments) {
                self.unread_score(text, from);
            }
        }
        let nested = self.cursor.offset() > end;
        self.cursor.advance(1);
        if nested { ControlFlow::Break(ParserExit::Resync) } else { ControlFlow::Continue(()) }
    }

    fn begin_variation(&mut self, (): &mut ()) -> ControlFlow<ParserExit, Skip> {
        self.pass_to(Expected::Sign(b'('))?;
        if self.variations == 0 {
            self.variation = self.cursor.offset().saturating_sub(1);
        }
        self.variations += 1;
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, (): &mut ()) -> ControlFlow<ParserExit> {
        self.pass_to(Expected::Sign(b')'))?;
        self.variations = self.variations.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (): ()) -> ParserExit {
        match self.pass_to(Expected::Pause) {
            ControlFlow::Continue(_) => ParserExit::GameEnded,
            ControlFlow::Break(handed) => handed,
        }
    }
}

fn shown(word: &[u8]) -> String {
    gputexel_io::shown(&String::from_utf8_lossy(word))
}

/// Returns White's points, if they are known.
fn points(outcome: Outcome) -> Option<f32> {
    match outcome {
        Outcome::Known(KnownOutcome::Draw) => Some(0.5),
        Outcome::Known(KnownOutcome::Decisive { winner }) => Some(f32::from(u8::from(winner.is_white()))),
        Outcome::Unknown => None,
    }
}

impl Replay<'_> {
    /// Takes a tag pair whose value has `length` bytes for the parser.
    pub fn read_tag(&mut self, name: &[u8], length: usize) -> ControlFlow<ParserExit> {
        self.bare_tags();
        let offset = self.cursor.offset();
        let name = name.trim_ascii();
        let (value, parsed) = self.cursor.pass_tag(length);
        if !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            self.take_tag(name, value, offset);
        }
        if parsed { ControlFlow::Continue(()) } else { ControlFlow::Break(ParserExit::Resync) }
    }

    /// Skips a tag pair that the parser gave up on. Its value cannot be used.
    pub fn tag_too_long(&mut self) {
        self.bare_tags();
        let offset = self.cursor.offset();
        if let Some((name, _)) = tag_name(self.cursor.rest()) {
            self.take_tag(name, b"too long", offset);
        }
        self.cursor.next_line();
    }

    /// Skips brackets without quotes, but reads the tags in them that matter.
    pub fn bare_tags(&mut self) {
        loop {
            let offset = self.cursor.offset();
            let Some(inside) = self.cursor.pass_bracket() else { return };
            let inside = inside.trim_ascii();
            let length = inside.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(inside.len());
            let (name, value) = inside.split_at(length);
            let value = unquoted(value);
            if KnownTag::parse(name).is_some() && !value.is_empty() {
                self.take_tag(name, value, offset);
            }
        }
    }

    fn take_tag(&mut self, name: &[u8], value: &[u8], offset: usize) {
        self.close_variations();
        let criteria = self.criteria;
        let known = KnownTag::parse(name);
        let blank = follows_blank_line(&self.chunk[..offset]);
        let over = |game: &Game| game.ends_at_tags() || game.ends_at_tag(known, blank);
        self.game_at(offset, over).tag(known, name, value, &criteria);
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    const QUOTES: [&str; 7] = ["'", "`", "\u{201c}", "\u{201d}", "\u{201e}", "\u{2018}", "\u{2019}"];
    let mut value = value.trim_ascii();
    while let Some(inner) = QUOTES.iter().find_map(|quote| value.strip_prefix(quote.as_bytes())) {
        value = inner.trim_ascii();
    }
    while let Some(inner) = QUOTES.iter().find_map(|quote| value.strip_suffix(quote.as_bytes())) {
        value = inner.trim_ascii();
    }
    value
}
