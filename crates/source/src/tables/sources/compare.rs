//! Checks that the numbers in an array are those that its marker describes: a table filled in the wrong order
//! looks like any other.

use std::collections::HashMap;

use super::array::Array;
use super::content::{Content, Source};
use super::marker::{Marking, Offset};
use super::order::Order as Places;
use super::values::{KnownValues, Named, TableValues};
use super::{Job, arrange};
use gputexel_model::{Colors, SquareOrder};

pub(super) struct MarkerMatch {
    pub compared: Compared,
    pub note: Option<String>,
}

/// Compares arrays one by one, those with `offset material` first.
pub(super) struct MarkerChecker<'a> {
    values: &'a TableValues,
    references: Vec<Reference>,
    added: Added,
    trust: bool,
}

impl<'a> MarkerChecker<'a> {
    pub fn new(values: &'a TableValues, known: &KnownValues, trust: bool) -> Self {
        let reference = |compared, values: &Option<TableValues>| {
            values.clone().map(|values| Reference { compared, values })
        };
        let references = [
            reference(Compared::Start, &known.start),
            reference(Compared::Given, &known.given),
            Some(Reference { compared: Compared::Result, values: values.clone() }),
        ];
        Self { values, references: references.into_iter().flatten().collect(), added: Added::new(), trust }
    }

    pub fn check(&mut self, job: &Job<'_>) -> Result<MarkerMatch, String> {
        let own = Order { marking: job.marking.clone(), named: job.named.clone(), remark: "" };
        let (compared, difference) = self
            .nearest(job, std::slice::from_ref(&own))
            .map(|(_, compared, difference)| (compared, difference))
            .ok_or("no number could be compared")?;
        // Zeros are placeholders. That they match the king's value, or values without material, means nothing.
        let zeros = job.found(self.values).iter().all(|value| *value == 0.0);
        let orders = match zeros || (difference.fits() && difference.total == 0.0) {
            true => Vec::new(),
            false => orders(job),
        };
        let other =
            self.nearest(job, &orders).filter(|(.., other)| other.fits() && other.cmp(&difference).is_lt());
        let matched = match other {
            Some((order, by, _)) => Err((
                other_fits(&job.marking, &difference, order, by),
                ", or use --trust-marker to fill it as marked",
            )),
            None if difference.fits() => {
                for (key, value) in &difference.added {
                    self.added.entry(*key).or_default().push(*value);
                }
                Ok(MarkerMatch { compared, note: None })
            }
            None => self.unknown(job, &difference, compared).map_err(|why| {
                (why, "; give --start with a parameter file of what the source holds, or use --trust-marker")
            }),
        };
        match matched {
            Err((why, _)) if self.trust => Ok(MarkerMatch { compared: Compared::Trusted, note: Some(why) }),
            Err((why, remedy)) => Err(why + remedy),
            Ok(matched) => Ok(matched),
        }
    }

    fn nearest<'o>(&self, job: &Job<'_>, orders: &'o [Order]) -> Option<(&'o Order, Compared, Difference)> {
        let all = orders.iter().flat_map(|order| self.references.iter().map(move |of| (order, of)));
        let differences = all.filter_map(|(order, Reference { compared, values })| {
            let (content, places) = arrange(values, &order.named, &order.marking, &job.array).ok()?;
            Some((order, *compared, difference(&content, &places, &job.array, &self.added)))
        });
        differences.min_by(|(.., a), (.., b)| a.cmp(b))
    }

    fn unknown(&self, job: &Job<'_>, own: &Difference, compared: Compared) -> Result<MarkerMatch, String> {
        let found = job.found(self.values);
        let first = found.first().copied().unwrap_or_default();
        let all_alike = found.iter().all(|value| *value == first);
        let known = self.references.iter().any(|reference| reference.compared != Compared::Result);
        let matched = |compared, note| Ok(MarkerMatch { compared, note });
        if all_alike && (found.len() > 1 || first == 0.0) {
            let order = Content::new(self.values, &job.named, &job.marking).order_name();
            let order =
                order.map_or_else(|| "their order".to_string(), |order| format!("whether {order} is right"));
            let count = found.len();
            let note = format!("all {count} numbers were {first}: {order} cannot be determined from them");
            return matched(Compared::Alike, Some(note));
        }
        if found.len() == 1 && !known {
            return matched(Compared::NotCompared, None);
        }
        let (name, expected, there) = own.worst.clone().unwrap_or_default();
        Err(if known {
            format!(
                "the numbers are neither what the run started from nor its result: as marked, {} of {} differ from {} \
                 ({name}: {there}, expected {expected})",
                own.others,
                own.numbers,
                compared.values(),
            )
        } else {
            format!(
                "nothing confirms that the marker is right: there is no run.json of its run beside the parameter \
                 file, and {} of {} numbers are not the tuned values ({name}: {there}, tuned {expected})",
                own.others, own.numbers,
            )
        })
    }
}

#[derive(Clone)]
struct Order {
    marking: Marking,
    named: Named,
    /// Remark after the marker, for an order that no marker can express.
    remark: &'static str,
}

/// The common mistakes in markers, those with fewer changes first.
fn orders(job: &Job<'_>) -> Vec<Order> {
    let Job { marking, named, .. } = job;
    let own = Order { marking: marking.clone(), named: named.clone(), remark: "" };
    let oriented = SquareOrder::ORIENTATIONS.iter().map(|first| {
        let mut order = own.clone();
        order.marking.orient(first);
        order
    });
    let mut all: Vec<Order> = oriented.collect();
    // Values of pieces are so near each other that two in the wrong order may pass for rounded ones.
    let pairs = (0..marking.pieces.as_ref().map_or(0, Vec::len)).flat_map(|j| (0..j).map(move |i| (i, j)));
    all.extend(pairs.map(|(i, j)| {
        let mut order = own.clone();
        order.marking.pieces.iter_mut().for_each(|pieces| pieces.swap(i, j));
        order
    }));
    let mut other = own.clone();
    other.marking.reversed ^= marking.order.colors != Colors::One;
    all.push(other);
    if named.phases.len() == 2 {
        let mut reversed = all.clone();
        reversed.push(own);
        for order in &mut reversed {
            order.named.phases = vec![1, 0];
            order.remark = " with the endgame's numbers before the middlegame's, which no marker can say";
        }
        all.extend(reversed);
    }
    all
}

fn other_fits(marking: &Marking, own: &Difference, other: &Order, by: Compared) -> String {
    let (name, expected, there) = own.worst.clone().unwrap_or_default();
    format!(
        "the numbers are those of '{}{}' by {}, not of '{}', where {} of {} differ from the known values ({name}: \
         {there}, expected {expected}); correct the marker",
        other.marking.text(),
        other.remark,
        by.values(),
        marking.text(),
        own.others.max(1),
        own.numbers,
    )
}

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
    fn values(self) -> &'static str {
        match self {
            Self::Start => "the values that the run started from",
            Self::Given => "the start values given",
            _ => "the tuned values",
        }
    }
}

/// Piece values, in centipawns, that the engine apparently adds to tables, by table and phase.
type Added = HashMap<(usize, usize), Vec<f64>>;

struct Reference {
    compared: Compared,
    values: TableValues,
}

#[derive(Clone, Debug, Default)]
struct Difference {
    numbers: usize,
    others: usize,
    /// Sum of all differences, in units of the source.
    total: f64,
    /// The largest difference: its name, the expected and the actual number.
    worst: Option<(String, f64, f64)>,
    added: Vec<((usize, usize), f64)>,
}

impl Difference {
    fn fits(&self) -> bool {
        self.others == 0
    }

    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |difference: &Self| if difference.fits() { 0 } else { 1 };
        rank(self).cmp(&rank(other)).then(self.total.total_cmp(&other.total))
    }
}

fn difference(content: &Content<'_>, order: &Places, array: &Array, added: &Added) -> Difference {
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
