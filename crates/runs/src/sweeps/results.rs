//! The results of a sweep: tables, and parameters trained with the best settings.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;
use std::sync::atomic::AtomicBool;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::Objective;
use gputexel_io::{Error, Result, write_atomically};
use gputexel_model::{ParameterFile, Provenance};
use gputexel_report::grouped;
use gputexel_tune::sweep::{
    MakeEvaluator, Ranked, Ranking, Retrained, SweepConfig, SweepEvent, SweepOutcome, rank, retrain,
    run_sweep,
};
use gputexel_tune::{StopReason, exact_loss};
use serde_json::{Value, json};

pub struct SweepResults<'d> {
    pub config: SweepConfig,
    pub outcome: SweepOutcome,
    pub ranking: Ranking,
    data: &'d Dataset,
}

/// Parameters trained with the best settings on all positions.
#[derive(Clone, Debug, PartialEq)]
pub struct BestParameters {
    pub file: ParameterFile,
    /// Exact loss on all positions, of the kind used in training, without regularization.
    pub loss: f64,
}

impl<'d> SweepResults<'d> {
    /// Trains to the end, or until `cancel` is set, and ranks the results so far.
    pub fn train(
        config: SweepConfig,
        data: &'d Dataset,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(SweepEvent) -> Result<()>,
    ) -> Result<Self> {
        let outcome = run_sweep(&config, data, make_evaluator, cancel, observe)?;
        let ranking = rank(&outcome.runs, config.folds);
        Ok(Self { config, outcome, ranking, data })
    }

    pub fn is_interrupted(&self) -> bool {
        self.outcome.reason == StopReason::Interrupted
    }

    pub fn unfinished(&self) -> Option<String> {
        let SweepOutcome { epochs, planned, .. } = self.outcome;
        self.is_interrupted().then(|| format!("{} of {} epochs", grouped(epochs), grouped(planned)))
    }

    /// Returns the best settings, if the sweep has ended and their loss is finite.
    pub fn best(&self) -> Option<&Ranked> {
        let first = self.ranking.ranked.first().filter(|first| first.held_out.mean.is_finite());
        first.filter(|_| !self.is_interrupted())
    }

    /// Trains the best settings on all positions; `None` if there are none.
    pub fn train_best(
        &self,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
    ) -> Result<Option<BestParameters>> {
        let Self { config, data, .. } = self;
        let Some(best) = self.best() else { return Ok(None) };
        let Retrained { theta, mut optimizer } =
            retrain(config, data, best.combination, make_evaluator, cancel)?;
        let setting = config.setting(best.combination);
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let objective = Objective { k: setting.k, loss: setting.loss };
        let loss = exact_loss(data, objective, &theta, &all);
        if setting.blend > 0.0 {
            let _ = write!(optimizer, ", blend {}", setting.blend);
        }
        for (source, factor) in config.grid.sources().iter().zip(&setting.sources) {
            let _ = write!(optimizer, ", source {} times {factor}", data.metadata().sources[*source].path);
        }
        let set = &data.metadata().feature_set;
        let mut file = ParameterFile::new(set, &theta, Some(&data.occurrences()), Some(setting.k));
        file.provenance = Provenance {
            program: concat!("gputexel ", env!("CARGO_PKG_VERSION")).to_string(),
            datasets: data.checksum().split('+').map(str::to_string).collect(),
            positions: data.len() as u64,
            optimizer,
            loss_kind: setting.loss.to_string(),
            prior: config.prior.clone(),
            seed: config.seeds[0],
            loss_before: Some(exact_loss(data, objective, &config.start, &all)),
            loss: Some(loss),
            ..Provenance::default()
        };
        Ok(Some(BestParameters { file, loss }))
    }

    pub fn write_csv(&self, path: &Path) -> Result<()> {
        write_csv(path, self.rows())
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let Self { config, ranking, .. } = self;
        let mut header = vec!["rank".to_string()];
        header.extend(config.grid.axes.iter().map(|axis| axis.name.clone()));
        header.extend(["seed", "fold", "held_out", "own_held_out", "training"].map(str::to_string));
        let mut rows = vec![header];
        for (rank, ranked) in ranking.ranked.iter().enumerate() {
            for run in &ranked.runs {
                let mut row = vec![(rank + 1).to_string()];
                let indices = config.grid.indices(ranked.combination);
                row.extend(config.grid.axes.iter().zip(indices).map(|(axis, index)| {
                    axis.number(index).map_or_else(|| axis.label(index), |number| number.to_string())
                }));
                row.extend([config.seeds[run.seed].to_string(), run.fold.to_string()]);
                let result = run.result;
                row.extend([result.held_out, result.own_held_out, result.training].map(|v| v.to_string()));
                rows.push(row);
            }
        }
        rows
    }

    /// Returns the results as JSON, with the best parameters and where they were written.
    pub fn to_json(&self, best: Option<(&Path, &BestParameters)>) -> Value {
        let Self { config, outcome, ranking, data } = self;
        let entry = |(rank, ranked): (usize, &Ranked)| {
            let setting = config.setting(ranked.combination);
            let runs = ranked.runs.iter().map(|run| {
                json!({
                    "seed": config.seeds[run.seed], "fold": run.fold, "held_out": run.result.held_out,
                    "own_held_out": run.result.own_held_out, "training": run.result.training,
                })
            });
            json!({
                "rank": rank + 1, "settings": settings(config, ranked.combination),
                "k": setting.k, "loss_kind": setting.loss.to_string(),
                "held_out": ranked.held_out, "over_best": ranked.difference, "tied": ranked.tied,
                "own_held_out": ranked.own_held_out, "training": ranked.training,
                "runs": runs.collect::<Vec<_>>(),
            })
        };
        let best = best.map(|(path, best)| json!({ "path": path, "loss": best.loss }));
        json!({
            "judged_by": config.judge.to_string(), "positions": data.len(), "folds": config.folds,
            "folds_by": if data.has_games() { "game" } else { "position" },
            "seeds": config.seeds, "optimizer": config.method.name(), "runs": config.runs(),
            "together": outcome.together, "epochs": outcome.epochs, "epochs_planned": outcome.planned,
            "interrupted": self.is_interrupted(), "seconds": outcome.seconds, "blend_k": config.blend_k,
            "ranking": ranking.ranked.iter().enumerate().map(entry).collect::<Vec<_>>(),
            "best": best,
        })
    }
}

fn settings(config: &SweepConfig, combination: usize) -> Value {
    let indices = config.grid.indices(combination);
    let pairs = config.grid.axes.iter().zip(indices).map(|(axis, index)| {
        let value = axis.number(index).map_or_else(|| json!(axis.label(index)), |number| json!(number));
        (axis.name.clone(), value)
    });
    Value::Object(pairs.collect())
}

pub(super) fn write_csv(path: &Path, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::io(path, std::io::Error::other(e));
    for row in rows {
        writer.write_record(&row).map_err(fail)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?;
    write_atomically(path, &bytes)
}
