use std::sync::Arc;

use gputexel_model::{PENALTY_SCALE_CP, Parameterization, Penalty, SparseSymmetric, Term};

/// Penalties of one weight as a function of a step d of z from a point, for the weight 1: dᵀ M d + 2 l · d and a
/// constant.
#[derive(Clone, Debug)]
pub(super) struct Pulled {
    pub matrix: Arc<SparseSymmetric>,
    pub linear: Vec<f64>,
}

impl Pulled {
    /// Converts penalties, regardless of their weights, around the point with the distance `delta` from the prior.
    pub fn new(penalties: &[Penalty], parameterization: &Parameterization, delta: &[f64]) -> Self {
        let per_cp2 = 1.0 / (PENALTY_SCALE_CP * PENALTY_SCALE_CP);
        let dimension = parameterization.dimension();
        let rows = parameterization.rows();
        let mut linear = vec![0.0; dimension];
        let pull = |term: Term| {
            let offset: f64 = term.factors.iter().map(|&(i, a)| a * delta[i as usize]).sum();
            let factors = pulled_factors(&term, &rows);
            for &(z, b) in &factors {
                linear[z as usize] += per_cp2 * term.weight * offset * b;
            }
            Term { weight: term.weight, factors }
        };
        let terms: Vec<Term> = penalties.iter().flat_map(Penalty::terms).map(pull).collect();
        let matrix = SparseSymmetric::of_terms(dimension, &terms, per_cp2);
        Self { matrix: matrix.into(), linear }
    }

    /// Returns it as a function of a step from the end of another one.
    pub fn after(&self, step: &[f64]) -> Self {
        let linear = self.matrix.times(step).iter().zip(&self.linear).map(|(turn, l)| turn + l).collect();
        Self { linear, ..self.clone() }
    }

    pub fn value(&self, step: &[f64]) -> f64 {
        self.matrix.times(step).iter().zip(&self.linear).zip(step).map(|((m, l), d)| d * (m + 2.0 * l)).sum()
    }

    pub fn gradient(&self, step: &[f64]) -> Vec<f64> {
        self.turn(step).iter().zip(&self.linear).map(|(turn, l)| turn + 2.0 * l).collect()
    }

    pub fn turn(&self, step: &[f64]) -> Vec<f64> {
        let mut turn = self.matrix.times(step);
        turn.iter_mut().for_each(|value| *value *= 2.0);
        turn
    }
}

fn pulled_factors(term: &Term, rows: &[Vec<(u32, f64)>]) -> Vec<(u32, f64)> {
    let moved = |&(i, a): &(u32, f64)| rows[i as usize].iter().map(move |&(z, b)| (z, a * b));
    let mut factors: Vec<(u32, f64)> = term.factors.iter().flat_map(moved).collect();
    factors.sort_by_key(|&(z, _)| z);
    factors.dedup_by(|from, into| {
        let same = from.0 == into.0;
        if same {
            into.1 += from.1;
        }
        same
    });
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regularization::Regularization;
    use gputexel_model::{Coordinate, Form, PenaltyKind};

    #[test]
    fn in_a_basis_slopes_are_those_of_the_regularization() {
        let coordinate = |name: &str| Coordinate {
            name: name.to_string(),
            start: 0.0,
            min: None,
            max: None,
            integer: false,
        };
        let columns = vec![vec![(0, 1.0), (1, 2.0)], vec![(1, -1.0), (2, 3.0)]];
        let basis = Parameterization::try_new(
            "test",
            vec![10.0, 20.0, 30.0],
            vec![coordinate("a"), coordinate("b")],
            columns,
        )
        .unwrap();
        let penalty = Penalty {
            kind: PenaltyKind::Mean,
            of: "x".to_string(),
            form: Form::Set(vec![0, 1, 2]),
            weight: 1.0,
            effects: vec![(1, 0.5)],
        };
        let (prior, around, step) = ([5.0, -8.0, 40.0], [3.0, -2.0], [1.5, 4.0]);
        let delta: Vec<f64> = basis.theta(&around).iter().zip(prior).map(|(a, b)| a - b).collect();
        let pulled = Pulled::new(std::slice::from_ref(&penalty), &basis, &delta);
        let theta = basis.theta(&[around[0] + step[0], around[1] + step[1]]);
        let gradient = Regularization::new(&prior, 0.0, &[penalty]).gradient(&theta);
        let wanted = basis.pull_gradients(&gradient);
        let got = pulled.gradient(&step);
        assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} {wanted:?}");
    }
}
