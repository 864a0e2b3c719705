//! Starts a run from settings and positions.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::{
    ModelSize, OptimizerConfig, RunConfig, RunRecord, exact_scores, fit_scale, space_of, term_activity,
};
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_ingest::extraction::ExtractSettings;
use gputexel_io::run_folder::{DATASET, Kind};
use gputexel_io::{Error, Result, RunFolder, absolute};
use gputexel_model::{Parameterization, Prior, supported_penalties};

use super::Tuner;
use crate::run::blend::{self, Undecided};
use crate::run::event::RunEvent;
use crate::run::inputs::{default_extraction, extract_to, temporary_folder};
use crate::run::memory::check_swarms;
use crate::run::requiesce::{First, Means};
use crate::run::session::Session;
use crate::run::strength::{Decided, Decision, PriorStrength};
use crate::run::tuned::Tuned;
use crate::run::uncertainty;

/// Available positions, and the files that contain them.
pub(super) enum Positions<'a> {
    Given(&'a Dataset, Vec<PathBuf>),
    Read(Box<Dataset>, Vec<PathBuf>),
}

impl Positions<'_> {
    fn data(&self) -> &Dataset {
        match self {
            Self::Given(data, _) => data,
            Self::Read(data, _) => data,
        }
    }

    /// Returns the positions, copied if they belong to the caller.
    fn own(&mut self) -> &mut Dataset {
        if let Self::Given(data, paths) = self {
            *self = Self::Read(Box::new(data.clone()), std::mem::take(paths));
        }
        match self {
            Self::Read(data, _) => data,
            Self::Given(..) => unreachable!("replaced above"),
        }
    }

    fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Given(_, paths) | Self::Read(_, paths) => paths,
        }
    }
}

/// Settings of a run that depend on the positions.
struct Prepared {
    split: Split,
    config: RunConfig,
    blend: Option<blend::Prepared>,
    strength: PriorStrength,
    /// Loss at K, if K was fitted.
    fitted_loss: Option<f64>,
}

impl Tuner<'_> {
    /// Starts with available positions, or with the extraction of `inputs`.
    pub(super) fn start(
        mut self,
        mut positions: Option<Positions<'_>>,
        inputs: &[PathBuf],
        backend: &Backend,
    ) -> Result<Tuned> {
        let reading = self.extraction.clone().unwrap_or_else(default_extraction);
        let extracted = reading.feature_set.clone();
        let set = positions.as_ref().map_or(&extracted, |positions| &positions.data().metadata().feature_set);
        let prior = self.prior.clone().unwrap_or_else(|| Prior::default_for(set));
        let theta = prior.theta(set)?;
        // An error in the weights is reported before anything is extracted.
        self.strength.as_ref().map_or(Ok(Vec::new()), |strength| strength.given(set))?;
        let is_swarm = matches!(self.method(ModelSize::UNKNOWN)?, OptimizerConfig::ParticleSwarm { .. });
        let default = if is_swarm { "madchess" } else { "identity" };
        let basis = self.basis.resolve(default, is_swarm, set, &theta)?;
        // Existing files are checked before anything is written.
        let prepared = match &mut positions {
            Some(positions) => Some(self.prepare(positions, &prior, theta.clone(), basis.clone())?),
            None => None,
        };
        let folder = match &self.folder {
            Some(path) => Some(RunFolder::create(path.as_deref(), Kind::Run, self.overwrite)?),
            None => None,
        };
        if let Some(warning) = folder.as_ref().and_then(RunFolder::warning) {
            (self.observer)(RunEvent::Alert(&warning))?;
        }
        let result = (|| {
            let (positions, prepared) = match (positions, prepared) {
                (Some(positions), Some(prepared)) => (positions, prepared),
                _ => {
                    let mut positions = self.extract(inputs, &reading, folder.as_ref())?;
                    let prepared = self.prepare(&mut positions, &prior, theta, basis)?;
                    (positions, prepared)
                }
            };
            self.execute(positions, prepared, folder.as_ref(), backend)
        })();
        if let (Err(_), Some(folder)) = (&result, &folder) {
            folder.discard();
        }
        result
    }

    fn extract(
        &mut self,
        inputs: &[PathBuf],
        settings: &ExtractSettings,
        folder: Option<&RunFolder>,
    ) -> Result<Positions<'static>> {
        let Some(folder) = folder else {
            let temporary = temporary_folder()?;
            let path = temporary.path().join(DATASET);
            let report = extract_to(inputs, settings, &path, &self.stop, &mut *self.observer)?;
            (self.observer)(RunEvent::Extracted { report: &report, output: &path })?;
            return Ok(Positions::Read(Box::new(self.divided(dataset::read(&path)?)?), Vec::new()));
        };
        let path = folder.file(DATASET);
        if self.overwrite {
            folder.remove(DATASET)?;
        }
        folder.making(&[DATASET])?;
        let report = extract_to(inputs, settings, &path, &self.stop, &mut *self.observer)?;
        (self.observer)(RunEvent::Extracted { report: &report, output: &path })?;
        Ok(Positions::Read(Box::new(self.divided(dataset::read(&path)?)?), vec![path]))
    }

    /// Returns a dataset that was read, with the requested number of sections.
    pub(super) fn divided(&self, data: Dataset) -> Result<Dataset> {
        data.with_sections(self.sections)
    }

    fn prepare(
        &self,
        positions: &mut Positions<'_>,
        prior: &Prior,
        theta: Vec<f64>,
        basis: Option<Parameterization>,
    ) -> Result<Prepared> {
        let data = positions.data();
        if data.is_empty() {
            return Err(match positions.paths().first() {
                Some(path) => Error::input(path, "contains no positions"),
                None => Error::Usage("the dataset contains no positions".to_string()),
            });
        }
        let model = ModelSize { parameters: theta.len(), linear: data.program().is_none() };
        let optimizer = self.method(model)?;
        if let OptimizerConfig::ParticleSwarm { settings, .. } = &optimizer {
            let dimension = basis.as_ref().map_or(theta.len(), Parameterization::dimension);
            check_swarms(settings, dimension)?;
        }
        let split = Split::try_new(data, self.holdout, optimizer.batches(), self.seed)?;
        let blend = match self.blend.share {
            Some(_) => self.blend.prepare(positions.own(), &split, self.loss)?,
            None => None,
        };
        let data = positions.data();
        let strength =
            self.strength.clone().unwrap_or_else(|| PriorStrength::default_for(&optimizer, self.l2));
        let set = &data.metadata().feature_set;
        let (k, fitted_loss) = scale(data, &split, &theta, self.loss, self.k)?;
        let config = RunConfig {
            datasets: positions.paths().iter().map(|path| absolute(path).display().to_string()).collect(),
            checksum: data.checksum().to_string(),
            sections: data.sections(),
            prior: prior.to_string(),
            prior_theta: theta,
            basis,
            begin: None,
            penalties: match strength.given(set)? {
                given if given.is_empty() => given,
                given => supported_penalties(set, given, &data.occurrences()),
            },
            k,
            blend: blend.as_ref().map(|prepared| prepared.blend),
            loss: self.loss,
            holdout: self.holdout,
            seed: self.seed,
            round: self.round,
            stopping: self.limits.for_method(&optimizer),
            optimizer,
        };
        config.validate()?;
        Ok(Prepared { split, config, blend, strength, fitted_loss })
    }

    fn execute(
        &mut self,
        mut positions: Positions<'_>,
        prepared: Prepared,
        folder: Option<&RunFolder>,
        backend: &Backend,
    ) -> Result<Tuned> {
        let Prepared { split, mut config, mut blend, strength, mut fitted_loss } = prepared;
        // Requests that would fail later are rejected before anything is chosen.
        uncertainty::check(self.uncertainty, &config, positions.data(), &split, &mut *self.observer)?;
        if let Some(blend) = &mut blend {
            let (fits_k, data) = (self.k.is_none(), positions.own());
            let (stop, observe) = (&self.stop, &mut *self.observer);
            let undecided = Undecided { data, split: &split, backend, stop, fits_k, observe };
            fitted_loss = undecided.decide(blend, &mut config)?.or(fitted_loss);
        }
        let data = positions.data();
        let activity = term_activity(data, &config.prior_theta);
        let decision = Decision {
            data,
            split: &split,
            backend,
            activity: &activity,
            stop: &self.stop,
            observe: &mut *self.observer,
        };
        let mode = if self.k.is_none() { Some(self.scale_mode) } else { None };
        let fitted_k = config.k;
        let Decided { starts, strength, scale } =
            decision.decide(&mut config, self.starts, &strength, self.strength.is_some(), mode)?;
        fitted_loss = fitted_loss.filter(|_| config.k == fitted_k);
        let custom = match self.custom.take() {
            Some((_, make)) => Some(make(&space_of(&config.parameterization()))?),
            None => None,
        };
        let mut record = RunRecord {
            uncertainty: self.uncertainty,
            ablate: self.ablate,
            starts,
            strength,
            scale,
            blend: blend.map(|blend| blend.record),
            ..RunRecord::new(&self.command_line, config)
        };
        let activity = Some(activity);
        let observe = &mut *self.observer;
        let (cancel, checkpoint_every): (&AtomicBool, _) = (&self.stop, self.checkpoint_every);
        if let (Some(settings), Some(folder)) = (self.rounds.take(), folder) {
            let Some(path) = positions.paths().first() else {
                return Err(Error::Usage("rounds need the file of a dataset".to_string()));
            };
            let rounds = settings.prepare(path, data, folder, cancel)?;
            record.requiesce = Some(rounds.record());
            folder.write_record(Kind::Run, &record)?;
            let overwrite = self.overwrite;
            let means = Means { folder, backend, cancel, overwrite, checkpoint_every, observe };
            return rounds.run(means, First { record, data, split: &split, activity, fitted_loss });
        }
        folder.map_or(Ok(()), |folder| folder.write_record(Kind::Run, &record))?;
        let (record, split) = (&record, &split);
        Session { folder, record, data, split, backend, cancel, activity, checkpoint_every, custom, observe }
            .carry_out(None, false, fitted_loss)
    }
}

/// Returns K as given, or fitted on the training positions, in the latter case with the loss there.
fn scale(
    data: &Dataset,
    split: &Split,
    theta: &[f64],
    loss: LossKind,
    given: Option<f64>,
) -> Result<(f64, Option<f64>)> {
    if let Some(k) = given {
        return Ok((k, None));
    }
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let fit = fit_scale(data, &exact_scores(data, theta, &training), &training, loss)?;
    Ok((fit.k, Some(fit.loss)))
}
