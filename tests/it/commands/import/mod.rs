//! `gputexel import` and `trace` through the real binary.

mod documentation;
mod mistakes;
mod nonlinear;
mod refusals;
mod structure;
mod traces;
#[cfg(unix)]
mod tracing;
mod verify;

use crate::common::prelude::*;

fn bench(text: impl AsRef<[u8]>, schema: &str) -> Bench {
    let bench = Bench::new();
    bench.write("t.svm", text);
    bench.write("s.json", schema);
    bench
}

const IMPORT: &str = "--json import --schema s.json -o out.bin --force";

/// Imports to `out.bin`, which must succeed; returns the report.
fn import(bench: &Bench, args: impl Words, stdin: impl Into<Vec<u8>>) -> Value {
    let (code, out, err) = bench.feed((IMPORT, &args), stdin);
    assert_eq!((code, err.as_str()), (0, ""), "{:?}", args.words());
    serde_json::from_str(&out).unwrap()
}

/// Imports, which must fail and leave nothing; returns the error.
fn refuse(bench: &Bench, args: impl Words, code: i32) -> String {
    let (got, out, err) = bench.run(("import -o none.bin", &args));
    assert_eq!((got, out.as_str()), (code, ""), "{:?}: {err}", args.words());
    assert_one_line(&err);
    let left =
        bench.names(".").into_iter().filter(|name| name == "none.bin" || name.starts_with(".gputexel"));
    assert_eq!(left.count(), 0, "files are left");
    err
}

const HEAD: &str = r#"{"format": "gputexel-schema", "version": 1, "#;
