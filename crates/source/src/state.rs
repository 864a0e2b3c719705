//! Positions of the blocks of a `.tune` file in the current sources.

use std::collections::HashMap;
use std::path::Path;

use super::blocks::{Add, Block, TuneFile};
use super::layout::{remove_lines, whole_lines};
use super::names::Template;
use super::nearest::nearest;
use super::pattern::{Found, Pattern};
use super::plan::PlannedBlock;
use super::sources::{Source, Sources};
use gputexel_io::{Error, Result, shown};

pub(super) struct Placed<'a> {
    pub block: &'a Block,
    pub file: usize,
    pub context: Template,
    pub adds: Vec<Template>,
    pub pattern: Pattern,
    pub tuned: Option<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready(Found),
    /// As left by `tune`, or for a plain patch by `apply`.
    Done(Found),
    Missing,
    Several(Vec<usize>),
}

pub(super) fn place<'a>(tune: &'a TuneFile, sources: &mut Sources) -> Result<Vec<Placed<'a>>> {
    check_names(tune)?;
    tune.blocks.iter().map(|block| place_block(block, tune, sources)).collect()
}

pub(super) fn place_block<'a>(
    block: &'a Block,
    tune: &TuneFile,
    sources: &mut Sources,
) -> Result<Placed<'a>> {
    let setting = block
        .settings
        .file
        .as_ref()
        .ok_or_else(|| block.error(&tune.path, block.line, "no #set file says which source it is in"))?;
    let file = sources.file(setting, &tune.path)?;
    let context = Template::of(&block.context, block, &tune.path)?;
    let adds = block.adds.iter().map(|add| Template::of(&add.body, block, &tune.path));
    let adds = adds.collect::<Result<Vec<Template>>>()?;
    let pattern = Pattern::new(&context);
    let after = block.adds.iter().position(|add| add.marker.is_none());
    let after = after.map_or_else(|| context.named(), |i| adds[i].named());
    let tuned = Pattern::new(&after);
    let tuned = (!tuned.is_empty() && !tuned.looks_like(&pattern)).then_some(tuned);
    Ok(Placed { block, file, context, adds, pattern, tuned })
}

pub(super) fn check_names(tune: &TuneFile) -> Result<()> {
    let mut lines: HashMap<String, u64> = HashMap::new();
    let mut take = |name: &str, line: u64| match lines.insert(name.to_string(), line) {
        None => Ok(()),
        Some(before) => {
            let reason = if before == line {
                format!("two numbers of the context would become {}", shown(name))
            } else {
                format!("{} is the name of a parameter of line {before} already", shown(name))
            };
            Err(Error::line(&tune.path, line, reason))
        }
    };
    for declared in &tune.declared {
        take(&declared.name, declared.line)?;
    }
    for block in &tune.blocks {
        let context = Template::of(&block.context, block, &tune.path)?;
        let at = |line, reason: String| Err(block.error(&tune.path, line, reason));
        if context.has_bare_names() {
            return at(block.line, "an @ has no number before it".to_string());
        }
        if block.name.is_empty() && context.names().next().is_some() {
            return at(block.line, "its numbers are marked; give the context a name for them".to_string());
        }
        for name in context.names() {
            take(name, block.line)?;
        }
        for add in &block.adds {
            let template = Template::of(&add.body, block, &tune.path)?;
            for name in template.names() {
                if !context.names().any(|known| known == name) {
                    return at(add.line, format!("{} is not a parameter of this context", shown(name)));
                }
            }
        }
    }
    Ok(())
}

impl Placed<'_> {
    pub fn state(&self, source: &Source) -> State {
        // Lines that a plain patch has inserted under a marker may lie within its replacement.
        if self.block.name.is_empty() && self.replacement().is_some() && self.under_markers().next().is_some()
        {
            let mut without = Source { text: source.before.clone(), ..source.clone() };
            if self.under_markers().rev().all(|(_, marker, body)| self.take_out(&mut without, marker, body))
                && let done @ State::Done(_) = self.state_in(&without.text)
            {
                return done;
            }
        }
        self.state_in(&source.before)
    }

    fn state_in(&self, text: &str) -> State {
        let found = |pattern: &Pattern| pattern.find_all(text);
        let mut ready = found(&self.pattern);
        let done = self.tuned.as_ref().map(found).unwrap_or_default();
        // `a;` is still found once it has become `a; b;`.
        ready.retain(|r| !done.iter().any(|d| d.range.start <= r.range.start && r.range.end <= d.range.end));
        match (ready.len(), done.len()) {
            (1, _) => State::Ready(ready.remove(0)),
            (0, 0) => State::Missing,
            (0, 1) => State::Done(done.into_iter().next().expect("counted")),
            (0, _) => State::Several(done.iter().map(|f| f.range.start).collect()),
            _ => State::Several(ready.iter().map(|f| f.range.start).collect()),
        }
    }

    /// Removes the lines that an `#add` has inserted under its marker; returns false if they are not present.
    pub fn take_out(&self, source: &mut Source, marker: &str, body: &Template) -> bool {
        let pattern = Pattern::new(&body.named());
        if pattern.is_empty() {
            return true;
        }
        let markers = source.lines_with(marker);
        let found = pattern.find_all(&source.text);
        // The first one below the marker.
        let below = |found: &&Found| markers.iter().any(|marker| found.range.start > *marker);
        let place = found.iter().find(below).map(|found| found.range.clone());
        let lines = place.and_then(|range| whole_lines(&source.text, &range));
        if let Some(lines) = lines.clone() {
            remove_lines(&mut source.text, lines);
        }
        lines.is_some()
    }

    pub fn under_markers(&self) -> impl DoubleEndedIterator<Item = (&Add, &str, &Template)> {
        let adds = self.block.adds.iter().zip(&self.adds);
        adds.filter_map(|(add, template)| Some((add, add.marker.as_deref()?, template)))
    }

    pub fn replacement(&self) -> Option<&Template> {
        let index = self.block.adds.iter().position(|add| add.marker.is_none())?;
        Some(&self.adds[index])
    }

    pub fn only(&self, mut found: Vec<Found>, state: &State, source: &Source, tune: &Path) -> Result<Found> {
        // Plain patches are searched in the current text.
        let state = match (found.len(), state) {
            (1, _) => return Ok(found.remove(0)),
            (_, State::Ready(_)) => state.clone(),
            (0, _) => State::Missing,
            _ => State::Several(found.iter().map(|f| f.range.start).collect()),
        };
        Err(self.refusal(&state, &source.as_now(), tune))
    }

    pub fn planned(&self, source: &Source, at: Option<usize>, action: &'static str) -> PlannedBlock {
        PlannedBlock {
            name: self.block.name.clone(),
            line: self.block.line,
            file: source.file.shown.clone(),
            source_line: at.map(|at| source.line(at)),
            action,
            values: Vec::new(),
        }
    }

    pub fn refusal(&self, state: &State, source: &Source, tune: &Path) -> Error {
        let name = source.file.shown.display();
        let reason = match state {
            State::Ready(_) => format!("no longer matches {name}: a block before it has changed that place"),
            State::Done(found) => {
                let line = source.line(found.range.start);
                let now = if self.block.name.is_empty() { "patched" } else { "tuned" };
                format!(
                    "{name}:{line} is {now} already; 'gputexel patch apply' or 'undo' brings the numbers back"
                )
            }
            State::Several(starts) => {
                let lines: Vec<String> = starts.iter().map(|start| source.line(*start).to_string()).collect();
                let (count, lines) = (starts.len(), lines.join(", "));
                format!("matches {name} in {count} places, lines {lines}; add lines until one is left")
            }
            State::Missing => match nearest(&source.before, &self.context) {
                Some(near) => format!(
                    "no match in {name}; line {} is closest: '{}' for '{}'",
                    near.line, near.source, near.context
                ),
                None => format!("no match in {name}, and nothing like it"),
            },
        };
        self.block.error(tune, self.block.line, reason)
    }
}

pub(super) fn refuse_others(
    placed: &[Placed<'_>],
    states: &[State],
    sources: &Sources,
    tune: &Path,
    fine: impl Fn(&Placed<'_>, &State) -> bool,
) -> Result<()> {
    match placed.iter().zip(states).find(|(p, state)| !fine(p, state)) {
        Some((p, state)) => Err(p.refusal(state, &sources.files[p.file], tune)),
        None => Ok(()),
    }
}
