//! Eigenvalues of a symmetric matrix, and eigenvectors of some of them.

use super::{View, add_scaled, dot, subtract};
use rayon::prelude::*;

const ROWS: usize = 64;
/// Number of reflections whose effect on the matrix is subtracted together.
const PANEL: usize = 32;
const STRIPE: usize = 32;
const STEPS: usize = 60;

pub(super) struct Eigen {
    pub values: Vec<f64>,
    /// Row k holds, after the diagonal, the vector u of the reflection I − u uᵀ / `halves[k]`.
    reflections: Vec<f64>,
    halves: Vec<f64>,
    rotations: Vec<(f64, f64)>,
    /// Row after the first rotation of each QL step and number of its rotations, which go upward.
    steps: Vec<(usize, usize)>,
}

impl Eigen {
    /// Decomposes a row-major matrix of `size` rows, of finite numbers; `None` if QL steps do not converge.
    pub(super) fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        // Squares of tiny or huge entries would leave the range of f64: a power of two brings the largest near 1.
        let largest = matrix.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        let unit = if largest > 0.0 { largest.log2().round().clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
        matrix.iter_mut().for_each(|entry| *entry /= unit);
        let (mut values, mut beside) = (vec![0.0; size], vec![0.0; size]);
        let mut halves = vec![0.0; size];
        // Vectors u of reflections whose effect, u vᵀ + v uᵀ, is not subtracted yet, and the vectors v.
        let (mut us, mut vs): (Vec<Vec<f64>>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
        for k in 0..size {
            let (above, below) = matrix.split_at_mut((k + 1) * size);
            let row = &mut above[k * size..];
            for (u, v) in us.iter().zip(&vs) {
                add_scaled(&mut row[k..], -u[k], &v[k..]);
                add_scaled(&mut row[k..], -v[k], &u[k..]);
            }
            values[k] = row[k];
            let own = &mut row[k + 1..];
            let Some(&first) = own.first() else { break };
            let rest = dot(&own[1..], &own[1..]);
            if rest < f64::MIN_POSITIVE {
                beside[k] = first;
                continue;
            }
            beside[k] = -(first * first + rest).sqrt().copysign(first);
            own[0] -= beside[k];
            halves[k] = 0.5 * (own[0] * own[0] + rest);
            // v from the product of the remaining matrix with the vector.
            let (own, half) = (&*own, halves[k]);
            let mut v = vec![0.0; size];
            let product = &mut v[k + 1..];
            let work = |(row, out): (&[f64], &mut f64)| *out = dot(&row[k + 1..], own);
            match product.len() > 4 * ROWS {
                true => below.par_chunks(size).zip(&mut *product).with_min_len(ROWS).for_each(work),
                false => below.chunks(size).zip(&mut *product).for_each(work),
            }
            for (u, v) in us.iter().zip(&vs) {
                let (u, v) = (&u[k + 1..], &v[k + 1..]);
                let (by_u, by_v) = (dot(u, own), dot(v, own));
                add_scaled(product, -by_v, u);
                add_scaled(product, -by_u, v);
            }
            let share = 0.5 * dot(product, own) / half;
            add_scaled(product, -share, own);
            product.iter_mut().for_each(|value| *value /= half);
            us.push([&vec![0.0; k + 1], own].concat());
            vs.push(v);
            if us.len() == PANEL {
                let tails = |first: &[Vec<f64>], second: &[Vec<f64>]| -> Vec<f64> {
                    first.iter().chain(second).flat_map(|vector| &vector[k + 1..]).copied().collect()
                };
                let (left, right) = (tails(&us, &vs), tails(&vs, &us));
                let [left, right] = [&left, &right].map(|rows| View::new(rows, 2 * PANEL, size - k - 1));
                subtract(left.transpose(), right, &mut below[k + 1..], size);
                us.clear();
                vs.clear();
            }
        }
        let mut eigen =
            Self { values, reflections: matrix, halves, rotations: Vec::new(), steps: Vec::new() };
        eigen.diagonalize(beside)?;
        eigen.values.iter_mut().for_each(|value| *value *= unit);
        Some(eigen)
    }

    /// Applies QL steps to the tridiagonal matrix with `values` on the diagonal and `beside` next to it.
    fn diagonalize(&mut self, mut beside: Vec<f64>) -> Option<()> {
        let (values, size) = (&mut self.values, beside.len());
        let largest = values.iter().chain(&beside).fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for first in 0..size {
            for step in 0.. {
                let end = (first..size - 1).find(|&i| beside[i].abs() <= f64::EPSILON * largest);
                let end = end.unwrap_or(size - 1);
                if end == first {
                    break;
                }
                if step == STEPS {
                    return None;
                }
                let half = (values[first + 1] - values[first]) / (2.0 * beside[first]);
                let shift = half + half.hypot(1.0).copysign(half);
                let mut g = values[end] - values[first] + beside[first] / shift;
                let (mut cosine, mut sine, mut p) = (1.0, 1.0, 0.0);
                let before = self.rotations.len();
                for i in (first..end).rev() {
                    let (f, b) = (sine * beside[i], cosine * beside[i]);
                    let r = f.hypot(g);
                    beside[i + 1] = r;
                    if r == 0.0 {
                        values[i + 1] -= p;
                        beside[end] = 0.0;
                        break;
                    }
                    (sine, cosine) = (f / r, g / r);
                    g = values[i + 1] - p;
                    let q = (values[i] - g) * sine + 2.0 * cosine * b;
                    p = sine * q;
                    values[i + 1] = g + p;
                    g = cosine * q - b;
                    self.rotations.push((cosine, sine));
                    if i == first {
                        values[first] -= p;
                        beside[first] = g;
                        beside[end] = 0.0;
                    }
                }
                self.steps.push((end, self.rotations.len() - before));
            }
        }
        Some(())
    }

    pub(super) fn vectors(&self, places: &[usize]) -> Vec<f64> {
        let stripes: Vec<Vec<f64>> = places.par_chunks(STRIPE).map(|places| self.stripe(places)).collect();
        stripes.concat()
    }

    /// Transforms the unit vectors at some indices by all rotations and reflections, the last first.
    fn stripe(&self, places: &[usize]) -> Vec<f64> {
        let (size, width) = (self.values.len(), places.len());
        let mut x = vec![0.0; size * width];
        places.iter().enumerate().for_each(|(i, place)| x[place * width + i] = 1.0);
        let mut left = self.rotations.len();
        for &(end, count) in self.steps.iter().rev() {
            let rotations = self.rotations[left - count..left].iter().rev();
            left -= count;
            let rows = x[(end - count) * width..].chunks_exact_mut(width);
            // Each rotation turns a row and the next.
            let mut rows = rows.take(count + 1);
            let Some(mut row) = rows.next() else { continue };
            for (&(cosine, sine), next) in rotations.zip(rows) {
                for (a, b) in row.iter_mut().zip(&mut *next) {
                    (*a, *b) = (cosine * *a + sine * *b, cosine * *b - sine * *a);
                }
                row = next;
            }
        }
        let mut share = vec![0.0; width];
        for (k, half) in self.halves.iter().enumerate().rev().filter(|(_, half)| **half > 0.0) {
            let u = &self.reflections[k * size..][k + 1..size];
            let x = &mut x[(k + 1) * width..];
            share.fill(0.0);
            u.iter().zip(x.chunks_exact(width)).for_each(|(u, row)| add_scaled(&mut share, u / half, row));
            u.iter().zip(x.chunks_exact_mut(width)).for_each(|(u, row)| add_scaled(row, -u, &share));
        }
        (0..width).flat_map(|i| x[i..].iter().step_by(width).copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn check(matrix: Vec<f64>, n: usize) -> Vec<f64> {
        let eigen = Eigen::new(matrix.clone(), n).unwrap();
        let all: Vec<usize> = (0..n).collect();
        let vectors = eigen.vectors(&all);
        let row = |i: usize| &vectors[i * n..][..n];
        let largest = eigen.values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for i in 0..n {
            for j in 0..n {
                assert!((dot(row(i), row(j)) - f64::from(u8::from(i == j))).abs() < 1e-12, "{i} {j}");
                let product = dot(&matrix[j * n..][..n], row(i));
                assert!((product - eigen.values[i] * row(i)[j]).abs() <= 1e-12 * largest, "{i} {j}");
            }
        }
        let last = n - 1;
        assert_eq!(eigen.vectors(&[last]), row(last));
        let mut values = eigen.values;
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn vectors_are_orthonormal_and_only_scaled() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for (n, rank) in [(1, 1), (2, 2), (3, 1), (20, 20), (65, 30), (300, 299)] {
            let factor: Vec<f64> = (0..n * rank).map(|_| rng.random_range(-1.0..1.0)).collect();
            // A sum of squares, with one of them negative.
            let sign = |k: usize| if k == 0 { -1.0 } else { 1.0 };
            let row = |i: usize| &factor[i * rank..][..rank];
            let entry = |i: usize, j: usize| -> f64 {
                row(i).iter().zip(row(j)).enumerate().map(|(k, (a, b))| sign(k) * a * b).sum()
            };
            let matrix: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
            let values = check(matrix, n);
            let limit = 1e-10 * values[n - 1].abs().max(values[0].abs());
            assert_eq!(values.iter().filter(|value| **value < -limit).count(), 1, "{n}");
            assert_eq!(values.iter().filter(|value| value.abs() <= limit).count(), n - rank, "{n}");
        }
    }

    #[test]
    fn known_values_are_found() {
        assert_eq!(check(vec![0.0; 9], 3), [0.0; 3]);
        let tiny = check(vec![2e-300, 1e-300, 1e-300, 2e-300], 2);
        assert!((tiny[0] / 1e-300 - 1.0).abs() < 1e-14 && (tiny[1] / 3e-300 - 1.0).abs() < 1e-14, "{tiny:?}");
        assert_eq!(check(vec![3.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 2.0], 3), [-1.0, 2.0, 3.0]);
        let values = check(vec![2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0, 1.0, 2.0], 3);
        let root = 2f64.sqrt();
        for (got, wanted) in values.iter().zip([2.0 - root, 2.0, 2.0 + root]) {
            assert!((got - wanted).abs() < 1e-14);
        }
        // The path of n points: 2 − 2 cos(π k / n), one of them 0.
        let n = 40;
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => 2.0 - f64::from(u8::from(i == 0 || i == n - 1)),
            1 => -1.0,
            _ => 0.0,
        };
        for (k, value) in check((0..n * n).map(|at| entry(at / n, at % n)).collect(), n).iter().enumerate() {
            let wanted = 2.0 - 2.0 * (std::f64::consts::PI * k as f64 / n as f64).cos();
            assert!((value - wanted).abs() < 1e-13, "{k}: {value} {wanted}");
        }
    }
}
