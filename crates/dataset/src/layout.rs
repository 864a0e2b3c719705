//! Order in which evaluators traverse a dataset.

mod build;
mod canonical;
mod columns;
mod sections;
mod wire;

use std::ops::Range;
use std::sync::Arc;

pub use self::sections::MOST_SECTIONS;
use self::sections::Sections;
use super::Dataset;
use crate::loss;
use gputexel_io::{Error, Result};
use gputexel_model::program::CompiledProgram;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub positions: Range<usize>,
    pub buckets: Range<usize>,
    pub weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    pub part: usize,
    /// Weight of the middlegame value: the phase units, times the value that represents a scale factor of 1.
    pub mg_units: u16,
    /// Weight of the endgame value: the maximum − the phase units, times the scale factor.
    pub eg_units: u16,
    pub positions: Range<usize>,
    pub shapes: Range<usize>,
}

/// Positions of one bucket whose rows have the same counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub positions: Range<usize>,
    pub plus: usize,
    /// Number of entries with coefficient −1.
    pub minus: usize,
    /// Start of its first row in the entry arrays; rows follow without gaps.
    pub first_entry: usize,
}

impl Shape {
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
    /// The number of features, unless there is a program.
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
    sections: Sections,
}

impl Layout {
    fn empty(features: usize, columns: usize, program: Option<Arc<CompiledProgram>>, phase_max: u16) -> Self {
        Self {
            features,
            columns,
            program,
            phase_max,
            parts: Vec::new(),
            buckets: Vec::new(),
            shapes: Vec::new(),
            ids: Vec::new(),
            coefficients: Vec::new(),
            targets: Vec::new(),
            weights: Vec::new(),
            offsets: Vec::new(),
            rows: Vec::new(),
            games: Vec::new(),
            search: Vec::new(),
            sections: Sections::default(),
        }
    }

    /// Creates a layout with one part.
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

    #[inline]
    pub fn game(&self, position: usize) -> u32 {
        self.games.get(position).copied().unwrap_or(self.rows[position])
    }

    #[inline]
    pub fn positions(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if every coefficient is ±1.
    #[inline]
    pub fn unit_rows(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// Writes the entries of one row as (id, coefficient) with ascending, distinct ids. The row is `range` of
    /// the entry arrays, and its first `plus` entries have coefficient +1.
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

    /// Returns the buckets that overlap a range of positions, with their intersection. Keeps memory below its
    /// limit while iterating, since most passes over positions use it.
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
