//! The order in which evaluators traverse a dataset.
//!
//! Positions are sorted by part (training batch, held-out set), then by taper (phase and endgame scale
//! factor), then by the shape of their rows. Inside a bucket of one taper, one interpolated table serves
//! every position; inside a shape, all rows have the same length, so inner loops are not mispredicted.
//! Entries of a feature that both sides have cancel and are dropped: on real piece-square rows, a quarter of
//! all entries.

mod columns;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::Dataset;
use crate::loss;
use gputexel_files::{Error, Result};
use gputexel_model::program::CompiledProgram;

/// A training batch or the held-out set.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its positions, in layout order.
    pub positions: Range<usize>,
    /// Its buckets.
    pub buckets: Range<usize>,
    /// Sum of the weights of its positions.
    pub weight: f64,
}

/// Positions of one part with the same taper.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The part it belongs to.
    pub part: usize,
    /// Weight of the middlegame value: the phase units, times the value that represents a scale factor of 1.
    pub mg_units: u16,
    /// Weight of the endgame value: the maximum − the phase units, times the scale factor.
    pub eg_units: u16,
    /// Its positions, in layout order.
    pub positions: Range<usize>,
    /// Its shapes.
    pub shapes: Range<usize>,
}

/// Positions of one bucket whose rows have the same counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Its positions, in layout order.
    pub positions: Range<usize>,
    /// Number of entries with coefficient +1, first in each row; all entries of coefficient rows.
    pub plus: usize,
    /// Number of entries with coefficient −1.
    pub minus: usize,
    /// Start of its first row in the entry arrays; rows follow without gaps.
    pub first_entry: usize,
}

impl Shape {
    /// Number of entries per row.
    #[inline]
    pub fn row_length(&self) -> usize {
        self.plus + self.minus
    }
}

/// A dataset in evaluation order.
///
/// Its columns are private: kernels look up features by `ids` without bounds checks, so nothing but this
/// module may change them. [`try_new`](Self::try_new), the only way to create a layout, checks every id;
/// columns that may be replaced are checked when they are (see [`with_targets`](Self::with_targets) and
/// similar functions). Everything else is read-only:
///
/// ```
/// fn largest(layout: &gputexel_dataset::Layout) -> (Option<&u16>, usize) {
///     (layout.ids().iter().max(), layout.features())
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn shrink(layout: &mut gputexel_dataset::Layout) {
///     layout.features = 1; // fewer than the ids name
/// }
/// ```
///
/// ```compile_fail,E0616
/// fn stray(layout: &mut gputexel_dataset::Layout) {
///     layout.ids = vec![u16::MAX; layout.ids().len()];
/// }
/// ```
///
/// ```compile_fail,E0594
/// fn stray(layout: &mut gputexel_dataset::Layout) {
///     layout.ids()[0] = u16::MAX;
/// }
/// ```
///
/// ```compile_fail,E0594
/// fn move_shape(layout: &mut gputexel_dataset::Layout) {
///     layout.shapes()[0].first_entry = usize::MAX;
/// }
/// ```
///
/// ```compile_fail,E0451
/// fn replace(layout: gputexel_dataset::Layout) -> gputexel_dataset::Layout {
///     gputexel_dataset::Layout { features: 1, ..layout }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    features: usize,
    /// As many as features, unless there is a program.
    columns: usize,
    program: Option<Arc<CompiledProgram>>,
    phase_max: u16,
    parts: Vec<Part>,
    buckets: Vec<Bucket>,
    shapes: Vec<Shape>,
    ids: Vec<u16>,
    coefficients: Vec<f32>,
    targets: Vec<f32>,
    weights: Vec<f32>,
    offsets: Vec<f32>,
    rows: Vec<u32>,
    games: Vec<u32>,
    search: Vec<f32>,
}

/// Canonical rows of consecutive positions: sorted, canceled, merged.
#[derive(Default)]
struct Chunk {
    ids: Vec<u16>,
    coefficients: Vec<f32>,
    counts: Vec<(u16, u16)>,
}

const CHUNK: usize = 1 << 14;

impl Layout {
    /// Sorts a dataset whose position n belongs to part `part_of(n)`, of `parts` parts.
    ///
    /// # Errors
    /// [`Error::Usage`] when a part would be empty, `part_of` returns an invalid part, or an id of the
    /// dataset is not below its number of features.
    pub fn try_new(dataset: &Dataset, parts: usize, part_of: impl Fn(usize) -> usize + Sync) -> Result<Self> {
        let positions = dataset.len();
        let too_few = || {
            let text =
                format!("{positions} positions are too few for {parts} batches or held-out sets of them");
            Err(Error::Usage(text))
        };
        if parts > positions {
            return too_few();
        }
        let unit = dataset.unit_rows();
        let chunks: Vec<Chunk> = (0..positions.div_ceil(CHUNK))
            .into_par_iter()
            .map(|c| canonical_rows(dataset, c, unit))
            .collect();
        // Start of each canonical row within its chunk.
        let starts: Vec<Vec<u32>> = chunks
            .iter()
            .map(|chunk| {
                let mut start = 0;
                let step = |&(plus, minus): &(u16, u16)| {
                    let here = start;
                    start += u32::from(plus) + u32::from(minus);
                    here
                };
                chunk.counts.iter().map(step).collect()
            })
            .collect();

        // The smallest units that represent all factors, so that sums of whole parameters stay exact as long
        // as possible.
        let scale_one = dataset.endgame_scale_one();
        let divisor = dataset.scales.iter().fold(scale_one, |divisor, &scale| gcd(divisor, scale));
        let reduced = |scale: u16| scale / divisor;
        let phase_max = dataset.phase_max().checked_mul(reduced(scale_one)).ok_or_else(|| {
            Error::Usage("phase and endgame scale have too many units together".to_string())
        })?;

        let counts = |n: usize| chunks[n / CHUNK].counts[n % CHUNK];
        let mut order: Vec<(u64, u64)> = (0..positions)
            .into_par_iter()
            .map(|n| {
                let (plus, minus) = counts(n);
                let scale = dataset.scales.get(n).copied().unwrap_or(scale_one);
                let taper = u64::from(dataset.phases[n]) << 16 | u64::from(scale);
                let bucket = (part_of(n).min(u32::MAX as usize) as u64) << 32 | taper;
                (bucket, u64::from(plus) << 48 | u64::from(minus) << 32 | n as u64)
            })
            .collect();
        order.par_sort_unstable();
        if order.last().is_some_and(|&(bucket, _)| bucket >> 32 >= parts as u64) {
            return Err(Error::Usage(format!("a position belongs to none of the {parts} parts")));
        }

        let mut layout = Self {
            features: dataset.feature_count(),
            columns: dataset.column_count(),
            program: dataset.program().cloned(),
            phase_max,
            parts: Vec::with_capacity(parts),
            buckets: Vec::new(),
            shapes: Vec::new(),
            ids: Vec::with_capacity(chunks.iter().map(|c| c.ids.len()).sum()),
            coefficients: Vec::new(),
            targets: Vec::with_capacity(positions),
            weights: Vec::new(),
            offsets: Vec::new(),
            rows: order.iter().map(|&(_, key)| key as u32).collect(),
            games: Vec::new(),
            search: Vec::new(),
        };
        let mut last_bucket = None;
        let mut last_shape = None;
        for (index, &(bucket_key, key)) in order.iter().enumerate() {
            let n = key as u32 as usize;
            let (plus, minus) = counts(n);
            if last_bucket != Some(bucket_key) {
                last_bucket = Some(bucket_key);
                last_shape = None;
                let part = (bucket_key >> 32) as usize;
                while layout.parts.len() <= part {
                    let (position, bucket) = (index, layout.buckets.len());
                    layout.parts.push(Part {
                        positions: position..position,
                        buckets: bucket..bucket,
                        weight: 0.0,
                    });
                }
                let shapes = layout.shapes.len();
                layout.buckets.push(Bucket {
                    part,
                    mg_units: dataset.phases[n] * reduced(scale_one),
                    eg_units: (dataset.phase_max() - dataset.phases[n]) * reduced(bucket_key as u16),
                    positions: index..index,
                    shapes: shapes..shapes,
                });
                layout.parts[part].buckets.end = layout.buckets.len();
            }
            let bucket = layout.buckets.last_mut().expect("pushed above");
            if last_shape != Some((plus, minus)) {
                last_shape = Some((plus, minus));
                layout.shapes.push(Shape {
                    positions: index..index,
                    plus: usize::from(plus),
                    minus: usize::from(minus),
                    first_entry: layout.ids.len(),
                });
                bucket.shapes.end = layout.shapes.len();
            }
            bucket.positions.end = index + 1;
            layout.shapes.last_mut().expect("pushed above").positions.end = index + 1;
            let part = &mut layout.parts[bucket.part];
            part.positions.end = index + 1;
            part.weight += f64::from(dataset.weights.get(n).copied().unwrap_or(1.0));

            let chunk = &chunks[n / CHUNK];
            let start = starts[n / CHUNK][n % CHUNK] as usize;
            let range = start..start + usize::from(plus) + usize::from(minus);
            layout.ids.extend_from_slice(&chunk.ids[range.clone()]);
            if !unit {
                layout.coefficients.extend_from_slice(&chunk.coefficients[range]);
            }
            layout.targets.push(dataset.results[n]);
        }
        let gather = |column: &[f32]| -> Vec<f32> {
            if column.is_empty() {
                Vec::new()
            } else {
                layout.rows.iter().map(|&n| column[n as usize]).collect()
            }
        };
        (layout.weights, layout.offsets) = (gather(&dataset.weights), gather(&dataset.offsets));
        if dataset.has_games() {
            layout.games = layout.rows.iter().map(|&n| dataset.game(n as usize)).collect();
        }
        if layout.parts.len() < parts || layout.parts.iter().any(|part| part.positions.is_empty()) {
            return too_few();
        }
        layout.check()
    }

    /// A layout with one part.
    ///
    /// # Errors
    /// [`Error::Usage`] when the dataset is empty.
    pub fn whole(dataset: &Dataset) -> Result<Self> {
        Self::try_new(dataset, 1, |_| 0)
    }

    /// Adds the dataset's search scores, converted to expected scores with the scale constant `k`, for
    /// targets that blend them with results.
    ///
    /// # Errors
    /// [`Error::Usage`] when the dataset has no search scores.
    pub fn with_search_scores(mut self, dataset: &Dataset, k: f64) -> Result<Self> {
        if dataset.scores.is_empty() {
            return Err(Error::Usage("the dataset has no search scores to blend".to_string()));
        }
        let expected = |(position, &n): (usize, &u32)| match dataset.scores[n as usize] {
            score if score.is_nan() => self.targets[position],
            score => loss::expected_score(k, f64::from(score)) as f32,
        };
        self.search = self.rows.iter().enumerate().map(expected).collect();
        Ok(self)
    }

    /// Game of a position, for resampling.
    #[inline]
    pub fn game(&self, position: usize) -> u32 {
        self.games.get(position).copied().unwrap_or(self.rows[position])
    }

    /// Number of positions.
    #[inline]
    pub fn positions(&self) -> usize {
        self.rows.len()
    }

    /// Whether every coefficient is ±1.
    #[inline]
    pub fn unit_rows(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// The entries of one row as (id, coefficient) with ascending, distinct ids. The row is `range` of the
    /// entry arrays, and its first `plus` entries have coefficient +1. Features that occur with both signs
    /// have already cancelled in the layout; repeated ids are merged here.
    #[inline]
    pub fn merge_row<C>(&self, range: Range<usize>, plus: usize, out: &mut Vec<(u32, C)>)
    where
        C: From<f32> + std::ops::AddAssign,
    {
        out.clear();
        let ids = &self.ids[range.clone()];
        if !self.unit_rows() {
            let coefficients = &self.coefficients[range];
            out.extend(ids.iter().zip(coefficients).map(|(&id, &c)| (u32::from(id), C::from(c))));
            return;
        }
        let (plus, minus) = ids.split_at(plus);
        let mut minus = minus.iter().peekable();
        let mut push = |id: u16, coefficient: f32| match out.last_mut() {
            Some(last) if last.0 == u32::from(id) => last.1 += C::from(coefficient),
            _ => out.push((u32::from(id), C::from(coefficient))),
        };
        for &id in plus {
            while let Some(&other) = minus.next_if(|&&other| other < id) {
                push(other, -1.0);
            }
            push(id, 1.0);
        }
        minus.for_each(|&id| push(id, -1.0));
    }

    /// Start of every row in the entry arrays, and the end of the last one.
    pub fn row_starts(&self) -> Vec<u32> {
        let mut starts = Vec::with_capacity(self.positions() + 1);
        for shape in &self.shapes {
            starts.extend(
                (0..shape.positions.len()).map(|i| (shape.first_entry + i * shape.row_length()) as u32),
            );
        }
        starts.push(self.ids.len() as u32);
        starts
    }

    /// The buckets that overlap a range of positions, with their intersection.
    #[inline]
    pub fn buckets_in(&self, positions: Range<usize>) -> impl Iterator<Item = (&Bucket, Range<usize>)> + '_ {
        let first = self.buckets.partition_point(|bucket| bucket.positions.end <= positions.start);
        self.buckets[first..].iter().take_while(move |bucket| bucket.positions.start < positions.end).map(
            move |bucket| {
                let start = bucket.positions.start.max(positions.start);
                (bucket, start..bucket.positions.end.min(positions.end))
            },
        )
    }

    /// The shapes that overlap a range of positions, each clipped to the range.
    #[inline]
    pub fn shapes_in(&self, positions: Range<usize>) -> impl Iterator<Item = Shape> + '_ {
        let first = self.shapes.partition_point(|shape| shape.positions.end <= positions.start);
        self.shapes[first..].iter().take_while(move |shape| shape.positions.start < positions.end).map(
            move |shape| {
                let start = shape.positions.start.max(positions.start);
                Shape {
                    positions: start..shape.positions.end.min(positions.end),
                    first_entry: shape.first_entry + (start - shape.positions.start) * shape.row_length(),
                    ..*shape
                }
            },
        )
    }
}

fn canonical_rows(dataset: &Dataset, chunk: usize, unit: bool) -> Chunk {
    let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(dataset.len());
    let mut out = Chunk::default();
    let mut entries: Vec<(u16, f32)> = Vec::new();
    let (mut plus, mut minus): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
    for n in range {
        let row = dataset.row(n);
        if unit {
            let white = row.plus.min(row.ids.len());
            plus.clear();
            minus.clear();
            plus.extend_from_slice(&row.ids[..white]);
            minus.extend_from_slice(&row.ids[white..]);
            plus.sort_unstable();
            minus.sort_unstable();
            let first = out.ids.len();
            push_difference(&mut out.ids, &plus, &minus);
            let middle = out.ids.len();
            push_difference(&mut out.ids, &minus, &plus);
            out.counts.push(((middle - first) as u16, (out.ids.len() - middle) as u16));
        } else {
            entries.clear();
            entries.extend(row.entries());
            entries.sort_unstable_by_key(|&(id, _)| id);
            let first = out.ids.len();
            for merged in entries.chunk_by(|a, b| a.0 == b.0) {
                let coefficient: f32 = merged.iter().map(|&(_, c)| c).sum();
                if coefficient != 0.0 {
                    out.ids.push(merged[0].0);
                    out.coefficients.push(coefficient);
                }
            }
            out.counts.push(((out.ids.len() - first) as u16, 0));
        }
    }
    out
}

fn gcd(a: u16, b: u16) -> u16 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Appends the multiset difference `a` − `b` of two sorted lists.
fn push_difference(out: &mut Vec<u16>, a: &[u16], b: &[u16]) {
    let mut j = 0;
    for &id in a {
        while j < b.len() && b[j] < id {
            j += 1;
        }
        if j < b.len() && b[j] == id {
            j += 1;
        } else {
            out.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_keeps_multiplicities() {
        let mut out = Vec::new();
        push_difference(&mut out, &[1, 2, 2, 2, 5, 9], &[0, 2, 5, 5, 7]);
        assert_eq!(out, [1, 2, 2, 9]);
    }
}
