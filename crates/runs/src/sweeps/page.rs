//! Report of a sweep, from its folder or its results.

use std::path::Path;

use gputexel_io::run_folder::{Kind, RunFolder};
use gputexel_io::{Result, escaped};
use gputexel_report::{RunReport, SweepAxis, SweepReport, SweepSetting, Table, grouped, remaining_seconds};
use gputexel_tune::sweep::{Ranking, SweepConfig, SweepRecord, rank, recorded_runs};
use gputexel_tune::{Checkpoint, Progress, StopReason};

/// Returns true if a folder has the record of a sweep, and not that of a run.
pub fn is_sweep(folder: &Path) -> bool {
    let has = |kind: Kind| kind.record().is_some_and(|record| folder.join(record).exists());
    has(Kind::Sweep) && !has(Kind::Run)
}

/// Creates the report of a sweep from its folder alone, with the ranking of the runs in its checkpoint; the sweep may
/// still be in progress.
///
/// # Errors
/// [`Error::Input`](gputexel_io::Error::Input) and [`Error::Io`](gputexel_io::Error::Io) when the folder is not
/// that of a sweep, or a file is damaged.
pub fn sweep_report(folder: &RunFolder) -> Result<RunReport> {
    let record: SweepRecord = folder.record(Kind::Sweep)?;
    let name = escaped(&folder.path().display().to_string()).into_owned();
    let Some(checkpoint) = Checkpoint::read_from(folder)? else {
        let none = Standing { epochs: 0, seconds: 0.0, finished: false };
        return Ok(report(&name, &record, &none, &Ranking::default()));
    };
    let runs = recorded_runs(&record.config, &checkpoint, &folder.checkpoint())?;
    let Progress { epochs, seconds, finished, .. } = checkpoint.progress;
    let standing = Standing { epochs, seconds, finished: finished == Some(StopReason::Epochs) };
    Ok(report(&name, &record, &standing, &rank(&runs, record.config.folds)))
}

pub(super) struct Standing {
    pub epochs: u64,
    pub seconds: f64,
    pub finished: bool,
}

/// `name` is that of the folder.
pub(super) fn report(name: &str, record: &SweepRecord, standing: &Standing, ranking: &Ranking) -> RunReport {
    let config = &record.config;
    let planned = config.runs() as u64 * config.epochs;
    let Standing { epochs: done, seconds, finished } = *standing;
    let status = match finished {
        true => format!("{} epochs of all runs", grouped(done)),
        false => format!("{} of {} epochs of all runs", grouped(done), grouped(planned)),
    };
    let mut facts = vec![
        ("runs".to_string(), grouped(config.runs() as u64)),
        ("settings".to_string(), grouped(config.grid.len() as u64)),
        (
            "folds".to_string(),
            match config.seeds.len() {
                1 => config.folds.to_string(),
                seeds => format!("{}, repeated {seeds} times", config.folds),
            },
        ),
        ("time".to_string(), format!("{seconds:.1} s")),
    ];
    if let Some(best) = ranking.ranked.first() {
        let loss = best.held_out;
        let value = format!("{:.8} ± {:.8}", loss.mean, loss.standard_error);
        let labels = config.grid.labels(best.combination);
        let setting =
            config.grid.axes.iter().zip(labels).map(|(axis, label)| format!("{} {label}", axis.name));
        facts.insert(0, ("best setting".to_string(), setting.collect::<Vec<_>>().join(", ")));
        facts.insert(1, (format!("lowest held-out loss ({})", config.judge), value));
        let tied = ranking.ranked.iter().filter(|ranked| ranked.tied).count();
        facts.insert(
            2,
            (
                "statistically tied with the best".to_string(),
                format!("{} other settings", grouped(tied as u64)),
            ),
        );
    }
    RunReport {
        title: format!("gputexel sweep: {name}"),
        status,
        final_: finished,
        remaining_seconds: remaining_seconds(done, planned, seconds),
        facts,
        sweep: Some(settings(config, ranking)),
        configuration: configuration(record),
        inputs: Some(inputs(config)),
        ..RunReport::default()
    }
}

fn settings(config: &SweepConfig, ranking: &Ranking) -> SweepReport {
    let axis = |axis: &gputexel_tune::sweep::Axis| SweepAxis {
        name: axis.name.clone(),
        labels: (0..axis.len()).map(|i| axis.label(i)).collect(),
        numbers: (0..axis.len()).map(|i| axis.number(i)).collect(),
    };
    let setting = |ranked: &gputexel_tune::sweep::Ranked| SweepSetting {
        indices: config.grid.indices(ranked.combination),
        held_out: (ranked.held_out.mean, ranked.held_out.standard_error),
        over_best: (ranked.difference.mean, ranked.difference.standard_error),
        tied: ranked.tied,
        training: ranked.training,
    };
    SweepReport {
        judge: config.judge.to_string(),
        axes: config.grid.axes.iter().map(axis).collect(),
        settings: ranking.ranked.iter().map(setting).collect(),
    }
}

fn configuration(record: &SweepRecord) -> Vec<(String, String)> {
    let config = &record.config;
    let seeds: Vec<String> = config.seeds.iter().map(u64::to_string).collect();
    let mut rows = vec![
        ("program", record.program.clone()),
        ("command", record.command_line.clone()),
        ("begun", record.started.clone()),
        ("optimizer", format!("{}, {} epochs", config.method.name(), config.epochs)),
        ("loss", config.loss.to_string()),
        ("judged by", config.judge.to_string()),
        ("prior", config.prior.clone()),
        ("seeds", seeds.join(", ")),
    ];
    rows.extend(config.k.iter().map(|(loss, k)| ("K", format!("{k:.6} base 10 ({loss})"))));
    if let Some(basis) = &config.basis {
        rows.push(("basis", format!("{}, {} coordinates", basis.name, basis.dimension())));
    }
    rows.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn inputs(config: &SweepConfig) -> Table {
    let checksums: Vec<&str> = config.checksum.split('+').collect();
    let row = |(i, path): (usize, &String)| {
        let checksum = checksums.get(i).copied().unwrap_or(&config.checksum);
        vec![path.clone(), format!("xxh3 {checksum}")]
    };
    Table {
        caption: "Datasets".to_string(),
        header: ["file", "checksum"].map(str::to_string).to_vec(),
        rows: config.datasets.iter().enumerate().map(row).collect(),
    }
}
