//! Choice of the share of search scores in the targets, by results of held-out games.

use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::choice::{StrengthRequest, WithoutFolds, choose_with_folds, strength_obstacle};
use crate::config::RunConfig;
use crate::exact_scores;
use crate::scale::fit_scale;
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Blend, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_io::{Error, Result};

pub const BLENDS: [f64; 6] = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0];

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlendCandidate {
    pub share: f64,
    /// Scale constant of the tuned scores, base-10 form.
    pub k: f64,
    pub loss: f64,
    pub difference: f64,
    pub error: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlendChoice {
    /// The share: the smallest whose loss is within one standard error of the lowest.
    pub share: f64,
    pub folds: usize,
    /// True if folds consist of games, not of positions.
    pub by_game: bool,
    pub clusters: u64,
    pub candidates: Vec<BlendCandidate>,
}

/// Chooses a share of [`BLENDS`] for the targets of a run on the training positions of a split, where search scores
/// have the scale constant `search_k`. If `fits_k`, K is fitted for each of them, on the prior; otherwise that of
/// `config` is used.
pub fn choose_blend(
    config: &RunConfig,
    data: &mut Dataset,
    split: &Split,
    backend: &Backend,
    (search_k, fits_k): (f64, bool),
    stop: &AtomicBool,
    observe: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<BlendChoice> {
    let refused = |reason: String| Error::Setting {
        setting: "blend",
        value: Some("auto".to_string()),
        reason: format!("cannot be chosen by held-out results: {reason}"),
    };
    if let Some(reason) = strength_obstacle(config) {
        return Err(refused(reason));
    }
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let prior_scores = exact_scores(data, &config.prior_theta, &training);
    let mut tried: Vec<(f64, f64, Vec<f64>)> = Vec::new();
    let mut judge = None;
    for (tries, share) in BLENDS.into_iter().enumerate() {
        observe(tries)?;
        data.blend(Blend { share, k: search_k })?;
        let k = match fits_k {
            true => fit_scale(data, &prior_scores, &training, config.loss)?.k,
            false => config.k,
        };
        let config = RunConfig { k, ..config.clone() };
        let request = StrengthRequest::default();
        let (_, without) = choose_with_folds(&config, data, split, backend, request, stop, &mut |_| Ok(()))?;
        let Some(WithoutFolds { folded, thetas }) = without else {
            return Err(refused("one game is too few".to_string()));
        };
        let objective = Objective { k, loss: config.loss };
        let losses = folded.losses(data, data.game_results(), objective, |fold| &thetas[fold]);
        tried.push((share, k, losses));
        judge = Some(folded);
    }
    let Some(folded) = judge else { return Err(refused("there is no share to try".to_string())) };
    let means: Vec<f64> = tried.iter().map(|(_, _, losses)| folded.mean(data, |at| losses[at]).0).collect();
    if means.iter().any(|mean| !mean.is_finite()) {
        return Err(Error::Numeric("the loss of held-out positions is not a finite number".to_string()));
    }
    let lowest = (0..means.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
    let of_lowest = &tried[lowest].2;
    let candidate = |((share, k, losses), &loss): (&(f64, f64, Vec<f64>), &f64)| {
        let (difference, error) = folded.mean(data, |at| losses[at] - of_lowest[at]);
        BlendCandidate { share: *share, k: *k, loss, difference, error }
    };
    let candidates: Vec<BlendCandidate> = tried.iter().zip(&means).map(candidate).collect();
    let near = candidates.iter().find(|candidate| candidate.difference <= candidate.error);
    Ok(BlendChoice {
        share: near.map_or(candidates[lowest].share, |candidate| candidate.share),
        folds: folded.folds,
        by_game: folded.by_game,
        clusters: folded.clusters as u64,
        candidates,
    })
}
