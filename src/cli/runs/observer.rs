//! Output of a run in progress: the opening and its progress.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gputexel::chess::selection::Reason;
use gputexel::evaluator::Fallback;
use gputexel::extraction::Report;
use gputexel::io::run_folder::SO_FAR;
use gputexel::run::{Deciding, RunEvent, Start};
use gputexel::trace::ImportReport;
use gputexel::tuning::{EpochRecord, Stopping};
use gputexel::{Error, Result};
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::super::backend::program;
use super::super::context::Context;
use super::super::lines::LineTimer;
use super::super::output::print_text;
use super::super::reading_progress::Reading;
use super::super::table::{counted, duration, grouped};
use super::blend::blend_lines;
use super::strength::{scale_line, starts_line, strength_lines};

fn print_opening(start: &Start<'_>) -> Result<()> {
    let Start { record, data, split, backend, resumed, .. } = *start;
    let config = &record.config;
    let mut out = String::new();
    let games = match data.has_games() {
        true => counted(data.metadata().games, "game"),
        false => "no games: split by position".to_string(),
    };
    out += &format!(
        "dataset     {}, {}, {} ({})\n",
        counted(data.len() as u64, "position"),
        games,
        counted(2 * data.feature_count() as u64, "parameter"),
        data.metadata().feature_set.name()
    );
    if split.held_out_part().is_some() {
        out += &format!("held out    {}\n", counted(split.held_out().count() as u64, "position"));
    }
    out += &format!("backend     {backend}\n");
    out += &format!("prior       {}\n", config.prior);
    if let Some(basis) = config.named_basis() {
        out += &format!("basis       {}, {}\n", basis.name, counted(basis.dimension() as u64, "coordinate"));
        let first = basis.theta(&basis.start());
        let moved = first.iter().zip(&config.prior_theta).filter(|(a, b)| (*a - *b).abs() > 1e-9).count();
        if moved > 0 {
            out += &format!(
                "start       not at the prior for {moved} of {}, because of the basis or its bounds\n",
                counted(first.len() as u64, "parameter")
            );
        }
    }
    out += &blend_lines(start);
    out += &scale_line(start);
    out += &starts_line(start);
    out += &strength_lines(start);
    if let Some(epochs) = resumed {
        out += &format!("resumed     after {}\n", counted(epochs, "epoch"));
    }
    if let Some(folder) = start.folder {
        out += &format!("run         {}\n", folder.path().display());
    }
    print_text(&out)
}

pub struct Observer<'a> {
    context: &'a Context,
    /// True to print settings and choices before the first step.
    verbose: bool,
    progress: Option<Progress>,
    reading: Option<Reading>,
    deciding: Option<Decision>,
    started: bool,
    /// True if positions were extracted, which are deleted with the folder unless training begins.
    extracted: bool,
    resamples: Option<Resamples>,
    /// Folder from which an interrupted run can be resumed.
    pub resumable: Option<PathBuf>,
}

impl<'a> Observer<'a> {
    pub fn new(context: &'a Context, verbose: bool) -> Self {
        Self {
            context,
            verbose,
            progress: None,
            reading: None,
            deciding: None,
            started: false,
            extracted: false,
            resamples: None,
            resumable: None,
        }
    }

    pub fn observe(&mut self, event: RunEvent<'_>) -> Result<()> {
        let talks = !self.context.quiet && !self.context.json;
        match event {
            // A step of another command is quiet, the program is not.
            RunEvent::Warning(_) if self.context.quiet => (),
            RunEvent::Warning(text) => self.warn(|| note!("gputexel: warning: {text}")),
            RunEvent::Alert(text) => self.warn(|| alert!("gputexel: warning: {text}")),
            RunEvent::Extracting(at) => {
                self.reading.get_or_insert_with(|| Reading::begin(self.context)).show(at);
            }
            RunEvent::Extracted { report, output } => {
                self.reading = None;
                self.extracted = true;
                let tells = talks && self.verbose;
                print_extraction(tells, report, &output.display().to_string())?;
            }
            RunEvent::Traced { report } => {
                self.reading = None;
                self.extracted = true;
                print_trace(talks && self.verbose, report)?;
            }
            RunEvent::Opened { .. } => {}
            RunEvent::Deciding { what, progress, share } => {
                if self.deciding.as_ref().is_none_or(|decision| decision.what != what) {
                    self.deciding = Some(Decision::begin(self.context, what));
                }
                if let Some(decision) = &mut self.deciding {
                    decision.show(progress, share);
                }
            }
            RunEvent::Decided => self.deciding = None,
            RunEvent::Started(start) => {
                self.deciding = None;
                self.started = true;
                if talks && self.verbose {
                    print_opening(&start)?;
                }
                self.progress = Some(Progress::begin(self.context, &start, self.verbose));
            }
            RunEvent::Epoch { record, pairs } => {
                self.progress.iter_mut().for_each(|progress| progress.epoch(record, pairs));
            }
            RunEvent::Replaced(Fallback { error, evaluator }) => {
                self.warn(|| note!("gputexel: warning: {error}; continuing on the {evaluator}"));
            }
            RunEvent::Optimized => {
                if let Some(mut progress) = self.progress.take() {
                    progress.finish();
                }
            }
            RunEvent::Resampling { done, members, evaluations } => {
                let resamples = self.resamples.get_or_insert_with(|| Resamples::begin(self.context, members));
                resamples.show(done, members, evaluations);
            }
            RunEvent::Resampled => {
                if let Some(resamples) = self.resamples.take() {
                    resamples.bar.finish_and_clear();
                }
            }
            RunEvent::Resumable { folder } => self.resumable = Some(folder.to_path_buf()),
            _ => {}
        }
        Ok(())
    }

    /// Completes the error of an interrupted run with the command that resumes it, or with what is lost.
    pub fn with_hint(&self, error: Error) -> Error {
        match (error, &self.resumable) {
            (Error::Interrupted(at), Some(folder)) => Error::Interrupted(format!(
                "{at}{}; resume with '{} tune --resume {}'",
                so_far(folder),
                program(),
                folder.display()
            )),
            (Error::Interrupted(at), None) if !self.started => Error::Interrupted(format!(
                "{at}; training had not begun: there is nothing to resume{}",
                self.shortcuts()
            )),
            (error, _) => error,
        }
    }

    fn shortcuts(&self) -> String {
        let mut text = String::new();
        if self.extracted {
            text += "; a dataset made by 'gputexel extract' saves reading the input again";
        }
        if let Some(Decision { what: Deciding::Strength, .. }) = &self.deciding {
            text += "; --prior-strength with weights, or none, saves that search";
        }
        text
    }

    fn warn(&self, print: impl FnOnce()) {
        let bar = self.resamples.as_ref().map(|resamples| &resamples.bar);
        let bar = bar.or(self.progress.as_ref().map(|progress| &progress.bar));
        match bar.or(self.deciding.as_ref().map(|deciding| &deciding.bar)) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

/// Progress of a decision before a run or after it, as a bar, which clears itself when dropped, or as plain lines.
struct Decision {
    what: Deciding,
    bar: ProgressBar,
    begun: Instant,
    lines: Option<LineTimer>,
}

impl Decision {
    fn begin(context: &Context, what: Deciding) -> Self {
        let bar = if context.shows_progress() { ProgressBar::new(1000) } else { ProgressBar::hidden() };
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = context.prints_lines().then(LineTimer::start);
        Self { what, bar: bar.with_finish(ProgressFinish::AndClear), begun: Instant::now(), lines }
    }

    fn show(&mut self, progress: &str, share: Option<f64>) {
        let template = match share {
            Some(_) => "{bar:16} {elapsed}{wide_msg}",
            None => "{spinner} {elapsed}{wide_msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let left = share.and_then(|share| left_text(seconds, share)).unwrap_or_default();
        self.bar.set_position((1000.0 * share.unwrap_or_default()) as u64);
        self.bar.set_message(format!("{left}, choosing {progress}"));
        if let Some(lines) = &mut self.lines
            && lines.is_due()
        {
            // Failure to show progress is no reason to abort the run.
            let _ = print_text(&format!("choosing {progress}, {:.0} s{left}\n", lines.seconds()));
        }
    }
}

/// Describes the time left if a share was done in some time; `None` while that says nothing.
fn left_text(seconds: f64, share: f64) -> Option<String> {
    let left = seconds * (1.0 - share) / share;
    (seconds >= 1.0 && share > 0.0).then(|| format!(", at most {} left", duration(left)))
}

struct Resamples {
    bar: ProgressBar,
    lines: Option<LineTimer>,
}

impl Resamples {
    fn begin(context: &Context, members: usize) -> Self {
        let bar = context.bar(members as u64, "{bar:16} {pos}/{len} resamples, {wide_msg}");
        Self { bar, lines: context.prints_lines().then(LineTimer::start) }
    }

    fn show(&mut self, done: usize, members: usize, evaluations: usize) {
        let evaluations = counted(evaluations as u64, "evaluation");
        self.bar.set_position(done as u64);
        if self.lines.as_mut().is_some_and(LineTimer::is_due) {
            let members = counted(members as u64, "resample");
            // Failure to show progress is no reason to abort the bootstrap.
            let _ = print_text(&format!("bootstrap: {done} of {members} done, {evaluations}\n"));
        }
        self.bar.set_message(evaluations);
    }
}

fn warn(path: &str, text: &str) {
    note!("{}", gputexel::io::printable(&format!("gputexel: warning: {path}: {text}")));
}

fn unread(what: String, first: Option<&String>) -> String {
    format!(
        "left out {what} that cannot be read{}",
        first.map_or(String::new(), |first| format!(", as {first}"))
    )
}

/// Prints where traced positions come from.
fn print_trace(told: bool, report: &ImportReport) -> Result<()> {
    for source in &report.sources {
        let path = &source.record.path;
        source.warnings.iter().for_each(|text| warn(path, text));
        if source.bad_lines > 0 {
            warn(path, &unread(counted(source.bad_lines, "line"), source.complaints.first()));
        }
        if told {
            let positions = counted(source.record.positions, "position");
            let left_out = grouped(source.record.records - source.record.positions);
            print_text(&format!("traced      {positions}, {path}, left out {left_out}\n"))?;
        }
    }
    if told { print_text(&format!("numbers     {}\n", grouped(report.features as u64))) } else { Ok(()) }
}

/// Prints warnings about the inputs and, if the user is `told`, what was extracted.
fn print_extraction(told: bool, report: &Report, output: &str) -> Result<()> {
    for source in &report.sources {
        let record = &source.record;
        let warn = |text: &str| warn(&record.path, text);
        source.warnings.iter().for_each(|warning| warn(warning));
        // What rules leave out was asked for; what cannot be read, and that results are missing, was not.
        if source.bad_lines > 0 {
            warn(&unread(counted(source.bad_lines, "line"), source.complaints.first()));
        } else if source.bad_games > 0 {
            warn(&unread(counted(source.bad_games, "game"), source.faults.first()));
        }
        let lacks_result = |label: &str| Reason::of_label(label).is_some_and(Reason::lacks_result);
        for (label, count) in record.left_out.iter().filter(|(label, _)| lacks_result(label)) {
            warn(&format!("left out {label}: {}", grouped(*count)));
        }
        if told {
            let left_out: u64 = record.left_out.values().sum();
            print_text(&format!(
                "extracted   {} from {} ({}), left out {}\n",
                counted(record.positions, "position"),
                record.path,
                record.labels.as_deref().unwrap_or(&record.format),
                grouped(left_out),
            ))?;
        }
    }
    if told { print_text(&format!("dataset     written to {output}\n")) } else { Ok(()) }
}

struct Progress {
    stopping: Stopping,
    /// True if losses contain a pull toward the prior.
    regularizes: bool,
    bar: ProgressBar,
    lines: Option<LineTimer>,
    /// True to print lines for the first and the last epoch in any case.
    verbose: bool,
    /// Last line that was not due.
    skipped: Option<String>,
    last_seconds: f64,
}

impl Progress {
    fn begin(context: &Context, start: &Start<'_>, verbose: bool) -> Self {
        let config = &start.record.config;
        Self {
            stopping: config.stopping,
            regularizes: config.regularizes(),
            bar: context.bar(config.stopping.epochs, "{bar:16} {pos}/{len}{wide_msg}"),
            lines: context.prints_lines().then(LineTimer::start),
            verbose,
            skipped: None,
            last_seconds: 0.0,
        }
    }

    fn epoch(&mut self, record: &EpochRecord, pairs: u64) {
        let EpochRecord { epoch, loss, held_out, seconds, ref details, .. } = *record;
        let rate = pairs as f64 / (seconds - self.last_seconds).max(1e-9);
        self.last_seconds = seconds;
        let left = seconds / epoch as f64 * (self.stopping.epochs.saturating_sub(epoch)) as f64;
        let left = self.stopping.seconds.map_or(left, |limit| left.min((limit - seconds).max(0.0)));
        // Most runs that end within a second converge long before their last epoch.
        let left = if seconds < 1.0 { String::new() } else { format!(", at most {} left", duration(left)) };
        let is_swarm = details.is_some();
        let Some(lines) = &mut self.lines else {
            // What matters most comes first: the terminal may be narrow.
            let name = if is_swarm { "best" } else { "loss" };
            let held_out = held_out.map(|loss| format!(", held out {loss:.6}")).unwrap_or_default();
            self.bar.set_position(epoch);
            self.bar.set_message(format!(", {}{left}, {name} {loss:.6}{held_out}", duration(seconds)));
            return;
        };
        let swarms = details.as_ref().map(|swarms| {
            format!("  swarms: median {:.6}, worst {:.6}", swarms.swarm_median, swarms.swarm_worst)
        });
        let (noun, label) = match (is_swarm, self.regularizes) {
            (true, _) => ("iteration", "best"),
            (false, true) => ("epoch", "regularized loss"),
            (false, false) => ("epoch", "loss"),
        };
        let swarms = swarms.unwrap_or_default();
        let held_out = held_out.map(|loss| format!(" held-out {loss:.8}")).unwrap_or_default();
        let line = format!(
            "{noun} {epoch:>5} {label} {loss:.8}{held_out}{swarms}  {:.1} M positions/s  {seconds:.1} s{left}\n",
            rate / 1e6
        );
        if lines.is_due() || (self.verbose && epoch == 1) {
            // Failure to show progress is no reason to abort the run.
            let _ = print_text(&line);
            self.skipped = None;
        } else if self.verbose {
            self.skipped = Some(line);
        }
    }

    fn finish(&mut self) {
        if let Some(line) = self.skipped.take() {
            let _ = print_text(&line);
        }
        self.bar.finish_and_clear();
    }
}

/// Location of the best values of an interrupted run, if there are any.
fn so_far(folder: &Path) -> String {
    let path = folder.join(SO_FAR);
    if path.exists() { format!("; the best values so far are in {}", path.display()) } else { String::new() }
}
