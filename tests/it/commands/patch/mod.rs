//! `gputexel patch` through the real binary.

#[cfg(unix)]
mod exported;
#[cfg(unix)]
mod exposed;
mod foreign;
#[cfg(unix)]
mod kept;
mod order;
mod tables;
mod text;

use crate::common::prelude::*;

const SOURCE: &str = "// %%D%%\n\nvoid options() {\n  // %%O%%\n}\n\nint f(int d) {\n  int m = 100 * d - 25;\n  return m;\n}\n";
const TUNE: &str =
    "#set file s.cpp\n#set declaration %%D%%\n#set options %%O%%\n#context f\nint m = 1@ * d - 1@off;\n";

/// Returns a `.tune` file of blocks for `source/s.cpp`, starting like [`TUNE`].
fn tune_of(blocks: &str) -> String {
    format!("{}{blocks}", TUNE.split_once("#context").unwrap().0)
}

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("source")).unwrap();
    bench.write("x.tune", TUNE);
    bench.write("source/s.cpp", SOURCE);
    bench
}

fn ok(bench: &Bench, args: impl Words) -> String {
    bench.ok(("patch", args))
}

fn object(bench: &Bench, args: impl Words) -> Value {
    bench.report(("patch", args))
}

#[test]
fn tune_apply_and_undo_report_their_changes() {
    let bench = bench();
    let diff = ok(&bench, "tune x.tune source --dry-run");
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
    assert_eq!(bench.names("."), ["source", "x.tune"]);
    assert!(diff.starts_with("--- a/source/s.cpp\n+++ b/source/s.cpp\n@@ -1,10 +1,14 @@\n"), "{diff}");
    assert_has(
        &diff,
        [
            "\n-  int m = 100 * d - 25;\n+  int m = f_1 * d - f_off;\n",
            "--- /dev/null\n+++ b/x.params\n@@ -0,0 +1,2 @@\n+f_1, int, 100.0",
        ],
    );

    let out = ok(&bench, "tune x.tune source");
    let expected = "source/s.cpp:8: f: tuned, f_1 = 100, f_off = 25\nx.params: 2 parameters used, 2 new\n'gputexel patch undo source' restores the old files\n";
    assert_eq!(out, expected);
    assert_eq!(bench.names("source"), ["s.cpp"], "nothing is kept in the tree");
    let tuned = bench.text("source/s.cpp");
    bench.fails_with("patch tune x.tune source", 1, "x.tune:4: context f: source/s.cpp:12 is tuned already");
    assert_eq!(bench.text("source/s.cpp"), tuned);

    bench.write(
        "x.params",
        bench.text("x.params").replace("100.0,", "112.5,").replace("25.0, 0.0,", "-3.4, -50.0,"),
    );
    let applied = object(&bench, "apply x.tune source");
    let values = json!([
        {"name": "f_1", "before": "f_1", "value": "113"},
        {"name": "f_off", "before": "f_off", "value": "-3"}
    ]);
    assert_eq!(
        (&applied["blocks"][0]["action"], &applied["blocks"][0]["values"]),
        (&json!("restored"), &values)
    );
    assert_eq!(applied["files"], json!([{"path": "source/s.cpp", "new": false, "params": false}]));
    assert_eq!(bench.text("source/s.cpp"), SOURCE.replace("100 * d - 25", "113 * d - -3"));
    let again = ok(&bench, "apply x.tune source");
    assert!(again.ends_with("nothing to write: all files are up to date\n"), "{again}");

    assert_eq!(ok(&bench, "undo source"), "source/s.cpp: restored\npatch apply has been undone\n");
    assert_eq!(bench.text("source/s.cpp"), tuned);
    let undone = object(&bench, "undo source");
    assert_eq!(undone["kept"], json!(["x.params"]));
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
    bench.fails_with("patch undo source", 1, "nothing to undo");
}

#[test]
fn warns_about_probable_mistakes() {
    let bench = bench();
    let run = |args: &str| bench.run(("patch", args));
    ok(&bench, "tune x.tune source");
    let params = bench.text("x.params");
    bench.write(
        "x.params",
        params.replace("100.0, 0.0, 200.0", "100.0, 200.0, 0.0").replace("25.0,", "75.0,"),
    );
    let empty = "x.params: f_1: its range from 200.0 to 0.0 is empty\n";
    let outside = "x.params: f_off = 75.0 is outside of its range, 0.0 to 50.0\n";
    if !bench.text("x.params").contains("f_off, int, 75.0, 0.0, 50.0") {
        bench.write("x.params", bench.text("x.params").replace("0.0, 75.0,", "0.0, 50.0,"));
    }
    let (code, out, _) = run("check x.tune source");
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(&format!("warning: {empty}warning: {outside}")), "{out}");
    let (code, out, err) = run("apply x.tune source");
    assert_eq!(code, 0, "{out}");
    assert_eq!(err, format!("gputexel: warning: {empty}gputexel: warning: {outside}"));
    assert!(bench.text("source/s.cpp").contains("100 * d - 75"), "{out}");

    // A marker applies until it is set to nothing.
    let more = "#set declaration\n#context g\ng = 7@;\n#context h\nh = 8@;\n";
    bench.write("y.tune", format!("{TUNE}{more}"));
    bench.write("source/s.cpp", format!("{SOURCE}int g() {{ g = 7; }}\nint h() {{ h = 8; }}\n"));
    let warning =
        "y.tune:7: context g (and 1 more): nothing declares its parameters; #set declaration MARKER does\n";
    let (_, out, _) = run("check y.tune source");
    assert!(out.ends_with(&format!("warning: {warning}")), "{out}");
    let (code, _, err) = run("tune y.tune source --dry-run");
    assert_eq!((code, err), (0, format!("gputexel: warning: {warning}")));
}

#[test]
fn apply_requires_the_output_of_tune() {
    let bench = bench();
    ok(&bench, "tune x.tune source");
    let tuned = bench.text("source/s.cpp");
    bench.write("source/s.cpp", tuned.replace("int f_1 =", "static int f_1 ="));
    let (code, out, _) = bench.run("patch check x.tune source");
    assert!(code == 1 && out.contains("the declaration of f_1"), "{out}");
    bench.fails_with("patch apply x.tune source", 1, "the declaration of f_1");
    // Code that would lose its declaration.
    bench.write("source/s.cpp", format!("{tuned}// f_1 is mentioned\nint g() {{ return f_1; }}\n"));
    let refused = bench.fails("patch apply x.tune source", 1);
    let said = "f_1 is in another place of source/s.cpp, too, and would be declared no longer: 'int g() { return f_1; }'";
    assert!(refused.contains(said), "{refused}");
    bench.write("source/s.cpp", format!("{tuned}// f_1 is mentioned\n"));
    ok(&bench, "apply x.tune source");
}

#[test]
fn check_reports_every_block_and_near_misses() {
    let bench = bench();
    let more =
        "#context gone\nreturn margin * d;\n#context f2\nint m = 100 * depth - 5@;\n#context twice\nd\n";
    bench.write("x.tune", format!("{TUNE}{more}#add %%NONE%%\nint x;\n"));
    let (code, out, err) = bench.run("patch check x.tune source");
    assert_eq!((code, err.as_str()), (1, "gputexel: x.tune: 3 parts cannot be used\n"), "{out}");
    let expected = "source/s.cpp:8: f (block in line 4): matches, f_1 = 100, f_off = 25\n\
        source/s.cpp: gone (block in line 6): no match\n";
    assert!(out.starts_with(expected), "{out}");
    let near = "source/s.cpp: f2 (block in line 8): no match\n  closest is line 8:\n    source  int m = 100 * d - 25;\n    block   int m = 100 * depth - 5;\n";
    let several = "source/s.cpp:7: twice (block in line 10): matches in 2 places, lines 7, 8\n";
    assert_has(&out, [near, several]);
    assert!(out.ends_with("x.params: does not exist yet\n"), "{out}");
    bench.fails_with("patch tune x.tune source", 1, "x.tune:6: context gone: ");
    // Where all match, what 'tune' would say is reported.
    bench.write("x.tune", format!("{TUNE}#add %%NONE%%\nint x;\n"));
    let (code, out, _) = bench.run("patch check x.tune source");
    assert!(code == 1 && out.contains("#add: marker %%NONE%% is not in source/s.cpp"), "{out}");
    bench.write("x.tune", TUNE);
    let report = object(&bench, "check x.tune source");
    assert_eq!(report["blocks"][0]["state"], "ready");
    assert_eq!(report["blocks"][0]["values"], json!([["f_1", "100"], ["f_off", "25"]]));
    ok(&bench, "tune x.tune source");
    assert!(
        ok(&bench, "check x.tune source").contains("source/s.cpp:12: f (block in line 4): is already tuned")
    );
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    // A change to the bench, and the expected message.
    type Spoil = Box<dyn Fn(&Bench)>;
    fn put(name: &'static str, contents: impl Into<Vec<u8>>) -> Spoil {
        let contents = contents.into();
        Box::new(move |b| {
            let _ = std::fs::remove_dir_all(b.path(name));
            b.write(name, &contents);
        })
    }
    let gone = |name: &'static str| -> Spoil {
        Box::new(move |b| {
            let path = b.path(name);
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap()
        })
    };
    let folder = |name: &'static str| -> Spoil {
        Box::new(move |b| {
            let _ = std::fs::remove_file(b.path(name));
            std::fs::create_dir(b.path(name)).unwrap();
        })
    };
    let elsewhere = |path: &str| put("x.tune", TUNE.replace("s.cpp", path));
    let params = "f_1, int, 1, 0, 2, 1, 0.002\nf_off, int, 1, 0, x, 1, 0.002\n";
    let twice = format!("{SOURCE}{SOURCE}").replacen("%%D%%", "", 1).replacen("%%O%%", "", 1);
    let no_marker = "x.tune:2: #set declaration: marker %%D%% is not in source/s.cpp";
    let two_markers = "x.tune:3: #set options: marker %%O%% is in source/s.cpp more than once";
    let cases = [
        (folder("x.tune"), "x.tune: Is a directory"),
        (put("source", "x"), "source: is a file; expected the folder"),
        (gone("source/s.cpp"), "x.tune:1: source/s.cpp: No such file"),
        (folder("source/s.cpp"), "x.tune:1: source/s.cpp: is a folder"),
        (put("source/s.cpp", b"\xff\xfei\0".to_vec()), "source/s.cpp: is in UTF-16"),
        (put("x.tune", b"#context \xFF\n"), "x.tune:1: column 10: byte 0xFF is not UTF-8"),
        (put("x.params", params), "x.params:2: column 5 (max): 'x' is not a number"),
        (elsewhere("../outside.cpp"), "x.tune:1: ../outside.cpp: leads outside source"),
        (elsewhere("/etc/passwd"), "x.tune:1: /etc/passwd: leads outside source"),
        (elsewhere("C:\\s.cpp"), "x.tune:1: C:\\s.cpp: leads outside source"),
        (
            put("source/s.cpp", SOURCE.replace("int m", "long m")),
            "x.tune:4: context f: no match in source/s.cpp; line 8 is closest",
        ),
        (put("source/s.cpp", twice), "x.tune:4: context f: matches source/s.cpp in 2 places, lines 8, 18"),
        (put("source/s.cpp", SOURCE.replace("%%D%%", "")), no_marker),
        (put("source/s.cpp", format!("{SOURCE}// %%O%%\n")), two_markers),
    ];
    for (spoil, said) in cases {
        let bench = bench();
        bench.write("outside.cpp", SOURCE);
        spoil(&bench);
        let before = contents(bench.folder.path());
        bench.fails_with("patch tune x.tune source", 1, said);
        assert_eq!(contents(bench.folder.path()), before, "{said}");
    }
    let bench = bench();
    for args in ["tune x.tune", "what"] {
        assert_eq!(bench.run(("patch", args)).0, 2, "{args:?}");
    }
    bench.write("y.params", TUNE);
    bench.fails_with("patch tune y.params source", 2, "expected a .tune file");
    bench.fails_with("patch apply x.tune source", 1, "x.params is missing");
    bench.write("x.params", "f_1, int, 1, 0, 2, 1, 0.002\n");
    bench.fails_with("patch apply x.tune source", 1, "x.tune:4: f_off is not in x.params");
    assert_eq!(bench.text("source/s.cpp"), SOURCE);
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_folder_only() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    std::fs::create_dir(bench.path("source/real")).unwrap();
    std::fs::rename(bench.path("source/s.cpp"), bench.path("source/real/s.cpp")).unwrap();
    symlink("real/s.cpp", bench.path("source/s.cpp")).unwrap();
    ok(&bench, "tune x.tune source");
    assert!(bench.text("source/real/s.cpp").contains("f_1 * d") && bench.path("source/s.cpp").is_symlink());
    ok(&bench, "undo source");
    assert_eq!(bench.text("source/real/s.cpp"), SOURCE);
    bench.write("outside.cpp", SOURCE);
    std::fs::remove_file(bench.path("source/s.cpp")).unwrap();
    symlink("../outside.cpp", bench.path("source/s.cpp")).unwrap();
    bench.fails_with("patch tune x.tune source", 1, "s.cpp: is a link that leads outside source");
    assert_eq!(bench.text("outside.cpp"), SOURCE);
}

#[cfg(unix)]
#[test]
fn read_only_files_and_full_disks_change_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench();
    let big = format!("{SOURCE}{}", "// a line that only takes up room\n".repeat(8000));
    bench.write("source/s.cpp", &big);
    // A limit on file size acts as a disk that is full for some of the files.
    let command = "trap '' XFSZ; ulimit -f 100; \"$GPUTEXEL\" patch tune x.tune source";
    let (code, out, err) = bench.shell(command);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert_one_line(&err);
    assert!(err.contains("File too large"), "{err}");
    assert_eq!(bench.names("."), ["source", "x.tune"]);
    assert_eq!((bench.names("source"), bench.text("source/s.cpp")), (vec!["s.cpp".to_string()], big.clone()));

    std::fs::set_permissions(bench.path("source/s.cpp"), std::fs::Permissions::from_mode(0o444)).unwrap();
    bench.fails_with("patch tune x.tune source", 1, "source/s.cpp: is read-only");
    assert_eq!(bench.names("."), ["source", "x.tune"]);
    assert_eq!(bench.text("source/s.cpp"), big);
}

#[cfg(unix)]
#[test]
#[ignore = "full"]
fn walkthrough_output_matches() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = Bench::new();
    std::os::unix::fs::symlink(root.join("docs"), bench.path("docs")).unwrap();
    let text = std::fs::read_to_string(root.join("docs/patch.md")).unwrap();
    let (_, walk) = text.split_once("## Walkthrough").expect("the page has one");
    let walk = walk.split("\n## ").next().unwrap();
    let compiler = requirement::program("g++");
    let mut commands: Vec<(String, String)> = Vec::new();
    for block in walk.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => commands.push((command.to_string(), String::new())),
                None => commands.last_mut().expect("a command first").1 += &format!("{line}\n"),
            }
        }
    }
    assert!(commands.len() > 10, "{commands:?}");
    for (command, expected) in commands {
        if command.contains("g++") && !compiler {
            continue;
        }
        let (_, out, err) = bench.shell(&format!("gputexel() {{ \"$GPUTEXEL\" \"$@\"; }}\n{command}"));
        assert_eq!(format!("{out}{err}"), expected, "{command}");
    }
    assert_eq!(
        bench.text("engine/search.cpp"),
        bench.text("docs/patch/search.cpp"),
        "it ends where it began"
    );
}
