//! Parameters and tables that occur only where evaluations differ, or wherever they do.

use gputexel_io::{Result, grouped};
use serde::Serialize;

use super::blocks::blocks;
use super::rows::{Row, Rows};
use super::{Guess, MIN_EVIDENCE, Rank};

/// Share of the rows that differ that must have the parameter, and of the rows with it that must differ.
const MATCH: f64 = 0.99;

/// Largest number of entries of a table that each color is taken to have.
const MAX_ENTRIES: f64 = 8.0;

/// Names of what occurs only where evaluations differ, and of what occurs wherever they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Presence {
    /// Tables and parameters: evaluations differ wherever they occur. Parameters of such tables are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_where_differing: Vec<String>,
    /// Tables and parameters that occur wherever evaluations differ, and not in most positions that agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wherever_differing: Vec<String>,
    /// Tables, and parameters in none, that have values, but never occur.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untraced: Vec<String>,
}

/// Numbers of rows with something.
#[derive(Clone, Copy, Default)]
struct Count {
    differing: u64,
    agreeing: u64,
}

/// Tables, then parameters, with the rows that have them.
struct Tally {
    /// Names in quotation marks, and features.
    all: Vec<(String, Vec<usize>)>,
    counts: Vec<Count>,
    rows: Count,
}

impl Tally {
    fn new(rows: &Rows<'_>) -> Self {
        let tables = blocks(&rows.set).into_iter();
        let mut all: Vec<(String, Vec<usize>)> =
            tables.map(|block| (block.name.clone(), block.ids().map(usize::from).collect())).collect();
        let features = rows.set.features.iter().enumerate();
        all.extend(features.map(|(id, feature)| (format!("'{}'", feature.name), vec![id])));
        let mut places = vec![Vec::new(); rows.set.features.len()];
        for (at, (_, ids)) in all.iter().enumerate() {
            ids.iter().for_each(|&id| places[id].push(at));
        }
        let mut out = Self { counts: vec![Count::default(); all.len()], all, rows: Count::default() };
        for row in &rows.rows {
            let differs = row.difference().abs() > rows.tolerance_cp;
            let add = |count: &mut Count| match differs {
                true => count.differing += 1,
                false => count.agreeing += 1,
            };
            add(&mut out.rows);
            let entries = row.row.entries.iter().filter(|entry| entry.1 != 0.0);
            let mut own: Vec<usize> = entries
                .flat_map(|entry| places[usize::from(rows.data.feature_of(entry.0))].iter().copied())
                .collect();
            own.sort_unstable();
            own.dedup();
            own.into_iter().for_each(|at| add(&mut out.counts[at]));
        }
        out
    }

    /// Returns the names of what is true for; parameters not if it is for their table.
    fn names(&self, is: impl Fn(&[usize], &Count) -> bool) -> Vec<String> {
        let mut named: Vec<usize> = Vec::new();
        let mut names = Vec::new();
        for ((name, ids), count) in self.all.iter().zip(&self.counts) {
            if is(ids, count) && !ids.iter().all(|id| named.contains(id)) {
                named.extend(ids);
                names.push(name.clone());
            }
        }
        names
    }
}

impl Presence {
    /// Looks for what the differing rows have in common. What could be so by chance is not listed.
    pub(super) fn new(rows: &Rows<'_>) -> Self {
        let tally = Tally::new(rows);
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let all = tally.rows.differing + tally.rows.agreeing;
        // Evidence that a share of 1 in so many rows is not by chance.
        let evidence = |rows: u64, share: f64| -share.ln() * rows as f64 >= MIN_EVIDENCE;
        let differing = share(tally.rows.differing, all);
        let only = |_: &[usize], count: &Count| count.agreeing == 0 && evidence(count.differing, differing);
        let wherever = |_: &[usize], count: &Count| {
            count.differing == tally.rows.differing
                && evidence(count.differing, share(count.agreeing, tally.rows.agreeing))
        };
        Self {
            only_where_differing: tally.names(only),
            wherever_differing: tally.names(wherever),
            untraced: tally.names(untraced(rows, &tally)),
        }
    }
}

/// Returns what is true for tables, and parameters in none, that have values, but never occur.
fn untraced<'t>(rows: &'t Rows<'_>, tally: &'t Tally) -> impl Fn(&[usize], &Count) -> bool + 't {
    let features = rows.set.features.len();
    let occurrences = rows.data.occurrences();
    move |ids, _| {
        let mut tables = tally.all.iter().filter(|(_, own)| own.len() > 1);
        // Single entries of tables are often rare.
        (ids.len() > 1 || !tables.any(|(_, own)| own.contains(&ids[0])))
            && ids.iter().all(|&id| occurrences[id] == 0)
            && ids.iter().any(|&id| rows.theta[id] != 0.0 || rows.theta[id + features] != 0.0)
    }
}

/// Names a table that is never traced. Which entries are missing in a row is unknown; that evaluations differ in many
/// positions, and not by more than its entries can add up to, is what there is to confirm it.
fn untraced_table(rows: &Rows<'_>, tally: &Tally) -> Option<Guess> {
    let is_untraced = untraced(rows, tally);
    let is_table = |ids: &[usize], count: &Count| ids.len() > 1 && is_untraced(ids, count);
    let ids = tally.all.iter().zip(&tally.counts).filter(|((_, ids), count)| is_table(ids, count));
    let ids: Vec<usize> = ids.flat_map(|((_, ids), _)| ids.iter().copied()).collect();
    let names = tally.names(is_table);
    let [name] = &names[..] else { return None };
    if tally.rows.differing < tally.rows.agreeing {
        return None;
    }
    let within = |row: &Row| {
        let worth = ids.iter().map(|&id| rows.worth(row, id as u16));
        let (low, high) = worth.fold((0.0f64, 0.0f64), |(low, high), w| (low.min(w), high.max(w)));
        let reach = MAX_ENTRIES * (high - low) + rows.tolerance_cp;
        (row.printed.clamp(row.score - reach, row.score + reach), false)
    };
    let text =
        format!("{name} has values, but occurs in no position: it seems to be evaluated, but not traced");
    Some(Guess::taken(Rank::Rows, rows.scores(within), text))
}

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let tally = Tally::new(rows);
    let differing = tally.rows.differing as f64;
    let total = rows.rows.len() as u64;
    let fits = |_: &[usize], count: &Count| {
        let (with, all) = (count.differing, count.differing + count.agreeing);
        // A parameter that is nearly always there says nothing.
        with as f64 >= MATCH * differing && with as f64 >= MATCH * all as f64 && 20 * (total - all) >= total
    };
    let guess = |name: String| {
        let text = format!(
            "evaluations differ where {name} occurs, and nowhere else ({} positions looked at): look at its trace and its value",
            grouped(total)
        );
        // Nothing is computed: the rows with the parameter are taken as explained.
        let scores = rows.rows.iter().map(|row| (row.printed, false)).collect();
        Guess::taken(Rank::Rows, scores, text)
    };
    let untraced = untraced_table(rows, &tally);
    Ok(tally.names(fits).into_iter().map(guess).chain(untraced).collect())
}
