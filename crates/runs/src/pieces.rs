//! Worth of the pieces before and after a run.

use std::collections::BTreeMap;

use gputexel_dataset::Dataset;
use gputexel_model::{FeatureSet, LEAST_WORTH, PieceValues, PieceWorth};
use gputexel_report::Parameter;

/// Positions that tell which groups count pieces.
const LOOKED_AT: usize = 20_000;

/// The worth of pieces in a page, over that of the reference.
pub(crate) fn shown_worth(values: &[PieceValues; 6], parameters: &[Parameter]) -> Vec<PieceWorth> {
    let before = |id: usize, phase: usize| parameters[id].reference.map_or(f64::NAN, |values| values[phase]);
    let after = |id: usize, phase: usize| parameters[id].values[phase];
    PieceWorth::of(values, before, after, |id| parameters[id].support.map_or(1.0, |n| n as f64))
}

/// The values of pieces that names tell, and, of an engine's own features, all groups of which every piece has one entry,
/// such as mobility: in each position their entries add up to what counts the piece.
pub(crate) fn piece_values(data: &Dataset) -> [PieceValues; 6] {
    let set = &data.metadata().feature_set;
    let mut values = PieceValues::of(set.features.iter().map(|one| (&*one.name, &*one.group)));
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let own = set.features.iter().enumerate().filter(|_| set.imported.is_some());
    own.for_each(|(id, one)| groups.entry(&one.group).or_default().push(id));
    let first = |own: &PieceValues| {
        let table = own.tables.first().map(|table| table.0.clone());
        own.counts.first().map(|count| vec![count.0]).or(table).unwrap_or_default()
    };
    let known = values.each_ref().map(first);
    let mut groups: Vec<_> =
        groups.into_values().filter(|ids| ids.len() > 1).map(|ids| (ids, [true; 6])).collect();
    let linear = data.program().map_or(usize::MAX, |program| program.slot_columns(0).end);
    let mut row = vec![0.0; set.features.len()];
    let looked_at = if groups.is_empty() { 0 } else { data.len() };
    for n in (0..looked_at).step_by(data.len().div_ceil(LOOKED_AT).max(1)) {
        row.fill(0.0);
        let entries = data.row(n).entries().filter(|entry| usize::from(entry.0) < linear);
        entries.for_each(|(id, count)| row[usize::from(data.feature_of(id))] += count);
        let sum = |ids: &[usize]| ids.iter().map(|&id| row[id]).sum::<f32>();
        let counts = known.each_ref().map(|ids| sum(ids));
        for (ids, counted) in &mut groups {
            let own = sum(ids);
            (0..6).for_each(|role| counted[role] &= (own - counts[role]).abs() < 1e-3);
        }
    }
    for (ids, counted) in groups {
        // In a set where no piece is ever missing, several are counted alike.
        if let [role] =
            (0..6).filter(|&role| counted[role] && !known[role].is_empty()).collect::<Vec<_>>()[..]
            && !values[role].tables.iter().any(|table| table.0 == ids)
        {
            values[role].tables.push((ids, [true; 2]));
        }
    }
    values
}

/// Returns a warning about a prior whose tables are relative to piece values that an engine adds elsewhere: the tuned
/// ones would contain them, and every piece would count twice.
pub(crate) fn relative_tables(set: &FeatureSet, prior: &[f64]) -> Option<String> {
    let count = set.features.len();
    let mean = |own: &PieceValues| {
        let worth = |phase: usize| own.worth(phase, |id| prior[phase * count + id], |_| 1.0);
        own.tables.first().and_then(|_| Some((worth(0)? + worth(1)?) / 2.0))
    };
    let values = PieceValues::of(set.features.iter().map(|one| (&*one.name, &*one.group)));
    let means = values[..5].iter().map(mean).collect::<Option<Vec<f64>>>()?;
    let relative =
        means.iter().all(|mean| mean.abs() < LEAST_WORTH) && prior.iter().any(|&value| value != 0.0);
    relative.then(|| {
        let list: Vec<String> = means.iter().map(|mean| format!("{mean:.0}")).collect();
        format!(
            "the prior's tables hold no piece values (mean squares of pawn to queen: {}), but tuned tables will: if the \
             engine adds piece values elsewhere, import its tables again with markers that say so ('offset 100', 'offset \
             material'), or every piece will count twice",
            list.join(", ")
        )
    })
}
