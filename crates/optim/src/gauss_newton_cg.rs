//! Gauss–Newton by conjugate gradients: for so many parameters that their matrix does not fit.

use serde::{Deserialize, Serialize};

use super::block_preconditioner::BlockPreconditioner;
use super::damping::{Damping, largest_slope};
use super::description::l2_text;
use super::linalg::plain_dot as dot;
use super::method::{Method, MethodLimits, MethodSpec};
use super::state::or_infinite;
use super::{
    Best, Evaluations, GaussNewtonSettings, Optimizer, OptimizerState, ProductAnswer, ProductProposal,
    Proposal, Space,
};
use gputexel_io::{Advice, Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GaussNewtonCgSettings(pub GaussNewtonSettings);

impl GaussNewtonCgSettings {
    pub(crate) const SPEC: MethodSpec = MethodSpec {
        name: "gn-cg",
        help: "gauss-newton by conjugate gradients, without a matrix; products are computed on the CPU",
        flags: &["damping"],
        uses_matrices: true,
        limits: MethodLimits { epochs: 100, improvement: 1e-8, window: 3, patience: Some(10) },
        converged: GaussNewtonSettings::SPEC.converged,
    };
}

impl Method for GaussNewtonCgSettings {
    fn spec(&self) -> &'static MethodSpec {
        &Self::SPEC
    }

    fn summary(&self) -> Option<String> {
        Some("gauss-newton by conjugate gradients".to_string())
    }

    fn build(&self, space: &Space, _epochs: u64) -> Result<Box<dyn Optimizer>> {
        Ok(Box::new(GaussNewtonCg::try_new(space, self.0)?))
    }
}

/// Largest forcing term: the share of the residual, in the preconditioner's norm, that may be left. H lacks part of the
/// second derivatives of the losses, so that even exact steps leave about a tenth of the gradient.
const MAX_FORCING: f64 = 0.1;
const MIN_FORCING: f64 = 0.03;
/// Maximum number of products per step.
const MAX_PRODUCTS: u64 = 400;
const ANCHORS: u32 = 3;
/// Relative differences of losses below this are noise: many more parameters than usual are summed in f32.
const RESOLUTION: f64 = 1e-8;
const ARRIVED: f64 = 1e-10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    Trial,
    /// Waiting for the blocks, to solve for a step with them.
    Blocks,
    Solve,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GaussNewtonCg {
    #[serde(skip)]
    settings: GaussNewtonSettings,
    #[serde(skip)]
    space: Space,
    stage: Stage,
    /// The accepted point; its loss is infinite before the first answer.
    #[serde(skip)]
    point: Vec<f64>,
    #[serde(deserialize_with = "or_infinite")]
    loss: f64,
    #[serde(skip)]
    gradient: Vec<f64>,
    /// Point where the blocks were computed, and how often they have been computed; the blocks themselves, unless the
    /// run has just been resumed.
    #[serde(skip)]
    anchor: Vec<f64>,
    anchors: u32,
    block_damping: f64,
    #[serde(skip)]
    blocks: Option<BlockPreconditioner>,
    #[serde(skip)]
    trial: Vec<f64>,
    promised: f64,
    damping: Damping,
    accepted: bool,
    exhausted: bool,
    /// True if the step is the first from its point.
    is_new: bool,
    /// Norm of the gradient, in the preconditioner's norm, at the last point for which a step was solved.
    last_norm: Option<f64>,
    forcing: f64,
    solve: Solve,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Solve {
    #[serde(skip)]
    step: Vec<f64>,
    #[serde(skip)]
    residual: Vec<f64>,
    #[serde(skip)]
    direction: Vec<f64>,
    rho: f64,
    first: f64,
    products: u64,
}

impl GaussNewtonCg {
    pub fn try_new(space: &Space, settings: GaussNewtonSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self {
            settings,
            space: space.clone(),
            stage: Stage::Trial,
            point: space.start.clone(),
            loss: f64::INFINITY,
            gradient: Vec::new(),
            anchor: Vec::new(),
            anchors: 0,
            block_damping: 0.0,
            blocks: None,
            trial: space.start.clone(),
            promised: 0.0,
            damping: Damping::new(settings.damping),
            accepted: false,
            exhausted: false,
            is_new: true,
            last_norm: None,
            forcing: MAX_FORCING,
            solve: Solve::default(),
        })
    }

    fn system(&self) -> (Vec<bool>, Vec<f64>) {
        let diagonal = self.blocks.as_ref().map_or(&[][..], |blocks| &blocks.diagonal);
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        let free = |i: usize| {
            let blocked = (self.point[i] <= self.space.lower[i] && self.gradient[i] > 0.0)
                || (self.point[i] >= self.space.upper[i] && self.gradient[i] < 0.0);
            // A coordinate without data has no equation.
            diagonal[i] > 0.0 && !blocked
        };
        let added = diagonal.iter().map(|value| self.damping.value * (value + largest));
        ((0..diagonal.len()).map(free).collect(), added.collect())
    }

    fn precondition(&self, residual: &[f64], free: &[bool]) -> Vec<f64> {
        let mut out = self.blocks.as_ref().map_or_else(Vec::new, |blocks| blocks.solve(residual));
        out.iter_mut().zip(free).filter(|(_, free)| !**free).for_each(|(value, _)| *value = 0.0);
        out
    }

    /// Begins to solve for a step, from a new point or with more damping, or waits for the blocks.
    fn set_out(&mut self, is_new: bool) {
        self.is_new = is_new;
        if self.blocks.is_none() {
            self.stage = Stage::Blocks;
            return;
        }
        self.stage = Stage::Solve;
        let (free, _) = self.system();
        let residual = self.gradient.iter().zip(&free).map(|(slope, &free)| if free { -slope } else { 0.0 });
        let residual: Vec<f64> = residual.collect();
        let direction = self.precondition(&residual, &free);
        let rho = dot(&residual, &direction);
        if rho <= 0.0 {
            self.exhausted = true; // no coordinate has a slope that it could follow
            return;
        }
        let step = vec![0.0; residual.len()];
        self.solve = Solve { step, residual, direction, rho, first: rho, products: 0 };
        if is_new {
            self.choose_forcing();
        }
    }

    fn choose_forcing(&mut self) {
        let norm = self.solve.first.sqrt();
        if let Some(last) = self.last_norm.filter(|&last| last > 0.0) {
            self.forcing = (0.9 * (norm / last).powi(2)).clamp(MIN_FORCING, MAX_FORCING);
        }
        self.last_norm = Some(norm);
    }

    fn add_product(&mut self, product: &[f64]) -> Result<()> {
        let (free, added) = self.system();
        let damped: Vec<f64> = (0..product.len())
            .map(|i| if free[i] { product[i] + added[i] * self.solve.direction[i] } else { 0.0 })
            .collect();
        let bend = dot(&self.solve.direction, &damped);
        if !bend.is_finite() {
            return Err(Error::Numeric("Gauss-Newton: a product is not finite".to_string()));
        }
        if bend <= 0.0 {
            // Rounding has made the matrix indefinite; a step found earlier is still a descent direction.
            return if self.solve.products > 0 { self.propose() } else { self.damp_more() };
        }
        let alpha = self.solve.rho / bend;
        let solve = &mut self.solve;
        solve.step.iter_mut().zip(&solve.direction).for_each(|(step, d)| *step += alpha * d);
        solve.residual.iter_mut().zip(&damped).for_each(|(r, product)| *r -= alpha * product);
        solve.products += 1;
        let preconditioned = self.precondition(&self.solve.residual, &free);
        let rho = dot(&self.solve.residual, &preconditioned);
        let solve = &mut self.solve;
        let beta = rho / solve.rho;
        solve.rho = rho;
        let small = rho <= self.forcing * self.forcing * solve.first;
        if small || solve.products >= MAX_PRODUCTS {
            return self.propose();
        }
        solve.direction.iter_mut().zip(preconditioned).for_each(|(d, z)| *d = z + beta * *d);
        Ok(())
    }

    fn propose(&mut self) -> Result<()> {
        let (_, added) = self.system();
        let solve = &self.solve;
        self.trial = self.point.iter().zip(&solve.step).map(|(point, step)| point + step).collect();
        let aim = self.trial.clone();
        self.space.clamp(&mut self.trial);
        self.promised = match aim == self.trial {
            // Gain predicted by the undamped model, −gᵀ δ − ½ δᵀ H δ, where H δ follows from the residual.
            true => (0..aim.len())
                .filter(|&i| solve.step[i] != 0.0)
                .map(|i| {
                    let (step, gradient) = (solve.step[i], self.gradient[i]);
                    let product = -gradient - solve.residual[i] - added[i] * step;
                    -step * (gradient + 0.5 * product)
                })
                .sum(),
            // Where bounds cut the step short, its share of the gain of a whole step.
            false => {
                let moved = self.trial.iter().zip(&self.point).map(|(trial, point)| trial - point);
                moved.zip(&self.gradient).map(|(step, slope)| -0.5 * step * slope).sum()
            }
        };
        if !self.trial.iter().all(|value| value.is_finite()) || self.promised <= 0.0 {
            return self.damp_more();
        }
        self.stage = Stage::Trial;
        self.exhausted = self.promised <= ARRIVED * self.loss.abs();
        Ok(())
    }

    fn damp_more(&mut self) -> Result<()> {
        if self.damping.is_most() {
            let advice = Advice::default().text("try ").setting("l2", "").text(" or ");
            let reason = "Gauss-Newton: no step leads down, however short".to_string();
            return Err(Error::Numeric(reason).advise(advice.setting("optimizer", "adam")));
        }
        self.damping.raise();
        self.set_out(false);
        Ok(())
    }
}

impl Optimizer for GaussNewtonCg {
    fn ask(&mut self) -> Proposal {
        let parameters = if self.stage == Stage::Trial { &self.trial } else { &self.point };
        Proposal { parameters: parameters.clone(), members: vec![0], gradients: true, curvature: false }
    }

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()> {
        let loss = evaluations.losses[0];
        self.accepted = loss < self.loss;
        if self.accepted {
            if self.loss.is_finite() {
                self.damping.ease(self.loss - loss, self.promised);
            }
            self.loss = loss;
            self.gradient.clone_from(&evaluations.gradients);
            self.point.clone_from(&self.trial);
            if self.anchors < ANCHORS {
                self.anchor.clone_from(&self.point);
                self.block_damping = self.damping.value;
                self.anchors += 1;
                self.blocks = None;
            }
            self.set_out(true);
            return Ok(());
        }
        if !self.loss.is_finite() {
            return Err(Error::Numeric(format!("Gauss-Newton: the loss at the start is {loss}")));
        }
        // If the predicted gain is below the resolution of losses in f32, the minimum has been reached.
        if self.promised < RESOLUTION * self.loss || self.damping.is_beyond() {
            self.exhausted = true;
            return Ok(());
        }
        self.damp_more()
    }

    fn ask_products(&mut self) -> Option<ProductProposal> {
        // A run that has been resumed needs its blocks again, whatever its stage.
        if !self.exhausted && self.blocks.is_none() && self.anchors > 0 {
            let parameters = self.anchor.clone();
            return Some(ProductProposal { parameters, vectors: Vec::new(), blocks: true });
        }
        let solves = !self.exhausted && self.stage == Stage::Solve;
        solves.then(|| {
            let (parameters, vectors) = (self.point.clone(), self.solve.direction.clone());
            ProductProposal { parameters, vectors, blocks: false }
        })
    }

    fn tell_products(&mut self, answer: &ProductAnswer) -> Result<()> {
        let Some(blocks) = &answer.blocks else { return self.add_product(&answer.products) };
        self.blocks = Some(BlockPreconditioner::try_new(self.point.len(), blocks, self.block_damping)?);
        if self.stage == Stage::Blocks {
            self.set_out(self.is_new);
        }
        Ok(())
    }

    fn best(&self) -> Best {
        Best { member: 0, parameters: self.point.clone(), loss: self.loss }
    }

    fn gradient_norm(&self) -> Option<f64> {
        largest_slope(&self.gradient)
    }

    fn epoch_done(&self) -> bool {
        self.stage != Stage::Trial && self.accepted
    }

    fn converged(&self) -> bool {
        self.exhausted
    }

    fn save(&self) -> OptimizerState {
        let vectors: [(&str, &[f64]); 7] = [
            ("point", &self.point),
            ("trial", &self.trial),
            ("gradient", &self.gradient),
            ("anchor", &self.anchor),
            ("step", &self.solve.step),
            ("residual", &self.solve.residual),
            ("direction", &self.solve.direction),
        ];
        OptimizerState::new("gn-cg", self, vectors)
    }

    fn restore(&mut self, mut state: OptimizerState) -> Result<()> {
        let saved: Self = state.scalars("gn-cg")?;
        let size = self.point.len();
        // State of later stages is empty before the first of them.
        let (begun, solves) = (saved.stage != Stage::Trial, saved.stage == Stage::Solve);
        *self = Self {
            settings: self.settings,
            space: std::mem::take(&mut self.space),
            point: state.take("point", size)?,
            trial: state.take("trial", size)?,
            gradient: state.take_known("gradient", size, begun)?,
            anchor: state.take_known("anchor", size, begun)?,
            solve: Solve {
                step: state.take_known("step", size, solves)?,
                residual: state.take_known("residual", size, solves)?,
                direction: state.take_known("direction", size, solves)?,
                ..saved.solve
            },
            ..saved
        };
        Ok(())
    }

    fn describe(&self, _member: usize, l2: f64) -> String {
        format!("gauss-newton by conjugate gradients ({}damping {})", l2_text(l2), self.settings.damping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauss_newton::GaussNewton;
    use crate::products::MatrixBlock;

    const SIZE: usize = 12;
    const ROWS: usize = 40;

    /// Rows of a curved least-squares problem, Σ (tanh(a x) − b)², whose last coordinate occurs in no row.
    struct Curved {
        rows: Vec<[f64; SIZE]>,
        targets: Vec<f64>,
    }

    impl Curved {
        fn new() -> Self {
            let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
            let row =
                |r: usize| std::array::from_fn(|i| if i + 1 < SIZE { number(r * SIZE + i) } else { 0.0 });
            let targets = (0..ROWS).map(|r| 0.8 * number(5000 + 3 * r)).collect();
            Self { rows: (0..ROWS).map(row).collect(), targets }
        }

        fn evaluate(&self, x: &[f64]) -> Evaluations {
            let mut answer = Evaluations {
                losses: vec![0.0],
                gradients: vec![0.0; SIZE],
                curvatures: vec![0.0; SIZE * SIZE],
                positions: ROWS,
                ..Evaluations::default()
            };
            for (row, target) in self.rows.iter().zip(&self.targets) {
                let value = dot(row, x).tanh();
                let (residual, slope) = (value - target, 1.0 - value * value);
                answer.losses[0] += residual * residual;
                for i in 0..SIZE {
                    answer.gradients[i] += 2.0 * residual * slope * row[i];
                    for j in 0..SIZE {
                        answer.curvatures[i * SIZE + j] += 2.0 * slope * slope * row[i] * row[j];
                    }
                }
            }
            answer
        }

        fn answer(&self, question: &ProductProposal) -> ProductAnswer {
            let matrix = self.evaluate(&question.parameters).curvatures;
            if question.blocks {
                let block = |from: usize, to: usize| MatrixBlock {
                    coordinates: (from as u32..to as u32).collect(),
                    values: (from..to)
                        .flat_map(|i| matrix[i * SIZE + from..i * SIZE + to].to_vec())
                        .collect(),
                };
                return ProductAnswer {
                    blocks: Some(vec![block(0, 5), block(5, SIZE)]),
                    products: Vec::new(),
                };
            }
            let products = matrix.chunks(SIZE).map(|row| dot(row, &question.vectors)).collect();
            ProductAnswer { products, blocks: None }
        }
    }

    fn minimize(space: &Space) -> (Best, u64) {
        let (problem, settings) = (Curved::new(), GaussNewtonSettings::default());
        let mut method = GaussNewtonCg::try_new(space, settings).unwrap();
        let mut products = 0;
        for _ in 0..500 {
            if method.converged() {
                break;
            }
            let mut other = GaussNewtonCg::try_new(space, settings).unwrap();
            other.restore(method.save()).unwrap();
            assert_eq!(other.save(), method.save());
            // The restored one needs its blocks first.
            if method.blocks.is_some() {
                let again = other.ask_products().unwrap();
                assert!(again.blocks);
                other.tell_products(&problem.answer(&again)).unwrap();
            }
            match method.ask_products() {
                Some(question) => {
                    assert_eq!(other.ask_products().as_ref(), Some(&question));
                    assert_eq!(
                        method.ask_products().as_ref(),
                        Some(&question),
                        "asking twice gives the same"
                    );
                    products += u64::from(!question.blocks);
                    let answer = problem.answer(&question);
                    method.tell_products(&answer).unwrap();
                    other.tell_products(&answer).unwrap();
                }
                None => {
                    let proposal = method.ask();
                    assert_eq!((&proposal, other.ask_products()), (&other.ask(), None));
                    let answer = problem.evaluate(&proposal.parameters);
                    method.tell(&answer).unwrap();
                    other.tell(&answer).unwrap();
                }
            }
            assert_eq!(other.save(), method.save());
        }
        (method.best(), products)
    }

    fn dense(space: &Space) -> Best {
        let problem = Curved::new();
        let mut method = GaussNewton::try_new(space, GaussNewtonSettings::default()).unwrap();
        for _ in 0..200 {
            if method.converged() {
                break;
            }
            let proposal = method.ask();
            method.tell(&problem.evaluate(&proposal.parameters)).unwrap();
        }
        method.best()
    }

    fn start() -> Space {
        let start: Vec<f64> = (0..SIZE).map(|i| 0.3 * (i as f64 - 4.0)).collect();
        Space::unbounded(&start)
    }

    #[test]
    fn the_optimum_is_that_of_whole_matrices() {
        let (space, wanted) = (start(), dense(&start()));
        let (best, products) = minimize(&space);
        assert!((best.loss - wanted.loss).abs() < 1e-8 * wanted.loss, "{} {}", best.loss, wanted.loss);
        for (a, b) in best.parameters.iter().zip(&wanted.parameters) {
            assert!((a - b).abs() < 1e-3, "{:?} {:?}", best.parameters, wanted.parameters);
        }
        assert_eq!(best.parameters[SIZE - 1], space.start[SIZE - 1], "nothing depends on it");
        assert!((5..200).contains(&products), "{products}");
    }

    #[test]
    fn bounds_hold_and_the_rest_is_optimal() {
        let free = dense(&start()).parameters;
        let mut space = start();
        space.start = vec![0.0; SIZE];
        (space.lower[0], space.upper[0]) = (-0.1, 0.1);
        (space.lower[7], space.upper[7]) = (-0.05, 0.05);
        assert!(free[0].abs() > 0.1 && free[7].abs() > 0.05, "{free:?}");
        let ((best, _), wanted) = (minimize(&space), dense(&space));
        assert!((best.loss - wanted.loss).abs() < 1e-7 * wanted.loss, "{} {}", best.loss, wanted.loss);
        let mut clamped = best.parameters.clone();
        space.clamp(&mut clamped);
        assert_eq!(clamped, best.parameters);
        assert_eq!(best.parameters[0].abs(), 0.1);
    }

    #[test]
    fn damaged_states_are_refused() {
        let mut method = GaussNewtonCg::try_new(&start(), GaussNewtonSettings::default()).unwrap();
        let good = method.save();
        let mut short = good.clone();
        short.vectors.insert("trial".to_string(), vec![0.0; 3]);
        assert!(method.restore(short).is_err());
        let mut other = good;
        other.scalars["method"] = "gauss-newton".into();
        assert!(method.restore(other).is_err());
        let space = Space::unbounded(&[1.0]);
        let settings = GaussNewtonSettings { damping: 0.0 };
        assert!(GaussNewtonCg::try_new(&space, settings).is_err());
    }
}
