use std::sync::atomic::AtomicBool;

use super::chooser::{Chooser, LARGEST, START};
use super::descent::STRONG;
use super::folded::{FOLDS, Folded};
use super::outcome::{Strength, StrengthChoice};
use super::progress::StrengthObserver;
use super::pulled::Pulled;
use crate::GAUSS_NEWTON_LIMIT;
use crate::config::RunConfig;
use crate::regularization::penalties_of;
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, Split};
use gputexel_eval::Backend;
use gputexel_io::{Error, Result};
use gputexel_model::{Penalty, PenaltyKind, penalties};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StrengthRequest<'a> {
    /// Number of folds [default: 5, or 10 for fewer than 2,000 games if scores are linear].
    pub folds: Option<usize>,
    /// Weights that were already chosen, at another K for example, and should be judged as they are, and a z near the
    /// optimum with them.
    pub given: Option<(&'a Strength, &'a [f64])>,
}

/// Returns the reason why weights cannot be chosen for a run, if any.
pub fn strength_obstacle(config: &RunConfig) -> Option<String> {
    let dimension = config.parameterization().dimension().max(config.prior_theta.len());
    match config.loss.is_smooth() {
        false => Some(format!("the loss '{}' has no curvature", config.loss)),
        true if dimension > GAUSS_NEWTON_LIMIT => Some(format!(
            "{dimension} parameters are more than the {GAUSS_NEWTON_LIMIT} of which a matrix is made"
        )),
        true => None,
    }
}

/// Chooses the weights of all penalties that the features of a dataset have, for a run on the training positions of a
/// split.
pub fn choose_strength(
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    request: StrengthRequest<'_>,
    stop: &AtomicBool,
    observe: &mut StrengthObserver<'_>,
) -> Result<StrengthChoice> {
    if let Some(reason) = strength_obstacle(config) {
        return Err(Error::Usage(format!("the strength of the prior cannot be chosen: {reason}")));
    }
    let set = &data.metadata().feature_set;
    let all = penalties_of(data, PenaltyKind::ALL.iter().flat_map(|&kind| penalties(set, kind)).collect());
    let kinds: Vec<(PenaltyKind, Vec<Penalty>)> =
        all.chunk_by(|a, b| a.kind == b.kind).map(|list| (list[0].kind, list.to_vec())).collect();
    let mut warnings = Vec::new();
    // Each fold has its own systems, and those of programs are solved in more rounds.
    let usual = data.program().map(|_| FOLDS);
    let Some(folded) = Folded::try_new(data, split, request.folds.or(usual), config.seed)? else {
        warnings
            .push("one game is too few to choose the strength of the prior: the prior is kept".to_string());
        return Ok(Chooser::kept(config, &kinds, warnings));
    };
    if !folded.by_game {
        warnings.push(
            "the games of the positions are not known: the strength of the prior is chosen by folds of positions, \
             and neighbors of one game in different folds make it too weak"
                .to_string(),
        );
    } else if request.folds.is_some_and(|folds| folds > folded.folds) || folded.folds < FOLDS {
        let games = folded.clusters;
        warnings.push(format!("{games} games are fewer than the folds: {} are used", folded.folds));
    }
    let objective = Objective { k: config.k, loss: config.loss };
    let (mut evaluator, _) = backend.evaluator(&folded.layout)?;
    let parameterization = config.parameterization();
    let start = parameterization.theta(&parameterization.start());
    let delta: Vec<f64> = start.iter().zip(&config.prior_theta).map(|(a, b)| a - b).collect();
    let pulled = kinds.iter().map(|(_, list)| Pulled::new(list, &parameterization, &delta)).collect();
    let mut chooser = Chooser {
        objective,
        parameterization,
        pulled,
        folded: &folded,
        evaluator: &mut *evaluator,
        kinds: &kinds,
        stop,
        observe,
    };
    let mut best = match (request.given, data.program()) {
        (Some((strength, z)), _) => {
            chooser.found(z, strength.kinds.iter().map(|kind| kind.weight).collect())?
        }
        (None, None) => chooser.search(chooser.parameterization.start())?,
        (None, Some(_)) => {
            let z = config.begin.clone().unwrap_or_else(|| chooser.parameterization.start());
            chooser.descend(z, (STRONG * START / folded.clusters as f64).min(LARGEST))?
        }
    };
    let of_prior = folded.losses(data, data.results(), objective, |_| &config.prior_theta);
    let by_fold: Vec<Vec<f64>> = if let Some((strength, _)) = request.given {
        let of_fold = |fold| {
            strength.kinds.iter().map(|kind| kind.by_fold.get(fold).copied().unwrap_or(kind.weight)).collect()
        };
        (0..folded.folds).map(of_fold).collect()
    } else {
        let by_fold = chooser.by_fold(&best.model, &best.weights)?;
        let against = chooser.against(data, &of_prior, &best.at.without);
        let factor = chooser.strengthen(&mut best, &against)?;
        by_fold.into_iter().map(|weights| weights.iter().map(|weight| factor * weight).collect()).collect()
    };
    let without = chooser.nested(&best, &by_fold)?;
    let against = chooser.against(data, &of_prior, &without);
    let strength = chooser.strength(&best, &by_fold, &against)?;
    if let Some(fallback) = evaluator.take_fallback() {
        warnings.push(format!("{}; the choice continued on the {}", fallback.error, fallback.evaluator));
    }
    if strength.keeps_prior {
        return Ok(StrengthChoice { strength, ..Chooser::kept(config, &kinds, warnings) });
    }
    let weighted = kinds.iter().zip(&strength.kinds).flat_map(|((_, list), kind)| {
        list.iter().map(|penalty| Penalty { weight: kind.weight, ..penalty.clone() })
    });
    Ok(StrengthChoice {
        penalties: weighted.filter(|penalty| penalty.weight > 0.0).collect(),
        z: best.at.z,
        strength,
        warnings,
    })
}
