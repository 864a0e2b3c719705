//! The training positions in folds of games.

use rayon::prelude::*;

use crate::diagnostics::clustered_mean;
use gputexel_dataset::objective::{Objective, x_per_cp};
use gputexel_dataset::{Dataset, Folds, Layout, Split};
use gputexel_eval::exact::exact_scores_of;
use gputexel_eval::{Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_model::Parameterization;

/// Default number of folds; ten for few games, because more of them are left for training.
pub(super) const FOLDS: usize = 5;
const FOLDS_OF_FEW: usize = 10;
const FEW: usize = 2000;
/// The training positions as folds: a layout whose first parts they are.
pub(super) struct Folded {
    pub layout: Layout,
    pub folds: usize,
    pub by_game: bool,
    pub clusters: usize,
    /// The training positions, ascending, and the part of each position of the dataset.
    training: Vec<u32>,
    parts: Vec<u32>,
    /// Places of training positions among them, in the order of the games.
    order: Vec<u32>,
}

impl Folded {
    /// Divides the training positions; `None` if there is only one game.
    pub fn try_new(data: &Dataset, split: &Split, wanted: Option<usize>, seed: u64) -> Result<Option<Self>> {
        let mut games: Vec<u32> = split.training().map(|n| data.game(n)).collect();
        games.par_sort_unstable();
        games.dedup();
        let clusters = games.len();
        if clusters < 2 {
            return Ok(None);
        }
        let usual = if clusters < FEW { FOLDS_OF_FEW } else { FOLDS };
        let wanted = wanted.unwrap_or(usual).min(clusters);
        let folds = Folds::try_new(data, wanted, seed)?;
        let training: Vec<u32> = split.training().map(|n| n as u32).collect();
        let mut sizes = vec![0; wanted];
        training.iter().for_each(|&n| sizes[folds.fold_of(n as usize)] += 1);
        // With held-out games and few others, a fold may have none of the latter.
        let mut number = vec![None; wanted];
        let filled = (0..wanted).filter(|&fold| sizes[fold] > 0);
        filled.enumerate().for_each(|(at, fold)| number[fold] = Some(at));
        let count = number.iter().flatten().count();
        if count < 2 {
            return Ok(None);
        }
        let held_out = split.held_out_part();
        let part_of = |n: usize| match number[folds.fold_of(n)] {
            Some(at) if Some(split.part_of(n)) != held_out => at,
            _ => count,
        };
        let parts: Vec<u32> = (0..data.len()).into_par_iter().map(|n| part_of(n) as u32).collect();
        let layout = Layout::try_new(data, count + usize::from(held_out.is_some()), |n| parts[n] as usize)?;
        let mut order: Vec<u32> = (0..training.len() as u32).collect();
        order.par_sort_unstable_by_key(|&place| (data.game(training[place as usize] as usize), place));
        Ok(Some(Self { layout, folds: count, by_game: data.has_games(), clusters, training, parts, order }))
    }

    /// Computes the exact loss of every training position, by its place, under the θ of its fold, against `results` of
    /// all positions.
    pub fn losses<'t>(
        &self,
        data: &Dataset,
        results: &[f32],
        objective: Objective,
        theta_of: impl Fn(usize) -> &'t [f64],
    ) -> Vec<f64> {
        let x_per_cp = x_per_cp(objective.k);
        let thetas: Vec<&[f64]> = (0..self.folds).map(theta_of).collect();
        let mut values = exact_scores_of(data, &thetas, |n| self.parts[n] as usize, &self.training);
        values.par_iter_mut().zip(&self.training).for_each(|(value, &n)| {
            *value = objective.loss.value(x_per_cp * *value, f64::from(results[n as usize]));
        });
        values
    }

    /// Computes the mean of a value of training positions, by their places, and its standard error by game.
    pub fn mean(&self, data: &Dataset, value: impl Fn(usize) -> f64) -> (f64, f64) {
        let position = |&place: &u32| (self.training[place as usize], value(place as usize));
        clustered_mean(data, self.order.iter().map(position))
    }

    /// Computes the mean loss of every position under the parameters without its fold.
    pub fn exact(
        &self,
        evaluator: &mut dyn Evaluator,
        objective: Objective,
        parameterization: &Parameterization,
        z: &[Vec<f64>],
    ) -> Result<f64> {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (fold, part) in self.layout.parts()[..self.folds].iter().enumerate() {
            let population = Population::single(&parameterization.theta(&z[fold]), objective.k);
            let request =
                Request { parts: fold..fold + 1, loss: objective.loss, gradients: false, curvature: false };
            sum += part.weight * evaluator.evaluate(&population, &request)?.losses[0];
            weight += part.weight;
        }
        Ok(sum / weight)
    }
}
