//! Folders of runs and sweeps, their checkpoints, and comparisons of their results.

use std::collections::BTreeMap;
use std::path::Path;

use gputexel_io::RunFolder;
use gputexel_io::run_folder::Kind;
use gputexel_optim::{MethodFlags, OptimizerState, Space};
use gputexel_report::Report;
use gputexel_tune::run::comparison::{Contenders, Differences, Side, SortBy};
use gputexel_tune::run::{InHand, PriorStrength, Reopened, run_report};
use gputexel_tune::sweep::recorded_runs;
use gputexel_tune::sweep_run::{is_sweep, sweep_report};
use gputexel_tune::{Checkpoint, CoordinatesFile, OptimizerConfig, Progress, RunRecord, read_metrics};
use serde_json::Value;

use crate::bundle;

/// Files of a run's folder.
pub(crate) const RUN_FILES: [&str; 6] =
    ["run.json", "params.json", "metrics.jsonl", "z.json", "checkpoint.safetensors", "ablation.json"];

/// Files of a sweep's folder.
pub(crate) const SWEEP_FILES: [&str; 3] = ["sweep.json", "checkpoint.safetensors", "best.json"];

/// Creates the report of a run or a sweep from its folder.
pub(crate) fn report(path: &Path) -> gputexel_io::Result<Report> {
    let folder = RunFolder::view(path);
    let report = match is_sweep(path) {
        true => sweep_report(&folder)?,
        false => run_report(&folder, &InHand::default())?,
    };
    Ok(Report::Run(Box::new(report)))
}

fn show(report: gputexel_io::Result<Report>) {
    if let Ok(mut report) = report {
        report.set_running(false);
        let _ = (report.stage(), report.status().len(), report.facts().len());
        let _ = report.to_html(None);
    }
}

/// The folder of a run: its report, and resuming it. Its positions are missing.
pub(crate) fn run_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    bundle::write(data, &RUN_FILES, path);
    show(report(path));
    if let Ok(record) = RunFolder::view(path).record::<RunRecord>(Kind::Run) {
        let _ = record.config.validate();
        let text = serde_json::to_string(&record).expect("plain data serializes");
        let again: RunRecord = serde_json::from_str(&text).expect("what is written can be read");
        assert_eq!(serde_json::to_string(&again).expect("plain data serializes"), text);
    }
    let _ = PriorStrength::read(&path.display().to_string());
    let _ = CoordinatesFile::read(&path.join("z.json"));
    match gputexel_tune::run::Tuner::reopen(path) {
        Ok(Reopened::Finished(finished)) => drop(finished.describe()),
        Ok(Reopened::Unfinished { .. }) | Err(_) => {}
    }
}

/// The folder of a sweep: its report, and its finished runs.
pub(crate) fn sweep_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    bundle::write(data, &SWEEP_FILES, path);
    show(report(path));
    let view = RunFolder::view(path);
    if let Ok(record) = view.record::<gputexel_tune::sweep::SweepRecord>(Kind::Sweep)
        && let Ok(Some(checkpoint)) = Checkpoint::read_from(&view)
    {
        let _ = recorded_runs(&record.config, None, &checkpoint, path);
    }
}

/// The lines of `metrics.jsonl`.
pub(crate) fn metrics(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("metrics.jsonl");
    std::fs::write(&path, data).expect("room for a temporary file");
    let Ok(lines) = read_metrics(&path) else { return };
    let text: String =
        lines.iter().map(|line| serde_json::to_string(line).expect("plain data serializes") + "\n").collect();
    std::fs::write(&path, &text).expect("room for a temporary file");
    assert_eq!(read_metrics(&path).expect("what is written can be read").len(), lines.len());
}

/// Any bytes as a checkpoint.
pub(crate) fn checkpoint(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("checkpoint.safetensors");
    std::fs::write(&path, data).expect("room for a temporary file");
    if let Ok(checkpoint) = Checkpoint::read(&path) {
        survives(&checkpoint, &path);
    }
}

fn survives(checkpoint: &Checkpoint, path: &Path) -> bool {
    if checkpoint.write(path).is_err() {
        return false;
    }
    match Checkpoint::read(path) {
        Ok(again) => {
            assert_eq!(&again, checkpoint);
            true
        }
        Err(_) => false,
    }
}

/// Returns every optimizer of the library, for a small space.
pub(crate) fn optimizers() -> Vec<OptimizerConfig> {
    let one = MethodFlags { nonlinear: true, batches: Some(3), ..MethodFlags::default() };
    // Methods that run one set of settings only refuse several.
    let two = MethodFlags { learning_rate: vec![20.0; 2], ..one.clone() };
    let named = OptimizerConfig::NAMED.iter().map(|spec| {
        OptimizerConfig::named(spec.name, &two).or_else(|_| OptimizerConfig::named(spec.name, &one))
    });
    named.map(|config| config.expect("valid settings")).collect()
}

pub(crate) fn space() -> Space {
    let mut space = Space::unbounded(&[0.0, 10.0, -30.0]);
    (space.lower[1], space.upper[1]) = (-100.0, 100.0);
    (space.lower[0], space.upper[0], space.lower[2], space.upper[2]) = (-50.0, 50.0, -50.0, 50.0);
    space
}

/// Any contents of a checkpoint under a matching checksum: the parts `progress` and `scalars`, JSON, and vectors by
/// name, f64. It is read as it was written, and an optimizer resumes from it or refuses it.
pub(crate) fn checkpoint_sealed(data: &[u8]) {
    let progress = serde_json::from_slice::<Progress>(bundle::part(data, "progress"));
    let scalars = serde_json::from_slice::<Value>(bundle::part(data, "scalars"));
    let (Ok(progress), Ok(scalars)) = (progress, scalars) else { return };
    let mut vectors = BTreeMap::new();
    for (name, body) in bundle::parts(data) {
        let name = String::from_utf8_lossy(name).into_owned();
        if !["progress", "scalars", "best_parameters"].contains(&name.as_str()) {
            let number = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
            vectors.insert(name, body.as_chunks().0.iter().map(number).collect::<Vec<f64>>());
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("checkpoint.safetensors");
    let checkpoint = Checkpoint { progress, optimizer: OptimizerState { scalars, vectors } };
    if !survives(&checkpoint, &path) {
        return;
    }
    let space = space();
    for config in optimizers() {
        let mut optimizer = config.build(&space, 10).expect("valid settings");
        if optimizer.restore(checkpoint.optimizer.clone()).is_err() {
            continue;
        }
        if optimizer.ask_products().is_none() {
            let asked = optimizer.ask();
            assert_eq!(asked.parameters.len(), asked.members.len() * space.start.len());
        }
        let saved = optimizer.save();
        let mut again = config.build(&space, 10).expect("valid settings");
        again.restore(saved).expect("a state that was restored can be restored again");
    }
}

/// Parameter files that are compared: the parts `a`, `b` and `c`.
pub(crate) fn comparison(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let names = ["a", "b", "c"];
    bundle::write(data, &names, folder.path());
    let paths = names.map(|name| folder.path().join(name));
    for pair in [[&paths[0], &paths[1]], [&paths[1], &paths[0]]] {
        for sort in [SortBy::default()] {
            if let Ok(sides) = Side::read_both(pair.map(|path| path.as_path()))
                && let Ok(differences) = Differences::try_new(sides, sort)
            {
                assert!(!differences.both.is_empty());
            }
        }
    }
    let _ = Contenders::read(&paths);
}
