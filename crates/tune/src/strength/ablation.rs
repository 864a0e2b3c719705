//! Ablation of groups of features: the held-out loss without each of them.

use serde::{Deserialize, Serialize};

use super::folded::Folded;
use super::model::{FoldModel, LeaveOut};
use super::pulled::Pulled;
use crate::parts::RunParts;
use crate::strength::choice::strength_obstacle;
use gputexel_dataset::objective::Objective;
use gputexel_eval::{Population, Request};
use gputexel_io::{Error, Result};
use gputexel_model::{Parameterization, Penalty, PenaltyKind, penalties};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    pub folds: usize,
    /// True if folds consist of games, not of positions.
    pub by_game: bool,
    pub held_out: f64,
    pub groups: Vec<LeftOut>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    pub group: String,
    pub coordinates: usize,
    /// Increase of the held-out loss when they stay at the prior and all others are tuned.
    pub cost: f64,
    pub error: f64,
}

/// Holds each group of features at the prior in turn, tunes all others without each fold, and judges the result by that
/// fold: all groups and folds are one population.
pub fn ablate(parts: &RunParts<'_>, z: &[f64], l2: f64) -> Result<Ablation> {
    let RunParts { config, data, split, backend, .. } = *parts;
    if let Some(reason) = strength_obstacle(config) {
        return Err(Error::Usage(format!("groups cannot be left out: {reason}")));
    }
    let Some(folded) = Folded::try_new(data, split, None, config.seed)? else {
        return Err(Error::Usage(
            "one game is too few to judge what groups of features are worth".to_string(),
        ));
    };
    let set = &data.metadata().feature_set;
    let objective = Objective { k: config.k, loss: config.loss };
    let parameterization = config.parameterization();
    let (mut evaluator, _) = backend.evaluator(&folded.layout)?;
    let theta = parameterization.theta(z);
    let delta: Vec<f64> = theta.iter().zip(&config.prior_theta).map(|(a, b)| a - b).collect();
    let ridge = penalties(set, PenaltyKind::Ridge);
    let weighted: Vec<Penalty> = ridge
        .iter()
        .map(|penalty| Penalty { weight: l2, ..penalty.clone() })
        .chain(config.penalties.clone())
        .collect();
    let pulled: Vec<Pulled> = weighted
        .iter()
        .map(|penalty| Pulled::new(std::slice::from_ref(penalty), &parameterization, &delta))
        .collect();
    let weights: Vec<f64> = weighted.iter().map(|penalty| penalty.weight).collect();
    let (layout, folds) = (&folded.layout, folded.folds);
    let model = FoldModel::try_new(&mut *evaluator, layout, folds, objective, &parameterization, z, pulled)?;
    let names = set.group_names();
    let groups: Vec<Vec<usize>> = names
        .iter()
        .map(|name| coordinates(&parameterization, |id| set.features[id].group == *name))
        .collect();
    let prior = parameterization.start();
    let back: Vec<f64> = prior.iter().zip(z).map(|(prior, z)| prior - z).collect();
    let LeaveOut { whole, without } = model.leave_out(&weights, &groups, &back)?;
    // Nothing left out, then each group: one member for each fold.
    let members: Vec<Vec<f64>> = whole
        .iter()
        .chain(without.iter().flatten())
        .map(|step| z.iter().zip(step).map(|(z, step)| z + step).collect())
        .collect();
    let all = parameterization.theta(&members.concat());
    let population = Population::new(set.features.len(), all, vec![objective.k; members.len()]);
    let request = Request { parts: 0..folds, loss: objective.loss, gradients: false, curvature: false };
    let answer = evaluator.evaluate(&population, &request)?;
    let loss_of = |first: usize| folded.held_out(&answer.part_losses[first * folds..][..folds * folds]);
    let losses_of =
        |first: usize| folded.losses(data, data.results(), objective, |fold| population.member(first + fold));
    let (held_out, with_all) = (loss_of(0), losses_of(0));
    let mut left_out = Vec::new();
    for (at, name) in names.iter().enumerate().filter(|(at, _)| !groups[*at].is_empty()) {
        let first = folds * (1 + at);
        let losses = losses_of(first);
        let (_, error) = folded.mean(data, |place| losses[place] - with_all[place]);
        let cost = loss_of(first) - held_out;
        left_out.push(LeftOut { group: (*name).to_string(), coordinates: groups[at].len(), cost, error });
    }
    left_out.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    Ok(Ablation { folds, by_game: folded.by_game, held_out, groups: left_out })
}

fn coordinates(parameterization: &Parameterization, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let features = parameterization.parameters() / 2;
    let mut found: Vec<usize> = parameterization
        .rows()
        .iter()
        .enumerate()
        .filter(|(index, _)| wanted(index % features))
        .flat_map(|(_, row)| row.iter().map(|&(coordinate, _)| coordinate as usize))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}
