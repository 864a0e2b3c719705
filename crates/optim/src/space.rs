//! The search space of an optimizer: start, bounds, and which coordinates are integers.

use gputexel_io::{Error, Result};

/// Start, bounds and integrality of a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    /// Initial point of optimizers.
    pub start: Vec<f64>,
    /// Lower bound of each coordinate; −∞ if there is none.
    pub lower: Vec<f64>,
    /// Upper bound of each coordinate; ∞ if there is none.
    pub upper: Vec<f64>,
    pub integer: Vec<bool>,
}

impl Space {
    pub fn unbounded(start: &[f64]) -> Self {
        let n = start.len();
        Self {
            start: start.to_vec(),
            lower: vec![f64::NEG_INFINITY; n],
            upper: vec![f64::INFINITY; n],
            integer: vec![false; n],
        }
    }

    pub fn dimension(&self) -> usize {
        self.start.len()
    }

    pub fn is_bounded(&self) -> bool {
        self.lower.iter().any(|v| v.is_finite()) || self.upper.iter().any(|v| v.is_finite())
    }

    pub fn clamp(&self, point: &mut [f64]) {
        for (value, (low, high)) in point.iter_mut().zip(self.lower.iter().zip(&self.upper)) {
            *value = value.max(*low).min(*high);
        }
    }

    /// Checks that lengths agree, all numbers are valid, no interval is empty and the start lies within the bounds.
    /// `names` are used in messages and may be empty.
    ///
    /// # Errors
    /// [`Error::Usage`] naming the first invalid coordinate.
    pub fn validate(&self, names: &[String]) -> Result<()> {
        let n = self.dimension();
        if [self.lower.len(), self.upper.len(), self.integer.len()] != [n; 3] {
            return Err(Error::Usage("bounds and start differ in length".to_string()));
        }
        for i in 0..n {
            let name = names.get(i).cloned().unwrap_or_else(|| format!("parameter {i}"));
            let (start, low, high) = (self.start[i], self.lower[i], self.upper[i]);
            if !start.is_finite() || low.is_nan() || high.is_nan() {
                return Err(Error::Usage(format!("{name}: start or bound is not a number")));
            }
            if low > high || (self.integer[i] && low.ceil() > high.floor()) {
                return Err(Error::Usage(format!("{name}: the interval {low} to {high} is empty")));
            }
            if !(low..=high).contains(&start) {
                return Err(Error::Usage(format!("{name}: the start {start} lies outside {low} to {high}")));
            }
            if self.integer[i] && start.fract() != 0.0 {
                return Err(Error::Usage(format!("{name}: the start {start} is not an integer")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_checked() {
        let good = Space {
            start: vec![1.0, 2.0],
            lower: vec![0.0, f64::NEG_INFINITY],
            upper: vec![3.0, 2.0],
            integer: vec![true, false],
        };
        let names = ["a".to_string(), "b".to_string()];
        good.validate(&names).unwrap();
        let message = |space: Space| space.validate(&names).unwrap_err().to_string();
        assert_eq!(
            message(Space { start: vec![4.0, 2.0], ..good.clone() }),
            "a: the start 4 lies outside 0 to 3"
        );
        assert_eq!(
            message(Space { upper: vec![-1.0, 2.0], ..good.clone() }),
            "a: the interval 0 to -1 is empty"
        );
        assert_eq!(
            message(Space { start: vec![1.5, 2.0], ..good.clone() }),
            "a: the start 1.5 is not an integer"
        );
        assert!(message(Space { start: vec![f64::NAN, 2.0], ..good.clone() }).contains("not a number"));
        assert!(message(Space { lower: vec![0.0], ..good.clone() }).contains("length"));
        let mut point = [9.0, 9.0];
        good.clamp(&mut point);
        assert_eq!(point, [3.0, 2.0]);
    }
}
