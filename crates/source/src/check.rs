//! Checks the state of every block of a `.tune` file in the sources, without changing anything.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use super::Options;
use super::apply::lost_lines;
use super::blocks::{Block, Setting, TuneFile};
use super::constants::Code;
use super::nearest::{Near, nearest};
use super::order::{History, uncover, verify_reversible};
use super::plan::{params_path, read_params};
use super::sources::{Source, Sources};
use super::state::{Placed, State, check_names, place_block};
use super::transaction::check_complete;
use super::tune::{BlockEdit, add_parameters, marker_line};
use super::warnings::{encodings, of_block, undeclared};
use gputexel_io::params::ParamsFile;
use gputexel_io::{Advice, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockState {
    Ready,
    /// Processed by `tune`, or for a plain patch by `apply`.
    Done,
    Missing,
    Several,
    Unreadable,
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
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
    /// Other problems: markers that are missing or in several lines, files.
    pub problems: Vec<String>,
    /// Remedy of the last problem, if another request would avoid it.
    #[serde(skip)]
    pub advice: Option<Advice>,
}

impl BlockCheck {
    /// True if `tune` or `apply` can use the block.
    pub fn is_fine(&self) -> bool {
        matches!(self.state, BlockState::Ready | BlockState::Done) && self.problems.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CheckReport {
    pub blocks: Vec<BlockCheck>,
    /// The `.params` file.
    pub params: PathBuf,
    /// `None` if there is no such file.
    pub params_count: Option<usize>,
    /// Parameters of contexts that the `.params` file lacks, if there is one.
    pub params_missing: Vec<String>,
    /// Reason why the `.params` file cannot be read.
    pub params_problem: Option<String>,
    /// Likely mistakes: ranges without the value, parameters without a declaration.
    pub warnings: Vec<String>,
}

impl CheckReport {
    /// Number of unusable blocks, plus 1 for an unusable `.params` file.
    pub fn failures(&self) -> usize {
        let blocks = self.blocks.iter().filter(|block| !block.is_fine()).count();
        blocks + usize::from(self.params_problem.is_some())
    }
}

/// # Errors
/// A `.tune` file that cannot be read, an invalid folder, or one left half written by an interrupted command.
/// Faults of single blocks are in the report.
pub fn check(tune: &Path, folder: &Path, options: &Options) -> Result<CheckReport> {
    check_complete(folder)?;
    let params = params_path(tune)?;
    let tune = TuneFile::read(tune)?;
    check_names(&tune)?;
    let mut sources = Sources::open(folder, options)?;
    let mut warnings = Vec::new();
    let blocks = check_blocks(&tune, &mut sources, options, &mut warnings);
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

/// Patches in memory, in order, as `tune` would, except for blocks that are already done.
fn check_blocks(
    tune: &TuneFile,
    sources: &mut Sources,
    options: &Options,
    warnings: &mut Vec<String>,
) -> Vec<BlockCheck> {
    let (mut checks, mut placed) = (Vec::new(), Vec::new());
    for block in &tune.blocks {
        let mut check = BlockCheck {
            name: block.name.clone(),
            line: block.line,
            file: PathBuf::new(),
            state: BlockState::Unreadable,
            source_lines: Vec::new(),
            values: Vec::new(),
            near: None,
            problems: Vec::new(),
            advice: None,
        };
        match place_block(block, tune, sources, options) {
            Ok(p) => placed.push((checks.len(), p)),
            Err(error) => {
                check.advice = error.advice().cloned();
                check.problems.push(error.without_advice().to_string());
            }
        }
        checks.push(check);
    }
    let (indices, placed): (Vec<usize>, Vec<Placed<'_>>) = placed.into_iter().unzip();
    let mut states: Vec<State> = placed.iter().map(|p| p.state(&sources.files[p.file])).collect();
    uncover(&placed, &mut states, sources);
    warnings.extend(encodings(&placed, sources, tune));
    let codes: Vec<OnceCell<Code>> = sources.files.iter().map(|_| OnceCell::new()).collect();
    for (p, state) in placed.iter().zip(&states) {
        warnings.extend(of_block(p, state, &sources.files[p.file], tune, &codes[p.file]));
    }
    // Insertions of `tune` into some blocks must not affect others.
    for (p, _) in placed.iter().zip(&states).rev().filter(|(_, state)| matches!(state, State::Done(_))) {
        p.take_lines_off(&mut sources.files[p.file]);
    }
    // Declarations contain the ranges of parameters; their values do not matter here.
    let mut params = ParamsFile::default();
    let mut histories: Vec<History> = sources.files.iter().map(|_| History::default()).collect();
    let mut trials = Vec::new();
    for (p, state) in placed.iter().zip(&states) {
        let source = &mut sources.files[p.file];
        let plain = p.block.name.is_empty();
        let tried = matches!(state, State::Ready(_)) || (plain && !matches!(state, State::Done(_)));
        let mut edit = |source: &mut Source| {
            add_parameters(p, state, source, &mut params, tune)?;
            let history = &mut histories[p.file];
            BlockEdit { tune, p, params: &params, history }.run(source, state)
        };
        let mut markers = Vec::new();
        check_markers(p.block, source, tune, &mut markers);
        trials.push((tried.then(|| edit(source)), markers));
    }
    for (((p, state), (trial, markers)), index) in placed.iter().zip(&states).zip(trials).zip(indices) {
        let source = &sources.files[p.file];
        let check = &mut checks[index];
        let covered = matches!(trial, Some(Ok(_))) && !matches!(state, State::Ready(_));
        if covered {
            (check.file, check.state) = (source.shown.clone(), BlockState::Ready);
        } else {
            describe(check, p, state, source);
        }
        let mut said = markers;
        match trial {
            Some(Ok(_)) => {
                said.clear();
                if let Err(error) = verify_reversible(p, state, source, &tune.path) {
                    said.push(error.to_string());
                }
            }
            Some(Err(error)) if matches!(state, State::Ready(_)) => {
                let known = matches!(&error, Error::Input { reason, .. } if said.contains(reason));
                if !known {
                    said.push(error.to_string());
                }
            }
            _ => {}
        }
        check.problems.extend(said);
        if matches!(state, State::Done(_)) {
            check.problems.extend(lost_lines(p, source));
        }
    }
    checks
}

fn describe(check: &mut BlockCheck, p: &Placed<'_>, state: &State, source: &Source) {
    check.file = source.shown.clone();
    let lines = |starts: &[usize]| starts.iter().take(20).map(|at| source.line(*at)).collect();
    match state {
        State::Ready(found) | State::Done(found) => {
            check.source_lines = lines(&[found.range.start]);
            let texts = found.marks.iter().map(|mark| source.before[mark.clone()].to_string());
            let names = p.context.names().map(str::to_string);
            let ready = matches!(state, State::Ready(_));
            check.values = match ready {
                true => names.zip(texts).collect(),
                false => names.map(|name| (name.clone(), name)).collect(),
            };
            check.state = if ready { BlockState::Ready } else { BlockState::Done };
        }
        State::Several(starts) => {
            check.source_lines = lines(starts);
            check.state = BlockState::Several;
        }
        State::Missing => {
            // The output of `tune` is similar to the context, with names for numbers.
            let near = [&p.context, &p.context.named()].map(|template| nearest(&source.before, template));
            check.near =
                near.into_iter().flatten().reduce(|a, b| if b.likeness > a.likeness { b } else { a });
            check.state = BlockState::Missing;
        }
    }
}

fn check_markers(block: &Block, source: &Source, tune: &TuneFile, problems: &mut Vec<String>) {
    let settings =
        [("#set declaration", &block.settings.declaration), ("#set options", &block.settings.options)];
    let set = settings.into_iter().filter_map(|(what, setting)| Some((what, setting.clone()?)));
    let adds = block
        .adds
        .iter()
        .filter_map(|add| Some(("#add", Setting { value: add.marker.clone()?, line: add.line })));
    for (what, marker) in set.chain(adds) {
        if let Err(Error::Input { reason, .. }) = marker_line(source, &marker, what, tune) {
            problems.push(reason);
        }
    }
}
