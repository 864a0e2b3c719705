//! Training data: positions with scores and results as trainers of networks store them, most of it binary.

mod binpack;
mod bulletformat;
mod collector;
mod lichess;
mod packed;
mod spec;
mod texts;

use std::str::FromStr;

use serde::Serialize;
use shakmaty::{Color, Position};

use self::binpack::BinpackWriter;
use self::collector::Collector;
use self::spec::{FormatSpec, last_line_end};
use crate::sample::{Batch, Origin};
use crate::selection::Criteria;
use gputexel_io::{Error, Result, unknown_name};

macro_rules! formats {
    ($($(#[$attribute:meta])* $format:ident: $spec:expr,)*) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum Format {
            $($(#[$attribute])* $format,)*
        }

        impl Format {
            pub const ALL: [Self; [$(stringify!($format)),*].len()] = [$(Self::$format),*];

            pub(crate) fn spec(self) -> &'static FormatSpec {
                match self {
                    $(Self::$format => &$spec,)*
                }
            }
        }
    };
}

formats! {
    Pgn: texts::PGN,
    Binpack: binpack::FORMAT,
    /// Records of 32 bytes, seen from the side to move.
    Bulletformat: bulletformat::FORMAT,
    Lichess: lichess::FORMAT,
    /// Labeled positions, one per line; written as `FEN | centipawns | result`, White's view.
    #[default]
    Text: texts::TEXT,
    /// EPD with `c9 "pawns|result";`, White's view, and the counters as `hmvc` and `fmvn`.
    Epd: texts::EPD,
    /// `GAME RESULT FEN [centipawns]`, White's view: input for engines that print their own trace.
    Games: texts::GAMES,
}

impl Format {
    /// Returns the formats that are read by name; the other texts are [`Text`](Self::Text).
    pub fn inputs() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| format.spec().split_point.is_some())
    }

    pub fn training_data() -> impl Iterator<Item = Self> {
        Self::inputs().filter(|format| format.is_training_data())
    }

    pub fn outputs() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| format.spec().output.is_some())
    }

    /// Returns the format of outputs with a name, or an ending of files.
    pub fn output(name: &str) -> Result<Self> {
        let named = Self::outputs().find(|format| format.name() == name);
        named
            .or_else(|| Self::of_extension(name))
            .ok_or_else(|| unknown_name("format", name, Self::outputs().map(Self::name)))
    }

    /// Returns the format of outputs that a file extension stands for.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        Self::outputs().find(|format| format.spec().endings.contains(&&extension[..]))
    }

    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns its name, and what lines contain where the name does not say it.
    pub fn description(self) -> String {
        match self.spec().form {
            "" => self.name().to_string(),
            form => format!("{} ({form})", self.name()),
        }
    }

    /// Returns the usual extension of its files, without the dot.
    pub fn extension(self) -> &'static str {
        self.spec().endings.first().copied().unwrap_or(self.name())
    }

    pub fn record_name(self, count: u64) -> &'static str {
        self.spec().records[usize::from(count != 1)]
    }

    /// Returns true if its positions come in games with their moves.
    pub fn has_moves(self) -> bool {
        self.spec().has_moves
    }

    /// Returns true if it is text, in which places are lines; they are bytes in other formats.
    pub fn is_text(self) -> bool {
        self.spec().is_text
    }

    /// Returns true if its positions have results; otherwise these are NaN.
    pub fn has_results(self) -> bool {
        self.spec().has_results
    }

    /// Returns true for data of trainers, which [`read`](Self::read) reads; the notation of games and labeled
    /// positions must be detected first.
    pub fn is_training_data(self) -> bool {
        self.spec().training.is_some()
    }

    pub fn has_games_and_weights(self) -> bool {
        self.spec().output.is_some_and(|output| output.has_games_and_weights)
    }

    pub fn chunk_bytes(self) -> usize {
        self.spec().chunk_bytes
    }

    /// Returns the number of bytes within which a record, game or block ends.
    pub fn max_record_bytes(self) -> usize {
        self.spec().max_record_bytes
    }

    /// Returns the end of the last whole record in a buffer that begins with one; `None` if there is none.
    pub fn split_point(self, buffer: &[u8]) -> Option<usize> {
        self.spec().split_point.unwrap_or(last_line_end)(buffer)
    }

    /// Reads a chunk of whole records of training data that begins at `offset` of the input: a byte from 0,
    /// in text a line from 1.
    pub fn read<'c>(self, chunk: &[u8], offset: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
        let Some(training) = self.spec().training else {
            let mut out = Collector::new(criteria.into());
            out.damage(offset, format!("{} is not training data", self.name()));
            return out.finish();
        };
        (training.read)(chunk, offset, criteria.into())
    }

    /// Detects the format of training data that begin with `head`, and are no longer if `complete`.
    pub fn detect(name: &str, head: &[u8], complete: bool) -> Result<Option<Self>> {
        let fits = |format: &Self| format.spec().training.is_some_and(|data| (data.detect)(head, complete));
        match Self::training_data().find(fits) {
            None if bulletformat::is_swapped(head) => Err(Error::input(
                name,
                "looks like bulletformat with the high bytes first; only low bytes first can be read",
            )),
            found => Ok(found),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::inputs()
            .find(|format| format.name() == name)
            .ok_or_else(|| unknown_name("format", name, Self::inputs().map(Self::name)))
    }
}

macro_rules! losses {
    ($($name:ident $text:literal,)*) => {
        /// Counts of positions of which something was lost, and of those left out.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Losses {
            $(#[doc = concat!("Count: ", $text, ".")] pub $name: u64,)*
        }

        impl Losses {
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Returns the counts with their descriptions.
            pub fn listed(&self) -> [(u64, &'static str); [$($text),*].len()] {
                [$((self.$name, $text)),*]
            }
        }
    };
}

losses! {
    rights "positions lost their castling rights or en passant capture",
    clocks "positions lost their move number or the plies without progress",
    moves "positions lost the move played",
    sides "positions with Black to move are now seen with White to move",
    rounded "scores were rounded to whole centipawns",
    null_moves "positions have no known move and got the null move",
    default_scores "positions have no score and got the one given for them",
    without_move "last positions of games left out: no move was played in them",
    without_score "positions left out: they have no score, which the format demands",
    without_result "positions left out: their result is neither a loss, a draw nor a win",
    // Mate or stalemate where a move is needed, more than 32 pieces, Chess960 castling in binpack.
    inexpressible "positions left out: the format cannot express them",
}

impl Losses {
    pub fn left_out(&self) -> u64 {
        self.without_move + self.without_score + self.without_result + self.inexpressible
    }
}

/// Writer of positions in order.
pub struct Writer {
    format: Format,
    default_score_cp: Option<f32>,
    pub losses: Losses,
    binpack: BinpackWriter,
    /// Game number of the following positions; only [`Format::Games`] stores it.
    pub game_number: u32,
    /// Weight of the following positions, if they have any; only formats that
    /// [have weights](Format::has_games_and_weights) store it.
    pub weight: Option<f32>,
    line: String,
}

impl Writer {
    /// Creates a writer of a format. Positions without a score get `default_score_cp`, White's view, if the
    /// format demands one.
    pub fn new(format: Format, default_score_cp: Option<f32>) -> Self {
        Self {
            format,
            default_score_cp,
            losses: Losses::default(),
            binpack: BinpackWriter::default(),
            game_number: 0,
            weight: None,
            line: String::new(),
        }
    }

    /// Appends a position with a result in White's view to `out`. Returns false if it was left out.
    ///
    /// `in_game` means that the source has moves: a position without one is the last of its game, and is left
    /// out if the format demands a move.
    pub fn push(&mut self, origin: &Origin, result: f32, in_game: bool, out: &mut Vec<u8>) -> bool {
        let spec = self.format.spec();
        let Some(output) = spec.output else {
            self.losses.inexpressible += 1;
            return false;
        };
        if in_game && origin.next.is_none() && spec.has_moves {
            self.losses.without_move += 1;
            return false;
        }
        let mut origin = std::borrow::Cow::Borrowed(origin);
        if origin.score_cp.is_nan() && !output.has_missing_scores {
            let Some(score_cp) = self.default_score_cp else {
                self.losses.without_score += 1;
                return false;
            };
            origin.to_mut().score_cp = score_cp;
            self.losses.default_scores += 1;
        }
        if ![0.0, 0.5, 1.0].contains(&result) && !output.has_fractions {
            self.losses.without_result += 1;
            return false;
        }
        if !(output.push)(self, &origin, result, out) {
            self.losses.inexpressible += 1;
            return false;
        }
        let (losses, position) = (&mut self.losses, &origin.position);
        let clocks = position.halfmoves() > 0 || position.fullmoves().get() > 1;
        losses.clocks += u64::from(clocks && !output.has_clocks);
        losses.moves += u64::from(origin.next.is_some() && !spec.has_moves);
        losses.rounded += u64::from(origin.score_cp.fract() != 0.0 && !origin.score_cp.is_nan());
        true
    }

    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.binpack.flush(out);
    }

    /// Appends a text that is written by `write`, which cannot fail.
    fn push_text(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut String) -> std::fmt::Result) -> bool {
        self.line.clear();
        let written = write(&mut self.line);
        out.extend_from_slice(self.line.as_bytes());
        written.is_ok()
    }
}

const NO_SCORE: i16 = 32_002;

/// Returns a stored score of the side to move, in White's view. Mates are beyond the bound of scores in texts
/// and stay unchanged, so that conversions are lossless.
fn white_score(score: i16, turn: Color) -> f32 {
    // Adding zero turns -0.0 into 0.0.
    turn.fold_wb(f32::from(score), -f32::from(score)) + 0.0
}

fn stored_score(score_cp: f32, turn: Color) -> i16 {
    let white = score_cp.round() as i16;
    turn.fold_wb(white, white.saturating_neg())
}
