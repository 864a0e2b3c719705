//! Regularization toward the prior: λ · ‖(θ − θ₀) / scale‖², which does not depend on positions.

use gputexel_evaluator::Evaluations;

/// The scale, centipawns: a parameter one pawn away from its prior costs λ.
pub const REGULARIZATION_SCALE_CP: f64 = 100.0;

/// Adds each member's regularization to its losses and whatever derivatives were evaluated.
///
/// # Panics
/// If the lengths of parameters, prior and evaluations do not match.
pub fn regularize(evaluations: &mut Evaluations, parameters: &[f64], prior: &[f64], l2: &[f64]) {
    let size = prior.len();
    assert_eq!(parameters.len(), size * l2.len());
    let per_cp2 = 1.0 / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP);
    for (member, &lambda) in l2.iter().enumerate() {
        if lambda == 0.0 {
            continue;
        }
        let lambda = lambda * per_cp2;
        let distance = |i: usize| parameters[member * size + i] - prior[i];
        evaluations.losses[member] += lambda * (0..size).map(|i| distance(i) * distance(i)).sum::<f64>();
        if !evaluations.gradients.is_empty() {
            for i in 0..size {
                evaluations.gradients[member * size + i] += 2.0 * lambda * distance(i);
            }
        }
        if !evaluations.curvatures.is_empty() {
            for i in 0..size {
                evaluations.curvatures[(member * size + i) * size + i] += 2.0 * lambda;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pawn_costs_lambda() {
        let mut evaluations = Evaluations {
            losses: vec![1.0, 1.0],
            gradients: vec![0.0; 4],
            curvatures: vec![0.0; 8],
            positions: 1,
            ..Evaluations::default()
        };
        regularize(&mut evaluations, &[0.0, 0.0, 100.0, 0.0], &[0.0, 0.0], &[0.5, 0.5]);
        assert_eq!(evaluations.losses, [1.0, 1.5]);
        assert_eq!(evaluations.gradients, [0.0, 0.0, 0.01, 0.0]);
        assert_eq!(evaluations.curvatures[4..], [1e-4, 0.0, 0.0, 1e-4]);
    }
}
