//! Writing a dataset: columns are spooled to disk and joined at the end, so that memory does not grow with
//! the number of positions and a killed run leaves nothing under the final name.

mod column;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use half::f16;
use safetensors::Dtype;
use safetensors::tensor::Metadata as Header;

use super::container::names;
use super::stored::METADATA_KEY;
use super::{Metadata, SourceRecord};
use column::{Column, le_bytes, read};
use gputexel_io::{AtomicFile, Error, Result, staging_folder};
use gputexel_model::{FeatureRow, PackedBoard};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionLabels {
    pub result: f32,
    /// Search score, centipawns, White's view.
    pub score_cp: Option<f32>,
    pub weight: f32,
    pub game: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    /// Ids; if all coefficients are ±1, those with +1 (White's) come first.
    pub ids: &'a [u16],
    pub white_entries: u16,
    /// Coefficients of `ids`, or empty if all are ±1.
    pub coefficients: &'a [f16],
    pub phase: u16,
}

/// A position whose features were computed elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct ImportedPosition<'a> {
    pub ids: &'a [u16],
    /// Coefficients of `ids`.
    pub coefficients: &'a [f32],
    pub phase: u16,
    /// Endgame scale factor, in the feature set's units.
    pub scale: u16,
    /// Constant part of the score, centipawns, White's view.
    pub offset_cp: f32,
    /// The engine's static evaluation, centipawns, White's view.
    pub evaluation_cp: Option<f32>,
    pub labels: PositionLabels,
    /// The position, or 0s.
    pub board: PackedBoard,
}

/// Collects rows and writes them as a dataset file. Rejects rows that [`read`](crate::read) would reject, so
/// that no unreadable file is written.
pub struct DatasetWriter {
    path: PathBuf,
    folder: PathBuf,
    metadata: Metadata,
    unit_rows: bool,
    columns: usize,
    row_lengths: Column,
    white_counts: Column,
    ids: Column,
    coefficients: Column,
    phases: Column,
    results: Column,
    weights: Column,
    scores: Column,
    games: Column,
    boards: Column,
    scales: Column,
    offsets: Column,
    evaluations: Column,
    scale_one: u16,
}

impl DatasetWriter {
    /// Starts a dataset that appears at `path` once [`finish`](Self::finish) succeeds.
    ///
    /// # Errors
    /// [`Error::Io`] when the folder cannot be written, [`Error::Exists`] when `path` exists and
    /// `force` is not set.
    pub fn create(path: &Path, metadata: Metadata, force: bool) -> Result<Self> {
        if !force && path.exists() {
            return Err(Error::Exists(path.to_path_buf()));
        }
        if path.is_dir() {
            return Err(Error::input(path, "is a folder"));
        }
        let folder = staging_folder(path);
        let unit_rows = metadata.feature_set.unit_rows();
        let needed = |name, dtype, needed| -> Result<Column> {
            let mut column = Column::try_new(name, dtype, &folder)?;
            column.needed = needed;
            Ok(column)
        };
        let column = |name, dtype| needed(name, dtype, true);
        let optional = |name, dtype| needed(name, dtype, false);
        Ok(Self {
            row_lengths: column(names::ROW_LENGTHS, Dtype::U16)?,
            white_counts: needed(names::WHITE_COUNTS, Dtype::U16, unit_rows)?,
            ids: column(names::IDS, Dtype::U16)?,
            coefficients: needed(names::COEFFICIENTS, Dtype::F16, !unit_rows)?,
            phases: column(names::PHASES, Dtype::U16)?,
            results: column(names::RESULTS, Dtype::F32)?,
            weights: optional(names::WEIGHTS, Dtype::F32)?,
            scores: optional(names::SCORES, Dtype::F32)?,
            games: optional(names::GAMES, Dtype::U32)?,
            boards: optional(names::BOARDS, Dtype::U64)?,
            scales: optional(names::SCALES, Dtype::U16)?,
            offsets: optional(names::OFFSETS, Dtype::F32)?,
            evaluations: optional(names::EVALUATIONS, Dtype::F32)?,
            scale_one: metadata.feature_set.imported.as_ref().map_or(1, |imported| imported.scale_one),
            unit_rows,
            columns: metadata.feature_set.columns(),
            path: path.to_path_buf(),
            folder,
            metadata,
        })
    }

    pub fn len(&self) -> usize {
        self.phases.elements
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one position.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be written (disk full); [`Error::Usage`] when the row does not
    /// match the feature set, or a label is out of range.
    pub fn push(&mut self, row: &FeatureRow, labels: PositionLabels) -> Result<()> {
        let fits = !self.is_imported()
            && match self.unit_rows {
                true => row.coefficients.is_empty(),
                false => row.minus.is_empty() && row.coefficients.len() == row.plus.len(),
            };
        let ids = [&row.plus[..], &row.minus];
        self.check(fits, ids, row.coefficients.iter().all(|c| c.is_finite()), row.phase, labels)?;
        let row = StoredRow {
            ids: &ids.concat(),
            white_entries: row.plus.len() as u16,
            coefficients: &row.coefficients,
            phase: row.phase,
        };
        self.push_row(row, labels)
    }

    /// Appends one position whose features are already in the stored format.
    pub fn push_row(&mut self, row: StoredRow<'_>, labels: PositionLabels) -> Result<()> {
        self.note(labels);
        self.try_push_row(row, labels).map_err(|e| Error::io(&self.path, e))
    }

    /// Appends one position of an imported feature set. Coefficients are stored in half precision until the
    /// first one that it would change; from then on all are stored in single precision.
    pub fn push_imported(&mut self, position: &ImportedPosition<'_>) -> Result<()> {
        let ImportedPosition { ids, coefficients, phase, scale, labels, .. } = *position;
        let fits = self.is_imported() && coefficients.len() == ids.len();
        let finite = coefficients.iter().chain([&position.offset_cp]).all(|value| value.is_finite());
        self.check(fits, [ids, &[]], finite, phase, labels)?;
        if self.metadata.feature_set.phase.max.checked_mul(scale).is_none() {
            return Err(Error::Usage(format!("an endgame scale factor of {scale} units is too large")));
        }
        if position.evaluation_cp.is_some_and(f32::is_infinite) {
            return Err(Error::Usage("a static evaluation is infinite".to_string()));
        }
        self.note(labels);
        self.scales.needed |= position.scale != self.scale_one;
        self.offsets.needed |= position.offset_cp != 0.0;
        self.evaluations.needed |= position.evaluation_cp.is_some();
        self.boards.needed |= position.board != PackedBoard::default();
        self.try_push_imported(position).map_err(|e| Error::io(&self.path, e))
    }

    /// Notes the occurrences of each feature for the side to move and for the other one.
    pub fn set_by_turn(&mut self, counts: Vec<[u64; 2]>) {
        self.metadata.by_turn = counts;
    }

    pub fn has_single_precision(&self) -> bool {
        self.coefficients.dtype == Dtype::F32
    }

    fn is_imported(&self) -> bool {
        self.metadata.feature_set.imported.is_some()
    }

    /// Checks a position as [`read`](crate::read) does.
    fn check(
        &self,
        fits: bool,
        ids: [&[u16]; 2],
        finite: bool,
        phase: u16,
        labels: PositionLabels,
    ) -> Result<()> {
        let refuse = |text: String| Err(Error::Usage(text));
        let set = &self.metadata.feature_set;
        if !fits || ids[0].len() + ids[1].len() > usize::from(u16::MAX) {
            return refuse(format!("a row is not one of the feature set '{}'", set.name()));
        }
        let columns = self.columns;
        if let Some(id) =
            ids.iter().filter_map(|ids| ids.iter().max()).find(|&&id| usize::from(id) >= columns)
        {
            return refuse(format!("feature id {id} is out of range: there are {columns} features"));
        }
        if phase > set.phase.max {
            return refuse(format!("phase {phase} is above the maximum of {}", set.phase.max));
        }
        if !finite {
            return refuse("an offset or coefficient is not a number".to_string());
        }
        if labels.game == Some(u32::MAX) {
            return refuse("there are too many games for one dataset".to_string());
        }
        check_labels(labels.result, labels.weight)
    }

    fn note(&mut self, labels: PositionLabels) {
        self.weights.needed |= labels.weight != 1.0;
        self.scores.needed |= labels.score_cp.is_some();
        if let Some(game) = labels.game {
            self.games.needed = true;
            // Games are numbered from 0, but their positions need not be neighbors.
            self.metadata.games = self.metadata.games.max(u64::from(game) + 1);
        }
    }

    fn try_push_imported(&mut self, position: &ImportedPosition<'_>) -> std::io::Result<()> {
        let ImportedPosition { ids, coefficients, labels, .. } = *position;
        self.row_lengths.push(&(ids.len() as u16).to_le_bytes(), 1)?;
        self.ids.push(le_bytes(ids), ids.len())?;
        if !self.has_single_precision() && coefficients.iter().any(|&c| f16::from_f32(c).to_f32() != c) {
            self.widen()?;
        }
        if self.has_single_precision() {
            self.coefficients.push(le_bytes(coefficients), coefficients.len())?;
        } else {
            for &coefficient in coefficients {
                self.coefficients.push(&f16::from_f32(coefficient).to_le_bytes(), 1)?;
            }
        }
        self.scales.push(&position.scale.to_le_bytes(), 1)?;
        self.offsets.push(&position.offset_cp.to_le_bytes(), 1)?;
        self.evaluations.push(&position.evaluation_cp.unwrap_or(f32::NAN).to_le_bytes(), 1)?;
        self.boards.push(le_bytes(&position.board), position.board.len())?;
        self.push_labels(position.phase, labels)
    }

    fn widen(&mut self) -> std::io::Result<()> {
        let mut wide =
            Column::try_new(names::COEFFICIENTS, Dtype::F32, &self.folder).map_err(std::io::Error::other)?;
        let mut reader = self.coefficients.reader()?;
        for _ in 0..self.coefficients.elements {
            wide.push(&f16::from_le_bytes(read(&mut reader)?).to_f32().to_le_bytes(), 1)?;
        }
        self.coefficients = wide;
        Ok(())
    }

    fn try_push_row(&mut self, row: StoredRow<'_>, labels: PositionLabels) -> std::io::Result<()> {
        self.row_lengths.push(&(row.ids.len() as u16).to_le_bytes(), 1)?;
        self.ids.push(le_bytes(row.ids), row.ids.len())?;
        if self.unit_rows {
            self.white_counts.push(&row.white_entries.to_le_bytes(), 1)?;
        } else {
            self.coefficients.push(le_bytes(row.coefficients), row.coefficients.len())?;
        }
        self.push_labels(row.phase, labels)
    }

    fn push_labels(&mut self, phase: u16, labels: PositionLabels) -> std::io::Result<()> {
        self.phases.push(&phase.to_le_bytes(), 1)?;
        self.results.push(&labels.result.to_le_bytes(), 1)?;
        self.weights.push(&labels.weight.to_le_bytes(), 1)?;
        self.scores.push(&labels.score_cp.unwrap_or(f32::NAN).to_le_bytes(), 1)?;
        self.games.push(&labels.game.unwrap_or(u32::MAX).to_le_bytes(), 1)
    }

    /// Visits the results of all rows in order.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be read or written.
    pub fn visit_results(&mut self, visit: &mut dyn FnMut(usize, f32)) -> Result<()> {
        let mut visit_all = || -> std::io::Result<()> {
            let mut results = self.results.reader()?;
            for row in 0..self.results.elements {
                visit(row, f32::from_le_bytes(read(&mut results)?));
            }
            Ok(())
        };
        visit_all().map_err(|e| Error::io(&self.path, e))
    }

    /// Gives every row the result and weight that `relabel` returns for its number and result.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be read or written; [`Error::Usage`] when a result or weight is
    /// out of range.
    pub fn relabel(&mut self, relabel: &mut dyn FnMut(usize, f32) -> (f32, f32)) -> Result<()> {
        let mut results = Column::try_new(names::RESULTS, Dtype::F32, &self.folder)?;
        let mut weights = Column::try_new(names::WEIGHTS, Dtype::F32, &self.folder)?;
        let path = self.path.clone();
        weights.needed = false;
        let mut outcome = Ok(());
        self.visit_results(&mut |row, result| {
            let (result, weight) = relabel(row, result);
            weights.needed |= weight != 1.0;
            if outcome.is_ok() {
                outcome = check_labels(result, weight).and_then(|()| {
                    results
                        .push(&result.to_le_bytes(), 1)
                        .and_then(|()| weights.push(&weight.to_le_bytes(), 1))
                        .map_err(|e| Error::io(&path, e))
                });
            }
        })?;
        outcome?;
        (self.results, self.weights) = (results, weights);
        Ok(())
    }

    /// Keeps the rows whose flag in `keep` is true, and renumbers the remaining games.
    ///
    /// # Errors
    /// [`Error::Io`] when the spool cannot be read or written; [`Error::Usage`] unless there is one flag per
    /// row.
    pub fn retain(&mut self, keep: &[bool]) -> Result<()> {
        if keep.len() != self.len() {
            return Err(Error::Usage(format!("{} flags for {} rows to keep", keep.len(), self.len())));
        }
        self.try_retain(keep).map_err(|e| Error::io(&self.path, e))
    }

    fn try_retain(&mut self, keep: &[bool]) -> std::io::Result<()> {
        let mut lengths = self.row_lengths.reader()?;
        let folder = self.folder.clone();
        let mut ids = self.ids.replacement(&folder)?;
        let mut coefficients = self.coefficients.replacement(&folder)?;
        let mut ids_reader = self.ids.reader()?;
        let mut coefficients_reader = self.coefficients.reader()?;
        let mut bytes = Vec::new();
        for &keep in keep {
            let length = usize::from(u16::from_le_bytes(read(&mut lengths)?));
            let mut copy = |reader: &mut BufReader<File>, to: &mut Column| {
                bytes.resize(to.dtype.bitsize() / 8 * length, 0);
                reader.read_exact(&mut bytes)?;
                if keep { to.push(&bytes, length) } else { Ok(()) }
            };
            copy(&mut ids_reader, &mut ids)?;
            if !self.unit_rows {
                copy(&mut coefficients_reader, &mut coefficients)?;
            }
        }
        (self.ids, self.coefficients) = (ids, coefficients);
        for column in [&mut self.row_lengths, &mut self.white_counts, &mut self.phases, &mut self.scales] {
            column.retain::<2>(keep, &folder, &mut |bytes| bytes)?;
        }
        let singles = [&mut self.results, &mut self.weights, &mut self.scores];
        for column in singles.into_iter().chain([&mut self.offsets, &mut self.evaluations]) {
            column.retain::<4>(keep, &folder, &mut |bytes| bytes)?;
        }
        self.boards.retain::<24>(keep, &folder, &mut |bytes| bytes)?;
        let mut numbers = vec![u32::MAX; self.metadata.games as usize];
        let mut next = 0;
        self.games.retain::<4>(keep, &folder, &mut |bytes| match numbers
            .get_mut(u32::from_le_bytes(bytes) as usize)
        {
            Some(number) => {
                if *number == u32::MAX {
                    *number = next;
                    next += 1;
                }
                number.to_le_bytes()
            }
            None => bytes,
        })?;
        self.metadata.games = u64::from(next);
        Ok(())
    }

    pub fn games(&self) -> u64 {
        self.metadata.games
    }

    /// Joins the columns under the final name and returns the metadata as written.
    ///
    /// Columns that contain no information (all weights 1, no scores, no games) are omitted.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written; the final name is then left untouched.
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
        let fixed =
            [self.results, self.row_lengths, self.ids, self.phases, self.white_counts, self.coefficients];
        let optional =
            [self.weights, self.scales, self.offsets, self.evaluations, self.scores, self.games, self.boards];
        let mut columns: Vec<Column> = fixed.into_iter().chain(optional).filter(|c| c.needed).collect();
        // Widest types first keeps every tensor aligned, as readers of the format expect.
        columns.sort_by_key(|c| (std::cmp::Reverse(c.dtype.bitsize()), c.name));

        let mut offset = 0;
        let mut tensors = Vec::new();
        for column in &mut columns {
            let (info, checksum) = column.finish(offset)?;
            offset = info.data_offsets.1;
            tensors.push((column.name.to_string(), info));
            self.metadata.checksums.insert(column.name.to_string(), checksum);
        }
        let json = serde_json::to_string(&self.metadata)?;
        let header = Header::new(Some(HashMap::from([(METADATA_KEY.to_string(), json)])), tensors)
            .map_err(std::io::Error::other)?;
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(8), b' ');

        let mut output = AtomicFile::beside(&self.path)?;
        let file = output.as_file_mut();
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        for mut column in columns {
            column.copy_to(file)?;
        }
        output.finish()?;
        Ok(self.metadata)
    }
}

fn check_labels(result: f32, weight: f32) -> Result<()> {
    if !(0.0..=1.0).contains(&result) {
        return Err(Error::Usage(format!("the result {result} is not from 0 to 1")));
    }
    match weight.is_finite() && weight > 0.0 {
        true => Ok(()),
        false => Err(Error::Usage(format!("the weight {weight} is not a positive number"))),
    }
}
