//! Converts positions between formats: any input of an extraction to any format of [`gputexel_formats`].
//!
//! Chunks are read and written by several threads; what is written depends on the inputs and settings alone.
//! Duplicates are dropped, if asked for, by the one thread that sees all chunks in order.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use crate::extraction::{
    Bookkeeping, Detected, ExtractSettings, Hooks, Reader, SourceReport, detect_inputs, evaluation_of,
};
use crate::keys::KeySet;
use crate::reading::{Chunk, Queue, Sink, read_all};
use gputexel_chess::labels::MAX_SCORE_CP;
use gputexel_chess::sample::{Batch, Origin, Sample};
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Selection};
use gputexel_files::{AtomicFile, Error, Result};
use gputexel_formats::{Losses, OutputFormat, Writer};

/// What to convert and how.
#[derive(Clone, Debug)]
pub struct ConversionSettings {
    /// How inputs are read and which of their positions are kept. Features are not needed; of the selection,
    /// [`Self::everything`] keeps all, and what takes all positions at once is refused: samples of everything,
    /// averages, weights.
    pub reading: ExtractSettings,
    /// The format to write.
    pub format: OutputFormat,
    /// The score of positions that have none, centipawns, White's view, where the format demands one; if
    /// `None`, such positions are left out.
    pub default_score_cp: Option<f32>,
}

impl ConversionSettings {
    /// Settings that keep every position.
    pub fn everything(format: OutputFormat) -> Self {
        let selection = Selection { keep_ends: true, ..Selection::everything() };
        let reading = ExtractSettings { selection, ..ExtractSettings::default() };
        Self { reading, format, default_score_cp: None }
    }

    fn validate(&self, inputs: &[PathBuf], output: &Path) -> Result<()> {
        self.reading.validate(inputs, output)?;
        let rules = &self.reading.selection;
        let refuse = |name: &str, what: &str| {
            Err(Error::Usage(format!("{name}: a conversion {what}; extract does that")))
        };
        if rules.sample.is_some() {
            return refuse("sample", "draws no sample of all positions");
        }
        if rules.balance_phases.is_some() {
            return refuse("balance-phases", "writes no weights");
        }
        if rules.duplicates == Duplicates::Average {
            return refuse("average-duplicates", "writes no weights");
        }
        if let Some(score) =
            self.default_score_cp.filter(|score| score.is_nan() || score.abs() > MAX_SCORE_CP)
        {
            return Err(Error::setting("default-score", score, "must be from -30000 to 30000 centipawns"));
        }
        Ok(())
    }
}

/// The outcome of a conversion.
#[derive(Clone, Debug, Serialize)]
pub struct ConversionReport {
    /// The file that was written.
    pub output: String,
    /// Its format.
    pub format: &'static str,
    /// Number of positions written.
    pub positions: u64,
    /// What the format had no place for.
    pub losses: Losses,
    /// Its size in bytes.
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed if they are.
    pub bytes_read: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// The inputs in order.
    pub sources: Vec<SourceReport>,
}

/// Changes labels on the way.
pub trait Relabel {
    /// Changes scores (of the origins) and results (of the samples) of positions, in the order of the inputs.
    /// Duplicates, where they are dropped, do not come here.
    ///
    /// # Errors
    /// Anything that keeps the conversion from its end; nothing is written then.
    fn relabel(&mut self, samples: &mut [Sample], origins: &mut [Origin]) -> Result<()>;
}

/// Converts `inputs` to one file.
///
/// # Errors
/// Those of [`extract`](crate::extraction::extract), of which only features have no meaning here; in all cases,
/// nothing is written.
pub fn convert(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ConversionReport> {
    convert_with(inputs, settings, output, hooks, None)
}

/// As [`convert`], with other labels.
///
/// # Errors
/// Those of [`convert`], and of `relabel`.
pub fn convert_with<'a>(
    inputs: &'a [PathBuf],
    settings: &'a ConversionSettings,
    output: &'a Path,
    hooks: &mut Hooks<'_>,
    relabel: Option<&'a mut (dyn Relabel + 'a)>,
) -> Result<ConversionReport> {
    settings.validate(inputs, output)?;
    let start = Instant::now();
    let reading = &settings.reading;
    if !reading.force && output.exists() {
        return Err(Error::Exists(output.to_path_buf()));
    }
    if output.is_dir() {
        return Err(Error::input(output, "is a folder"));
    }
    let evaluation = evaluation_of(reading)?;
    let file = AtomicFile::beside(output).map_err(|e| Error::io(output, e))?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let (sources, detected) = detect_inputs(inputs, reading, &bytes_read)?;
    let detected: Arc<[Detected]> = detected.into();
    let drops = reading.selection.duplicates == Duplicates::Drop;
    let encodes = !drops && relabel.is_none();
    let mut assembly = Assembly {
        books: Bookkeeping::try_new(inputs, &detected, reading)?,
        file,
        output,
        seen: drops.then(KeySet::default),
        plan: Plan::of(settings),
        relabel,
        positions: 0,
        losses: Losses::default(),
        output_bytes: 0,
    };
    let reader = Reader::new(detected, reading, evaluation, true);
    let plan = Plan::of(settings);
    let worker = move |queue: &Queue<Converted>| {
        reader.serve(queue, |detected, mut rest| {
            let in_games = detected.format().has_moves();
            let encoded = encodes.then(|| plan.encode(&rest, in_games));
            if encoded.is_some() {
                rest.samples = Vec::new();
                rest.origins = Vec::new();
            }
            Converted { encoded, in_games, rest }
        });
    };
    read_all(sources, &bytes_read, reading.threads, worker, &mut assembly, hooks)?;
    assembly.finish(settings.format, bytes_read.load(Ordering::Relaxed), start)
}

/// How positions are written.
#[derive(Clone, Copy)]
struct Plan {
    format: OutputFormat,
    default_score_cp: Option<f32>,
}

impl Plan {
    fn of(settings: &ConversionSettings) -> Self {
        Self { format: settings.format, default_score_cp: settings.default_score_cp }
    }

    /// Writes all samples.
    fn encode(self, batch: &Batch, in_games: bool) -> Encoded {
        let mut writer = Writer::new(self.format, self.default_score_cp);
        let mut encoded = Encoded::default();
        for (sample, origin) in batch.samples.iter().zip(&batch.origins) {
            if writer.push(origin, sample.result, in_games, &mut encoded.bytes) {
                encoded.positions += 1;
            }
        }
        writer.flush(&mut encoded.bytes);
        encoded.losses = writer.losses;
        encoded
    }
}

/// The positions of a chunk as they are written.
#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    positions: u64,
    losses: Losses,
}

/// A chunk as a worker leaves it: written, unless that is for the thread that knows all positions.
struct Converted {
    encoded: Option<Encoded>,
    in_games: bool,
    /// The batch, without its samples once they are written.
    rest: Batch,
}

/// The steps that run in input order.
struct Assembly<'a> {
    books: Bookkeeping<'a>,
    file: AtomicFile,
    output: &'a Path,
    /// Positions seen so far, if duplicates are dropped.
    seen: Option<KeySet>,
    plan: Plan,
    relabel: Option<&'a mut (dyn Relabel + 'a)>,
    positions: u64,
    losses: Losses,
    output_bytes: u64,
}

impl Sink for Assembly<'_> {
    type Batch = Converted;

    fn positions(&self) -> u64 {
        self.positions
    }

    fn add(&mut self, chunk: &Chunk, converted: Converted) -> Result<()> {
        let Converted { encoded, in_games, mut rest } = converted;
        let mut left_out = LeftOut::default();
        let encoded = match encoded {
            Some(encoded) => encoded,
            None => {
                left_out.add_many(Reason::Duplicate, drop_duplicates(&mut rest, self.seen.as_mut()));
                if let Some(relabel) = &mut self.relabel {
                    relabel.relabel(&mut rest.samples, &mut rest.origins)?;
                }
                self.plan.encode(&rest, in_games)
            }
        };
        self.books.add(chunk, &rest, encoded.positions, &left_out)?;
        self.file.as_file_mut().write_all(&encoded.bytes).map_err(|e| Error::io(self.output, e))?;
        self.output_bytes += encoded.bytes.len() as u64;
        self.positions += encoded.positions;
        self.losses.merge(&encoded.losses);
        Ok(())
    }
}

/// Takes positions out of a batch that were seen before, and says how many.
fn drop_duplicates(batch: &mut Batch, seen: Option<&mut KeySet>) -> u64 {
    let Some(seen) = seen else { return 0 };
    let before = batch.samples.len();
    let both = batch.samples.drain(..).zip(batch.origins.drain(..));
    let (samples, origins) = both.filter(|(sample, _)| seen.insert(sample.key)).unzip();
    (batch.samples, batch.origins) = (samples, origins);
    (before - batch.samples.len()) as u64
}

impl Assembly<'_> {
    fn finish(mut self, format: OutputFormat, bytes_read: u64, start: Instant) -> Result<ConversionReport> {
        self.books.conclude();
        if self.positions == 0 {
            let lost = self.losses.listed().into_iter().find(|(count, _)| *count > 0);
            return Err(match lost {
                Some((count, what)) => {
                    Error::input(self.output, format!("no position is left to write: {count} {what}"))
                }
                None => self.books.nothing_kept(),
            });
        }
        let sources = self.books.finish()?;
        self.file.finish().map_err(|e| Error::io(self.output, e))?;
        Ok(ConversionReport {
            output: self.output.display().to_string(),
            format: format.name(),
            positions: self.positions,
            losses: self.losses,
            output_bytes: self.output_bytes,
            bytes_read,
            seconds: start.elapsed().as_secs_f64(),
            sources,
        })
    }
}
