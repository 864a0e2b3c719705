use serde::{Deserialize, Serialize};

use super::damping::{Damping, largest_slope};
use super::linalg::Cholesky;
use super::method::{MethodFlags, MethodLimits, MethodSpec};
use super::state::or_infinite;
use super::{Best, Evaluations, Optimizer, OptimizerState, Proposal, Space, box_quadratic, l2_text};
use gputexel_io::{Advice, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussNewtonSettings {
    /// Initial μ, relative to the diagonal.
    pub damping: f64,
}

impl Default for GaussNewtonSettings {
    fn default() -> Self {
        Self { damping: 1e-4 }
    }
}

impl GaussNewtonSettings {
    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "gauss-newton",
        help: "",
        flags: &["damping"],
        uses_matrices: true,
        limits: MethodLimits { epochs: 50, improvement: 1e-8, window: 1, patience: Some(5) },
        converged: "no step promises a lower loss beyond rounding",
    };

    pub(crate) fn from_flags(flags: &MethodFlags) -> Self {
        Self { damping: flags.damping.unwrap_or(Self::default().damping) }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        match self.damping.is_finite() && self.damping > 0.0 {
            true => Ok(()),
            false => Err(Error::Usage(format!("damping {}: must be a positive number", self.damping))),
        }
    }
}

/// Fraction of the largest diagonal entry that is added to every diagonal entry.
const RIDGE: f64 = 1e-12;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Trial,
    Matrix,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GaussNewton {
    #[serde(skip)]
    settings: GaussNewtonSettings,
    #[serde(skip)]
    bounds: Option<Space>,
    stage: Stage,
    /// The accepted point; its loss is infinite before the first answer.
    #[serde(skip)]
    point: Vec<f64>,
    #[serde(deserialize_with = "or_infinite")]
    loss: f64,
    #[serde(skip)]
    gradient: Vec<f64>,
    /// Matrix at the accepted point, row-major; empty until it is known.
    #[serde(skip)]
    matrix: Vec<f64>,
    #[serde(skip)]
    trial: Vec<f64>,
    promised: f64,
    damping: Damping,
    accepted: bool,
    exhausted: bool,
}

impl GaussNewton {
    /// Returns true if the next evaluation replaces the matrix, so that the current one is no longer needed.
    pub fn needs_curvature(&self) -> bool {
        self.stage == Stage::Matrix
    }

    /// Takes the last matrix, the damping and the gradient at the accepted point, for a method that continues from it;
    /// `None` before there is a matrix.
    pub fn take_model(&mut self) -> Option<(Vec<f64>, f64, Vec<f64>)> {
        let known = !self.matrix.is_empty();
        known.then(|| (std::mem::take(&mut self.matrix), self.damping.value, self.gradient.clone()))
    }

    pub(crate) fn vectors(&self) -> [(&str, &[f64]); 4] {
        [
            ("point", &self.point),
            ("trial", &self.trial),
            ("gradient", &self.gradient),
            ("matrix", &self.matrix),
        ]
    }

    pub(crate) fn take_over(&mut self, scalars: Self, state: &mut OptimizerState) -> Result<()> {
        let size = self.point.len();
        *self = Self {
            settings: self.settings,
            bounds: self.bounds.take(),
            point: state.take("point", size)?,
            trial: state.take("trial", size)?,
            gradient: state.take_known("gradient", size, false)?,
            matrix: state.take_known("matrix", size * size, false)?,
            ..scalars
        };
        Ok(())
    }

    pub fn try_new(space: &Space, settings: GaussNewtonSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self {
            settings,
            stage: Stage::Trial,
            point: space.start.clone(),
            bounds: space.is_bounded().then(|| space.clone()),
            loss: f64::INFINITY,
            gradient: Vec::new(),
            matrix: Vec::new(),
            trial: space.start.clone(),
            promised: 0.0,
            damping: Damping::new(settings.damping),
            accepted: false,
            exhausted: false,
        })
    }

    /// Solves for the next trial point, raising the damping until the matrix is positive definite.
    fn propose(&mut self) -> Result<()> {
        let size = self.point.len();
        let diagonal: Vec<f64> = (0..size).map(|i| self.matrix[i * size + i]).collect();
        let ridge = RIDGE * diagonal.iter().copied().fold(0.0, f64::max);
        if ridge == 0.0 {
            self.exhausted = true; // no position has any feature
            return Ok(());
        }
        loop {
            let damped = |i: usize, j: usize| {
                let value = self.matrix[i * size + j];
                match i == j {
                    // A parameter without data: its equation becomes δ = 0.
                    true if value == 0.0 => 1.0,
                    true => value * (1.0 + self.damping.value) + ridge,
                    false => value,
                }
            };
            let step = match &self.bounds {
                None => solve(&damped, &self.gradient),
                Some(space) => {
                    let room = |bounds: &[f64]| -> Vec<f64> {
                        bounds.iter().zip(&self.point).map(|(bound, value)| bound - value).collect()
                    };
                    box_quadratic::minimize(&damped, &self.gradient, &room(&space.lower), &room(&space.upper))
                }
            };
            match step {
                Some(step) => {
                    // Gain predicted by the undamped model: −gᵀ δ − ½ δᵀ H δ, which for an unbounded step
                    // equals ½ δᵀ (μ D δ − g).
                    self.promised = match self.bounds {
                        None => (0..size)
                            .map(|i| {
                                0.5 * step[i]
                                    * ((self.damping.value * diagonal[i] + ridge) * step[i]
                                        - self.gradient[i])
                            })
                            .sum(),
                        Some(_) => (0..size)
                            .map(|i| {
                                let row = &self.matrix[i * size..][..size];
                                let product: f64 = row.iter().zip(&step).map(|(h, s)| h * s).sum();
                                -step[i] * (self.gradient[i] + 0.5 * product)
                            })
                            .sum(),
                    };
                    self.trial = (0..size).map(|i| self.point[i] + step[i]).collect();
                    if let Some(space) = &self.bounds {
                        space.clamp(&mut self.trial); // rounding may have overshot a bound
                    }
                    if self.trial.iter().all(|value| value.is_finite()) {
                        return Ok(());
                    }
                    if self.damping.is_most() {
                        return Err(Error::Numeric("Gauss-Newton: the step is not finite".to_string()));
                    }
                }
                None if self.damping.is_most() => {
                    let advice = Advice::default().text("try ").setting("l2", "").text(" or ");
                    let reason = "Gauss-Newton: the matrix is not positive definite".to_string();
                    return Err(Error::Numeric(reason).advise(advice.setting("optimizer", "adam")));
                }
                None => {}
            }
            self.damping.raise();
        }
    }
}

/// Solves A δ = −g for δ by Cholesky decomposition; `None` if A is not positive definite.
fn solve(matrix: &(dyn Fn(usize, usize) -> f64 + Sync), gradient: &[f64]) -> Option<Vec<f64>> {
    let factor = Cholesky::new(gradient.len(), matrix)?;
    let mut step: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    factor.solve(&mut step);
    Some(step)
}

impl Optimizer for GaussNewton {
    fn ask(&mut self) -> Proposal {
        let (parameters, matrix) = match self.stage {
            Stage::Trial => (self.trial.clone(), false),
            Stage::Matrix => (self.point.clone(), true),
        };
        Proposal { parameters, members: vec![0], gradients: !matrix, curvature: matrix }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        if self.stage == Stage::Matrix {
            self.matrix.clone_from(&evaluations.curvatures);
            if self.matrix.iter().any(|value| !value.is_finite()) {
                return Err(Error::Numeric("Gauss-Newton: the matrix is not finite".to_string()));
            }
            self.stage = Stage::Trial;
            self.accepted = false;
            return self.propose();
        }
        let loss = evaluations.losses[0];
        self.accepted = loss < self.loss;
        if self.accepted {
            if self.loss.is_finite() {
                self.damping.ease(self.loss - loss, self.promised);
            }
            self.loss = loss;
            self.gradient.clone_from(&evaluations.gradients);
            self.point.clone_from(&self.trial);
            self.stage = Stage::Matrix;
            return Ok(());
        }
        if !self.loss.is_finite() {
            return Err(Error::Numeric(format!("Gauss-Newton: the loss at the start is {loss}")));
        }
        // If the predicted gain is below the resolution of the loss, the minimum has been reached.
        self.damping.raise();
        if self.promised < 1e-9 * self.loss || self.damping.is_beyond() {
            self.exhausted = true;
            return Ok(());
        }
        self.propose()
    }

    fn best(&self) -> Best {
        Best { member: 0, parameters: self.point.clone(), loss: self.loss }
    }

    fn gradient_norm(&self) -> Option<f64> {
        largest_slope(&self.gradient)
    }

    fn epoch_done(&self) -> bool {
        self.stage == Stage::Matrix && self.accepted
    }

    fn converged(&self) -> bool {
        self.exhausted
    }

    fn save(&self) -> OptimizerState {
        OptimizerState::new("gauss-newton", self, self.vectors())
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        self.take_over(state.scalars("gauss-newton")?, &mut state)
    }

    fn describe(&self, _member: usize, l2: f64) -> String {
        format!("gauss-newton ({}damping {})", l2_text(l2), self.settings.damping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes ½ (x − c)ᵀ A (x − c) with A = diag(1, 4) and a third coordinate without effect.
    fn quadratic(x: &[f64]) -> Evaluations {
        let d = [x[0] - 3.0, x[1] + 1.0];
        Evaluations {
            losses: vec![0.5 * (d[0] * d[0] + 4.0 * d[1] * d[1])],
            gradients: vec![d[0], 4.0 * d[1], 0.0],
            curvatures: vec![1.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0],
            positions: 1,
            ..Evaluations::default()
        }
    }

    #[test]
    fn a_quadratic_is_solved_and_a_dead_row_stays() {
        let mut method =
            GaussNewton::try_new(&Space::unbounded(&[100.0, -50.0, 7.0]), GaussNewtonSettings::default())
                .unwrap();
        for _ in 0..40 {
            if method.converged() {
                break;
            }
            let proposal = method.ask();
            assert_eq!(proposal, method.ask(), "asking twice gives the same");
            method.tell(&quadratic(&proposal.parameters)).unwrap();
        }
        let best = method.best();
        assert!(
            (best.parameters[0] - 3.0).abs() < 1e-6 && (best.parameters[1] + 1.0).abs() < 1e-6,
            "{best:?}"
        );
        assert_eq!(best.parameters[2], 7.0);
    }

    #[test]
    fn bounds_hold_and_the_rest_is_optimal() {
        let mut space = Space::unbounded(&[1.0, -5.0, 7.0]);
        (space.upper[0], space.lower[1]) = (2.0, -6.0);
        let mut method = GaussNewton::try_new(&space, GaussNewtonSettings::default()).unwrap();
        for _ in 0..60 {
            if method.converged() {
                break;
            }
            let proposal = method.ask();
            method.tell(&quadratic(&proposal.parameters)).unwrap();
        }
        let best = method.best().parameters;
        assert_eq!((best[0], best[2]), (2.0, 7.0));
        assert!((best[1] + 1.0).abs() < 1e-6, "{best:?}");
    }

    #[test]
    fn a_loss_that_is_not_finite_is_an_error() {
        let mut method =
            GaussNewton::try_new(&Space::unbounded(&[1.0]), GaussNewtonSettings::default()).unwrap();
        let answer = Evaluations { losses: vec![f64::NAN], gradients: vec![0.0], ..Evaluations::default() };
        assert!(method.tell(&answer).is_err());
    }
}
