//! File modes, owners and hard links.

use super::*;
use crate::common::prelude::*;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

/// Returns the folder with the old files of a command, from its report.
fn backup(report: &Value) -> PathBuf {
    PathBuf::from(report["backup"].str())
}

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn mode(bench: &Bench, name: &str) -> u32 {
    mode_of(&bench.path(name))
}

fn set_mode(bench: &Bench, name: &str, mode: u32) {
    std::fs::set_permissions(bench.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn never_widens_permissions() {
    let bench = bench();
    for (source, umask, params) in [(0o600, "022", 0o644), (0o640, "077", 0o600), (0o755, "027", 0o640)] {
        set_mode(&bench, "source/s.cpp", source);
        let run = |command: &str| {
            let command = format!("umask {umask}; \"$GPUTEXEL\" --json patch {command}");
            let (code, out, err) = bench.shell(&command);
            assert_eq!((code, err.as_str()), (0, ""), "{command}");
            serde_json::from_str::<Value>(&out).unwrap()
        };
        let kept = backup(&run("tune x.tune source"));
        let kept_mode = |name| mode_of(&kept.join(name));
        assert_eq!(mode(&bench, "source/s.cpp"), source);
        assert_eq!(kept_mode("0000-s.cpp.before"), source);
        assert_eq!(mode(&bench, "x.params"), params, "umask {umask}");
        let record = kept_mode("record.json");
        assert_eq!(record & !params, 0, "{record:o}");
        // The source may have been in a private folder.
        assert_eq!(mode_of(kept.parent().unwrap()), 0o700);
        // The old file of parameters has a mode, too.
        set_mode(&bench, "x.params", 0o604);
        run("apply x.tune source");
        bench.write("source/s.cpp", SOURCE);
        run("tune x.tune source");
        assert_eq!(mode(&bench, "x.params"), 0o604);
        set_mode(&bench, "source/s.cpp", 0o660);
        run("undo source");
        assert_eq!(mode(&bench, "source/s.cpp"), 0o660, "rights that were changed since stay");
        std::fs::remove_file(bench.path("x.params")).unwrap();
    }
}

#[test]
fn owner_and_group_stay() {
    let bench = bench();
    if std::os::unix::fs::chown(bench.path("source/s.cpp"), Some(12_345), Some(23_456)).is_err() {
        return requirement::lack("root", "only root may give files away");
    }
    set_mode(&bench, "source/s.cpp", 0o2754);
    let owner = |path: &Path| {
        let metadata = std::fs::metadata(path).unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    let source = bench.path("source/s.cpp");
    let before = owner(&source);
    assert_eq!(before, (12_345, 23_456, 0o2754));
    let kept = backup(&object(&bench, "tune x.tune source"));
    assert_eq!(owner(&source), before);
    assert_eq!(owner(&kept.join("0000-s.cpp.before")), before);
    ok(&bench, "undo source");
    assert_eq!(owner(&source), before);
}

#[test]
fn warns_about_hard_links() {
    let bench = bench();
    std::fs::hard_link(bench.path("source/s.cpp"), bench.path("snapshot.cpp")).unwrap();
    let (code, _, err) = bench.run("patch tune x.tune source");
    let said = "gputexel: warning: source/s.cpp: has another name, a hard link, which keeps the old text\n";
    assert_eq!((code, err.as_str()), (0, said));
    assert_eq!(bench.text("snapshot.cpp"), SOURCE);
    assert!(bench.text("source/s.cpp").contains("f_1 * d"));
    ok(&bench, "undo source");
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
}
