//! Seeds that cannot be written by hand: output of the program itself, as small as possible.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use gputexel_chess::PhaseSettings;
use gputexel_chess::formats::Format;
use gputexel_chess::selection::Selection;
use gputexel_dataset::Dataset;
use gputexel_eval::gpu::BackendChoice;
use gputexel_eval::{Backend, Evaluations};
use gputexel_ingest::conversion::{ConversionSettings, convert};
use gputexel_ingest::extraction::{ExtractSettings, Hooks, extract};
use gputexel_io::StopFlag;
use gputexel_model::{FeatureKind, FeatureSet};
use gputexel_play::{Match, MatchOptions, TimeControl};
use gputexel_runs::sweeps::{SweepEnd, SweepFiles, SweepSettings};
use gputexel_runs::{RunOutput, Tuner, TunerSettings};
use gputexel_tune::Limits;

use crate::{bundle, data, runs};

const GAME: &str = "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 {+0.30/8 1s} e5 {-0.20/7 1s} 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n";

const POSITIONS: &str = "\
8/8/8/8/8/7k/8/KQ6 w - - c9 \"1-0\";
8/8/8/8/8/7K/8/kq6 b - - c9 \"0-1\";
8/8/8/8/8/7k/8/KR6 w - - c9 \"1/2-1/2\";
";

/// A seed: its target, its name, its bytes.
pub type Seed = (&'static str, String, Vec<u8>);

pub fn seeds() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let mut all: Vec<Seed> = Vec::new();
    let mut add = |target, name: &str, bytes: Vec<u8>| all.push((target, name.to_string(), bytes));
    let dataset = dataset(folder, FeatureKind::Material, "data.bin");
    self::dataset(folder, FeatureKind::Pst, "pst.bin");
    add("container", "whole", read(&folder.join("data.bin")));
    for name in ["data.bin", "pst.bin"] {
        add("container", name, data::unsealed(&read(&folder.join(name))));
    }
    for format in Format::outputs().filter(|format| !format.is_text()) {
        add(format.name(), "game", converted(folder, format));
    }
    let run = run(folder, &dataset);
    add("parameters", "material.json", read(&run.join("params.json")));
    add("run_folder", "finished", files_of(&run, folder));
    add("run_folder", "sweep", files_of(&sweep(folder, dataset), folder));
    for config in runs::optimizers() {
        add("checkpoint", config.spec().name, optimizer_state(&config));
    }
    add("match_folder", "two-games", match_journal(folder));
    all
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn hooked<T>(call: impl FnOnce(&mut Hooks<'_>) -> T) -> T {
    let cancel = AtomicBool::new(false);
    call(&mut Hooks { cancel: &cancel, progress: &mut |_| {} })
}

fn dataset(folder: &Path, kind: FeatureKind, name: &str) -> Dataset {
    let (input, output) = (folder.join("input.epd"), folder.join(name));
    std::fs::write(&input, POSITIONS).expect("room for a temporary file");
    let settings = ExtractSettings {
        selection: Selection { keep_ends: true, ..Selection::everything() },
        threads: 1,
        ..ExtractSettings::new(FeatureSet::new(kind, PhaseSettings::default()))
    };
    hooked(|hooks| extract(&[input], &settings, &output, hooks)).expect("a dataset");
    gputexel_dataset::read(&output).expect("a dataset")
}

fn converted(folder: &Path, format: Format) -> Vec<u8> {
    let (input, output) = (folder.join("game.pgn"), folder.join(format.name()));
    std::fs::write(&input, GAME).expect("room for a temporary file");
    let settings =
        ConversionSettings { default_score_cp: Some(0.0), ..ConversionSettings::everything(format) };
    hooked(|hooks| convert(&[input], &settings, &output, hooks)).expect("a game can be converted");
    read(&output)
}

fn run(folder: &Path, data: &Dataset) -> std::path::PathBuf {
    let run = folder.join("run");
    let settings = TunerSettings {
        k: Some(0.8),
        l2: vec![1e-4],
        limits: Limits { epochs: Some(3), ..Limits::default() },
        output: RunOutput::Folder(run.clone()),
        ..TunerSettings::default()
    };
    Tuner::new(data, settings).run().expect("a run");
    run
}

fn sweep(folder: &Path, data: Dataset) -> std::path::PathBuf {
    let sweep = folder.join("sweep");
    let settings = SweepSettings {
        datasets: vec![folder.join("data.bin")],
        axes: vec!["l2=1e-3,1e-4".to_string()],
        k: Some(0.8),
        folds: 2,
        ..SweepSettings::default()
    };
    let config = settings.config(&data).expect("a sweep");
    let backend = Backend::open(BackendChoice::Cpu).expect("a backend");
    let files = SweepFiles { folder: Some(sweep.clone()), ..SweepFiles::default() };
    let begun = files.begin(config, data).expect("a sweep");
    begun.run(&backend, &StopFlag::new()).and_then(SweepEnd::finish).expect("a sweep");
    sweep
}

fn match_journal(folder: &Path) -> Vec<u8> {
    let path = folder.join("match");
    let mut options = MatchOptions::new("material", "zero");
    let play = &mut options.play;
    (play.limit, play.games, play.concurrency) = (TimeControl::Nodes(10), Some(2), Some(1));
    let mut begun = Match::new(&options, StopFlag::new()).expect("built-in engines play");
    begun.create_folder(Some(&path), false).expect("a new folder");
    begun.run(|_| ()).expect("a match");
    read(&path.join(gputexel_play::journal::JOURNAL))
}

fn files_of(folder: &Path, place: &Path) -> Vec<u8> {
    let place = format!("{}/", place.display());
    let files: Vec<(&str, Vec<u8>)> = runs::RUN_FILES
        .iter()
        .filter_map(|name| Some((*name, std::fs::read(folder.join(name)).ok()?)))
        .map(|(name, bytes)| match String::from_utf8(bytes) {
            Ok(text) => (name, text.replace(&place, "").into_bytes()),
            Err(error) => (name, error.into_bytes()),
        })
        .collect();
    bundle::join(&files)
}

fn optimizer_state(config: &gputexel_tune::OptimizerConfig) -> Vec<u8> {
    let space = runs::space();
    let size = space.start.len();
    let mut optimizer = config.build(&space, 10).expect("valid settings");
    for _ in 0..3 {
        let asked = optimizer.ask();
        let members = asked.parameters.chunks(size);
        let diagonal = || (0..9).map(|i| if i % 4 == 0 { 2.0 } else { 0.0 });
        let evaluations = Evaluations {
            losses: members.clone().map(|z| z.iter().map(|x| x * x).sum()).collect(),
            gradients: asked.parameters.iter().filter(|_| asked.gradients).map(|x| 2.0 * x).collect(),
            curvatures: (0..members.count()).filter(|_| asked.curvature).flat_map(|_| diagonal()).collect(),
            ..Evaluations::default()
        };
        optimizer.tell(&evaluations).expect("a bowl has a bottom");
    }
    let state = optimizer.save();
    let json = |value: serde_json::Result<Vec<u8>>| value.expect("plain data serializes");
    let mut parts = vec![
        ("progress", json(serde_json::to_vec(&gputexel_tune::Progress::default()))),
        ("scalars", json(serde_json::to_vec(&state.scalars))),
    ];
    parts.extend(state.vectors.iter().map(|(name, values)| {
        (name.as_str(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }));
    bundle::join(&parts)
}
