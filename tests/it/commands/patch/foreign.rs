//! Trees from other people or places: nothing outside them is read or written.

use super::*;
use crate::common::prelude::*;
use std::os::unix::fs::symlink;

const VICTIM: &str = "precious\n";

fn with_victims() -> Bench {
    let bench = bench();
    bench.write("victim.txt", VICTIM);
    std::fs::create_dir(bench.path("victims")).unwrap();
    bench.write("victims/kept.txt", VICTIM);
    bench
}

/// Returns everything in the folder without following links: names, targets of links, contents.
fn everything(bench: &Bench) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![bench.folder.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = std::fs::symlink_metadata(&path).unwrap().file_type();
            let what = if kind.is_symlink() {
                format!("link to {}", std::fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                folders.push(path.clone());
                "folder".to_string()
            } else if kind.is_file() {
                String::from_utf8(std::fs::read(&path).unwrap()).unwrap()
            } else {
                "something else".to_string()
            };
            found.insert(path.display().to_string(), what);
        }
    }
    found
}

#[test]
fn names_that_are_needed_may_be_links() {
    let bench = with_victims();
    for target in ["../victim.txt", "../new.txt"] {
        symlink(target, bench.path("source/.s.cpp.gputexel-new")).unwrap();
        ok(&bench, "tune x.tune source");
        assert!(bench.text("source/s.cpp").contains("f_1 * d") && !bench.path("source/s.cpp").is_symlink());
        symlink(target, bench.path("source/.s.cpp.gputexel-new")).unwrap();
        ok(&bench, "undo source");
        assert_eq!(
            (bench.text("source/s.cpp"), bench.names("source")),
            (SOURCE.into(), vec!["s.cpp".into()])
        );
        assert_eq!(bench.text("victim.txt"), VICTIM);
        assert!(!bench.path("new.txt").exists());
    }
}

#[test]
#[ignore = "full"]
fn pipes_and_giants_are_refused() {
    let bench = with_victims();
    if !requirement::program("mkfifo") {
        return;
    }
    let pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo").arg(bench.path(name)).status();
        made.unwrap().success()
    };
    std::fs::rename(bench.path("source/s.cpp"), bench.path("s.cpp")).unwrap();
    assert!(pipe("source/s.cpp") && pipe("x.params"));
    bench.fails_with("patch tune x.tune source", 1, "x.params: is not a regular file");
    std::fs::remove_file(bench.path("x.params")).unwrap();
    bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: is not a regular file");
    // Ten gigabytes of zeros take no disk space, but would take memory.
    std::fs::remove_file(bench.path("source/s.cpp")).unwrap();
    std::fs::File::create(bench.path("source/s.cpp")).unwrap().set_len(10_000_000_000).unwrap();
    bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: is larger than the 64 MiB");
    std::fs::rename(bench.path("source/s.cpp"), bench.path("x.params")).unwrap();
    std::fs::rename(bench.path("s.cpp"), bench.path("source/s.cpp")).unwrap();
    bench.fails_with("patch tune x.tune source", 1, "x.params: is larger than the 64 MiB");
}

#[test]
fn folders_that_became_links_are_not_written_through() {
    let bench = with_victims();
    std::fs::create_dir(bench.path("source/deep")).unwrap();
    std::fs::rename(bench.path("source/s.cpp"), bench.path("source/deep/s.cpp")).unwrap();
    bench.write("x.tune", TUNE.replace("s.cpp", "deep/s.cpp"));
    ok(&bench, "tune x.tune source");
    // The very file that 'undo' would replace, but elsewhere.
    std::fs::rename(bench.path("source/deep"), bench.path("elsewhere")).unwrap();
    symlink("../elsewhere", bench.path("source/deep")).unwrap();
    let before = everything(&bench);
    bench.fails_with("patch undo source", 1, "source/deep: is a link");
    assert_eq!(everything(&bench), before);
    bench.fails_with("patch apply x.tune source", 1, "leads outside source");
    // Parameters next to the blocks are not trusted, either.
    let bench = with_victims();
    bench.write("empty.conf", "");
    std::fs::rename(bench.path("x.tune"), bench.path("source/x.tune")).unwrap();
    symlink("../empty.conf", bench.path("source/x.params")).unwrap();
    let why = "source/x.params: is a link that leads outside source";
    bench.fails_with("patch tune source/x.tune source", 1, why);
    assert_eq!(bench.text("empty.conf"), "");
}

#[test]
fn hidden_files_are_refused() {
    let bench = bench();
    std::fs::create_dir_all(bench.path("source/.git/deep")).unwrap();
    bench.write("source/.git/config", SOURCE);
    bench.write("source/.git/deep/s.cpp", SOURCE);
    symlink(".git/config", bench.path("source/link.cpp")).unwrap();
    for name in [".git/config", "./.git/config", ".git\\config", ".git/deep/s.cpp", "link.cpp"] {
        bench.write("x.tune", TUNE.replace("s.cpp", name));
        let before = everything(&bench);
        bench.fails_with("patch tune x.tune source", 1, ["x.tune:1: ", "hidden"]);
        bench.fails_with("patch apply x.tune source", 1, "hidden");
        let (code, out, _) = bench.run("patch check x.tune source");
        assert!(code == 1 && out.contains("hidden"), "{out}");
        assert_eq!(everything(&bench), before);
    }
}

#[test]
fn records_belong_to_a_tree_in_its_place() {
    let bench = bench();
    ok(&bench, "tune x.tune source");
    std::fs::rename(bench.path("source"), bench.path("moved")).unwrap();
    bench.fails_with("patch undo moved", 1, "nothing to undo");
    ok(&bench, "apply x.tune moved");
    assert_eq!(bench.text("moved/s.cpp"), SOURCE);
    // Back in its place, what 'apply' did elsewhere is undone by the tree's name there alone.
    ok(&bench, "undo moved");
    std::fs::rename(bench.path("moved"), bench.path("source")).unwrap();
    ok(&bench, "undo source");
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
}

#[cfg(target_os = "linux")]
#[test]
fn copies_are_in_the_state_of_the_user() {
    let bench = bench();
    let run = |state: &str| {
        bench.shell(&format!("XDG_STATE_HOME={state} \"$GPUTEXEL\" --json patch tune x.tune source"))
    };
    // If no key can be stored, this is reported.
    let (code, _, err) = run("/dev/null");
    assert!(code == 1 && err.contains("XDG_STATE_HOME"), "{err}");
    assert_one_line(&err);
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
    let (code, out, err) = run("\"$PWD/state\"");
    assert_eq!((code, err.as_str()), (0, ""));
    let backup = serde_json::from_str::<Value>(&out).unwrap()["backup"].str().to_string();
    let root = bench.path("state/gputexel/patch");
    assert!(Path::new(&backup).canonicalize().unwrap().starts_with(root.canonicalize().unwrap()), "{backup}");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_to_string(Path::new(&backup).join("0000-s.cpp.before")).unwrap(), SOURCE);
    bench.fails_with("patch undo source", 1, "nothing to undo");
}
