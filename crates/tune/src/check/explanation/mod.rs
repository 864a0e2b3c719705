//! Explanations of evaluations that differ from the engine's own: the one change of trace, schema or values after which
//! (nearly) all of them agree.
//!
//! Families of candidates, a file each, recompute the scores of a sample of rows with a change; here they are judged, all
//! alike, by the rows that then agree with what the engine printed. A change that leaves more than a hundredth of them
//! different is not named as the cause. Changes of tables, lines and groups are tried beside those of single parameters.
//! Where a change is free to take any count in each row, it would explain some
//! differences by chance: how many, random differences tell.

mod blocks;
mod colors;
mod counts;
mod phases;
mod presence;
mod rows;
mod sums;
mod tables;
mod values;
mod views;

use gputexel_ingest::trace::PositionFacts;
use gputexel_io::{Result, grouped};
use serde::Serialize;

pub use self::presence::Presence;
use self::rows::{Row, Rows};
use super::compared::Compared;

/// Number of rows that must differ before anything is concluded from them.
const MIN_DIFFERING: usize = 12;
/// Share of rows that must agree after a change that is called the cause.
const AGREE: f64 = 0.99;
/// Share of the squared differences that a partial explanation must account for to be mentioned.
const WORTH: f64 = 0.1;
/// Largest share of random differences that counts chosen row by row may explain, and the least evidence that those of
/// the engine are no random ones, in natural logarithms of a probability.
const MAX_CHANCE: f64 = 0.7;
const MIN_EVIDENCE: f64 = 40.0;
/// Share of the first differing rows that must agree for the others to be worth looking at.
const PROMISING: f64 = 0.95;
/// Number of changes that may be named side by side because they explain the same.
const ALIKE: usize = 3;
/// Number of changes listed if none explains everything.
const LISTED: usize = 2;
/// Number of differing rows that decide whether it is worth looking at the others.
const FIRST: usize = 200;
/// Number of rows in which a term or a table must occur before its signs are judged.
const MIN_ROWS: usize = 20;

/// A change that was looked into.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The change, in a line.
    pub text: String,
    /// Share of the squared differences that it explains.
    pub explained: f64,
    /// Number of positions, of those that differ and were looked at, that agree after it; `None` if nothing is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreeing: Option<u64>,
}

/// Conclusion from the differences of evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The change that explains the differences, or several that explain the same; empty if no single one does.
    pub causes: Vec<Cause>,
    /// Otherwise, those that explain most, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<Cause>,
    /// Number of positions that differ and were looked at.
    pub differing: u64,
    /// Without a cause, what occurs only where evaluations differ, and without what none differs: names of tables and of
    /// parameters.
    #[serde(flatten)]
    pub presence: Presence,
}

impl Explanation {
    /// Returns the cause in a line, if it is known, with the number of differences that it explains.
    pub fn cause(&self) -> Option<String> {
        let texts: Vec<&str> = self.causes.iter().map(|cause| cause.text.as_str()).collect();
        let explained =
            self.causes.first()?.agreeing.map(|count| format!(" (explains {})", self.share(count)));
        Some(texts.join("; or: ") + &explained.unwrap_or_default())
    }

    /// Describes a number of differences: `12 of 1,300 differences`.
    pub fn share(&self, count: u64) -> String {
        format!("{} of {} differences", grouped(count), grouped(self.differing))
    }
}

/// How specific a kind of change is. Of changes that explain the same, the most specific counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Nothing is fitted.
    Exact,
    /// One number is.
    OneNumber,
    /// Two numbers are.
    TwoNumbers,
    /// Counts in each row, within those that are traced.
    Signs,
    /// Counts in each row of what is never traced.
    Untraced,
    /// Any counts in each row.
    Counts,
    /// Nothing is computed; only the rows are known.
    Rows,
}

/// A change with the scores after it.
struct Guess {
    text: String,
    rank: Rank,
    /// Score of each row, centipawns, and true if it is near a kink, where rounding may decide.
    scores: Vec<(f64, bool)>,
    /// Share of random differences that the same freedom would explain.
    chance: f64,
}

impl Guess {
    fn new(rank: Rank, scores: Vec<(f64, bool)>, text: String) -> Self {
        Self { text, rank, scores, chance: 0.0 }
    }

    /// Makes a change that is free in each row: `nearest` returns the score, of those that it can give a row, that is
    /// nearest to an evaluation. `None` if too few of the first `looked_at` rows that differ agree after it.
    fn by_row(
        rows: &Rows<'_>,
        looked_at: usize,
        (rank, text): (Rank, String),
        nearest: impl Fn(&Row, f64) -> f64 + Sync + Send,
    ) -> Option<Self> {
        let agrees = |row: &&Row| (nearest(row, row.printed) - row.printed).abs() <= rows.tolerance_cp;
        let first = || rows.differing().take(looked_at);
        if (first().filter(agrees).count() as f64) < PROMISING * first().count() as f64 {
            return None;
        }
        let scores = rows.scores(|row| (nearest(row, row.printed), false));
        Some(Self { text, rank, scores, chance: rows.chance(nearest) })
    }
}

/// A change that was judged.
struct Judged {
    cause: Cause,
    rank: Rank,
    chance: f64,
    accepted: bool,
}

/// Explains why evaluations under θ differ from those that the engine printed. `facts` say what is known of positions
/// beside their rows, in the order of the dataset; they may be empty. `None` if too few evaluations differ.
///
/// # Errors
/// As [`Reference::try_new`](gputexel_ingest::trace::Reference::try_new).
pub(super) fn explain(
    compared: &Compared<'_>,
    theta: &[f64],
    facts: &[PositionFacts],
) -> Result<Option<Explanation>> {
    let rows = Rows::try_new(compared, theta, facts)?;
    if rows.differing().count() < MIN_DIFFERING {
        return Ok(None);
    }
    let families = [
        views::guesses,
        phases::guesses,
        tables::guesses,
        colors::guesses,
        values::guesses,
        counts::guesses,
        sums::guesses,
        presence::guesses,
    ];
    let mut judged: Vec<Judged> = Vec::new();
    for family in families {
        judged.extend(family(&rows)?.iter().map(|guess| judge(&rows, guess)));
    }
    let differing = rows.differing().count() as u64;
    let mut out = conclude(judged, differing);
    if out.causes.is_empty() {
        out.presence = Presence::new(&rows);
    }
    Ok(Some(out))
}

/// Compares the scores after a change with those that the engine printed.
fn judge(rows: &Rows<'_>, guess: &Guess) -> Judged {
    let (mut all, mut agreeing, mut differing, mut explained_rows) = (0u64, 0u64, 0u64, 0u64);
    let (mut before, mut after) = (0.0, 0.0);
    for (row, &(score, near_kink)) in rows.rows.iter().zip(&guess.scores) {
        let left = row.printed - score;
        let agrees = left.abs() <= rows.tolerance_cp;
        if near_kink && !agrees {
            continue;
        }
        all += 1;
        agreeing += u64::from(agrees);
        let differed = row.difference().abs() > rows.tolerance_cp;
        differing += u64::from(differed);
        explained_rows += u64::from(differed && agrees);
        before += row.difference().powi(2);
        after += left.powi(2);
    }
    let explained = if before > 0.0 { 1.0 - after / before } else { 0.0 };
    let evidence = if guess.chance > 0.0 { -guess.chance.ln() * differing as f64 } else { f64::INFINITY };
    let accepted = 2 * all >= rows.rows.len() as u64
        && agreeing as f64 >= AGREE * all as f64
        && (all - agreeing) as f64 <= (1.0 - AGREE) * differing as f64
        && guess.chance <= MAX_CHANCE
        && evidence >= MIN_EVIDENCE;
    let agreeing = (guess.rank != Rank::Rows).then_some(explained_rows);
    let cause = Cause { text: guess.text.clone(), explained, agreeing };
    Judged { cause, rank: guess.rank, chance: guess.chance, accepted }
}

/// Names the cause: the most specific change that explains everything, unless too many explain the same.
fn conclude(mut judged: Vec<Judged>, differing: u64) -> Explanation {
    let best = judged.iter().filter(|one| one.accepted);
    let best = best.min_by(|a, b| a.rank.cmp(&b.rank).then(a.chance.total_cmp(&b.chance)));
    if let Some((rank, chance)) = best.map(|best| (best.rank, best.chance)) {
        // Chances are estimated from a sample.
        let alike = |one: &&Judged| one.accepted && one.rank == rank && one.chance <= chance + 0.02;
        let mut causes: Vec<Cause> = judged.iter().filter(alike).map(|one| one.cause.clone()).collect();
        causes.dedup_by(|a, b| a.text == b.text);
        // Changes that are free in each row explain the same by chance.
        if rank <= Rank::TwoNumbers {
            causes.truncate(ALIKE);
        }
        if causes.len() <= ALIKE {
            return Explanation { causes, differing, ..Explanation::default() };
        }
    }
    // What counts chosen row by row explain in part says nothing.
    judged.retain(|one| one.rank <= Rank::TwoNumbers && one.cause.explained >= WORTH);
    judged.sort_by(|a, b| b.cause.explained.total_cmp(&a.cause.explained).then(a.rank.cmp(&b.rank)));
    judged.truncate(LISTED);
    let partial = judged.into_iter().map(|one| one.cause).collect();
    Explanation { partial, differing, ..Explanation::default() }
}
