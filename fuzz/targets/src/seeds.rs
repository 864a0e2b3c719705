//! Seeds that cannot be written by hand: output of the program itself, as small as possible. The others are plain
//! text.

use std::path::Path;

use gputexel_chess::formats::Format;
use gputexel_dataset::{Dataset, Layout};
use gputexel_eval::gpu::BackendChoice;
use gputexel_eval::{Backend, Evaluations};
use gputexel_ingest::conversion::{ConversionSettings, convert};
use gputexel_ingest::extraction::{ExtractSettings, extract};
use gputexel_io::StopFlag;
use gputexel_model::{FeatureKind, ParameterFile, Prior};
use gputexel_play::{Match, MatchOptions, TimeControl};
use gputexel_source::tables::exports::CodeOptions;
use gputexel_source::tables::{ExportOptions, Language, Rounding, Target, export};
use gputexel_spsa::config::RunConfig;
use gputexel_spsa::run::{JOURNAL, SpsaRun};
use gputexel_tune::Limits;
use gputexel_tune::run::{RunOutput, Tuner, TunerSettings};
use gputexel_tune::sweep_run::{SweepEnd, SweepFiles, SweepSettings};

use crate::extractions::{hooked, lenient};
use crate::{bundle, containers, datagen, journals, models, runs};

const GAME: &str = "[Event \"x\"]\n[Result \"1-0\"]\n\n1. e4 {+0.30/8 1s} e5 {-0.20/7 1s} 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n";

/// A seed: its target, its name, its bytes.
pub type Seed = (&'static str, String, Vec<u8>);

/// Generates all of them.
pub fn seeds() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let mut all: Vec<Seed> = Vec::new();
    let mut add = |target, name: &str, bytes: Vec<u8>| all.push((target, name.to_string(), bytes));

    let data = dataset(folder, FeatureKind::Material, "data.bin");
    let pst = dataset(folder, FeatureKind::Pst, "pst.bin");
    add("container", "material.bin", read(&folder.join("data.bin")));
    for name in ["data.bin", "pst.bin"] {
        add("container_sealed", name, small_metadata(containers::unsealed(&folder.join(name))));
    }
    let layout = Layout::try_new(&data, 2, |n| n % 2).expect("a layout");
    add("layout", "two-parts", layout.to_bytes());
    add("layout", "squares", Layout::whole(&pst).expect("a layout").to_bytes());

    for format in Format::outputs().filter(|format| !format.is_text()) {
        add(format.name(), "game", converted(folder, format));
    }

    let run = folder.join("run");
    let settings = TunerSettings {
        k: Some(0.8),
        l2: vec![1e-4],
        limits: Limits { epochs: Some(3), ..Limits::default() },
        output: RunOutput::Folder(run.clone()),
        ..TunerSettings::default()
    };
    let tuned = Tuner::new(&data, settings).run().expect("a run");
    let parameters = read(&run.join("params.json"));
    add("run_folder", "material", files_of(&run, &runs::RUN_FILES[..4], folder));
    add(
        "run_folder",
        "checkpoint",
        files_of(&run, &["run.json", "metrics.jsonl", "checkpoint.safetensors"], folder),
    );
    add("metrics", "three-epochs", read(&run.join("metrics.jsonl")));
    add("checkpoint", "finished", read(&gputexel_io::RunFolder::view(&run).checkpoint()));
    add("parameters", "material.json", parameters.clone());
    let other = String::from_utf8_lossy(&parameters).replace("100.0", "110.0").into_bytes();
    let text = String::from_utf8_lossy(&other).replacen("pawn", "pawn2", 1).into_bytes();
    add("comparison", "three", bundle::join(&[("a", &parameters), ("b", &other), ("c", &text)]));
    assert!(tuned.loss.is_some_and(f64::is_finite));

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
    let begun = files.begin(config, data.clone()).expect("a sweep");
    begun.run(&backend, &StopFlag::new()).and_then(SweepEnd::finish).expect("a sweep");
    drop(begun);
    add("sweep_folder", "two", files_of(&sweep, &runs::SWEEP_FILES, folder));

    for config in runs::optimizers() {
        add("checkpoint_sealed", config.spec().name, optimizer_state(&config));
    }

    let played = folder.join("match");
    let mut options = MatchOptions::new("material", "zero");
    let play = &mut options.play;
    (play.limit, play.games, play.concurrency) = (TimeControl::Nodes(10), Some(2), Some(1));
    let mut begun = Match::new(&options, StopFlag::new()).expect("built-in engines play");
    begun.create_folder(Some(&played), false).expect("a new folder");
    begun.run(|_| ()).expect("a match");
    add("match_folder", "two-games", read(&played.join(gputexel_play::journal::JOURNAL)));

    let games = folder.join("selfplay");
    let options = datagen::selfplay_options();
    let mut played = gputexel_play::datagen::selfplay::SelfPlay::new(&options, StopFlag::new())
        .expect("a built-in engine plays");
    played.create_folder(Some(&games), false).expect("a new folder");
    played.run(|_| ()).expect("games");
    add("selfplay_folder", "two-games", read(&games.join("selfplay.jsonl")));
    let scored = &datagen::RESCORING;
    let lines = scored.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    add("rescore_journal", "one-block", scored[lines..].to_vec());

    let by_games = folder.join("spsa");
    let config = RunConfig::parse(SPSA, &folder.join("spsa.toml")).expect("a configuration");
    let mut spsa = SpsaRun::new(config, "", StopFlag::new()).expect("a run");
    spsa.create_folder(Some(&by_games), false).expect("a new folder");
    spsa.run(|_| {}).expect("games");
    add("spsa_folder", "two-pairs", read(&by_games.join(JOURNAL)));
    add(
        "spsa_state",
        "two-pairs.json",
        serde_json::to_vec(&spsa.state().tuner).expect("plain data serializes"),
    );
    add("spsa_config", "built-in.toml", SPSA.as_bytes().to_vec());

    let theta = Prior::default().theta(&models::PST).expect("piece values fit the tables");
    let file = ParameterFile::new(&models::PST, &theta, None, Some(1.0));
    for (language, name) in
        [(Language::C, "tables.h"), (Language::RUST, "tables.rs"), (Language::PYTHON, "tables.py")]
    {
        let options = ExportOptions {
            target: Target::Code(CodeOptions::new(language)),
            rounding: Rounding::Whole,
            normalization: None,
            header: true,
        };
        let exported = export(&file, &options).expect("an export");
        add("table_import", name, exported.text.into_bytes());
    }
    all
}

const SPSA: &str = "\
[run]
method = \"spsa\"
iterations = 2
seed = 7
[engine]
params = \"material:100,300,300,700,700\"
[games]
limit = \"nodes=10\"
concurrency = 1
max_plies = 20
[[parameter]]
name = \"queen\"
start = 700
min = 0
max = 1400
integer = false
c_end = 100
r_end = 0.002
";

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dataset(folder: &Path, kind: FeatureKind, name: &str) -> Dataset {
    let (input, output) = (journals::input_at(folder), folder.join(name));
    let settings = ExtractSettings { force: true, ..lenient(kind) };
    hooked(|hooks| extract(&[input], &settings, &output, hooks)).expect("a dataset");
    gputexel_dataset::read(&output).expect("a dataset")
}

/// Replaces the paths of sources, which differ each time.
fn small_metadata(parts: Vec<u8>) -> Vec<u8> {
    let files: Vec<(String, Vec<u8>)> = bundle::parts(&parts)
        .into_iter()
        .map(|(name, body)| (String::from_utf8_lossy(name).into_owned(), body.to_vec()))
        .collect();
    let metadata: Vec<(&str, Vec<u8>)> = files
        .iter()
        .map(|(name, body)| {
            let mut body = body.clone();
            if name == "metadata" {
                let mut value: serde_json::Value = serde_json::from_slice(&body).expect("metadata are JSON");
                if let Some(sources) = value["sources"].as_array_mut() {
                    sources.iter_mut().for_each(|source| source["path"] = "input.epd".into());
                }
                body = value.to_string().into_bytes();
            }
            (name.as_str(), body)
        })
        .collect();
    let borrowed: Vec<(&str, &[u8])> = metadata.iter().map(|(name, body)| (*name, &body[..])).collect();
    bundle::join(&borrowed)
}

fn converted(folder: &Path, format: Format) -> Vec<u8> {
    let (input, output) = (folder.join("game.pgn"), folder.join(format.name()));
    std::fs::write(&input, GAME).expect("room for a temporary file");
    let settings =
        ConversionSettings { default_score_cp: Some(0.0), ..ConversionSettings::everything(format) };
    hooked(|hooks| convert(&[input], &settings, &output, hooks)).expect("a game can be converted");
    read(&output)
}

/// Returns the existing files of a folder, without the path of the folder.
fn files_of(folder: &Path, names: &[&str], place: &Path) -> Vec<u8> {
    let files: Vec<(&str, Vec<u8>)> = names
        .iter()
        .filter_map(|name| Some((*name, std::fs::read(folder.join(name)).ok()?)))
        .map(|(name, bytes)| match String::from_utf8(bytes) {
            Ok(text) => (name, text.replace(&format!("{}/", place.display()), "").into_bytes()),
            Err(error) => (name, error.into_bytes()),
        })
        .collect();
    let borrowed: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    bundle::join(&borrowed)
}

/// The state of an optimizer after a few steps on a bowl.
fn optimizer_state(config: &gputexel_tune::OptimizerConfig) -> Vec<u8> {
    let space = runs::space();
    let size = space.start.len();
    let mut optimizer = config.build(&space, 10).expect("valid settings");
    for _ in 0..3 {
        if optimizer.ask_products().is_some() {
            break;
        }
        let asked = optimizer.ask();
        let members = asked.parameters.chunks(size);
        let evaluations = Evaluations {
            losses: members.clone().map(|z| z.iter().map(|x| x * x).sum()).collect(),
            gradients: if asked.gradients {
                asked.parameters.iter().map(|x| 2.0 * x).collect()
            } else {
                Vec::new()
            },
            curvatures: match asked.curvature {
                true => (0..members.count())
                    .flat_map(|_| (0..9).map(|i| if i % 4 == 0 { 2.0 } else { 0.0 }))
                    .collect(),
                false => Vec::new(),
            },
            ..Evaluations::default()
        };
        optimizer.tell(&evaluations).expect("a bowl has a bottom");
    }
    let state = optimizer.save();
    let progress = serde_json::to_vec(&gputexel_tune::Progress::default()).expect("plain data serializes");
    let scalars = serde_json::to_vec(&state.scalars).expect("plain data serializes");
    let vectors: Vec<(String, Vec<u8>)> = state
        .vectors
        .iter()
        .map(|(name, values)| (name.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect()))
        .collect();
    let mut parts: Vec<(&str, &[u8])> = vec![("progress", &progress), ("scalars", &scalars)];
    parts.extend(vectors.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])));
    bundle::join(&parts)
}
