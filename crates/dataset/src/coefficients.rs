//! Coefficients of rows in memory, in the same precision as on disk.

use half::f16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Coefficients {
    Unit,
    Half(Vec<f16>),
    Single(Vec<f32>),
}

impl Coefficients {
    #[inline]
    pub(crate) fn row(&self, range: std::ops::Range<usize>) -> RowCoefficients<'_> {
        match self {
            Self::Unit => RowCoefficients::Unit,
            Self::Half(values) => RowCoefficients::Half(&values[range]),
            Self::Single(values) => RowCoefficients::Single(&values[range]),
        }
    }

    #[inline]
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Self::Unit => true,
            Self::Half(values) => values.iter().all(|value| value.is_finite()),
            Self::Single(values) => values.iter().all(|value| value.is_finite()),
        }
    }

    #[inline]
    pub(crate) fn append(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Half(mine), Self::Half(theirs)) => mine.extend(theirs),
            (Self::Single(mine), theirs) => mine.extend(theirs.into_single()),
            (_, Self::Unit) => {}
            (Self::Unit, theirs) => *self = theirs,
            (Self::Half(_), Self::Single(theirs)) => {
                let mut joined = std::mem::replace(self, Self::Unit).into_single();
                joined.extend(theirs);
                *self = Self::Single(joined);
            }
        }
    }

    #[inline]
    fn into_single(self) -> Vec<f32> {
        match self {
            Self::Unit => Vec::new(),
            Self::Half(values) => values.into_iter().map(f16::to_f32).collect(),
            Self::Single(values) => values,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RowCoefficients<'a> {
    Unit,
    Half(&'a [f16]),
    Single(&'a [f32]),
}

impl RowCoefficients<'_> {
    /// Returns the coefficient of entry `i`; `plus` entries of unit rows have +1.
    #[inline]
    pub(crate) fn get(&self, i: usize, plus: usize) -> f32 {
        match self {
            Self::Unit if i < plus => 1.0,
            Self::Unit => -1.0,
            Self::Half(values) => values[i].to_f32(),
            Self::Single(values) => values[i],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wider_type_wins() {
        let half = |values: &[f32]| Coefficients::Half(values.iter().map(|v| f16::from_f32(*v)).collect());
        let mut joined = half(&[1.0, -2.5]);
        joined.append(half(&[3.0]));
        assert_eq!(joined, half(&[1.0, -2.5, 3.0]));
        joined.append(Coefficients::Single(vec![0.1]));
        assert_eq!(joined, Coefficients::Single(vec![1.0, -2.5, 3.0, 0.1]));
        joined.append(half(&[7.0]));
        assert_eq!(joined.row(3..5).get(1, 0), 7.0);
    }
}
