//! Parameterization: the tuned vector is z, the evaluation's parameters are θ = θ₀ + B z.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result, counted};

/// Number of members whose θ are computed together.
const BLOCK: usize = 8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    pub name: String,
    pub start: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
}

/// θ = θ₀ + B z with the names, bounds and integrality of z.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameterization {
    pub name: String,
    /// θ at z = 0: mg of every feature, then eg.
    pub base: Vec<f64>,
    /// Coordinates of z; empty if B is the identity (z = θ, base all 0).
    pub coordinates: Vec<Coordinate>,
    /// Columns of B: (index of θ, factor), ascending, one list per coordinate.
    pub columns: Vec<Vec<(u32, f64)>>,
    pub(crate) start: Vec<f64>,
}

impl Parameterization {
    /// Creates the identity z = θ: every parameter by itself, starting at `theta`, real and unbounded.
    pub fn identity(theta: &[f64]) -> Self {
        Self {
            name: "identity".to_string(),
            base: vec![0.0; theta.len()],
            coordinates: Vec::new(),
            columns: Vec::new(),
            start: theta.to_vec(),
        }
    }

    /// Creates a parameterization with the given coordinates.
    pub fn try_new(
        name: &str,
        base: Vec<f64>,
        coordinates: Vec<Coordinate>,
        columns: Vec<Vec<(u32, f64)>>,
    ) -> Result<Self> {
        let basis = Self { name: name.to_string(), base, coordinates, columns, start: Vec::new() };
        match basis.is_identity() {
            true => Err(Error::Usage(format!("basis '{name}': it has no coordinate"))),
            false => basis.validate().map(|()| basis),
        }
    }

    /// Checks a parameterization that was read from a file.
    pub fn validate(&self) -> Result<()> {
        let usage = |text: String| Err(Error::Usage(format!("basis '{}': {text}", self.name)));
        if self.coordinates.len() != self.columns.len() {
            return usage(format!(
                "{} and {}",
                counted(self.coordinates.len() as u64, "coordinate"),
                counted(self.columns.len() as u64, "column")
            ));
        }
        if self.base.iter().chain(&self.start).any(|value| !value.is_finite()) {
            return usage("its base contains non-finite values".to_string());
        }
        if self.start.len() != if self.is_identity() { self.base.len() } else { 0 } {
            return usage(format!("{} values to start from", self.start.len()));
        }
        let mut names = std::collections::HashSet::new();
        for (coordinate, column) in self.coordinates.iter().zip(&self.columns) {
            let name = &coordinate.name;
            if !names.insert(name) {
                return usage(format!("coordinate '{name}' is listed twice"));
            }
            if column.iter().all(|&(_, factor)| factor == 0.0) {
                return usage(format!("coordinate '{name}' moves no parameter"));
            }
            let past = |index: u32| index as usize >= self.base.len();
            if column.iter().any(|&(index, factor)| past(index) || !factor.is_finite()) {
                return usage(format!(
                    "coordinate '{name}' has a factor that is not finite or has no parameter"
                ));
            }
        }
        Ok(())
    }

    pub fn with_start(mut self, z: &[f64]) -> Self {
        assert_eq!(z.len(), self.dimension());
        match self.is_identity() {
            true => self.start.copy_from_slice(z),
            false => self.coordinates.iter_mut().zip(z).for_each(|(c, &value)| c.start = value),
        }
        self
    }

    /// True if z is θ itself.
    pub fn is_identity(&self) -> bool {
        self.coordinates.is_empty()
    }

    /// Adds bounds at distance `radius` from the start to coordinates without bounds.
    pub fn within(mut self, radius: f64) -> Self {
        for coordinate in &mut self.coordinates {
            coordinate.min.get_or_insert(coordinate.start - radius);
            coordinate.max.get_or_insert(coordinate.start + radius);
        }
        self
    }

    pub fn without_bounds(mut self) -> Self {
        self.coordinates.iter_mut().for_each(|c| (c.min, c.max) = (None, None));
        self
    }

    /// Restricts all coordinates to whole numbers; they start at the nearest whole number within their bounds.
    pub fn whole(mut self) -> Self {
        for Coordinate { start, min, max, integer, .. } in &mut self.coordinates {
            let low = min.map_or(f64::NEG_INFINITY, f64::ceil);
            *start = start.round().max(low).min(max.map_or(f64::INFINITY, f64::floor));
            *integer = true;
        }
        self
    }

    pub fn dimension(&self) -> usize {
        if self.is_identity() { self.start.len() } else { self.coordinates.len() }
    }

    /// The length of θ.
    pub fn parameters(&self) -> usize {
        self.base.len()
    }

    pub fn start(&self) -> Vec<f64> {
        match self.is_identity() {
            true => self.start.clone(),
            false => self.coordinates.iter().map(|coordinate| coordinate.start).collect(),
        }
    }

    /// Computes θ of every vector in `z`, which contains one or more of them, concatenated.
    pub fn theta(&self, z: &[f64]) -> Vec<f64> {
        if self.is_identity() {
            return z.to_vec();
        }
        let (n, d, rows) = (self.parameters(), self.dimension(), self.rows());
        let mut theta = vec![0.0; z.len() / d * n];
        theta.par_chunks_mut(BLOCK * n).zip(z.par_chunks(BLOCK * d)).for_each(|(theta, z)| {
            let members = z.len() / d;
            // [coordinate][member], so that a factor is applied to all members of the block at once.
            let mut turned = vec![[0.0; BLOCK]; d];
            for (member, z) in z.chunks_exact(d).enumerate() {
                turned.iter_mut().zip(z).for_each(|(row, &value)| row[member] = value);
            }
            for (index, row) in rows.iter().enumerate() {
                let mut values = [self.base[index]; BLOCK];
                for &(coordinate, factor) in row {
                    let from = &turned[coordinate as usize];
                    values.iter_mut().zip(from).for_each(|(value, z)| *value += factor * z);
                }
                (0..members).for_each(|member| theta[member * n + index] = values[member]);
            }
        });
        theta
    }

    /// The rows of B: (coordinate, factor), one list per parameter.
    pub fn rows(&self) -> Vec<Vec<(u32, f64)>> {
        if self.is_identity() {
            return (0..self.parameters() as u32).map(|i| vec![(i, 1.0)]).collect();
        }
        let mut rows = vec![Vec::new(); self.parameters()];
        for (coordinate, column) in self.columns.iter().enumerate() {
            for &(index, factor) in column {
                rows[index as usize].push((coordinate as u32, factor));
            }
        }
        rows
    }

    /// Computes dL/dz = Bᵀ dL/dθ of every gradient, concatenated.
    pub fn pull_gradients(&self, gradients: &[f64]) -> Vec<f64> {
        if self.is_identity() {
            return gradients.to_vec();
        }
        let pull = |gradient: &[f64]| -> Vec<f64> {
            let dot = |column: &Vec<(u32, f64)>| {
                column.iter().map(|&(index, factor)| factor * gradient[index as usize]).sum()
            };
            self.columns.iter().map(dot).collect()
        };
        gradients.chunks_exact(self.parameters()).flat_map(pull).collect()
    }

    /// Computes Bᵀ H B of every matrix (row-major, concatenated).
    pub fn pull_matrices(&self, matrices: Vec<f64>) -> Vec<f64> {
        if self.is_identity() {
            return matrices;
        }
        let (n, d) = (self.parameters(), self.dimension());
        let pull = |matrix: &[f64]| -> Vec<f64> {
            let half = self.pull_gradients(matrix); // n rows of H B
            let mut out = vec![0.0; d * d];
            for (row, column) in self.columns.iter().enumerate() {
                for &(index, factor) in column {
                    let from = &half[index as usize * d..][..d];
                    out[row * d..][..d].iter_mut().zip(from).for_each(|(out, v)| *out += factor * v);
                }
            }
            out
        };
        matrices.chunks_exact(n * n).flat_map(pull).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinate(name: &str) -> Coordinate {
        Coordinate { name: name.to_string(), start: 1.0, min: None, max: None, integer: false }
    }

    fn two_of_three() -> Parameterization {
        let columns = vec![vec![(0, 1.0), (1, 2.0)], vec![(1, -1.0), (2, 3.0)]];
        let coordinates = vec![coordinate("a"), coordinate("b")];
        Parameterization::try_new("test", vec![10.0, 20.0, 30.0], coordinates, columns).unwrap()
    }

    #[test]
    fn theta_and_derivatives_belong_together() {
        let basis = two_of_three();
        assert_eq!(basis.theta(&[1.0, 2.0, 0.0, 1.0]), [11.0, 20.0, 36.0, 10.0, 19.0, 33.0]);
        assert_eq!(basis.pull_gradients(&[1.0, 10.0, 100.0]), [21.0, 290.0]);
        // ½ θᵀ H θ has the second derivative H, which B transforms to Bᵀ H B.
        let h = [2.0, 1.0, 0.0, 1.0, 4.0, 0.5, 0.0, 0.5, 6.0];
        let f = |z: &[f64]| -> f64 {
            let t = basis.theta(z);
            (0..3)
                .flat_map(|i| (0..3).map(move |j| (i, j)))
                .map(|(i, j)| 0.5 * t[i] * h[3 * i + j] * t[j])
                .sum()
        };
        let pulled = basis.pull_matrices(h.to_vec());
        let e = |i: usize| [f64::from(u8::from(i == 0)), f64::from(u8::from(i == 1))];
        for i in 0..2 {
            for j in 0..2 {
                let at = |a: f64, b: f64| {
                    let (x, y) = (e(i), e(j));
                    f(&[a * x[0] + b * y[0], a * x[1] + b * y[1]])
                };
                let second = at(1.0, 1.0) - at(1.0, 0.0) - at(0.0, 1.0) + at(0.0, 0.0);
                assert!((pulled[2 * i + j] - second).abs() < 1e-9, "{i} {j}");
            }
        }
        // More than one block, and not a multiple of it.
        let z: Vec<f64> = (0..2 * (BLOCK + 3)).map(|i| (i * i) as f64).collect();
        let one_by_one: Vec<f64> = z.chunks(2).flat_map(|z| basis.theta(z)).collect();
        assert_eq!(basis.theta(&z), one_by_one);
        let identity = Parameterization::identity(&[1.0, 2.0]);
        assert_eq!((identity.theta(&[5.0, 6.0]), identity.dimension()), (vec![5.0, 6.0], 2));
    }

    #[test]
    fn bad_bases_are_refused() {
        let build = |coordinates: Vec<Coordinate>, columns| {
            Parameterization::try_new("x", vec![0.0; 2], coordinates, columns).unwrap_err().to_string()
        };
        assert!(build(vec![], vec![]).contains("no coordinate"));
        assert!(build(vec![coordinate("a")], vec![]).contains("1 coordinate and 0 columns"));
        assert!(build(vec![coordinate("a")], vec![vec![(2, 1.0)]]).contains("'a'"));
        assert!(build(vec![coordinate("a")], vec![vec![(0, f64::NAN)]]).contains("not finite"));
        assert!(build(vec![coordinate("a")], vec![vec![]]).contains("moves no parameter"));
        let twice = vec![coordinate("a"), coordinate("a")];
        assert!(build(twice, vec![vec![(0, 1.0)], vec![(1, 1.0)]]).contains("listed twice"));
    }
}
