//! Access to the outside: every place that starts programs, uses the network, opens a browser or reads the
//! environment is in the table of SECURITY.md, which says who controls it.

use crate::common::prelude::*;
use regex::Regex;

const KINDS: [(&str, &str); 4] = [
    ("starts a program", r"\bCommand::new\(|\.exec\(\)"),
    ("opens a browser", r"\bopen::(that|with|commands)"),
    (
        "network",
        r"\b(TcpListener|TcpStream|UdpSocket|UnixListener|UnixDatagram)::(bind|connect)\(|\bUnixStream::(pair|connect)\(|\btiny_http::Server::|\bServer::(http|https|http_unix)\(|\b(reqwest|ureq|curl)::",
    ),
    ("environment", r"\benv::(var|var_os|vars|vars_os|set_var|remove_var)\b|\bdirs::\w+_dir\b"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => Vec::from_iter(path.extension().is_some_and(|ending| ending == "rs").then_some(path)),
        })
        .collect()
}

/// Returns the sources of the program, by path from the root, without tests and comments.
fn sources() -> BTreeMap<String, String> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let folders =
        crates.flat_map(|path| [path.join("src"), path.join("build.rs")]).chain([root().join("src")]);
    let mut sources = BTreeMap::new();
    for path in folders.flat_map(|folder| if folder.is_file() { vec![folder] } else { files(&folder) }) {
        if path.file_stem().is_some_and(|name| name == "tests") || path.iter().any(|part| part == "tests") {
            continue;
        }
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        sources.insert(name, without_tests(&std::fs::read_to_string(&path).unwrap()));
    }
    sources
}

fn without_tests(text: &str) -> String {
    let comment = Regex::new(r"(?m)(^|\s)//[^\n]*").unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    comment.replace_all(text, "").into_owned()
}

fn found(sources: &BTreeMap<String, String>) -> BTreeMap<(String, String), usize> {
    let mut found = BTreeMap::new();
    for (kind, pattern) in KINDS {
        let pattern = Regex::new(pattern).unwrap();
        for (file, text) in sources {
            let count = pattern.find_iter(text).count();
            if count > 0 {
                found.insert((kind.to_string(), file.clone()), count);
            }
        }
    }
    found
}

/// Returns the rows of the table: kind, file, count, and who controls it.
fn table(text: &str) -> BTreeMap<(String, String), (usize, String)> {
    let row = Regex::new(r"(?m)^\| ([a-z ]+) \| `([^`]+)` \| (\d+) \| (.+) \|$").unwrap();
    let rows = row.captures_iter(text);
    rows.map(|row| ((row[1].to_string(), row[2].to_string()), (row[3].parse().unwrap(), row[4].to_string())))
        .collect()
}

#[test]
fn access_is_listed_in_security_table() {
    let listed = table(&std::fs::read_to_string(root().join("SECURITY.md")).unwrap());
    let found = found(&sources());
    let mut wrong = Vec::new();
    for ((kind, file), count) in &found {
        match listed.get(&(kind.clone(), file.clone())) {
            Some((told, _)) if told == count => {}
            Some((told, _)) => wrong.push(format!("{file}: {kind}: {count} times, SECURITY.md says {told}")),
            None => wrong.push(format!("{file}: {kind}: {count} times, not in SECURITY.md")),
        }
    }
    for ((kind, file), (_, why)) in &listed {
        if !found.contains_key(&(kind.clone(), file.clone())) {
            wrong.push(format!("{file}: {kind}: no longer, but in SECURITY.md"));
        }
        if why.len() < 15 {
            wrong.push(format!("{file}: {kind}: SECURITY.md does not say who decides"));
        }
    }
    let hint =
        "a new place may only do what the user asks for, never what data say; then it goes into the table";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

#[test]
fn finds_all_access_patterns() {
    let text = "use std::process::Command;\nfn f() { Command::new(\"x\").spawn(); EngineCommand::new(\"y\"); }\n\
                // Command::new(\"comment\")\nlet a = std::env::var(\"A\"); // env::var\nTcpListener::bind(a);\n\
                open::that(\"x\"); File::open::<T>(); #[cfg(test)]\nmod tests { fn g() { Command::new(\"z\"); } }\n";
    let sources = BTreeMap::from([("a.rs".to_string(), without_tests(text))]);
    let counts: Vec<(String, usize)> =
        found(&sources).into_iter().map(|((kind, _), count)| (kind, count)).collect();
    let expected =
        ["environment", "network", "opens a browser", "starts a program"].map(|kind| (kind.to_string(), 1));
    assert_eq!(counts, expected);
    let rows = table("| what | file |\n| --- | --- |\n| network | `a.rs` | 2 | the command line, always |\n");
    assert_eq!(
        rows[&("network".to_string(), "a.rs".to_string())],
        (2, "the command line, always".to_string())
    );
}
