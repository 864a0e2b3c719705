//! Blocks in sequence: their positions in a source, and which of them overlap.

use std::ops::Range;
use std::path::Path;

use super::blocks::Block;
use super::layout::Edit;
use super::pattern::Found;
use super::sources::{Source, Sources};
use super::state::{Placed, State};
use gputexel_io::{Error, Result, shown};

#[derive(Debug)]
struct Visit {
    line: u64,
    title: String,
    named: bool,
    range: Range<usize>,
    changed: Vec<Range<usize>>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    edits: Vec<Edit>,
    visits: Vec<Visit>,
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

impl History {
    fn origin(&self, mut at: usize) -> usize {
        for edit in self.edits.iter().rev() {
            if at >= edit.at + edit.added {
                at = at - edit.added + edit.removed;
            } else if at > edit.at {
                at = edit.at;
            }
        }
        at
    }

    /// Records a replacement made by the last visitor.
    pub fn record(&mut self, edit: Edit) {
        let Edit { at, removed, added } = edit;
        self.edits.push(edit);
        let start = |x: usize| if x >= at + removed { x - removed + added } else { x.min(at) };
        let end = |x: usize| match x {
            x if x <= at => x,
            x if x >= at + removed => x - removed + added,
            _ => at + added,
        };
        for visit in &mut self.visits {
            for range in std::iter::once(&mut visit.range).chain(&mut visit.changed) {
                *range = start(range.start)..end(range.end);
            }
        }
        if let Some(visit) = self.visits.last_mut() {
            visit.changed.push(at..at + added);
        }
    }

    pub fn visit(&mut self, block: &Block, range: Range<usize>) {
        self.visits.push(Visit {
            line: block.line,
            title: block.title(),
            named: !block.name.is_empty(),
            range,
            changed: Vec::new(),
        });
    }

    fn refusal(block: &Block, visit: &Visit, tune: &Path, reason: &str) -> Error {
        let Visit { line, title, .. } = visit;
        let what =
            if *line == block.line { String::new() } else { format!("overlaps {title} in line {line}: ") };
        block.error(tune, block.line, what + reason)
    }

    /// Rejects a block that changes the context of an earlier one, or whose context an earlier one has changed.
    pub fn check_visit(
        &self,
        block: &Block,
        found: &Found,
        changes: &[Range<usize>],
        tune: &Path,
    ) -> Result<()> {
        let named = !block.name.is_empty();
        let overlaps = |visit: &&Visit| {
            changes.iter().any(|change| meet(change, &visit.range))
                || visit.named && visit.changed.iter().any(|changed| meet(changed, &found.range))
        };
        match self.visits.iter().filter(|visit| visit.named || named).find(overlaps) {
            Some(visit) => {
                Err(Self::refusal(block, visit, tune, "one of them changes what the other looks for"))
            }
            None => Ok(()),
        }
    }

    /// Rejects lines within a context that must be found again, that of the block or of another.
    pub fn check_insertion(&self, block: &Block, at: usize, marker: &str, tune: &Path) -> Result<()> {
        let parted = |visit: &&Visit| visit.named && visit.range.start < at && at < visit.range.end;
        let Some(visit) = self.visits.iter().find(parted) else { return Ok(()) };
        let reason =
            format!("the line with marker {}, below which lines are put, belongs to it", shown(marker));
        Err(Self::refusal(block, visit, tune, &reason))
    }
}

fn difference(before: &str, after: &str) -> Edit {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a[at..].iter().rev().zip(b[at..].iter().rev()).take_while(|(a, b)| a == b).count();
    Edit { at, removed: a.len() - at - end, added: b.len() - at - end }
}

/// Reveals patches covered by others: removes the insertions of `tune` and `apply`, from the last to the
/// first, in copies of the sources, and corrects the states of the revealed patches.
pub(super) fn uncover(placed: &[Placed<'_>], states: &mut [State], sources: &Sources) {
    // A patch whose body contains its context could be applied a second time if another covers it.
    let covered = |p: &Placed<'_>, state: &State| {
        p.block.name.is_empty() && p.replacement().is_some() && !matches!(state, State::Done(_))
    };
    for (file, source) in sources.files.iter().enumerate() {
        let here = |p: &Placed<'_>| p.file == file;
        let lost = placed.iter().zip(states.iter()).any(|(p, state)| here(p) && covered(p, state));
        let done =
            placed.iter().zip(states.iter()).any(|(p, state)| here(p) && matches!(state, State::Done(_)));
        if !lost || !done {
            continue;
        }
        let mut copy = Source { text: source.before.clone(), ..source.clone() };
        let mut history = History::default();
        for (p, state) in placed.iter().zip(states.iter_mut()).rev().filter(|(p, _)| here(p)) {
            if covered(p, state)
                && let State::Done(found) = p.state(&copy.as_now())
            {
                let range = history.origin(found.range.start)..history.origin(found.range.end);
                let marks = found.marks.iter().map(|m| history.origin(m.start)..history.origin(m.end));
                *state = State::Done(Found { marks: marks.collect(), range });
            }
            if matches!(state, State::Done(_)) {
                let before = copy.text.clone();
                p.take_off(&mut copy);
                history.record(difference(&before, &copy.text));
            }
        }
    }
}

pub(super) fn verify_reversible(p: &Placed<'_>, state: &State, source: &Source, tune: &Path) -> Result<()> {
    let (State::Ready(_), false) = (state, p.block.name.is_empty()) else { return Ok(()) };
    let pattern = p.tuned.as_ref().unwrap_or(&p.pattern);
    match pattern.find_all(&source.text).len() {
        1 => Ok(()),
        count => {
            let how = if count == 0 { "nowhere" } else { "in more than one place" };
            let reason = format!(
                "once tuned it would be found {how} in {}, and 'apply' could not restore it",
                source.file.shown.display()
            );
            Err(p.block.error(tune, p.block.line, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_followed_through_replacements() {
        let mut history = History::default();
        // "abcdef": "b" becomes "BBB", "ef" is removed, "--" is inserted at the front.
        for (at, removed, added) in [(1, 1, 3), (6, 2, 0), (0, 0, 2)] {
            history.record(Edit { at, removed, added });
        }
        // "--aBBBcd"
        let origins: Vec<usize> = (0..=8).map(|at| history.origin(at)).collect();
        assert_eq!(origins, [0, 0, 0, 1, 1, 1, 2, 3, 6]);
        let Edit { at, removed, added } = difference("abcd", "abXXd");
        assert_eq!((at, removed, added), (2, 1, 2));
        let Edit { at, removed, added } = difference("aa", "aaa");
        assert_eq!((at, removed, added), (2, 0, 1));
    }
}
