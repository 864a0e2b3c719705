//! Writing a dataset: columns are spooled to disk and joined at the end, so that memory does not
//! grow with the number of positions and a killed run leaves nothing under the final name.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::{Metadata as Header, TensorInfo};
use xxhash_rust::xxh3::Xxh3;

use super::container::{METADATA_KEY, names};
use super::{Metadata, SourceRecord};
use crate::error::{Error, Result};
use crate::model::FeatureRow;

/// Everything about a position but its features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionLabels {
    /// Result, White's view, 0 to 1.
    pub result: f32,
    /// Search score, centipawns, White's view.
    pub score_cp: Option<f32>,
    /// Weight in the loss.
    pub weight: f32,
    /// Game number, consecutive from 0, where the input has games.
    pub game: Option<u32>,
}

/// One tensor on its way to disk.
struct Column {
    name: &'static str,
    dtype: Dtype,
    elements: usize,
    /// Bytes that are neither hashed nor written yet: values come by twos and fours, and both
    /// hashing and writing are several times as fast in bulk.
    pending: Vec<u8>,
    file: File,
    hash: Xxh3,
}

/// Size at which pending bytes are hashed and written.
const PENDING_BYTES: usize = 1 << 18;

impl Column {
    fn try_new(name: &'static str, dtype: Dtype, folder: &Path) -> Result<Self> {
        // Unnamed on Unix: gone when the process ends, however it ends.
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io(folder, e))?;
        Ok(Self {
            name,
            dtype,
            elements: 0,
            pending: Vec::with_capacity(PENDING_BYTES + 256),
            file,
            hash: Xxh3::new(),
        })
    }

    fn push(&mut self, bytes: &[u8], elements: usize) -> std::io::Result<()> {
        self.elements += elements;
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PENDING_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.hash.update(&self.pending);
        self.file.write_all(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// Collects rows and writes them as a dataset file.
pub struct DatasetWriter {
    path: PathBuf,
    folder: PathBuf,
    metadata: Metadata,
    unit_rows: bool,
    row_lengths: Column,
    white_counts: Column,
    ids: Column,
    coefficients: Column,
    phases: Column,
    results: Column,
    weights: Column,
    scores: Column,
    games: Column,
    any_weight: bool,
    any_score: bool,
    any_game: bool,
}

impl DatasetWriter {
    /// Starts a dataset that will appear at `path` when [`finish`](Self::finish) succeeds.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be written, [`Error::Usage`] when `path` exists and
    /// `force` is not set.
    pub fn create(path: &Path, metadata: Metadata, force: bool) -> Result<Self> {
        if !force && path.exists() {
            return Err(Error::Usage(format!("{}: exists; use --force to replace it", path.display())));
        }
        if path.is_dir() {
            return Err(Error::input(path, "is a folder"));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let column = |name, dtype| Column::try_new(name, dtype, &folder);
        Ok(Self {
            row_lengths: column(names::ROW_LENGTHS, Dtype::U16)?,
            white_counts: column(names::WHITE_COUNTS, Dtype::U16)?,
            ids: column(names::IDS, Dtype::U16)?,
            coefficients: column(names::COEFFICIENTS, Dtype::F16)?,
            phases: column(names::PHASES, Dtype::U16)?,
            results: column(names::RESULTS, Dtype::F32)?,
            weights: column(names::WEIGHTS, Dtype::F32)?,
            scores: column(names::SCORES, Dtype::F32)?,
            games: column(names::GAMES, Dtype::U32)?,
            unit_rows: metadata.feature_set.unit_rows(),
            path: path.to_path_buf(),
            folder,
            metadata,
            any_weight: false,
            any_score: false,
            any_game: false,
        })
    }

    /// Positions written so far.
    pub fn len(&self) -> usize {
        self.phases.elements
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one position.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be written (disk full).
    pub fn push(&mut self, row: &FeatureRow, labels: PositionLabels) -> Result<()> {
        self.any_weight |= labels.weight != 1.0;
        self.any_score |= labels.score_cp.is_some();
        if let Some(game) = labels.game {
            self.any_game = true;
            // Games are numbered from 0, but their positions need not be neighbors.
            self.metadata.games = self.metadata.games.max(u64::from(game) + 1);
        }
        self.try_push(row, labels).map_err(|e| Error::io(&self.path, e))
    }

    fn try_push(&mut self, row: &FeatureRow, labels: PositionLabels) -> std::io::Result<()> {
        let length = (row.plus.len() + row.minus.len()) as u16;
        self.row_lengths.push(&length.to_le_bytes(), 1)?;
        self.ids.push(le_bytes(&row.plus), row.plus.len())?;
        if self.unit_rows {
            self.white_counts.push(&(row.plus.len() as u16).to_le_bytes(), 1)?;
            self.ids.push(le_bytes(&row.minus), row.minus.len())?;
        } else {
            self.coefficients.push(le_bytes(&row.coefficients), row.coefficients.len())?;
        }
        self.phases.push(&row.phase.to_le_bytes(), 1)?;
        self.results.push(&labels.result.to_le_bytes(), 1)?;
        self.weights.push(&labels.weight.to_le_bytes(), 1)?;
        self.scores.push(&labels.score_cp.unwrap_or(f32::NAN).to_le_bytes(), 1)?;
        self.games.push(&labels.game.unwrap_or(u32::MAX).to_le_bytes(), 1)
    }

    /// Joins the columns under the final name and returns the metadata as written.
    ///
    /// Columns that say nothing (all weights 1, no score, no game) are left out.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written; the final name is then untouched.
    pub fn finish(
        self,
        sources: Vec<SourceRecord>,
        selection: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Metadata> {
        let path = self.path.clone();
        self.try_finish(sources, selection).map_err(|e| Error::io(path, e))
    }

    fn try_finish(
        mut self,
        sources: Vec<SourceRecord>,
        selection: impl IntoIterator<Item = (String, String)>,
    ) -> std::io::Result<Metadata> {
        self.metadata.positions = self.len() as u64;
        self.metadata.sources = sources;
        self.metadata.selection = selection.into_iter().collect();
        let mut columns = vec![self.results, self.row_lengths, self.ids, self.phases];
        columns.extend(if self.unit_rows { [self.white_counts] } else { [self.coefficients] });
        columns.extend(self.any_weight.then_some(self.weights));
        columns.extend(self.any_score.then_some(self.scores));
        columns.extend(self.any_game.then_some(self.games));
        // Widest types first keeps every tensor aligned, as readers of the format expect.
        columns.sort_by_key(|c| (std::cmp::Reverse(c.dtype.bitsize()), c.name));

        let mut offset = 0;
        let mut tensors = Vec::new();
        for column in &mut columns {
            column.flush()?;
            let bytes = column.elements * column.dtype.bitsize() / 8;
            let info = TensorInfo {
                dtype: column.dtype,
                shape: vec![column.elements],
                data_offsets: (offset, offset + bytes),
            };
            tensors.push((column.name.to_string(), info));
            offset += bytes;
            self.metadata.checksums.insert(column.name.to_string(), format!("{:016x}", column.hash.digest()));
        }
        let json = serde_json::to_string(&self.metadata)?;
        let header = Header::new(Some(HashMap::from([(METADATA_KEY.to_string(), json)])), tensors)
            .map_err(std::io::Error::other)?;
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(8), b' ');

        let mut output = tempfile::Builder::new().prefix(".gputexel-").tempfile_in(&self.folder)?;
        let file = output.as_file_mut();
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        for mut column in columns {
            // From file to file, the system copies without a detour through this process.
            column.file.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut column.file, file)?;
        }
        output.as_file().sync_all()?;
        crate::files::set_default_permissions(output.as_file())?;
        output.persist(&self.path).map_err(|e| e.error)?;
        Ok(self.metadata)
    }
}

/// The bytes of plain numbers in the file's little-endian order.
fn le_bytes<T: bytemuck::Pod>(values: &[T]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little"), "dataset files are little-endian") };
    bytemuck::cast_slice(values)
}
