//! Converts positions between formats: any input of an extraction to any format of
//! [`gputexel_chess::formats`].

mod census;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

use crate::extraction::{
    Bookkeeping, Detected, ExtractSettings, Hooks, Judge, Reader, SourceReport, detect_inputs, evaluation_of,
};
use crate::game_numbers::GameNumbers;
use crate::reading::{Chunk, Queue, Sink, read_all};
use census::Census;
use gputexel_chess::formats::{Format, Losses, Writer};
use gputexel_chess::labels::MAX_SCORE_CP;
use gputexel_chess::sample::{Batch, Origin, Sample};
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Resolve, Selection};
use gputexel_io::{AtomicFile, Error, Result};

#[derive(Clone, Debug)]
pub struct ConversionSettings {
    /// Settings for reading inputs and selecting positions. Features are not needed;
    /// [`Self::everything`] keeps all positions.
    pub reading: ExtractSettings,
    pub format: Format,
    /// Score of positions that have none, centipawns, White's view, if the format demands one; if `None`,
    /// such positions are left out.
    pub default_score_cp: Option<f32>,
}

impl ConversionSettings {
    pub fn everything(format: Format) -> Self {
        let selection = Selection { keep_ends: true, ..Selection::everything() };
        let reading = ExtractSettings { selection, ..ExtractSettings::default() };
        Self { reading, format, default_score_cp: None }
    }

    fn validate(&self, inputs: &[PathBuf], output: &Path) -> Result<()> {
        self.reading.validate(inputs, output)?;
        if self.reading.selection.duplicates == Duplicates::Average && !self.format.has_games_and_weights() {
            let name = self.format.name();
            let reason = format!("gives positions weights, for which {name} has no place; .fens has");
            return Err(Error::Setting { setting: "average-duplicates", value: None, reason });
        }
        if let Some(score) =
            self.default_score_cp.filter(|score| score.is_nan() || score.abs() > MAX_SCORE_CP)
        {
            return Err(Error::setting("default-score", score, "must be from -30000 to 30000 centipawns"));
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct ConversionReport {
    pub output: String,
    pub format: &'static str,
    pub positions: u64,
    /// True if some positions are of games; only known of formats that store them.
    #[serde(skip)]
    pub has_games: bool,
    pub losses: Losses,
    pub output_bytes: u64,
    /// Bytes of the inputs, compressed if they are.
    pub bytes_read: u64,
    pub seconds: f64,
    pub sources: Vec<SourceReport>,
}

pub trait Relabel {
    /// Changes scores (of the origins) and results (of the samples) of positions, in the order of the inputs.
    ///
    /// # Errors
    /// Anything that stops the conversion; nothing is written then.
    fn relabel(&mut self, samples: &mut [Sample], origins: &mut [Origin]) -> Result<()>;

    /// Called after all positions.
    fn finish(&mut self) -> Result<()>;
}

/// Converts `inputs` to one file.
///
/// # Errors
/// As [`extract`](crate::extraction::extract), except for errors about features; in all cases, nothing is
/// written.
pub fn convert(
    inputs: &[PathBuf],
    settings: &ConversionSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ConversionReport> {
    convert_with(inputs, settings, output, hooks, None)
}

/// Converts as [`convert`], with other labels.
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
    let Selection { sample, duplicates, .. } = reading.selection;
    let needs_all = sample.is_some() || duplicates == Duplicates::Average;
    if needs_all && relabel.is_some() {
        let reason = "--sample and --duplicates average need all positions before they are labeled: 'convert' first, or --share";
        return Err(Error::Usage(reason.to_string()));
    }
    let evaluation = evaluation_of(reading)?;
    let file = AtomicFile::beside(output).map_err(|e| Error::io(output, e))?;
    let census = if needs_all { Some(Census::take(inputs, reading, hooks)?) } else { None };
    let bytes_read = Arc::new(AtomicU64::new(0));
    let (sources, detected) = detect_inputs(inputs, reading, &bytes_read)?;
    let detected: Arc<[Detected]> = detected.into();
    let keeps_duplicates = reading.selection.duplicates == Duplicates::Keep;
    let rules = &reading.selection;
    let numbered = settings.format.has_games_and_weights();
    let encodes = keeps_duplicates && !needs_all && !rules.no_draws && !numbered && relabel.is_none();
    // The moves of games do not connect resolved positions.
    let follows_moves = rules.resolve == Resolve::None;
    let plan = Plan { format: settings.format, default_score_cp: settings.default_score_cp };
    let mut assembly = Assembly {
        averages: rules.duplicates == Duplicates::Average,
        books: Bookkeeping::new(inputs, &detected, reading),
        file,
        output,
        judge: Judge::new(rules),
        census,
        row: 0,
        games: numbered.then(GameNumbers::default),
        has_games: false,
        plan,
        relabel,
        positions: 0,
        losses: Losses::default(),
        output_bytes: 0,
    };
    let reader = Reader::new(detected, reading, evaluation, true);
    let worker = move |queue: &Queue<Converted>| {
        reader.serve(queue, |detected, mut rest| {
            let in_games = follows_moves && detected.format().has_moves();
            let resolved = rest.samples.iter().filter(|sample| sample.leaf_key != sample.key).count() as u64;
            let encoded = encodes.then(|| plan.encode(&rest, &[], in_games));
            if encoded.is_some() {
                rest.samples = Vec::new();
                rest.origins = Vec::new();
            }
            Converted { encoded, in_games, by_chunk: detected.format().has_moves(), resolved, rest }
        });
    };
    read_all(sources, &bytes_read, reading.threads, worker, &mut assembly, hooks)?;
    assembly.finish(settings.format, bytes_read.load(Ordering::Relaxed), start)
}

#[derive(Clone, Copy)]
struct Plan {
    format: Format,
    default_score_cp: Option<f32>,
}

impl Plan {
    /// Writes all samples; `labels` may be empty if none has a game or a weight.
    fn encode(self, batch: &Batch, labels: &[LineLabel], in_games: bool) -> Encoded {
        let mut writer = Writer::new(self.format, self.default_score_cp);
        let mut encoded = Encoded::default();
        for (i, (sample, origin)) in batch.samples.iter().zip(&batch.origins).enumerate() {
            let label = labels.get(i).copied().unwrap_or_default();
            (writer.game_number, writer.weight) = (label.game, label.weight);
            if writer.push(origin, sample.result, in_games, &mut encoded.bytes) {
                encoded.positions += 1;
            }
        }
        writer.flush(&mut encoded.bytes);
        encoded.losses = writer.losses;
        encoded
    }
}

#[derive(Clone, Copy, Default)]
struct LineLabel {
    game: u32,
    weight: Option<f32>,
}

#[derive(Default)]
struct Encoded {
    bytes: Vec<u8>,
    positions: u64,
    losses: Losses,
}

/// Chunk processed by a worker: encoded, unless that requires all positions.
struct Converted {
    encoded: Option<Encoded>,
    in_games: bool,
    by_chunk: bool,
    /// Number of positions that were replaced by the one they resolve to, before duplicates are dropped.
    resolved: u64,
    rest: Batch,
}

struct Assembly<'a> {
    /// True if duplicates are averaged, so that positions have weights.
    averages: bool,
    books: Bookkeeping<'a>,
    file: AtomicFile,
    output: &'a Path,
    judge: Judge,
    census: Option<Census>,
    /// Index of the next position that is not a duplicate, counted from 0 over all inputs.
    row: u64,
    games: Option<GameNumbers>,
    has_games: bool,
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
        let Converted { encoded, in_games, by_chunk, mut resolved, mut rest } = converted;
        let mut left_out = LeftOut::default();
        let encoded = if let Some(encoded) = encoded {
            encoded
        } else {
            let labels = self.select(&mut rest, chunk.source, by_chunk, &mut left_out);
            resolved = rest.samples.iter().filter(|sample| sample.leaf_key != sample.key).count() as u64;
            if let Some(relabel) = &mut self.relabel {
                relabel.relabel(&mut rest.samples, &mut rest.origins)?;
            }
            self.plan.encode(&rest, &labels, in_games)
        };
        self.books.reports[chunk.source].resolved += resolved;
        self.books.add(chunk, &rest, encoded.positions, &left_out)?;
        self.file.as_file_mut().write_all(&encoded.bytes).map_err(|e| Error::io(self.output, e))?;
        self.output_bytes += encoded.bytes.len() as u64;
        self.positions += encoded.positions;
        self.losses.merge(&encoded.losses);
        Ok(())
    }
}

impl Assembly<'_> {
    fn select(
        &mut self,
        batch: &mut Batch,
        source: usize,
        by_chunk: bool,
        left_out: &mut LeftOut,
    ) -> Vec<LineLabel> {
        let mut labels = Vec::new();
        if let Some(games) = &mut self.games {
            games.begin_chunk(source, by_chunk);
        }
        let (samples, origins) = (std::mem::take(&mut batch.samples), std::mem::take(&mut batch.origins));
        for (mut sample, origin) in samples.into_iter().zip(origins) {
            if let Some(reason) = self.judge.judge(sample.key, sample.result) {
                left_out.add(reason);
                continue;
            }
            let mut label = LineLabel::default();
            if let Some(census) = &self.census {
                let label_now = census.label(self.row, sample.result);
                self.row += 1;
                let Some((result, weight)) = label_now else {
                    left_out.add(Reason::Sample);
                    continue;
                };
                sample.result = result;
                label.weight = self.averages.then_some(weight);
            }
            if let Some(games) = &mut self.games {
                self.has_games |= sample.game.is_some();
                label.game = games.number(sample.game);
            }
            labels.push(label);
            batch.samples.push(sample);
            batch.origins.push(origin);
        }
        labels
    }

    fn finish(mut self, format: Format, bytes_read: u64, start: Instant) -> Result<ConversionReport> {
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
        if let Some(relabel) = &mut self.relabel {
            relabel.finish()?;
        }
        self.file.finish().map_err(|e| Error::io(self.output, e))?;
        Ok(ConversionReport {
            output: self.output.display().to_string(),
            format: format.name(),
            positions: self.positions,
            has_games: self.has_games,
            losses: self.losses,
            output_bytes: self.output_bytes,
            bytes_read,
            seconds: start.elapsed().as_secs_f64(),
            sources: self.books.reports,
        })
    }
}
