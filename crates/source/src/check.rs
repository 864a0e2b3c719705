//! Checks the state of every block of a `.tune` file in the sources, without changing anything.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use super::apply::plan_apply;
use super::blocks::{Block, TuneFile};
use super::nearest::{Near, nearest};
use super::order::uncover;
use super::plan::{params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{Placed, State, check_names, place_block};
use super::transaction::refuse_interrupted;
use super::tune::plan_tune;
use gputexel_io::{Error, Result, counted, shown};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockState {
    Ready,
    /// Processed by `tune`, or for a plain patch by `apply`.
    Done,
    Missing,
    Several,
    #[default]
    Unreadable,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct BlockCheck {
    /// The name of its context; empty for a plain patch.
    pub name: String,
    pub line: u64,
    /// Its source; empty without `#set file`.
    pub file: PathBuf,
    pub state: BlockState,
    /// The lines of the source where it matches, at most 20.
    pub source_lines: Vec<u64>,
    pub values: Vec<(String, String)>,
    /// The place most similar to the context, if that is missing.
    pub near: Option<Near>,
    /// Other problems: markers that are missing or in several lines, files, blocks that overlap.
    pub problems: Vec<String>,
}

impl BlockCheck {
    fn new(block: &Block) -> Self {
        Self { name: block.name.clone(), line: block.line, ..Self::default() }
    }

    fn of(p: &Placed<'_>, state: &State, source: &Source) -> Self {
        let lines = |starts: &[usize]| starts.iter().take(20).map(|at| source.line(*at)).collect();
        let names = p.context.names().map(str::to_string);
        let mut check = Self { file: source.file.shown.clone(), ..Self::new(p.block) };
        match state {
            State::Ready(found) => {
                let texts = found.marks.iter().map(|mark| source.before[mark.clone()].to_string());
                check.state = BlockState::Ready;
                check.source_lines = lines(&[found.range.start]);
                check.values = names.zip(texts).collect();
            }
            State::Done(found) => {
                check.state = BlockState::Done;
                check.source_lines = lines(&[found.range.start]);
                check.values = names.map(|name| (name.clone(), name)).collect();
            }
            State::Several(starts) => {
                check.state = BlockState::Several;
                check.source_lines = lines(starts);
            }
            State::Missing => {
                check.state = BlockState::Missing;
                check.near = nearest(&source.before, &p.context);
            }
        }
        check
    }

    pub fn is_fine(&self) -> bool {
        matches!(self.state, BlockState::Ready | BlockState::Done) && self.problems.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CheckReport {
    pub blocks: Vec<BlockCheck>,
    pub params: PathBuf,
    pub params_count: Option<usize>,
    pub params_problem: Option<String>,
    pub warnings: Vec<String>,
}

impl CheckReport {
    pub fn failures(&self) -> usize {
        let blocks = self.blocks.iter().filter(|block| !block.is_fine()).count();
        blocks + usize::from(self.params_problem.is_some())
    }

    /// Adds what the next command would say: `apply` where `tune` was run, else `tune`. Plain patches may be missing
    /// as long as earlier blocks bring them in.
    fn try_next(&mut self, tune: &Path, folder: &Path) {
        let named = |state: BlockState| self.blocks.iter().any(|b| !b.name.is_empty() && b.state == state);
        if self.blocks.iter().any(|block| block.state == BlockState::Unreadable)
            || named(BlockState::Missing)
            || named(BlockState::Several)
            || self.blocks.iter().all(|block| block.name.is_empty() && block.state == BlockState::Done)
        {
            return;
        }
        let tried = match named(BlockState::Done) {
            true => plan_apply(tune, folder, None),
            false => plan_tune(tune, folder),
        };
        match tried {
            Ok(plan) => {
                self.warnings = plan.warnings;
                let covered = |block: &&mut BlockCheck| !block.is_fine();
                for block in self.blocks.iter_mut().filter(covered) {
                    (block.state, block.near) = (BlockState::Ready, None);
                    block.source_lines.clear();
                }
            }
            Err(error) => {
                let at = match &error {
                    Error::Input { path, line: Some(line), .. } if path == tune => *line,
                    _ => u64::MAX,
                };
                let block = self.blocks.iter().rposition(|block| block.line <= at).unwrap_or(0);
                if let Some(block) = self.blocks.get_mut(block) {
                    block.problems.push(error.to_string());
                }
            }
        }
    }
}

pub fn check(tune: &Path, folder: &Path) -> Result<CheckReport> {
    refuse_interrupted(folder)?;
    let params = params_path(tune)?;
    let file = TuneFile::read(tune)?;
    check_names(&file)?;
    let mut sources = Sources::open(folder)?;
    let (mut blocks, mut placed) = (Vec::new(), Vec::new());
    for block in &file.blocks {
        match place_block(block, &file, &mut sources) {
            Ok(p) => placed.push(p),
            Err(error) => {
                let problems = vec![error.to_string()];
                blocks.push(BlockCheck { problems, ..BlockCheck::new(block) });
            }
        }
    }
    let mut states: Vec<State> = placed.iter().map(|p| p.state(&sources.files[p.file])).collect();
    uncover(&placed, &mut states, &sources);
    let states = placed.iter().zip(&states);
    blocks.extend(states.map(|(p, state)| BlockCheck::of(p, state, &sources.files[p.file])));
    blocks.sort_by_key(|block| block.line);
    let (read, params_problem) = match read_params(&params) {
        Ok((file, bytes)) => (bytes.map(|_| file), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let mut report = CheckReport {
        params_count: read.as_ref().map(|file| file.entries().count()),
        params_problem,
        params,
        blocks,
        warnings: Vec::new(),
    };
    if report.params_problem.is_none() {
        report.try_next(tune, folder);
    }
    Ok(report)
}

impl Display for BlockCheck {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name = if self.name.is_empty() { "unnamed".into() } else { shown(&self.name) };
        let line = self.source_lines.first().map(|line| format!(":{line}")).unwrap_or_default();
        let lines = || self.source_lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let what = match self.state {
            BlockState::Ready if self.values.is_empty() => "matches".to_string(),
            BlockState::Ready => {
                let value = |(name, text): &(String, String)| format!("{} = {}", shown(name), shown(text));
                format!("matches, {}", self.values.iter().map(value).collect::<Vec<_>>().join(", "))
            }
            BlockState::Done if self.name.is_empty() => "is already patched".to_string(),
            BlockState::Done => "is already tuned".to_string(),
            BlockState::Several => {
                format!("matches in {} places, lines {}", self.source_lines.len(), lines())
            }
            BlockState::Missing => "no match".to_string(),
            BlockState::Unreadable => String::new(),
        };
        if self.state != BlockState::Unreadable {
            writeln!(f, "{}{line}: {name} (block in line {}): {what}", self.file.display(), self.line)?;
        }
        if let Some(Near { line, source, context }) = &self.near {
            writeln!(f, "  closest is line {line}:\n    source  {source}\n    block   {context}")?;
        }
        self.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

impl Display for CheckReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.blocks.iter().try_for_each(|block| write!(f, "{block}"))?;
        let params = self.params.display();
        match (&self.params_problem, self.params_count) {
            (Some(problem), _) => writeln!(f, "{problem}")?,
            (None, None) => writeln!(f, "{params}: does not exist yet")?,
            (None, Some(count)) => {
                writeln!(f, "{params}: {}", counted(count as u64, "parameter"))?;
            }
        }
        self.warnings.iter().try_for_each(|warning| writeln!(f, "warning: {warning}"))
    }
}
