//! `gputexel verify ENGINE`: an engine that was probed is asked again, under the tuned values.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gputexel::checking::check_tolerance;
use gputexel::chess::fen::parse_fen;
use gputexel::dataset::{self, Dataset};
use gputexel::io::run_folder::{Kind, RunFolder, parameters_at};
use gputexel::io::{Advice, printable};
use gputexel::matches::client::{EngineCommand, find_program};
use gputexel::matches::probe::{Again, AgainSettings, Ask, KnownPosition, Outcome, ask_again};
use gputexel::model::ParameterFile;
use gputexel::run::begins_as_dataset;
use gputexel::tuning::{RunConfig, RunRecord};
use gputexel::{Error, Result};
use serde::Serialize;
use serde_json::json;

use super::super::context::Context;
use super::super::output::print_result;
use super::super::probe::losses::{mean_loss, with_targets};
use super::super::probe::{engine_command, process_count};
use super::super::table::{counted, grouped};
use super::VerifyArgs;

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
    /// Seconds without an answer, also when it starts, after which the engine counts as hung [default: 60, and 30]
    #[arg(long, value_name = "SECONDS")]
    deadline: Option<f64>,
}

impl EngineArgs {
    /// The name of a flag that was given.
    pub fn given(&self) -> Option<&'static str> {
        [
            (self.as_built, "--as-built"),
            (!self.set.is_empty(), "--set"),
            (self.processes.is_some(), "--processes"),
            (self.deadline.is_some(), "--deadline"),
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
        let folder = parameters_at(params).parent().unwrap_or(Path::new("")).to_path_buf();
        let record = RunFolder::view(&folder).record::<RunRecord>(Kind::Run).ok();
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
    pub fn verify(&self, text: &str, args: &VerifyArgs, context: &Context) -> anyhow::Result<()> {
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
        let (command, deadline) = engine_command(text, &args.engine.set, args.engine.deadline)?;
        let record = self.record();
        if let Some(setting) = command.settings.iter().find(|setting| record.has_parameter(&setting.name)) {
            let text =
                format!("--set {}: the run has tuned it, and its value is what is verified", setting.name);
            return Err(Error::Usage(text).into());
        }
        let tuned = self.tuned(&args.params)?;
        let (rows, positions) = self.positions()?;
        let settings = AgainSettings {
            command: command.clone(),
            as_built: args.engine.as_built,
            tolerance_cp: args.tolerance,
            processes,
            deadline,
        };
        let again = ask_again(record, &positions, &tuned, &settings, &context.cancel.into())?;
        let loss = self.loss(&rows, &again)?;
        let object = json!({ "asked": positions.len(), "again": again, "loss": loss });
        print_result(context, &object, || self.describe(&again, loss, args))?;
        match self.failure(&again, loss, args) {
            None => Ok(()),
            Some(reason) => Err(Error::Engine { engine: command.to_string(), reason }.into()),
        }
    }

    fn record(&self) -> &dataset::ProbingRecord {
        self.sets[0].metadata().probing.as_ref().expect("datasets of a probe")
    }

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
    fn loss(&self, rows: &[usize], again: &Again) -> Result<Option<Loss>> {
        let Some(config) = &self.config else { return Ok(None) };
        let together;
        let data = match &self.sets[..] {
            [only] => only,
            _ => {
                together = dataset::read_many(&self.paths)?;
                &together
            }
        };
        let data = with_targets(data, config)?;
        let known = rows.iter().zip(&again.evaluations).zip(&again.predictions);
        let scores: HashMap<usize, (f64, f64)> = known
            .filter(|((_, engine), _)| !engine.is_nan())
            .map(|((row, engine), predicted)| (*row, (*engine, *predicted)))
            .collect();
        let which: Vec<usize> = rows.iter().copied().filter(|row| scores.contains_key(row)).collect();
        let mean = |score: &dyn Fn(usize) -> f64| mean_loss(&data, config, which.iter().copied(), score);
        Ok(Some(Loss {
            start: mean(&|row| f64::from(data.static_evaluations()[row])),
            predicted: mean(&|row| scores[&row].1),
            engine: mean(&|row| scores[&row].0),
        }))
    }

    /// Evaluations are not as predicted because they are not linear, but fit better than before.
    fn is_better(&self, again: &Again, loss: Option<Loss>) -> bool {
        let is_bent = again.outcome == Outcome::Other && !self.record().is_linear();
        is_bent && loss.is_some_and(|loss| loss.engine < loss.start)
    }

    fn describe(&self, again: &Again, loss: Option<Loss>, args: &VerifyArgs) -> String {
        let record = self.record();
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<12}{}", printable(&value));
        };
        let question = record.ask.parse::<Ask>().map_or("", Ask::words);
        line("asked", format!("{} by '{question}'", counted(again.evaluations.len() as u64, "position")));
        let params = args.params.display();
        line(
            "values",
            match args.engine.as_built {
                true => format!("as built; those to be verified are of {params}"),
                false => {
                    let count = counted(record.parameters.len() as u64, "parameter");
                    format!("{count} set to those of {params}, {} of them changed", grouped(again.changed))
                }
            },
        );
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
        if let Some(Loss { start, predicted, engine }) = loss {
            let text = format!(
                "{engine:.6} of the engine's evaluations, {predicted:.6} of predictions; before {start:.6}"
            );
            line("loss", text);
            if self.is_better(again, Some(Loss { start, predicted, engine })) {
                let text = format!(
                    "not as predicted, but better: loss {start:.6} -> {engine:.6}; 'gputexel probe --rounds' goes on \
                     from there"
                );
                line("better", text);
            }
        }
        if again.outcome == Outcome::Agreement {
            line("verified", "the engine evaluates with the tuned values".to_string());
        }
        text
    }

    fn failure(&self, again: &Again, loss: Option<Loss>, args: &VerifyArgs) -> Option<String> {
        let text = match again.outcome {
            Outcome::Agreement => return None,
            Outcome::Other if self.is_better(again, loss) => return None,
            Outcome::Indistinguishable if again.changed == 0 => {
                "the run keeps the values from before, so that there is nothing to verify"
            }
            Outcome::Indistinguishable => {
                "the tuned values and those from before give the same evaluations, so that nothing can be verified; is it \
                 the right --params?"
            }
            Outcome::Start if args.engine.as_built => {
                "still evaluates with the values from before: write the tuned ones into its source, and compile it"
            }
            Outcome::Start => {
                "evaluates as with the values from before, so that its options seem to have no effect"
            }
            Outcome::Other => {
                let (differing, compared) = (grouped(again.differing), grouped(again.compared));
                return Some(format!(
                    "{differing} of {compared} evaluations are not those predicted: is it the same engine in the same unit, \
                     do all values have an effect, and are they linear ('gputexel probe --rounds')?"
                ));
            }
        };
        Some(text.to_string())
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Loss {
    /// Of the engine's evaluations when it was probed.
    start: f64,
    /// Of those that are predicted for the tuned values.
    predicted: f64,
    /// Of the engine's evaluations now.
    engine: f64,
}
