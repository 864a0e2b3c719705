//! The dataset: positions as sparse rows, on disk and in memory.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod blend;
mod coefficients;
mod container;
mod folds;
mod games;
mod layout;
mod loss;
mod metadata;
pub mod objective;
mod resample;
mod shards;
mod split;
mod stored;
mod subset;
mod transpose;
mod writer;

pub use blend::Blend;
pub use container::{TensorInfo, read, read_many, read_positions, tensors};
pub use folds::Folds;
pub use layout::{Bucket, Layout, MOST_SECTIONS, Part, Shape};
pub use loss::expected_score;
pub use metadata::{Metadata, ProbedParameter, ProbingRecord, SourceRecord, TracingRecord};
pub use resample::{POISSON_TAILS, game_hash, poisson_weight};
pub use shards::shards;
pub use split::Split;
pub use stored::ChecksumState;
pub use transpose::{Block, Blocks, JOINED, PIECE, Run, Transpose};
pub use writer::{DatasetWriter, ImportedPosition, PositionLabels, StoredRow};

use self::coefficients::{Coefficients, RowCoefficients};
use std::sync::Arc;

use rayon::prelude::*;

use gputexel_io::{Error, Result};
use gputexel_model::PackedBoard;
use gputexel_model::program::CompiledProgram;

/// Positions in extraction order, with columns in memory.
///
/// Invariants, checked on reading: ids are below the number of columns, phases at most the maximum, results
/// in 0..=1, weights finite and positive, coefficients and offsets finite. They cannot be violated
/// afterwards, because the columns, and the metadata that describe them, are read-only.
#[derive(Clone, Debug)]
pub struct Dataset {
    metadata: Metadata,
    program: Option<Arc<CompiledProgram>>,
    /// Checksum of the container, hexadecimal; those of several files are joined by `+`.
    checksum: String,
    /// Start of each row in `ids`; one more entry than positions.
    pub(crate) row_starts: Vec<u64>,
    /// Number of entries of each row with coefficient +1; empty for coefficient rows.
    pub(crate) white_counts: Vec<u16>,
    pub(crate) ids: Vec<u16>,
    /// Parallel to `ids`, unless every coefficient is ±1.
    pub(crate) coefficients: Coefficients,
    pub(crate) phases: Vec<u16>,
    /// Endgame scale factors in the feature set's units; empty when all are 1.
    pub(crate) scales: Vec<u16>,
    /// Blended with search scores, if the dataset has a [`Blend`]: the targets.
    pub(crate) results: Vec<f32>,
    /// Results that were replaced by a blend; empty without one.
    pub(crate) unblended: Vec<f32>,
    pub(crate) weights: Vec<f32>,
    /// Empty when all offsets are 0.
    pub(crate) offsets: Vec<f32>,
    /// Search scores, centipawns, White's view; NaN where unknown; empty when all are unknown.
    pub(crate) scores: Vec<f32>,
    /// Static evaluations printed by the engine, centipawns, White's view; NaN where unknown; empty when all
    /// are unknown.
    pub(crate) evaluations: Vec<f32>,
    /// Game of each position; empty when the input had no games.
    pub(crate) games: Vec<u32>,
    /// Packed boards, three numbers each; empty unless known.
    pub(crate) boards: Vec<u64>,
    /// Number of games that were found to be others.
    pub(crate) united: u64,
    /// Number of sections that layouts are divided into; by the number of positions, unless requested.
    pub(crate) sections: Option<usize>,
}

/// One position of a [`Dataset`].
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    ids: &'a [u16],
    coefficients: RowCoefficients<'a>,
    plus: usize,
    pub phase: u16,
    /// Result, White's view, 0 to 1.
    pub result: f32,
    pub weight: f32,
    /// Constant part of the score, centipawns.
    pub offset: f32,
}

impl<'a> RowView<'a> {
    /// Returns the ids, which are those of features unless the dataset has a [program](Dataset::program),
    /// with their coefficients.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = (u16, f32)> + use<'a> {
        let Self { ids, coefficients, plus, .. } = *self;
        ids.iter().enumerate().map(move |(i, &id)| (id, coefficients.get(i, plus)))
    }

    /// Returns the ids of the entries with coefficient +1, and with −1, of a row
    /// [without other coefficients](Dataset::unit_rows); all with +1 otherwise.
    #[inline]
    pub fn ids_by_sign(&self) -> (&'a [u16], &'a [u16]) {
        self.ids.split_at(self.plus.min(self.ids.len()))
    }

    /// Returns the number of entries; for piece-square rows, the number of pieces.
    #[inline]
    pub fn entry_count(&self) -> usize {
        self.ids.len()
    }
}

impl Dataset {
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the checksum of the container, hexadecimal; those of several files are joined by `+`.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Returns the dataset with the given number of sections in its layouts (see [`Layout::sections`]), on
    /// which the last digits of results depend. `None` means sections of 2^20 positions, or of a multiple of
    /// that so that there are at most 64.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the number is from 1 to [`MOST_SECTIONS`].
    pub fn with_sections(mut self, sections: Option<usize>) -> Result<Self> {
        if let Some(count) = sections.filter(|count| !(1..=MOST_SECTIONS).contains(count)) {
            return Err(Error::setting("sections", count, format!("must be from 1 to {MOST_SECTIONS}")));
        }
        self.sections = sections;
        Ok(self)
    }

    pub fn sections(&self) -> Option<usize> {
        self.sections
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.phases.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Returns the source of each position: its index in [`Metadata::sources`].
    ///
    /// # Errors
    /// [`Error::Usage`] if the sources do not account for all positions.
    pub fn sources_of_positions(&self) -> Result<Vec<u32>> {
        let sources = self.metadata.sources.iter().enumerate();
        let of: Vec<u32> = sources
            .flat_map(|(i, source)| {
                std::iter::repeat_n(i as u32, (source.positions as usize).min(self.len() + 1))
            })
            .take(self.len() + 1)
            .collect();
        if of.len() == self.len() {
            Ok(of)
        } else {
            Err(Error::Usage("the dataset does not know the sources of all its positions".to_string()))
        }
    }

    #[inline]
    pub fn feature_count(&self) -> usize {
        self.metadata.feature_set.features.len()
    }

    /// Returns the number of columns, which the ids of rows refer to: the number of features, unless there is
    /// a [`program`](Self::program).
    #[inline]
    pub fn column_count(&self) -> usize {
        self.program.as_ref().map_or(self.feature_count(), |program| program.columns())
    }

    #[inline]
    pub fn feature_of(&self, column: u16) -> u16 {
        match &self.program {
            None => column,
            Some(program) => program.features_of_columns()[usize::from(column)],
        }
    }

    /// Returns the program of the evaluation; `None` if scores are sums of parameters.
    #[inline]
    pub fn program(&self) -> Option<&Arc<CompiledProgram>> {
        self.program.as_ref()
    }

    /// Returns the phase units of φ = 1.
    #[inline]
    pub fn phase_max(&self) -> u16 {
        self.metadata.feature_set.phase.max
    }

    /// Returns true if every coefficient is ±1.
    #[inline]
    pub fn unit_rows(&self) -> bool {
        self.coefficients == Coefficients::Unit
    }

    /// Returns true if games of positions are recorded, so that splits can keep games together.
    #[inline]
    pub fn has_games(&self) -> bool {
        !self.games.is_empty()
    }

    /// Returns the weights of positions in the loss; empty when all are 1.
    #[inline]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns the search scores, centipawns, White's view, NaN where unknown; empty when there are none.
    pub fn search_scores(&self) -> &[f32] {
        &self.scores
    }

    /// Returns the static evaluations printed by the engine, centipawns, White's view, NaN where unknown;
    /// empty when there are none.
    pub fn static_evaluations(&self) -> &[f32] {
        &self.evaluations
    }

    /// Returns the shares of the middlegame and the endgame value in the score of a position: φ and (1 − φ)
    /// ρ, with its endgame scale factor ρ, which is 1 unless the dataset has such factors.
    #[inline]
    pub fn shares(&self, n: usize) -> (f64, f64) {
        let phi = f64::from(self.phases[n]) / f64::from(self.phase_max());
        match self.scales.get(n) {
            None => (phi, 1.0 - phi),
            Some(&scale) => (phi, (1.0 - phi) * (f64::from(scale) / f64::from(self.endgame_scale_one()))),
        }
    }

    #[inline]
    pub fn endgame_scale_one(&self) -> u16 {
        self.metadata.feature_set.imported.as_ref().map_or(1, |imported| imported.scale_one)
    }

    /// Returns the endgame scale factors in units of [`scale_one`](Self::endgame_scale_one); empty when all
    /// are 1.
    #[inline]
    pub fn endgame_scales(&self) -> &[u16] {
        &self.scales
    }

    /// Returns true if coefficients are stored in single precision, because half precision would change some.
    pub fn has_single_precision(&self) -> bool {
        matches!(self.coefficients, Coefficients::Single(_))
    }

    /// Returns the results, White's view; targets if they are [blended](Self::blend) with search scores.
    #[inline]
    pub fn results(&self) -> &[f32] {
        &self.results
    }

    #[inline]
    pub fn phases(&self) -> &[u16] {
        &self.phases
    }

    #[inline]
    pub fn game(&self, n: usize) -> u32 {
        self.games.get(n).copied().unwrap_or(n as u32)
    }

    /// Returns the board of a position, if the file has boards.
    pub fn packed_board(&self, n: usize) -> Option<PackedBoard> {
        self.boards.get(3 * n..3 * n + 3)?.try_into().ok()
    }

    /// Returns position `n`.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn row(&self, n: usize) -> RowView<'_> {
        let range = self.row_starts[n] as usize..self.row_starts[n + 1] as usize;
        RowView {
            coefficients: self.coefficients.row(range.clone()),
            plus: self.white_counts.get(n).map_or(usize::MAX, |&c| usize::from(c)),
            ids: &self.ids[range],
            phase: self.phases[n],
            result: self.results[n],
            weight: self.weights.get(n).copied().unwrap_or(1.0),
            offset: self.offsets.get(n).copied().unwrap_or(0.0),
        }
    }

    /// Counts the positions with a nonzero coefficient of each feature, by feature id.
    pub fn occurrences(&self) -> Vec<u64> {
        const PIECE: usize = 1 << 16;
        let features = self.feature_count();
        let of_piece = |first: usize| {
            // The count of each feature, and the position that it was last seen in.
            let mut seen = vec![(0u64, usize::MAX); features];
            for n in first..(first + PIECE).min(self.len()) {
                for (id, coefficient) in self.row(n).entries() {
                    let (count, last) = &mut seen[usize::from(self.feature_of(id))];
                    if coefficient != 0.0 {
                        *count += u64::from(*last != n);
                        *last = n;
                    }
                }
            }
            seen
        };
        let pieces: Vec<_> = (0..self.len()).into_par_iter().step_by(PIECE).map(of_piece).collect();
        let mut counts = vec![0; features];
        for piece in pieces {
            counts.iter_mut().zip(piece).for_each(|(sum, (count, _))| *sum += count);
        }
        counts
    }
}
