//! The builder of a run, and how settings become a record.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gputexel_chess::selection::Resolve;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_evaluator::Backend;
use gputexel_files::run_folder::{DATASET, Kind};
use gputexel_files::{Error, Result, RunFolder, StopFlag, absolute, check_present};
use gputexel_model::{Parameterization, Prior};
use gputexel_optimizer::{Optimizer, Space};
use gputexel_tuning::{
    Limits, OptimizerConfig, Rounding, RunConfig, RunRecord, ScaleMode, UncertaintyRequest, exact_scores,
    fit_scale, space_of,
};

use crate::basis::BasisSettings;
use crate::event::{RunEvent, RunObserver};
use crate::inputs::{are_datasets, default_features, extract_to, temporary_folder};
use crate::memory::check_swarms;
use crate::requiesce::{First, Means, RoundSettings};
use crate::resume::Unfinished;
use crate::session::Session;
use crate::strength::{Decided, Decision, PriorStrength};
use crate::tuned::Tuned;
use crate::uncertainty;

type OptimizerOf<'a> = Box<dyn Fn(usize) -> Result<OptimizerConfig> + 'a>;
type MakeOptimizer<'a> = Box<dyn FnOnce(&Space) -> Result<Box<dyn Optimizer>> + 'a>;

/// Tunes parameters: a builder for the settings that differ from the defaults.
///
/// By default, Gauss–Newton minimizes the squared error over all positions, starting at and relative to the
/// default prior, with K fitted on the prior, on a GPU if there is one.
///
/// ```
/// use gputexel_run::Tuner;
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("positions.epd");
/// # let ends = ["Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";", "q7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";"];
/// # let more = ["R7/8/8/8/8/7k/8/K7 w - - c9 \"1/2-1/2\";", "r7/8/8/8/8/7K/8/k7 w - - c9 \"1-0\";"];
/// # std::fs::write(&file, [ends, more].concat().join("\n") + "\n")?;
/// let data = gputexel_run::extract(&[file])?;
/// let tuned = Tuner::builder(&data).l2(1e-4).k(0.8).epochs(5).seed(1).run()?;
/// assert!(tuned.loss < tuned.loss_before);
/// tuned.write_to(folder.path().join("run"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tuner<'a> {
    source: Source<'a>,
    prior: Option<Prior>,
    basis: BasisSettings,
    k: Option<f64>,
    scale_mode: ScaleMode,
    strength: Option<PriorStrength>,
    loss: LossKind,
    l2: Option<f64>,
    holdout: f64,
    seed: u64,
    optimizer: Option<OptimizerOf<'a>>,
    custom: Option<(String, MakeOptimizer<'a>)>,
    round: Rounding,
    limits: Limits,
    uncertainty: UncertaintyRequest,
    ablate: bool,
    rounds: Option<RoundSettings>,
    folder: Option<Option<PathBuf>>,
    datasets: Vec<PathBuf>,
    overwrite: bool,
    checkpoint_every: Duration,
    command_line: String,
    backend: Option<&'a Backend>,
    stop: StopFlag,
    observer: Box<RunObserver<'a>>,
}

/// The source of positions.
pub(crate) enum Source<'a> {
    Dataset(&'a Dataset),
    Files(Vec<PathBuf>),
    Unfinished(Box<Unfinished>),
}

/// Available positions, and the files that contain them.
enum Positions<'a> {
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
    strength: PriorStrength,
    /// Loss at K, if K was fitted.
    fitted_loss: Option<f64>,
}

impl<'a> Tuner<'a> {
    /// A run on a dataset. Everything stays in memory unless there is a [`folder`](Self::folder).
    pub fn builder(data: &'a Dataset) -> Self {
        Self::of(Source::Dataset(data))
    }

    /// A run on files: one or more datasets, or games or labeled positions, which are first extracted with
    /// the default settings, into the folder of the run if it has one.
    pub fn from_files<P: AsRef<Path>>(paths: &[P]) -> Self {
        Self::of(Source::Files(paths.iter().map(|path| path.as_ref().to_path_buf()).collect()))
    }

    pub(crate) fn of(source: Source<'a>) -> Self {
        Self {
            source,
            prior: None,
            basis: BasisSettings::default(),
            k: None,
            scale_mode: ScaleMode::Auto,
            strength: None,
            loss: LossKind::default(),
            l2: None,
            holdout: 0.0,
            seed: 1,
            optimizer: None,
            custom: None,
            round: Rounding::None,
            limits: Limits::default(),
            uncertainty: UncertaintyRequest::default(),
            ablate: false,
            rounds: None,
            folder: None,
            datasets: Vec::new(),
            overwrite: false,
            checkpoint_every: Duration::from_secs(30),
            command_line: String::new(),
            backend: None,
            stop: StopFlag::new(),
            observer: Box::new(|_| Ok(())),
        }
    }

    /// Starting point, and target of the regularization [default: that of the features].
    #[must_use]
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = Some(prior);
        self
    }

    /// Which parameters are tuned [default: every one by itself].
    #[must_use]
    pub fn basis(mut self, basis: BasisSettings) -> Self {
        self.basis = basis;
        self
    }

    /// The scale constant K, base-10 form [default: fitted, see [`scale`](Self::scale)].
    #[must_use]
    pub fn k(mut self, k: f64) -> Self {
        self.k = Some(k);
        self
    }

    /// What K is fitted on, if it is not given [default: [`ScaleMode::Auto`]].
    #[must_use]
    pub fn scale(mut self, mode: ScaleMode) -> Self {
        self.scale_mode = mode;
        self
    }

    /// What ties parameters to each other and to the prior [default: penalties whose weights are chosen by
    /// held-out loss, unless there is an [`l2`](Self::l2)].
    #[must_use]
    pub fn prior_strength(mut self, strength: PriorStrength) -> Self {
        self.strength = Some(strength);
        self
    }

    /// The loss function [default: the squared error].
    #[must_use]
    pub fn loss(mut self, loss: LossKind) -> Self {
        self.loss = loss;
        self
    }

    /// Regularization weight λ: a parameter one pawn (100 centipawns) from the prior costs λ. Then nothing
    /// else regularizes, unless [`prior_strength`](Self::prior_strength) gives weights [default: as set for the
    /// optimizer].
    #[must_use]
    pub fn l2(mut self, l2: f64) -> Self {
        self.l2 = Some(l2);
        self
    }

    /// Share of the games to hold out, 0 to 0.9, by which the parameters are judged [default: 0].
    #[must_use]
    pub fn holdout(mut self, share: f64) -> Self {
        self.holdout = share;
        self
    }

    /// Seed of all random numbers [default: 1].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The method and its settings [default: [`OptimizerConfig::default_for`]].
    #[must_use]
    pub fn optimizer(self, optimizer: OptimizerConfig) -> Self {
        self.optimizer_by(move |_| Ok(optimizer.clone()))
    }

    /// The method and its settings, chosen by the number of parameters. First called with 0, when that number
    /// is still unknown, so that invalid settings are refused before anything is read.
    #[must_use]
    pub fn optimizer_by(mut self, choose: impl Fn(usize) -> Result<OptimizerConfig> + 'a) -> Self {
        self.optimizer = Some(Box::new(choose));
        self
    }

    /// An optimizer supplied by the caller, created for the space of the tuned parameters. Such a run has no
    /// [`folder`](Self::folder), because it could not be resumed from there.
    #[must_use]
    pub fn custom_optimizer(
        mut self,
        name: &str,
        make: impl FnOnce(&Space) -> Result<Box<dyn Optimizer>> + 'a,
    ) -> Self {
        self.custom = Some((name.to_string(), Box::new(make)));
        self
    }

    /// How the result is rounded to whole numbers [default: not at all].
    #[must_use]
    pub fn round(mut self, round: Rounding) -> Self {
        self.round = round;
        self
    }

    /// When to stop [default: the method's limits].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// At most this many epochs.
    #[must_use]
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.limits.epochs = Some(epochs);
        self
    }

    /// Uncertainty estimates for the result: standard errors, a bootstrap [default: none]. A resumed run also
    /// computes those requested originally.
    #[must_use]
    pub fn uncertainty(mut self, request: UncertaintyRequest) -> Self {
        self.uncertainty = request;
        self
    }

    /// Finds out what each group of features is worth on held-out positions [default: no].
    #[must_use]
    pub fn ablate(mut self, ablate: bool) -> Self {
        self.ablate = ablate;
        self
    }

    /// Resolves positions again with the tuned parameters and tunes again, this many times: see
    /// [`MAX_ROUNDS`](crate::MAX_ROUNDS). Requires a dataset that names its sources, and a folder. `from` is
    /// the search that resolves [default: that of the dataset, else quiescence].
    #[must_use]
    pub fn requiesce(mut self, rounds: u32, from: Option<Resolve>) -> Self {
        self.rounds = Some(RoundSettings { count: rounds, from });
        self
    }

    /// The files that hold the positions of a [`builder`](Self::builder)'s dataset: a run in a folder that names
    /// them can be resumed. They are not read before.
    #[must_use]
    pub fn datasets<P: AsRef<Path>>(mut self, files: &[P]) -> Self {
        self.datasets = files.iter().map(|file| file.as_ref().to_path_buf()).collect();
        self
    }

    /// Stores the run in a folder, from which it can be [resumed](Self::resume) if it was started
    /// [from files](Self::from_files) or names its [`datasets`](Self::datasets).
    #[must_use]
    pub fn folder(mut self, path: impl AsRef<Path>) -> Self {
        self.folder = Some(Some(path.as_ref().to_path_buf()));
        self
    }

    /// Stores the run in a new folder under `runs`, named after the current time.
    #[must_use]
    pub fn dated_folder(mut self) -> Self {
        self.folder = Some(None);
        self
    }

    /// Whether an earlier run in the folder may be overwritten [default: no].
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Time between checkpoints in the folder [default: 30 seconds].
    #[must_use]
    pub fn checkpoint_every(mut self, every: Duration) -> Self {
        self.checkpoint_every = every;
        self
    }

    /// The command line to record [default: none].
    #[must_use]
    pub fn command_line(mut self, text: &str) -> Self {
        self.command_line = text.to_string();
        self
    }

    /// The backend [default: a real GPU if there is one, else the CPU].
    #[must_use]
    pub fn backend(mut self, backend: &'a Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Ends the run soon after the flag is set, with [`Error::Interrupted`]; the folder, if any, then contains
    /// the state.
    #[must_use]
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Receives events of the run. An error ends the run.
    #[must_use]
    pub fn observe(mut self, observer: impl FnMut(RunEvent<'_>) -> Result<()> + 'a) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that contradict each other or the positions, before anything is written;
    /// [`Error::Interrupted`]; [`Error::Numeric`]; [`Error::Gpu`] when a GPU was required; files that cannot
    /// be read or written.
    pub fn run(mut self) -> Result<Tuned> {
        match &self.source {
            Source::Unfinished(_) => self.check_unchanged()?,
            _ => self.check()?,
        }
        let mut opened = None;
        let backend = Backend::given_or_auto(self.backend, &mut opened)?;
        match std::mem::replace(&mut self.source, Source::Files(Vec::new())) {
            Source::Unfinished(unfinished) => {
                let (every, stop) = (self.checkpoint_every, &self.stop);
                unfinished.run(self.uncertainty, backend, stop, every, &mut *self.observer)
            }
            Source::Dataset(data) => {
                let files = std::mem::take(&mut self.datasets);
                check_present(&files)?;
                if files.is_empty() && self.folder.is_some() {
                    let warning = "the run cannot be resumed: the files of its dataset are not named";
                    (self.observer)(RunEvent::Warning(warning))?;
                }
                self.start(Some(Positions::Given(data, files)), &[], backend)
            }
            Source::Files(paths) => {
                let positions = match are_datasets(&paths)? {
                    true => Some(Positions::Read(Box::new(dataset::read_many(&paths)?), paths.clone())),
                    false => None,
                };
                self.start(positions, &paths, backend)
            }
        }
    }

    /// Refuses settings of a resumed run that would have an effect on its result, and have none.
    fn check_unchanged(&self) -> Result<()> {
        let fresh = Self::of(Source::Files(Vec::new()));
        let basis = &self.basis;
        let changed = [
            ("prior", self.prior.is_some()),
            ("basis", basis.basis.is_some() || !basis.freeze.is_empty() || basis.radius.is_some()),
            ("basis", basis.unbounded || basis.integers || !basis.constraints.is_empty()),
            ("k", self.k.is_some()),
            ("loss", self.loss != fresh.loss),
            ("l2", self.l2.is_some()),
            ("prior-strength", self.strength.is_some()),
            ("k", self.scale_mode != fresh.scale_mode),
            ("holdout", self.holdout != fresh.holdout),
            ("seed", self.seed != fresh.seed),
            ("optimizer", self.optimizer.is_some() || self.custom.is_some()),
            ("round", self.round != fresh.round),
            ("limits", self.limits != fresh.limits),
            ("ablate", self.ablate),
            ("requiesce", self.rounds.is_some()),
            ("folder", self.folder.is_some()),
        ];
        match changed.iter().find(|(_, changed)| *changed) {
            Some((setting, _)) => {
                let reason = "a resumed run keeps what it was started with".to_string();
                Err(Error::Setting { setting, value: None, reason })
            }
            None => Ok(()),
        }
    }

    /// Refuses what can be refused before anything is read.
    fn check(&self) -> Result<()> {
        Split::check_share(self.holdout)?;
        self.rounds.map_or(Ok(()), RoundSettings::validate)?;
        if self.rounds.is_some() && self.folder.is_none() {
            return Err(Error::Usage("rounds need a folder to write to".to_string()));
        }
        if let Some((name, _)) = &self.custom {
            return match self.folder {
                Some(_) => Err(Error::Usage(format!(
                    "optimizer '{name}': only the program that supplied it could resume the run, so it cannot have a folder"
                ))),
                None => Ok(()),
            };
        }
        let optimizer = self.method(0)?;
        if matches!(self.strength, Some(PriorStrength::Auto { .. })) && optimizer.regularizes() {
            let reason = "is either given or chosen with the strength of the prior".to_string();
            return Err(Error::Setting { setting: "l2", value: None, reason });
        }
        self.limits.for_method(&optimizer).validate()?;
        if !matches!(optimizer, OptimizerConfig::ParticleSwarm { .. }) {
            optimizer.build(&Space::unbounded(&[0.0, 0.0]), 1)?;
        }
        match optimizer.batches() {
            0 => Err(Error::Usage("there must be at least 1 mini-batch".to_string())),
            _ => Ok(()),
        }
    }

    fn method(&self, parameters: usize) -> Result<OptimizerConfig> {
        let optimizer = match (&self.custom, &self.optimizer) {
            (Some((name, _)), _) => OptimizerConfig::Custom { name: name.clone(), l2: 0.0 },
            (_, Some(choose)) => choose(parameters)?,
            _ => OptimizerConfig::default_for(self.loss, parameters),
        };
        Ok(match self.l2 {
            Some(l2) => optimizer.with_l2(l2),
            None => optimizer,
        })
    }

    /// Starts with available positions, or with the extraction of `inputs`.
    fn start(
        mut self,
        positions: Option<Positions<'_>>,
        inputs: &[PathBuf],
        backend: &Backend,
    ) -> Result<Tuned> {
        let extracted = default_features();
        let set = positions.as_ref().map_or(&extracted, |positions| &positions.data().metadata().feature_set);
        let prior = self.prior.clone().unwrap_or_else(|| Prior::default_for(set));
        let theta = prior.theta(set)?;
        // A mistake in the weights is found before anything is extracted.
        self.strength.as_ref().map_or(Ok(Vec::new()), |strength| strength.given(set))?;
        let is_swarm = matches!(self.method(0)?, OptimizerConfig::ParticleSwarm { .. });
        let default = if is_swarm { "madchess" } else { "identity" };
        let basis = self.basis.resolve(default, is_swarm, set, &theta)?;
        // Existing files are checked before anything is written.
        let prepared = match &positions {
            Some(positions) => Some(self.prepare(positions, &prior, theta.clone(), basis.clone())?),
            None => None,
        };
        let folder = match &self.folder {
            Some(path) => Some(RunFolder::create(path.as_deref(), Kind::Run, self.overwrite)?),
            None => None,
        };
        if let Some(warning) = folder.as_ref().and_then(RunFolder::warning) {
            (self.observer)(RunEvent::Warning(&warning))?;
        }
        let result = (|| {
            let (positions, prepared) = match (positions, prepared) {
                (Some(positions), Some(prepared)) => (positions, prepared),
                _ => {
                    let positions = self.extract(inputs, folder.as_ref())?;
                    let prepared = self.prepare(&positions, &prior, theta, basis)?;
                    (positions, prepared)
                }
            };
            self.execute(&positions, prepared, folder.as_ref(), backend)
        })();
        if let (Err(_), Some(folder)) = (&result, &folder) {
            folder.discard();
        }
        result
    }

    fn extract(&mut self, inputs: &[PathBuf], folder: Option<&RunFolder>) -> Result<Positions<'static>> {
        let Some(folder) = folder else {
            let temporary = temporary_folder()?;
            let path = temporary.path().join(DATASET);
            let report = extract_to(inputs, &path, &self.stop)?;
            (self.observer)(RunEvent::Extracted { report: &report, output: &path })?;
            return Ok(Positions::Read(Box::new(dataset::read(&path)?), Vec::new()));
        };
        let path = folder.file(DATASET);
        if self.overwrite {
            folder.remove(DATASET)?;
        }
        folder.making(&[DATASET])?;
        let report = extract_to(inputs, &path, &self.stop)?;
        (self.observer)(RunEvent::Extracted { report: &report, output: &path })?;
        Ok(Positions::Read(Box::new(dataset::read(&path)?), vec![path]))
    }

    fn prepare(
        &self,
        positions: &Positions<'_>,
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
        let optimizer = self.method(theta.len())?;
        if let OptimizerConfig::ParticleSwarm { settings, .. } = &optimizer {
            let dimension = basis.as_ref().map_or(theta.len(), Parameterization::dimension);
            check_swarms(settings, dimension)?;
        }
        let split = Split::try_new(data, self.holdout, optimizer.batches(), self.seed)?;
        let strength =
            self.strength.clone().unwrap_or_else(|| PriorStrength::default_for(&optimizer, self.l2));
        let (k, fitted_loss) = scale(data, &split, &theta, self.loss, self.k)?;
        let config = RunConfig {
            datasets: positions.paths().iter().map(|path| absolute(path).display().to_string()).collect(),
            checksum: data.checksum().to_string(),
            prior: prior.to_string(),
            prior_theta: theta,
            basis,
            begin: None,
            penalties: strength.given(&data.metadata().feature_set)?,
            k,
            loss: self.loss,
            holdout: self.holdout,
            seed: self.seed,
            round: self.round,
            stopping: self.limits.for_method(&optimizer),
            optimizer,
        };
        config.validate()?;
        Ok(Prepared { split, config, strength, fitted_loss })
    }

    fn execute(
        &mut self,
        positions: &Positions<'_>,
        prepared: Prepared,
        folder: Option<&RunFolder>,
        backend: &Backend,
    ) -> Result<Tuned> {
        let Prepared { split, mut config, strength, fitted_loss } = prepared;
        let data = positions.data();
        let decision =
            Decision { data, split: &split, backend, stop: &self.stop, observe: &mut *self.observer };
        let mode = if self.k.is_none() { Some(self.scale_mode) } else { None };
        let Decided { strength, scale } =
            decision.decide(&mut config, &strength, self.strength.is_some(), mode)?;
        let custom = match self.custom.take() {
            Some((_, make)) => Some(make(&space_of(&config.parameterization()))?),
            None => None,
        };
        let mut record = RunRecord {
            uncertainty: self.uncertainty,
            ablate: self.ablate,
            strength,
            scale,
            ..RunRecord::new(&self.command_line, config)
        };
        let observe = &mut *self.observer;
        uncertainty::check(record.uncertainty, &record.config, data, &split, observe)?;
        let (cancel, checkpoint_every): (&AtomicBool, _) = (&self.stop, self.checkpoint_every);
        if let (Some(settings), Some(folder)) = (self.rounds, folder) {
            let Some(path) = positions.paths().first() else {
                return Err(Error::Usage("rounds need the file of a dataset".to_string()));
            };
            let rounds = settings.prepare(path, data, folder, cancel)?;
            record.requiesce = Some(rounds.record());
            folder.write_record(Kind::Run, &record)?;
            let overwrite = self.overwrite;
            let means = Means { folder, backend, cancel, overwrite, checkpoint_every, observe };
            return rounds.run(means, First { record, data, split: &split, fitted_loss });
        }
        folder.map_or(Ok(()), |folder| folder.write_record(Kind::Run, &record))?;
        let (record, split) = (&record, &split);
        Session { folder, record, data, split, backend, cancel, checkpoint_every, custom, observe }.carry_out(
            None,
            false,
            fitted_loss,
        )
    }
}

/// K as given, or fitted on the training positions, in which case the loss there is returned, too.
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
