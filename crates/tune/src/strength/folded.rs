//! The training positions in folds of games.

use rayon::prelude::*;

use crate::diagnostics::clustered_mean;
use crate::exact_scores;
use gputexel_dataset::objective::{Objective, x_per_cp};
use gputexel_dataset::{Dataset, Folds, Layout, Split};
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
    members: Vec<Vec<u32>>,
    /// Every training position and its index among the members of all folds, in the order of the games.
    order: Vec<(u32, u32)>,
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
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); wanted];
        split.training().for_each(|n| members[folds.fold_of(n)].push(n as u32));
        // With held-out games and few others, a fold may have none of the latter.
        let mut number = vec![None; wanted];
        let filled = members.iter().enumerate().filter(|(_, list)| !list.is_empty());
        filled.enumerate().for_each(|(at, (fold, _))| number[fold] = Some(at));
        members.retain(|list| !list.is_empty());
        let count = members.len();
        if count < 2 {
            return Ok(None);
        }
        let held_out = split.held_out_part();
        let part_of = |n: usize| match number[folds.fold_of(n)] {
            Some(at) if Some(split.part_of(n)) != held_out => at,
            _ => count,
        };
        let layout = Layout::try_new(data, count + usize::from(held_out.is_some()), part_of)?;
        let mut order: Vec<(u32, u32)> = members.iter().flatten().copied().zip(0..).collect();
        order.par_sort_unstable_by_key(|&(n, _)| (data.game(n as usize), n));
        Ok(Some(Self { layout, folds: count, by_game: data.has_games(), clusters, members, order }))
    }

    /// Computes the exact loss of every training position, by its index, under the θ of its fold, against `results` of
    /// all positions.
    pub fn losses<'t>(
        &self,
        data: &Dataset,
        results: &[f32],
        objective: Objective,
        theta_of: impl Fn(usize) -> &'t [f64],
    ) -> Vec<f64> {
        let x_per_cp = x_per_cp(objective.k);
        let of_fold = |(fold, which): (usize, &Vec<u32>)| {
            let scores = exact_scores(data, theta_of(fold), which);
            let loss = |(score, &n): (f64, &u32)| {
                objective.loss.value(x_per_cp * score, f64::from(results[n as usize]))
            };
            scores.into_par_iter().zip(which).map(loss).collect::<Vec<f64>>()
        };
        self.members.iter().enumerate().flat_map(of_fold).collect()
    }

    /// Computes the mean of a value of training positions, by their indices, and its standard error by game.
    pub fn mean(&self, data: &Dataset, value: impl Fn(usize) -> f64) -> (f64, f64) {
        clustered_mean(data, self.order.iter().map(|&(n, place)| (n, value(place as usize))))
    }

    /// Computes the mean loss of every position under the member that belongs to its fold:
    pub fn held_out(&self, part_losses: &[f64]) -> f64 {
        let parts = self.layout.parts()[..self.folds].iter().enumerate();
        let (sum, weight) = parts.fold((0.0, 0.0), |(sum, weight), (fold, part)| {
            (sum + part.weight * part_losses[fold * self.folds + fold], weight + part.weight)
        });
        sum / weight
    }

    /// Computes the mean loss of every position under the parameters without its fold.
    pub fn exact(
        &self,
        evaluator: &mut dyn Evaluator,
        objective: Objective,
        parameterization: &Parameterization,
        z: &[Vec<f64>],
    ) -> Result<f64> {
        let theta = parameterization.theta(&z.concat());
        let population =
            Population::new(parameterization.parameters() / 2, theta, vec![objective.k; self.folds]);
        let request =
            Request { parts: 0..self.folds, loss: objective.loss, gradients: false, curvature: false };
        Ok(self.held_out(&evaluator.evaluate(&population, &request)?.part_losses))
    }
}
