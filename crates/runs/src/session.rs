//! Carries out one run from its start or checkpoint to its result.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::conclusion::conclude;
use crate::page::ReportData;
use gputexel_dataset::objective::Objective;
use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_eval::Backend;
use gputexel_io::run_folder::{Kind, append_line};
use gputexel_io::{Error, Result, RunFolder, counted};
use gputexel_model::program::{TermActivity, dead_terms};
use gputexel_tune::{
    Checkpoint, ConstantTerm, EpochRecord, Event, HeldOutGain, Outcome, Regularization, RunConfig, RunParts,
    RunRecord, RunScores, ScaleMode, StopReason, Tuning, diagnose_program, loss_against_results, polish,
    round_outcome, term_activity, training_score_ratio,
};

use crate::doubts::Doubts;
use crate::event::{Deciding, RunEvent, RunObserver, Start};
use crate::pieces::piece_values;
use crate::tuned::{AgainstResults, SwarmLosses, Tuned, leave_report, leave_so_far};
use crate::uncertainty::{self, Answer};

pub(crate) struct Session<'r, 'o> {
    /// Where results and state are written, if anywhere.
    pub folder: Option<&'r RunFolder>,
    pub record: &'r RunRecord,
    pub data: &'r Dataset,
    pub split: &'r Split,
    pub backend: &'r Backend,
    pub cancel: &'r AtomicBool,
    /// Activity of the terms of a program under the prior, if it is already known.
    pub activity: Option<Vec<TermActivity>>,
    pub checkpoint_every: Duration,
    /// True to compute errors for a display, see [`Tuned::errors`].
    pub display: bool,
    pub observe: &'r mut RunObserver<'o>,
}

struct Trained {
    outcome: Outcome,
    checkpoint: Option<Checkpoint>,
    epochs: Vec<EpochRecord>,
}

impl Session<'_, '_> {
    /// Runs to the end, and writes the results if there is a folder.
    pub fn carry_out(
        mut self,
        checkpoint: Option<Checkpoint>,
        resuming: bool,
        fitted_loss: Option<f64>,
    ) -> Result<Tuned> {
        let mut scores = None;
        let result = self.compute(checkpoint, resuming, fitted_loss, &mut scores);
        let interrupted = matches!(result, Err(Error::Interrupted(_)));
        if let Some(folder) = self.folder
            && (result.is_ok() || interrupted)
        {
            let tuned = result.as_ref().ok();
            let report_data = ReportData {
                record: Some(tuned.map_or(self.record, |tuned| &tuned.record)),
                positions: Some((self.data, self.split)),
                scores: scores.as_ref(),
                score_ratio: tuned.and_then(|tuned| tuned.score_ratio),
                program: tuned.and_then(|tuned| tuned.program.as_ref()),
                pieces: tuned.map(|tuned| &tuned.piece_values),
                ..ReportData::default()
            };
            leave_report(folder, &report_data, self.observe)?;
            if interrupted && !self.record.config.datasets.is_empty() {
                (self.observe)(RunEvent::Resumable { folder: folder.path() })?;
            }
        }
        result
    }

    /// Stores the scores of all positions in `scores` if there is a result.
    fn compute(
        &mut self,
        checkpoint: Option<Checkpoint>,
        resuming: bool,
        fitted_loss: Option<f64>,
        scores: &mut Option<RunScores>,
    ) -> Result<Tuned> {
        let (record, data, split) = (self.record, self.data, self.split);
        let config = &record.config;
        let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
        let trained = self.drive(&layout, checkpoint, resuming, fitted_loss)?;
        let Trained { mut outcome, mut checkpoint, epochs } = trained;
        let occurrences = data.occurrences();
        hold_undetermined(config, &occurrences, &mut outcome);
        if outcome.reason == StopReason::Interrupted {
            let after = format!("after {}", counted(outcome.epochs, "epoch"));
            if let Some(folder) = self.folder {
                leave_so_far(folder, record, data, &outcome, &after)?;
            }
            return Err(Error::Interrupted(after));
        }
        let parts =
            RunParts { config, data, split, layout: &layout, backend: self.backend, cancel: self.cancel };
        let fitted = (outcome.z.clone(), outcome.best_member); // rounding changes z
        let (mut swarm_losses, mut polished, mut rounding) = (None, None, None);
        let observe = &mut *self.observe;
        let mut rounds = |progress: &str| {
            observe(RunEvent::Deciding { what: Deciding::WholeNumbers, progress, share: None })
        };
        if let Some(swarms) = config.optimizer.swarms() {
            swarm_losses = Some(SwarmLosses::from_outcome(&parts, &outcome));
            if swarms.polish {
                let mut what = polish(&parts, &mut outcome, &mut rounds)?;
                rounding = what.rounding.take();
                polished = Some(what);
            }
        } else {
            rounding = round_outcome(&parts, &mut outcome, &mut rounds)?;
        }
        (self.observe)(RunEvent::Decided)?;
        let objective = Objective { k: config.k, loss: config.loss };
        let training: Vec<u32> = split.training().map(|n| n as u32).collect();
        let held_out: Vec<u32> = split.held_out().map(|n| n as u32).collect();
        let scores = scores.insert(RunScores::new(data, &config.prior_theta, &outcome.parameters));
        let [losses, held_out_losses] =
            [&training, &held_out].map(|which| scores.losses(data, objective, which));
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.slim();
        }
        let penalty = config
            .regularizes()
            .then(|| config.regularization(outcome.best_member).value(&outcome.parameters));
        let joint = record.scale.filter(|scale| scale.mode == ScaleMode::Joint);
        let loss_at_prior_k = joint.and_then(|scale| {
            let on_prior = Objective { k: scale.on_prior, ..objective };
            Some(scores.losses(data, on_prior, &training)?[0])
        });
        let mut tuned = Tuned {
            record: record.clone(),
            features: data.metadata().feature_set.clone(),
            probing: data.metadata().probing.clone(),
            positions: data.len() as u64,
            games: data.has_games().then(|| data.metadata().games),
            occurrences,
            piece_values: piece_values(data),
            doubts: Doubts::of(data),
            labels_k: data.metadata().selection.get("target_k").cloned(),
            united_games: data.united_games(),
            constant_term: None,
            loss_before: losses.map(|[before, _]| before),
            loss: losses.map(|[_, after]| after),
            held_out_before: held_out_losses.map(|[before, _]| before),
            held_out: held_out_losses.map(|[_, after]| after),
            held_out_gain: held_out_losses.map(|[before, after]| {
                let error = scores.difference(data, objective, &held_out).1;
                HeldOutGain { before, after, error }
            }),
            against_results: config.blend.and_then(|_| {
                let which = if held_out.is_empty() { &training } else { &held_out };
                let loss = |theta: &[f64]| loss_against_results(data, objective, theta, which);
                (!which.is_empty()).then(|| AgainstResults {
                    held_out: !held_out.is_empty(),
                    before: loss(&config.prior_theta),
                    after: loss(&outcome.parameters),
                })
            }),
            program: diagnose_program(data, split, objective, &outcome.parameters, &config.prior_theta),
            score_ratio: training_score_ratio(data, config.k, split, scores),
            penalty,
            loss_at_prior_k,
            outcome,
            rounding,
            polish: polished,
            swarm_losses,
            uncertainty: Answer::None,
            errors: None,
            failure: None,
            epochs,
            folder: self.folder.map(|folder| folder.path().to_path_buf()),
            checkpoint,
        };
        let thetas = [&config.prior_theta[..], tuned.parameters()];
        tuned.constant_term = ConstantTerm::of(data, split, objective, &tuned.occurrences, scores, thetas);
        if let Some(folder) = self.folder.filter(|_| record.uncertainty.errors) {
            // Written now, in case the uncertainty estimate fails or the process is killed.
            tuned.write_files(folder)?;
        }
        match uncertainty::find(&parts, record.uncertainty, (&fitted.0, fitted.1), self.observe) {
            Ok(answer) => tuned.uncertainty = answer,
            Err(Error::Interrupted(_)) => return Err(Error::Interrupted("in the bootstrap".to_string())),
            Err(error) => tuned.failure = Some(error),
        }
        tuned.errors = match tuned.uncertainty.findings() {
            Some(findings) => Some(findings.sandwich.theta.clone()),
            None if self.display => uncertainty::for_display(&parts, (&fitted.0, fitted.1)),
            None => None,
        };
        tuned.record.conclusion = Some(conclude(&tuned));
        if let Some(folder) = self.folder {
            tuned.write_files(folder)?;
            folder.write_record(Kind::Run, &tuned.record)?;
            // The state that led to the results is no longer needed.
            tuned.checkpoint.as_ref().map_or(Ok(()), |checkpoint| checkpoint.write_to(folder))?;
        }
        Ok(tuned)
    }

    /// Runs the optimizer to its end, or until the user stops it, resuming from a checkpoint if there is one.
    fn drive(
        &mut self,
        layout: &Layout,
        checkpoint: Option<Checkpoint>,
        resuming: bool,
        fitted_loss: Option<f64>,
    ) -> Result<Trained> {
        let (folder, split, data, backend) = (self.folder, self.split, self.data, self.backend);
        let config = &self.record.config;
        let (mut evaluator, line) = backend.evaluator(layout)?;
        let resumed = resuming.then(|| checkpoint.as_ref().map_or(0, |c| c.progress.epochs));
        let kept = checkpoint.as_ref().map_or(0, |c| c.progress.metrics);
        let mut run = match (checkpoint, folder) {
            (Some(checkpoint), Some(folder)) => {
                Tuning::resume(config, split, checkpoint, &folder.checkpoint())?
            }
            _ => Tuning::try_new(config, split)?,
        };
        let mut metrics = folder.map(|folder| folder.metrics(kept)).transpose()?;
        let observe = &mut *self.observe;
        if resumed.is_none() {
            let known = self.activity.take();
            let activity = known.unwrap_or_else(|| term_activity(data, &config.prior_theta));
            for clause in dead_terms(&activity, "under the prior") {
                let remedy = match &self.record.starts {
                    Some(starts) => format!("of {} starts, the best goes on", starts.losses.len()),
                    None => "start from larger values of them, or from several points".to_string(),
                };
                let warning = format!("{clause}; {remedy}");
                observe(RunEvent::Warning(&warning))?;
            }
        }
        observe(RunEvent::Started(Start {
            folder,
            record: self.record,
            data,
            split,
            backend: &line,
            fitted_loss,
            resumed,
        }))?;
        let (mut state, mut epochs) = (None, Vec::new());
        let mut stored = Instant::now();
        let every = self.checkpoint_every;
        let outcome = run.run(&mut *evaluator, self.cancel, &mut |event| match event {
            Event::Epoch { epoch, loss, held_out, gradient_norm, seconds, pairs, details } => {
                let record = EpochRecord { epoch, loss, held_out, gradient_norm, seconds, details };
                match &mut metrics {
                    Some(metrics) => append_line(metrics, &record)?,
                    None => epochs.push(record.clone()),
                }
                observe(RunEvent::Epoch { record: &record, pairs })
            }
            Event::State { checkpoint, last } => {
                let due = folder.is_some() && stored.elapsed() >= every;
                if !due && !last {
                    return Ok(());
                }
                stored = Instant::now();
                let checkpoint = checkpoint();
                if let Some(folder) = folder {
                    checkpoint.write_to(folder)?;
                }
                if last {
                    state = Some(checkpoint);
                }
                Ok(())
            }
            Event::Replaced(fallback) => observe(RunEvent::Replaced(&fallback)),
        });
        observe(RunEvent::Optimized)?;
        Ok(Trained { outcome: outcome?, checkpoint: state, epochs })
    }
}

/// Resets coordinates that neither positions nor penalties determine to their start, since swarms move everything.
fn hold_undetermined(config: &RunConfig, occurrences: &[u64], outcome: &mut Outcome) {
    let basis = config.parameterization();
    let penalties = Regularization::new(&config.prior_theta, 0.0, &config.penalties);
    let count = occurrences.len();
    let free = |index: usize| occurrences[index % count] == 0 && !penalties.involves(index);
    let start = basis.start();
    let is_free = |i: usize| match basis.columns.get(i) {
        None => free(i),
        Some(column) => column.iter().all(|&(index, _)| free(index as usize)),
    };
    let moved: Vec<usize> = (0..start.len()).filter(|&i| outcome.z[i] != start[i] && is_free(i)).collect();
    if moved.is_empty() {
        return;
    }
    moved.iter().for_each(|&i| outcome.z[i] = start[i]);
    outcome.parameters = basis.theta(&outcome.z);
}
