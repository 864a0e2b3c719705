//! The plan: folds × sources as parts of the layout, so that leaving out or reweighting positions costs nothing.

use gputexel_dataset::{Dataset, Folds, Layout};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    parts: Vec<(u32, u32)>,
    weights: Vec<f64>,
    folds: usize,
}

impl Plan {
    /// Creates a plan and the matching layout: one part for each combination of fold and source of `sources` (indices
    /// in the dataset).
    pub fn try_new(dataset: &Dataset, folds: &Folds, sources: &[usize]) -> Result<(Self, Layout)> {
        let groups: Vec<u32> = if sources.is_empty() {
            vec![0; dataset.len()]
        } else {
            let group = |source: u32| sources.iter().position(|&s| s == source as usize);
            let of = dataset.sources_of_positions()?;
            of.into_iter().map(|source| group(source).map_or(0, |g| g as u32 + 1)).collect()
        };
        let key = |n: usize| (folds.fold_of(n) as u32, groups[n]);
        // Not every source needs to have positions in every fold.
        let mut parts: Vec<(u32, u32)> = (0..dataset.len()).map(key).collect();
        parts.sort_unstable();
        parts.dedup();
        let part_of = |n: usize| parts.binary_search(&key(n)).expect("every key is listed");
        let layout = Layout::try_new(dataset, parts.len(), part_of)?;
        let weights = layout.parts().iter().map(|part| part.weight).collect();
        Ok((Self { parts, weights, folds: folds.count() }, layout))
    }

    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns factors on the parts' weights in a run that leaves out a fold, where `sources` are the factors of the
    /// sources that have an axis.
    pub fn training(&self, left_out: Option<usize>, sources: &[f32]) -> Result<Vec<f32>> {
        let weight = |&(fold, group): &(u32, u32)| match (Some(fold as usize) == left_out, group) {
            (true, _) => 0.0,
            (false, 0) => 1.0,
            (false, group) => sources[group as usize - 1],
        };
        let weights: Vec<f32> = self.parts.iter().map(weight).collect();
        if weights.iter().any(|&weight| weight > 0.0) {
            Ok(weights)
        } else {
            Err(Error::Usage("a run whose sources all weigh 0 has no position to train on".to_string()))
        }
    }

    /// Computes the mean of one member's `part_losses` over the positions of a fold, all with their weights in the
    /// dataset, regardless of the factor of their source in training.
    pub fn held_out(&self, fold: usize, part_losses: &[f64]) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for ((&(f, _), weight), loss) in self.parts.iter().zip(&self.weights).zip(part_losses) {
            if f as usize == fold {
                sum += weight * loss;
                weights += weight;
            }
        }
        sum / weights
    }
}
