//! Diagnostics of a result beyond its loss: whether its predictions are calibrated, where they are off
//! (residuals by phase and by number of pieces), and whether K fits.
//!
//! One pass over the dataset, all in f64. Standard errors are clustered by game, because the positions of a
//! game share its result.

use rayon::prelude::*;

use gputexel_dataset::objective::{Objective, sigmoid, x_per_cp};
use gputexel_dataset::{Dataset, Split};
use gputexel_evaluator::exact::{exact_scores, loss_of_scores};

/// Predictions compared with results, for training and held-out positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// The training positions, then the held-out ones, if any.
    pub sets: Vec<SetDiagnostics>,
    /// The loss around the K of the run.
    pub scale: ScaleNeighborhood,
    /// Phase units of the opening.
    pub phase_max: u16,
}

/// Diagnostics of a set of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct SetDiagnostics {
    /// Whether the positions were held out.
    pub held_out: bool,
    /// Number of positions.
    pub positions: u64,
    /// Mean loss of the result.
    pub loss: f64,
    /// Mean loss of the prior.
    pub prior_loss: f64,
    /// Calibration over all phases, then in the opening, the middlegame and the endgame.
    pub calibration: Vec<Calibration>,
    /// Residuals by phase units, ascending; units without positions are left out.
    pub by_phase: Vec<Residual>,
    /// Residuals by number of pieces, ascending; empty if it cannot be derived from the rows.
    pub by_pieces: Vec<Residual>,
}

/// Predicted and actual scores of the positions in a range of phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Lowest and highest phase units.
    pub phases: (u16, u16),
    /// Deciles of the positions by prediction, lowest first; fewer bins if there are few positions.
    pub bins: Vec<CalibrationBin>,
}

/// Positions with similar predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// Number of positions.
    pub positions: u64,
    /// Weighted mean of the predicted scores, 0 to 1.
    pub predicted: f64,
    /// Weighted mean of the results.
    pub actual: f64,
    /// Standard error of `actual - predicted`.
    pub error: f64,
}

/// The mean deviation of results from predictions, for positions with a common property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// The common property: phase units, or number of pieces.
    pub key: u32,
    /// Number of positions.
    pub positions: u64,
    /// Weighted mean of result − prediction, White's view.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
    /// Weighted mean of (result − prediction) from the view of the side predicted to win. Positive for
    /// underconfident evaluations, negative for overconfident ones.
    pub boldness: f64,
    /// Standard error of `boldness`.
    pub boldness_error: f64,
    /// Mean loss.
    pub loss: f64,
    /// Mean loss of the prior.
    pub prior_loss: f64,
}

/// The loss as a function of K around the K of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleNeighborhood {
    /// The K of the run, base-10 form.
    pub k: f64,
    /// K (ascending), loss of the result, loss of the prior.
    pub points: Vec<(f64, f64, f64)>,
    /// Number of training positions used for the losses.
    pub positions: u64,
}

/// Maximum number of positions used for the losses around K: enough for a plot.
const SCALE_POSITIONS: usize = 1 << 18;
/// Number of points of the curve, and the largest factor on K to either side.
const SCALE_POINTS: i32 = 25;
const SCALE_REACH: f64 = 2.5;
/// Maximum number of bins by prediction.
const BINS: usize = 10;
/// Minimum number of positions per bin.
const FEWEST: usize = 20;

/// Sums of one cell of a table, clustered by game.
#[derive(Clone, Copy, Default)]
struct Cell {
    positions: u64,
    weight: f64,
    predicted: f64,
    actual: f64,
    loss: f64,
    prior_loss: f64,
    plain: Clustered,
    turned: Clustered,
}

/// A weighted mean whose terms are correlated within games.
#[derive(Clone, Copy, Default)]
struct Clustered {
    game: Option<u32>,
    /// Σ w r and Σ w of the current game.
    open: (f64, f64),
    /// Sums over all games of S, W, S², S W and W².
    sums: [f64; 5],
}

impl Clustered {
    fn add(&mut self, game: u32, weight: f64, value: f64) {
        if self.game != Some(game) {
            self.close();
            self.game = Some(game);
        }
        self.open.0 += weight * value;
        self.open.1 += weight;
    }

    fn close(&mut self) {
        let (s, w) = std::mem::take(&mut self.open);
        for (sum, term) in self.sums.iter_mut().zip([s, w, s * s, s * w, w * w]) {
            *sum += term;
        }
    }

    /// The mean and its clustered standard error: √Σ (S − mean W)² / Σ W over the games.
    fn finish(mut self) -> (f64, f64) {
        self.close();
        let [s, w, ss, sw, ww] = self.sums;
        let mean = s / w;
        (mean, (ss - 2.0 * mean * sw + mean * mean * ww).max(0.0).sqrt() / w)
    }
}

impl Cell {
    fn bin(self) -> CalibrationBin {
        CalibrationBin {
            positions: self.positions,
            predicted: self.predicted / self.weight,
            actual: self.actual / self.weight,
            error: self.plain.finish().1,
        }
    }

    fn residual(self, key: u32) -> Residual {
        let ((mean, error), (boldness, boldness_error)) = (self.plain.finish(), self.turned.finish());
        Residual {
            key,
            positions: self.positions,
            mean,
            error,
            boldness,
            boldness_error,
            loss: self.loss / self.weight,
            prior_loss: self.prior_loss / self.weight,
        }
    }
}

/// Opening, middlegame and endgame as ranges of phase units, each a third of the maximum.
fn bands(max: u16) -> [(u16, u16); 3] {
    let (low, high) = (max / 3, (u32::from(max) * 2 / 3) as u16);
    [(high.saturating_add(1).min(max), max), (low.saturating_add(1).min(high), high), (0, low)]
}

/// Writes the prediction decile of each position of `which` to `into`; other entries are unchanged.
fn deciles(predictions: &[f64], which: &mut [u32], into: &mut [u8]) {
    which.par_sort_unstable_by(|&a, &b| {
        predictions[a as usize].total_cmp(&predictions[b as usize]).then(a.cmp(&b))
    });
    let bins = (which.len() / FEWEST).clamp(1, BINS);
    for (place, &n) in which.iter().enumerate() {
        into[n as usize] = (place * bins / which.len()) as u8;
    }
}

/// Computes diagnostics of a result θ on all positions of a split, in comparison with the prior.
///
/// # Panics
/// If the length of θ or the prior is not twice the number of features.
pub fn diagnose(
    data: &Dataset,
    split: &Split,
    objective: Objective,
    theta: &[f64],
    prior: &[f64],
) -> Diagnostics {
    let all: Vec<u32> = (0..data.len() as u32).collect();
    let (scores, prior_scores) = (exact_scores(data, theta, &all), exact_scores(data, prior, &all));
    let x_per_cp = x_per_cp(objective.k);
    let predictions: Vec<f64> = scores.par_iter().map(|score| sigmoid(x_per_cp * score)).collect();
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
    let losses = |n: u32| {
        let (n, y) = (n as usize, f64::from(data.results()[n as usize]));
        [scores[n], prior_scores[n]].map(|score| objective.loss.value(x_per_cp * score, y))
    };
    let scale = {
        let stride = training.len().div_ceil(SCALE_POSITIONS).max(1);
        let which: Vec<u32> = training.iter().step_by(stride).copied().collect();
        let of = |scores: &[f64]| -> Vec<f64> { which.iter().map(|&n| scores[n as usize]).collect() };
        let (of_result, of_prior) = (of(&scores), of(&prior_scores));
        let point = |i: i32| {
            let share = f64::from(2 * i - (SCALE_POINTS - 1)) / f64::from(SCALE_POINTS - 1);
            let at = Objective { k: objective.k * SCALE_REACH.powf(share), ..objective };
            let loss = |scores: &[f64]| loss_of_scores(data, at, scores, &which);
            (at.k, loss(&of_result), loss(&of_prior))
        };
        ScaleNeighborhood {
            k: objective.k,
            points: (0..SCALE_POINTS).map(point).collect(),
            positions: which.len() as u64,
        }
    };
    let look = |held_out: bool, which: &[u32]| look(data, held_out, which, &predictions, losses);
    let mut sets = vec![look(false, &training)];
    if !held_out.is_empty() {
        sets.push(look(true, &held_out));
    }
    Diagnostics { sets, scale, phase_max: data.phase_max() }
}

/// Mean loss of the second parameters minus that of the first over all positions, and its standard error,
/// treating games as independent.
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

/// Mean of a value of positions, which are in the order of their games, and its standard error, treating games
/// as independent.
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
    losses: impl Fn(u32) -> [f64; 2],
) -> SetDiagnostics {
    const NONE: u8 = u8::MAX;
    let max = data.phase_max();
    let bands = bands(max);
    let band_of = |phase: u16| bands.iter().position(|&(low, high)| (low..=high).contains(&phase));
    let mut overall = vec![NONE; data.len()];
    let mut in_band = vec![NONE; data.len()];
    deciles(predictions, &mut which.to_vec(), &mut overall);
    for &(low, high) in &bands {
        let mut of_band: Vec<u32> =
            which.iter().copied().filter(|&n| (low..=high).contains(&data.phases()[n as usize])).collect();
        deciles(predictions, &mut of_band, &mut in_band);
    }
    // Sorted by game, because datasets of several sources may interleave games.
    let mut order = which.to_vec();
    order.sort_by_key(|&n| data.game(n as usize));
    let mut total = Cell::default();
    let mut calibration = vec![[Cell::default(); BINS]; 1 + bands.len()];
    let mut by_phase = vec![Cell::default(); usize::from(max) + 1];
    let mut by_pieces: Vec<Cell> = Vec::new();
    for &n in &order {
        let at = n as usize;
        let row = data.row(at);
        let (weight, y, p) = (f64::from(row.weight), f64::from(row.result), predictions[at]);
        let ([loss, prior_loss], game) = (losses(n), data.game(at));
        let side = if p > 0.5 { 1.0 } else { -1.0 };
        let add = |cell: &mut Cell| {
            cell.positions += 1;
            cell.weight += weight;
            cell.predicted += weight * p;
            cell.actual += weight * y;
            cell.loss += weight * loss;
            cell.prior_loss += weight * prior_loss;
            cell.plain.add(game, weight, y - p);
            cell.turned.add(game, weight, side * (y - p));
        };
        add(&mut total);
        add(&mut calibration[0][usize::from(overall[at])]);
        if let Some(band) = band_of(row.phase) {
            add(&mut calibration[1 + band][usize::from(in_band[at])]);
        }
        add(&mut by_phase[usize::from(row.phase)]);
        // Only rows of pieces on squares give the number of pieces.
        if data.unit_rows() {
            let pieces = row.entry_count();
            if by_pieces.len() <= pieces {
                by_pieces.resize(pieces + 1, Cell::default());
            }
            add(&mut by_pieces[pieces]);
        }
    }
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
        calibration: phases
            .zip(&calibration)
            .map(|(phases, cells)| Calibration { phases, bins: bins(cells) })
            .collect(),
        by_phase: residuals(&by_phase),
        by_pieces: residuals(&by_pieces),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_every_phase_once() {
        for max in [1u16, 2, 3, 5, 24, 25, 128] {
            for phase in 0..=max {
                let bands = bands(max);
                let first = bands.iter().position(|&(low, high)| (low..=high).contains(&phase));
                assert!(first.is_some(), "{phase} of {max}: {bands:?}");
            }
        }
        assert_eq!(bands(24), [(17, 24), (9, 16), (0, 8)]);
    }

    /// The definition, computed game by game.
    #[test]
    fn clustered_errors_are_those_of_the_definition() {
        let terms = [(1, 1.0, 0.5), (1, 2.0, 0.25), (4, 1.0, -1.0), (7, 0.5, 0.125), (7, 1.0, 0.75)];
        let mut sums = Clustered::default();
        terms.iter().for_each(|&(game, weight, value)| sums.add(game, weight, value));
        let (mean, error) = sums.finish();
        let total: f64 = terms.iter().map(|t| t.1).sum();
        let expected = terms.iter().map(|t| t.1 * t.2).sum::<f64>() / total;
        let of_game =
            |game: u32| -> f64 { terms.iter().filter(|t| t.0 == game).map(|t| t.1 * (t.2 - expected)).sum() };
        let squares: f64 = [1, 4, 7].map(|game| of_game(game).powi(2)).iter().sum();
        assert!((mean - expected).abs() < 1e-15);
        assert!((error - squares.sqrt() / total).abs() < 1e-15, "{error}");
    }
}
