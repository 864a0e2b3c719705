//! Runs started by programs, and read from their folders and records.

use crate::common::prelude::*;
use gputexel::matches::{Changes, MatchOptions};
use gputexel::optimizer::AdamRuns;
use gputexel::run::{OptimizerChoice, RunEvent, RunOutput};
use gputexel::sweep::{SweepFiles, SweepSettings};
use gputexel::tuning::Limits;
use gputexel::{Match, Result, Tuner, TunerSettings};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

fn sample() -> PathBuf {
    extracted_games()
}

/// Creates a run on the sample, in a folder.
fn tuner<'a>(data: &'a dataset::Dataset, folder: &Path, datasets: Vec<PathBuf>) -> Tuner<'a> {
    let output = RunOutput::Folder(folder.to_path_buf());
    Tuner::new(data, TunerSettings { holdout: 0.1, datasets, output, ..settings(1e-4) })
}

/// Creates settings with a scale constant.
fn settings<'a>(l2: f64) -> TunerSettings<'a> {
    TunerSettings { k: Some(1.24), l2: vec![l2], ..TunerSettings::default() }
}

#[test]
#[ignore = "full"]
fn runs_on_datasets_in_memory_leave_reports_and_resume_where_they_name_their_files() {
    let bench = tempfile::tempdir().unwrap();
    let sample = sample();
    let data = dataset::read(&sample).unwrap();
    let whole = bench.path().join("whole");
    tuner(&data, &whole, vec![sample.clone()]).run().unwrap();
    let page = std::fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("Calibration"), "no calibration");

    for names_files in [true, false] {
        let cut = bench.path().join(format!("cut-{names_files}"));
        let (stop, resumable) = (StopFlag::new(), Cell::new(false));
        let files = if names_files { vec![sample.clone()] } else { Vec::new() };
        let run = tuner(&data, &cut, files).stop(&stop).observe(|event| {
            match event {
                RunEvent::Epoch { record, .. } if record.epoch == 2 => stop.store(true, Ordering::Relaxed),
                RunEvent::Resumable { .. } => resumable.set(true),
                _ => {}
            }
            Ok(())
        });
        assert!(matches!(run.run(), Err(Error::Interrupted(_))));
        assert!(cut.join("report.html").exists());
        assert_eq!(resumable.get(), names_files, "whoever is told so can resume the run");
        match Tuner::resume(&cut) {
            Ok(resumed) => {
                assert!(names_files);
                let other = Tuner::resume(&cut).err().unwrap();
                assert!(matches!(other, Error::Busy { .. }), "{other}");
                let again = resumed.run().unwrap();
                let copy = bench.path().join("copy");
                again.write_to(&copy).unwrap();
                let epochs = |folder: &Path| std::fs::read(folder.join("metrics.jsonl")).unwrap();
                assert!(!epochs(&cut).is_empty() && epochs(&copy) == epochs(&cut));
                let bytes = |folder: &Path| std::fs::read(folder.join("params.json")).unwrap();
                assert_eq!(bytes(&cut), bytes(&whole));
            }
            Err(error) => assert!(!names_files && error.to_string().contains("names no dataset"), "{error}"),
        }
    }

    // Without positions, the report of a written folder has everything else.
    let written = bench.path().join("written");
    Tuner::new(&data, settings(1e-4)).run().unwrap().write_to(&written).unwrap();
    let page = std::fs::read_to_string(written.join("report.html")).unwrap();
    assert!(page.contains("need the positions of the run") && page.contains("knight"), "no report");
}

#[test]
#[ignore = "full"]
fn runs_and_sweeps_accept_custom_evaluators() {
    let data = dataset::read(&sample()).unwrap();
    let made = Arc::new(AtomicU32::new(0));
    let count = made.clone();
    let backend = Backend::custom("mine", move |layout| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(CpuEvaluator::new(layout)))
    });
    let mut line = String::new();
    let limits = Limits { epochs: Some(2), ..Limits::default() };
    let given = TunerSettings { l2: Vec::new(), limits, ..settings(0.0) };
    let run = Tuner::new(&data, given).backend(&backend).observe(|event| {
        if let RunEvent::Started(start) = event {
            line = start.backend.to_string();
        }
        Ok(())
    });
    run.run().unwrap();
    assert!(made.swap(0, Ordering::Relaxed) > 0 && line.ends_with("(mine)"), "{line}");
    let of = |datasets: Vec<PathBuf>| SweepSettings {
        datasets,
        axes: vec!["l2=0,1e-4".to_string()],
        k: Some(1.24),
        folds: 2,
        epochs: Some(1),
        ..SweepSettings::default()
    };
    let sweep = |stop: &StopFlag| of(Vec::new()).run(&data, &backend, stop).unwrap();
    let go_on = StopFlag::new();
    assert!(!sweep(&go_on).is_interrupted());
    assert!(made.load(Ordering::Relaxed) > 0);
    let stop = StopFlag::new();
    stop.store(true, Ordering::Relaxed);
    assert!(sweep(&stop).is_interrupted());
    // Stored in a folder, and resumed after it was stopped.
    let folder = tempfile::tempdir().unwrap();
    let (cut, sample) = (folder.path().join("cut"), sample());
    let files = SweepFiles { folder: Some(cut.clone()), ..SweepFiles::default() };
    let begin = |datasets: Vec<PathBuf>| files.begin(of(datasets).config(&data).unwrap(), data.clone());
    assert!(begin(Vec::new()).err().unwrap().to_string().contains("needs the files of its dataset"));
    assert!(begin(vec!["none.bin".into()]).is_err() && !cut.exists());
    {
        let begun = begin(vec![sample.clone()]).unwrap();
        assert!(begun.run(&backend, &stop).unwrap().results.is_interrupted());
    }
    assert!(begin(vec![sample]).err().unwrap().to_string().contains("exists and is not empty"));
    let resumed = SweepFiles::default().resume(&cut).unwrap();
    let end = resumed.run(&backend, &go_on).unwrap();
    assert_eq!(
        end.results.best().map(|best| best.held_out.mean),
        sweep(&go_on).best().map(|best| best.held_out.mean)
    );
    end.finish().unwrap();
    let error =
        Tuner::new(&data, TunerSettings { k: Some(1e300), ..TunerSettings::default() }).run().unwrap_err();
    assert!(error.to_string().starts_with("k 1e300: "), "{error}");
}

#[test]
fn a_match_is_kept_in_a_folder_that_has_one_writer() {
    let bench = tempfile::tempdir().unwrap();
    let folder = bench.path().join("match");
    let mut options = MatchOptions::new("material", "zero");
    (options.play.limit, options.play.games) = (TimeControl::Nodes(20), Some(2));
    let begin = |overwrite| {
        let mut begun = Match::new(&options, StopFlag::new()).unwrap();
        begun.create_folder(Some(&folder), overwrite).map(|()| begun)
    };
    assert_eq!(begin(false).unwrap().run(|_| ()).unwrap().folder, folder);
    assert!(folder.join("match.jsonl").exists() && folder.join("games.pgn").exists());
    let error = begin(false).err().unwrap();
    assert!(error.to_string().contains("exists and is not empty"), "{error}");
    begin(true).unwrap().run(|_| ()).unwrap();
    let changes = Changes { games: Some(4), ..Changes::default() };
    let resumed = Match::resume(&folder, changes, StopFlag::new()).unwrap();
    let error = Match::resume(&folder, changes, StopFlag::new()).err().unwrap();
    assert!(matches!(error, Error::Busy { .. }) && error.exit_code() == 1, "{error}");
    assert_eq!(resumed.run(|_| ()).unwrap().result.tally.games(), 4);
}

type Spoil = fn(&mut Evaluations);

/// An evaluator that returns invalid results.
struct Wrong<'l>(CpuEvaluator<'l>, Spoil);

impl Evaluator for Wrong<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        let mut answer = self.0.evaluate(population, request)?;
        (self.1)(&mut answer);
        Ok(answer)
    }

    fn describe(&self) -> String {
        "wrong".to_string()
    }
}

#[test]
fn invalid_evaluator_results_end_a_run_with_an_error() {
    let data = dataset::read(&sample()).unwrap();
    let spoils: [(Spoil, &str); 5] = [
        (|answer| answer.gradients.fill(f64::INFINITY), "the loss at the start is NaN"),
        (|answer| answer.gradients.fill(f64::NAN), "the loss at the start is NaN"),
        (|answer| answer.curvatures.clear(), "0 values of matrices; 589824 were asked for"),
        (|answer| answer.gradients.truncate(3), "3 values of gradients; 768 were asked for"),
        (|answer| *answer = Evaluations::default(), "0 losses; 1 were asked for"),
    ];
    for (spoil, expected) in spoils {
        let backend =
            Backend::custom("wrong", move |layout| Ok(Box::new(Wrong(CpuEvaluator::new(layout), spoil))));
        let error = Tuner::new(&data, settings(0.0)).backend(&backend).run().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let spoil: Spoil = |answer| answer.gradients.fill(f64::NAN);
    let backend =
        Backend::custom("wrong", move |layout| Ok(Box::new(Wrong(CpuEvaluator::new(layout), spoil))));
    let by = |optimizer| Tuner::new(&data, TunerSettings { optimizer, ..settings(0.0) });
    let adam = OptimizerConfig::Adam(AdamRuns::default());
    let error = by(OptimizerChoice::Given(adam)).backend(&backend).run().unwrap_err();
    assert!(matches!(error, Error::Numeric(_)), "{error}");
}
