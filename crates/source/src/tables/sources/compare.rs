//! Checks that the numbers in an array are those that its marker describes: a table filled in the wrong order
//! looks like any other.

use super::content::Content;
use super::difference::{Added, Compared, Difference, Reference, difference};
use super::known::KnownValues;
use super::marker::Marking;
use super::values::{Named, TableValues};
use super::{Job, arrange};
use gputexel_model::SquareOrder;

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
            let note = match (found.len(), order) {
                (1, _) => "was 0, which tells nothing of what it is".to_string(),
                (count, Some(order)) => format!(
                    "all {count} numbers were {first}: whether {order} is right cannot be determined from them"
                ),
                (count, None) => {
                    format!("all {count} numbers were {first}: their order cannot be determined from them")
                }
            };
            return matched(Compared::Alike, Some(note));
        }
        if found.len() == 1 && !known {
            return matched(Compared::NotCompared, None);
        }
        let (name, expected, there) = own.worst.clone().unwrap_or_default();
        Err(if known {
            format!(
                "the numbers are neither what the run started from nor its result, whatever the order of squares, \
                 colors and phases: as marked, {} of {} differ from {} ({name}: {there}, expected {expected})",
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
