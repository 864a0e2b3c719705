//! Search scores in the targets of a run.

use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Blend, Dataset, Split};
use gputexel_ingest::extraction::Target;
use gputexel_io::{Advice, Error, Result};
use gputexel_tune::{BlendRecord, fit_scale};

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
    /// Scale constant of search scores, base-10 form; `None` for 1, or to fit it where a share is given.
    pub k: Option<f64>,
}

impl BlendSettings {
    pub(crate) fn validate(self) -> Result<()> {
        let share = match self.share {
            None | Some(BlendShare::Given(0.0)) if self.k.is_some() => {
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
        let Some(share) = self.share.filter(|share| *share != BlendShare::Given(0.0)) else {
            return Ok(None);
        };
        let scores = data.search_scores();
        if share == BlendShare::Scores && !data.prefers_scores() {
            return Ok(None);
        }
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
        if share == BlendShare::Scores && scored.iter().all(|&n| scores[n as usize] == 0.0) {
            return Ok(None); // results are what is left
        }
        let fitted = match self.k.is_none() && share != BlendShare::Scores {
            true => fitted_k(data, &scored, loss)?,
            false => None,
        };
        // By default that of labels which are made of scores, so that the same positions always have the same targets.
        let k = self.k.or(fitted).unwrap_or(Target::DEFAULT_K);
        let share = match share {
            BlendShare::Given(share) => share,
            BlendShare::Scores => 1.0,
        };
        let blend = Blend { share, k };
        data.blend(blend)?;
        let record = BlendRecord {
            scored: data.scored_positions(),
            positions: data.len() as u64,
            k_fitted: fitted.is_some(),
            k_default: self.k.is_none() && fitted.is_none(),
        };
        Ok(Some((blend, record)))
    }
}

/// Score from which on a game is mostly won, centipawns.
const WINNING_CP: f32 = 300.0;
/// Share of the points that winning scores bring at least in games that went on from the positions.
const FOLLOWING: f64 = 0.8;

/// Fits K of the scores `which` to their results; `None` if results do not follow them, as where they are those of the
/// games in whose searches the positions occurred: K would be that of other positions.
pub(crate) fn fitted_k(data: &Dataset, which: &[u32], loss: LossKind) -> Result<Option<f64>> {
    let (scores, results) = (data.search_scores(), data.game_results());
    let winning = which.iter().map(|&n| n as usize).filter(|&n| scores[n].abs() >= WINNING_CP);
    let points = winning.map(|n| f64::from(if scores[n] > 0.0 { results[n] } else { 1.0 - results[n] }));
    let (sum, count) = points.fold((0.0, 0u32), |(sum, count), points| (sum + points, count + 1));
    if sum < FOLLOWING * f64::from(count) {
        return Ok(None);
    }
    let of: Vec<f64> = which.iter().map(|&n| f64::from(scores[n as usize])).collect();
    let fit = fit_scale(data, &of, which, loss).map_err(|error| {
        let advice = Advice::default().text("give it with ").setting("blend-k", "");
        Error::Usage(format!("K of the search scores: {}", error.without_advice())).advise(advice)
    })?;
    Ok(Some(fit.k))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use gputexel_chess::selection::Duplicates;
    use gputexel_dataset::read;

    use super::*;
    use crate::inputs::{default_extraction, extract_to};

    #[test]
    fn a_file_and_its_dataset_have_the_same_targets() {
        let folder = tempfile::tempdir().unwrap();
        let [file, output] = ["leaves.fens", "d.bin"].map(|name| folder.path().join(name));
        // Leaves: what the side that is ahead in them made of its game says nothing.
        let line = |n: u32| {
            let (pawn, score) = (n % 5 + 1, 100 * (n % 9) + 40);
            format!("{n} {} 4k3/8/8/8/P{pawn}P{}/8/8/4K3 w - - 0 30 {score}\n", n % 2, 6 - pawn)
        };
        std::fs::write(&file, (0..90).map(line).collect::<String>()).unwrap();
        let extracted = |target| {
            let mut settings = default_extraction();
            settings.target = target;
            settings.selection.duplicates = Duplicates::Keep;
            extract_to(std::slice::from_ref(&file), &settings, &output, &AtomicBool::new(false), &mut |_| {
                Ok(())
            })
            .unwrap();
            read(&output).unwrap()
        };
        let labelled = extracted(Target::Score { k: Target::DEFAULT_K });
        std::fs::remove_file(&output).unwrap();
        let mut data = extracted(Target::Result);
        let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
        for share in [BlendShare::Scores, BlendShare::Given(1.0)] {
            let settings = BlendSettings { share: Some(share), k: None };
            let (blend, record) = settings.prepare(&mut data, &split, LossKind::Squared).unwrap().unwrap();
            assert!(blend.k == 1.0 && record.k_default && !record.k_fitted, "{blend:?} {record:?}");
            assert_eq!(data.results(), labelled.results());
        }
    }
}
