//! The steps that run in input order: duplicates, results, game numbers, and, once all positions are known,
//! sampling and weights.
//!
//! Memory: about 8 bytes per distinct position if duplicates are dropped, 16 if they are averaged, plus 12
//! for each that occurs again; 1 per position for a sample. Everything else is spooled by the writer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use super::bookkeeping::Bookkeeping;
use super::encode::{Encoded, EncodedLabel};
use super::report::{Report, Results};
use super::sources::Detected;
use super::weights::PhaseWeights;
use super::{ExtractSettings, Leaf};
use crate::game_numbers::GameNumbers;
use crate::keys::{KeyMap, KeySet};
use crate::reading::{Chunk, Sink};
use crate::refusals::check_room;
use gputexel_chess::selection::{Duplicates, LeftOut, Reason, Unit, draw};
use gputexel_dataset::{DatasetWriter, PositionLabels};
use gputexel_files::Result;

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
    books: Bookkeeping<'a>,
    results: Results,
    /// Positions seen so far, if duplicates are dropped.
    seen: KeySet,
    /// Rows of positions, if duplicates are averaged, and their later occurrences.
    rows: KeyMap<u32>,
    repeats: HashMap<u32, Repeats>,
    /// Number of rows written when each source ended.
    source_ends: Vec<usize>,
    leaves: Option<&'a mut Vec<Leaf>>,
    /// Whether any source has games, so that every position needs a game number.
    numbered: bool,
    games: GameNumbers,
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
        Ok(Self {
            writer,
            settings,
            books: Bookkeeping::try_new(inputs, detected, settings)?,
            results: Results::default(),
            seen: KeySet::default(),
            rows: KeyMap::default(),
            repeats: HashMap::new(),
            source_ends: vec![0; inputs.len()],
            leaves,
            numbered: detected.iter().any(Detected::has_games),
            games: GameNumbers::default(),
        })
    }

    fn write(&mut self, chunk: &Chunk, encoded: &Encoded) -> Result<Written> {
        let by_chunk = self.books.reports[chunk.source].format.has_moves();
        self.games.begin_chunk(chunk.source);
        let mut written = Written::default();
        for (label, row) in encoded.rows() {
            if let Fate::LeftOut(reason) = self.judge(label) {
                written.left_out.add(reason);
                continue;
            }
            let game = self.number(label, by_chunk);
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
    fn number(&mut self, label: &EncodedLabel, by_chunk: bool) -> Option<u32> {
        if !self.numbered {
            return None;
        }
        Some(match label.game {
            Some(game) if by_chunk => self.games.of_chunk(game),
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
        for (report, end) in self.books.reports.iter_mut().zip(&self.source_ends) {
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

    pub fn finish(mut self, output: &Path) -> Result<Report> {
        self.revise()?;
        self.books.conclude();
        if self.writer.is_empty() {
            return Err(self.books.nothing_kept());
        }
        let records = self.books.reports.iter().map(|report| report.record.clone()).collect();
        let mut selection = self.settings.selection.settings();
        self.settings.target.record(&mut selection);
        let metadata = self.writer.finish(records, selection)?;
        Ok(Report {
            output: output.display().to_string(),
            positions: metadata.positions,
            games: metadata.games,
            results: self.results,
            output_bytes: std::fs::metadata(output).map_or(0, |file| file.len()),
            bytes_read: 0,
            seconds: 0.0,
            selection: metadata.selection,
            sources: self.books.finish()?,
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
        let kept = encoded.len() as u64 - written.left_out.sum(Unit::Position);
        self.books.reports[chunk.source].resolved += written.resolved;
        self.books.add(chunk, &encoded.rest, kept, &written.left_out)
    }
}

/// Separates the random numbers for the sample of all positions from those for samples of games.
const SAMPLE: u64 = 0x5a4d_504c;
