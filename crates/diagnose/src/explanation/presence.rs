//! Parameters that occur only where evaluations differ, or wherever they do.

use serde::Serialize;

use super::Rows;

/// Least evidence that a share of 1 is not by chance, in natural logarithms of a probability.
const MIN_EVIDENCE: f64 = 40.0;

/// Names of what occurs only where evaluations differ, and of what occurs wherever they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Presence {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_where_differing: Vec<String>,
    /// These occur wherever evaluations differ, and not in most positions that agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wherever_differing: Vec<String>,
    /// Tables, and parameters in none, that have values, but never occur.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untraced: Vec<String>,
}

impl Presence {
    pub(super) fn new(rows: &Rows<'_>) -> Self {
        let features = rows.set.features.len();
        let occurrences = rows.data.occurrences();
        let tables = rows.set.tables();
        // Tables, then parameters.
        let mut all: Vec<(&str, Vec<usize>)> = tables
            .iter()
            .map(|table| (table.name.as_str(), table.features.iter().map(|one| one.0 as usize).collect()))
            .collect();
        all.extend(rows.set.features.iter().enumerate().map(|(id, one)| (one.name.as_str(), vec![id])));
        // Rows that agree and that differ, those with each of them, and all.
        let mut counts = vec![[0u64; 2]; all.len()];
        let mut total = [0u64; 2];
        for row in &rows.rows {
            let differs = usize::from(!rows.agrees(row.score, row.printed));
            total[differs] += 1;
            let mut present = vec![false; features];
            for entry in row.row.entries.iter().filter(|entry| entry.1 != 0.0) {
                present[usize::from(rows.data.feature_of(entry.0))] = true;
            }
            for ((_, ids), counts) in all.iter().zip(&mut counts) {
                counts[differs] += u64::from(ids.iter().any(|&id| present[id]));
            }
        }
        // Parameters are not named if it is true for their table.
        let names = |is: &dyn Fn(&[usize], [u64; 2]) -> bool| {
            let (mut named, mut names) = (vec![false; features], Vec::new());
            for ((name, ids), &count) in all.iter().zip(&counts) {
                if is(ids, count) && !ids.iter().all(|&id| named[id]) {
                    ids.iter().for_each(|&id| named[id] = true);
                    names.push(format!("'{name}'"));
                }
            }
            names
        };
        let evidence = |count: u64, part: u64, all: u64| {
            -(part as f64 / all.max(1) as f64).ln() * count as f64 >= MIN_EVIDENCE
        };
        let only = |_: &[usize], [agree, differ]: [u64; 2]| {
            agree == 0 && evidence(differ, total[1], total[0] + total[1])
        };
        let wherever =
            |_: &[usize], [agree, differ]: [u64; 2]| differ == total[1] && evidence(differ, agree, total[0]);
        // Single entries of tables are often rare.
        let in_table = |id: usize| {
            tables.iter().any(|t| t.features.len() > 1 && t.features.iter().any(|f| f.0 as usize == id))
        };
        let untraced = |ids: &[usize], _: [u64; 2]| {
            (ids.len() > 1 || !in_table(ids[0]))
                && ids.iter().all(|&id| occurrences[id] == 0)
                && ids.iter().any(|&id| rows.theta[id] != 0.0 || rows.theta[id + features] != 0.0)
        };
        Self {
            only_where_differing: names(&only),
            wherever_differing: names(&wherever),
            untraced: names(&untraced),
        }
    }
}
