//! Labeled positions, one per line: walks the lines of a chunk.

use std::borrow::Cow;

use shakmaty::{CastlingMode, Chess, Position as _, Setup};

pub use super::agreement::PointOfView;
use super::epd::{parse_epd, take_counters};
use super::fen::{FenError, legal_position, parse_fen};
pub use super::fields::Places;
use super::fields::parse_fields;
use super::labels::{
    Label, LabelError, LabelSyntax, MAX_SCORE_CP, Outcome, Remainder, parse_cp, parse_label, parse_outcome,
    pawns_to_cp,
};
use super::sample::{Batch, Origin, Sample};
use super::scale::{ResultScale, ResultTally};
use super::selection::{Criteria, Reason};

pub(super) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Longest line that is parsed, in bytes; labeled positions have about a hundred.
pub const MAX_LINE_BYTES: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    pub header_line: u64,
    pub delimiter: u8,
    pub fen: usize,
    pub places: Places,
    pub percent: bool,
    /// True if the title of scores means centipawns.
    pub centipawns: bool,
    pub game: Option<usize>,
    pub unread: Remainder,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TextFormat {
    pub syntax: LabelSyntax,
    /// The columns, for [`LabelSyntax::Csv`].
    pub columns: Option<Columns>,
    /// Assignment of the fields, for [`LabelSyntax::Fields`].
    pub places: Places,
    /// True if scores are pawns where the syntax leaves that open, else centipawns.
    pub pawns: bool,
    /// True if blank lines part the games.
    pub games_in_blocks: bool,
    pub scale: ResultScale,
    pub point_of_view: PointOfView,
    pub score_view: PointOfView,
}

impl TextFormat {
    /// Creates a format without columns, all of whose numbers take one view, results from 0 to 1.
    pub fn new(syntax: LabelSyntax, point_of_view: PointOfView) -> Self {
        Self {
            syntax,
            columns: None,
            places: Places::default(),
            pawns: false,
            games_in_blocks: false,
            scale: ResultScale::default(),
            point_of_view,
            score_view: point_of_view,
        }
    }

    /// Returns true if positions have results; else they only have scores.
    pub fn has_results(&self) -> bool {
        match self.syntax {
            LabelSyntax::CeScore => false,
            LabelSyntax::Fields => self.places.result.is_some(),
            LabelSyntax::Csv => self.columns.as_ref().is_some_and(|columns| columns.places.result.is_some()),
            _ => true,
        }
    }
}

pub fn read_text<'c>(
    chunk: &[u8],
    first_line: u64,
    format: &TextFormat,
    criteria: impl Into<Criteria<'c>>,
) -> Batch {
    read_lines(chunk, first_line, format, criteria.into())
}

/// Reads the lines. Not generic, so that the loop over the lines is compiled in this crate.
fn read_lines(chunk: &[u8], first_line: u64, format: &TextFormat, criteria: Criteria<'_>) -> Batch {
    let mut batch = Batch::default();
    // The first line of a block is its number.
    let (mut block, mut last) = (first_line, None);
    for (number, line) in significant_lines(chunk, first_line) {
        if format.columns.as_ref().is_some_and(|columns| columns.header_line == number) {
            continue;
        }
        if last.replace(number).is_none_or(|last| last + 1 != number) {
            block = number;
        }
        batch.records += 1;
        match read_line(line, number, format, &criteria, &mut batch) {
            Ok((mut sample, origin)) => {
                sample.game = sample.game.or(format.games_in_blocks.then_some(block));
                batch.positions_read += 1;
                batch.push_single(sample, origin);
            }
            Err(refusal) => {
                batch.left_out.add(refusal.reason);
                match refusal.text {
                    Some(_) if refusal.reason == Reason::UnknownResult => {}
                    Some(text) => batch.complain(number, || text.into_owned()),
                    None => batch.positions_read += 1,
                }
            }
        }
    }
    batch
}

/// Returns the lines with their numbers, without blank lines, `#` comments, the byte order mark and blanks at
/// either end.
pub fn significant_lines(chunk: &[u8], first_line: u64) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = if first_line == 1 { chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(chunk) } else { chunk };
    let mut number = first_line;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..end].trim_ascii();
            rest = rest.get(end + 1..).unwrap_or_default();
            number += 1;
            if !line.is_empty() && (line[0] != b'#' || begins_with_mate(line)) {
                return Some((number - 1, line));
            }
        }
        None
    })
}

/// Returns true if an apparent comment is a column of scores: `#-3,FEN`.
#[cold]
fn begins_with_mate(line: &[u8]) -> bool {
    let end = line.iter().position(|byte| DELIMITERS.contains(byte));
    end.is_some_and(|end| parse_cp(&line[..end]).is_some())
}

/// Reason why a line yields no sample: broken lines have a text, positions that the rules of selection leave
/// out have none.
struct Refusal {
    reason: Reason,
    text: Option<Cow<'static, str>>,
}

impl From<FenError> for Refusal {
    fn from(error: FenError) -> Self {
        let reason = match error {
            FenError::Kings | FenError::Pawns | FenError::OppositeCheck => Reason::IllegalPosition,
            _ => Reason::BadPosition,
        };
        Self { reason, text: Some(error.reason().into()) }
    }
}

impl Refusal {
    fn of_label(error: LabelError, scale: ResultScale) -> Self {
        let reason = match error {
            LabelError::Missing => Reason::NoLabel,
            LabelError::Unknown => Reason::UnknownResult,
            _ => Reason::BadLabel,
        };
        let text = match error {
            LabelError::Missing => "no result after the position".into(),
            LabelError::OutOfRange(number) if scale == ResultScale::default() => {
                format!("the result {number} is not from 0 to 1").into()
            }
            LabelError::OutOfRange(number) => {
                format!("the result {number} is not on the scale {scale}").into()
            }
            LabelError::Word(_) if scale.is_words() => {
                format!("the result is a word that the scale {scale} does not have").into()
            }
            LabelError::Word(_) => "the result is a word, neither a number nor 1-0 and its like".into(),
            LabelError::Unknown => "the result is unknown (*)".into(),
            LabelError::Weight => "a weight follows the score, and weights cannot be taken over".into(),
        };
        Self { reason, text: Some(text) }
    }
}

fn read_line(
    line: &[u8],
    number: u64,
    format: &TextFormat,
    criteria: &Criteria<'_>,
    batch: &mut Batch,
) -> Result<(Sample, Option<Origin>), Refusal> {
    if line.len() > MAX_LINE_BYTES {
        return Err(Refusal { reason: Reason::LongLine, text: Some("the line is too long".into()) });
    }
    let tally: &mut ResultTally = &mut batch.tally;
    let (position, label) = read_position(line, format)?.map_err(|error| {
        match error {
            LabelError::OutOfRange(result) => tally.out_of_range(result, number),
            LabelError::Word(_) => tally.word(number),
            LabelError::Missing | LabelError::Unknown | LabelError::Weight => {}
        }
        Refusal::of_label(error, format.scale)
    })?;
    match label.outcome {
        Outcome::Number(value) => tally.number(value),
        Outcome::Game(value) => tally.game(value),
        Outcome::Missing => {}
    }
    match label.unread {
        Remainder::Nothing => {}
        Remainder::Text => batch.unread_text.add(number, || unread_text(line, format)),
        Remainder::Score => batch.unread_scores.add(number, || unread_text(line, format)),
    }
    let black = position.turn().is_black();
    let flipped = format.point_of_view == PointOfView::Stm && black;
    let score_flipped = format.score_view == PointOfView::Stm && black;
    let score_cp = if score_flipped { 0.0 - label.score_cp } else { label.score_cp };
    let judged = criteria.judge_line(&position, score_cp, number);
    let (sample, origin) = judged.map_err(|reason| Refusal { reason, text: None })?;
    let sample = Sample {
        result: match label.outcome {
            Outcome::Number(value) if flipped => 1.0 - value,
            Outcome::Number(value) | Outcome::Game(value) => value,
            Outcome::Missing => f32::NAN,
        },
        game: label.game,
        ..sample
    };
    Ok((sample, origin))
}

/// Errors of the label are inside.
fn read_position(line: &[u8], format: &TextFormat) -> Result<Result<(Chess, Label), LabelError>, FenError> {
    let (setup, label) = match &format.columns {
        None => parse_labeled(format, line)?,
        Some(columns) => match read_columns(line, columns, format) {
            Ok((fen, label)) => (parse_epd(&fen)?.0, Ok(label)),
            Err(error) => return Ok(Err(error)),
        },
    };
    let position = legal_position(setup, CastlingMode::Chess960)?;
    Ok(label.map(|label| (position, label)))
}

/// Parses the position and the label of a line without columns.
pub(super) fn parse_labeled(
    format: &TextFormat,
    line: &[u8],
) -> Result<(Setup, Result<Label, LabelError>), FenError> {
    let (before, line) = line.split_at(format.syntax.position_start(line));
    let (setup, used) = parse_fen(line)?;
    let rest = &line[used..];
    let mut label = match format.syntax {
        LabelSyntax::Fields => parse_fields(format.places, rest, format.scale),
        syntax => parse_label(syntax, before, rest, format.scale),
    };
    if let Ok(label) = &mut label {
        if format.pawns {
            label.score_cp = in_centipawns(label.score_cp);
        }
        // Copying here saves all other lines a copy.
        if label.has_counters {
            let mut counted = setup;
            take_counters(&mut counted, rest)?;
            return Ok((counted, Ok(*label)));
        }
    }
    Ok((setup, label))
}

/// Converts a score that was read as centipawns, but is pawns unless it is a mate.
fn in_centipawns(score: f32) -> f32 {
    if score.abs() == MAX_SCORE_CP { score } else { pawns_to_cp(score) }
}

fn unread_text(line: &[u8], format: &TextFormat) -> String {
    const SHOWN: usize = 60;
    let beside = match &format.columns {
        None => parse_epd(line).map_or(line, |(_, used)| &line[used..]).to_vec(),
        Some(columns) => {
            let mut fields = split_columns(line, columns.delimiter);
            fields.retain(|field| parse_epd(field.trim_ascii()).is_err());
            fields.join(&columns.delimiter)
        }
    };
    let text = String::from_utf8_lossy(beside.trim_ascii());
    text.chars().take(SHOWN).collect::<String>().escape_debug().to_string().replace("\\\"", "\"")
}

pub(super) fn read_columns(
    line: &[u8],
    columns: &Columns,
    format: &TextFormat,
) -> Result<(Vec<u8>, Label), LabelError> {
    let fields = split_columns(line, columns.delimiter);
    let field = |index: usize| fields.get(index).map(|field| field.trim_ascii());
    let outcome = match columns.places.result {
        Some(index) => parse_outcome(field(index).ok_or(LabelError::Missing)?, format.scale)?,
        None => Outcome::Missing,
    };
    let score = columns.places.score.and_then(field).unwrap_or_default();
    let score_cp = parse_cp(score).unwrap_or(f32::NAN);
    let unread = if score_cp.is_nan() { Remainder::of(score) } else { Remainder::Nothing };
    let label = Label {
        score_cp: if format.pawns { in_centipawns(score_cp) } else { score_cp },
        game: columns.game.and_then(field).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()),
        unread: unread.max(columns.unread),
        ..Label::of(outcome)
    };
    Ok((field(columns.fen).unwrap_or_default().to_vec(), label))
}

pub(super) fn split_columns(line: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(line);
    let mut record = csv::ByteRecord::new();
    match reader.read_byte_record(&mut record) {
        Ok(true) => record.iter().map(<[u8]>::to_vec).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::selection::Selection;
    use super::*;

    const KINGS: &str = "4k3/8/8/8/8/8/4P3/4K3";

    fn format(syntax: LabelSyntax, point_of_view: PointOfView) -> TextFormat {
        TextFormat::new(syntax, point_of_view)
    }

    #[test]
    fn game_results_ignore_the_point_of_view() {
        let text = format!("{KINGS} b - - | 30 | 1-0\n{KINGS} b - - | 30 | 1.0");
        let batch = read_text(
            text.as_bytes(),
            1,
            &format(LabelSyntax::ScoreResult, PointOfView::Stm),
            &Selection::default(),
        );
        let read: Vec<_> = batch.samples.iter().map(|s| (s.result, s.score_cp)).collect();
        assert_eq!(read, [(1.0, -30.0), (0.0, -30.0)]);
    }

    #[test]
    fn checks_mates_and_stalemates_are_left_out() {
        let text = "4k3/4R3/8/8/8/8/8/4K3 b - - [1.0]\n7k/5Q2/6K1/8/8/8/8/8 b - - [0.5]\n7k/6Q1/6K1/8/8/8/8/8 b - - [1.0]\n";
        let format = format(LabelSyntax::Brackets, PointOfView::White);
        let count = |selection: &Selection, reason| {
            read_text(text.as_bytes(), 1, &format, selection).left_out.count(reason)
        };
        let default = Selection::default();
        assert_eq!((count(&default, Reason::InCheck), count(&default, Reason::GameOver)), (2, 1));
        let all = Selection { keep_checks: true, ..default };
        assert_eq!((count(&all, Reason::InCheck), count(&all, Reason::GameOver)), (0, 2));
    }

    #[test]
    fn columns_may_be_quoted() {
        let columns = Columns {
            header_line: 1,
            delimiter: b',',
            fen: 1,
            places: Places { result: Some(2), score: Some(0) },
            percent: false,
            centipawns: true,
            game: None,
            unread: Remainder::Nothing,
        };
        let format =
            TextFormat { columns: Some(columns), ..TextFormat::new(LabelSyntax::Csv, PointOfView::White) };
        let text =
            format!("cp,fen,wdl\n12,\"{KINGS} w - - 0 1\",0.5\n-5,{KINGS} b - -,1-0\n7,{KINGS} w - -\n");
        let batch = read_text(text.as_bytes(), 1, &format, &Selection::default());
        let read: Vec<_> = batch.samples.iter().map(|s| (s.result, s.score_cp)).collect();
        assert_eq!(read, [(0.5, 12.0), (1.0, -5.0)]);
        assert_eq!(batch.left_out.count(Reason::NoLabel), 1);
    }
}
