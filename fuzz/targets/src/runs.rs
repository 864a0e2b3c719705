//! Folders of runs and sweeps, and checkpoints.

use std::collections::BTreeMap;
use std::path::Path;

use gputexel_io::RunFolder;
use gputexel_optim::{MethodFlags, OptimizerState, Space};
use gputexel_report::Report;
use gputexel_runs::sweeps::{is_sweep, sweep_report};
use gputexel_runs::{ReportData, Tuner, run_report};
use gputexel_tune::{Checkpoint, OptimizerConfig, Progress};
use serde_json::Value;

use crate::bundle;

pub(crate) const RUN_FILES: [&str; 8] = [
    "run.json",
    "sweep.json",
    "params.json",
    "best.json",
    "metrics.jsonl",
    "z.json",
    "checkpoint.safetensors",
    "ablation.json",
];

/// The folder of a run or a sweep: its report, and resuming it. Its positions are missing.
pub(crate) fn run_folder(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    bundle::write(data, &RUN_FILES, path);
    let view = RunFolder::view(path);
    let report = match is_sweep(path) {
        true => sweep_report(&view),
        false => run_report(&view, &ReportData::default()),
    };
    if let Ok(report) = report {
        let mut report = Report::Run(Box::new(report));
        report.set_running(false);
        let _ = report.to_html(None);
    }
    let _ = Tuner::reopen(path);
}

fn survives(checkpoint: &Checkpoint, path: &Path) -> bool {
    if checkpoint.write(path).is_err() {
        return false;
    }
    Checkpoint::read(path).is_ok_and(|again| {
        assert_eq!(&again, checkpoint);
        true
    })
}

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

/// A checkpoint; or, under a matching checksum, the parts `progress` and `scalars`, JSON, and vectors by name, f64. It
/// is read as it was written, and an optimizer resumes from it or refuses it.
pub(crate) fn checkpoint(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("checkpoint.safetensors");
    let Some(checkpoint) = checkpoint_from(data, &path) else { return };
    if !survives(&checkpoint, &path) {
        return;
    }
    let space = space();
    for config in optimizers() {
        let mut optimizer = config.build(&space, 10).expect("valid settings");
        if optimizer.restore(checkpoint.optimizer.clone()).is_err() {
            continue;
        }
        assert_eq!(optimizer.ask().parameters.len() % space.start.len(), 0);
        let saved = optimizer.save();
        let mut again = config.build(&space, 10).expect("valid settings");
        again.restore(saved).expect("a state that was restored can be restored again");
    }
}

fn checkpoint_from(data: &[u8], path: &Path) -> Option<Checkpoint> {
    let parts = bundle::parts(data);
    if parts.is_empty() {
        std::fs::write(path, data).expect("room for a temporary file");
        return Checkpoint::read(path).ok();
    }
    let progress: Progress = serde_json::from_slice(bundle::part(data, "progress")).ok()?;
    let scalars: Value = serde_json::from_slice(bundle::part(data, "scalars")).ok()?;
    let mut vectors = BTreeMap::new();
    for (name, body) in parts {
        let name = String::from_utf8_lossy(name).into_owned();
        if !["progress", "scalars", "best_parameters"].contains(&name.as_str()) {
            let number = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
            vectors.insert(name, body.as_chunks().0.iter().map(number).collect::<Vec<f64>>());
        }
    }
    Some(Checkpoint { progress, optimizer: OptimizerState { scalars, vectors } })
}
