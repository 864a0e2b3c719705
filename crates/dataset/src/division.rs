//! A dataset divided into shards.

use std::ops::Range;
use std::path::{Path, PathBuf};

use half::f16;

use super::Dataset;
use super::metadata::SourceRecord;
use super::shards::check_shard_folder;
use super::writer::{DatasetWriter, ImportedPosition, PositionLabels, StoredRow};
use gputexel_files::{Error, Result};
use gputexel_paging::keep_limit;

impl Dataset {
    /// Writes shards of at most `size` positions, `0001.bin` and so on, to a folder, which is made if need be; read
    /// together they are this dataset again. Games stay whole: one that is longer than `size` is a shard of its own.
    ///
    /// # Errors
    /// [`Error::Usage`] for a size of 0, for games that are interleaved, and for a folder that has datasets;
    /// [`Error::Io`].
    pub fn write_shards(&self, folder: &Path, size: usize) -> Result<Vec<PathBuf>> {
        check_shard_folder(folder)?;
        let ranges = self.ranges_of_games(size)?;
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let mut files = Vec::with_capacity(ranges.len());
        for (i, range) in ranges.into_iter().enumerate() {
            let path = folder.join(format!("{:04}.bin", i + 1));
            if let Err(error) = self.write_range(&path, range) {
                // Half of the shards would look like all of them.
                files.iter().for_each(|file| drop(std::fs::remove_file(file)));
                return Err(error);
            }
            files.push(path);
        }
        Ok(files)
    }

    /// Consecutive positions of whole games, at most `size` where games allow it.
    fn ranges_of_games(&self, size: usize) -> Result<Vec<Range<usize>>> {
        if size == 0 {
            return Err(Error::setting("shard-size", 0, "must be at least 1"));
        }
        let mut ranges = Vec::new();
        // The start of the shard, and the last place where it may end.
        let (mut start, mut last) = (0, 0);
        for n in 1..self.len() {
            if n % (1 << 20) == 0 {
                keep_limit();
            }
            match self.has_games() {
                true if self.game(n) < self.game(n - 1) => {
                    let text =
                        "the positions of a game are not together, so shards of whole games cannot be made";
                    return Err(Error::Usage(text.to_string()));
                }
                true if self.game(n) == self.game(n - 1) && self.games[n] != u32::MAX => {}
                _ => last = n,
            }
            if n - start >= size && last > start {
                ranges.push(start..last);
                start = last;
            }
        }
        ranges.push(start..self.len());
        Ok(ranges)
    }

    /// Writes consecutive positions as a dataset.
    fn write_range(&self, path: &Path, range: Range<usize>) -> Result<()> {
        let mut metadata = self.metadata.clone();
        (metadata.positions, metadata.games) = (0, 0);
        metadata.checksums.clear();
        let mut writer = DatasetWriter::create(path, metadata, false)?;
        let imported = self.metadata.feature_set.imported.is_some();
        let first = if self.has_games() { self.game(range.start) } else { 0 };
        let (mut half, mut single) = (Vec::new(), Vec::new());
        for n in range.clone() {
            let row = self.row(n);
            let known = |column: &[f32]| column.get(n).copied().filter(|value| !value.is_nan());
            let labels = PositionLabels {
                result: self.results[n],
                score_cp: known(&self.scores),
                weight: row.weight,
                game: self.games.get(n).filter(|game| **game != u32::MAX).map(|game| game - first),
            };
            single.clear();
            if !self.unit_rows() {
                single.extend(row.entries().map(|(_, coefficient)| coefficient));
            }
            if imported {
                writer.push_imported(&ImportedPosition {
                    ids: row.ids,
                    coefficients: &single,
                    phase: row.phase,
                    scale: self.scales.get(n).copied().unwrap_or(self.endgame_scale_one()),
                    offset_cp: row.offset,
                    evaluation_cp: known(&self.evaluations),
                    labels,
                })?;
            } else {
                half.clear();
                half.extend(single.iter().map(|&coefficient| f16::from_f32(coefficient)));
                let white_entries = self.white_counts.get(n).copied().unwrap_or(0);
                let row = StoredRow { ids: row.ids, white_entries, coefficients: &half, phase: row.phase };
                writer.push_row(row, labels)?;
            }
        }
        let selection = self.metadata.selection.clone();
        writer.finish(self.sources_of(&range), selection).map(drop)
    }

    /// The sources of a range; what was read and left out is told of the shard that a source begins in.
    fn sources_of(&self, range: &Range<usize>) -> Vec<SourceRecord> {
        let mut start = 0;
        let mut own = Vec::new();
        for source in &self.metadata.sources {
            let end = start + source.positions as usize;
            let shared = end.min(range.end).saturating_sub(start.max(range.start));
            let begins = range.contains(&start) || (start == self.len() && range.end == start);
            if shared > 0 || begins {
                let mut part = SourceRecord { positions: shared as u64, ..source.clone() };
                if !begins {
                    part.records = 0;
                    part.left_out.clear();
                }
                own.push(part);
            }
            start = end;
        }
        own
    }
}
