//! Lines of a trace: `result qid:N score:CP index:value … # comment`.

use std::collections::BTreeMap;

use shakmaty::Color;

use super::comparison::{Comparison, Reference, ReferenceRow};
use super::compiled_schema::{Action, Column, CompiledSchema, Half};
use super::conventions::PhaseSource;
use super::number::{parse_number, split_entry, whole};
use super::row_sums::{RowSums, exchanged, is_usable};
use super::schema::Results;
use super::truncation::Shares;
use gputexel_chess::fen::parse_fen;
use gputexel_chess::sample::Agreement;
use gputexel_chess::scale::ResultTally;
use gputexel_chess::text::significant_lines;
use gputexel_dataset::{ImportedPosition, PositionLabels};
use gputexel_io::shown_number;
use gputexel_model::program::Taper;
use gputexel_model::{PackedBoard, pack};

const COMPLAINTS: usize = 5;
const QUOTED: usize = 24;

#[derive(Clone, Copy, Debug)]
struct Label {
    entries: u32,
    phase: u16,
    scale: u16,
    offset_cp: f32,
    evaluation_cp: f32,
    result: f32,
    weight: f32,
    score_cp: f32,
    game: Option<u64>,
    facts: PositionFacts,
    board: PackedBoard,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PositionFacts {
    pub turn: Option<Color>,
    pub pieces: Option<u8>,
}

/// Positions of a chunk in flat arrays, and the faults of other lines.
#[derive(Debug, Default)]
pub struct Batch {
    labels: Vec<Label>,
    ids: Vec<u16>,
    coefficients: Vec<f32>,
    /// Number of lines read, except blank ones and comments.
    pub records: u64,
    pub bad: BTreeMap<&'static str, u64>,
    pub complaints: Vec<(u64, String)>,
    pub first_bad: BTreeMap<&'static str, (u64, String)>,
    pub largest_index: Option<u32>,
    /// The first line with index 0, if any.
    pub zero_at: Option<u64>,
    /// Agreement of results with material, as far as lines contain the position: for some lines of each
    /// chunk, or for all if the position is needed anyway.
    pub(super) agreement: Agreement,
    pub(super) tally: ResultTally,
    pub(super) columns_seen: [bool; Column::COUNT],
    /// Comparison of computed evaluations with those printed by the engine, if requested.
    pub comparison: Comparison,
    pub(super) active: Vec<u64>,
}

/// Number of lines per chunk whose results are compared with material although their FEN is not otherwise
/// needed: enough to determine their point of view, and few enough to cost nothing.
pub(super) const SAMPLED: usize = 500;

struct Fault(&'static str, String);

fn fault<T>(kind: &'static str, text: String) -> Result<T, Fault> {
    Err(Fault(kind, text))
}

fn quoted(word: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&word[..word.len().min(QUOTED)]).escape_debug().to_string();
    if word.len() > QUOTED { format!("'{shown}…'") } else { format!("'{shown}'") }
}

pub fn read_lines(
    chunk: &[u8],
    first_line: u64,
    schema: &CompiledSchema,
    reference: Option<&Reference>,
) -> Batch {
    let mut batch = Batch {
        // A dozen bytes per coefficient are typical.
        ids: Vec::with_capacity(chunk.len() / 6),
        coefficients: Vec::with_capacity(chunk.len() / 6),
        ..Batch::default()
    };
    let mut reader = Reader {
        schema,
        reference,
        pending: Vec::new(),
        values: [None; Column::COUNT],
        score: None,
        sums: RowSums::default(),
        largest: None,
        zero: false,
    };
    for (number, line) in significant_lines(chunk, first_line) {
        batch.records += 1;
        let (ids, coefficients) = (batch.ids.len(), batch.coefficients.len());
        match reader.read(line, number, &mut batch) {
            Ok(()) => {}
            Err(Fault(kind, text)) => {
                batch.ids.truncate(ids);
                batch.coefficients.truncate(coefficients);
                *batch.bad.entry(kind).or_default() += 1;
                batch.first_bad.entry(kind).or_insert_with(|| (number, text.clone()));
                if batch.complaints.len() < COMPLAINTS {
                    batch.complaints.push((number, text));
                }
                reader.scan(line);
            }
        }
        if std::mem::take(&mut reader.zero) {
            batch.zero_at.get_or_insert(number);
        }
    }
    batch.largest_index = reader.largest;
    batch
}

struct Reader<'a> {
    schema: &'a CompiledSchema,
    reference: Option<&'a Reference>,
    pending: Vec<(u16, Half, f64)>,
    values: [Option<f64>; Column::COUNT],
    score: Option<f64>,
    sums: RowSums,
    largest: Option<u32>,
    zero: bool,
}

impl Reader<'_> {
    fn read(&mut self, line: &[u8], number: u64, batch: &mut Batch) -> Result<(), Fault> {
        let schema = self.schema;
        let (data, comment) = match memchr::memchr(b'#', line) {
            Some(at) => (&line[..at], line[at + 1..].trim_ascii()),
            None => (line, &line[line.len()..]),
        };
        // With carriage returns alone as line ends, the whole file would be one line's comment.
        if memchr::memchr(b'\r', line).is_some() {
            return fault(
                "carriage return",
                "a carriage return within the line; lines end with a line feed".to_string(),
            );
        }
        let first_entry = batch.ids.len();
        self.values = [None; Column::COUNT];
        self.score = None;
        self.pending.clear();

        let mut words = data.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        let Some(word) = words.next() else {
            return fault("no result", "no result at its beginning".to_string());
        };
        let result = self.result(word, number, &mut batch.tally)?;
        let mut qid = None;
        let mut last = None;
        let mut seen = 0;
        for word in words {
            let (index, value) = match split_entry(word) {
                Some(parts) => parts,
                None if word.starts_with(b"qid:") && last.is_none() && qid.is_none() => {
                    let Some(game) = std::str::from_utf8(&word[4..]).ok().and_then(|id| id.parse().ok())
                    else {
                        return fault("bad game", format!("{} is not an integer", quoted(word)));
                    };
                    qid = Some(game);
                    continue;
                }
                None if word.starts_with(b"score:") && last.is_none() => {
                    let Some(score) = parse_number(&word[6..]) else {
                        return fault("bad number", format!("{} has no finite number", quoted(word)));
                    };
                    if self.score.replace(score).is_some() {
                        return fault("two scores", format!("{} is a second score", quoted(word)));
                    }
                    continue;
                }
                None => return fault("bad entry", format!("{} is not index:coefficient", quoted(word))),
            };
            if let Some(last) = last
                && index <= last
            {
                return if index == last {
                    fault("duplicate index", format!("index {index} comes twice"))
                } else {
                    fault("index out of order", format!("index {index} comes after {last}"))
                };
            }
            last = Some(index);
            self.note(index);
            let action = schema.actions.get(index as usize).copied();
            let Some(value) = parse_number(value) else {
                return fault(
                    "bad number",
                    format!("{} of index {index} is not a finite number", quoted(value)),
                );
            };
            seen += 1;
            match action {
                Some(Action::Feature(id, half)) => {
                    let single = value as f32;
                    if single.is_infinite() {
                        return fault("bad number", format!("{value} of index {index} is too large"));
                    }
                    if schema.merges {
                        self.pending.push((id, half, value));
                    } else if single != 0.0 {
                        batch.ids.push(id);
                        batch.coefficients.push(single);
                    }
                }
                Some(Action::Column(column)) => self.values[column as usize] = Some(value),
                Some(Action::Ignore) => {}
                Some(Action::None) => {
                    return fault("undeclared index", format!("index {index} is not in the schema"));
                }
                None => {
                    let end = schema.last_index();
                    return fault(
                        "index out of range",
                        format!("index {index} is past the last of the schema, {end}"),
                    );
                }
            }
        }
        if schema.dense && seen != schema.declared {
            return fault(
                "wrong width",
                format!("{seen} entries, but the schema declares {}", schema.declared),
            );
        }
        if schema.merges {
            self.merge(batch)?;
        }
        self.finish(result, qid, comment, number, first_entry, batch)
    }

    fn result(&self, word: &[u8], number: u64, tally: &mut ResultTally) -> Result<f64, Fault> {
        let bad = |why: &str| fault("bad result", format!("result {}{why}", quoted(word)));
        match (parse_number(word), self.schema.results) {
            (None, _) => bad(" is not a number"),
            (Some(value), Results::ZeroToOne) if (0.0..=1.0).contains(&value) => {
                tally.number(value as f32);
                Ok(value)
            }
            (Some(value), Results::ZeroToOne) => {
                tally.out_of_range(value as f32, number);
                bad(match value {
                    -1.0 => ": lines with -1, 0 and 1 need \"results\": \"-1..1\" in the schema",
                    _ => " is not from 0 to 1",
                })
            }
            (Some(value), Results::MinusOneToOne) if (-1.0..=1.0).contains(&value) => Ok(0.5 * (value + 1.0)),
            (Some(_), Results::MinusOneToOne) => bad(" is not from -1 to 1"),
        }
    }

    fn merge(&mut self, batch: &mut Batch) -> Result<(), Fault> {
        self.pending.sort_by_key(|&(id, _, _)| id);
        for own in self.pending.chunk_by(|a, b| a.0 == b.0) {
            let sum =
                |half: Half| own.iter().filter(|entry| entry.1 == half).map(|entry| entry.2).sum::<f64>();
            let (mg, eg) = (sum(Half::Mg), sum(Half::Eg));
            if mg != eg {
                let name = self.schema.column_name(own[0].0);
                return fault(
                    "unequal halves",
                    format!(
                        "'{name}' has coefficients {mg} of its middlegame and {eg} of its endgame index; where they may differ, declare two parameters"
                    ),
                );
            }
            let coefficient = (sum(Half::Both) + mg) as f32;
            if coefficient.is_infinite() {
                return fault("bad number", "coefficients of one parameter add up to infinity".to_string());
            }
            if coefficient != 0.0 {
                batch.ids.push(own[0].0);
                batch.coefficients.push(coefficient);
            }
        }
        Ok(())
    }

    fn finish(
        &mut self,
        result: f64,
        qid: Option<u64>,
        comment: &[u8],
        number: u64,
        first_entry: usize,
        batch: &mut Batch,
    ) -> Result<(), Fault> {
        let schema = self.schema;
        for &(column, index) in &schema.required {
            let value = &mut self.values[column as usize];
            match value {
                Some(_) => batch.columns_seen[column as usize] = true,
                None if column == Column::Weight => {
                    return fault("missing column", format!("no weight, which is index {index}"));
                }
                // Columns missing in a sparse line are 0.
                None => *value = Some(0.0),
            }
        }
        if let Some(word) = self.score {
            let column = self.values[Column::Score as usize].replace(word);
            if let Some(column) = column.filter(|column| *column != word) {
                let text = format!("score:{word} behind the result, but {column} in the column of scores");
                return fault("two scores", text);
            }
        }
        let setup = match schema.requires_fen {
            false => None,
            true => match parse_fen(comment) {
                Ok((setup, _)) => Some(setup),
                Err(_) if comment.is_empty() => return fault("no position", "no FEN behind #".to_string()),
                Err(error) => return fault("bad position", error.reason().to_string()),
            },
        };
        let turn = match (self.value(Column::Turn), &setup) {
            (Some(1.0), _) => Some(Color::White),
            (Some(0.0 | -1.0), _) => Some(Color::Black),
            (Some(other), _) => {
                return fault("bad column", format!("side to move {other}: must be 1, or 0 or -1 for Black"));
            }
            (None, Some(setup)) => Some(setup.turn),
            (None, None) => None,
        };
        let phase = match (&schema.phase, &setup) {
            (PhaseSource::Column { endgame, factor }, _) => {
                let value = self.value(Column::Phase).unwrap_or(*endgame);
                let max = schema.feature_set().phase.max;
                whole((value - endgame) * factor, max).ok_or_else(|| {
                    let middlegame = endgame + f64::from(max) / factor;
                    let between = endgame.min(middlegame)..=endgame.max(middlegame);
                    // With promoted pieces, engines that do not limit their phase exceed the middlegame.
                    let text = match between.contains(&value) {
                        true => format!(
                            "phase {value} is not one of the {max} steps from middlegame to endgame; trace it rounded to one"
                        ),
                        false => format!(
                            "phase {value} is not between {middlegame} (middlegame) and {endgame} (endgame)"
                        ),
                    };
                    Fault("bad column", text)
                })?
            }
            (PhaseSource::Fen, Some(setup)) => schema.feature_set().phase.units(&setup.board),
            _ => schema.feature_set().phase.max,
        };
        let scale = match self.value(Column::Scale) {
            None => schema.feature_set().imported.as_ref().map_or(1, |imported| imported.scale_one),
            Some(value) => {
                let most = u16::MAX / schema.feature_set().phase.max;
                whole(value * schema.scale_factor, most).ok_or_else(|| {
                    let step = 1.0 / schema.scale_factor;
                    let text =
                        format!("endgame scale {value} is negative, too large, or no multiple of {step}");
                    Fault("bad column", text)
                })?
            }
        };
        let game = match self.value(Column::Game) {
            None => qid,
            Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 9e15 => Some(value as u64),
            Some(value) => return fault("bad column", format!("game {value} is not an integer")),
        };
        if schema.requires_qid && qid.is_none() {
            return fault("missing column", "no game (qid:N after the result)".to_string());
        }
        let weight = self.value(Column::Weight).unwrap_or(1.0) as f32;
        if !(weight > 0.0 && weight.is_finite()) {
            return fault("bad column", format!("weight {weight}: must be a positive number"));
        }

        let black = turn == Some(Color::Black);
        let [of_result, of_coefficients, of_offset, of_score, of_evaluation] =
            schema.turned.map(|turned| turned && black);
        let signed = |value: f64, turn: bool| if turn { -value } else { value };
        if of_coefficients {
            reverse(schema, batch, first_entry);
        }
        let shares = shares(schema, phase, scale);
        self.check_sums(shares, first_entry, batch)?;
        let entries = batch.ids.len() - first_entry;
        let column = |column: Column, turn: bool| self.value(column).map(|value| signed(value, turn));
        let offset = column(Column::Offset, of_offset).unwrap_or(0.0);
        let evaluation = column(Column::Eval, of_evaluation);
        let score = column(Column::Score, of_score);
        for (value, name) in [(Some(offset), "offset"), (evaluation, "evaluation"), (score, "score")] {
            if value.is_some_and(|value| value.abs() > 1e6) {
                return fault(
                    "bad column",
                    format!("{name} {}: at most 1e6 centipawns", value.unwrap_or(0.0)),
                );
            }
        }
        let sampled = batch.labels.len() < SAMPLED;
        let setup = setup.or_else(|| parse_fen(comment).ok().map(|(setup, _)| setup));
        let label = Label {
            entries: entries as u32,
            phase,
            scale,
            offset_cp: offset as f32,
            evaluation_cp: evaluation.map_or(f32::NAN, |value| value as f32),
            result: if of_result { 1.0 - result } else { result } as f32,
            weight,
            score_cp: score.map_or(f32::NAN, |value| value as f32),
            game,
            facts: PositionFacts {
                turn: turn.or(setup.as_ref().map(|setup| setup.turn)),
                pieces: setup.as_ref().map(|setup| setup.board.occupied().count() as u8),
            },
            board: setup.as_ref().map(|setup| pack(&setup.board, setup.turn)).unwrap_or_default(),
        };
        if let Some(setup) = setup.filter(|_| sampled || schema.requires_fen) {
            // If nothing was reversed, numbers are still from the side to move's view.
            let untold = schema.relative && turn.is_none() && setup.turn == Color::Black;
            let result = if untold { 1.0 - label.result } else { label.result };
            batch.agreement.add(&setup.board, setup.turn, result);
        }
        if let Some(reference) = self.reference {
            let ids = &batch.ids[first_entry..];
            let row = ids.iter().zip(&batch.coefficients[first_entry..]);
            let row = row.map(|(&id, &c)| (id, f64::from(c)));
            let score = offset + reference.score(row.clone(), shares, &mut self.sums);
            let is_rounding = |printed: f64| {
                (score - printed).abs() > reference.tolerance_cp && {
                    let row = ReferenceRow { entries: row.collect(), shares, offset_cp: offset };
                    reference.is_rounding(&row, score, printed)
                }
            };
            let computed = (score, evaluation.is_some_and(is_rounding));
            let (result, turn) = (result_of(&label), label.facts.turn);
            batch.comparison.add(reference, computed, evaluation, result, turn, number, comment);
        }
        batch.labels.push(label);
        Ok(())
    }

    fn check_sums(&mut self, shares: Shares, first_entry: usize, batch: &mut Batch) -> Result<(), Fault> {
        let Some((program, values)) = &self.schema.program else { return Ok(()) };
        let row = batch.ids[first_entry..].iter().zip(&batch.coefficients[first_entry..]);
        self.sums.add_up(program, values, row.map(|(&id, &c)| (id, f64::from(c))));
        if let Some((slot, sum)) = self.sums.excess() {
            let name = program.slot_name(slot);
            return fault(
                "bad sum",
                format!("the sum of '{name}' is {}, at most 1e9 can be computed with", shown_number(sum)),
            );
        }
        let (mg, eg) = shares.pair();
        let score = program.score(&self.sums.sums, self.sums.present, Taper { mg, eg });
        if !is_usable(score) {
            let score = shown_number(score);
            return fault("bad sum", format!("the score is {score}, at most 1e9 can be computed with"));
        }
        self.sums.count_active(program, &mut batch.active);
        Ok(())
    }

    fn note(&mut self, index: u32) {
        self.largest = self.largest.max(Some(index));
        self.zero |= index == 0;
    }

    fn value(&self, column: Column) -> Option<f64> {
        self.values[column as usize]
    }

    /// Records the indices of an unusable line: they help to find where the file's indices start.
    fn scan(&mut self, line: &[u8]) {
        let data = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
        for word in data.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1) {
            if let Some((index, _)) = split_entry(word) {
                self.note(index);
            }
        }
    }
}

fn result_of(label: &Label) -> f64 {
    f64::from(label.result)
}

fn shares(schema: &CompiledSchema, phase: u16, scale: u16) -> Shares {
    let one = schema.feature_set().imported.as_ref().map_or(1, |imported| imported.scale_one);
    Shares { phase, max: schema.feature_set().phase.max, scale, one }
}

/// Reverses the last row of a batch, seen by Black, to White's view: the linear part changes its sign, sides
/// are exchanged, and sums for both stay.
fn reverse(schema: &CompiledSchema, batch: &mut Batch, first_entry: usize) {
    let coefficients = &mut batch.coefficients[first_entry..];
    let Some((program, _)) = &schema.program else {
        coefficients.iter_mut().for_each(|coefficient| *coefficient = -*coefficient);
        return;
    };
    let ids = &mut batch.ids[first_entry..];
    let entries = ids.iter().zip(coefficients.iter()).map(|(&id, &coefficient)| {
        let (id, negated) = exchanged(program, id);
        (id, if negated { -coefficient } else { coefficient })
    });
    let mut entries: Vec<(u16, f32)> = entries.collect();
    entries.sort_unstable_by_key(|&(id, _)| id);
    for ((id, coefficient), entry) in ids.iter_mut().zip(coefficients).zip(entries) {
        (*id, *coefficient) = entry;
    }
}

impl Batch {
    pub fn positions(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = PositionFacts> {
        self.labels.iter().map(|label| label.facts)
    }

    pub fn bad_lines(&self) -> u64 {
        self.bad.values().sum()
    }

    /// Visits the positions in order, with the game's number as given in the trace. Errors of `visit` end the
    /// iteration.
    pub fn for_each<E>(
        &self,
        mut visit: impl FnMut(ImportedPosition<'_>, Option<u64>) -> Result<(), E>,
    ) -> Result<(), E> {
        let known = |value: f32| Some(value).filter(|value| !value.is_nan());
        let mut at = 0;
        for label in &self.labels {
            let end = at + label.entries as usize;
            let position = ImportedPosition {
                ids: &self.ids[at..end],
                coefficients: &self.coefficients[at..end],
                phase: label.phase,
                scale: label.scale,
                offset_cp: label.offset_cp,
                evaluation_cp: known(label.evaluation_cp),
                labels: PositionLabels {
                    result: label.result,
                    score_cp: known(label.score_cp),
                    weight: label.weight,
                    game: None,
                },
                board: label.board,
            };
            visit(position, label.game)?;
            at = end;
        }
        Ok(())
    }
}
