//! Minimizes many similar functions at once, near a point whose curvature is known.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::linalg::{View, multiply, plain_dot as dot};
use super::{Space, box_quadratic};

/// Number of pairs stored per member.
pub const QUASI_NEWTON_PAIRS: usize = 10;
/// A member has converged when the gain predicted by its model falls to this fraction of the first prediction: its
/// distance to the minimum is then a thousandth of the initial distance.
const ARRIVED: f64 = 1e-6;
/// Predictions that fall at least this fast from step to step are trusted to continue falling like that: the last step
/// is then taken without evaluating it.
const STEADY: f64 = 0.1;
/// Maximum upward slope at the end of a step, as a fraction of the downward slope at its start.
const UPWARD: f64 = 0.9;
/// Relative increase of the loss over a step that is tolerated as rounding error.
const ROUNDING: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    Running,
    Arrived,
    Lost,
}

#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    product: f64,
}

#[derive(Clone, Debug)]
struct Member {
    point: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    share: f64,
    trial: Vec<f64>,
    pairs: VecDeque<Pair>,
    /// The gains predicted by the model: the first, and that of the current step.
    first_promise: f64,
    promise: f64,
    arrival: MemberStatus,
}

/// Prior knowledge of the curvature, shared by all members: a symmetric, row-major matrix.
#[derive(Clone, Copy, Debug)]
pub enum SharedModel<'a> {
    /// The inverse, positive semidefinite, for unbounded spaces. Coordinates whose row is 0 never move.
    Inverse(&'a [f64]),
    /// The curvature itself, positive definite on the coordinates with a nonzero diagonal entry; the others never move.
    Curvature(&'a [f64]),
}

/// Minimizes one function per member, with a separate ask/tell interface, because it always needs gradients.
#[derive(Clone, Debug)]
pub struct QuasiNewton<'a> {
    model: SharedModel<'a>,
    space: &'a Space,
    members: Vec<Member>,
}

impl<'a> QuasiNewton<'a> {
    /// Creates `members` members that start at the start of `space` and stay within its bounds.
    pub fn new(space: &'a Space, model: SharedModel<'a>, members: usize) -> Self {
        let size = space.dimension();
        let (SharedModel::Inverse(matrix) | SharedModel::Curvature(matrix)) = model;
        assert_eq!(matrix.len(), size * size);
        assert!(
            !space.is_bounded() || matches!(model, SharedModel::Curvature(_)),
            "bounds need the curvature"
        );
        let member = Member {
            point: space.start.clone(),
            loss: f64::INFINITY,
            gradient: vec![0.0; size],
            direction: vec![0.0; size],
            share: 1.0,
            trial: space.start.clone(),
            pairs: VecDeque::new(),
            first_promise: f64::NAN,
            promise: f64::NAN,
            arrival: MemberStatus::Running,
        };
        Self { model, space, members: vec![member; members] }
    }

    pub fn running(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&m| self.members[m].arrival == MemberStatus::Running).collect()
    }

    /// Returns the points to evaluate, one for each running member, concatenated.
    pub fn ask(&self) -> Vec<f64> {
        let running = self.members.iter().filter(|member| member.arrival == MemberStatus::Running);
        running.flat_map(|member| member.trial.iter().copied()).collect()
    }

    pub fn tell(&mut self, losses: &[f64], gradients: &[f64]) {
        let size = self.space.dimension();
        let space = self.space;
        let mut running: Vec<&mut Member> =
            self.members.iter_mut().filter(|member| member.arrival == MemberStatus::Running).collect();
        assert_eq!((losses.len(), gradients.len()), (running.len(), running.len() * size));
        let answers = losses.par_iter().zip(gradients.par_chunks(size.max(1)));
        let shared = match self.model {
            SharedModel::Inverse(inverse) => inverse,
            SharedModel::Curvature(curvature) => {
                running.par_iter_mut().zip(answers).for_each(|(member, (&loss, gradient))| {
                    if member.take(space, loss, gradient) {
                        let direction = member.step_in_box(space, curvature);
                        member.set_out(space, direction);
                    }
                });
                return;
            }
        };
        let open: Vec<Option<(Vec<f64>, Vec<f64>)>> = running
            .par_iter_mut()
            .zip(answers)
            .map(|(member, (&loss, gradient))| {
                member.take(space, loss, gradient).then(|| member.first_loop())
            })
            .collect();
        let mut taken: Vec<_> = running
            .into_iter()
            .zip(open)
            .filter_map(|(member, open)| open.map(|open| (member, open)))
            .collect();
        // One matrix product for all members whose step was accepted.
        let vectors: Vec<f64> = taken.iter().flat_map(|(_, (vector, _))| vector).copied().collect();
        let mut products = vec![0.0; vectors.len()];
        let vectors = View::new(&vectors, taken.len(), size);
        multiply(1.0, vectors, View::new(shared, size, size), 0.0, &mut products);
        let products = products.par_chunks(size.max(1));
        taken.par_iter_mut().zip(products).for_each(|((member, (_, alphas)), product)| {
            member.second_loop(space, product.to_vec(), alphas);
        });
    }

    pub fn point(&self, member: usize) -> &[f64] {
        &self.members[member].point
    }

    pub fn arrival(&self, member: usize) -> MemberStatus {
        self.members[member].arrival
    }
}

impl Member {
    /// Processes the result of a trial; returns true if the trial became the point, false if the step was shortened or
    /// the member is lost.
    fn take(&mut self, space: &Space, loss: f64, gradient: &[f64]) -> bool {
        let finite = loss.is_finite() && gradient.iter().all(|g| g.is_finite());
        if self.loss == f64::INFINITY {
            if !finite {
                self.arrival = MemberStatus::Lost;
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
                    self.arrival = MemberStatus::Arrived; // no descent left at this precision
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

    /// Runs the first loop of L-BFGS, before the initial matrix; returns the vector to multiply, and the factor of each
    /// pair.
    fn first_loop(&self) -> (Vec<f64>, Vec<f64>) {
        let mut vector = self.gradient.clone();
        let mut alphas = vec![0.0; self.pairs.len()];
        for (alpha, pair) in alphas.iter_mut().zip(&self.pairs).rev() {
            *alpha = dot(&pair.step, &vector) / pair.product;
            vector.iter_mut().zip(&pair.change).for_each(|(v, y)| *v -= *alpha * y);
        }
        (vector, alphas)
    }

    fn second_loop(&mut self, space: &Space, mut vector: Vec<f64>, alphas: &[f64]) {
        for (alpha, pair) in alphas.iter().zip(&self.pairs) {
            let beta = dot(&pair.change, &vector) / pair.product;
            vector.iter_mut().zip(&pair.step).for_each(|(v, s)| *v += (alpha - beta) * s);
        }
        vector.iter_mut().for_each(|v| *v = -*v);
        self.set_out(space, vector);
    }

    /// Returns the step to the minimum of the member's model in the box: the shared curvature, updated by the pairs
    /// (BFGS), on the coordinates that have any curvature.
    fn step_in_box(&self, space: &Space, curvature: &[f64]) -> Vec<f64> {
        let size = self.point.len();
        let moving: Vec<usize> = (0..size).filter(|&i| curvature[i * size + i] > 0.0).collect();
        let pick = |vector: &[f64]| -> Vec<f64> { moving.iter().map(|&i| vector[i]).collect() };
        let n = moving.len();
        // Scaled to a unit diagonal, so that coordinates of any magnitude are treated equally.
        let scale: Vec<f64> = moving.iter().map(|&i| curvature[i * size + i].sqrt().recip()).collect();
        let scaled = |vector: Vec<f64>, by: &dyn Fn(f64) -> f64| -> Vec<f64> {
            vector.iter().zip(&scale).map(|(v, &s)| v * by(s)).collect()
        };
        let mut model: Vec<f64> = Vec::with_capacity(n * n);
        for (&i, si) in moving.iter().zip(&scale) {
            model.extend(moving.iter().zip(&scale).map(|(&j, sj)| curvature[i * size + j] * si * sj));
        }
        for pair in &self.pairs {
            let step = scaled(pick(&pair.step), &|s| 1.0 / s);
            let change = scaled(pick(&pair.change), &|s| s);
            let bent: Vec<f64> = (0..n).map(|i| dot(&model[i * n..][..n], &step)).collect();
            let known = dot(&bent, &step);
            for i in 0..n {
                let row = model[i * n..][..n].iter_mut();
                for (cell, (y, b)) in row.zip(change.iter().zip(&bent)) {
                    *cell += change[i] * y / pair.product - bent[i] * b / known;
                }
            }
        }
        let room = |bounds: &[f64]| -> Vec<f64> {
            let room: Vec<f64> = bounds.iter().zip(&self.point).map(|(bound, p)| bound - p).collect();
            scaled(pick(&room), &|s| 1.0 / s)
        };
        let (low, high) = (room(&space.lower), room(&space.upper));
        let gradient = scaled(pick(&self.gradient), &|s| s);
        let mut direction = vec![0.0; size];
        if let Some(step) = box_quadratic::minimize(&|i, j| model[i * n + j], &gradient, &low, &high) {
            for (k, (&i, step)) in moving.iter().zip(&step).enumerate() {
                // Exactly to the bound, without the rounding error of scaling back and forth.
                direction[i] = match step {
                    step if *step <= low[k] => space.lower[i] - self.point[i],
                    step if *step >= high[k] => space.upper[i] - self.point[i],
                    step => step * scale[k],
                };
            }
        }
        direction
    }

    /// Starts a step along a direction, unless its predicted gain is too small. Where the step is expected to be the
    /// last, because the gain predicted after it would be too small, it is taken without another evaluation.
    fn set_out(&mut self, space: &Space, direction: Vec<f64>) {
        self.direction = direction;
        let promise = -0.5 * dot(&self.gradient, &self.direction);
        if self.first_promise.is_nan() {
            self.first_promise = promise;
        }
        let whole = self.share == 1.0;
        let fall = promise / self.promise;
        self.promise = promise;
        self.share = 1.0;
        self.propose(space);
        let end = ARRIVED * self.first_promise;
        if promise.is_nan() || promise <= end {
            self.arrival = MemberStatus::Arrived;
        } else if whole && fall <= STEADY && fall * promise <= end {
            self.point.clone_from(&self.trial);
            self.arrival = MemberStatus::Arrived;
        }
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

    /// Computes ½ Σ a (x − c)² + ¼ (x₀ − c₀)⁴ with its gradient.
    fn function(curvature: &[f64], center: &[f64], x: &[f64]) -> (f64, Vec<f64>) {
        let d: Vec<f64> = x.iter().zip(center).map(|(x, c)| x - c).collect();
        let value = 0.5 * d.iter().zip(curvature).map(|(d, a)| a * d * d).sum::<f64>() + 0.25 * d[0].powi(4);
        let mut gradient: Vec<f64> = d.iter().zip(curvature).map(|(d, a)| a * d).collect();
        gradient[0] += d[0].powi(3);
        (value, gradient)
    }

    fn minimize(space: &Space, curvatures: &[[f64; 4]], centers: &[[f64; 4]]) -> (Vec<Vec<f64>>, usize) {
        // The shared curvature: 1 everywhere, except for the last coordinate, which has none and never moves.
        let mut matrix = vec![0.0; 16];
        (0..3).for_each(|i| matrix[5 * i] = 1.0);
        let model = match space.is_bounded() {
            true => SharedModel::Curvature(&matrix),
            false => SharedModel::Inverse(&matrix),
        };
        let mut method = QuasiNewton::new(space, model, centers.len());
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
        // The second member has curvatures for which fixed Newton steps diverge (7 > 2) or crawl (0.03).
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
    fn a_step_that_must_be_the_last_is_taken_unseen() {
        let (curvatures, centers) = ([[1.05, 0.97, 1.02, 0.0]], [[0.0, -2.0, 3.0, 9.0]]);
        let mut space = Space::unbounded(&[0.0; 4]);
        for bounded in [false, true] {
            if bounded {
                (space.lower, space.upper) = (vec![-100.0; 4], vec![100.0; 4]);
            }
            let (points, rounds) = minimize(&space, &curvatures, &centers);
            let distance = |i: usize| (points[0][i] - centers[0][i]).abs();
            assert!((0..3).all(|i| distance(i) < 1e-3 * 13f64.sqrt()), "{points:?}");
            assert_eq!(rounds, 2, "the start and the first step are evaluated, the second is not");
        }
    }

    #[test]
    fn coupled_coordinates_are_held_and_let_go() {
        // ½ (x − c)ᵀ A (x − c) with strong coupling; the shared model contains half of the coupling. x₀
        // starts at its lower bound and leaves it, while x₁ ends at its upper bound.
        let a = [[2.0, 1.8, 0.3], [1.8, 2.0, 0.1], [0.3, 0.1, 1.0]];
        let center = [1.0, 3.0, -2.0];
        let known: Vec<f64> = (0..9).map(|i| a[i / 3][i % 3] * if i % 4 == 0 { 1.0 } else { 0.5 }).collect();
        let mut space = Space::unbounded(&[0.0; 3]);
        (space.lower[0], space.upper[1]) = (0.0, 1.0);
        let gradient = |x: &[f64], i: usize| (0..3).map(|j| a[i][j] * (x[j] - center[j])).sum::<f64>();
        let mut method = QuasiNewton::new(&space, SharedModel::Curvature(&known), 1);
        let mut rounds = 0;
        while method.arrival(0) == MemberStatus::Running && rounds < 30 {
            let x = method.ask();
            assert!(x[0] >= 0.0 && x[1] <= 1.0, "{x:?}");
            let g: Vec<f64> = (0..3).map(|i| gradient(&x, i)).collect();
            let loss = 0.5 * (0..3).map(|i| g[i] * (x[i] - center[i])).sum::<f64>();
            method.tell(&[loss], &g);
            rounds += 1;
        }
        assert_eq!(method.arrival(0), MemberStatus::Arrived);
        let x = method.point(0);
        assert!(x[1] == 1.0 && x[0] > 0.1 && gradient(x, 1) < 0.0, "{x:?}");
        assert!(gradient(x, 0).abs() < 0.02 && gradient(x, 2).abs() < 0.02, "{x:?}");
        assert!(rounds <= 12, "{rounds}");
    }

    #[test]
    fn bounds_hold_and_broken_members_are_lost() {
        let mut space = Space::unbounded(&[0.0; 4]);
        (space.lower[1], space.upper[2]) = (-0.5, 2.0);
        let (points, _) = minimize(&space, &[[1.0, 2.0, 1.0, 0.0]], &[[0.5, -2.0, 3.0, 9.0]]);
        assert_eq!(points[0][1..], [-0.5, 2.0, 0.0]);
        assert!((points[0][0] - 0.5).abs() < 1e-2);
        // Distant bounds do not change where members converge, and hardly change when.
        let (curvatures, centers) = ([[3.0, 7.0, 0.03, 0.0]], [[2.0, -1.0, 4.0, 9.0]]);
        (space.lower, space.upper) = (vec![-100.0; 4], vec![100.0; 4]);
        let (points, rounds) = minimize(&space, &curvatures, &centers);
        assert!((0..3).all(|i| (points[0][i] - centers[0][i]).abs() < 2e-2), "{points:?}");
        assert!(rounds <= 20, "{rounds}");
        let space = Space::unbounded(&[0.0]);
        let mut method = QuasiNewton::new(&space, SharedModel::Inverse(&[1.0]), 2);
        method.tell(&[f64::NAN, 1.0], &[1.0, 1.0]);
        assert_eq!((method.arrival(0), method.arrival(1)), (MemberStatus::Lost, MemberStatus::Running));
    }
}
