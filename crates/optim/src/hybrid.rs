//! A few Gauss–Newton steps, then L-BFGS with the last matrix.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::damping::largest_slope;
use super::linalg::{Cholesky, plain_dot as dot};
use super::method::{MethodLimits, MethodSpec};
use super::{
    Best, Evaluations, GaussNewton, GaussNewtonSettings, Optimizer, OptimizerState, Proposal, Space, l2_text,
};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HybridSettings {
    pub gauss_newton: GaussNewtonSettings,
    pub matrices: u32,
    /// Number of last losses of which a step must lower the largest.
    #[serde(default = "last_alone")]
    pub memory: usize,
}

fn last_alone() -> usize {
    1
}

impl Default for HybridSettings {
    fn default() -> Self {
        Self { gauss_newton: GaussNewtonSettings::default(), matrices: 4, memory: 10 }
    }
}

impl HybridSettings {
    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "gn-lbfgs",
        help: "the first steps of gauss-newton, then L-BFGS with its matrix",
        flags: &["damping"],
        uses_matrices: true,
        // Steps of L-BFGS gain unevenly.
        limits: MethodLimits { epochs: 400, improvement: 1e-7, window: 10, patience: Some(30) },
        converged: GaussNewtonSettings::SPEC.converged,
    };

    /// Returns the settings for linear or nonlinear scores: if scores are linear, the matrix hardly changes after the
    /// first steps, and the loss has no jumps.
    pub fn for_scores(linear: bool) -> Self {
        let nonlinear = Self::default();
        if linear { Self { matrices: 2, memory: 1, ..nonlinear } } else { nonlinear }
    }
}

const PAIRS: usize = 20;
/// A step must lower the loss by this fraction of the decrease predicted by the slope at its start (Armijo), compared
/// with the largest of the last losses (Grippo, Lampariello and Lucidi, "A nonmonotone line search technique for
/// Newton's method", 1986).
const SUFFICIENT: f64 = 1e-4;
const ARRIVED: f64 = 1e-11;
/// A step of Gauss–Newton that lowers the loss by less than this share leaves its matrix as it is.
const NEAR: f64 = 3e-3;
/// Share of the loss below which differences are rounding errors of f32.
const RESOLUTION: f64 = 1e-8;
/// Fraction of the largest diagonal entry that is added to every diagonal entry.
const RIDGE: f64 = 1e-10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hybrid {
    #[serde(skip)]
    settings: HybridSettings,
    #[serde(skip)]
    space: Space,
    stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    Steps { method: Box<GaussNewton>, taken: u32 },
    Descent(Box<Descent>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Descent {
    #[serde(skip)]
    matrix: Vec<f64>,
    damping: f64,
    /// Coordinates that move, and the factor of their part of the matrix.
    #[serde(skip)]
    factor: Option<(Vec<bool>, Cholesky)>,
    #[serde(skip)]
    point: Vec<f64>,
    losses: VecDeque<f64>,
    #[serde(skip)]
    best: Vec<f64>,
    best_loss: f64,
    #[serde(skip)]
    gradient: Vec<f64>,
    #[serde(skip)]
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
    #[serde(skip)]
    direction: Vec<f64>,
    share: f64,
    #[serde(skip)]
    trial: Vec<f64>,
    accepted: bool,
    arrived: bool,
}

impl Hybrid {
    pub fn try_new(space: &Space, settings: HybridSettings) -> Result<Self> {
        if settings.matrices == 0 {
            return Err(Error::Usage("0 Gauss-Newton steps: must be 1 or more".to_string()));
        }
        let method = Box::new(GaussNewton::try_new(space, settings.gauss_newton)?);
        Ok(Self { settings, space: space.clone(), stage: Stage::Steps { method, taken: 0 } })
    }
}

impl Descent {
    fn new(space: &Space, matrix: Vec<f64>, damping: f64, best: Best, gradient: Vec<f64>) -> Result<Self> {
        let mut descent = Self {
            matrix,
            damping,
            factor: None,
            trial: best.parameters.clone(),
            direction: vec![0.0; gradient.len()],
            best: best.parameters.clone(),
            best_loss: best.loss,
            losses: VecDeque::from([best.loss]),
            point: best.parameters,
            gradient,
            pairs: Vec::new(),
            share: 1.0,
            accepted: false,
            arrived: false,
        };
        descent.set_out(space)?;
        Ok(descent)
    }

    fn free(&self, space: &Space) -> Vec<bool> {
        let size = self.point.len();
        let free = |i: usize| {
            let blocked = (self.point[i] <= space.lower[i] && self.gradient[i] > 0.0)
                || (self.point[i] >= space.upper[i] && self.gradient[i] < 0.0);
            self.matrix[i * size + i] > 0.0 && !blocked
        };
        (0..size).map(free).collect()
    }

    fn set_out(&mut self, space: &Space) -> Result<()> {
        let free = self.free(space);
        if self.factor.as_ref().is_none_or(|(known, _)| *known != free) {
            let factor = factor(&self.matrix, self.damping, &free)?;
            self.factor = Some((free, factor));
        }
        let (free, factor) = self.factor.as_ref().expect("made above");
        let only_free = |vector: &[f64]| -> Vec<f64> {
            vector.iter().zip(free).map(|(v, &free)| if free { *v } else { 0.0 }).collect()
        };
        let mut vector = only_free(&self.gradient);
        let pairs: Vec<(Vec<f64>, Vec<f64>)> =
            self.pairs.iter().map(|(step, change)| (only_free(step), only_free(change))).collect();
        // On a part of the coordinates a pair may have lost its positive curvature.
        let pairs: Vec<(&Vec<f64>, &Vec<f64>, f64)> = pairs
            .iter()
            .map(|(step, change)| (step, change, dot(step, change)))
            .filter(|(step, change, product)| {
                *product > 1e-12 * (dot(step, step) * dot(change, change)).sqrt()
            })
            .collect();
        let mut alphas = vec![0.0; pairs.len()];
        for (alpha, (step, change, product)) in alphas.iter_mut().zip(&pairs).rev() {
            *alpha = dot(step, &vector) / product;
            vector.iter_mut().zip(*change).for_each(|(v, y)| *v -= *alpha * y);
        }
        let places: Vec<usize> = (0..free.len()).filter(|&i| free[i]).collect();
        let mut solved: Vec<f64> = places.iter().map(|&at| vector[at]).collect();
        factor.solve(&mut solved);
        vector.fill(0.0);
        places.iter().zip(solved).for_each(|(&at, value)| vector[at] = value);
        for (alpha, (step, change, product)) in alphas.iter().zip(&pairs) {
            let beta = dot(change, &vector) / product;
            vector.iter_mut().zip(*step).for_each(|(v, s)| *v += (alpha - beta) * s);
        }
        vector.iter_mut().for_each(|v| *v = -*v);
        let slope = dot(&vector, &self.gradient);
        if !(slope.is_finite() && vector.iter().all(|v| v.is_finite())) {
            return Err(Error::Numeric("L-BFGS: the direction is not finite".to_string()));
        }
        self.arrived = -0.5 * slope <= ARRIVED * self.best_loss.abs();
        self.direction = vector;
        self.share = 1.0;
        self.propose(space);
        Ok(())
    }

    fn propose(&mut self, space: &Space) {
        let point = self.point.iter().zip(&self.direction);
        self.trial = point.map(|(p, d)| p + self.share * d).collect();
        space.clamp(&mut self.trial);
    }

    fn tell(&mut self, space: &Space, memory: usize, loss: f64, gradient: &[f64]) -> Result<()> {
        let step: Vec<f64> = self.trial.iter().zip(&self.point).map(|(t, p)| t - p).collect();
        let promised = dot(&self.gradient, &step);
        let finite = loss.is_finite() && gradient.iter().all(|g| g.is_finite());
        let highest = self.losses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let last = *self.losses.back().expect("never empty");
        self.accepted = finite && promised < 0.0 && loss <= highest + SUFFICIENT * promised;
        if !self.accepted {
            // The minimum of the parabola through both losses and the slope at the start.
            let rise = loss - last - promised;
            let parabola = if finite && rise > 0.0 { -0.5 * promised / rise } else { 0.1 };
            self.share *= parabola.clamp(0.1, 0.5);
            if self.share < 1e-7 || promised >= -RESOLUTION * last.abs() {
                if self.pairs.is_empty() {
                    // No descent is left at this precision, or a kink blocks it.
                    self.arrived = true
                } else {
                    self.pairs.clear();
                    return self.set_out(space);
                }
            }
            self.propose(space);
            return Ok(());
        }
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let product = dot(&step, &change);
        if product > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
            if self.pairs.len() == PAIRS {
                self.pairs.remove(0);
            }
            self.pairs.push((step, change));
        }
        self.point.clone_from(&self.trial);
        if loss < self.best_loss {
            self.best.clone_from(&self.point);
            self.best_loss = loss;
        }
        self.losses.push_back(loss);
        if self.losses.len() > memory.max(1) {
            self.losses.pop_front();
        }
        self.gradient = gradient.to_vec();
        self.set_out(space)
    }
}

fn factor(matrix: &[f64], damping: f64, free: &[bool]) -> Result<Cholesky> {
    let size = free.len();
    let places: Vec<usize> = (0..size).filter(|&i| free[i]).collect();
    let largest = (0..size).map(|i| matrix[i * size + i]).fold(0.0, f64::max);
    let mut damping = damping;
    loop {
        let entry = |i: usize, j: usize| {
            let value = matrix[places[i] * size + places[j]];
            if i == j { value * (1.0 + damping) + RIDGE * largest } else { value }
        };
        match Cholesky::new(places.len(), entry) {
            Some(factor) => return Ok(factor),
            None if damping < 1e6 => damping = (10.0 * damping).max(1e-8),
            None => return Err(Error::Numeric("L-BFGS: the matrix is not positive definite".to_string())),
        }
    }
}

impl Optimizer for Hybrid {
    fn ask(&mut self) -> Proposal {
        match &mut self.stage {
            Stage::Steps { method, .. } => method.ask(),
            Stage::Descent(descent) => Proposal {
                parameters: descent.trial.clone(),
                members: vec![0],
                gradients: true,
                curvature: false,
            },
        }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        match &mut self.stage {
            Stage::Steps { method, taken } => {
                let before = method.best().loss;
                method.tell(evaluations)?;
                *taken += u32::from(method.epoch_done());
                let after = method.best().loss;
                // The first epoch is the start.
                let near = *taken > self.settings.matrices || before - after < NEAR * after;
                let over = (method.epoch_done() && near) || method.converged();
                if over && let Some((matrix, damping, gradient)) = method.take_model() {
                    let best = method.best();
                    let descent = Descent::new(&self.space, matrix, damping, best, gradient)?;
                    self.stage = Stage::Descent(Box::new(Descent { accepted: true, ..descent }));
                }
                Ok(())
            }
            Stage::Descent(descent) => {
                let memory = self.settings.memory;
                descent.tell(&self.space, memory, evaluations.losses[0], &evaluations.gradients)
            }
        }
    }

    fn best(&self) -> Best {
        match &self.stage {
            Stage::Steps { method, .. } => method.best(),
            Stage::Descent(descent) => {
                Best { member: 0, parameters: descent.best.clone(), loss: descent.best_loss }
            }
        }
    }

    fn gradient_norm(&self) -> Option<f64> {
        match &self.stage {
            Stage::Steps { method, .. } => method.gradient_norm(),
            Stage::Descent(descent) => largest_slope(&descent.gradient),
        }
    }

    fn epoch_done(&self) -> bool {
        match &self.stage {
            Stage::Steps { method, .. } => method.epoch_done(),
            Stage::Descent(descent) => descent.accepted,
        }
    }

    fn converged(&self) -> bool {
        match &self.stage {
            Stage::Steps { method, .. } => method.converged(),
            Stage::Descent(descent) => descent.arrived,
        }
    }

    fn save(&self) -> OptimizerState {
        match &self.stage {
            Stage::Steps { method, .. } => OptimizerState::new("hybrid", self, method.vectors()),
            Stage::Descent(descent) => {
                let (steps, changes): (Vec<_>, Vec<_>) = descent.pairs.iter().cloned().unzip();
                let vectors: [(&str, &[f64]); 8] = [
                    ("matrix", &descent.matrix),
                    ("point", &descent.point),
                    ("best", &descent.best),
                    ("gradient", &descent.gradient),
                    ("direction", &descent.direction),
                    ("trial", &descent.trial),
                    ("steps", &steps.concat()),
                    ("changes", &changes.concat()),
                ];
                OptimizerState::new("hybrid", self, vectors)
            }
        }
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let saved: Self = state.scalars("hybrid")?;
        let saved = match saved.stage {
            Stage::Steps { method: saved, taken } => {
                let mut method = Box::new(GaussNewton::try_new(&self.space, self.settings.gauss_newton)?);
                method.take_over(*saved, &mut state)?;
                self.stage = Stage::Steps { method, taken };
                return Ok(());
            }
            Stage::Descent(saved) => saved,
        };
        let size = self.space.dimension();
        let numbers = state.vectors.get("steps").map_or(0, Vec::len);
        let pairs = (numbers / size.max(1)).min(PAIRS);
        let (steps, changes) = (state.take("steps", pairs * size)?, state.take("changes", pairs * size)?);
        let both = steps.chunks(size.max(1)).zip(changes.chunks(size.max(1)));
        let mut descent = Descent {
            matrix: state.take("matrix", size * size)?,
            point: state.take("point", size)?,
            best: state.take("best", size)?,
            gradient: state.take("gradient", size)?,
            pairs: both.map(|(step, change)| (step.to_vec(), change.to_vec())).collect(),
            direction: state.take("direction", size)?,
            trial: state.take("trial", size)?,
            ..*saved
        };
        let free = descent.free(&self.space);
        descent.factor = Some((free.clone(), factor(&descent.matrix, descent.damping, &free)?));
        self.stage = Stage::Descent(Box::new(descent));
        Ok(())
    }

    fn describe(&self, _member: usize, l2: f64) -> String {
        let GaussNewtonSettings { damping } = self.settings.gauss_newton;
        format!(
            "gauss-newton, {} steps, then L-BFGS with its matrix ({}damping {damping})",
            self.settings.matrices,
            l2_text(l2)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 3;

    /// Residuals of a curved least-squares problem: Σ r², r = (10 (y − x²), 1 − x, z² / 4), with the last coordinate
    /// beyond its minimum where it is bounded.
    fn curved(x: &[f64]) -> Evaluations {
        let residuals = [10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0], 0.25 * x[2] * x[2] + 0.3 * x[2]];
        let rows = [[-20.0 * x[0], 10.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.5 * x[2] + 0.3]];
        let gradients = (0..SIZE).map(|i| (0..3).map(|r| 2.0 * residuals[r] * rows[r][i]).sum()).collect();
        let cell = |i: usize, j: usize| (0..3).map(|r| 2.0 * rows[r][i] * rows[r][j]).sum();
        let curvatures = (0..SIZE).flat_map(|i| (0..SIZE).map(move |j| cell(i, j))).collect();
        Evaluations {
            losses: vec![residuals.iter().map(|r| r * r).sum()],
            gradients,
            curvatures,
            positions: 1,
            ..Evaluations::default()
        }
    }

    fn minimize(space: &Space, matrices: u32) -> (Vec<f64>, usize, usize) {
        minimize_of(curved, space, matrices)
    }

    fn minimize_of(
        problem: impl Fn(&[f64]) -> Evaluations,
        space: &Space,
        matrices: u32,
    ) -> (Vec<f64>, usize, usize) {
        let settings = HybridSettings { matrices, ..HybridSettings::default() };
        let mut method = Hybrid::try_new(space, settings).unwrap();
        let (mut used, mut gradients) = (0, 0);
        while !method.converged() && gradients < 400 {
            let proposal = method.ask();
            assert_eq!(proposal, method.ask(), "asking twice gives the same");
            used += usize::from(proposal.curvature);
            gradients += usize::from(proposal.gradients);
            // A restored run continues identically.
            let mut other = Hybrid::try_new(space, settings).unwrap();
            other.restore(method.save()).unwrap();
            let answer = problem(&proposal.parameters);
            method.tell(&answer).unwrap();
            other.tell(&answer).unwrap();
            assert_eq!((method.save(), method.ask()), (other.save(), other.ask()));
        }
        (method.best().parameters, used, gradients)
    }

    #[test]
    fn a_bent_valley_is_followed_with_few_matrices() {
        let (best, matrices, _) = minimize(&Space::unbounded(&[-1.2, 1.0, 2.0]), 2);
        assert!((best[0] - 1.0).abs() < 1e-4 && (best[1] - 1.0).abs() < 2e-4, "{best:?}");
        assert_eq!(matrices, 2);
    }

    #[test]
    fn bounds_hold_and_the_rest_is_optimal() {
        let mut space = Space::unbounded(&[-1.2, 1.0, 2.0]);
        (space.upper[0], space.lower[2]) = (0.5, 0.75);
        let (best, ..) = minimize(&space, 2);
        assert_eq!((best[0], best[2]), (0.5, 0.75));
        assert!((best[1] - 0.25).abs() < 1e-6, "{best:?}");
    }

    #[test]
    fn jumps_are_passed_and_the_best_point_is_kept() {
        // Where x is 0, its part of the loss is 1 and still falls.
        let jump = |height: f64| {
            let problem = |x: &[f64]| {
                let mut answer = curved(x);
                answer.losses[0] += if x[0] > 0.0 { height } else { 0.0 };
                answer
            };
            minimize_of(problem, &Space::unbounded(&[-1.2, 1.0, 2.0]), 2).0
        };
        let (low, high) = (jump(0.8), jump(1.5));
        assert!((low[0] - 1.0).abs() < 1e-4 && (low[1] - 1.0).abs() < 2e-4, "{low:?}");
        assert!(high[0] <= 0.0 && curved(&high).losses[0] < 1.5, "{high:?}");
    }
}
