//! Sums over positions whose terms are correlated within games, and their standard errors.

use gputexel_report::{CalibrationBin, Residual};

#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    pub positions: u64,
    pub weight: f64,
    predicted: f64,
    actual: f64,
    pub loss: f64,
    pub prior_loss: f64,
    plain: Clustered,
    turned: Clustered,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Clustered {
    game: Option<u32>,
    /// Σ w r and Σ w of the current game.
    open: (f64, f64),
    /// Sums over all games of S, W, S², S W and W².
    sums: [f64; 5],
}

impl Clustered {
    pub fn add(&mut self, game: u32, weight: f64, value: f64) {
        if self.game != Some(game) {
            self.close();
            self.game = Some(game);
        }
        self.open.0 += weight * value;
        self.open.1 += weight;
    }

    pub fn join(&mut self, mut other: Self) {
        self.close();
        other.close();
        self.game = None;
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
    }

    fn close(&mut self) {
        let (s, w) = std::mem::take(&mut self.open);
        for (sum, term) in self.sums.iter_mut().zip([s, w, s * s, s * w, w * w]) {
            *sum += term;
        }
    }

    /// Returns the mean and its clustered standard error: √Σ (S − mean W)² / Σ W over the games.
    pub fn finish(mut self) -> (f64, f64) {
        self.close();
        let [s, w, ss, sw, ww] = self.sums;
        let mean = s / w;
        (mean, (ss - 2.0 * mean * sw + mean * mean * ww).max(0.0).sqrt() / w)
    }
}

pub(super) struct Position {
    pub game: u32,
    pub weight: f64,
    pub result: f64,
    pub prediction: f64,
    pub losses: [f64; 2],
}

impl Cell {
    /// Adds a position; those of a game must be consecutive.
    pub fn add(&mut self, position: &Position) {
        let &Position { game, weight, result, prediction, losses: [loss, prior_loss] } = position;
        let (difference, side) = (result - prediction, if prediction > 0.5 { 1.0 } else { -1.0 });
        self.positions += 1;
        self.weight += weight;
        self.predicted += weight * prediction;
        self.actual += weight * result;
        self.loss += weight * loss;
        self.prior_loss += weight * prior_loss;
        self.plain.add(game, weight, difference);
        self.turned.add(game, weight, side * difference);
    }

    pub fn join(&mut self, other: &Self) {
        self.positions += other.positions;
        self.weight += other.weight;
        self.predicted += other.predicted;
        self.actual += other.actual;
        self.loss += other.loss;
        self.prior_loss += other.prior_loss;
        self.plain.join(other.plain);
        self.turned.join(other.turned);
    }

    pub fn bin(self) -> CalibrationBin {
        CalibrationBin {
            positions: self.positions,
            predicted: self.predicted / self.weight,
            actual: self.actual / self.weight,
            error: self.plain.finish().1,
        }
    }

    pub fn residual(self, key: u32) -> Residual {
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

#[cfg(test)]
mod tests {
    use super::*;

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
