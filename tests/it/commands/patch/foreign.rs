//! Trees from other people or places: nothing outside them is read, written or deleted.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;

use super::*;

const VICTIM: &str = "precious\n";

/// Creates a bench with files outside the tree that must not be touched.
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

/// Asserts that every command on the tree refuses it in one line and changes nothing.
fn assert_refused(bench: &Bench, said: &str, what: &str) {
    let before = everything(bench);
    for args in [
        &["tune", "x.tune", "source"][..],
        &["tune", "x.tune", "source", "--no-backup"],
        &["tune", "x.tune", "source", "--backup", "old"],
        &["apply", "x.tune", "source"],
        &["undo", "source"],
        &["undo", "source", "--force"],
    ] {
        let error = bench.fails(&[&["patch"], args].concat(), 1);
        assert!(error.contains(said), "{what}, {args:?}: {error}");
        assert_eq!(everything(bench), before, "{what}, {args:?}");
    }
}

/// Writes a journal as the former version did, without a seal, or as this one does, with an invalid seal.
fn forge(bench: &Bench, sealed: bool, progress: &str, files: &Value) {
    let folder = bench.path("source/.gputexel-patch/0001-tune");
    std::fs::create_dir_all(&folder).unwrap();
    let tree = bench.path("source").canonicalize().unwrap();
    let mut journal = json!({
        "version": if sealed { 2 } else { 1 },
        "command": "tune", "sources": tree, "progress": progress, "files": files,
    });
    let mut pending = tree.join(".gputexel-patch/0001-tune").display().to_string() + "\n";
    if sealed {
        journal = json!({ "seal": "00".repeat(32), "record": journal });
        let record = json!({ "version": 2, "sources": tree, "folder": pending.trim_end() });
        pending = json!({ "seal": "00".repeat(32), "record": record }).to_string();
    }
    bench.write("source/.gputexel-patch/0001-tune/journal.json", journal.to_string());
    bench.write("source/.gputexel-patch/0001-tune/0000-x.before", "evil\n");
    bench.write("source/.gputexel-patch/pending", pending);
}

/// Checksum of the former version.
fn xxh3(text: &str) -> String {
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
}

#[test]
fn a_forged_journal_writes_and_deletes_nothing_outside() {
    let outside = |bench: &Bench| bench.path("victim.txt").canonicalize().unwrap();
    type Forged = fn(&Path) -> Value;
    let cases: [(&str, Forged); 4] = [
        (
            "deletes ..",
            |_| json!([{ "path": "../victim.txt", "shown": "x", "after": xxh3(VICTIM), "params": false }]),
        ),
        ("writes ..", |_| {
            json!([{ "path": "../victim.txt", "shown": "x", "backup": "0000-x.before", "before": xxh3("evil\n"),
                     "after": xxh3(VICTIM), "params": false }])
        }),
        ("an absolute path", |victim| {
            json!([{ "path": victim, "shown": "x", "backup": "0000-x.before", "before": xxh3("evil\n"),
                     "after": xxh3(VICTIM), "params": true }])
        }),
        ("a backup elsewhere", |_| {
            json!([{ "path": "s.cpp", "shown": "x", "backup": "../../../victim.txt", "before": xxh3(VICTIM),
                     "after": xxh3(SOURCE), "params": false }])
        }),
    ];
    for (what, files) in cases {
        for progress in ["writing", "undoing"] {
            for sealed in [false, true] {
                let bench = with_victims();
                forge(&bench, sealed, progress, &files(&outside(&bench)));
                assert_refused(&bench, ".gputexel-patch", what);
                // Nor is anything in it used if the user adopts it.
                let error = bench.run(&["patch", "undo", "source", "--adopt"], "").2;
                assert_eq!(read(&bench, "victim.txt"), VICTIM, "{what}: {error}");
            }
        }
        let bench = with_victims();
        forge(&bench, true, "done", &files(&outside(&bench)));
        std::fs::remove_file(bench.path("source/.gputexel-patch/pending")).unwrap();
        assert_refused(&bench, ".gputexel-patch", what);
        // The fix: without the folder, everything works.
        std::fs::remove_dir_all(bench.path("source/.gputexel-patch")).unwrap();
        ok(&bench, &["tune", "x.tune", "source"]);
    }
}

#[test]
fn a_forged_note_deletes_no_folder() {
    let bench = with_victims();
    std::fs::create_dir(bench.path("source/.gputexel-patch")).unwrap();
    let victims = bench.path("victims").canonicalize().unwrap();
    bench.write("source/.gputexel-patch/pending", format!("{}\n", victims.display()));
    assert_refused(&bench, ".gputexel-patch", "a note");
    bench.fails(&["patch", "undo", "source", "--adopt"], 1);
    assert_eq!(read(&bench, "victims/kept.txt"), VICTIM);
}

/// Journals of the former version are refused, and can be adopted.
#[test]
fn adopts_journals_of_the_former_version_on_request() {
    for (progress, pending) in [("writing", true), ("undoing", true), ("done", false)] {
        let bench = with_victims();
        bench.write("source/s.cpp", "tuned\n");
        let params = bench.path("x.params").canonicalize().unwrap_or_else(|_| bench.path("x.params"));
        bench.write("x.params", "p\n");
        let files = json!([
            { "path": "s.cpp", "shown": "source/s.cpp", "backup": "0000-x.before", "before": xxh3("evil\n"),
              "after": xxh3("tuned\n"), "params": false },
            { "path": params, "shown": "x.params", "backup": null, "before": null, "after": xxh3("p\n"),
              "params": true },
        ]);
        forge(&bench, false, progress, &files);
        if !pending {
            std::fs::remove_file(bench.path("source/.gputexel-patch/pending")).unwrap();
        }
        assert_refused(&bench, "was made by a former version", progress);
        let (code, out, err) = bench.run(&["patch", "undo", "source", "--adopt"], "");
        assert_eq!((code, read(&bench, "source/s.cpp").as_str()), (0, "evil\n"), "{progress}: {out}{err}");
        assert!(err.contains("x.params: outside the tree"), "{err}");
        assert_eq!(read(&bench, "x.params"), "p\n");
    }
    // Escape sequences in the journal do not reach the terminal.
    let bench = with_victims();
    forge(
        &bench,
        false,
        "done",
        &json!([{ "path": "a\u{1b}[2J", "shown": "x", "after": "0", "params": false }]),
    );
    let error = bench.fails(&["patch", "undo", "source", "--adopt"], 1);
    assert!(error.contains("holds control characters") && !error.contains('\u{1b}'), "{error:?}");
    forge(
        &bench,
        false,
        "done",
        &json!([{ "path": "../a\n\u{1b}[2J", "shown": "x", "after": "0", "params": false }]),
    );
    let error = bench.fails(&["patch", "undo", "source", "--adopt"], 1);
    assert!(error.contains("has a path that no journal has") && !error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn links_in_the_folder_are_not_followed() {
    // Links created in the tree, and their targets.
    for (link, target) in [
        ("source/.gputexel-patch/lock", "../../victim.txt"),
        ("source/.gputexel-patch/lock", "../../new.txt"),
        ("source/.gputexel-patch/pending", "../../victim.txt"),
        ("source/.gputexel-patch/.gitignore", "../../new.txt"),
        ("source/.gputexel-patch/0001-tune", "../../victims"),
        ("source/.gputexel-patch", "../victims"),
        ("source/.gputexel-patch", "../nowhere"),
        ("source/.gputexel-patch", "."),
    ] {
        let bench = with_victims();
        if link.matches('/').count() > 1 {
            std::fs::create_dir(bench.path("source/.gputexel-patch")).unwrap();
        }
        symlink(target, bench.path(link)).unwrap();
        assert_refused(&bench, "is a link", &format!("{link} to {target}"));
        assert_eq!(read(&bench, "victim.txt"), VICTIM);
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
    std::fs::create_dir(bench.path("source/.gputexel-patch")).unwrap();
    for name in ["lock", "pending", ".gitignore"] {
        let name = format!("source/.gputexel-patch/{name}");
        assert!(pipe(&name));
        assert_refused(&bench, "is not a regular file", &name);
        std::fs::remove_file(bench.path(&name)).unwrap();
    }
    std::fs::remove_dir(bench.path("source/.gputexel-patch")).unwrap();
    std::fs::rename(bench.path("source/s.cpp"), bench.path("s.cpp")).unwrap();
    assert!(pipe("source/s.cpp") && pipe("x.params"));
    let error = bench.fails(&["patch", "tune", "x.tune", "source"], 1);
    assert!(error.contains("x.params: is not a regular file"), "{error}");
    std::fs::remove_file(bench.path("x.params")).unwrap();
    let error = bench.fails(&["patch", "tune", "x.tune", "source"], 1);
    assert!(error.contains("source/s.cpp: is not a regular file"), "{error}");
    // Ten gigabytes of zeros take no disk space, but would take memory.
    std::fs::remove_file(bench.path("source/s.cpp")).unwrap();
    std::fs::File::create(bench.path("source/s.cpp")).unwrap().set_len(10_000_000_000).unwrap();
    for args in [&["tune", "x.tune", "source"][..], &["init", "source/s.cpp:1"]] {
        let error = bench.fails(&[&["patch"], args].concat(), 1);
        assert!(error.contains("source/s.cpp: has more than 64 MiB"), "{error}");
    }
    std::fs::rename(bench.path("source/s.cpp"), bench.path("x.params")).unwrap();
    std::fs::rename(bench.path("s.cpp"), bench.path("source/s.cpp")).unwrap();
    let error = bench.fails(&["patch", "tune", "x.tune", "source"], 1);
    assert!(error.contains("x.params: has more than 64 MiB"), "{error}");
}

#[test]
fn folders_that_became_links_are_not_written_through() {
    let bench = with_victims();
    std::fs::create_dir(bench.path("source/deep")).unwrap();
    std::fs::rename(bench.path("source/s.cpp"), bench.path("source/deep/s.cpp")).unwrap();
    bench.write("x.tune", TUNE.replace("s.cpp", "deep/s.cpp"));
    ok(&bench, &["tune", "x.tune", "source"]);
    // The very file that 'undo' would replace, but elsewhere.
    std::fs::rename(bench.path("source/deep"), bench.path("elsewhere")).unwrap();
    symlink("../elsewhere", bench.path("source/deep")).unwrap();
    let before = everything(&bench);
    for force in [&["undo", "source"][..], &["undo", "source", "--force"]] {
        let error = bench.fails(&[&["patch"], force].concat(), 1);
        assert!(error.contains("source/deep: is a link"), "{error}");
        assert_eq!(everything(&bench), before);
    }
    let error = bench.fails(&["patch", "apply", "x.tune", "source"], 1);
    assert!(error.contains("leads outside source"), "{error}");
    // Parameters next to the blocks are not trusted, either.
    let bench = with_victims();
    bench.write("empty.conf", "");
    std::fs::rename(bench.path("x.tune"), bench.path("source/x.tune")).unwrap();
    symlink("../empty.conf", bench.path("source/x.params")).unwrap();
    let error = bench.fails(&["patch", "tune", "source/x.tune", "source"], 1);
    assert!(error.contains("source/x.params: is a link that leads outside source"), "{error}");
    assert_eq!(read(&bench, "empty.conf"), "");
}

#[test]
fn ignores_hidden_files_by_default() {
    let bench = bench();
    std::fs::create_dir_all(bench.path("source/.git/deep")).unwrap();
    bench.write("source/.git/config", SOURCE);
    bench.write("source/.git/deep/s.cpp", SOURCE);
    symlink(".git/config", bench.path("source/link.cpp")).unwrap();
    let before = everything(&bench);
    for name in [".git/config", "./.git/config", ".git\\config", ".git/deep/s.cpp", "link.cpp"] {
        bench.write("x.tune", TUNE.replace("s.cpp", name));
        let before = everything(&bench);
        let error = bench.fails(&["patch", "tune", "x.tune", "source"], 1);
        assert!(error.contains("x.tune:1: ") && error.contains("hidden"), "{error}");
        assert!(error.contains("--hidden"), "{error}");
        assert!(bench.fails(&["patch", "apply", "x.tune", "source"], 1).contains("hidden"));
        let (code, out, _) = bench.run(&["patch", "check", "x.tune", "source"], "");
        assert!(code == 1 && out.contains("hidden"), "{out}");
        assert_eq!(everything(&bench), before);
        ok(&bench, &["tune", "x.tune", "source", "--hidden"]);
        let file = format!("source/{}", if name == "link.cpp" { ".git/config" } else { name });
        assert!(read(&bench, &file.replace('\\', "/")).contains("f_1 * d"), "{name}");
        ok(&bench, &["check", "x.tune", "source", "--hidden"]);
        ok(&bench, &["undo", "source"]);
        std::fs::remove_dir_all(bench.path("source/.gputexel-patch")).unwrap();
    }
    bench.write("x.tune", TUNE);
    assert_eq!(everything(&bench), before);
    // The program's own folder cannot be patched.
    ok(&bench, &["tune", "x.tune", "source"]);
    let own = ".gputexel-patch/0001-tune/0000-s.cpp.before";
    bench.write("x.tune", TUNE.replace("s.cpp", own));
    let error = bench.fails(&["patch", "apply", "x.tune", "source", "--hidden"], 1);
    assert!(error.contains("x.tune:1: ") && error.contains("old files"), "{error}");
}

#[test]
fn adopts_moved_or_copied_trees_on_request() {
    let bench = bench();
    std::fs::create_dir(bench.path("source/deep")).unwrap();
    ok(&bench, &["tune", "x.tune", "source"]);
    let tuned = read(&bench, "source/s.cpp");
    let copied = bench.shell("cp -r source copy").0;
    assert_eq!(copied, 0);
    let was = bench.path("source").canonicalize().unwrap();
    for args in [&["undo", "copy"][..], &["apply", "x.tune", "copy"]] {
        let error = bench.fails(&[&["patch"], args].concat(), 1);
        assert!(error.contains(&format!("was made in {}", was.display())), "{error}");
        assert!(error.contains("--adopt") && error.contains("delete"), "{error}");
    }
    assert_eq!(read(&bench, "copy/s.cpp"), tuned);
    // Files outside the tree are not part of the copy.
    let (code, out, err) = bench.run(&["patch", "undo", "copy", "--adopt"], "");
    assert_eq!((code, read(&bench, "copy/s.cpp").as_str()), (0, SOURCE), "{out}{err}");
    assert!(err.contains("x.params") && err.contains("outside"), "{err}");
    assert!(bench.path("x.params").exists());
    assert_eq!(read(&bench, "source/s.cpp"), tuned);
    ok(&bench, &["undo", "source"]);
    assert!(!bench.path("x.params").exists());

    // After a move, tuning continues with the old files kept.
    ok(&bench, &["tune", "x.tune", "source"]);
    std::fs::rename(bench.path("source"), bench.path("moved")).unwrap();
    assert!(bench.fails(&["patch", "apply", "x.tune", "moved"], 1).contains("--adopt"));
    let dry = ["patch", "apply", "x.tune", "moved", "--adopt", "--dry-run"];
    assert_eq!(bench.run(&dry, "").0, 2, "adopting writes");
    let (code, _, err) = bench.run(&["patch", "apply", "x.tune", "moved", "--adopt"], "");
    assert_eq!(code, 0, "{err}");
    assert_eq!(read(&bench, "moved/s.cpp"), SOURCE);
    ok(&bench, &["undo", "moved"]);
    ok(&bench, &["undo", "moved"]);
    assert_eq!(read(&bench, "moved/s.cpp"), SOURCE);
}

#[cfg(target_os = "linux")]
#[test]
fn adopts_trees_of_others_on_request() {
    let bench = bench();
    let theirs =
        |args: &str| bench.shell(&format!("XDG_STATE_HOME=\"$PWD/state\" \"$GPUTEXEL\" patch {args}"));
    assert_eq!(theirs("tune x.tune source").0, 0);
    let key = bench.path("state/gputexel/patch-key");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let (code, _, err) = theirs("undo source --adopt");
    assert_eq!((code, err.as_str()), (0, ""), "one's own is adopted without a word");
    assert_eq!(theirs("tune x.tune source").0, 0);
    let tuned = read(&bench, "source/s.cpp");
    let before = everything(&bench);
    for args in [&["undo", "source"][..], &["undo", "source", "--force"], &["apply", "x.tune", "source"]] {
        let error = bench.fails(&[&["patch"], args].concat(), 1);
        assert!(error.contains("was not made by you on this computer"), "{error}");
        assert!(error.contains("--adopt") && error.contains("delete"), "{error}");
        assert_eq!(everything(&bench), before);
    }
    assert_eq!(read(&bench, "source/s.cpp"), tuned);
    let (code, _, err) = bench.run(&["patch", "undo", "source", "--adopt"], "");
    assert_eq!((code, read(&bench, "source/s.cpp").as_str()), (0, SOURCE), "{err}");
    // If no key can be stored, this is reported.
    let (code, _, err) = bench.shell("XDG_STATE_HOME=/dev/null \"$GPUTEXEL\" patch tune x.tune source");
    assert!(code == 1 && err.contains("XDG_STATE_HOME"), "{err}");
    assert_one_line(&err);
    assert_eq!(read(&bench, "source/s.cpp"), SOURCE);
}
