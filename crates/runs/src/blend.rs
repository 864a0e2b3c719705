//! Search scores in the targets of a run.

use std::str::FromStr;

use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Blend, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_eval::cpu::CpuEvaluator;
use gputexel_io::{Advice, Error, Result, StopFlag};
use gputexel_tune::{BLENDS, BlendRecord, RunConfig, choose_blend, exact_scores, fit_scale};

use crate::event::{Deciding, RunEvent, RunObserver};

/// Share of the search score in the targets of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlendShare {
    Given(f64),
    Auto,
    /// 1 where [search scores can take the place of results](Dataset::prefers_scores), else 0.
    Scores,
}

impl FromStr for BlendShare {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse::<f64>()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(share)) => Ok(Self::Given(share)),
            _ => Err(Error::setting("blend", text, "must be a number from 0 to 1, or auto")),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlendSettings {
    /// Share of the search score in the targets; the rest is the result. `None`: results only.
    pub share: Option<BlendShare>,
    /// Scale constant of search scores, base-10 form; `None` to fit it.
    pub k: Option<f64>,
}

/// Search scores whose share may not be chosen yet.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub blend: Blend,
    pub record: BlendRecord,
    chooses: bool,
}

impl BlendSettings {
    pub(crate) fn validate(self) -> Result<()> {
        let share = match self.share {
            None if self.k.is_some() => {
                let reason = "is only used where search scores are blended with results".to_string();
                return Err(Error::Setting { setting: "blend-k", value: None, reason });
            }
            Some(BlendShare::Given(share)) => share,
            None | Some(BlendShare::Auto | BlendShare::Scores) => 0.0,
        };
        Blend { share, k: self.k.unwrap_or(1.0) }.validate()
    }

    /// Fits the scale constant of search scores on the training positions; with a given share, sets the targets.
    pub(crate) fn prepare(
        self,
        data: &mut Dataset,
        split: &Split,
        loss: LossKind,
    ) -> Result<Option<Prepared>> {
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
        let (share, chooses) = match share {
            BlendShare::Given(share) => (share, false),
            BlendShare::Auto => (0.0, true),
            BlendShare::Scores => (1.0, false),
        };
        let blend = Blend { share, k };
        data.blend(blend)?;
        let record = BlendRecord {
            scored: data.scored_positions(),
            positions: data.len() as u64,
            k_fitted: self.k.is_none(),
            choice: None,
        };
        Ok(Some(Prepared { blend, record, chooses }))
    }
}

pub(crate) struct OpenBlend<'a, 'o> {
    pub data: &'a mut Dataset,
    pub split: &'a Split,
    pub backend: &'a Backend,
    pub stop: &'a StopFlag,
    /// True if K of the tuned scores is fitted, not given.
    pub fits_k: bool,
    pub observe: &'a mut RunObserver<'o>,
}

impl OpenBlend<'_, '_> {
    /// Chooses the share, unless it is given, and sets its targets.
    pub fn decide(self, prepared: &mut Prepared, config: &mut RunConfig) -> Result<Option<f64>> {
        let Self { data, split, backend, stop, fits_k, observe } = self;
        if !prepared.chooses {
            return Ok(None);
        }
        let scale = (prepared.blend.k, fits_k);
        let deciding = |observe: &mut RunObserver<'_>, tries: usize| {
            let count = BLENDS.len();
            let text = format!("the share of search scores: {} of {count}", tries + 1);
            let share = Some(tries as f64 / count as f64);
            observe(RunEvent::Deciding { what: Deciding::Blend, progress: &text, share })
        };
        let choice = match choose_blend(config, data, split, backend, scale, stop, &mut |tries| {
            deciding(observe, tries)
        }) {
            // Matrices take more memory than the run itself may need.
            Err(Error::Gpu(reason)) => {
                let text = format!("{reason}; the share of search scores is chosen on the CPU");
                observe(RunEvent::Warning(&text))?;
                let cpu = Backend::custom("cpu", |layout| Ok(Box::new(CpuEvaluator::new(layout))));
                choose_blend(config, data, split, &cpu, scale, stop, &mut |tries| deciding(observe, tries))?
            }
            answer => answer?,
        };
        if !choice.by_game {
            let text = "the dataset does not know its games: the share of search scores is chosen by folds of \
                        positions, and neighbors of one game in different folds favor results";
            observe(RunEvent::Warning(text))?;
        }
        prepared.blend.share = choice.share;
        prepared.record.choice = Some(choice);
        config.blend = Some(prepared.blend);
        data.blend(prepared.blend)?;
        if !fits_k {
            return Ok(None);
        }
        let training: Vec<u32> = split.training().map(|n| n as u32).collect();
        let scores = exact_scores(data, &config.prior_theta, &training);
        let fit = fit_scale(data, &scores, &training, config.loss)?;
        config.k = fit.k;
        Ok(Some(fit.loss))
    }
}
