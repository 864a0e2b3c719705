//! Compares a model's evaluations with those printed by the engine, and with results.

use serde::Serialize;
use shakmaty::Color;

use super::row_sums::RowSums;
use super::truncation::{Shares, truncated_score};
use gputexel_dataset::Dataset;
use gputexel_io::Result;
use gputexel_model::program::{CompiledProgram, Interval, LINEAR, Taper};
use gputexel_model::{Division, FeatureSet};

/// Maximum number of differences that are kept.
pub const WORST: usize = 10;
/// Rounding of an engine changes a sum by about the number of divisions before it, at most this.
const ROUNDED_CP: f64 = 3.0;
const COMMENT_BYTES: usize = 120;

#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    theta: Vec<f64>,
    features: usize,
    program: Option<(CompiledProgram, Vec<[f64; 2]>)>,
    division: Division,
    /// True if the engine's numbers are integers, and its divisions those of the schema.
    is_played: bool,
    /// Largest difference that still counts as equal, centipawns.
    pub tolerance_cp: f64,
}

impl Reference {
    /// Creates a reference from parameters θ, mg of every feature, then eg, for an engine that divides as its
    /// schema declares.
    ///
    /// # Panics
    /// If the length of θ does not match the feature set.
    pub fn try_new(set: &FeatureSet, theta: Vec<f64>, tolerance_cp: f64) -> Result<Self> {
        let features = set.features.len();
        assert_eq!(theta.len(), 2 * features);
        let program = set.program.clone().map(|program| CompiledProgram::try_new(program, features));
        let program = program.transpose()?.map(|program| {
            let values = program.column_values(&theta);
            (program, values)
        });
        let division = set.imported.as_ref().map_or_else(Division::default, |imported| imported.division);
        Ok(Self { theta, features, program, division, is_played: false, tolerance_cp })
    }

    pub fn with_division(self, division: Division) -> Self {
        Self { division, ..self }
    }

    /// Compares with evaluations of a build that plays: sums of integers, and a rounding by each function.
    pub fn with_played(self, is_played: bool) -> Self {
        Self { is_played, ..self }
    }

    /// Returns the score of position `n` of a dataset with the same feature set, in centipawns from White's view.
    pub fn score_of(&self, data: &Dataset, n: usize) -> f64 {
        self.score_of_row(&Self::row_of(data, n), &[])
    }

    /// Returns position `n` of a dataset with the same feature set, as [`score_of_row`](Self::score_of_row) takes it.
    pub fn row_of(data: &Dataset, n: usize) -> ReferenceRow {
        let row = data.row(n);
        let one = data.endgame_scale_one();
        let scale = data.endgame_scales().get(n).copied().unwrap_or(one);
        ReferenceRow {
            entries: row.entries().map(|(column, coefficient)| (column, f64::from(coefficient))).collect(),
            shares: Shares { phase: row.phase, max: data.phase_max(), scale, one },
            offset_cp: f64::from(row.offset),
        }
    }

    /// Returns what [`score_of`](Self::score_of) does for a row that also has the entries `more`.
    pub fn score_of_row(&self, row: &ReferenceRow, more: &[(u16, f64)]) -> f64 {
        let entries = row.entries.iter().chain(more).copied();
        row.offset_cp + self.score(entries, row.shares, &mut RowSums::default())
    }

    /// Tells whether the score of a row differs from the evaluation `printed` by more than the tolerance, but no more
    /// than rounding may lead to: of the functions of integers that a build plays, otherwise of sums near a kink or
    /// jump.
    pub fn is_rounding(&self, row: &ReferenceRow, score: f64, printed: f64) -> bool {
        if (score - printed).abs() <= self.tolerance_cp || self.division == Division::Truncate {
            return false;
        }
        let within =
            |[low, high]: [f64; 2]| (low - self.tolerance_cp..=high + self.tolerance_cp).contains(&printed);
        // Divisions of integers by what leaves a remainder.
        let divided = |slot: usize| {
            let slot_of = |column: u16| {
                self.program.as_ref().map_or(LINEAR, |own| own.0.slot_of_column(usize::from(column)))
            };
            let own = row.entries.iter().filter(|one| one.1.fract() != 0.0 && slot_of(one.0) == slot);
            (own.count() as f64).min(ROUNDED_CP)
        };
        let Some((program, values)) = &self.program else {
            let by = divided(LINEAR);
            return self.is_played && within([score - by, score + by]);
        };
        let mut sums = RowSums::default();
        sums.add_up(program, values, row.entries.iter().copied());
        let around = |(slot, pair): (usize, &[f64; 2])| {
            let by = if self.is_played { divided(slot) } else { ROUNDED_CP };
            pair.map(|sum| Interval::around(sum, by, self.is_played))
        };
        let around: Vec<[Interval; 2]> = sums.sums.iter().enumerate().map(around).collect();
        let (mg, eg) = row.shares.pair();
        let score = program.score(&around, sums.present, Taper { mg, eg });
        (score.split || self.is_played) && within([score.low, score.high].map(|cp| row.offset_cp + cp))
    }

    /// Returns each function of a row that counts: its term in the program, the sum that it takes, and what it is multiplied
    /// by in the score, but for bounds and scale factors.
    pub fn functions_of_row(&self, row: &ReferenceRow) -> Vec<(usize, f64, f64)> {
        let Some((program, values)) = &self.program else { return Vec::new() };
        let mut sums = RowSums::default();
        sums.add_up(program, values, row.entries.iter().copied());
        let (mg, eg) = row.shares.pair();
        let terms = program.program().terms.iter().enumerate();
        let effects = terms.flat_map(|(index, term)| {
            let share = [mg, eg][term.target as usize] * term.scale;
            let sides = program.term_effects(term, &sums.sums, sums.present).into_iter().zip([1.0, -1.0]);
            let one = sides.filter_map(move |(effect, sign)| {
                effect.map(|own| (index, own.sum, sign * share * own.times.unwrap_or(1.0)))
            });
            one.collect::<Vec<_>>()
        });
        effects.collect()
    }

    /// Returns the score of a row of columns, without the constant offset.
    pub(super) fn score(
        &self,
        row: impl Iterator<Item = (u16, f64)>,
        shares: Shares,
        sums: &mut RowSums,
    ) -> f64 {
        let Some((program, values)) = &self.program else { return self.sum(row, shares) };
        sums.add_up(program, values, row);
        if self.division == Division::Truncate {
            return truncated_score(program, sums, shares);
        }
        let (mg, eg) = shares.pair();
        program.score(&sums.sums, sums.present, Taper { mg, eg })
    }

    /// Returns Σ coefficient · (share · mg + share · eg), without the constant offset.
    fn sum(&self, row: impl Iterator<Item = (u16, f64)>, shares: Shares) -> f64 {
        let values = |id: u16| (self.theta[usize::from(id)], self.theta[self.features + usize::from(id)]);
        if self.division == Division::Truncate {
            let mut sums = [0.0; 2];
            row.for_each(|(id, coefficient)| {
                sums[0] += coefficient * values(id).0;
                sums[1] += coefficient * values(id).1;
            });
            return shares.truncated(sums, None);
        }
        let (mg, eg) = shares.pair();
        row.map(|(id, coefficient)| coefficient * (mg * values(id).0 + eg * values(id).1)).sum()
    }
}

/// Everything that the score of a position is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceRow {
    pub entries: Vec<(u16, f64)>,
    pub shares: Shares,
    /// Constant part of the score, centipawns.
    pub offset_cp: f64,
}

/// Minimum correlation at which evaluations are considered to predict results.
const TELLING: f64 = 0.1;
/// With fewer positions than this, no conclusion is drawn.
const FEW: u64 = 100;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correlation {
    pub count: u64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Correlation {
    pub fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
    }

    /// 1 if evaluations predict results, −1 if they contradict them, 0 if undecided.
    pub fn tendency(&self) -> i32 {
        match self.coefficient() {
            Some(r) if self.count >= FEW && r.abs() >= TELLING => r.signum() as i32,
            _ => 0,
        }
    }

    /// Returns the coefficient; `None` if either variable is constant.
    pub fn coefficient(&self) -> Option<f64> {
        let n = self.count as f64;
        let (xx, yy) = (n * self.xx - self.x * self.x, n * self.yy - self.y * self.y);
        (xx > 1e-9 * n * self.xx && yy > 1e-9 * n * self.yy)
            .then(|| (n * self.xy - self.x * self.y) / (xx * yy).sqrt())
    }
}

/// Limits a score for correlations with results, which mate scores would otherwise dominate.
pub fn bounded(score_cp: f64) -> f64 {
    score_cp.clamp(-1000.0, 1000.0)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Line of the trace, from 1, or position of a dataset, from 0.
    pub at: u64,
    #[serde(skip)]
    pub source: usize,
    /// Printed by the engine, centipawns, White's view.
    pub printed_cp: f64,
    /// Σ coefficient · parameter plus the constant offset, centipawns, White's view.
    pub computed_cp: f64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

impl Outlier {
    /// Returns computed − printed.
    pub fn difference(&self) -> f64 {
        self.computed_cp - self.printed_cp
    }
}

/// Evaluations of positions compared with those printed by the engine, and with results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    pub compared: u64,
    pub differing: u64,
    /// Number that differ by more than the tolerance, but no more than rounding may lead to.
    pub near_kinks: u64,
    /// The one of those with the largest difference.
    pub rounded: Option<Outlier>,
    pub sum: f64,
    pub sum_absolute: f64,
    /// The largest differences, largest first.
    pub worst: Vec<Outlier>,
    pub evaluations: Correlation,
    /// Computed evaluations and results: White to move, Black to move, unknown.
    pub results: [Correlation; 3],
}

impl Comparison {
    /// Adds a position; `is_rounding` as of [`Reference::is_rounding`].
    #[allow(clippy::too_many_arguments, reason = "a position has that many sides")]
    pub fn add(
        &mut self,
        reference: &Reference,
        (computed_cp, is_rounding): (f64, bool),
        printed_cp: Option<f64>,
        result: f64,
        turn: Option<Color>,
        at: u64,
        comment: &[u8],
    ) {
        let side = turn.map_or(2, |turn| usize::from(turn == Color::Black));
        self.results[side].add(bounded(computed_cp), result);
        let Some(printed_cp) = printed_cp else { return };
        let difference = computed_cp - printed_cp;
        self.compared += 1;
        self.sum += difference;
        self.sum_absolute += difference.abs();
        self.evaluations.add(printed_cp, computed_cp);
        let outlier = || {
            let shortened = &comment[..comment.len().min(COMMENT_BYTES)];
            let comment = String::from_utf8_lossy(shortened).into_owned();
            Outlier { at, source: 0, printed_cp, computed_cp, comment }
        };
        if is_rounding {
            self.near_kinks += 1;
            if difference.abs() > self.largest_rounded() {
                self.rounded = Some(outlier());
            }
            return;
        }
        if difference.abs() > reference.tolerance_cp {
            self.differing += 1;
        }
        let least = self.worst.last().map_or(0.0, |last| last.difference().abs());
        if difference != 0.0 && (self.worst.len() < WORST || difference.abs() > least) {
            let place = self.worst.partition_point(|other| other.difference().abs() >= difference.abs());
            self.worst.insert(place, outlier());
            self.worst.truncate(WORST);
        }
    }

    /// Largest absolute difference that rounding may lead to, centipawns.
    pub fn largest_rounded(&self) -> f64 {
        self.rounded.as_ref().map_or(0.0, |one| one.difference().abs())
    }

    /// Says if evaluations predict results when one side is to move, and contradict them when the other is.
    pub fn two_views(&self) -> Option<&'static str> {
        (self.results[0].tendency() * self.results[1].tendency() < 0).then_some(
            "the evaluation predicts results when one side is to move and contradicts them when the other is: 'trace' takes it \
             from White's view, or with View::side_to_move from that of the side to move",
        )
    }

    /// Adds all positions of another, which belong to source number `source`.
    pub fn merge(&mut self, other: &Self, source: usize) {
        self.compared += other.compared;
        self.differing += other.differing;
        self.near_kinks += other.near_kinks;
        if other.largest_rounded() > self.largest_rounded() {
            self.rounded = other.rounded.clone().map(|one| Outlier { source, ..one });
        }
        self.sum += other.sum;
        self.sum_absolute += other.sum_absolute;
        self.evaluations.merge(&other.evaluations);
        self.results.iter_mut().zip(&other.results).for_each(|(mine, theirs)| mine.merge(theirs));
        for outlier in &other.worst {
            let size = outlier.difference().abs();
            let place = self.worst.partition_point(|other| other.difference().abs() >= size);
            self.worst.insert(place, Outlier { source, ..outlier.clone() });
        }
        self.worst.truncate(WORST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_are_pearsons() {
        let mut all = Correlation::default();
        let mut other = Correlation::default();
        for (x, y) in [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0)] {
            all.add(x, y);
        }
        for (x, y) in [(4.0, 3.0), (5.0, 5.0)] {
            other.add(x, y);
        }
        all.merge(&other);
        // Ranks with Σd² = 4: 1 − 6 · 4 / (5 · 24).
        assert!((all.coefficient().unwrap() - 0.8).abs() < 1e-12);
        let mut flat = Correlation::default();
        flat.add(1.0, 1.0);
        flat.add(2.0, 1.0);
        assert_eq!(flat.coefficient(), None);
    }
}
