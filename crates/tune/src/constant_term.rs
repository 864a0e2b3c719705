//! Constant terms: whether a gain is mostly that of a term that every position has, as a bonus for the side to move.
//!
//! Scores of a search, and results of quiet positions, favor the side to move more than the static evaluations that an
//! engine compares with each other. So such a term takes what it can get, and the gain says little about the other
//! parameters (docs/gallery.md has an engine for which that was most of it).

use serde::Serialize;

use gputexel_dataset::{Dataset, Split};
use gputexel_dataset::objective::Objective;
use gputexel_eval::exact::{exact_scores, loss_of_scores};

/// Share of the positions that must have a constant term.
const NEARLY_ALL: f64 = 0.95;
/// Number of such terms that are tried.
const TRIED: usize = 4;
/// Share of the gain from which on it is worth a warning.
const MUCH: f64 = 0.4;

/// A constant term and its part of a gain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConstantTerm {
    /// Its name.
    pub feature: String,
    /// Value in the prior, centipawns of the middlegame.
    pub before: f64,
    /// Value in the result.
    pub after: f64,
    /// Share of the gain that is left if all other parameters keep their values of the prior.
    pub share: f64,
}

impl ConstantTerm {
    /// Returns the constant term with the largest part of the gain on held-out positions, or else on those of training,
    /// if that is large. `occurrences` are those of the features.
    pub(crate) fn of(
        data: &Dataset,
        split: &Split,
        objective: Objective,
        occurrences: &[u64],
        [prior, result]: [&[f64]; 2],
    ) -> Option<Self> {
        let count = occurrences.len();
        let changed = |id: usize| [id, count + id].iter().any(|&i| prior[i] != result[i]);
        let common = |id: usize| occurrences[id] as f64 >= NEARLY_ALL * data.len() as f64 && changed(id);
        let mut ids: Vec<usize> = (0..count).filter(|&id| data.program().is_none() && common(id)).collect();
        retain_constant(data, &mut ids);
        ids.truncate(TRIED);
        if ids.is_empty() {
            return None;
        }
        let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
        let which = match held_out.is_empty() {
            true => split.training().map(|n| n as u32).collect(),
            false => held_out,
        };
        let loss = |theta: &[f64]| loss_of_scores(data, objective, &exact_scores(data, theta, &which), &which);
        let (before, after) = (loss(prior), loss(result));
        let terms = ids.into_iter().map(|id| {
            let mut alone = prior.to_vec();
            [id, count + id].iter().for_each(|&i| alone[i] = result[i]);
            let share = (before - loss(&alone)) / (before - after);
            let feature = data.metadata().feature_set.features[id].name.clone();
            Self { feature, before: prior[id], after: result[id], share }
        });
        terms.filter(|term| after < before && term.share >= MUCH).max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Says what that means.
    pub fn warning(&self) -> String {
        let Self { feature, before, after, share } = self;
        format!(
            "{:.0} % of the gain is that of {feature} alone, {before:.0} -> {after:.0}, which every position has, as a \
             bonus for the side to move: targets favor that side more than evaluations should; --freeze {feature} \
             shows what the rest is worth",
            100.0 * share
        )
    }
}

/// Keeps the features whose coefficients differ at most in sign.
fn retain_constant(data: &Dataset, ids: &mut Vec<usize>) {
    let mut sizes: Vec<Option<f32>> = vec![None; ids.len()];
    for n in 0..data.len() {
        if ids.is_empty() {
            return;
        }
        let mut varies = false;
        for (id, coefficient) in data.row(n).entries() {
            let Some(at) = ids.iter().position(|&known| known == usize::from(id)) else { continue };
            let size = sizes[at].get_or_insert(coefficient.abs());
            if *size != coefficient.abs() {
                *size = f32::NAN;
                varies = true;
            }
        }
        if varies {
            let keep: Vec<bool> = sizes.iter().map(|size| size.is_none_or(|size| !size.is_nan())).collect();
            let mut kept = keep.iter();
            ids.retain(|_| *kept.next().expect("one for each"));
            let mut kept = keep.iter();
            sizes.retain(|_| *kept.next().expect("one for each"));
        }
    }
}

#[cfg(test)]
mod tests {
    use gputexel_chess::PhaseSettings;
    use gputexel_dataset::{DatasetWriter, ImportedPosition, Metadata, PositionLabels};
    use gputexel_model::{Feature, FeatureSet, Imported, ImportedParameter};

    use super::*;

    const OBJECTIVE: Objective = Objective { k: 0.8, loss: gputexel_dataset::objective::LossKind::Squared };

    /// Creates 400 positions with a bonus for the side to move, a count that all have, too, and a term of half of them.
    /// Results depend on the bonus and that term.
    fn data(folder: &std::path::Path) -> Dataset {
        let names = ["tempo", "count", "half"].map(|name| Feature { name: name.into(), group: "g".into() });
        let phase = PhaseSettings { max: 2, ..PhaseSettings::default() };
        let imported = Imported::new(1, vec![ImportedParameter::default(); 3]);
        let set = FeatureSet::try_imported(names.to_vec(), phase, imported).unwrap();
        let path = folder.join("d.bin");
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), false).unwrap();
        for n in 0..400u16 {
            let (side, half) = (if n % 2 == 0 { 1.0 } else { -1.0 }, n % 4 < 2);
            let result = (0.5 + 0.1 * side + if half { 0.05 } else { 0.0 }) as f32;
            let (ids, coefficients) = ([0, 1, 2], [side as f32, f32::from(1 + n % 3), 1.0]);
            let entries = if half { 3 } else { 2 };
            let position = ImportedPosition {
                ids: &ids[..entries],
                coefficients: &coefficients[..entries],
                phase: 1,
                scale: 1,
                offset_cp: 0.0,
                evaluation_cp: None,
                labels: PositionLabels { result, score_cp: None, weight: 1.0, game: None },
            };
            writer.push_imported(&position).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        gputexel_dataset::read(&path).unwrap()
    }

    #[test]
    fn a_gain_of_the_bonus_for_the_side_to_move_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = data(folder.path());
        let split = Split::try_new(&data, 0.0, 1, 0).unwrap();
        let occurrences = data.occurrences();
        let of = |result: [f64; 3]| {
            let result = [result, result].concat();
            ConstantTerm::of(&data, &split, OBJECTIVE, &occurrences, [&[0.0; 6], &result])
        };
        let term = of([85.0, 0.0, 20.0]).unwrap();
        assert_eq!((term.feature.as_str(), term.before, term.after), ("tempo", 0.0, 85.0));
        assert!((0.5..1.0).contains(&term.share), "{term:?}");
        assert_eq!(of([85.0, 0.0, 0.0]).unwrap().share, 1.0);
        // The count is in all positions, but not constant; the last term is not in all; nothing is gained; the bonus is
        // the smaller part.
        assert_eq!([of([0.0, 9.0, 0.0]), of([0.0, 0.0, 40.0]), of([-85.0, 0.0, 0.0])], [None, None, None]);
        assert_eq!(of([5.0, 0.0, 40.0]), None);
    }
}
