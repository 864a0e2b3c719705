//! From settings to the configuration of a sweep.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sweep::{
    Axis, AxisKey, Grid, MakeEvaluator, SweepConfig, SweepEvent, SweepMethod, SweepOutputs, SweepRecord,
};
use crate::{exact_scores, fit_scale};
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::LossKind;
use gputexel_eval::Backend;
use gputexel_io::run_folder::{Kind, RunFolder};
use gputexel_io::{Advice, Error, Result, StopFlag, absolute, check_present};
use gputexel_model::{Basis, Constraint, Parameterization, Prior, parse_penalties, supported_penalties};

use crate::sweep_run::{ScaleBase, SweepResults, SweepSession};

/// Maximum number of runs in a sweep: the results of more would not fit in a table.
pub const MAX_RUNS: usize = 10_000_000;

/// Interval between stored states in the folder of a sweep.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(30);

type SweepObserver<'a> = dyn FnMut(&SweepEvent<'_>) -> Result<()> + 'a;

/// Settings of a sweep. Unset ones have their defaults.
pub struct SweepBuilder<'a> {
    data: &'a Dataset,
    datasets: Vec<String>,
    axes: Vec<String>,
    prior: Option<Prior>,
    basis: Option<String>,
    freeze: Vec<String>,
    penalties: Option<String>,
    constraints: Vec<Constraint>,
    loss: Option<LossKind>,
    judge: Option<LossKind>,
    k: Option<f64>,
    k_base: ScaleBase,
    blend_k: Option<f64>,
    folds: usize,
    seed: u64,
    method: SweepMethod,
    epochs: Option<u64>,
    folder: Option<PathBuf>,
    overwrite: bool,
    backend: Option<&'a Backend>,
    stop: StopFlag,
    observer: Box<SweepObserver<'a>>,
}

impl<'a> SweepBuilder<'a> {
    pub(crate) fn new(data: &'a Dataset) -> Self {
        Self {
            data,
            datasets: Vec::new(),
            axes: Vec::new(),
            prior: None,
            basis: None,
            freeze: Vec::new(),
            penalties: None,
            constraints: Vec::new(),
            loss: None,
            judge: None,
            k: None,
            k_base: ScaleBase::Ten,
            blend_k: None,
            folds: 5,
            seed: 1,
            method: SweepMethod::default(),
            epochs: None,
            folder: None,
            overwrite: false,
            backend: None,
            stop: StopFlag::new(),
            observer: Box::new(|_| Ok(())),
        }
    }

    /// Sets the files that the dataset was read from, for the record: a sweep is resumed from them.
    #[must_use]
    pub fn datasets<P: AsRef<Path>>(mut self, files: &[P]) -> Self {
        self.datasets = files.iter().map(|file| absolute(file).display().to_string()).collect();
        self
    }

    /// Varies a setting over values, `FROM:TO:N`, `FROM:TO:N:log` or a list with commas, in all combinations with the
    /// other axes. The settings are `learning-rate`, `beta1`, `beta2`, `epsilon` (Adam's), `l2`, `strength` (of the
    /// [penalties](Self::penalties)), `k`, `loss`, `blend` (share of the search score in the targets), `source:NAME`
    /// (factor on a source's weights in training) and `seed` (the same runs on other folds).
    #[must_use]
    pub fn axis(mut self, name: &str, values: &str) -> Self {
        self.axes.push(format!("{name}={values}"));
        self
    }

    /// Varies settings as [`axis`](Self::axis) does, each written `NAME=VALUES`.
    #[must_use]
    pub fn axes(mut self, axes: &[String]) -> Self {
        self.axes.extend_from_slice(axes);
        self
    }

    /// Returns true if there is an axis of this name.
    pub fn varies(&self, name: &str) -> bool {
        self.axes.iter().any(|axis| axis.rsplit_once('=').is_some_and(|(axis, _)| axis == name))
    }

    /// Sets the start of every run, toward which regularization pulls [default: that of the features].
    #[must_use]
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = Some(prior);
        self
    }

    /// Sets the trained parameters, by the name or file of a [`Basis`] [default: every parameter by itself, or as
    /// declared by the features of another engine].
    #[must_use]
    pub fn basis(mut self, basis: &str) -> Self {
        self.basis = Some(basis.to_string());
        self
    }

    /// Sets groups, features or coordinates that keep their prior values.
    #[must_use]
    pub fn freeze(mut self, names: &[String]) -> Self {
        self.freeze = names.to_vec();
        self
    }

    /// Sets the penalties of every run with their weights, see [`parse_penalties`] [default: none]. An axis `strength`
    /// scales all of them.
    #[must_use]
    pub fn penalties(mut self, weights: &str) -> Self {
        self.penalties = Some(weights.to_string());
        self
    }

    /// Constrains parameters: signs, and sequences of values that never decrease or never increase.
    #[must_use]
    pub fn constraints(mut self, constraints: &[Constraint]) -> Self {
        self.constraints = constraints.to_vec();
        self
    }

    /// Sets the loss function of the runs, unless an axis varies it [default: squared].
    #[must_use]
    pub fn loss(mut self, loss: LossKind) -> Self {
        self.loss = Some(loss);
        self
    }

    /// Sets the loss function by which held-out positions are judged [default: that of the runs, or squared where they
    /// differ].
    #[must_use]
    pub fn judge(mut self, loss: LossKind) -> Self {
        self.judge = Some(loss);
        self
    }

    /// Sets the scale constant, base-10 form, unless an axis varies it [default: fitted to the prior's scores, by loss
    /// function].
    #[must_use]
    pub fn k(mut self, k: f64) -> Self {
        self.k = Some(k);
        self
    }

    /// Sets the form in which the values of an axis of K are given [default: base 10].
    #[must_use]
    pub fn k_base(mut self, base: ScaleBase) -> Self {
        self.k_base = base;
        self
    }

    /// Sets the scale constant of search scores, base-10 form, used if targets are blended with them [default: fitted].
    #[must_use]
    pub fn blend_k(mut self, k: f64) -> Self {
        self.blend_k = Some(k);
        self
    }

    /// Sets the number of folds of the games, each of which is held out once [default: 5].
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Self {
        self.folds = folds;
        self
    }

    /// Sets the seed of the folds, unless an axis varies it [default: 1].
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the method that trains every run [default: Adam].
    #[must_use]
    pub fn method(mut self, method: SweepMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the number of epochs of every run [default: 100 for Adam, at most 50 for Gauss–Newton].
    #[must_use]
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.epochs = Some(epochs);
        self
    }

    /// Returns the configuration without the scale constants, which may have to be fitted: enough to count runs.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that are out of range or incompatible.
    pub fn without_scales(&self) -> Result<SweepConfig> {
        let set = &self.data.metadata().feature_set;
        let axis = |text: &String| Axis::parse(text, &self.data.metadata().sources, self.k_base.factor());
        let mut grid = Grid { axes: self.axes.iter().map(axis).collect::<Result<_>>()? };
        let seeds = match grid.axes.iter().position(|axis| axis.key == AxisKey::Seed) {
            Some(place) => {
                let axis = grid.axes.remove(place);
                if grid.varies(AxisKey::Seed) {
                    return Err(Error::setting("grid", "seed", "given twice"));
                }
                (0..axis.len()).filter_map(|i| axis.number(i)).map(|seed| seed as u64).collect()
            }
            None => vec![self.seed],
        };
        let loss = self.loss.unwrap_or_default();
        let kinds = grid.losses(loss);
        let judge = self.judge.unwrap_or(if kinds.len() == 1 { kinds[0] } else { LossKind::Squared });
        let prior = self.prior.clone().unwrap_or_else(|| Prior::default_for(set));
        let start = prior.theta(set)?;
        let adam = matches!(self.method, SweepMethod::Adam { .. });
        let config = SweepConfig {
            datasets: self.datasets.clone(),
            checksum: self.data.checksum().to_string(),
            sections: self.data.sections(),
            prior: prior.to_string(),
            basis: self.parameterization(&start)?,
            penalties: match &self.penalties {
                None => Vec::new(),
                Some(text) => supported_penalties(set, parse_penalties(set, text)?, &self.data.occurrences()),
            },
            start,
            grid,
            loss,
            k: Vec::new(),
            judge,
            blend_k: None,
            folds: self.folds,
            seeds,
            epochs: self.epochs.unwrap_or(if adam { 100 } else { 50 }),
            method: self.method,
        };
        config.validate()?;
        config.check_data(self.data)?;
        Ok(config)
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings that are out of range or incompatible, more than [`MAX_RUNS`] runs, and scale
    /// constants that cannot be fitted.
    pub fn config(&self) -> Result<SweepConfig> {
        let mut config = self.without_scales()?;
        let runs = config.runs();
        if runs > MAX_RUNS {
            let (runs, most) =
                (gputexel_report::grouped(runs as u64), gputexel_report::grouped(MAX_RUNS as u64));
            return Err(Error::Usage(format!("{runs} runs: at most {most}")));
        }
        config.blend_k = self.blend_scale(&config)?;
        config.k = self.scales(&config)?;
        Ok(config)
    }

    /// Sets a folder in which the sweep is kept from its first epoch on, and from which it is
    /// [resumed](crate::sweep_run::Sweep::resume).
    #[must_use]
    pub fn folder(mut self, path: impl AsRef<Path>) -> Self {
        self.folder = Some(path.as_ref().to_path_buf());
        self
    }

    /// Allows writing to a folder that is not empty [default: no].
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the backend [default: a real GPU if there is one, else the CPU].
    #[must_use]
    pub fn backend(mut self, backend: &'a Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// Sets a flag that ends the sweep soon after it is set; the results are then partial and [marked as
    /// such](SweepResults::is_interrupted).
    #[must_use]
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Sets a receiver for events of the sweep. Its errors end the sweep.
    #[must_use]
    pub fn observe(mut self, observer: impl FnMut(&SweepEvent<'_>) -> Result<()> + 'a) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Runs the sweep.
    ///
    /// # Errors
    /// Errors of [`config`](Self::config), of training, and of the observer; [`Error::Gpu`]; [`Error::Usage`] for a
    /// folder that is not empty, or without the files of the dataset, which are needed for resuming; [`Error::Io`].
    pub fn run(mut self) -> Result<SweepResults<'a>> {
        let config = self.config()?;
        let mut opened = None;
        let backend = Backend::given_or_auto(self.backend, &mut opened)?;
        let make_evaluator: &MakeEvaluator<'_> = &|layout| Ok(backend.evaluator(layout)?.0);
        let Some(path) = &self.folder else {
            return SweepSession::new(&config, self.data)?.run(
                make_evaluator,
                &self.stop,
                &mut *self.observer,
            );
        };
        if config.datasets.is_empty() {
            let reason = "a sweep in a folder needs the files of its dataset: it is resumed from them";
            return Err(Error::Usage(reason.to_string()));
        }
        check_present(&config.datasets)?;
        SweepSession::new(&config, self.data)?;
        let folder = RunFolder::create(Some(path), Kind::Sweep, self.overwrite)?;
        let record = SweepRecord::new("", SweepOutputs::default(), config);
        folder.write_record(Kind::Sweep, &record).inspect_err(|_| folder.discard())?;
        let session =
            SweepSession::in_folder(&record.config, None, self.data, &folder, None, CHECKPOINT_EVERY)?;
        let results = session.run(make_evaluator, &self.stop, &mut *self.observer)?;
        results.write_runs(&folder)?;
        results.write_report(&folder, &record)?;
        Ok(results)
    }

    /// Returns the parameterization; `None` if every parameter is trained by itself.
    fn parameterization(&self, theta: &[f64]) -> Result<Option<Parameterization>> {
        let set = &self.data.metadata().feature_set;
        let name = self.basis.as_deref().unwrap_or(set.default_basis("identity"));
        if name == "identity" && self.freeze.is_empty() && self.constraints.is_empty() {
            return Ok(None);
        }
        let Ok(basis) = name.parse::<Basis>();
        basis.resolve(set, theta, &self.freeze)?.constrained(set, theta, &self.constraints).map(Some)
    }

    /// Returns K of each loss function, given or fitted on the prior; empty if the grid varies K.
    fn scales(&self, config: &SweepConfig) -> Result<Vec<(LossKind, f64)>> {
        let kinds = config.grid.losses(config.loss);
        match (config.grid.varies(AxisKey::K), self.k) {
            (true, Some(_)) => return Err(Error::Usage("K is both fixed and varied".to_string())),
            (true, None) => return Ok(Vec::new()),
            (false, Some(k)) => return Ok(kinds.iter().map(|&kind| (kind, k)).collect()),
            (false, None) => {}
        }
        let all: Vec<u32> = (0..self.data.len() as u32).collect();
        let scores = exact_scores(self.data, &config.start, &all);
        kinds.iter().map(|&kind| Ok((kind, fit_scale(self.data, &scores, &all, kind)?.k))).collect()
    }

    /// Returns K of search scores, given or fitted, if targets are blended with them.
    ///
    /// # Errors
    /// [`Error::Setting`] and [`Error::Usage`] where there are no search scores, none is blended although K is
    /// given, or K cannot be fitted.
    fn blend_scale(&self, config: &SweepConfig) -> Result<Option<f64>> {
        match (config.blends(), self.blend_k) {
            (false, None) => return Ok(None),
            (false, Some(_)) => {
                let text = "a K of search scores is given, but no target is blended with them";
                return Err(Error::Usage(text.to_string()));
            }
            (true, Some(k)) if !(k.is_finite() && k > 0.0) => {
                return Err(Error::setting("blend-k", k, "must be a positive number"));
            }
            _ => {}
        }
        let searched = self.data.search_scores();
        if searched.is_empty() {
            return Err(Error::setting("grid", "blend", "the dataset has no search scores to blend"));
        }
        if self.blend_k.is_some() {
            return Ok(self.blend_k);
        }
        let searched = searched.iter().enumerate().filter(|(_, score)| !score.is_nan());
        let (which, scores): (Vec<u32>, Vec<f64>) =
            searched.map(|(n, &score)| (n as u32, f64::from(score))).unzip();
        let fit = fit_scale(self.data, &scores, &which, LossKind::Squared);
        fit.map(|fit| Some(fit.k)).map_err(|e| {
            let advice = Advice::default().text("give it with ").setting("blend-k", "");
            Error::Usage(format!("K of the search scores: {e}")).advise(advice)
        })
    }
}
