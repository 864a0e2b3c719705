//! Runs as programs start them, from their folders and records.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use gputexel::evaluator::cpu::CpuEvaluator;

use gputexel::run::RunEvent;

use gputexel::{Backend, Error, Match, StopFlag, Sweep, Tuner, dataset};

/// A run on the sample, in a folder.
fn tuner<'a>(data: &'a dataset::Dataset, folder: &Path) -> Tuner<'a> {
    Tuner::builder(data).k(1.24).l2(1e-4).holdout(0.1).seed(1).folder(folder)
}

#[test]
fn runs_on_datasets_in_memory_leave_reports_and_resume_where_they_name_their_files() {
    let bench = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.bin");
    let data = dataset::read(&sample).unwrap();
    let whole = bench.path().join("whole");
    tuner(&data, &whole).datasets(&[&sample]).run().unwrap();
    let page = std::fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("Calibration"), "no calibration");

    for names_files in [true, false] {
        let cut = bench.path().join(format!("cut-{names_files}"));
        let (stop, resumable) = (StopFlag::new(), Cell::new(false));
        let mut run = tuner(&data, &cut).stop(&stop).observe(|event| {
            match event {
                RunEvent::Epoch { record, .. } if record.epoch == 2 => stop.store(true, Ordering::Relaxed),
                RunEvent::Resumable { .. } => resumable.set(true),
                _ => {}
            }
            Ok(())
        });
        if names_files {
            run = run.datasets(&[&sample]);
        }
        assert!(matches!(run.run(), Err(Error::Interrupted(_))));
        assert!(cut.join("report.html").exists());
        assert_eq!(resumable.get(), names_files, "whoever is told so can resume the run");
        match Tuner::resume(&cut) {
            Ok(resumed) => {
                assert!(names_files);
                resumed.run().unwrap();
                let bytes = |folder: &Path| std::fs::read(folder.join("params.json")).unwrap();
                assert_eq!(bytes(&cut), bytes(&whole));
            }
            Err(error) => assert!(!names_files && error.to_string().contains("names no dataset"), "{error}"),
        }
    }

    // Without positions, what is written to a folder has a report of all else.
    let written = bench.path().join("written");
    Tuner::builder(&data).k(1.24).l2(1e-4).run().unwrap().write_to(&written).unwrap();
    let page = std::fs::read_to_string(written.join("report.html")).unwrap();
    assert!(page.contains("need the positions of the run") && page.contains("knight"), "no report");
}

#[test]
fn evaluators_of_the_callers_serve_runs_and_sweeps() {
    let data = dataset::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample.bin")).unwrap();
    let made = Arc::new(AtomicU32::new(0));
    let count = made.clone();
    let backend = Backend::custom("mine", move |layout| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(CpuEvaluator::new(layout)))
    });
    let mut line = String::new();
    let run = Tuner::builder(&data).k(1.24).epochs(2).backend(&backend).observe(|event| {
        if let RunEvent::Started(start) = event {
            line = start.backend.to_string();
        }
        Ok(())
    });
    run.run().unwrap();
    assert!(made.swap(0, Ordering::Relaxed) > 0 && line.ends_with("(mine)"), "{line}");
    let sweep = || Sweep::builder(&data).axis("l2", "0,1e-4").k(1.24).folds(2).epochs(1).backend(&backend);
    assert!(!sweep().run().unwrap().is_interrupted());
    assert!(made.load(Ordering::Relaxed) > 0);
    let stop = StopFlag::new();
    stop.store(true, Ordering::Relaxed);
    assert!(sweep().stop(&stop).run().unwrap().is_interrupted());
    let error = Tuner::builder(&data).k(1e300).run().unwrap_err();
    assert!(error.to_string().starts_with("k 1e300: "), "{error}");
}

#[test]
fn a_match_is_kept_in_a_folder_that_has_one_writer() {
    let bench = tempfile::tempdir().unwrap();
    let folder = bench.path().join("match");
    let begin = || Match::builder("material", "zero").nodes(20).games(2).folder(&folder);
    assert_eq!(begin().run().unwrap().folder(), Some(folder.as_path()));
    assert!(folder.join("match.jsonl").exists() && folder.join("games.pgn").exists());
    let error = begin().run().unwrap_err();
    assert!(error.to_string().ends_with("exists and is not empty"), "{error}");
    begin().overwrite(true).run().unwrap();
    let resumed = Match::resume(&folder).unwrap();
    let error = Match::resume(&folder).err().unwrap();
    assert!(matches!(error, Error::Busy { .. }) && error.exit_code() == 1, "{error}");
    assert_eq!(resumed.games(4).run().unwrap().result().tally.games(), 4);
}
