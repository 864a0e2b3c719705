//! Difference of the numbers of an array from values in some order.

use std::collections::HashMap;

use super::array::Array;
use super::content::{Content, Source};
use super::marker::Offset;
use super::order::Order;
use super::values::TableValues;

/// Values that the numbers of an array matched before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    Start,
    Given,
    Result,
    /// All equal and unknown, so that nothing could be compared.
    Alike,
    /// A single number, which has no order, with an unknown start.
    NotCompared,
    Trusted,
}

impl Compared {
    pub(super) fn values(self) -> &'static str {
        match self {
            Self::Start => "the values that the run started from",
            Self::Given => "the start values given",
            _ => "the tuned values",
        }
    }
}

/// Piece values, in centipawns, that the engine apparently adds to tables, by table and phase.
pub(super) type Added = HashMap<(usize, usize), Vec<f64>>;

pub(super) struct Reference {
    pub compared: Compared,
    pub values: TableValues,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Difference {
    pub numbers: usize,
    pub others: usize,
    /// Sum of all differences, in units of the source.
    pub total: f64,
    /// The largest difference: its name, the expected and the actual number.
    pub worst: Option<(String, f64, f64)>,
    pub added: Vec<((usize, usize), f64)>,
}

impl Difference {
    pub fn fits(&self) -> bool {
        self.others == 0
    }

    pub fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |difference: &Self| if difference.fits() { 0 } else { 1 };
        rank(self).cmp(&rank(other)).then(self.total.total_cmp(&other.total))
    }
}

pub(super) fn difference(content: &Content<'_>, order: &Order, array: &Array, added: &Added) -> Difference {
    let marking = content.marking();
    let free = matches!(marking.offset, Some(Offset::Material));
    let mut rows = Vec::with_capacity(array.entries.len());
    let mut shifts: HashMap<(usize, usize), (f64, f64)> = HashMap::new();
    for (index, entry) in array.entries.iter().enumerate() {
        let (piece, square, phase) = order.place(index);
        let Ok(number) = &entry.number else { continue };
        let Some(expected) = content.number(piece, square, phase, |value| number.round(value)) else {
            continue;
        };
        let sign = content.sign(piece, square);
        let shift = shifts.entry((piece, phase)).or_default();
        *shift = (shift.0 + sign * (number.value - expected), shift.1 + 1.0);
        rows.push((piece, square, phase, expected, number, sign));
    }
    let mut difference = Difference { numbers: rows.len(), ..Difference::default() };
    let mut worst = f64::NEG_INFINITY;
    for (piece, square, phase, mut expected, number, sign) in rows {
        // The value that the engine adds may have another name here: it is the start minus the table, on every square.
        if free && let Some((sum, count)) = shifts.get(&(piece, phase)) {
            expected += sign * number.round(sum / count);
        }
        if let Some(Source::Mean(table)) = content.pieces[piece] {
            let key = (table, content.phases[phase]);
            let others =
                added.get(&key).into_iter().flatten().map(|value| number.round(value * marking.scale));
            let nearer = |a: f64, b: f64| {
                if (b - number.value).abs() < (a - number.value).abs() { b } else { a }
            };
            expected = others.fold(expected, nearer);
        }
        let off = (number.value - expected).abs();
        // Truncated instead of rounded. Values in centipawns are usually whole, so that larger units cannot be
        // recovered from them.
        let coarse = if marking.scale.abs() > 1.0 { 0.5 * marking.scale.abs() } else { 0.0 };
        let unit = number.unit();
        difference.others += usize::from(off > unit * 1.000_001 + coarse);
        // As if all were integers.
        difference.total += off / unit;
        if off / unit > worst {
            worst = off / unit;
            difference.worst = Some((content.name(piece, square, phase), expected, number.value));
        }
    }
    if free {
        for (&(piece, phase), (sum, count)) in &shifts {
            if let Some(Source::Table(table)) = content.pieces[piece] {
                let key = (table, content.phases[phase]);
                let material = content.material(table, key.1);
                difference.added.push((key, material - sum / count / marking.scale));
            }
        }
    }
    difference
}
