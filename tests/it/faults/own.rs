//! Tests of the injector itself: its counting, its effect on calls, and that it detects careless writing.

use super::tracer::{End, Fault, Ran, is_possible, run};
use super::{Case, inject};
use crate::common::prelude::*;

const SHELL: &str = "/bin/sh";

fn shell(folder: &Path, command: &str, fault: Option<(Fault, usize)>) -> Option<Ran> {
    if let Err(why) = is_possible() {
        requirement::lack("ptrace", &why);
        return None;
    }
    Some(run(Path::new(SHELL), &["-c", command], folder, fault).unwrap())
}

#[test]
#[ignore = "full"]
fn calls_are_counted_and_hit() {
    let folder = tempfile::tempdir().unwrap();
    let command = "printf 12345678 > a; printf 90 >> a; cat a > /dev/null; mkdir b";
    let Some(ran) = shell(folder.path(), command, None) else { return };
    let calls: Vec<String> =
        ran.calls.iter().map(|call| format!("{} {}", call.name, call.path.display())).collect();
    // Calls of other programs, such as mkdir, are not counted.
    assert_eq!(calls, ["openat a", "write a", "openat a", "write a"]);
    assert_eq!((ran.end, ran.err.as_str()), (End::Code(0), ""));
    assert!(folder.path().join("b").is_dir());
    let text = || std::fs::read_to_string(folder.path().join("a")).unwrap();
    let hit = |fault, n| {
        let _ = std::fs::remove_file(folder.path().join("a"));
        let ran = shell(folder.path(), "printf 12345678 > a; printf 90 >> a", Some((fault, n))).unwrap();
        assert_eq!(ran.hit.is_some(), n < 5, "{fault:?} {n}");
        (ran, folder.path().join("a").exists().then(text).unwrap_or_default())
    };
    let (ran, left) = hit(Fault::Fail, 2);
    assert!(ran.err.contains("I/O error"), "{}", ran.err);
    assert_eq!((ran.end, left.as_str()), (End::Code(0), "90"));
    let (ran, left) = hit(Fault::Full, 2);
    assert_eq!((ran.err.lines().count(), left.as_str()), (2, ""));
    let (ran, left) = hit(Fault::Torn, 1);
    assert_eq!((ran.end, left.as_str()), (End::Signal(libc::SIGKILL), "1234"));
    let (ran, left) = hit(Fault::End, 4);
    assert_eq!((ran.end, left.as_str()), (End::Signal(libc::SIGKILL), "12345678"));
    let (ran, left) = hit(Fault::End, 5);
    assert_eq!((ran.end, left.as_str()), (End::Code(0), "1234567890"));
}

/// Returns the verdicts on a script that writes `result` where `old` exists.
fn verdicts(script: &'static str) -> Option<Vec<String>> {
    if let Err(why) = is_possible() {
        requirement::lack("ptrace", &why);
        return None;
    }
    let case = Case {
        name: "careless",
        program: Some(SHELL),
        prepare: |bench| {
            bench.write("result", "old");
            bench.write("half.sh", "printf 12345678 > result");
            bench.write("mess.sh", "printf 1 > mess; printf 12345678 > result; rm mess");
        },
        start: script,
        results: &["result"],
        ..Case::PLAIN
    };
    Some(inject(&case, None).broken)
}

#[test]
#[ignore = "full"]
fn detects_careless_writing() {
    let Some(broken) = verdicts("half.sh") else { return };
    let found =
        |start: &str, end: &str| broken.iter().any(|line| line.starts_with(start) && line.ends_with(end));
    // Killed when the file was emptied, or half written.
    let half = "result is neither the old nor the new one";
    assert!(found("careless: end 2", half) && found("careless: torn 1", half), "{broken:#?}");
    // A stray file that is in nobody's way is still reported.
    let Some(broken) = verdicts("mess.sh") else { return };
    let found =
        |start: &str, end: &str| broken.iter().any(|line| line.starts_with(start) && line.ends_with(end));
    assert!(found("careless: end 3", "[\"mess\"] is left"), "{broken:#?}");
}
