//! From settings to the configuration of a sweep.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::blend::fitted_k;
use crate::sweeps::{ScaleBase, SweepResults};
use gputexel_dataset::Dataset;
use gputexel_dataset::objective::LossKind;
use gputexel_eval::Backend;
use gputexel_ingest::extraction::Target;
use gputexel_io::{Error, Result, absolute};
use gputexel_model::{Basis, Constraint, FeatureSet, Parameterization, Prior, parse_penalties};
use gputexel_tune::sweep::{Axis, AxisKey, Grid, MakeEvaluator, SweepConfig, SweepDriver, SweepMethod};
use gputexel_tune::{exact_scores, fit_scale, penalties_of, refuse_one_target};

/// Maximum number of runs in a sweep: the results of more would not fit in a table.
pub const MAX_RUNS: usize = 10_000_000;

#[derive(Clone, Debug)]
pub struct SweepSettings {
    /// The files that the dataset was read from, for the record: a sweep is resumed from them.
    pub datasets: Vec<PathBuf>,
    /// Settings that vary, `NAME=VALUES` with values `FROM:TO:N`, `FROM:TO:N:log` or a list with commas, in all
    /// combinations.
    pub axes: Vec<String>,
    /// The start of every run, toward which regularization pulls. `None`: that of the features.
    pub prior: Option<Prior>,
    /// The trained parameters, by the name or file of a [`Basis`]. `None`: every parameter by itself, or as declared by
    /// the features of another engine.
    pub basis: Option<String>,
    pub freeze: Vec<String>,
    /// Signs of parameters.
    pub constraints: Vec<Constraint>,
    /// The penalties of every run with their weights, see [`parse_penalties`].
    pub penalties: Option<String>,
    /// The loss function of the runs, unless an axis varies it. `None`: squared.
    pub loss: Option<LossKind>,
    /// The loss function by which held-out positions are judged. `None`: that of the runs, or squared where they
    /// differ.
    pub judge: Option<LossKind>,
    /// The scale constant, base-10 form, unless an axis varies it. `None`: fitted to the prior's scores, by loss
    /// function.
    pub k: Option<f64>,
    /// The form in which the values of an axis of K are given.
    pub k_base: ScaleBase,
    /// The scale constant of search scores, base-10 form, used if targets are blended with them. `None`: fitted.
    pub blend_k: Option<f64>,
    /// The number of folds of the games, each of which is held out once; 5 by default.
    pub folds: usize,
    /// The seed of the folds, unless an axis varies it; 1 by default.
    pub seed: u64,
    /// The method that trains every run; Adam by default.
    pub method: SweepMethod,
    /// The number of epochs of every run. `None`: 100 for Adam, at most 50 for Gauss–Newton.
    pub epochs: Option<u64>,
}

impl Default for SweepSettings {
    fn default() -> Self {
        Self {
            datasets: Vec::new(),
            axes: Vec::new(),
            prior: None,
            basis: None,
            freeze: Vec::new(),
            constraints: Vec::new(),
            penalties: None,
            loss: None,
            judge: None,
            k: None,
            k_base: ScaleBase::Ten,
            blend_k: None,
            folds: 5,
            seed: 1,
            method: SweepMethod::default(),
            epochs: None,
        }
    }
}

impl SweepSettings {
    pub fn varies(&self, name: &str) -> bool {
        self.axes.iter().any(|axis| axis.rsplit_once('=').is_some_and(|(axis, _)| axis == name))
    }

    /// Returns the configuration without the scale constants, which may have to be fitted: enough to count runs.
    pub fn without_scales(&self, data: &Dataset) -> Result<SweepConfig> {
        let set = &data.metadata().feature_set;
        let axis = |text: &String| Axis::parse(text, &data.metadata().sources, self.k_base.factor());
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
            datasets: self.datasets.iter().map(|file| absolute(file).display().to_string()).collect(),
            checksum: data.checksum().to_string(),
            sections: data.sections(),
            prior: prior.to_string(),
            basis: self.parameterization(set, &start)?,
            penalties: match &self.penalties {
                None => Vec::new(),
                Some(text) => penalties_of(data, parse_penalties(set, text)?),
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
        config.check_data(data)?;
        Ok(config)
    }

    pub fn config(&self, data: &Dataset) -> Result<SweepConfig> {
        let mut config = self.without_scales(data)?;
        let runs = config.runs();
        if runs > MAX_RUNS {
            let (runs, most) =
                (gputexel_report::grouped(runs as u64), gputexel_report::grouped(MAX_RUNS as u64));
            return Err(Error::Usage(format!("{runs} runs: at most {most}")));
        }
        if !config.blends() {
            refuse_one_target(data.results().iter().copied())?;
        }
        config.blend_k = self.blend_scale(data, &config)?;
        config.k = self.scales(data, &config)?;
        Ok(config)
    }

    /// Runs the sweep in memory until it ends or `stop` is set; the results are then partial and [marked as
    /// such](SweepResults::is_interrupted).
    pub fn run<'a>(
        &self,
        data: &'a Dataset,
        backend: &Backend,
        stop: &AtomicBool,
    ) -> Result<SweepResults<'a>> {
        let config = self.config(data)?;
        let make_evaluator: &MakeEvaluator<'_> = &|layout| Ok(backend.evaluator(layout)?.0);
        let driver = SweepDriver::try_new(&config, data)?;
        SweepResults::train(driver, (&config, data), None, make_evaluator, stop, &mut |_| Ok(()))
    }

    /// Returns the parameterization; `None` if every parameter is trained by itself.
    fn parameterization(&self, set: &FeatureSet, theta: &[f64]) -> Result<Option<Parameterization>> {
        let name = self.basis.as_deref().unwrap_or(set.default_basis("identity"));
        if name == "identity" && self.freeze.is_empty() && self.constraints.is_empty() {
            return Ok(None);
        }
        let Ok(basis) = name.parse::<Basis>();
        basis.resolve(set, theta, &self.freeze)?.constrained(set, theta, &self.constraints).map(Some)
    }

    /// Returns K of each loss function, given or fitted on the prior; empty if the grid varies K.
    fn scales(&self, data: &Dataset, config: &SweepConfig) -> Result<Vec<(LossKind, f64)>> {
        let kinds = config.grid.losses(config.loss);
        match (config.grid.varies(AxisKey::K), self.k) {
            (true, Some(_)) => return Err(Error::Usage("K is both fixed and varied".to_string())),
            (true, None) => return Ok(Vec::new()),
            (false, Some(k)) => return Ok(kinds.iter().map(|&kind| (kind, k)).collect()),
            (false, None) => {}
        }
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let scores = exact_scores(data, &config.start, &all);
        kinds.iter().map(|&kind| Ok((kind, fit_scale(data, &scores, &all, kind)?.k))).collect()
    }

    fn blend_scale(&self, data: &Dataset, config: &SweepConfig) -> Result<Option<f64>> {
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
        let searched = data.search_scores();
        if searched.is_empty() {
            return Err(Error::setting("grid", "blend", "the dataset has no search scores to blend"));
        }
        if self.blend_k.is_some() {
            return Ok(self.blend_k);
        }
        let scored: Vec<u32> =
            (0..searched.len()).filter(|&n| !searched[n].is_nan()).map(|n| n as u32).collect();
        Ok(Some(fitted_k(data, &scored, LossKind::Squared)?.unwrap_or(Target::DEFAULT_K)))
    }
}
