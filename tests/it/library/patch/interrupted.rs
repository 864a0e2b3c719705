//! Writing many files: if stopped at any step, all of them can be restored.

use crate::common::prelude::*;
use gputexel::patch::{Change, refuse_interrupted, undo, write, write_observed};
use std::panic::{AssertUnwindSafe, catch_unwind};

const FILES: usize = 5;

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// Creates sources `0.cpp`, … in `source`, the last in a folder of its own, and no `.params` file.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("source/deep")).unwrap();
        let bench = Self { folder };
        for i in 0..FILES {
            std::fs::write(bench.file(i), format!("old {i}\n")).unwrap();
        }
        bench
    }

    fn sources(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("source")
    }

    fn params(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("x.params")
    }

    fn file(&self, i: usize) -> PathBuf {
        self.sources().join(if i + 1 == FILES { "deep/last.cpp".to_string() } else { format!("{i}.cpp") })
    }

    fn plan(&self) -> PatchPlan {
        let change = |path: PathBuf, before: Option<String>, after: String, params| Change {
            shown: path.clone(),
            path,
            before: before.map(String::into_bytes),
            after: after.into_bytes(),
            params,
        };
        let mut changes: Vec<Change> = (0..FILES)
            .map(|i| change(self.file(i), Some(format!("old {i}\n")), format!("new {i}\n"), false))
            .collect();
        changes.push(change(self.params(), None, "p, int, 1, 0, 2, 1, 0.002\n".to_string(), true));
        PatchPlan { changes, ..PatchPlan::default() }
    }

    fn tree(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), std::fs::read_to_string(path).unwrap());
                }
            }
        }
        files
    }

    /// Stops at a step as a kill would, without cleanup.
    fn die_at(&self, step: usize) -> bool {
        let mut steps = 0;
        let died = catch_unwind(AssertUnwindSafe(|| {
            let mut observe = |_: &Path| {
                steps += 1;
                if steps > step {
                    // Without a message: the panic is intended.
                    std::panic::resume_unwind(Box::new("killed"));
                }
                Ok(())
            };
            write_observed(&self.plan(), &self.sources(), "tune", &mut observe).unwrap();
        }));
        died.is_err()
    }
}

/// Stage and replace each file.
const STEPS: usize = 2 * (FILES + 1);

#[test]
fn restores_old_files_after_a_kill_at_any_step() {
    let mut seen_half = 0;
    for step in 0..STEPS {
        let bench = Bench::new();
        let before = bench.tree();
        assert!(bench.die_at(step), "step {step} is never reached");
        seen_half += usize::from(bench.tree() != before);
        assert_has(
            &refuse_interrupted(&bench.sources()).unwrap_err().to_string(),
            "'patch tune' was interrupted",
        );
        let half = bench.tree();
        write(&bench.plan(), &bench.sources(), "tune").unwrap_err();
        assert_eq!(bench.tree(), half, "nothing is written to a half-written tree");
        let undone = undo(&bench.sources()).unwrap();
        assert!(undone.interrupted && undone.command == "tune", "{undone:?}");
        assert_eq!(bench.tree(), before, "step {step}");
        refuse_interrupted(&bench.sources()).unwrap();
        write(&bench.plan(), &bench.sources(), "tune").unwrap();
        assert!(bench.tree().values().all(|text| !text.starts_with("old")));
    }
    assert!(seen_half > FILES, "the tree was never half written");
}

#[test]
fn restores_old_files_after_an_error_at_any_step() {
    for step in 0..STEPS {
        let bench = Bench::new();
        let before = bench.tree();
        let mut steps = 0;
        let mut full = |_: &Path| {
            steps += 1;
            if steps > step { Err(std::io::Error::from(std::io::ErrorKind::StorageFull)) } else { Ok(()) }
        };
        let error = write_observed(&bench.plan(), &bench.sources(), "tune", &mut full);
        assert!(matches!(error, Err(Error::Io { .. })), "{error:?}");
        assert_eq!(bench.tree(), before, "step {step}");
        refuse_interrupted(&bench.sources()).unwrap();
        assert_has(&undo(&bench.sources()).unwrap_err().to_string(), "nothing to undo");
    }
}

#[test]
fn undo_keeps_later_changes() {
    let bench = Bench::new();
    let folder = write(&bench.plan(), &bench.sources(), "tune").unwrap().backup.unwrap();
    // Tuning continues in the .params file.
    std::fs::write(bench.params(), "p, int, 2, 0, 2, 1, 0.002\n").unwrap();
    std::fs::write(bench.file(1), "edited\n").unwrap();
    let tuned = bench.tree();
    let refused = undo(&bench.sources()).unwrap_err().to_string();
    let old = folder.join("0001-1.cpp.before");
    assert_has(&refused, ["1.cpp: was changed after 'patch tune'", &*old.display().to_string()]);
    assert_eq!(std::fs::read_to_string(old).unwrap(), "old 1\n");
    assert_eq!(bench.tree(), tuned);
    std::fs::write(bench.file(1), "new 1\n").unwrap();
    let undone = undo(&bench.sources()).unwrap();
    assert_eq!(undone.kept, [bench.params()]);
    assert_eq!(std::fs::read_to_string(bench.file(1)).unwrap(), "old 1\n");
    assert_eq!(std::fs::read_to_string(bench.params()).unwrap(), "p, int, 2, 0, 2, 1, 0.002\n");
}

#[test]
fn stops_if_a_file_changes_after_planning() {
    let bench = Bench::new();
    std::fs::write(bench.file(2), "someone else's\n").unwrap();
    let before = bench.tree();
    let error = write(&bench.plan(), &bench.sources(), "tune").unwrap_err().to_string();
    assert!(error.contains("2.cpp: was changed by another program"), "{error}");
    assert_eq!(bench.tree(), before);
    // A file that changes after an interruption is not overwritten, either.
    let bench = Bench::new();
    assert!(bench.die_at(STEPS - 1));
    std::fs::write(bench.file(2), "someone else's\n").unwrap();
    let error = undo(&bench.sources()).unwrap_err().to_string();
    assert!(error.contains("2.cpp: was changed after 'patch tune'; its old text is in "), "{error}");
    assert_eq!(std::fs::read_to_string(bench.file(2)).unwrap(), "someone else's\n");
}
