//! Tables in another order, at another index, in place of each other, or with their two values exchanged, and squares that
//! are mirrored for one color only.

use gputexel_ingest::trace::{Reference, ReferenceRow};
use gputexel_io::Result;
use gputexel_model::Arrangement;

use super::super::order::{SuspectedOrder, board};
use super::blocks::{Block, blocks};
use super::phases::grows_with_pieces;
use super::rows::{Row, Rows};
use super::{FIRST, Guess, Rank};

/// Orders that a trace may have a table in.
const ORDERS: [SuspectedOrder; 5] = [
    SuspectedOrder::RanksMirrored,
    SuspectedOrder::FilesMirrored,
    SuspectedOrder::Reversed,
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
];
/// Numbers of entries by which a table may be shifted; boards by a rank, too.
const SHIFTS: [isize; 2] = [1, -1];
const RANKS: [isize; 2] = [8, -8];
/// Largest number of entries on each side that may have left a table which is shifted.
const MOST_OUTSIDE: i32 = 2;
/// Largest number of tables that are exchanged with each other.
const EXCHANGED: usize = 100;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let blocks = blocks(rows.set);
    let mut out = Vec::new();
    for order in ORDERS {
        out.extend(ordered(rows, order, &blocks)?);
    }
    for block in &blocks {
        let shifts = if board(&block.part).is_some() { [SHIFTS, RANKS].concat() } else { SHIFTS.to_vec() };
        for by in shifts {
            out.extend(shifted(rows, block, by)?);
        }
        out.extend(reversed(rows, block)?);
    }
    let first = &blocks[..blocks.len().min(EXCHANGED)];
    for (at, one) in first.iter().enumerate() {
        for other in &first[at + 1..] {
            out.extend(exchanged(rows, one, other)?);
        }
    }
    out.extend(one_color(rows, &blocks));
    Ok(out)
}

/// Rearranges each table by itself, and all of them.
fn ordered(rows: &Rows<'_>, order: SuspectedOrder, blocks: &[Block]) -> Result<Vec<Guess>> {
    let parts = rows.set.structure().parts;
    let mut all = rows.theta.to_vec();
    let mut tables = 0;
    for part in &parts {
        let Some(theta) = order.apply(part, rows.theta, rows.theta, None) else { continue };
        tables += usize::from(part.features.len() > 1);
        for (id, _) in &part.features {
            for at in [*id as usize, *id as usize + rows.set.features.len()] {
                all[at] = theta[at];
            }
        }
    }
    let mut out = Vec::new();
    for block in blocks {
        let theta = order.apply(&block.part, rows.theta, rows.theta, None);
        if let Some(theta) = theta.filter(|theta| *theta != all || parts.len() > 1) {
            let text = format!("{} {} in the trace, or in its priors", block.name, order.words());
            out.push(Guess::new(Rank::Exact, rows.scores_with(theta)?, text));
        }
    }
    let text = match order {
        // The opposite sign of everything is another mistake.
        SuspectedOrder::Negated => return Ok(out),
        SuspectedOrder::PhasesSwapped => match grows_with_pieces(rows) {
            Some(false) => return Ok(out),
            _ => "middlegame and endgame are exchanged throughout, in the trace or in the priors".to_string(),
        },
        _ if tables < 2 && parts.len() > 1 => return Ok(out),
        _ => format!("every board {} in the trace, or in the priors", order.words()),
    };
    if all != rows.theta {
        out.push(Guess::new(Rank::Exact, rows.scores_with(all)?, text));
    }
    Ok(out)
}

/// Returns θ with the values of some features at the places of others: `(place, from)`.
fn moved(rows: &Rows<'_>, places: impl Iterator<Item = (u16, u16)>) -> Vec<f64> {
    let mut theta = rows.theta.to_vec();
    for (place, from) in places {
        for phase in [0, rows.set.features.len()] {
            theta[usize::from(place) + phase] = rows.theta[usize::from(from) + phase];
        }
    }
    theta
}

/// Shifts the entries of a table: what stands at an entry is the engine's `by` entries before. What leaves the table is
/// counted with its neighbors in the trace, so that a row with them may have some of it.
fn shifted(rows: &Rows<'_>, block: &Block, by: isize) -> Result<Option<Guess>> {
    let ids: Vec<u16> = block.ids().collect();
    let (count, reach) = (ids.len(), by.unsigned_abs());
    if count <= reach {
        return Ok(None);
    }
    let from = |place: usize| ids[(place + count).wrapping_add_signed(-by) % count];
    let theta = moved(rows, ids.iter().enumerate().map(|(place, &id)| (id, from(place))));
    if theta == rows.theta {
        return Ok(None);
    }
    // Places of the values that leave the table, and the neighbors that they are counted with.
    let outside: Vec<(u16, u16)> = (0..reach)
        .filter_map(|at| match by > 0 {
            true => Some((ids[at], ids[count - 1].checked_add(at as u16 + 1)?)),
            false => Some((ids[count - reach + at], ids[0].checked_sub((reach - at) as u16)?)),
        })
        .filter(|&(_, neighbor)| usize::from(neighbor) < rows.set.features.len())
        .collect();
    let reference = Reference::try_new(rows.set, theta, rows.tolerance_cp)?;
    let nearest = |row: &Row, target: f64| {
        let mut best = reference.score_of_row(&row.row, &[]).0;
        for &(place, neighbor) in &outside {
            // A count of 0 may hide one of each color, but with many neighbors, any score could be reached.
            if outside.len() > 1 && row.coefficient(neighbor) == 0.0 {
                continue;
            }
            for number in -MOST_OUTSIDE..=MOST_OUTSIDE {
                let number = f64::from(number);
                let score = reference.score_of_row(&row.row, &[(place, number), (neighbor, -number)]).0;
                if (score - target).abs() < (best - target).abs() {
                    best = score;
                }
            }
        }
        best
    };
    let name = |place: usize| &rows.set.features[usize::from(ids[place])].name;
    let (stands, means) = if by > 0 { (reach, 0) } else { (0, reach) };
    let text = format!(
        "{} is shifted by {} in the trace: what is counted at '{}' is the engine's '{}'",
        block.name,
        if reach == 1 { "one index".to_string() } else { format!("{reach} indices") },
        name(stands),
        name(means)
    );
    Ok(Guess::by_row(rows, FIRST, (Rank::Exact, text), nearest))
}

/// Reverses the entries of a table that is not a board.
fn reversed(rows: &Rows<'_>, block: &Block) -> Result<Option<Guess>> {
    if matches!(block.part.layout, Arrangement::Board(_)) {
        return Ok(None);
    }
    let theta = moved(rows, block.ids().zip(block.ids().rev()));
    let text = format!("{} has its entries in the opposite order in the trace, or in its priors", block.name);
    (theta != rows.theta).then(|| Ok(Guess::new(Rank::Exact, rows.scores_with(theta)?, text))).transpose()
}

/// Exchanges two tables of the same length.
fn exchanged(rows: &Rows<'_>, one: &Block, other: &Block) -> Result<Option<Guess>> {
    if one.ids().len() != other.ids().len() || one.ids().any(|id| other.ids().any(|of| of == id)) {
        return Ok(None);
    }
    let theta = moved(rows, one.ids().zip(other.ids()).flat_map(|(a, b)| [(a, b), (b, a)]));
    let reference = Reference::try_new(rows.set, theta, rows.tolerance_cp)?;
    let text = format!("{} and {} are exchanged, in the trace or in their priors", one.name, other.name);
    let score = |row: &Row, _: f64| reference.score_of_row(&row.row, &[]).0;
    Ok(Guess::by_row(rows, FIRST, (Rank::Exact, text), score))
}

/// Mirrors the squares of one color, in each board and in all of them.
fn one_color(rows: &Rows<'_>, blocks: &[Block]) -> Vec<Guess> {
    [56, 7].into_iter().flat_map(|by| mirrored(rows, blocks, by)).collect()
}

fn mirrored(rows: &Rows<'_>, blocks: &[Block], by: usize) -> Vec<Guess> {
    let features = rows.set.features.len();
    let mirrors: Vec<(&str, Vec<(u16, u16)>)> = blocks
        .iter()
        .filter_map(|block| {
            let squares = board(&block.part)?;
            let pairs = squares.iter().enumerate();
            let pairs = pairs.filter_map(|(at, id)| Some(((*id)? as u16, squares[at ^ by]? as u16)));
            Some((block.name.as_str(), pairs.collect()))
        })
        .collect();
    let together: Vec<(u16, u16)> = mirrors.iter().flat_map(|(_, pairs)| pairs.iter().copied()).collect();
    let mut tables: Vec<(String, Vec<(u16, u16)>)> =
        mirrors.iter().map(|(table, pairs)| (format!("the squares of {table}"), pairs.clone())).collect();
    if tables.len() > 1 {
        tables.push(("the squares of all boards".to_string(), together));
    }
    let mut out = Vec::new();
    for (name, pairs) in tables {
        let mut mirror: Vec<u16> = (0..features as u16).collect();
        pairs.iter().for_each(|&(id, other)| mirror[usize::from(id)] = other);
        for (color, sign) in [("Black", -1.0), ("White", 1.0)] {
            let scored = |row: &Row| {
                let entries = row.row.entries.iter().map(|&(id, c)| match mirror.get(usize::from(id)) {
                    Some(&other) if c * sign > 0.0 => (other, c),
                    _ => (id, c),
                });
                rows.reference
                    .score_of_row(&ReferenceRow { entries: entries.collect(), ..row.row.clone() }, &[])
            };
            let what = if by == 56 { "are mirrored" } else { "have their files in the opposite order" };
            let text = format!(
                "{name} {what} for one color only: {color}'s index should be that of the square seen from the own side \
                 (square ^ 56)"
            );
            out.push(Guess::new(Rank::Exact, rows.scores(scored), text));
        }
    }
    out
}
