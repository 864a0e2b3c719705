//! `gputexel probe`: measures the effects of an engine's parameters by asking it, and writes a dataset.

pub mod losses;
mod rounds;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gputexel::chess::selection::Selection;
use gputexel::chess::text::PointOfView;
use gputexel::dataset::tensors;
use gputexel::extraction::ExtractSettings;
use gputexel::matches::client::{EngineCommand, PARAMETERS_WORD};
use gputexel::matches::probe::{
    Ask, EvalPattern, ProbeEvent, ProbeParameter, ProbeProgress, ProbeReport, ProbeSettings, Survey, clear,
    is_begun, probe,
};
use gputexel::matches::{cores, deadline_from_seconds};
use gputexel::spsa::lists::{ListEntry, read_list};
use gputexel::{Error, Result};
use indicatif::{ProgressBar, ProgressFinish};
use rounds::RoundArgs;
use serde_json::json;

use super::context::Context;
use super::lines::LineTimer;
use super::output::print_result;
use super::reading::{ReadingArgs, describe_source, parse_view};
use super::subcommand::{Subcommand, short_help};
use super::table::{bytes, counted, duration, grouped, result_table, some_of};

/// Names in a line.
pub const NAMED: usize = 12;

const ABOUT: &str = "\
An engine whose evaluation can be set by UCI options needs no trace: each option is a parameter, and its effect on a \
position is the change of the evaluation when it is moved. What the engine's numbers mean is found by asking: whether it \
has an 'eval' command (otherwise searches of one node or one ply are asked for), whose view they have, their unit, \
whether they repeat, and which parameters they are proportional to.

A program that reads its parameters from a file is a command with {params}: it is started once for each set of values, \
with the name of a file of lines 'NAME VALUE' in that place, reads a FEN per line and prints a number per line.

The dataset is one of imported features, whose values are the same in all phases:

  gputexel probe ./engine quiet.epd -o probed.bin
  gputexel tune probed.bin --out runs/probed
  gputexel export runs/probed --to uci --untapered

Where parameters are not linear, coefficients hold near the values at which they were measured, and --rounds goes on:

  gputexel probe ./engine quiet.epd -o probed.bin --rounds 5 --out runs/probed --tune '--holdout 0.2'\n\n";

const EXAMPLES: &str = "\
Examples:\n  \
gputexel probe /usr/games/glaurung positions.epd -o glaurung.bin\n  \
gputexel probe ./engine positions.epd -o d.bin --option 'Mobility*'\n  \
gputexel probe './engine evaluate {params}' positions.epd -o d.bin \\\n      --parameters list.params";

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "output", "option", "parameters", "set", "processes", "rounds", "resume", "threads",
    ])),
    after_help = EXAMPLES,
    after_long_help = format!("{ABOUT}{EXAMPLES}")
)]
pub struct ProbeArgs {
    /// UCI engine (a program or a quoted command line), or a command with {params} that prints evaluations
    #[arg(value_name = "ENGINE")]
    engine: String,
    /// Games, labeled positions or training data
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Dataset to write
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    output: PathBuf,
    /// Replace the output if it exists, and start an interrupted probe again
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Continue an interrupted probe to the same output
    #[arg(long)]
    resume: bool,
    /// Tune the options whose names match, such as 'Mobility*' or '*_mg'; may be given several times [default: numeric
    /// options whose names are not about search, machine or interface]
    #[arg(long, value_name = "PATTERN", conflicts_with = "parameters", help_heading = "Parameters")]
    option: Vec<String>,
    /// List of the parameters, with values and bounds, in any format of `spsa convert` (.params, OpenBench, JSON)
    #[arg(long, value_name = "FILE", help_heading = "Parameters")]
    parameters: Option<PathBuf>,
    /// Other UCI option; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engine")]
    set: Vec<String>,
    /// Question: eval (the command), nodes (go nodes 1) or depth (go depth 1) [default: the first that works]
    #[arg(long, value_name = "QUESTION", help_heading = "Engine")]
    ask: Option<String>,
    /// Text around the evaluation in the answer, such as 'Final evaluation {score} (white' [default: detected]
    #[arg(long, value_name = "TEXT", help_heading = "Engine")]
    eval_pattern: Option<String>,
    /// Point of view of evaluations: white, stm (the side to move) or auto
    #[arg(long, value_name = "VIEW", default_value = "auto", help_heading = "Engine")]
    eval_view: String,
    /// Number of processes [default: one per core]; does not change the result
    #[arg(long, value_name = "N", help_heading = "Engine")]
    processes: Option<usize>,
    /// Seconds without an answer after which the engine counts as hung
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, help_heading = "Engine")]
    deadline: f64,
    /// Seconds for the engine to become ready
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, help_heading = "Engine")]
    start_deadline: f64,
    #[command(flatten)]
    rounds: RoundArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

impl ProbeArgs {
    fn probe(&self, settings: &ProbeSettings, overwrite: bool, context: &Context) -> anyhow::Result<()> {
        let mut display = Display::begin(context);
        let observe = &mut |event: ProbeEvent<'_>| display.show(event, context);
        let (report, mut probed) =
            probe(&self.inputs, settings, &self.output, &context.cancel.into(), observe)?;
        let rounds = self.rounds.run(&mut probed, &self.output, context, (&mut display, overwrite))?;
        probed.finish();
        drop(display);
        let object = json!({ "probe": report, "rounds": rounds });
        print_result(context, &object, || {
            describe(&report, self.rounds.rounds.is_some()) + &rounds::describe(&rounds)
        })
    }

    fn settings(&self) -> Result<ProbeSettings> {
        let command = engine_command(&self.engine, &self.set, Some(self.start_deadline))?;
        if command.reads_values() && !(self.set.is_empty() && self.option.is_empty() && self.ask.is_none()) {
            let reason = format!(
                "{PARAMETERS_WORD} makes ENGINE a program without options: --set, --option and --ask"
            );
            return Err(Error::Usage(format!("{reason} do not apply to it")));
        }
        let mut reading = ExtractSettings::default();
        self.reading.apply(&mut reading, Selection::default())?;
        let view = parse_view(&self.eval_view)?;
        let ask = self.ask.as_deref().map(str::parse::<Ask>).transpose()?;
        if ask == Some(Ask::Lines) {
            return Err(Error::Usage("--ask lines: a program is a command with {params}".to_string()));
        }
        let processes = process_count(self.processes)?;
        Ok(ProbeSettings {
            command,
            patterns: self.option.clone(),
            parameters: self.listed()?,
            ask,
            pattern: self.eval_pattern.as_deref().map(str::parse::<EvalPattern>).transpose()?,
            by_mover: view.map(|view| view == PointOfView::Stm),
            processes,
            deadline: deadline_from_seconds(self.deadline)?,
            reading,
            resume: self.resume,
            force: self.force,
        })
    }

    /// An earlier process has written the output by asking the same program, and its rounds are done. What it was
    /// killed too early to remove is removed.
    fn is_complete(&self, settings: &ProbeSettings) -> Result<bool> {
        let Some(rounds) = self.rounds.finished() else { return Ok(false) };
        if !self.output.is_file() || is_begun(&self.output) {
            return Ok(false);
        }
        let record = tensors(&self.output)?.0.probing;
        let is_own = record
            .is_some_and(|record| settings.command.to_command_line().is_ok_and(|own| own == record.command));
        if is_own {
            rounds.iter().chain([&self.output]).for_each(|output| clear(output));
        }
        Ok(is_own)
    }

    fn listed(&self) -> Result<Option<Vec<ProbeParameter>>> {
        let Some(path) = &self.parameters else { return Ok(None) };
        let list = read_list(path, None)?;
        let parameter = |entry: ListEntry| ProbeParameter {
            name: entry.name,
            start: entry.start,
            min: entry.min.unwrap_or(f64::NEG_INFINITY),
            max: entry.max.unwrap_or(f64::INFINITY),
            integer: entry.integer,
        };
        Ok(Some(list.entries.into_iter().map(parameter).collect()))
    }
}

impl Subcommand for ProbeArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let settings = self.settings()?;
        let overwrite = self.force || self.resume;
        if self.inputs.iter().any(|path| path.as_os_str() == "-") {
            return Err(Error::Usage("-: positions to ask about are read from files".to_string()).into());
        }
        if self.resume && self.is_complete(&settings)? {
            let text = format!("{}: is complete: nothing is left to resume\n", self.output.display());
            return print_result(context, &json!({ "complete": self.output }), || text);
        }
        let (new, lock) = self.rounds.begin(overwrite)?;
        let result = self.probe(&settings, overwrite, context);
        drop(lock);
        new.remove_empty();
        result
    }
}

struct Display {
    bar: ProgressBar,
    timer: Option<LineTimer>,
    begun: Instant,
}

impl Display {
    fn begin(context: &Context) -> Self {
        let bar = context.bar(0, "{bar:16} {pos}/{len} positions, {wide_msg}");
        let timer = context.prints_lines().then(LineTimer::start);
        Self { bar: bar.with_finish(ProgressFinish::AndClear), timer, begun: Instant::now() }
    }

    fn show(&mut self, event: ProbeEvent<'_>, context: &Context) {
        match event {
            ProbeEvent::Read(read) => {
                self.print(&read.sources.iter().map(describe_source).collect::<String>(), context);
            }
            ProbeEvent::Surveyed(survey) => {
                self.print(&describe_survey(survey), context);
            }
            ProbeEvent::Progress(at) => self.progress(at),
        }
    }

    fn line(&self, name: &str, text: &str, context: &Context) {
        self.print(&format!("{name:<12}{text}"), context);
    }

    fn print(&self, text: &str, context: &Context) {
        if !context.json {
            self.bar.suspend(|| text.lines().for_each(|line| note!("{}", gputexel::io::printable(line))));
        }
    }

    fn progress(&mut self, at: ProbeProgress) {
        self.bar.set_length(at.total);
        self.bar.set_position(at.positions);
        if at.positions == at.known {
            self.begun = Instant::now();
            self.bar.set_message("");
            return;
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let done = at.positions.saturating_sub(at.known) as f64;
        let left = seconds / done * at.total.saturating_sub(at.positions) as f64;
        let speed = at.evaluations as f64 / seconds.max(1e-9);
        let text = format!("{} evaluations/s, {} left", grouped(speed as u64), duration(left));
        if self.timer.as_mut().is_some_and(LineTimer::is_due) {
            note!("{} of {} positions, {text}", grouped(at.positions), grouped(at.total));
        }
        self.bar.set_message(text);
    }
}

/// `seconds` to become ready.
pub fn engine_command(text: &str, settings: &[String], seconds: Option<f64>) -> Result<EngineCommand> {
    let mut command: EngineCommand = text.parse()?;
    command.make_absolute();
    if let Some(seconds) = seconds {
        command.start_deadline = start_deadline(seconds)?;
    }
    command.settings = settings.iter().map(|text| text.parse()).collect::<Result<_>>()?;
    Ok(command)
}

/// By default one per core.
pub fn process_count(given: Option<usize>) -> Result<usize> {
    match given {
        Some(0) => Err(Error::Usage("--processes must be at least 1".to_string())),
        given => Ok(given.unwrap_or_else(cores)),
    }
}

/// More than 0 and at most a day.
fn start_deadline(seconds: f64) -> Result<Duration> {
    deadline_from_seconds(seconds).map_err(|_| {
        Error::setting("start-deadline", seconds, "expected seconds, more than 0 and at most a day")
    })
}

fn describe_survey(survey: &Survey) -> String {
    let record = &survey.record;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        text += &format!("{name:<12}{value}\n");
    };
    let question = record.ask.parse::<Ask>().map_or("", Ask::words);
    let pattern = record.pattern.as_ref().map_or(String::new(), |pattern| format!(", read as '{pattern}'"));
    let fresh = if record.fresh { ", tables emptied for each position" } else { "" };
    line("question", format!("{question}{pattern}{fresh}"));
    for reason in &survey.passed_over {
        line("passed over", reason.clone());
    }
    let view = if record.view == "stm" { "the side to move" } else { "White" };
    let unit = if record.unit_cp == 1.0 { "centipawns" } else { "pawns" };
    line("evaluation", format!("{unit}, seen by {view}, in steps of {} cp", short(record.resolution_cp)));
    line(
        "noise",
        match record.noise_cp {
            0.0 => "none: the same answers again".to_string(),
            noise => format!("answers differ by up to {} cp when asked again", short(noise)),
        },
    );
    if !record.options.is_empty() {
        let set: Vec<String> = record.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        line("set", set.join(", "));
    }
    let moving = record.parameters.iter().filter(|one| one.step != 0.0);
    let nonlinear: Vec<&str> =
        moving.clone().filter(|one| !one.linear).map(|one| one.name.as_str()).collect();
    line("parameters", format!("{}, {} of them not linear", moving.count(), nonlinear.len()));
    for (name, list) in [
        ("not linear", nonlinear),
        ("one value", survey.fixed.iter().map(String::as_str).collect()),
        ("left out", survey.left_out.iter().map(String::as_str).collect()),
    ] {
        if !list.is_empty() {
            line(name, some_of(&list, NAMED));
        }
    }
    if !survey.unmirrored.is_empty() {
        let list = some_of(&survey.unmirrored, NAMED);
        line(
            "warning",
            format!(
                "exchanged colors have other evaluations once {list} are moved: does Black read the mirrored square?"
            ),
        );
    }
    for (name, value) in &survey.failures {
        line("fails", format!("with {name} = {value}: its step and bounds were reduced"));
    }
    if survey.ended > 0 {
        line("left out", format!("{} without a legal move", counted(survey.ended, "position")));
    }
    let all = survey.per_position * survey.positions as f64;
    line(
        "to ask",
        format!(
            "{:.0} evaluations for each position or more, {} in all",
            survey.per_position,
            grouped(all as u64)
        ),
    );
    text
}

pub fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `goes_on` if rounds follow.
fn describe(report: &ProbeReport, goes_on: bool) -> String {
    let import = &report.import;
    let mut text = String::new();
    let parameters = &report.survey.record.parameters;
    let is_linear = |name: &&String| parameters.iter().any(|one| one.name == **name && one.linear);
    let (idle, bent): (Vec<&String>, Vec<&String>) = report.without_effect.iter().partition(is_linear);
    let share = |list: &[&String]| {
        let (count, all) = (list.len() as u64, counted(parameters.len() as u64, "parameter"));
        format!("{} of {all}", grouped(count))
    };
    if !idle.is_empty() {
        let list = some_of(&idle, NAMED);
        text += &format!("no effect   {}, in no position, not tuned: {list}\n", share(&idle));
    }
    if !bent.is_empty() {
        let list = some_of(&bent, NAMED);
        let words = "with an effect only together or when moved far, not tuned";
        text += &format!("flat        {}, {words}: {list}\n", share(&bent));
    }
    let small = &report.small;
    if small.matter() {
        let counts = format!("{} of {} effects", grouped(small.small), grouped(small.all));
        let words =
            format!("are changes of {} cp or less, of which rounding hides others", short(small.most_cp));
        let names = match &small.parameters[..] {
            [] => String::new(),
            names => format!("; none is larger for {}", some_of(names, NAMED)),
        };
        text += &format!("small       {counts} {words}{names}\n");
    }
    if report.lost > 0 {
        text += &format!("left out    {} without an evaluation\n", counted(report.lost, "position"));
    }
    let check = &report.check;
    let linear = report.survey.record.is_linear();
    let verdict = match (linear, check.beyond) {
        (true, 0) => ": rounding explains all".to_string(),
        (true, beyond) => {
            format!("; rounding does not explain {} of {}", grouped(beyond), grouped(check.compared))
        }
        (false, _) => "; some parameters are not linear".to_string(),
    };
    let rounds = if goes_on || (linear && check.explains()) {
        ""
    } else {
        ", and --rounds measures again around new values"
    };
    text += &format!(
        "check       predictions under random values differ by {:.2} cp on average, at most {:.1}{verdict}{rounds}\n",
        check.mean_cp(),
        check.largest_cp
    );
    if !report.blamed.is_empty() {
        let list = some_of(&report.blamed, NAMED);
        text += &format!("not linear  {list}, by these differences\n");
    }
    text += &format!(
        "{}: {}, {}, {:.1} coefficients per position, {}\n",
        import.output,
        counted(import.positions, "position"),
        counted(import.features as u64, "parameter"),
        import.entries as f64 / import.positions.max(1) as f64,
        bytes(import.output_bytes)
    );
    text += &result_table(&import.results, ["White wins", "Black wins"], import.positions);
    let per_second = report.evaluations as f64 / report.seconds.max(1e-9);
    text += &format!(
        "{} in {}, {}/s\n",
        counted(report.evaluations, "evaluation"),
        duration(report.seconds),
        grouped(per_second as u64)
    );
    text
}
