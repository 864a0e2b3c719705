//! The quadratic model of the loss of each fold around a point, from which the result of a run without that fold
//! follows by one linear system.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::pulled::Pulled;
use super::search::Derivatives;
use gputexel_dataset::Layout;
use gputexel_dataset::objective::Objective;
use gputexel_eval::{Evaluator, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_model::{Parameterization, PenaltyKind};
use gputexel_optim::linalg::{Cholesky, View, dot, multiply, product, products};

/// Fraction of the largest diagonal entry that is added to all of them: as in Gauss–Newton.
const RIDGE: f64 = 1e-10;

/// Sums over one fold: loss, gradient and Gauss–Newton matrix with respect to z, unnormalized.
struct FoldSums {
    weight: f64,
    loss: f64,
    gradient: Vec<f64>,
    /// Rows of the matrix up to the diagonal.
    triangle: Vec<f64>,
}

/// The loss of each fold as a quadratic function of the step from a point.
pub(super) struct FoldModel {
    folds: Vec<FoldSums>,
    whole: FoldSums,
    pub pulled: Vec<Pulled>,
    held: Vec<bool>,
    solved: Mutex<Vec<(Vec<f64>, Without)>>,
    memory: Mutex<Vec<Cholesky>>,
}

#[derive(Clone)]
pub(super) struct Without {
    /// Mean loss of every position under the parameters that are found without its fold.
    pub loss: f64,
    pub steps: Vec<Vec<f64>>,
}

pub(super) struct WholeFit {
    pub step: Vec<f64>,
    /// Effective number of parameters: the trace of H (H + P)⁻¹.
    pub effective: f64,
}

impl FoldSums {
    fn empty(dimension: usize) -> Self {
        Self {
            weight: 0.0,
            loss: 0.0,
            gradient: vec![0.0; dimension],
            triangle: vec![0.0; dimension * (dimension + 1) / 2],
        }
    }

    fn add(&mut self, other: &Self) {
        self.weight += other.weight;
        self.loss += other.loss;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.triangle.iter_mut().zip(&other.triangle).for_each(|(a, b)| *a += b);
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.triangle[i * (i + 1) / 2..][..=i]
    }

    fn after(&self, step: &[f64]) -> (f64, Vec<f64>) {
        let turns = product(&self.triangle, step);
        let slopes: Vec<f64> = turns.iter().zip(&self.gradient).map(|(turn, slope)| turn + slope).collect();
        let gained = slopes.iter().zip(&self.gradient).zip(step).map(|((a, b), by)| 0.5 * by * (a + b));
        (self.loss + gained.sum::<f64>(), slopes)
    }
}

impl FoldModel {
    /// Computes the model around z, with penalties pulled there; each part of the layout is a fold.
    pub fn try_new(
        evaluator: &mut dyn Evaluator,
        layout: &Layout,
        folds: usize,
        objective: Objective,
        parameterization: &Parameterization,
        z: &[f64],
        pulled: Vec<Pulled>,
    ) -> Result<Self> {
        let population = Population::single(&parameterization.theta(z), objective.k);
        let dimension = parameterization.dimension();
        let mut sums = Vec::with_capacity(folds);
        let mut whole = FoldSums::empty(dimension);
        for fold in 0..folds {
            let request =
                Request { parts: fold..fold + 1, loss: objective.loss, gradients: true, curvature: true };
            let answer = evaluator.evaluate(&population, &request)?;
            let weight = layout.parts()[fold].weight;
            let one = FoldSums {
                weight,
                loss: weight * answer.losses[0],
                gradient: parameterization
                    .pull_gradients(&answer.gradients)
                    .iter()
                    .map(|slope| weight * slope)
                    .collect(),
                triangle: triangle(&parameterization.pull_matrices(answer.curvatures), dimension, weight),
            };
            if !one.loss.is_finite() || one.triangle.iter().any(|value| !value.is_finite()) {
                return Err(Error::Numeric("the matrix of a fold is not finite".to_string()));
            }
            whole.add(&one);
            sums.push(one);
        }
        let (held, solved, memory) = (vec![false; dimension], Mutex::default(), Mutex::default());
        Ok(Self { folds: sums, whole, pulled, held, solved, memory })
    }

    pub fn mean_loss(&self) -> f64 {
        self.whole.loss / self.whole.weight
    }

    pub fn hold(&mut self, held: impl Fn(usize) -> bool) {
        self.solved.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.held.iter_mut().enumerate().for_each(|(i, is_held)| *is_held |= held(i));
    }

    /// Returns the factor of the sums without a fold, or of all of them, with penalties, and the right-hand side.
    fn system(&self, without: Option<usize>, weights: &[f64]) -> Result<System> {
        let n = self.whole.gradient.len();
        let less = without.map(|fold| &self.folds[fold]);
        // In sums: what a square of a pawn costs does not depend on how many positions there are.
        let weighted = || {
            self.pulled.iter().zip(weights).map(|(pulled, weight)| (pulled, 2.0 * weight * self.whole.weight))
        };
        let slope = |i: usize| {
            let data = self.whole.gradient[i] - less.map_or(0.0, |fold| fold.gradient[i]);
            weighted().fold(data, |sum, (pulled, weight)| sum + weight * pulled.linear[i])
        };
        let slope = (0..n).map(|i| if self.held[i] { 0.0 } else { slope(i) }).collect();
        let of_diagonal = |i: usize| {
            let data = self.whole.row(i)[i] - less.map_or(0.0, |fold| fold.row(i)[i]);
            weighted().fold(data, |sum, (pulled, weight)| sum + weight * pulled.matrix.entry(i, i))
        };
        let diagonal: Vec<f64> = (0..n).map(|i| if self.held[i] { 0.0 } else { of_diagonal(i) }).collect();
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        let held: Vec<usize> = (0..n).filter(|&i| self.held[i]).collect();
        let mut ridge = RIDGE * largest;
        let factor = loop {
            let row = |i: usize, row: &mut [f64]| {
                let whole = self.whole.row(i);
                match less {
                    Some(fold) => {
                        let both = whole.iter().zip(fold.row(i));
                        row.iter_mut().zip(both).for_each(|(value, (all, fold))| *value = all - fold);
                    }
                    None => row.copy_from_slice(whole),
                }
                for (pulled, weight) in weighted() {
                    let below = pulled.matrix.row(i).take_while(|(j, _)| **j as usize <= i);
                    below.for_each(|(&j, value)| row[j as usize] += weight * value);
                }
                match self.held[i] {
                    true => row.fill(0.0),
                    false => held.iter().take_while(|&&j| j < i).for_each(|&j| row[j] = 0.0),
                }
                // A coordinate without data stays where it is.
                row[i] = if diagonal[i] <= 0.0 { 1.0 } else { diagonal[i] + ridge };
            };
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match Cholesky::of_rows(n, row, memory) {
                Some(factor) => break factor,
                None if ridge > 1e-3 * largest => {
                    return Err(Error::Numeric(
                        "the matrix of the folds is not positive definite".to_string(),
                    ));
                }
                None => ridge *= 10.0,
            }
        };
        Ok(System { factor, slope })
    }

    fn keep(&self, system: System) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).push(system.factor);
    }

    /// Computes the held-out loss with weighted penalties, and its derivatives by the weights.
    pub fn derivatives(&self, weights: &[f64]) -> Result<Derivatives> {
        let each = self.derivatives_by_fold(weights)?;
        Ok(Derivatives { value: self.without(weights)?.loss, ..Derivatives::sum(&each, weights.len()) })
    }

    /// Computes what each fold contributes to the held-out loss, and its derivatives by the weights.
    ///
    /// So A ∂s/∂w = −W g(s), and with another weight v of a penalty with the gradient h, A ∂²s/∂v∂w = −W (∂g/∂s ∂s/∂v +
    /// ∂h/∂s ∂s/∂w).
    pub fn derivatives_by_fold(&self, weights: &[f64]) -> Result<Vec<Derivatives>> {
        let (n, kinds, all) = (self.whole.gradient.len(), weights.len(), self.whole.weight);
        let each = self.each_fold(
            |_| weights,
            |fold, system, step| {
                let fold = &self.folds[fold];
                let (loss, mut adjoint) = fold.after(&step);
                adjoint
                    .iter_mut()
                    .zip(&self.held)
                    .filter(|(_, held)| **held)
                    .for_each(|(value, _)| *value = 0.0);
                system.factor.solve(&mut adjoint);
                let gradients: Vec<Vec<f64>> =
                    self.pulled.iter().map(|pulled| pulled.gradient(&step)).collect();
                let by_weight: Vec<f64> = gradients.iter().map(|gradient| -dot(&adjoint, gradient)).collect();
                // One column for each weight: how the step changes.
                let change = |at: usize| {
                    if self.held[at / kinds] { 0.0 } else { -all * gradients[at % kinds][at / kinds] }
                };
                let mut changes: Vec<f64> = (0..n * kinds).map(change).collect();
                system.factor.solve_columns(&mut changes, kinds);
                const { assert!(PenaltyKind::ALL.len() <= 8) };
                let mut vectors = vec![[0.0; 8]; n];
                vectors.iter_mut().zip(changes.chunks_exact(kinds.max(1))).for_each(|(vector, row)| {
                    vector[..kinds].copy_from_slice(row);
                });
                let turned = products(&fold.triangle, &vectors);
                let mut bent: Vec<f64> =
                    turned.iter().flat_map(|row| row[..kinds].iter().map(|value| value / all)).collect();
                // Both of the last two summands for one of them: the sum is made symmetric below.
                for (weight, pulled) in self.pulled.iter().enumerate() {
                    let turn = pulled.turn(&adjoint);
                    bent.chunks_exact_mut(kinds).zip(turn).for_each(|(row, turn)| row[weight] -= 2.0 * turn);
                }
                let mut curvature = vec![0.0; kinds * kinds];
                multiply(
                    1.0,
                    View::new(&changes, n, kinds).transpose(),
                    View::new(&bent, n, kinds),
                    0.0,
                    &mut curvature,
                );
                let both = |at: usize| 0.5 * (curvature[at] + curvature[at % kinds * kinds + at / kinds]);
                let curvature = (0..kinds * kinds).map(both).collect();
                (loss, step, Derivatives { value: loss / all, gradient: by_weight, curvature })
            },
        )?;
        let (each, solved) = each.into_iter().map(|(loss, step, fold)| (fold, (loss, step))).unzip();
        self.solved(weights, solved);
        Ok(each)
    }

    /// Computes results with weighted penalties, unless they are known.
    pub fn without(&self, weights: &[f64]) -> Result<Without> {
        let solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, without)) = solved.iter().find(|(known, _)| known == weights) {
            return Ok(without.clone());
        }
        drop(solved);
        let each = self.each_fold(|_| weights, |fold, _, step| (self.folds[fold].after(&step).0, step))?;
        Ok(self.solved(weights, each))
    }

    pub fn steps(&self, weights: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        self.each_fold(|fold| &weights[fold], |_, _, step| step)
    }

    fn solved(&self, weights: &[f64], each: Vec<(f64, Vec<f64>)>) -> Without {
        let (losses, steps): (Vec<f64>, Vec<Vec<f64>>) = each.into_iter().unzip();
        let without = Without { loss: losses.iter().sum::<f64>() / self.whole.weight, steps };
        let mut solved = self.solved.lock().unwrap_or_else(PoisonError::into_inner);
        solved.push((weights.to_vec(), without.clone()));
        without
    }

    fn each_fold<'w, T: Send>(
        &self,
        weights: impl Fn(usize) -> &'w [f64] + Sync,
        of: impl Fn(usize, &System, Vec<f64>) -> T + Sync,
    ) -> Result<Vec<T>> {
        (0..self.folds.len())
            .into_par_iter()
            .with_max_len(1)
            .map(|fold| {
                let system = self.system(Some(fold), weights(fold))?;
                let result = of(fold, &system, system.step());
                self.keep(system);
                Ok(result)
            })
            .collect()
    }

    pub fn whole(&self, weights: &[f64], effective: bool) -> Result<WholeFit> {
        let system = self.system(None, weights)?;
        let step = system.step();
        let n = step.len();
        // The trace of the product of two symmetric matrices.
        let trace = || {
            let inverse = system.factor.inverse();
            let of_row = |i: usize| {
                let row = self.whole.row(i).iter().zip(&inverse[i * n..]).zip(&self.held);
                let free = row.filter(|(_, held)| !**held).map(|((a, b), _)| a * b);
                // Those above the diagonal, too.
                2.0 * free.sum::<f64>() - self.whole.row(i)[i] * inverse[i * n + i]
            };
            (0..n).filter(|&i| !self.held[i]).map(of_row).sum()
        };
        let effective = if effective { trace() } else { f64::NAN };
        self.keep(system);
        Ok(WholeFit { step, effective })
    }
}

fn triangle(matrix: &[f64], size: usize, factor: f64) -> Vec<f64> {
    let rows = matrix.chunks_exact(size.max(1)).enumerate();
    rows.flat_map(|(i, row)| row[..=i].iter().map(move |value| factor * value)).collect()
}

struct System {
    factor: Cholesky,
    slope: Vec<f64>,
}

impl System {
    fn step(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.slope.iter().map(|slope| -slope).collect();
        self.factor.solve(&mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_model::{Form, Penalty};

    const SIZE: usize = 7;

    fn number(i: usize) -> f64 {
        f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5
    }

    /// Creates three folds with matrices of full rank, around a point 30 centipawns from the prior.
    fn example() -> FoldModel {
        let mut whole = FoldSums::empty(SIZE);
        let folds: Vec<FoldSums> = (0..3)
            .map(|fold| {
                let m = |i: usize, j: usize| number(1000 * fold + 10 * i + j);
                let entry = |at: usize| {
                    let (i, j) = (at / SIZE, at % SIZE);
                    let product: f64 = (0..SIZE).map(|k| m(i, k) * m(j, k)).sum();
                    product + if i == j { 0.05 } else { 0.0 }
                };
                let sums = FoldSums {
                    weight: 10.0 + fold as f64,
                    loss: 2.0,
                    gradient: (0..SIZE).map(|i| number(5000 + 10 * fold + i)).collect(),
                    triangle: triangle(&(0..SIZE * SIZE).map(entry).collect::<Vec<f64>>(), SIZE, 1.0),
                };
                whole.add(&sums);
                sums
            })
            .collect();
        let penalty =
            |kind, form| Penalty { kind, of: "x".to_string(), form, weight: 0.0, effects: Vec::new() };
        let penalties = [
            penalty(PenaltyKind::Ridge, Form::Set((0..SIZE as u32).collect())),
            penalty(PenaltyKind::Bend, Form::Lines(vec![(0..SIZE as u32).collect()])),
        ];
        let parameterization = Parameterization::identity(&[0.0; SIZE]);
        let pulled = penalties
            .iter()
            .map(|penalty| Pulled::new(std::slice::from_ref(penalty), &parameterization, &[30.0; SIZE]))
            .collect();
        let (held, solved, memory) = (vec![false; SIZE], Mutex::default(), Mutex::default());
        FoldModel { folds, whole, pulled, held, solved, memory }
    }

    #[test]
    fn derivatives_by_weight_are_those_of_the_held_out_loss() {
        let mut model = example();
        for held in [None, Some(3)] {
            model.hold(|i| Some(i) == held);
            let weights = [20.0, 70.0];
            // Not of this model, which remembers.
            let mut other = example();
            other.hold(|i| Some(i) == held);
            let at = |weights: &[f64]| other.without(weights).unwrap().loss;
            let found = model.derivatives(&weights).unwrap();
            assert!((found.value - at(&weights)).abs() < 1e-14);
            for i in 0..2 {
                let shifted = |by: f64| {
                    let mut weights = weights;
                    weights[i] += by;
                    at(&weights)
                };
                let slope = (shifted(0.01) - shifted(-0.01)) / 0.02;
                assert!((found.gradient[i] - slope).abs() < 1e-6 * slope.abs(), "{found:?} {slope}");
                for j in 0..2 {
                    let shifted = |by: f64| {
                        let mut weights = weights;
                        weights[j] += by;
                        other.derivatives(&weights).unwrap().gradient[i]
                    };
                    let bend = (shifted(0.01) - shifted(-0.01)) / 0.02;
                    assert!(
                        (found.curvature[2 * i + j] - bend).abs() < 1e-6 * bend.abs(),
                        "{found:?} {bend}"
                    );
                }
            }
            let steps = model.without(&weights).unwrap().steps;
            assert_eq!(model.steps(&vec![weights.to_vec(); 3]).unwrap(), steps);
            assert!(held.is_none_or(|held| steps.iter().all(|step| step[held] == 0.0)));
        }
    }

    #[test]
    fn without_penalties_every_parameter_counts() {
        let model = example();
        let free = model.whole(&[0.0, 0.0], true).unwrap();
        assert!((free.effective - SIZE as f64).abs() < 1e-6, "{}", free.effective);
        let held = model.whole(&[1e9, 0.0], true).unwrap();
        assert!(held.effective < 1e-3 && held.step.iter().all(|step| (step + 30.0).abs() < 1e-3));
    }
}
