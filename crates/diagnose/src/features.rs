//! How many positions have each feature, by phase.

use std::collections::HashMap;

use serde::Serialize;

use gputexel_dataset::Dataset;
use gputexel_model::Feature;

/// Features in fewer positions than this are called rare.
pub const RARE: u64 = 100;

/// True if a feature is a pawn on the first or last rank, which cannot occur.
pub fn is_impossible(name: &str) -> bool {
    let square = name.strip_prefix("pawn_").map(str::as_bytes);
    matches!(square, Some([b'a'..=b'h', b'1' | b'8']))
}

pub const IMPOSSIBLE: &str = "pawn squares of the first and last rank, where no pawn can stand";

/// Number of positions that have a feature with a nonzero coefficient, by thirds of the phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Support {
    pub name: String,
    pub positions: u64,
    /// In the third of the phase next to the start of the game.
    pub opening: u64,
    pub middlegame: u64,
    /// In the third with the least material.
    pub endgame: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSupport {
    pub name: String,
    pub features: usize,
    pub unseen: usize,
    pub rare: usize,
    /// Number of features that never occur in each third of the phase, opening first.
    pub unseen_in: [usize; 3],
    /// Median number of positions per feature.
    pub median: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FeatureFindings {
    pub groups: Vec<GroupSupport>,
    /// Features that never occur.
    pub unseen: Vec<String>,
    pub rare: Vec<Support>,
}

impl FeatureFindings {
    pub(super) fn new(data: &Dataset) -> Self {
        let set = &data.metadata().feature_set;
        let max = u32::from(data.phase_max());
        let mut counts = vec![[0u64; 3]; set.features.len()];
        let mut last_seen = vec![usize::MAX; set.features.len()];
        for n in 0..data.len() {
            let row = data.row(n);
            // The third with the most material first.
            let third = ((max - u32::from(row.phase)) * 3 / (max + 1)) as usize;
            for (id, coefficient) in row.entries() {
                let id = usize::from(data.feature_of(id));
                if coefficient != 0.0 && last_seen[id] != n {
                    last_seen[id] = n;
                    counts[id][third] += 1;
                }
            }
        }
        let support = |id: usize| Support {
            name: set.features[id].name.clone(),
            positions: counts[id].iter().sum(),
            opening: counts[id][0],
            middlegame: counts[id][1],
            endgame: counts[id][2],
        };
        let all: Vec<Support> = (0..counts.len()).map(support).collect();
        let group = |(name, own): (&str, Vec<usize>)| {
            let mut sizes: Vec<u64> = own.iter().map(|&id| all[id].positions).collect();
            sizes.sort_unstable();
            let unseen_in = |third: usize| own.iter().filter(|id| counts[**id][third] == 0).count();
            GroupSupport {
                name: name.to_string(),
                features: own.len(),
                unseen: sizes.iter().filter(|size| **size == 0).count(),
                rare: sizes.iter().filter(|size| (1..RARE).contains(*size)).count(),
                unseen_in: [0, 1, 2].map(unseen_in),
                median: sizes[sizes.len() / 2],
            }
        };
        let groups = ids_by_group(&set.features).into_iter().map(group).collect();
        let unseen = all.iter().filter(|one| one.positions == 0).map(|one| one.name.clone()).collect();
        let mut rare: Vec<Support> =
            all.into_iter().filter(|one| (1..RARE).contains(&one.positions)).collect();
        rare.sort_by_key(|one| one.positions);
        Self { groups, unseen, rare }
    }
}

pub(super) fn ids_by_group(features: &[Feature]) -> Vec<(&str, Vec<usize>)> {
    let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (id, feature) in features.iter().enumerate() {
        let place = *places.entry(&feature.group).or_insert_with(|| {
            groups.push((&feature.group, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(id);
    }
    groups
}
