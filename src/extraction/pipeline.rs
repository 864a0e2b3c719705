//! The threads: one decompresses and cuts, several read and compute features, and the caller's
//! own puts results back into order, drops duplicates, numbers games and writes.
//!
//! No thread borrows from the caller, so that an interrupted extraction can leave a reader that
//! waits for a pipe behind.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::encode::{Encoded, EncodedLabel};
use super::report::{Report, Results, SourceReport};
use super::sources::{Chunk, Source, read_chunks};
use super::{ExtractSettings, Hooks, Progress};
use crate::chess::detection::InputKind;
use crate::chess::pgn::read_pgn;
use crate::chess::sample::{Agreement, Batch, Verdict};
use crate::chess::selection::{LeftOut, Reason, Selection, Unit};
use crate::chess::text::{TextFormat, read_text};
use crate::dataset::{DatasetWriter, Metadata, PositionLabels, SourceRecord};
use crate::error::{Error, Result};
use crate::model::{FeatureRow, FeatureSet};

/// Lines after which the share of broken ones is first judged.
const LINES_BEFORE_JUDGING: u64 = 1000;

/// A chunk on its way to the writer: the counts and rows, whether its source ends with it, and
/// its buffer, to be used again.
struct Finished {
    source: usize,
    last: bool,
    encoded: Encoded,
    buffer: Vec<u8>,
}

/// What workers need of a source; `None` for games.
type Formats = Vec<Option<TextFormat>>;

pub fn run(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<Report> {
    let start = Instant::now();
    // Before anything is read: a path that cannot be written should not cost an hour.
    let writer = DatasetWriter::create(output, Metadata::new(settings.feature_set.clone()), settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let mut sources = Source::prepare(inputs, settings, &bytes_read)?;
    if sources.iter().all(|source| source.kind == InputKind::Pgn)
        && (settings.labels.is_some() || settings.point_of_view.is_some())
    {
        return Err(Error::Usage(
            "--labels and --pov are about labelled positions, but every input holds games".to_string(),
        ));
    }
    let bytes_total = sources.iter().map(|source| source.bytes).sum::<Option<u64>>();
    let channels = spawn(&mut sources, settings, &bytes_read);
    let mut assembly = Assembly::new(writer, &sources, settings);

    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut last_progress = Instant::now();
    loop {
        if hooks.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("nothing was written".to_string()));
        }
        if last_progress.elapsed() >= Duration::from_millis(100) {
            last_progress = Instant::now();
            (hooks.progress)(Progress {
                bytes_read: bytes_read.load(Ordering::Relaxed),
                bytes_total,
                positions: assembly.writer.len() as u64,
            });
        }
        match channels.finished.recv_timeout(Duration::from_millis(100)) {
            Ok((index, finished)) => {
                waiting.insert(index, finished);
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(finished) = waiting.remove(&next) {
            next += 1;
            let finished = finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            assembly.add(&finished)?;
            // The reader has ended when nobody takes the buffer back.
            let _ = channels.buffers.send(finished.buffer);
        }
    }
    (hooks.progress)(Progress {
        bytes_read: bytes_read.load(Ordering::Relaxed),
        bytes_total,
        positions: assembly.writer.len() as u64,
    });
    if hooks.cancel.load(Ordering::Relaxed) {
        return Err(Error::Interrupted("nothing was written".to_string()));
    }
    let mut report = assembly.finish(inputs, output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The caller's ends of the channels.
struct Channels {
    finished: Receiver<(u64, std::thread::Result<Result<Finished>>)>,
    buffers: Sender<Vec<u8>>,
}

fn spawn(sources: &mut [Source], settings: &ExtractSettings, bytes_read: &Arc<AtomicU64>) -> Channels {
    let formats: Arc<Formats> =
        Arc::new(sources.iter().map(|s| s.detection.as_ref().map(|d| d.format.clone())).collect());
    let shared = Arc::new((settings.feature_set.clone(), settings.selection.clone()));
    let (buffer_sender, buffers) = channel();
    // Enough for every worker to have one in hand and one waiting, and two with the reader.
    let in_flight = 2 * settings.threads + 2;
    for _ in 0..in_flight {
        // The other end lives in this function until it moves into the reader.
        let _ = buffer_sender.send(Vec::new());
    }
    let (chunk_sender, chunks) = sync_channel(in_flight);
    let (sender, finished) = channel();
    let readings = sources.iter_mut().map(Source::take_reading).collect();
    let bytes_read = Arc::clone(bytes_read);
    std::thread::spawn(move || read_chunks(readings, &bytes_read, &buffers, &chunk_sender));
    let chunks = Arc::new(Mutex::new(chunks));
    for _ in 0..settings.threads {
        let (chunks, sender) = (Arc::clone(&chunks), sender.clone());
        let (formats, shared) = (Arc::clone(&formats), Arc::clone(&shared));
        std::thread::spawn(move || work(&chunks, &sender, &formats, &shared.0, &shared.1));
    }
    Channels { finished, buffers: buffer_sender }
}

fn work(
    chunks: &Mutex<Receiver<(u64, Result<Chunk>)>>,
    finished: &Sender<(u64, std::thread::Result<Result<Finished>>)>,
    formats: &Formats,
    set: &FeatureSet,
    selection: &Selection,
) {
    loop {
        let received = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let (index, result) = match received {
            Err(_) => return,
            Ok((index, Err(error))) => (index, Ok(Err(error))),
            Ok((index, Ok(chunk))) => {
                let process = || process(chunk, formats, set, selection);
                (index, std::panic::catch_unwind(std::panic::AssertUnwindSafe(process)).map(Ok))
            }
        };
        if finished.send((index, result)).is_err() {
            return;
        }
    }
}

fn process(chunk: Chunk, formats: &Formats, set: &FeatureSet, selection: &Selection) -> Finished {
    let batch: Batch = match formats.get(chunk.source) {
        Some(Some(format)) => read_text(&chunk.bytes, chunk.first_line, format, selection),
        _ => read_pgn(&chunk.bytes, chunk.first_line, selection),
    };
    Finished {
        source: chunk.source,
        last: chunk.last,
        encoded: Encoded::new(batch, set),
        buffer: chunk.bytes,
    }
}

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

/// Everything that happens in input order.
struct Assembly<'a> {
    writer: DatasetWriter,
    settings: &'a ExtractSettings,
    reports: Vec<SourceReport>,
    results: Results,
    seen: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    row: FeatureRow,
    /// Whether any source has games, so that every position needs a number.
    numbered: bool,
    next_game: u32,
    /// Numbers given to the game column of the current text.
    columns: (usize, HashMap<u64, u32>),
}

impl<'a> Assembly<'a> {
    fn new(writer: DatasetWriter, sources: &[Source], settings: &'a ExtractSettings) -> Self {
        let reports = sources.iter().map(empty_report).collect();
        Self {
            writer,
            settings,
            reports,
            results: Results::default(),
            seen: HashSet::default(),
            row: FeatureRow::default(),
            numbered: sources.iter().any(Source::has_games),
            next_game: 0,
            columns: (0, HashMap::new()),
        }
    }

    fn add(&mut self, finished: &Finished) -> Result<()> {
        let encoded = &finished.encoded;
        let pgn = self.reports[finished.source].record.format == "pgn";
        if self.columns.0 != finished.source {
            self.columns = (finished.source, HashMap::new());
        }
        let mut row = std::mem::take(&mut self.row);
        let mut duplicates = 0;
        // The game of the last kept position: within a chunk, a game's positions are neighbors.
        let mut current = None;
        encoded.for_each(&mut row, |label, row| {
            if !self.settings.selection.keep_duplicates && !self.seen.insert(label.key) {
                duplicates += 1;
                return Ok(());
            }
            let game = self.number(label, pgn, &mut current);
            self.results.add(label.result);
            let score_cp = Some(label.score_cp).filter(|score| !score.is_nan());
            self.writer.push(row, PositionLabels { result: label.result, score_cp, weight: 1.0, game })
        })?;
        self.row = row;
        if self.writer.len() > u32::MAX as usize - 1 {
            return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
        }

        let report = &mut self.reports[finished.source];
        report.record.records += encoded.records;
        report.record.positions += encoded.labels.len() as u64 - duplicates;
        report.positions_read += encoded.positions_read;
        report.left_out.merge(&encoded.left_out);
        report.left_out.add_many(Reason::Duplicate, duplicates);
        report.agreement.merge(&encoded.agreement);
        let room = Batch::COMPLAINTS.saturating_sub(report.complaints.len());
        for (line, reason) in encoded.complaints.iter().take(room) {
            report.complaints.push(format!("{}:{line}: {reason}", report.record.path));
        }
        report.bad_lines = report.left_out.bad_lines();
        let judged = finished.last || report.record.records >= LINES_BEFORE_JUDGING;
        if judged && report.bad_share() > self.settings.max_bad_share {
            return Err(too_many_bad_lines(report, self.settings.max_bad_share));
        }
        Ok(())
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

    fn finish(mut self, inputs: &[PathBuf], output: &Path) -> Result<Report> {
        for report in &mut self.reports {
            report.verdict = report.agreement.verdict();
            report.warnings.extend(report.agreement_warning());
            report.record.left_out = report.left_out.by_label();
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
        Ok(Report {
            output: output.display().to_string(),
            positions: metadata.positions,
            games: u64::from(self.next_game),
            results: self.results,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            seconds: 0.0,
            sources: self.reports,
        })
    }
}

fn empty_report(source: &Source) -> SourceReport {
    let format = source.detection.as_ref().map(|detection| &detection.format);
    SourceReport {
        record: SourceRecord {
            path: source.path.display().to_string(),
            format: if source.kind == InputKind::Pgn { "pgn" } else { "text" }.to_string(),
            labels: format.map(|format| format.syntax.name().to_string()),
            point_of_view: format.map(|format| format.point_of_view.name().to_string()),
            ..SourceRecord::default()
        },
        positions_read: 0,
        evidence: source.detection.as_ref().map(|detection| detection.evidence.clone()),
        agreement: Agreement::default(),
        verdict: Verdict::CannotTell,
        warnings: source.detection.iter().filter_map(|detection| detection.warning.clone()).collect(),
        complaints: Vec::new(),
        bad_lines: 0,
        left_out: LeftOut::default(),
    }
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
