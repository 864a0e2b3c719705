//! Measured rows as a trace, and its schema, from which the importer makes the dataset.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::Survey;
use super::asking::Source;
use super::memory::Block;
use super::positions::{Labeled, Positions};
use super::search::Measured;
use gputexel_ingest::extraction::Hooks;
use gputexel_ingest::trace::{
    Columns, CompiledSchema, GameColumn, ImportReport, ImportSettings, ProbedParameter, ProbingRecord,
    QidWord, Schema, SchemaParameter, Values, import_probed,
};
use gputexel_io::{AtomicFile, Error, Result};
use gputexel_model::Place;
use shakmaty::Square;

/// Columns; those of parameters follow.
const OFFSET: u32 = 1;
const EVAL: u32 = 2;
const SCORE: u32 = 3;
const WEIGHT: u32 = 4;
const FIRST: u32 = 5;

const SAMPLE: usize = 4000;

pub(super) fn block(
    number: usize,
    measured: &Measured,
    (source, has_games): (&Source, bool),
    positions: &[&Labeled],
    asked: u64,
) -> Block {
    let mut lines = String::new();
    let (mut lost, mut effective) = (Vec::new(), BTreeSet::new());
    let rows = positions.iter().zip(&measured.base).zip(&measured.rows);
    for (n, ((position, &base), row)) in (0..).zip(rows) {
        if base.is_nan() {
            lost.push(n);
            continue;
        }
        effective.extend(row.iter().map(|(i, _)| *i));
        let explained: f64 =
            row.iter().map(|(i, c)| f64::from(*c as f32) * source.parameters[*i as usize].start).sum();
        lines += &position.result;
        // Writing to a string cannot fail.
        if has_games {
            let _ = write!(lines, " qid:{}", position.game);
        }
        let _ = write!(lines, " {OFFSET}:{} {EVAL}:{base}", base - explained);
        for (index, text) in [(SCORE, &position.score), (WEIGHT, &position.weight)] {
            if !text.is_empty() {
                let _ = write!(lines, " {index}:{text}");
            }
        }
        for (i, coefficient) in row {
            let _ = write!(lines, " {}:{}", FIRST + i, *coefficient as f32);
        }
        let _ = writeln!(lines, " # {}", position.fen);
    }
    Block {
        block: number as u64,
        lines,
        lost,
        effective: effective.into_iter().collect(),
        check: measured.check,
        blamed: measured.blamed.clone(),
        asked,
    }
}

/// Under the starting values, of the positions that have one.
pub(super) fn evaluations<'a>(
    block: &'a Block,
    positions: &'a [Labeled],
) -> impl Iterator<Item = (&'a Labeled, f64)> {
    let kept = (0..).zip(positions).filter(|(n, _)| !block.lost.contains(n));
    kept.zip(block.lines.lines()).filter_map(|((_, position), line)| {
        let mut words = line.split_whitespace().filter_map(|word| word.split_once(':'));
        let (_, value) = words.find(|(index, _)| index.parse() == Ok(EVAL))?;
        Some((position, value.parse().ok()?))
    })
}

/// Parameter and coefficient of each entry of finished blocks.
pub(super) fn entries(blocks: &BTreeMap<u64, Block>) -> impl Iterator<Item = (u32, f64)> {
    let entry = |word: &str| {
        let (column, coefficient) = word.split_once(':')?;
        Some((column.parse::<u32>().ok()?.checked_sub(FIRST)?, coefficient.parse().ok()?))
    };
    let rows = blocks.values().flat_map(|block| block.lines.lines());
    rows.flat_map(move |row| row.split(" # ").next().unwrap_or("").split(' ').filter_map(entry))
}

pub(super) fn write(
    source: &Source,
    survey: &Survey,
    (positions, effective, rows): (&Positions, &BTreeSet<u32>, &[&Labeled]),
    blocks: &BTreeMap<u64, Block>,
    (inputs, trace): (&[PathBuf], &Path),
    (output, force): (&Path, bool),
) -> Result<ImportReport> {
    let io = |error: std::io::Error| Error::io(trace, error);
    let mut out = BufWriter::new(AtomicFile::beside(trace).map_err(io)?);
    blocks.values().try_for_each(|block| out.write_all(block.lines.as_bytes())).map_err(io)?;
    out.into_inner().map_err(|error| io(error.into_error()))?.finish().map_err(io)?;
    let schema = schema(survey, positions, effective);
    let mut settings = ImportSettings::new(CompiledSchema::try_new(&schema)?);
    // Labels were checked when the positions were read.
    settings.trust_results = true;
    settings.force = force;
    let named: Vec<String> = inputs.iter().map(|path| path.display().to_string()).collect();
    let hooks = &mut Hooks { cancel: &source.stop, progress: &mut |_| {} };
    let traces = [trace.to_path_buf()];
    let names = [PathBuf::from(named.join(", "))];
    let record = ProbingRecord { sample: sample(rows), ..survey.record.clone() };
    import_probed((&traces, &names), &settings, output, hooks, record)
}

/// Positions that the engine can be asked about again.
fn sample(rows: &[&Labeled]) -> Vec<(u64, String)> {
    let count = SAMPLE.min(rows.len());
    (0..count).map(|i| i * rows.len() / count).map(|row| (row as u64, rows[row].fen.clone())).collect()
}

pub(super) fn check(survey: &Survey, positions: &Positions) -> Result<()> {
    CompiledSchema::try_new(&schema(survey, positions, &BTreeSet::new())).map(|_| ())
}

/// A feature with the ending of a phase would be taken for one of its values, one with a comma for two.
fn feature_name(name: &str) -> String {
    let name = &name.replace(',', " ");
    let phase =
        [".mg", ".eg"].into_iter().find_map(|ending| Some((name.strip_suffix(ending)?, &ending[1..])));
    phase.map_or_else(|| name.to_string(), |(name, phase)| format!("{name}_{phase}"))
}

/// Board and square in a name: `pawn_e4_mg` is square 28 of `pawn_mg`.
fn square_in(name: &str) -> Option<(String, u8)> {
    let is_mark = |c: char| !c.is_alphanumeric();
    let square =
        |word: &str| word.parse::<Square>().ok().filter(|_| word.starts_with(|c: char| c.is_lowercase()));
    let words: Vec<&str> = name.split(is_mark).filter(|word| !word.is_empty()).collect();
    let square = words.iter().find_map(|word| square(word))?;
    let board: Vec<&str> = words.into_iter().filter(|word| *word != square.to_string()).collect();
    (!board.is_empty()).then(|| (board.join("_"), square.to_usize() as u8))
}

/// Group, line and entry in a name: `mobility_1_3_eg` is entry 3 of line `mobility_1_eg` in group `mobility_eg`.
fn entry_in(name: &str) -> Option<(String, String, u32)> {
    let phase = ["_mg", "_eg"].into_iter().find(|phase| name.ends_with(phase)).unwrap_or("");
    let stem = &name[..name.len() - phase.len()];
    let line = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let entry = stem[line.len()..].parse().ok()?;
    let line = line.trim_end_matches(|c: char| !c.is_alphanumeric());
    let group = line.trim_end_matches(|c: char| !c.is_alphabetic());
    (!group.is_empty()).then(|| (format!("{group}{phase}"), format!("{line}{phase}"), entry))
}

/// Fewer may be of pieces or sides, which have no order.
const LINE: usize = 4;

/// Group and place of each parameter. Names that tell squares make a board, if they are half of one or more; names
/// that differ in a number make a group, and a line if they are numbered one after the other.
pub(super) fn groups(names: &[&str]) -> Vec<(String, Option<Place>)> {
    let names: Vec<String> = names.iter().map(|name| feature_name(name)).collect();
    let mut boards: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut lines: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for name in &names {
        if let Some((board, square)) = square_in(name) {
            boards.entry(board).or_default().push(square);
        }
        if let Some((group, line, entry)) = entry_in(name) {
            *sizes.entry(group).or_default() += 1;
            lines.entry(line).or_default().push(entry);
        }
    }
    boards.retain(|_, squares| {
        squares.len() >= 32 && squares.iter().collect::<BTreeSet<_>>().len() == squares.len()
    });
    lines.retain(|_, entries| {
        entries.len() >= LINE && entries.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
    });
    let group = |name: String| {
        if let Some((board, square)) = square_in(&name).filter(|(board, _)| boards.contains_key(board)) {
            return (board.clone(), Some(Place::Square(board, square)));
        }
        match entry_in(&name).filter(|(group, ..)| sizes[group] > 1) {
            // Files of a board that is not whole are no lines.
            Some((group, line, _)) if lines.contains_key(&line) && square_in(&name).is_none() => {
                (group, Some(Place::Line(line)))
            }
            Some((group, ..)) => (group, None),
            None => (name, None),
        }
    };
    names.into_iter().map(group).collect()
}

fn schema(survey: &Survey, positions: &Positions, effective: &BTreeSet<u32>) -> Schema {
    let names: Vec<&str> = survey.record.parameters.iter().map(|one| one.name.as_str()).collect();
    let groups = groups(&names);
    let parameter = |(i, one): (usize, &ProbedParameter)| SchemaParameter {
        name: feature_name(&one.name),
        group: Some(groups[i].0.clone()),
        place: groups[i].1.clone(),
        index: Some(FIRST + i as u32),
        prior: Some(Values::Both(one.start)),
        min: Some(Values::Both(one.min)),
        max: Some(Values::Both(one.max)),
        frozen: one.step == 0.0 || !effective.contains(&(i as u32)),
        integer: one.integer,
        ..SchemaParameter::default()
    };
    let mut schema = Schema::new(1, survey.record.parameters.iter().enumerate().map(parameter).collect());
    let any = |has: fn(&Labeled) -> bool| positions.all.iter().any(has);
    schema.columns = Columns {
        offset: Some(OFFSET),
        eval: Some(EVAL),
        score: any(|position| !position.score.is_empty()).then_some(SCORE),
        weight: any(|position| !position.weight.is_empty()).then_some(WEIGHT),
        game: positions.has_games.then_some(GameColumn::Qid(QidWord::Qid)),
        ..Columns::default()
    };
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_squares_of_boards() {
        let on = |board: &str, square| Some((board.to_string(), square));
        assert_eq!(square_in("pawn_squares_a1"), on("pawn_squares", 0));
        assert_eq!(square_in("knight_e4_mg"), on("knight_mg", 28));
        assert_eq!(square_in("Rook[h8]"), on("Rook", 63));
        for name in ["passed_5", "a1", "KingE4", "knight_i4", "B2"] {
            assert_eq!(square_in(name), None, "{name}");
        }
        let squares = |count: u32| (0..count).map(|i| format!("pawn_{}", Square::new(i))).collect::<Vec<_>>();
        let groups = |names: &[String]| groups(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let places = |names: &[String]| groups(names).into_iter().map(|(_, place)| place).collect::<Vec<_>>();
        assert_eq!(places(&squares(31)), vec![None; 31]);
        assert_eq!(places(&squares(64))[63], Some(Place::Square("pawn".to_string(), 63)));
        assert_eq!(groups(&squares(64))[8].0, "pawn");
        let twice = [squares(64), vec!["pawn.a1".to_string()]].concat();
        assert_eq!(places(&twice), vec![None; 65]);
    }

    #[test]
    fn names_tell_entries_of_tables() {
        let found = |names: &str| -> Vec<String> {
            let told = |(group, place): (String, Option<Place>)| match place {
                Some(Place::Line(line)) => format!("{group}:{line}"),
                _ => group,
            };
            groups(&names.split(' ').collect::<Vec<_>>()).into_iter().map(told).collect()
        };
        assert_eq!(found("passed_5 passed_6 Space 2"), ["passed", "passed", "Space", "2"]);
        assert_eq!(
            found("m_0_mg m_0_eg m_1_mg m_1.eg m_2_mg m_3_mg"),
            ["m_mg:m_mg", "m_eg", "m_mg:m_mg", "m_eg", "m_mg:m_mg", "m_mg:m_mg"]
        );
        assert_eq!(found("a1 a2 a3 a4"), ["a:a"; 4]);
        // Each row of a table is a line.
        let rows = found("m_0_0_mg m_0_1_mg m_0_2_mg m_0_3_mg m_1_0_mg m_1_1_mg m_1_2_mg m_1_3_mg m_2_0_mg");
        assert_eq!(
            rows,
            [["m_mg:m_0_mg"; 4], ["m_mg:m_1_mg"; 4]].concat().into_iter().chain(["m_mg"]).collect::<Vec<_>>()
        );
        // Not numbered one after the other, and a name that has no number.
        assert_eq!(
            found("a1 a2 a4 a3 doubled_mg doubled2_mg"),
            ["a", "a", "a", "a", "doubled_mg", "doubled2_mg"]
        );
    }
}
