//! Explains evaluations that differ from the engine's own by one known mistake of trace, schema or values: the change
//! after which nearly all of them agree.

mod counts;
mod functions;
mod order;
mod presence;
mod tables;
mod values;
mod views;

use gputexel_dataset::Dataset;
use gputexel_ingest::trace::{PositionFacts, Reference, ReferenceRow};
use gputexel_io::{Result, grouped};
use gputexel_model::FeatureSet;
use rayon::prelude::*;
use serde::Serialize;

pub use self::presence::Presence;
use super::compared::Compared;

/// Number of rows that must differ before anything is concluded from them.
const MIN_DIFFERING: usize = 12;
/// Share of rows that must agree after a change that is called the cause.
const AGREE: f64 = 0.99;
/// Share by which differences must become smaller after a change that is mentioned.
const WORTH: f64 = 0.2;
/// Number of changes that are named side by side because they explain the same.
const ALIKE: usize = 3;
/// Number of changes listed if none explains everything.
const LISTED: usize = 2;
const DIFFERING: usize = 6000;
const OTHERS: usize = 2000;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    pub text: String,
    /// Share by which the mean absolute difference becomes smaller; negative if it becomes larger.
    pub reduction: f64,
    /// Number of positions, of those that differ and were looked at, that agree after it.
    pub agreeing: u64,
}

/// Conclusion from the differences of evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The change that explains the differences, or several that explain the same; empty if none does.
    pub causes: Vec<Cause>,
    /// Without a cause, the changes that explain most, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<Cause>,
    pub differing: u64,
    /// Without a cause, what occurs only or wherever evaluations differ.
    #[serde(flatten)]
    pub presence: Presence,
}

impl Explanation {
    /// The cause in a line, if it is known, with the number of positions that it explains.
    pub fn cause(&self) -> Option<String> {
        let explained = self.causes.first()?.agreeing;
        let texts: Vec<&str> = self.causes.iter().map(|cause| cause.text.as_str()).collect();
        Some(format!("{} (explains {})", texts.join("; or: "), self.share(explained)))
    }

    /// Describes a number of positions that are explained: `12 of 1,300 positions`.
    pub fn share(&self, count: u64) -> String {
        format!("{} of {} positions", grouped(count), grouped(self.differing))
    }
}

/// A row with both of its evaluations, centipawns.
#[derive(Clone)]
struct Row {
    n: usize,
    row: ReferenceRow,
    /// Factor of the computed score: of other units, or of another point of view.
    factor: f64,
    printed: f64,
    score: f64,
    facts: PositionFacts,
}

impl Row {
    fn difference(&self) -> f64 {
        self.printed - self.score
    }
}

/// Rows of a dataset under θ: some that differ, and others.
struct Rows<'a> {
    compared: &'a Compared<'a>,
    data: &'a Dataset,
    set: &'a FeatureSet,
    theta: &'a [f64],
    before: Option<&'a [f64]>,
    tolerance_cp: f64,
    reference: Reference,
    rows: Vec<Row>,
}

/// A change with the score of each row after it, centipawns, and true where rounding explains what is left.
struct Guess {
    text: String,
    /// Of changes that explain the same, the one with the fewest fitted numbers counts.
    fitted: u32,
    scores: Vec<(f64, bool)>,
}

const FREE: u32 = u32::MAX;

impl<'a> Rows<'a> {
    fn try_new(
        compared: &'a Compared<'a>,
        theta: &'a [f64],
        before: Option<&'a [f64]>,
        facts: &[PositionFacts],
    ) -> Result<Self> {
        let Compared { data, printed, set, tolerance_cp, .. } = *compared;
        let reference = compared.reference(theta)?;
        let mut sample = compared.sample(theta, DIFFERING, OTHERS)?;
        sample.sort_unstable();
        let row = |n: usize| {
            let row = Reference::row_of(data, n);
            let score = reference.score_of_row(&row, &[]);
            let facts = facts.get(n).copied().unwrap_or_default();
            Row { n, row, factor: 1.0, printed: f64::from(printed[n]), score, facts }
        };
        let rows = sample.iter().map(|&n| row(n as usize)).collect();
        Ok(Self { compared, data, set, theta, before, tolerance_cp, reference, rows })
    }

    /// True for two builds of one engine, which have the same values and the same view.
    fn are_builds(&self) -> bool {
        self.compared.is_played && self.before.is_none()
    }

    fn agrees(&self, score: f64, evaluation: f64) -> bool {
        (score - evaluation).abs() <= self.tolerance_cp
    }

    fn differing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !self.agrees(row.score, row.printed))
    }

    fn with_values(&self, theta: &[f64], fitted: u32, text: String) -> Result<Guess> {
        let reference = self.compared.reference(theta)?;
        let scored = |row: &Row| {
            let score = reference.score_of_row(&row.row, &[]);
            (score, reference.is_rounding(&row.row, score, row.printed))
        };
        let scores = self.rows.par_iter().map(scored).collect();
        Ok(Guess { text, fitted, scores })
    }

    fn with_rows(&self, fitted: u32, text: String, change: impl Fn(&mut Row) + Sync) -> Guess {
        let scored = |row: &Row| {
            let mut row = row.clone();
            change(&mut row);
            let score = self.reference.score_of_row(&row.row, &[]);
            (row.factor * score, self.reference.is_rounding(&row.row, score, row.printed / row.factor))
        };
        Guess { text, fitted, scores: self.rows.par_iter().map(scored).collect() }
    }

    fn free(&self, text: String, nearest: impl Fn(&Row) -> f64 + Sync) -> Guess {
        let scores = self.rows.par_iter().map(|row| (nearest(row), false)).collect();
        Guess { text, fitted: FREE, scores }
    }

    /// The numbers x with the least Σ (difference − Σ x · column)²; `None` if they are not determined.
    fn fit<const N: usize>(&self, columns: impl Fn(&Row) -> [f64; N]) -> Option<[f64; N]> {
        least_squares(self.rows.iter().map(|row| (columns(row), row.difference())))
    }

    fn judge(&self, guess: &Guess) -> (Cause, bool) {
        let (mut all, mut agreeing, mut differing, mut explained) = (0u64, 0u64, 0u64, 0u64);
        let (mut before, mut after) = (0.0, 0.0);
        for (row, &(score, is_rounding)) in self.rows.iter().zip(&guess.scores) {
            if is_rounding && !self.compared.is_played {
                continue;
            }
            let agrees = is_rounding || self.agrees(score, row.printed);
            let differed = !self.agrees(row.score, row.printed);
            all += 1;
            agreeing += u64::from(agrees);
            differing += u64::from(differed);
            explained += u64::from(differed && agrees);
            before += row.difference().abs();
            after += (row.printed - score).abs();
        }
        let is_cause = 2 * all >= self.rows.len() as u64
            && 2 * explained as usize >= self.differing().count()
            && agreeing as f64 >= AGREE * all as f64
            && (all - agreeing) as f64 <= (1.0 - AGREE) * differing as f64;
        let reduction = if before > 0.0 { 1.0 - after / before } else { 0.0 };
        (Cause { text: guess.text.clone(), reduction, agreeing: explained }, is_cause)
    }
}

type Family = fn(&Rows<'_>) -> Result<Vec<Guess>>;

const FAMILIES: [Family; 5] =
    [views::guesses, tables::guesses, values::guesses, counts::guesses, functions::guesses];

/// Explains why evaluations under θ differ from those that the engine printed. If it was written into the engine,
/// `before` are the values that were there, or θ if they are unknown. `facts` say what is known of
/// positions beside their rows, in the order of the dataset; they may be empty.
pub(super) fn explain(
    compared: &Compared<'_>,
    theta: &[f64],
    before: Option<&[f64]>,
    facts: &[PositionFacts],
) -> Result<Option<Explanation>> {
    let rows = Rows::try_new(compared, theta, before, facts)?;
    let differing = rows.differing().count();
    if differing < MIN_DIFFERING {
        return Ok(None);
    }
    let mut judged = Vec::new();
    for family in if rows.are_builds() { &FAMILIES[2..] } else { &FAMILIES[..] } {
        judged.extend(family(&rows)?.into_iter().map(|guess| (guess.fitted, rows.judge(&guess))));
    }
    let mut out = Explanation { differing: differing as u64, ..Explanation::default() };
    let fewest = judged.iter().filter(|(_, (_, is_cause))| *is_cause).map(|(fitted, _)| *fitted).min();
    let causes = judged.iter().filter(|(fitted, (_, is_cause))| *is_cause && Some(*fitted) == fewest);
    out.causes = causes.map(|(_, (cause, _))| cause.clone()).collect();
    out.causes.dedup_by(|a, b| a.text == b.text);
    if fewest == Some(FREE) && out.causes.len() > ALIKE {
        // What so many explain, they explain by chance.
        out.causes.clear();
    }
    out.causes.truncate(ALIKE);
    if out.causes.is_empty() {
        let partial =
            judged.into_iter().filter(|(fitted, (cause, _))| *fitted < FREE && cause.reduction >= WORTH);
        out.partial = partial.map(|(_, (cause, _))| cause).collect();
        out.partial.sort_by(|a, b| b.reduction.total_cmp(&a.reduction));
        out.partial.truncate(LISTED);
        out.presence = Presence::new(&rows);
    }
    Ok(Some(out))
}

fn least_squares<const N: usize>(rows: impl Iterator<Item = ([f64; N], f64)>) -> Option<[f64; N]> {
    let mut matrix = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (column, difference) in rows {
        for i in 0..N {
            right[i] += column[i] * difference;
            (0..N).for_each(|j| matrix[i][j] += column[i] * column[j]);
        }
    }
    solve(matrix, right)
}

/// Solves a small symmetric system; `None` if it is singular.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for i in 0..N {
        let pivot = matrix[i][i];
        if pivot.is_nan() || pivot <= 1e-9 {
            return None;
        }
        for j in i + 1..N {
            let factor = matrix[j][i] / pivot;
            let row = matrix[i];
            matrix[j].iter_mut().zip(row).for_each(|(a, b)| *a -= factor * b);
            right[j] -= factor * right[i];
        }
    }
    for i in (0..N).rev() {
        let later: f64 = (i + 1..N).map(|j| matrix[i][j] * right[j]).sum();
        right[i] = (right[i] - later) / matrix[i][i];
    }
    Some(right)
}
