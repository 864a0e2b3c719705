//! Rounds of resolving positions with the tuned parameters and tuning on them again.

use std::path::{Path, PathBuf};
use std::time::Instant;

use gputexel::chess::selection::Resolve;
use gputexel::dataset::{self, Dataset, Split};
use gputexel::extraction::{ExtractSettings, Hooks, Leaf, LeafChanges, extract_with_leaves};
use gputexel::model::{Parameterization, TableEvaluation};
use gputexel::objective::Objective;
use gputexel::tuning::{RequiesceRecord, RoundRecord, RunConfig, RunRecord, exact_loss};
use gputexel::{AppendFile, Error, Result};
use serde_json::json;

use super::super::backend::Backend;
use super::super::live::Watch;
use super::super::report;
use super::super::run_folder::{DATASET, Kind, RunFolder, append_line};
use super::super::table::{grouped, percent};
use super::super::{Context, say};
use super::{Ready, Run, TuneArgs, output};

/// Flags that ask for rounds.
#[derive(Debug, clap::Args)]
pub struct RequiesceArgs {
    /// After tuning, resolve the positions again with the tuned parameters, from the dataset's source
    /// files, and tune again, this many times
    #[arg(long, value_name = "N", conflicts_with = "resume", help_heading = "Rounds")]
    requiesce: Option<u32>,
    /// Search for resolving positions: quiescence, or depth1 for one ply with quiescence
    /// [default: that of the dataset, otherwise quiescence]
    #[arg(long, value_name = "SEARCH", requires = "requiesce", help_heading = "Rounds")]
    requiesce_from: Option<String>,
}

/// Most rounds; positions settle within a few.
const MAX_ROUNDS: u32 = 1000;

impl RequiesceArgs {
    fn from(&self) -> Result<Option<Resolve>> {
        let from = self.requiesce_from.as_deref().map(str::parse).transpose();
        match from {
            Ok(None | Some(Resolve::Quiescence | Resolve::Depth1)) => from,
            _ => Err(Error::Usage(format!(
                "--requiesce-from {}: expected quiescence or depth1",
                self.requiesce_from.as_deref().unwrap_or_default()
            ))),
        }
    }

    /// Refuses what can be refused before anything is read.
    pub(super) fn check(&self, inputs: &[PathBuf]) -> Result<()> {
        self.from()?;
        let Some(rounds) = self.requiesce else { return Ok(()) };
        if rounds == 0 || rounds > MAX_ROUNDS {
            return Err(Error::Usage(format!("--requiesce {rounds}: must be from 1 to {MAX_ROUNDS}")));
        }
        if super::inputs::are_datasets(inputs)? && inputs.len() > 1 {
            return Err(Error::Usage(
                "--requiesce needs a single dataset: extract all games into one".to_string(),
            ));
        }
        if inputs.iter().any(|path| path.as_os_str() == "-") {
            return Err(Error::Usage("--requiesce: standard input cannot be read again".to_string()));
        }
        Ok(())
    }

    /// Repeats the extraction of the dataset as it was, which shows that its sources are still the
    /// same, and notes the leaves of its positions.
    pub(super) fn prepare(
        &self,
        path: &Path,
        data: &Dataset,
        folder: &RunFolder,
        context: &Context,
    ) -> Result<Option<Rounds>> {
        let Some(count) = self.requiesce else { return Ok(None) };
        let (inputs, mut settings) = ExtractSettings::of_dataset(path, data.metadata())?;
        let again = folder.file(".gputexel-again");
        settings.force = true;
        let leaves = extract_again(&inputs, &settings, &again, context);
        let checksum =
            leaves.as_ref().ok().map(|_| dataset::read(&again).map(|data| data.checksum().to_string()));
        // Gone already where nothing was written.
        let _ = std::fs::remove_file(&again);
        let leaves = leaves?;
        if checksum.transpose()?.is_none_or(|checksum| checksum != data.checksum()) {
            let names: Vec<&str> =
                data.metadata().sources.iter().map(|source| source.path.as_str()).collect();
            let now = grouped(leaves.len() as u64);
            return Err(Error::input(
                path,
                format!(
                    "its sources ({}) no longer give the same positions ({now} instead of {}, or different ones): they or \
                     the parameters for resolving them have changed; extract the dataset again",
                    names.join(", "),
                    grouped(data.len() as u64)
                ),
            ));
        }
        let recorded = settings.selection.resolve;
        settings.selection.resolve = match (self.from()?, recorded) {
            (Some(from), _) => from,
            (None, Resolve::None) => Resolve::Quiescence,
            (None, recorded) => recorded,
        };
        Ok(Some(Rounds { count, inputs, settings, leaves, done: Vec::new() }))
    }
}

fn extract_again(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    output: &Path,
    context: &Context,
) -> Result<Vec<Leaf>> {
    let mut ignore = |_| {};
    let mut hooks = Hooks { cancel: context.cancel, progress: &mut ignore };
    Ok(extract_with_leaves(inputs, settings, output, &mut hooks)?.1)
}

/// Rounds to come and rounds done.
pub(super) struct Rounds {
    count: u32,
    inputs: Vec<PathBuf>,
    settings: ExtractSettings,
    /// Of the round before.
    leaves: Vec<Leaf>,
    done: Vec<RoundRecord>,
}

impl Rounds {
    /// For `run.json`.
    pub(super) fn record(&self) -> RequiesceRecord {
        RequiesceRecord {
            rounds: self.count,
            from: self.settings.selection.resolve.name().to_string(),
            done: self.done.clone(),
        }
    }

    /// The run on the dataset as it is, then the rounds. Each round has a folder of its own; the
    /// folder of the whole has the results of the last one that was finished.
    #[allow(clippy::too_many_arguments, reason = "the run's parts, and what it began with")]
    pub(super) fn run(
        mut self,
        args: &TuneArgs,
        context: &Context,
        watch: &Watch,
        backend: &Backend,
        folder: &RunFolder,
        first: Ready,
    ) -> anyhow::Result<()> {
        let Ready { mut record, mut data, mut split, fitted_loss } = first;
        let talks = !context.quiet && !context.json;
        let asked = record.uncertainty;
        // Only the last result is asked how sure it is.
        let quiet =
            RunRecord { uncertainty: gputexel::tuning::UncertaintyRequest::default(), ..record.clone() };
        let run = Run { args, context, watch, backend, folder, record: &quiet, data: &data, split: &split };
        let (mut summary, mut failure) = run.carry_out(None, fitted_loss)?;
        let mut config = record.config.clone();
        for round in 1..=self.count {
            let started = Instant::now();
            let kept = |error: Error| match error {
                Error::Interrupted(what) if !what.contains("--resume") => Error::Interrupted(format!(
                    "in round {round} of {}; {} has the result of the previous round",
                    self.count,
                    folder.path().display()
                )),
                error => error,
            };
            let before = summary.outcome.parameters.clone();
            let own =
                RunFolder::create(Some(&folder.file(&format!("round-{round}"))), Kind::Run, args.force)?;
            let path = own.file(DATASET);
            own.making(&[DATASET])?;
            self.settings.evaluation = Some(TableEvaluation::try_new(&self.settings.feature_set, &before)?);
            let mut leaves = extract_again(&self.inputs, &self.settings, &path, context).map_err(kept)?;
            let changes = LeafChanges::between(&mut self.leaves, &mut leaves);
            self.leaves = leaves;
            data = dataset::read(&path)?;
            split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
            let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
            config = RunConfig {
                datasets: vec![absolute.display().to_string()],
                checksum: data.checksum().to_string(),
                basis: Some(from_there(config.parameterization(), &summary.outcome.z)),
                ..config
            };
            if talks {
                let positions = data.len() as u64;
                let mut text = format!(
                    "\nround {round} of {}: {} of {} positions resolve differently ({})",
                    self.count,
                    grouped(changes.changed),
                    grouped(positions),
                    percent(changes.changed, positions)
                );
                if changes.entered + changes.left > 0 {
                    let (entered, left) = (grouped(changes.entered), grouped(changes.left));
                    text += &format!(", {entered} are new, {left} are no longer kept");
                }
                say(&(text + "\n"))?;
            }
            let uncertainty = if round == self.count { asked } else { Default::default() };
            super::uncertainty::check(uncertainty, &config, &data, &split)?;
            let of_round = RunRecord { uncertainty, ..RunRecord::new(&context.command_line, config.clone()) };
            own.write_record(&of_round)?;
            let run = Run {
                args,
                context,
                watch,
                backend,
                folder: &own,
                record: &of_round,
                data: &data,
                split: &split,
            };
            (summary, failure) = run.carry_out(None, None)?;
            output::write_results(folder, &config, &data, &summary)?;

            let objective = Objective { k: config.k, loss: config.loss };
            let loss =
                |which: Vec<u32>| (!which.is_empty()).then(|| exact_loss(&data, objective, &before, &which));
            let after = &summary.outcome.parameters;
            let moved = || before.iter().zip(after).map(|(a, b)| (a - b).abs());
            let done = RoundRecord {
                round,
                positions: data.len() as u64,
                changed: changes.changed,
                changed_share: changes.changed as f64 / data.len() as f64,
                entered: changes.entered,
                left: changes.left,
                loss_before: loss(split.training().map(|n| n as u32).collect()),
                loss: summary.after,
                held_out_before: loss(split.held_out().map(|n| n as u32).collect()),
                held_out: summary.held_out_after,
                moved_rms_cp: (moved().map(|d| d * d).sum::<f64>() / before.len().max(1) as f64).sqrt(),
                moved_max_cp: moved().fold(0.0, f64::max),
                epochs: summary.outcome.epochs,
                seconds: started.elapsed().as_secs_f64(),
            };
            if talks {
                let number = |loss: Option<f64>| loss.map_or("none".to_string(), |loss| format!("{loss:.8}"));
                say(&format!(
                    "round {round}     loss {} -> {}, parameters moved by {:.1} cp (RMS), at most {:.1}\n",
                    number(done.loss_before),
                    number(done.loss),
                    done.moved_rms_cp,
                    done.moved_max_cp
                ))?;
            }
            let metrics = folder.file("metrics.jsonl");
            append_line(&mut AppendFile::open(&metrics)?, &json!({ "requiesce": done }))?;
            self.done.push(done);
            record.requiesce = Some(self.record());
            folder.write_record(&record)?;
            report::leave(folder, &data, &split);
        }
        output::print_results(context, folder, &config, &data, &summary, &args.board, &self.done)?;
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// The same parameterisation, starting where a run has ended. Whole coordinates start whole: a run
/// without rounding may have left them between.
fn from_there(parameterization: Parameterization, z: &[f64]) -> Parameterization {
    let start: Vec<f64> = match parameterization.is_identity() {
        true => z.to_vec(),
        false => z
            .iter()
            .zip(&parameterization.coordinates)
            .map(|(&value, coordinate)| match coordinate.integer {
                true => {
                    let low = coordinate.min.map_or(f64::NEG_INFINITY, f64::ceil);
                    let high = coordinate.max.map_or(f64::INFINITY, f64::floor);
                    value.round().max(low).min(high)
                }
                false => value,
            })
            .collect(),
    };
    parameterization.with_start(&start)
}
