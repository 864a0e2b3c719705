//! Search scores in the targets of a run.

use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Blend, Dataset, Split};
use gputexel_io::{Advice, Error, Result};
use gputexel_tune::{BlendRecord, fit_scale};

/// Share of the search score in the targets of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlendShare {
    Given(f64),
    /// 1 where [search scores can take the place of results](Dataset::prefers_scores), else 0.
    Scores,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlendSettings {
    /// Share of the search score in the targets; the rest is the result. `None`: results only.
    pub share: Option<BlendShare>,
    /// Scale constant of search scores, base-10 form; `None` to fit it.
    pub k: Option<f64>,
}

impl BlendSettings {
    pub(crate) fn validate(self) -> Result<()> {
        let share = match self.share {
            None if self.k.is_some() => {
                let reason = "is only used where search scores are blended with results".to_string();
                return Err(Error::Setting { setting: "blend-k", value: None, reason });
            }
            Some(BlendShare::Given(share)) => share,
            None | Some(BlendShare::Scores) => 0.0,
        };
        Blend { share, k: self.k.unwrap_or(1.0) }.validate()
    }

    /// Fits the scale constant of search scores on the training positions, and sets the targets.
    pub(crate) fn prepare(
        self,
        data: &mut Dataset,
        split: &Split,
        loss: LossKind,
    ) -> Result<Option<(Blend, BlendRecord)>> {
        let Some(share) = self.share else { return Ok(None) };
        if share == BlendShare::Scores && !data.prefers_scores() {
            return Ok(None);
        }
        let scores = data.search_scores();
        let scored: Vec<u32> = split
            .training()
            .filter(|&n| scores.get(n).is_some_and(|score| !score.is_nan()))
            .map(|n| n as u32)
            .collect();
        if scored.is_empty() {
            let what =
                if split.held_out_part().is_some() { "training positions have" } else { "dataset has" };
            let reason = format!("the {what} no search scores to blend with results");
            return Err(Error::Setting { setting: "blend", value: None, reason });
        }
        let k = match self.k {
            Some(k) => k,
            None => {
                let of: Vec<f64> = scored.iter().map(|&n| f64::from(scores[n as usize])).collect();
                let fit = fit_scale(data, &of, &scored, loss);
                if share == BlendShare::Scores && fit.is_err() {
                    return Ok(None); // such as scores that are all 0: results are what is left
                }
                let fit = fit.map_err(|error| {
                    let advice = Advice::default().text("give it with ").setting("blend-k", "");
                    Error::Usage(format!("K of the search scores: {}", error.without_advice())).advise(advice)
                })?;
                fit.k
            }
        };
        let share = match share {
            BlendShare::Given(share) => share,
            BlendShare::Scores => 1.0,
        };
        let blend = Blend { share, k };
        data.blend(blend)?;
        let record = BlendRecord {
            scored: data.scored_positions(),
            positions: data.len() as u64,
            k_fitted: self.k.is_none(),
        };
        Ok(Some((blend, record)))
    }
}
