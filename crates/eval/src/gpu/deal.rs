//! The order of the runs of a block, which decides which threads of a workgroup of the gradient kernel take them.

use super::kernels::{RESIDUALS, WORKGROUP, lanes};

const WARP: usize = 32;
/// Cost of a run apart from its entries, in entries: its header and the update of a slab.
const RUN: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    warps: usize,
    width: usize,
}

impl Slots {
    pub(super) fn of_block(length: usize) -> Self {
        Self { warps: WORKGROUP / WARP, width: WARP / lanes(RESIDUALS / length) }
    }

    pub(super) fn deal<T: Copy>(self, sorted: &[T], length: impl Fn(&T) -> usize) -> Vec<T> {
        let round = self.warps * self.width;
        // The last round may be incomplete: its first warps take one turn more than the others.
        let turns = |warp: usize| {
            let rest = sorted.len() % round;
            sorted.len() / round + usize::from(rest > warp * self.width)
        };
        let mut turns_of: Vec<Vec<&[T]>> = vec![Vec::new(); self.warps];
        let mut loads = vec![0; self.warps];
        // What remains when all turns are complete belongs to the warp that the last round leaves incomplete.
        let rest = sorted.len() % self.width;
        let (complete, short) = sorted.split_at(sorted.len() - rest);
        let last = sorted.len() % round / self.width;
        for turn in complete.chunks(self.width) {
            let room = |&warp: &usize| {
                let reserved = usize::from(rest > 0 && warp == last);
                turns_of[warp].len() + reserved < turns(warp)
            };
            let least = (0..self.warps).filter(room).min_by_key(|&warp| loads[warp]);
            let warp = least.expect("there are as many turns as complete ones");
            loads[warp] += RUN + turn.first().map_or(0, &length);
            turns_of[warp].push(turn);
        }
        if rest > 0 {
            turns_of[last].push(short);
        }
        let rounds = sorted.len().div_ceil(round);
        (0..rounds)
            .flat_map(|round| turns_of.iter().filter_map(move |turns| turns.get(round)))
            .flat_map(|turn| turn.iter().copied())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::kernels::{BLOCKS, block_length};
    use gputexel_dataset::{Layout, Transpose};

    fn imbalance(slots: Slots, runs: &[usize]) -> (usize, usize) {
        let mut loads = vec![0; slots.warps];
        for (i, turn) in runs.chunks(slots.width).enumerate() {
            loads[i % slots.warps] += RUN + turn.iter().max().unwrap();
        }
        (loads.iter().max().unwrap() * slots.warps, loads.iter().sum())
    }

    #[test]
    fn every_run_is_dealt_once() {
        for length in BLOCKS {
            let slots = Slots::of_block(length);
            for count in (0..600).step_by(7).chain([slots.width, 8 * slots.width]) {
                let sorted: Vec<usize> = (0..count).rev().map(|i| i * i / 50).collect();
                let mut dealt = slots.deal(&sorted, |&length| length);
                assert_eq!(dealt.len(), count);
                dealt.sort_unstable_by(|a, b| b.cmp(a));
                assert_eq!(dealt, sorted, "blocks of {length}, {count} runs");
            }
        }
    }

    /// Of real positions and tiles of 32, the slowest warp takes 1.19 times as long as the mean, instead of 1.44 times.
    #[test]
    fn warps_have_similar_loads() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/sample.bin");
        let data = gputexel_dataset::read(path.as_ref()).unwrap();
        let layout = Layout::whole(&data).unwrap();
        let slots = Slots::of_block(block_length(32));
        let transpose = Transpose::new(&layout, block_length(32));
        let (mut in_turn, mut dealt, mut mean) = (0, 0, 0);
        for block in &transpose.blocks {
            let runs = transpose.runs[block.runs.clone()].iter();
            let mut sorted: Vec<usize> =
                runs.map(|run| usize::from(run.plus) + usize::from(run.minus)).collect();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            in_turn += imbalance(slots, &sorted).0;
            let (slowest, sum) = imbalance(slots, &slots.deal(&sorted, |&length| length));
            dealt += slowest;
            mean += sum;
        }
        let [dealt, in_turn] = [dealt, in_turn].map(|slowest| slowest as f64 / mean as f64);
        assert!(dealt < 1.2 && in_turn > 1.4, "{dealt}, {in_turn} in turn");
    }
}
