//! Explanations of evaluations that differ from the engine's own: the one change of trace, schema or values after which
//! (nearly) all of them agree, or two.
//!
//! Families of candidates, a file each, recompute the scores of a sample of rows with a change; here they are judged, all
//! alike, by the rows that then agree with what the engine printed. If no change leaves less than a hundredth of them
//! different, the families are asked again about the rows after each of those that explain most. Changes of tables,
//! lines and groups are tried beside those of single parameters. Where a change is free to take any count in each row, it
//! would explain some differences by chance: how many, random differences tell.

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
use rayon::prelude::*;
use serde::Serialize;

pub use self::presence::Presence;
use self::rows::{Fix, More, Row, Rows};
use super::compared::Compared;

/// Number of rows that must differ before anything is concluded from them.
const MIN_DIFFERING: usize = 12;
/// Share of rows that must agree after a change that is called the cause.
const AGREE: f64 = 0.99;
/// Share by which differences must become smaller after a change that is mentioned, or tried together with another.
const WORTH: f64 = 0.1;
/// Share of the rows that differ that must agree after a change that is tried together with another, and after one that
/// is called the cause of some differences.
const TRIED: f64 = 0.05;
const HALF: f64 = 0.5;
/// Largest number of changes that are tried together with others, by each of two measures.
const BEAM: usize = 4;
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
    /// Share by which the mean absolute difference becomes smaller; negative if it becomes larger.
    pub reduction: f64,
    /// Number of positions, of those that differ and were looked at, that agree after it; `None` if nothing is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreeing: Option<u64>,
}

/// Conclusion from the differences of evaluations.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// The change that explains the differences, or several that explain the same; empty if none does.
    pub causes: Vec<Cause>,
    /// With two mistakes, the change that explains what is left, or several that explain the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second: Vec<Cause>,
    /// Number of positions, of those that differ and were looked at, that agree after these changes; `None` if that is not
    /// computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<u64>,
    /// Number of those that may agree, but in which entries of both colors may cancel out, or near a kink.
    #[serde(skip_serializing_if = "is_zero")]
    pub undecided: u64,
    /// Without a cause, the changes that explain most, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<Cause>,
    /// Number of positions that differ and were looked at.
    pub differing: u64,
    /// Without a cause, what occurs only where evaluations differ, and without what none differs: names of tables and of
    /// parameters.
    #[serde(flatten)]
    pub presence: Presence,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Explanation {
    /// Returns the cause in a line, if it is known, with the number of positions that it explains.
    pub fn cause(&self) -> Option<String> {
        let texts = |causes: &[Cause]| {
            let texts: Vec<&str> = causes.iter().map(|cause| cause.text.as_str()).collect();
            texts.join("; or: ")
        };
        if self.causes.is_empty() {
            return None;
        }
        let (what, verb) = match &self.second[..] {
            [] => (texts(&self.causes), "explains"),
            second => (format!("two mistakes: {}; and {}", texts(&self.causes), texts(second)), "explain"),
        };
        let Some(explained) = self.explained else { return Some(what) };
        let rest = match self.differing.saturating_sub(explained) {
            left if (left as f64) <= (1.0 - AGREE) * self.differing as f64 => "",
            left if 2 * self.undecided >= left => "; in the others, entries may cancel out",
            _ => "; the others differ for another reason",
        };
        Some(format!("{what} ({verb} {}{rest})", self.share(explained)))
    }

    /// Describes a number of positions that are explained: `12 of 1,300 positions`.
    pub fn share(&self, count: u64) -> String {
        format!("{} of {} positions", grouped(count), grouped(self.differing))
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
    /// The change of all rows, if it is the same in all.
    fix: Option<Fix>,
    /// Further entries that each row may have, if they are free in each.
    more: Option<More>,
    /// Score of each row, centipawns, and true if it may be another one. Empty if too few rows agree.
    scores: Vec<(f64, bool)>,
    /// Share of random differences that the same freedom would explain.
    chance: f64,
}

impl Guess {
    /// Makes a change that is the same in all rows.
    fn new(rows: &Rows<'_>, rank: Rank, fix: Fix, text: String) -> Result<Self> {
        let scores = rows.scores_after(&fix, &rows.rows)?;
        Ok(Self { text, rank, fix: Some(fix), more: None, scores, chance: 0.0 })
    }

    /// As [`new`](Self::new); `None` if hardly any of the first rows that differ agree after it.
    fn promising(rows: &Rows<'_>, rank: Rank, fix: Fix, text: String) -> Result<Option<Self>> {
        let first: Vec<&Row> = rows.differing().take(FIRST).collect();
        let scores = rows.scores_after(&fix, first.par_iter().copied())?;
        let agreeing = first.iter().zip(scores).filter(|(row, (score, _))| rows.agrees(*score, row.printed));
        let enough = agreeing.count() as f64 >= TRIED * first.len() as f64;
        enough.then(|| Self::new(rows, rank, fix, text)).transpose()
    }

    /// Makes a change with what the scores after it are taken to be.
    fn taken(rank: Rank, scores: Vec<(f64, bool)>, text: String) -> Self {
        Self { text, rank, fix: None, more: None, scores, chance: 0.0 }
    }

    /// Makes a change that is free in each row: `nearest` returns the score, of those that it can give a row, that is
    /// nearest to an evaluation. `None` if too few of the first `looked_at` rows that differ agree after it, unless it
    /// may be tried together with another, by the entries `more`.
    fn by_row(
        rows: &Rows<'_>,
        looked_at: usize,
        (rank, text): (Rank, String),
        more: Option<More>,
        nearest: impl Fn(&Row, f64) -> f64 + Sync + Send,
    ) -> Option<Self> {
        let nearest = |row: &Row, target: f64| {
            let mut best = nearest(row, target);
            for more in rows.more.iter().flat_map(|more| more(row)) {
                if rows.agrees(best, target) {
                    break;
                }
                let mut other = row.clone();
                other.row.entries.extend(more);
                other.score = rows.score_of(&other, &[]).0;
                let score = nearest(&other, target);
                if (score - target).abs() < (best - target).abs() {
                    best = score;
                }
            }
            best
        };
        let count = rows.differing().take(looked_at).count() as f64;
        let differs = |row: &&Row| !rows.agrees(nearest(row, row.printed), row.printed);
        let allowed = ((1.0 - PROMISING) * count) as usize;
        if rows.differing().take(looked_at).filter(differs).nth(allowed).is_some() {
            let none = Self { text, rank, fix: None, more, scores: Vec::new(), chance: 1.0 };
            return none.more.is_some().then_some(none);
        }
        let scores = rows.scores(|row| (nearest(row, row.printed), false));
        Some(Self { text, rank, fix: None, more, scores, chance: rows.chance(nearest) })
    }
}

/// A change that was judged.
#[derive(Clone)]
struct Judged {
    cause: Cause,
    rank: Rank,
    fix: Option<Fix>,
    more: Option<More>,
    chance: f64,
    undecided: u64,
    /// Number of rows that agree without the change, but not with it.
    broken: u64,
    accepted: bool,
}

impl Judged {
    /// Returns true if both give the same scores.
    fn is_like(&self, other: &Self) -> bool {
        self.cause.agreeing == other.cause.agreeing
            && (self.cause.reduction - other.cause.reduction).abs() < 1e-9
    }

    fn agreeing(&self) -> u64 {
        self.cause.agreeing.unwrap_or(0)
    }
}

type Family = fn(&Rows<'_>) -> Result<Vec<Guess>>;

const FAMILIES: [Family; 8] = [
    views::guesses,
    phases::guesses,
    tables::guesses,
    colors::guesses,
    values::guesses,
    counts::guesses,
    sums::guesses,
    presence::guesses,
];
/// Families of changes that are free in each row, and may be beside another one.
const FREE: [Family; 2] = [colors::guesses, counts::guesses];

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
    let differing = rows.differing().count();
    if differing < MIN_DIFFERING {
        return Ok(None);
    }
    let tried = tried(&rows, &FAMILIES)?;
    let mut out = Explanation { differing: differing as u64, ..Explanation::default() };
    let single = conclude(&tried);
    // Another mistake may hide where it cannot be decided.
    if single.first().is_none_or(|one| one.undecided > 0)
        && let Some(pair) = two(&rows, &tried)?
        && (single.is_empty() || pair.undecided == 0)
    {
        return Ok(Some(pair));
    }
    let found = if single.is_empty() { half(&tried, out.differing) } else { single };
    if let Some(first) = found.first() {
        (out.explained, out.undecided) = (first.cause.agreeing, first.undecided);
        out.causes = found.iter().map(|one| one.cause.clone()).collect();
        return Ok(Some(out));
    }
    // What counts chosen row by row explain in part says nothing.
    let mut partial: Vec<&Judged> =
        tried.iter().filter(|one| one.rank <= Rank::TwoNumbers && one.cause.reduction >= WORTH).collect();
    partial.sort_by(|a, b| b.cause.reduction.total_cmp(&a.cause.reduction).then(a.rank.cmp(&b.rank)));
    out.partial = partial.iter().take(LISTED).map(|one| one.cause.clone()).collect();
    out.presence = Presence::new(&rows);
    Ok(Some(out))
}

fn tried(rows: &Rows<'_>, families: &[Family]) -> Result<Vec<Judged>> {
    let mut judged = Vec::new();
    for family in families {
        judged.extend(family(rows)?.into_iter().map(|guess| judge(rows, guess)));
    }
    Ok(judged)
}

/// Compares the scores after a change with those that the engine printed.
fn judge(rows: &Rows<'_>, guess: Guess) -> Judged {
    let Guess { text, rank, fix, more, scores, chance } = guess;
    let (mut all, mut agreeing, mut differing, mut explained, mut broken) = (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut undecided = 0;
    let (mut before, mut after) = (0.0, 0.0);
    for (row, &(score, may_differ)) in rows.rows.iter().zip(&scores) {
        let agrees = rows.agrees(score, row.printed);
        let differed = !rows.agrees(row.score, row.printed);
        if may_differ && !agrees {
            undecided += u64::from(differed);
            continue;
        }
        all += 1;
        agreeing += u64::from(agrees);
        differing += u64::from(differed);
        explained += u64::from(differed && agrees);
        broken += u64::from(!differed && !agrees);
        before += row.difference().abs();
        after += (row.printed - score).abs();
    }
    let evidence = if chance > 0.0 { -chance.ln() * differing as f64 } else { f64::INFINITY };
    let accepted = 2 * all >= rows.rows.len() as u64
        && explained as f64 >= HALF * (differing + undecided) as f64
        && agreeing as f64 >= AGREE * all as f64
        && (all - agreeing) as f64 <= (1.0 - AGREE) * differing as f64
        && chance <= MAX_CHANCE
        && evidence >= MIN_EVIDENCE;
    let agreeing = (rank != Rank::Rows).then_some(explained);
    let reduction = if before > 0.0 { 1.0 - after / before } else { 0.0 };
    let cause = Cause { text, reduction, agreeing };
    Judged { cause, rank, fix, more, chance, undecided, broken, accepted }
}

/// Returns the cause: the most specific change that explains everything, with those that explain the same. Empty if
/// there is none, or if too many explain the same.
fn conclude(judged: &[Judged]) -> Vec<&Judged> {
    let best = judged.iter().filter(|one| one.accepted);
    let best = best.min_by(|a, b| a.rank.cmp(&b.rank).then(a.chance.total_cmp(&b.chance)));
    let Some(best) = best else { return Vec::new() };
    // Chances are estimated from a sample.
    let alike = |one: &&Judged| one.accepted && one.rank == best.rank && one.chance <= best.chance + 0.02;
    let mut causes: Vec<&Judged> = judged.iter().filter(alike).collect();
    causes.dedup_by(|a, b| a.cause.text == b.cause.text);
    // Changes that are free in each row explain the same by chance.
    if best.rank <= Rank::TwoNumbers {
        causes.truncate(ALIKE);
    }
    if causes.len() > ALIKE { Vec::new() } else { causes }
}

/// Returns the changes that are the same in all rows, the most specific first; of those that give the same scores, one.
fn same_in_all(judged: &[Judged]) -> Vec<&Judged> {
    let mut out: Vec<&Judged> = judged.iter().filter(|one| one.fix.is_some()).collect();
    out.sort_by_key(|one| one.rank);
    let mut kept: Vec<&Judged> = Vec::new();
    for one in out {
        if !kept.iter().any(|other| other.is_like(one)) {
            kept.push(one);
        }
    }
    kept
}

/// Returns the change with which that of `one` is exchangeable, and itself.
fn alike<'j>(judged: &'j [Judged], one: &Judged) -> Vec<&'j Judged> {
    let mut out: Vec<&Judged> = judged
        .iter()
        .filter(|other| {
            other.rank == one.rank && other.fix.is_some() == one.fix.is_some() && other.is_like(one)
        })
        .filter(|other| one.fix.is_some() || other.cause.text == one.cause.text)
        .collect();
    out.dedup_by(|a, b| a.cause.text == b.cause.text);
    out.truncate(ALIKE);
    out
}

/// Looks for two changes that explain everything together: tries all again after each of those that explain most.
fn two(rows: &Rows<'_>, tried_first: &[Judged]) -> Result<Option<Explanation>> {
    let differing = rows.differing().count() as u64;
    let agreeing = rows.rows.len() as u64 - differing;
    let mut changes = same_in_all(tried_first);
    changes.retain(|one| {
        one.agreeing() as f64 >= TRIED * differing as f64 && 20 * one.broken <= agreeing
            || one.cause.reduction >= WORTH
    });
    changes.sort_by_key(|one| std::cmp::Reverse(one.agreeing()));
    let mut first: Vec<&Judged> = changes.iter().copied().take(BEAM).collect();
    changes.sort_by(|a, b| b.cause.reduction.total_cmp(&a.cause.reduction));
    for one in changes.into_iter().take(BEAM) {
        if !first.iter().any(|other| std::ptr::eq(*other, one)) {
            first.push(one);
        }
    }
    first.extend(tried_first.iter().filter(|one| one.more.is_some()).take(2 * BEAM));
    let mut best: Option<Pair> = None;
    for one in first {
        keep_better(&mut best, pair(rows, tried_first, one)?);
    }
    // Numbers are fitted better after the change that has none.
    if let Some(second) = best.as_ref().map(|pair| pair.second.clone()).filter(|second| second.fix.is_some())
    {
        keep_better(&mut best, pair(rows, tried_first, &second)?);
    }
    Ok(best.map(|pair| pair.found))
}

/// Two changes that explain everything together; the smallest key is that of the most specific ones.
struct Pair {
    key: (bool, [Rank; 3], f64),
    second: Judged,
    found: Explanation,
}

fn keep_better(best: &mut Option<Pair>, pair: Option<Pair>) {
    if let Some(pair) = pair.filter(|pair| best.as_ref().is_none_or(|best| pair.key < best.key)) {
        *best = Some(pair);
    }
}

/// Looks for a second change after one.
fn pair(rows: &Rows<'_>, tried_first: &[Judged], one: &Judged) -> Result<Option<Pair>> {
    let differing = rows.differing().count() as u64;
    let (next, families) = match (&one.fix, &one.more) {
        (Some(fix), _) => {
            let mut next = rows.after(fix)?;
            next.rows.iter_mut().for_each(|row| row.hidden_cp = 0.0);
            (next, &FAMILIES[..])
        }
        (None, more) => (Rows { more: more.clone(), ..rows.clone() }, &FREE[..]),
    };
    let left = next.differing().count();
    if left < MIN_DIFFERING {
        return Ok(None);
    }
    let judged = tried(&next, families)?;
    let second = conclude(&judged);
    let Some(other) = second.first().filter(|other| other.cause.text != one.cause.text) else {
        return Ok(None);
    };
    let ranks = [one.rank.max(other.rank), one.rank.min(other.rank), one.rank];
    let unexplained = |agreeing: u64| (left as u64).saturating_sub(agreeing);
    let causes = |all: &[&Judged]| all.iter().map(|one| one.cause.clone()).collect();
    let mut firsts = alike(tried_first, one);
    if firsts.is_empty() {
        firsts.push(one);
    }
    let found = Explanation {
        causes: causes(&firsts),
        explained: other.cause.agreeing.map(|count| differing.saturating_sub(unexplained(count))),
        second: causes(&second),
        undecided: other.undecided,
        differing,
        ..Explanation::default()
    };
    Ok(Some(Pair { key: (other.undecided > 0, ranks, other.chance), second: (*other).clone(), found }))
}

/// Returns the change that explains most positions exactly, if that is at least half of them and it contradicts none,
/// with those that explain the same.
fn half(judged: &[Judged], differing: u64) -> Vec<&Judged> {
    let mut changes = same_in_all(judged);
    changes.retain(|one| one.agreeing() as f64 >= HALF * differing as f64 && 100 * one.broken <= differing);
    changes.sort_by_key(|one| std::cmp::Reverse(one.agreeing()));
    changes.first().map_or(Vec::new(), |one| alike(judged, one))
}
