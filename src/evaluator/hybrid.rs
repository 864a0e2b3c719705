//! Two evaluators as one: losses and gradients from the first, matrices from the second.

use super::{Evaluations, Evaluator, Population, Request};
use crate::error::Result;

/// A GPU evaluator whose Gauss–Newton matrices are computed on the CPU.
pub struct WithCurvatureFrom<'a> {
    first: Box<dyn Evaluator + 'a>,
    matrices: Box<dyn Evaluator + 'a>,
}

impl<'a> WithCurvatureFrom<'a> {
    /// Joins two evaluators of the same layout.
    pub fn new(first: Box<dyn Evaluator + 'a>, matrices: Box<dyn Evaluator + 'a>) -> Self {
        Self { first, matrices }
    }
}

impl Evaluator for WithCurvatureFrom<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        if !request.curvature {
            return self.first.evaluate(population, request);
        }
        let mut evaluations =
            self.matrices.evaluate(population, &Request { gradients: false, ..request.clone() })?;
        if request.gradients {
            let first = self.first.evaluate(population, &Request { curvature: false, ..request.clone() })?;
            (evaluations.losses, evaluations.gradients) = (first.losses, first.gradients);
        }
        Ok(evaluations)
    }

    fn scores(&mut self, theta: &[f64]) -> Result<Vec<f32>> {
        self.first.scores(theta)
    }

    fn describe(&self) -> String {
        format!("{}; Gauss-Newton matrices from the {}", self.first.describe(), self.matrices.describe())
    }

    fn has_curvature(&self) -> bool {
        true
    }
}
