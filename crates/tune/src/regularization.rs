//! Regularization, the part of the loss that does not depend on positions.

use gputexel_dataset::Dataset;
use gputexel_eval::Evaluations;
use gputexel_model::{Arrangement, PENALTY_SCALE_CP, Penalty, SparseSymmetric, Term, supported_penalties};

/// The scale, centipawns: a parameter one pawn away from its prior costs λ.
pub const REGULARIZATION_SCALE_CP: f64 = PENALTY_SCALE_CP;

const PER_CP2: f64 = 1.0 / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP);

/// The regularization of a run, ready to be evaluated: λ ‖δ / scale‖² + δᵀ M δ with δ = θ − θ₀, where M is the weighted
/// sum of the penalties' matrices.
#[derive(Clone, Debug)]
pub struct Regularization {
    prior: Vec<f64>,
    l2: f64,
    /// `None` without penalties.
    matrix: Option<SparseSymmetric>,
}

/// Weights of a member: λ, and a factor on the penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Weights {
    pub l2: f64,
    pub strength: f64,
}

impl Regularization {
    /// Creates the regularization with a weight λ and penalties on the distance from a prior (θ₀, 2 F values).
    pub fn new(prior: &[f64], l2: f64, penalties: &[Penalty]) -> Self {
        let weighted = |penalty: &Penalty| {
            let weight = penalty.weight;
            penalty.terms().into_iter().map(move |term| Term { weight: weight * term.weight, ..term })
        };
        let effective = penalties.iter().filter(|penalty| penalty.weight > 0.0);
        let terms: Vec<Term> = effective.flat_map(weighted).collect();
        let matrix = (!terms.is_empty()).then(|| SparseSymmetric::of_terms(prior.len(), &terms, PER_CP2));
        Self { prior: prior.to_vec(), l2, matrix }
    }

    pub fn prior(&self) -> &[f64] {
        &self.prior
    }

    pub fn l2(&self) -> f64 {
        self.l2
    }

    pub fn is_zero(&self) -> bool {
        self.l2 == 0.0 && self.matrix.is_none()
    }

    /// Returns true if a parameter has any effect on it.
    pub fn involves(&self, index: usize) -> bool {
        self.l2 > 0.0 || self.matrix.as_ref().is_some_and(|matrix| matrix.entry(index, index) > 0.0)
    }

    pub(super) fn weights(&self) -> Weights {
        Weights { l2: self.l2, strength: 1.0 }
    }

    fn distance(&self, theta: &[f64]) -> Vec<f64> {
        assert_eq!(theta.len(), self.prior.len());
        theta.iter().zip(&self.prior).map(|(theta, prior)| theta - prior).collect()
    }

    pub fn value(&self, theta: &[f64]) -> f64 {
        self.value_with(theta, self.weights())
    }

    fn value_with(&self, theta: &[f64], Weights { l2, strength }: Weights) -> f64 {
        let distance = self.distance(theta);
        let squares: f64 = distance.iter().map(|d| d * d).sum();
        let form = self.matrix.as_ref().map_or(0.0, |matrix| matrix.form(&distance, &distance));
        l2 * PER_CP2 * squares + strength * form
    }

    pub fn gradient(&self, theta: &[f64]) -> Vec<f64> {
        self.gradient_with(theta, self.weights())
    }

    fn gradient_with(&self, theta: &[f64], Weights { l2, strength }: Weights) -> Vec<f64> {
        let distance = self.distance(theta);
        let mut gradient: Vec<f64> = distance.iter().map(|d| 2.0 * l2 * PER_CP2 * d).collect();
        if let Some(matrix) = &self.matrix {
            gradient.iter_mut().zip(matrix.times(&distance)).for_each(|(g, product)| {
                *g += 2.0 * strength * product;
            });
        }
        gradient
    }

    pub fn add_curvature(&self, curvature: &mut [f64]) {
        self.add_curvature_with(curvature, self.weights());
    }

    fn add_curvature_with(&self, curvature: &mut [f64], Weights { l2, strength }: Weights) {
        let size = self.prior.len();
        assert_eq!(curvature.len(), size * size);
        (0..size).for_each(|i| curvature[i * size + i] += 2.0 * l2 * PER_CP2);
        for (i, j, value) in self.matrix.iter().flat_map(SparseSymmetric::entries) {
            curvature[i as usize * size + j as usize] += 2.0 * strength * value;
        }
    }

    /// Computes the change of its value by a step of some parameters, each listed once.
    pub fn change(&self, theta: &[f64], step: &[(usize, f64)]) -> f64 {
        let mut change = 0.0;
        for &(i, by) in step {
            change += self.l2 * PER_CP2 * by * (2.0 * (theta[i] - self.prior[i]) + by);
            let Some(matrix) = &self.matrix else { continue };
            let distance = |j: u32| theta[j as usize] - self.prior[j as usize];
            let slope: f64 = matrix.row(i).map(|(&j, value)| value * distance(j)).sum();
            let bent: f64 = step.iter().map(|&(j, other)| matrix.entry(i, j) * other).sum();
            change += by * (2.0 * slope + bent);
        }
        change
    }

    pub fn add(&self, evaluations: &mut Evaluations, parameters: &[f64]) {
        let members = evaluations.losses.len();
        assert_eq!(parameters.len(), self.prior.len() * members);
        self.add_weighted(evaluations, parameters, &vec![self.weights(); members]);
    }

    /// As [`add`](Self::add), with weights for each member. All members may share one θ.
    pub(super) fn add_weighted(
        &self,
        evaluations: &mut Evaluations,
        parameters: &[f64],
        weights: &[Weights],
    ) {
        let size = self.prior.len();
        let shared = parameters.len() == size;
        assert!(shared || parameters.len() == size * weights.len());
        for (member, &weights) in weights.iter().enumerate() {
            if weights.l2 == 0.0 && (weights.strength == 0.0 || self.matrix.is_none()) {
                continue;
            }
            let theta = if shared { parameters } else { &parameters[member * size..][..size] };
            evaluations.losses[member] += self.value_with(theta, weights);
            if !evaluations.gradients.is_empty() {
                let gradient = &mut evaluations.gradients[member * size..][..size];
                gradient.iter_mut().zip(self.gradient_with(theta, weights)).for_each(|(sum, g)| *sum += g);
            }
            if !evaluations.curvatures.is_empty() {
                let matrix = &mut evaluations.curvatures[member * size * size..][..size * size];
                self.add_curvature_with(matrix, weights);
            }
        }
    }
}

pub fn penalties_of(data: &Dataset, all: Vec<Penalty>) -> Vec<Penalty> {
    if all.is_empty() {
        return all;
    }
    let mut all = supported_penalties(&data.metadata().feature_set, all, &data.occurrences());
    if data.metadata().probing.is_some() {
        let effects = effects(data);
        let effects: Vec<(u32, f64)> = (0..).zip(effects.iter().chain(&effects).copied()).collect();
        for penalty in &mut all {
            let mut own: Vec<u32> =
                penalty.terms().iter().flat_map(|term| &term.factors).map(|(index, _)| *index).collect();
            own.sort_unstable();
            own.dedup();
            penalty.effects = own.into_iter().map(|index| effects[index as usize]).collect();
        }
    }
    all
}

fn effects(data: &Dataset) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); data.feature_count()];
    for n in 0..data.len() {
        for (id, coefficient) in data.row(n).entries().filter(|(_, coefficient)| *coefficient != 0.0) {
            let (squares, count) = &mut sums[usize::from(data.feature_of(id))];
            *squares += f64::from(coefficient).powi(2);
            *count += 1.0;
        }
    }
    for part in data.metadata().feature_set.structure().parts {
        if let Arrangement::Board(squares) = part.layout {
            let own = || squares.iter().flatten().map(|id| *id as usize);
            let sum = own().map(|id| sums[id]).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            own().for_each(|id| sums[id] = sum);
        }
    }
    let effect = |(squares, count): (f64, f64)| if count > 0.0 { (squares / count).sqrt() } else { 1.0 };
    sums.into_iter().map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gputexel_model::{Form, PenaltyKind};

    #[test]
    fn a_pawn_costs_lambda() {
        let mut evaluations = Evaluations {
            losses: vec![1.0, 1.0],
            gradients: vec![0.0; 4],
            curvatures: vec![0.0; 8],
            positions: 1,
            ..Evaluations::default()
        };
        let parameters = [0.0, 0.0, 100.0, 0.0];
        Regularization::new(&[0.0, 0.0], 0.5, &[]).add(&mut evaluations, &parameters);
        assert_eq!(evaluations.losses, [1.0, 1.5]);
        assert_eq!(evaluations.gradients, [0.0, 0.0, 0.01, 0.0]);
        assert_eq!(evaluations.curvatures[4..], [1e-4, 0.0, 0.0, 1e-4]);
    }

    #[test]
    fn derivatives_and_changes_are_those_of_the_value() {
        let penalty =
            |kind, form, weight| Penalty { kind, of: "x".to_string(), form, weight, effects: Vec::new() };
        let penalties = [
            penalty(PenaltyKind::Bend, Form::Lines(vec![vec![0, 1, 2, 3], vec![5, 3, 1]]), 0.3),
            penalty(PenaltyKind::Mean, Form::Set(vec![0, 2, 4, 5]), 0.7),
            penalty(PenaltyKind::Phases, Form::Pairs(vec![(0, 3), (1, 4), (2, 5)]), 0.2),
            penalty(PenaltyKind::Smooth, Form::Lines(vec![vec![4, 5]]), 0.0),
        ];
        let prior = [3.0, -20.0, 40.0, 0.0, 7.0, 90.0];
        let theta = [50.0, 10.0, -30.0, 120.0, 0.0, 60.0];
        let regularization = Regularization::new(&prior, 0.1, &penalties);
        let by_hand = |theta: &[f64]| -> f64 {
            let d: Vec<f64> = (0..6).map(|i| (theta[i] - prior[i]) / 100.0).collect();
            let spread = |values: &[f64]| -> f64 {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                values.iter().map(|value| (value - mean).powi(2)).sum()
            };
            let bend = |a: usize, b: usize, c: usize| (d[a] - 2.0 * d[b] + d[c]).powi(2);
            0.1 * d.iter().map(|d| d * d).sum::<f64>()
                + 0.3 * (bend(0, 1, 2) + bend(1, 2, 3) + bend(5, 3, 1))
                + 0.7 * spread(&[d[0], d[2], d[4], d[5]])
                + 0.2 * spread(&[d[0] - d[3], d[1] - d[4], d[2] - d[5]])
        };
        assert!((regularization.value(&theta) - by_hand(&theta)).abs() < 1e-12);
        let moved = |step: &[(usize, f64)]| {
            let mut theta = theta;
            step.iter().for_each(|&(i, by)| theta[i] += by);
            theta
        };
        let gradient = regularization.gradient(&theta);
        let mut curvature = vec![0.0; 36];
        regularization.add_curvature(&mut curvature);
        for i in 0..6 {
            let slope = (by_hand(&moved(&[(i, 1.0)])) - by_hand(&moved(&[(i, -1.0)]))) / 2.0;
            assert!((gradient[i] - slope).abs() < 1e-10, "{i}: {} {slope}", gradient[i]);
            for j in 0..6 {
                let at = |a: f64, b: f64| by_hand(&moved(&[(i, a), (j, b)]));
                let second = (at(1.0, 1.0) - at(1.0, -1.0) - at(-1.0, 1.0) + at(-1.0, -1.0)) / 4.0;
                assert!((curvature[6 * i + j] - second).abs() < 1e-10, "{i} {j}");
            }
        }
        for step in [vec![(1, 3.0)], vec![(0, -1.0), (3, 1.0)], vec![(2, 5.0), (4, -2.5), (5, 1.0)]] {
            let change = regularization.change(&theta, &step);
            assert!((change - (by_hand(&moved(&step)) - by_hand(&theta))).abs() < 1e-12, "{step:?}");
        }
    }
}
