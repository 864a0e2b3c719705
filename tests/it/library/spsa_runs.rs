//! Whole runs through the library: started, resumed and verified without a command line.

use crate::common::prelude::*;
use gputexel::spsa::config::RunConfig;
use gputexel::spsa::run::{SpsaRun, Stop, Verification, VerifyOptions, conclude, read, summary};

const CONFIG: &str = "[run]\nmethod = \"spsa\"\niterations = 12\nseed = 7\n\
     [engine]\nparams = \"material:100,300,300,700,700\"\n\
     [games]\nlimit = \"nodes=200\"\nconcurrency = 1\nmax_plies = 120\n\
     win = { plies = 2, score_cp = 200 }\n\
     [[parameter]]\nname = \"queen\"\nstart = 700\nmin = 0\nmax = 1400\nc_end = 300\nr_end = 0.002\n\
     [[parameter]]\nname = \"rook\"\nstart = 700\nmin = 0\nmax = 1400\nc_end = 300\nr_end = 0.002\n";

fn config() -> RunConfig {
    RunConfig::parse(CONFIG, Path::new("run.toml")).unwrap()
}

fn begun(config: RunConfig, folder: &Path, stop: &StopFlag) -> gputexel::Result<SpsaRun> {
    let mut run = SpsaRun::new(config, "", stop)?;
    run.create_folder(Some(folder), false)?;
    Ok(run)
}

fn resumed(folder: &Path) -> SpsaRun {
    SpsaRun::resume(folder, None, StopFlag::new()).unwrap()
}

fn verification(folder: &Path, options: VerifyOptions) -> gputexel::Result<Verification> {
    Verification::open(folder, options, StopFlag::new())
}

fn values(run: &SpsaRun) -> Vec<f64> {
    run.state().tuner.values().to_vec()
}

#[test]
fn runs_are_the_same_recorded_or_not_and_interrupted_or_not() {
    let mut alone = SpsaRun::new(config(), "", StopFlag::new()).unwrap();
    assert_eq!(alone.run(|_| ()).unwrap(), Stop::AllPlayed);
    assert_ne!(values(&alone), [700.0, 700.0], "the games decide nothing");
    let folder = tempfile::tempdir().unwrap();
    let stop = StopFlag::new();
    let mut run = begun(config(), folder.path(), &stop).unwrap();
    let ended = run.run(|state| stop.store(state.tuner.completed_pairs() >= 3, Ordering::Relaxed));
    let completed = run.state().tuner.completed_pairs();
    // A machine may be fast enough for the last pair to end before the flag is seen.
    assert!(matches!(ended.unwrap(), Stop::Cancelled | Stop::AllPlayed) && completed >= 3);
    drop(run);
    let mut resumed = resumed(folder.path());
    assert_eq!(resumed.state().tuner.completed_pairs(), completed);
    assert_eq!(resumed.run(|_| ()).unwrap(), Stop::AllPlayed);
    assert_eq!(values(&resumed), values(&alone));
    for name in ["spsa.jsonl", "log.csv", "values.csv", "values.uci", "params.json"] {
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    let (header, state) = (&resumed.header, resumed.state());
    let conclusion = conclude(folder.path(), header, state).unwrap();
    let summary = summary(folder.path(), header, state, &conclusion, None);
    assert_eq!((summary["pairs_told"].u64(), summary["games"].u64()), (12, 24));
    drop(resumed);
    assert_eq!(read(folder.path()).unwrap().1.len(), 12);
    let refused = begun(config(), folder.path(), &StopFlag::new()).err().unwrap();
    assert!(refused.to_string().contains("exists and is not empty; use `force`"), "{refused}");
}

#[test]
#[ignore = "full"]
fn results_are_verified_by_a_match_that_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = begun(config(), folder.path(), &StopFlag::new()).unwrap();
    run.run(|_| ()).unwrap();
    drop(run);
    let options = |games| VerifyOptions { games, ..VerifyOptions::default() };
    assert_eq!(verification(folder.path(), options(3)).err().unwrap().exit_code(), 2);
    let mut seen = 0;
    let opened = verification(folder.path(), options(4)).unwrap();
    assert!(opened.has_changes());
    let first = opened.run(|tally| seen = tally.games()).unwrap();
    assert_eq!((first.tally.games(), seen), (4, 4));
    let longer = verification(folder.path(), options(6)).unwrap().run(|_| ()).unwrap();
    assert_eq!(longer.tally.games(), 6);
    // Other values do not continue it.
    let journal = folder.path().join("spsa.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&journal, format!("{}\n", lines[..2].join("\n"))).unwrap();
    let refused = verification(folder.path(), options(4)).unwrap().run(|_| ()).unwrap_err();
    assert!(matches!(&refused, Error::Advised { error, .. } if error.exit_code() == 2), "{refused}");
    let replaced = VerifyOptions { replace: true, ..options(4) };
    assert_eq!(verification(folder.path(), replaced).unwrap().run(|_| ()).unwrap().tally.games(), 4);
}

#[test]
fn pairs_near_a_bound_are_recorded_and_replayed() {
    let near = CONFIG.replacen("start = 700\nmin = 0", "start = 700\nmin = 650", 1);
    let folder = tempfile::tempdir().unwrap();
    let config = RunConfig::parse(&near, Path::new("run.toml")).unwrap();
    let mut run = begun(config.clone(), folder.path(), &StopFlag::new()).unwrap();
    run.run(|_| ()).unwrap();
    drop(run);
    let path = folder.path().join("spsa.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert!(lines[1].contains("\"near\":[{\"i\":0,"), "{}", lines[1]);
    std::fs::write(&path, format!("{}\n", lines[..2].join("\n"))).unwrap();
    let mut resumed = resumed(folder.path());
    assert_eq!(config, resumed.header.config);
    resumed.run(|_| ()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}
