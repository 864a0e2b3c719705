//! A parameter that only occurs where evaluations differ, and in all positions that do.

use gputexel_io::{Result, grouped};

use super::rows::Rows;
use super::{Guess, Rank};

/// Share of the rows that differ that must have the parameter, and of the rows with it that must differ.
const MATCH: f64 = 0.99;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let features = rows.set.features.len();
    // Rows with the parameter that differ, and all of them.
    let mut counts = vec![[0u64; 2]; features];
    let mut differing = 0;
    for row in &rows.rows {
        let differs = row.difference().abs() > rows.tolerance_cp;
        differing += u64::from(differs);
        let of = |entry: &(u16, f64)| usize::from(rows.data.feature_of(entry.0));
        let mut own: Vec<usize> = row.row.entries.iter().filter(|entry| entry.1 != 0.0).map(of).collect();
        own.sort_unstable();
        own.dedup();
        for feature in own {
            counts[feature][0] += u64::from(differs);
            counts[feature][1] += 1;
        }
    }
    let fits = |&(_, [with, all]): &(usize, &[u64; 2])| {
        *with as f64 >= MATCH * differing as f64 && *with as f64 >= MATCH * *all as f64
    };
    // A parameter that is nearly always there says nothing.
    let absent =
        |&(_, [_, all]): &(usize, &[u64; 2])| 20 * (rows.rows.len() as u64 - *all) >= rows.rows.len() as u64;
    let found = counts.iter().enumerate().filter(fits).filter(absent);
    let guess = |(feature, _): (usize, &[u64; 2])| {
        let name = &rows.set.features[feature].name;
        let text = format!(
            "evaluations differ where '{name}' occurs, and nowhere else ({} positions looked at): look at its trace and its value",
            grouped(rows.rows.len() as u64)
        );
        // Nothing is computed: the rows with the parameter are taken as explained.
        let scores = rows.rows.iter().map(|row| (row.printed, false)).collect();
        Guess::new(Rank::Rows, scores, text)
    };
    Ok(found.map(guess).collect())
}
