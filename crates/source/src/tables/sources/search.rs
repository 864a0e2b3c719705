//! Searches for other markers that match the numbers of an array.

use super::Job;
use super::arrange;
use super::content::{Content, Source, is_pieces};
use super::difference::{Added, Compared, Difference, Reference, difference};
use super::marker::{Grouping, Marking, Offset};
use super::pieces::{Piece, Pieces};
use super::values::{Named, Place, TableValues};
use gputexel_model::{Colors, ROLE_NAMES, SquareOrder};

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

impl Candidate {
    fn text(&self) -> String {
        self.marking.text() + self.remark
    }
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

/// Returns the marker nearest to the numbers. Those with fewer changes come first.
pub(super) fn best(
    values: &TableValues,
    references: &[Reference],
    job: &Job<'_>,
    added: &Added,
) -> Option<Alternative> {
    let own = Candidate { marking: job.marking.clone(), named: job.named.clone(), remark: "" };
    let mut best: Option<Alternative> = None;
    let mut try_these = |candidates| try_all(candidates, references, job, added, &mut best);
    let arranged = arrangements(&own);
    // A few numbers easily match something else.
    let names = if job.array.entries.len() < 4 { Vec::new() } else { other_names(values, &arranged) };
    let found = try_these(arranged.clone())
        || try_these(names)
        || try_these(other_pieces(values, references, job, &arranged, added));
    if found {
        return best;
    }
    // Some factor brings anything nearer: it must match.
    let mut scaled = None;
    try_all(other_units(references, job, &arranged), references, job, added, &mut scaled);
    scaled.filter(|scaled| scaled.difference.fits()).or(best)
}

/// Returns the nearest of the other orders of squares, colors and phases.
pub(super) fn nearest(references: &[Reference], job: &Job<'_>, added: &Added) -> Option<Alternative> {
    let own = Candidate { marking: job.marking.clone(), named: job.named.clone(), remark: "" };
    let mut best = None;
    try_all(arrangements(&own), references, job, added, &mut best);
    best
}

/// Compares candidates; returns true if any matches.
fn try_all(
    candidates: Vec<Candidate>,
    references: &[Reference],
    job: &Job<'_>,
    added: &Added,
    best: &mut Option<Alternative>,
) -> bool {
    for candidate in candidates {
        for Reference { compared, values } in references {
            let Candidate { marking, named, .. } = &candidate;
            let Ok((content, order)) = arrange(values, named, marking, &job.array) else { continue };
            let difference = difference(&content, &order, &job.array, added);
            if best.as_ref().is_none_or(|best| difference.cmp(&best.difference).is_lt()) {
                *best = Some(Alternative { text: candidate.text(), compared: *compared, difference });
            }
        }
    }
    best.as_ref().is_some_and(|best| best.difference.fits())
}

/// Returns other orders of squares, colors and phases, with or without the values of pieces.
fn arrangements(own: &Candidate) -> Vec<Candidate> {
    let mut all = vec![own.clone()];
    let mut vary = |of: &dyn Fn(&Candidate) -> Vec<Candidate>| {
        let more: Vec<Candidate> = all.iter().flat_map(of).collect();
        all.extend(more);
    };
    let with = |candidate: &Candidate, marking: Marking| Candidate { marking, ..candidate.clone() };
    vary(&|candidate| {
        let firsts = SquareOrder::ORIENTATIONS.into_iter();
        firsts.map(|first| with(candidate, oriented(&candidate.marking, first))).collect()
    });
    let colored = own.marking.is_colored();
    if own.marking.order.colors != Colors::One && !colored {
        vary(&|candidate| {
            let by = [Grouping::Color, Grouping::Piece].into_iter();
            by.map(|by| with(candidate, Marking { by: Some(by), ..candidate.marking.clone() })).collect()
        });
    }
    if own.marking.order.colors != Colors::One {
        vary(&|candidate| {
            let mut marking = candidate.marking.clone();
            marking.order.colors = match marking.order.colors {
                Colors::Negated => Colors::Both,
                _ => Colors::Negated,
            };
            vec![with(candidate, marking)]
        });
        vary(&|candidate| {
            let mut marking = candidate.marking.clone();
            match &mut marking.pieces {
                Some(pieces) if colored => {
                    pieces.iter_mut().flatten().for_each(|piece| piece.black = !piece.black);
                }
                _ => marking.black_first = !marking.black_first,
            }
            vec![with(candidate, marking)]
        });
    }
    if own.named.phases.len() == 2 {
        vary(&|candidate| {
            let remark = " with the endgame's numbers before the middlegame's, which no marker can say";
            let named = Named { phases: vec![1, 0], ..candidate.named.clone() };
            vec![Candidate { named, remark, ..candidate.clone() }]
        });
    }
    all
}

/// Returns other phases, and other tables of the same kind.
fn other_names(values: &TableValues, arranged: &[Candidate]) -> Vec<Candidate> {
    let mut all = Vec::new();
    let Some(own) = arranged.first() else { return all };
    let mut places = vec![own.named.place];
    if let Place::Table(own) = own.named.place {
        let table = |at: usize| &values.tables.0[at];
        let alike = |at: &usize| {
            table(*at).is_squares() == table(own).is_squares() && table(*at).ids.len() == table(own).ids.len()
        };
        places.extend((0..values.tables.0.len()).filter(alike).filter(|at| *at != own).map(Place::Table));
    }
    for place in places {
        for candidate in arranged {
            let phases = match candidate.named.phases[..] {
                [phase] if !candidate.named.tied => vec![vec![phase], vec![1 - phase]],
                _ => vec![candidate.named.phases.clone()],
            };
            for phases in phases {
                let named = Named { place, phases, ..candidate.named };
                if named == candidate.named {
                    continue;
                }
                let what = values.name_of(&named, &candidate.marking.what);
                let prefix = candidate.marking.prefix.clone().filter(|_| place == candidate.named.place);
                let own = &candidate.marking;
                let name = if own.name == own.what { what.clone() } else { own.name.clone() };
                let marking = Marking { what, prefix, name, ..own.clone() };
                all.push(Candidate { marking, named, remark: candidate.remark });
            }
        }
    }
    all
}

/// Returns, for each of the other orders, the order of pieces that matches, if any.
fn other_pieces(
    values: &TableValues,
    references: &[Reference],
    job: &Job<'_>,
    arranged: &[Candidate],
    added: &Added,
) -> Vec<Candidate> {
    if !is_pieces(values, job.named.place) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for candidate in arranged {
        for reference in references {
            if let Some(pieces) = pieces(&reference.values, candidate, job, added) {
                let marking = Marking { pieces: Some(pieces), ..candidate.marking.clone() };
                all.push(Candidate { marking, ..candidate.clone() });
            }
        }
    }
    all
}

/// Returns the piece at each place of an array, if there is one for each.
fn pieces(values: &TableValues, candidate: &Candidate, job: &Job<'_>, added: &Added) -> Option<Pieces> {
    let (content, order) = arrange(values, &candidate.named, &candidate.marking, &job.array).ok()?;
    let places = content.pieces.len();
    if content.doubled.is_some() {
        // The marker lists the pieces of one color only.
        return None;
    }
    let colors = if candidate.marking.is_colored() { &[false, true][..] } else { &[false] };
    let all = colors.iter().flat_map(|&black| (0..ROLE_NAMES.len()).map(move |role| Piece { role, black }));
    // By place, the pieces whose values match, exact matches first.
    let mut fitting: Vec<Vec<(f64, Piece)>> = vec![Vec::new(); places];
    for piece in all {
        for (at, fitting) in fitting.iter_mut().enumerate().filter(|(at, _)| content.pieces[*at].is_some()) {
            let mut pieces = vec![None; places];
            pieces[at] = Some(piece);
            let marking = Marking { pieces: Some(pieces), ..candidate.marking.clone() };
            let content = Content::new(values, &candidate.named, &marking);
            // A piece without a value, which leaves its entry alone, would fit any number.
            if content.pieces[at].is_none() {
                continue;
            }
            let difference = difference(&content, &order, &job.array, added);
            if difference.fits() {
                fitting.push((difference.total, piece));
            }
        }
    }
    fitting.iter_mut().for_each(|pieces| pieces.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let mut chosen = Vec::with_capacity(places);
    choose(&fitting, &content.pieces, &mut chosen).then_some(chosen)
}

/// Returns a different piece for each place that has one.
fn choose(fitting: &[Vec<(f64, Piece)>], places: &[Option<Source>], chosen: &mut Pieces) -> bool {
    let at = chosen.len();
    if at == places.len() {
        return true;
    }
    let free: Pieces = match places[at] {
        None => vec![None],
        Some(_) => fitting[at].iter().map(|&(_, piece)| Some(piece)).collect(),
    };
    for piece in free {
        if piece.is_some() && chosen.contains(&piece) {
            continue;
        }
        chosen.push(piece);
        if choose(fitting, places, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

/// Returns other factors and offsets that turn the values into the numbers, if any do.
fn other_units(references: &[Reference], job: &Job<'_>, arranged: &[Candidate]) -> Vec<Candidate> {
    let mut all = Vec::new();
    for candidate in arranged {
        let with = |marking: Marking| Candidate { marking, ..candidate.clone() };
        let own = Marking { scale: 1.0, offset: None, ..candidate.marking.clone() };
        for reference in references {
            let Ok((content, order)) = arrange(&reference.values, &candidate.named, &own, &job.array) else {
                continue;
            };
            // (phase, value, number), signs removed.
            let mut rows: Vec<(usize, f64, f64)> = Vec::new();
            for (index, entry) in job.array.entries.iter().enumerate() {
                let (piece, square, phase) = order.place(index);
                let Ok(number) = &entry.number else { continue };
                let Some(value) = content.number(piece, square, phase, |value| value) else { continue };
                let sign = content.sign(piece, square);
                rows.push((content.phases[phase], sign * value, sign * number.value));
            }
            // A few numbers are a multiple of anything.
            let distinct = rows.iter().filter(|row| row.1 != rows[0].1).count();
            if rows.len() < 4 || distinct < 2 {
                continue;
            }
            let (along, square) = rows
                .iter()
                .fold((0.0, 0.0), |(a, b), (_, value, number)| (a + value * number, b + value * value));
            let factor = along / square;
            for decimals in 0..5 {
                let unit = 10f64.powi(decimals);
                let scale = (factor * unit).round() / unit;
                if scale != 0.0 && scale.is_finite() {
                    all.push(with(Marking { scale, ..own.clone() }));
                }
            }
            if candidate.marking.offset.is_none() && content.has_squares() {
                let offset = Some(Offset::Material);
                all.push(with(Marking { offset, ..candidate.marking.clone() }));
            }
            if candidate.marking.offset.is_some() {
                all.push(with(Marking { offset: None, ..candidate.marking.clone() }));
            }
            let mut offsets = [0.0; 2];
            for (phase, offset) in offsets.iter_mut().enumerate() {
                let of_phase: Vec<f64> = rows
                    .iter()
                    .filter(|row| row.0 == phase)
                    .map(|(_, value, number)| value * candidate.marking.scale - number)
                    .collect();
                if !of_phase.is_empty() {
                    *offset = (of_phase.iter().sum::<f64>() / of_phase.len() as f64).round();
                }
            }
            if candidate.named.phases.len() == 1 {
                offsets = [offsets[candidate.named.phases[0]]; 2];
            }
            let offset = Some(Offset::Numbers(offsets));
            all.push(with(Marking { offset, ..candidate.marking.clone() }));
        }
    }
    all
}
