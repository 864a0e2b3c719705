//! Everything that happens in input order: duplicates, results, game numbers, and, once all
//! positions are known, samples of them and weights.
//!
//! Memory: 8 bytes or so a distinct position where duplicates are dropped, 16 where they are
//! averaged, and 12 more for each of those that occur again; 1 a position for a sample. Everything
//! else is in the spool of the writer.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};

use super::doubt::{can_judge, doubt, other_scale};
use super::encode::EncodedLabel;
use super::pipeline::Finished;
use super::report::{FunnelStep, Report, Results, SourceReport};
use super::skipped::SkippedList;
use super::sources::{Contents, Source, repeats};
use super::weights::PhaseWeights;
use super::{ExtractSettings, Leaf};
use gputexel_chess::detection::InputKind;
use gputexel_chess::sample::{Agreement, Batch, Verdict};
use gputexel_chess::scale::{ResultScale, ResultTally};
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Unit, draw};
use gputexel_dataset::{DatasetWriter, PositionLabels, SourceRecord};
use gputexel_files::{Error, Result};
use gputexel_model::FeatureRow;

/// Lines or games after which the share of bad ones is first judged.
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

/// Everything that happens in input order.
pub struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ExtractSettings,
    reports: Vec<SourceReport>,
    results: Results,
    /// Positions that were met, where duplicates are dropped.
    seen: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    /// Rows of positions, where duplicates are averaged, and what came later of those.
    rows: KeyMap<u32>,
    repeats: HashMap<u32, Repeats>,
    /// Rows written when a source ended.
    source_ends: Vec<usize>,
    skipped: Option<SkippedList>,
    leaves: Option<&'a mut Vec<Leaf>>,
    row: FeatureRow,
    /// Whether any source has games, so that every position needs a number.
    numbered: bool,
    next_game: u32,
    /// Numbers given to the game column of the current text.
    columns: (usize, HashMap<u64, u32>),
    contents: Contents,
}

/// What becomes of a position that the readers kept.
enum Fate {
    Kept,
    LeftOut(Reason),
}

impl<'a> Assembly<'a> {
    pub fn try_new(
        writer: DatasetWriter,
        sources: &[Source],
        settings: &'a ExtractSettings,
        leaves: Option<&'a mut Vec<Leaf>>,
    ) -> Result<Self> {
        let game_rules = settings.selection.game_rules();
        let reports = sources.iter().map(|source| empty_report(source, &game_rules)).collect();
        let skipped = settings.list_skipped.as_deref().map(|path| SkippedList::create(path, settings.force));
        Ok(Self {
            writer,
            settings,
            reports,
            results: Results::default(),
            seen: HashSet::default(),
            rows: KeyMap::default(),
            repeats: HashMap::new(),
            source_ends: vec![0; sources.len()],
            skipped: skipped.transpose()?,
            leaves,
            row: FeatureRow::default(),
            numbered: sources.iter().any(Source::has_games),
            next_game: 0,
            columns: (0, HashMap::new()),
            contents: Contents::default(),
        })
    }

    /// Positions so far.
    pub fn positions(&self) -> u64 {
        self.writer.len() as u64
    }

    pub fn add(&mut self, finished: &Finished) -> Result<()> {
        let encoded = &finished.encoded;
        let pgn = self.reports[finished.source].record.format == "pgn";
        if self.columns.0 != finished.source {
            self.columns = (finished.source, HashMap::new());
        }
        let mut row = std::mem::take(&mut self.row);
        let mut left_out = LeftOut::default();
        let mut resolved = 0;
        // The game of the last kept position: within a chunk, a game's positions are neighbors.
        let mut current = None;
        encoded.for_each(&mut row, |label, row| {
            if let Fate::LeftOut(reason) = self.judge(label) {
                left_out.add(reason);
                return Ok(());
            }
            let game = self.number(label, pgn, &mut current);
            self.results.add(label.result);
            resolved += u64::from(label.leaf_key != label.key);
            if let Some(leaves) = &mut self.leaves {
                leaves.push(Leaf { key: label.key, leaf: label.leaf_key });
            }
            let score_cp = Some(label.score_cp).filter(|score| !score.is_nan());
            self.writer.push(row, PositionLabels { result: label.result, score_cp, weight: 1.0, game })
        })?;
        self.row = row;
        if self.writer.len() > u32::MAX as usize - 1 {
            return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
        }
        self.source_ends[finished.source] = self.writer.len();

        let report = &mut self.reports[finished.source];
        report.resolved += resolved;
        for game in &encoded.skipped {
            let number = report.record.records + game.game + 1;
            let text = format!("{}: game {number} (line {}): {}", report.record.path, game.line, game.what);
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
        report.record.records += encoded.records;
        report.record.positions += encoded.labels.len() as u64 - left_out.sum(Unit::Position);
        report.positions_read += encoded.positions_read;
        report.left_out.merge(&encoded.left_out);
        report.left_out.merge(&left_out);
        report.agreement.merge(&encoded.agreement);
        report.plies += encoded.plies;
        report.plies_lost += encoded.plies_lost;
        report.score_agreement.merge(&encoded.score_agreement);
        report.tally.merge(&encoded.tally);
        let room = Batch::COMPLAINTS.saturating_sub(report.complaints.len());
        for (line, reason) in encoded.complaints.iter().take(room) {
            report.complaints.push(format!("{}:{line}: {reason}", report.record.path));
        }
        report.bad_lines = report.left_out.bad_lines();
        report.bad_games = report.left_out.faulty_games();
        let last = finished.ending.is_some();
        if let Some(ending) = &finished.ending {
            report.warnings.extend(ending.warning.clone());
            report.record.same_as = self.contents.same_as(&report.record.path, ending);
            report.warnings.extend(report.record.same_as.as_deref().map(repeats));
        }
        if !pgn
            && can_judge(report, last)
            && let Some(refusal) = doubt(report, self.settings, last)
        {
            return Err(refusal);
        }
        let judged = last || report.record.records >= RECORDS_BEFORE_JUDGING;
        if judged && report.bad_share() > self.settings.max_bad_share {
            if let Some(refusal) = other_scale(report, self.settings) {
                return Err(refusal);
            }
            return Err(too_bad(report, self.settings));
        }
        Ok(())
    }

    /// Duplicates and drawn games. Dropped duplicates are told before draws are, so that the first
    /// occurrence counts whatever its result; averages are taken over the games that count.
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
                    // Checked against the limit of rows after each chunk.
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
    fn number(&mut self, label: &EncodedLabel, pgn: bool, current: &mut Option<(u64, u32)>) -> Option<u32> {
        if !self.numbered {
            return None;
        }
        let mut fresh = || {
            self.next_game += 1;
            self.next_game - 1
        };
        Some(match label.game {
            Some(game) if pgn => match *current {
                Some((known, number)) if known == game => number,
                _ => {
                    let number = fresh();
                    *current = Some((game, number));
                    number
                }
            },
            Some(game) => *self.columns.1.entry(game).or_insert_with(fresh),
            None => fresh(),
        })
    }

    /// Averages, samples and weights, which need all positions.
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

    /// Draws rows without replacement, each as likely as any other: selection sampling (Knuth, The
    /// Art of Computer Programming 3.4.2, algorithm S) with draws that the seed and the row
    /// determine.
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
        self.next_game = self.writer.games() as u32;
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
            let reasons =
                if reasons.is_empty() { "nothing, there is none".to_string() } else { reasons.join(", ") };
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
            games: u64::from(self.next_game),
            results: self.results,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            seconds: 0.0,
            selection: metadata.selection,
            sources: self.reports,
        })
    }
}

/// What draws for the sample of everything are told apart by from those of games.
const SAMPLE: u64 = 0x5a4d_504c;

fn empty_report(source: &Source, game_rules: &[&str]) -> SourceReport {
    let lettering = source.lettering.as_ref();
    let format = source.detection.as_ref().map(|detection| &detection.format);
    let mut warnings: Vec<String> = source
        .detection
        .iter()
        .flat_map(|one| [one.warning.clone(), one.score_warning.clone()])
        .flatten()
        .collect();
    if format.is_some() && !game_rules.is_empty() {
        warnings.push(format!(
            "labeled positions have no moves and tags, so these rules do not apply: {}",
            game_rules.join(", ")
        ));
    }
    SourceReport {
        record: SourceRecord {
            path: source.path.display().to_string(),
            format: if source.kind == InputKind::Pgn { "pgn" } else { "text" }.to_string(),
            labels: format.map(|format| format.syntax.name().to_string()),
            point_of_view: format.map(|format| format.point_of_view.name().to_string()),
            piece_letters: lettering.filter(|l| !l.letters.is_english()).map(|l| l.letters.name()),
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
        evidence: match &source.detection {
            Some(detection) => Some(detection.evidence.clone()),
            None => lettering.and_then(|lettering| lettering.evidence.clone()),
        },
        score_evidence: source.detection.as_ref().and_then(|detection| detection.score_evidence.clone()),
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
        None => too_many_bad_lines(report, settings.max_bad_share),
    }
}

fn too_many_faults(report: &SourceReport, losses: &str, settings: &ExtractSettings) -> Error {
    let limit = 100.0 * settings.max_bad_share;
    let named = report.faults.join("; ");
    let hint = match settings.piece_letters {
        None if report.left_out.count(Reason::UnreadableMove) > 0 => {
            "; --piece-letters names the pieces of other languages"
        }
        _ => "",
    };
    Error::input(
        &report.record.path,
        format!("{losses}; the limit is {limit:.1} %; the first: {named}{hint}"),
    )
}

fn too_many_bad_lines(report: &SourceReport, limit: f64) -> Error {
    let lines = report.record.records;
    let most = report
        .left_out_of(Unit::Line)
        .max_by_key(|(_, count)| *count)
        .map_or(String::new(), |(label, count)| format!(", most of them {label} ({count})"));
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
