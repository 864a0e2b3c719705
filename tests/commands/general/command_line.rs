//! What shells and `man` are told, and the help of commands.

use crate::common::program::Bench;

#[test]
fn completions_know_the_commands() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, err) = bench.run(&["completions", shell], "");
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        for word in ["import-params", "split-material", "spsa", "tables"] {
            assert!(out.contains(word), "{shell} lacks {word}");
        }
    }
    // The shell that is at hand reads its own.
    let (code, _, err) = bench.shell("\"$GPUTEXEL\" completions bash -o c.sh -q && bash -n c.sh");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(bench.fails(&["completions", "bash", "-o", "c.sh"], 2).contains("c.sh: exists; use --force"));
    let (code, _, err) = bench.run(&["completions", "tcsh"], "");
    assert!(code == 2 && err.contains("tcsh"), "{err}");
}

#[test]
fn pages_are_written_for_all_commands() {
    let bench = Bench::new();
    let (code, out, _) = bench.run(&["man"], "");
    assert!(code == 0 && out.contains(".TH gputexel 1"), "{out}");
    let (code, _, err) = bench.run(&["man", "-o", "man"], "");
    assert_eq!((code, err.as_str()), (0, ""));
    let names = bench.names("man");
    for name in ["gputexel.1", "gputexel-export.1", "gputexel-spsa-run.1", "gputexel-patch-tables.1"] {
        assert!(names.iter().any(|own| own == name), "{names:?}");
    }
    let page = String::from_utf8(bench.bytes("man/gputexel-export.1")).unwrap();
    assert!(page.contains("split\\-material") && page.contains("Examples:"), "{page}");
    assert!(bench.fails(&["man", "-o", "man"], 2).contains("exists; use --force"));
    let (code, _, err) = bench.run(&["man", "-o", "man", "--force"], "");
    assert_eq!((code, err.as_str()), (0, ""));
}

#[test]
fn help_has_examples() {
    let bench = Bench::new();
    for args in [&["export", "--help"][..], &["spsa", "run", "--help"], &["patch", "undo", "-h"]] {
        let (code, out, _) = bench.run(args, "");
        assert!(code == 0 && out.contains("Examples:\n  gputexel "), "{args:?}: {out}");
    }
}
