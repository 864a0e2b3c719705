//! Columns of a layout: reading them, and replacing those that kernels do not use as indices.

use super::{Bucket, Layout, Part, Shape};
use gputexel_io::{Error, Result};
use gputexel_model::program::CompiledProgram;

impl Layout {
    #[inline]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Returns the number of columns, which the ids refer to: the number of features, unless there is a
    /// [`program`](Self::program).
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the program of the evaluation; `None` if scores are sums of parameters.
    #[inline]
    pub fn program(&self) -> Option<&CompiledProgram> {
        self.program.as_deref()
    }

    /// Returns the bucket units that represent a share of 1: the phase units of φ = 1, times the value that
    /// represents an endgame scale factor of 1, if there are such factors.
    #[inline]
    pub fn phase_max(&self) -> u16 {
        self.phase_max
    }

    #[inline]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    #[inline]
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    #[inline]
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// Returns the ids of columns, each below [`columns`](Self::columns), rows concatenated, ascending within
    /// each sign.
    #[inline]
    pub fn ids(&self) -> &[u16] {
        &self.ids
    }

    /// Returns the coefficients, parallel to `ids`; empty when every coefficient is ±1.
    #[inline]
    pub fn coefficients(&self) -> &[f32] {
        &self.coefficients
    }

    /// Returns the targets that p is compared with, White's view, 0 to 1.
    #[inline]
    pub fn targets(&self) -> &[f32] {
        &self.targets
    }

    /// Returns the weights; empty when all are 1.
    #[inline]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns the constant parts of scores, centipawns; empty when all are 0.
    #[inline]
    pub fn offsets(&self) -> &[f32] {
        &self.offsets
    }

    #[inline]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the game of each position; empty when the input had no games, and each position counts as one.
    #[inline]
    pub fn games(&self) -> &[u32] {
        &self.games
    }

    /// Returns the expected scores from search, White's view, with which targets may be blended; equal to the
    /// target if there is no search score.
    #[inline]
    pub fn search(&self) -> &[f32] {
        &self.search
    }

    /// Returns the layout with different targets.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one target from 0 to 1 for each position.
    pub fn with_targets(mut self, targets: Vec<f32>) -> Result<Self> {
        self.fits("targets", targets.len())?;
        if !targets.iter().all(|target| (0.0..=1.0).contains(target)) {
            return Err(Error::Usage("targets must be from 0 to 1".to_string()));
        }
        self.targets = targets;
        Ok(self)
    }

    /// Returns the layout with different weights of positions, from which those of the parts are computed.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one weight for each position, 0 or a positive number; or none, for
    /// weights of 1.
    pub fn with_weights(mut self, weights: Vec<f32>) -> Result<Self> {
        self.fits_or_empty("weights", weights.len())?;
        if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            return Err(Error::Usage("weights must be 0 or positive numbers".to_string()));
        }
        for part in &mut self.parts {
            part.weight = match weights.get(part.positions.clone()) {
                Some(weights) => weights.iter().map(|&weight| f64::from(weight)).sum(),
                None => part.positions.len() as f64,
            };
        }
        self.weights = weights;
        Ok(self)
    }

    /// Returns the layout with different constant parts of scores, centipawns.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is a finite offset for each position, or none.
    pub fn with_offsets(mut self, offsets: Vec<f32>) -> Result<Self> {
        self.fits_or_empty("offsets", offsets.len())?;
        if !offsets.iter().all(|offset| offset.is_finite()) {
            return Err(Error::Usage("offsets must be numbers".to_string()));
        }
        self.offsets = offsets;
        Ok(self)
    }

    /// Returns the layout with different games of positions.
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one game for each position; or none, so that each position counts as
    /// one.
    pub fn with_games(mut self, games: Vec<u32>) -> Result<Self> {
        self.fits_or_empty("games", games.len())?;
        self.games = games;
        Ok(self)
    }

    /// Returns the layout with different expected scores from search, see [`search`](Self::search).
    ///
    /// # Errors
    /// [`Error::Usage`] unless there is one score from 0 to 1 for each position, or none.
    pub fn with_search(mut self, search: Vec<f32>) -> Result<Self> {
        self.fits_or_empty("expected scores", search.len())?;
        if !search.iter().all(|score| (0.0..=1.0).contains(score)) {
            return Err(Error::Usage("expected scores must be from 0 to 1".to_string()));
        }
        self.search = search;
        Ok(self)
    }

    fn fits_or_empty(&self, what: &str, length: usize) -> Result<()> {
        if length == 0 { Ok(()) } else { self.fits(what, length) }
    }

    fn fits(&self, what: &str, length: usize) -> Result<()> {
        match length == self.positions() {
            true => Ok(()),
            false => Err(Error::Usage(format!("{length} {what} for {} positions", self.positions()))),
        }
    }

    /// Checks the invariants of kernels: ids below the number of features, shapes whose rows are contiguous
    /// and within the entries, and columns of equal length.
    pub(super) fn check(self) -> Result<Self> {
        let broken = |what: &str| Err(Error::Usage(format!("the dataset is broken: {what}")));
        // A maximum rather than `any`, because it is vectorized.
        if self.ids.iter().max().is_some_and(|&id| usize::from(id) >= self.columns) {
            return broken("a feature id is out of range");
        }
        let (positions, entries) = (self.positions(), self.ids.len());
        if !self.coefficients.is_empty() && self.coefficients.len() != entries {
            return broken("there are not as many coefficients as feature ids");
        }
        let optional = [self.weights.len(), self.offsets.len(), self.games.len(), self.search.len()];
        if self.targets.len() != positions || optional.iter().any(|&n| n != 0 && n != positions) {
            return broken("its columns differ in length");
        }
        let (mut position, mut entry) = (0, 0);
        for shape in &self.shapes {
            if shape.positions.start != position || shape.first_entry != entry {
                return broken("its rows do not follow each other");
            }
            position = shape.positions.end;
            entry += shape.positions.len() * shape.row_length();
        }
        if (position, entry) != (positions, entries) {
            return broken("its rows do not cover its entries");
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sections::Sections;
    use super::*;

    /// Creates one part, with buckets of the given sizes and rows of `length` distinct ids.
    fn of_buckets(sizes: &[usize], length: usize) -> Layout {
        let positions: usize = sizes.iter().sum();
        let mut start = 0;
        let ranges: Vec<_> = sizes.iter().map(|size| (start, start += size).0..start).collect();
        let units = |bucket: usize| bucket as u16 % 3;
        Layout {
            parts: vec![Part { positions: 0..positions, buckets: 0..sizes.len(), weight: positions as f64 }],
            buckets: (0..sizes.len())
                .map(|i| Bucket {
                    part: 0,
                    mg_units: units(i),
                    eg_units: 2 - units(i),
                    positions: ranges[i].clone(),
                    shapes: i..i + 1,
                })
                .collect(),
            shapes: ranges
                .iter()
                .map(|range| Shape {
                    positions: range.clone(),
                    plus: length,
                    minus: 0,
                    first_entry: range.start * length,
                })
                .collect(),
            ids: (0..positions).flat_map(|_| 0..length as u16).collect(),
            targets: vec![0.5; positions],
            rows: (0..positions as u32).collect(),
            sections: Sections::whole(positions),
            ..Layout::empty(length, length, None, 2)
        }
        .check()
        .expect("made as checked")
    }

    #[test]
    fn broken_layouts_are_refused() {
        type Break = fn(&mut Layout);
        let ways: [(Break, &str); 9] = [
            (|layout| layout.columns = 3, "a feature id is out of range"),
            (|layout| layout.ids[5] = 4, "a feature id is out of range"),
            (|layout| layout.coefficients = vec![1.0], "not as many coefficients"),
            (|layout| layout.targets.truncate(1), "differ in length"),
            (|layout| layout.weights = vec![1.0], "differ in length"),
            (|layout| layout.games = vec![1], "differ in length"),
            (|layout| layout.shapes[1].first_entry += 1, "do not follow"),
            (|layout| layout.shapes[1].plus += 1, "do not cover"),
            (|layout| layout.ids.truncate(19), "do not cover"),
        ];
        for (way, what) in ways {
            let mut layout = of_buckets(&[3, 2], 4);
            way(&mut layout);
            let message = layout.check().unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        }
    }

    #[test]
    fn exchanged_columns_are_checked() {
        let layout = || of_buckets(&[3, 2], 4);
        assert!(layout().with_targets(vec![0.0; 4]).is_err());
        assert!(layout().with_targets(Vec::new()).is_err());
        assert!(layout().with_targets(vec![f32::NAN; 5]).is_err());
        assert!(layout().with_weights(vec![1.0; 6]).is_err());
        assert!(layout().with_weights(vec![-1.0; 5]).is_err());
        assert!(layout().with_offsets(vec![f32::INFINITY; 5]).is_err());
        assert!(layout().with_offsets(vec![0.0]).is_err());
        assert!(layout().with_games(vec![0; 7]).is_err());
        assert!(layout().with_search(vec![2.0; 5]).is_err());
        assert!(layout().with_search(vec![0.5; 1]).is_err());
        let weighted = layout().with_weights(vec![0.0, 1.0, 2.0, 3.0, 4.5]).unwrap();
        assert_eq!(weighted.parts()[0].weight, 10.5);
        assert_eq!(weighted.with_weights(Vec::new()).unwrap().parts()[0].weight, 5.0);
        assert!(layout().with_games(Vec::new()).unwrap().games().is_empty());
    }
}
