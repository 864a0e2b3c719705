//! Tables in another order, at another index, in place of each other, or with their two values exchanged, and squares that
//! are mirrored for one color only.

use gputexel_ingest::trace::Reference;
use gputexel_io::Result;
use gputexel_model::Arrangement;

use super::super::order::{SuspectedOrder, board};
use super::blocks::{Block, blocks};
use super::phases::grows_with_pieces;
use super::rows::{Fix, Row, Rows};
use super::{FIRST, Guess, Rank};

/// Orders that a trace may have a table in.
const ORDERS: [SuspectedOrder; 7] = [
    SuspectedOrder::RanksMirrored,
    SuspectedOrder::FilesMirrored,
    SuspectedOrder::Reversed,
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
    SuspectedOrder::MgInBoth,
    SuspectedOrder::EgInBoth,
];
/// Numbers of entries by which a table may be shifted; boards by a rank, too.
const SHIFTS: [isize; 2] = [1, -1];
const RANKS: [isize; 2] = [8, -8];
/// Largest number of entries on each side that may have left a table which is shifted.
const MOST_OUTSIDE: i32 = 2;
/// Largest number of entries of both colors in a row that may cancel out because one color's are elsewhere.
const MOST_HIDDEN: f64 = 4.0;
/// Largest number of tables that are exchanged with each other.
const EXCHANGED: usize = 100;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let blocks = blocks(&rows.set);
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
    out.extend(one_color(rows, &blocks)?);
    Ok(out)
}

/// Rearranges each table by itself, and all of them.
fn ordered(rows: &Rows<'_>, order: SuspectedOrder, blocks: &[Block]) -> Result<Vec<Guess>> {
    let parts = rows.set.structure().parts;
    let mut all = rows.theta.clone();
    let mut tables = 0;
    for part in &parts {
        let Some(theta) = order.apply(part, &rows.theta, &rows.theta, None) else { continue };
        tables += usize::from(part.features.len() > 1);
        for (id, _) in &part.features {
            for at in [*id as usize, *id as usize + rows.set.features.len()] {
                all[at] = theta[at];
            }
        }
    }
    let mut out = Vec::new();
    for block in blocks {
        let theta = order.apply(&block.part, &rows.theta, &rows.theta, None);
        if let Some(theta) = theta.filter(|theta| *theta != all || parts.len() > 1) {
            out.push(Guess::new(rows, Rank::Exact, Fix::Values(theta), ordered_text(&block.name, order))?);
        }
    }
    let text = match order {
        // The opposite sign of everything is another mistake.
        SuspectedOrder::Negated => return Ok(out),
        SuspectedOrder::PhasesSwapped => match grows_with_pieces(rows) {
            Some(false) => return Ok(out),
            _ => "middlegame and endgame are exchanged throughout, in the trace or in the priors".to_string(),
        },
        SuspectedOrder::MgInBoth | SuspectedOrder::EgInBoth => ordered_text("everything", order),
        _ if tables < 2 && parts.len() > 1 => return Ok(out),
        _ => format!("every board {} in the trace, or in the priors", order.words()),
    };
    if all != rows.theta {
        out.push(Guess::new(rows, Rank::Exact, Fix::Values(all), text)?);
    }
    Ok(out)
}

/// Describes a table, or a parameter, whose values the engine has in another order.
pub(super) fn ordered_text(name: &str, order: SuspectedOrder) -> String {
    match order {
        SuspectedOrder::MgInBoth | SuspectedOrder::EgInBoth => {
            let phase = if order == SuspectedOrder::MgInBoth { "middlegame" } else { "endgame" };
            format!(
                "the engine counts {name} with the {phase} value in both phases: correct it, or the priors"
            )
        }
        _ => format!("{name} {} in the trace, or in its prior", order.words()),
    }
}

/// Returns θ with the values of some features at the places of others: `(place, from)`.
fn moved(rows: &Rows<'_>, places: impl Iterator<Item = (u16, u16)>) -> Vec<f64> {
    let mut theta = rows.theta.clone();
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
    let reference = Reference::try_new(&rows.set, theta.clone(), rows.tolerance_cp)?;
    let scored = |row: &Row, more: &[(u16, f64)]| row.factor * reference.score_of_row(&row.row, more).0;
    let nearest = |row: &Row, target: f64| {
        let mut best = scored(row, &[]);
        for &(place, neighbor) in &outside {
            // A count of 0 may hide one of each color, but with many neighbors, any score could be reached.
            if outside.len() > 1 && row.coefficient(neighbor) == 0.0 {
                continue;
            }
            for number in -MOST_OUTSIDE..=MOST_OUTSIDE {
                let number = f64::from(number);
                let score = scored(row, &[(place, number), (neighbor, -number)]);
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
    match Guess::by_row(rows, FIRST, (Rank::Exact, text.clone()), None, nearest) {
        Some(guess) => Ok(Some(Guess { fix: Some(Fix::Values(theta)), ..guess })),
        None => Guess::promising(rows, Rank::Exact, Fix::Values(theta), text),
    }
}

/// Reverses the entries of a table that is not a board.
fn reversed(rows: &Rows<'_>, block: &Block) -> Result<Option<Guess>> {
    if matches!(block.part.layout, Arrangement::Board(_)) {
        return Ok(None);
    }
    let theta = moved(rows, block.ids().zip(block.ids().rev()));
    let text = format!("{} has its entries in the opposite order in the trace, or in its priors", block.name);
    if theta == rows.theta { Ok(None) } else { Guess::promising(rows, Rank::Exact, Fix::Values(theta), text) }
}

/// Exchanges two tables of the same length.
fn exchanged(rows: &Rows<'_>, one: &Block, other: &Block) -> Result<Option<Guess>> {
    if one.ids().len() != other.ids().len() || one.ids().any(|id| other.ids().any(|of| of == id)) {
        return Ok(None);
    }
    let theta = moved(rows, one.ids().zip(other.ids()).flat_map(|(a, b)| [(a, b), (b, a)]));
    let text = format!("{} and {} are exchanged, in the trace or in their priors", one.name, other.name);
    Guess::promising(rows, Rank::Exact, Fix::Values(theta), text)
}

/// Entries of one color that the trace has elsewhere in a table, or in several.
struct Moved {
    /// Entries in the trace, and what they are in the engine.
    pairs: Vec<(u16, u16)>,
    /// An entry of the engine that has no place in the table, and the neighbor that it is counted with, if there is one.
    outside: Vec<u16>,
    /// Words about them, before and after the color.
    text: [String; 2],
}

/// Returns what one color's entries may be instead: those of mirrored squares, or of the next index.
fn moves(rows: &Rows<'_>, blocks: &[Block]) -> Vec<Moved> {
    let mut out = Vec::new();
    for (by, what) in [(56, "are mirrored"), (7, "have their files in the opposite order")] {
        let mut all = Vec::new();
        let mut boards = 0;
        let moved = |name: String, pairs: Vec<(u16, u16)>| Moved {
            pairs,
            outside: Vec::new(),
            text: [
                format!("the squares of {name} {what} for one color only: "),
                "'s index should be that of the square seen from the own side (square ^ 56)".to_string(),
            ],
        };
        for block in blocks {
            let Some(squares) = board(&block.part) else { continue };
            let pairs = squares.iter().enumerate();
            let pairs = pairs.filter_map(|(at, id)| Some(((*id)? as u16, squares[at ^ by]? as u16)));
            let pairs: Vec<(u16, u16)> = pairs.collect();
            all.extend(pairs.iter().copied());
            boards += 1;
            out.push(moved(block.name.clone(), pairs));
        }
        if boards > 1 {
            out.push(moved("all boards".to_string(), all));
        }
    }
    for block in blocks {
        let ids: Vec<u16> = block.ids().collect();
        for by in SHIFTS {
            let pairs = ids.windows(2).map(|two| if by > 0 { (two[1], two[0]) } else { (two[0], two[1]) });
            let pairs: Vec<(u16, u16)> = pairs.collect();
            let (last, neighbor) = match by > 0 {
                true => (ids[ids.len() - 1], ids[ids.len() - 1].checked_add(1)),
                false => (ids[0], ids[0].checked_sub(1)),
            };
            let is_known = |id: &u16| usize::from(*id) < rows.set.features.len();
            let [traced, meant] = [pairs[0].0, pairs[0].1].map(|id| &rows.set.features[usize::from(id)].name);
            out.push(Moved {
                pairs,
                outside: [Some(last), neighbor.filter(is_known)].into_iter().flatten().collect(),
                text: [
                    format!("{} is shifted by one index in the trace for ", block.name),
                    format!(" only: what is counted at '{traced}' is the engine's '{meant}'"),
                ],
            });
        }
    }
    out
}

/// Moves the entries of one color. Where both colors have an entry at the same index, they cancel out, so that only a bound
/// of the difference is known.
fn one_color(rows: &Rows<'_>, blocks: &[Block]) -> Result<Vec<Guess>> {
    let mut out = Vec::new();
    for Moved { pairs, outside, text: [before, after] } in moves(rows, blocks) {
        let mut place: Vec<u16> = (0..rows.set.features.len() as u16).collect();
        pairs.iter().for_each(|&(id, other)| place[usize::from(id)] = other);
        for (color, sign) in [("Black", -1.0), ("White", 1.0)] {
            let (place, pairs, outside) = (place.clone(), pairs.clone(), outside.clone());
            let fix = Fix::row(move |rows, row| {
                for entry in row.row.entries.iter_mut().filter(|entry| entry.1 * sign > 0.0) {
                    entry.0 = place.get(usize::from(entry.0)).copied().unwrap_or(entry.0);
                }
                let change = |&(id, other): &(u16, u16)| (rows.worth(row, id) - rows.worth(row, other)).abs();
                let outside: f64 = outside.iter().map(|&id| rows.worth(row, id).abs()).sum();
                row.hidden_cp = outside + MOST_HIDDEN * pairs.iter().map(change).fold(0.0, f64::max);
            });
            out.extend(Guess::promising(rows, Rank::Exact, fix, format!("{before}{color}{after}"))?);
        }
    }
    Ok(out)
}
