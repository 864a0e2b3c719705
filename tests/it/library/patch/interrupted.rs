//! Writing many files: if stopped at any step, all of them can be restored.

use crate::common::prelude::*;
use gputexel::patch::{Change, WriteStep, interrupted, recover, undo, write, write_observed};
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
    fn die_at(&self, step: usize, backup: &Backup) -> bool {
        let mut steps = 0;
        let died = catch_unwind(AssertUnwindSafe(|| {
            let mut observe = |_: WriteStep<'_>| {
                steps += 1;
                if steps > step {
                    // Without a message: the panic is intended.
                    std::panic::resume_unwind(Box::new("killed"));
                }
                Ok(())
            };
            write_observed(&self.plan(), &self.sources(), "tune", backup, &mut observe).unwrap();
        }));
        died.is_err()
    }
}

/// Stage and replace each file, then finish.
const STEPS: usize = 2 * (FILES + 1) + 1;

#[test]
fn restores_old_files_after_a_kill_at_any_step() {
    for backup in &[Backup::State, Backup::No] {
        let mut seen_half = 0;
        for step in 0..STEPS {
            for way in ["undo", "recover", "again"] {
                let bench = Bench::new();
                let before = bench.tree();
                assert!(bench.die_at(step, backup), "step {step} is never reached");
                let half = bench.tree();
                seen_half += usize::from(half != before);
                assert!(interrupted(&bench.sources()).unwrap());
                match way {
                    "undo" => {
                        let undone = undo(&bench.sources(), false).unwrap();
                        assert!(undone.interrupted && undone.command == "tune", "{undone:?}");
                    }
                    "recover" => {
                        let said = recover(&bench.sources()).unwrap().unwrap();
                        assert!(said.contains("'patch tune' was interrupted"), "{said}");
                    }
                    _ => {
                        // Without a prior recovery, the first attempt only recovers.
                        let error = write(&bench.plan(), &bench.sources(), "tune", backup);
                        if matches!(&error, Err(Error::Input { reason, .. }) if reason.contains("run again"))
                        {
                            assert_eq!(bench.tree(), before);
                            write(&bench.plan(), &bench.sources(), "tune", backup).unwrap();
                        } else {
                            error.unwrap();
                        }
                        assert!(bench.tree().values().all(|text| !text.starts_with("old")));
                        assert!(!interrupted(&bench.sources()).unwrap());
                        continue;
                    }
                }
                assert_eq!(bench.tree(), before, "step {step}, {way}");
                assert!(!interrupted(&bench.sources()).unwrap());
                assert_eq!(recover(&bench.sources()).unwrap(), None);
            }
        }
        assert!(seen_half > FILES, "the tree was never half written");
    }
}

#[test]
fn restores_old_files_after_an_error_at_any_step() {
    for backup in [Backup::State, Backup::No] {
        for step in 0..STEPS {
            let bench = Bench::new();
            let before = bench.tree();
            let mut steps = 0;
            let mut full = |_: WriteStep<'_>| {
                steps += 1;
                if steps > step { Err(std::io::Error::from(std::io::ErrorKind::StorageFull)) } else { Ok(()) }
            };
            let error = write_observed(&bench.plan(), &bench.sources(), "tune", &backup, &mut full);
            assert!(matches!(error, Err(Error::Io { .. })), "{error:?}");
            assert_eq!(bench.tree(), before, "step {step}");
            assert!(!interrupted(&bench.sources()).unwrap());
            assert!(undo(&bench.sources(), false).unwrap_err().to_string().contains("nothing to undo"));
        }
    }
}

#[test]
fn undo_puts_back_one_command_after_the_other() {
    let bench = Bench::new();
    let before = bench.tree();
    let first = write(&bench.plan(), &bench.sources(), "tune", &Backup::State).unwrap().backup.unwrap();
    let is_outside = !first.starts_with(bench.folder.path().canonicalize().unwrap());
    assert!(first.ends_with("0001-tune") && is_outside, "{}", first.display());
    let between = bench.tree();
    let change = Change {
        path: bench.file(0),
        shown: "0.cpp".into(),
        before: Some(b"new 0\n".to_vec()),
        after: b"newer 0\n".to_vec(),
        params: false,
    };
    let second = PatchPlan { changes: vec![change], ..PatchPlan::default() };
    write(&second, &bench.sources(), "apply", &Backup::State).unwrap();
    assert_eq!(undo(&bench.sources(), false).unwrap().command, "apply");
    assert_eq!(bench.tree(), between);
    let undone = undo(&bench.sources(), false).unwrap();
    assert_eq!((undone.files.len(), undone.removed.len()), (FILES, 1), "{undone:?}");
    assert_eq!(bench.tree(), before);
    let nothing = undo(&bench.sources(), false).unwrap_err().to_string();
    assert!(nothing.contains("nothing to undo"), "{nothing}");
}

#[test]
fn undo_keeps_later_changes() {
    let bench = Bench::new();
    let folder = write(&bench.plan(), &bench.sources(), "tune", &Backup::State).unwrap().backup.unwrap();
    // Tuning continues in the .params file.
    std::fs::write(bench.params(), "p, int, 2, 0, 2, 1, 0.002\n").unwrap();
    std::fs::write(bench.file(1), "edited\n").unwrap();
    let tuned = bench.tree();
    let refused = undo(&bench.sources(), false).unwrap_err().to_string();
    assert!(refused.contains("1.cpp: was changed after 'patch tune'"), "{refused}");
    assert_eq!(bench.tree(), tuned);
    let undone = undo(&bench.sources(), true).unwrap();
    assert_eq!(undone.kept, [bench.params()]);
    let copy = folder.join("changed/1.cpp.changed");
    assert_eq!(undone.changed, [(bench.file(1), copy.clone())]);
    assert_eq!(std::fs::read_to_string(bench.file(1)).unwrap(), "old 1\n");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "edited\n");
    assert_eq!(std::fs::read_to_string(bench.params()).unwrap(), "p, int, 2, 0, 2, 1, 0.002\n");
}

#[test]
fn a_copied_tree_has_nothing_to_undo() {
    for step in [FILES, STEPS - 1, STEPS] {
        let bench = Bench::new();
        assert_eq!(bench.die_at(step, &Backup::State), step < STEPS);
        let copy = bench.folder.path().join("copy");
        copy_tree(&bench.sources(), &copy);
        let copied = std::fs::read_to_string(copy.join("0.cpp")).unwrap();
        assert!(!interrupted(&copy).unwrap());
        assert_eq!(recover(&copy).unwrap(), None);
        assert!(undo(&copy, false).unwrap_err().to_string().contains("nothing to undo"));
        undo(&bench.sources(), false).unwrap();
        assert_eq!(std::fs::read_to_string(bench.file(0)).unwrap(), "old 0\n");
        assert_eq!(std::fs::read_to_string(copy.join("0.cpp")).unwrap(), copied);
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            std::fs::copy(path, target).unwrap();
        }
    }
}

#[test]
fn stops_if_a_file_changes_after_planning() {
    let bench = Bench::new();
    std::fs::write(bench.file(2), "someone else's\n").unwrap();
    let before = bench.tree();
    let error = write(&bench.plan(), &bench.sources(), "tune", &Backup::State).unwrap_err().to_string();
    assert!(error.contains("2.cpp: was changed by another program"), "{error}");
    assert_eq!(bench.tree(), before);
    // A file that changes after an interruption is not overwritten, either.
    let bench = Bench::new();
    assert!(bench.die_at(STEPS - 1, &Backup::State));
    std::fs::write(bench.file(2), "someone else's\n").unwrap();
    let error = recover(&bench.sources()).unwrap_err().to_string();
    assert!(error.contains("2.cpp: was changed after an interruption; its old text is in "), "{error}");
    assert_eq!(std::fs::read_to_string(bench.file(2)).unwrap(), "someone else's\n");
}

#[cfg(unix)]
#[test]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    std::fs::set_permissions(bench.file(0), std::fs::Permissions::from_mode(0o750)).unwrap();
    let mode = || std::fs::metadata(bench.file(0)).unwrap().permissions().mode() & 0o777;
    write(&bench.plan(), &bench.sources(), "tune", &Backup::State).unwrap();
    assert_eq!(mode(), 0o750);
    undo(&bench.sources(), false).unwrap();
    assert_eq!(mode(), 0o750);
}
