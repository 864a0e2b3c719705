//! Steps of an import that run in input order: game numbers, the share of bad lines, and the check of the
//! file's first index against the schema.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use half::f16;

use super::audit::Audit;
use super::compiled_schema::{Column, CompiledSchema};
use super::line::{Batch, PositionFacts, SAMPLED};
use super::report::{ImportReport, SourceReport};
use super::turns::Turns;
use super::{Answers, Comparison, ImportSettings, MAX_SCALES};
use crate::extraction::{Results, rates};
use crate::game_numbers::GameNumbers;
use crate::reading::{Chunk, Contents, Sink, check_room, too_many_bad_lines};
use gputexel_chess::sample::{Agreement, Verdict};
use gputexel_chess::scale::ResultTally;
use gputexel_dataset::{DatasetWriter, SourceRecord};
use gputexel_io::{Advice, Error, Result};
use gputexel_model::program::{self, TermActivity};
use gputexel_model::unpack;

const LINES_BEFORE_JUDGING: u64 = 1000;
const LINES_BEFORE_MARKS: u64 = 20;
const COMPLAINTS: usize = 5;

pub(super) struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ImportSettings,
    reports: Vec<SourceReport>,
    answers: Option<Answers<'a>>,
    results: Results,
    entries: u64,
    bytes: u64,
    scales: BTreeSet<u16>,
    first_inexact: Option<String>,
    comparison: Comparison,
    source: usize,
    games: GameNumbers,
    /// True if positions have games; `None` before the first position.
    numbered: Option<bool>,
    /// For the current source: the largest index, and true if index 0 occurred.
    largest_index: Option<u32>,
    zero: bool,
    columns_seen: [bool; Column::COUNT],
    tally: ResultTally,
    agreement: Agreement,
    active: Vec<u64>,
    audit: Audit,
    turns: Turns,
    facts: Vec<PositionFacts>,
    contents: Contents,
    first_bad: BTreeMap<String, String>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        writer: DatasetWriter,
        inputs: &[PathBuf],
        settings: &'a ImportSettings,
        answers: Option<Answers<'a>>,
    ) -> Self {
        let name = |(i, path): (usize, &PathBuf)| match &answers {
            Some(answers) => format!("trace of {}", answers.positions[i].display()),
            None => path.display().to_string(),
        };
        let names: Vec<String> = inputs.iter().enumerate().map(name).collect();
        let report = |path: String| SourceReport {
            record: SourceRecord { path, format: "trace".to_string(), ..SourceRecord::default() },
            ..SourceReport::default()
        };
        Self {
            writer,
            settings,
            reports: names.into_iter().map(report).collect(),
            answers,
            results: Results::default(),
            entries: 0,
            bytes: 0,
            scales: BTreeSet::new(),
            first_inexact: None,
            comparison: Comparison::default(),
            source: 0,
            games: GameNumbers::default(),
            numbered: None,
            largest_index: None,
            zero: false,
            columns_seen: [false; Column::COUNT],
            first_bad: BTreeMap::new(),
            tally: ResultTally::default(),
            agreement: Agreement::default(),
            active: Vec::new(),
            audit: Audit::new(&settings.schema),
            turns: Turns::new(&settings.schema),
            facts: Vec::new(),
            contents: Contents::default(),
        }
    }

    fn write(&mut self, path: &str, batch: &Batch) -> Result<()> {
        let schema = &self.settings.schema;
        let (mut sampled, mut facts) = (0..SAMPLED, batch.facts());
        batch.for_each(|mut position, game| {
            if sampled.next().is_some() {
                self.audit.add(&position, unpack(position.board).map(|(board, _)| board).as_ref());
            }
            if let Some(turn) = facts.next().and_then(|facts| facts.turn) {
                self.turns.add(&position, turn);
            }
            if *self.numbered.get_or_insert(game.is_some()) || game.is_some() {
                if self.numbered == Some(false) {
                    return Err(Error::input(
                        path,
                        "some lines have a game (qid:N), others before them have none",
                    ));
                }
                position.labels.game = Some(self.games.number(game));
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
                    inexact.map(|(&id, c)| format!("{path}: {c} of '{}'", schema.column_name(id)));
            }
            Ok(())
        })
    }

    pub(super) fn finish(mut self, output: &Path) -> Result<ImportReport> {
        if self.writer.is_empty() {
            let reason = match self.reports.iter().flat_map(|report| &report.complaints).next() {
                Some(first) => format!("no line could be used; the first: {first}"),
                None => "is empty: it contains no positions".to_string(),
            };
            let first = self.reports.first().map_or("", |report| &report.record.path);
            return Err(Error::input(first, reason));
        }
        if let Some(answers) = &self.answers {
            for (report, path) in self.reports.iter_mut().zip(answers.positions) {
                report.record.path = path.display().to_string();
            }
        }
        let differs = self.settings.recorded && self.comparison.differing > 0;
        if let Some(worst) = self.comparison.worst.first().filter(|_| differs) {
            let reason = format!(
                "the record gives {:.3} in place of {:.3}: {}",
                worst.computed_cp, worst.printed_cp, worst.comment
            );
            return Err(Error::input(&self.reports[worst.source].record.path, reason));
        }
        if let Some(reason) = self.comparison.two_views().filter(|_| self.settings.recorded) {
            return Err(Error::input(&self.reports[0].record.path, reason));
        }
        let coefficients = if self.writer.has_single_precision() { "f32" } else { "f16" };
        let records = self.reports.iter().map(|report| report.record.clone()).collect();
        if self.turns.counts.iter().any(|count| *count != [0; 2]) {
            self.writer.set_by_turn(self.turns.counts);
        }
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
            relative: self.settings.schema.relative,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            bytes_of_text: self.bytes,
            seconds: 0.0,
            sources: self.reports,
            comparison: self.comparison,
            facts: self.facts,
        })
    }
}

impl Sink for Assembly<'_> {
    type Batch = Batch;

    fn positions(&self) -> u64 {
        self.writer.len() as u64
    }

    fn add(&mut self, chunk: &Chunk, batch: Batch) -> Result<()> {
        let source = chunk.source;
        let last = chunk.ending.is_some();
        let path = self.reports[source].record.path.clone();
        let schema = &self.settings.schema;
        self.bytes += chunk.bytes.len() as u64;
        self.games.begin_chunk(source, false);
        if self.source != source {
            self.source = source;
            (self.largest_index, self.zero) = (None, false);
            self.columns_seen = [false; Column::COUNT];
            self.tally = ResultTally::default();
            self.agreement = Agreement::default();
            self.active.clear();
            self.audit = Audit::new(&self.settings.schema);
            self.first_bad.clear();
        }
        if let (Some(line), 1) = (batch.zero_at, schema.base) {
            let reason =
                "index 0: the file counts from 0, the schema says from 1 (\"index_base\": 0 would fit)";
            return Err(Error::line(&path, line, reason));
        }
        self.largest_index = self.largest_index.max(batch.largest_index);
        self.zero |= batch.zero_at.is_some();

        self.write(&path, &batch)?;
        if self.scales.len() > MAX_SCALES {
            return Err(Error::input(
                &path,
                format!(
                    "more than {MAX_SCALES} distinct endgame scale factors; let the engine round them, or declare fewer \"steps\""
                ),
            ));
        }
        check_room(&self.writer)?;
        self.comparison.merge(&batch.comparison, source);
        if self.settings.reference.is_some() && !self.settings.recorded {
            self.facts.extend(batch.facts());
        }
        self.active.resize(self.active.len().max(batch.active.len()), 0);
        self.active.iter_mut().zip(&batch.active).for_each(|(all, own)| *all += own);

        let report = &mut self.reports[source];
        report.record.records += batch.records;
        report.record.positions += batch.positions() as u64;
        report.bad_lines += batch.bad_lines();
        if let Some(ending) = &chunk.ending {
            self.contents.finish_source(ending, &mut report.record, &mut report.warnings);
        }
        for (kind, count) in &batch.bad {
            *report.record.left_out.entry((*kind).to_string()).or_default() += count;
        }
        for (kind, (line, reason)) in &batch.first_bad {
            let shown = || format!("{path}:{line}: {reason}");
            self.first_bad.entry((*kind).to_string()).or_insert_with(shown);
        }
        let room = COMPLAINTS.saturating_sub(report.complaints.len());
        for (line, reason) in batch.complaints.iter().take(room) {
            report.complaints.push(format!("{path}:{line}: {reason}"));
        }
        self.tally.merge(&batch.tally);
        self.agreement.merge(&batch.agreement);
        // A comparison of evaluations is more thorough than this check.
        let asked =
            self.settings.trust_results || self.settings.reference.is_some() && !self.settings.recorded;
        if let (true, false, Some(verdict)) = (last, asked, self.agreement.clear_fault()) {
            let advice = Advice::default()
                .text("\"point_of_view\" of the schema says whose results are, import ")
                .setting("trust-results", "")
                .text(" takes them as they are");
            return Err(Error::input(&path, results_mismatch(&self.agreement, verdict)).advise(advice));
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
            && schema.base == 0
            && !self.zero
            && self.largest_index == Some(schema.last_index() + 1)
        {
            let last = schema.last_index();
            return Err(Error::input(
                &path,
                format!(
                    "its indices run from 1 to {}, the schema's from 0 to {last}: the file counts from 1 (\"index_base\": 1 and every index one higher would fit)",
                    last + 1
                ),
            ));
        }
        if too_many {
            let reasons = report.record.left_out.iter().map(|(kind, count)| (kind.as_str(), *count));
            let commonest = reasons.max_by_key(|(_, count)| *count);
            let first = commonest.and_then(|(kind, _)| self.first_bad.get(kind));
            return Err(too_many_bad_lines(
                (&report.record, "lines"),
                report.bad_lines,
                (report.bad_share(), self.settings.max_bad_share),
                commonest,
                first.or(report.complaints.first()),
            ));
        }
        self.columns_seen.iter_mut().zip(batch.columns_seen).for_each(|(seen, new)| *seen |= new);
        let mut missing = schema.required.iter().filter(|(column, _)| !self.columns_seen[*column as usize]);
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
        if last {
            report.warnings.extend(dead_terms(schema, &self.active, report.record.positions));
            report.warnings.extend(self.audit.warnings(schema));
        }
        if last && schema.base == 0 && !self.zero && schema.uses_zero() && report.record.positions > 0 {
            report.warnings.push("index 0 never occurs: does the file count from 1?".to_string());
        }
        Ok(())
    }
}

fn dead_terms(schema: &CompiledSchema, active: &[u64], positions: u64) -> Vec<String> {
    let Some((program, _)) = &schema.program else { return Vec::new() };
    let program = program.program();
    let all = program.terms.iter().zip(active);
    let activity: Vec<TermActivity> = all
        .map(|(term, &active)| TermActivity { active, positions, ..TermActivity::new(program, term) })
        .collect();
    program::dead_terms(&activity, "under the priors")
}

fn results_mismatch(counts: &Agreement, verdict: Verdict) -> String {
    let what = match verdict {
        Verdict::Reversed => "as if Black's wins were 1",
        Verdict::MixedPointOfView => "as if lines with different points of view were mixed",
        _ => "as if they were from the other point of view",
    };
    let rates = rates(counts, "decisive, imbalanced results");
    format!("results contradict material {what}: {rates}")
}
