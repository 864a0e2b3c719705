//! Encodes a batch of samples as feature rows in flat arrays, so that a batch costs a handful of allocations
//! for any number of positions.

use half::f16;

use gputexel_chess::sample::Batch;
use gputexel_dataset::StoredRow;
use gputexel_model::{FeatureRow, FeatureSet};

/// Properties of a sample that are kept in addition to its features.
#[derive(Clone, Copy, Debug)]
pub struct EncodedLabel {
    pub key: u64,
    pub leaf_key: u64,
    pub result: f32,
    pub score_cp: f32,
    pub game: Option<u64>,
    pub(super) phase: u16,
    pub(super) entries: u16,
    pub(super) white_entries: u16,
}

#[derive(Debug, Default)]
pub struct Encoded {
    pub(super) labels: Vec<EncodedLabel>,
    pub(super) ids: Vec<u16>,
    pub(super) coefficients: Vec<f16>,
    pub rest: Batch,
}

impl Encoded {
    pub fn new(mut batch: Batch, set: &FeatureSet) -> Self {
        let mut row = FeatureRow::default();
        let samples = std::mem::take(&mut batch.samples);
        let count = samples.len();
        let mut encoded = Self {
            labels: Vec::with_capacity(count),
            ids: Vec::with_capacity(count * 24),
            coefficients: Vec::new(),
            rest: batch,
        };
        for sample in samples {
            set.compute(&sample.board, sample.turn, &mut row);
            encoded.ids.extend_from_slice(&row.plus);
            encoded.ids.extend_from_slice(&row.minus);
            encoded.coefficients.extend_from_slice(&row.coefficients);
            encoded.labels.push(EncodedLabel {
                key: sample.key,
                leaf_key: sample.leaf_key,
                result: sample.result,
                score_cp: sample.score_cp,
                game: sample.game,
                phase: row.phase,
                // A side has a few dozen features, a board at most 64 pieces.
                entries: (row.plus.len() + row.minus.len()) as u16,
                white_entries: row.plus.len() as u16,
            });
        }
        encoded
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns the positions in order, each in the dataset's format.
    pub fn rows(&self) -> impl Iterator<Item = (&EncodedLabel, StoredRow<'_>)> {
        let mut start = 0;
        self.labels.iter().map(move |label| {
            let range = start..start + usize::from(label.entries);
            start = range.end;
            let coefficients = self.coefficients.get(range.clone()).unwrap_or_default();
            let row = StoredRow {
                ids: &self.ids[range],
                white_entries: label.white_entries,
                coefficients,
                phase: label.phase,
            };
            (label, row)
        })
    }
}
