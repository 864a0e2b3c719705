//! Datasets without a trace: an engine is asked for evaluations of positions while its parameters are moved, and
//! their effects are the coefficients.

mod again;
pub mod answer;
mod asking;
mod linearity;
mod memory;
mod output;
mod parameters;
mod plan;
mod pool;
mod positions;
mod probed;
mod search;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

pub use again::{Again, AgainSettings, Cause, Deviation, KnownPosition, ask_again};
pub use answer::EvalPattern;
pub use asking::Ask;
pub use memory::{clear, is_begun};
pub use parameters::{Options, ProbeParameter, parameters_of};
pub use probed::{Probed, SmallEffects};
pub use search::Differences;

use crate::client::{
    EngineCommand, EngineOption, OptionKind, PARAMETERS_WORD, Setting, UciPlayer, find_program,
};
use crate::unfinished::begin_again;
use asking::{Asker, Source, Way};
use gputexel_chess::formats::Format;
use gputexel_ingest::conversion::{ConversionReport, ConversionSettings, convert};
use gputexel_ingest::extraction::{ExtractSettings, Hooks};
use gputexel_ingest::trace::{ImportReport, ProbedParameter, ProbingRecord};
use gputexel_io::{Advice, Error, Result, StopFlag, counted, did_you_mean};
use memory::{Block, Header, Memory, POSITIONS, Request, TRACE};
use plan::Plan;
use positions::{Labeled, Positions};
use search::Search;
use survey::Wishes;

/// For each process, so that the time left can be told.
const BLOCKS: usize = 8;
/// Least and most positions in a block of an engine, and of a program, which is started for each set of values.
const BLOCK: [usize; 2] = [200, 2000];
const BLOCK_OF_PROGRAM: [usize; 2] = [1000, 100_000];
/// Positions about which an engine is asked again when a probe is resumed.
const CHECKED: usize = 100;

const HASTE: Duration = Duration::from_secs(10);
/// Positions in a block at which an engine may fail.
const SPARED: usize = 3;

#[derive(Clone, Debug)]
pub struct ProbeSettings {
    /// Its settings are options that are no parameters.
    pub command: EngineCommand,
    /// Of names of options that are parameters; without any, chosen by their names.
    pub patterns: Vec<String>,
    /// Instead; bounds that are infinite are those of the engine.
    pub parameters: Option<Vec<ProbeParameter>>,
    /// Found out if `None`.
    pub ask: Option<Ask>,
    /// Around evaluations; found out if `None`.
    pub pattern: Option<EvalPattern>,
    /// Evaluations are from the side to move's view; found out if `None`.
    pub by_mover: Option<bool>,
    pub processes: usize,
    pub deadline: Duration,
    pub reading: ExtractSettings,
    pub resume: bool,
    pub force: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Survey {
    pub record: ProbingRecord,
    /// Questions that were tried first, and why they are of no use.
    pub passed_over: Vec<String>,
    /// Parameters under whose other values evaluations differ once colors are exchanged.
    pub unmirrored: Vec<String>,
    /// Numeric options that are taken to concern the search or the machine.
    pub left_out: Vec<String>,
    /// With a range of one value.
    pub fixed: Vec<String>,
    /// Parameters and values at which the engine failed.
    pub failures: Vec<(String, f64)>,
    pub positions: u64,
    pub ended: u64,
    pub per_position: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct ProbeProgress {
    pub positions: u64,
    /// Of those, by earlier processes.
    pub known: u64,
    pub total: u64,
    pub evaluations: u64,
}

#[derive(Debug)]
pub enum ProbeEvent<'a> {
    Read(&'a ConversionReport),
    Surveyed(&'a Survey),
    /// Asking has begun, or a block was finished.
    Progress(ProbeProgress),
}

#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    pub import: ImportReport,
    pub survey: Survey,
    pub evaluations: u64,
    pub lost: u64,
    /// In any position; not tuned.
    pub without_effect: Vec<String>,
    /// Of predictions and evaluations.
    pub check: Differences,
    /// Taken to be linear, but their effects differ from predictions; most important first.
    pub blamed: Vec<String>,
    pub small: SmallEffects,
    pub seconds: f64,
}

/// Writes a dataset of imported features. Finished blocks are kept in a folder next to the output with the suffix
/// `.probe`, which [`Probed::finish`] removes.
pub fn probe(
    inputs: &[PathBuf],
    settings: &ProbeSettings,
    output: &Path,
    stop: &StopFlag,
    observe: &mut dyn FnMut(ProbeEvent<'_>),
) -> Result<(ProbeReport, Probed)> {
    let begun = Instant::now();
    if !settings.force && output.exists() && !is_begun(output) {
        return Err(Error::Exists(output.to_path_buf()));
    }
    let mut memory = Memory::open(output, settings.resume, settings.force)?;
    let result = source(settings, stop).and_then(|(source, left_out)| {
        run(inputs, settings, (output, begun), source, (&mut memory, left_out), observe)
    });
    match result {
        Ok((report, mut probed)) => {
            probed.memories.push(memory);
            Ok((report, probed))
        }
        Err(error) => {
            memory.discard_if_empty();
            Err(error)
        }
    }
}

/// With the names of numeric options that are no parameters.
fn source(settings: &ProbeSettings, stop: &StopFlag) -> Result<(Source, Vec<String>)> {
    let mut command = settings.command.clone();
    let mut left_out = Vec::new();
    let parameters = match (command.reads_values(), &settings.parameters) {
        (true, Some(listed)) => listed.clone(),
        (true, None) => {
            return Err(Error::Usage(format!(
                "{command}: a program needs a list of its parameters (--parameters)"
            )));
        }
        (false, listed) => {
            let options = options_of(&command, stop)?;
            let chosen = if let Some(listed) = listed {
                listed.iter().map(|one| offered(one, &options, &command)).collect::<Result<_>>()?
            } else {
                let found = parameters_of(&options, &settings.patterns);
                left_out = found.left_out;
                found.parameters
            };
            command.settings.splice(0..0, quiet_settings(&options, &chosen, &settings.command.settings));
            chosen
        }
    };
    if parameters.is_empty() {
        let reason = match (&settings.patterns[..], left_out.is_empty()) {
            ([], true) => "has no numeric options".to_string(),
            ([], false) => {
                format!("has no numeric options but {}; --option names those to tune", left_out.join(", "))
            }
            (patterns, _) => format!("no numeric option is named like {}", patterns.join(", ")),
        };
        return Err(Error::Engine { engine: command.to_string(), reason });
    }
    let set = |parameter: ProbeParameter| {
        let mut settings = command.settings.iter().rev();
        let own = settings.find(|setting| setting.name.eq_ignore_ascii_case(&parameter.name));
        let start = own.and_then(|setting| setting.value.parse().ok()).unwrap_or(parameter.start);
        ProbeParameter { start, ..parameter }.checked()
    };
    let parameters = parameters.into_iter().map(set).collect::<Result<Vec<_>>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = parameters.iter().find(|one| !names.insert(one.name.to_lowercase())) {
        return Err(Error::Usage(format!("{}: is listed twice", twice.name)));
    }
    let (deadline, stop) = (settings.deadline, stop.clone());
    let is_program = command.reads_values();
    Ok((Source { command, is_program, parameters, deadline, stop }, left_out))
}

fn options_of(command: &EngineCommand, stop: &StopFlag) -> Result<Vec<EngineOption>> {
    let started = UciPlayer::start_stoppable(command.clone(), stop);
    let player = started.map_err(|error| match (&error, find_program(&command.program)) {
        (Error::Engine { .. }, Some(_)) => {
            let words = format!(
                "it must speak UCI; a program that reads a file of values has {PARAMETERS_WORD} in its command; "
            );
            let advice = Advice::default().text(words).setting("start-deadline", "SECONDS");
            error.advise(advice.text(" gives it more time"))
        }
        _ => error,
    })?;
    Ok(player.options().to_vec())
}

fn offered(
    listed: &ProbeParameter,
    options: &[EngineOption],
    command: &EngineCommand,
) -> Result<ProbeParameter> {
    let option = options.iter().find(|option| option.name.eq_ignore_ascii_case(&listed.name));
    let mut own = listed.clone();
    match option.map(|option| (&option.name, &option.kind)) {
        Some((name, OptionKind::Spin { min, max, .. })) => {
            own = ProbeParameter { name: name.clone(), integer: true, ..own };
            (own.min, own.max) = (own.min.max(*min as f64), own.max.min(*max as f64));
        }
        // Numbers with decimals have no type of their own.
        Some((name, OptionKind::String { .. })) => own.name.clone_from(name),
        Some(_) => {
            return Err(Error::Usage(format!(
                "{}: is an option of {command}, but not a number",
                listed.name
            )));
        }
        None => {
            let near = did_you_mean(&listed.name, options.iter().map(|option| option.name.clone()));
            return Err(Error::Usage(format!("{}: is no option of {command}{near}", listed.name)));
        }
    }
    Ok(own)
}

/// No book, one thread, and the smallest table, so that the engine answers the same each time.
fn quiet_settings(
    options: &[EngineOption],
    parameters: &[ProbeParameter],
    given: &[Setting],
) -> Vec<Setting> {
    let is_free = |name: &str| {
        !given.iter().any(|setting| setting.name.eq_ignore_ascii_case(name))
            && !parameters.iter().any(|parameter| parameter.name.eq_ignore_ascii_case(name))
    };
    let setting = |option: &EngineOption| {
        let name = option.name.to_lowercase();
        let value = match &option.kind {
            OptionKind::Check { default: true }
                if ["ownbook", "use book", "book"].contains(&name.as_str()) =>
            {
                "false".to_string()
            }
            OptionKind::Spin { min, .. }
                if ["threads", "number of threads", "hash"].contains(&name.as_str()) =>
            {
                (*min).max(1).to_string()
            }
            _ => return None,
        };
        Some(Setting { name: option.name.clone(), value })
    };
    options.iter().filter(|option| is_free(&option.name)).filter_map(setting).collect()
}

fn run(
    inputs: &[PathBuf],
    settings: &ProbeSettings,
    (output, begun): (&Path, Instant),
    source: Source,
    (memory, left_out): (&mut Memory, Vec<String>),
    observe: &mut dyn FnMut(ProbeEvent<'_>),
) -> Result<(ProbeReport, Probed)> {
    let path = memory.file(POSITIONS);
    let mut reading = settings.reading.clone();
    reading.force = true;
    let conversion = ConversionSettings { reading, format: Format::Games, default_score_cp: None };
    let read =
        convert(inputs, &conversion, &path, &mut Hooks { cancel: &source.stop, progress: &mut |_| {} })?;
    observe(ProbeEvent::Read(&read));
    let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
    let positions = Positions::parse(&text, read.has_games, &path)?;
    drop(text);
    if positions.all.is_empty() {
        return Err(Error::Usage(format!("{}: no position has a legal move", inputs[0].display())));
    }
    let request = request(settings, &source);
    let key = (positions.all.len() as u64, format!("{:016x}", positions.key));
    let (plan, mut blocks) = if let Some(known) = memory.recall(&request, &key)? {
        known
    } else {
        let wishes =
            Wishes { ask: settings.ask, pattern: settings.pattern.clone(), by_mover: settings.by_mover };
        let block = block_size(&source, positions.all.len(), settings.processes);
        // What does not answer a few positions soon is not asked about many.
        let hasty = Source { deadline: source.deadline.min(HASTE), ..source.clone() };
        let mut asker = Asker::start(&hasty)?;
        let plan = survey::survey(&mut asker, &hasty, &positions, &wishes, block)?;
        memory.begin(&Header::new(request.clone(), key.clone(), plan.clone()))?;
        (plan, BTreeMap::new())
    };
    let survey = summarize(&source, &plan, &positions, left_out);
    output::check(&survey, &positions)?;
    observe(ProbeEvent::Surveyed(&survey));
    let known = (&mut *memory, &mut blocks);
    measure(&source, &plan, &positions, settings.processes, known, observe)?;
    let evaluations = blocks.values().map(|block| block.asked).sum();
    let lost = blocks.values().map(|block| block.lost.len() as u64).sum();
    if lost == positions.all.len() as u64 {
        return Err(source.error("gives no evaluation in any position"));
    }
    let probed = Probed {
        source,
        request,
        key,
        plan,
        positions,
        blocks,
        inputs: inputs.to_vec(),
        processes: settings.processes,
        resume: settings.resume,
        memories: Vec::new(),
    };
    let import = probed.write(None, &memory.file(TRACE), output, settings.force || settings.resume)?;
    let (without_effect, check, blamed) = (probed.without_effect(), probed.check(), probed.blamed());
    let (small, seconds) = (probed.small_effects(), begun.elapsed().as_secs_f64());
    let report =
        ProbeReport { import, survey, evaluations, lost, without_effect, check, blamed, small, seconds };
    Ok((report, probed))
}

/// With values and bounds.
fn parameters_in(source: &Source) -> Vec<(String, [f64; 3])> {
    let parameter = |one: &ProbeParameter| (one.name.clone(), [one.start, one.min, one.max]);
    source.parameters.iter().map(parameter).collect()
}

fn request(settings: &ProbeSettings, source: &Source) -> Request {
    Request {
        command: source.command.to_string(),
        options: pairs(&source.command.settings),
        parameters: parameters_in(source),
        wishes: [
            settings.ask.map(|ask| ask.name().to_string()),
            settings.pattern.as_ref().map(ToString::to_string),
            settings.by_mover.map(|by_mover| by_mover.to_string()),
        ],
    }
}

fn pairs(settings: &[Setting]) -> Vec<(String, String)> {
    settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
}

fn block_size(source: &Source, positions: usize, processes: usize) -> usize {
    if source.is_program {
        let most = positions.div_ceil(processes).clamp(BLOCK_OF_PROGRAM[0], BLOCK_OF_PROGRAM[1]);
        // Of equal size: the last one takes as many starts as the others.
        positions.div_ceil(positions.div_ceil(most).max(1))
    } else {
        positions.div_ceil(processes.saturating_mul(BLOCKS)).clamp(BLOCK[0], BLOCK[1])
    }
}

fn summarize(source: &Source, plan: &Plan, positions: &Positions, left_out: Vec<String>) -> Survey {
    let name = |i: usize| source.parameters[i].name.clone();
    let parameter = |(one, step): (&ProbeParameter, &plan::Step)| ProbedParameter {
        name: one.name.clone(),
        start: one.start,
        min: step.bounds[0],
        max: step.bounds[1],
        integer: one.integer,
        step: step.change,
        linear: step.linear,
    };
    let failed = |i: usize| plan.failures.iter().any(|(other, _)| *other == i as u32);
    Survey {
        record: ProbingRecord {
            command: source.command.to_command_line().unwrap_or_else(|_| source.command.to_string()),
            options: pairs(&source.command.settings),
            ask: plan.ask.clone(),
            pattern: plan.pattern.clone(),
            fresh: plan.fresh,
            view: if plan.by_mover { "stm" } else { "white" }.to_string(),
            unit_cp: plan.unit_cp,
            resolution_cp: plan.resolution_cp,
            noise_cp: plan.noise_cp,
            parameters: source.parameters.iter().zip(&plan.steps).map(parameter).collect(),
            sample: Vec::new(),
        },
        passed_over: plan.passed_over.clone(),
        unmirrored: plan.unmirrored.clone(),
        left_out,
        fixed: (0..plan.steps.len())
            .filter(|i| plan.steps[*i].change == 0.0 && !failed(*i))
            .map(name)
            .collect(),
        failures: plan.failures.iter().map(|(i, value)| (name(*i as usize), *value)).collect(),
        positions: positions.all.len() as u64,
        ended: positions.ended,
        per_position: plan.per_position,
    }
}

/// Refuses an engine whose evaluations under the starting values are not those of a finished block.
fn check_engine(source: &Source, plan: &Plan, way: &Way, chunk: &[Labeled], block: &Block) -> Result<()> {
    let known: Vec<(&Labeled, f64)> = output::evaluations(block, chunk).take(CHECKED).collect();
    let asked = known.iter().map(|(position, _)| (position.fen.as_str(), position.black));
    let now = Asker::start(source)?
        .evaluate(way, &source.start(), asked)
        .map_err(|failed| failed.into_error(source))?;
    let slack = plan.noise_cp + plan.resolution_cp / 2.0;
    let others = known.iter().zip(&now).filter(|((_, then), now)| (then - **now).abs() > slack).count();
    match others {
        0 => Ok(()),
        others => Err(source
            .error(&format!(
                "answers otherwise than when the probe began, in {others} of {}",
                counted(known.len() as u64, "position")
            ))
            .advise(begin_again())),
    }
}

fn measure(
    source: &Source,
    plan: &Plan,
    positions: &Positions,
    processes: usize,
    (memory, blocks): (&mut Memory, &mut BTreeMap<u64, Block>),
    observe: &mut dyn FnMut(ProbeEvent<'_>),
) -> Result<()> {
    let way = plan.way()?;
    let chunks: Vec<&[Labeled]> = positions.all.chunks(plan.block.max(1)).collect();
    if let Some(block) = blocks.values().next()
        && let Some(chunk) = chunks.get(block.block as usize)
    {
        check_engine(source, plan, &way, chunk, block)?;
    }
    let known: u64 =
        blocks.keys().filter_map(|n| chunks.get(*n as usize)).map(|chunk| chunk.len() as u64).sum();
    let open: Vec<usize> = (0..chunks.len()).filter(|n| !blocks.contains_key(&(*n as u64))).collect();
    let (mut done, mut evaluations) = (known, 0);
    let total = positions.all.len() as u64;
    observe(ProbeEvent::Progress(ProbeProgress { positions: known, known, total, evaluations }));
    let work = |asker: &mut Asker<'_>, number: usize| {
        let chunk: Vec<&Labeled> = chunks[number].iter().collect();
        let before = asker.asked;
        let search = Search::begin(asker, (plan, way.clone()), source, &chunk, (number as u64 + 1, SPARED));
        let measured = search.and_then(Search::run).map_err(|failed| failed.into_error(source))?;
        Ok(output::block(number, &measured, (source, positions.has_games), &chunk, asker.asked - before))
    };
    pool::each(source, processes, &open, work, |number, block: Block| {
        memory.keep(&block)?;
        done += chunks[number].len() as u64;
        evaluations += block.asked;
        blocks.insert(block.block, block);
        observe(ProbeEvent::Progress(ProbeProgress { positions: done, known, total, evaluations }));
        Ok(())
    })
    .map_err(|error| match error {
        Error::Interrupted(_) => Error::Interrupted(format!(
            "{done} of {total} positions are done; the same command with --resume continues"
        )),
        other => other,
    })
}
