//! Many minima at once, near a point whose curvature is known.
//!
//! The functions differ little from one another, as resamples of one dataset do, so one inverse
//! curvature serves them all as the initial matrix of L-BFGS (Nocedal, "Updating quasi-Newton
//! matrices with limited storage", 1980): the first step is Newton's with a fixed matrix, and the
//! pairs of each member mend the directions in which its own curvature differs. A step is taken
//! when the slope along it has not turned far upward (the approximate Wolfe condition of Hager and
//! Zhang, 2005, which rounding of the loss cannot spoil), else shortened by the secant rule.

use std::collections::VecDeque;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::Space;

/// Pairs that each member remembers.
pub const QUASI_NEWTON_PAIRS: usize = 10;
/// A member has arrived when the gain that its model promises is this share of the first promise:
/// its distance is then a thousandth of the first distance.
const ARRIVED: f64 = 1e-6;
/// Share of the slope at the start of a step that its end may have upward.
const UPWARD: f64 = 0.9;
/// Share by which the loss may rise over a step: rounding.
const ROUNDING: f64 = 1e-6;

/// Where a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// On its way.
    Running,
    /// At its minimum.
    Arrived,
    /// Its loss or gradient was not finite at the start.
    Lost,
}

#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// Their product.
    product: f64,
}

#[derive(Clone, Debug)]
struct Member {
    point: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    /// Share of the direction that is tried.
    share: f64,
    trial: Vec<f64>,
    pairs: VecDeque<Pair>,
    first_promise: f64,
    arrival: Arrival,
}

/// Minimises a function a member by its own ask and tell: gradients are always needed.
#[derive(Clone, Debug)]
pub struct QuasiNewton<'a> {
    inverse: &'a [f64],
    space: &'a Space,
    members: Vec<Member>,
}

impl<'a> QuasiNewton<'a> {
    /// `members` members that start at the start of `space`, and stay within its bounds. `inverse`
    /// is the inverse curvature (symmetric, positive semidefinite, row-major); coordinates whose
    /// row is 0 never move.
    ///
    /// # Panics
    /// If `inverse` is not the square of the space's dimension long.
    pub fn new(space: &'a Space, inverse: &'a [f64], members: usize) -> Self {
        let size = space.dimension();
        assert_eq!(inverse.len(), size * size);
        let member = Member {
            point: space.start.clone(),
            loss: f64::INFINITY,
            gradient: vec![0.0; size],
            direction: vec![0.0; size],
            share: 1.0,
            trial: space.start.clone(),
            pairs: VecDeque::new(),
            first_promise: f64::NAN,
            arrival: Arrival::Running,
        };
        Self { inverse, space, members: vec![member; members] }
    }

    /// Members that are on their way, ascending.
    pub fn running(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&m| self.members[m].arrival == Arrival::Running).collect()
    }

    /// The points to evaluate, one a running member, one after another.
    pub fn ask(&self) -> Vec<f64> {
        let running = self.members.iter().filter(|member| member.arrival == Arrival::Running);
        running.flat_map(|member| member.trial.iter().copied()).collect()
    }

    /// The answer to [`ask`](Self::ask): losses and gradients of the running members.
    ///
    /// # Panics
    /// If the lengths are not those of the question.
    pub fn tell(&mut self, losses: &[f64], gradients: &[f64]) {
        let size = self.space.dimension();
        let space = self.space;
        let mut running: Vec<&mut Member> =
            self.members.iter_mut().filter(|member| member.arrival == Arrival::Running).collect();
        assert_eq!((losses.len(), gradients.len()), (running.len(), running.len() * size));
        let answers = losses.par_iter().zip(gradients.par_chunks(size.max(1)));
        let open: Vec<Option<(Vec<f64>, Vec<f64>)>> = running
            .par_iter_mut()
            .zip(answers)
            .map(|(member, (&loss, gradient))| {
                member.take(space, loss, gradient).then(|| member.first_loop(space))
            })
            .collect();
        let mut taken: Vec<_> = running
            .into_iter()
            .zip(open)
            .filter_map(|(member, open)| open.map(|open| (member, open)))
            .collect();
        // One product for all members that took their step.
        let vectors = Mat::from_fn(size, taken.len(), |i, m| taken[m].1.0[i]);
        let mut products = Mat::zeros(size, taken.len());
        let inverse = MatRef::from_row_major_slice(self.inverse, size, size);
        matmul(&mut products, Accum::Replace, inverse, &vectors, 1.0, Par::Seq);
        taken.par_iter_mut().enumerate().for_each(|(m, (member, (_, alphas)))| {
            let product = (0..size).map(|i| products[(i, m)]).collect();
            member.second_loop(space, product, alphas);
        });
    }

    /// The point that a member has reached.
    pub fn point(&self, member: usize) -> &[f64] {
        &self.members[member].point
    }

    /// Where a member stands.
    pub fn arrival(&self, member: usize) -> Arrival {
        self.members[member].arrival
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Member {
    /// Takes note of the trial's value: true where it became the point, false where it was
    /// shortened or the member is lost.
    fn take(&mut self, space: &Space, loss: f64, gradient: &[f64]) -> bool {
        let finite = loss.is_finite() && gradient.iter().all(|g| g.is_finite());
        if self.loss == f64::INFINITY {
            if !finite {
                self.arrival = Arrival::Lost;
                return false;
            }
        } else {
            let step: Vec<f64> = self.trial.iter().zip(&self.point).map(|(t, p)| t - p).collect();
            let (before, after) = (dot(&self.gradient, &step), dot(gradient, &step));
            let good = finite
                && before < 0.0
                && after <= -UPWARD * before
                && loss <= self.loss + ROUNDING * self.loss.abs();
            if !good {
                let secant = before / (before - after);
                self.share *= if secant.is_finite() { secant.clamp(0.1, 0.5) } else { 0.1 };
                if self.share < 1e-6 {
                    self.arrival = Arrival::Arrived; // no descent is left that numbers can show
                }
                self.propose(space);
                return false;
            }
            let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
            let product = dot(&step, &change);
            if product > 1e-3 * before.abs() {
                if self.pairs.len() == QUASI_NEWTON_PAIRS {
                    self.pairs.pop_front();
                }
                self.pairs.push_back(Pair { step, change, product });
            }
        }
        self.point.clone_from(&self.trial);
        self.loss = loss;
        self.gradient.copy_from_slice(gradient);
        true
    }

    /// Whether a coordinate is held by its bound.
    fn held(&self, space: &Space, i: usize) -> bool {
        (self.point[i] <= space.lower[i] && self.gradient[i] > 0.0)
            || (self.point[i] >= space.upper[i] && self.gradient[i] < 0.0)
    }

    /// L-BFGS before the initial matrix: the vector to multiply, and each pair's factor.
    fn first_loop(&self, space: &Space) -> (Vec<f64>, Vec<f64>) {
        let free = |i: usize| if self.held(space, i) { 0.0 } else { self.gradient[i] };
        let mut vector: Vec<f64> = (0..self.gradient.len()).map(free).collect();
        let mut alphas = vec![0.0; self.pairs.len()];
        for (alpha, pair) in alphas.iter_mut().zip(&self.pairs).rev() {
            *alpha = dot(&pair.step, &vector) / pair.product;
            vector.iter_mut().zip(&pair.change).for_each(|(v, y)| *v -= *alpha * y);
        }
        (vector, alphas)
    }

    /// L-BFGS after the initial matrix: the direction, what it promises, and the next trial.
    fn second_loop(&mut self, space: &Space, mut vector: Vec<f64>, alphas: &[f64]) {
        for (alpha, pair) in alphas.iter().zip(&self.pairs) {
            let beta = dot(&pair.change, &vector) / pair.product;
            vector.iter_mut().zip(&pair.step).for_each(|(v, s)| *v += (alpha - beta) * s);
        }
        self.direction =
            (0..vector.len()).map(|i| if self.held(space, i) { 0.0 } else { -vector[i] }).collect();
        let promise = -0.5 * dot(&self.gradient, &self.direction);
        if self.first_promise.is_nan() {
            self.first_promise = promise;
        }
        if promise.is_nan() || promise <= ARRIVED * self.first_promise {
            self.arrival = Arrival::Arrived;
        }
        self.share = 1.0;
        self.propose(space);
    }

    fn propose(&mut self, space: &Space) {
        let (point, direction) = (self.point.iter(), &self.direction);
        self.trial = point.zip(direction).map(|(p, d)| p + self.share * d).collect();
        space.clamp(&mut self.trial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ½ Σ a (x − c)² + ¼ (x₀ − c₀)⁴ with its gradient.
    fn function(curvature: &[f64], center: &[f64], x: &[f64]) -> (f64, Vec<f64>) {
        let d: Vec<f64> = x.iter().zip(center).map(|(x, c)| x - c).collect();
        let value = 0.5 * d.iter().zip(curvature).map(|(d, a)| a * d * d).sum::<f64>() + 0.25 * d[0].powi(4);
        let mut gradient: Vec<f64> = d.iter().zip(curvature).map(|(d, a)| a * d).collect();
        gradient[0] += d[0].powi(3);
        (value, gradient)
    }

    fn minimize(space: &Space, curvatures: &[[f64; 4]], centers: &[[f64; 4]]) -> (Vec<Vec<f64>>, usize) {
        // The common curvature: 1 everywhere, the last coordinate has none and never moves.
        let mut inverse = vec![0.0; 16];
        (0..3).for_each(|i| inverse[5 * i] = 1.0);
        let mut method = QuasiNewton::new(space, &inverse, centers.len());
        let mut rounds = 0;
        while !method.running().is_empty() && rounds < 60 {
            let running = method.running();
            let points = method.ask();
            let answers: Vec<(f64, Vec<f64>)> = running
                .iter()
                .zip(points.chunks(4))
                .map(|(&m, x)| function(&curvatures[m], &centers[m], x))
                .collect();
            let losses: Vec<f64> = answers.iter().map(|a| a.0).collect();
            method.tell(&losses, &answers.into_iter().flat_map(|a| a.1).collect::<Vec<_>>());
            rounds += 1;
        }
        ((0..centers.len()).map(|m| method.point(m).to_vec()).collect(), rounds)
    }

    #[test]
    fn members_find_their_own_minima() {
        // The second has curvatures for which fixed Newton steps diverge (7 > 2) or crawl (0.03).
        let curvatures = [[1.0, 1.0, 1.0, 0.0], [3.0, 7.0, 0.03, 0.0], [0.5, 1.5, 1.0, 0.0]];
        let centers = [[0.5, -2.0, 3.0, 9.0], [2.0, -1.0, 4.0, 9.0], [0.0, 0.0, -1.0, 9.0]];
        let (points, rounds) = minimize(&Space::unbounded(&[0.0; 4]), &curvatures, &centers);
        for (point, center) in points.iter().zip(&centers) {
            for i in 0..3 {
                assert!((point[i] - center[i]).abs() < 2e-2, "{point:?} {center:?}");
            }
            assert_eq!(point[3], 0.0);
        }
        assert!(rounds <= 20, "{rounds}");
    }

    #[test]
    fn bounds_hold_and_broken_members_are_lost() {
        let mut space = Space::unbounded(&[0.0; 4]);
        (space.lower[1], space.upper[2]) = (-0.5, 2.0);
        let (points, _) = minimize(&space, &[[1.0, 2.0, 1.0, 0.0]], &[[0.5, -2.0, 3.0, 9.0]]);
        assert_eq!(points[0][1..], [-0.5, 2.0, 0.0]);
        assert!((points[0][0] - 0.5).abs() < 1e-2);
        let space = Space::unbounded(&[0.0]);
        let mut method = QuasiNewton::new(&space, &[1.0], 2);
        method.tell(&[f64::NAN, 1.0], &[1.0, 1.0]);
        assert_eq!((method.arrival(0), method.arrival(1)), (Arrival::Lost, Arrival::Running));
    }
}
