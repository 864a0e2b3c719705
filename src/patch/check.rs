//! How every block of a `.tune` file stands in the sources, without changing anything.

use std::path::{Path, PathBuf};

use super::apply::lost_lines;
use super::blocks::{Block, Setting, TuneFile};
use super::nearest::{Near, nearest};
use super::params::ParamsFile;
use super::plan::{params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{State, check_names, place_block};
use super::warnings::{of_block, undeclared};
use super::{Options, tune};
use crate::error::{Error, Result};

/// How a block stands in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockState {
    /// It matches in one place, as it was written.
    Ready,
    /// `tune` has been there, or for a plain patch also `apply`.
    Done,
    /// It matches nowhere.
    Missing,
    /// It matches in several places.
    Several,
    /// Its source cannot be read.
    Unreadable,
}

/// A block as it was found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct BlockCheck {
    /// The name of its context; empty for a plain patch.
    pub name: String,
    /// The line of its `#context`.
    pub line: u64,
    /// Its source; empty if there is no `#set file`.
    pub file: PathBuf,
    /// How it stands there.
    pub state: BlockState,
    /// The lines of the source where it matches, at most 20.
    pub source_lines: Vec<u64>,
    /// The parameters, with the number or name that stands in the source.
    pub values: Vec<(String, String)>,
    /// The place that is most like the context, if it is missing.
    pub near: Option<Near>,
    /// What else is wrong: markers that are missing or in several lines, files.
    pub problems: Vec<String>,
}

impl BlockCheck {
    /// Whether `tune` or `apply` can use the block.
    pub fn is_fine(&self) -> bool {
        matches!(self.state, BlockState::Ready | BlockState::Done) && self.problems.is_empty()
    }
}

/// A `.tune` file as it was found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CheckReport {
    /// Its blocks, in order.
    pub blocks: Vec<BlockCheck>,
    /// The `.params` file.
    pub params: PathBuf,
    /// How many parameters it has; none if there is no such file.
    pub params_count: Option<usize>,
    /// Parameters of contexts that the `.params` file lacks, if there is one.
    pub params_missing: Vec<String>,
    /// Why the `.params` file cannot be read.
    pub params_problem: Option<String>,
    /// What can be used and is hardly meant: ranges without the value, parameters that nothing declares.
    pub warnings: Vec<String>,
}

impl CheckReport {
    /// How many blocks cannot be used, and 1 for a `.params` file that cannot.
    pub fn failures(&self) -> usize {
        let blocks = self.blocks.iter().filter(|block| !block.is_fine()).count();
        blocks + usize::from(self.params_problem.is_some())
    }
}

/// Looks for every block in its source.
///
/// # Errors
/// A `.tune` file that cannot be read, a folder that is none. What is wrong with single blocks is in
/// the report.
pub fn check(tune: &Path, folder: &Path, options: &Options) -> Result<CheckReport> {
    let params = params_path(tune)?;
    let tune = TuneFile::read(tune, options.compat, true)?;
    if !options.compat {
        check_names(&tune)?;
    }
    let mut sources = Sources::open(folder, options)?;
    let mut warnings = Vec::new();
    let check = |block| check_block(block, &tune, &mut sources, options, &mut warnings);
    let blocks: Vec<BlockCheck> = tune.blocks.iter().map(check).collect();
    let (read, params_problem) = match read_params(&params) {
        Ok((file, bytes)) => (bytes.map(|_| file), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let lacks = |file: &ParamsFile| -> Vec<String> {
        let names = blocks.iter().flat_map(|block| block.values.iter().map(|(name, _)| name));
        names.filter(|name| file.get(name).is_none()).cloned().collect()
    };
    let used = blocks.iter().flat_map(|block| block.values.iter().map(|(name, _)| name));
    let entries = used.filter_map(|name| read.as_ref()?.get(name));
    warnings.extend(undeclared(&tune));
    warnings.extend(
        entries.filter_map(|entry| Some(format!("{}: {}", params.display(), entry.range_problem()?))),
    );
    Ok(CheckReport {
        warnings,
        params_missing: read.as_ref().map(lacks).unwrap_or_default(),
        params_count: read.as_ref().map(|file| file.entries().count()),
        params_problem,
        params,
        blocks,
    })
}

fn check_block(
    block: &Block,
    tune: &TuneFile,
    sources: &mut Sources,
    options: &Options,
    warnings: &mut Vec<String>,
) -> BlockCheck {
    let mut result = BlockCheck {
        name: block.name.clone(),
        line: block.line,
        file: PathBuf::new(),
        state: BlockState::Unreadable,
        source_lines: Vec::new(),
        values: Vec::new(),
        near: None,
        problems: Vec::new(),
    };
    let placed = match place_block(block, tune, sources, options) {
        Ok(placed) => placed,
        Err(error) => {
            result.problems.push(error.to_string());
            return result;
        }
    };
    let source = &sources.files[placed.file];
    result.file = source.shown.clone();
    let state = placed.state(source);
    let mut lines =
        |starts: &[usize]| result.source_lines = starts.iter().take(20).map(|at| source.line(*at)).collect();
    match &state {
        State::Ready(found) | State::Done(found) => {
            lines(&[found.range.start]);
            let texts = found.marks.iter().map(|mark| source.before[mark.clone()].to_string());
            let names = placed.context.names().map(str::to_string);
            result.values = match state {
                State::Ready(_) => names.zip(texts).collect(),
                _ => names.map(|name| (name.clone(), name)).collect(),
            };
            result.state =
                if matches!(state, State::Ready(_)) { BlockState::Ready } else { BlockState::Done };
        }
        State::Several(starts) => {
            lines(starts);
            result.state = BlockState::Several;
        }
        State::Missing => {
            // What tune has left is like the context with names for numbers.
            let near = [&placed.context, &placed.context.named()].map(|t| nearest(t, &source.before));
            result.near =
                near.into_iter().flatten().reduce(|a, b| if b.likeness > a.likeness { b } else { a });
            result.state = BlockState::Missing;
        }
    }
    if matches!(state, State::Done(_)) && !options.compat {
        result.problems.extend(lost_lines(&placed, source));
    }
    warnings.extend(of_block(&placed, &state, source, tune));
    check_markers(block, source, tune, options, &mut result.problems);
    result
}

/// Says which markers are missing or in several lines, one line each.
fn check_markers(
    block: &Block,
    source: &Source,
    tune: &TuneFile,
    options: &Options,
    problems: &mut Vec<String>,
) {
    let settings =
        [("#set declaration", &block.settings.declaration), ("#set options", &block.settings.options)];
    let set = settings.into_iter().filter_map(|(what, setting)| Some((what, setting.clone()?)));
    let adds = block
        .adds
        .iter()
        .filter_map(|add| Some(("#add", Setting { value: add.marker.clone()?, line: add.line })));
    for (what, marker) in set.chain(adds) {
        // A plain patch above may bring it.
        let brought = tune.blocks.iter().any(|other| {
            other.line < block.line && other.adds.iter().any(|add| add.body.text.contains(&marker.value))
        });
        match tune::marker_line(source, &marker, what, tune, options) {
            Err(Error::Input { reason, .. }) if !brought || source.text.contains(&marker.value) => {
                problems.push(reason);
            }
            _ => {}
        }
    }
}
