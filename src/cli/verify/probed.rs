//! `gputexel verify ENGINE`: an engine that was probed is asked again, under the tuned values.

use std::path::{Path, PathBuf};

use gputexel::checking::check_tolerance;
use gputexel::chess::fen::parse_fen;
use gputexel::dataset::{self, Dataset, Split};
use gputexel::io::run_folder::{Kind, RunFolder, run_of};
use gputexel::io::{Advice, printable};
use gputexel::matches::client::{EngineCommand, find_program};
use gputexel::matches::deadline_from_seconds;
use gputexel::matches::probe::{Again, AgainSettings, Ask, Cause, KnownPosition, ask_again};
use gputexel::model::ParameterFile;
use gputexel::run::begins_as_dataset;
use gputexel::tuning::{RunConfig, RunRecord};
use gputexel::{Error, Result};
use serde::Serialize;
use serde_json::json;

use super::super::context::Context;
use super::super::output::print_result;
use super::super::probe::losses::{mean_loss, with_targets};
use super::super::probe::{NAMED, engine_command, process_count, short};
use super::super::table::{counted, grouped, some_of};
use super::VerifyArgs;

const LISTED: usize = 24;

/// Flags for asking an engine that was probed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine that was probed")]
pub struct EngineArgs {
    /// Ask under the values that the engine was built with, instead of setting the tuned ones
    #[arg(long)]
    as_built: bool,
    /// UCI option to set in place of one that was set by `probe`; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Number of processes [default: one per core]; does not change the result
    #[arg(long, value_name = "N")]
    processes: Option<usize>,
    /// Seconds without an answer after which the engine counts as hung [default: 60]
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<f64>,
    /// Seconds for the engine to become ready [default: 30]
    #[arg(long, value_name = "SECONDS")]
    start_deadline: Option<f64>,
}

impl EngineArgs {
    pub fn given(&self) -> Option<&'static str> {
        [
            (self.as_built, "--as-built"),
            (!self.set.is_empty(), "--set"),
            (self.processes.is_some(), "--processes"),
            (self.deadline.is_some(), "--deadline"),
            (self.start_deadline.is_some(), "--start-deadline"),
        ]
        .into_iter()
        .find_map(|(given, name)| given.then_some(name))
    }
}

/// What may be the command of an engine: neither a dataset nor standard input.
pub fn engine_in(inputs: &[PathBuf]) -> Option<String> {
    let [input] = inputs else { return None };
    if input.is_dir() || input.as_os_str() == "-" || input.is_file() && begins_as_dataset(input).ok()? {
        return None;
    }
    input.to_str().map(str::to_string)
}

/// What an engine would have been asked for.
pub fn advised(error: Error, inputs: &[PathBuf]) -> Error {
    match engine_in(inputs).is_some_and(|engine| is_program(&engine)) {
        true => error.advise(Advice::default().text(
            "engines are asked again only about runs on datasets of 'gputexel probe', and this is none",
        )),
        false => error,
    }
}

fn is_program(text: &str) -> bool {
    text.parse::<EngineCommand>().is_ok_and(|command| find_program(&command.program).is_some())
}

pub struct Probed {
    paths: Vec<PathBuf>,
    sets: Vec<Dataset>,
    config: Option<RunConfig>,
    file: ParameterFile,
}

impl Probed {
    /// `None` unless a probe has made the datasets, as far as that is known. That some are missing is an error only
    /// for an `engine` that is there.
    pub fn find(engine: &str, params: &Path, before: &[PathBuf]) -> Result<Option<Self>> {
        let file = ParameterFile::read(params)?;
        if file.computed_set().is_some() {
            return Ok(None);
        }
        let record = RunFolder::view(&run_of(params)).record::<RunRecord>(Kind::Run).ok();
        let config = record.map(|record| record.config);
        let named: Vec<PathBuf> = match (before, &config) {
            ([], Some(config)) => config.datasets.iter().map(PathBuf::from).collect(),
            (given, _) => given.to_vec(),
        };
        if let Some(missing) = named.iter().find(|path| !path.exists()) {
            if !is_program(engine) {
                return Ok(None);
            }
            let advice = Advice::default().setting("before", "DATASET").text(" names it elsewhere");
            return Err(Error::input(missing, "the dataset of the run is not there").advise(advice));
        }
        let paths = dataset::shards(&named)?;
        let sets = paths.iter().map(|path| dataset::read(path)).collect::<Result<Vec<_>>>()?;
        let is_probed = !sets.is_empty() && sets.iter().all(|set| set.metadata().probing.is_some());
        let checksum = sets.iter().map(Dataset::checksum).collect::<Vec<_>>().join("+");
        if let Some(config) = config.as_ref().filter(|config| config.checksum != checksum)
            && (is_probed || is_program(engine))
        {
            let positions: usize = sets.iter().map(Dataset::len).sum();
            let reason = format!(
                "is another dataset than that of the run: {}, checksum {checksum} instead of {}",
                counted(positions as u64, "position"),
                config.checksum
            );
            let advice = Advice::default().setting("before", "DATASET").text(" names the run's own");
            return Err(Error::input(&paths[0], reason).advise(advice));
        }
        if !is_probed {
            return Ok(None);
        }
        Ok(Some(Self { paths, sets, config, file }))
    }

    /// Fails unless the engine evaluates with the tuned values, or where these are not linear, better than before.
    pub fn verify(
        &self,
        text: &str,
        params: &Path,
        args: &VerifyArgs,
        context: &Context,
    ) -> anyhow::Result<()> {
        check_tolerance(args.tolerance)?;
        if Path::new(text).is_file() && !is_program(text) {
            let reason = format!(
                "is not a program: the values were tuned on a dataset of 'gputexel probe', and are verified by asking the \
                 engine, 'gputexel verify ENGINE'; then it was '{}'",
                self.record().command
            );
            return Err(Error::Usage(format!("{text}: {reason}")).into());
        }
        let processes = process_count(args.engine.processes)?;
        let command = engine_command(text, &args.engine.set, args.engine.start_deadline)?;
        let record = self.record();
        if let Some(setting) = command.settings.iter().find(|setting| record.has_parameter(&setting.name)) {
            let text =
                format!("--set {}: the run has tuned it, and its value is what is verified", setting.name);
            return Err(Error::Usage(text).into());
        }
        let tuned = self.tuned(params)?;
        let (rows, positions) = self.positions()?;
        let settings = AgainSettings {
            command: command.clone(),
            as_built: args.engine.as_built,
            tolerance_cp: args.tolerance,
            processes,
            deadline: deadline_from_seconds(args.engine.deadline.unwrap_or(60.0))?,
        };
        let again = ask_again(record, &positions, &tuned, &settings, &context.cancel.into())?;
        let losses = self.losses(&rows, &again)?;
        let object = json!({ "asked": positions.len(), "again": again, "losses": losses });
        print_result(context, &object, || self.describe(&again, losses.as_ref(), (params, args)))?;
        if self.better(&again.cause, losses.as_ref()).is_some() {
            return Ok(());
        }
        match failure(&again, losses.as_ref(), args) {
            None => Ok(()),
            Some(reason) => Err(Error::Engine { engine: command.to_string(), reason }.into()),
        }
    }

    fn record(&self) -> &dataset::ProbingRecord {
        self.sets[0].metadata().probing.as_ref().expect("datasets of a probe")
    }

    /// The same in all phases.
    fn tuned(&self, path: &Path) -> Result<Vec<f64>> {
        let set = &self.sets[0].metadata().feature_set;
        let theta = self.file.theta(set, path)?;
        let (mg, eg) = theta.split_at(set.features.len());
        if let Some(i) = (0..mg.len()).find(|i| mg[*i] != eg[*i]) {
            let reason = format!(
                "'{}' is {} in the middlegame and {} in the endgame, but the engine has one value for both",
                set.features[i].name, mg[i], eg[i]
            );
            return Err(Error::input(path, reason));
        }
        Ok(mg.to_vec())
    }

    /// Positions that the datasets name, with their places in all of them.
    fn positions(&self) -> Result<(Vec<usize>, Vec<KnownPosition>)> {
        let (mut rows, mut positions) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (path, set) in self.paths.iter().zip(&self.sets) {
            let probing = set.metadata().probing.as_ref();
            let (sample, parameters) =
                probing.map_or((&[][..], 0), |one| (&one.sample, one.parameters.len()));
            if sample.is_empty() {
                return Err(Error::input(path, "names no positions to ask about; probe the engine again"));
            }
            for (row, fen) in sample {
                let row = usize::try_from(*row).unwrap_or(usize::MAX);
                // Datasets come from anywhere, and an engine would take a second line for a command.
                let is_fen = !fen.contains(char::is_control) && parse_fen(fen.as_bytes()).is_ok();
                let evaluation = set.static_evaluations().get(row).filter(|value| !value.is_nan());
                let (true, Some(&evaluation), true) = (is_fen, evaluation, parameters == set.feature_count())
                else {
                    return Err(Error::input(
                        path,
                        "broken: its record of the probe does not fit its positions",
                    ));
                };
                let effects = set.row(row).entries().map(|(i, c)| (u32::from(i), f64::from(c))).collect();
                positions.push(KnownPosition {
                    fen: fen.clone(),
                    evaluation_cp: f64::from(evaluation),
                    effects,
                });
                rows.push(first + row);
            }
            first += set.len();
        }
        Ok((rows, positions))
    }

    /// Of the positions in `rows`; `None` without the run's settings.
    fn losses(&self, rows: &[usize], again: &Again) -> Result<Option<Losses>> {
        let Some(config) = &self.config else { return Ok(None) };
        let together;
        let data = if let [only] = &self.sets[..] {
            only
        } else {
            together = dataset::read_many(&self.paths)?;
            &together
        };
        let data = with_targets(data, config)?;
        let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
        let known: Vec<(usize, usize)> =
            rows.iter().copied().enumerate().filter(|(n, _)| !again.evaluations[*n].is_nan()).collect();
        let losses_of = |known: &[(usize, usize)]| {
            let places: std::collections::HashMap<usize, usize> =
                known.iter().map(|(n, row)| (*row, *n)).collect();
            let loss = |score: &dyn Fn(usize) -> f64| {
                mean_loss(&data, config, known.iter().map(|(_, row)| *row), score)
            };
            Loss {
                positions: known.len() as u64,
                start: loss(&|row| f64::from(data.static_evaluations()[row])),
                predicted: loss(&|row| again.predictions[places[&row]]),
                engine: loss(&|row| again.evaluations[places[&row]]),
            }
        };
        let held_out: Vec<(usize, usize)> = known
            .iter()
            .copied()
            .filter(|(_, row)| Some(split.part_of(*row)) == split.held_out_part())
            .collect();
        let held_out = (!held_out.is_empty()).then(|| losses_of(&held_out));
        Ok(Some(Losses { all: losses_of(&known), held_out }))
    }

    fn describe(
        &self,
        again: &Again,
        losses: Option<&Losses>,
        (params, args): (&Path, &VerifyArgs),
    ) -> String {
        let record = self.record();
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            text += &format!("{name:<12}{}\n", printable(&value));
        };
        let question = record.ask.parse::<Ask>().map_or("", Ask::words);
        let all: usize = self.sets.iter().map(Dataset::len).sum();
        let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let asked = grouped(again.evaluations.len() as u64);
        line(
            "asked",
            format!(
                "{asked} of the {} of {}, by '{question}'",
                counted(all as u64, "position"),
                paths.join(", ")
            ),
        );
        let rounded = match again.rounded {
            0 => String::new(),
            count => format!(", {} rounded to whole numbers", grouped(count)),
        };
        if args.engine.as_built {
            line("values", format!("as built; those to be verified are of {}{rounded}", params.display()))
        } else {
            let count = counted(again.values.len() as u64, "parameter");
            let changed = format!("{} of them changed", grouped(again.changed));
            line("values", format!("{count} set to those of {}, {changed}{rounded}", params.display()));
        }
        for (name, own, tuned) in again.built_otherwise.iter().take(LISTED) {
            line("built", format!("with {name} = {own}, not {tuned}"));
        }
        if again.built_otherwise.len() > LISTED {
            line("", format!("and {} more", again.built_otherwise.len() - LISTED));
        }
        if again.missing > 0 {
            line("left out", format!("{} without an evaluation now", counted(again.missing, "position")));
        }
        line(
            "evaluations",
            format!(
                "{} of {} are those predicted, but for rounding; mean absolute difference {:.2} cp",
                grouped(again.compared - again.differing),
                grouped(again.compared),
                again.mean_cp
            ),
        );
        for worst in again.worst.iter().filter(|_| again.differing > 0) {
            let [engine, predicted] = [worst.engine_cp, worst.predicted_cp].map(short);
            line("", format!("engine {engine}, predicted {predicted}: {}", worst.fen));
        }
        for (name, loss) in [
            ("loss", losses.map(|losses| &losses.all)),
            ("held out", losses.and_then(|all| all.held_out.as_ref())),
        ] {
            let Some(loss) = loss else { continue };
            let positions = counted(loss.positions, "position");
            line(
                name,
                format!(
                    "{:.6} of the engine's evaluations, {:.6} of predictions; before {:.6} ({positions})",
                    loss.engine, loss.predicted, loss.start
                ),
            );
        }
        match &again.cause {
            Cause::Agreement => line("verified", "the engine evaluates with the tuned values".to_string()),
            cause => {
                let Some(loss) = self.better(cause, losses) else { return text };
                if let Cause::NotLinear { names: bent } = cause {
                    line("not linear", listed(bent));
                }
                line(
                    "better",
                    format!(
                        "not as predicted, but better: loss {:.6} -> {:.6}; 'gputexel probe --rounds' goes on from there",
                        loss.start, loss.engine
                    ),
                );
            }
        }
        text
    }

    /// The losses if evaluations are not as predicted because they are not linear, but fit better than before.
    fn better<'l>(&self, cause: &Cause, losses: Option<&'l Losses>) -> Option<&'l Loss> {
        let is_bent = match cause {
            Cause::NotLinear { .. } => true,
            // As it was built, an engine is not asked further.
            Cause::Unknown => !self.record().is_linear(),
            _ => false,
        };
        losses.map(|losses| &losses.all).filter(|loss| is_bent && loss.engine < loss.start)
    }
}

/// Mean losses of evaluations against the targets of a run.
#[derive(Clone, Copy, Debug, Serialize)]
struct Loss {
    positions: u64,
    /// Of the engine's evaluations when it was probed.
    start: f64,
    /// Of those that are predicted for the tuned values.
    predicted: f64,
    /// Of the engine's evaluations now.
    engine: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Losses {
    all: Loss,
    /// Those that the run has held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out: Option<Loss>,
}

fn listed(bent: &[String]) -> String {
    match bent {
        [] => "several parameters together".to_string(),
        list => some_of(list, NAMED),
    }
}

fn failure(again: &Again, losses: Option<&Losses>, args: &VerifyArgs) -> Option<String> {
    let count = format!("{} of {} evaluations", grouped(again.differing), grouped(again.compared));
    let text = match &again.cause {
        Cause::Agreement => return None,
        Cause::Indistinguishable if again.changed == 0 => {
            "the run keeps the values from before, so that there is nothing to verify".to_string()
        }
        Cause::Indistinguishable => {
            "the tuned values and those from before give the same evaluations, so that nothing can be verified; is it the \
             right --params?"
                .to_string()
        }
        Cause::Start if args.engine.as_built => {
            "still evaluates with the values from before: write the tuned ones into its source, and compile it".to_string()
        }
        Cause::Start => "evaluates as with the values from before, so that its options seem to have no effect".to_string(),
        Cause::Scale { factor } => format!(
            "{count} are not those predicted, but {factor:.3} times as large: does it use another unit or point of view, or \
             a scale that depends on its values?"
        ),
        Cause::OtherEngine { differing } => format!(
            "{count} are not those predicted, and {} are others even under the values with which it was probed: is it the \
             same engine, with the same options?",
            grouped(*differing)
        ),
        Cause::NotApplied { names: still } => format!(
            "{count} are not those predicted: when it is set alone, no effect has {}",
            some_of(still, NAMED)
        ),
        Cause::NotLinear { names: bent } => {
            let worse = losses.map_or(String::new(), |losses| {
                format!(", and fit worse than before ({:.6}, not {:.6})", losses.all.engine, losses.all.start)
            });
            format!(
                "{count} are not those predicted: they are not linear in {}{worse}; 'gputexel probe --rounds' measures again \
                 around new values",
                listed(bent)
            )
        }
        Cause::Unknown => format!("{count} are not those predicted for the tuned values"),
    };
    Some(text)
}
