//! Plays games and offers their positions to the selection.
//!
//! Owns results, variants, FEN tags, and where a game stops being usable. A game that cannot be
//! used, or whose moves stop making sense, is counted by reason; positions before the first bad
//! move are kept.

use shakmaty::san::San;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, CastlingSide, Chess, FromSetup, Move, Position, PositionErrorKinds};

use super::scanner::{Scanner, Token};
use super::scores::comment_scores;
use crate::chess::fen::{legal_position, parse_fen};
use crate::chess::sample::{Batch, Sample, position_key};
use crate::chess::selection::{LeftOut, Reason, Selection};

/// Reads the games of a chunk; `first_line` is the number of its first line, from 1.
///
/// Positions are numbered by their game in the chunk.
pub fn read_pgn(chunk: &[u8], first_line: u64, selection: &Selection) -> Batch {
    let mut reader = Reader { batch: Batch::default(), selection, chunk, line: (0, first_line), game: None };
    let mut scanner = Scanner::new(chunk);
    loop {
        let offset = scanner.offset();
        let Some(token) = scanner.next() else { break };
        reader.token(token, offset);
    }
    reader.finish();
    reader.batch
}

struct Reader<'a> {
    batch: Batch,
    selection: &'a Selection,
    chunk: &'a [u8],
    /// An offset and the number of its line, to count lines from.
    line: (usize, u64),
    game: Option<Game>,
}

/// What the result tag says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TagResult {
    Missing,
    Known(f32),
}

struct Game {
    /// Where it begins in the chunk.
    offset: usize,
    tag_result: TagResult,
    token_result: Option<f32>,
    variant: Variant,
    fen: Option<Vec<u8>>,
    /// `None` before the first move.
    position: Option<Chess>,
    moves: u32,
    /// Set when the game, or the rest of it, cannot be used.
    stopped: Option<Reason>,
    terminated: bool,
    /// Of the next position, from a comment behind the last move; centipawns, White's view.
    score_cp: f32,
    /// Whether the position before the last move was the last sample.
    sampled: bool,
    first_sample: usize,
    positions_read: u64,
    left_out: LeftOut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Standard,
    Chess960,
    Other,
}

impl Variant {
    /// Judges a Variant tag by its letters and digits.
    fn parse(value: &[u8]) -> Self {
        let name: String = value
            .iter()
            .filter(|b| b.is_ascii_alphanumeric())
            .map(|b| char::from(b.to_ascii_lowercase()))
            .collect();
        match name.as_str() {
            "" | "standard" | "chess" | "normal" | "orthodox" | "regular" | "fromposition" => Self::Standard,
            "chess960" | "960" | "frc" | "dfrc" | "freestyle" | "freestylechess" => Self::Chess960,
            _ if name.contains("fischer") || name.contains("960") => Self::Chess960,
            _ => Self::Other,
        }
    }
}

impl Reader<'_> {
    fn token(&mut self, token: Token<'_>, offset: usize) {
        let begins_anew = match (&self.game, token) {
            (Some(game), Token::Tag(..)) => game.position.is_some() || game.terminated,
            (Some(game), Token::Move(_) | Token::NullMove) => game.terminated,
            _ => false,
        };
        if begins_anew {
            self.finish();
        }
        if self.game.is_none() {
            if matches!(token, Token::Comment(_)) {
                return;
            }
            self.game = Some(Game::new(offset, self.batch.samples.len()));
        }
        let game = self.game.as_mut().expect("a game was just begun");
        match token {
            Token::Tag(name, value) => game.tag(name, value),
            Token::Result(value) => {
                game.token_result.get_or_insert(value);
                game.terminated = true;
            }
            Token::UnknownResult => game.terminated = true,
            Token::Comment(text) => game.comment(text, &mut self.batch.samples),
            Token::Open => {
                game.begin();
                self.stop(Reason::OpenComment, offset, "a comment or variation is never closed");
            }
            Token::NullMove => {
                game.begin();
                self.stop(Reason::NullMove, offset, "null move");
            }
            Token::Move(text) => self.play(text, offset),
        }
    }

    fn play(&mut self, text: &[u8], offset: usize) {
        let Some(game) = &mut self.game else { return };
        game.begin();
        if game.stopped.is_some() {
            return;
        }
        let Some(position) = &game.position else { return };
        match find_move(position, text) {
            Ok(next) => {
                game.offer(Some(next), self.selection, &mut self.batch.samples);
                if let Some(position) = &mut game.position {
                    position.play_unchecked(next);
                }
                game.moves += 1;
            }
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
        game.stopped = Some(reason);
        if self.batch.complaints.len() < Batch::COMPLAINTS {
            // Tokens are looked for from the end of the one before: step over what parts them.
            let gap = self.chunk[offset..].iter().take_while(|b| b.is_ascii_whitespace()).count();
            let line = self.line_of(offset + gap);
            self.batch.complain(line, || what.to_string());
        }
    }

    fn line_of(&mut self, offset: usize) -> u64 {
        let (from, line) = self.line;
        let lines = memchr::memchr_iter(b'\n', &self.chunk[from.min(offset)..offset]).count() as u64;
        self.line = (offset, line + lines);
        line + lines
    }

    /// Ends the game: keeps its samples if it has a result.
    fn finish(&mut self) {
        let Some(mut game) = self.game.take() else { return };
        game.begin();
        self.batch.records += 1;
        let result = match (game.tag_result, game.token_result) {
            (TagResult::Known(tag), Some(token)) if tag != token => Err(Reason::Contradiction),
            (TagResult::Known(value), _) | (TagResult::Missing, Some(value)) => Ok(value),
            (TagResult::Missing, None) => Err(Reason::NoResult),
        };
        let whole_game = match (game.stopped, result) {
            (Some(reason @ (Reason::Variant | Reason::BadFen | Reason::BadCastling)), _) => Some(reason),
            (_, Err(reason)) => Some(reason),
            (None, Ok(_)) if game.moves == 0 => Some(Reason::NoMoves),
            _ => None,
        };
        if let Some(reason) = whole_game {
            self.batch.left_out.add(reason);
            self.batch.samples.truncate(game.first_sample);
            if matches!(reason, Reason::BadFen | Reason::BadCastling)
                && self.batch.complaints.len() < Batch::COMPLAINTS
            {
                let line = self.line_of(game.offset);
                let what =
                    if reason == Reason::BadFen { "FEN tag" } else { "castling rights of the FEN tag" };
                self.batch.complain(line, || format!("the {what} of this game cannot be used"));
            }
            return;
        }
        match game.stopped {
            Some(reason) => self.batch.left_out.add(reason),
            None => game.offer(None, self.selection, &mut self.batch.samples),
        }
        let number = self.batch.records - 1;
        // Positions of a game are no independent witnesses: one a side to move is heard.
        let mut heard = [false; 2];
        for sample in &mut self.batch.samples[game.first_sample..] {
            sample.result = result.unwrap_or(0.5);
            sample.game = Some(number);
            let heard = &mut heard[usize::from(sample.turn.is_white())];
            *heard = *heard || self.batch.agreement.add(&sample.board, sample.turn, sample.result);
        }
        self.batch.positions_read += game.positions_read;
        self.batch.left_out.merge(&game.left_out);
    }
}

impl Game {
    fn new(offset: usize, first_sample: usize) -> Self {
        Self {
            offset,
            tag_result: TagResult::Missing,
            token_result: None,
            variant: Variant::Standard,
            fen: None,
            position: None,
            moves: 0,
            stopped: None,
            terminated: false,
            score_cp: f32::NAN,
            sampled: false,
            first_sample,
            positions_read: 0,
            left_out: LeftOut::default(),
        }
    }

    fn tag(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"Result" => {
                self.tag_result = match value.trim_ascii() {
                    b"1-0" => TagResult::Known(1.0),
                    b"0-1" => TagResult::Known(0.0),
                    b"1/2-1/2" | b"1/2" | b"\xc2\xbd-\xc2\xbd" => TagResult::Known(0.5),
                    _ => TagResult::Missing,
                }
            }
            b"FEN" if !matches!(value.trim_ascii(), b"" | b"?" | b"startpos") => {
                self.fen = Some(value.trim_ascii().to_vec());
            }
            b"Variant" => self.variant = Variant::parse(value),
            _ => {}
        }
    }

    /// Sets up the first position; does nothing once that is done.
    fn begin(&mut self) {
        if self.position.is_some() {
            return;
        }
        let start = match (&self.fen, self.variant) {
            (_, Variant::Other) => Err(Reason::Variant),
            (None, _) => Ok(Chess::default()),
            (Some(fen), variant) => start_position(fen, variant == Variant::Chess960),
        };
        match start {
            Ok(position) => self.position = Some(position),
            Err(reason) => {
                self.position = Some(Chess::default());
                self.stopped = Some(reason);
            }
        }
    }

    /// Applies the rules of selection to the current position. The last position of a game has no
    /// `next` move; it is kept unless the game is over on the board.
    fn offer(&mut self, next: Option<Move>, selection: &Selection, samples: &mut Vec<Sample>) {
        let Some(position) = &self.position else { return };
        let score_cp = std::mem::replace(&mut self.score_cp, f32::NAN);
        self.positions_read += 1;
        self.sampled = false;
        let ply = u64::from(position.fullmoves().get() - 1) * 2 + u64::from(position.turn().is_black());
        let reason = if next.is_none() && position.legal_moves().is_empty() {
            Some(Reason::GameOver)
        } else if ply < u64::from(selection.skip_plies) {
            Some(Reason::EarlyPly)
        } else if !selection.keep_checks && position.is_check() {
            Some(Reason::InCheck)
        } else if !selection.keep_captures && next.is_some_and(|m| m.is_capture() || m.is_promotion()) {
            Some(Reason::CaptureNext)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.left_out.add(reason);
            return;
        }
        self.sampled = true;
        samples.push(Sample {
            board: position.board().clone(),
            turn: position.turn(),
            key: position_key(position),
            result: 0.5,
            score_cp,
            game: None,
        });
    }

    fn comment(&mut self, text: &[u8], samples: &mut [Sample]) {
        if self.position.is_none() || self.stopped.is_some() || self.moves == 0 {
            return;
        }
        let scores = comment_scores(text);
        if let Some(after) = scores.after {
            self.score_cp = after;
        }
        if let (Some(mover), true, Some(sample)) = (scores.mover, self.sampled, samples.last_mut())
            && sample.score_cp.is_nan()
        {
            sample.score_cp = if sample.turn.is_white() { mover } else { 0.0 - mover };
        }
    }
}

/// The first position of a game with a FEN tag. Castling rights that ordinary chess cannot
/// express are taken as Chess960 whatever the Variant tag says.
fn start_position(fen: &[u8], chess960: bool) -> Result<Chess, Reason> {
    let (setup, used) = parse_fen(fen).map_err(|_| Reason::BadFen)?;
    if !fen[used..].trim_ascii().is_empty() && !fen[used..].starts_with(b" ") {
        return Err(Reason::BadFen);
    }
    let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::detect(&setup) };
    if chess960 {
        let strict = Chess::from_setup(setup.clone(), mode);
        if strict.is_err_and(|error| error.kinds().contains(PositionErrorKinds::INVALID_CASTLING_RIGHTS)) {
            return Err(Reason::BadCastling);
        }
    }
    legal_position(setup, mode).map_err(|_| Reason::BadFen)
}

/// The legal move that a word stands for: algebraic notation as programs and people write it, or
/// the coordinates of UCI.
fn find_move(position: &Chess, word: &[u8]) -> Result<Move, Reason> {
    if let Ok(san) = San::from_ascii(word) {
        if let Ok(found) = san.to_move(position) {
            return Ok(found);
        }
        return find_coordinates(position, word).ok_or(Reason::IllegalMove);
    }
    if let Some(found) = find_coordinates(position, word) {
        return Ok(found);
    }
    let san = lenient_san(word).ok_or(Reason::UnreadableMove)?;
    san.to_move(position).map_err(|_| Reason::IllegalMove)
}

fn find_coordinates(position: &Chess, word: &[u8]) -> Option<Move> {
    UciMove::from_ascii(word).ok().filter(|uci| *uci != UciMove::Null)?.to_move(position).ok()
}

/// Castling with zeros or small letters, several check signs, `e8Q` and `exd6e.p.`.
fn lenient_san(word: &[u8]) -> Option<San> {
    let end = word.iter().rposition(|b| !b"+#=".contains(b))? + 1;
    let word = &word[..end];
    let word = word.strip_suffix(b"e.p.").or_else(|| word.strip_suffix(b"ep")).unwrap_or(word);
    match word {
        b"0-0" | b"o-o" | b"OO" => return Some(San::Castle(CastlingSide::KingSide)),
        b"0-0-0" | b"o-o-o" | b"OOO" => return Some(San::Castle(CastlingSide::QueenSide)),
        _ => {}
    }
    if let Ok(san) = San::from_ascii(word) {
        return Some(san);
    }
    // Promotions without the sign, and those whose piece is a small letter.
    let (&piece, before) = word.split_last()?;
    let before = before.strip_suffix(b"=").unwrap_or(before);
    let mut fixed = before.to_vec();
    fixed.push(b'=');
    fixed.push(piece.to_ascii_uppercase());
    San::from_ascii(&fixed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::selection::Unit;
    use proptest::prelude::*;

    fn read(text: &str) -> Batch {
        read_pgn(text.as_bytes(), 1, &Selection { skip_plies: 0, ..Selection::default() })
    }

    #[test]
    fn moves_are_read_in_many_spellings() {
        let position = |fen: &str| start_position(fen.as_bytes(), false).unwrap();
        let promotion = position("7k/4P3/8/8/8/8/8/K7 w - - 0 1");
        for word in ["e8=Q", "e8Q", "e8=q", "e8=Q+", "e7e8q", "e8Q++"] {
            let found = find_move(&promotion, word.as_bytes()).unwrap();
            assert_eq!(found.promotion(), Some(shakmaty::Role::Queen), "{word}");
        }
        let castling = position("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1");
        for word in ["O-O", "0-0", "o-o", "e1g1", "O-O+", "0-0#"] {
            assert_eq!(
                find_move(&castling, word.as_bytes()).unwrap().castling_side(),
                Some(CastlingSide::KingSide)
            );
        }
        for word in ["O-O-O", "0-0-0", "e1c1"] {
            assert_eq!(
                find_move(&castling, word.as_bytes()).unwrap().castling_side(),
                Some(CastlingSide::QueenSide)
            );
        }
        let passing = position("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1");
        for word in ["exd6", "exd6e.p.", "e5d6"] {
            assert!(find_move(&passing, word.as_bytes()).unwrap().is_en_passant(), "{word}");
        }
        assert_eq!(find_move(&castling, b"Qh5"), Err(Reason::IllegalMove));
        assert_eq!(find_move(&castling, b"Xy9"), Err(Reason::UnreadableMove));
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
            read_pgn(text.as_bytes(), 1, &Selection { skip_plies, ..Selection::default() }).samples.len()
        };
        assert_eq!((kept(8), kept(9), kept(12), kept(13)), (5, 4, 1, 0));
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
            // Cutting at a game's start changes nothing.
            if let Some(at) = crate::chess::pgn::last_game_start(text.as_bytes()) {
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
