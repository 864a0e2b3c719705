//! Rounds in which positions are resolved with the tuned parameters and tuned again.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::run::InHand;
use crate::{
    MetricsLine, RequiesceRecord, RoundRecord, RunConfig, RunRecord, UncertaintyRequest, exact_loss,
};
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_ingest::extraction::{Leaf, LeafChanges};
use gputexel_io::run_folder::{DATASET, Kind, append_line};
use gputexel_io::{AppendFile, Error, Result, RunFolder, absolute, counted};
use gputexel_model::Parameterization;
use gputexel_model::program::TermActivity;

use crate::run::event::{RunEvent, RunObserver};
use crate::run::remaking::{Remaking, RoundSettings};
use crate::run::session::Session;
use crate::run::tuned::{Tuned, leave_report};
use crate::run::uncertainty;

/// Rounds to come and rounds done.
pub(crate) struct Rounds {
    count: u32,
    remaking: Remaking,
    /// Leaves of the previous round.
    leaves: Vec<Leaf>,
    done: Vec<RoundRecord>,
}

impl Rounds {
    /// Makes the dataset again, which checks that its sources are unchanged, and records the leaves of its positions.
    pub fn prepare(
        settings: RoundSettings,
        path: &Path,
        data: &Dataset,
        folder: &RunFolder,
        cancel: &AtomicBool,
    ) -> Result<Self> {
        let again = folder.file(".gputexel-again");
        let count = settings.count;
        let (remaking, leaves) = Remaking::try_new(settings, (path, data), &again, cancel)?;
        Ok(Self { count, remaking, leaves, done: Vec::new() })
    }

    /// Returns the record for `run.json`.
    pub fn record(&self) -> RequiesceRecord {
        RequiesceRecord {
            rounds: self.count,
            from: self.remaking.resolver().to_string(),
            done: self.done.clone(),
        }
    }

    /// Runs on the original dataset, then the rounds. Each round has its own folder; the main folder contains
    /// the results of the last completed one.
    pub fn run(mut self, means: Means<'_, '_>, first: First<'_>) -> Result<Tuned> {
        let Means { folder, backend, cancel, overwrite, checkpoint_every, display, observe } = means;
        // Only runs without rounds can be resumed.
        let observe: &mut RunObserver<'_> = &mut |event| match event {
            RunEvent::Resumable { .. } => Ok(()),
            event => observe(event),
        };
        let First { mut record, data: first_data, split: first_split, activity, fitted_loss } = first;
        let asked = record.uncertainty;
        // Uncertainty is only estimated for the last result.
        let quiet = RunRecord { uncertainty: UncertaintyRequest::default(), ..record.clone() };
        let session = Session {
            folder: Some(folder),
            record: &quiet,
            data: first_data,
            split: first_split,
            backend,
            cancel,
            activity,
            checkpoint_every,
            custom: None,
            display: false,
            observe: &mut *observe,
        };
        let before_all = |error: Error| match error {
            Error::Interrupted(at) => Error::Interrupted(format!(
                "{at}, before the first of {}; runs with rounds are not resumed",
                counted(self.count.into(), "round")
            )),
            error => error,
        };
        let mut tuned = session.carry_out(None, false, fitted_loss).map_err(before_all)?;
        let mut config = record.config.clone();
        for round in 1..=self.count {
            let started = Instant::now();
            let kept = |error: Error| match error {
                Error::Interrupted(_) => Error::Interrupted(format!(
                    "in round {round} of {}; {} has the result of the previous round",
                    self.count,
                    folder.path().display()
                )),
                error => error,
            };
            let before = std::mem::take(&mut tuned.outcome.parameters);
            let own = RunFolder::create(Some(&folder.file(&format!("round-{round}"))), Kind::Run, overwrite)?;
            let path = own.file(DATASET);
            own.making(&[DATASET])?;
            self.remaking.resolve_with(&before)?;
            let mut leaves = self.remaking.make(&path, cancel).map_err(kept)?;
            let changes = LeafChanges::between(&mut self.leaves, &mut leaves);
            self.leaves = leaves;
            let mut data = dataset::read(&path)?.with_sections(config.sections)?;
            config.set_targets(&mut data)?;
            let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
            config = RunConfig {
                datasets: vec![absolute(&path).display().to_string()],
                checksum: data.checksum().to_string(),
                basis: Some(restart_at(config.parameterization(), &tuned.outcome.z)),
                ..config
            };
            let (rounds, positions) = (self.count, data.len() as u64);
            observe(RunEvent::RoundStarted { round, rounds, positions, changes: &changes })?;
            let uncertainty = if round == self.count { asked } else { Default::default() };
            uncertainty::check(uncertainty, &config, &data, &split, observe)?;
            let of_round = RunRecord { uncertainty, ..RunRecord::new(&record.command_line, config.clone()) };
            own.write_record(Kind::Run, &of_round)?;
            let session = Session {
                folder: Some(&own),
                record: &of_round,
                data: &data,
                split: &split,
                backend,
                cancel,
                activity: None,
                checkpoint_every,
                custom: None,
                display: display && round == self.count,
                observe: &mut *observe,
            };
            tuned = session.carry_out(None, false, None)?;
            tuned.write_files(folder)?;

            let objective = Objective { k: config.k, loss: config.loss };
            let loss =
                |which: Vec<u32>| (!which.is_empty()).then(|| exact_loss(&data, objective, &before, &which));
            let after = &tuned.outcome.parameters;
            let moved = || before.iter().zip(after).map(|(a, b)| (a - b).abs());
            let done = RoundRecord {
                round,
                positions,
                changed: changes.changed,
                changed_share: changes.changed as f64 / data.len() as f64,
                entered: changes.entered,
                left: changes.left,
                loss_before: loss(split.training().map(|n| n as u32).collect()),
                loss: tuned.loss,
                held_out_before: loss(split.held_out().map(|n| n as u32).collect()),
                held_out: tuned.held_out,
                moved_rms_cp: (moved().map(|d| d * d).sum::<f64>() / before.len().max(1) as f64).sqrt(),
                moved_max_cp: moved().fold(0.0, f64::max),
                epochs: tuned.outcome.epochs,
                seconds: started.elapsed().as_secs_f64(),
            };
            observe(RunEvent::RoundEnded(&done))?;
            let mut metrics = AppendFile::open(&folder.file("metrics.jsonl"))?;
            append_line(&mut metrics, &MetricsLine::Round { requiesce: done.clone() })?;
            self.done.push(done);
            record.requiesce = Some(self.record());
            folder.write_record(Kind::Run, &record)?;
            let in_hand =
                InHand { record: Some(&record), positions: Some((&data, &split)), ..InHand::default() };
            leave_report(folder, &in_hand, observe)?;
        }
        tuned.folder = Some(folder.path().to_path_buf());
        tuned.rounds = self.done;
        Ok(tuned)
    }
}

/// The settings shared by the runs of all rounds.
pub(crate) struct Means<'r, 'o> {
    pub folder: &'r RunFolder,
    pub backend: &'r Backend,
    pub cancel: &'r AtomicBool,
    pub overwrite: bool,
    pub checkpoint_every: Duration,
    pub display: bool,
    pub observe: &'r mut RunObserver<'o>,
}

/// The run before the rounds.
pub(crate) struct First<'r> {
    pub record: RunRecord,
    pub data: &'r Dataset,
    pub split: &'r Split,
    pub activity: Option<Vec<TermActivity>>,
    pub fitted_loss: Option<f64>,
}

/// Returns the same parameterization, starting where a run ended. Integer coordinates start at whole numbers, because
/// a run without rounding may have ended between them.
fn restart_at(parameterization: Parameterization, z: &[f64]) -> Parameterization {
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
