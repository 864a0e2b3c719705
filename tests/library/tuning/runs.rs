//! Runs as programs start them, from their folders and records.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gputexel::run::RunEvent;
use gputexel::{Error, Tuner, dataset};

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
        let (cancel, resumable) = (AtomicBool::new(false), Cell::new(false));
        let mut run = tuner(&data, &cut).cancel(&cancel).observe(|event| {
            match event {
                RunEvent::Epoch { record, .. } if record.epoch == 2 => cancel.store(true, Ordering::Relaxed),
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
