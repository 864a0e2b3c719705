//! Finishing a dataset as shards: its columns, still in temporary files, are read once more and divided.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::column::{Column, read};
use super::{DatasetWriter, names};
use crate::metadata::{Metadata, SourceRecord};
use gputexel_io::{Error, Result};

/// Number of rows that are copied at a time.
const BLOCK_ROWS: usize = 1 << 15;

/// State shared by the columns of all shards.
struct Common<'a> {
    metadata: Metadata,
    sources: &'a [SourceRecord],
    selection: &'a [(String, String)],
    /// Number of rows of all shards together.
    rows: usize,
}

impl DatasetWriter {
    /// Writes shards of at most `size` positions, `0001.bin` and so on, to a folder, replacing files of these
    /// names. Read together they are the dataset that [`finish`](Self::finish) would write. Games stay whole:
    /// one longer than `size` is a shard of its own. Memory does not grow with the shards.
    ///
    /// # Errors
    /// [`Error::Setting`] for a size of 0; [`Error::Usage`] for games that are interleaved; [`Error::Io`]. No
    /// shard is left then.
    pub fn finish_shards(
        mut self,
        folder: &Path,
        size: usize,
        sources: &[SourceRecord],
        selection: &[(String, String)],
    ) -> Result<Vec<PathBuf>> {
        crate::shards::check_size(size)?;
        let ranges = self.ranges_of_games(size)?;
        let mut metadata = self.metadata.clone();
        (metadata.positions, metadata.games) = (0, 0);
        let common = Common { metadata, sources, selection, rows: self.len() };
        let io = |e| Error::io(folder, e);
        let readers = self.columns().map(Column::reader).into_iter().collect::<std::io::Result<Vec<_>>>();
        let mut readers = readers.map_err(io)?;
        let mut files = Vec::with_capacity(ranges.len());
        for (i, range) in ranges.into_iter().enumerate() {
            let path = folder.join(format!("{:04}.bin", i + 1));
            if let Err(error) = self.write_shard(&path, range, &mut readers, &common) {
                // A part of the shards would look like all of them.
                files.iter().for_each(|file| drop(std::fs::remove_file(file)));
                return Err(error);
            }
            files.push(path);
        }
        Ok(files)
    }

    /// Returns all columns. Those that a feature set does not need are empty.
    fn columns(&mut self) -> [&mut Column; 12] {
        [
            // The first one, because it determines the lengths of others.
            &mut self.row_lengths,
            &mut self.white_counts,
            &mut self.ids,
            &mut self.coefficients,
            &mut self.phases,
            &mut self.results,
            &mut self.weights,
            &mut self.scores,
            &mut self.games,
            &mut self.scales,
            &mut self.offsets,
            &mut self.evaluations,
        ]
    }

    /// Divides the rows into consecutive positions of whole games, at most `size` if games allow it.
    fn ranges_of_games(&mut self, size: usize) -> Result<Vec<Range<usize>>> {
        let rows = self.len();
        let mut games = self.games.reader().map_err(|e| Error::io(&self.path, e))?;
        let mut ranges = Vec::new();
        // The start of the shard, and the last place where it may end.
        let (mut start, mut last) = (0, 0);
        let (mut previous, mut highest) = (u32::MAX, None);
        for n in 0..rows {
            let game = u32::from_le_bytes(read(&mut games).map_err(|e| Error::io(&self.path, e))?);
            if game == u32::MAX || game != previous {
                last = n;
                if game != u32::MAX && highest.is_some_and(|highest| game <= highest) {
                    let text =
                        "the positions of a game are not together, so shards of whole games cannot be made";
                    return Err(Error::Usage(text.to_string()));
                }
            }
            if game != u32::MAX {
                highest = Some(game);
            }
            previous = game;
            if n - start >= size && last > start {
                ranges.push(start..last);
                start = last;
            }
        }
        ranges.push(start..rows);
        Ok(ranges)
    }

    /// Writes a range of rows; the readers of all columns are at its start.
    fn write_shard(
        &mut self,
        path: &Path,
        range: Range<usize>,
        readers: &mut [BufReader<File>],
        common: &Common<'_>,
    ) -> Result<()> {
        let mut shard = Self::create(path, common.metadata.clone(), true)?;
        let io = |e| Error::io(path, e);
        shard.coefficients = self.coefficients.replacement(&shard.folder).map_err(io)?;
        let empty = self.columns().map(|column| column.len() == 0);
        let mut first_game = None;
        let mut bytes = Vec::new();
        for start in range.clone().step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(range.end - start);
            let mut entries = 0;
            for (place, reader) in readers.iter_mut().enumerate().filter(|(place, _)| !empty[*place]) {
                let column = &*shard.columns()[place];
                let (name, width) = (column.name(), column.dtype().bitsize() / 8);
                let elements = if [names::IDS, names::COEFFICIENTS].contains(&name) { entries } else { rows };
                bytes.resize(elements * width, 0);
                reader.read_exact(&mut bytes).map_err(io)?;
                match name {
                    names::ROW_LENGTHS => entries = words(&bytes).map(usize::from).sum(),
                    names::GAMES => shard.renumber(&mut bytes, &mut first_game),
                    _ => shard.note_column(name, &bytes),
                }
                shard.columns()[place].push(&bytes, elements).map_err(io)?;
            }
        }
        let sources = sources_of(common.sources, &range, common.rows);
        shard.finish(sources, common.selection.iter().cloned()).map(drop)
    }

    /// Numbers the games of a shard from 0.
    fn renumber(&mut self, games: &mut [u8], first: &mut Option<u32>) {
        for bytes in games.as_chunks_mut::<4>().0 {
            let game = u32::from_le_bytes(*bytes);
            if game != u32::MAX {
                let own = game - *first.get_or_insert(game);
                *bytes = own.to_le_bytes();
                self.games.needed = true;
                self.metadata.games = u64::from(own) + 1;
            }
        }
    }

    /// Records that a column carries information, if it does.
    fn note_column(&mut self, name: &str, bytes: &[u8]) {
        match name {
            names::WEIGHTS => self.weights.needed |= floats(bytes).any(|weight| weight != 1.0),
            names::SCORES => self.scores.needed |= floats(bytes).any(|score| !score.is_nan()),
            names::SCALES => self.scales.needed |= words(bytes).any(|scale| scale != self.scale_one),
            names::OFFSETS => self.offsets.needed |= floats(bytes).any(|offset| offset != 0.0),
            names::EVALUATIONS => self.evaluations.needed |= floats(bytes).any(|value| !value.is_nan()),
            _ => {}
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// Returns the sources of a range of `rows`; counts of what was read and left out go to the shard that a
/// source begins in.
fn sources_of(sources: &[SourceRecord], range: &Range<usize>, rows: usize) -> Vec<SourceRecord> {
    let mut start = 0;
    let mut own = Vec::new();
    for source in sources {
        let end = start + source.positions as usize;
        let shared = end.min(range.end).saturating_sub(start.max(range.start));
        let begins = range.contains(&start) || (start == rows && range.end == start);
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
