//! What `tune` shows and writes: the opening, progress, results.

use std::fmt::Write as _; // to strings, which cannot fail
use std::time::{Duration, Instant};

use gputexel::dataset::{Dataset, Split};
use gputexel::model::{Coordinate, ParameterFile, Parameterization, Provenance};
use gputexel::objective::ScaleForms;
use gputexel::report::{EventWriter, board};
use gputexel::tables::{Language, tables};
use gputexel::tuning::{Checkpoint, Event, Outcome, RoundRecord, RunConfig};
use gputexel::{AppendFile, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::super::live::Watch;
use super::super::report::REPORT;
use super::super::run_folder::{RunFolder, append_line};
use super::super::table::grouped;
use super::super::{Context, say, shows_progress};
use super::chart::LossChart;
use super::uncertainty::{Answer, Findings};
use super::whole::Whole;

/// Fewest occurrences of a feature below which its values are called weakly supported.
const WEAK_SUPPORT: u64 = 100;

/// Features that are listed at the end where there is no board to show.
const LISTED: usize = 24;
/// Time between two drawings of the chart.
const CHART_EVERY: Duration = Duration::from_millis(500);

/// Centipawns away from its prior beyond which a parameter is called far.
const FAR_CP: f64 = 1000.0;

/// What came of a run.
pub struct Summary {
    /// Exact training loss of the prior.
    pub before: Option<f64>,
    /// Exact training loss of the result.
    pub after: Option<f64>,
    /// Exact held-out loss of the prior.
    pub held_out_before: Option<f64>,
    /// Exact held-out loss of the result.
    pub held_out_after: Option<f64>,
    /// Positions that have each feature.
    pub occurrences: Vec<u64>,
    /// How the run ended.
    pub outcome: Outcome,
    /// How sure its parameters are, where that was asked.
    pub uncertainty: Answer,
    /// What was done to make whole numbers of it.
    pub whole: Option<Whole>,
}

/// K in all forms, for people.
pub fn scale_forms(k: f64) -> String {
    let forms = ScaleForms::new(k);
    format!(
        "{:.6} base 10 = {:.6} base e = win scale {:.2} (MadChess) = scale {:.2} (pliers)",
        forms.k, forms.k_e, forms.win_scale, forms.e_scale
    )
}

/// Says what is about to happen.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_opening(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    split: &Split,
    backend: &str,
    fitted_loss: Option<f64>,
    resumed: Option<u64>,
) -> Result<()> {
    let mut out = String::new();
    let games = match data.has_games() {
        true => format!("{} games", grouped(data.metadata().games)),
        false => "no games: split by position".to_string(),
    };
    let _ = writeln!(
        out,
        "dataset     {} positions, {}, {} parameters ({})",
        grouped(data.len() as u64),
        games,
        2 * data.feature_count(),
        data.metadata().feature_set.name()
    );
    if split.held_out_part().is_some() {
        let _ = writeln!(out, "held out    {} positions", grouped(split.held_out().count() as u64));
    }
    let _ = writeln!(out, "backend     {backend}");
    let _ = writeln!(out, "prior       {}", config.prior);
    if let Some(basis) = config.named_basis() {
        let _ = writeln!(out, "basis       {}, {} coordinates", basis.name, basis.dimension());
        let start = basis.theta(&basis.start());
        let moved = start.iter().zip(&config.start).filter(|(a, b)| (*a - *b).abs() > 1e-9).count();
        if moved > 0 {
            let _ = writeln!(
                out,
                "start       {moved} of {} parameters do not start at the prior, because of the basis or its bounds",
                start.len()
            );
        }
    }
    let origin = fitted_loss.map(|loss| format!(", fitted on the prior: loss {loss:.6}")).unwrap_or_default();
    let _ = writeln!(out, "K           {}{origin}", scale_forms(config.k));
    if let Some(epochs) = resumed {
        let _ = writeln!(out, "resumed     after {epochs} epochs");
    }
    let _ = writeln!(out, "run         {}", folder.path().display());
    say(&out)
}

/// Watches a run: progress, metrics, checkpoints.
pub struct Observer<'a> {
    folder: &'a RunFolder,
    config: &'a RunConfig,
    metrics: AppendFile,
    bar: ProgressBar,
    /// Plain lines instead of a bar.
    lines: bool,
    last_line: Option<Instant>,
    last_checkpoint: Instant,
    checkpoint_every: Duration,
    last_seconds: f64,
    events: Option<EventWriter>,
    /// Losses to draw: of held-out positions where there are any.
    chart: Option<LossChart>,
    /// The chart as it was drawn last, under the bar.
    drawn: String,
}

impl<'a> Observer<'a> {
    /// Begins to watch; the first `kept` lines of the metrics are kept.
    ///
    /// # Errors
    /// When the metrics file cannot be opened.
    pub fn new(
        context: &Context,
        watch: &Watch,
        folder: &'a RunFolder,
        config: &'a RunConfig,
        kept: u64,
        checkpoint_every: f64,
    ) -> Result<Self> {
        let bar = match shows_progress(context) {
            true => ProgressBar::new(config.stopping.epochs),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        let chart = watch.chart && !context.quiet && !context.json;
        Ok(Self {
            folder,
            config,
            metrics: folder.metrics(kept)?,
            events: watch.events(folder, kept)?,
            chart: chart.then(|| LossChart::of(folder)),
            drawn: String::new(),
            bar,
            lines: !shows_progress(context) && !context.quiet && !context.json,
            last_line: None,
            last_checkpoint: Instant::now(),
            checkpoint_every: Duration::try_from_secs_f64(checkpoint_every).unwrap_or(Duration::MAX),
            last_seconds: 0.0,
        })
    }

    /// Takes note of an event.
    ///
    /// # Errors
    /// When metrics or checkpoint cannot be written.
    pub fn observe(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Epoch { epoch, loss, held_out, gradient_norm, seconds, pairs, details } => {
                let mut line = json!({
                    "epoch": epoch, "loss": loss, "held_out": held_out,
                    "gradient_norm": gradient_norm, "seconds": seconds,
                });
                if !details.is_null() {
                    line["details"] = details.clone();
                }
                append_line(&mut self.metrics, &line)?;
                let rate = pairs as f64 / (seconds - self.last_seconds).max(1e-9);
                if let Some(events) = &mut self.events {
                    let swarms = |name: &str| details[name].as_f64().unwrap_or(f64::NAN);
                    let scalars = [
                        ("loss/training", loss),
                        ("loss/held_out", held_out.unwrap_or(f64::NAN)),
                        ("gradient/largest", gradient_norm.unwrap_or(f64::NAN)),
                        ("positions_per_second", rate),
                        ("swarms/median", swarms("swarm_median")),
                        ("swarms/worst", swarms("swarm_worst")),
                    ];
                    events.scalars(epoch, &scalars)?;
                }
                if let Some(chart) = &mut self.chart {
                    chart.add(epoch, loss, held_out);
                }
                self.last_seconds = seconds;
                self.show(epoch, loss, held_out, seconds, rate, &details);
                Ok(())
            }
            Event::State { progress, optimizer, last } => {
                let due = self.last_checkpoint.elapsed() >= self.checkpoint_every;
                if !due && !last {
                    return Ok(());
                }
                self.last_checkpoint = Instant::now();
                let state = optimizer.save();
                self.folder.write_checkpoint(&Checkpoint { progress: progress.clone(), optimizer: state })
            }
            Event::Replaced { error, evaluator } => {
                self.bar.suspend(|| eprintln!("gputexel: warning: {error}; continuing on the {evaluator}"));
                Ok(())
            }
        }
    }

    fn show(
        &mut self,
        epoch: u64,
        loss: f64,
        held_out: Option<f64>,
        seconds: f64,
        rate: f64,
        details: &serde_json::Value,
    ) {
        let left = seconds / epoch as f64 * (self.config.stopping.epochs.saturating_sub(epoch)) as f64;
        let left = self.config.stopping.seconds.map_or(left, |limit| left.min((limit - seconds).max(0.0)));
        let swarms = swarm_bests(details);
        let (noun, label) = match (&swarms, self.config.optimizer.regularizes()) {
            (Some(_), _) => ("iteration", "best"),
            (None, true) => ("epoch", "loss with L2"),
            (None, false) => ("epoch", "loss"),
        };
        let swarms = swarms.unwrap_or_default();
        let held_out = held_out.map(|loss| format!(" held-out {loss:.8}")).unwrap_or_default();
        let text = format!(
            "{label} {loss:.8}{held_out}{swarms}  {:.1} M positions/s  {seconds:.1} s, at most {left:.0} s left",
            rate / 1e6
        );
        if self.lines {
            let due = self.last_line.is_none_or(|at| at.elapsed() >= Duration::from_secs(1));
            if due || self.config.stopping.epochs <= 50 || epoch == self.config.stopping.epochs {
                self.last_line = Some(Instant::now());
                // Progress that cannot be shown is no reason to give up the run.
                let _ = say(&format!("{noun} {epoch:>5} {text}\n"));
            }
        } else {
            self.bar.set_position(epoch);
            // Drawing takes longer than many an epoch.
            let due = self.last_line.is_none_or(|at| at.elapsed() >= CHART_EVERY);
            if let Some(chart) = self.chart.as_ref().filter(|_| due).and_then(LossChart::draw) {
                self.last_line = Some(Instant::now());
                self.drawn = format!("\n{chart}");
            }
            self.bar.set_message(text + &self.drawn);
        }
    }

    /// Clears the bar and leaves the chart, if there is one.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
        if let Some(chart) = self.chart.as_ref().and_then(LossChart::draw) {
            // As with progress.
            let _ = say(&format!("{chart}\n"));
        }
    }
}

/// Original error and bests of swarms, where an optimizer has them; those of many swarms by their
/// median and the worst.
fn swarm_bests(details: &serde_json::Value) -> Option<String> {
    const SHOWN: usize = 12;
    let number = |name: &str| details[name].as_f64();
    let list = details["swarms"].as_array().filter(|list| list.len() <= SHOWN);
    let bests = match list {
        Some(list) => list.iter().map(|best| format!(" {:.6}", best.as_f64().unwrap_or(f64::NAN))).collect(),
        None => format!(" median {:.6} worst {:.6}", number("swarm_median")?, number("swarm_worst")?),
    };
    Some(format!("  original {:.8}  swarms{bests}", number("original")?))
}

/// Writes parameters and tables; the state that led to them is then no longer needed.
///
/// # Errors
/// When a file cannot be written.
pub fn write_results(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    summary: &Summary,
) -> Result<()> {
    write_files(folder, config, data, summary)?;
    folder.slim_checkpoint()
}

/// Writes parameters and tables; the run may still go on from its state.
///
/// # Errors
/// When a file cannot be written.
pub fn write_files(folder: &RunFolder, config: &RunConfig, data: &Dataset, summary: &Summary) -> Result<()> {
    // One of an interruption does not belong to the result, and would look as if all was done.
    folder.remove(REPORT)?;
    let set = &data.metadata().feature_set;
    let theta = &summary.outcome.parameters;
    let mut file = ParameterFile::new(set, theta, Some(&summary.occurrences), Some(config.k));
    file.provenance = Provenance {
        program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
        datasets: config.checksum.split('+').map(str::to_string).collect(),
        positions: data.len() as u64,
        optimizer: summary.outcome.optimizer.clone(),
        loss_kind: config.loss.to_string(),
        prior: config.prior.clone(),
        seed: config.seed,
        loss_before: summary.before,
        loss: summary.after,
        loss_held_out: summary.held_out_after,
        rounding: summary.whole.as_ref().and_then(Whole::rounding_record),
        single_steps: summary.whole.as_ref().and_then(Whole::single_steps_record),
        changed: None,
    };
    if let Some(findings) = summary.uncertainty.findings() {
        findings.annotate(&mut file);
    }
    for language in Language::RUN {
        folder.write(language.file_name(), &tables(&file, language))?;
    }
    if let Some(basis) = config.named_basis() {
        folder.write("z.json", &coordinates(basis, &summary.outcome.z, summary.uncertainty.findings()))?;
    }
    folder.write("params.json", &file.to_json())
}

/// z by name, as JSON, one coordinate a line.
fn coordinates(basis: &Parameterization, z: &[f64], findings: Option<&Findings>) -> String {
    let line = |(i, (coordinate, value)): (usize, (&Coordinate, &f64))| {
        let Coordinate { name, min, max, .. } = coordinate;
        let mut object = json!({ "name": name, "value": value, "min": min, "max": max });
        if let Some(findings) = findings {
            object["uncertainty"] = findings.coordinate(i);
        }
        format!("    {object}")
    };
    let lines: Vec<String> = basis.coordinates.iter().zip(z).enumerate().map(line).collect();
    format!("{{\n  \"basis\": {},\n  \"coordinates\": [\n{}\n  ]\n}}\n", json!(basis.name), lines.join(",\n"))
}

/// Shows the results.
///
/// # Errors
/// When standard output cannot be written.
pub fn print_results(
    context: &Context,
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    summary: &Summary,
    piece: &str,
    rounds: &[RoundRecord],
) -> Result<()> {
    let outcome = &summary.outcome;
    let set = &data.metadata().feature_set;
    let unsupported: Vec<&str> = named(data, summary, |count| count == 0);
    let weak: Vec<&str> = named(data, summary, |count| count > 0 && count < WEAK_SUPPORT);
    if context.json {
        let mut object = json!({
            "folder": folder.path(), "positions": data.len(), "k": config.k,
            "loss_before": summary.before, "loss": summary.after,
            "held_out_before": summary.held_out_before, "held_out": summary.held_out_after,
            "epochs": outcome.epochs, "seconds": outcome.seconds, "reason": outcome.reason,
            "optimizer": outcome.optimizer, "best_epoch": outcome.best_epoch,
            "members": outcome.members.iter().map(|(name, value)| json!({ "optimizer": name, "best": value })).collect::<Vec<_>>(),
            "unsupported": unsupported, "weak": weak,
        });
        match &summary.uncertainty {
            Answer::None => {}
            Answer::LeftOut(reason) => object["uncertainty"] = json!({ "left_out": reason }),
            Answer::Found(findings) => object["uncertainty"] = findings.json(config, outcome),
        }
        if let Some(whole) = &summary.whole {
            whole.add_to(&mut object);
        }
        if !rounds.is_empty() {
            object["rounds"] = json!(rounds);
        }
        return say(&format!("{object}\n"));
    }
    if context.quiet {
        return Ok(());
    }
    let mut out = String::new();
    let _ =
        writeln!(out, "finished    {} epochs, {:.2} s: {}", outcome.epochs, outcome.seconds, outcome.reason);
    let _ = writeln!(out, "optimizer   {}", outcome.optimizer);
    let judged = if summary.held_out_after.is_some() { "held-out loss" } else { "loss with L2" };
    if outcome.members.len() > 1 {
        for (member, value) in &outcome.members {
            let _ = writeln!(out, "  best {judged} {value:.10}  {member}");
        }
    }
    let change = |before: Option<f64>, after: Option<f64>| {
        before.zip(after).map(|(b, a)| format!("{b:.10} -> {a:.10} ({:+.3} %)", 100.0 * (a - b) / b))
    };
    if let Some(text) = change(summary.before, summary.after) {
        let _ = writeln!(out, "loss        {text}");
    }
    if let Some(whole) = &summary.whole {
        out += &whole.lines();
    }
    if let Some(text) = change(summary.held_out_before, summary.held_out_after) {
        let _ = writeln!(out, "held out    {text}, epoch {}", outcome.best_epoch);
    }
    if outcome.z == config.parameterization().start() {
        let _ = writeln!(
            out,
            "warning     nothing was better than the {}, which is kept; try --l2 1e-4 or more positions",
            if config.basis.is_some() { "start" } else { "prior" }
        );
    }
    if let (Some(before), Some(after), None) = (summary.before, summary.after, summary.held_out_after)
        && after > before
    {
        let hint = match config.named_basis() {
            Some(_) => ": should the \"base\" of the basis be \"prior\"?",
            None => "",
        };
        let _ = writeln!(out, "warning     the result is worse than the prior{hint}");
    }
    let fractions = config.basis.as_ref().map_or(0, |basis| {
        let whole = basis.coordinates.iter().zip(&outcome.z);
        whole.filter(|(coordinate, z)| coordinate.integer && z.fract() != 0.0).count()
    });
    if fractions > 0 {
        let _ = writeln!(
            out,
            "note        {fractions} integer coordinates are not integers yet; use --round local to round them"
        );
    }
    if (data.len() as u64) < 10 * outcome.z.len() as u64 {
        let _ = writeln!(
            out,
            "warning     {} positions are too few for {} parameters: expect noise; --l2 and --holdout help",
            grouped(data.len() as u64),
            outcome.z.len()
        );
    }
    let _ = writeln!(out);
    match board(set, &outcome.parameters, piece) {
        Some(text) => out += &text,
        None => {
            let shown = &set.features[..set.features.len().min(LISTED)];
            let width = shown.iter().map(|feature| feature.name.chars().count()).max().unwrap_or(0).max(10);
            for (id, feature) in shown.iter().enumerate() {
                let (mg, eg) = (outcome.parameters[id], outcome.parameters[set.features.len() + id]);
                let _ = writeln!(out, "{:<width$} middlegame {mg:>8.1}  endgame {eg:>8.1}", feature.name);
            }
            if set.features.len() > LISTED {
                let _ = writeln!(out, "and {} more, see params.json", set.features.len() - LISTED);
            }
        }
    }
    let _ = writeln!(out);
    if let Some(basis) = config.named_basis() {
        let at_bound = |(c, value): (&Coordinate, &f64)| c.min == Some(*value) || c.max == Some(*value);
        let held = basis.coordinates.iter().zip(&outcome.z).filter(|(c, value)| at_bound((c, value)));
        let held: Vec<&str> = held.map(|(c, _)| c.name.as_str()).collect();
        if !held.is_empty() {
            let _ = writeln!(out, "at a bound  {}", shortened(&held, "coordinates"));
        }
    }
    if !unsupported.is_empty() {
        let list = shortened(&unsupported, "features");
        let fate = if config.named_basis().is_some() {
            "their values come from the basis"
        } else {
            "they keep their prior"
        };
        let _ = writeln!(out, "never occur: {list}; {fate}");
    }
    if !weak.is_empty() {
        let _ = writeln!(out, "in fewer than {WEAK_SUPPORT} positions: {}", shortened(&weak, "features"));
    }
    let count = set.features.len();
    let distance = |i: usize| (outcome.parameters[i] - config.start[i]).abs();
    let far: Vec<&str> = (0..count)
        .filter(|&id| distance(id).max(distance(count + id)) > FAR_CP)
        .map(|id| set.features[id].name.as_str())
        .collect();
    if !far.is_empty() {
        let list = shortened(&far, "features");
        let _ = writeln!(
            out,
            "more than {FAR_CP} centipawns from the prior: {list}; --l2 or more positions would constrain them"
        );
    }
    match &summary.uncertainty {
        Answer::None => {}
        Answer::LeftOut(reason) => {
            let _ = writeln!(out, "no errors   {reason}");
        }
        Answer::Found(findings) => out += &findings.describe(set, config, outcome),
    }
    let files: Vec<&str> = Language::RUN.iter().map(|language| language.file_name()).collect();
    let z = if config.named_basis().is_some() { "z.json, " } else { "" };
    let _ = writeln!(
        out,
        "written     {}: params.json, {z}{}, report.html",
        folder.path().display(),
        files.join(", ")
    );
    say(&out)
}

fn named<'a>(data: &'a Dataset, summary: &Summary, wanted: impl Fn(u64) -> bool) -> Vec<&'a str> {
    let features = data.metadata().feature_set.features.iter().zip(&summary.occurrences);
    features.filter(|(_, count)| wanted(**count)).map(|(feature, _)| feature.name.as_str()).collect()
}

fn shortened(names: &[&str], what: &str) -> String {
    const SHOWN: usize = 6;
    match names.len() {
        0..=SHOWN => names.join(", "),
        n => format!("{} and {} more {what}", names[..SHOWN].join(", "), n - SHOWN),
    }
}
