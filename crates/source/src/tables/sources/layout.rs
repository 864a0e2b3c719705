//! Replaces numbers and keeps columns that are aligned to the right.

/// Bytes of the source and their replacement.
pub(crate) type Edit = (std::ops::Range<usize>, String);

#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub start: usize,
    pub end: usize,
    pub new: String,
}

struct Cell<'a> {
    number: &'a Replacement,
    pad: usize,
    /// What precedes the spaces: nothing on its line, a bracket, or a number.
    kind: usize,
}

impl<'a> Cell<'a> {
    fn new(source: &str, number: &'a Replacement) -> Self {
        let before = source[..number.start].trim_end_matches(' ');
        let kind = match before.chars().next_back() {
            None | Some('\n' | '\t') => 0,
            Some('(' | '{' | '[') => 1,
            Some(_) => 2,
        };
        Self { number, pad: number.start - before.len(), kind }
    }

    fn length(&self) -> usize {
        self.number.end - self.number.start
    }
}

/// A shorter number gets spaces in front of it, a longer one takes the place of some, where numbers are `padded` or end
/// where those above them do.
pub(crate) fn edits(source: &str, numbers: &[Replacement], padded: bool) -> Vec<Edit> {
    let cells: Vec<Cell<'_>> = numbers.iter().map(|number| Cell::new(source, number)).collect();
    // Numbers of various lengths that end where the others end.
    let aligned = padded
        || (0..3).any(|kind| {
            let mut own = cells.iter().filter(|cell| cell.kind == kind);
            own.next().is_some_and(|first| {
                own.clone().any(|cell| cell.length() != first.length())
                    && own.all(|cell| cell.pad + cell.length() == first.pad + first.length())
            })
        });
    let mut edits = Vec::new();
    for Cell { number, pad, kind } in cells {
        let Replacement { start, end, new } = number;
        if source[*start..*end] == *new {
            continue;
        }
        let least = if kind == 2 { 1.min(pad) } else { 0 };
        let room = if aligned { (pad + end - start).saturating_sub(new.len()).max(least) } else { pad };
        edits.push((start - pad..*end, " ".repeat(room) + new));
    }
    edits
}

/// Makes edits, those at the same place in their order; of two that overlap, the first.
pub(crate) fn apply(text: &mut String, mut edits: Vec<Edit>) {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    *text = out;
}
