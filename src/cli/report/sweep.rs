//! From the folder of a sweep to what its report shows.

use gputexel::Result;
use gputexel::report::{RunReport, SweepAxis, SweepReport, SweepSetting, Table, grouped};
use gputexel::tuning::StopReason;
use gputexel::tuning::sweep::{Ranking, SweepConfig, SweepRecord, rank, recorded_runs};

use super::super::run_folder::{Kind, RunFolder};
use super::record::readable;

/// Reads a sweep's folder. Without a ranking, the one of the runs that its checkpoint holds.
///
/// # Errors
/// Files that are damaged or cannot be read.
pub fn gather(folder: &RunFolder, ranking: Option<&Ranking>) -> Result<RunReport> {
    let record: SweepRecord = folder.record(Kind::Sweep)?;
    let config = &record.config;
    let checkpoint = folder.read_checkpoint()?;
    let recorded = match (&checkpoint, ranking) {
        (Some(checkpoint), None) => {
            rank(&recorded_runs(config, checkpoint, &folder.checkpoint())?, config.folds)
        }
        _ => Ranking::default(),
    };
    let ranking = ranking.unwrap_or(&recorded);
    let progress = checkpoint.as_ref().map(|checkpoint| &checkpoint.progress);
    let finished = progress.is_some_and(|progress| progress.finished == Some(StopReason::Epochs));
    let planned = config.runs() as u64 * config.epochs;
    let done = progress.map_or(0, |progress| progress.epochs);
    let seconds = progress.map_or(0.0, |progress| progress.seconds);
    let status = match finished {
        true => format!("{} epochs of all runs", grouped(done)),
        false => format!(
            "{} of {} epochs of all runs; interrupted, resume with 'gputexel sweep --resume'",
            grouped(done),
            grouped(planned)
        ),
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
        facts.insert(0, (format!("lowest held-out loss ({})", config.judge), value));
        let tied = ranking.ranked.iter().filter(|ranked| ranked.tied).count();
        facts.insert(
            1,
            (
                "statistically tied with the best".to_string(),
                format!("{} other settings", grouped(tied as u64)),
            ),
        );
    }
    Ok(RunReport {
        title: format!("gputexel sweep: {}", folder.path().display()),
        status,
        final_: finished,
        facts,
        sweep: Some(settings(config, ranking)),
        configuration: configuration(&record),
        inputs: Some(inputs(config)),
        record: readable(&record),
        ..RunReport::default()
    })
}

fn settings(config: &SweepConfig, ranking: &Ranking) -> SweepReport {
    let axis = |axis: &gputexel::tuning::sweep::Axis| SweepAxis {
        name: axis.name.clone(),
        labels: (0..axis.len()).map(|i| axis.label(i)).collect(),
        numbers: (0..axis.len()).map(|i| axis.number(i)).collect(),
    };
    let setting = |ranked: &gputexel::tuning::sweep::Ranked| SweepSetting {
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
    for (loss, k) in &config.k {
        rows.push(("K", format!("{k:.6} base 10 ({loss})")));
    }
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
