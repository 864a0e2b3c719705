//! Tables of which one color's entries have the wrong sign, or are not traced: none of their coefficients is ever negative,
//! or none positive.
//!
//! Which entries are whose is unknown in each row. That both colors have about the same confirms what was found.

use gputexel_io::Result;

use super::blocks::{Block, blocks};
use super::rows::{Row, Rows};
use super::{FIRST, Guess, MAX_CHANCE, MIN_ROWS, Rank};

/// Largest number of choices in a row that are looked at one by one.
const CHOICES: usize = 4096;
/// Number of choices of a row whose exact scores are computed.
const NEAREST: usize = 4;
/// Rounding of an engine, centipawns: a score may differ by it from a sum.
const ROUNDING_CP: f64 = 2.0;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let mut out = Vec::new();
    for block in blocks(&rows.set) {
        let Some(one) = OneSigned::try_new(rows, &block) else { continue };
        out.extend(one.turned(&block.name));
        out.extend(one.untraced(&block.name));
    }
    Ok(out)
}

/// A table whose coefficients all have the same sign.
struct OneSigned<'a> {
    rows: &'a Rows<'a>,
    /// True for the features of the table.
    own: Vec<bool>,
    sign: f64,
    /// Largest sum of its coefficients in a row.
    most: f64,
    sums: Sums,
}

/// Sums over rows of the difference d and the table's part s of the score.
#[derive(Default)]
struct Sums {
    rows: f64,
    d: f64,
    s: f64,
    dd: f64,
    ss: f64,
    ds: f64,
}

impl Sums {
    fn add(&mut self, d: f64, s: f64) {
        self.rows += 1.0;
        self.d += d;
        self.s += s;
        self.dd += d * d;
        self.ss += s * s;
        self.ds += d * s;
    }
}

impl<'a> OneSigned<'a> {
    fn try_new(rows: &'a Rows<'a>, block: &Block) -> Option<Self> {
        let mut own = vec![false; rows.set.features.len()];
        block.ids().for_each(|id| own[usize::from(id)] = true);
        let mut out = Self { rows, own, sign: 0.0, most: 0.0, sums: Sums::default() };
        let mut seen = 0;
        for row in &rows.rows {
            let entries = out.entries(row);
            seen += usize::from(!entries.is_empty());
            if let Some(first) = entries.first().filter(|_| out.sign == 0.0) {
                out.sign = first.1.signum();
            }
            if entries.iter().any(|&(_, c)| c * out.sign < 0.0) {
                return None;
            }
            out.most = out.most.max(entries.iter().map(|(_, c)| c.abs()).sum());
            let d = row.difference();
            let s: f64 = entries.iter().map(|&(id, c)| c * rows.worth(row, id)).sum();
            out.sums.add(d, s);
        }
        (seen >= MIN_ROWS && out.sums.ss > 0.0).then_some(out)
    }

    /// Returns the entries of a row in the table.
    fn entries(&self, row: &Row) -> Vec<(u16, f64)> {
        let is_own =
            |entry: &&(u16, f64)| self.own.get(usize::from(entry.0)) == Some(&true) && entry.1 != 0.0;
        row.row.entries.iter().filter(is_own).copied().collect()
    }

    /// Returns the color whose entries are wrong, the sign that never occurs, and what the wrong sign means.
    fn words(&self) -> [&'static str; 3] {
        match self.sign > 0.0 {
            true => ["Black", "negative", "added instead of subtracted"],
            false => ["White", "positive", "subtracted instead of added"],
        }
    }

    /// Turns the sign of some entries in each row, those of one color.
    fn turned(&self, name: &str) -> Option<Guess> {
        let [color, never, did] = self.words();
        let text = format!("{color}'s entries of {name} have the wrong sign: they are {did} in the trace");
        let nearest = |row: &Row, target: f64| self.turned_score(row, target);
        let mut guess = Guess::by_row(self.rows, FIRST, (Rank::Signs, text), None, nearest)?;
        // If half of the entries are one color's, the differences are −1 times the table's part of the score.
        let slope = self.sums.ds / self.sums.ss;
        if guess.chance > MAX_CHANCE && (-1.5..=-0.5).contains(&slope) {
            guess.chance = 0.0;
            guess.text = format!(
                "no coefficient of {name} is ever {never}: {color}'s entries are {did} in the trace, or not traced at all"
            );
        }
        Some(guess)
    }

    fn turned_score(&self, row: &Row, target: f64) -> f64 {
        let entries = self.entries(row);
        let wanted = target - row.score;
        let count = entries.iter().fold(1.0, |all, (_, c)| all * (c.abs() + 1.0));
        // Changes of the score by turning n of the entries at an index.
        let change = |&(id, _): &(u16, f64), n: f64| -2.0 * self.sign * n * self.rows.worth(row, id);
        if count > CHOICES as f64 {
            let ends = entries.iter().map(|entry| change(entry, entry.1.abs()));
            let (low, high) =
                ends.fold((0.0, 0.0), |(low, high), end| (low + end.min(0.0), high + end.max(0.0)));
            return row.score + wanted.clamp(low, high);
        }
        let mut choices: Vec<(f64, Vec<(u16, f64)>)> = vec![(0.0, Vec::new())];
        for entry in &entries {
            let with = |(sum, turned): &(f64, Vec<(u16, f64)>)| {
                let (sum, turned) = (*sum, turned.clone());
                (0..=entry.1.abs() as usize).map(move |n| {
                    let mut turned = turned.clone();
                    turned.push((entry.0, -2.0 * self.sign * n as f64));
                    (sum + change(entry, n as f64), turned)
                })
            };
            choices = choices.iter().flat_map(with).collect();
        }
        choices.sort_by(|a, b| (a.0 - wanted).abs().total_cmp(&(b.0 - wanted).abs()));
        let near = choices.iter().take(NEAREST);
        let near = near.filter(|(sum, _)| (sum - wanted).abs() <= self.rows.tolerance_cp + ROUNDING_CP);
        let scores = near.map(|(_, turned)| self.rows.score_of(row, turned).0);
        let nearest = scores.min_by(|a, b| (a - target).abs().total_cmp(&(b - target).abs()));
        nearest.unwrap_or(row.score + choices[0].0)
    }

    /// Adds as many entries of the other color as there are at most of this one.
    fn untraced(&self, name: &str) -> Option<Guess> {
        let Sums { rows, d, s, dd, ss, .. } = self.sums;
        // Both colors' parts of the score have about the same mean and size.
        let alike = (0.5..=2.0).contains(&(dd / ss)) && (d + s).abs() <= 0.25 * (rows * ss).sqrt();
        if !alike {
            return None;
        }
        let nearest = |row: &Row, target: f64| {
            let ids = self.own.iter().enumerate().filter(|(_, own)| **own).map(|(id, _)| id as u16);
            let changes = ids.map(|id| -self.sign * self.most * self.rows.worth(row, id));
            let (low, high) = changes.fold((0.0f64, 0.0f64), |(low, high), c| (low.min(c), high.max(c)));
            row.score + (target - row.score).clamp(low - ROUNDING_CP, high + ROUNDING_CP)
        };
        let color = self.words()[0];
        // Nearly any remainder is a sum of some of the table's values, so a second mistake fits, too.
        let text = format!(
            "{color}'s entries of {name} are not traced, only the other color's; or they have the wrong sign beside \
             another mistake"
        );
        let mut guess = Guess::by_row(self.rows, FIRST, (Rank::Untraced, text), None, nearest)?;
        guess.chance = 0.0;
        Some(guess)
    }
}
