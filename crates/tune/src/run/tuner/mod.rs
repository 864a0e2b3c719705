//! The builder of a run.

mod start;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{
    GAUSS_NEWTON_LIMIT, Limits, MOST_STARTS, ModelSize, OptimizerConfig, Rounding, ScaleMode,
    UncertaintyRequest,
};
use gputexel_chess::selection::Resolve;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_eval::Backend;
use gputexel_ingest::extraction::ExtractSettings;
use gputexel_ingest::tracing::TraceCommand;
use gputexel_io::{Error, Result, StopFlag, check_present};
use gputexel_model::Prior;
use gputexel_optim::{Optimizer, Space};

use crate::run::basis::BasisSettings;
use crate::run::blend::{BlendSettings, BlendShare};
use crate::run::event::{RunEvent, RunObserver};
use crate::run::inputs::are_datasets;
use crate::run::remaking::RemakingSettings;
use crate::run::requiesce::RoundSettings;
use crate::run::resume::Unfinished;
use crate::run::strength::PriorStrength;
use crate::run::tuned::Tuned;
use start::Positions;

/// Default weight λ if there are too many parameters to choose one.
const L2_OF_MANY: f64 = 1e-6;

type OptimizerOf<'a> = Box<dyn Fn(ModelSize) -> Result<OptimizerConfig> + 'a>;
type MakeOptimizer<'a> = Box<dyn FnOnce(&Space) -> Result<Box<dyn Optimizer>> + 'a>;

/// Tunes parameters: a builder for the settings that differ from the defaults.
///
/// By default, Gauss–Newton minimizes the squared error over all positions, regularized toward the default prior by
/// penalties whose weights are chosen on held-out games, with K fitted on the prior, on a GPU if there is one.
///
/// ```
/// use gputexel_tune::run::Tuner;
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("positions.epd");
/// # let ends = ["Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";", "q7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";"];
/// # let more = ["R7/8/8/8/8/7k/8/K7 w - - c9 \"1/2-1/2\";", "r7/8/8/8/8/7K/8/k7 w - - c9 \"1-0\";"];
/// # std::fs::write(&file, [ends, more].concat().join("\n") + "\n")?;
/// let data = crate::run::extract(&[file])?;
/// let tuned = Tuner::builder(&data).l2(1e-4).k(0.8).epochs(5).seed(1).run()?;
/// assert!(tuned.loss < tuned.loss_before);
/// tuned.write_to(folder.path().join("run"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tuner<'a> {
    source: Source<'a>,
    extraction: Option<ExtractSettings>,
    prior: Option<Prior>,
    basis: BasisSettings,
    k: Option<f64>,
    scale_mode: ScaleMode,
    strength: Option<PriorStrength>,
    starts: Option<usize>,
    loss: LossKind,
    blend: BlendSettings,
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
    sections: Option<usize>,
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

impl<'a> Tuner<'a> {
    /// Creates a run on a dataset. Everything stays in memory unless there is a [`folder`](Self::folder).
    pub fn builder(data: &'a Dataset) -> Self {
        Self::of(Source::Dataset(data))
    }

    /// Creates a run on files: one or more datasets, or games or labeled positions, which are first extracted with the
    /// default settings, into the folder of the run if it has one.
    pub fn from_files<P: AsRef<Path>>(paths: &[P]) -> Self {
        Self::of(Source::Files(paths.iter().map(|path| path.as_ref().to_path_buf()).collect()))
    }

    pub(crate) fn of(source: Source<'a>) -> Self {
        Self {
            source,
            extraction: None,
            prior: None,
            basis: BasisSettings::default(),
            k: None,
            scale_mode: ScaleMode::Auto,
            strength: None,
            starts: None,
            loss: LossKind::default(),
            blend: BlendSettings::default(),
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
            sections: None,
            overwrite: false,
            checkpoint_every: Duration::from_secs(30),
            command_line: String::new(),
            backend: None,
            stop: StopFlag::new(),
            observer: Box::new(|_| Ok(())),
        }
    }

    /// Sets how files that are not datasets are read, and the features to extract [default: detected,
    /// [`default_features`](crate::run::default_features)].
    #[must_use]
    pub fn extraction(mut self, settings: ExtractSettings) -> Self {
        self.extraction = Some(settings);
        self
    }

    /// Sets the starting point, and target of the regularization [default: that of the features].
    #[must_use]
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = Some(prior);
        self
    }

    /// Sets the parameters to tune [default: every one independently].
    #[must_use]
    pub fn basis(mut self, basis: BasisSettings) -> Self {
        self.basis = basis;
        self
    }

    /// Sets the scale constant K, base-10 form [default: fitted, see [`scale`](Self::scale)].
    #[must_use]
    pub fn k(mut self, k: f64) -> Self {
        self.k = Some(k);
        self
    }

    /// Sets how K is fitted, if it is not given [default: [`ScaleMode::Auto`]].
    #[must_use]
    pub fn scale(mut self, mode: ScaleMode) -> Self {
        self.scale_mode = mode;
        self
    }

    /// Sets the regularization toward each other and the prior [default: penalties whose weights are chosen by held-out
    /// loss, unless there is an [`l2`](Self::l2)].
    #[must_use]
    pub fn prior_strength(mut self, strength: PriorStrength) -> Self {
        self.strength = Some(strength);
        self
    }

    /// Sets the loss function [default: the squared error].
    #[must_use]
    pub fn loss(mut self, loss: LossKind) -> Self {
        self.loss = loss;
        self
    }

    /// Sets the share of the search score in the targets; the rest is the result. Positions without a search score use
    /// the result alone [default: results only].
    #[must_use]
    pub fn blend(mut self, share: BlendShare) -> Self {
        self.blend.share = Some(share);
        self
    }

    /// Sets the scale constant, base-10 form, that converts search scores to expected results for a
    /// [`blend`](Self::blend) [default: fitted to the results].
    #[must_use]
    pub fn blend_k(mut self, k: f64) -> Self {
        self.blend.k = Some(k);
        self
    }

    /// Sets the regularization weight λ: a parameter one pawn (100 centipawns) from the prior costs λ. Then there is no
    /// other regularization, unless [`prior_strength`](Self::prior_strength) gives weights [default: as set for the
    /// optimizer].
    #[must_use]
    pub fn l2(mut self, l2: f64) -> Self {
        self.l2 = Some(l2);
        self
    }

    /// Sets the share of the games to hold out, 0 to 0.9, for the evaluation of the parameters [default: 0].
    #[must_use]
    pub fn holdout(mut self, share: f64) -> Self {
        self.holdout = share;
        self
    }

    /// Sets the seed of all random numbers [default: 1].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the method and its settings [default: [`OptimizerConfig::default_for`]].
    #[must_use]
    pub fn optimizer(self, optimizer: OptimizerConfig) -> Self {
        self.optimizer_by(move |_| Ok(optimizer.clone()))
    }

    /// Sets the method and its settings, chosen by the size of the model. First called with [`ModelSize::UNKNOWN`], so
    /// that invalid settings are rejected before anything is read.
    #[must_use]
    pub fn optimizer_by(mut self, choose: impl Fn(ModelSize) -> Result<OptimizerConfig> + 'a) -> Self {
        self.optimizer = Some(Box::new(choose));
        self
    }

    /// Sets an optimizer supplied by the caller, created for the space of the tuned parameters. Such a run has no
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

    /// Sets the rounding of the result to whole numbers [default: none].
    #[must_use]
    pub fn round(mut self, round: Rounding) -> Self {
        self.round = round;
        self
    }

    /// Sets when to stop [default: the method's limits].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Limits the number of epochs.
    #[must_use]
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.limits.epochs = Some(epochs);
        self
    }

    /// Requests uncertainty estimates for the result: standard errors, a bootstrap [default: none]. A resumed run also
    /// computes those requested originally.
    #[must_use]
    pub fn uncertainty(mut self, request: UncertaintyRequest) -> Self {
        self.uncertainty = request;
        self
    }

    /// Starts a nonlinear evaluation from the best of several points, including the prior, after a short fit from each,
    /// see [`choose_start`](crate::choose_start) [default: only from the prior, or
    /// [`DEFAULT_STARTS`](crate::DEFAULT_STARTS) if a term is inactive there in nearly all positions].
    #[must_use]
    pub fn starts(mut self, count: usize) -> Self {
        self.starts = Some(count);
        self
    }

    /// Estimates the worth of each group of features on held-out positions [default: no].
    #[must_use]
    pub fn ablate(mut self, ablate: bool) -> Self {
        self.ablate = ablate;
        self
    }

    /// Resolves positions again with the tuned parameters and tunes again, this many times: see
    /// [`MAX_ROUNDS`](crate::run::MAX_ROUNDS). Requires a dataset that names its sources, and a folder. `from` is
    /// the search that resolves [default: that of the dataset, else quiescence].
    #[must_use]
    pub fn requiesce(mut self, rounds: u32, from: Option<Resolve>) -> Self {
        let remaking = RemakingSettings { from, command: None };
        self.rounds = Some(RoundSettings { count: rounds, remaking });
        self
    }

    /// As [`requiesce`](Self::requiesce), for a dataset that was [traced by a
    /// command](gputexel_ingest::tracing::import_traced): in each round, `command` gets the tuned values and traces the
    /// positions again.
    #[must_use]
    pub fn retrace(mut self, rounds: u32, command: TraceCommand) -> Self {
        let remaking = RemakingSettings { from: None, command: Some(command) };
        self.rounds = Some(RoundSettings { count: rounds, remaking });
        self
    }

    /// Names the files with the positions of a [`builder`](Self::builder)'s dataset, which makes a run in a folder
    /// resumable. They are not read before.
    #[must_use]
    pub fn datasets<P: AsRef<Path>>(mut self, files: &[P]) -> Self {
        self.datasets = files.iter().map(|file| file.as_ref().to_path_buf()).collect();
        self
    }

    /// Sets the number of [sections](gputexel_dataset::Layout::sections) of files; a dataset in memory has [its
    /// own](Dataset::with_sections).
    #[must_use]
    pub fn sections(mut self, count: usize) -> Self {
        self.sections = Some(count);
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

    /// Allows overwriting an earlier run in the folder [default: no].
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the time between checkpoints in the folder [default: 30 seconds].
    #[must_use]
    pub fn checkpoint_every(mut self, every: Duration) -> Self {
        self.checkpoint_every = every;
        self
    }

    /// Sets the command line to record [default: none].
    #[must_use]
    pub fn command_line(mut self, text: &str) -> Self {
        self.command_line = text.to_string();
        self
    }

    /// Sets the backend [default: a real GPU if there is one, else the CPU].
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
                    true if self.extraction.is_some() => {
                        return Err(Error::Usage(
                            "how inputs are read only applies to games, positions and training data, but these are \
                             datasets"
                                .to_string(),
                        ));
                    }
                    true => {
                        let data = self.divided(dataset::read_many(&paths)?)?;
                        Some(Positions::Read(Box::new(data), paths.clone()))
                    }
                    false => None,
                };
                self.start(positions, &paths, backend)
            }
        }
    }

    /// Rejects settings of a resumed run that would have to affect its result, but do not.
    fn check_unchanged(&self) -> Result<()> {
        let fresh = Self::of(Source::Files(Vec::new()));
        let basis = &self.basis;
        let changed = [
            ("extraction", self.extraction.is_some()),
            ("prior", self.prior.is_some()),
            ("basis", basis.basis.is_some() || !basis.freeze.is_empty() || basis.radius.is_some()),
            ("basis", basis.unbounded || basis.integers || !basis.constraints.is_empty()),
            ("k", self.k.is_some()),
            ("loss", self.loss != fresh.loss),
            ("blend", self.blend.share.is_some()),
            ("blend-k", self.blend.k.is_some()),
            ("l2", self.l2.is_some()),
            ("prior-strength", self.strength.is_some()),
            ("starts", self.starts.is_some()),
            ("k", self.scale_mode != fresh.scale_mode),
            ("holdout", self.holdout != fresh.holdout),
            ("seed", self.seed != fresh.seed),
            ("optimizer", self.optimizer.is_some() || self.custom.is_some()),
            ("round", self.round != fresh.round),
            ("limits", self.limits != fresh.limits),
            ("ablate", self.ablate),
            ("requiesce", self.rounds.is_some()),
            ("folder", self.folder.is_some()),
            ("sections", self.sections.is_some()),
        ];
        match changed.iter().find(|(_, changed)| *changed) {
            Some((setting, _)) => {
                let reason = "a resumed run keeps what it was started with".to_string();
                Err(Error::Setting { setting, value: None, reason })
            }
            None => Ok(()),
        }
    }

    /// Rejects invalid settings before anything is read.
    fn check(&self) -> Result<()> {
        Split::check_share(self.holdout)?;
        self.blend.validate()?;
        self.rounds.as_ref().map_or(Ok(()), RoundSettings::validate)?;
        if let Some(count) = self.starts.filter(|count| !(1..=MOST_STARTS).contains(count)) {
            let reason = format!("must be at least 1 and at most {MOST_STARTS}");
            return Err(Error::Setting { setting: "starts", value: Some(count.to_string()), reason });
        }
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
        let optimizer = self.method(ModelSize::UNKNOWN)?;
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

    fn method(&self, model: ModelSize) -> Result<OptimizerConfig> {
        let optimizer = match (&self.custom, &self.optimizer) {
            (Some((name, _)), _) => OptimizerConfig::Custom { name: name.clone(), l2: 0.0 },
            (_, Some(choose)) => choose(model)?,
            _ => OptimizerConfig::default_for(self.loss, model),
        };
        // Weights cannot be chosen for so many parameters, and most of them occur in few positions.
        let unheld =
            model.parameters > GAUSS_NEWTON_LIMIT && self.strength.is_none() && !optimizer.regularizes();
        Ok(match self.l2 {
            Some(l2) => optimizer.with_l2(l2),
            None if unheld && model.linear && self.custom.is_none() => optimizer.with_l2(L2_OF_MANY),
            None => optimizer,
        })
    }
}
