//! The kernel for many members with the same scores, of which few are distinct.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{SharedScores, TileParameters, TileSums, VECTORS, vectors};
use crate::cpu::sigmoid::{AnyLoss, ArgumentScale, LaneLoss, sigmoid};
use gputexel_dataset::Layout;

const GROUP: usize = 4;
const SAMPLE: usize = 4096;
/// It pays if at most one in this many pairs of the sample is distinct.
const FEW: usize = 4;

/// Number of occurrences of each pair of score and target, by part.
pub(in crate::cpu) struct Tally {
    /// Score in centipawns, target and number, part by part, in ascending order of their bits.
    pairs: Vec<(f32, f32, u32)>,
    parts: Vec<Range<usize>>,
}

impl Tally {
    /// Tallies positions of parts; `None` if a sample of them shows many distinct pairs, which would gain little.
    pub fn try_new(
        layout: &Layout,
        parts: Range<usize>,
        ranges: &[Range<usize>],
        shared: &SharedScores,
    ) -> Option<Self> {
        let pair = |n: usize| {
            let score = shared.scores[n - shared.first];
            u64::from(score.to_bits()) << 32 | u64::from(layout.targets()[n].to_bits())
        };
        let positions: usize = ranges.iter().map(Range::len).sum();
        let stride = positions.div_ceil(SAMPLE).max(1);
        let mut sample: Vec<u64> = ranges.iter().cloned().flatten().step_by(stride).map(pair).collect();
        let size = sample.len();
        sample.sort_unstable();
        sample.dedup();
        if sample.len() > size / FEW {
            return None;
        }
        let mut tally = Self { pairs: Vec::new(), parts: Vec::with_capacity(parts.len()) };
        for part in &layout.parts()[parts] {
            let own = |range: &Range<usize>| {
                range.start.max(part.positions.start)..range.end.min(part.positions.end)
            };
            let mut pairs: Vec<u64> = ranges.par_iter().flat_map(own).map(pair).collect();
            pairs.par_sort_unstable();
            let start = tally.pairs.len();
            tally.pairs.extend(pairs.chunk_by(|a, b| a == b).map(|equal| {
                let pair = equal[0];
                (f32::from_bits((pair >> 32) as u32), f32::from_bits(pair as u32), equal.len() as u32)
            }));
            tally.parts.push(start..tally.pairs.len());
        }
        Some(tally)
    }

    pub fn pairs(&self) -> Range<usize> {
        0..self.pairs.len()
    }
}

pub(in crate::cpu) struct TallyKernel<'a> {
    pub tally: &'a Tally,
    pub pairs: Range<usize>,
    pub parameters: &'a TileParameters,
    pub loss: AnyLoss,
}

impl WithSimd for TallyKernel<'_> {
    type Output = TileSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileSums {
        let width = VECTORS * S::F32_LANES;
        assert_eq!(self.parameters.width, width);
        let x2_per_unit: [S::f32s; VECTORS] = vectors::<S, VECTORS>(&self.parameters.x2_per_unit);
        let mut losses = vec![0.0; self.tally.parts.len() * width];
        for (part, losses) in self.tally.parts.iter().zip(losses.chunks_exact_mut(width)) {
            let (start, end) = (part.start.max(self.pairs.start), part.end.min(self.pairs.end));
            for group in self.tally.pairs.get(start..end).unwrap_or_default().chunks(GROUP) {
                // Padding of the last group counts zero times.
                let mut filled = [(0.0, 0.0, 0); GROUP];
                filled[..group.len()].copy_from_slice(group);
                for (&x2_per_unit, losses) in x2_per_unit.iter().zip(losses.chunks_exact_mut(S::F32_LANES)) {
                    let mut sums = [simd.splat_f32s(0.0); GROUP];
                    for (sum, pair) in sums.iter_mut().zip(filled) {
                        *sum = simd.splat_f32s(pair.0);
                    }
                    let predictions = sigmoid(simd, sums, ArgumentScale::new(simd, x2_per_unit));
                    for (prediction, (_, target, count)) in predictions.iter().zip(filled) {
                        let value = [self.loss.value(simd, prediction, simd.splat_f32s(target))];
                        let count = f64::from(count);
                        for (loss, &value) in losses.iter_mut().zip(bytemuck::cast_slice::<_, f32>(&value)) {
                            *loss += count * f64::from(value);
                        }
                    }
                }
            }
        }
        TileSums { losses, weights: Vec::new(), gradients: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    use gputexel_chess::PhaseSettings;
    use gputexel_dataset::{DatasetWriter, Metadata, PositionLabels};
    use gputexel_model::{FeatureKind, FeatureRow, FeatureSet};

    #[test]
    fn pairs_are_counted_by_part_where_they_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.bin");
        let set = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
        let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
        for n in 0..1000u16 {
            let row = FeatureRow { phase: n % 25, ..FeatureRow::default() };
            let result = f32::from(n % 3) / 2.0;
            writer.push(&row, PositionLabels { result, score_cp: None, weight: 1.0, game: None }).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        let data = gputexel_dataset::read(&path).unwrap();
        let layout = Layout::try_new(&data, 3, |n| n / 400).unwrap();
        let scores: Vec<f32> = (0..1000u16).map(|n| f32::from(n % 7) * 100.0 - 300.0).collect();

        let range = layout.parts()[1].positions.start..layout.parts()[2].positions.end;
        let of = |range: &Range<usize>, scores: &[f32]| SharedScores {
            first: range.start,
            scores: scores[range.clone()].to_vec(),
        };
        let tally = Tally::try_new(&layout, 1..3, from_ref(&range), &of(&range, &scores)).unwrap();
        assert_eq!((tally.parts.len(), tally.pairs()), (2, 0..42));
        for (part, own) in tally.parts.iter().zip(&layout.parts()[1..]) {
            for &(score, target, count) in &tally.pairs[part.clone()] {
                let wanted =
                    own.positions.clone().filter(|&n| (scores[n], layout.targets()[n]) == (score, target));
                assert_eq!(count as usize, wanted.count());
            }
        }
        assert_eq!(tally.pairs.iter().map(|pair| pair.2 as usize).sum::<usize>(), range.len());

        let distinct: Vec<f32> = (0..1000u16).map(f32::from).collect();
        assert!(Tally::try_new(&layout, 0..3, from_ref(&(0..1000)), &of(&(0..1000), &distinct)).is_none());
    }
}
