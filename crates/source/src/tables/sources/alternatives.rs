//! Other orders, phases and offsets that the numbers of an array may have: the common mistakes in markers.

use super::Job;
use super::arrange;
use super::content::Content;
use super::difference::{Added, Compared, Difference, Reference, difference};
use super::marker::{Grouping, Marking, Offset};
use super::values::{Named, PHASES, phases};
use gputexel_model::{Colors, SquareOrder};

/// Another marker, and the difference of the numbers from it.
pub(super) struct Alternative {
    /// The text of the marker.
    pub text: String,
    pub compared: Compared,
    pub difference: Difference,
}

/// A marker that could replace the given one.
#[derive(Clone)]
struct Candidate {
    marking: Marking,
    named: Named,
    /// Remark after the marker, for an order that no marker can express.
    remark: &'static str,
}

/// Returns the marker with a first square.
pub(super) fn oriented(marking: &Marking, first: &str) -> Marking {
    let mut marking = marking.clone();
    let SquareOrder { files, colors, .. } = marking.order;
    let order = first.parse().unwrap_or_default();
    marking.order = SquareOrder { files, colors, ..order };
    marking.oriented = true;
    marking
}

/// Returns the marker nearest to the numbers: one with another order of squares, colors or phases, or, if it fits, one
/// of the other phase or with another offset. Those with fewer changes come first.
pub(super) fn best(references: &[Reference], job: &Job<'_>, added: &Added) -> Option<Alternative> {
    let nearest = |candidates: &[Candidate]| {
        let all = candidates.iter().flat_map(|candidate| references.iter().map(move |of| (candidate, of)));
        let compared = all.filter_map(|(candidate, Reference { compared, values })| {
            let Candidate { marking, named, remark } = candidate;
            let (content, order) = arrange(values, named, marking, &job.array).ok()?;
            let difference = difference(&content, &order, &job.array, added);
            Some(Alternative { text: marking.text() + remark, compared: *compared, difference })
        });
        compared.min_by(|a, b| a.difference.cmp(&b.difference))
    };
    let orders = orders(job);
    let best = nearest(&orders);
    // A few numbers easily match something else.
    if best.as_ref().is_some_and(|best| best.difference.fits()) || job.array.entries.len() < 4 {
        return best;
    }
    // An offset brings anything nearer: these must fit.
    let more: Vec<Candidate> =
        orders.iter().filter_map(other_phase).chain(other_offset(&references[0], job)).collect();
    nearest(&more).filter(|other| other.difference.fits()).or(best)
}

/// Returns the marker itself and those with other orders of squares, colors and phases.
fn orders(job: &Job<'_>) -> Vec<Candidate> {
    let Job { marking, named, .. } = job;
    let firsts = SquareOrder::ORIENTATIONS.into_iter().map(|first| oriented(marking, first));
    let mut all: Vec<Candidate> = std::iter::once(marking.clone())
        .chain(firsts)
        .map(|marking| Candidate { marking, named: named.clone(), remark: "" })
        .collect();
    let mut vary = |change: &dyn Fn(&mut Candidate)| {
        let mut more = all.clone();
        more.iter_mut().for_each(change);
        all.extend(more);
    };
    if marking.order.colors != Colors::One {
        if !marking.is_colored() {
            vary(&|Candidate { marking, .. }| {
                marking.by = match marking.by {
                    Some(Grouping::Color) => Some(Grouping::Piece),
                    _ => Some(Grouping::Color),
                };
            });
        }
        vary(&|Candidate { marking, .. }| {
            marking.order.colors = match marking.order.colors {
                Colors::Negated => Colors::Both,
                _ => Colors::Negated,
            };
        });
        vary(&|Candidate { marking, .. }| {
            let colored = marking.is_colored();
            match &mut marking.pieces {
                Some(pieces) if colored => {
                    pieces.iter_mut().flatten().for_each(|piece| piece.black = !piece.black);
                }
                _ => marking.black_first = !marking.black_first,
            }
        });
    }
    if named.phases.len() == 2 {
        vary(&|Candidate { named, remark, .. }| {
            named.phases = vec![1, 0];
            *remark = " with the endgame's numbers before the middlegame's, which no marker can say";
        });
    }
    // Values of pieces are so near each other that two in the wrong order may pass for rounded ones.
    let pairs = (0..marking.pieces.as_ref().map_or(0, Vec::len)).flat_map(|j| (0..j).map(move |i| (i, j)));
    all.extend(pairs.map(|(i, j)| {
        let mut candidate = Candidate { marking: (*marking).clone(), named: (*named).clone(), remark: "" };
        candidate.marking.pieces.iter_mut().for_each(|pieces| pieces.swap(i, j));
        candidate
    }));
    all
}

/// Returns the marker of the other phase, for one of a single phase.
fn other_phase(candidate: &Candidate) -> Option<Candidate> {
    let mut other = candidate.clone();
    let Candidate { marking, named, .. } = &mut other;
    let (base, [phase]) = (phases(&marking.what)?.0, &mut named.phases[..]) else { return None };
    *phase = 1 - *phase;
    let what = format!("{base}.{}", PHASES[*phase]);
    if marking.name == marking.what {
        marking.name.clone_from(&what);
    }
    marking.what = what;
    Some(other)
}

/// Returns the marker without its offset or, for tables of squares without one, with that of the piece values.
fn other_offset(reference: &Reference, job: &Job<'_>) -> Option<Candidate> {
    let Job { marking, named, .. } = job;
    let found = job.found(&reference.values);
    // An offset turns equal values into any others.
    if found.iter().all(|number| *number == found[0]) {
        return None;
    }
    let offset = match marking.offset {
        Some(_) => None,
        None if Content::new(&reference.values, named, marking).has_squares() => Some(Offset::Material),
        None => return None,
    };
    let marking = Marking { offset, ..marking.clone() };
    Some(Candidate { marking, named: named.clone(), remark: "" })
}
