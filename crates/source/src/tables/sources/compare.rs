//! Checks that the numbers in an array are those that its marker describes.
//!
//! A table filled in the wrong order of squares, colors or pieces looks like any other. But its current values are
//! known: those that the run started from, or, if it is filled again, those that it ended with. They are compared under
//! the marker first. If they do not match, [`alternatives`](mod@super::alternatives) tries the common mistakes.

use super::alternatives::{Alternative, best, oriented};
use super::content::Content;
use super::difference::{Added, Compared, Difference, Reference, difference};
use super::known::KnownValues;
use super::marker::Marking;
use super::values::TableValues;
use super::{Job, arrange};
use crate::tables::Remedy;
use gputexel_model::SquareOrder;

/// Reason not to fill an array, and its remedy.
pub(super) struct MarkerError {
    pub why: String,
    pub remedy: Option<Remedy>,
}

impl From<String> for MarkerError {
    fn from(why: String) -> Self {
        Self { why, remedy: None }
    }
}

/// Result of comparing an array.
pub(super) struct MarkerMatch {
    pub compared: Compared,
    pub also: Vec<&'static str>,
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

    /// Compares an array with the known values.
    pub fn check(&mut self, job: &Job<'_>) -> Result<MarkerMatch, MarkerError> {
        let Job { marking, named, array, .. } = job;
        let (_, order) = arrange(self.values, named, marking, array).map_err(|(_, why)| why)?;
        let (compared, own) = nearest(&self.references, job, &self.added)
            .ok_or_else(|| "no number could be compared".to_string())?;
        let fits = own.fits();
        // Zeros are placeholders. That they match the king's value, or values without material, means nothing.
        let zeros = job.found(self.values).iter().all(|value| *value == 0.0);
        let nearest = match (fits && own.total == 0.0) || zeros {
            true => None,
            false => best(&self.references, job, &self.added),
        };
        let nearer = nearest.filter(|other| other.difference.cmp(&own).is_lt());
        let matched = match nearer {
            Some(other) if other.difference.fits() => {
                Err((other_fits(marking, &own, compared, &other), Remedy::Trust))
            }
            _ if fits => {
                let also = self.also(job, compared, &own);
                self.added_by(&own);
                Ok(MarkerMatch { compared, also, note: None })
            }
            // A small improvement is not significant.
            nearer => {
                let nearer = nearer.filter(|other| other.difference.total < 0.75 * own.total);
                self.unknown(job, &own, compared, nearer).map_err(|why| (why, Remedy::GiveStart))
            }
        };
        let matched = match matched {
            Err((why, _)) if self.trust => {
                MarkerMatch { compared: Compared::Trusted, also: Vec::new(), note: Some(why) }
            }
            Err((why, remedy)) => return Err(MarkerError { why, remedy: Some(remedy) }),
            Ok(matched) => matched,
        };
        if order.unsaid && !self.only_by_piece(job, &matched) {
            return Err(format!(
                "neither the brackets nor the marker say how the tables of both colors follow each other; \
                 add 'by color' (all of White's, then all of Black's) or 'by piece' (by turns) to '{}'",
                marking.text()
            )
            .into());
        }
        Ok(matched)
    }

    fn added_by(&mut self, own: &Difference) {
        for (key, value) in &own.added {
            self.added.entry(*key).or_default().push(*value);
        }
    }

    /// Returns other first squares that fit the numbers equally well.
    fn also(&self, job: &Job<'_>, compared: Compared, own: &Difference) -> Vec<&'static str> {
        let Some(reference) = self.references.iter().find(|reference| reference.compared == compared) else {
            return Vec::new();
        };
        let own_content = Content::new(&reference.values, &job.named, &job.marking);
        if !own_content.has_squares() {
            return Vec::new();
        }
        let mut also = Vec::new();
        for first in SquareOrder::ORIENTATIONS {
            let marking = oriented(&job.marking, first);
            let Ok((content, order)) = arrange(&reference.values, &job.named, &marking, &job.array) else {
                continue;
            };
            if content.first_squares() == own_content.first_squares() {
                continue;
            }
            let other = difference(&content, &order, &job.array, &self.added);
            if other.fits() && other.total <= own.total {
                also.push(first);
            }
        }
        also
    }

    /// Returns the match for an array whose numbers are not known values in any order.
    fn unknown(
        &self,
        job: &Job<'_>,
        own: &Difference,
        compared: Compared,
        nearer: Option<Alternative>,
    ) -> Result<MarkerMatch, String> {
        let found = job.found(self.values);
        let first = found.first().copied().unwrap_or_default();
        let all_alike = found.iter().all(|value| *value == first);
        let known = self.references.iter().any(|reference| reference.compared != Compared::Result);
        let matched = |compared, note| Ok(MarkerMatch { compared, also: Vec::new(), note });
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
        let mut why = if known {
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
        };
        if let Some(near) = nearer {
            why += &format!(
                "; '{}' is nearer, {:.1} off on average, not {:.1}",
                near.text,
                near.difference.mean(),
                own.mean()
            );
        }
        Err(why)
    }

    /// Returns true if the numbers show that tables of both colors alternate, and no other order fits.
    fn only_by_piece(&self, job: &Job<'_>, matched: &MarkerMatch) -> bool {
        use super::marker::Grouping::Color;
        let Some(reference) = self.references.iter().find(|other| other.compared == matched.compared) else {
            return false;
        };
        let marking = Marking { by: Some(Color), ..job.marking.clone() };
        arrange(&reference.values, &job.named, &marking, &job.array)
            .is_ok_and(|(content, order)| !difference(&content, &order, &job.array, &self.added).fits())
    }
}

/// Returns the values nearest to the numbers under their marker, the first of several.
fn nearest(references: &[Reference], job: &Job<'_>, added: &Added) -> Option<(Compared, Difference)> {
    let differences = references.iter().filter_map(|Reference { compared, values }| {
        let (content, order) = arrange(values, &job.named, &job.marking, &job.array).ok()?;
        Some((*compared, difference(&content, &order, &job.array, added)))
    });
    differences.min_by(|(_, a), (_, b)| a.cmp(b))
}

/// Returns true if the numbers of an array are known values in the order of its marker.
///
/// # Errors
/// The reason not to read them as marked: they match another marker, or are far nearer to another order of this one.
pub(super) fn check_read(references: &[Reference], job: &Job<'_>) -> Result<bool, String> {
    let added = Added::new();
    // Contradictions are reported when it is read.
    let Some((compared, own)) = nearest(references, job, &added) else { return Ok(false) };
    if own.fits() && own.total == 0.0 {
        return Ok(true);
    }
    match best(references, job, &added) {
        Some(other) if other.difference.fits() && other.difference.cmp(&own).is_lt() => {
            Err(other_fits(&job.marking, &own, compared, &other))
        }
        _ if own.fits() => Ok(true),
        // Other values of the same tables resemble them in the right order only.
        Some(other) if other.difference.total < 0.75 * own.total => Err(format!(
            "the numbers are nearer to '{}' by {}, {:.1} off on average, than to '{}', {:.1} off; correct the marker",
            other.text,
            other.compared.values(),
            other.difference.mean(),
            job.marking.text(),
            own.mean()
        )),
        _ => Ok(false),
    }
}

/// Returns the message that the numbers do not match the marker but something else.
fn other_fits(marking: &Marking, own: &Difference, compared: Compared, other: &Alternative) -> String {
    let (name, expected, there) = own.worst.clone().unwrap_or_default();
    let Alternative { text, compared: by, .. } = other;
    format!(
        "the numbers are those of '{text}' by {}, not of '{}', where {} of {} differ from {} ({name}: {there}, \
         expected {expected}); correct the marker",
        by.values(),
        marking.text(),
        own.others.max(1),
        own.numbers,
        compared.values(),
    )
}
