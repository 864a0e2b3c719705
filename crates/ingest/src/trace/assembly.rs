//! Everything of an import that happens in input order: game numbers, the share of broken lines,
//! and whether the file counts its indices as the schema says.
//!
//! Memory: what a map takes from games of a trace to their numbers, a few dozen bytes a game.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use half::f16;

use super::line::Batch;
use super::plan::Column;
use super::report::{ImportReport, SourceReport};
use super::{Comparison, ImportSettings, MAX_SCALES};
use crate::extraction::{Contents, Ending, Results, rates, repeats};
use gputexel_chess::sample::{Agreement, Verdict};
use gputexel_chess::scale::ResultTally;
use gputexel_dataset::{DatasetWriter, SourceRecord};
use gputexel_files::{Error, Result};

/// Lines after which the share of broken ones is first judged.
const LINES_BEFORE_JUDGING: u64 = 1000;
/// Lines before which a missing draw says nothing about the scale of results.
const LINES_BEFORE_MARKS: u64 = 20;
/// Complaints that are shown.
const COMPLAINTS: usize = 5;

/// What became of a chunk.
pub(super) struct Finished {
    pub(super) source: usize,
    pub(super) ending: Option<Ending>,
    pub(super) batch: Batch,
    pub(super) bytes: u64,
    pub(super) buffer: Vec<u8>,
}

pub(super) struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ImportSettings,
    reports: Vec<SourceReport>,
    results: Results,
    entries: u64,
    bytes: u64,
    scales: BTreeSet<u16>,
    first_inexact: Option<String>,
    comparison: Comparison,
    /// The source whose games are numbered, and their numbers.
    games: (usize, HashMap<u64, u32>),
    next_game: u32,
    /// Whether positions have games so far; `None` before the first.
    numbered: Option<bool>,
    /// Of the current source: the largest index, and whether index 0 occurred.
    largest_index: Option<u32>,
    zero: bool,
    /// Of the current source: which columns occurred.
    columns_seen: [bool; Column::COUNT],
    /// Of the current source: its results.
    tally: ResultTally,
    /// Of the current source: its results against material.
    agreement: Agreement,
    contents: Contents,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(writer: DatasetWriter, inputs: &[PathBuf], settings: &'a ImportSettings) -> Self {
        let report = |path: &PathBuf| SourceReport {
            record: SourceRecord {
                path: path.display().to_string(),
                format: "trace".to_string(),
                ..SourceRecord::default()
            },
            ..SourceReport::default()
        };
        Self {
            writer,
            settings,
            reports: inputs.iter().map(report).collect(),
            results: Results::default(),
            entries: 0,
            bytes: 0,
            scales: BTreeSet::new(),
            first_inexact: None,
            comparison: Comparison::default(),
            games: (0, HashMap::new()),
            next_game: 0,
            numbered: None,
            largest_index: None,
            zero: false,
            columns_seen: [false; Column::COUNT],
            tally: ResultTally::default(),
            agreement: Agreement::default(),
            contents: Contents::default(),
        }
    }

    pub(super) fn positions(&self) -> u64 {
        self.writer.len() as u64
    }

    pub(super) fn add(&mut self, finished: &Finished) -> Result<()> {
        let Finished { source, ref ending, ref batch, bytes, .. } = *finished;
        let last = ending.is_some();
        let path = self.reports[source].record.path.clone();
        let plan = &self.settings.plan;
        self.bytes += bytes;
        if self.games.0 != source {
            self.games = (source, HashMap::new());
            (self.largest_index, self.zero) = (None, false);
            self.columns_seen = [false; Column::COUNT];
            self.tally = ResultTally::default();
            self.agreement = Agreement::default();
        }
        if let (Some(line), 1) = (batch.zero_at, plan.base) {
            let reason =
                "index 0: the file counts from 0, the schema says from 1 (\"index_base\": 0 would fit)";
            return Err(Error::line(&path, line, reason));
        }
        self.largest_index = self.largest_index.max(batch.largest_index);
        self.zero |= batch.zero_at.is_some();

        let features = &plan.feature_set().features;
        let (mut previous, mut previous_number) = (None, None);
        batch.for_each(|mut position, game| {
            if *self.numbered.get_or_insert(game.is_some()) || game.is_some() {
                let number = match (game, previous_number) {
                    (Some(game), Some(number)) if previous == Some(game) => number,
                    _ => {
                        let mut fresh = || {
                            self.next_game += 1;
                            self.next_game - 1
                        };
                        match game {
                            Some(game) => *self.games.1.entry(game).or_insert_with(fresh),
                            None => fresh(),
                        }
                    }
                };
                (previous, previous_number) = (game, Some(number));
                position.labels.game = Some(number);
                if self.numbered == Some(false) {
                    return Err(Error::input(
                        &path,
                        "some lines have a game (qid:N), others before them have none",
                    ));
                }
            }
            self.results.add(position.labels.result);
            self.entries += position.ids.len() as u64;
            self.scales.insert(position.scale);
            let was_half = !self.writer.has_single_precision();
            self.writer.push_imported(&position)?;
            if was_half && self.writer.has_single_precision() {
                let mut entries = position.ids.iter().zip(position.coefficients);
                let inexact = entries.find(|(_, c)| f16::from_f32(**c).to_f32() != **c);
                self.first_inexact =
                    inexact.map(|(&id, c)| format!("{path}: {c} of '{}'", features[usize::from(id)].name));
            }
            Ok(())
        })?;
        if self.scales.len() > MAX_SCALES {
            return Err(Error::input(
                &path,
                format!(
                    "more than {MAX_SCALES} distinct endgame scale factors; let the engine round them, or declare fewer \"steps\""
                ),
            ));
        }
        if self.writer.len() > u32::MAX as usize - 1 {
            return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
        }
        self.comparison.merge(&batch.comparison, source);

        let report = &mut self.reports[source];
        report.record.records += batch.records;
        report.record.positions += batch.positions() as u64;
        report.bad_lines += batch.bad_lines();
        if let Some(ending) = ending {
            report.warnings.extend(ending.warning.clone());
            report.record.same_as = self.contents.same_as(&path, ending);
            report.warnings.extend(report.record.same_as.as_deref().map(repeats));
        }
        for (kind, count) in &batch.bad {
            *report.record.left_out.entry((*kind).to_string()).or_default() += count;
        }
        let room = COMPLAINTS.saturating_sub(report.complaints.len());
        for (line, reason) in batch.complaints.iter().take(room) {
            report.complaints.push(format!("{path}:{line}: {reason}"));
        }
        self.tally.merge(&batch.tally);
        self.agreement.merge(&batch.agreement);
        // Who compares evaluations is told more than this.
        let asked = self.settings.trust_results || self.settings.reference.is_some();
        if let (true, false, Some(verdict)) = (last, asked, self.agreement.clear_fault()) {
            return Err(Error::input(&path, doubt(&self.agreement, verdict)));
        }
        let many = report.record.records >= LINES_BEFORE_MARKS;
        if let (true, Some((result, line))) = (last && many, self.tally.mark()) {
            let remedy = match result {
                -1.0 => "lines with -1, 0 and 1 need \"results\": \"-1..1\" in the schema",
                _ => "print 1, 0.5 and 0",
            };
            let reason = format!("the result is {result}, and no result is between 0 and 1: {remedy}");
            return Err(Error::line(&path, line, reason));
        }
        let judged = last || report.record.records >= LINES_BEFORE_JUDGING;
        let too_many = judged && report.bad_share() > self.settings.max_bad_share;
        if (last || too_many)
            && plan.base == 0
            && !self.zero
            && self.largest_index == Some(plan.last_index() + 1)
        {
            let last = plan.last_index();
            return Err(Error::input(
                &path,
                format!(
                    "its indices run from 1 to {}, the schema's from 0 to {last}: the file counts from 1 (\"index_base\": 1 and every index one higher would fit)",
                    last + 1
                ),
            ));
        }
        if too_many {
            return Err(too_many_bad_lines(report, self.settings.max_bad_share));
        }
        self.columns_seen.iter_mut().zip(batch.columns_seen).for_each(|(seen, new)| *seen |= new);
        let mut missing = plan.required.iter().filter(|(column, _)| !self.columns_seen[*column as usize]);
        if let (true, true, Some((column, index))) = (judged, report.record.positions > 0, missing.next()) {
            let name = column.name();
            return Err(Error::input(
                &path,
                format!(
                    "the {name} is missing: index {index} occurs in none of {} lines",
                    report.record.records
                ),
            ));
        }
        if last && plan.base == 0 && !self.zero && plan.uses_zero() && report.record.positions > 0 {
            report.warnings.push("index 0 never occurs: does the file count from 1?".to_string());
        }
        Ok(())
    }

    pub(super) fn finish(self, inputs: &[PathBuf], output: &Path) -> Result<ImportReport> {
        if self.writer.is_empty() {
            let reason = match self.reports.iter().flat_map(|report| &report.complaints).next() {
                Some(first) => format!("no line could be used; the first: {first}"),
                None => "is empty: it contains no positions".to_string(),
            };
            return Err(Error::input(&inputs[0], reason));
        }
        let coefficients = if self.writer.has_single_precision() { "f32" } else { "f16" };
        let records = self.reports.iter().map(|report| report.record.clone()).collect();
        let metadata = self.writer.finish(records, [])?;
        Ok(ImportReport {
            output: output.display().to_string(),
            positions: metadata.positions,
            games: metadata.games,
            features: metadata.feature_set.features.len(),
            entries: self.entries,
            coefficients,
            first_inexact: self.first_inexact,
            scales: self.scales.len(),
            results: self.results,
            relative: self.settings.plan.relative,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            bytes_of_text: self.bytes,
            seconds: 0.0,
            sources: self.reports,
            comparison: self.comparison,
        })
    }
}

/// Why results are not taken as they are.
fn doubt(counts: &Agreement, verdict: Verdict) -> String {
    let what = match verdict {
        Verdict::Reversed => "as if Black's wins were 1",
        Verdict::MixedPointOfView => "as if lines with different points of view were mixed",
        _ => "as if they were from the other point of view",
    };
    let rates = rates(counts, "decisive, imbalanced results");
    format!(
        "results contradict material {what}: {rates}; \"point_of_view\" of the schema says whose results are, \
         import --trust-results takes them as they are"
    )
}

fn too_many_bad_lines(report: &SourceReport, limit: f64) -> Error {
    let lines = report.record.records;
    let most = report
        .record
        .left_out
        .iter()
        .max_by_key(|(_, count)| **count)
        .map_or(String::new(), |(kind, count)| format!(", most of them {kind} ({count})"));
    let first = report.complaints.first().map_or(String::new(), |first| format!("; the first: {first}"));
    Error::input(
        &report.record.path,
        format!(
            "{} of {lines} lines cannot be used ({:.1} %, the limit is {:.1} %){most}{first}",
            report.bad_lines,
            100.0 * report.bad_share(),
            100.0 * limit
        ),
    )
}
