//! Structure of the sources: neighboring modules of a crate use each other in one direction only, and files are short
//! enough to read. Between crates Cargo enforces the first.

use crate::common::prelude::*;
use regex::Regex;

const MAX_LINES: usize = 620;

type Module = Vec<String>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn roots() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut roots: Vec<PathBuf> = std::fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"))
        .collect();
    roots.push(root.join("src/cli"));
    roots.sort();
    roots
}

/// Returns the modules of a crate with their text, without tests and comments.
fn modules(root: &Path) -> BTreeMap<Module, String> {
    let comment = Regex::new(r"//[^\n]*").unwrap();
    let mut modules = BTreeMap::new();
    for path in files(root) {
        let relative = path.strip_prefix(root).unwrap().with_extension("");
        let mut module: Module = relative.iter().map(|name| name.to_str().unwrap().to_string()).collect();
        match module.last().unwrap().as_str() {
            "tests" => continue,
            "mod" | "lib" => drop(module.pop()),
            _ => {}
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        modules.insert(module, comment.replace_all(text, "").into_owned());
    }
    modules
}

fn expand(prefix: &[String], group: Option<&str>) -> Vec<Module> {
    let Some(group) = group else { return vec![prefix.to_vec()] };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in group[1..group.len() - 1].chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let mut paths = Vec::new();
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        let (names, inner) = match part.find("::{") {
            Some(at) => (&part[..at], Some(&part[at + 2..])),
            None => (part, None),
        };
        let mut path = prefix.to_vec();
        path.extend(names.split_whitespace().next().unwrap_or("").split("::").map(str::to_string));
        paths.extend(expand(&path, inner));
    }
    paths
}

/// Returns the modules that each module names, by path or by a name that a module re-exports from a child.
fn uses(modules: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let reexport = Regex::new(r"pub(?:\([a-z]+\))? use (?:self::)?([a-z_]\w*)::([^;]*);").unwrap();
    let word = Regex::new(r"\w+").unwrap();
    let mut passed_on: BTreeMap<(Module, String), Module> = BTreeMap::new();
    for (module, text) in modules {
        for found in reexport.captures_iter(text) {
            let child: Module = module.iter().cloned().chain([found[1].to_string()]).collect();
            if modules.contains_key(&child) {
                for name in word.find_iter(&found[2]) {
                    passed_on.insert((module.clone(), name.as_str().to_string()), child.clone());
                }
            }
        }
    }
    let path =
        Regex::new(r"\b((?:crate|super|self)(?:::super)*)((?:::[A-Za-z_]\w*)*)(?:::(\{[^;]*?\}))?").unwrap();
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, text) in modules {
        for found in path.captures_iter(text) {
            let mut start = module.clone();
            match &found[1] {
                "crate" => start.clear(),
                "self" => {}
                supers => supers.split("::").for_each(|_| drop(start.pop())),
            }
            start.extend(found[2].split("::").filter(|name| !name.is_empty()).map(str::to_string));
            for path in expand(&start, found.get(3).map(|group| group.as_str())) {
                let depth = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n])).unwrap_or(0);
                let owner = path[..depth].to_vec();
                let target = path
                    .get(depth)
                    .and_then(|name| passed_on.get(&(owner.clone(), name.clone())).cloned())
                    .unwrap_or(owner);
                if target != *module {
                    uses.entry(module.clone()).or_default().insert(target);
                }
            }
        }
    }
    uses
}

/// Returns neighbors that use each other, directly or through others.
fn circles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<(Module, String, String)> {
    // Uses within the same folder; a subfolder counts as one.
    let mut edges: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (from, targets) in uses {
        for to in targets {
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                edges.entry(from[..shared].to_vec()).or_default().insert((a.clone(), b.clone()));
            }
        }
    }
    let mut circles = BTreeSet::new();
    for (folder, direct) in edges {
        let mut reached = direct;
        loop {
            let further: BTreeSet<(String, String)> = reached
                .iter()
                .flat_map(|(a, b)| {
                    reached.iter().filter(move |(c, _)| c == b).map(move |(_, d)| (a.clone(), d.clone()))
                })
                .filter(|pair| !reached.contains(pair))
                .collect();
            if further.is_empty() {
                break;
            }
            reached.extend(further);
        }
        for (a, b) in &reached {
            if a < b && reached.contains(&(b.clone(), a.clone())) {
                circles.insert((folder.clone(), a.clone(), b.clone()));
            }
        }
    }
    circles
}

#[test]
fn sibling_modules_have_no_cyclic_uses() {
    let mut found = Vec::new();
    for root in roots() {
        for (folder, a, b) in circles(&uses(&modules(&root))) {
            found.push(format!("{}/{}: {a} and {b}", root.display(), folder.join("/")));
        }
    }
    assert!(found.is_empty(), "modules that use each other:\n{}", found.join("\n"));
}

#[test]
fn finds_cyclic_uses() {
    let sources = [
        ("", "pub use a::Thing; pub mod a; mod b; mod c;"),
        ("a", "use crate::b::{self, inner::{Deep, Other}};"),
        ("b", "use super::c;"),
        ("b/inner", "use super::super::Thing;"),
        ("c", "use crate::d::Nothing;"),
    ];
    let modules = sources.map(|(path, text)| {
        (path.split('/').filter(|name| !name.is_empty()).map(str::to_string).collect(), text.to_string())
    });
    let found = circles(&uses(&BTreeMap::from(modules)));
    assert_eq!(found, BTreeSet::from([(vec![], "a".to_string(), "b".to_string())]));
}

#[test]
fn files_are_short_enough_to_read() {
    let long: Vec<String> = roots()
        .iter()
        .flat_map(|root| files(root))
        .filter_map(|path| {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            (lines > MAX_LINES).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(long.is_empty(), "files of more than {MAX_LINES} lines:\n{}", long.join("\n"));
}

/// Crates of the workspace that each crate may use: no arrow goes up.
const ARROWS: &[(&str, &str)] = &[
    ("io", ""),
    ("chess", "io"),
    ("model", "chess io"),
    ("dataset", "io model"),
    ("report", "io model"),
    ("optim", "io"),
    ("source", "chess io model"),
    ("ingest", "chess dataset io model source"),
    ("eval", "chess dataset io model optim shaders"),
    ("tune", "chess dataset eval ingest io model optim report"),
    ("runs", "chess dataset eval ingest io model optim report source tune"),
    ("play", "chess ingest io model report trace"),
    ("spsa", "chess io model play report"),
    ("ranks", "dataset eval io optim"),
    ("diagnose", "chess dataset eval ingest io model optim tune"),
    ("shaders", ""),
    ("trace", ""),
];

/// The packages of the workspace, as `cargo metadata` lists them.
pub fn packages() -> Vec<serde_json::Value> {
    let root = env!("CARGO_MANIFEST_DIR");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let asked = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let out = std::process::Command::new(cargo).args(asked).current_dir(root).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    metadata["packages"].list().clone()
}

#[test]
fn crates_use_only_what_the_design_allows() {
    for package in packages() {
        let Some(name) =
            package["name"].str().strip_prefix("gputexel-").filter(|name| *name != "fuzz-targets")
        else {
            continue;
        };
        let row = ARROWS.iter().find(|(own, _)| *own == name);
        let (_, allowed) = row.unwrap_or_else(|| panic!("{name} has no row in the table"));
        for dependency in package["dependencies"].list() {
            let used = dependency["name"].str().strip_prefix("gputexel-");
            if let Some(used) = used.filter(|_| dependency["kind"].is_null()) {
                assert!(allowed.split(' ').any(|allowed| allowed == used), "{name} must not use {used}");
            }
        }
    }
}

/// CONTRIBUTING starts with `cargo run`, which requires a name if a package has several programs and no default.
#[test]
fn cargo_has_a_default_program() {
    let packages = packages();
    let main = packages.iter().find(|package| package["name"] == "gputexel").unwrap();
    assert_eq!(main["default_run"], "gputexel");
}
