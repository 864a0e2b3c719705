//! The beginning of a run: from settings and positions to a session.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use crate::event::{RunEvent, RunObserver};
use crate::inputs::{default_extraction, extract_to, temporary_folder};
use crate::memory::check_swarms;
use crate::session::Session;
use crate::settings::{RunOutput, TunerSettings};
use crate::strength::{Decision, PriorStrength};
use crate::tuned::Tuned;
use crate::uncertainty;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_ingest::extraction::ExtractSettings;
use gputexel_io::run_folder::{DATASET, Kind};
use gputexel_io::{Error, Result, RunFolder, StopFlag, absolute};
use gputexel_model::{FeatureSet, Parameterization, Penalty, PenaltyKind, Prior, penalties};
use gputexel_tune::{
    BlendRecord, ModelSize, PendingChoices, RunConfig, RunRecord, UncertaintyRequest, exact_scores,
    fit_scale, penalties_of, refuse_one_target, term_activity,
};

pub(crate) struct Positions<'a> {
    pub data: Cow<'a, Dataset>,
    pub paths: Vec<PathBuf>,
    /// Folder of a dataset that was made for this run, which keeps it.
    pub made: Option<tempfile::TempDir>,
}

struct Prepared {
    split: Split,
    config: RunConfig,
    blend: Option<BlendRecord>,
    strength: PriorStrength,
    fitted_loss: Option<f64>,
}

pub(crate) struct Beginning<'r, 'o> {
    pub settings: TunerSettings<'o>,
    pub uncertainty: UncertaintyRequest,
    pub checkpoint_every: Duration,
    pub display: bool,
    pub backend: &'r Backend,
    pub stop: &'r StopFlag,
    pub observe: &'r mut RunObserver<'o>,
}

impl Beginning<'_, '_> {
    pub fn run(mut self, mut positions: Option<Positions<'_>>, inputs: &[PathBuf]) -> Result<Tuned> {
        let settings = &self.settings;
        let reading = settings.extraction.clone().unwrap_or_else(default_extraction);
        let extracted = reading.feature_set.clone();
        let set = positions.as_ref().map_or(&extracted, |positions| &positions.data.metadata().feature_set);
        let prior = settings.prior.clone().unwrap_or_else(|| Prior::default_for(set));
        let theta = prior.theta(set)?;
        // An error in the weights is reported before anything is extracted.
        settings.prior_strength.as_ref().map_or(Ok(Vec::new()), |strength| strength.given(set))?;
        let is_swarm = settings.method(ModelSize::UNKNOWN)?.swarms().is_some();
        let default = if is_swarm { "madchess" } else { "identity" };
        let kept = positions.as_ref().map_or(Vec::new(), |own| settings.basis.kept(&own.data));
        let basis = settings.basis.resolve(default, is_swarm, set, &theta, &kept)?;
        // Existing files are checked before anything is written.
        let prepared = match &mut positions {
            Some(positions) if positions.made.is_none() => {
                Some(self.prepare(positions, &prior, theta.clone(), basis.clone())?)
            }
            _ => None,
        };
        let create = |path| RunFolder::create(path, Kind::Run, settings.overwrite).map(Some);
        let folder = match &settings.output {
            RunOutput::Memory => None,
            RunOutput::Dated => create(None)?,
            RunOutput::Folder(path) => create(Some(path.as_path()))?,
        };
        if let Some(warning) = folder.as_ref().and_then(RunFolder::warning) {
            (self.observe)(RunEvent::Alert(&warning))?;
        }
        let result = (|| {
            let (positions, prepared) = match (positions, prepared) {
                (Some(positions), Some(prepared)) => (positions, prepared),
                (made, _) => {
                    let mut positions = match made {
                        Some(made) => self.keep(made, folder.as_ref())?,
                        None => self.extract(inputs, &reading, folder.as_ref())?,
                    };
                    let prepared = self.prepare(&mut positions, &prior, theta, basis)?;
                    (positions, prepared)
                }
            };
            self.execute(positions, prepared, folder.as_ref())
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
        let temporary;
        let path = match folder {
            Some(folder) => self.dataset_in(folder)?,
            None => {
                temporary = temporary_folder()?;
                temporary.path().join(DATASET)
            }
        };
        let report = extract_to(inputs, settings, &path, self.stop, self.observe)?;
        (self.observe)(RunEvent::Extracted { report: &report, output: &path })?;
        let data = dataset::read(&path)?.with_sections(self.settings.sections)?;
        let paths = if folder.is_some() { vec![path] } else { Vec::new() };
        Ok(Positions { data: Cow::Owned(data), paths, made: None })
    }

    /// Returns the file for the dataset that a run makes.
    fn dataset_in(&self, folder: &RunFolder) -> Result<PathBuf> {
        if self.settings.overwrite {
            folder.remove(DATASET)?;
        }
        folder.making(&[DATASET])?;
        Ok(folder.file(DATASET))
    }

    /// Moves a dataset that was made before the run to its folder.
    fn keep<'p>(&self, mut positions: Positions<'p>, folder: Option<&RunFolder>) -> Result<Positions<'p>> {
        let from = std::mem::take(&mut positions.paths);
        if let (Some(folder), [from]) = (folder, &from[..]) {
            let path = self.dataset_in(folder)?;
            std::fs::copy(from, &path).map_err(|e| Error::io(&path, e))?;
            positions.paths = vec![path];
        }
        positions.made = None;
        Ok(positions)
    }

    fn prepare(
        &self,
        positions: &mut Positions<'_>,
        prior: &Prior,
        theta: Vec<f64>,
        basis: Option<Parameterization>,
    ) -> Result<Prepared> {
        if positions.data.is_empty() {
            return Err(match positions.paths.first() {
                Some(path) => Error::input(path, "contains no positions"),
                None => Error::Usage("the dataset contains no positions".to_string()),
            });
        }
        let repeated = positions.data.repeated_games();
        if !repeated.is_empty() {
            positions.data.to_mut().unite_games(&repeated);
        }
        let (data, settings) = (&*positions.data, &self.settings);
        let model = ModelSize { parameters: theta.len(), linear: data.program().is_none() };
        let optimizer = settings.method(model)?;
        if let Some(swarms) = optimizer.swarms() {
            let dimension = basis.as_ref().map_or(theta.len(), Parameterization::dimension);
            check_swarms(&swarms.settings, dimension)?;
        }
        let split = Split::try_new(data, settings.holdout, optimizer.batches(), settings.seed)?;
        let blend = match settings.blend.share {
            Some(_) => settings.blend.prepare(positions.data.to_mut(), &split, settings.loss)?,
            None => None,
        };
        let data = &*positions.data;
        let mut l2 = settings.weights(model);
        let strength = settings.strength(&optimizer, &l2);
        let set = &data.metadata().feature_set;
        let (k, fitted_loss) = scale(data, &split, &theta, settings.loss, settings.k)?;
        let mut penalties = strength.given(set)?;
        if data.metadata().probing.is_some() && l2.iter().all(|other| *other == l2[0]) {
            // Its unit is that of parameters, which options do not share.
            add_ridge(&mut penalties, set, l2.first().copied().unwrap_or(0.0));
            l2.clear();
        }
        let config = RunConfig {
            datasets: positions.paths.iter().map(|path| absolute(path).display().to_string()).collect(),
            checksum: data.checksum().to_string(),
            sections: data.sections(),
            prior: prior.to_string(),
            prior_theta: theta,
            basis,
            begin: None,
            l2,
            penalties: penalties_of(data, penalties),
            k,
            blend: blend.map(|(blend, _)| blend),
            loss: settings.loss,
            holdout: settings.holdout,
            seed: settings.seed,
            round: settings.round,
            stopping: settings.limits.for_method(&optimizer),
            optimizer,
        };
        config.validate()?;
        let blend = blend.map(|(_, record)| record);
        Ok(Prepared { split, config, blend, strength, fitted_loss })
    }

    fn execute(
        self,
        positions: Positions<'_>,
        prepared: Prepared,
        folder: Option<&RunFolder>,
    ) -> Result<Tuned> {
        let Self { settings, uncertainty, checkpoint_every, display, backend, stop, observe } = self;
        let Prepared { split, config, blend, strength, fitted_loss } = prepared;
        // Requests that would fail later are rejected before anything is chosen.
        uncertainty::check(uncertainty, &config, &positions.data, &split, observe)?;
        let data = &*positions.data;
        let undecided = PendingChoices {
            starts: settings.starts,
            strength: strength.order(settings.prior_strength.is_some()),
            scale: settings.k.is_none().then_some(settings.scale),
        };
        let mut record = RunRecord {
            uncertainty,
            undecided: Some(undecided),
            blend,
            kept: settings.basis.kept(data),
            ..RunRecord::new(&settings.command_line, config)
        };
        let resumable = folder.filter(|_| !positions.paths.is_empty());
        if let Some(folder) = resumable {
            folder.write_first_record(Kind::Run, &record)?;
            observe(RunEvent::Opened { folder, features: &data.metadata().feature_set })?;
        }
        let activity = term_activity(data, &record.config.prior_theta);
        let decision =
            Decision { data, split: &split, backend, activity: &activity, stop, observe: &mut *observe };
        let fitted_k = record.config.k;
        match decision.decide(&mut record.config, undecided) {
            Ok(decided) => decided.enter(&mut record),
            Err(error @ Error::Interrupted(_)) => {
                if let Some(folder) = resumable {
                    folder.making(&[])?;
                    observe(RunEvent::Resumable { folder: folder.path() })?;
                }
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        let fitted_loss = fitted_loss.filter(|_| record.config.k == fitted_k);
        let activity = Some(activity);
        folder.map_or(Ok(()), |folder| folder.write_record(Kind::Run, &record))?;
        let (record, split) = (&record, &split);
        Session {
            folder,
            record,
            data,
            split,
            backend,
            cancel: stop,
            activity,
            checkpoint_every,
            display,
            observe,
        }
        .carry_out(None, false, fitted_loss)
    }
}

/// Adds the penalties that cost as much as a weight λ, if it is not 0.
fn add_ridge(all: &mut Vec<Penalty>, set: &FeatureSet, l2: f64) {
    for one in penalties(set, PenaltyKind::Ridge).into_iter().filter(|_| l2 > 0.0) {
        match all.iter_mut().find(|other| other.kind == one.kind && other.of == one.of) {
            Some(own) => own.weight += l2,
            None => all.push(Penalty { weight: l2, ..one }),
        }
    }
}

fn scale(
    data: &Dataset,
    split: &Split,
    theta: &[f64],
    loss: LossKind,
    given: Option<f64>,
) -> Result<(f64, Option<f64>)> {
    if let Some(k) = given {
        refuse_one_target(data.results().iter().copied())?;
        return Ok((k, None));
    }
    let training: Vec<u32> = split.training().map(|n| n as u32).collect();
    let fit = fit_scale(data, &exact_scores(data, theta, &training), &training, loss)?;
    Ok((fit.k, Some(fit.loss)))
}
