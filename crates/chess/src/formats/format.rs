//! The table of formats. A new one needs a file with its [`FormatSpec`] and a line in the table.

use std::str::FromStr;

use gputexel_io::{Advice, Error, Result, unknown_name};

use crate::formats::records::RECORD_BYTES;
use crate::formats::{
    Writer, binpack, bulletformat, collector::Collector, lichess, marlinformat, plain, texts, viriformat,
};
use crate::sample::{Batch, Origin};
use crate::selection::Criteria;

/// Properties of a format.
#[derive(Clone, Copy)]
pub(crate) struct FormatSpec {
    /// Name on command lines and in datasets.
    pub name: &'static str,
    /// Contents of a line, for help.
    pub form: &'static str,
    /// Endings of files that are written, the usual one first.
    pub endings: &'static [&'static str],
    /// Names of one and of several records.
    pub records: [&'static str; 2],
    /// True if positions come in games with their moves.
    pub has_moves: bool,
    /// True for text, in which places are lines.
    pub is_text: bool,
    /// True if positions have results; otherwise these are NaN.
    pub has_results: bool,
    /// Number of bytes of a chunk whose samples fit the second-level cache rather than main memory: samples of
    /// binary formats are several times as large as their records.
    pub chunk_bytes: usize,
    /// Number of bytes within which a record, game or block ends.
    pub max_record_bytes: usize,
    /// Returns the end of the last whole record in a buffer; `None` in a format that is only written.
    pub split_point: Option<fn(&[u8]) -> Option<usize>>,
    /// Reader, if the format leaves nothing open.
    pub training: Option<TrainingData>,
    /// Writer, unless the format is only read.
    pub output: Option<Output>,
}

/// Reader of training data.
#[derive(Clone, Copy)]
pub(crate) struct TrainingData {
    /// Reads a chunk of whole records at an offset.
    pub read: fn(&[u8], u64, Criteria<'_>) -> Batch,
    /// Returns true if an input begins with some bytes, or consists of them, and may have the format.
    pub detect: fn(&[u8], bool) -> bool,
    /// True if only this format begins like that.
    pub is_certain: bool,
}

/// Writer of a format.
#[derive(Clone, Copy)]
pub(crate) struct Output {
    /// Appends a position with its result; returns false if the format cannot express it.
    pub push: fn(&mut Writer, &Origin, f32, &mut Vec<u8>) -> bool,
    /// True if positions may have no score.
    pub has_missing_scores: bool,
    /// True if results may be any number from 0 to 1.
    pub has_fractions: bool,
    /// True if it has move numbers and plies without progress.
    pub has_clocks: bool,
    /// True if it has game numbers and weights.
    pub has_games_and_weights: bool,
}

impl FormatSpec {
    /// Text of lines that is neither read nor written.
    pub const TEXT: Self = Self {
        name: "",
        form: "",
        endings: &[],
        records: ["line", "lines"],
        has_moves: false,
        is_text: true,
        has_results: true,
        chunk_bytes: 1 << 20,
        max_record_bytes: 1 << 22,
        split_point: None,
        training: None,
        output: None,
    };
}

impl Output {
    /// Writer of positions that have whole centipawns and one of three results, and clocks.
    pub const fn new(push: fn(&mut Writer, &Origin, f32, &mut Vec<u8>) -> bool) -> Self {
        Self {
            push,
            has_missing_scores: false,
            has_fractions: false,
            has_clocks: true,
            has_games_and_weights: false,
        }
    }
}

/// Returns the end of the last whole line in a buffer.
pub(crate) fn last_line_end(buffer: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', buffer).map(|at| at + 1)
}

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $spec:expr,)*) => {
        /// Format of games, labeled positions and training data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All formats.
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
    /// Games in portable game notation.
    Pgn: crate::pgn::FORMAT,
    /// Stockfish's blocks of chains of moves.
    Binpack: binpack::FORMAT,
    /// Records of 32 bytes, seen from the side to move.
    Bulletformat: bulletformat::FORMAT,
    /// Records of 32 bytes, White's view, whole positions.
    Marlinformat: marlinformat::FORMAT,
    /// Games: a marlinformat head and moves with scores.
    Viriformat: viriformat::FORMAT,
    /// Stockfish's text of six lines per position.
    Plain: plain::FORMAT,
    /// Evaluations of Lichess, JSON, one position per line, without results.
    Lichess: lichess::FORMAT,
    /// Labeled positions, one per line; written as `FEN | centipawns | result`, White's view.
    Text: texts::TEXT,
    /// EPD with `c9 "pawns|result";`, White's view, and the counters as `hmvc` and `fmvn`.
    Epd: texts::EPD,
    /// `GAME RESULT FEN [centipawns]`, White's view: input for engines that print their own trace. If
    /// positions have weights, every line ends with score, `-` if it is unknown, and weight.
    Games: texts::GAMES,
}

impl Format {
    /// Returns the formats that are read by name; the other texts are [`Text`](Self::Text).
    pub fn inputs() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| format.spec().split_point.is_some())
    }

    /// Returns the formats of [training data](Self::is_training_data).
    pub fn training_data() -> impl Iterator<Item = Self> {
        Self::inputs().filter(|format| format.is_training_data())
    }

    /// Returns the formats that are written.
    pub fn outputs() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|format| format.spec().output.is_some())
    }

    /// Returns the format of outputs with a name, or an ending of files.
    ///
    /// # Errors
    /// [`Error::Usage`].
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

    /// Returns its name on command lines and in datasets.
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

    /// Returns the name of one of its records, or of several.
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

    /// Returns true if it records which positions are of one game, and their weights.
    pub fn has_games_and_weights(self) -> bool {
        self.spec().output.is_some_and(|output| output.has_games_and_weights)
    }

    /// Returns the size of a chunk, bytes.
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

    /// Reads a chunk of whole records of training data that begins at `offset` of the input: a byte from 0, in
    /// text a line from 1. Offsets take the place of line numbers. For games, `game` of a sample counts those
    /// of the chunk from 0. Other data are damage.
    pub fn read<'c>(self, chunk: &[u8], offset: u64, criteria: impl Into<Criteria<'c>>) -> Batch {
        let Some(training) = self.spec().training else {
            let mut out = Collector::new(criteria.into());
            out.damage(offset, chunk.len() as u64, format!("{} is no training data", self.name()));
            return out.finish();
        };
        (training.read)(chunk, offset, criteria.into())
    }

    /// Detects the format of training data that begin with `head`, and are no longer if `complete`; `None` if
    /// they have none of these formats.
    ///
    /// # Errors
    /// [`Error::Input`] for a format that is recognized but cannot be read: of the other byte order, or that
    /// fits two formats.
    pub fn detect(name: &str, head: &[u8], complete: bool) -> Result<Option<Self>> {
        let fits = |certain: bool| {
            Self::training_data().filter(move |format| {
                let data = format.spec().training;
                data.is_some_and(|data| data.is_certain == certain && (data.detect)(head, complete))
            })
        };
        if let Some(format) = fits(true).next() {
            return Ok(Some(format));
        }
        let mut fitting: Vec<Self> = fits(false).collect();
        // A short game may pass for a single record, except for its length.
        if fitting.len() > 1 && complete && !head.len().is_multiple_of(RECORD_BYTES) {
            fitting.retain(|format| format.has_moves());
        }
        match fitting[..] {
            [format] => Ok(Some(format)),
            [] if bulletformat::is_swapped(head) => Err(Error::input(
                name,
                "looks like bulletformat with the high bytes first; only low bytes first can be read",
            )),
            [] => Ok(None),
            [one, other, ..] => {
                Err(Error::input(name, format!("may be {} as well as {}", one.name(), other.name()))
                    .advise(Advice::default().setting("format", one.name()).text(" names the format")))
            }
        }
    }
}

/// Parses the name of a format of inputs.
impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::inputs()
            .find(|format| format.name() == name)
            .ok_or_else(|| unknown_name("format", name, Self::inputs().map(Self::name)))
    }
}
