//! Visits games as the parser reads them, and plays their moves.
//!
//! A game that cannot be used, or whose moves stop making sense, is counted by reason; positions
//! before the first bad move are kept. A [`Trail`] follows the parser to hear of what it passes
//! over, since a word that it cannot read may be a move all the same.

use std::ops::ControlFlow;

use pgn_reader::{KnownOutcome, Outcome, RawComment, RawTag, Skip, Visitor};
use shakmaty::san::{San, SanPlus};

use super::game::{Game, Stop, TagResult};
use super::moves::{find_move, spells};
use super::split::{is_tag_pair, stretch_ends, tag_name};
use super::trail::{Piece, Trail, is_null_move, is_remark, named_result};
use crate::chess::sample::{Batch, SkippedGame};
use crate::chess::selection::{Criteria, Illegal, LeftOut, MAX_PLIES, Ply, Reason, Unit};

/// Tag lines up to this length are read for certain, and comments come in one piece.
const LONGEST: usize = 4096;

/// Reads the games of a chunk; `first_line` is the number of its first line, from 1.
///
/// Positions are numbered by their game in the chunk.
pub fn read_pgn<'c>(chunk: &'c [u8], first_line: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
    let mut player = Player {
        batch: Batch::default(),
        criteria: criteria.into(),
        chunk,
        trail: Trail::new(chunk, 0),
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

/// Visits what the parser finds. Games are told apart here, by tags and results: for the parser,
/// they end at any blank line.
struct Player<'a> {
    batch: Batch,
    criteria: Criteria<'a>,
    chunk: &'a [u8],
    /// Where the parser is.
    trail: Trail<'a>,
    /// An offset and the number of its line, to count lines from.
    line: (usize, u64),
    game: Option<Game>,
    /// Memory of the last game's positions.
    spare: Vec<Ply>,
    /// Whether the parser is reading tags.
    in_tags: bool,
    /// Where the text of the current comment begins.
    comment: Option<usize>,
    /// How many variations are open, and where the outermost begins.
    variations: u32,
    variation: usize,
}

/// Why the parser hands control back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handed {
    /// It takes the game for ended.
    Back,
    /// It has to begin again where the trail is, having taken something for what it is not.
    Astray,
}

/// What the parser has read, to be found on the trail.
#[derive(Clone, Copy, Debug)]
enum Sought<'s> {
    Move(&'s SanPlus),
    Result,
    Sign(u8),
    /// The end of what the parser takes for a game.
    Pause,
}

impl<'a> Player<'a> {
    /// Reads on up to an offset of the chunk. Comments and variations end there at the latest.
    fn read(&mut self, end: usize) {
        let text = &self.chunk[..end];
        self.trail = Trail::new(text, self.trail.offset());
        while self.trail.offset() < end {
            let from = self.trail.offset();
            let mut parser = pgn_reader::Reader::build(self.trail.rest())
                .set_supported_tag_line_length(LONGEST)
                .set_supported_comment_length(LONGEST)
                .finish();
            let handed = loop {
                match parser.read_game(self) {
                    Ok(Some(Handed::Back)) => {}
                    Ok(Some(Handed::Astray)) => break Handed::Astray,
                    Ok(None) => break self.pass_rest(end),
                    Err(_) if self.in_tags => self.tag_too_long(),
                    Err(_) => {
                        if self.open_comment().is_break() {
                            break Handed::Astray;
                        }
                        let brace = self.comment.take().unwrap_or_default().saturating_sub(1);
                        self.never_closed(brace);
                        self.trail.advance(end);
                    }
                }
            };
            if handed == Handed::Astray && self.trail.offset() == from {
                self.trail.advance(1);
            }
        }
        self.close_variations();
    }

    /// Passes what the parser left at the end.
    fn pass_rest(&mut self, end: usize) -> Handed {
        self.trail.skip_to_tags();
        while self.trail.offset() < end {
            if let ControlFlow::Break(handed) = self.pass_to(Sought::Pause) {
                return handed;
            }
        }
        Handed::Back
    }

    /// Follows the trail to what the parser has read, and deals with every word before it, which
    /// the parser could not read. Returns the word sought, now passed, and its offset.
    fn pass_to(&mut self, sought: Sought<'_>) -> ControlFlow<Handed, Option<(usize, &'a [u8])>> {
        loop {
            let piece = self.trail.peek();
            let offset = self.trail.offset();
            match (piece, sought) {
                (Piece::Word(word), _) => {
                    let found = match sought {
                        Sought::Move(san) => spells(word, san),
                        Sought::Result => named_result(word).is_some(),
                        Sought::Sign(_) | Sought::Pause => false,
                    };
                    if self.variations == 0 && !found && is_tag_pair(self.trail.rest()) {
                        return ControlFlow::Break(Handed::Astray);
                    }
                    self.trail.advance(word.len());
                    if found {
                        return ControlFlow::Continue(Some((offset, word)));
                    }
                    self.skipped(word, offset);
                }
                (Piece::Sign(sign), Sought::Sign(wanted)) if sign == wanted => {
                    self.trail.advance(1);
                    return ControlFlow::Continue(None);
                }
                (Piece::Pause, Sought::Pause) => {
                    self.trail.advance(1);
                    return ControlFlow::Continue(None);
                }
                (Piece::End, _) => return ControlFlow::Continue(None),
                // The word sought was passed as part of another, such as `e5` in `e4,e5`.
                (_, Sought::Move(_) | Sought::Result) => return ControlFlow::Continue(None),
                _ => self.trail.advance(1),
            }
        }
    }

    /// Deals with a word that the parser could not read.
    fn skipped(&mut self, word: &[u8], offset: usize) {
        if self.variations > 0 {
            return;
        }
        if let Some(result) = named_result(word) {
            self.result(result, offset);
        } else if is_null_move(word) {
            self.null_move(offset);
        } else if !is_remark(word) {
            self.play(word, None, offset);
        }
    }

    /// The game that something belongs to; another one if the last is over.
    fn game_at(&mut self, offset: usize, over: impl Fn(&Game) -> bool) -> &mut Game {
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

    fn null_move(&mut self, offset: usize) {
        let criteria = self.criteria;
        self.game_at(offset, |game| game.terminated).begin(&criteria);
        self.stop(Reason::NullMove, offset, "null move");
    }

    fn never_closed(&mut self, offset: usize) {
        let criteria = self.criteria;
        self.game_at(offset, |_| false).begin(&criteria);
        self.stop(Reason::OpenComment, offset, "a comment or variation is never closed");
    }

    fn close_variations(&mut self) {
        if std::mem::take(&mut self.variations) > 0 {
            self.never_closed(self.variation);
        }
    }

    /// Passes a tag pair that the parser gave up on. Whatever it says cannot be used.
    fn tag_too_long(&mut self) {
        self.trail.skip_brackets();
        let offset = self.trail.offset();
        if let Some((name, _)) = tag_name(self.trail.rest()) {
            self.close_variations();
            let criteria = self.criteria;
            self.game_at(offset, Game::ends_at_tags).tag(name, b"too long", &criteria);
        }
        self.trail.next_line();
    }

    /// Finds the brace of the current comment.
    fn open_comment(&mut self) -> ControlFlow<Handed> {
        if self.comment.is_none() {
            self.pass_to(Sought::Sign(b'{'))?;
            self.comment = Some(self.trail.offset());
        }
        ControlFlow::Continue(())
    }

    fn play(&mut self, text: &[u8], san: Option<San>, offset: usize) {
        let criteria = self.criteria;
        let game = self.game_at(offset, |game| game.terminated);
        game.begin(&criteria);
        if game.stopped.is_some() {
            return;
        }
        let Some(ply) = game.plies.last() else { return };
        if game.plies.len() >= MAX_PLIES {
            self.stop(Reason::LongGame, offset, &format!("more than {MAX_PLIES} positions"));
            return;
        }
        match find_move(&ply.position, text, san) {
            Ok(next) => game.play(next, &criteria),
            Err(reason) => {
                let what = if reason == Reason::IllegalMove { "illegal" } else { "unreadable" };
                let shown = String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned();
                self.stop(reason, offset, &format!("{what} move '{}'", shown.escape_debug()));
            }
        }
    }

    /// Gives up on the rest of the game, once.
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

    /// Ends the game: keeps its samples if it has a result.
    fn finish(&mut self) {
        let Some(mut game) = self.game.take() else { return };
        game.begin(&self.criteria);
        self.batch.records += 1;
        let result = match (game.tag_result, game.token_result) {
            (TagResult::Known(tag), Some(token)) if tag != token => Err(Reason::Contradiction),
            (TagResult::Known(value), _) | (TagResult::Missing, Some(value)) => Ok(value),
            (TagResult::Missing, None) => Err(Reason::NoResult),
        };
        let stopped = game.stopped.as_ref().map(|stop| stop.reason);
        let drop_broken = self.criteria.selection.illegal == Illegal::Drop;
        let whole_game = match (stopped, result) {
            (Some(reason @ (Reason::Variant | Reason::BadFen | Reason::BadCastling)), _) => Some(reason),
            (_, Err(reason)) => Some(reason),
            (Some(reason), _) if reason.unit() == Unit::Game => Some(reason),
            (Some(reason), _) if drop_broken && reason != Reason::LongGame => Some(Reason::Broken),
            (None, Ok(_)) if game.moves() == 0 => Some(Reason::NoMoves),
            _ => None,
        };
        if let Some(reason) = whole_game.or(stopped) {
            self.skip(&game, reason);
        }
        if whole_game.is_none() {
            if stopped.is_some() {
                // What the game would have gone on with is not known.
                game.plies.pop();
            }
            let first_sample = self.batch.samples.len();
            let mut left_out = LeftOut::default();
            self.criteria.judge_game(&mut game.plies, game.identity, &mut self.batch.samples, &mut left_out);
            self.batch.positions_read += game.plies.len() as u64;
            self.batch.left_out.merge(&left_out);
            let number = self.batch.records - 1;
            // Positions of a game are no independent witnesses: one a side to move is heard.
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

    /// Counts a game that is left out, wholly or from some move on, and names it.
    fn skip(&mut self, game: &Game, reason: Reason) {
        self.batch.left_out.add(reason);
        if matches!(reason, Reason::BadFen | Reason::BadCastling)
            && self.batch.complaints.len() < Batch::COMPLAINTS
        {
            let line = self.line_of(game.offset);
            self.batch.complain(line, || reason.about_one().to_string());
        }
        let named = self.criteria.named_games;
        if self.batch.skipped.len() >= named || (reason.is_choice() && named <= Batch::NAMED_GAMES) {
            return;
        }
        let place = game.stopped.as_ref().and_then(|stop| stop.place.as_ref());
        let (offset, what) = match (place, reason) {
            (Some((offset, what)), Reason::Broken) => (*offset, format!("{what}; left out")),
            (Some((offset, what)), _) if reason.unit() == Unit::GameRest => {
                (*offset, format!("{what}; its first {} plies are kept", game.moves()))
            }
            _ => (game.offset, reason.about_one().to_string()),
        };
        let line = self.line_of(offset);
        self.batch.skipped.push(SkippedGame { game: self.batch.records - 1, line, reason, what });
    }
}

impl Visitor for Player<'_> {
    type Tags = ();
    type Movetext = ();
    type Output = Handed;

    fn begin_tags(&mut self) -> ControlFlow<Handed> {
        self.in_tags = true;
        self.trail.skip_to_tags();
        ControlFlow::Continue(())
    }

    fn tag(&mut self, _: &mut (), name: &[u8], value: RawTag<'_>) -> ControlFlow<Handed> {
        self.trail.skip_brackets();
        let offset = self.trail.offset();
        let name = name.trim_ascii();
        let named = !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let mut value = value.as_bytes();
        if !self.trail.skip_tag(value.len()) {
            // No closing quote, or a backslash before it that was not meant to escape it.
            value = value.trim_ascii_end();
            value = value.strip_suffix(b"]").unwrap_or(value);
        }
        if named {
            self.close_variations();
            let criteria = self.criteria;
            self.game_at(offset, Game::ends_at_tags).tag(name, value, &criteria);
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, (): ()) -> ControlFlow<Handed> {
        self.in_tags = false;
        self.trail.skip_brackets();
        ControlFlow::Continue(())
    }

    fn san(&mut self, (): &mut (), san: SanPlus) -> ControlFlow<Handed> {
        if self.variations == 0
            && let Some((offset, word)) = self.pass_to(Sought::Move(&san))?
        {
            match san.san {
                San::Null => self.null_move(offset),
                san => self.play(word, Some(san), offset),
            }
        }
        ControlFlow::Continue(())
    }

    fn outcome(&mut self, (): &mut (), outcome: Outcome) -> ControlFlow<Handed> {
        if self.variations == 0
            && let Some((offset, _)) = self.pass_to(Sought::Result)?
        {
            self.result(points(outcome), offset);
        }
        ControlFlow::Continue(())
    }

    fn partial_comment(&mut self, (): &mut (), part: RawComment<'_>) -> ControlFlow<Handed> {
        self.open_comment()?;
        self.trail.advance(part.as_bytes().len());
        ControlFlow::Continue(())
    }

    fn comment(&mut self, (): &mut (), last: RawComment<'_>) -> ControlFlow<Handed> {
        self.open_comment()?;
        self.trail.advance(last.as_bytes().len());
        let from = self.comment.take().unwrap_or_default();
        let end = self.trail.offset();
        let opened = memchr::memchr_iter(b'{', self.trail.since(from)).count();
        self.trail.close_nested(opened);
        if self.variations == 0
            && let Some(game) = &mut self.game
        {
            game.comment(self.trail.since(from), &self.criteria);
        }
        let nested = self.trail.offset() > end;
        self.trail.advance(1);
        if nested { ControlFlow::Break(Handed::Astray) } else { ControlFlow::Continue(()) }
    }

    /// Variations are read, not skipped: the parser's skipping ends at a blank line.
    fn begin_variation(&mut self, (): &mut ()) -> ControlFlow<Handed, Skip> {
        self.pass_to(Sought::Sign(b'('))?;
        if self.variations == 0 {
            self.variation = self.trail.offset().saturating_sub(1);
        }
        self.variations += 1;
        ControlFlow::Continue(Skip(false))
    }

    fn end_variation(&mut self, (): &mut ()) -> ControlFlow<Handed> {
        self.pass_to(Sought::Sign(b')'))?;
        self.variations = self.variations.saturating_sub(1);
        ControlFlow::Continue(())
    }

    fn end_game(&mut self, (): ()) -> Handed {
        match self.pass_to(Sought::Pause) {
            ControlFlow::Continue(_) => Handed::Back,
            ControlFlow::Break(handed) => handed,
        }
    }
}

/// White's points, if they are known.
fn points(outcome: Outcome) -> Option<f32> {
    match outcome {
        Outcome::Known(KnownOutcome::Draw) => Some(0.5),
        Outcome::Known(KnownOutcome::Decisive { winner }) => Some(f32::from(u8::from(winner.is_white()))),
        Outcome::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::selection::Selection;
    use proptest::prelude::*;

    fn read(text: &str) -> Batch {
        {
            let rules = Selection { skip_plies: 0, ..Selection::default() };
            read_pgn(text.as_bytes(), 1, &rules)
        }
    }

    #[test]
    fn results_come_from_the_tag_or_the_last_token() {
        let results = |text: &str| read(text).samples.iter().map(|s| s.result).next();
        assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5 *"), Some(1.0));
        assert_eq!(results("[Result \"*\"]\n\n1. e4 e5 0-1"), Some(0.0));
        assert_eq!(results("[Result \"?\"]\n\n1. e4 e5 1/2-1/2"), Some(0.5));
        assert_eq!(results("1. e4 e5 1-0"), Some(1.0));
        assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5"), Some(1.0));
        assert_eq!(results("[Result \"*\"]\n\n1. e4 e5 *"), None);
        assert_eq!(results("[Result \"1-0\"]\n\n1. e4 e5 0-1"), None);
    }

    #[test]
    fn games_without_tags_end_at_their_results() {
        let batch = read("1. e4 e5 1-0\n\n1. d4 d5 0-1 1. c4 c5 1/2-1/2");
        assert_eq!(batch.records, 3);
        let results: Vec<f32> = batch.samples.iter().map(|s| s.result).collect();
        assert_eq!(results, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5]);
    }

    #[test]
    fn plies_count_from_the_fen_tag() {
        let text = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 5\"]\n\n5. e3 Kd8 6. e4 Kd7 1-0";
        let kept = |skip_plies| {
            let rules = Selection { skip_plies, ..Selection::default() };
            read_pgn(text.as_bytes(), 1, &rules).samples.len()
        };
        assert_eq!((kept(8), kept(9), kept(12), kept(13)), (5, 4, 1, 0));
    }

    #[test]
    fn words_that_the_parser_skips_are_played_or_counted() {
        let whole = read("1. e4 e5 2. Nf3 Nc6 1-0");
        assert_eq!((whole.samples.len(), whole.left_out.sum(Unit::GameRest)), (5, 0));
        for text in [
            "1. e4 e5 (1... c5\n\n2. d4) 2. Nf3\r\n\r\nNc6 1\u{2013}0",
            "1. e2e4 e7e5 2. g1f3 b8c6 1-0",
            "1. e4 e5 2. Nf3 Nc6 1-0\n\n% Nf3 (",
            "1. e4 {a {b} Nf3 ; c} e5 {x}2.Nf3 = N Nc6 +/- 1-0",
            "1e4 e5 2\u{2026}Nf3 $1Nc6 1-0",
            "1. e4 e5 2. Nf3 } Nc6 }1-0",
            "1. e4 e5 ; (d4\n%{\n2. Nf3 Nc6 1-0",
        ] {
            let batch = read(text);
            let keys = |batch: &Batch| batch.samples.iter().map(|s| s.key).collect::<Vec<_>>();
            assert_eq!(keys(&batch), keys(&whole), "{text}: {:?}", batch.complaints);
        }
        for (text, samples, line) in [
            ("1. e4 e5\n2. Nf3Nc6 Nc3 1-0", 2, 2),
            ("1. e4 e5\n2. Qx9 Nf3 Nc6 1-0", 2, 2),
            ("1. e4 [x] e5\n2. Nf3 Nc6 1-0", 1, 1),
            ("1. e4 e5,Nf3 Nc6\n1-0", 1, 1),
            ("1. e4 e5\n\n2. Nf3 1-0 Nc6 {x\n[Event \"y\"]\n\n1. d4 1-0", 6, 3),
        ] {
            let batch = read(text);
            assert_eq!(batch.samples.len(), samples, "{text}");
            assert_eq!(batch.complaints[0].0, line, "{text}");
        }
    }

    #[test]
    fn tags_begin_games_wherever_they_stand() {
        let games = "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"] 1. e4 1-0";
        for between in [" ", "\r", "\n  ", "\n", "\n\n\u{feff}", "\n% (\n", "\n{a}"] {
            let batch = read(&format!("{games}{between}{games}"));
            assert_eq!((batch.records, batch.samples.len()), (2, 4), "{between:?}");
        }
        // A FEN tag that cannot be read must not become the usual start.
        let long = format!("[FEN \"{}\"]\n\n1. e4 1-0", "x".repeat(40_000));
        assert_eq!((read(&long).records, read(&long).samples.len()), (1, 0));
    }

    proptest! {
        #[test]
        fn every_position_is_kept_or_counted(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("1. e4 e5 2. Nf3 Nc6"), Just("e4"), Just("d5"), Just("exd5"), Just("Qh5"), Just("0-0"),
                    Just("{+0.35/12}"), Just("{[%eval #3]"), Just("}"), Just("("), Just(")"), Just("1-0"), Just("*"),
                    Just("0-1"), Just("--"), Just("\n\n"), Just("\n[Event \"x\"]\n"), Just("\n[Result \"1-0\"]"),
                    Just("\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]"), Just("\n[Variant \"960\"]\n"), Just(";"),
                    Just("%"), Just("$3"), Just("[\""), Just("\u{2026}"), Just("\\"),
                ],
                0..60,
            ),
        ) {
            let text = words.join(" ");
            let batch = read(&text);
            let positions_out = batch.left_out.sum(Unit::Position);
            prop_assert_eq!(batch.positions_read, batch.samples.len() as u64 + positions_out);
            prop_assert!(batch.left_out.sum(Unit::Game) + batch.left_out.sum(Unit::GameRest) <= batch.records);
            // Cutting at a game's start changes nothing, except where that is in a comment.
            if let Some(at) = crate::chess::pgn::last_game_start(text.as_bytes())
                && text[..at].rfind('{') <= text[..at].rfind('}')
            {
                let parts = [read(&text[..at]), read(&text[at..])];
                prop_assert!(parts[0].records + parts[1].records >= batch.records);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read_pgn(&bytes, 1, &Selection::default());
        }
    }
}
