//! What the program depends on, held against `deny.toml` as far as that takes neither cargo-deny nor the network:
//! where crates come from, which are there twice, and under which licenses.
//!
//! `scripts/dependencies` has cargo-deny check the same, and advisories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::common::requirement;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A package of the lock file.
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

fn locked() -> Vec<Locked> {
    let text = read("Cargo.lock");
    let packages = text.split("[[package]]").skip(1).map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|rest| rest.strip_suffix('"')).map(str::to_string)
        };
        Locked {
            name: value("name").unwrap(),
            version: value("version").unwrap(),
            source: value("source"),
            checksum: value("checksum"),
        }
    });
    packages.collect()
}

/// The lines of a list of `deny.toml`, without comments.
fn list(key: &str) -> Vec<String> {
    let text = read("deny.toml");
    let (_, rest) = text.split_once(&format!("\n{key} = [\n")).unwrap_or_else(|| panic!("no {key}"));
    let (list, _) = rest.split_once("\n]").unwrap();
    list.lines().map(str::trim).filter(|line| !line.starts_with('#')).map(str::to_string).collect()
}

/// Which versions may be there beside a newer one: names, and what versions begin with.
fn skipped() -> Vec<(String, String)> {
    let entry = Regex::new(r#"^\{ crate = "([^":]+):([0-9.]+)", reason = "([^"]{10,})" \},$"#).unwrap();
    let parse = |line: &String| {
        let found =
            entry.captures(line).unwrap_or_else(|| panic!("deny.toml: a skip without a reason: {line}"));
        (found[1].to_string(), found[2].to_string())
    };
    list("skip").iter().map(parse).collect()
}

/// Whether a version is of a series, such as 0.10.4 of 0.10 and 2.1.3 of 2.
fn is_of(version: &str, series: &str) -> bool {
    version.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn everything_comes_from_crates_io_with_a_checksum() {
    let foreign: Vec<String> = locked()
        .into_iter()
        .filter(|package| match &package.source {
            // The crates of the workspace.
            None => !package.name.starts_with("gputexel"),
            Some(source) => {
                source != CRATES_IO || package.checksum.as_ref().is_none_or(|sum| sum.len() != 64)
            }
        })
        .map(|package| format!("{} {}: {:?}", package.name, package.version, package.source))
        .collect();
    assert!(foreign.is_empty(), "not of crates.io:\n{}", foreign.join("\n"));
}

#[test]
fn crates_are_there_twice_only_where_deny_toml_says_why() {
    assert!(read("deny.toml").contains("\nmultiple-versions = \"deny\"\n"));
    let skipped = skipped();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in locked() {
        versions.entry(package.name).or_default().push(package.version);
    }
    let is_skipped = |name: &str, version: &str| {
        skipped.iter().any(|(skip, series)| skip == name && is_of(version, series))
    };
    for (name, versions) in versions.iter().filter(|(_, versions)| versions.len() > 1) {
        let open: Vec<_> = versions.iter().filter(|version| !is_skipped(name, version)).collect();
        assert!(
            open.len() < 2,
            "{name} is in Cargo.lock as {open:?}; get rid of one, or name it in deny.toml"
        );
    }
    for (name, series) in &skipped {
        let all = versions.get(name).map(Vec::as_slice).unwrap_or_default();
        let needed = all.len() > 1 && all.iter().any(|version| is_of(version, series));
        assert!(needed, "deny.toml: nothing makes {name} {series} a duplicate any more");
    }
}

/// What Cargo knows of the dependencies on this machine's kind of system; `None` where they are not downloaded.
fn metadata() -> Option<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let ask = |args: &[&str]| {
        let mut command = Command::new(&cargo);
        command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
    };
    let version = String::from_utf8(ask(&["--version", "--verbose"]).stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let args = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host];
    let out = ask(&args);
    if !out.status.success() {
        requirement::lack("dependencies", String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or(""));
        return None;
    }
    serde_json::from_slice(&out.stdout).ok()
}

/// Whether a license expression can be satisfied by what is allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = any(&words, allowed);
    assert!(rest.is_empty(), "'{expression}' cannot be read");
    value
}

fn any<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut value, mut rest) = all(words, allowed);
    while let Some((&"OR", behind)) = rest.split_first() {
        let (other, after) = all(behind, allowed);
        (value, rest) = (value || other, after);
    }
    (value, rest)
}

fn all<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut value, mut rest) = one(words, allowed);
    while let Some((&"AND", behind)) = rest.split_first() {
        let (other, after) = one(behind, allowed);
        (value, rest) = (value && other, after);
    }
    (value, rest)
}

fn one<'w>(words: &'w [&'w str], allowed: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inside @ ..] => {
            let (value, rest) = any(inside, allowed);
            assert_eq!(rest.first(), Some(&")"), "a bracket is open");
            (value, &rest[1..])
        }
        [license, "WITH", exception, rest @ ..] => {
            (allowed.contains(&format!("{license} WITH {exception}")), rest)
        }
        [license, rest @ ..] => (allowed.contains(*license), rest),
        [] => panic!("a license is missing"),
    }
}

fn allowed_licenses() -> BTreeSet<String> {
    list("allow").iter().map(|line| line.trim_end_matches(',').trim_matches('"').to_string()).collect()
}

#[test]
fn licenses_are_those_of_deny_toml() {
    let Some(metadata) = metadata() else { return };
    let allowed = allowed_licenses();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 200, "only {} packages", packages.len());
    let bad: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|license| is_allowed(license, &allowed)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(bad.is_empty(), "licenses that deny.toml does not allow:\n{}", bad.join("\n"));
}

#[test]
fn license_expressions_are_understood() {
    let allowed = allowed_licenses();
    for (expression, expected) in [
        ("MIT OR Apache-2.0", true),
        ("MIT/Apache-2.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-2.0-only WITH LLVM-exception", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND AGPL-3.0-only", false),
        ("AGPL-3.0-only OR MIT AND ISC", true),
        ("AGPL-3.0-only", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn continuous_integration_has_all_of_it_checked() {
    let workflow = read(".github/workflows/ci.yml");
    assert!(workflow.contains("cargo install cargo-deny --locked"), "cargo-deny is installed");
    assert!(workflow.contains("run: scripts/dependencies required"), "advisories are required");
    assert!(read("scripts/test").contains("    scripts/dependencies\n"));
    let script = read("scripts/dependencies");
    for check in
        ["check licenses bans sources", "advisories", "SKIPPED: ", "cargo install cargo-deny --locked"]
    {
        assert!(script.contains(check), "{check}");
    }
}
