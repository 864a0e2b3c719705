//! The steps that run in input order: duplicates, results, game numbers, and, once all positions are known,
//! sampling and weights.
//!
//! Memory: about 8 bytes per distinct position if duplicates are dropped, 16 if they are averaged, plus 12
//! for each that occurs again; 1 per position for a sample. Everything else is spooled by the writer.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

use super::encode::{Encoded, EncodedLabel};
use super::plausibility::{can_judge, implausible_labels, scale_mismatch};
use super::report::{FunnelStep, Report, Results, SourceReport};
use super::skipped::SkippedList;
use super::sources::Detected;
use super::weights::PhaseWeights;
use super::{ExtractSettings, Leaf};
use crate::contents::Contents;
use crate::game_numbers::GameNumbers;
use crate::reading::{Chunk, Sink};
use crate::refusals::{check_room, too_many_bad_lines};
use gputexel_chess::sample::{Agreement, Batch, Verdict};
use gputexel_chess::scale::{ResultScale, ResultTally};
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Unit, draw};
use gputexel_dataset::{DatasetWriter, PositionLabels, SourceRecord};
use gputexel_files::input::place;
use gputexel_files::{Advice, Error, Result};

/// Number of lines or games before the share of bad ones is first checked.
const RECORDS_BEFORE_JUDGING: u64 = 1000;

/// Keys are hashes already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

type KeyMap<V> = HashMap<u64, V, BuildHasherDefault<KeyHasher>>;

/// The later occurrences of a position.
#[derive(Clone, Copy, Default)]
struct Repeats {
    results: f32,
    count: u32,
}

/// The steps that run in input order.
pub struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ExtractSettings,
    reports: Vec<SourceReport>,
    results: Results,
    /// Positions seen so far, if duplicates are dropped.
    seen: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    /// Rows of positions, if duplicates are averaged, and their later occurrences.
    rows: KeyMap<u32>,
    repeats: HashMap<u32, Repeats>,
    /// Number of rows written when each source ended.
    source_ends: Vec<usize>,
    skipped: Option<SkippedList>,
    leaves: Option<&'a mut Vec<Leaf>>,
    /// Whether any source has games, so that every position needs a game number.
    numbered: bool,
    games: GameNumbers,
    contents: Contents,
}

/// What happened to the positions of a chunk.
#[derive(Default)]
struct Written {
    left_out: LeftOut,
    /// Positions whose features come from another position.
    resolved: u64,
}

/// What happens to a position that passed the rules of its game.
enum Fate {
    Kept,
    LeftOut(Reason),
}

impl<'a> Assembly<'a> {
    pub fn try_new(
        writer: DatasetWriter,
        inputs: &[PathBuf],
        detected: &[Detected],
        settings: &'a ExtractSettings,
        leaves: Option<&'a mut Vec<Leaf>>,
    ) -> Result<Self> {
        let game_rules = settings.selection.game_rules();
        let reports = inputs
            .iter()
            .zip(detected)
            .map(|(path, detected)| empty_report(path, detected, &game_rules))
            .collect();
        let skipped = settings.list_skipped.as_deref().map(|path| SkippedList::create(path, settings.force));
        Ok(Self {
            writer,
            settings,
            reports,
            results: Results::default(),
            seen: HashSet::default(),
            rows: KeyMap::default(),
            repeats: HashMap::new(),
            source_ends: vec![0; inputs.len()],
            skipped: skipped.transpose()?,
            leaves,
            numbered: detected.iter().any(Detected::has_games),
            games: GameNumbers::default(),
            contents: Contents::default(),
        })
    }

    fn write(&mut self, chunk: &Chunk, encoded: &Encoded) -> Result<Written> {
        let pgn = self.reports[chunk.source].record.format == "pgn";
        self.games.begin_chunk(chunk.source);
        let mut written = Written::default();
        for (label, row) in encoded.rows() {
            if let Fate::LeftOut(reason) = self.judge(label) {
                written.left_out.add(reason);
                continue;
            }
            let game = self.number(label, pgn);
            self.results.add(label.result);
            written.resolved += u64::from(label.leaf_key != label.key);
            if let Some(leaves) = &mut self.leaves {
                leaves.push(Leaf { key: label.key, leaf: label.leaf_key });
            }
            let score_cp = Some(label.score_cp).filter(|score| !score.is_nan());
            let labels = PositionLabels { result: label.result, score_cp, weight: 1.0, game };
            self.writer.push_row(row, labels)?;
        }
        check_room(&self.writer)?;
        self.source_ends[chunk.source] = self.writer.len();
        Ok(written)
    }

    /// Handles duplicates and drawn games. Duplicates are dropped before draws, so that the first occurrence
    /// counts whatever its result; averages are taken over the games that count.
    fn judge(&mut self, label: &EncodedLabel) -> Fate {
        let rules = &self.settings.selection;
        if rules.duplicates == Duplicates::Drop && !self.seen.insert(label.key) {
            return Fate::LeftOut(Reason::Duplicate);
        }
        if rules.no_draws && label.result == 0.5 {
            return Fate::LeftOut(Reason::Drawn);
        }
        if rules.duplicates == Duplicates::Average {
            match self.rows.entry(label.key) {
                Entry::Vacant(entry) => {
                    // Compared with the maximum number of rows after each chunk.
                    entry.insert(self.writer.len() as u32);
                }
                Entry::Occupied(entry) => {
                    let repeats = self.repeats.entry(*entry.get()).or_default();
                    repeats.results += label.result;
                    repeats.count += 1;
                    return Fate::LeftOut(Reason::Merged);
                }
            }
        }
        Fate::Kept
    }

    /// The game number of a kept position.
    fn number(&mut self, label: &EncodedLabel, pgn: bool) -> Option<u32> {
        if !self.numbered {
            return None;
        }
        Some(match label.game {
            Some(game) if pgn => self.games.of_chunk(game),
            Some(game) => self.games.of_input(game),
            None => self.games.single(),
        })
    }

    /// Averaging, sampling and weighting, which need all positions.
    fn revise(&mut self) -> Result<()> {
        let rules = &self.settings.selection;
        let (rows, repeats) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.repeats));
        drop(rows);
        if !repeats.is_empty() {
            self.writer.relabel(&mut |row, labels| match repeats.get(&(row as u32)) {
                Some(later) => {
                    let count = later.count as f32 + 1.0;
                    ((labels.result + later.results) / count, count)
                }
                None => (labels.result, labels.weight),
            })?;
        }
        if let Some(wanted) = rules.sample.filter(|n| *n < self.writer.len() as u64) {
            self.draw_sample(wanted)?;
        }
        if let Some(intervals) = rules.balance_phases {
            let max = self.settings.feature_set.phase.max;
            let mut weights = PhaseWeights::new(intervals, max);
            self.writer.visit(&mut |_, labels| weights.count(labels.phase, labels.weight))?;
            self.writer
                .relabel(&mut |_, labels| (labels.result, labels.weight * weights.factor(labels.phase)))?;
        }
        if rules.relabels() || rules.sample.is_some() {
            let mut results = Results::default();
            self.writer.visit(&mut |_, labels| results.add(labels.result))?;
            self.results = results;
        }
        Ok(())
    }

    /// Draws rows uniformly without replacement: selection sampling (Knuth, The Art of Computer Programming
    /// 3.4.2, algorithm S) with random numbers determined by the seed and the row.
    fn draw_sample(&mut self, wanted: u64) -> Result<()> {
        let total = self.writer.len() as u64;
        let mut needed = wanted;
        let keep: Vec<bool> = (0..total)
            .map(|row| {
                let chance = u128::from(draw(self.settings.selection.seed, SAMPLE, row));
                let keep = ((chance * u128::from(total - row)) >> 64) < u128::from(needed);
                needed -= u64::from(keep);
                keep
            })
            .collect();
        self.writer.retain(&keep)?;
        let mut start = 0;
        for (report, end) in self.reports.iter_mut().zip(&self.source_ends) {
            let end = start.max(*end);
            let kept = keep[start..end].iter().filter(|keep| **keep).count() as u64;
            report.left_out.add_many(Reason::Sample, (end - start) as u64 - kept);
            report.record.positions = kept;
            start = end;
        }
        if let Some(leaves) = &mut self.leaves {
            let mut flags = keep.iter();
            leaves.retain(|_| flags.next().is_some_and(|keep| *keep));
        }
        Ok(())
    }

    pub fn finish(mut self, inputs: &[PathBuf], output: &Path) -> Result<Report> {
        self.revise()?;
        for report in &mut self.reports {
            report.verdict = report.agreement.verdict();
            report.warnings.extend(report.agreement_warning());
            report.warnings.extend(report.losses());
            let scale = self.settings.results;
            report.warnings.extend(report.tally.warnings(scale.unwrap_or_default(), scale.is_some()));
            report.record.left_out = report.left_out.by_label();
            report.funnel = FunnelStep::all(report.positions_read, &report.left_out);
            let skipped = report.left_out.sum(Unit::Game) + report.left_out.sum(Unit::GameRest);
            let chosen = report.left_out.iter().filter(|(reason, _)| reason.is_choice());
            let chosen: u64 = chosen.map(|(_, count)| count).sum();
            report.skipped_games_unnamed = skipped - chosen - report.skipped_games.len() as u64;
        }
        if self.writer.is_empty() {
            let mut left_out = LeftOut::default();
            self.reports.iter().for_each(|report| left_out.merge(&report.left_out));
            let reasons: Vec<String> =
                left_out.iter().map(|(reason, count)| format!("{count} {}", reason.label())).collect();
            let reasons = if reasons.is_empty() {
                "nothing, the inputs have no positions".to_string()
            } else {
                reasons.join(", ")
            };
            return Err(Error::input(&inputs[0], format!("no position was kept; left out: {reasons}")));
        }
        let records = self.reports.iter().map(|report| report.record.clone()).collect();
        let metadata = self.writer.finish(records, self.settings.selection.settings())?;
        if let Some(list) = self.skipped {
            list.finish()?;
        }
        Ok(Report {
            output: output.display().to_string(),
            positions: metadata.positions,
            games: metadata.games,
            results: self.results,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            seconds: 0.0,
            selection: metadata.selection,
            sources: self.reports,
        })
    }
}

impl Sink for Assembly<'_> {
    type Batch = Encoded;

    fn positions(&self) -> u64 {
        self.writer.len() as u64
    }

    fn add(&mut self, chunk: &Chunk, encoded: Encoded) -> Result<()> {
        let written = self.write(chunk, &encoded)?;
        let report = &mut self.reports[chunk.source];
        report.resolved += written.resolved;
        let place = place(&report.record.path, chunk.member.as_deref());
        for game in &encoded.rest.skipped {
            let number = report.record.records + game.game + 1;
            let text = format!("{place}: game {number} (line {}): {}", game.line, game.what);
            if let Some(list) = &mut self.skipped {
                list.add(&text)?;
            }
            if report.faults.len() < Batch::NAMED_FAULTS && game.reason.is_fault() {
                report.faults.push(text.clone());
            }
            if report.skipped_games.len() < Batch::NAMED_GAMES && !game.reason.is_choice() {
                report.skipped_games.push(text);
            }
        }
        report.record.records += encoded.rest.records;
        report.record.positions += encoded.len() as u64 - written.left_out.sum(Unit::Position);
        report.positions_read += encoded.rest.positions_read;
        report.left_out.merge(&encoded.rest.left_out);
        report.left_out.merge(&written.left_out);
        report.agreement.merge(&encoded.rest.agreement);
        report.plies += encoded.rest.plies;
        report.plies_lost += encoded.rest.plies_lost;
        report.score_agreement.merge(&encoded.rest.score_agreement);
        report.tally.merge(&encoded.rest.tally);
        let room = Batch::COMPLAINTS.saturating_sub(report.complaints.len());
        for (line, reason) in encoded.rest.complaints.iter().take(room) {
            report.complaints.push(format!("{place}:{line}: {reason}"));
        }
        report.bad_lines = report.left_out.bad_lines();
        report.bad_games = report.left_out.faulty_games();
        let last = chunk.ending.is_some();
        if let Some(ending) = &chunk.ending {
            self.contents.finish_source(ending, &mut report.record, &mut report.warnings);
        }
        if report.record.format != "pgn"
            && can_judge(report, last)
            && let Some(refusal) = implausible_labels(report, self.settings, last)
        {
            return Err(refusal);
        }
        let judged = last || report.record.records >= RECORDS_BEFORE_JUDGING;
        if judged && report.bad_share() > self.settings.max_bad_share {
            if let Some(refusal) = scale_mismatch(report, self.settings) {
                return Err(refusal);
            }
            return Err(too_bad(report, self.settings));
        }
        Ok(())
    }
}

/// Separates the random numbers for the sample of all positions from those for samples of games.
const SAMPLE: u64 = 0x5a4d_504c;

fn empty_report(path: &Path, detected: &Detected, game_rules: &[&str]) -> SourceReport {
    let (detected_letters, detection) = match detected {
        Detected::Games(detected_letters) => (detected_letters.as_ref(), None),
        Detected::Positions(detection) => (None, Some(detection)),
    };
    let format = detection.map(|detection| &detection.format);
    let mut warnings: Vec<String> =
        detection.iter().flat_map(|one| [one.warning.clone(), one.score_warning.clone()]).flatten().collect();
    if format.is_some() && !game_rules.is_empty() {
        warnings.push(format!(
            "labeled positions have no moves and tags, so these rules do not apply: {}",
            game_rules.join(", ")
        ));
    }
    SourceReport {
        record: SourceRecord {
            path: path.display().to_string(),
            format: if detected.is_pgn() { "pgn" } else { "text" }.to_string(),
            labels: format.map(|format| format.syntax.name().to_string()),
            point_of_view: format.map(|format| format.point_of_view.name().to_string()),
            piece_letters: detected_letters.filter(|l| !l.letters.is_english()).map(|l| l.letters.name()),
            results: format
                .map(|format| format.scale)
                .filter(|s| *s != ResultScale::default())
                .map(|s| s.to_string()),
            score_point_of_view: format
                .filter(|format| format.score_view != format.point_of_view)
                .map(|format| format.score_view.name().to_string()),
            ..SourceRecord::default()
        },
        positions_read: 0,
        resolved: 0,
        evidence: match detection {
            Some(detection) => Some(detection.evidence.clone()),
            None => detected_letters.and_then(|detected_letters| detected_letters.evidence.clone()),
        },
        score_evidence: detection.and_then(|detection| detection.score_evidence.clone()),
        agreement: Agreement::default(),
        score_agreement: Agreement::default(),
        verdict: Verdict::CannotTell,
        warnings,
        complaints: Vec::new(),
        skipped_games: Vec::new(),
        skipped_games_unnamed: 0,
        funnel: Vec::new(),
        bad_lines: 0,
        bad_games: 0,
        plies: 0,
        plies_lost: 0,
        faults: Vec::new(),
        left_out: LeftOut::default(),
        tally: ResultTally::default(),
    }
}

fn too_bad(report: &SourceReport, settings: &ExtractSettings) -> Error {
    match report.losses() {
        Some(losses) => too_many_faults(report, &losses, settings),
        None => too_many_bad_lines(
            &report.record,
            report.bad_lines,
            (report.bad_share(), settings.max_bad_share),
            report.left_out_of(Unit::Line).max_by_key(|(_, count)| *count),
            report.complaints.first(),
        ),
    }
}

fn too_many_faults(report: &SourceReport, losses: &str, settings: &ExtractSettings) -> Error {
    let limit = 100.0 * settings.max_bad_share;
    let named = report.faults.join("; ");
    let refusal =
        Error::input(&report.record.path, format!("{losses}; the limit is {limit:.1} %; the first: {named}"));
    match settings.piece_letters {
        None if report.left_out.count(Reason::UnreadableMove) > 0 => {
            let letters = Advice::default().setting("piece-letters", "");
            refusal.advise(letters.text(" names the pieces of other languages"))
        }
        _ => refusal,
    }
}
