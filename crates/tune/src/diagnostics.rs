//! Diagnostics of a result beyond its loss: whether its predictions are calibrated, and where they are off
//! (residuals by phase and by number of pieces).

use rayon::prelude::*;

use super::clustered::{Cell, Clustered, Position};
use crate::run_scores::RunScores;
use gputexel_dataset::objective::{Objective, sigmoid, x_per_cp};
use gputexel_dataset::{Dataset, Split};
use gputexel_eval::exact::exact_scores;
use gputexel_report::{Calibration, Diagnostics, SetDiagnostics};

const BINS: usize = 10;
/// Minimum number of positions per bin.
const FEWEST: usize = 20;
/// Number of classes of predictions used to compute deciles.
const CLASSES: usize = 1 << 12;
/// Minimum number of positions that are added up sequentially.
const PIECE: usize = 1 << 15;

/// Opening, middlegame and endgame as ranges of phase units, each a third of the maximum; none if there are no phases.
pub(crate) fn bands(max: u16) -> Vec<(u16, u16)> {
    let (low, high) = (max / 3, (u32::from(max) * 2 / 3) as u16);
    if low == 0 { Vec::new() } else { vec![(high + 1, max), (low + 1, high), (0, low)] }
}

/// Writes the prediction decile of each position of `which` to `into`; other entries are unchanged.
fn deciles(predictions: &[f64], which: &[u32], into: &mut [u8]) {
    // Sorts into narrow classes; only those that the limit of a decile may lie in are sorted further.
    let class = |n: u32| ((predictions[n as usize] * CLASSES as f64) as usize).min(CLASSES);
    let mut counts = vec![0; CLASSES + 1];
    which.iter().for_each(|&n| counts[class(n)] += 1);
    let bins = (which.len() / FEWEST).clamp(1, BINS);
    let bin = |place: usize| (place * bins / which.len()) as u8;
    let mut place = 0;
    let (mut of_class, mut mixed) = (vec![u8::MAX; CLASSES + 1], Vec::new());
    for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        match bin(place) == bin(place + count - 1) {
            true => of_class[class] = bin(place),
            false => mixed.push((class, place, Vec::with_capacity(count))),
        }
        place += count;
    }
    for &n in which {
        let class = class(n);
        match of_class[class] {
            u8::MAX => {
                let at = mixed.binary_search_by_key(&class, |mixed| mixed.0).expect("collected above");
                mixed[at].2.push(n);
            }
            bin => into[n as usize] = bin,
        }
    }
    for (_, place, members) in &mut mixed {
        members.sort_unstable_by(|&a, &b| {
            predictions[a as usize].total_cmp(&predictions[b as usize]).then(a.cmp(&b))
        });
        members.iter().zip(*place..).for_each(|(&n, place)| into[n as usize] = bin(place));
    }
}

/// Computes diagnostics of a result on all positions of a split, in comparison with the prior.
pub fn diagnose(data: &Dataset, split: &Split, objective: Objective, scores: &RunScores) -> Diagnostics {
    let (prior_scores, scores) = (&scores.prior, &scores.result);
    let x_per_cp = x_per_cp(objective.k);
    let predictions: Vec<f64> = scores.par_iter().map(|score| sigmoid(x_per_cp * score)).collect();
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let losses = |n: u32| {
        let (n, y) = (n as usize, f64::from(data.results()[n as usize]));
        [scores[n], prior_scores[n]].map(|score| objective.loss.value(x_per_cp * score, y))
    };
    let look = |held_out: bool, which: &[u32]| look(data, held_out, which, &predictions, losses);
    let mut sets = vec![look(false, &training)];
    if !held_out.is_empty() {
        sets.push(look(true, &held_out));
    }
    Diagnostics { sets, phase_max: data.phase_max() }
}

/// Computes the mean loss of the second parameters minus that of the first over all positions, and its
/// standard error, treating games as independent.
pub fn paired_difference(
    data: &Dataset,
    (first, first_theta): (Objective, &[f64]),
    (second, second_theta): (Objective, &[f64]),
) -> (f64, f64) {
    let mut order: Vec<u32> = (0..data.len() as u32).collect();
    order.sort_by_key(|&n| data.game(n as usize));
    let scores = [first_theta, second_theta].map(|theta| exact_scores(data, theta, &order));
    let differences = order.iter().enumerate().map(|(place, &n)| {
        let result = f64::from(data.row(n as usize).result);
        let loss = |of: Objective, score: f64| of.loss.value(x_per_cp(of.k) * score, result);
        (n, loss(second, scores[1][place]) - loss(first, scores[0][place]))
    });
    clustered_mean(data, differences)
}

/// Computes the mean of a value of positions, which are in the order of their games, and its standard error,
/// treating games as independent.
pub(crate) fn clustered_mean(data: &Dataset, values: impl Iterator<Item = (u32, f64)>) -> (f64, f64) {
    let mut sums = Clustered::default();
    for (n, value) in values {
        sums.add(data.game(n as usize), f64::from(data.row(n as usize).weight), value);
    }
    sums.finish()
}

fn look(
    data: &Dataset,
    held_out: bool,
    which: &[u32],
    predictions: &[f64],
    losses: impl Fn(u32) -> [f64; 2] + Sync,
) -> SetDiagnostics {
    const NONE: u8 = u8::MAX;
    let max = data.phase_max();
    let bands = bands(max);
    let band_of = |phase: u16| bands.iter().position(|&(low, high)| (low..=high).contains(&phase));
    let mut overall = vec![NONE; data.len()];
    let mut in_band = vec![NONE; data.len()];
    let of_bands = || {
        for &(low, high) in &bands {
            let of_band = |n: &u32| (low..=high).contains(&data.phases()[*n as usize]);
            let of_band: Vec<u32> = which.iter().copied().filter(of_band).collect();
            deciles(predictions, &of_band, &mut in_band);
        }
    };
    rayon::join(|| deciles(predictions, which, &mut overall), of_bands);
    // Sorted by game, because datasets of several sources may interleave games.
    let mut order = which.to_vec();
    if data.has_games() {
        order.sort_by_key(|&n| data.game(n as usize));
    }
    let add = |cells: &mut Cells, n: u32| {
        let at = n as usize;
        let row = data.row(at);
        let position = Position {
            game: data.game(at),
            weight: f64::from(row.weight),
            result: f64::from(row.result),
            prediction: predictions[at],
            losses: losses(n),
        };
        cells.total.add(&position);
        cells.change.add(position.game, position.weight, position.losses[0] - position.losses[1]);
        cells.calibration[0][usize::from(overall[at])].add(&position);
        if let Some(band) = band_of(row.phase) {
            cells.calibration[1 + band][usize::from(in_band[at])].add(&position);
        }
        cells.by_phase[usize::from(row.phase)].add(&position);
        let packed = || data.packed_board(n as usize).filter(|board| board[0] != 0);
        // Rows of pieces on squares give the number of pieces, too.
        let known = if data.unit_rows() {
            Some(row.entry_count())
        } else {
            packed().map(|board| board[0].count_ones() as usize)
        };
        if let Some(pieces) = known {
            if cells.by_pieces.len() <= pieces {
                cells.by_pieces.resize(pieces + 1, Cell::default());
            }
            cells.by_pieces[pieces].add(&position);
        }
    };
    let empty = || Cells {
        total: Cell::default(),
        change: Clustered::default(),
        calibration: vec![[Cell::default(); BINS]; 1 + bands.len()],
        by_phase: vec![Cell::default(); usize::from(max) + 1],
        by_pieces: Vec::new(),
    };
    // In pieces of whole games, whose lengths do not depend on the number of threads.
    let pieces: Vec<Cells> = whole_games(data, &order)
        .into_par_iter()
        .map(|piece| {
            let mut cells = empty();
            piece.iter().for_each(|&n| add(&mut cells, n));
            cells
        })
        .collect();
    let Cells { total, change, calibration, by_phase, by_pieces } =
        pieces.into_iter().fold(empty(), Cells::joined);
    let phases = std::iter::once((0, max)).chain(bands);
    let bins = |cells: &[Cell]| cells.iter().filter(|c| c.positions > 0).map(|c| c.bin()).collect();
    let residuals = |cells: &[Cell]| {
        let cells = cells.iter().enumerate().filter(|(_, cell)| cell.positions > 0);
        cells.map(|(key, cell)| cell.residual(key as u32)).collect()
    };
    SetDiagnostics {
        held_out,
        positions: total.positions,
        loss: total.loss / total.weight,
        prior_loss: total.prior_loss / total.weight,
        change_error: change.finish().1,
        calibration: phases
            .zip(&calibration)
            .map(|(phases, cells)| Calibration { phases, bins: bins(cells) })
            .collect(),
        by_phase: residuals(&by_phase),
        by_pieces: residuals(&by_pieces),
    }
}

/// Sums of the positions of some games.
struct Cells {
    total: Cell,
    /// The loss of the result minus that of the prior.
    change: Clustered,
    /// Over all phases, then by band; in deciles.
    calibration: Vec<[Cell; BINS]>,
    by_phase: Vec<Cell>,
    by_pieces: Vec<Cell>,
}

impl Cells {
    /// Joins the sums of both, which share no game.
    fn joined(mut self, mut other: Self) -> Self {
        let most = self.by_pieces.len().max(other.by_pieces.len());
        self.by_pieces.resize(most, Cell::default());
        other.by_pieces.resize(most, Cell::default());
        self.total.join(&other.total);
        self.change.join(other.change);
        let calibration =
            self.calibration.as_flattened_mut().iter_mut().zip(other.calibration.as_flattened());
        let phases = self.by_phase.iter_mut().zip(&other.by_phase);
        let pieces = self.by_pieces.iter_mut().zip(&other.by_pieces);
        calibration.chain(phases).chain(pieces).for_each(|(cell, other)| cell.join(other));
        self
    }
}

/// Cuts positions that are in the order of their games into pieces of about [`PIECE`], between games.
fn whole_games<'a>(data: &Dataset, mut order: &'a [u32]) -> Vec<&'a [u32]> {
    let mut pieces = Vec::new();
    while !order.is_empty() {
        let mut end = PIECE.min(order.len());
        while end < order.len() && data.game(order[end] as usize) == data.game(order[end - 1] as usize) {
            end += 1;
        }
        let (piece, rest) = order.split_at(end);
        pieces.push(piece);
        order = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_every_phase_once() {
        for max in [3u16, 4, 5, 24, 25, 128] {
            for phase in 0..=max {
                let bands = bands(max);
                let first = bands.iter().position(|&(low, high)| (low..=high).contains(&phase));
                assert!(first.is_some(), "{phase} of {max}: {bands:?}");
            }
        }
        assert_eq!((bands(1), bands(2)), (Vec::new(), Vec::new()));
        assert_eq!(bands(24), [(17, 24), (9, 16), (0, 8)]);
    }

    #[test]
    fn deciles_are_those_of_the_sorted_list() {
        for (count, spread) in [(1, 10), (19, 5), (45, 3), (997, 7), (5000, 10_000)] {
            let mut state = 7u64;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % spread
            };
            let predictions: Vec<f64> = (0..2 * count).map(|_| next() as f64 / spread as f64).collect();
            let mut which: Vec<u32> = (0..count as u32).map(|n| 2 * n).collect();
            let mut into = vec![99; predictions.len()];
            deciles(&predictions, &which, &mut into);
            which.sort_by(|&a, &b| {
                predictions[a as usize].total_cmp(&predictions[b as usize]).then(a.cmp(&b))
            });
            let bins = (count / FEWEST).clamp(1, BINS);
            for (place, &n) in which.iter().enumerate() {
                assert_eq!(usize::from(into[n as usize]), place * bins / count, "{place} of {count}");
            }
            assert!(into.iter().skip(1).step_by(2).all(|&bin| bin == 99), "others stay");
        }
    }
}
