//! Constant terms: whether a gain is mostly that of a term that every position has, as a bonus for the side
//! to move.

use serde::Serialize;

use crate::run_scores::RunScores;
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, Split};
use gputexel_eval::exact::{exact_scores, loss_of_scores};
use gputexel_model::{Feature, ValueChange};

/// Share of the positions that must have a constant term, with the same size.
const NEARLY_ALL: f64 = 0.95;
/// Relative difference of sizes that count as the same.
const SAME: f32 = 0.4;
/// Share of the gain from which on it is worth a warning.
const MUCH: f64 = 0.4;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConstantTerm {
    /// Its values: one feature, or one for each phase.
    pub changes: Vec<ValueChange>,
    /// Share of the gain that is left if all other parameters keep their values of the prior.
    pub share: f64,
}

impl ConstantTerm {
    /// The constant term with the largest part of the gain on held-out positions, or else on those of
    /// training, if that is large. `occurrences` are those of the features, `scores` those of the two vectors
    /// θ.
    pub fn of(
        data: &Dataset,
        split: &Split,
        objective: Objective,
        occurrences: &[u64],
        scores: &RunScores,
        [prior, result]: [&[f64]; 2],
    ) -> Option<Self> {
        if data.program().is_some() {
            return None; // columns are not features
        }
        let (set, count) = (&data.metadata().feature_set, occurrences.len());
        let enough = |id: usize| occurrences[id] as f64 >= NEARLY_ALL * data.len() as f64;
        let changed = |term: &[usize]| {
            term.iter().any(|&id| prior[id] != result[id] || prior[count + id] != result[count + id])
        };
        let common = (0..count).filter(|&id| enough(id));
        let mut terms: Vec<Vec<usize>> = common.map(|id| with_other_phase(&set.features, id)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms.retain(|term| changed(term) && is_constant(data, term));
        if terms.is_empty() {
            return None;
        }
        let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
        let which = if held_out.is_empty() { split.training().map(|n| n as u32).collect() } else { held_out };
        let [before, after] = scores.losses(data, objective, &which)?;
        let parts = terms.into_iter().map(|term| {
            let mut alone = prior.to_vec();
            term.iter().flat_map(|&id| [id, count + id]).for_each(|i| alone[i] = result[i]);
            let loss = loss_of_scores(data, objective, &exact_scores(data, &alone, &which), &which);
            let share = (before - loss) / (before - after);
            Self { changes: ValueChange::of(set, term.into_iter(), prior, result), share }
        });
        parts.filter(|part| after < before && part.share >= MUCH).max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Says what that means.
    pub fn warning(&self) -> String {
        let change = |ValueChange { name, from, to }: &ValueChange| match from[0] == from[1] && to[0] == to[1]
        {
            true => format!("{name} {:.0} -> {:.0}", from[0], to[0]),
            false => format!("{name} {:.0}, {:.0} -> {:.0}, {:.0}", from[0], from[1], to[0], to[1]),
        };
        let changes: Vec<String> = self.changes.iter().map(change).collect();
        let names: Vec<&str> = self.changes.iter().map(|change| change.name.as_str()).collect();
        format!(
            "{:.0} % of the gain is that of one term alone, {}, which every position has, as a bonus for the side to \
             move: targets favor that side more than evaluations should; --freeze {} shows what the rest is worth",
            100.0 * self.share,
            changes.join(" and "),
            names.join(",")
        )
    }
}

/// A feature, with that of the other phase if it is one of a pair of names that end in `_mg` and `_eg`.
fn with_other_phase(features: &[Feature], id: usize) -> Vec<usize> {
    let find = |name: String| features.iter().position(|feature| feature.name == name);
    let name = &features[id].name;
    let other = match (name.strip_suffix("_mg"), name.strip_suffix("_eg")) {
        (Some(stem), _) => find(format!("{stem}_eg")).map(|eg| vec![id, eg]),
        (_, Some(stem)) => find(format!("{stem}_mg")).map(|mg| vec![mg, id]),
        _ => None,
    };
    other.unwrap_or_else(|| vec![id])
}

/// True if the coefficients of a term add up to the same size in nearly all positions.
fn is_constant(data: &Dataset, term: &[usize]) -> bool {
    let mut size = None;
    let mut others = 0;
    for n in 0..data.len() {
        let own = data.row(n).entries().filter(|&(id, _)| term.contains(&usize::from(id)));
        let sum = own.map(|(_, coefficient)| coefficient).sum::<f32>().abs();
        let size = *size.get_or_insert(sum);
        others += usize::from((sum - size).abs() > SAME * size);
        if others as f64 > (1.0 - NEARLY_ALL) * data.len() as f64 {
            return false;
        }
    }
    size.is_some_and(|size| size > 0.0)
}

#[cfg(test)]
mod tests {
    use gputexel_chess::PhaseSettings;
    use gputexel_dataset::{DatasetWriter, ImportedPosition, Metadata, PositionLabels};
    use gputexel_model::{Feature, FeatureSet, Imported, ImportedParameter};

    use super::*;

    const OBJECTIVE: Objective = Objective { k: 0.8, loss: gputexel_dataset::objective::LossKind::Squared };

    /// Creates 400 positions with a bonus for the side to move in two phases, a count that all have, too, and
    /// a term of half of them.
    fn data(folder: &std::path::Path) -> Dataset {
        let names = ["tempo_mg", "count", "half", "tempo_eg"]
            .map(|name| Feature { name: name.into(), group: "g".into() });
        let phase = PhaseSettings { max: 2, ..PhaseSettings::default() };
        let imported = Imported::new(1, vec![ImportedParameter::default(); 4]);
        let set = FeatureSet::try_imported(names.to_vec(), phase, imported).unwrap();
        let path = folder.join("d.bin");
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), false).unwrap();
        for n in 0..400u16 {
            let (side, half) = (if n % 2 == 0 { 1.0 } else { -1.0 }, n % 4 < 2);
            let result = (0.5 + 0.1 * side + if half { 0.05 } else { 0.0 }) as f32;
            let early = [1.0, 0.75][usize::from(n % 3 == 0)] * side as f32;
            let (ids, coefficients) = ([0, 1, 3, 2], [early, f32::from(1 + n % 3), side as f32 - early, 1.0]);
            let entries = if half { 4 } else { 3 };
            let position = ImportedPosition {
                ids: &ids[..entries],
                coefficients: &coefficients[..entries],
                phase: 1,
                scale: 1,
                offset_cp: 0.0,
                evaluation_cp: None,
                labels: PositionLabels { result, score_cp: None, weight: 1.0, game: None },
                board: Default::default(),
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
            let result = [&result[..], &result[..1]].concat().repeat(2);
            let scores = RunScores::new(&data, &[0.0; 8], &result);
            ConstantTerm::of(&data, &split, OBJECTIVE, &occurrences, &scores, [&[0.0; 8], &result])
        };
        let term = of([85.0, 0.0, 20.0]).unwrap();
        assert!((0.5..1.0).contains(&term.share), "{term:?}");
        let text = term.warning();
        assert!(text.contains("tempo_mg 0 -> 85 and tempo_eg 0 -> 85, which"), "{text}");
        assert!(text.contains("--freeze tempo_mg,tempo_eg"), "{text}");
        assert_eq!(of([85.0, 0.0, 0.0]).unwrap().share, 1.0);
        // The count is in all positions, but not constant; the last term is not in all; nothing is gained; the bonus is
        // the smaller part.
        assert_eq!([of([0.0, 9.0, 0.0]), of([0.0, 0.0, 40.0]), of([-85.0, 0.0, 0.0])], [None, None, None]);
        assert_eq!(of([2.0, 0.0, 40.0]), None);
    }
}
