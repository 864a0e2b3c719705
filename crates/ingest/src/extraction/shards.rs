//! Extraction into a folder of shards, which can be interrupted at any time and continued.
//!
//! Results that are decided position by position (reading, selection, searches, features) are stored as they
//! are computed, chunk by chunk. Rules that need all inputs (duplicates, samples of everything, weights, game
//! numbers) are decided again where chunks come together, whether they were just read or stored, so the
//! output is byte-identical.

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::assembly::Assembly;
use super::chunk_journal::{ChunkJournal, Header, Kept, record_of};
use super::encode::Encoded;
use super::reader::{Reader, evaluation_of};
use super::report::Report;
use super::sources::{Detected, detect_inputs};
use super::stored_chunk::{ChunkPlace, StoredChunk};
use super::{ExtractSettings, Hooks};
use crate::reading::{Chunk, Queue, Sink, Source, read_all};
use gputexel_dataset::{DatasetWriter, Metadata, UNFINISHED, check_shards, remove_shards};
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Advice, Error, NewFolders, Result};
use gputexel_model::TableEvaluation;

/// Report of an extraction into shards.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsReport {
    /// Report of the extraction.
    #[serde(flatten)]
    pub report: Report,
    /// Number of shards.
    pub shards: usize,
    /// Number of positions that an earlier, interrupted call had read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_positions: Option<u64>,
    /// Offset in bytes of damage in the stored chunks; what follows was read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged_at: Option<u64>,
}

/// Reads `inputs` as [`extract`](super::extract) does and writes a folder of shards: `0001.bin` and so on, of at most
/// `size` positions of whole games.
///
/// An interrupted call can be continued by the same call with `resume`, to byte-identical output; if there is
/// nothing to continue, it begins. A file in the folder stores what was read so far, and is removed at the
/// end. With `force` in the settings, an unfinished extraction is begun again.
///
/// # Errors
/// As [`extract`](super::extract); [`Error::Usage`] for a folder with datasets, or with an unfinished
/// extraction unless that is to be continued; [`Error::Input`] to continue with other inputs or settings;
/// [`Error::Busy`].
pub fn extract_shards(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    folder: &Path,
    size: usize,
    resume: bool,
    hooks: &mut Hooks<'_>,
) -> Result<ShardsReport> {
    let unfinished = folder.join(UNFINISHED);
    if !unfinished.exists() {
        match check_shards(folder, size) {
            Err(Error::Usage(_)) if resume => {
                // A process may have been killed after everything else was done.
                FolderLock::clear(folder);
                let folder = folder.display();
                let reason =
                    format!("{folder}: nothing is unfinished; the extraction into this folder is complete");
                return Err(Error::Usage(reason));
            }
            checked => checked?,
        }
    } else if !resume && !settings.force {
        let reason = format!("{}: an extraction into this folder was interrupted", folder.display());
        return Err(Error::Usage(reason).advise(both_ways()));
    }
    settings.validate(inputs, folder)?;
    let evaluation = evaluation_of(settings)?;
    let header = Header::new(inputs, recorded(settings, evaluation.as_ref())?);
    let fresh = NewFolders::make(folder)?;
    let lock = FolderLock::acquire(folder).inspect_err(|_| fresh.remove_empty())?;
    let begun = match unfinished.exists() && resume {
        true => {
            let anew = Advice::default().setting("force", "").text(" instead of ");
            let anew = anew.setting("resume", "").text(" begins anew");
            ChunkJournal::open(&unfinished, &header).map_err(|error| match error {
                Error::Input { .. } => error.advise(anew),
                other => other,
            })?
        }
        false => None,
    };
    let (journal, kept, damaged_at) = match begun {
        Some(begun) => begun,
        None => {
            let journal = ChunkJournal::create(&unfinished, &header).inspect_err(|_| {
                // Nothing can be continued with a truncated first line.
                let _ = std::fs::remove_file(&unfinished);
                if !fresh.is_empty() {
                    lock.remove_file();
                    fresh.remove_empty();
                }
            })?;
            (journal, Vec::new(), None)
        }
    };
    let run = Run { inputs, settings, folder, size, evaluation };
    let mut keeper =
        Keeper { journal, kept: kept.into(), next: 0, added: 0, any_read: false, any_whole: false };
    let result = remove_shards(folder).and_then(|()| run.extract(&mut keeper, hooks));
    match result {
        Ok((report, shards, resumed)) => {
            drop(keeper);
            std::fs::remove_file(&unfinished).map_err(|e| Error::io(&unfinished, e))?;
            let resumed_positions = (resumed > 0).then_some(resumed);
            Ok(ShardsReport { report, shards, resumed_positions, damaged_at })
        }
        Err(error) if keeper.is_worth_keeping(&error) => {
            let error = match error {
                Error::Interrupted(_) => {
                    Error::Interrupted(format!("{} keeps what was read", unfinished.display()))
                }
                other => other,
            };
            Err(error.advise(both_ways()))
        }
        Err(error) => {
            drop(keeper);
            // A leftover file does no harm.
            let _ = std::fs::remove_file(&unfinished);
            if !fresh.is_empty() {
                lock.remove_file();
                fresh.remove_empty();
            }
            Err(error)
        }
    }
}

/// Writes the file of an unfinished extraction with arbitrary records, for fuzzing.
pub fn unfinished(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    path: &Path,
    records: &[Vec<u8>],
) -> Result<()> {
    let header = Header::new(inputs, recorded(settings, evaluation_of(settings)?.as_ref())?);
    let mut journal = ChunkJournal::create(path, &header)?;
    records.iter().try_for_each(|record| journal.append(record))
}

/// Returns advice on how to continue or restart.
fn both_ways() -> Advice {
    let advice = Advice::default().setting("resume", "").text(" continues it, ");
    advice.setting("force", "").text(" begins anew")
}

/// Returns all settings that affect which positions are kept, by name.
fn recorded(
    settings: &ExtractSettings,
    evaluation: Option<&TableEvaluation>,
) -> Result<BTreeMap<String, String>> {
    let mut list = settings.selection.settings();
    settings.target.record(&mut list);
    let mut add = |name: &str, value: String| list.push((name.to_string(), value));
    add("format", settings.format.map_or("detected", |format| format.name()).to_string());
    add("labels", settings.labels.map_or("detected", |labels| labels.name()).to_string());
    add("results", settings.results.map_or_else(|| "default".to_string(), |scale| scale.to_string()));
    let view = |view: Option<gputexel_chess::text::PointOfView>| view.map_or("auto", |view| view.name());
    add("pov", view(settings.point_of_view).to_string());
    add("score_pov", view(settings.score_view).to_string());
    let letters = settings.piece_letters.as_ref();
    add("piece_letters", letters.map_or_else(|| "detected".to_string(), |letters| letters.name()));
    add("max_bad_share", settings.max_bad_share.to_string());
    add("skip_damaged", settings.skip_damaged.to_string());
    add("list_skipped", settings.list_skipped.is_some().to_string());
    add("model", settings.feature_set.name().to_string());
    let set = serde_json::to_string(&settings.feature_set).map_err(|e| Error::Usage(e.to_string()))?;
    add("features", set);
    if let Some(evaluation) = evaluation {
        // All its values: the content of a parameter file may have changed.
        let mut hash = Xxh3::new();
        hash.write(format!("{evaluation:?}").as_bytes());
        add("values of the evaluation", format!("{:016x}", hash.digest()));
    }
    Ok(list.into_iter().collect())
}

/// Inputs and settings of an extraction.
struct Run<'a> {
    inputs: &'a [PathBuf],
    settings: &'a ExtractSettings,
    folder: &'a Path,
    size: usize,
    evaluation: Option<TableEvaluation>,
}

impl Run<'_> {
    /// Runs the extraction. Returns the report, the number of shards, and of positions that were known.
    fn extract(self, keeper: &mut Keeper, hooks: &mut Hooks<'_>) -> Result<(Report, usize, u64)> {
        let Self { inputs, settings, folder, size, evaluation } = self;
        let start = Instant::now();
        let first = folder.join("0001.bin");
        let writer = DatasetWriter::create(&first, Metadata::new(settings.feature_set.clone()), false)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let (mut sources, detected) = detect_inputs(inputs, settings, &bytes_read)?;
        let detected: Arc<[Detected]> = detected.into();
        let mut assembly = Assembly::try_new(writer, inputs, &detected, settings)?;
        keeper.replay_unchanged(&mut sources, &mut assembly, hooks)?;
        let stamps: Vec<_> = sources.iter().map(|source| source.stamp).collect();
        let reader = Reader::new(detected, settings, evaluation, false);
        let feature_set = settings.feature_set.clone();
        let (kept, replayed) = (Arc::clone(&keeper.kept), keeper.next);
        let worker = move |queue: &Queue<Piece>| {
            let known = |chunk: &Chunk| {
                let expected = kept.get(replayed + chunk.number)?;
                Some(if expected.place == ChunkPlace::of(chunk) { Piece::Kept } else { Piece::Changed })
            };
            let finish = |chunk: &Chunk, batch| {
                let mut encoded = Encoded::new(batch, &feature_set);
                let place = ChunkPlace::of(chunk);
                let stored = StoredChunk {
                    stamp: stamps[chunk.source].filter(|_| place.last),
                    place,
                    ending: chunk.ending.clone(),
                    rest: std::mem::take(&mut encoded.rest),
                    rows: encoded.len(),
                };
                let record = record_of(&stored, &encoded);
                encoded.rest = stored.rest;
                Piece::Read { encoded: Box::new(encoded), record }
            };
            reader.serve_unless(queue, known, finish);
        };
        let mut sink = KeepingSink { assembly, keeper, inputs };
        read_all(sources, &bytes_read, settings.threads, worker, &mut sink, hooks)?;
        let KeepingSink { assembly, keeper, .. } = sink;
        if keeper.next < keeper.kept.len() {
            return Err(changed(&inputs[keeper.kept[keeper.next].place.source]));
        }
        let resumed = keeper.added;
        let (mut report, shards) = assembly.finish_shards(folder, size)?;
        report.bytes_read = bytes_read.load(Ordering::Relaxed);
        report.seconds = start.elapsed().as_secs_f64();
        Ok((report, shards, resumed))
    }
}

/// Returns the error for an input that has changed since it was read.
fn changed(input: &Path) -> Error {
    Error::input(input, "has changed since its extraction was begun")
}

/// Result of a worker for a chunk.
enum Piece {
    /// Its rows, and its record.
    Read { encoded: Box<Encoded>, record: Vec<u8> },
    /// Unchanged since it was read for the first time.
    Kept,
    /// Changed.
    Changed,
}

/// Stored chunks, and the number of those used so far.
struct Keeper {
    journal: ChunkJournal,
    /// Chunks of earlier calls.
    kept: Arc<[Kept]>,
    /// Number of them that have been used.
    next: usize,
    /// Positions read in them.
    added: u64,
    /// True if any chunk was read and stored by this call.
    any_read: bool,
    /// True if an input was read to its end.
    any_whole: bool,
}

impl Keeper {
    /// Takes over the inputs that were read to their end and are unchanged since, up to the first other one.
    /// They are not read again.
    fn replay_unchanged(
        &mut self,
        sources: &mut [Source],
        assembly: &mut Assembly<'_>,
        hooks: &mut Hooks<'_>,
    ) -> Result<()> {
        for (index, source) in sources.iter_mut().enumerate() {
            let last = self.kept.iter().find(|kept| kept.place.source == index && kept.place.last);
            if source.stamp.is_none() || last.is_none_or(|last| last.stamp != source.stamp) {
                break;
            }
            source.is_known = true;
            while self.kept.get(self.next).is_some_and(|kept| kept.place.source == index) {
                if hooks.cancel.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted(String::new()));
                }
                let (chunk, encoded) = self.take()?;
                assembly.add(&chunk, encoded)?;
            }
        }
        Ok(())
    }

    /// Returns the next stored chunk.
    fn take(&mut self) -> Result<(Chunk, Encoded)> {
        let (stored, encoded) = self.journal.load(&self.kept[self.next])?;
        self.next += 1;
        self.added += encoded.rest.positions_read;
        self.any_whole |= stored.place.last;
        Ok((stored.chunk(), encoded))
    }

    /// Returns true if the stored chunks should be kept in spite of an error. If one input alone is rejected,
    /// the settings were probably wrong; inputs read before it may be hours of work.
    fn is_worth_keeping(&self, error: &Error) -> bool {
        match error {
            Error::Interrupted(_) | Error::Io { .. } => !self.kept.is_empty() || self.any_read,
            _ => self.any_whole || !self.kept.is_empty(),
        }
    }
}

/// Stores chunks that are read, and passes stored ones on.
struct KeepingSink<'a, 'b> {
    assembly: Assembly<'a>,
    keeper: &'b mut Keeper,
    inputs: &'b [PathBuf],
}

impl Sink for KeepingSink<'_, '_> {
    type Batch = Piece;

    fn positions(&self) -> u64 {
        self.assembly.positions()
    }

    fn add(&mut self, chunk: &Chunk, piece: Piece) -> Result<()> {
        match piece {
            Piece::Read { encoded, record } => {
                self.assembly.add(chunk, *encoded)?;
                self.keeper.journal.append(&record)?;
                self.keeper.any_read = true;
                self.keeper.any_whole |= chunk.ending.is_some();
                Ok(())
            }
            Piece::Kept => {
                let (chunk, encoded) = self.keeper.take()?;
                self.assembly.add(&chunk, encoded)
            }
            Piece::Changed => Err(changed(&self.inputs[chunk.source])),
        }
    }
}
