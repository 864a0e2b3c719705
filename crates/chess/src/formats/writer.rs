//! Writes positions in any format, and counts what a format cannot express.

use std::fmt::Write as _;
use std::str::FromStr;

use crate::sample::{Origin, game_ply};
use gputexel_io::{Error, Result};
use serde::Serialize;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Move, Position};

use crate::formats::binpack::BinpackWriter;
use crate::formats::legality::some_move;
use crate::formats::{bulletformat, marlinformat, stored_score, viriformat};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Stockfish's blocks of chains of moves.
    Binpack,
    /// Records of 32 bytes, seen from the side to move.
    Bulletformat,
    /// Records of 32 bytes, White's view, whole positions.
    Marlinformat,
    /// Games: a marlinformat head and moves with scores.
    Viriformat,
    /// Stockfish's text of six lines per position.
    Plain,
    /// `FEN | centipawns | result`, White's view.
    Text,
    /// EPD with `c9 "pawns|result";`, White's view, and the counters as `hmvc` and `fmvn`.
    Epd,
    /// `GAME RESULT FEN [centipawns]`, White's view: input for engines that print their own trace. If
    /// positions have weights, every line ends with score, `-` if it is unknown, and weight.
    Games,
}

impl OutputFormat {
    /// All output formats.
    pub const ALL: [Self; 8] = [
        Self::Binpack,
        Self::Bulletformat,
        Self::Marlinformat,
        Self::Viriformat,
        Self::Plain,
        Self::Text,
        Self::Epd,
        Self::Games,
    ];

    /// Returns its name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binpack => "binpack",
            Self::Bulletformat => "bulletformat",
            Self::Marlinformat => "marlinformat",
            Self::Viriformat => "viriformat",
            Self::Plain => "plain",
            Self::Text => "text",
            Self::Epd => "epd",
            Self::Games => "games",
        }
    }

    /// Returns the format that a file extension stands for.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "binpack" => Self::Binpack,
            "bf" | "bullet" | "bulletformat" => Self::Bulletformat,
            "marlin" | "marlinformat" => Self::Marlinformat,
            "vf" | "viri" | "viriformat" => Self::Viriformat,
            "plain" => Self::Plain,
            "txt" | "fen" => Self::Text,
            "epd" => Self::Epd,
            "fens" => Self::Games,
            _ => return None,
        })
    }

    /// Returns true if it allows positions without a score.
    pub fn has_missing_scores(self) -> bool {
        matches!(self, Self::Binpack | Self::Plain | Self::Epd | Self::Games)
    }

    /// Returns true if results may be any number from 0 to 1.
    pub fn has_fractions(self) -> bool {
        matches!(self, Self::Text | Self::Epd | Self::Games)
    }

    /// Returns true if positions may have weights.
    pub fn has_weights(self) -> bool {
        self == Self::Games
    }

    /// Returns true if it records which positions are of one game.
    pub fn has_game_numbers(self) -> bool {
        self == Self::Games
    }

    fn has_moves(self) -> bool {
        matches!(self, Self::Binpack | Self::Viriformat | Self::Plain)
    }

    fn has_clocks(self) -> bool {
        self != Self::Bulletformat
    }
}

impl FromStr for OutputFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|format| format.name() == text);
        named.or_else(|| Self::of_extension(text)).ok_or_else(|| {
            Error::Usage(format!("format '{text}': expected one of {}", Self::ALL.map(Self::name).join(", ")))
        })
    }
}

/// Counts of positions of which something was lost, and of those left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Castling rights or en passant captures.
    pub rights: u64,
    /// Move numbers and plies without progress.
    pub clocks: u64,
    /// The move played.
    pub moves: u64,
    /// Color of the sides: positions with Black to move are seen from Black's side.
    pub sides: u64,
    /// Scores that were rounded to whole centipawns.
    pub rounded: u64,
    /// Positions without a known move that got a legal one, since the format demands one.
    pub invented_moves: u64,
    /// Positions without a known move that have the null move.
    pub null_moves: u64,
    /// Positions without a score that got the default one.
    pub default_scores: u64,
    /// Left out: the last position of a game, in which no move was played.
    pub without_move: u64,
    /// Left out: no score.
    pub without_score: u64,
    /// Left out: the result is neither a loss, a draw nor a win.
    pub without_result: u64,
    /// Left out for other reasons: mate or stalemate where a move is needed, more than 32 pieces, Chess960
    /// castling in binpack.
    pub inexpressible: u64,
}

impl Losses {
    /// Adds the counts of other positions.
    pub fn merge(&mut self, other: &Self) {
        let mine = [
            &mut self.rights,
            &mut self.clocks,
            &mut self.moves,
            &mut self.sides,
            &mut self.rounded,
            &mut self.invented_moves,
            &mut self.null_moves,
            &mut self.default_scores,
            &mut self.without_move,
            &mut self.without_score,
            &mut self.without_result,
            &mut self.inexpressible,
        ];
        for (mine, theirs) in mine.into_iter().zip(other.listed()) {
            *mine += theirs.0;
        }
    }

    /// Returns the counts with their descriptions.
    pub fn listed(&self) -> [(u64, &'static str); 12] {
        [
            (self.rights, "positions lost their castling rights or en passant capture"),
            (self.clocks, "positions lost their move number or the plies without progress"),
            (self.moves, "positions lost the move played"),
            (self.sides, "positions with Black to move are now seen with White to move"),
            (self.rounded, "scores were rounded to whole centipawns"),
            (
                self.invented_moves,
                "positions have no known move and got some legal one, which the format demands",
            ),
            (self.null_moves, "positions have no known move and got the null move"),
            (self.default_scores, "positions have no score and got the one given for them"),
            (self.without_move, "last positions of games left out: no move was played in them"),
            (self.without_score, "positions left out: they have no score, which the format demands"),
            (self.without_result, "positions left out: their result is neither a loss, a draw nor a win"),
            (self.inexpressible, "positions left out: the format cannot express them"),
        ]
    }

    /// Returns the number of positions left out.
    pub fn left_out(&self) -> u64 {
        self.without_move + self.without_score + self.without_result + self.inexpressible
    }
}

/// Writer of positions in order.
pub struct Writer {
    format: OutputFormat,
    /// Score of positions without one.
    default_score_cp: Option<f32>,
    /// Counts of losses.
    pub losses: Losses,
    binpack: BinpackWriter,
    /// The last position of the game being written and its result.
    game: Option<(Origin, f32)>,
    /// Number of the game of the positions, if the format has one.
    game_number: u32,
    weight: Option<f32>,
    line: String,
}

impl Writer {
    /// Creates a writer of a format. Positions without a score get `default_score_cp`, White's view, if the
    /// format demands one.
    pub fn new(format: OutputFormat, default_score_cp: Option<f32>) -> Self {
        Self {
            format,
            default_score_cp,
            losses: Losses::default(),
            binpack: BinpackWriter::default(),
            game: None,
            game_number: 0,
            weight: None,
            line: String::new(),
        }
    }

    /// Sets the game number of the following positions; only [`OutputFormat::Games`] stores it.
    pub fn set_game_number(&mut self, number: u32) {
        self.game_number = number;
    }

    /// Sets the weight of the following positions, if they have any; only formats that
    /// [have weights](OutputFormat::has_weights) store it.
    pub fn set_weight(&mut self, weight: Option<f32>) {
        self.weight = weight;
    }

    /// Appends a position with a result in White's view to `out`. Returns false if it was left out.
    ///
    /// `in_game` means that the source has moves: a position without one is the last of its game, and is left
    /// out if the format demands a move.
    pub fn push(&mut self, origin: &Origin, result: f32, in_game: bool, out: &mut Vec<u8>) -> bool {
        let format = self.format;
        if in_game && origin.next.is_none() && format.has_moves() {
            self.losses.without_move += 1;
            return false;
        }
        let mut origin = std::borrow::Cow::Borrowed(origin);
        if origin.score_cp.is_nan() && !format.has_missing_scores() {
            let Some(score_cp) = self.default_score_cp else {
                self.losses.without_score += 1;
                return false;
            };
            origin.to_mut().score_cp = score_cp;
            self.losses.default_scores += 1;
        }
        if ![0.0, 0.5, 1.0].contains(&result) && !format.has_fractions() {
            self.losses.without_result += 1;
            return false;
        }
        let (position, score_cp) = (&origin.position, origin.score_cp);
        let written = match format {
            OutputFormat::Binpack => self.binpack.push(&origin, result, out),
            OutputFormat::Bulletformat => bulletformat::write(position, score_cp, result, out),
            OutputFormat::Marlinformat => marlinformat::write(position, score_cp, result, out),
            OutputFormat::Viriformat => self.push_to_game(&origin, result, out),
            OutputFormat::Plain => self.push_plain(&origin, result, out),
            OutputFormat::Text => self.push_line(&origin, out, |line| {
                let _ = write!(line, " | {score_cp} | {}", decimal(result));
            }),
            OutputFormat::Epd => self.push_epd(&origin, result, out),
            OutputFormat::Games => self.push_of_game(&origin, result, out),
        };
        if written {
            self.count_losses(&origin)
        } else {
            self.losses.inexpressible += 1
        }
        written
    }

    /// Ends games and blocks that are begun.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.binpack.flush(out);
        if self.game.take().is_some() {
            out.extend_from_slice(&viriformat::END);
        }
    }

    fn count_losses(&mut self, origin: &Origin) {
        let (format, losses, position) = (self.format, &mut self.losses, &origin.position);
        if format == OutputFormat::Bulletformat {
            let en_passant = position.ep_square(EnPassantMode::Legal).is_some();
            losses.rights += u64::from(position.castles().any() || en_passant);
            losses.sides += u64::from(position.turn().is_black());
        }
        let clocks = position.halfmoves() > 0 || position.fullmoves().get() > 1;
        losses.clocks += u64::from(clocks && !format.has_clocks());
        losses.moves += u64::from(origin.next.is_some() && !format.has_moves());
        losses.rounded += u64::from(origin.score_cp.fract() != 0.0 && !origin.score_cp.is_nan());
        match format {
            OutputFormat::Binpack | OutputFormat::Plain => {
                losses.null_moves += u64::from(origin.next.is_none())
            }
            OutputFormat::Viriformat => losses.invented_moves += u64::from(origin.next.is_none()),
            _ => {}
        }
    }

    fn push_to_game(&mut self, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
        let Some(next) = origin.next.or_else(|| some_move(&origin.position)) else { return false };
        let goes_on = self.game.as_ref().is_some_and(|(last, result_before)| {
            *result_before == result && last.next.is_some_and(|played| follows(last, played, origin))
        });
        if !goes_on {
            if self.game.take().is_some() {
                out.extend_from_slice(&viriformat::END);
            }
            if !marlinformat::write(&origin.position, origin.score_cp, result, out) {
                return false;
            }
        }
        out.extend_from_slice(&viriformat::write_move(next).to_le_bytes());
        out.extend_from_slice(&(origin.score_cp.round() as i16).to_le_bytes());
        self.game = Some((origin.clone(), result));
        true
    }

    fn push_plain(&mut self, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
        let position = &origin.position;
        let turn = position.turn();
        let mode = if is_chess960(origin) { CastlingMode::Chess960 } else { CastlingMode::Standard };
        let next = origin.next.map_or_else(|| "0000".to_string(), |next| next.to_uci(mode).to_string());
        let ply = game_ply(position).min(u32::MAX.into());
        let score = if origin.score_cp.is_nan() {
            crate::formats::NO_SCORE
        } else {
            stored_score(origin.score_cp, turn)
        };
        let result = (2.0 * turn.fold_wb(result, 1.0 - result) - 1.0).round() as i32;
        self.line.clear();
        let fen = Fen::from_position(position, EnPassantMode::Legal);
        // Writing to a string cannot fail.
        let _ = write!(self.line, "fen {fen}\nmove {next}\nscore {score}\nply {ply}\nresult {result}\ne\n");
        out.extend_from_slice(self.line.as_bytes());
        true
    }

    fn push_line(&mut self, origin: &Origin, out: &mut Vec<u8>, label: impl FnOnce(&mut String)) -> bool {
        self.line.clear();
        let _ = write!(self.line, "{}", Fen::from_position(&origin.position, EnPassantMode::Legal));
        label(&mut self.line);
        self.line.push('\n');
        out.extend_from_slice(self.line.as_bytes());
        true
    }

    fn push_of_game(&mut self, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
        // Results without a needless decimal point, as in traces.
        let label = format!("{} {result} ", self.game_number);
        out.extend_from_slice(label.as_bytes());
        let weight = self.weight;
        self.push_line(origin, out, |line| {
            if !origin.score_cp.is_nan() {
                let _ = write!(line, " {}", origin.score_cp);
            }
            if let Some(weight) = weight {
                let unknown = if origin.score_cp.is_nan() { " -" } else { "" };
                let _ = write!(line, "{unknown} {weight}");
            }
        })
    }

    fn push_epd(&mut self, origin: &Origin, result: f32, out: &mut Vec<u8>) -> bool {
        self.line.clear();
        let epd = shakmaty::fen::Epd::from_position(&origin.position, EnPassantMode::Legal);
        let _ = write!(self.line, "{epd} ");
        let (half, full) = (origin.position.halfmoves(), origin.position.fullmoves().get());
        if half > 0 || full > 1 {
            let _ = write!(self.line, "hmvc {half}; fmvn {full}; ");
        }
        self.line.push_str("c9 \"");
        if !origin.score_cp.is_nan() {
            let _ = write!(self.line, "{}|", f64::from(origin.score_cp) / 100.0);
        }
        let word = match result {
            1.0 => "1-0",
            0.5 => "1/2-1/2",
            0.0 => "0-1",
            _ => "",
        };
        let _ = if word.is_empty() { write!(self.line, "{result}") } else { write!(self.line, "{word}") };
        self.line.push_str("\";\n");
        out.extend_from_slice(self.line.as_bytes());
        true
    }
}

/// Formats a result with at least one decimal, as such texts have it.
fn decimal(result: f32) -> String {
    format!("{result:?}")
}

/// Returns true if castling moves must be written with the rook's square.
fn is_chess960(origin: &Origin) -> bool {
    let position = &origin.position;
    position.castles().castling_rights().into_iter().any(|rook| {
        let king =
            position.board().king_of(shakmaty::Color::from_white(rook.rank() == shakmaty::Rank::First));
        !matches!(rook.file(), shakmaty::File::A | shakmaty::File::H)
            || king.is_none_or(|king| king.file() != shakmaty::File::E)
    })
}

/// Returns true if a position is the one after another's move, clocks included.
fn follows(last: &Origin, played: Move, origin: &Origin) -> bool {
    let mut position = last.position.clone();
    position.play_unchecked(played);
    position == origin.position
        && position.halfmoves() == origin.position.halfmoves()
        && position.fullmoves() == origin.position.fullmoves()
}
