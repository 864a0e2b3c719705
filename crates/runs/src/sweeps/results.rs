//! The results of a sweep: its record, tables and report.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gputexel_dataset::Dataset;
use gputexel_io::Result;
use gputexel_io::run_folder::{Kind, REPORT, RunFolder};
use gputexel_report::{RunReport, grouped};
use gputexel_tune::sweep::{
    MakeEvaluator, Ranked, Ranking, SweepConfig, SweepDriver, SweepEvent, SweepOutcome, SweepOutputs,
    SweepRecord, rank, retrain,
};
use gputexel_tune::{Checkpoint, StopReason};
use serde_json::{Value, json};

use crate::sweeps::{BestParameters, page, write_csv};

pub(crate) const RUNS: &str = "runs.csv";
pub(crate) const FIRST_COLUMN: &str = "rank,";

pub struct SweepResults<'d> {
    pub config: SweepConfig,
    pub outcome: SweepOutcome,
    pub ranking: Ranking,
    data: &'d Dataset,
    checkpoint: Option<Checkpoint>,
}

impl<'d> SweepResults<'d> {
    /// Trains to the end, or until `cancel` is set, and ranks the results so far; stores the state in a folder, if any,
    /// at regular intervals and at the end.
    pub(crate) fn train(
        mut driver: SweepDriver<'_>,
        (config, data): (&SweepConfig, &'d Dataset),
        store: Option<(&RunFolder, Duration)>,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(&SweepEvent<'_>) -> Result<()>,
    ) -> Result<Self> {
        let mut stored = Instant::now();
        let mut state = None;
        let outcome = driver.run(make_evaluator, cancel, &mut |event| {
            observe(&event)?;
            let SweepEvent::State { checkpoint, last } = event else { return Ok(()) };
            let due = store.filter(|(_, every)| last || stored.elapsed() >= *every);
            if due.is_none() && !last {
                return Ok(());
            }
            let checkpoint = checkpoint();
            let written = due.map_or(Ok(()), |(folder, _)| checkpoint.write_to(folder));
            stored = Instant::now();
            if last {
                state = Some(checkpoint);
            }
            written
        })?;
        let ranking = rank(&outcome.runs, config.folds);
        Ok(Self { config: config.clone(), outcome, ranking, data, checkpoint: state })
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
        let Some(best) = self.best() else { return Ok(None) };
        let trained = retrain(&self.config, self.data, best.combination, make_evaluator, cancel)?;
        Ok(Some(BestParameters::new(&self.config, self.data, best.combination, &trained)))
    }

    /// Creates a folder with everything: the record of the sweep and its state, from which it can be displayed again
    /// or, if it was interrupted, resumed; all runs as CSV; the report.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<()> {
        let folder = RunFolder::create(Some(path.as_ref()), Kind::Sweep, false)?;
        let record = SweepRecord::new("", SweepOutputs::default(), self.config.clone());
        folder.write_record(Kind::Sweep, &record)?;
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.write_to(&folder)?;
        }
        self.write_csv(&folder.file(RUNS))?;
        self.write_report(&folder, &record)
    }

    pub(crate) fn write_report(&self, folder: &RunFolder, record: &SweepRecord) -> Result<()> {
        folder.write(REPORT, self.report(folder.path(), record).to_html(None))
    }

    pub fn report(&self, folder: &Path, record: &SweepRecord) -> RunReport {
        let SweepOutcome { reason, epochs, seconds, .. } = self.outcome;
        let standing = page::Standing { epochs, seconds, finished: reason == StopReason::Epochs };
        page::report(&folder.display().to_string(), record, &standing, &self.ranking)
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
        let Self { config, outcome, ranking, data, .. } = self;
        let interrupted = self.is_interrupted();
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
            "interrupted": interrupted, "seconds": outcome.seconds, "blend_k": config.blend_k,
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
